//! `kernels/nw_pairs`.

use super::go_on;
use super::rows::{Rows, ROW};
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "nw_pairs",
    arguments: &[
        ("queries", 8),
        ("targets", 8),
        ("output", 8),
        ("query_count", 8),
        ("target_count", 8),
        ("held_log2", 8),
        ("pause", 8),
    ],
    ports: 2,
    create: || Box::<Pairs>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
/// Bytes of a sequence, and its letters of 2 bits.
const SEQUENCE: u64 = 16;
const LETTERS: usize = 64;
/// Score of equal letters; different ones and gaps score the negative.
const MATCH: i8 = 1;

#[derive(Debug, Default)]
struct Pairs {
    run: Option<Run>,
}

#[derive(Debug)]
struct Run {
    queries: Rows,
    targets: Rows,
    output: u64,
    query_count: u64,
    target_count: u64,
    /// Queries of a group.
    held: u64,
    /// First query of the current group, and the next target.
    first: u64,
    target: u64,
    /// Rows that are written, and scores of the next one.
    written: u64,
    scores: Vec<u8>,
}

/// The letters of a sequence; `None`: it waits.
fn sequence(rows: &mut Rows, number: u64, memory: &mut dyn VirtualMemory) -> Option<[u8; LETTERS]> {
    let row = rows.get(number * SEQUENCE / ROW, memory)?;
    let at = (number * SEQUENCE % ROW) as usize;
    Some(std::array::from_fn(|k| {
        row[at + k / 4] >> (2 * (k % 4)) & 3
    }))
}

/// Score of the global alignment, line by line of the matrix.
fn score(query: &[u8; LETTERS], target: &[u8; LETTERS]) -> i8 {
    let mut above: [i8; LETTERS + 1] = std::array::from_fn(|column| -MATCH * column as i8);
    for letter in query {
        let mut diagonal = above[0];
        above[0] -= MATCH;
        for (column, other) in target.iter().enumerate() {
            let aligned = diagonal + if letter == other { MATCH } else { -MATCH };
            let gapped = above[column].max(above[column + 1]) - MATCH;
            diagonal = above[column + 1];
            above[column + 1] = aligned.max(gapped);
        }
    }
    above[LETTERS]
}

impl Run {
    fn new(arguments: &Arguments<'_>) -> Self {
        let number = |name| arguments.number(name);
        let count = |name| number(name) & u64::from(u32::MAX);
        Self {
            queries: Rows::new(READ_PORT, number("queries")),
            targets: Rows::new(READ_PORT, number("targets")),
            output: number("output") & !(ROW - 1),
            query_count: count("query_count"),
            target_count: count("target_count"),
            held: 1 << number("held_log2").min(2),
            first: 0,
            target: 0,
            written: 0,
            scores: Vec::new(),
        }
    }

    /// Does what comes next; `None`: it waits.
    fn go(&mut self, memory: &mut dyn VirtualMemory) -> Option<Step> {
        let is_over = self.first >= self.query_count || self.target_count == 0;
        while self.scores.len() as u64 >= ROW || is_over && !self.scores.is_empty() {
            let length = self.scores.len().min(ROW as usize);
            let address = self.output.wrapping_add(self.written * ROW);
            if memory.write(WRITE_PORT, address, &self.scores[..length]) == Access::Blocked {
                return None;
            }
            self.written += 1;
            self.scores.drain(..length);
        }
        if is_over {
            return Some(Step::Done);
        }
        let group = self.first..self.query_count.min(self.first + self.held);
        let mut queries = Vec::new();
        for number in group {
            queries.push(sequence(&mut self.queries, number, memory)?);
        }
        let target = sequence(&mut self.targets, self.target, memory)?;
        let scores = queries.iter().map(|query| score(query, &target) as u8);
        self.scores.extend(scores);
        self.target += 1;
        if self.target == self.target_count {
            self.target = 0;
            self.first += self.held;
        }
        Some(Step::Working)
    }
}

impl FunctionalKernel for Pairs {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || Run::new(arguments),
            |run| run.go(memory).unwrap_or(Step::Blocked),
        )
    }
}
