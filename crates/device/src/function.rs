//! The PCI function: accesses, maps and resets, independent of the socket.

use crate::config_space::{ConfigSpace, Shape};
use crate::maps::{MapError, Maps, Range};
use crate::msix::{self, Msix};
use card::memory::HostMemory;
use card::CardError;
use std::fs::File;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Number of interrupt vectors; the shell uses one interrupt.
pub(crate) const VECTORS: u16 = 1;

/// The hardware behind BAR 0.
pub trait Hardware {
    /// Size of the BAR in bytes, a power of two of at least 4096.
    fn bar_bytes(&self) -> u64;

    /// Reads a 32-bit register (`address` in bytes, a multiple of 4, inside the BAR).
    ///
    /// # Errors
    /// Any error: the host reads all ones.
    fn read(&mut self, address: u32) -> Result<u32, CardError>;

    /// Writes a 32-bit register; `address` as for [`read`](Self::read).
    ///
    /// # Errors
    /// Any error: it is logged, and not visible to the host.
    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError>;

    /// Makes host memory accessible at bus addresses from `start` on.
    ///
    /// # Errors
    /// Any error: the memory stays inaccessible.
    fn map(&mut self, start: u64, memory: Arc<HostMemory>) -> Result<(), CardError>;

    /// Removes the map that begins at `start`. Once this returns, the hardware no longer reads or writes there.
    fn unmap(&mut self, start: u64);

    /// Restores the state after power-on, with no memory mapped.
    ///
    /// # Errors
    /// The device is broken.
    fn reset(&mut self) -> Result<(), CardError>;
}

/// Interrupt line from the hardware; usable from any thread.
#[derive(Clone)]
pub struct Interrupts(Arc<Mutex<Msix>>);

impl Interrupts {
    /// Raises the only interrupt.
    pub fn raise(&self) {
        tracing::trace!("interrupt");
        self.msix().raise(0);
    }

    fn msix(&self) -> MutexGuard<'_, Msix> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for Interrupts {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Msix::new(VECTORS))))
    }
}

/// A region of the device that a host accesses by offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Region {
    /// Configuration space.
    Configuration,
    /// BAR 0.
    Hardware,
    /// The BAR of the MSI-X table.
    Msix,
}

/// Function 0 of the device.
pub struct Function<H> {
    shape: Shape,
    hardware: H,
    configuration: ConfigSpace,
    interrupts: Interrupts,
    maps: Maps,
}

impl<H: Hardware> Function<H> {
    /// Creates a function in its state after power-on.
    pub fn new(hardware: H, interrupts: Interrupts) -> Self {
        let shape = Shape {
            bar_bytes: hardware.bar_bytes(),
            msix_bar_bytes: msix::BAR_BYTES,
            pending_offset: msix::PENDING,
            vectors: VECTORS,
            can_reset: true,
        };
        Self {
            shape,
            hardware,
            configuration: ConfigSpace::new(shape),
            interrupts,
            maps: Maps::default(),
        }
    }

    /// Removes function-level reset, which some cards do not support: the state that a program leaves persists for the
    /// next one.
    #[must_use]
    pub fn without_reset(mut self) -> Self {
        self.shape.can_reset = false;
        self.configuration = ConfigSpace::new(self.shape);
        self
    }

    /// Size of a region in bytes.
    pub(crate) fn bytes_of(&self, region: Region) -> u64 {
        match region {
            Region::Configuration => crate::config_space::BYTES as u64,
            Region::Hardware => self.hardware.bar_bytes(),
            Region::Msix => msix::BAR_BYTES,
        }
    }

    /// Reads from a region. Bytes that do not exist or cannot be read are all ones, as on a bus.
    pub(crate) fn read(&mut self, region: Region, offset: u64, data: &mut [u8]) {
        match region {
            Region::Configuration => self.configuration.read(offset, data),
            Region::Msix => self.interrupts.msix().read(offset, data),
            Region::Hardware => self.read_hardware(offset, data),
        }
    }

    /// Reads each register once, however many of its bytes are requested.
    fn read_hardware(&mut self, offset: u64, data: &mut [u8]) {
        let mut at = offset;
        let mut rest = data;
        while !rest.is_empty() {
            let within = (at % 4) as usize;
            let (now, later) = rest.split_at_mut(rest.len().min(4 - within));
            let word = self.word_at(at - at % 4).to_le_bytes();
            now.copy_from_slice(&word[within..within + now.len()]);
            at = at.saturating_add(now.len() as u64);
            rest = later;
        }
    }

