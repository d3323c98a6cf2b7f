//! The host beside the card: its work, and the interrupts and records that reach it.

use super::super::engine::{Notice, Stop};
use super::SimCard;
use card::event::Event;
use card::registers as reg;
use card::CardError;
use timing::host::Host;
use units::Picoseconds;

impl SimCard {
    /// The earliest thing that happens in the host by itself.
    pub(super) fn next_host_event(&self) -> Option<Picoseconds> {
        let work = self.works.first_key_value().map(|((at, _), _)| *at);
        [self.wakes_at, work, self.next_access()]
            .into_iter()
            .flatten()
            .min()
    }

    /// Runs until `until`, an event (if `events`), or the answer to a register read. Handles what
    /// happens in the host on the way.
    pub(super) fn run(&mut self, until: Picoseconds, events: bool) -> Result<Stop, CardError> {
        let bell = self.bell.clone().filter(|_| events);
        loop {
            if events && !self.events.is_empty() {
                return Ok(Stop::Noticed);
            }
            let host = self.next_host_event().unwrap_or(Picoseconds::MAX);
            let stop = self.engine.run_until(until.min(host), bell.as_deref())?;
            match stop {
                Stop::Noticed => self.handle_notices(),
                Stop::Reached if host <= self.engine.now() => self.host_event()?,
                Stop::Reached | Stop::Answered | Stop::Idle | Stop::Rung => return Ok(stop),
            }
        }
    }

    fn handle_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.notices);
        self.engine.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Interrupt(arrives) => {
                    if let Some(trace) = &mut self.trace {
                        trace.interrupt(arrives);
                    }
                    self.interrupts += 1;
                    self.last_interrupt = arrives;
                    if self.wakes_at.is_none() {
                        self.wakes_at = Some(self.host_model.wake(arrives));
                    }
                }
                Notice::AccessDone => self.collect_accesses(),
                Notice::KernelFailed(slot, reason) => {
                    let event = Event::KernelFailed { slot, reason };
                    if let Some(trace) = &mut self.trace {
                        trace.event(self.engine.now(), &event);
                    }
                    self.events.push(event);
                }
            }
        }
        self.notices = notices;
    }

    /// The host's user code wakes up, or work of the host ends.
    fn host_event(&mut self) -> Result<(), CardError> {
        let now = self.engine.now();
        while let Some(entry) = self.works.first_entry() {
            if entry.key().0 > now {
                break;
            }
            self.events.push(Event::HostWorkDone(entry.remove()));
        }
        self.end_accesses(now);
        if self.wakes_at.is_some_and(|at| at <= now) {
            self.engine.around.host.make_visible(now);
            let first = self.events.len();
            self.records.drain(&mut self.events)?;
            let mut interrupted = Vec::new();
            for event in &self.events[first..] {
                if let Some(trace) = &mut self.trace {
                    trace.event(now, event);
                }
                match event {
                    Event::Completed { id, .. } => {
                        for ring in &mut self.commands {
                            ring.completed(*id);
                        }
                    }
                    Event::Interrupt(slot) => interrupted.push(*slot),
                    _ => {}
                }
            }
            // Seen: the next one may come.
            for slot in interrupted {
                let address = reg::SLOT.at(slot.0.into()) + reg::slot::INTERRUPT;
                self.post_register(address, reg::slot::interrupt::REARM.put(1));
            }
            // An interrupt that is still on its way announces records that are too.
            let later = self.last_interrupt > now;
            self.wakes_at = later.then(|| self.host_model.wake(self.last_interrupt));
            if let Some(count) = self.records.give_back() {
                self.post_register(reg::EVENT_HEAD, count);
            }
        }
        Ok(())
    }
}
