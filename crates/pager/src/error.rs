//! Errors of the pager, with the objects and addresses concerned.

use crate::ids::ObjectId;
use crate::mapping_info::MappingInfo;
use thiserror::Error;
use units::{Asid, CommandStatus, PageSize, PageSizes, SpacePlacement, Stripe, VirtAddr};

/// Cause of a failed I/O operation on an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum IoError {
    /// The system's error number.
    #[error("system error {0}")]
    Os(i32),
    /// Fewer bytes were moved than requested: the file was truncated, or accepts no more.
    #[error("only {done} of {wanted} bytes could be moved: was the file truncated?")]
    Short {
        /// Bytes requested.
        wanted: u64,
        /// Bytes moved.
        done: u64,
    },
}

impl IoError {
    /// Checks the result of an I/O operation of `wanted` bytes: fewer are a failure.
    pub(crate) fn check(result: Result<u64, Self>, wanted: u64) -> Result<(), Self> {
        match result? {
            done if done < wanted => Err(Self::Short { wanted, done }),
            _ => Ok(()),
        }
    }
}

/// Direction of an I/O operation.
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

/// Cause of a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error, Hash)]
pub enum PagerError {
    /// A space with this identifier exists.
    #[error("address space {} exists already: destroy it first or use a free ASID", name(.asid))]
    SpaceExists {
        /// Identifier of the space.
        asid: Asid,
    },
    /// The card does not have the channels of the placement.
    #[error(
        "address space {} cannot lie on {placement}: the card has no such channels",
        name(.asid)
    )]
    NoSuchPlacement {
        /// Address space.
        asid: Asid,
        /// Requested placement of its frames.
        placement: SpacePlacement,
    },
    /// The object and the space both have a placement of their own.
    #[error(
        "{object} lies on memory channels of its own, and address space {} on {placement}: leave out one of both",
        name(.asid)
    )]
    PlacedTwice {
        /// Object of the rejected mapping.
        object: ObjectId,
        /// Address space of the mapping.
        asid: Asid,
        /// Placement of the space's frames.
        placement: SpacePlacement,
    },
    /// Spaces that map the same frames must have the same striping.
    #[error(
        "{object} cannot be mapped in address space {}, which is {stripe}: its pages are {other} in \
         another space; spaces that share an object must be striped alike",
        name(.asid)
    )]
    StripesDiffer {
        /// Object of the rejected mapping.
        object: ObjectId,
        /// Address space of the mapping.
        asid: Asid,
        /// Striping of the space.
        stripe: Stripe,
        /// Current striping of the object's pages.
        other: Stripe,
    },
    /// No space has this identifier.
    #[error("address space {} does not exist: create it first", name(.asid))]
    NoSuchSpace {
        /// Identifier of the space.
        asid: Asid,
    },
    /// The space is being created or destroyed.
    #[error(
        "address space {} is being created or destroyed: wait for that request to complete",
        name(.asid)
    )]
    SpaceBusy {
        /// Identifier of the space.
        asid: Asid,
    },
    /// Card memory has no room for a page table.
    #[error(
        "no card memory is left for the page table of address space {} ({bytes} bytes): \
         unmap something or use a smaller table",
        name(.asid)
    )]
    NoTableMemory {
        /// Address space.
        asid: Asid,
        /// Size of the table in bytes.
        bytes: u64,
    },
    /// The card could not zero the page table.
    #[error(
        "the card could not zero the page table of address space {} ({status:?}): reset the card",
        name(.asid)
    )]
    TableFailed {
        /// Address space.
        asid: Asid,
        /// Status at completion.
        status: CommandStatus,
    },
    /// An object with this identifier exists.
    #[error("{object} exists already: close it first")]
    ObjectExists {
        /// Identifier of the object.
        object: ObjectId,
    },
    /// The card does not support the page size.
    #[error("{object} cannot have pages of {page}: the card has {sizes}")]
    NoSuchPageSize {
        /// Object of the failed request.
        object: ObjectId,
        /// Requested page size.
        page: PageSize,
        /// Page sizes that the card supports.
        sizes: PageSizes,
    },
    /// A page is larger than the memory limit of the space.
    #[error(
        "{object} cannot be mapped in address space {}: no page of {page} fits into the card memory \
         that the space may use: use smaller pages or raise the limit",
        name(.asid)
    )]
    PageTooLarge {
        /// Object of the failed request.
        object: ObjectId,
        /// Address space.
        asid: Asid,
        /// Page size of the object.
        page: PageSize,
    },
    /// No object has this identifier.
    #[error("{object} does not exist: create it first")]
    NoSuchObject {
        /// Identifier of the object.
        object: ObjectId,
    },
    /// The object is empty.
    #[error("{object} is empty: only objects of at least 1 byte can be mapped")]
    EmptyObject {
        /// Identifier of the object.
        object: ObjectId,
    },
    /// The object is still mapped.
    #[error(
        "{object} is still mapped at {} in address space {}: unmap it before closing it",
        hex(.address), name(.asid)
    )]
    ObjectMapped {
        /// Object of the failed request.
        object: ObjectId,
        /// A space that maps it.
        asid: Asid,
        /// Virtual address.
        address: VirtAddr,
    },
    /// The object is being closed.
    #[error("{object} is being closed: wait for that request to complete")]
    ObjectClosing {
        /// Object of the failed request.
        object: ObjectId,
    },
    /// The range is empty.
    #[error("the range at {} has no bytes: give a length of at least 1", hex(.address))]
    EmptyRange {
        /// Virtual address.
        address: VirtAddr,
    },
    /// The address is not page-aligned.
    #[error(
        "address {} is not a multiple of the page size, {page}: round it or let the pager choose",
        hex(.address)
    )]
    MisalignedAddress {
        /// Address of the request.
        address: VirtAddr,
        /// Page size.
        page: PageSize,
    },
    /// The offset is not page-aligned.
    #[error(
        "offset {offset} in {object} is not a multiple of the page size, {page}: round it down"
    )]
    MisalignedOffset {
        /// Object of the failed request.
        object: ObjectId,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Page size.
        page: PageSize,
    },
    /// The offset is at or past the end.
    #[error(
        "offset {offset} is past the end of {object}, which has {bytes} bytes: use a smaller one"
    )]
    OffsetPastEnd {
        /// Object of the failed request.
        object: ObjectId,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Length of the object in bytes.
        bytes: u64,
    },
    /// The range exceeds the 48-bit address space.
    #[error(
        "{bytes} bytes at {} reach beyond the 48-bit address space: choose a lower address",
        hex(.address)
    )]
    RangeTooHigh {
        /// Virtual address.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
    },
    /// No gap of this length is free in the space.
    #[error("address space {} has no gap of {bytes} bytes: unmap something", name(.asid))]
    NoGap {
        /// Address space.
        asid: Asid,
        /// Requested length in bytes.
        bytes: u64,
    },
    /// The range overlaps a mapping.
    #[error(
        "{bytes} bytes at {} overlap the mapping of {} at {} ({} bytes) in address space {}: \
         unmap that or choose another address",
        hex(.address), existing.object, hex(&existing.address), existing.bytes, name(.asid)
    )]
    Overlap {
        /// Address space.
        asid: Asid,
        /// Requested address of the new mapping.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
        /// The existing mapping.
        existing: MappingInfo,
    },
    /// A writable mapping of a read-only object.
    #[error("{object} is read-only: open it for writing or map it without the right to write")]
    ReadOnlyObject {
        /// Object of the failed request.
        object: ObjectId,
    },
    /// A mapping without access rights.
    #[error("the mapping of {object} allows neither reads nor writes: give it at least one right")]
    NoRights {
        /// Object of the failed request.
        object: ObjectId,
    },
    /// Nothing is mapped in the range.
    #[error(
        "nothing is mapped in the {bytes} bytes at {} of address space {}: name a mapped range",
        hex(.address), name(.asid)
    )]
    NotMapped {
        /// Address space.
        asid: Asid,
        /// Virtual address.
        address: VirtAddr,
        /// Length in bytes.
        bytes: u64,
    },
    /// I/O on an object failed.
    #[error(
        "cannot {direction} {bytes} bytes at offset {offset} of {object}: {error}; \
         what was there before is unchanged or still held on the card"
    )]
    Io {
        /// Direction of the transfer.
        direction: Direction,
        /// Object of the failed request.
        object: ObjectId,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes of the transfer.
        bytes: u64,
        /// Cause of the failure.
        error: IoError,
    },
    /// Host memory that does not consist of whole pages.
    #[error(
        "{object} is host memory of {bytes} bytes, not whole pages of {page}: round its length up"
    )]
    PartialHostPage {
        /// Object of the failed request.
        object: ObjectId,
        /// Length in bytes.
        bytes: u64,
        /// Page size of the object.
        page: PageSize,
    },
    /// The protection of a page of host memory could not be changed.
    #[error(
        "the protection of {bytes} bytes at offset {offset} of {object} could not be changed: {error}; \
         a process may have only so many ranges of different protection (vm.max_map_count): use larger pages; or the program \
         has unmapped it"
    )]
    HostMemory {
        /// Object of the failed request.
        object: ObjectId,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes of the page range.
        bytes: u64,
        /// Cause of the failure.
        error: IoError,
    },
    /// The card failed a transfer.
    #[error("the card failed to {direction} {bytes} bytes at offset {offset} of {object} ({status:?}): reset the card")]
    Card {
        /// Direction of the transfer.
        direction: Direction,
        /// Object of the failed request.
        object: ObjectId,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes of the transfer.
        bytes: u64,
        /// Status of the failed command.
        status: CommandStatus,
    },
}

