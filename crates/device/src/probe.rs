//! A device that only copies. It proves that a host, its IOMMU and its interrupts work with a device at all.

use crate::function::{Hardware, Interrupts};
use card::memory::HostMemory;
use card::CardError;
use std::collections::BTreeMap;
use std::sync::Arc;

const PAGE: u64 = 4096;

/// Registers of [`Probe`], by byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ProbeRegister {
    /// Reads [`Probe::MAGIC`].
    Id = 0x00,
    /// Scratch register: reads back the last value written.
    Scratch = 0x04,
    /// Source address, low half.
    SourceLow = 0x08,
    /// Source address, high half.
    SourceHigh = 0x0c,
    /// Destination address, low half.
    TargetLow = 0x10,
    /// Destination address, high half.
    TargetHigh = 0x14,
    /// Byte count. A write copies this many bytes from source to destination, inverts each bit, and raises the
    /// interrupt.
    Copy = 0x18,
    /// Bytes written by the last copy: fewer than requested if it met an unmapped address.
    Copied = 0x1c,
}

/// A device with eight registers: see [`ProbeRegister`].
pub struct Probe {
    registers: [u32; 8],
    reachable: BTreeMap<u64, Arc<HostMemory>>,
    interrupts: Interrupts,
}

impl Probe {
    /// Value of [`ProbeRegister::Id`].
    pub const MAGIC: u32 = 0x6f72_7062;

    /// Creates the device in its state after power-on.
    pub fn new(interrupts: Interrupts) -> Self {
        let mut registers = [0; 8];
        registers[ProbeRegister::Id as usize / 4] = Self::MAGIC;
        Self {
            registers,
            reachable: BTreeMap::new(),
            interrupts,
        }
    }

    fn register(&self, register: ProbeRegister) -> u32 {
        self.registers[register as usize / 4]
    }

    fn pair(&self, low: ProbeRegister, high: ProbeRegister) -> u64 {
        u64::from(self.register(high)) << 32 | u64::from(self.register(low))
    }

    /// The memory at an address, the offset in it, and the bytes up to the end of the page.
    fn at(&self, address: u64) -> Option<(&HostMemory, usize, u64)> {
        let (&start, memory) = self.reachable.range(..=address).next_back()?;
        let offset = address - start;
        (offset < memory.len() as u64).then(|| (&**memory, offset as usize, PAGE - address % PAGE))
    }

    fn copy(&mut self, bytes: u64) -> u32 {
        let (source, target) = (
            self.pair(ProbeRegister::SourceLow, ProbeRegister::SourceHigh),
            self.pair(ProbeRegister::TargetLow, ProbeRegister::TargetHigh),
        );
        let mut done = 0;
        while done < bytes {
            let from = source
                .checked_add(done)
                .and_then(|address| self.at(address));
            let to = target
                .checked_add(done)
                .and_then(|address| self.at(address));
            let (Some((from, from_offset, from_left)), Some((to, to_offset, to_left))) = (from, to)
            else {
                break;
            };
            let mut piece = vec![0; (bytes - done).min(from_left).min(to_left) as usize];
            if from.read(from_offset, &mut piece).is_err() {
                break;
            }
            piece.iter_mut().for_each(|byte| *byte = !*byte);
            if to.write(to_offset, &piece).is_err() {
                break;
            }
            done += piece.len() as u64;
        }
        done as u32
    }
}

impl Hardware for Probe {
    fn bar_bytes(&self) -> u64 {
        PAGE
    }

    fn read(&mut self, address: u32) -> Result<u32, CardError> {
        Ok(self
            .registers
            .get(address as usize / 4)
            .copied()
            .unwrap_or(0))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        if address == ProbeRegister::Copy as u32 {
            self.registers[ProbeRegister::Copied as usize / 4] = self.copy(value.into());
            self.interrupts.raise();
        } else if address != ProbeRegister::Id as u32 {
            if let Some(register) = self.registers.get_mut(address as usize / 4) {
                *register = value;
            }
        }
        Ok(())
    }

    fn map(&mut self, start: u64, memory: Arc<HostMemory>) -> Result<(), CardError> {
        self.reachable.insert(start, memory);
        Ok(())
    }

    fn unmap(&mut self, start: u64) {
        self.reachable.remove(&start);
    }

    fn reset(&mut self) -> Result<(), CardError> {
        *self = Self::new(self.interrupts.clone());
        Ok(())
    }
}
