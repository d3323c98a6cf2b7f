//! Instants with addresses, in bounded memory: above the limit, the resolution in time is reduced first, then that in
//! addresses.

use crate::Value;
use std::collections::BTreeMap;
use units::Picoseconds;

/// Marks per track above which some are merged.
const MARKS: usize = 1 << 14;
/// Distinct times kept before the address resolution is reduced, and finally.
const TIMES: [u64; 2] = [512, 64];
/// log2 of the block size in bytes: the finest, and the coarsest before the time resolution is reduced further.
const FINEST: u32 = 12;
const COARSE: u32 = 21;

/// An instant at an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Virtual time.
    pub at: Picoseconds,
    /// Address of the first byte.
    pub address: u64,
    /// Length in bytes; 0 if unknown.
    pub bytes: u64,
    /// Index of its name among the kinds of the track.
    pub kind: usize,
}

/// Marks in order of time.
#[derive(Clone, Debug)]
pub struct Marks {
    marks: Vec<Mark>,
    /// Time resolution in picoseconds: only the last mark of a kind and address within it is kept.
    grain: u64,
    /// log2 of the address resolution in bytes.
    shift: u32,
}

impl Default for Marks {
    fn default() -> Self {
        Self {
            marks: Vec::new(),
            grain: 1,
            shift: FINEST,
        }
    }
}

impl Marks {
    /// Adds a mark if its values contain an address.
    pub(crate) fn add(&mut self, at: Picoseconds, kind: usize, values: &[(&str, Value)]) {
        let mut address = None;
        let mut bytes = 0;
        for (key, value) in values {
            match (*key, value) {
                ("address", Value::Address(found)) => address = Some(*found),
                ("bytes", Value::Number(found)) => bytes = *found,
                _ => {}
            }
        }
        let Some(address) = address else { return };
        self.marks.push(Mark {
            at,
            address,
            bytes,
            kind,
        });
        while self.marks.len() > MARKS {
            self.join();
        }
    }

    /// Merges marks, and doubles the time or else the address grain until half of the room is free.
    fn join(&mut self) {
        let last = self.marks.iter().map(|mark| mark.at.get()).max();
        let last = last.unwrap_or_default();
        self.join_as_fine();
        while self.marks.len() > MARKS / 2 {
            let most = TIMES[usize::from(self.shift >= COARSE)];
            match self.grain < last / most || self.shift >= 63 {
                true => self.grain = self.grain.saturating_mul(2),
                false => self.shift += 1,
            }
            self.join_as_fine();
        }
        self.marks.sort_by_key(|mark| mark.at);
    }

    /// Keeps the last mark of each kind, address and grain of time.
    fn join_as_fine(&mut self) {
        let mut kept: BTreeMap<(u64, u64, usize), Mark> = BTreeMap::new();
        for mut mark in self.marks.drain(..) {
            let place = mark.address >> self.shift;
            let key = (place, mark.at.get() / self.grain, mark.kind);
            let before = kept.get(&key).map_or(0, |before| before.bytes);
            mark.bytes = mark.bytes.max(before);
            if self.shift > FINEST {
                mark.address = place << self.shift;
                mark.bytes = match mark.bytes {
                    0 => 0,
                    bytes => bytes.max(1 << self.shift),
                };
            }
            kept.insert(key, mark);
        }
        self.marks = kept.into_values().collect();
    }

    /// All marks that were kept, in order of time.
    pub fn iter(&self) -> impl Iterator<Item = &Mark> {
        self.marks.iter()
    }

    /// Address resolution in bytes: 4096, and more after very many marks.
    pub fn grain(&self) -> u64 {
        1 << self.shift
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(marks: &mut Marks, at: u64, kind: usize, address: u64, bytes: u64) {
        let values = [
            ("address", Value::Address(address)),
            ("bytes", bytes.into()),
        ];
        marks.add(Picoseconds::new(at), kind, &values);
    }

    #[test]
    fn few_are_kept_as_they_are() {
        let mut marks = Marks::default();
        add(&mut marks, 5, 1, 0x1040, 64);
        marks.add(Picoseconds::new(6), 2, &[]);
        let all: Vec<Mark> = marks.iter().copied().collect();
        let mark = Mark {
            at: Picoseconds::new(5),
            address: 0x1040,
            bytes: 64,
            kind: 1,
        };
        assert_eq!((all, marks.grain()), (vec![mark], 4096));
    }

    /// One page that migrates back and forth without end.
    #[test]
    fn times_get_coarser_and_the_last_is_kept() {
        let mut marks = Marks::default();
        for number in 0..1_000_000 {
            add(
                &mut marks,
                number * 1000,
                (number % 2) as usize,
                0x5000,
                4096,
            );
        }
        assert!(marks.marks.len() <= MARKS);
        assert_eq!(marks.grain(), 4096);
        let all: Vec<Mark> = marks.iter().copied().collect();
        assert!(all.windows(2).all(|two| two[0].at <= two[1].at));
        let last = all.last().unwrap();
        assert_eq!((last.at.get(), last.kind), (999_999_000, 1));
        // Everywhere in the run.
        for tenth in 0..10 {
            let time = tenth * 100_000_000..(tenth + 1) * 100_000_000;
            assert!(all.iter().any(|mark| time.contains(&mark.at.get())));
        }
    }

    #[test]
    fn addresses_get_coarser_after_that() {
        let mut marks = Marks::default();
        for number in 0..200_000u64 {
            add(&mut marks, number, 0, number * 4096, 4096);
        }
        assert!(marks.marks.len() <= MARKS);
        // All lie apart: half as many remain each time, and no coarser than that.
        assert_eq!(marks.grain(), 1 << 17);
        let end = marks.iter().map(|mark| mark.address + mark.bytes).max();
        assert!(end.unwrap() >= 200_000 * 4096);
        // All at one moment.
        let mut marks = Marks::default();
        for number in 0..200_000u64 {
            add(&mut marks, 0, 0, number << 40, 0);
        }
        assert!(marks.marks.len() <= MARKS && marks.iter().all(|mark| mark.bytes == 0));
    }
}
