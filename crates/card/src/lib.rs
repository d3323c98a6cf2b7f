//! What any PCIe card offers, and no more: registers, reachable host memory, commands, one wait.
//!
//! The library above speaks only to the [`Card`] trait, and asks it for the extensions that a card may have
//! ([`Loader`], [`Streams`], [`CoherentLines`], [`Simulation`]). Implementations: the crates `simcard` (Verilated
//! shell and kernels in deterministic virtual time) and `funcard` (no RTL, no time). [`driver`] is what every
//! implementation with a real shell behind it shares.

pub mod coherent;
pub mod command;
mod description;
pub mod directory_registers;
pub mod driver;
mod error;
pub mod event;
mod extension;
pub mod guard;
pub mod history;
pub mod home_registers;
pub mod host_lines_registers;
pub mod kernel;
pub mod memory;
pub mod network;
pub mod registers;
pub mod schedule;
mod space;
mod statistics;
pub mod stream;

pub use description::CheckedDescription;
pub use error::CardError;
pub use extension::{CoherentLines, Loader, Network, Preparation, Simulation, Streams};
pub use space::{SpaceControl, SpaceTable};
pub use statistics::{
    ChannelStatistics, HostStatistics, LinkStatistics, OwnerChanges, RequesterStatistics,
    Statistics,
};
pub use units::{memories, CardDescription, L1Reach, SlotId};

use command::{Command, QueueId};
use event::Event;
use guard::{KernelWord, SlotStatus};
use memory::HostMemory;
use schedule::SlotSchedule;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use units::{Asid, HostAddr, Picoseconds};

/// What the host does beside the card, as far as it costs time.
///
/// On a card in virtual time the cost comes from the platform file; elsewhere the work is over at
/// once, because real work takes real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostWork {
    /// One thread of the host decides about this many faults or completions.
    ServeEvents(u32),
    /// Another thread, of an application, does.
    ServeEventsOf {
        /// Which thread, from 1 on.
        thread: u8,
        /// Faults or completions.
        events: u32,
    },
    /// The thread that has just served looks once more, and hands on so many records that say all by themselves.
    HandOn(u32),
    /// The same thread is busy for so long.
    Serve(Picoseconds),
    /// Copies bytes from the page cache to a DMA buffer, or back.
    PageCacheCopy {
        /// Bytes copied.
        bytes: u64,
    },
    /// Reads bytes from storage (not in the page cache).
    StorageRead {
        /// Bytes read.
        bytes: u64,
    },
    /// Writes bytes to storage.
    StorageWrite {
        /// Bytes written.
        bytes: u64,
    },
    /// Puts another kernel into a slot (partial reconfiguration).
    Reconfigure,
}

/// Names a piece of host work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// A card, real or simulated: what any PCIe card offers, and the way to what some have besides.
///
/// Nothing here blocks except [`wait`](Card::wait) and, for the time of a bus access, the register
/// calls. A card is driven by one thread at a time.
pub trait Card: Send {
    /// What the card is made of.
    fn description(&self) -> &CardDescription;

    /// Virtual time (or time since the card was opened, on a real one).
    fn now(&self) -> Picoseconds;

    /// Reads a 32-bit register of the BAR (`address` in bytes, a multiple of 4).
    ///
    /// # Errors
    /// [`CardError::Bus`] when the card answers with an error, for example from a hung kernel.
    fn read_register(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes a 32-bit register of the BAR. Posted: returns before the card has it, but registers
    /// and commands take effect in the order of the calls.
    ///
    /// # Errors
    /// [`CardError::Bus`] when the address is outside the BAR.
    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// BAR addresses of writes that were answered with an error since the last call. Writes are posted, so their answers
    /// come later. None on a card whose kernels have no bus, and on one whose bus does not carry them.
    fn take_refused_writes(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// Makes host memory reachable by the card until [`unmap_host`](Card::unmap_host).
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when no address range is left.
    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError>;

    /// Ends what [`map_host`](Card::map_host) began. The card must not be using the memory.
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when nothing is mapped there.
    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError>;

    /// Queues a command; its completion comes as [`Event::Completed`]. Commands of a queue start in
    /// order; queues take turns; `docs/architecture.md` ("Command ring") says what runs beside what.
    ///
    /// # Errors
    /// [`CardError::QueueFull`] when as many commands as the queue's ring holds are unfinished;
    /// [`CardError::NoSuchQueue`].
    fn submit(&mut self, command: Command) -> Result<(), CardError>;

    /// Commands that [`submit`](Card::submit) still takes for a queue before it answers `QueueFull`.
    fn queue_room(&self, queue: QueueId) -> usize;

    /// Attaches an address space to a slot and lets the slot run (`run`), or holds it in reset.
    /// While it is in reset its parked accesses are forgotten.
    ///
    /// # Errors
    /// No such slot or space, or [`CardError::Bus`].
    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError>;

    /// Reads a 32-bit register of the kernel in a slot (`offset` in its control window, in bytes, a multiple of 4),
    /// and with it what the shell knows of the slot in that moment. It costs what
    /// [`read_register`](Card::read_register) costs.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`] when the kernel answers with an error or not at all.
    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError>;

    /// What the slot's guard knows: why it is closed, and what its ports wait for. What they wait for is
    /// gone once the slot is in reset; why it was closed stays until it leaves reset.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError>;

    /// Tells the shell of the page table of a space, of its page sizes, or that it has none.
    ///
    /// # Errors
    /// No such space, a stripe that the card cannot have, or [`CardError::Bus`].
    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError>;

    /// Says what a slot gets of card memory while others want it too. It counts from the next cycle on, for
    /// what has not left yet, until it is said anew.
    ///
    /// # Errors
    /// No such slot, [`CardError::Schedule`], or [`CardError::Bus`].
    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError>;

    /// The one wait: returns as soon as there are events, or none at the deadline.
    ///
    /// Without a deadline, and when nothing is under way that could bring an event, it returns
    /// [`CardError::NothingToWaitFor`] rather than hang.
    ///
    /// # Errors
    /// A broken card ([`CardError::Broken`]); errors of kernels and commands are events.
    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError>;

    /// Where the time went since the card was opened.
    fn statistics(&mut self) -> Result<Statistics, CardError>;

    /// Kernels can be put into its slots. Without it the slots hold what they hold.
    fn loader(&mut self) -> Option<&mut dyn Loader> {
        None
    }

    /// Its kernels have stream ports.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// It is coherent with a CPU.
    fn lines(&mut self) -> Option<&mut dyn CoherentLines> {
        None
    }

    /// It is no device, but a model of one.
    fn simulation(&mut self) -> Option<&mut dyn Simulation> {
        None
    }
}

impl dyn Card + '_ {
    /// Its streams.
    ///
    /// # Errors
    /// [`CardError::Without`].
    pub fn need_streams(&mut self) -> Result<&mut dyn Streams, CardError> {
        let card = self.description().name.clone();
        let what = "stream ports";
        self.streams().ok_or(CardError::Without { card, what })
    }

    /// A network interface of it.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`].
    pub fn need_network(&mut self, interface: u8) -> Result<&mut dyn Network, CardError> {
        let error = self.description().no_network(interface);
        self.streams().and_then(|card| card.network()).ok_or(error)
    }

    /// The lines that it shares with a CPU.
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU.
    pub fn need_lines(&mut self) -> Result<&mut dyn CoherentLines, CardError> {
        let card = self.description().name.clone();
        self.lines().ok_or(CardError::NotCoherent { card })
    }
}
