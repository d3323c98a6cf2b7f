//! Card memory: sparse, zero where it was never written.
//!
//! Regions are allocated on first write, and their pages by the system on first touch: huge pages if available, so that
//! a copy of 2 MiB causes one host page fault and not 512.

use card::memory::HostMemory;
use std::collections::btree_map::{BTreeMap, Entry};
use std::io;
use std::ops::Range;
use units::{CardAddr, Stripe};

/// Region size in bytes: large compared with the part of a huge page lost at either end.
const REGION: u64 = 64 << 20;
/// Zeroed ranges of at least this many bytes are returned to the system; writing fewer is cheaper than allocating anew.
const DISCARDED: usize = 1 << 20;

/// Memory of all channels. Addresses are `{channel, offset}` as in the shell.
#[derive(Debug)]
pub(super) struct CardMemory {
    channels: u64,
    channel_bytes_log2: u32,
    channel_bytes: u64,
    /// By region number.
    regions: BTreeMap<u64, HostMemory>,
    /// Why a region could not be allocated: written bytes are missing.
    failure: Option<io::Error>,
}

impl CardMemory {
    pub(super) fn new(channels: u8, channel_bytes_log2: u8, channel_bytes: u64) -> Self {
        Self {
            channels: u64::from(channels),
            channel_bytes_log2: u32::from(channel_bytes_log2),
            channel_bytes,
            regions: BTreeMap::new(),
            failure: None,
        }
    }

    /// Why bytes were lost, if any: the machine is out of memory. The contents must not be used then.
    pub(super) fn failure(&self) -> Option<&io::Error> {
        self.failure.as_ref()
    }

    /// Whether the range is in the address space of the channels, with or without memory.
    pub(super) fn addressable(&self, address: CardAddr, bytes: u64) -> bool {
        let end = self.channels << self.channel_bytes_log2;
        address
            .get()
            .checked_add(bytes)
            .is_some_and(|last| last <= end)
    }

    /// Whether the whole range, which is not empty, has memory.
    pub(super) fn contains(&self, address: CardAddr, bytes: u64) -> bool {
        let last = address.get() + (bytes - 1);
        let offset = |address: u64| address & ((1 << self.channel_bytes_log2) - 1);
        let full = self.channel_bytes == 1 << self.channel_bytes_log2;
        let same_channel = self.channel(address.get()) == self.channel(last);
        self.addressable(address, bytes)
            && (full || (same_channel && offset(last) < self.channel_bytes))
    }

    /// Whether the card supports a stripe.
    pub(super) fn fits(&self, stripe: Stripe) -> bool {
        stripe.fits(self.channels as u8, self.channel_bytes_log2 as u8)
    }

    /// The parts of a striped range, one channel each: address, and bytes of the range.
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

    /// [`contains`](Self::contains) for a striped range.
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

    /// Reads bytes of the channels.
    pub(super) fn read(&self, address: CardAddr, to: &mut [u8]) {
        for_each_region(address, to.len(), |region, offset, range| {
            let to = &mut to[range];
            let read = self
                .regions
                .get(&region)
                .map(|memory| memory.read(offset, to));
            if read != Some(Ok(())) {
                to.fill(0);
            }
        });
    }

    /// Writes bytes of the channels.
    pub(super) fn write(&mut self, address: CardAddr, from: &[u8]) {
        for_each_region(address, from.len(), |region, offset, range| {
            if let Some(to) = self.region(region) {
                // A region contains every range passed to it.
                let _ = to.write(offset, &from[range]);
            }
        });
    }

    /// Copies `bytes` bytes of host memory to the channels; `None` if the source does not exist.
    pub(super) fn copy_in(
        &mut self,
        address: CardAddr,
        (host, place): (&HostMemory, usize),
        bytes: usize,
    ) -> Option<()> {
        let mut copied = Some(());
        for_each_region(address, bytes, |region, offset, range| {
            if let Some(to) = self.region(region) {
                let copy = host.copy_to(place + range.start, to, offset, range.len());
                copied = copied.and(copy.ok());
            }
        });
        copied
    }

    /// Copies `bytes` bytes of the channels to host memory; `None` if the destination does not exist.
    pub(super) fn copy_out(
        &self,
        address: CardAddr,
        (host, place): (&HostMemory, usize),
        bytes: usize,
    ) -> Option<()> {
        let mut copied = Some(());
        for_each_region(address, bytes, |region, offset, range| {
            let place = place + range.start;
            let copy = match self.regions.get(&region) {
                Some(from) => from.copy_to(offset, host, place, range.len()),
                None => host.zero(place, range.len()),
            };
            copied = copied.and(copy.ok());
        });
        copied
    }

    /// Zeroes bytes of the channels.
    pub(super) fn zero(&mut self, address: CardAddr, bytes: u64) {
        for_each_region(address, bytes as usize, |region, offset, range| {
            let Some(memory) = self.regions.get(&region) else {
                return;
            };
            // A region contains every range passed to it.
            let _ = match range.len() >= DISCARDED {
                true => memory.discard(offset, range.len()),
                false => memory.zero(offset, range.len()),
            };
        });
    }

    /// A region; `None` if the machine is out of memory.
    fn region(&mut self, region: u64) -> Option<&HostMemory> {
        match self.regions.entry(region) {
            Entry::Occupied(there) => Some(there.into_mut()),
            Entry::Vacant(place) => match HostMemory::sparse(REGION as usize) {
                Ok(memory) => Some(place.insert(memory)),
                Err(error) => {
                    self.failure.get_or_insert(error);
                    None
                }
            },
        }
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

/// Calls `part(region, offset in the region, range of the buffer)` for each region of a range.
fn for_each_region(
    address: CardAddr,
    bytes: usize,
    mut part: impl FnMut(u64, usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < bytes {
        let at = address.get() + done as u64;
        let offset = at % REGION;
        let length = (bytes - done).min((REGION - offset) as usize);
        part(at / REGION, offset as usize, done..done + length);
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
    fn bytes_come_back_and_zero_again() {
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
