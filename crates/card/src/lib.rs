//! What any PCIe card offers, and no more: registers, reachable host memory, commands, one wait.
//!
//! The library above speaks only to the [`Card`] trait. Implementations: the crates `simcard` (Verilated
//! shell and kernels in deterministic virtual time) and `funcard` (no RTL, no time).

pub mod coherent;
pub mod command;
mod description;
pub mod directory_registers;
mod error;
pub mod event;
pub mod guard;
pub mod history;
pub mod home_registers;
pub mod host_lines_registers;
pub mod kernel;
pub mod memory;
pub mod network;
pub mod registers;
pub mod schedule;
mod statistics;
pub mod stream;

pub use description::CheckedDescription;
pub use error::CardError;
pub use statistics::{
    ChannelStatistics, HostStatistics, LinkStatistics, OwnerChanges, RequesterStatistics,
    Statistics,
};
pub use units::{memories, CardDescription, L1Reach, SlotId};

use command::{Command, QueueId};
use event::Event;
use guard::{KernelWord, SlotNotes, SlotStatus};
use kernel::KernelPackage;
use memory::HostMemory;
use schedule::SlotSchedule;
use serde::{Deserialize, Serialize};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use stream::{StreamDirection, StreamId, StreamSource, StreamState, SwitchState, Transfer};
use units::{HostAddr, Picoseconds};

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

/// Work before a kernel is loaded.
pub type Preparation = Box<dyn FnOnce() -> Result<(), CardError> + Send>;

/// Names a piece of host work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WorkId(pub u64);

/// A card, real or simulated.
///
/// Nothing here blocks except [`wait`](Card::wait) and, for the time of a bus access, the register
/// calls. A card is driven by one thread at a time.
pub trait Card: Send {
    /// What the card is made of.
    fn description(&self) -> &CardDescription;

    /// Virtual time (or time since the card was opened, on a real one).
    fn now(&self) -> Picoseconds;

    /// Whether [`now`](Card::now) is virtual time: what is done when, and so the order in which bytes move, follows
    /// from the inputs alone. Not on a real card, and not on one that only counts its steps.
    fn has_virtual_time(&self) -> bool {
        false
    }

    /// Puts a kernel into a slot. The slot stays in reset until [`control_slot`](Card::control_slot).
    ///
    /// # Errors
    /// No such slot, slot running, a kernel that does not fit the slot, or one that does not build.
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError>;

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
    /// come later. None on a card whose kernels have no bus.
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
    /// order; queues take turns;
    /// `docs/architecture.md` ("Command ring") says what runs beside what.
    ///
    /// # Errors
    /// [`CardError::QueueFull`] when as many commands as the queue's ring holds are unfinished;
    /// [`CardError::NoSuchQueue`].
    fn submit(&mut self, command: Command) -> Result<(), CardError>;

    /// Commands that [`submit`](Card::submit) still takes for a queue before it answers `QueueFull`.
    fn queue_room(&self, queue: QueueId) -> usize;

