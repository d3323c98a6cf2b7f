//! `kernels/gups`.

use super::go_on;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "gups",
    arguments: &[("table", 8), ("words_log2", 8), ("updates", 8), ("seed", 8)],
    ports: 1,
    create: || Box::<Gups>::default(),
};

const PORT: usize = 0;
/// Updates announced behind a blocked one.
const AHEAD: usize = 16;

#[derive(Debug, Default)]
struct Gups {
    run: Option<GupsRun>,
}

#[derive(Debug)]
struct GupsRun {
    base: u64,
    mask: u64,
    left: u64,
    /// Of the update under way.
    value: u64,
    /// Its word as it shall be, once it was read.
    word: Option<u64>,
}

/// The next value of the sequence.
fn step(value: u64) -> u64 {
    value << 1 ^ if value >> 63 == 1 { 7 } else { 0 }
}

impl GupsRun {
    fn new(arguments: &Arguments<'_>) -> Self {
        Self {
            base: arguments.number("table") & !63,
            mask: (1 << (arguments.number("words_log2") % 64)) - 1,
            left: arguments.number("updates"),
            value: step(arguments.number("seed")),
            word: None,
        }
    }

    fn address(&self, value: u64) -> u64 {
        self.base.wrapping_add((value & self.mask).wrapping_mul(8))
    }

    fn step(&mut self, memory: &mut dyn VirtualMemory) -> Step {
        if self.left == 0 {
            return Step::Done;
        }
        let address = self.address(self.value);
        let word = match self.word {
            Some(word) => word,
            None => {
                // The RTL reads the whole row.
                let (mut row, at) = ([0; 64], (address % 64) as usize);
                if memory.read(PORT, address & !63, &mut row) == Access::Blocked {
                    let values = std::iter::successors(Some(step(self.value)), |v| Some(step(*v)));
                    let left = usize::try_from(self.left - 1).unwrap_or(AHEAD);
                    let following: Vec<u64> = values
                        .take(left.min(AHEAD))
                        .map(|value| self.address(value) & !63)
                        .collect();
                    memory.announce(PORT, false, &following);
                    return Step::Blocked;
                }
                let mut word = [0; 8];
                word.copy_from_slice(&row[at..at + 8]);
                u64::from_le_bytes(word) ^ self.value
            }
        };
        self.word = Some(word);
        if memory.write(PORT, address, &word.to_le_bytes()) == Access::Blocked {
            return Step::Blocked;
        }
        self.word = None;
        self.left -= 1;
        self.value = step(self.value);
        Step::Working
    }
}

impl FunctionalKernel for Gups {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || GupsRun::new(arguments),
            |run| run.step(memory),
        )
    }
}
