//! Slots: loading, registers, start, done, failures.

use super::guard::IDLE_INTERRUPTS;
use super::pump::Work;
use super::Owner;
use crate::error::{AccessError, Error};
use crate::message::{Reply, SpaceId};
use crate::report::RunReport;
use card::kernel::{ControlProtocol, KernelPackage, Manifest};
use card::{HostWork, SlotId};
use pager::{Event, MappingInfo};
use std::collections::BTreeMap;
use units::{Asid, Picoseconds, VirtAddr};

/// BAR address of a slot's `s_axi_control`.
const SLOT_WINDOW: u32 = 0x10_0000;
const SLOT_WINDOW_BYTES: u32 = 0x1_0000;

/// The Vitis control registers.
mod register {
    pub const CONTROL: u32 = 0x00;
    pub const GLOBAL_INTERRUPT_ENABLE: u32 = 0x04;
    pub const INTERRUPT_ENABLE: u32 = 0x08;
    pub const INTERRUPT_STATUS: u32 = 0x0c;
    pub const START: u32 = 1 << 0;
    pub const DONE: u32 = 1 << 1;
    pub const CONTINUE: u32 = 1 << 4;
}

/// A kernel in a slot.
#[derive(Debug)]
pub(super) struct Loaded {
    kernel: KernelPackage,
    space: Asid,
    /// Not in reset.
    released: bool,
    /// The kernel ended itself: the slot is empty until it is loaded again.
    gone: bool,
    /// When it left reset.
    since: Picoseconds,
    /// Words of the arguments, by offset. A kernel's registers forget them in reset, where writes are
    /// lost too.
    arguments: BTreeMap<u32, u32>,
}

impl Loaded {
    pub(super) fn space(&self) -> Asid {
        self.space
    }

    /// What is written to the kernel's registers arrives.
    fn listens(&self) -> bool {
        self.released && !self.gone
    }

    /// The slot is in reset now.
    pub(super) fn hold(&mut self) {
        self.released = false;
    }
}

/// A run under way.
#[derive(Clone, Copy, Debug)]
struct Running {
    since: Picoseconds,
}

/// What the owner knows of a slot.
#[derive(Debug, Default)]
pub(super) struct SlotState {
    loaded: Option<Loaded>,
    /// Name of the kernel that the slot was last configured with.
    configured: Option<String>,
    running: Option<Running>,
    /// When the host learned that the run was over.
    done: Option<Picoseconds>,
    /// Interrupts of the run that announced nothing.
    idle_interrupts: u32,
    /// Interrupts of a kernel with registers of its own that its program has not waited for.
    interrupts: u32,
    /// The first thing that went wrong in the run.
    failure: Option<Error>,
}

impl SlotState {
    /// A kernel runs in a space.
    pub(super) fn runs_in(&self, space: Asid) -> bool {
        self.running.is_some() && self.loaded_in(space)
    }

    pub(super) fn loaded_in(&self, space: Asid) -> bool {
        self.loaded
            .as_ref()
            .is_some_and(|loaded| loaded.space == space)
    }
}

impl Owner {
    fn slot(&mut self, slot: SlotId) -> Result<&mut SlotState, Error> {
        let last = self.slots.len() as u8 - 1;
        let card = self.card.description().name.clone();
        let state = self.slots.get_mut(usize::from(slot.0));
        state.ok_or_else(|| card::CardError::NoSuchSlot { slot, card, last }.into())
    }

    pub(super) fn loaded(&mut self, slot: SlotId) -> Result<&mut Loaded, Error> {
        let rule = "has no kernel; load one first";
        self.slot(slot)?
            .loaded
            .as_mut()
            .ok_or(Error::SlotState { slot, rule })
    }

    pub(super) fn manifest(&self, slot: SlotId) -> Option<&Manifest> {
        let state = self.slots.get(usize::from(slot.0))?;
        Some(&state.loaded.as_ref()?.kernel.manifest)
    }

    /// The first and the last stream of a slot.
    pub(super) fn streams_of_slot(&self, slot: SlotId) -> (u8, u8) {
        let streams = self.card.description().ports_per_slot * 2;
        (slot.0 * streams, slot.0 * streams + (streams - 1))
    }

