//! What the shell and the models have counted.

use super::super::memory_port::MemoryPort;
use super::SimCard;
use card::registers as reg;
use card::{
    CardError, HostStatistics, LinkStatistics, OwnerChanges, RequesterStatistics, Statistics,
};
use std::collections::BTreeMap;
use timing::host::Host;

/// The shell's counters are 32 bits and wrap; these are the sums so far.
#[derive(Default)]
pub(super) struct Counters {
    last: BTreeMap<u32, u32>,
    sums: BTreeMap<u32, u64>,
}

impl Counters {
    fn update(&mut self, address: u32, value: u32) -> u64 {
        let last = self.last.insert(address, value).unwrap_or(0);
        let sum = self.sums.entry(address).or_insert(0);
        *sum += u64::from(value.wrapping_sub(last));
        *sum
    }
}

impl SimCard {
    pub(super) fn read_statistics(&mut self) -> Result<Statistics, CardError> {
        // Reading the counters takes virtual time: first what must not change by it.
        let cycles = self.engine.cycles();
        let evaluated_cycles = self.engine.evaluated_cycles();
        let memories = self.engine.memories();
        let channels = memories.iter().map(MemoryPort::statistics).collect();
        let (busy_to_card, busy_to_host) = self.engine.link.busy();
        let mut link = LinkStatistics {
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
        let requesters = self.requester_statistics()?;
        link.rows_zeroed = self.counter64(reg::ROWS_ZEROED_LO, reg::ROWS_ZEROED_HI)?;
        let [reads, writes] = self.engine.owners().changes();
        Ok(Statistics {
            owner_changes: OwnerChanges { reads, writes },
            cycles,
            evaluated_cycles,
            requesters,
            channels,
            link,
            host,
        })
    }

    fn counter(&mut self, address: u32) -> Result<u64, CardError> {
        let value = self.read(address)?;
        Ok(self.counters.update(address, value))
    }

    fn counter64(&mut self, low: u32, high: u32) -> Result<u64, CardError> {
        let low = u64::from(self.read(low)?);
        Ok(u64::from(self.read(high)?) << 32 | low)
    }

    fn requester_statistics(&mut self) -> Result<Vec<RequesterStatistics>, CardError> {
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
        for (index, requester) in requesters.iter_mut().enumerate() {
            let base = reg::REQUESTER.at(index as u32);
            requester.l1_hits = self.counter(base + reg::requester::LOOKUP_HIT)?;
            requester.l1_misses = self.counter(base + reg::requester::LOOKUP_MISS)?;
            requester.walk_hits = self.counter(base + reg::requester::WALK_HIT)?;
            requester.walk_misses = self.counter(base + reg::requester::WALK_MISS)?;
            requester.faults = self.counter(base + reg::requester::FAULT)?;
            requester.retries = self.counter(base + reg::requester::RETRY)?;
        }
        Ok(requesters)
    }
}
