//! Kernels: the compute units that a program has open.

use crate::design::{ArgumentKind, KernelImage};
use crate::device::Device;
use crate::error::XrtError;
use crate::registers::Registers;
use crate::session::Session;
use crate::uuid::Uuid;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Access mode of compute units; values of XRT's `cu_access_mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnitAccess {
    /// Exclusive to this object, which may access the registers.
    Exclusive,
    /// Shared with other objects.
    #[default]
    Shared,
    /// No access: for queries about the kernel.
    None,
}

/// An opened kernel. Clones refer to the same kernel; its units are released with the last clone.
#[derive(Clone, Debug)]
pub struct Kernel {
    inner: Arc<KernelInner>,
}

#[derive(Debug)]
pub(crate) struct KernelInner {
    session: Arc<Session>,
    number: usize,
    units: Vec<usize>,
    access: UnitAccess,
    /// Registers of the only unit.
    registers: Option<Registers>,
    /// Byte offsets that may be read although the unit is shared.
    readable: Mutex<Range<u32>>,
}

/// Result of `group_id` for an argument without memory: an index that no bank has.
const NO_GROUP: i32 = i32::MAX;

impl KernelInner {
    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn image(&self) -> &KernelImage {
        &self.session.design().kernels[self.number]
    }

    pub(crate) fn name(&self) -> &str {
        &self.image().name
    }

    pub(crate) fn units(&self) -> &[usize] {
        &self.units
    }

    /// Memory group of an argument, by its position in the kernel's list: that of the first compute unit.
    pub(crate) fn group_of(&self, place: usize) -> Option<u32> {
        let index = self.image().arguments.get(place)?.index;
        let unit = &self.session.design().units[*self.units.first()?];
        unit.groups.get(&index).copied()
    }

    pub(crate) fn no_such_argument(&self, argument: String) -> XrtError {
        let arguments = self.image().arguments.iter();
        let known: Vec<String> = arguments
            .map(|one| format!("{} {}", one.index, one.name))
            .collect();
        XrtError::NoSuchArgument {
            kernel: self.name().to_owned(),
            argument,
            known: known.join(", "),
        }
    }
}

impl Drop for KernelInner {
    fn drop(&mut self) {
        // A running kernel is stopped before its unit is released.
        self.registers = None;
        if self.access != UnitAccess::None {
            let exclusive = self.access == UnitAccess::Exclusive;
            self.session.close_units(&self.units, exclusive);
        }
    }
}

impl Kernel {
    /// Opens all compute units of `kernel`, or those listed in `kernel:{unit,unit}`.
    ///
    /// # Errors
    /// No xclbin, or another one, is loaded; [`XrtError::NoSuchKernel`]; [`XrtError::NotStartable`];
    /// [`XrtError::UnitTaken`].
    pub fn open(
        device: &Device,
        uuid: Uuid,
        name: &str,
        access: UnitAccess,
    ) -> Result<Self, XrtError> {
        let session = device.session_of(uuid, "kernel")?;
        let units = session.design().units_of(name);
        let Some(first) = units.first() else {
            return Err(XrtError::NoSuchKernel {
                name: name.to_owned(),
                known: session.design().unit_names(),
            });
        };
        let number = session.design().units[*first].kernel;
        let image = &session.design().kernels[number];
        let control = match image.control.as_str() {
            "ap_ctrl_none" => Some("ap_ctrl_none"),
            "user_managed" => Some("user_managed"),
            _ => None,
        };
        if let Some(control) = control.filter(|_| access != UnitAccess::None) {
            let name = image.name.clone();
            return Err(XrtError::NotStartable { name, control });
        }
        if access != UnitAccess::None {
            session.open_units(&units, access == UnitAccess::Exclusive)?;
        }
        let registers = match (access, &units[..]) {
            (UnitAccess::Exclusive | UnitAccess::Shared, [unit]) => {
                Some(Registers::new(session.clone(), *unit))
            }
            _ => None,
        };
        let inner = Arc::new(KernelInner {
            registers,
            readable: Mutex::default(),
            session,
            number,
            units,
            access,
        });
        Ok(Self { inner })
    }

