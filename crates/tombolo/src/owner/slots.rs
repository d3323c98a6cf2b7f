//! Slots: loading, registers, start, done, failures.

use super::Owner;
use crate::error::{AccessError, Error};
use crate::message::Reply;
use crate::report::RunReport;
use card::kernel::{ControlProtocol, KernelPackage};
use card::SlotId;
use pager::{Event, MappingInfo};
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
struct Loaded {
    kernel: KernelPackage,
    space: Asid,
    /// Not in reset.
    released: bool,
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
    running: Option<Running>,
    done: bool,
    failed_access: Option<AccessError>,
    failure: Option<String>,
}

impl SlotState {
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

    fn loaded(&mut self, slot: SlotId) -> Result<&mut Loaded, Error> {
        let rule = "has no kernel; load one first";
        self.slot(slot)?
            .loaded
            .as_mut()
            .ok_or(Error::SlotState { slot, rule })
    }

    fn kernel_name(&mut self, slot: SlotId) -> String {
        self.loaded(slot)
            .map_or_else(|_| "none".into(), |l| l.kernel.manifest.name.clone())
    }

    pub(super) fn load(
        &mut self,
        slot: SlotId,
        kernel: KernelPackage,
        space: Asid,
    ) -> Result<Reply, Error> {
        if self.slot(slot)?.loaded.is_some() {
            self.unload(slot)?;
        }
        self.card.load(slot, &kernel)?;
        self.card.control_slot(slot, space, true)?;
        let loaded = Loaded {
            kernel,
            space,
            released: true,
        };
        *self.slot(slot)? = SlotState {
            loaded: Some(loaded),
            ..SlotState::default()
        };
        Ok(Reply::Done)
    }

    pub(super) fn unload(&mut self, slot: SlotId) -> Result<Reply, Error> {
        self.stop(slot)?;
        *self.slot(slot)? = SlotState::default();
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
        let streams = self.card.description().ports_per_slot * 2;
        let first_stream = slot.0 * streams;
        let last_stream = first_stream + (streams - 1);
        self.drain(first_stream..=last_stream)?;
        self.tell(Event::SlotStopped {
            first_stream,
            last_stream,
        })
    }

    pub(super) fn write_registers(
        &mut self,
        slot: SlotId,
        offset: u32,
        words: &[u32],
    ) -> Result<(), Error> {
        self.loaded(slot)?;
        for (number, word) in words.iter().enumerate() {
            let address = register_address(slot, offset + 4 * number as u32)?;
            self.card.write_register(address, *word)?;
        }
        Ok(())
    }

    pub(super) fn read_register(&mut self, slot: SlotId, offset: u32) -> Result<u32, Error> {
        self.loaded(slot)?;
        let address = register_address(slot, offset)?;
        Ok(self.card.read_register(address)?)
    }

    pub(super) fn start(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.slot(slot)?.running.is_some() {
            return Err(Error::SlotState {
                slot,
                rule: "is running; wait for it first",
            });
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
            let space = loaded.space;
            loaded.released = true;
            self.card.control_slot(slot, space, true)?;
        }
        if interrupt {
            self.write_registers(slot, register::GLOBAL_INTERRUPT_ENABLE, &[1, 1])?;
        }
        let since = self.card.now();
        let state = self.slot(slot)?;
        state.running = Some(Running { since });
        state.done = false;
        state.failed_access = None;
        state.failure = None;
        self.write_registers(slot, register::CONTROL, &[register::START])
    }

    /// An interrupt of the kernel: acknowledge it, and see whether the run is over.
    pub(super) fn interrupted(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.loaded(slot).is_err() {
            return Ok(());
        }
        let status = self.read_register(slot, register::INTERRUPT_STATUS)?;
        self.write_registers(slot, register::INTERRUPT_STATUS, &[status])?;
        self.look_for_done(slot)
    }

    fn look_for_done(&mut self, slot: SlotId) -> Result<(), Error> {
        debug_assert_eq!(
            register::INTERRUPT_ENABLE,
            register::GLOBAL_INTERRUPT_ENABLE + 4
        );
        let control = self.read_register(slot, register::CONTROL)?;
        if control & register::DONE == 0 {
            return Ok(());
        }
        if self.loaded(slot)?.kernel.manifest.control == ControlProtocol::ApCtrlChain {
            self.write_registers(slot, register::CONTROL, &[register::CONTINUE])?;
        }
        self.slot(slot)?.done = true;
        Ok(())
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
            if let Some(reason) = state.failure.take() {
                self.stop(slot)?;
                return Err(Error::KernelFailed {
                    slot,
                    kernel,
                    reason,
                });
            }
            if let Some(access) = state.failed_access.take() {
                self.stop(slot)?;
                return Err(access.into());
            }
            if state.done {
                state.running = None;
                self.finished(slot, kernel, running);
                return Ok(Reply::Finished(self.progress()));
            }
            if self.card.now() >= until {
                return self.still_running(slot, kernel, running);
            }
            self.pump(Some(until))?;
        }
    }

    fn finished(&mut self, slot: SlotId, kernel: String, running: Running) {
        let time = self.card.now() - running.since;
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
        } else if !self.slot(slot)?.done && self.work.is_empty() && self.card.is_quiescent() {
            let elapsed = self.card.now() - running.since;
            let waiting = "; it waits for something that will never come".to_owned();
            self.stop(slot)?;
            return Err(Error::Deadline {
                slot,
                kernel,
                elapsed,
                waiting,
            });
        }
        Ok(Reply::Running(self.progress()))
    }

    pub(super) fn kernel_failed(&mut self, slot: SlotId, reason: String) {
        if let Ok(state) = self.slot(slot) {
            state.failure.get_or_insert(reason);
        }
    }

    pub(super) fn access_failed(
        &mut self,
        token: pager::FaultToken,
        address: VirtAddr,
        write: bool,
        reason: &pager::AccessError,
        nearest: Option<MappingInfo>,
    ) {
        let ports = self.card.description().ports_per_slot.max(1);
        let port = token.stream / 2;
        let slot = SlotId(port / ports);
        let nearest = nearest.map_or_else(
            || "; nothing is mapped in its address space".to_owned(),
            |near| {
                format!(
                    "; the nearest mapping is {} at {} ({} bytes, {})",
                    self.files.label(near.object),
                    near.address,
                    near.bytes,
                    rights(near)
                )
            },
        );
        let Ok(loaded) = self.loaded(slot) else {
            return;
        };
        let manifest = &loaded.kernel.manifest;
        let port = usize::from(port % ports);
        let port = manifest
            .ports
            .get(port)
            .map_or_else(|| port.to_string(), |p| p.name.clone());
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
        if let Ok(state) = self.slot(slot) {
            state.failed_access.get_or_insert(error);
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

fn register_address(slot: SlotId, offset: u32) -> Result<u32, Error> {
    if offset >= SLOT_WINDOW_BYTES {
        let rule = "has a register window of 64 KiB; the offset lies outside";
        return Err(Error::SlotState { slot, rule });
    }
    Ok(SLOT_WINDOW + u32::from(slot.0) * SLOT_WINDOW_BYTES + offset)
}
