//! Address mapping of a channel.

use crate::platform::AddressMap;
use units::ROW_BYTES;

/// Location in the devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Bank over all groups: the group is in the low bits.
    pub bank: u8,
    /// DRAM row.
    pub row: u32,
}

/// Maps row addresses (offset / 64). From the lowest bit: bank group, column, bank, DRAM row. The lowest columns may
/// come before the group (`group_interleave_log2`).
///
/// Consecutive rows fall into different bank groups, so a sequential stream runs at tCCD_S, and it stays in one DRAM
/// row of each group for `bank_groups * page_bytes`. The bank is XORed with the folded DRAM row: two streams at a
/// distance of a power of two (a kernel's input and output) would otherwise always conflict in the same bank.
#[derive(Clone, Copy, Debug)]
pub(super) struct AddressDecoder {
    group_bits: u32,
    /// Column bits below the group.
    group_low_bits: u32,
    column_bits: u32,
    bank_bits: u32,
    /// Column bits below the bank's.
    low_bits: u32,
    plain: bool,
}

impl AddressDecoder {
    pub fn new(map: &AddressMap) -> Self {
        let column_bits = (map.page_bytes / ROW_BYTES as u32).trailing_zeros();
        Self {
            group_bits: map.bank_groups.trailing_zeros(),
            group_low_bits: map.group_interleave_log2,
            column_bits,
            low_bits: map.bank_interleave_log2.unwrap_or(column_bits),
            plain: map.plain_banks,
            bank_bits: map.banks_per_group.trailing_zeros(),
        }
    }

    /// The address with the group in its lowest bits.
    fn group_first(&self, address: u32) -> u32 {
        if self.group_low_bits == 0 {
            return address;
        }
        let low = address & ((1 << self.group_low_bits) - 1);
        let above = address >> self.group_low_bits;
        let group = above & ((1 << self.group_bits) - 1);
        let columns = above >> self.group_bits << self.group_low_bits | low;
        columns << self.group_bits | group
    }

    pub fn place(&self, address: u32) -> Place {
        let address = self.group_first(address);
        let group = address & ((1 << self.group_bits) - 1);
        let row = address >> (self.group_bits + self.column_bits + self.bank_bits);
        let fold = if self.plain { 0 } else { self.fold(row) };
        let bits = address >> (self.group_bits + self.low_bits);
        let bank = (bits ^ fold) & ((1 << self.bank_bits) - 1);
        Place {
            bank: (bank << self.group_bits | group) as u8,
            row,
        }
    }

    /// Whether a row is the last of those that are contiguous in a bank.
    pub fn ends_bank(&self, address: u32) -> bool {
        let last = (1 << self.low_bits) - 1;
        (self.group_first(address) >> self.group_bits) & last == last
    }

    /// XOR of the pieces of `row` that are as wide as a bank number (higher bits: garbage).
    fn fold(&self, mut row: u32) -> u32 {
        match self.bank_bits {
            0 => return 0,
            // Halves, quarters: the same in fewer steps if the pieces fill the word.
            1 | 2 | 4 | 8 | 16 => {
                let mut bits = 16;
                while bits >= self.bank_bits {
                    row ^= row >> bits;
                    bits /= 2;
                }
                return row;
            }
            _ => {}
        }
        let mut folded = 0;
        while row != 0 {
            folded ^= row;
            row >>= self.bank_bits;
        }
        folded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{HashMap, HashSet};

    const MAP: AddressMap = AddressMap {
        bank_groups: 4,
        banks_per_group: 4,
        page_bytes: 8192,
        group_interleave_log2: 0,
        bank_interleave_log2: None,
        plain_banks: false,
    };

    #[test]
    fn neighbours_are_in_different_groups_and_one_dram_row() {
        let decoder = AddressDecoder::new(&MAP);
        for start in [0, 512, 4096, 1 << 20] {
            let places: Vec<Place> = (start..start + 512).map(|a| decoder.place(a)).collect();
            for pair in places.windows(4) {
                let groups: HashSet<u8> = pair.iter().map(|place| place.bank & 3).collect();
                assert_eq!(groups.len(), 4);
            }
            assert!(places.iter().all(|place| place.row == places[0].row));
            assert!(places
                .iter()
                .all(|place| place.bank >> 2 == places[0].bank >> 2));
        }
    }

    /// ROW_COLUMN_BANK_INTLV of AMD's controller: group at bits 7:6 of a byte address, bank at 10:9.
    #[test]
    fn banks_may_be_interleaved_in_pieces_of_a_page() {
        let map = AddressMap {
            bank_interleave_log2: Some(1),
            plain_banks: true,
            ..MAP
        };
        let decoder = AddressDecoder::new(&map);
        for byte in [
            0u32,
            1 << 6,
            1 << 8,
            1 << 9,
            3 << 9,
            1 << 11,
            1 << 16,
            1 << 17,
        ] {
            let place = decoder.place(byte >> 6);
            let bank = (byte >> 9 & 3) << 2 | (byte >> 6 & 3);
            assert_eq!(u32::from(place.bank), bank, "{byte:#x}");
            assert_eq!(place.row, byte >> 17, "{byte:#x}");
            assert_eq!(decoder.ends_bank(byte >> 6), byte >> 8 & 1 == 1);
        }
    }

    #[test]
    fn places_are_used_once() {
        for group_interleave_log2 in [0, 1, 3] {
            let decoder = AddressDecoder::new(&AddressMap {
                group_interleave_log2,
                ..MAP
            });
            let mut rows_of = HashMap::new();
            let rows = 1 << 16;
            for address in 0..rows {
                let place = decoder.place(address);
                *rows_of.entry((place.bank, place.row)).or_insert(0) += 1;
            }
            // A page of each bank has as many rows as it holds.
            assert!(rows_of.values().all(|rows| *rows == MAP.page_bytes / 64));
        }
    }

    #[test]
    fn both_halves_of_a_line_may_be_in_one_page() {
        let decoder = AddressDecoder::new(&AddressMap {
            group_interleave_log2: 1,
            ..MAP
        });
        for line in [0, 1, 77, 4095, 1 << 20] {
            let place = decoder.place(2 * line);
            assert_eq!(place, decoder.place(2 * line + 1));
            let next = decoder.place(2 * line + 2);
            assert_ne!(
                place.bank & 3,
                next.bank & 3,
                "the next line is in another group"
            );
        }
    }

    #[test]
    fn a_power_of_two_between_two_streams_does_not_put_them_into_one_bank() {
        let decoder = AddressDecoder::new(&MAP);
        for distance in [11, 13, 15, 21, 24, 27] {
            assert_ne!(
                decoder.place(0).bank,
                decoder.place(1 << distance).bank,
                "2^{distance}"
            );
        }
    }
}