    pub(crate) fn of(inner: Arc<KernelInner>) -> Self {
        Self { inner }
    }

    pub(crate) fn inner(&self) -> &Arc<KernelInner> {
        &self.inner
    }

    /// Kernel name.
    pub fn name(&self) -> &str {
        self.inner.name()
    }

    /// UUID of its xclbin.
    pub fn uuid(&self) -> Uuid {
        self.inner.session.uuid()
    }

    /// Memory group for an argument's buffers; for a scalar or a stream, a number that no bank has.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`].
    pub fn group_id(&self, index: u32) -> Result<i32, XrtError> {
        let arguments = &self.inner.image().arguments;
        let place = arguments.iter().position(|one| one.index == index);
        let place = place.ok_or_else(|| self.inner.no_such_argument(index.to_string()))?;
        let group = self
            .inner
            .group_of(place)
            .and_then(|group| i32::try_from(group).ok());
        Ok(match arguments[place].kind {
            ArgumentKind::Global => group.unwrap_or(0),
            _ => NO_GROUP,
        })
    }

    /// Number of arguments; their indices start at 0.
    pub fn argument_count(&self) -> u32 {
        let arguments = self.inner.image().arguments.iter();
        arguments.map(|one| one.index + 1).max().unwrap_or(0)
    }

    /// Byte offset of an argument's first register.
    ///
    /// # Errors
    /// [`XrtError::NoSuchArgument`].
    pub fn offset(&self, index: u32) -> Result<u32, XrtError> {
        let mut arguments = self.inner.image().arguments.iter();
        let found = arguments.find(|one| one.index == index);
        let missing = || self.inner.no_such_argument(index.to_string());
        found.map(|one| one.offset).ok_or_else(missing)
    }

    /// The registers, if they are the program's alone or it may use them all the same.
    fn registers(&self, call: &'static str, in_range: bool) -> Result<&Registers, XrtError> {
        let allowed = in_range || self.inner.access == UnitAccess::Exclusive;
        let shared = match self.inner.access {
            UnitAccess::Exclusive => "",
            _ => ", shared",
        };
        let refused = || XrtError::RegisterAccess {
            kernel: self.name().to_owned(),
            call,
            units: self.inner.units.len(),
            shared,
        };
        let registers = self.inner.registers.as_ref();
        registers.filter(|_| allowed).ok_or_else(refused)
    }

    /// Allows [`read_register`](Self::read_register) at byte offsets from `start` on, for `bytes` bytes, although the
    /// kernel is shared. Replaces an earlier range.
    ///
    /// # Errors
    /// [`XrtError::RegisterAccess`]: the kernel has several units; [`XrtError::RegisterOffset`].
    pub fn set_read_range(&self, start: u32, bytes: u32) -> Result<(), XrtError> {
        let registers = self.registers("set_read_range", true)?;
        registers.check_range(start, bytes)?;
        *self.readable() = start..start + bytes;
        Ok(())
    }

    fn readable(&self) -> MutexGuard<'_, Range<u32>> {
        let readable = self.inner.readable.lock();
        readable.unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads a register of its only compute unit, at a byte offset.
    ///
    /// # Errors
    /// [`XrtError::RegisterAccess`]; [`XrtError::RegisterOffset`]; the kernel does not respond.
    pub fn read_register(&self, offset: u32) -> Result<u32, XrtError> {
        self.registers("read_register", self.readable().contains(&offset))?
            .read(offset)
    }

    /// Writes a register of its only compute unit, at a byte offset.
    ///
    /// # Errors
    /// As [`read_register`](Self::read_register).
    pub fn write_register(&self, offset: u32, value: u32) -> Result<(), XrtError> {
        self.registers("write_register", false)?
            .write(offset, value)
    }
}
