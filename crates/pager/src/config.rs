//! What a pager is built from.

use crate::error::ConfigError;
use units::{CardAddr, FrameNumber, HostAddr, PageSize, PageSizes, TableGeometry, ROW_BYTES};

/// Largest page table: 2^24 sets, 1 GiB.
pub(crate) const MAX_SETS_LOG2: u8 = 24;

/// Card memory of one channel that the pager may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelMemory {
    /// First byte; a multiple of 4 KiB.
    pub base: CardAddr,
    /// Bytes; a multiple of 4 KiB.
    pub bytes: u64,
}

/// When the entry of a page is written, relative to its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstallOrder {
    /// In one go, behind a fence in the command ring: one trip to the host a page less, but later
    /// copies wait for this one. Needs all commands in one queue.
    #[default]
    Fenced,
    /// When the completion of the data has come back: copies of several pages overlap, and a failed
    /// copy is never installed.
    OnCompletion,
}

/// Sizes, places and figures of a pager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Size of the pages of objects that do not say another.
    pub page_size: PageSize,
    /// Sizes that objects may say: those that the card translates.
    pub page_sizes: PageSizes,
    /// Card memory, one entry a channel. Frames and page tables come from it.
    pub channels: Vec<ChannelMemory>,
    /// log2 of the bytes of address space that a channel owns: what striped frames are computed with.
    pub channel_bytes_log2: u8,
    /// log2 of the sets of a page table, 10 to 24.
    pub table_sets_log2: u8,
    /// A table grows when a set is full and this percentage of its entries is in use. Until then, and
    /// at the limit, a full set gives up its oldest entry.
    pub grow_percent: u8,
    /// No table grows beyond this many sets (log2).
    pub max_sets_log2: u8,
    /// DMA buffers, as the card reaches them.
    pub buffers: Vec<HostAddr>,
    /// Size of each buffer, at least 4 KiB. A buffer carries as many pages at once as fit; a page that is
    /// larger moves in pieces.
    pub buffer_bytes: u64,
    /// A page that fits into a buffer is read in pieces of so many bytes at least, beside each other (in 16 at most), and
    /// each goes to the card when it is there. 0: it is read as a whole and copied then.
    pub piece_bytes: u64,
    /// When entries are written.
    pub install_order: InstallOrder,
    /// While fewer frames (of `page_size`) than this are free, as much of what would leave next is
    /// cleaned ahead. At most a quarter of all. 0: pages are written when they leave.
    pub clean_ahead: u64,
    /// Zeroing, computing and writing back overlap: pages that a kernel has written in order are cleaned behind it, once in
    /// their stay; what is saved moves in pieces, as what is read does; and what nobody waits for yet is zeroed when little
    /// else is.
    pub overlap: bool,
    /// Then so many bytes are zeroed at once for accesses that have not come yet.
    pub zeroed_ahead_bytes: u64,
}

impl Config {
    /// Pages of 2 MiB, tables of 2^12 sets, and the given memory and buffers of 2 MiB.
    pub fn new(channels: Vec<ChannelMemory>, buffers: Vec<HostAddr>) -> Self {
        Self {
            page_size: PageSize::MIB_2,
            page_sizes: PageSizes::ALL,
            channels,
            channel_bytes_log2: 34,
            table_sets_log2: 12,
            grow_percent: 25,
            max_sets_log2: 20,
            buffers,
            buffer_bytes: 2 << 20,
            piece_bytes: 0,
            install_order: InstallOrder::Fenced,
            clean_ahead: 0,
            overlap: false,
            zeroed_ahead_bytes: PageSize::MIB_2.bytes(),
        }
    }

    /// Checks every figure.
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let (page, buffer_bytes) = (self.page_size, self.buffer_bytes);
        if self.buffers.is_empty() {
            return Err(ConfigError::NoBuffers);
        }
        if buffer_bytes < PageSize::KIB_4.bytes() {
            return Err(ConfigError::BufferTooSmall { buffer_bytes });
        }
        if !self.page_sizes.contains(page) {
            let sizes = self.page_sizes;
            return Err(ConfigError::NoSuchPageSize { page, sizes });
        }
        let misaligned = |address: &HostAddr| address.get() % ROW_BYTES != 0;
        if let Some(index) = self.buffers.iter().position(misaligned) {
            return Err(ConfigError::BufferMisaligned { index });
        }
        let sets_log2 = self.table_sets_log2;
        if !(TableGeometry::MIN_SETS_LOG2..=MAX_SETS_LOG2).contains(&sets_log2) {
            return Err(ConfigError::BadTable { sets_log2 });
        }
        if self.channels.is_empty() {
            return Err(ConfigError::NoFrames { channel: 0, page });
        }
        (0..self.channels.len()).try_for_each(|channel| self.validate_channel(channel))
    }

    fn validate_channel(&self, channel: usize) -> Result<(), ConfigError> {
        let range = |memory: &ChannelMemory| {
            let start = memory.base.get();
            start..start.saturating_add(memory.bytes)
        };
        let memory = &self.channels[channel];
        let this = range(memory);
        let aligned = FrameNumber::at(memory.base).is_some() && memory.bytes % 4096 == 0;
        let overlaps = self.channels[..channel]
            .iter()
            .map(range)
            .any(|other| other.start < this.end && this.start < other.end);
        if !aligned || overlaps || this.end > 1 << CardAddr::BITS {
            return Err(ConfigError::BadRange { channel });
        }
        let first = this.start.next_multiple_of(self.page_size.bytes());
        if first.saturating_add(self.page_size.bytes()) > this.end {
            let page = self.page_size;
            return Err(ConfigError::NoFrames { channel, page });
        }
        Ok(())
    }
}
