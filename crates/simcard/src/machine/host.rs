//! The host of a simulated machine: priced work, interrupts, and the wake-up of its user code.

use super::super::trace::HostTrace;
use card::command::Command;
use card::event::Event;
use card::{HostStatistics, HostWork, WorkId};
use std::collections::BTreeMap;
use timing::host::{Host, HostModel};
use units::Picoseconds;

/// The host in virtual time.
pub(super) struct SimulatedHost {
    model: HostModel,
    /// Work by end time.
    works: BTreeMap<(Picoseconds, u64), WorkId>,
    next_work: u64,
    /// Time at which the user code next looks at the event ring, and the last interrupt known to it.
    wakes_at: Option<Picoseconds>,
    last_interrupt: Picoseconds,
    interrupts: u64,
    trace: Option<HostTrace>,
}

impl SimulatedHost {
    /// An idle host.
    pub(super) fn new(model: HostModel, trace: Option<HostTrace>) -> Self {
        Self {
            model,
            works: BTreeMap::new(),
            next_work: 0,
            wakes_at: None,
            last_interrupt: Picoseconds::ZERO,
            interrupts: 0,
            trace,
        }
    }

    /// Starts work.
    pub(super) fn start(&mut self, now: Picoseconds, work: HostWork) -> WorkId {
        let model = &mut self.model;
        let ends = match work {
            HostWork::ServeEvents(events) => model.serve_events(now, events),
            HostWork::ServeEventsOf { thread, events } => {
                model.serve_events_of(now, thread, events)
            }
            HostWork::Serve(span) => model.serve(now, span),
            HostWork::PageCacheCopy { bytes, .. } => model.page_cache_copy(now, bytes),
            HostWork::StorageRead { bytes, .. } => model.storage_read(now, bytes),
            HostWork::StorageWrite { bytes } => model.storage_write(now, bytes),
            HostWork::Reconfigure => model.reconfigure(now),
        };
        if let Some(trace) = &mut self.trace {
            trace.host_work(now, ends, work);
        }
        let id = WorkId(self.next_work);
        self.next_work += 1;
        self.works.insert((ends, id.0), id);
        id
    }

    /// An interrupt reaches the host: it wakes the user code, unless that is about to wake.
    pub(super) fn interrupt(&mut self, arrives: Picoseconds) {
        if let Some(trace) = &mut self.trace {
            trace.interrupt(arrives);
        }
        self.interrupts += 1;
        self.last_interrupt = arrives;
        if self.wakes_at.is_none() {
            self.wakes_at = Some(self.model.wake(arrives));
        }
    }

    /// The next time at which work ends or the user code wakes up.
    pub(super) fn next_event(&self) -> Option<Picoseconds> {
        let work = self.works.first_key_value().map(|((at, _), _)| *at);
        [self.wakes_at, work].into_iter().flatten().min()
    }

    /// Reports the work that has ended.
    pub(super) fn end_works(&mut self, now: Picoseconds, events: &mut Vec<Event>) {
        while let Some(entry) = self.works.first_entry() {
            if entry.key().0 > now {
                break;
            }
            events.push(Event::HostWorkDone(entry.remove()));
        }
    }

    /// Whether the user code wakes up now.
    pub(super) fn wakes(&mut self, now: Picoseconds) -> bool {
        if self.wakes_at.is_none_or(|at| at > now) {
            return false;
        }
        // An interrupt in flight announces records that are in flight, too.
        let later = self.last_interrupt > now;
        self.wakes_at = later.then(|| self.model.wake(self.last_interrupt));
        true
    }

    /// Records that the driver was given a command.
    pub(super) fn note_command(&mut self, now: Picoseconds, command: &Command) {
        if let Some(trace) = &mut self.trace {
            trace.submitted(now, command);
        }
    }

    /// Records an event that the driver has taken.
    pub(super) fn note_event(&mut self, now: Picoseconds, event: &Event) {
        if let Some(trace) = &mut self.trace {
            trace.event(now, event);
        }
    }

    pub(super) fn statistics(&self) -> HostStatistics {
        let (service_busy, copy_busy, storage_busy) = self.model.busy();
        HostStatistics {
            service_busy,
            copy_busy,
            storage_busy,
            interrupts: self.interrupts,
        }
    }
}
