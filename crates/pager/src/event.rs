//! What the pager is told.

use crate::error::IoError;
use crate::ids::{IoId, ObjectId, RequestId};
use units::{
    Advice, Asid, CommandId, CommandStatus, Fault, HostAddr, PageSize, PageSizes, SpacePlacement,
    VirtAddr,
};

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A file, or a range of one. Its dirty pages are written back when they leave the card.
    File {
        /// Writable mappings are allowed.
        writable: bool,
        /// The content is known to be zero (just created or truncated): pages are zeroed on the
        /// card instead of read. Holes of an older file are told by [`Event::ObjectHole`].
        fresh: bool,
    },
    /// Memory that starts as zeroes and lives until the object is closed. Its pages are written to
    /// the owner's backing only when they are evicted or synced.
    Anonymous,
    /// Memory of the host that programs read and write as they like, kept coherent page by page
    /// (docs/blocks/pager.md, "Shared memory"). Data moves between it and frames without a buffer.
    Host {
        /// First byte, as the card sees it.
        memory: HostAddr,
    },
}

impl ObjectKind {
    /// Writable mappings are allowed.
    pub const fn writable(self) -> bool {
        match self {
            Self::File { writable, .. } => writable,
            Self::Anonymous | Self::Host { .. } => true,
        }
    }

    /// Every page is known to be zero at first.
    pub const fn starts_zero(self) -> bool {
        match self {
            Self::File { fresh, .. } => fresh,
            Self::Anonymous => true,
            Self::Host { .. } => false,
        }
    }
}

