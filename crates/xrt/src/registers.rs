//! Registers of a compute unit that a program reads and writes itself.

use crate::dispatch::LOOK;
use crate::error::XrtError;
use crate::session::Session;
use card::kernel::ControlProtocol;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{Continue, RunState, Slot};

/// Bytes of a compute unit's registers.
pub(crate) const WINDOW: u32 = 0x1_0000;

/// `ap_start`, `ap_done`, `ap_idle`, `ap_ready`.
const START: u32 = 1;
const DONE: u32 = 2;
const IDLE: u32 = 4;
const READY: u32 = 8;
/// Registers below are control and interrupts.
const FIRST_ARGUMENT: u32 = 0x10;

/// The registers of a compute unit that is opened exclusively.
///
/// Those of a kernel with `ap_start` are seen through the slot, which uses the first four itself, to learn of the kernel's
/// end while it serves its faults: a program's start is the slot's, `done` is told to the program once, and arguments are
/// kept until the start, because a kernel in reset does not listen.
#[derive(Debug)]
pub(crate) struct Registers {
    session: Arc<Session>,
    unit: usize,
    control: Mutex<Control>,
}

#[derive(Debug, Default)]
struct Control {
    started: bool,
    running: bool,
    done: bool,
    /// Global enable, enables, status of the interrupts: no line leads to the program.
    interrupts: [u32; 3],
    /// Words that were written for the next start, by offset.
    words: BTreeMap<u32, u32>,
}

impl Registers {
    pub(crate) fn new(session: Arc<Session>, unit: usize) -> Self {
        Self {
            session,
            unit,
            control: Mutex::default(),
        }
    }

    fn slot(&self) -> &Arc<Slot> {
        self.session.slot(self.unit)
    }

    fn control(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the slot starts the kernel, and knows when it is done.
    fn is_started_by_slot(&self) -> bool {
        let control = self.slot().manifest().control;
        matches!(
            control,
            ControlProtocol::ApCtrlHs | ControlProtocol::ApCtrlChain
        )
    }

    fn check(&self, offset: u32) -> Result<(), XrtError> {
        if offset % 4 == 0 && offset < WINDOW {
            return Ok(());
        }
        Err(XrtError::RegisterOffset {
            unit: self.session.unit_name(self.unit),
            offset,
            window: WINDOW,
        })
    }

    /// Lets some virtual time pass while the kernel runs, so that loops that read a register end.
    fn look(&self, control: &mut Control) -> Result<(), XrtError> {
        if !control.running {
            return Ok(());
        }
        match self.slot().poll(LOOK) {
            Ok(RunState::Running(_)) => {}
            Ok(RunState::Done(_)) => (control.running, control.done) = (false, true),
            Err(error) => {
                control.running = false;
                return Err(error.into());
            }
        }
        Ok(())
    }

    pub(crate) fn read(&self, offset: u32) -> Result<u32, XrtError> {
        self.check(offset)?;
        if !self.is_started_by_slot() {
            return Ok(self.slot().read_register(offset)?);
        }
        let mut control = self.control();
        self.look(&mut control)?;
        if offset >= FIRST_ARGUMENT {
            return match control.words.get(&offset) {
                Some(word) if !control.started => Ok(*word),
                _ => Ok(self.slot().read_register(offset)?),
            };
        }
        Ok(match offset / 4 {
            0 if control.running || self.session.dispatcher().is_busy(self.unit) => START,
            // Reading it takes it back.
            0 if std::mem::take(&mut control.done) => DONE | IDLE | READY,
            0 => IDLE,
            register => control.interrupts[register as usize - 1],
        })
    }

    pub(crate) fn write(&self, offset: u32, value: u32) -> Result<(), XrtError> {
        self.check(offset)?;
        if !self.is_started_by_slot() {
            return Ok(self.slot().write_register(offset, value)?);
        }
        let mut control = self.control();
        if offset >= FIRST_ARGUMENT {
            control.words.insert(offset, value);
            if control.running {
                self.slot().write_register(offset, value)?;
            }
            return Ok(());
        }
        match offset / 4 {
            0 if value & START != 0 && !control.running => {
                self.apply(&control.words)?;
                self.slot().start()?;
                (control.started, control.running, control.done) = (true, true, false);
            }
            0 => {}
            register => control.interrupts[register as usize - 1] = value,
        }
        Ok(())
    }

    /// Gives the slot what was written for the start: whole arguments, of which words that nobody wrote are zero.
    fn apply(&self, words: &BTreeMap<u32, u32>) -> Result<(), XrtError> {
        let slot = self.slot();
        for argument in &slot.manifest().arguments {
            let offsets =
                (argument.offset..argument.offset.saturating_add(argument.bytes)).step_by(4);
            let given: Vec<Option<u32>> = offsets.map(|at| words.get(&at).copied()).collect();
            if given.iter().any(Option::is_some) {
                let bytes = given
                    .into_iter()
                    .flat_map(|word| word.unwrap_or(0).to_le_bytes());
                slot.set_bytes(&argument.name, &bytes.collect::<Vec<u8>>())?;
            }
        }
        Ok(())
    }
}

impl Drop for Registers {
    fn drop(&mut self) {
        let running = self
            .control
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner)
            .running;
        if running {
            // Nobody is there to wait for it. What stops a kernel is that nobody wants to go on.
            let stopped = self.slot().wait(None, |_| Continue::Stop);
            tracing::debug!(?stopped, "a compute unit was closed while it ran");
        }
    }
}
