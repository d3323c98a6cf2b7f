//! Kinds of failure: the error code of each [`Error`].

use crate::device::DeviceError;
use crate::error::Error;
use crate::stream::StreamError;
use card::CardError;
use pager::PagerError;
use wire::ErrorCode;

impl Error {
    /// Error code: the kind of failure.
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Card(error) => of_card(error),
            Self::Kernel(_) => ErrorCode::Kernel,
            Self::Pager(PagerError::Io { .. }) | Self::Transfer { .. } => ErrorCode::Transfer,
            Self::Pager(_) => ErrorCode::Pager,
            Self::NoSuchPageSize { .. }
            | Self::NoSuchTranslation { .. }
            | Self::CardMemory { .. } => ErrorCode::Configuration,
            Self::File { .. } => ErrorCode::File,
            Self::Unmappable { .. } => ErrorCode::Unmappable,
            Self::Outside { .. } => ErrorCode::Outside,
            Self::MisalignedPointer { .. } => ErrorCode::MisalignedPointer,
            Self::NoSuchArgument { .. } => ErrorCode::NoSuchArgument,
            Self::ArgumentSize { .. } => ErrorCode::ArgumentSize,
            Self::ArgumentValue { .. } => ErrorCode::ArgumentValue,
            Self::Access(_) => ErrorCode::Access,
            Self::Home(_) => ErrorCode::Home,
            Self::NoHome | Self::NoHomeMemory | Self::NoHostLines => ErrorCode::NoHome,
            Self::LineLate { .. } => ErrorCode::LineLate,
            Self::CoherentRange { .. }
            | Self::CoherentOffset { .. }
            | Self::CoherentMap { .. }
            | Self::HomeMemory { .. } => ErrorCode::CoherentRange,
            Self::Violation(_) => ErrorCode::Violation,
            Self::Unanswered { .. } => ErrorCode::Unanswered,
            Self::InterruptStorm { .. } => ErrorCode::InterruptStorm,
            Self::KernelFailed { .. } => ErrorCode::KernelFailed,
            Self::Deadline { .. } | Self::NoneDone { .. } => ErrorCode::Deadline,
            Self::SlotState { .. } => ErrorCode::SlotState,
            Self::Stream(error) => of_stream(error),
            Self::Device(error) => of_device(error),
            Self::Unshareable { .. } => ErrorCode::Unshareable,
            Self::Unregistrable { .. } => ErrorCode::Unregistrable,
            Self::NotShared { .. } => ErrorCode::NotShared,
            Self::MemoryInUse { .. } => ErrorCode::MemoryInUse,
            Self::Gone { .. } => ErrorCode::Gone,
            Self::OtherCard => ErrorCode::OtherCard,
            Self::OtherSpace { .. } => ErrorCode::OtherSpace,
            Self::NoFreeSpace { .. } => ErrorCode::NoFreeSpace,
            Self::NoFreeSlot { .. } => ErrorCode::NoFreeSlot,
            Self::Quota { .. } => ErrorCode::Quota,
            Self::Daemon { .. } => ErrorCode::Daemon,
            Self::NotCarried { .. } => ErrorCode::NotCarried,
            Self::Served(failure) => failure.code(),
            Self::Stalled { .. } => ErrorCode::Stalled,
            Self::Interrupted => ErrorCode::Interrupted,
            Self::Internal(_) => ErrorCode::Internal,
        }
    }
}

fn of_stream(error: &StreamError) -> ErrorCode {
    match error {
        StreamError::Stuck { .. } => ErrorCode::Deadline,
        StreamError::NotOpen { .. } | StreamError::NotConnected => ErrorCode::Gone,
        StreamError::AccessFailed { .. } => ErrorCode::Access,
        StreamError::MalformedBeat { .. } => ErrorCode::Violation,
        StreamError::Network { .. } => ErrorCode::Transfer,
        StreamError::Reset { .. } => ErrorCode::StreamReset,
        _ => ErrorCode::Stream,
    }
}

fn of_device(error: &DeviceError) -> ErrorCode {
    match error.is_of_peer() {
        true => ErrorCode::DevicePeer,
        false => ErrorCode::Device,
    }
}

fn of_card(error: &CardError) -> ErrorCode {
    match error {
        CardError::NoSuchSlot { .. } => ErrorCode::NoSuchSlot,
        CardError::Schedule { .. } => ErrorCode::Schedule,
        CardError::Kernel(_) | CardError::OtherKernel { .. } => ErrorCode::Kernel,
        CardError::Build(_) => ErrorCode::Build,
        CardError::Broken(_) => ErrorCode::CardBroken,
        CardError::NothingToWaitFor => ErrorCode::NothingToWaitFor,
        CardError::Configuration(_)
        | CardError::Platform(_)
        | CardError::Description { .. }
        | CardError::NoSuchStripe { .. } => ErrorCode::Configuration,
        _ => ErrorCode::Card,
    }
}
