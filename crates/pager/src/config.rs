//! Configuration of a pager.

use crate::error::ConfigError;
use units::{CardAddr, FrameNumber, HostAddr, PageSize, PageSizes, TableGeometry, ROW_BYTES};

/// Largest page table: 2^24 sets, 1 GiB.
pub(crate) const MAX_SETS_LOG2: u8 = 24;

/// Card memory of one channel that the pager may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ChannelMemory {
    /// Address of the first byte; a multiple of 4 KiB.
    pub base: CardAddr,
    /// Size in bytes; a multiple of 4 KiB.
    pub bytes: u64,
}

/// When a page's entry is written, relative to its data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum InstallOrder {
    /// With the data, behind a fence in the command ring: saves one round trip to the host per page, but later copies
    /// wait for this one. Needs all commands in one queue.
    #[default]
    Fenced,
    /// After the completion of the data: copies of several pages overlap, and a failed copy is never installed.
    OnCompletion,
}

/// Sizes, memory ranges and limits of a pager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Default page size of objects.
    pub page_size: PageSize,
    /// Page sizes that objects may choose: those that the card translates.
    pub page_sizes: PageSizes,
    /// Card memory, one entry per channel, for frames and page tables.
    pub channels: Vec<ChannelMemory>,
    /// log2 of a channel's address range in bytes, used to compute striped frames.
    pub channel_bytes_log2: u8,
    /// log2 of the number of sets of a page table, 10 to 24.
    pub table_sets_log2: u8,
    /// Percentage of a table's entries in use from which it grows when a set is full. Below it, and at the size limit,
    /// a full set evicts its oldest entry.
    pub grow_percent: u8,
    /// Maximum number of sets of a table (log2).
    pub max_sets_log2: u8,
    /// DMA buffers, by the address at which the card reaches them.
    pub buffers: Vec<HostAddr>,
    /// Size of each buffer, at least 4 KiB. Several pages share a buffer if they fit; a larger page moves in pieces.
    pub buffer_bytes: u64,
    /// Minimum size of the pieces, in bytes, in which a page that fits into a buffer is read. At most 16 pieces are
    /// read concurrently, and each is copied to the card as soon as it arrives. 0: the page is read as a whole and then
    /// copied.
    pub piece_bytes: u64,
    /// When entries are written.
    pub install_order: InstallOrder,
    /// Number of free frames (of `page_size`) below which as many eviction candidates are cleaned ahead; at most a
    /// quarter of all frames. 0: pages are written on eviction.
    pub clean_ahead: u64,
    /// Overlaps zeroing, computing and write-back: pages that a kernel has written sequentially are cleaned behind it,
    /// once per residency; write-backs move in pieces, as reads do; and pages without a waiting access are zeroed when
    /// little other zeroing is under way.
    pub overlap: bool,
    /// With `overlap`, maximum bytes zeroed at once for accesses that have not been made yet.
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

    /// Checks all values.
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
