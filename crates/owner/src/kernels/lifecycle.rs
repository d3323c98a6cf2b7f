//! The life of a kernel in a slot, as far as its streams, lines and schedule take part: load, start, end, unload.

use super::slots::{Announced, OwnRead};
use super::Kernels;
use crate::kernels::streams::{Place, TransferRange};
use crate::message::{ClientId, ConnectionId, LoadId, StreamHandle};
use crate::peer_handle::PeerHandle;
use card::kernel::KernelPackage;
use error::Error;
use std::ops::RangeInclusive;
use units::{Asid, FaultToken, Picoseconds, SlotId};

impl Kernels {
    /// Removes the kernel of a slot, with its streams, lines and schedule.
    pub(crate) fn leave(&mut self, slot: SlotId) -> Result<(), Error> {
        self.streams().leave(slot);
        self.lines().leave(slot)?;
        self.schedules.take(self.slots.card(), slot)?;
        self.slots.leave(slot)
    }

    /// Initialises the state of a slot whose kernel was loaded; the kernel works in `space`.
    pub(crate) fn begin_with(
        &mut self,
        slot: SlotId,
        kernel: KernelPackage,
        space: Asid,
    ) -> Result<(), Error> {
        self.lines().place(slot, &kernel.manifest)?;
        self.slots.begin_with(slot, kernel, space)
    }

    /// Puts a slot in reset; returns its space and the requesters to drain. `None` if the slot has no kernel.
    pub(crate) fn hold(
        &mut self,
        slot: SlotId,
    ) -> Result<Option<(Asid, RangeInclusive<u8>)>, Error> {
        let held = self.slots.hold(slot)?;
        if held.is_some() {
            self.streams().reset(slot);
        }
        Ok(held)
    }

    /// Prepares a kernel for its start. Returns the addresses that it will access first;
    /// [`go`](super::slots::SlotControl::go) starts it. `None`: it runs already.
    pub(crate) fn make_ready(&mut self, slot: SlotId) -> Result<Option<Announced>, Error> {
        let held = !self.slots.is_released(slot);
        let ready = self.slots.make_ready(slot);
        if held && self.slots.is_released(slot) {
            self.lines().forgive_home(slot);
        }
        ready
    }

    /// Takes a slot out of reset, if it is in reset, so that its streams can move.
    fn release_for_streams(&mut self, slot: SlotId) -> Result<(), Error> {
        self.slots.loaded(slot)?;
        if !self.slots.is_released(slot) {
            self.slots.release(slot)?;
            self.lines().forgive_home(slot);
        }
        Ok(())
    }

    /// Begins a transfer of a stream port.
    pub(crate) fn begin_transfer(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
        range: TransferRange,
    ) -> Result<(), Error> {
        self.streams().check_open(client, handle)?;
        // The whole pipeline, not only its end.
        for slot in self.streams().joined_slots(handle.slot) {
            self.release_for_streams(slot)?;
        }
        self.streams().begin_transfer(client, handle, range)
    }

    /// Connects two stream ports.
    pub(crate) fn join(
        &mut self,
        client: ClientId,
        from: Place,
        to: Place,
    ) -> Result<ConnectionId, Error> {
        self.release_for_streams(from.0)?;
        self.release_for_streams(to.0)?;
        self.streams().join(client, from, to)
    }

    /// Connects a stream port with a network interface, and the interface with the peer. Returns the port whose source
    /// in the switch has changed.
    pub(crate) fn plug_peer(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
        peer: PeerHandle,
    ) -> Result<Place, Error> {
        let interface = self.streams().interface_for(client, handle)?;
        self.release_for_streams(handle.slot)?;
        self.streams().plug_peer(client, handle, interface, peer)
    }

    /// Whether the kernel has reported done since the last poll; one that refuses the question is held in reset.
    fn look_for_done(&mut self, slot: SlotId) -> Result<bool, Error> {
        match self.slots.look_for_done(slot)? {
            OwnRead::Value(done) => Ok(done),
            OwnRead::Unanswered => Ok(false),
            OwnRead::Refused(error) => self.quarantine(slot, error).map(|()| false),
        }
    }

