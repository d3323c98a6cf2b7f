//! Register access to a compute unit by the program.

use crate::dispatch::LOOK;
use crate::error::XrtError;
use crate::session::Session;
use std::sync::Arc;
use tombolo::Picoseconds;

/// Size of a compute unit's register window in bytes.
pub(crate) const WINDOW: u32 = 0x1_0000;

/// `ap_start`, bit 0 of the first register.
const START: u32 = 1;

/// The registers of a compute unit.
#[derive(Debug)]
pub(crate) struct Registers {
    session: Arc<Session>,
    unit: usize,
    kernel: tombolo::Registers,
}

impl Registers {
    pub(crate) fn new(session: Arc<Session>, unit: usize) -> Self {
        let kernel = tombolo::Registers::new(session.slot(unit).clone(), LOOK);
        Self {
            session,
            unit,
            kernel,
        }
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

    /// Whether a range of offsets is in the window.
    pub(crate) fn check_range(&self, start: u32, bytes: u32) -> Result<(), XrtError> {
        self.check(start)?;
        let end = start.checked_add(bytes).filter(|end| *end <= WINDOW);
        end.map(drop).ok_or_else(|| XrtError::RegisterOffset {
            unit: self.session.unit_name(self.unit),
            offset: start.saturating_add(bytes),
            window: WINDOW,
        })
    }

    /// Whether the unit has a run that was not started through its registers.
    fn is_busy(&self) -> bool {
        self.kernel.is_started_by_slot()
            && !self.kernel.is_running()
            && self.session.dispatcher().is_busy(self.unit)
    }

    pub(crate) fn read(&self, offset: u32) -> Result<u32, XrtError> {
        self.check(offset)?;
        match offset == 0 && self.is_busy() {
            true => Ok(START),
            false => Ok(self.kernel.read(offset)?),
        }
    }

    /// Waits for an interrupt, for at most `limit` of virtual time; true if one came.
    pub(crate) fn wait_interrupt(&self, limit: Option<Picoseconds>) -> Result<bool, XrtError> {
        Ok(self.kernel.wait_interrupt(limit)?)
    }

    pub(crate) fn write(&self, offset: u32, value: u32) -> Result<(), XrtError> {
        self.check(offset)?;
        Ok(self.kernel.write(offset, value)?)
    }
}