/// Cause of a failed kernel access.
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
        /// Size of the requested frame.
        page: PageSize,
        /// Frames that the space may use.
        frames: u64,
        /// Frames that are kept because their write-back failed.
        unsaved: u64,
    },
}

/// Reason why a pager cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ConfigError {
    /// There is no DMA buffer.
    #[error("the pager needs at least one DMA buffer")]
    NoBuffers,
    /// The buffers cannot hold the smallest page.
    #[error("DMA buffers of {buffer_bytes} bytes are too small: give them at least 4 KiB")]
    BufferTooSmall {
        /// Size of the buffers.
        buffer_bytes: u64,
    },
    /// The card does not support the page size.
    #[error("pages of {page} are not possible: the card has {sizes}")]
    NoSuchPageSize {
        /// Rejected page size.
        page: PageSize,
        /// Page sizes that the card supports.
        sizes: PageSizes,
    },
    /// A buffer is not row-aligned.
    #[error("DMA buffer {index} is not aligned to 64 bytes")]
    BufferMisaligned {
        /// Index of the buffer.
        index: usize,
    },
    /// There is no memory, or a channel has less than a frame.
    #[error("channel {channel} of card memory has no whole frame of {page}")]
    NoFrames {
        /// Index of the channel.
        channel: usize,
        /// Page size.
        page: PageSize,
    },
    /// A range of card memory is misaligned, overlaps another, or exceeds the card addresses.
    #[error("channel {channel}: the range is not aligned to 4 KiB, reaches beyond 37 bits or overlaps another")]
    BadRange {
        /// Index of the channel.
        channel: usize,
    },
    /// The page table is too small or too large.
    #[error("page tables of 2^{sets_log2} sets are not supported: use 10 to 24")]
    BadTable {
        /// log2 of the sets.
        sets_log2: u8,
    },
}