    fn word_at(&mut self, offset: u64) -> u32 {
        let address = match u32::try_from(offset) {
            Ok(address) if offset < self.hardware.bar_bytes() => address,
            _ => return u32::MAX,
        };
        let value = self.hardware.read(address).unwrap_or_else(|error| {
            tracing::warn!("read of register 0x{address:06x}: all ones: {error}");
            u32::MAX
        });
        tracing::trace!("read 0x{address:06x}: 0x{value:08x}");
        value
    }

    /// Writes to a region. Bytes that do not exist are dropped.
    pub(crate) fn write(&mut self, region: Region, offset: u64, data: &[u8]) {
        match region {
            Region::Msix => self.interrupts.msix().write(offset, data),
            Region::Hardware => self.write_hardware(offset, data),
            Region::Configuration => {
                let was_master = self.configuration.is_bus_master();
                if self.configuration.write(offset, data).reset {
                    self.reset();
                } else {
                    self.follow_configuration(was_master);
                }
            }
        }
    }

    fn write_hardware(&mut self, offset: u64, data: &[u8]) {
        if offset % 4 != 0 || data.len() % 4 != 0 {
            tracing::warn!(
                "write of {} bytes at 0x{offset:06x} ignored: registers are written whole",
                data.len()
            );
            return;
        }
        for (word, at) in data.chunks_exact(4).zip((offset..).step_by(4)) {
            let address = match u32::try_from(at) {
                Ok(address) if at < self.hardware.bar_bytes() => address,
                _ => return,
            };
            let value = u32::from_le_bytes([word[0], word[1], word[2], word[3]]);
            tracing::trace!("write 0x{address:06x}: 0x{value:08x}");
            if let Err(error) = self.hardware.write(address, value) {
                tracing::warn!("write of register 0x{address:06x}: {error}");
            }
        }
    }

    /// Applies bus mastering and the interrupt enable: without bus mastering the function accesses no memory and sends
    /// no interrupt.
    fn follow_configuration(&mut self, was_master: bool) {
        let master = self.configuration.is_bus_master();
        if master && !was_master {
            for (start, memory) in self.maps.iter() {
                if let Err(error) = self.hardware.map(start, memory.clone()) {
                    tracing::warn!("memory at 0x{start:x} stays out of reach: {error}");
                }
            }
        }
        if was_master && !master {
            for (start, _) in self.maps.iter() {
                self.hardware.unmap(start);
            }
        }
        let sends = master && self.configuration.sends_interrupts();
        self.interrupts.msix().set_enabled(sends);
    }

    /// Maps part of a file; it becomes accessible once bus mastering is on.
    ///
    /// # Errors
    /// [`MapError`].
    pub(crate) fn map(&mut self, range: Range, file: &File, offset: u64) -> Result<(), MapError> {
        let memory = self.maps.map(range, file, offset)?;
        if self.configuration.is_bus_master() {
            if let Err(error) = self.hardware.map(range.start, memory) {
                self.maps.unmap(range)?;
                return Err(MapError::System(std::io::Error::other(error)));
            }
        }
        Ok(())
    }

    /// Removes the maps in a range.
    ///
    /// # Errors
    /// [`MapError`]; nothing has changed.
    pub(crate) fn unmap(&mut self, range: Range) -> Result<(), MapError> {
        let ended = self.maps.unmap(range)?;
        self.end(&ended);
        Ok(())
    }

    /// Removes every map.
    pub(crate) fn unmap_all(&mut self) {
        let ended = self.maps.clear();
        self.end(&ended);
    }

    fn end(&mut self, starts: &[u64]) {
        if self.configuration.is_bus_master() {
            for &start in starts {
                self.hardware.unmap(start);
            }
        }
    }

    /// Sets or removes the interrupt's listener. False if the vector does not exist.
    pub(crate) fn listen(&mut self, vector: usize, listener: Option<File>) -> bool {
        self.interrupts.msix().listen(vector, listener)
    }

    /// Masks or unmasks an interrupt. False if the vector does not exist.
    pub(crate) fn hold(&mut self, vector: usize, held: bool) -> bool {
        self.interrupts.msix().hold(vector, held)
    }

    /// Performs a function-level reset: bus mastering is off; the host's maps and listeners stay.
    pub(crate) fn reset(&mut self) {
        if let Err(error) = self.hardware.reset() {
            tracing::error!("reset: {error}");
        }
        self.configuration.reset();
        self.interrupts.msix().reset();
    }

    /// Ends a host's connection: releases its maps and listeners; the next host finds the state after power-on.
    pub(crate) fn disconnect(&mut self) {
        self.reset();
        self.maps.clear();
        self.interrupts.msix().forget_listeners();
    }
}
