//! `kernels/list_sum`.

use super::word;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "list_sum",
    arguments: &[("head", 8), ("output", 8), ("add", 8), ("limit", 8)],
    ports: 2,
    create: || Box::<ListSum>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;

/// The next access.
#[derive(Clone, Copy, Debug, Default)]
enum ListSumPhase {
    #[default]
    Begin,
    Read,
    /// The value of a node that was read; the next node.
    Store(u64, u64),
    Result,
}

#[derive(Debug, Default)]
struct ListSum {
    phase: ListSumPhase,
    node: u64,
    sum: u64,
    count: u64,
}

impl FunctionalKernel for ListSum {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let (add, limit) = (arguments.number("add"), arguments.number("limit"));
        match self.phase {
            ListSumPhase::Begin => {
                *self = Self {
                    phase: ListSumPhase::Read,
                    node: arguments.number("head"),
                    ..Self::default()
                };
            }
            ListSumPhase::Read if self.node == 0 || (limit != 0 && self.count == limit) => {
                self.phase = ListSumPhase::Result;
            }
            ListSumPhase::Read => {
                let mut row = [0; 64];
                if memory.read(READ_PORT, self.node & !63, &mut row) == Access::Blocked {
                    return Step::Blocked;
                }
                let (next, value) = (word(&row, 0), word(&row, 8));
                self.sum = self.sum.wrapping_add(value);
                self.count += 1;
                if add == 0 {
                    self.node = next;
                } else {
                    self.phase = ListSumPhase::Store(value.wrapping_add(add), next);
                }
            }
            ListSumPhase::Store(value, next) => {
                let at = (self.node & !63) + 8;
                if memory.write(WRITE_PORT, at, &value.to_le_bytes()) == Access::Blocked {
                    return Step::Blocked;
                }
                self.node = next;
                self.phase = ListSumPhase::Read;
            }
            ListSumPhase::Result => {
                let mut row = [0; 64];
                row[..8].copy_from_slice(&self.sum.to_le_bytes());
                row[8..16].copy_from_slice(&self.count.to_le_bytes());
                let output = arguments.number("output") & !63;
                if memory.write(WRITE_PORT, output, &row) == Access::Blocked {
                    return Step::Blocked;
                }
                *self = Self::default();
                return Step::Done;
            }
        }
        Step::Working
    }
}
