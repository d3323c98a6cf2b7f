//! What a card may have besides.

use crate::coherent::{AccessId, LineAccess, LinePages};
use crate::command::Command;
use crate::history::History;
use crate::kernel::KernelPackage;
use crate::network::Peer;
use crate::stream::{
    StreamDirection, StreamId, StreamSource, StreamState, StreamWaiting, SwitchState, Transfer,
};
use crate::{CardError, HostWork, SlotId, WorkId};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;

/// Work before a kernel is loaded.
pub type Preparation = Box<dyn FnOnce() -> Result<(), CardError> + Send>;

/// A card that kernels can be put into.
pub trait Loader {
    /// Puts a kernel into a slot. The slot stays in reset until [`control_slot`](crate::Card::control_slot).
    ///
    /// # Errors
    /// No such slot, slot running, a kernel that does not fit the slot, or one that does not build.
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError>;

    /// What of [`load`](Loader::load) takes long and needs no card: to be done first, on any thread. `None` if
    /// there is nothing.
    fn preparation(&self, _kernel: &KernelPackage) -> Option<Preparation> {
        None
    }
}

/// A card whose kernels have stream ports.
pub trait Streams {
    /// Begins a transfer between memory and a stream; its end comes as
    /// [`Event::TransferDone`](crate::event::Event::TransferDone). One at a time for each stream; the slot must be out of reset, and its reset
    /// forgets the transfer, without an event.
    ///
    /// # Errors
    /// No such slot or stream, [`CardError::StreamBusy`], or [`CardError::Bus`].
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError>;

    /// Ends a transfer out of a kernel, if one is under way, as if its range were full: what has come is in
    /// memory, what comes waits for the next transfer. Its end comes as [`Event::TransferDone`](crate::event::Event::TransferDone).
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError>;

    /// What a stream does now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError>;

    /// What a kernel has sent out of a port and nobody has taken. On a simulated card it takes no virtual time.
    ///
    /// # Errors
    /// As [`stream_state`](Streams::stream_state).
    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError>;

    /// Says what the incoming port of a stream pair takes its beats from, from the next packet on; see
    /// [`switch_state`](Streams::switch_state).
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError>;

    /// What is connected to the incoming port of a stream pair now.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError>;

    /// Its network interfaces, if it can have any.
    fn network(&mut self) -> Option<&mut dyn Network> {
        None
    }
}

/// A card with network interfaces.
pub trait Network {
    /// Connects an interface in a direction (*into* it is sent, *out* of it is received) to a peer. What failed there
    /// before is forgotten; a transfer under way goes on with the new peer.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`]: no such interface.
    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn Peer>,
    ) -> Result<(), CardError>;

    /// Why an interface works no more in a direction, since a peer was connected.
    ///
    /// # Errors
    /// As [`connect_peer`](Network::connect_peer).
    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError>;

    /// Pulls the cable of an interface (`false`), or puts it back: for tests of what happens then.
    ///
    /// # Errors
    /// As [`connect_peer`](Network::connect_peer); a real card.
    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError>;
}

/// A card that shares lines with a CPU. Its methods fail with [`CardError::NotCoherent`] if there is no such CPU.
pub trait CoherentLines {
    /// Starts an access of a core of the coherent CPU beside the card; its end comes as
    /// [`Event::AccessDone`](crate::event::Event::AccessDone).
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU;
    /// [`CardError::Access`]: no such core, or a store that leaves its line.
    fn access(&mut self, access: LineAccess) -> Result<AccessId, CardError>;

    /// Shows a page of a program that holds the lines from `address` on, if the CPU has them all, for itself
    /// alone if they are to be written; false if not. The page is hidden before anybody else gets one of
    /// its lines.
    ///
    /// # Errors
    /// As [`access`](CoherentLines::access); the system refuses.
    fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: Arc<dyn LinePages>,
    ) -> Result<bool, CardError>;

    /// Hides all pages of programs that show lines of this range.
    ///
    /// # Errors
    /// As [`show_page`](CoherentLines::show_page).
    fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError>;

    /// Records what happens to lines from now on, by the names that they have in pictures; what was
    /// recorded before is forgotten. Changes no result.
    ///
    /// # Errors
    /// As [`access`](CoherentLines::access).
    fn record_lines(&mut self, history: History) -> Result<(), CardError>;

    /// What was recorded.
    fn line_history(&self) -> History;
}

/// A card that is a model.
pub trait Simulation {
    /// Whether [`now`](crate::Card::now) is virtual time: what is done when, and so the order in which bytes move, follows
    /// from the inputs alone. Not on a model that only counts its steps.
    fn has_virtual_time(&self) -> bool;

    /// Starts work of the host, which takes the time there that a model of the host says; its end comes as
    /// [`Event::HostWorkDone`](crate::event::Event::HostWorkDone).
    fn host_work(&mut self, work: HostWork) -> WorkId;

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

    /// True when nothing can happen any more unless the host does something: no command, no host
    /// work, no data on the way, and no kernel that would change its state on a further clock edge.
    fn is_quiescent(&mut self) -> bool;

    /// From now on [`wait`](crate::Card::wait) also returns, without events, soon after the bell rings (is set).
    /// Whoever waits again with the same deadline sees the same events at the same times.
    fn set_bell(&mut self, bell: Arc<AtomicBool>);
}
