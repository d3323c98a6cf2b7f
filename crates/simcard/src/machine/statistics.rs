//! Counters of the models.

use super::super::engine::Engine;
use super::super::memory_port::MemoryPort;
use super::host::SimulatedHost;
use super::registers::RegisterBus;
use card::{CardDescription, LinkStatistics, OwnerChanges, RequesterStatistics, Statistics};

/// All counters except the shell's own and context switches.
pub(super) fn statistics(
    card: &CardDescription,
    engine: &Engine,
    registers: &RegisterBus,
    host: &SimulatedHost,
) -> Statistics {
    Statistics {
        owner_changes: OwnerChanges::default(),
        cycles: engine.cycles(),
        evaluated_cycles: engine.evaluated_cycles(),
        requesters: requester_statistics(card, engine),
        channels: engine
            .memories()
            .iter()
            .map(MemoryPort::statistics)
            .collect(),
        link: link_statistics(engine, registers),
        host: host.statistics(),
    }
}

/// Context switches: how often a memory channel changed from one slot to another.
pub(super) fn owner_changes(engine: &Engine) -> OwnerChanges {
    let [reads, writes] = engine.owners().changes();
    OwnerChanges { reads, writes }
}

fn link_statistics(engine: &Engine, registers: &RegisterBus) -> LinkStatistics {
    let (busy_to_card, busy_to_host) = engine.link.busy();
    LinkStatistics {
        bytes_to_card: engine.around.host.bytes_to_card,
        bytes_to_host: engine.around.host.bytes_to_host,
        busy_to_card,
        busy_to_host,
        rows_zeroed: 0,
        register_reads: registers.reads(),
        register_writes: registers.writes(),
    }
}

fn requester_statistics(card: &CardDescription, engine: &Engine) -> Vec<RequesterStatistics> {
    let mut requesters: Vec<RequesterStatistics> = Vec::new();
    for observer in engine.observers() {
        let (reads, writes) = observer.statistics();
        requesters.extend([reads.clone(), writes.clone()]);
    }
    let pairs = usize::from(card.streams_per_slot);
    let ports = usize::from(card.ports_per_slot);
    for (pair, observer) in engine.stream_observers().iter().enumerate() {
        let port = pair / pairs * ports + ports - pairs + pair % pairs;
        let (into, out) = observer.statistics();
        requesters[2 * port] = into.clone();
        requesters[2 * port + 1] = out.clone();
    }
    requesters
}
