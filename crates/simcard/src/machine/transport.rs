//! The transport between a driver and the machine: registers over the link, interrupts, and time that
//! passes meanwhile.

use super::super::bar_port::ReadAnswer;
use super::super::engine::{Notice, Stop};
use super::probe::ShellProbe;
use super::Machine;
use card::driver::{Answer, Transport, Until, Woken};
use card::event::Event;
use card::memory::HostMemory;
use card::CardError;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::task::Poll;
use timing::host::Host;
use units::{HostAddr, Picoseconds};

/// Progress of a register read.
#[derive(Clone, Copy)]
pub(super) enum RegisterRead {
    /// The shell has not answered.
    Asked,
    /// The answer is in flight, and reaches the host at this time.
    Answered(ReadAnswer, Picoseconds),
}

impl Transport for Machine {
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
        let arrives = self.engine.link.register_read_request(self.engine.now());
        self.engine.around.bar.read(arrives, address);
        self.register_reads += 1;
        self.read = Some(RegisterRead::Asked);
        Ok(Poll::Pending)
    }

    fn probe(&mut self, address: u32) -> Result<Answer, CardError> {
        let mut probe = match self.probe.take() {
            Some(probe) => probe,
            None => ShellProbe::new(&self.model, &self.description)?,
        };
        let answer = probe.read(address);
        self.probe = Some(probe);
        answer
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.probe = None;
        let arrives = self.engine.link.register_write(self.engine.now());
        self.engine.around.bar.write(arrives, address, value);
        self.register_writes += 1;
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
        loop {
            // End of the wait, and whether the bell may interrupt it.
            let (end, bell) = match (until, self.read) {
                (Until::Events(_), _) if !events.is_empty() => return Ok(Woken::Events),
                (Until::Events(deadline), _) => {
                    (deadline.unwrap_or(Picoseconds::MAX), bell.as_deref())
                }
                (Until::Answer, Some(RegisterRead::Answered(_, at))) => (at, None),
                (Until::Answer, _) => (Picoseconds::MAX, None),
            };
            match self.advance(end, bell, events)? {
                Advanced::OnTheWay => {}
                Advanced::Interrupt => return Ok(Woken::Interrupt),
                Advanced::Stopped(Stop::Answered) => self.take_answer(),
                Advanced::Stopped(stop) => {
                    if let Some(woken) = self.end_wait(until, &stop) {
                        return Ok(woken);
                    }
                }
            }
        }
    }

    fn taken(&mut self, event: &Event) {
        if let Some(trace) = &mut self.trace {
            trace.event(self.engine.now(), event);
        }
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
        let work = self.works.first_key_value().map(|((at, _), _)| *at);
        [self.wakes_at, work, self.next_access()]
            .into_iter()
            .flatten()
            .min()
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

    /// Takes the shell's answer, which goes back over the link.
    fn take_answer(&mut self) {
        if let Some(answer) = self.engine.take_answer() {
            let back = self.engine.link.register_read_response(answer.at);
            self.read = Some(RegisterRead::Answered(answer, back));
        }
    }

    /// The result of a wait when the engine stops.
    fn end_wait(&mut self, until: Until, stop: &Stop) -> Option<Woken> {
        match (until, stop) {
            (Until::Answer, Stop::Reached) => {
                let Some(RegisterRead::Answered(answer, _)) = self.read.take() else {
                    return None;
                };
                Some(Woken::Answer(Answer {
                    value: answer.value,
                    error: answer.error,
                    notes: Some(answer.notes),
                }))
            }
            (_, Stop::Idle) => Some(Woken::Idle),
            (Until::Events(_), Stop::Reached) => Some(Woken::Reached),
            (Until::Events(_), Stop::Rung) => Some(Woken::Rung),
            _ => None,
        }
    }

    fn handle_notices(&mut self, events: &mut Vec<Event>) {
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
        while let Some(entry) = self.works.first_entry() {
            if entry.key().0 > now {
                break;
            }
            events.push(Event::HostWorkDone(entry.remove()));
        }
        self.end_accesses(now, events);
        if self.wakes_at.is_none_or(|at| at > now) {
            return Advanced::OnTheWay;
        }
        self.engine.around.host.make_visible(now);
        // An interrupt in flight announces records that are in flight, too.
        let later = self.last_interrupt > now;
        self.wakes_at = later.then(|| self.host_model.wake(self.last_interrupt));
        Advanced::Interrupt
    }
}