    /// Carries out a copy to card memory, or its zeroing, at once and at no virtual time, past the shell: data that is
    /// *hot*. Such a command has no completion; nothing that it would have to wait for may be under way. False: only a
    /// simulation has such a way, and for such commands; this one is to be submitted.
    ///
    /// # Errors
    /// The ranges are not in host and card memory.
    fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        let _ = command;
        Ok(false)
    }

    /// Starts work of the host; its end comes as [`Event::HostWorkDone`].
    fn host_work(&mut self, work: HostWork) -> WorkId;

    /// Attaches an address space to a slot and lets the slot run (`run`), or holds it in reset.
    /// While it is in reset its parked accesses are forgotten.
    ///
    /// # Errors
    /// No such slot or space, or [`CardError::Bus`].
    fn control_slot(&mut self, slot: SlotId, asid: units::Asid, run: bool)
        -> Result<(), CardError>;

    /// Reads a 32-bit register of the kernel in a slot (`offset` in its control window, in bytes, a multiple of 4),
    /// and with it what the shell knows of the slot in that moment. It costs what
    /// [`read_register`](Card::read_register) costs.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`] when the kernel answers with an error or not at all.
    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError>;

    /// What is still owed of that which the ports had taken at the last [`read_kernel`](Card::read_kernel): one
    /// register read.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    fn slot_notes(&mut self, slot: SlotId) -> Result<SlotNotes, CardError>;

    /// What the slot's guard knows: why it is closed, and what its ports wait for. What they wait for is
    /// gone once the slot is in reset; why it was closed stays until it leaves reset.
    ///
    /// # Errors
    /// No such slot, or [`CardError::Bus`].
    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError>;

    /// Tells the shell where the page table of a space is, and which page sizes it uses (bit k:
    /// size class k). `None` disables the space.
    ///
    /// # Errors
    /// No such space, or [`CardError::Bus`].
    fn control_space(
        &mut self,
        asid: units::Asid,
        table: Option<(units::TableGeometry, u32)>,
    ) -> Result<(), CardError>;

    /// Tells the shell which page sizes a space that is enabled has from now on (bit k: size class k). It
    /// may get more of them at any time; pages of a size that is left out are not found.
    ///
    /// # Errors
    /// No such space, or [`CardError::Bus`].
    fn use_page_sizes(&mut self, asid: units::Asid, size_classes: u32) -> Result<(), CardError>;

    /// Spreads the frames of a space over channels: card addresses in its page-table entries are
    /// striped from the next [`control_space`](Card::control_space) on, and copies to and from its
    /// frames have to say so ([`Command::stripe`]). To be called while no slot runs in the space.
    ///
    /// # Errors
    /// No such space, or a stripe that the card cannot have.
    fn stripe_space(&mut self, asid: units::Asid, stripe: units::Stripe) -> Result<(), CardError>;

    /// Begins a transfer between memory and a stream; its end comes as
    /// [`Event::TransferDone`]. One at a time for each stream; the slot must be out of reset, and its reset
    /// forgets the transfer, without an event.
    ///
    /// # Errors
    /// No such slot or stream, [`CardError::StreamBusy`], or [`CardError::Bus`].
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        let _ = transfer;
        self.description().check_stream(slot, stream)?;
        Err(CardError::NoSuchStream {
            slot,
            stream,
            pairs: 0,
        })
    }

    /// Ends a transfer out of a kernel, if one is under way, as if its range were full: what has come is in
    /// memory, what comes waits for the next transfer. Its end comes as [`Event::TransferDone`].
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        self.description().check_stream(slot, stream)
    }

    /// What a stream does now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        self.description().check_stream(slot, stream)?;
        Ok(StreamState::default())
    }

    /// What a kernel has sent out of a port and nobody has taken. On a simulated card it takes no virtual time.
    ///
    /// # Errors
    /// As [`stream_state`](Card::stream_state).
    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<stream::StreamWaiting, CardError> {
        let state = self.stream_state(slot, stream)?;
        Ok(stream::StreamWaiting {
            beat: state.valid,
            ..stream::StreamWaiting::default()
        })
    }

    /// Says what the incoming port of a stream pair takes its beats from, from the next packet on; see
    /// [`switch_state`](Card::switch_state).
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        self.description()
            .check_connection(slot, pair, source)
            .map(|_| ())
    }

    /// Connects an interface in a direction (*into* it is sent, *out* of it is received) to a peer. What failed there
    /// before is forgotten; a transfer under way goes on with the new peer.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`]: no such interface.
    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn network::Peer>,
    ) -> Result<(), CardError> {
        let _ = (direction, peer);
        Err(self.description().no_network(interface))
    }

    /// Why an interface works no more in a direction, since a peer was connected.
    ///
    /// # Errors
    /// As [`connect_peer`](Card::connect_peer).
    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError> {
        let _ = direction;
        Err(self.description().no_network(interface))
    }

    /// Pulls the cable of an interface (`false`), or puts it back: for tests of what happens then.
    ///
    /// # Errors
    /// As [`connect_peer`](Card::connect_peer); a real card.
    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError> {
        let _ = up;
        Err(self.description().no_network(interface))
    }

    /// What is connected to the incoming port of a stream pair now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        let mover = StreamSource::Mover;
        self.description().check_connection(slot, pair, mover)?;
        Ok(SwitchState::default())
    }

    /// Says what a slot gets of card memory while others want it too. It counts from the next cycle on, for
    /// what has not left yet, until it is said anew.
    ///
    /// # Errors
    /// No such slot, [`CardError::Schedule`], or [`CardError::Bus`].
    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError>;

    /// Starts an access of a core of the coherent CPU beside the card; its end comes as
    /// [`Event::AccessDone`].
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU;
    /// [`CardError::Access`]: no such core, or a store that leaves its line.
    fn access(&mut self, access: coherent::LineAccess) -> Result<coherent::AccessId, CardError> {
        let _ = access;
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Shows a page of a program that holds the lines from `address` on, if the CPU has them all, for itself
    /// alone if they are to be written; false if not. The page is hidden before anybody else gets one of
    /// its lines.
    ///
    /// # Errors
    /// As [`access`](Card::access); the system refuses.
    fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: std::sync::Arc<dyn coherent::LinePages>,
    ) -> Result<bool, CardError> {
        let _ = (address, write, pages);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Hides all pages of programs that show lines of this range.
    ///
    /// # Errors
    /// As [`show_page`](Card::show_page).
    fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError> {
        let _ = (base, bytes);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// Records what happens to lines from now on, by the names that they have in pictures; what was
    /// recorded before is forgotten. Changes no result.
    ///
    /// # Errors
    /// As [`access`](Card::access).
    fn record_lines(&mut self, history: history::History) -> Result<(), CardError> {
        drop(history);
        Err(CardError::NotCoherent {
            card: self.description().name.clone(),
        })
    }

    /// What was recorded.
    fn line_history(&self) -> history::History {
        history::History::default()
    }

    /// The one wait: returns as soon as there are events, or none at the deadline.
    ///
    /// Without a deadline, and when nothing is under way that could bring an event, it returns
    /// [`CardError::NothingToWaitFor`] rather than hang.
    ///
    /// # Errors
    /// A broken card ([`CardError::Broken`]); errors of kernels and commands are events.
    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError>;

    /// What of [`load`](Card::load) takes long and needs no card: to be done first, on any thread. `None` if
    /// there is nothing.
    fn preparation(&self, _kernel: &KernelPackage) -> Option<Preparation> {
        None
    }

    /// From now on [`wait`](Card::wait) also returns, without events, soon after the bell rings (is set).
    /// Whoever waits again with the same deadline sees the same events at the same times. A card may
    /// ignore it, if it waits never long.
    fn set_bell(&mut self, _bell: Arc<AtomicBool>) {}

    /// True when nothing can happen any more unless the host does something: no command, no host
    /// work, no data on the way, and no kernel that would change its state on a further clock edge.
    /// `false` when the card cannot know.
    fn is_quiescent(&mut self) -> bool {
        false
    }

    /// Where the time went since the card was opened.
    fn statistics(&mut self) -> Result<Statistics, CardError>;
}
