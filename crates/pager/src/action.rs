//! Actions that the pager asks of its owner.

use crate::error::{AccessError, PagerError};
use crate::ids::{BufferId, IoId, ObjectId, RequestId};
use crate::mapping_info::MappingInfo;
use units::{Asid, CommandId, FaultToken, HostAccess, Operation, Stripe, TableGeometry, VirtAddr};

/// Bytes of a page before and behind those of its object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Around {
    /// Before the object's first byte.
    pub before: u64,
    /// Behind its last byte.
    pub behind: u64,
}

/// Bytes of an object that move between its file and a page in host memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DirectTransfer {
    /// Object whose file it is.
    pub object: ObjectId,
    /// Offset in the object's file, in bytes.
    pub offset: u64,
    /// Bytes, all of them the object's.
    pub bytes: u64,
    /// Offset in the memory of [`Event::PlaceDirect`](crate::Event::PlaceDirect), in bytes.
    pub at: u64,
    /// Bytes before and after these in the page.
    pub around: Around,
}

/// Result of a request that succeeded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// Success without a value.
    Done,
    /// The new mapping.
    Mapped(MappingInfo),
}

/// An action for the owner. Actions must be carried out in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Queue a command at the card. Commands of one space keep their order; with
    /// [`InstallOrder::OnCompletion`](crate::InstallOrder) commands of different spaces may use different queues.
    Command {
        /// Returned in [`Event::OperationDone`](crate::Event::OperationDone).
        id: CommandId,
        /// Operation of the command.
        operation: Operation,
        /// Space of the command; `None`: no particular one.
        space: Option<Asid>,
        /// Start only when every earlier command is complete.
        fence: bool,
        /// Request a completion (failures always send one).
        notify: bool,
    },
    /// Fill a DMA buffer from an object. The owner also zeroes the buffer around the bytes, out to multiples of 64.
    ReadObject {
        /// Returned in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// Object to read.
        object: ObjectId,
        /// Offset in the object's file, in bytes.
        offset: u64,
        /// Bytes, all of them the object's.
        bytes: u64,
        /// Destination buffer.
        buffer: BufferId,
        /// Offset in the buffer, in bytes.
        buffer_offset: u64,
    },
    /// Write a part of a DMA buffer to an object.
    WriteObject {
        /// Returned in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// Object to write.
        object: ObjectId,
        /// Offset in the object's file, in bytes.
        offset: u64,
        /// Bytes, all of them the object's.
        bytes: u64,
        /// Source buffer.
        buffer: BufferId,
        /// Offset in the buffer, in bytes.
        buffer_offset: u64,
        /// Bytes before and after these that came from the same page and are not the object's. They were zero; if they
        /// are not, a kernel has written outside its mapping. They cover the rest of the page if it moves as a whole,
        /// and otherwise the rest of the rows at the object's edges.
        around: Around,
    },
    /// Fill a page of an object with pages in host memory. Completes like [`Action::ReadObject`].
    FillDirect {
        /// Returned in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// The page in host memory; the owner zeroes the bytes around it.
        transfer: DirectTransfer,
    },
    /// Write a page in host memory to its object.
    SaveDirect {
        /// Returned in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// The page in host memory; the bytes around it are as in [`Action::WriteObject`].
        transfer: DirectTransfer,
    },
    /// Change the programs' access rights to a page of host memory. Complete when no thread of any program has more
    /// rights than these.
    ProtectHost {
        /// Returned in [`Event::IoDone`](crate::Event::IoDone); the count of bytes has no meaning.
        io: IoId,
        /// Shared-memory object.
        object: ObjectId,
        /// Offset of the page's first byte.
        offset: u64,
        /// Size of the page in bytes.
        bytes: u64,
        /// New access rights.
        access: HostAccess,
    },
    /// Give the shell the page table of a space. The table is zeroed.
    EnableSpace {
        /// Address space.
        asid: Asid,
        /// Address and size of the table.
        table: TableGeometry,
        /// Size classes in use: bit k for pages of 4 KiB << k.
        size_classes: u32,
        /// Striping of the space's frames.
        stripe: Stripe,
    },
    /// Announce to the shell that a space uses another page size. No entry of that size is installed before this.
    UsePageSizes {
        /// Address space.
        asid: Asid,
        /// All size classes in use, as in [`Action::EnableSpace`].
        size_classes: u32,
    },
    /// Announce to the shell that a space has ended.
    DisableSpace {
        /// Address space.
        asid: Asid,
    },
    /// Complete a request.
    Complete {
        /// Identifier of the request.
        request: RequestId,
        /// Result of the request.
        result: Result<Success, PagerError>,
    },
    /// Report a failed kernel access (the reply to the kernel is a separate command). `wait` on the kernel must fail
    /// too.
    AccessFailed {
        /// Token of the access; its requester identifies slot and port.
        token: FaultToken,
        /// Address space.
        asid: Asid,
        /// Virtual address.
        address: VirtAddr,
        /// `true` for a write, `false` for a read.
        write: bool,
        /// Cause of the failure.
        reason: AccessError,
        /// The mapping that holds the address, or else the nearest one.
        nearest: Option<MappingInfo>,
    },
    /// A page could not be written back on eviction. Its data stays on the card.
    WriteBackFailed {
        /// Cause: object, offset and system error.
        error: PagerError,
    },
    /// The card failed a command that must not fail. Dependent state is invalid; the owner should stop the card's
    /// slots.
    CardFailed {
        /// Identifier of the command.
        id: CommandId,
        /// Status at completion.
        status: units::CommandStatus,
    },
}
