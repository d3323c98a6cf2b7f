//! The rows among which the scheduler chooses, in order of age.
//!
//! Entry 0 is the oldest, and bit `i` of every mask means entry `i`: the oldest of a set is a count
//! of trailing zeros. Removal moves the younger ones up.

use super::address::Place;
use super::devices::Devices;
use super::{MAX_BANKS, MAX_QUEUE};

/// A row that waits for its column commands.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Entry {
    /// Row of 64 bytes within the channel.
    pub address: u32,
    /// DRAM row.
    pub row: u32,
    /// Column commands still to come.
    pub columns: u8,
    /// The controller's name for it, unique within the window.
    pub id: u32,
    /// The entry of the other window that must go first, while the entry is blocked.
    pub after: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    entries: [Entry; MAX_QUEUE],
    len: usize,
    capacity: usize,
    in_bank: [u64; MAX_BANKS],
    /// Banks with entries: bit `b` means bank `b`.
    banks: u32,
    /// Not waiting for an entry of the other window.
    eligible: u64,
    /// The DRAM row is open.
    hit: u64,
    /// Rows that have overtaken the oldest one.
    bypassed: u32,
    bypass_limit: u32,
}

impl Window {
    pub fn new(capacity: u32, bypass_limit: u32) -> Self {
        Self {
            entries: [Entry::default(); MAX_QUEUE],
            len: 0,
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

    pub fn entry(&self, index: usize) -> &Entry {
        &self.entries[index]
    }

    /// Whether any entry may be served.
    pub fn any_eligible(&self) -> bool {
        self.eligible != 0
    }

    /// Whether any entry waits for the other window.
    pub fn any_blocked(&self) -> bool {
        self.eligible.count_ones() as usize != self.len
    }

    /// Whether the oldest entry has been overtaken as often as may be, and could be served.
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

    /// Entries of a bank that may be served and whose row is open. Empty while the starving oldest
    /// entry wants another row of the bank.
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
        let found = self.entries[..self.len]
            .iter()
            .rev()
            .find(|entry| entry.address == address);
        found.map(|entry| entry.id)
    }

    /// Appends a row. With `after`, it waits until that entry of the other window has gone.
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
        self.entries[self.len] = Entry {
            address,
            row: place.row,
            columns,
            id,
            after: after.unwrap_or(0),
        };
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

    /// One column command of an entry, which is of `bank`, has been given. When it was the last, the
    /// entry goes, and is returned.
    pub fn column_given(&mut self, index: usize, bank: usize) -> Option<Entry> {
        self.entries[index].columns -= 1;
        if self.entries[index].columns > 0 {
            return None;
        }
        let entry = self.entries[index];
        self.entries.copy_within(index + 1..self.len, index);
        self.len -= 1;
        let older = (1u64 << index) - 1;
        let close_gap = |mask: u64| (mask & older) | ((mask >> 1) & !older);
        for mask in &mut self.in_bank {
            *mask = close_gap(*mask);
        }
        if self.in_bank[bank] == 0 {
            self.banks &= !(1 << bank);
        }
        self.eligible = close_gap(self.eligible);
        self.hit = close_gap(self.hit);
        self.bypassed = if index == 0 { 0 } else { self.bypassed + 1 };
        Some(entry)
    }

    /// An entry of the other window has gone: whoever waited for it may be served.
    pub fn release(&mut self, id: u32) {
        if !self.any_blocked() {
            return;
        }
        for (index, entry) in self.entries[..self.len].iter().enumerate() {
            if self.eligible & (1 << index) == 0 && entry.after == id {
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
            if self.entries[index].row == row {
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