/// Something that happened, or that somebody wants. Every event with a `request` is answered by
/// exactly one [`Action::Complete`](crate::Action::Complete), at once or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// Makes an address space: allocates its page table and zeroes it. Complete when
    /// [`Action::EnableSpace`](crate::Action::EnableSpace) has been emitted.
    CreateSpace {
        /// Who asks.
        request: RequestId,
        /// Its name, free until now.
        asid: Asid,
        /// At most this many bytes of frames are filled on behalf of the space. `None`: no limit.
        limit: Option<u64>,
        /// Where its frames lie.
        placement: SpacePlacement,
    },
    /// Says whose a space is: pages that are zeroed ahead for spaces of one share do not delay those of another. Spaces of
    /// which nobody says so are of share 0.
    ShareSpace {
        /// Which space; nothing happens if there is none.
        asid: Asid,
        /// Of which share.
        share: u64,
    },
    /// Unmaps everything and gives the table back. No slot may be running in the space. Dirty pages
    /// are written back first; the space is gone even if that failed.
    DestroySpace {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
    },
    /// Makes an object known. The content is fetched page by page when it is needed.
    CreateObject {
        /// Who asks.
        request: RequestId,
        /// Its name, free until now.
        object: ObjectId,
        /// Where its first byte lies in the file that it is a part of; 0 for a whole one. Pages begin at
        /// multiples of their size in that file, and all offsets are the file's. What lies around the
        /// object on its first and last page is not its own: it reads as zeroes and is never written.
        offset: u64,
        /// Length in bytes, more than 0.
        bytes: u64,
        /// What it is.
        kind: ObjectKind,
        /// Size of its pages, wherever it is mapped. `None`: [`Config::page_size`](crate::Config).
        page_size: Option<PageSize>,
    },
    /// Says that a range of an object reads as zeroes (a hole of a sparse file). Only whole pages
    /// within the range count. To be told before the range is touched.
    ObjectHole {
        /// Which object.
        object: ObjectId,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Forgets an object that is not mapped. Dirty pages that an earlier write-back could not save
    /// are tried once more; if that fails the object stays, unless `discard`.
    CloseObject {
        /// Who asks.
        request: RequestId,
        /// Which object.
        object: ObjectId,
        /// Drop what is dirty instead of writing it, even if an unmap that is still under way wanted
        /// it written.
        discard: bool,
    },
    /// Says that the pages of an object lie on some channels of card memory, and on no others. To be told before it is
    /// mapped; channels that the card has not are left out.
    PlaceOn {
        /// Which object.
        object: ObjectId,
        /// The first of the channels.
        first: usize,
        /// How many.
        channels: usize,
    },
    /// Makes a range of an object visible in a space. Answered with
    /// [`Success::Mapped`](crate::Success::Mapped).
    Map {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
        /// Where; a multiple of the object's page size. `None`: the pager chooses.
        address: Option<VirtAddr>,
        /// Which object.
        object: ObjectId,
        /// First byte of the range in the object's file; a multiple of the object's page size.
        offset: u64,
        /// Bytes; rounded up to whole pages. What lies before the object and behind its end reads as
        /// zeroes and is never written back.
        bytes: u64,
        /// The kernel may read.
        read: bool,
        /// The kernel may write.
        write: bool,
    },
    /// Ends mappings in a range, rounded out to whole pages. Dirty pages that nobody else maps are
    /// written back and leave the card (pages of anonymous objects stay until the object is closed).
    Unmap {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
        /// First byte.
        address: VirtAddr,
        /// Bytes.
        bytes: u64,
    },
    /// Writes back what was written in a range before this event; the pages stay mapped.
    Sync {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
        /// First byte.
        address: VirtAddr,
        /// Bytes.
        bytes: u64,
    },
    /// Pages of an object may have these sizes besides its own, which stays the largest: the policy chooses for
    /// each page. Of no effect if one of its pages or a mapping was there before.
    VaryPages {
        /// Which object.
        object: ObjectId,
        /// Smaller sizes; those that there are not are left out.
        sizes: PageSizes,
    },
    /// Pages of a file, or of shared memory, stay in host memory, and kernels read and write them there: for a card
    /// that has a way to it. Of no effect if one of its pages was wanted before, or if its pages have several sizes: ask
    /// [`Pager::is_direct`](crate::Pager::is_direct).
    PlaceDirect {
        /// Which object.
        object: ObjectId,
        /// Where the card finds the object's first page, a multiple of the page size; its other pages follow. It
        /// stays there until the object is closed.
        memory: HostAddr,
    },
    /// Asks to bring pages in before they are touched, as far as frames are free. A hint: no answer.
    Prefetch {
        /// Which space.
        asid: Asid,
        /// First byte.
        address: VirtAddr,
        /// Bytes.
        bytes: u64,
    },
    /// A kernel that starts has been given this address: its page comes in at once, but its first access is seen. A hint, as
    /// [`Prefetch`](Self::Prefetch) is, and only where reading, computing and writing back overlap
    /// ([`Config::overlap`](crate::Config::overlap)), not for random accesses, pages of several sizes, or memory of the host.
    Announce {
        /// Which space.
        asid: Asid,
        /// The address.
        address: VirtAddr,
    },
    /// Somebody has changed files behind the pager: the pages of files in a range leave the card, and are read again
    /// when they are wanted. Complete when they have left; of memory nothing leaves.
    Refresh {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
        /// First byte.
        address: VirtAddr,
        /// Bytes.
        bytes: u64,
        /// What kernels have written to these pages is dropped. Otherwise it is written to the file first, pages
        /// whole.
        discard: bool,
    },
    /// Says how a range is going to be used, rounded out to pages. What the advice leaves open stays as it was
    /// advised before; empty advice takes everything back. Complete at once.
    Advise {
        /// Who asks.
        request: RequestId,
        /// Which space.
        asid: Asid,
        /// First byte.
        address: VirtAddr,
        /// Bytes.
        bytes: u64,
        /// What is known.
        advice: Advice,
    },
    /// A program's access to a page of host memory was trapped. Complete when the program may have another
    /// try.
    HostTrap {
        /// Who asks.
        request: RequestId,
        /// Which memory.
        object: ObjectId,
        /// Any byte of the page.
        offset: u64,
        /// A write.
        write: bool,
    },
    /// A kernel's access waits.
    Fault(Fault),
    /// A command with `notify`, or one that failed, is over.
    OperationDone {
        /// Which one.
        id: CommandId,
        /// How it ended.
        status: CommandStatus,
        /// Of the entry that a table command touched.
        accessed: bool,
        /// Of the entry that a table command touched.
        dirty: bool,
    },
    /// A read or write of an object is over.
    IoDone {
        /// Which one.
        id: IoId,
        /// Bytes moved. Fewer than asked for count as a failure: objects have a fixed length.
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
