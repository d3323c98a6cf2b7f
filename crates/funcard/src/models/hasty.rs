//! `kernels/hasty`.

use super::go_on;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "hasty",
    arguments: &[
        ("output", 8),
        ("bytes", 8),
        ("source", 8),
        ("seed", 4),
        ("mode", 4),
    ],
    ports: 1,
    create: || Box::new(Hasty::default()),
};

const HASTY: u64 = 1;
const READS: u64 = 2;
const PORT: usize = 0;
const SOURCE_BYTES: usize = 16 * 64;

#[derive(Default)]
struct Hasty {
    run: Option<HastyRun>,
}

impl FunctionalKernel for Hasty {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let begin = || HastyRun::new(arguments);
        go_on(&mut self.run, begin, |run| run.step(memory))
    }
}

struct HastyRun {
    output: u64,
    content: Vec<u8>,
    written: usize,
    burst: usize,
    hasty: bool,
    /// Remaining reads.
    source: Option<u64>,
}

impl HastyRun {
    fn new(arguments: &Arguments<'_>) -> Self {
        let (bytes, mode) = (arguments.number("bytes"), arguments.number("mode"));
        let seed = arguments.number("seed") as u32;
        let words = 0..bytes.div_ceil(4) as u32;
        let words = words.map(|word| seed.wrapping_add(word.wrapping_mul(0x9e37_79b9)));
        let mut content: Vec<u8> = words.flat_map(u32::to_le_bytes).collect();
        content.truncate(bytes as usize);
        Self {
            output: arguments.number("output"),
            content,
            written: 0,
            burst: 64 << (mode >> 8 & 7),
            hasty: mode & HASTY != 0,
            source: (mode & READS != 0).then(|| arguments.number("source")),
        }
    }

    fn step(&mut self, memory: &mut dyn VirtualMemory) -> Step {
        // It waits for its read first: a model has nowhere to keep one that is under way.
        if let Some(source) = self.source {
            if memory.read(PORT, source, &mut [0; SOURCE_BYTES]) == Access::Blocked {
                return Step::Blocked;
            }
            self.source = None;
        }
        let rest = &self.content[self.written..];
        let burst = &rest[..rest.len().min(self.burst)];
        let address = self.output + self.written as u64;
        let taken = match self.hasty {
            true => memory.post(PORT, address, burst),
            false => memory.write(PORT, address, burst) != Access::Blocked,
        };
        if !taken {
            return Step::Blocked;
        }
        self.written += burst.len();
        match self.written == self.content.len() {
            true => Step::Done,
            false => Step::Working,
        }
    }
}
