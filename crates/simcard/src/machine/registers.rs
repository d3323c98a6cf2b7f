//! Register accesses of the host: over the link, or of a probe before the card is used.

use super::super::bar_port::ReadAnswer;
use super::super::engine::Engine;
use super::super::model::Model;
use super::probe::ShellProbe;
use card::driver::Answer;
use card::{CardDescription, CardError};
use std::rc::Rc;
use units::Picoseconds;

/// Progress of a register read.
#[derive(Clone, Copy)]
enum RegisterRead {
    /// The shell has not answered.
    Asked,
    /// The answer is in flight, and reaches the host at this time.
    Answered(ReadAnswer, Picoseconds),
}

/// The host's side of the register bus.
pub(super) struct RegisterBus {
    /// For reads before the card is used.
    model: Rc<Model>,
    probe: Option<ShellProbe>,
    /// The read under way.
    read: Option<RegisterRead>,
    reads: u64,
    writes: u64,
}

impl RegisterBus {
    pub(super) fn new(model: Rc<Model>) -> Self {
        Self {
            model,
            probe: None,
            read: None,
            reads: 0,
            writes: 0,
        }
    }

    /// Starts a read.
    pub(super) fn read(&mut self, engine: &mut Engine, address: u32) {
        let arrives = engine.link.register_read_request(engine.now());
        engine.around.bar.read(arrives, address);
        self.reads += 1;
        self.read = Some(RegisterRead::Asked);
    }

    /// Reads a register as it is after reset, in no virtual time.
    pub(super) fn probe(
        &mut self,
        card: &CardDescription,
        address: u32,
    ) -> Result<Answer, CardError> {
        let mut probe = match self.probe.take() {
            Some(probe) => probe,
            None => ShellProbe::new(&self.model, card)?,
        };
        let answer = probe.read(address);
        self.probe = Some(probe);
        answer
    }

    pub(super) fn write(&mut self, engine: &mut Engine, address: u32, value: u32) {
        // The card is used from now on.
        self.probe = None;
        let arrives = engine.link.register_write(engine.now());
        engine.around.bar.write(arrives, address, value);
        self.writes += 1;
    }

    /// Takes the shell's answer, which goes back over the link.
    pub(super) fn take_answer(&mut self, engine: &mut Engine) {
        if let Some(answer) = engine.take_answer() {
            let back = engine.link.register_read_response(answer.at);
            self.read = Some(RegisterRead::Answered(answer, back));
        }
    }

    /// Time at which the answer reaches the host, if the shell has answered.
    pub(super) fn answered_at(&self) -> Option<Picoseconds> {
        match self.read {
            Some(RegisterRead::Answered(_, at)) => Some(at),
            _ => None,
        }
    }

    /// Ends the read whose answer has reached the host.
    pub(super) fn end_read(&mut self) -> Option<Answer> {
        let Some(RegisterRead::Answered(answer, _)) = self.read.take() else {
            return None;
        };
        Some(Answer {
            value: answer.value,
            error: answer.error,
            notes: Some(answer.notes),
        })
    }

    /// Number of reads since power-up.
    pub(super) fn reads(&self) -> u64 {
        self.reads
    }

    /// Number of writes since power-up.
    pub(super) fn writes(&self) -> u64 {
        self.writes
    }
}
