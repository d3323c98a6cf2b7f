//! Configuration space of a PCI Express endpoint with MSI-X and function-level reset (PCI Express Base Specification,
//! chapter 7).

use crate::places::places;

/// Size of the configuration space in bytes.
pub(crate) const BYTES: usize = 4096;
/// Vendor ID; not assigned by the PCI-SIG.
pub const VENDOR: u16 = 0x1234;
/// Device ID of the shell.
pub const DEVICE: u16 = 0x746d;
/// BAR of the MSI-X table. BAR 0 is 64 bits wide and so occupies BAR 1 as well.
const MSIX_BAR: u8 = 2;

const COMMAND: usize = 0x04;
const STATUS: usize = 0x06;
const BARS: usize = 0x10;
const CAPABILITIES: usize = 0x34;
const EXPRESS: usize = 0x40;
const EXPRESS_CONTROL: usize = EXPRESS + 0x08;
const MSIX: usize = 0x80;
const MSIX_CONTROL: usize = MSIX + 2;

const COMMAND_MEMORY: u16 = 1 << 1;
const COMMAND_BUS_MASTER: u16 = 1 << 2;
const COMMAND_INTX_OFF: u16 = 1 << 10;
const CONTROL_RESET: u16 = 1 << 15;
const MSIX_ENABLE: u16 = 1 << 15;
const MSIX_MASK_ALL: u16 = 1 << 14;
const CLASS_PROCESSING_ACCELERATOR: u8 = 0x12;

/// Properties of a function, as its configuration space presents them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    /// Size of BAR 0 in bytes, a power of two.
    pub bar_bytes: u64,
    /// Size of the MSI-X BAR in bytes, a power of two.
    pub msix_bar_bytes: u64,
    /// Offset of the pending bit array in the MSI-X BAR.
    pub pending_offset: u32,
    /// Number of MSI-X vectors.
    pub vectors: u16,
    /// Whether it supports function-level reset.
    pub can_reset: bool,
}

/// Side effects of a configuration write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Effects {
    /// The host requested a function-level reset.
    pub reset: bool,
}

/// Contents of the configuration space, with a mask of the host-writable bits.
pub(crate) struct ConfigSpace {
    shape: Shape,
    bytes: Vec<u8>,
    writable: Vec<u8>,
}

impl ConfigSpace {
    /// The configuration space of a function after reset.
    pub fn new(shape: Shape) -> Self {
        let mut space = Self {
            shape,
            bytes: vec![0; BYTES],
            writable: vec![0; BYTES],
        };
        space.put(0, &VENDOR.to_le_bytes());
        space.put(2, &DEVICE.to_le_bytes());
        space.allow(
            COMMAND,
            COMMAND_MEMORY | COMMAND_BUS_MASTER | COMMAND_INTX_OFF,
        );
        space.put(STATUS, &(1u16 << 4).to_le_bytes()); // There is a list of capabilities.
        space.bytes[0x0b] = CLASS_PROCESSING_ACCELERATOR;
        space.put(0x2c, &VENDOR.to_le_bytes());
        space.put(0x2e, &DEVICE.to_le_bytes());
        // The host can write the address bits above the BAR's size.
        let address = (!(shape.bar_bytes - 1)).to_le_bytes();
        space.bytes[BARS] = 0b0100; // Memory, 64 bits, not prefetchable.
        space.writable[BARS..BARS + 8].copy_from_slice(&address);
        let at = BARS + 4 * usize::from(MSIX_BAR);
        space.bytes[at] = 0b0100;
        let address = (!(shape.msix_bar_bytes - 1)).to_le_bytes();
        space.writable[at..at + 8].copy_from_slice(&address);
        space.bytes[CAPABILITIES] = EXPRESS as u8;
        space.put(EXPRESS, &[0x10, MSIX as u8, 0x02, 0x00]); // PCI Express endpoint, version 2.
        let function_level_reset = u32::from(shape.can_reset) << 28;
        space.put(EXPRESS + 4, &function_level_reset.to_le_bytes());
        space.allow(EXPRESS_CONTROL, 0x7fff);
        space.put(MSIX, &[0x11, 0]);
        space.put(MSIX_CONTROL, &(shape.vectors - 1).to_le_bytes());
        space.allow(MSIX_CONTROL, MSIX_ENABLE | MSIX_MASK_ALL);
        space.put(MSIX + 4, &u32::from(MSIX_BAR).to_le_bytes());
        let pending = shape.pending_offset | u32::from(MSIX_BAR);
        space.put(MSIX + 8, &pending.to_le_bytes());
        space
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.bytes[at..at + bytes.len()].copy_from_slice(bytes);
    }

