//! Memory that stores packets consecutively.

use crate::bars::Failure;

/// Fill byte of unwritten memory.
const BLANK: u8 = 0xa5;

/// Locations of packets in memory: consecutive, one byte apart.
#[derive(Debug, Default)]
pub struct PacketStore {
    /// Offset and capacity of the next.
    next: (u64, u64),
    /// Offset and length of stored packets.
    places: Vec<(usize, usize)>,
}

impl PacketStore {
    /// Memory filled with the fill byte.
    pub fn blank(bytes: u64) -> Vec<u8> {
        vec![BLANK; bytes as usize]
    }

    /// Reserves room for the next packet; returns its offset.
    pub fn next(&mut self, room: u64) -> u64 {
        let (at, before) = self.next;
        let at = match before {
            0 => at,
            before => at + before + 1,
        };
        self.next = (at, room);
        at
    }

    /// Records the next packet, of `bytes` bytes.
    pub fn put(&mut self, bytes: u64) {
        self.places.push((self.next.0 as usize, bytes as usize));
    }

    /// The stored packets, in order.
    ///
    /// # Errors
    /// The memory between two of them was written.
    pub fn packets(&self, all: &[u8]) -> Result<Vec<Vec<u8>>, Failure> {
        let (mut end, mut packets) = (0, Vec::new());
        for (at, bytes) in &self.places {
            blank(all, end, *at)?;
            end = at + bytes;
            packets.push(all.get(*at..end).ok_or("memory is too short")?.to_vec());
        }
        blank(all, end, all.len())?;
        Ok(packets)
    }
}

fn blank(all: &[u8], from: usize, to: usize) -> Result<(), Failure> {
    match all[from..to].iter().position(|byte| *byte != BLANK) {
        Some(at) => Err(format!("byte {} was written, and is of no packet", from + at).into()),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_beside_a_packet_is_told() {
        let mut store = PacketStore::default();
        let mut memory = PacketStore::blank(20);
        for (room, bytes) in [(5, b"abcde".as_slice()), (7, b"xyz"), (2, b"")] {
            let at = store.next(room) as usize;
            memory[at..at + bytes.len()].copy_from_slice(bytes);
            store.put(bytes.len() as u64);
        }
        let packets = store.packets(&memory).unwrap();
        assert_eq!(packets, [b"abcde".as_slice(), b"xyz", b""]);
        for at in [5, 9, 13, 19] {
            let kept = std::mem::replace(&mut memory[at], 0);
            let told = store.packets(&memory).unwrap_err().to_string();
            assert!(told.contains(&format!("byte {at} ")), "{told}");
            memory[at] = kept;
        }
    }
}
