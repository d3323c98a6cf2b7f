//! `kernels/hash_probe`.

use super::word;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "hash_probe",
    arguments: &[
        ("keys", 8),
        ("output", 8),
        ("count", 8),
        ("buckets", 8),
        ("bits", 4),
    ],
    ports: 2,
    create: || Box::<HashProbe>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;

/// The next access.
#[derive(Clone, Copy, Debug, Default)]
enum HashProbePhase {
    #[default]
    Begin,
    Key,
    /// The bucket of a key.
    Bucket(u64),
    /// A node that may have a key.
    Node(u64, u64),
    /// Write the value of a key, or that it is missing.
    Store(Option<u64>),
}

#[derive(Debug, Default)]
struct HashProbe {
    phase: HashProbePhase,
    index: u64,
}

/// The row of an address.
fn row(memory: &mut dyn VirtualMemory, address: u64) -> Option<[u8; 64]> {
    let mut row = [0; 64];
    let read = memory.read(READ_PORT, address & !63, &mut row);
    (read != Access::Blocked).then_some(row)
}

/// A number, read with its row as the kernel does.
fn number(memory: &mut dyn VirtualMemory, address: u64) -> Option<u64> {
    row(memory, address).map(|row| word(&row, (address & 56) as usize))
}

impl FunctionalKernel for HashProbe {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        match self.phase {
            HashProbePhase::Begin => {
                *self = Self {
                    phase: HashProbePhase::Key,
                    index: 0,
                };
            }
            HashProbePhase::Key if self.index == arguments.number("count") => {
                *self = Self::default();
                return Step::Done;
            }
            HashProbePhase::Key => {
                let at = arguments.number("keys").wrapping_add(8 * self.index);
                let Some(key) = number(memory, at) else {
                    return Step::Blocked;
                };
                self.phase = HashProbePhase::Bucket(key);
            }
            HashProbePhase::Bucket(key) => {
                let mask = (1 << (arguments.number("bits") & 63)) - 1;
                let bucket = (key ^ (key >> 21) ^ (key >> 42)) & mask;
                let at = arguments.number("buckets").wrapping_add(8 * bucket);
                let Some(node) = number(memory, at) else {
                    return Step::Blocked;
                };
                self.phase = HashProbePhase::Node(key, node);
            }
            HashProbePhase::Node(_, 0) => self.phase = HashProbePhase::Store(None),
            HashProbePhase::Node(key, node) => {
                let Some(row) = row(memory, node) else {
                    return Step::Blocked;
                };
                self.phase = if word(&row, 8) == key {
                    HashProbePhase::Store(Some(word(&row, 16)))
                } else {
                    HashProbePhase::Node(key, word(&row, 0))
                };
            }
            HashProbePhase::Store(found) => {
                let mut result = [0; 16];
                result[..8].copy_from_slice(&u64::from(found.is_some()).to_le_bytes());
                result[8..].copy_from_slice(&found.unwrap_or(0).to_le_bytes());
                let at = (arguments.number("output") & !15).wrapping_add(16 * self.index);
                if memory.write(WRITE_PORT, at, &result) == Access::Blocked {
                    return Step::Blocked;
                }
                self.index += 1;
                self.phase = HashProbePhase::Key;
            }
        }
        Step::Working
    }
}
