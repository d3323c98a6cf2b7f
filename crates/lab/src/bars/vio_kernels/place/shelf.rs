//! Memory that takes one packet after the other.

use crate::bars::Failure;

/// What is where nothing has been put.
const BLANK: u8 = 0xa5;

/// The places of packets in it: one behind the other, a byte apart.
#[derive(Debug, Default)]
pub struct Shelf {
    /// Begin and room of the next.
    next: (u64, u64),
    /// Begin and bytes of those that are there.
    places: Vec<(usize, usize)>,
}

impl Shelf {
    /// Memory with nothing on it.
    pub fn blank(bytes: u64) -> Vec<u8> {
        vec![BLANK; bytes as usize]
    }

    /// Where the next may be put.
    pub fn next(&mut self, room: u64) -> u64 {
        let (at, before) = self.next;
        let at = match before {
            0 => at,
            before => at + before + 1,
        };
        self.next = (at, room);
        at
    }

    /// So much of it was put there.
    pub fn put(&mut self, bytes: u64) {
        self.places.push((self.next.0 as usize, bytes as usize));
    }

    /// The packets on it, one by one.
    ///
    /// # Errors
    /// Something is between two of them.
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
        let mut shelf = Shelf::default();
        let mut memory = Shelf::blank(20);
        for (room, bytes) in [(5, b"abcde".as_slice()), (7, b"xyz"), (2, b"")] {
            let at = shelf.next(room) as usize;
            memory[at..at + bytes.len()].copy_from_slice(bytes);
            shelf.put(bytes.len() as u64);
        }
        let packets = shelf.packets(&memory).unwrap();
        assert_eq!(packets, [b"abcde".as_slice(), b"xyz", b""]);
        for at in [5, 9, 13, 19] {
            let kept = std::mem::replace(&mut memory[at], 0);
            let told = shelf.packets(&memory).unwrap_err().to_string();
            assert!(told.contains(&format!("byte {at} ")), "{told}");
            memory[at] = kept;
        }
    }
}
