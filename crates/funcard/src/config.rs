//! What a functional card is made of.

use super::kernel::Registry;
use card::L1Reach;
use units::PageSizes;

/// Shape and manner of a functional card. The default has the shape of the default shell.
#[derive(Clone, Debug)]
pub struct FunctionalConfig {
    /// Slots.
    pub slots: u8,
    /// Ports of each slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs of each slot, at most its ports.
    pub streams_per_slot: u8,
    /// Memory channels.
    pub channels: u8,
    /// log2 of the bytes of address space that a channel owns.
    pub channel_bytes_log2: u8,
    /// Bytes of memory that a channel has.
    pub channel_bytes: u64,
    /// Address spaces.
    pub spaces: u8,
    /// False: addresses of kernels are card addresses.
    pub translated: bool,
    /// Pages may lie in host memory, and are read and written there.
    pub host_channel: bool,
    /// Sizes that pages can have.
    pub page_sizes: PageSizes,
    /// L1 TLBs that the owner takes it to have when it chooses page sizes; the card itself has none.
    pub l1_reach: Vec<L1Reach>,
    /// Command queues.
    pub queues: u8,
    /// Commands that may be unfinished in each.
    pub queue: usize,
    /// Everything happens in the order of the calls without a seed. A seed picks one of the other
    /// orders that the contract allows: copies overlap and complete out of order, faults and
    /// interrupts come early or late, events in smaller lots.
    pub seed: Option<u64>,
    /// The kernels it can run.
    pub kernels: Registry,
}

impl Default for FunctionalConfig {
    fn default() -> Self {
        Self {
            slots: 1,
            ports_per_slot: 2,
            streams_per_slot: 0,
            channels: 2,
            channel_bytes_log2: 34,
            channel_bytes: 1 << 34,
            spaces: 4,
            translated: true,
            host_channel: false,
            page_sizes: PageSizes::ALL,
            l1_reach: Vec::new(),
            queues: 2,
            queue: 256,
            seed: None,
            kernels: Registry::default(),
        }
    }
}