    fn kernel_name(&mut self, slot: SlotId) -> String {
        self.loaded(slot)
            .map_or_else(|_| "none".into(), |l| l.kernel.manifest.name.clone())
    }

    pub(super) fn load(
        &mut self,
        slot: SlotId,
        kernel: KernelPackage,
        space: SpaceId,
    ) -> Result<Reply, Error> {
        let space = self.handles.space(space)?;
        let state = self.slot(slot)?;
        // A run that has failed is over, whether its client knows yet or not.
        if state.running.is_some() && state.failure.is_none() && state.done.is_none() {
            let rule = "is running; wait for it or stop it before another kernel is loaded";
            return Err(Error::SlotState { slot, rule });
        }
        if state.loaded.is_some() {
            self.unload(slot)?;
        }
        self.card.load(slot, &kernel)?;
        self.reconfigure(slot, &kernel)?;
        self.place_home(slot, &kernel.manifest)?;
        self.card.control_slot(slot, space, true)?;
        let loaded = Loaded {
            kernel,
            space,
            released: true,
            gone: false,
            since: self.card.now(),
            arguments: BTreeMap::new(),
        };
        let state = self.slot(slot)?;
        *state = SlotState {
            loaded: Some(loaded),
            configured: state.configured.take(),
            ..SlotState::default()
        };
        Ok(Reply::Loaded(self.handles.add_load(slot)))
    }

    /// Lets pass the time that it takes to put another kernel into a slot; other slots work meanwhile. A
    /// card comes up with the first kernel of each slot in place.
    fn reconfigure(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), Error> {
        let name = &kernel.manifest.name;
        let state = self.slot(slot)?;
        let before = state.configured.replace(name.clone());
        if before.is_none_or(|before| before == *name) {
            return Ok(());
        }
        let work = self.card.host_work(HostWork::Reconfigure);
        self.work.insert(work, Work::Reconfiguration);
        self.reconfiguring = true;
        while self.reconfiguring {
            self.pump(None)?;
        }
        Ok(())
    }

    /// Empties a slot; tells what went wrong in a run that nobody waited for.
    pub(super) fn close_slot(&mut self, slot: SlotId) -> Result<Reply, Error> {
        let failure = self.slot(slot)?.failure.take();
        let done = self.unload(slot)?;
        failure.map_or(Ok(done), Err)
    }

    pub(super) fn unload(&mut self, slot: SlotId) -> Result<Reply, Error> {
        self.handles.end_load(slot);
        self.stop(slot)?;
        self.streams_gone(slot);
        self.leave_home(slot)?;
        let state = self.slot(slot)?;
        *state = SlotState {
            configured: state.configured.take(),
            ..SlotState::default()
        };
        Ok(Reply::Done)
    }

    /// Holds the slot in reset and forgets what its accesses wait for.
    pub(super) fn stop(&mut self, slot: SlotId) -> Result<(), Error> {
        let state = self.slot(slot)?;
        state.running = None;
        let Some(loaded) = state.loaded.as_mut() else {
            return Ok(());
        };
        let space = loaded.space;
        loaded.released = false;
        self.card.control_slot(slot, space, false)?;
        self.streams_reset(slot);
        let (first_stream, last_stream) = self.streams_of_slot(slot);
        self.drain(space, first_stream..=last_stream)?;
        self.tell(Event::SlotStopped {
            first_stream,
            last_stream,
        })
    }

    /// Keeps an argument, and writes it if the slot can take it now.
    pub(super) fn set_argument(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        let loaded = self.loaded(slot)?;
        for (number, word) in (0..).zip(words) {
            let offset = register_offset(slot, offset, number)?;
            loaded.arguments.insert(offset, *word);
        }
        match loaded.listens() {
            true => self.write_registers(slot, offset, words),
            false => Ok(()),
        }
    }

    /// Registers that a client writes on its own account.
    pub(super) fn write_raw_registers(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        if !self.loaded(slot)?.listens() {
            let rule =
                "is in reset since its last run failed, and what is written to its registers \
                        would be lost; start it first";
            return Err(Error::SlotState { slot, rule });
        }
        self.write_registers(slot, offset, words)
    }

