//! The interface of a PCIe card: registers, reachable host memory, commands, one wait.
//!
//! The library above uses only the [`Card`] trait, and queries it for optional extensions ([`Loader`], [`Streams`],
//! [`CoherentLines`], [`Simulation`]). Implementations: the crates `simcard` (Verilated shell and kernels in
//! deterministic virtual time) and `funcard` (no RTL, no time). [`driver`] is shared by all implementations with a real
//! shell.

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
use units::{Asid, HostAddr, Picoseconds, ServiceEvents};

/// Host work that costs time, concurrent with the card.
///
/// On a card in virtual time the cost comes from the platform file; elsewhere the work counts as complete at once,
/// because real work takes real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostWork {
    /// One thread of the host handles these faults and completions.
    ServeEvents(ServiceEvents),
    /// Another thread, of an application, handles faults or completions.
    ServeEventsOf {
        /// Number of the thread, from 1.
        thread: u8,
        /// Faults and completions.
        events: ServiceEvents,
    },
    /// The same thread is busy for this duration.
    Serve(Picoseconds),
    /// Copies bytes from the page cache to a DMA buffer, or back.
    PageCacheCopy {
        /// Number of bytes copied.
        bytes: u64,
        /// Their place in a DMA buffer, for the timeline; `None` if they leave it or go elsewhere.
        into: Option<HostAddr>,
    },
    /// Reads bytes from storage (not in the page cache).
    StorageRead {
        /// Number of bytes read.
        bytes: u64,
        /// Their place in a DMA buffer, for the timeline; `None` if they go elsewhere.
        into: Option<HostAddr>,
    },
    /// Writes bytes to storage.
    StorageWrite {
        /// Number of bytes written.
        bytes: u64,
    },
    /// Puts another kernel into a slot (partial reconfiguration).
    Reconfigure,
}

/// Identifier of host work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// A card, real or simulated: the common interface, and access to optional extensions.
///
/// No method blocks except [`wait`](Card::wait) and, for the duration of a bus access, the register calls. A card is
/// driven by one thread at a time.
pub trait Card: Send {
    /// Static description of the card: its size and features.
    fn description(&self) -> &CardDescription;

    /// Virtual time (or time since the card was opened, on a real one).
    fn now(&self) -> Picoseconds;

    /// Reads a 32-bit register of the BAR (`address` in bytes, a multiple of 4).
    ///
    /// # Errors
    /// [`CardError::Bus`] when the card answers with an error, for example from a hung kernel.
    fn read_register(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes a 32-bit register of the BAR. Posted: returns before the card has it, but registers and commands take
    /// effect in call order.
    ///
    /// # Errors
    /// [`CardError::Bus`] when the address is outside the BAR.
    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// BAR addresses of writes that were answered with an error since the last call. Writes are posted, so their
    /// answers come later. Always empty on a card that has no bus to its kernels, or no write responses on it.
    fn take_refused_writes(&mut self) -> Vec<u32> {
        Vec::new()
    }

    /// Makes host memory reachable by the card until [`unmap_host`](Card::unmap_host).
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when no address range is left.
    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError>;

    /// Ends the mapping of [`map_host`](Card::map_host). The card must not be using the memory.
    ///
    /// # Errors
    /// [`CardError::HostMemory`] when nothing is mapped there.
    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError>;

    /// Queues a command; its completion comes as [`Event::Completed`]. Commands of a queue start in order; queues take
    /// turns; `docs/architecture.md` ("Command ring") defines which commands run concurrently.
    ///
    /// # Errors
    /// [`CardError::QueueFull`] if the queue's ring is full of unfinished commands; [`CardError::NoSuchQueue`].
    fn submit(&mut self, command: Command) -> Result<(), CardError>;

    /// Number of commands that [`submit`](Card::submit) still accepts for a queue before it returns `QueueFull`.
    fn queue_room(&self, queue: QueueId) -> usize;

    /// Attaches an address space to a slot and releases the slot from reset (`run`), or holds it in reset. A reset
    /// drops the slot's parked accesses.
    ///
    /// # Errors
    /// No such slot or space, or [`CardError::Bus`].
    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError>;

    /// Reads a 32-bit register of the kernel in a slot (`offset` in its control window, in bytes, a multiple of 4),
    /// together with the shell's state of the slot at that moment. It costs as much as
    /// [`read_register`](Card::read_register).
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`] when the kernel answers with an error or not at all.
    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError>;

    /// The state of a slot's guard: the reason for closing the slot, and the waits of its ports. The waits are gone
    /// once the slot is in reset; the reason stays until the slot leaves reset.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError>;

    /// Sets the page table of a space, or its page sizes, or disables the space.
    ///
    /// # Errors
    /// No such space, a stripe that the card cannot have, or [`CardError::Bus`].
    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError>;

    /// Sets a slot's schedule for card memory under contention. It applies from the next cycle, to accesses that have
    /// not left yet, until it is set again.
    ///
    /// # Errors
    /// No such slot, [`CardError::Schedule`], or [`CardError::Bus`].
    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError>;

    /// Waits for events: returns as soon as there are any, or none at the deadline.
    ///
    /// Without a deadline, if nothing is under way that could bring an event, it returns
    /// [`CardError::NothingToWaitFor`] instead of hanging.
    ///
    /// # Errors
    /// A broken card ([`CardError::Broken`]); errors of kernels and commands are events.
    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError>;

    /// Counters since the card was opened.
    fn statistics(&mut self) -> Result<Statistics, CardError>;

    /// The interface to load kernels. Without it the slots have fixed kernels.
    fn loader(&mut self) -> Option<&mut dyn Loader> {
        None
    }

    /// The interface to stream ports of kernels.
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        None
    }

    /// The interface to lines shared with a coherent CPU.
    fn lines(&mut self) -> Option<&mut dyn CoherentLines> {
        None
    }

    /// The interface of a card that is a model.
    fn simulation(&mut self) -> Option<&mut dyn Simulation> {
        None
    }
}

impl dyn Card + '_ {
    /// The interface to stream ports, or an error.
    ///
    /// # Errors
    /// [`CardError::Without`].
    pub fn need_streams(&mut self) -> Result<&mut dyn Streams, CardError> {
        let card = self.description().name.clone();
        let what = "stream ports";
        self.streams().ok_or(CardError::Without { card, what })
    }

    /// A network interface of the card, or an error.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`].
    pub fn need_network(&mut self, interface: u8) -> Result<&mut dyn Network, CardError> {
        let error = self.description().no_network(interface);
        self.streams().and_then(|card| card.network()).ok_or(error)
    }

    /// The interface to lines shared with a CPU, or an error.
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU.
    pub fn need_lines(&mut self) -> Result<&mut dyn CoherentLines, CardError> {
        let card = self.description().name.clone();
        self.lines().ok_or(CardError::NotCoherent { card })
    }
}
