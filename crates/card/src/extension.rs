//! Optional extensions of a card.

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
use std::time::Duration;
use units::Picoseconds;

/// Preparatory work before a kernel is loaded. It ends early, with an error, once the flag is set: no client waits for it.
pub type Preparation = Box<dyn FnOnce(Arc<AtomicBool>) -> Result<(), CardError> + Send>;

/// A card into which kernels can be loaded.
pub trait Loader {
    /// Loads a kernel into a slot. The slot stays in reset until [`control_slot`](crate::Card::control_slot).
    ///
    /// # Errors
    /// No such slot, slot running, a kernel that does not fit the slot, or one that does not build.
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError>;

    /// The slow part of [`load`](Loader::load) that needs no card: run it first, on any thread. It fails if it takes
    /// longer than `limit`. `None` if there is none.
    fn preparation(
        &self,
        _kernel: &KernelPackage,
        _limit: Option<Duration>,
    ) -> Option<Preparation> {
        None
    }
}

/// A card whose kernels have stream ports.
pub trait Streams {
    /// Begins a transfer between memory and a stream; its end is reported by
    /// [`Event::TransferDone`](crate::event::Event::TransferDone). Each stream has one transfer at a time. The slot
    /// must be out of reset; a reset drops the transfer, without an event.
    ///
    /// # Errors
    /// No such slot or stream, [`CardError::StreamBusy`], or [`CardError::Bus`].
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError>;

    /// Ends a transfer out of a kernel, if one is under way, as if its range were full: bytes received are in memory,
    /// later ones wait for the next transfer. Its end is reported by
    /// [`Event::TransferDone`](crate::event::Event::TransferDone).
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError>;

    /// The current state of a stream.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError>;

    /// Bytes that a kernel has sent out of a port and that were not taken. On a simulated card the call takes no
    /// virtual time.
    ///
    /// # Errors
    /// As [`stream_state`](Streams::stream_state).
    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError>;

    /// Selects the source of the incoming port of a stream pair, from the next packet on; see
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

    /// The source of the incoming port of a stream pair, at present.
    ///
    /// # Errors
    /// No such slot or stream, or [`CardError::Bus`].
    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError>;

    /// The card's network interfaces, if it can have any.
    fn network(&mut self) -> Option<&mut dyn Network> {
        None
    }
}

/// A card with network interfaces.
pub trait Network {
    /// Connects an interface in one direction (*into* it is sent, *out* of it is received) to a peer. Earlier failures
    /// in that direction are cleared; a transfer under way continues with the new peer.
    ///
    /// # Errors
    /// [`CardError::NoNetwork`]: no such interface.
    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn Peer>,
    ) -> Result<(), CardError>;

    /// Why an interface has failed in a direction, since a peer was connected.
    ///
    /// # Errors
    /// As [`connect_peer`](Network::connect_peer).
    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError>;

    /// Disconnects (`false`) or reconnects the cable of an interface, for tests of link failures.
    ///
    /// # Errors
    /// As [`connect_peer`](Network::connect_peer); not supported on a real card.
    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError>;
}

/// A card that shares lines with a CPU. Its methods fail with [`CardError::NotCoherent`] if there is no such CPU.
pub trait CoherentLines {
    /// Starts an access of a core of the coherent CPU; its end is reported by
    /// [`Event::AccessDone`](crate::event::Event::AccessDone).
    ///
    /// # Errors
    /// [`CardError::NotCoherent`]: the card has no directory, or the platform no such CPU;
    /// [`CardError::Access`]: no such core, or a store that leaves its line.
    fn access(&mut self, access: LineAccess) -> Result<AccessId, CardError>;

    /// Shows a program's page that holds the lines from `address` on, if the CPU has them all, exclusively if they are
    /// to be written; returns false if not. The page is hidden before another agent gets one of its lines.
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

    /// Starts recording the events of lines, under the names given in `history`; earlier recordings are dropped.
    /// Changes no result.
    ///
    /// # Errors
    /// As [`access`](CoherentLines::access).
    fn record_lines(&mut self, history: History) -> Result<(), CardError>;

    /// The recorded history.
    fn line_history(&self) -> History;
}

/// A card that is a model.
pub trait Simulation {
    /// Whether [`now`](crate::Card::now) is virtual time: the order of events, and so the order in which bytes move,
    /// follows from the inputs alone. False for a model that only counts its steps.
    fn has_virtual_time(&self) -> bool;

    /// Starts host work, which takes the time given by a model of the host; its end is reported by
    /// [`Event::HostWorkDone`](crate::event::Event::HostWorkDone).
    fn host_work(&mut self, work: HostWork) -> WorkId;

    /// Executes a copy to card memory, or its zeroing, at once, at zero cost in virtual time, bypassing the shell:
    /// preloaded (*hot*) data. Such a command has no completion, and no command it depends on may be under way. Returns
    /// false for other commands, which must be submitted; only a simulation has this path.
    ///
    /// # Errors
    /// The ranges are not in host and card memory.
    fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        let _ = command;
        Ok(false)
    }

    /// Whether no further event can occur unless the host acts: there is no command, no host work, no data in flight,
    /// and no kernel that would change its state on a further clock edge.
    fn is_quiescent(&mut self) -> bool;

    /// From now on [`wait`](crate::Card::wait) also returns, without events, soon after the bell rings (is set). A
    /// repeated wait with the same deadline sees the same events at the same times.
    fn set_bell(&mut self, bell: Arc<AtomicBool>);

    /// From now on the bell rings when this virtual time is reached, as it rang there in an earlier run; `None`: it does
    /// not. A wait that ends there has done exactly what the one that was rung had done.
    fn ring_at(&mut self, at: Option<Picoseconds>);

    /// Whether the last [`wait`](crate::Card::wait) ended because the bell rang.
    fn was_rung(&self) -> bool;
}
