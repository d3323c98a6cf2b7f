//! Compute units that programs drive themselves.

use crate::device::Device;
use crate::error::XrtError;
use crate::registers::Registers;
use crate::session::Session;
use crate::uuid::Uuid;
use std::sync::Arc;
use tombolo::Picoseconds;

/// A compute unit that the program drives by its registers, alone. Copies are the same one.
#[derive(Clone, Debug)]
pub struct Ip {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    // A kernel that runs is stopped before its unit is another's.
    registers: Registers,
    open: Open,
}

#[derive(Debug)]
struct Open {
    session: Arc<Session>,
    unit: usize,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.session.close_units(&[self.unit], true);
    }
}

impl Ip {
    /// Opens a compute unit: `kernel` if it has one, `kernel:{unit}` or `kernel:unit`.
    ///
    /// # Errors
    /// [`XrtError::NoSuchKernel`]; [`XrtError::Ambiguous`]; [`XrtError::UnitTaken`]; nothing is loaded.
    pub fn open(device: &Device, uuid: Uuid, name: &str) -> Result<Self, XrtError> {
        let session = device.session_of(uuid, "ip")?;
        let unit = match session.design().units_of(name)[..] {
            [unit] => unit,
            [] => {
                return Err(XrtError::NoSuchKernel {
                    name: name.to_owned(),
                    known: session.design().unit_names(),
                })
            }
            ref several => {
                return Err(XrtError::Ambiguous {
                    name: name.to_owned(),
                    count: several.len(),
                })
            }
        };
        session.open_units(&[unit], true)?;
        let inner = Arc::new(Inner {
            registers: Registers::new(session.clone(), unit),
            open: Open { session, unit },
        });
        Ok(Self { inner })
    }

    /// Reads a register. Virtual time passes meanwhile.
    ///
    /// # Errors
    /// [`XrtError::RegisterOffset`]; the kernel does not answer, or an access of its run failed.
    pub fn read_register(&self, offset: u32) -> Result<u32, XrtError> {
        self.inner.registers.read(offset)
    }

    /// Whether its interrupt can be waited for.
    ///
    /// # Errors
    /// [`XrtError::NoInterrupt`].
    pub fn require_interrupt(&self) -> Result<(), XrtError> {
        let Open { session, unit } = &self.inner.open;
        match session.slot(*unit).manifest().has_interrupt() {
            true => Ok(()),
            false => Err(XrtError::NoInterrupt {
                unit: session.unit_name(*unit),
            }),
        }
    }

    /// Waits for an interrupt, which the program has enabled in its registers; gives whether one came within so many
    /// milliseconds of virtual time (0: waits for ever).
    ///
    /// # Errors
    /// [`XrtError::NoInterrupt`]; as [`read_register`](Self::read_register).
    pub fn wait_interrupt(&self, milliseconds: u64) -> Result<bool, XrtError> {
        self.require_interrupt()?;
        let limit = Picoseconds::new(milliseconds.saturating_mul(1_000_000_000));
        let limit = (milliseconds > 0).then_some(limit);
        self.inner.registers.wait_interrupt(limit)
    }

    /// Writes a register. Bit 0 of the first starts a kernel that has `ap_start`.
    ///
    /// # Errors
    /// As [`read_register`](Self::read_register); the kernel does not take a value of its arguments.
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), XrtError> {
        self.inner.registers.write(offset, value)
    }
}
