//! The way from a driver to its card.

use crate::event::Event;
use crate::guard::SlotNotes;
use crate::memory::HostMemory;
use crate::CardError;
use std::sync::Arc;
use std::task::Poll;
use units::{HostAddr, Picoseconds};

/// What came back for a register read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The register.
    pub value: u32,
    /// The card answered with an error.
    pub error: bool,
    /// What the shell said of the slot whose window the register is in, if the way carries that.
    pub notes: Option<SlotNotes>,
}

/// What a driver waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// The answer to a read that is pending.
    Answer,
    /// Events, or a moment; without one, as long as there is something to wait for.
    Events(Option<Picoseconds>),
}

/// Why a wait is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Woken {
    /// There may be new records in the event ring. The wait that was interrupted is to be begun anew.
    Interrupt,
    /// The answer to the read that was pending.
    Answer(Answer),
    /// Events were added.
    Events,
    /// The moment has come.
    Reached,
    /// Nothing is under way that could end the wait.
    Idle,
    /// Somebody wants the thread back.
    Rung,
}

/// The way to a card: a BAR, an IOMMU, an interrupt. All of a [`Driver`](super::Driver) that differs from card to card.
pub trait Transport: Send {
    /// Reads a register of the BAR (`address` in bytes, a multiple of 4). Pending: the answer comes out of
    /// [`wait`](Transport::wait), and until then the host goes on; only a simulation answers like this.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError>;

    /// Reads a register before anything else is asked of the card. Where time is virtual, none passes.
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

    /// Writes a register of the BAR. Posted: returns before the card has it; the card sees writes and reads in the
    /// order of the calls.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Lets the card reach memory of the host, until [`unmap`](Transport::unmap); returns where.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: no range of addresses is left, or the system refuses.
    fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError>;

    /// Ends what [`map`](Transport::map) began.
    ///
    /// # Errors
    /// [`CardError::HostMemory`]: nothing is mapped there.
    fn unmap(&mut self, address: HostAddr) -> Result<(), CardError>;

    /// Lets time pass. What happens meanwhile without the event ring is added to `events`.
    ///
    /// # Errors
    /// [`CardError::Broken`].
    fn wait(&mut self, until: Until, events: &mut Vec<Event>) -> Result<Woken, CardError>;

    /// Whether the card is a device that outlives programs: another one may have driven it before, so it is reset if it
    /// was used, and it is given acknowledged interrupts. The card of a process has one program, and a pulse a record.
    fn is_device(&self) -> bool {
        false
    }

    /// Lets some real time pass between two looks at a register; nothing where time is virtual.
    fn pause(&mut self) {}

    /// The driver has taken this record from the event ring, now: for pictures of what happened when.
    fn taken(&mut self, _event: &Event) {}
}

/// What a register reads before anything else is asked of the card.
///
/// # Errors
/// [`CardError::Bus`]: the shell answered with an error; those of the way.
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
