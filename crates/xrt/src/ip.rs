//! Compute units that programs control by their registers.

use crate::device::Device;
use crate::error::XrtError;
use crate::registers::Registers;
use crate::session::Session;
use crate::uuid::Uuid;
use std::sync::Arc;
use tombolo::Picoseconds;

/// A compute unit, opened exclusively, that the program controls by its registers. Clones refer to the same unit.
#[derive(Clone, Debug)]
pub struct Ip {
    inner: Arc<IpInner>,
}

#[derive(Debug)]
struct IpInner {
    // Dropped first: a running kernel is stopped before its unit is released.
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
    /// Opens a compute unit: `kernel` if the kernel has only one, `kernel:{unit}` or `kernel:unit`.
    ///
    /// # Errors
    /// [`XrtError::NoSuchKernel`]; [`XrtError::Ambiguous`]; [`XrtError::UnitTaken`]; no xclbin is loaded.
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
        let inner = Arc::new(IpInner {
            registers: Registers::new(session.clone(), unit),
            open: Open { session, unit },
        });
        Ok(Self { inner })
    }

    /// Reads a register at a byte offset. The access takes virtual time.
    ///
    /// # Errors
    /// [`XrtError::RegisterOffset`]; the kernel does not respond, or an access of its run failed.
    pub fn read_register(&self, offset: u32) -> Result<u32, XrtError> {
        self.inner.registers.read(offset)
    }

    /// Checks that the kernel has an interrupt.
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

    /// Waits for an interrupt that the program has enabled in the registers, for at most `milliseconds` of virtual time
    /// (0: no limit). Returns whether one came.
    ///
    /// # Errors
    /// [`XrtError::NoInterrupt`]; as [`read_register`](Self::read_register).
    pub fn wait_interrupt(&self, milliseconds: u64) -> Result<bool, XrtError> {
        self.require_interrupt()?;
        let limit = Picoseconds::new(milliseconds.saturating_mul(1_000_000_000));
        let limit = (milliseconds > 0).then_some(limit);
        self.inner.registers.wait_interrupt(limit)
    }

    /// Writes a register at a byte offset. Bit 0 of the first register starts a kernel that has `ap_start`.
    ///
    /// # Errors
    /// As [`read_register`](Self::read_register); the kernel rejects the value of an argument.
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), XrtError> {
        self.inner.registers.write(offset, value)
    }
}
