//! Kernels that read arrays through port 0, combine them, and write one array through port 1, or through the same.
//!
//! As in the RTL (`kernels/lib`), reading and writing proceed concurrently, several inputs take turns in bursts of one
//! length, and requests run ahead.

use super::go_on;
use crate::kernel::{Access, Arguments, FunctionalKernel, Step, VirtualMemory};

const BLOCK: u64 = 4096;
const READ_PORT: usize = 0;
/// Bursts announced behind a blocked one.
const AHEAD: usize = 16;
/// Bytes between reading and writing, beyond which reading waits.
const BUFFER: usize = 4 * BLOCK as usize;

/// Appends to the output what follows from the next bytes of every input, all equally long.
pub(super) type Combine = Box<dyn FnMut(&[&[u8]], &mut Vec<u8>) + Send>;

/// Parameters of a run.
pub(super) struct SequentialPlan {
    pub(super) inputs: Vec<u64>,
    pub(super) output: u64,
    /// Of the output and of each input.
    pub(super) bytes: u64,
    pub(super) combine: Combine,
}

/// A kernel that follows a plan made from its arguments.
pub(super) struct SequentialKernel {
    plan: fn(&Arguments<'_>) -> SequentialPlan,
    write_port: usize,
    run: Option<SequentialRun>,
}

impl SequentialKernel {
    pub(super) fn new(plan: fn(&Arguments<'_>) -> SequentialPlan) -> Self {
        Self {
            plan,
            write_port: 1,
            run: None,
        }
    }

    /// Writes through the port that it reads through.
    pub(super) fn through_one_port(self) -> Self {
        Self {
            write_port: READ_PORT,
            ..self
        }
    }
}

impl FunctionalKernel for SequentialKernel {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let begin = || SequentialRun::new((self.plan)(arguments), self.write_port);
        go_on(&mut self.run, begin, |run| run.step(memory))
    }
}

struct SequentialRun {
    write_port: usize,
    reader: Requests,
    writer: Requests,
    /// The round's bursts so far, one per input.
    round: Vec<Vec<u8>>,
    combine: Combine,
    /// Results that are not written yet.
    results: Vec<u8>,
}

impl SequentialRun {
    fn new(plan: SequentialPlan, write_port: usize) -> Self {
        Self {
            write_port,
            reader: Requests::new(&plan.inputs, plan.bytes),
            writer: Requests::new(&[plan.output], plan.bytes),
            round: Vec::new(),
            combine: plan.combine,
            results: Vec::new(),
        }
    }

    fn step(&mut self, memory: &mut dyn VirtualMemory) -> Step {
        let read = self.read(memory);
        let written = self.write(memory);
        if self.writer.is_done() {
            Step::Done
        } else if read || written {
            Step::Working
        } else {
            Step::Blocked
        }
    }

    /// Reads a burst; false if it cannot.
    fn read(&mut self, memory: &mut dyn VirtualMemory) -> bool {
        if self.reader.is_done() || self.results.len() >= BUFFER {
            return false;
        }
        let mut burst = vec![0; self.reader.burst()];
        if memory.read(READ_PORT, self.reader.address(), &mut burst) == Access::Blocked {
            memory.announce(READ_PORT, false, &self.reader.following(AHEAD));
            return false;
        }
        self.round.push(burst);
        if self.reader.advance() {
            let inputs: Vec<&[u8]> = self.round.iter().map(Vec::as_slice).collect();
            (self.combine)(&inputs, &mut self.results);
            self.round.clear();
        }
        true
    }

    /// Writes a burst whose bytes are there; false if it cannot.
    fn write(&mut self, memory: &mut dyn VirtualMemory) -> bool {
        let length = self.writer.burst();
        if self.writer.is_done() || self.results.len() < length {
            return false;
        }
        let burst = &self.results[..length];
        if memory.write(self.write_port, self.writer.address(), burst) == Access::Blocked {
            let whole = self.results.len() / BLOCK as usize;
            memory.announce(
                self.write_port,
                true,
                &self.writer.following(whole.min(AHEAD)),
            );
            return false;
        }
        self.results.drain(..length);
        self.writer.advance();
        true
    }
}

/// The bursts of arrays of one length that take turns. A burst ends at the first 4 KiB boundary of
/// any array.
#[derive(Clone)]
pub(super) struct Requests {
    next: Vec<u64>,
    left: u64,
    turn: usize,
    round_bytes: u64,
}

impl Requests {
    /// Like the RTL, takes addresses without their low 6 bits.
    pub(super) fn new(arrays: &[u64], bytes: u64) -> Self {
        let mut requests = Self {
            next: arrays.iter().map(|address| address & !63).collect(),
            left: bytes,
            turn: 0,
            round_bytes: 0,
        };
        requests.begin_round();
        requests
    }

    fn begin_round(&mut self) {
        let rooms = self.next.iter().map(|address| BLOCK - address % BLOCK);
        self.round_bytes = rooms.fold(self.left, u64::min);
    }

    pub(super) fn is_done(&self) -> bool {
        self.left == 0
    }

    pub(super) fn address(&self) -> u64 {
        self.next[self.turn]
    }

    /// Bytes of the next burst.
    pub(super) fn burst(&self) -> usize {
        self.round_bytes as usize
    }

    /// Goes to the next burst; true if a round ended.
    pub(super) fn advance(&mut self) -> bool {
        self.next[self.turn] = self.next[self.turn].wrapping_add(self.round_bytes);
        self.turn = (self.turn + 1) % self.next.len();
        if self.turn != 0 {
            return false;
        }
        self.left -= self.round_bytes;
        self.begin_round();
        true
    }

    /// Where the bursts after the next one start.
    pub(super) fn following(&self, most: usize) -> Vec<u64> {
        let mut ahead = self.clone();
        let mut addresses = Vec::new();
        while addresses.len() < most {
            ahead.advance();
            if ahead.is_done() {
                break;
            }
            addresses.push(ahead.address());
        }
        addresses
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_take_turns_and_end_at_every_boundary() {
        let mut requests = Requests::new(&[0x0fc0, 0x2000], 4160);
        let mut bursts = Vec::new();
        while !requests.is_done() {
            bursts.push((requests.address(), requests.burst()));
            requests.advance();
        }
        let expected = [
            (0x0fc0, 64),
            (0x2000, 64),
            (0x1000, 4032),
            (0x2040, 4032),
            (0x1fc0, 64),
            (0x3000, 64),
        ];
        assert_eq!(bursts, expected);
        assert_eq!(
            Requests::new(&[0x0fc0, 0x2000], 4160).following(2),
            [0x2000, 0x1000]
        );
    }
}
