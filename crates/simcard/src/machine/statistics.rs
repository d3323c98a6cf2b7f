//! Counters of the models.

use super::super::memory_port::MemoryPort;
use super::Machine;
use card::{HostStatistics, LinkStatistics, OwnerChanges, RequesterStatistics, Statistics};
use timing::host::Host;

impl Machine {
    /// All counters except the shell's own and context switches.
    pub(crate) fn statistics(&self) -> Statistics {
        let cycles = self.engine.cycles();
        let evaluated_cycles = self.engine.evaluated_cycles();
        let memories = self.engine.memories();
        let channels = memories.iter().map(MemoryPort::statistics).collect();
        let (busy_to_card, busy_to_host) = self.engine.link.busy();
        let link = LinkStatistics {
            bytes_to_card: self.engine.around.host.bytes_to_card,
            bytes_to_host: self.engine.around.host.bytes_to_host,
            busy_to_card,
            busy_to_host,
            rows_zeroed: 0,
            register_reads: self.register_reads,
            register_writes: self.register_writes,
        };
        let (service_busy, copy_busy, storage_busy) = self.host_model.busy();
        let host = HostStatistics {
            service_busy,
            copy_busy,
            storage_busy,
            interrupts: self.interrupts,
        };
        Statistics {
            owner_changes: OwnerChanges::default(),
            cycles,
            evaluated_cycles,
            requesters: self.requester_statistics(),
            channels,
            link,
            host,
        }
    }

    /// Context switches: how often a memory channel changed from one slot to
    /// another.
    pub(crate) fn owner_changes(&self) -> OwnerChanges {
        let [reads, writes] = self.engine.owners().changes();
        OwnerChanges { reads, writes }
    }

    fn requester_statistics(&self) -> Vec<RequesterStatistics> {
        let mut requesters: Vec<RequesterStatistics> = Vec::new();
        for observer in self.engine.observers() {
            let (reads, writes) = observer.statistics();
            requesters.extend([reads.clone(), writes.clone()]);
        }
        let pairs = usize::from(self.description.streams_per_slot);
        let ports = usize::from(self.description.ports_per_slot);
        for (pair, observer) in self.engine.stream_observers().iter().enumerate() {
            let port = pair / pairs * ports + ports - pairs + pair % pairs;
            let (into, out) = observer.statistics();
            requesters[2 * port] = into.clone();
            requesters[2 * port + 1] = out.clone();
        }
        requesters
    }
}
