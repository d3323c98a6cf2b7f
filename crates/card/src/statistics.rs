//! Counters of a card.

use crate::registers as reg;
use serde::{Deserialize, Serialize};
use units::Picoseconds;

/// Counters: the structures, each with the difference from an earlier count.
macro_rules! counters {
    ($($(#[$meta:meta])* pub struct $name:ident {
        $($(#[$of_field:meta])* pub $field:ident: $type:ty,)*
    })*) => {
        $(
            $(#[$meta])*
            pub struct $name {
                $($(#[$of_field])* pub $field: $type,)*
            }

            impl $name {
                /// The difference from an earlier count.
                #[must_use]
                pub fn since(&self, before: &Self) -> Self {
                    Self {
                        $($field: self.$field.since(&before.$field),)*
                    }
                }
            }

            impl Since for $name {
                fn since(&self, before: &Self) -> Self {
                    Self::since(self, before)
                }
            }
        )*
    };
}

counters! {
    /// Counts since the card was opened. Every figure in virtual time is deterministic.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct Statistics {
        /// Edges of the shell's clock, including skipped ones.
        pub cycles: u64,
        /// Edges that were evaluated rather than skipped (they concern only the simulator's speed).
        pub evaluated_cycles: u64,
        /// Per requester, in requester order (port p: read 2p, write 2p+1).
        pub requesters: Vec<RequesterStatistics>,
        /// Per memory channel.
        pub channels: Vec<ChannelStatistics>,
        /// The link and the DMA engine.
        pub link: LinkStatistics,
        /// The host's models.
        pub host: HostStatistics,
        /// Context switches: how often the next row over the slot boundary belonged to another slot.
        #[serde(default, skip_serializing_if = "OwnerChanges::is_none")]
        pub owner_changes: OwnerChanges,
    }

    /// Context switches: how often the next row over the slot boundary belongs to another slot than the row
    /// before; few if the scheduler stays with one slot. Only rows of memory ports, not those of movers.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
    pub struct OwnerChanges {
        /// Context switches between rows that are read.
        pub reads: u64,
        /// Context switches between rows that are written.
        pub writes: u64,
    }

    /// Counters of one requester (a port in one direction).
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct RequesterStatistics {
        /// Beats over the slot boundary; rows of 64 bytes at ports of 512 bits.
        pub rows: u64,
        /// Bytes of the accepted bursts: beats × 2^AxSIZE.
        pub bytes: u64,
        /// Write beats without a strobe: they write no byte.
        #[serde(default, skip_serializing_if = "is_zero")]
        pub blank_rows: u64,
        /// Bursts over the slot boundary.
        pub bursts: u64,
        /// Stall cycles in which the kernel offered a burst and the shell did not accept it.
        pub address_stall_cycles: u64,
        /// Stall cycles with an unfinished burst and no row transferred because the shell had none (reads) or
        /// accepted none (writes).
        pub shell_stall_cycles: u64,
        /// Stall cycles with an unfinished burst in which the kernel did not accept an available row (reads) or
        /// provided none (writes).
        pub kernel_stall_cycles: u64,
        /// L1 TLB hits.
        pub l1_hits: u64,
        /// L1 TLB misses.
        pub l1_misses: u64,
        /// Page walks that found a usable entry.
        pub walk_hits: u64,
        /// Page walks that found none.
        pub walk_misses: u64,
        /// Page faults reported.
        pub faults: u64,
        /// Lookups repeated after a fault or an invalidation.
        pub retries: u64,
    }

    /// Counters of one memory channel.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct ChannelStatistics {
        /// Number of rows read.
        pub rows_read: u64,
        /// Number of rows written.
        pub rows_written: u64,
        /// Cycles with a row on the read or the write data channel, or both.
        pub busy_cycles: u64,
        /// Activations of a DRAM row.
        pub activations: u64,
        /// Number of refreshes.
        pub refreshes: u64,
    }

    /// Counters of the PCIe link and the DMA engine.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct LinkStatistics {
        /// Payload bytes, host to card.
        pub bytes_to_card: u64,
        /// Payload bytes, card to host.
        pub bytes_to_host: u64,
        /// Time with payload on the wire, host to card.
        pub busy_to_card: Picoseconds,
        /// Time with payload on the wire, card to host.
        pub busy_to_host: Picoseconds,
        /// Rows zeroed by command.
        pub rows_zeroed: u64,
        /// Number of register reads.
        pub register_reads: u64,
        /// Number of register writes.
        pub register_writes: u64,
    }

    /// Counters of the host's models.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct HostStatistics {
        /// Time the fault-service thread was busy.
        pub service_busy: Picoseconds,
        /// Time spent copying between page cache and DMA buffers.
        pub copy_busy: Picoseconds,
        /// Time with storage busy.
        pub storage_busy: Picoseconds,
        /// Interrupts delivered.
        pub interrupts: u64,
    }
}

impl OwnerChanges {
    /// Whether there was none: only one slot had rows.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Zero counts are not serialised, so that reports of kernels without such beats are unchanged.
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl RequesterStatistics {
    /// Counters that are in the shell, in the order of their registers.
    pub(crate) fn in_registers(&mut self) -> [&mut u64; reg::requester::REGISTERS] {
        [
            &mut self.l1_hits,
            &mut self.l1_misses,
            &mut self.walk_hits,
            &mut self.walk_misses,
            &mut self.faults,
            &mut self.retries,
        ]
    }
}

/// A count, or several, that can be subtracted.
trait Since: Sized {
    fn since(&self, before: &Self) -> Self;
}

impl Since for u64 {
    fn since(&self, before: &Self) -> Self {
        self.saturating_sub(*before)
    }
}

impl Since for Picoseconds {
    fn since(&self, before: &Self) -> Self {
        *self - *before
    }
}

impl<T: Since + Default + Clone> Since for Vec<T> {
    fn since(&self, before: &Self) -> Self {
        let none = T::default();
        let before = before.iter().chain(std::iter::repeat(&none));
        self.iter()
            .zip(before)
            .map(|(now, before)| now.since(before))
            .collect()
    }
}
