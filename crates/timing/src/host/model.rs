//! The host's resources as queues in virtual time.

use super::Host;
use crate::platform::HostFigures;
use std::collections::BTreeMap;
use units::{Picoseconds, ServiceEvents};

/// Service threads (one, on most platforms, and one for each application that has its own), some copying
/// threads, one storage device.
///
/// Storage moves one piece of data after another at its bandwidth; latencies of up to
/// `storage_queue` requests overlap.
///
/// ```
/// use tombolo_timing::host::{Host, HostModel};
/// use tombolo_timing::platform::Platform;
/// use units::{Picoseconds, ServiceEvents};
///
/// let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
/// let mut host = HostModel::new(Platform::named("f1", &[directory])?.host());
/// let first = host.serve_events(Picoseconds::ZERO, ServiceEvents::faults(1));
/// let second = host.serve_events(Picoseconds::ZERO, ServiceEvents::faults(1));
/// assert_eq!(second, first * 2);
/// # Ok::<(), tombolo_timing::platform::PlatformError>(())
/// ```
#[derive(Clone, Debug)]
pub struct HostModel {
    figures: HostFigures,
    /// Times at which each service thread is free.
    service_free: Vec<Picoseconds>,
    /// Times at which each thread of an application is free.
    threads_free: BTreeMap<u8, Picoseconds>,
    /// Times at which each copying thread is free.
    copy_free: Vec<Picoseconds>,
    /// Times at which each slot of the storage queue is free.
    storage_slots: Vec<Picoseconds>,
    /// Time at which the storage device has moved all requested data.
    storage_free: Picoseconds,
    reconfiguration_free: Picoseconds,
    service_busy: Picoseconds,
    copy_busy: Picoseconds,
    storage_busy: Picoseconds,
}

impl HostModel {
    /// A host that has always been idle.
    pub fn new(figures: &HostFigures) -> Self {
        Self {
            figures: *figures,
            service_free: vec![Picoseconds::ZERO; figures.service_threads as usize],
            threads_free: BTreeMap::new(),
            copy_free: vec![Picoseconds::ZERO; figures.copy_threads as usize],
            storage_slots: vec![Picoseconds::ZERO; figures.storage_queue as usize],
            storage_free: Picoseconds::ZERO,
            reconfiguration_free: Picoseconds::ZERO,
            service_busy: Picoseconds::ZERO,
            copy_busy: Picoseconds::ZERO,
            storage_busy: Picoseconds::ZERO,
        }
    }

    fn storage(
        &mut self,
        now: Picoseconds,
        latency: Picoseconds,
        span: Picoseconds,
    ) -> Picoseconds {
        let slot = earliest(&mut self.storage_slots);
        let data = (now.max(*slot) + latency).max(self.storage_free);
        self.storage_free = data + span;
        *slot = self.storage_free;
        self.storage_busy += span;
        self.storage_free
    }
}

impl Host for HostModel {
    fn serve_events(&mut self, now: Picoseconds, events: ServiceEvents) -> Picoseconds {
        self.serve(now, self.figures.service_time(events))
    }

    fn serve_events_of(
        &mut self,
        now: Picoseconds,
        thread: u8,
        events: ServiceEvents,
    ) -> Picoseconds {
        let span = self.figures.service_time(events);
        self.service_busy += span;
        let free = self.threads_free.entry(thread).or_default();
        *free = now.max(*free) + span;
        *free
    }

    fn serve(&mut self, now: Picoseconds, span: Picoseconds) -> Picoseconds {
        let thread = earliest(&mut self.service_free);
        *thread = now.max(*thread) + span;
        self.service_busy += span;
        *thread
    }

    fn page_cache_copy(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds {
        let span = self.figures.copy_setup_ps
            + Picoseconds::for_bytes(bytes, self.figures.copy_bytes_per_second);
        let thread = earliest(&mut self.copy_free);
        *thread = now.max(*thread) + span;
        self.copy_busy += span;
        *thread
    }

    fn storage_read(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds {
        let rate = self.figures.storage_read_bytes_per_second;
        let latency = self.figures.storage_read_ps;
        self.storage(now, latency, Picoseconds::for_bytes(bytes, rate))
    }

    fn storage_write(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds {
        let rate = self.figures.storage_write_bytes_per_second;
        let latency = self.figures.storage_write_ps;
        self.storage(now, latency, Picoseconds::for_bytes(bytes, rate))
    }

    fn reconfigure(&mut self, now: Picoseconds) -> Picoseconds {
        self.reconfiguration_free =
            now.max(self.reconfiguration_free) + self.figures.reconfigure_ps;
        self.reconfiguration_free
    }

    fn wake(&mut self, now: Picoseconds) -> Picoseconds {
        now + self.figures.wake_ps
    }

    fn busy(&self) -> (Picoseconds, Picoseconds, Picoseconds) {
        (self.service_busy, self.copy_busy, self.storage_busy)
    }
}

/// The server that is free first; among equals the first.
///
/// Platform files guarantee at least one.
fn earliest(servers: &mut [Picoseconds]) -> &mut Picoseconds {
    let mut best = 0;
    for (index, free) in servers.iter().enumerate() {
        if *free < servers[best] {
            best = index;
        }
    }
    &mut servers[best]
}
