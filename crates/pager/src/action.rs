//! What the pager wants done.

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

/// The good end of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Success {
    /// Nothing more to say.
    Done,
    /// The mapping that was made.
    Mapped(MappingInfo),
}

/// Something the owner has to do. Actions are to be carried out in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Queue a command at the card. Commands of one space keep their order; with
    /// [`InstallOrder::OnCompletion`](crate::InstallOrder) those of different spaces may take different
    /// queues.
    Command {
        /// Comes back in [`Event::OperationDone`](crate::Event::OperationDone).
        id: CommandId,
        /// What to do.
        operation: Operation,
        /// For which space; `None`: for none in particular.
        space: Option<Asid>,
        /// Start only when every earlier command is complete.
        fence: bool,
        /// A completion is wanted (failures always send one).
        notify: bool,
    },
    /// Fill a DMA buffer from an object. The owner also zeroes the buffer around the bytes, out to
    /// multiples of 64.
    ReadObject {
        /// Comes back in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// From what.
        object: ObjectId,
        /// From where in the object's file.
        offset: u64,
        /// How much; never what is not the object's.
        bytes: u64,
        /// Into which buffer.
        buffer: BufferId,
        /// Where in the buffer.
        buffer_offset: u64,
    },
    /// Write a part of a DMA buffer to an object.
    WriteObject {
        /// Comes back in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// To what.
        object: ObjectId,
        /// To where in the object's file.
        offset: u64,
        /// How much; never what is not the object's.
        bytes: u64,
        /// From which buffer.
        buffer: BufferId,
        /// Where in the buffer.
        buffer_offset: u64,
        /// So many bytes before these and behind them came from the same page and are not the object's.
        /// They were zero; if they are not, a kernel has written outside its mapping. They are the
        /// page's whole rest if it moves at once, else that of the rows at the object's edges.
        around: Around,
    },
    /// Fill a page of an object whose pages stay in host memory. Comes back like [`Action::ReadObject`].
    FillDirect {
        /// Comes back in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// From what.
        object: ObjectId,
        /// From where in the object's file.
        offset: u64,
        /// How much; never what is not the object's.
        bytes: u64,
        /// Where in the memory of [`Event::PlaceDirect`](crate::Event::PlaceDirect).
        at: u64,
        /// So many bytes before these and behind them are the rest of the page: the owner zeroes them.
        around: Around,
    },
    /// Write a page that stays in host memory to its object.
    SaveDirect {
        /// Comes back in [`Event::IoDone`](crate::Event::IoDone).
        io: IoId,
        /// To what.
        object: ObjectId,
        /// To where in the object's file.
        offset: u64,
        /// How much; never what is not the object's.
        bytes: u64,
        /// Where in the memory of [`Event::PlaceDirect`](crate::Event::PlaceDirect).
        at: u64,
        /// So many bytes before these and behind them are the rest of the page, as in [`Action::WriteObject`].
        around: Around,
    },
    /// Change what programs may do with a page of host memory. Done when no program can do more than
    /// that any longer, in any thread.
    ProtectHost {
        /// Comes back in [`Event::IoDone`](crate::Event::IoDone); the count of bytes means nothing.
        io: IoId,
        /// Which memory.
        object: ObjectId,
        /// First byte of the page.
        offset: u64,
        /// Bytes of the page.
        bytes: u64,
        /// What is allowed from now on.
        access: HostAccess,
    },
    /// Tell the shell where the page table of a space is. The table is zeroed.
    EnableSpace {
        /// Which space.
        asid: Asid,
        /// Place and size.
        table: TableGeometry,
        /// Size classes in use: bit k for pages of 4 KiB << k.
        size_classes: u32,
        /// How the space's frames are striped.
        stripe: Stripe,
    },
    /// Tell the shell that a space has pages of another size too. No entry of that size is installed
    /// before this.
    UsePageSizes {
        /// Which space.
        asid: Asid,
        /// All size classes in use, as in [`Action::EnableSpace`].
        size_classes: u32,
    },
    /// Tell the shell that a space is gone.
    DisableSpace {
        /// Which space.
        asid: Asid,
    },
    /// The end of a request.
    Complete {
        /// Which one.
        request: RequestId,
        /// How it ended.
        result: Result<Success, PagerError>,
    },
    /// A kernel's access failed (the reply to the kernel is a command of its own). `wait` on the
    /// kernel must fail too.
    AccessFailed {
        /// Which access; its requester names slot and port.
        token: FaultToken,
        /// In which space.
        asid: Asid,
        /// Where.
        address: VirtAddr,
        /// A write.
        write: bool,
        /// Why.
        reason: AccessError,
        /// The mapping that holds the address, or else the nearest one.
        nearest: Option<MappingInfo>,
    },
    /// A page had to leave the card and could not be written. Its data is kept on the card.
    WriteBackFailed {
        /// What happened: object, place and system error.
        error: PagerError,
    },
    /// The card failed a command that must not fail. What depended on it is suspect; the owner
    /// should stop the card's slots.
    CardFailed {
        /// Which command.
        id: CommandId,
        /// How it ended.
        status: units::CommandStatus,
    },
}
