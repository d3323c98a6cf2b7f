//! What goes wrong, with the values that say where.

use crate::ids::ObjectId;
use crate::mapping_info::MappingInfo;
use thiserror::Error;
use units::{Asid, CommandStatus, PageSize, PageSizes, SpacePlacement, Stripe, VirtAddr};

/// Why I/O on an object failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum IoError {
    /// The system's error number.
    #[error("system error {0}")]
    Os(i32),
    /// Fewer bytes were moved than asked for: the file has become shorter, or takes no more.
    #[error("only {done} of {wanted} bytes could be moved: was the file truncated?")]
    Short {
        /// Asked.
        wanted: u64,
        /// Moved.
        done: u64,
    },
}

impl IoError {
    /// What came of I/O that was to move so many bytes: fewer are a failure.
    pub(crate) fn check(result: Result<u64, Self>, wanted: u64) -> Result<(), Self> {
        match result? {
            done if done < wanted => Err(Self::Short { wanted, done }),
            _ => Ok(()),
        }
    }
}

/// A direction of I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the object to the card.
    Read,
    /// From the card to the object.
    Write,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write back",
        })
    }
}

fn hex(address: &VirtAddr) -> String {
    address.to_string()
}

fn name(asid: &Asid) -> u8 {
    asid.get()
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum PagerError {
    /// The name is taken.
    #[error("address space {} exists already: destroy it first or use a free ASID", name(.asid))]
    SpaceExists {
        /// The name.
        asid: Asid,
    },
    /// The card has no such channels.
    #[error(
        "address space {} cannot lie on {placement}: the card has no such channels",
        name(.asid)
    )]
    NoSuchPlacement {
        /// The space.
        asid: Asid,
        /// Where its frames should lie.
        placement: SpacePlacement,
    },
    /// An object that lies on channels of its own, in a space whose frames have their place, too.
    #[error(
        "{object} lies on memory channels of its own, and address space {} on {placement}: leave out one of both",
        name(.asid)
    )]
    PlacedTwice {
        /// What was to be mapped.
        object: ObjectId,
        /// Where.
        asid: Asid,
        /// Where its frames lie.
        placement: SpacePlacement,
    },
    /// Spaces that show the same frames must be striped alike.
    #[error(
        "{object} cannot be mapped in address space {}, which is {stripe}: its pages are {other} in \
         another space; spaces that share an object must be striped alike",
        name(.asid)
    )]
    StripesDiffer {
        /// What was to be mapped.
        object: ObjectId,
        /// Where.
        asid: Asid,
        /// How that space is striped.
        stripe: Stripe,
        /// How the object's pages are striped now.
        other: Stripe,
    },
    /// No such space.
    #[error("address space {} does not exist: create it first", name(.asid))]
    NoSuchSpace {
        /// The name.
        asid: Asid,
    },
    /// The space is not ready yet, or on its way out.
    #[error(
        "address space {} is being created or destroyed: wait for that request to complete",
        name(.asid)
    )]
    SpaceBusy {
        /// The name.
        asid: Asid,
    },
    /// Card memory has no room for a page table.
    #[error(
        "no card memory is left for the page table of address space {} ({bytes} bytes): \
         unmap something or use a smaller table",
        name(.asid)
    )]
    NoTableMemory {
        /// The space.
        asid: Asid,
        /// Size of the table.
        bytes: u64,
    },
    /// The card could not zero the page table.
    #[error(
        "the card could not zero the page table of address space {} ({status:?}): reset the card",
        name(.asid)
    )]
    TableFailed {
        /// The space.
        asid: Asid,
        /// How the command ended.
        status: CommandStatus,
    },
    /// The name is taken.
    #[error("{object} exists already: close it first")]
    ObjectExists {
        /// The name.
        object: ObjectId,
    },
    /// Pages of a size that the card does not translate.
    #[error("{object} cannot have pages of {page}: the card has {sizes}")]
    NoSuchPageSize {
        /// The object.
        object: ObjectId,
        /// The size asked for.
        page: PageSize,
        /// The sizes there are.
        sizes: PageSizes,
    },
    /// Pages that are larger than what the space may have.
    #[error(
        "{object} cannot be mapped in address space {}: no page of {page} fits into the card memory \
         that the space may use: use smaller pages or raise the limit",
        name(.asid)
    )]
    PageTooLarge {
        /// The object.
        object: ObjectId,
        /// The space.
        asid: Asid,
        /// The size of its pages.
        page: PageSize,
    },
    /// No such object.
    #[error("{object} does not exist: create it first")]
    NoSuchObject {
        /// The name.
        object: ObjectId,
    },
    /// An object without bytes.
    #[error("{object} is empty: only objects of at least 1 byte can be mapped")]
    EmptyObject {
        /// The name.
        object: ObjectId,
    },
    /// The object is still mapped.
    #[error(
        "{object} is still mapped at {} in address space {}: unmap it before closing it",
        hex(.address), name(.asid)
    )]
    ObjectMapped {
        /// The object.
        object: ObjectId,
        /// A space that maps it.
        asid: Asid,
        /// Where.
        address: VirtAddr,
    },
    /// The object is being closed.
    #[error("{object} is being closed: wait for that request to complete")]
    ObjectClosing {
        /// The object.
        object: ObjectId,
    },
    /// A range of no bytes.
    #[error("the range at {} has no bytes: give a length of at least 1", hex(.address))]
    EmptyRange {
        /// Where.
        address: VirtAddr,
    },
    /// A misaligned address.
    #[error(
        "address {} is not a multiple of the page size, {page}: round it or let the pager choose",
        hex(.address)
    )]
    MisalignedAddress {
        /// The address.
        address: VirtAddr,
        /// Page size.
        page: PageSize,
    },
    /// A misaligned offset.
    #[error(
        "offset {offset} in {object} is not a multiple of the page size, {page}: round it down"
    )]
    MisalignedOffset {
        /// The object.
        object: ObjectId,
        /// The offset.
        offset: u64,
        /// Page size.
        page: PageSize,
    },
    /// An offset at or past the end.
    #[error(
        "offset {offset} is past the end of {object}, which has {bytes} bytes: use a smaller one"
    )]
    OffsetPastEnd {
        /// The object.
        object: ObjectId,
        /// The offset.
        offset: u64,
        /// Length of the object.
        bytes: u64,
    },
    /// A range beyond 48 bits of address.
    #[error(
        "{bytes} bytes at {} reach beyond the 48-bit address space: choose a lower address",
        hex(.address)
    )]
    RangeTooHigh {
        /// Where.
        address: VirtAddr,
        /// Length.
        bytes: u64,
    },
    /// No gap of that length.
    #[error("address space {} has no gap of {bytes} bytes: unmap something", name(.asid))]
    NoGap {
        /// The space.
        asid: Asid,
        /// Length asked.
        bytes: u64,
    },
    /// Mappings must not overlap.
    #[error(
        "{bytes} bytes at {} overlap the mapping of {} at {} ({} bytes) in address space {}: \
         unmap that or choose another address",
        hex(.address), existing.object, hex(&existing.address), existing.bytes, name(.asid)
    )]
    Overlap {
        /// The space.
        asid: Asid,
        /// Where the new mapping should be.
        address: VirtAddr,
        /// Its length.
        bytes: u64,
        /// The mapping in the way.
        existing: MappingInfo,
    },
    /// A writable mapping of a read-only object.
    #[error("{object} is read-only: open it for writing or map it without the right to write")]
    ReadOnlyObject {
        /// The object.
        object: ObjectId,
    },
    /// A mapping without rights.
    #[error("the mapping of {object} allows neither reads nor writes: give it at least one right")]
    NoRights {
        /// The object.
        object: ObjectId,
    },
    /// Nothing is mapped there.
    #[error(
        "nothing is mapped in the {bytes} bytes at {} of address space {}: name a mapped range",
        hex(.address), name(.asid)
    )]
    NotMapped {
        /// The space.
        asid: Asid,
        /// Where.
        address: VirtAddr,
        /// Length.
        bytes: u64,
    },
    /// I/O on an object failed.
    #[error(
        "cannot {direction} {bytes} bytes at offset {offset} of {object}: {error}; \
         what was there before is unchanged or still held on the card"
    )]
    Io {
        /// Which way.
        direction: Direction,
        /// The object.
        object: ObjectId,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Why.
        error: IoError,
    },
    /// Host memory of which a page is not whole.
    #[error(
        "{object} is host memory of {bytes} bytes, not whole pages of {page}: round its length up"
    )]
    PartialHostPage {
        /// The object.
        object: ObjectId,
        /// Its length.
        bytes: u64,
        /// Size of its pages.
        page: PageSize,
    },
    /// The protection of a page of host memory could not be changed.
    #[error(
        "the protection of {bytes} bytes at offset {offset} of {object} could not be changed: {error}; \
         a process may have only so many ranges of different protection (vm.max_map_count): use larger pages; or the program \
         has unmapped it"
    )]
    HostMemory {
        /// The object.
        object: ObjectId,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Why.
        error: IoError,
    },
    /// The card failed a transfer.
    #[error("the card failed to {direction} {bytes} bytes at offset {offset} of {object} ({status:?}): reset the card")]
    Card {
        /// Which way.
        direction: Direction,
        /// The object.
        object: ObjectId,
        /// Where.
        offset: u64,
        /// How much.
        bytes: u64,
        /// Why.
        status: CommandStatus,
    },
}

