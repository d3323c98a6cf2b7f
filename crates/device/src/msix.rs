//! MSI-X: table, mask bits and pending bits (PCI Local Bus Specification 3.0, section 6.8.2).

use crate::places::places;
use std::fs::File;
use std::io::Write;

/// Bytes of the BAR.
pub(crate) const BAR_BYTES: u64 = 4096;
/// Offset of the pending bits.
pub(crate) const PENDING: u32 = 0x800;
/// Vectors at most: their pending bits are one word.
const MOST_VECTORS: u16 = 64;

const ENTRY_BYTES: usize = 16;
const MASKED: u8 = 1;

/// Who hears of interrupts: an eventfd.
struct Vector {
    listener: Option<File>,
    /// The host asked, by the protocol, to hold interrupts back.
    held: bool,
}

/// Table and pending bits of a function.
///
/// A vector has three masks: that of its table entry, that of the protocol (a host that keeps the table to itself, as
/// QEMU does, uses only this one), and that of the function. An interrupt that meets one is pending until none is left.
pub(crate) struct Msix {
    table: Vec<u8>,
    pending: u64,
    vectors: Vec<Vector>,
    /// MSI-X is on, not masked as a whole, and the function may master the bus.
    enabled: bool,
}

impl Msix {
    /// Vectors after a reset.
    pub fn new(vectors: u16) -> Self {
        let vectors = usize::from(vectors.min(MOST_VECTORS));
        let vector = || Vector {
            listener: None,
            held: false,
        };
        let mut msix = Self {
            table: Vec::new(),
            pending: 0,
            vectors: (0..vectors).map(|_| vector()).collect(),
            enabled: false,
        };
        msix.reset();
        msix
    }

    /// A reset of the function: every vector masked, nothing pending. Listeners stay: they are the host's.
    pub fn reset(&mut self) {
        self.table = vec![0; ENTRY_BYTES * self.vectors.len()];
        for entry in self.table.chunks_mut(ENTRY_BYTES) {
            entry[12] = MASKED;
        }
        self.pending = 0;
        self.enabled = false;
    }

    /// Forgets every listener.
    pub fn forget_listeners(&mut self) {
        for vector in &mut self.vectors {
            vector.listener = None;
            vector.held = false;
        }
    }

    /// Reads table and pending bits; the rest of the BAR is zero.
    pub fn read(&self, offset: u64, data: &mut [u8]) {
        let pending = self.pending.to_le_bytes();
        for (at, byte) in places(offset, data.len()).zip(data) {
            let bit_byte = at.checked_sub(PENDING as usize);
            *byte = match bit_byte.and_then(|at| pending.get(at)) {
                Some(&bits) => bits,
                None => self.table.get(at).copied().unwrap_or(0),
            };
        }
    }

    /// Writes the table; pending bits are read-only.
    pub fn write(&mut self, offset: u64, data: &[u8]) {
        for (at, &byte) in places(offset, data.len()).zip(data) {
            if let Some(place) = self.table.get_mut(at) {
                // Of the last word only the mask bit is there.
                *place = match at % ENTRY_BYTES {
                    12 => byte & MASKED,
                    13..=15 => 0,
                    _ => byte,
                };
            }
        }
        self.deliver();
    }

    /// Whether the function may send interrupts at all.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
        self.deliver();
    }

    /// Gives a vector a listener, which takes its mask away: a host that keeps the table to itself never writes it.
    /// `None`: it has none any more. False: there is no such vector.
    pub fn listen(&mut self, vector: usize, listener: Option<File>) -> bool {
        let Some(place) = self.vectors.get_mut(vector) else {
            return false;
        };
        if listener.is_some() {
            self.table[ENTRY_BYTES * vector + 12] &= !MASKED;
        }
        place.listener = listener;
        self.deliver();
        true
    }

    /// Holds interrupts of a vector back, or lets them go. False: there is no such vector.
    pub fn hold(&mut self, vector: usize, held: bool) -> bool {
        let Some(place) = self.vectors.get_mut(vector) else {
            return false;
        };
        place.held = held;
        self.deliver();
        true
    }

    /// An interrupt of the function.
    pub fn raise(&mut self, vector: usize) {
        if vector < self.vectors.len() {
            self.pending |= 1 << vector;
            self.deliver();
        }
    }

    fn deliver(&mut self) {
        if !self.enabled {
            return;
        }
        for (number, vector) in self.vectors.iter_mut().enumerate() {
            let bit = 1 << number;
            let masked = self.table[ENTRY_BYTES * number + 12] & MASKED != 0 || vector.held;
            if self.pending & bit == 0 || masked {
                continue;
            }
            if let Some(listener) = &mut vector.listener {
                match listener.write_all(&1u64.to_ne_bytes()) {
                    Ok(()) => self.pending &= !bit,
                    Err(error) => tracing::warn!("interrupt {number} stays pending: {error}"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    fn listener() -> (File, UnixStream) {
        let (given, event) = UnixStream::pair().unwrap();
        event.set_nonblocking(true).unwrap();
        (File::from(OwnedFd::from(given)), event)
    }

    /// How often it was written to.
    fn heard(event: &mut UnixStream) -> usize {
        let mut bytes = [0; 64];
        event.read(&mut bytes).map_or(0, |read| read / 8)
    }

    fn pending(msix: &Msix) -> u64 {
        let mut bits = [0; 8];
        msix.read(PENDING.into(), &mut bits);
        u64::from_le_bytes(bits)
    }

    #[test]
    fn an_interrupt_is_pending_until_no_mask_is_left() {
        let mut msix = Msix::new(2);
        let (given, mut event) = listener();
        msix.raise(1);
        assert_eq!(pending(&msix), 2);
        assert!(msix.listen(1, Some(given)));
        msix.write(16 + 12, &[1, 0, 0, 0]);
        assert!(msix.hold(1, true));
        msix.set_enabled(true);
        assert_eq!((pending(&msix), heard(&mut event)), (2, 0));
        msix.write(16 + 12, &[0, 0, 0, 0]);
        assert_eq!((pending(&msix), heard(&mut event)), (2, 0));
        msix.hold(1, false);
        assert_eq!((pending(&msix), heard(&mut event)), (0, 1));
        msix.raise(1);
        assert_eq!(heard(&mut event), 1);
        msix.set_enabled(false);
        msix.raise(1);
        assert_eq!((pending(&msix), heard(&mut event)), (2, 0));
        msix.reset();
        msix.set_enabled(true);
        assert_eq!((pending(&msix), heard(&mut event)), (0, 0));
    }

    #[test]
    fn nothing_outside_the_table_can_be_written() {
        let mut msix = Msix::new(1);
        assert!(!msix.listen(1, None) && !msix.hold(7, true));
        msix.raise(9);
        msix.write(0, &[0xff; 4096]);
        msix.write(u64::MAX, &[1; 8]);
        let mut all = [0; 4096];
        msix.read(0, &mut all);
        assert_eq!(
            all[..16],
            [255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1, 0, 0, 0]
        );
        assert_eq!(all[16..], [0; 4080]);
    }
}
