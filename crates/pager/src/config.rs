//! What a pager is built from.

use units::{CardAddr, HostAddr, PageSize};

/// Card memory of one channel that the pager may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// copies wait for this one.
    #[default]
    Fenced,
    /// When the completion of the data has come back: copies of several pages overlap, and a failed
    /// copy is never installed.
    OnCompletion,
}

/// Sizes, places and figures of a pager.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Size of pages and frames.
    pub page_size: PageSize,
    /// Card memory, one entry a channel. Frames and page tables come from it.
    pub channels: Vec<ChannelMemory>,
    /// log2 of the sets of a page table, 10 to 24.
    pub table_sets_log2: u8,
    /// DMA buffers, as the card reaches them.
    pub buffers: Vec<HostAddr>,
    /// Size of each buffer: at least a page. A buffer carries as many pages at once as fit.
    pub buffer_bytes: u64,
    /// A fault also brings in its neighbours in an aligned block of this size, as far as frames are
    /// free. No effect when a page is as large.
    pub batch_bytes: u64,
    /// When entries are written.
    pub install_order: InstallOrder,
}

impl Config {
    /// Pages of 2 MiB, tables of 2^12 sets, and the given memory and buffers of 2 MiB.
    pub fn new(channels: Vec<ChannelMemory>, buffers: Vec<HostAddr>) -> Self {
        Self {
            page_size: PageSize::MIB_2,
            channels,
            table_sets_log2: 12,
            buffers,
            buffer_bytes: 2 << 20,
            batch_bytes: 2 << 20,
            install_order: InstallOrder::Fenced,
        }
    }
}
