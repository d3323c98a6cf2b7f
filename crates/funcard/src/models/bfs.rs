//! `kernels/bfs`.

use super::word;
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "bfs",
    arguments: &[
        ("offsets", 8),
        ("edges", 8),
        ("levels", 8),
        ("queue", 8),
        ("output", 8),
        ("vertices", 4),
        ("source", 4),
    ],
    ports: 2,
    create: || Box::<Bfs>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
const UNREACHED: u32 = u32::MAX;

/// The access that comes next.
#[derive(Clone, Copy, Debug, Default)]
enum BfsPhase {
    #[default]
    Begin,
    /// The source gets its level, and then its place.
    Seed,
    First,
    /// The next vertex of the queue, and what is known of it.
    Vertex,
    Level(u32),
    Offset(u32),
    End(u32),
    /// Its edges: where one leads, the level there, the new level, the place in the queue.
    Target,
    Visit(u32),
    Mark(u32),
    Push(u32),
    Result,
}

#[derive(Debug, Default)]
struct Bfs {
    phase: BfsPhase,
    head: u32,
    tail: u32,
    level: u32,
    edge: u32,
    end: u32,
}

/// The address of a number of an array.
fn place(arguments: &Arguments<'_>, array: &str, index: u64) -> u64 {
    arguments.number(array).wrapping_add(4 * index) & !3
}

/// A number, read with its row as the kernel does.
fn number(memory: &mut dyn VirtualMemory, address: u64) -> Option<u32> {
    let mut row = [0; 64];
    let read = memory.read(READ_PORT, address & !63, &mut row);
    let pair = word(&row, (address & 56) as usize);
    (read != Access::Blocked).then_some((pair >> (8 * (address & 4))) as u32)
}

fn store(memory: &mut dyn VirtualMemory, address: u64, bytes: &[u8]) -> Option<()> {
    (memory.write(WRITE_PORT, address, bytes) != Access::Blocked).then_some(())
}

impl Bfs {
    /// One access; `None`: it waits.
    fn go(
        &mut self,
        arguments: &Arguments<'_>,
        memory: &mut dyn VirtualMemory,
    ) -> Option<Option<BfsPhase>> {
        let (vertices, source) = (
            arguments.number("vertices") as u32,
            arguments.number("source") as u32,
        );
        let at = |array: &str, index: u32| place(arguments, array, index.into());
        let next = match self.phase {
            BfsPhase::Begin => {
                *self = Self::default();
                match source < vertices {
                    true => BfsPhase::Seed,
                    false => BfsPhase::Result,
                }
            }
            BfsPhase::Seed => {
                store(memory, at("levels", source), &[0; 4])?;
                BfsPhase::First
            }
            BfsPhase::First => {
                store(memory, at("queue", 0), &source.to_le_bytes())?;
                self.tail = 1;
                BfsPhase::Vertex
            }
            BfsPhase::Vertex if self.head == self.tail => BfsPhase::Result,
            BfsPhase::Vertex => {
                let vertex = number(memory, at("queue", self.head))?;
                self.head += 1;
                BfsPhase::Level(vertex)
            }
            BfsPhase::Level(vertex) => {
                self.level = number(memory, at("levels", vertex))?;
                BfsPhase::Offset(vertex)
            }
            BfsPhase::Offset(vertex) => {
                self.edge = number(memory, at("offsets", vertex))?;
                BfsPhase::End(vertex)
            }
            BfsPhase::End(vertex) => {
                let after = place(arguments, "offsets", u64::from(vertex) + 1);
                self.end = number(memory, after)?;
                BfsPhase::Target
            }
            BfsPhase::Target if self.edge >= self.end => BfsPhase::Vertex,
            BfsPhase::Target => {
                let target = number(memory, at("edges", self.edge))?;
                self.edge += 1;
                match target < vertices && self.tail != vertices {
                    true => BfsPhase::Visit(target),
                    false => BfsPhase::Target,
                }
            }
            BfsPhase::Visit(target) => match number(memory, at("levels", target))? {
                UNREACHED => BfsPhase::Mark(target),
                _ => BfsPhase::Target,
            },
            BfsPhase::Mark(target) => {
                let level = self.level.wrapping_add(1);
                store(memory, at("levels", target), &level.to_le_bytes())?;
                BfsPhase::Push(target)
            }
            BfsPhase::Push(target) => {
                store(memory, at("queue", self.tail), &target.to_le_bytes())?;
                self.tail += 1;
                BfsPhase::Target
            }
            BfsPhase::Result => {
                let mut row = [0; 64];
                row[..4].copy_from_slice(&self.tail.to_le_bytes());
                row[8..12].copy_from_slice(&self.level.to_le_bytes());
                store(memory, arguments.number("output") & !63, &row)?;
                return Some(None);
            }
        };
        Some(Some(next))
    }
}

impl FunctionalKernel for Bfs {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        match self.go(arguments, memory) {
            None => Step::Blocked,
            Some(Some(next)) => {
                self.phase = next;
                Step::Working
            }
            Some(None) => {
                *self = Self::default();
                Step::Done
            }
        }
    }
}
