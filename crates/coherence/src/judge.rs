//! One judge of what loads may return, for the random tests of both directions: lines are read and
//! written in parts, each part is a register of the [`oracle`](crate::oracle), and everything that is
//! wrong is counted and the first of it kept.

use crate::line::{Data, PlainLine, PARTS, WORDS};
use crate::oracle::{Oracle, Violation};

/// Words of a part.
pub const PART_WORDS: usize = WORDS / PARTS;

/// Checks the values of loads.
#[derive(Debug, Default)]
pub struct Judge {
    oracle: Oracle,
    complaints: u64,
    first: Option<String>,
}

impl Judge {
    /// Something begins that may read or write; returns its start for the calls below.
    pub fn begin(&mut self) -> u64 {
        self.oracle.begin()
    }

    /// The operation that began at `start` has ended.
    pub fn end(&mut self, start: u64) {
        self.oracle.end(start);
    }

    /// A write of these parts may take effect from now on.
    pub fn write_begins(&mut self, line: PlainLine, parts: u8, stamp: u64, start: u64) {
        for part in places(parts) {
            self.oracle.write_begins((line.0, part), stamp, start);
        }
    }

    /// It has taken effect.
    pub fn write_ends(&mut self, line: PlainLine, parts: u8, stamp: u64) {
        for part in places(parts) {
            self.oracle.write_ends((line.0, part), stamp);
        }
    }

    /// It did not take place, and will not.
    pub fn write_withdrawn(&mut self, line: PlainLine, parts: u8, stamp: u64) {
        for part in places(parts) {
            self.oracle.write_withdrawn((line.0, part), stamp);
        }
    }

    /// Parts of a line were read. Every word of a part is the stamp that it was written with.
    pub fn reads(&mut self, line: PlainLine, parts: u8, data: &Data, start: u64) {
        for part in places(parts) {
            let words = &data[usize::from(part) * PART_WORDS..][..PART_WORDS];
            if words.iter().any(|word| *word != words[0]) {
                self.complain(format!(
                    "line {:#x} part {part} is torn: {words:x?}",
                    line.0
                ));
            }
            self.reads_stamp(line, part, words[0], start);
        }
    }

    /// One part was read, and this is the stamp in it.
    pub fn reads_stamp(&mut self, line: PlainLine, part: u8, stamp: u64, start: u64) {
        self.oracle.read((line.0, part), stamp, start);
    }

    /// Something is wrong that the judge cannot see.
    pub fn complain(&mut self, what: String) {
        tracing::error!("{what}");
        self.complaints += 1;
        self.first.get_or_insert(what);
    }

    /// How much has no explanation, and the first of it.
    #[must_use]
    pub fn verdict(&self) -> (u64, Option<String>) {
        let oracle = self.oracle.first().map(Violation::to_string);
        let first = self.first.clone().or(oracle);
        (self.complaints + self.oracle.violations(), first)
    }
}

fn places(parts: u8) -> impl Iterator<Item = u8> {
    (0..PARTS as u8).filter(move |part| parts >> part & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_torn_part_and_a_lost_write_are_both_told() {
        let mut judge = Judge::default();
        let (line, start) = (PlainLine(3), judge.begin());
        judge.write_begins(line, 0b11, 7, start);
        judge.write_ends(line, 0b11, 7);
        judge.end(start);
        let start = judge.begin();
        let mut data = [0; WORDS];
        data[..2 * PART_WORDS].fill(7);
        judge.reads(line, 0xf, &data, start);
        assert_eq!(judge.verdict(), (0, None));
        data[1] = 8;
        judge.reads(line, 0b1, &data, start);
        let (count, first) = judge.verdict();
        assert_eq!(count, 1);
        assert!(first.is_some_and(|said| said.contains("torn")));
        judge.reads(line, 0b10, &[0; WORDS], start);
        assert_eq!(judge.verdict().0, 2);
    }
}
