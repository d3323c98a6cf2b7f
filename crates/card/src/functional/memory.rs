//! Card memory: sparse, zero where nothing was written.

use std::collections::HashMap;
use std::ops::Range;
use units::{CardAddr, Stripe};

const FRAME: u64 = 4096;

/// Memory of all channels. Addresses are `{channel, offset}` as in the shell.
#[derive(Debug)]
pub(super) struct CardMemory {
    channels: u64,
    channel_bytes_log2: u32,
    channel_bytes: u64,
    frames: HashMap<u64, Box<[u8; FRAME as usize]>>,
}

impl CardMemory {
    pub(super) fn new(channels: u8, channel_bytes_log2: u8, channel_bytes: u64) -> Self {
        Self {
            channels: u64::from(channels),
            channel_bytes_log2: u32::from(channel_bytes_log2),
            channel_bytes,
            frames: HashMap::new(),
        }
    }

    /// Whether the range lies in the address space of the channels, memory or not.
    pub(super) fn addressable(&self, address: CardAddr, bytes: u64) -> bool {
        let end = self.channels << self.channel_bytes_log2;
        address
            .get()
            .checked_add(bytes)
            .is_some_and(|last| last <= end)
    }

    /// Whether there is memory in the whole range, which is not empty.
    pub(super) fn contains(&self, address: CardAddr, bytes: u64) -> bool {
        let last = address.get() + (bytes - 1);
        let offset = |address: u64| address & ((1 << self.channel_bytes_log2) - 1);
        let full = self.channel_bytes == 1 << self.channel_bytes_log2;
        let same_channel = self.channel(address.get()) == self.channel(last);
        self.addressable(address, bytes)
            && (full || (same_channel && offset(last) < self.channel_bytes))
    }

    /// Whether the card can have a stripe.
    pub(super) fn fits(&self, stripe: Stripe) -> bool {
        stripe.fits(self.channels as u8, self.channel_bytes_log2 as u8)
    }

    /// The parts of a striped range, each on one channel: where, and which bytes of the range.
    pub(super) fn pieces(
        &self,
        stripe: Stripe,
        address: CardAddr,
        bytes: u64,
    ) -> impl Iterator<Item = (CardAddr, Range<usize>)> {
        stripe
            .pieces(address, bytes, self.channel_bytes_log2 as u8)
            .map(|(place, range)| (place, range.start as usize..range.end as usize))
    }

    /// [`contains`](Self::contains) of a striped range.
    pub(super) fn contains_striped(&self, stripe: Stripe, address: CardAddr, bytes: u64) -> bool {
        self.addressable(address, bytes)
            && self
                .pieces(stripe, address, bytes)
                .all(|(place, range)| self.contains(place, range.len() as u64))
    }

    /// The channel of an address.
    pub(super) fn channel(&self, address: u64) -> usize {
        (address >> self.channel_bytes_log2) as usize
    }

    pub(super) fn read(&self, address: CardAddr, to: &mut [u8]) {
        for_each_frame(address, to.len(), |frame, offset, range| {
            let to = &mut to[range];
            match self.frames.get(&frame) {
                Some(bytes) => to.copy_from_slice(&bytes[offset..offset + to.len()]),
                None => to.fill(0),
            }
        });
    }

    pub(super) fn write(&mut self, address: CardAddr, from: &[u8]) {
        for_each_frame(address, from.len(), |frame, offset, range| {
            let from = &from[range];
            let bytes = self
                .frames
                .entry(frame)
                .or_insert_with(|| Box::new([0; 4096]));
            bytes[offset..offset + from.len()].copy_from_slice(from);
        });
    }

    pub(super) fn zero(&mut self, address: CardAddr, bytes: u64) {
        for_each_frame(address, bytes as usize, |frame, offset, range| {
            if range.len() as u64 == FRAME {
                self.frames.remove(&frame);
            } else if let Some(bytes) = self.frames.get_mut(&frame) {
                bytes[offset..offset + range.len()].fill(0);
            }
        });
    }

    pub(super) fn read_word(&self, address: CardAddr) -> u64 {
        let mut word = [0; 8];
        self.read(address, &mut word);
        u64::from_le_bytes(word)
    }

    pub(super) fn write_word(&mut self, address: CardAddr, word: u64) {
        self.write(address, &word.to_le_bytes());
    }
}

/// Calls `part(frame, offset in the frame, range of the buffer)` for each frame of a range.
fn for_each_frame(
    address: CardAddr,
    bytes: usize,
    mut part: impl FnMut(u64, usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < bytes {
        let at = address.get() + done as u64;
        let offset = at % FRAME;
        let length = (bytes - done).min((FRAME - offset) as usize);
        part(at / FRAME, offset as usize, done..done + length);
        done += length;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(address: u64) -> CardAddr {
        CardAddr::new(address).unwrap()
    }

    #[test]
    fn bytes_come_back_across_frames_and_zero_again() {
        let mut memory = CardMemory::new(1, 20, 1 << 20);
        let bytes: Vec<u8> = (0..9000u32).map(|i| i as u8).collect();
        memory.write(at(4000), &bytes);
        let mut back = vec![0xff; 9000];
        memory.read(at(4000), &mut back);
        assert_eq!(back, bytes);
        memory.zero(at(4064), 8256);
        memory.read(at(4000), &mut back);
        assert_eq!(back[..64], bytes[..64]);
        assert!(back[64..8320].iter().all(|&byte| byte == 0));
        assert_eq!(back[8320..], bytes[8320..]);
    }

    #[test]
    fn there_are_holes_between_channels_that_are_not_full() {
        let memory = CardMemory::new(2, 20, 1 << 16);
        assert!(memory.contains(at(0), 1 << 16));
        assert!(!memory.contains(at(64), 1 << 16));
        assert!(memory.addressable(at(64), 1 << 16));
        assert!(memory.contains(at((1 << 20) + 0xffc0), 64));
        assert!(!memory.addressable(at((2 << 20) - 64), 128));
        assert!(CardMemory::new(2, 20, 1 << 20).contains(at(0), 2 << 20));
    }
}
