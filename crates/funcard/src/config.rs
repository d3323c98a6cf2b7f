//! Configuration of a functional card.

use super::kernel::Registry;
use card::L1Reach;
use units::PageSizes;

/// Shape and behaviour of a functional card. The default has the shape of the default shell.
#[derive(Clone, Debug)]
pub struct FunctionalConfig {
    /// Number of slots.
    pub slots: u8,
    /// Ports of each slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs per slot, at most its ports.
    pub streams_per_slot: u8,
    /// Memory channels.
    pub channels: u8,
    /// log2 of the address space of a channel in bytes.
    pub channel_bytes_log2: u8,
    /// Memory of a channel in bytes.
    pub channel_bytes: u64,
    /// Address spaces.
    pub spaces: u8,
    /// False: kernels use card addresses.
    pub translated: bool,
    /// Pages may lie in host memory, and are read and written there.
    pub host_channel: bool,
    /// Supported page sizes.
    pub page_sizes: PageSizes,
    /// L1 TLBs that the owner assumes when it chooses page sizes; the card itself has none.
    pub l1_reach: Vec<L1Reach>,
    /// Command queues.
    pub queues: u8,
    /// Maximum unfinished commands per queue.
    pub queue: usize,
    /// Without a seed, everything happens in the order of the calls. A seed selects another of the orders that the
    /// contract allows: copies overlap and complete out of order, faults and interrupts arrive early or late, events in
    /// smaller batches.
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
