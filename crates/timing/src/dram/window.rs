//! The scheduler's window of rows, in order of age.
//!
//! Entry 0 is the oldest, and bit `i` of every mask is entry `i`: the oldest of a set is a count of trailing zeros.
//! Entries are in a ring, and removal closes the gap from the nearer end: removal of the oldest, the usual case, moves
//! none.

use super::address::Place;
use super::devices::Devices;
use super::MAX_QUEUE;
use crate::platform::MAX_BANKS;

/// A row that waits for its column commands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Row of 64 bytes within the channel.
    pub address: u32,
    /// DRAM row.
    pub row: u32,
    /// Bank over all groups.
    pub bank: u8,
    /// Number of outstanding column commands.
    pub columns: u8,
    /// Number given by the controller, unique within the window.
    pub id: u32,
    /// The entry of the other window that must be served first, while the entry is blocked.
    pub after: u32,
}

const HASHES: usize = 256;

/// Two streams at a distance of a power of two have different hashes.
#[inline]
fn hash(address: u32) -> usize {
    (address.wrapping_mul(0x9e37_79b1) >> 24) as usize % HASHES
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    ring: [Entry; MAX_QUEUE],
    /// Index of entry 0.
    head: usize,
    len: usize,
    capacity: usize,
    /// Mask of all entries.
    all: u64,
    /// Number of entries whose address has this hash.
    hashes: [u8; HASHES],
    in_bank: [u64; MAX_BANKS],
    /// Banks with entries: bit `b` means bank `b`.
    banks: u32,
    /// Entries that do not wait for the other window.
    eligible: u64,
    /// Entries whose DRAM row is open.
    hit: u64,
    /// Number of rows that have overtaken the oldest one.
    bypassed: u32,
    bypass_limit: u32,
}

