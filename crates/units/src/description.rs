//! What a card says of itself.

use crate::memories::{self, CardMemory};
use crate::{PageSize, PageSizes, Picoseconds, SlotId};
use serde::{Deserialize, Serialize};

/// What a card is made of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CardDescription {
    /// Name for people, for example `sim:f1`.
    pub name: String,
    /// Number of slots.
    pub slots: u8,
    /// Ports of each slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs of each slot. Left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub streams_per_slot: u8,
    /// Network interfaces, each a stream pair. Left out where there are none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub network_pairs: u8,
    /// Memory channels.
    pub channels: u8,
    /// log2 of the bytes of address space that a channel owns.
    pub channel_bytes_log2: u8,
    /// Bytes of memory that each channel really has (at most its address space); where there are several kinds, the
    /// least of them.
    pub channel_bytes: u64,
    /// What hangs at the channels. Left out of reports where it is of one kind, and empty on a card without timing.
    #[serde(default, skip_serializing_if = "is_one_kind")]
    pub memories: Vec<CardMemory>,
    /// Address spaces (ASIDs 0 to n − 1).
    pub spaces: u8,
    /// Command queues.
    pub queues: u8,
    /// False for the identity translator: addresses of kernels are card addresses.
    pub translated: bool,
    /// Sizes that pages can have.
    pub page_sizes: PageSizes,
    /// Those of them that the shell has an L1 TLB for; none without L1 TLBs, and on a card without time.
    pub l1_sizes: PageSizes,
    /// How much each of these L1 TLBs translates, smallest pages first. Not in reports.
    #[serde(skip)]
    pub l1_reach: Vec<L1Reach>,
    /// Misses of the L1 TLBs walk the page table in card memory. Not in reports.
    #[serde(skip)]
    pub table_walks: bool,
    /// Period of the shell's clock; zero on a card without time.
    pub clock_period: Picoseconds,
    /// Pages may lie in host memory. Left out where they may not.
    #[serde(default, skip_serializing_if = "is_false")]
    pub host_channel: bool,
}

/// How much an L1 TLB of an address lane translates at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct L1Reach {
    /// Its pages.
    pub page: PageSize,
    /// Their bytes, of all its entries.
    pub bytes: u64,
}

impl L1Reach {
    /// What pages of 2 MiB and more should become where so many bytes are more than their L1 TLB reaches: the next
    /// larger pages that have one, if it reaches further and there are bytes for such a page; and the reach of the
    /// smaller. Pages below 2 MiB stay: who has those wants little of each.
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

    /// The streams of the network interfaces are those of this slot, which is behind the last one and has no kernel.
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

    /// Slot and number in it of a pair that is counted over all slots, then over the network interfaces.
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
