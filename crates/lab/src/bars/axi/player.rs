//! Functional model of `kernels/burst_player`.

use super::program::{Burst, ROW};
use funcard::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

const LIST_PORT: usize = 0;
const PORT: usize = 1;

pub const MODEL: KernelModel = KernelModel {
    name: "burst_player",
    arguments: &[("program", 8), ("results", 8), ("bursts", 8)],
    ports: 2,
    create: || Box::new(Player::default()),
};

/// Executes bursts in order.
#[derive(Default)]
struct Player {
    index: u64,
    /// Completed pieces of the current write burst.
    pieces: usize,
}

impl FunctionalKernel for Player {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        if self.index == arguments.number("bursts") {
            self.index = 0;
            return Step::Done;
        }
        let mut row = [0; ROW];
        let at = self.index * ROW as u64;
        if memory.read(LIST_PORT, arguments.number("program") + at, &mut row) != Access::Done {
            return Step::Blocked;
        }
        let Some((hash, errors)) = self.burst(&Burst::decode(&row), memory) else {
            return Step::Blocked;
        };
        let mut result = [0; ROW];
        result[0..8].copy_from_slice(&self.index.to_le_bytes());
        result[8..16].copy_from_slice(&hash.to_le_bytes());
        result[16..18].copy_from_slice(&errors.to_le_bytes());
        if memory.write(LIST_PORT, arguments.number("results") + at, &result) != Access::Done {
            return Step::Blocked;
        }
        self.index += 1;
        self.pieces = 0;
        Step::Working
    }
}

impl Player {
    /// Hash and error count of a burst; `None` while it is blocked.
    fn burst(&mut self, burst: &Burst, memory: &mut dyn VirtualMemory) -> Option<(u64, u16)> {
        if burst.write {
            let pieces = pieces(burst);
            let mut errors = 0;
            while let Some((address, bytes)) = pieces.get(self.pieces) {
                match memory.write(PORT, *address, bytes) {
                    Access::Blocked => return None,
                    Access::Failed => errors = 1,
                    Access::Done => {}
                }
                self.pieces += 1;
            }
            return Some((burst.seed, errors));
        }
        let end = (burst.address >> burst.size << burst.size) + (burst.beats << burst.size);
        let mut bytes = vec![0; (end - burst.address) as usize];
        match memory.read(PORT, burst.address, &mut bytes) {
            Access::Blocked => return None,
            Access::Failed => return Some((0, burst.beats as u16)),
            Access::Done => {}
        }
        let hash = burst.lanes().fold(burst.seed, |hash, (row, lanes)| {
            let byte = |lane| bytes[(row + lane - burst.address) as usize];
            Burst::hash(hash, lanes, byte)
        });
        Some((hash, 0))
    }
}

/// The contiguous byte ranges that a burst writes.
fn pieces(burst: &Burst) -> Vec<(u64, Vec<u8>)> {
    let mut pieces: Vec<(u64, Vec<u8>)> = Vec::new();
    for (beat, (row, lanes)) in burst.lanes().enumerate() {
        let strobe = burst.strobe.rotate_left(beat as u32 % 64);
        for lane in lanes.filter(|lane| strobe >> lane & 1 != 0) {
            let byte = burst.word(beat as u64, lane / 8).to_le_bytes()[(lane % 8) as usize];
            match pieces.last_mut() {
                Some((at, bytes)) if *at + bytes.len() as u64 == row + lane => bytes.push(byte),
                _ => pieces.push((row + lane, vec![byte])),
            }
        }
    }
    pieces
}