impl Window {
    pub fn new(capacity: u32, bypass_limit: u32) -> Self {
        Self {
            ring: [Entry::default(); MAX_QUEUE],
            head: 0,
            len: 0,
            all: 0,
            hashes: [0; HASHES],
            capacity: (capacity as usize).min(MAX_QUEUE),
            in_bank: [0; MAX_BANKS],
            banks: 0,
            eligible: 0,
            hit: 0,
            bypassed: 0,
            bypass_limit,
        }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_full(&self) -> bool {
        self.len == self.capacity
    }

    #[inline]
    pub fn entry(&self, index: usize) -> &Entry {
        &self.ring[(self.head + index) % MAX_QUEUE]
    }

    #[inline]
    fn entry_mut(&mut self, index: usize) -> &mut Entry {
        &mut self.ring[(self.head + index) % MAX_QUEUE]
    }

    /// Mask of the entries that may be served.
    #[inline]
    pub fn eligible(&self) -> u64 {
        self.eligible
    }

    /// Whether every entry that may be served hits its open DRAM row.
    #[inline]
    pub fn all_hit(&self) -> bool {
        self.eligible & !self.hit == 0
    }

    /// Whether any entry may be served.
    pub fn any_eligible(&self) -> bool {
        self.eligible != 0
    }

    /// Whether any entry waits for the other window.
    pub fn any_blocked(&self) -> bool {
        self.eligible != self.all
    }

    /// Whether the oldest entry has been overtaken up to the limit, and could be served.
    fn is_starving(&self) -> bool {
        self.bypassed >= self.bypass_limit && self.eligible & 1 != 0
    }

    /// The banks of all entries, as a mask.
    pub fn banks(&self) -> u32 {
        self.banks
    }

    /// Entries of a bank that may be served.
    pub fn eligible_of_bank(&self, bank: usize) -> u64 {
        self.in_bank[bank] & self.eligible
    }

    /// Entries of a bank that may be served and hit the open row. Empty while the starving oldest entry needs another
    /// row of the bank.
    pub fn hits_of_bank(&self, bank: usize) -> u64 {
        let hits = self.in_bank[bank] & self.eligible & self.hit;
        let oldest_wants_other = self.in_bank[bank] & !self.hit & 1 != 0;
        if oldest_wants_other && self.is_starving() {
            0
        } else {
            hits
        }
    }

    /// The youngest entry for an address.
    pub fn youngest(&self, address: u32) -> Option<u32> {
        if self.hashes[hash(address)] == 0 {
            return None;
        }
        let entries = (0..self.len).rev().map(|index| self.entry(index));
        let mut found = entries.filter(|entry| entry.address == address);
        found.next().map(|entry| entry.id)
    }

    /// Appends a row. With `after`, it waits until that entry of the other window has left.
    pub fn push(
        &mut self,
        address: u32,
        place: Place,
        columns: u8,
        id: u32,
        after: Option<u32>,
        devices: &Devices,
    ) {
        debug_assert!(!self.is_full());
        let bit = 1 << self.len;
        *self.entry_mut(self.len) = Entry {
            address,
            row: place.row,
            bank: place.bank,
            columns,
            id,
            after: after.unwrap_or(0),
        };
        self.hashes[hash(address)] += 1;
        self.all |= bit;
        self.in_bank[usize::from(place.bank)] |= bit;
        self.banks |= 1 << place.bank;
        if after.is_none() {
            self.eligible |= bit;
        }
        if devices.is_open(usize::from(place.bank), place.row) {
            self.hit |= bit;
        }
        self.len += 1;
    }

    /// Records that one column command of an entry, which is of `bank`, has been issued. After the last one, the entry
    /// leaves, and is returned.
    pub fn column_given(&mut self, index: usize, bank: usize) -> Option<Entry> {
        let given = self.entry_mut(index);
        given.columns -= 1;
        if given.columns > 0 {
            return None;
        }
        let entry = *given;
        if index < self.len / 2 {
            for older in (0..index).rev() {
                *self.entry_mut(older + 1) = *self.entry(older);
            }
            self.head = (self.head + 1) % MAX_QUEUE;
        } else {
            for younger in index + 1..self.len {
                *self.entry_mut(younger - 1) = *self.entry(younger);
            }
        }
        self.len -= 1;
        self.all >>= 1;
        self.hashes[hash(entry.address)] -= 1;
        let older = (1u64 << index) - 1;
        let close_gap = |mask: u64| (mask & older) | ((mask >> 1) & !older);
        if index == 0 {
            // The same in fewer instructions.
            for mask in &mut self.in_bank {
                *mask >>= 1;
            }
        } else {
            for mask in &mut self.in_bank {
                *mask = close_gap(*mask);
            }
        }
        if self.in_bank[bank] == 0 {
            self.banks &= !(1 << bank);
        }
        self.eligible = close_gap(self.eligible);
        self.hit = close_gap(self.hit);
        self.bypassed = if index == 0 { 0 } else { self.bypassed + 1 };
        Some(entry)
    }

    /// An entry of the other window has left: entries that waited for it may be served.
    pub fn release(&mut self, id: u32) {
        if !self.any_blocked() {
            return;
        }
        let mut blocked = self.all & !self.eligible;
        while blocked != 0 {
            let index = blocked.trailing_zeros();
            blocked &= blocked - 1;
            if self.entry(index as usize).after == id {
                self.eligible |= 1 << index;
            }
        }
    }

    /// A row has been opened in a bank.
    pub fn opened(&mut self, bank: usize, row: u32) {
        let mut rest = self.in_bank[bank];
        while rest != 0 {
            let index = rest.trailing_zeros() as usize;
            rest &= rest - 1;
            if self.entry(index).row == row {
                self.hit |= 1 << index;
            }
        }
    }

    /// A bank has been closed.
    pub fn closed(&mut self, bank: usize) {
        self.hit &= !self.in_bank[bank];
    }

    /// Every bank has been closed.
    pub fn all_closed(&mut self) {
        self.hit = 0;
    }
}
