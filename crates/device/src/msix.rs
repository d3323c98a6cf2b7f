//! MSI-X: table, mask bits and pending bits (PCI Local Bus Specification 3.0, section 6.8.2).

use crate::places::places;
use std::fs::File;
use std::io::Write;

/// Size of the BAR in bytes.
pub(crate) const BAR_BYTES: u64 = 4096;
/// Offset of the pending bit array.
pub(crate) const PENDING: u32 = 0x800;
/// Maximum number of vectors: their pending bits fit one 64-bit word.
const MOST_VECTORS: u16 = 64;

const ENTRY_BYTES: usize = 16;
const MASKED: u8 = 1;

/// Delivery of a vector, to an eventfd.
struct Vector {
    listener: Option<File>,
    /// Masked by the host through the protocol.
    held: bool,
}

/// MSI-X table and pending bits of a function.
///
/// A vector has three masks: in its table entry, in the protocol (the only one that a host uses which virtualises the
/// table, as QEMU does), and for the whole function. An interrupt stays pending until none of them is set.
pub(crate) struct Msix {
    table: Vec<u8>,
    pending: u64,
    vectors: Vec<Vector>,
    /// MSI-X is enabled, the function is not masked, and bus mastering is on.
    enabled: bool,
}

impl Msix {
    /// The vectors after a reset.
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

    /// Resets the function: every vector masked, nothing pending. Listeners stay, since they belong to the host.
    pub fn reset(&mut self) {
        self.table = vec![0; ENTRY_BYTES * self.vectors.len()];
        for entry in self.table.chunks_mut(ENTRY_BYTES) {
            entry[12] = MASKED;
        }
        self.pending = 0;
        self.enabled = false;
    }

    /// Removes every listener and mask of the host.
    pub fn forget_listeners(&mut self) {
        for vector in &mut self.vectors {
            vector.listener = None;
            vector.held = false;
        }
    }

    /// Reads table and pending bits; the rest of the BAR reads zero.
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
                // Only the mask bit of the last word is implemented.
                *place = match at % ENTRY_BYTES {
                    12 => byte & MASKED,
                    13..=15 => 0,
                    _ => byte,
                };
            }
        }
        self.deliver();
    }

    /// Sets whether the function may send interrupts; delivers pending ones.
    pub fn set_enabled(&mut self, enabled: bool) {
        self.enabled = enabled;
        self.deliver();
    }

    /// Sets the listener of a vector; `None` removes it. Setting one clears the mask of the table entry, since a host
    /// that virtualises the table never writes it. False if the vector does not exist.
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

    /// Masks or unmasks a vector. False if it does not exist.
    pub fn hold(&mut self, vector: usize, held: bool) -> bool {
        let Some(place) = self.vectors.get_mut(vector) else {
            return false;
        };
        place.held = held;
        self.deliver();
        true
    }

    /// Raises an interrupt of the function.
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

    /// Number of signals received.
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
