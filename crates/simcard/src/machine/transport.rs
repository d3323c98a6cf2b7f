//! The transport between a driver and the machine: registers over the link, interrupts, and time that
//! passes meanwhile.

use super::super::engine::{Notice, Stop};
use super::Machine;
use card::driver::{Answer, Transport, Until, Woken};
use card::event::Event;
use card::memory::HostMemory;
use card::CardError;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::task::Poll;
use units::{HostAddr, Picoseconds};

impl Transport for Machine {
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
        self.registers.read(&mut self.engine, address);
        Ok(Poll::Pending)
    }

    fn probe(&mut self, address: u32) -> Result<Answer, CardError> {
        self.registers.probe(&self.description, address)
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.registers.write(&mut self.engine, address, value);
        Ok(())
    }

    fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        let bytes = memory.len();
        self.engine.map.map(memory).ok_or_else(|| {
            CardError::HostMemory(format!("no range of {bytes} bytes is left for the card"))
        })
    }

    fn unmap(&mut self, address: HostAddr) -> Result<(), CardError> {
        match self.engine.map.unmap(address) {
            Some(_) => Ok(()),
            None => Err(CardError::HostMemory(format!(
                "nothing is mapped at 0x{:x}",
                address.get()
            ))),
        }
    }

    fn wait(&mut self, until: Until, events: &mut Vec<Event>) -> Result<Woken, CardError> {
        let bell = self.bell.clone();
        // Time at which the bell rang. What is due by then still happens, so that a wait that ends there because of
        // `ring_at` ends in the same state.
        let mut rung = None;
        loop {
            // End of the wait, and whether the bell may interrupt it.
            let (end, bell) = match (until, rung) {
                (Until::Events(_), _) if !events.is_empty() => return Ok(Woken::Events),
                (Until::Events(_), Some(at)) => (Some(at), None),
                (Until::Events(deadline), None) => {
                    let end = deadline.into_iter().chain(self.rings_at).min();
                    (end, bell.as_deref())
                }
                (Until::Answer, _) => (self.registers.answered_at(), None),
            };
            let end = end.unwrap_or(Picoseconds::MAX);
            match self.advance(end, bell, events)? {
                Advanced::OnTheWay => {}
                Advanced::Interrupt => return Ok(Woken::Interrupt),
                Advanced::Stopped(Stop::Answered) => self.registers.take_answer(&mut self.engine),
                Advanced::Stopped(Stop::Rung) => rung = Some(self.engine.now()),
                Advanced::Stopped(Stop::Reached)
                    if matches!(until, Until::Events(_))
                        && (rung.is_some()
                            || self.rings_at.is_some_and(|at| self.engine.now() >= at)) =>
                {
                    return Ok(Woken::Rung)
                }
                Advanced::Stopped(stop) => {
                    if let Some(woken) = self.end_wait(until, &stop) {
                        return Ok(woken);
                    }
                }
            }
        }
    }

    fn taken(&mut self, event: &Event) {
        self.host.note_event(self.engine.now(), event);
    }
}

/// Progress of time.
enum Advanced {
    /// The end was not reached.
    OnTheWay,
    /// The end was not reached: the host's user code has been woken, and looks at the event ring.
    Interrupt,
    /// The engine has stopped.
    Stopped(Stop),
}

impl Machine {
    /// The earliest event within the host.
    pub(super) fn next_host_event(&self) -> Option<Picoseconds> {
        let sources = [self.host.next_event(), self.cpu.next_event()];
        sources.into_iter().flatten().min()
    }

    /// Lets time pass up to a moment, or to an earlier event within the host.
    fn advance(
        &mut self,
        end: Picoseconds,
        bell: Option<&AtomicBool>,
        events: &mut Vec<Event>,
    ) -> Result<Advanced, CardError> {
        let host = self.next_host_event().unwrap_or(Picoseconds::MAX);
        Ok(match self.engine.run_until(end.min(host), bell)? {
            Stop::Noticed => {
                self.handle_notices(events);
                Advanced::OnTheWay
            }
            Stop::Reached if host <= self.engine.now() => self.host_event(events),
            stop => Advanced::Stopped(stop),
        })
    }

    /// The result of a wait when the engine stops.
    fn end_wait(&mut self, until: Until, stop: &Stop) -> Option<Woken> {
        match (until, stop) {
            (Until::Answer, Stop::Reached) => self.registers.end_read().map(Woken::Answer),
            (_, Stop::Idle) => Some(Woken::Idle),
            (Until::Events(_), Stop::Reached) => Some(Woken::Reached),
            _ => None,
        }
    }

    fn handle_notices(&mut self, events: &mut Vec<Event>) {
        let mut notices = std::mem::take(&mut self.notices);
        self.engine.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Interrupt(arrives) => self.host.interrupt(arrives),
                Notice::AccessDone => {
                    if let Some(link) = self.engine.coherent() {
                        self.cpu.collect(link);
                    }
                }
                Notice::KernelFailed(slot, reason) => {
                    let event = Event::KernelFailed { slot, reason };
                    self.taken(&event);
                    events.push(event);
                }
            }
        }
        self.notices = notices;
    }

    /// Handles a host event: the user code wakes up, or host work ends.
    fn host_event(&mut self, events: &mut Vec<Event>) -> Advanced {
        let now = self.engine.now();
        self.host.end_works(now, events);
        self.cpu.end(now, events);
        if !self.host.wakes(now) {
            return Advanced::OnTheWay;
        }
        self.engine.around.host.make_visible(now);
        Advanced::Interrupt
    }
}