    pub(super) fn write_registers(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        self.loaded(slot)?;
        self.registers_posted();
        for (number, word) in (0..).zip(words) {
            let offset = register_offset(slot, offset, number)?;
            self.card
                .write_register(register_address(slot, offset), *word)?;
        }
        Ok(())
    }

    pub(super) fn read_register(&mut self, slot: SlotId, offset: u32) -> Result<u32, Error> {
        self.loaded(slot)?;
        let offset = register_offset(slot, offset, 0)?;
        let address = register_address(slot, offset);
        Ok(self.card.read_register(address)?)
    }

    pub(super) fn start(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.slot(slot)?.running.is_some() {
            return Err(Error::SlotState {
                slot,
                rule: "is running; wait for it first",
            });
        }
        if self.is_user_managed(slot) {
            return self.begin_anew(slot);
        }
        let loaded = self.loaded(slot)?;
        let manifest = &loaded.kernel.manifest;
        let interrupt = manifest.interrupt;
        let has_control = matches!(
            manifest.control,
            ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
        );
        if !has_control {
            let rule = "has a kernel without ap_start; drive it through its registers";
            return Err(Error::SlotState { slot, rule });
        }
        if !loaded.released {
            self.release(slot)?;
        }
        if interrupt {
            self.write_registers(slot, register::GLOBAL_INTERRUPT_ENABLE, &[1, 1])?;
        }
        let since = self.card.now();
        let state = self.slot(slot)?;
        state.running = Some(Running { since });
        state.done = None;
        state.idle_interrupts = 0;
        state.failure = None;
        self.write_registers(slot, register::CONTROL, &[register::START])
    }

    /// What a start is to a kernel without ap_start: its slot leaves reset, if a run failed.
    fn begin_anew(&mut self, slot: SlotId) -> Result<(), Error> {
        let state = self.slot(slot)?;
        (state.failure, state.interrupts) = (None, 0);
        match self.loaded(slot)?.released {
            true => Ok(()),
            false => self.release(slot),
        }
    }

    /// What went wrong since the last look.
    pub(super) fn take_failure(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        self.loaded(slot)?;
        Ok(self.slot(slot)?.failure.take())
    }

    /// Interrupts since the last look.
    pub(super) fn take_interrupts(&mut self, slot: SlotId) -> Result<u32, Error> {
        if !self.is_user_managed(slot) {
            let rule = "has a kernel that says when it is done; wait for that";
            return Err(Error::SlotState { slot, rule });
        }
        Ok(std::mem::take(&mut self.slot(slot)?.interrupts))
    }

    /// Takes a slot out of reset, if it is not, so that its streams can move.
    pub(super) fn release_for_streams(&mut self, slot: SlotId) -> Result<(), Error> {
        match self.loaded(slot)?.released {
            true => Ok(()),
            false => self.release(slot),
        }
    }

    /// The failure of a slot that nobody has been told of. The slot is in reset then.
    pub(super) fn fail_if_failed(&mut self, slot: SlotId) -> Result<(), Error> {
        match self.slot(slot)?.failure.take() {
            Some(error) => {
                self.stop(slot)?;
                Err(error)
            }
            None => Ok(()),
        }
    }

    /// Takes a slot out of reset, with the arguments that were set so far.
    fn release(&mut self, slot: SlotId) -> Result<(), Error> {
        let loaded = self.loaded(slot)?;
        let space = loaded.space;
        let arguments = loaded.arguments.clone();
        if loaded.gone {
            let kernel = loaded.kernel.clone();
            self.card.load(slot, &kernel)?;
            self.loaded(slot)?.gone = false;
        }
        self.forgive_home(slot);
        self.card.control_slot(slot, space, true)?;
        let since = self.card.now();
        let loaded = self.loaded(slot)?;
        (loaded.released, loaded.since) = (true, since);
        for (offset, word) in arguments {
            self.write_registers(slot, offset, &[word])?;
        }
        Ok(())
    }