    /// The error for a slot that missed its deadline: the event that it waits for.
    pub(crate) fn late(
        &mut self,
        faults: &[FaultToken],
        slot: SlotId,
        why: &str,
    ) -> Result<Error, Error> {
        // An interrupt waits for the writes that it announces, so a kernel whose writes never complete has not
        // interrupted yet.
        if self.slots.announces(slot)? && !self.slots.is_ending(slot)? {
            self.look_for_done(slot)?;
        }
        let kernel = self.slots.kernel_name(slot);
        let now = self.now();
        let since = self.slots.running_since(slot)?;
        let elapsed = since.map_or(Picoseconds::ZERO, |since| now - since);
        let says = match self.slots.is_ending(slot)? {
            true => "the kernel says that it is done, and accesses of it are not answered; ",
            false => "",
        };
        let waits = self.streams().waits_of(faults, slot)?;
        // Registers are read over the link; the kernel continues meanwhile.
        let waiting = match self.now() - now {
            Picoseconds::ZERO => format!("{says}{why}{waits}"),
            later => format!("{says}{why}{later} later, {waits}"),
        };
        Ok(Error::Deadline {
            slot,
            kernel,
            elapsed,
            waiting,
        })
    }

    /// The error if a kernel's outstanding accesses, observed by its program, are not answered and will not be.
    pub(crate) fn unfinished(
        &mut self,
        faults: &[FaultToken],
        slot: SlotId,
    ) -> Result<Error, Error> {
        let why = "accesses that its ports had taken are not answered; ";
        self.late(faults, slot, why)
    }

    /// The first of the slots that have not announced their end and whose kernel is done but cannot announce it; or the
    /// first of all if no further event can happen, so that its own wait reports the cause.
    pub(crate) fn first_unannounced(
        &mut self,
        slots: &[(SlotId, LoadId)],
        quiet: bool,
    ) -> Result<Option<usize>, Error> {
        let mut hopeless = quiet;
        for (place, (slot, _)) in slots.iter().enumerate() {
            let announces = self.slots.has_interrupt(*slot)?;
            if self.slots.is_ending(*slot)? || (announces && !quiet) {
                continue;
            }
            hopeless &= announces;
            self.look_for_done(*slot)?;
            if self.slots.is_done(*slot)? {
                return Ok(Some(place));
            }
        }
        Ok((hopeless && !slots.is_empty()).then_some(0))
    }

    /// At the end of a slice: whether the run can still end; `quiet` if no further event can occur.
    pub(crate) fn still_running(&mut self, slot: SlotId, quiet: bool) -> Result<bool, Error> {
        if !self.slots.is_ending(slot)? && !self.slots.has_interrupt(slot)? {
            self.look_for_done(slot)?;
            return Ok(true);
        }
        if self.slots.is_done(slot)? || !quiet {
            return Ok(true);
        }
        // Outstanding accesses at the last poll may have been answered while its result was in flight.
        if self.slots.is_ending(slot)? {
            self.slots.settle_run(slot)?;
            return self.slots.is_done(slot);
        }
        // Some kernels have an interrupt that they never raise.
        self.look_for_done(slot)
    }

    /// Handles an interrupt of the kernel: acknowledges it, and checks whether the run is over.
    pub(crate) fn interrupted(&mut self, slot: SlotId) -> Result<(), Error> {
        if !self.slots.takes_interrupt(slot)? {
            return Ok(());
        }
        match self.slots.acknowledge(slot)? {
            OwnRead::Value(()) if self.look_for_done(slot)? => return Ok(()),
            OwnRead::Value(()) | OwnRead::Unanswered => {}
            OwnRead::Refused(error) => self.quarantine(slot, error)?,
        }
        match self.slots.count_idle_interrupt(slot)? {
            Some(storm) => self.quarantine(slot, storm),
            None => Ok(()),
        }
    }
}