/// Why an access of a kernel failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum AccessError {
    /// Nothing is mapped there.
    #[error("nothing is mapped at this address")]
    NotMapped,
    /// The mapping does not allow reads.
    #[error("the mapping does not allow reads: map it with the right to read")]
    NotReadable,
    /// The mapping does not allow writes.
    #[error("the mapping does not allow writes: map it with the right to write")]
    NotWritable,
    /// The mapping ended while the access waited.
    #[error(
        "the address was unmapped while the access waited: wait for the kernel before unmapping"
    )]
    Unmapped,
    /// The page could not be fetched.
    #[error("the page could not be fetched: {0}")]
    Fetch(PagerError),
    /// No frame is free and none can be freed.
    #[error(
        "no frame of {page} is free and none can be freed ({frames} frames, {unsaved} of them hold data \
         that could not be written back): make room on the storage and sync, raise the space's limit, \
         or use smaller pages"
    )]
    NoFrame {
        /// The size that was wanted.
        page: PageSize,
        /// Frames that the space may use.
        frames: u64,
        /// Frames kept because their write-back failed.
        unsaved: u64,
    },
}

/// Why a pager cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// No DMA buffer.
    #[error("the pager needs at least one DMA buffer")]
    NoBuffers,
    /// Buffers that cannot hold the smallest page.
    #[error("DMA buffers of {buffer_bytes} bytes are too small: give them at least 4 KiB")]
    BufferTooSmall {
        /// Size of the buffers.
        buffer_bytes: u64,
    },
    /// The size of pages is none that the card translates.
    #[error("pages of {page} are not possible: the card has {sizes}")]
    NoSuchPageSize {
        /// The size.
        page: PageSize,
        /// The sizes there are.
        sizes: PageSizes,
    },
    /// A buffer that is not row-aligned.
    #[error("DMA buffer {index} is not aligned to 64 bytes")]
    BufferMisaligned {
        /// Which one.
        index: usize,
    },
    /// No memory, or a channel without a whole frame.
    #[error("channel {channel} of card memory has no whole frame of {page}")]
    NoFrames {
        /// Which one.
        channel: usize,
        /// Page size.
        page: PageSize,
    },
    /// A range of card memory that is misaligned or too high.
    #[error("channel {channel}: the range is not aligned to 4 KiB, reaches beyond 37 bits or overlaps another")]
    BadRange {
        /// Which one.
        channel: usize,
    },
    /// A page table that is too small or too large.
    #[error("page tables of 2^{sets_log2} sets are not supported: use 10 to 24")]
    BadTable {
        /// log2 of the sets.
        sets_log2: u8,
    },
}
