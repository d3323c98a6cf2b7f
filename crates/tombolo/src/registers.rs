//! Register access for programs that drive a kernel by its registers alone.

use crate::slot::{Continue, Slot};
use card::kernel::ControlProtocol;
use error::Error;
use owner::message::RunState;
use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use units::Picoseconds;

/// `ap_start`, `ap_done`, `ap_idle`, `ap_ready`.
const START: u32 = 1;
const DONE: u32 = 2;
const IDLE: u32 = 4;
const READY: u32 = 8;
/// Interrupt enable and status bits: done, ready.
const INTERRUPTS: u32 = 3;
/// Offset of the first argument register; registers below are control and interrupts.
const FIRST_ARGUMENT: u32 = 0x10;

/// A kernel's registers, for a program that does not start it by [`Slot::start`].
///
/// For a kernel with `ap_start`, accesses go through the slot, which uses the first four registers itself to detect the
/// kernel's end while it serves page faults: a start by the program is a start of the slot, `done` is reported to the
/// program once, and arguments are kept until the start, since a kernel in reset does not accept them. Other kernels
/// are read and written directly.
///
/// Dropping it stops a kernel that it has started and that still runs.
#[derive(Debug)]
pub struct Registers {
    slot: Arc<Slot>,
    look: Picoseconds,
    control: Mutex<Control>,
    /// Signals that the program has started the kernel.
    begun: Condvar,
}

#[derive(Debug, Default)]
struct Control {
    started: bool,
    running: bool,
    done: bool,
    /// Global interrupt enable, interrupt enables, interrupt status.
    interrupts: [u32; 3],
    /// An interrupt is pending that no wait has reported.
    interrupted: bool,
    /// Words written for the next start, by offset.
    words: BTreeMap<u32, u32>,
}

impl Control {
    /// Records the end of the run.
    fn end(&mut self) {
        (self.running, self.done) = (false, true);
        let [globally, enabled, status] = &mut self.interrupts;
        *status |= *enabled & INTERRUPTS;
        self.interrupted |= *globally & 1 != 0 && *status != 0;
    }
}

impl Registers {
    /// The registers of the kernel in a slot. While a kernel with `ap_start` runs, each read advances virtual time by
    /// at most `look`, so that polling loops terminate.
    pub fn new(slot: Arc<Slot>, look: Picoseconds) -> Self {
        Self {
            slot,
            look,
            control: Mutex::default(),
            begun: Condvar::new(),
        }
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the slot starts the kernel and detects its end.
    pub fn is_started_by_slot(&self) -> bool {
        matches!(
            self.slot.manifest().control,
            ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
        )
    }

    /// Whether a start through these registers is not known to have ended.
    pub fn is_running(&self) -> bool {
        self.control().running
    }

    /// Advances virtual time by at most `slice` while the kernel runs.
    fn look(&self, control: &mut Control, slice: Picoseconds) -> Result<(), Error> {
        if !control.running {
            return Ok(());
        }
        match self.slot.poll(slice) {
            Ok(RunState::Running(_)) => {}
            Ok(RunState::Done(_)) => control.end(),
            Err(error) => {
                control.running = false;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Reads a register. Takes virtual time.
    ///
    /// # Errors
    /// The offset is outside the register window; the kernel does not answer, or an access of its run failed.
    pub fn read(&self, offset: u32) -> Result<u32, Error> {
        if !self.is_started_by_slot() {
            return self.slot.read_register(offset);
        }
        let mut control = self.control();
        self.look(&mut control, self.look)?;
        if offset >= FIRST_ARGUMENT {
            return match control.words.get(&offset) {
                Some(word) if !control.started => Ok(*word),
                _ => self.slot.read_register(offset),
            };
        }
        Ok(match offset / 4 {
            0 if control.running => START,
            // `done` is cleared on read.
            0 if std::mem::take(&mut control.done) => DONE | IDLE | READY,
            0 => IDLE,
            register => control.interrupts[register as usize - 1],
        })
    }

    /// Waits for an interrupt of the kernel, at most for `limit` of virtual time; returns whether one arrived. A kernel
    /// with `ap_start` raises one at the end of a run if the program has enabled it in the registers (4: globally, 8:
    /// done or ready); the status (12) is set then, and writing ones toggles it. If no kernel runs, none can arrive:
    /// without a limit the call then waits for another thread to start the kernel.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn wait_interrupt(&self, limit: Option<Picoseconds>) -> Result<bool, Error> {
        if !self.is_started_by_slot() {
            return match self.slot.wait_interrupt(limit) {
                Ok(_) => Ok(true),
                Err(Error::Deadline { .. }) => Ok(false),
                Err(error) => Err(error),
            };
        }
        let mut left = limit.unwrap_or(Picoseconds::MAX);
        let mut control = self.control();
        loop {
            if std::mem::take(&mut control.interrupted) {
                return Ok(true);
            }
            match (control.running, limit) {
                (true, _) => {}
                (false, Some(_)) => return Ok(false),
                (false, None) => {
                    let begun = self.begun.wait(control);
                    control = begun.unwrap_or_else(PoisonError::into_inner);
                    continue;
                }
            }
            if left == Picoseconds::ZERO {
                return Ok(false);
            }
            let slice = left.min(self.look);
            self.look(&mut control, slice)?;
            left = left - slice;
            // Other threads read registers meanwhile.
            drop(control);
            control = self.control();
        }
    }

    /// Writes a register. Bit 0 of the first register starts a kernel that has `ap_start`.
    ///
    /// # Errors
    /// As [`read`](Self::read); the kernel's manifest excludes the value of an argument.
    pub fn write(&self, offset: u32, value: u32) -> Result<(), Error> {
        if !self.is_started_by_slot() {
            return self.slot.write_register(offset, value);
        }
        let mut control = self.control();
        if offset >= FIRST_ARGUMENT {
            control.words.insert(offset, value);
            if control.running {
                self.slot.write_register(offset, value)?;
            }
            return Ok(());
        }
        match offset / 4 {
            0 if value & START != 0 && !control.running => {
                self.apply(&control.words)?;
                self.slot.start()?;
                (control.started, control.running, control.done) = (true, true, false);
                self.begun.notify_all();
            }
            0 => {}
            // Writing ones toggles the status.
            3 => control.interrupts[2] ^= value & INTERRUPTS,
            register => control.interrupts[register as usize - 1] = value,
        }
        Ok(())
    }

    /// Sets the slot's arguments from the written words. Arguments are set whole; words not written are zero.
    fn apply(&self, words: &BTreeMap<u32, u32>) -> Result<(), Error> {
        for argument in &self.slot.manifest().arguments {
            let offsets =
                (argument.offset..argument.offset.saturating_add(argument.bytes)).step_by(4);
            let given: Vec<Option<u32>> = offsets.map(|at| words.get(&at).copied()).collect();
            if given.iter().any(Option::is_some) {
                let bytes = given
                    .into_iter()
                    .flat_map(|word| word.unwrap_or(0).to_le_bytes());
                self.slot
                    .set_bytes(&argument.name, &bytes.collect::<Vec<u8>>())?;
            }
        }
        Ok(())
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        let control = self.control.get_mut();
        if control.unwrap_or_else(PoisonError::into_inner).running {
            // No caller waits for it. A wait whose callback returns stop stops the kernel.
            let stopped = self.slot.wait(None, |_| Continue::Stop);
            tracing::debug!(
                ?stopped,
                "the registers of a kernel were closed while it ran"
            );
        }
    }
}