    /// An interrupt of the kernel: acknowledge it, and see whether the run is over.
    pub(super) fn interrupted(&mut self, slot: SlotId) -> Result<(), Error> {
        // One that was on its way when the slot was put in reset.
        if !self.loaded(slot).is_ok_and(|loaded| loaded.released) {
            return Ok(());
        }
        if self.is_user_managed(slot) {
            let state = self.slot(slot)?;
            state.interrupts = state.interrupts.saturating_add(1);
            return Ok(());
        }
        let status = self.read_register(slot, register::INTERRUPT_STATUS);
        if let Some(status) = Self::unless_hung(status)? {
            self.write_registers(slot, register::INTERRUPT_STATUS, &[status])?;
            if self.look_for_done(slot)? {
                return Ok(());
            }
        }
        let kernel = self.kernel_name(slot);
        let state = self.slot(slot)?;
        state.idle_interrupts += 1;
        let count = state.idle_interrupts;
        if count < IDLE_INTERRUPTS {
            return Ok(());
        }
        let error = Error::InterruptStorm {
            slot,
            kernel,
            count,
        };
        self.quarantine(slot, error)
    }

    /// Whether the kernel has finished a run since the last look.
    fn look_for_done(&mut self, slot: SlotId) -> Result<bool, Error> {
        debug_assert_eq!(
            register::INTERRUPT_ENABLE,
            register::GLOBAL_INTERRUPT_ENABLE + 4
        );
        let control = self.read_register(slot, register::CONTROL);
        let control = Self::unless_hung(control)?.unwrap_or_default();
        if control & register::DONE == 0 {
            return Ok(false);
        }
        if self.loaded(slot)?.kernel.manifest.control == ControlProtocol::ApCtrlChain {
            self.write_registers(slot, register::CONTROL, &[register::CONTINUE])?;
        }
        let now = self.card.now();
        self.slot(slot)?.done = Some(now);
        Ok(true)
    }

    pub(super) fn poll(&mut self, slot: SlotId, slice: Picoseconds) -> Result<Reply, Error> {
        let until = self.card.now() + slice;
        loop {
            let kernel = self.kernel_name(slot);
            let state = self.slot(slot)?;
            let Some(running) = state.running else {
                return Err(Error::SlotState {
                    slot,
                    rule: "is not running; start it first",
                });
            };
            if let Some(error) = state.failure.take() {
                self.stop(slot)?;
                return Err(error);
            }
            if let Some(done) = state.done {
                state.running = None;
                self.trace_run(slot, &kernel, running.since, done);
                self.finished(slot, kernel, done - running.since);
                return Ok(Reply::Finished(self.progress()));
            }
            if self.card.now() >= until {
                return self.still_running(slot, kernel, running);
            }
            self.pump(Some(until))?;
        }
    }

    /// The first of several slots whose run is over, good or bad.
    pub(super) fn poll_any(
        &mut self,
        slots: &[SlotId],
        slice: Picoseconds,
    ) -> Result<Option<usize>, Error> {
        let until = self.card.now() + slice;
        loop {
            for (place, slot) in slots.iter().enumerate() {
                let state = self.slot(*slot)?;
                if state.running.is_none() {
                    let (slot, rule) = (*slot, "is not running; start it first");
                    return Err(Error::SlotState { slot, rule });
                }
                if state.failure.is_some() || state.done.is_some() {
                    return Ok(Some(place));
                }
            }
            if self.card.now() >= until {
                break;
            }
            self.pump(Some(until))?;
        }
        let mut quiet = self.work.is_empty() && self.card.is_quiescent();
        for (place, slot) in slots.iter().enumerate() {
            if !self.loaded(*slot)?.kernel.manifest.interrupt {
                quiet = false;
                if self.look_for_done(*slot)? {
                    return Ok(Some(place));
                }
            }
        }
        // Nothing will ever happen: the first one's own wait tells what it waits for.
        Ok((quiet && !slots.is_empty()).then_some(0))
    }

    fn finished(&mut self, slot: SlotId, kernel: String, time: Picoseconds) {
        let period = self.card.description().clock_period.get().max(1);
        self.runs.push(RunReport {
            kernel,
            slot: slot.0,
            time,
            cycles: time.get() / period,
        });
    }

    fn still_running(
        &mut self,
        slot: SlotId,
        kernel: String,
        running: Running,
    ) -> Result<Reply, Error> {
        if !self.loaded(slot)?.kernel.manifest.interrupt {
            self.look_for_done(slot)?;
        } else if self.slot(slot)?.done.is_none()
            && self.work.is_empty()
            && self.card.is_quiescent()
        {
            return Err(self.not_done(
                slot,
                kernel,
                running,
                "what it waits for will never come; ",
            )?);
        }
        Ok(Reply::Running(self.progress()))
    }

