//! Description of a card.

use crate::memories::{self, CardMemory};
use crate::{PageSize, PageSizes, Picoseconds, SlotId};
use serde::{Deserialize, Serialize};

/// Properties of a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardDescription {
    /// Name for display, for example `sim:f1`.
    pub name: String,
    /// Number of slots.
    pub slots: u8,
    /// Ports of each slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs of each slot. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub streams_per_slot: u8,
    /// Network interfaces, each a stream pair. Omitted if there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub network_pairs: u8,
    /// Bits of TID that pass from kernel to kernel. Omitted if none do.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tid_width: u8,
    /// Bits of TDEST, likewise.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub tdest_width: u8,
    /// Number of memory channels.
    pub channels: u8,
    /// log2 of the bytes of card addresses that a channel owns.
    pub channel_bytes_log2: u8,
    /// Bytes of memory that each channel has (at most its address range); with several kinds of memory, the smallest.
    pub channel_bytes: u64,
    /// Memory of the channels. Omitted from reports if all is of one kind, and empty on a card without timing.
    #[serde(default, skip_serializing_if = "is_one_kind")]
    pub memories: Vec<CardMemory>,
    /// Number of address spaces (ASIDs 0 to n − 1).
    pub spaces: u8,
    /// Number of command queues.
    pub queues: u8,
    /// False for the identity translator: kernel addresses are card addresses.
    pub translated: bool,
    /// Supported page sizes.
    pub page_sizes: PageSizes,
    /// Page sizes with an L1 TLB in the shell; none without L1 TLBs, and on a card without time.
    pub l1_sizes: PageSizes,
    /// Reach of each of these L1 TLBs, smallest pages first. Not in reports.
    #[serde(skip)]
    pub l1_reach: Vec<L1Reach>,
    /// Whether misses of the L1 TLBs walk the page table in card memory. Not in reports.
    #[serde(skip)]
    pub table_walks: bool,
    /// Period of the shell's clock; zero on a card without time.
    pub clock_period: Picoseconds,
    /// Whether pages may lie in host memory. Omitted if they may not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_channel: bool,
}

/// TLB reach of an address lane's L1 TLB.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct L1Reach {
    /// Page size of the TLB.
    pub page: PageSize,
    /// Bytes that all its entries cover together.
    pub bytes: u64,
}

impl L1Reach {
    /// Page size to join pages of 2 MiB and more into, if `bytes` exceed the reach of their L1 TLB: the next larger
    /// size with an L1 TLB, if it reaches further and `bytes` fill such a page. Also returns the reach of the smaller
    /// size. Pages below 2 MiB are not joined: they are chosen for sparse accesses.
    pub fn beyond(all: &[Self], page: PageSize, bytes: u64) -> Option<(PageSize, u64)> {
        let usual = |l1: &&Self| l1.page == page && page >= PageSize::MIB_2;
        let own = all.iter().find(usual)?;
        let larger = all.iter().find(|l1| l1.page > page)?;
        let helps = larger.bytes > own.bytes && bytes > own.bytes && bytes >= larger.page.bytes();
        helps.then_some((larger.page, own.bytes))
    }
}

fn is_one_kind(memories: &[CardMemory]) -> bool {
    memories.len() < 2
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &u8) -> bool {
    *number == 0
}

impl CardDescription {
    /// AXI4 ports of each slot.
    pub fn memory_ports_per_slot(&self) -> u8 {
        self.ports_per_slot.saturating_sub(self.streams_per_slot)
    }

    /// Slot number of the network interfaces' streams: it follows the last slot and has no kernel.
    pub fn network_slot(&self) -> SlotId {
        SlotId(self.slots)
    }

    /// Stream pairs of a slot, or of the network.
    pub fn pairs_of(&self, slot: SlotId) -> u8 {
        match slot == self.network_slot() {
            true => self.network_pairs,
            false => self.streams_per_slot,
        }
    }

    /// Bytes of memory that a channel has.
    pub fn bytes_of_channel(&self, channel: u8) -> u64 {
        memories::of_channel(&self.memories, channel)
            .map_or(self.channel_bytes, |memory| memory.channel_bytes)
    }

    /// Slot and number within it of a pair that is counted over all slots, then over the network interfaces.
    pub fn place_of_pair(&self, pair: u8) -> (SlotId, u8) {
        let of_slots = self.slots * self.streams_per_slot;
        match pair < of_slots {
            true => (
                SlotId(pair / self.streams_per_slot),
                pair % self.streams_per_slot,
            ),
            false => (self.network_slot(), pair - of_slots),
        }
    }
}
