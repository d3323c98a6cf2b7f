//! Events that the owner passes to the pager.

use crate::error::IoError;
use crate::ids::{IoId, ObjectId, RequestId};
use units::{
    Advice, Asid, CommandId, CommandStatus, Fault, HostAddr, PageSize, PageSizes, SpacePlacement,
    VirtAddr,
};

/// Kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A file, or a range of one. Dirty pages are written back when they leave the card.
    File {
        /// Whether writable mappings are allowed.
        writable: bool,
        /// The content is known to be zero (just created or truncated): pages are zeroed on the card instead of read.
        /// Holes of an existing file are announced by [`Event::ObjectHole`].
        fresh: bool,
    },
    /// Memory that starts as zeroes and lives until the object is closed. Pages are written to the owner's backing only
    /// on eviction or sync.
    Anonymous,
    /// Host memory that programs access freely, kept coherent page by page (docs/blocks/pager.md, "Shared memory").
    /// Data moves between it and frames without a buffer.
    Host {
        /// Address of the first byte, as the card reaches it.
        memory: HostAddr,
    },
}

impl ObjectKind {
    /// Whether writable mappings are allowed.
    pub const fn writable(self) -> bool {
        match self {
            Self::File { writable, .. } => writable,
            Self::Anonymous | Self::Host { .. } => true,
        }
    }

    /// Whether every page is known to be zero at first.
    pub const fn starts_zero(self) -> bool {
        match self {
            Self::File { fresh, .. } => fresh,
            Self::Anonymous => true,
            Self::Host { .. } => false,
        }
    }
}