    fn allow(&mut self, at: usize, bits: u16) {
        self.writable[at..at + 2].copy_from_slice(&bits.to_le_bytes());
    }

    fn word(&self, at: usize) -> u16 {
        u16::from_le_bytes([self.bytes[at], self.bytes[at + 1]])
    }

    /// Reads bytes; those beyond the end are all ones.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        for (at, byte) in places(offset, data.len()).zip(data) {
            *byte = self.bytes.get(at).copied().unwrap_or(0xff);
        }
    }

    /// Writes the host-writable bits.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Effects {
        let mut effects = Effects::default();
        for (at, &byte) in places(offset, data.len()).zip(data) {
            let Some(&writable) = self.writable.get(at) else {
                break;
            };
            self.bytes[at] = self.bytes[at] & !writable | byte & writable;
            let resets = self.shape.can_reset && at == EXPRESS_CONTROL + 1;
            if resets && byte & (CONTROL_RESET >> 8) as u8 != 0 {
                effects.reset = true;
            }
        }
        effects
    }

    /// Resets the function: clears every host-writable bit.
    pub fn reset(&mut self) {
        *self = Self::new(self.shape);
    }

    /// Whether bus mastering is on: the function may access host memory and send messages.
    pub fn is_bus_master(&self) -> bool {
        self.word(COMMAND) & COMMAND_BUS_MASTER != 0
    }

    /// Whether MSI-X is enabled and not masked for the whole function.
    pub fn sends_interrupts(&self) -> bool {
        self.word(MSIX_CONTROL) & (MSIX_ENABLE | MSIX_MASK_ALL) == MSIX_ENABLE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space() -> ConfigSpace {
        ConfigSpace::new(Shape {
            bar_bytes: 2 << 20,
            msix_bar_bytes: 4096,
            pending_offset: 0x800,
            vectors: 1,
            can_reset: true,
        })
    }

    fn dword(space: &ConfigSpace, at: u64) -> u32 {
        let mut word = [0; 4];
        space.read(at, &mut word);
        u32::from_le_bytes(word)
    }

    #[test]
    fn the_list_of_capabilities_names_both_and_ends() {
        let space = space();
        assert_eq!(dword(&space, 0), 0x746d_1234);
        let mut found = Vec::new();
        let mut at = dword(&space, 0x34) & 0xff;
        while at != 0 {
            let header = dword(&space, at.into());
            found.push(header & 0xff);
            at = header >> 8 & 0xff;
        }
        assert_eq!(found, [0x10, 0x11]);
    }

    #[test]
    fn a_bar_shows_its_size_to_who_writes_ones() {
        let mut space = space();
        space.write(0x10, &[0xff; 8]);
        assert_eq!(dword(&space, 0x10), 0xffe0_0004);
        assert_eq!(dword(&space, 0x14), 0xffff_ffff);
        space.write(0x10, &0x1_2340_0000u64.to_le_bytes());
        assert_eq!(dword(&space, 0x10), 0x2340_0004);
        assert_eq!(dword(&space, 0x14), 1);
    }

    #[test]
    fn only_what_may_be_written_is_and_a_reset_takes_it_back() {
        let mut space = space();
        space.write(0, &[0xff; 8]);
        assert_eq!(dword(&space, 0), 0x746d_1234);
        assert_eq!(dword(&space, 4), 0x0010_0406);
        assert!(space.is_bus_master());
        space.write(0x82, &[0, 0x80]);
        assert!(space.sends_interrupts());
        space.write(0x82, &[0, 0xc0]);
        assert!(!space.sends_interrupts());
        assert_eq!(space.write(0x48, &[0, 0x80]), Effects { reset: true });
        assert_eq!(dword(&space, 0x48) & 0xffff, 0, "the bit reads as zero");
        space.reset();
        assert!(!space.is_bus_master());
    }

    #[test]
    fn a_function_without_reset_says_so_and_ignores_it() {
        let shape = Shape {
            can_reset: false,
            ..space().shape
        };
        let mut space = ConfigSpace::new(shape);
        assert_eq!(dword(&space, 0x44) >> 28, 0);
        assert_eq!(space.write(0x48, &[0, 0x80]), Effects::default());
    }

    #[test]
    fn what_is_outside_is_all_ones_and_takes_nothing() {
        let mut space = space();
        let mut data = [0; 8];
        space.read(4092, &mut data);
        assert_eq!(data, [0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        space.read(u64::MAX - 3, &mut data[..4]);
        assert_eq!(data[..4], [0xff; 4]);
        assert_eq!(space.write(4095, &[1; 64]), Effects::default());
        space.write(u64::MAX, &[0xff; 0x20]);
        assert!(!space.is_bus_master());
    }
}