    /// Stops a kernel that was not done in time.
    pub(super) fn expire(&mut self, slot: SlotId) -> Result<Reply, Error> {
        let kernel = self.kernel_name(slot);
        let managed = self.is_user_managed(slot);
        let loaded = self.loaded(slot).ok().filter(|_| managed);
        let since = loaded
            .filter(|loaded| loaded.released)
            .map(|loaded| loaded.since);
        let running = self.slot(slot)?.running;
        match running.or(since.map(|since| Running { since })) {
            Some(running) => Err(self.not_done(slot, kernel, running, "")?),
            None => Ok(Reply::Done),
        }
    }

    fn not_done(
        &mut self,
        slot: SlotId,
        kernel: String,
        running: Running,
        why: &str,
    ) -> Result<Error, Error> {
        let now = self.card.now();
        let elapsed = now - running.since;
        let waits = self.waits_of(slot)?;
        // Registers are read over the link, and the kernel goes on meanwhile.
        let waiting = match self.card.now() - now {
            Picoseconds::ZERO => format!("{why}{waits}"),
            later => format!("{why}{later} later, {waits}"),
        };
        self.stop(slot)?;
        Ok(Error::Deadline {
            slot,
            kernel,
            elapsed,
            waiting,
        })
    }

    /// The kernel ended itself.
    pub(super) fn kernel_ended(&mut self, slot: SlotId, reason: String) {
        if let Ok(loaded) = self.loaded(slot) {
            loaded.gone = true;
        }
        self.kernel_failed(slot, reason);
    }

    pub(super) fn kernel_failed(&mut self, slot: SlotId, reason: String) {
        let kernel = self.kernel_name(slot);
        let error = Error::KernelFailed {
            slot,
            kernel,
            reason,
        };
        self.failed(slot, error);
    }

    /// Keeps the first thing that went wrong in a run.
    pub(super) fn failed(&mut self, slot: SlotId, error: Error) {
        if let Ok(state) = self.slot(slot) {
            state.failure.get_or_insert(error);
        }
    }

    pub(super) fn access_failed(
        &mut self,
        token: pager::FaultToken,
        address: VirtAddr,
        write: bool,
        reason: &pager::AccessError,
        nearest: Option<MappingInfo>,
    ) -> Result<(), Error> {
        let ports = self.card.description().ports_per_slot.max(1);
        let port = token.stream / 2;
        let slot = SlotId(port / ports);
        let nearest = nearest.map_or_else(
            || "; nothing is mapped in its address space".to_owned(),
            |near| {
                format!(
                    "; the nearest mapping is {} at {} ({} bytes, {})",
                    self.label(near.object),
                    near.address,
                    near.bytes,
                    rights(near)
                )
            },
        );
        let Some(manifest) = self.manifest(slot) else {
            return Ok(());
        };
        let port = self.port_name(manifest, usize::from(port % ports));
        let kernel = manifest.name.clone();
        let reason = format!("{reason}{nearest}");
        let error = AccessError {
            slot,
            kernel,
            port,
            write,
            address,
            reason,
        };
        match self.loaded(slot).is_ok_and(|loaded| loaded.released) {
            true => self.quarantine(slot, error.into()),
            false => Ok(()),
        }
    }
}

fn rights(mapping: MappingInfo) -> &'static str {
    match (mapping.read, mapping.write) {
        (true, true) => "readable and writable",
        (true, false) => "read-only",
        (false, true) => "write-only",
        (false, false) => "no rights",
    }
}

/// Offset of a register some words behind another.
fn register_offset(slot: SlotId, offset: u32, words: u32) -> Result<u32, Error> {
    let found = words
        .checked_mul(4)
        .and_then(|more| offset.checked_add(more));
    let rule = "has a register window of 64 KiB; the offset lies outside";
    found
        .filter(|&offset| offset < SLOT_WINDOW_BYTES)
        .ok_or(Error::SlotState { slot, rule })
}

fn register_address(slot: SlotId, offset: u32) -> u32 {
    SLOT_WINDOW + u32::from(slot.0) * SLOT_WINDOW_BYTES + offset
}