/// Something that happened, or a request. Every event with a `request` is answered by exactly one
/// [`Action::Complete`](crate::Action::Complete), immediately or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Creates an address space: allocates its page table and zeroes it. Complete when
    /// [`Action::EnableSpace`](crate::Action::EnableSpace) has been emitted.
    CreateSpace {
        /// Identifier for the reply.
        request: RequestId,
        /// Identifier, not in use.
        asid: Asid,
        /// Maximum bytes of frames filled on behalf of the space. `None`: no limit.
        limit: Option<u64>,
        /// Placement of its frames.
        placement: SpacePlacement,
    },
    /// Assigns a space to a share: zeroing ahead for the spaces of one share does not delay those of another. The
    /// default is share 0.
    ShareSpace {
        /// Address space; an unknown one is ignored.
        asid: Asid,
        /// Number of the share.
        share: u64,
    },
    /// Unmaps everything and frees the table. No slot may be running in the space. Dirty pages are written back first;
    /// the space ends even if that failed.
    DestroySpace {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
    },
    /// Registers an object. The content is fetched page by page when it is needed.
    CreateObject {
        /// Identifier for the reply.
        request: RequestId,
        /// Identifier, not in use.
        object: ObjectId,
        /// Offset of its first byte in the file that it is a part of; 0 for a whole file. Pages begin at multiples of
        /// their size in that file, and all offsets are the file's. The rest of the object's first and last page is not
        /// its own: it reads as zeroes and is never written.
        offset: u64,
        /// Length in bytes, more than 0.
        bytes: u64,
        /// Kind of the object.
        kind: ObjectKind,
        /// Page size in all mappings. `None`: [`Config::page_size`](crate::Config).
        page_size: Option<PageSize>,
    },
    /// Announces that a range of an object reads as zeroes (a hole of a sparse file). Only whole pages within the range
    /// count. Must precede the first access to the range.
    ObjectHole {
        /// Object that the event applies to.
        object: ObjectId,
        /// Offset of the first byte.
        offset: u64,
        /// Length in bytes.
        bytes: u64,
    },
    /// Removes an object that is not mapped. Dirty pages left by a failed write-back are written again; if that fails
    /// the object stays, unless `discard`.
    CloseObject {
        /// Identifier for the reply.
        request: RequestId,
        /// Object that the event applies to.
        object: ObjectId,
        /// Drops dirty data instead of writing it, even if an unmap that is still under way asked for a write-back.
        discard: bool,
    },
    /// Restricts the pages of an object to some channels of card memory. Must precede its first mapping; channels that
    /// the card does not have are ignored.
    PlaceOn {
        /// Object that the event applies to.
        object: ObjectId,
        /// First channel.
        first: usize,
        /// Number of channels.
        channels: usize,
    },
    /// Maps a range of an object into a space. Answered with [`Success::Mapped`](crate::Success::Mapped).
    Map {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
        /// Virtual address, a multiple of the object's page size. `None`: the pager chooses.
        address: Option<VirtAddr>,
        /// Object that the event applies to.
        object: ObjectId,
        /// First byte of the range in the object's file; a multiple of the object's page size.
        offset: u64,
        /// Length in bytes, rounded up to whole pages. Bytes before the object and behind its end read as zeroes and
        /// are never written back.
        bytes: u64,
        /// Whether kernels may read.
        read: bool,
        /// Whether kernels may write.
        write: bool,
    },
    /// Ends the mappings in a range, rounded out to whole pages. Dirty pages without other mappings are written back
    /// and leave the card (pages of anonymous objects stay until the object is closed).
    Unmap {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
        /// Address of the first byte.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
    },
    /// Writes back what was written in a range before this event; the pages stay mapped.
    Sync {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
        /// Address of the first byte.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
    },
    /// Allows these page sizes for an object besides its own, which stays the largest: the policy chooses for each
    /// page. No effect if one of its pages or a mapping existed before.
    VaryPages {
        /// Object that the event applies to.
        object: ObjectId,
        /// Smaller sizes; unsupported ones are ignored.
        sizes: PageSizes,
    },
    /// Keeps pages of a file, or of shared memory, in host memory, where kernels access them; for a card with a path to
    /// it. No effect if one of its pages was requested before, or if its pages have several sizes: ask
    /// [`Pager::is_direct`](crate::Pager::is_direct).
    PlaceDirect {
        /// Object that the event applies to.
        object: ObjectId,
        /// Address of the object's first page for the card, a multiple of the page size; its other pages follow. It
        /// remains valid until the object is closed.
        memory: HostAddr,
    },
    /// Brings pages in before they are accessed, as far as frames are free. A hint: no answer.
    Prefetch {
        /// Address space.
        asid: Asid,
        /// Address of the first byte.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
    },
    /// A starting kernel was passed this address: its page is fetched immediately, but its first access is still
    /// reported. A hint, like [`Prefetch`](Self::Prefetch), and only with overlap of reading, computing and write-back
    /// ([`Config::overlap`](crate::Config::overlap)); not for random accesses, pages of several sizes, or host memory.
    Announce {
        /// Address space.
        asid: Asid,
        /// Address that was passed to the kernel.
        address: VirtAddr,
    },
    /// Files were changed outside the pager: the pages of files in a range leave the card and are read again when
    /// needed. Complete when they have left; pages of memory objects stay.
    Refresh {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
        /// Address of the first byte.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
        /// Drops kernel stores to these pages. Otherwise they are written to the file first, in whole pages.
        discard: bool,
    },
    /// Sets the expected use of a range, rounded out to pages. Fields that the advice leaves open keep their earlier
    /// advice; empty advice resets all. Completes immediately.
    Advise {
        /// Identifier for the reply.
        request: RequestId,
        /// Address space.
        asid: Asid,
        /// Address of the first byte.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
        /// Expected use.
        advice: Advice,
    },
    /// A program's access to a page of host memory was trapped. Complete when the program may retry.
    HostTrap {
        /// Identifier for the reply.
        request: RequestId,
        /// Shared-memory object.
        object: ObjectId,
        /// Offset of any byte of the page.
        offset: u64,
        /// `true` for a write, `false` for a read.
        write: bool,
    },
    /// A kernel's access is parked.
    Fault(Fault),
    /// A command with `notify`, or one that failed, is complete.
    OperationDone {
        /// Identifier of the operation.
        id: CommandId,
        /// Status at completion.
        status: CommandStatus,
        /// Accessed bit of the entry that a table command changed.
        accessed: bool,
        /// Dirty bit of the entry that a table command changed.
        dirty: bool,
    },
    /// A read or write of an object is complete.
    IoDone {
        /// Identifier of the operation.
        id: IoId,
        /// Bytes moved. Fewer than requested count as a failure: objects have a fixed length.
        result: Result<u64, IoError>,
    },
    /// A slot is in reset: accesses parked in its requesters are gone and must not be answered.
    SlotStopped {
        /// First requester of the slot.
        first_requester: u8,
        /// Last requester of the slot.
        last_requester: u8,
    },
}
