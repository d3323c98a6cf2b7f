//! `kernels/triangles`.

use super::go_on;
use super::rows::{Rows, ROW};
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};
use std::cmp::Ordering;

pub(super) const MODEL: KernelModel = KernelModel {
    name: "triangles",
    arguments: &[
        ("records", 8),
        ("graph", 8),
        ("output", 8),
        ("record_words", 8),
        ("graph_words", 8),
        ("under_way", 8),
        ("pause", 8),
    ],
    ports: 2,
    create: || Box::<Triangles>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
/// Bytes of a word.
const WORD: u64 = 4;
/// Entries of a list that the kernel holds.
const LONGEST: u64 = 8192;

#[derive(Debug, Default)]
struct Triangles {
    run: Option<TrianglesRun>,
}

/// Where a run is in the records.
#[derive(Debug)]
enum Stage {
    Header,
    /// So many entries of the record are to be taken.
    Load(u64),
    /// The neighbour of this entry is to be looked up.
    Visit(usize),
    Merge(Merge),
}

/// A neighbour that is being merged with the list.
#[derive(Debug)]
struct Merge {
    /// The neighbour's entry, and the one that is compared next.
    visit: usize,
    entry: usize,
    /// Next word of its record, and how many are left of it.
    place: u64,
    left: u64,
}

#[derive(Debug)]
struct TrianglesRun {
    records: Rows,
    graph: Rows,
    graph_at: u64,
    output: u64,
    record_words: u64,
    graph_words: u64,
    stage: Stage,
    /// Words of the records that were taken.
    taken: u64,
    list: Vec<u32>,
    triangles: u64,
    vertices: u64,
    edges: u64,
    outside: u64,
    skipped: u64,
}

/// A word of an array; `None`: it waits.
fn get(rows: &mut Rows, place: u64, memory: &mut dyn VirtualMemory) -> Option<u32> {
    let row = rows.get(place * WORD / ROW, memory)?;
    let at = (place * WORD % ROW) as usize;
    let mut word = [0; WORD as usize];
    word.copy_from_slice(&row[at..at + WORD as usize]);
    Some(u32::from_le_bytes(word))
}

impl TrianglesRun {
    fn new(arguments: &Arguments<'_>) -> Self {
        let number = |name| arguments.number(name);
        Self {
            records: Rows::new(READ_PORT, number("records")),
            graph: Rows::new(READ_PORT, number("graph")),
            graph_at: number("graph"),
            output: number("output") & !(ROW - 1),
            record_words: number("record_words"),
            graph_words: number("graph_words"),
            stage: Stage::Header,
            taken: 0,
            list: Vec::new(),
            triangles: 0,
            vertices: 0,
            edges: 0,
            outside: 0,
            skipped: 0,
        }
    }

    /// The next word of the records; `None`: it waits.
    fn take(&mut self, memory: &mut dyn VirtualMemory) -> Option<u32> {
        let word = get(&mut self.records, self.taken, memory)?;
        self.taken += 1;
        Some(word)
    }

    fn load(&mut self, left: u64, memory: &mut dyn VirtualMemory) -> Option<Stage> {
        if left == 0 {
            return Some(Stage::Visit(0));
        }
        let word = self.take(memory)?;
        if (self.list.len() as u64) < LONGEST {
            self.list.push(word);
            self.edges += 1;
            self.skipped -= 1;
            self.outside += u64::from(u64::from(word) >= self.graph_words);
        }
        Some(Stage::Load(left - 1))
    }

    /// Looks a neighbour up: its record's first word is there then.
    fn visit(&mut self, visit: usize, memory: &mut dyn VirtualMemory) -> Option<Stage> {
        // The last one has none behind it.
        if visit + 1 >= self.list.len() {
            return Some(Stage::Header);
        }
        let place = u64::from(self.list[visit]);
        if place >= self.graph_words {
            return Some(Stage::Visit(visit + 1));
        }
        // As in the RTL, each lookup reads. It announces none behind it: rows of this record may come first.
        self.graph = Rows::new(READ_PORT, self.graph_at);
        let count = get(&mut self.graph, place, memory)?;
        Some(Stage::Merge(Merge {
            visit,
            entry: visit + 1,
            place: place + 1,
            left: u64::from(count).min(self.graph_words - place - 1),
        }))
    }

    fn merge(&mut self, mut merge: Merge, memory: &mut dyn VirtualMemory) -> (Stage, bool) {
        while merge.left > 0 && merge.entry < self.list.len() {
            let Some(theirs) = get(&mut self.graph, merge.place, memory) else {
                return (Stage::Merge(merge), false);
            };
            let order = self.list[merge.entry].cmp(&theirs);
            self.triangles += u64::from(order == Ordering::Equal);
            if order != Ordering::Greater {
                merge.entry += 1;
            }
            if order != Ordering::Less {
                merge.place += 1;
                merge.left -= 1;
            }
        }
        (Stage::Visit(merge.visit + 1), true)
    }

    fn report(&self) -> [u8; ROW as usize] {
        let mut row = [0; ROW as usize];
        let words = [
            self.triangles,
            self.vertices,
            self.edges,
            self.outside,
            self.skipped,
        ];
        for (to, word) in row.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        row
    }

    /// Does what comes next; `None`: it waits.
    fn go(&mut self, memory: &mut dyn VirtualMemory) -> Option<Step> {
        let next = match std::mem::replace(&mut self.stage, Stage::Header) {
            Stage::Header => {
                if self.taken == self.record_words {
                    let access = memory.write(WRITE_PORT, self.output, &self.report());
                    return (access != Access::Blocked).then_some(Step::Done);
                }
                let count = u64::from(self.take(memory)?);
                self.list.clear();
                self.vertices += 1;
                self.skipped += count;
                Stage::Load(count.min(self.record_words - self.taken))
            }
            Stage::Load(left) => match self.load(left, memory) {
                Some(stage) => stage,
                None => return self.wait(Stage::Load(left)),
            },
            Stage::Visit(visit) => match self.visit(visit, memory) {
                Some(stage) => stage,
                None => return self.wait(Stage::Visit(visit)),
            },
            Stage::Merge(merge) => {
                let (stage, goes_on) = self.merge(merge, memory);
                if !goes_on {
                    return self.wait(stage);
                }
                stage
            }
        };
        self.stage = next;
        Some(Step::Working)
    }

    fn wait(&mut self, stage: Stage) -> Option<Step> {
        self.stage = stage;
        None
    }
}

impl FunctionalKernel for Triangles {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || TrianglesRun::new(arguments),
            |run| run.go(memory).unwrap_or(Step::Blocked),
        )
    }
}
