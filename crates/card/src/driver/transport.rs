//! The transport between a driver and its card.

use crate::event::Event;
use crate::guard::SlotNotes;
use crate::memory::HostMemory;
use crate::CardError;
use std::sync::Arc;
use std::task::Poll;
use units::{HostAddr, Picoseconds};

/// Result of a register read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Value of the register.
    pub value: u32,
    /// The card answered with an error.
    pub error: bool,
    /// State of the slot to which the register belongs, if the transport carries it.
    pub notes: Option<SlotNotes>,
}

/// Condition that a driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The answer to the pending read.
    Answer,
    /// Events, up to a time; without one, as long as something is under way.
    Events(Option<Picoseconds>),
}

/// Reason why a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There may be new records in the event ring. The interrupted wait must be started again.
    Interrupt,
    /// The answer to the pending read.
    Answer(Answer),
    /// Events were appended.
    Events,
    /// The given time has been reached.
    Reached,
    /// Nothing is under way that could end the wait.
    Idle,
    /// The thread was called back by the bell.
    Rung,
}

/// The transport to a card: a BAR, an IOMMU, an interrupt. It is the only part of a [`Driver`](super::Driver) that
/// differs between cards.
pub trait Transport: Send {
    /// Reads a register of the BAR (`address` in bytes, a multiple of 4). `Pending`: the answer comes from
    /// [`wait`](Transport::wait), and the host continues until then; only a simulation does this.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError>;

    /// Reads a register before any other use of the card. Takes no virtual time.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn probe(&mut self, address: u32) -> Result<Answer, CardError> {
        if let Poll::Ready(answer) = self.read(address)? {
            return Ok(answer);
        }
        loop {
            match self.wait(Until::Answer, &mut Vec::new())? {
                Woken::Answer(answer) => return Ok(answer),
                Woken::Idle => {
                    return Err(CardError::Broken(format!(
                        "register 0x{address:06x}: the shell does not answer"
                    )))
                }
                _ => {}
            }
        }
    }

    /// Writes a register of the BAR. Posted: returns before the card has it; the card sees writes and reads in call
    /// order.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Makes host memory reachable by the card, until [`unmap`](Transport::unmap); returns its address for the card.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: no address range is free, or the system refuses.
    fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError>;

    /// Unmaps memory that [`map`](Transport::map) has mapped.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: nothing is mapped there.
    fn unmap(&mut self, address: HostAddr) -> Result<(), CardError>;

    /// Lets time pass. Events that do not come through the event ring are appended to `events`.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn wait(&mut self, until: Until, events: &mut Vec<Event>) -> Result<Woken, CardError>;

    /// Whether the card is a device that outlives programs: another program may have driven it before, so it is reset
    /// if it was used, and its interrupts are acknowledged. A card within a process has one program, and one interrupt
    /// pulse per record.
    fn is_device(&self) -> bool {
        false
    }

    /// Lets some real time pass between two polls of a register; a no-op if time is virtual.
    fn pause(&mut self) {}

    /// Called when the driver takes a record from the event ring, for timelines.
    fn taken(&mut self, _event: &Event) {}
}

/// Reads a register before any other use of the card.
///
/// # Errors
/// [`CardError::Bus`]: the shell answered with an error; errors of the transport.
pub(super) fn read<T: Transport>(transport: &mut T, address: u32) -> Result<u32, CardError> {
    let answer = transport.probe(address)?;
    match answer.error {
        false => Ok(answer.value),
        true => Err(CardError::Bus {
            address,
            what: "read; the shell answered with an error",
        }),
    }
}
