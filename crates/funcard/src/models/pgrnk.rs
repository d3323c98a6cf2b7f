//! `kernels/pgrnk`.

use super::rows::{Rows, ROW};
use super::{go_on, word};
use crate::kernel::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};

pub(super) const MODEL: KernelModel = KernelModel {
    name: "pgrnk",
    arguments: &[
        ("records", 8),
        ("edge_sources", 8),
        ("weights", 8),
        ("next", 8),
        ("output", 8),
        ("vertices", 8),
        ("edges", 8),
        ("sources", 8),
        ("base", 8),
        ("damping", 4),
        ("ranks", 4),
        ("pause", 8),
    ],
    ports: 2,
    create: || Box::<PageRank>::default(),
};

const READ_PORT: usize = 0;
const WRITE_PORT: usize = 1;
/// Bytes of a record, and of an edge or weight.
const RECORD: u64 = 16;
const WORD: u64 = 8;

#[derive(Debug, Default)]
struct PageRank {
    run: Option<PageRankRun>,
}

/// A vertex whose weights are being added up.
#[derive(Debug)]
struct Vertex {
    incoming: u64,
    outgoing: u64,
    sum: u64,
}

#[derive(Debug)]
struct PageRankRun {
    records: Rows,
    sources: Rows,
    weights: u64,
    next: u64,
    output: u64,
    vertices: u64,
    edges: u64,
    source_count: u64,
    base: u64,
    damping: u64,
    ranks: bool,
    /// Vertices and edges that are done.
    vertex_at: u64,
    edge_at: u64,
    vertex: Option<Vertex>,
    /// Weights that fill no row yet.
    written: Vec<u8>,
    dangling: u64,
    total: u64,
    asked_for: u64,
    out_of_range: u64,
}

impl PageRankRun {
    fn new(arguments: &Arguments<'_>) -> Self {
        let number = |name| arguments.number(name);
        Self {
            records: Rows::new(READ_PORT, number("records")),
            sources: Rows::new(READ_PORT, number("edge_sources")),
            weights: number("weights") & !(ROW - 1),
            next: number("next") & !(ROW - 1),
            output: number("output") & !(ROW - 1),
            vertices: number("vertices"),
            edges: number("edges"),
            source_count: number("sources"),
            base: number("base"),
            damping: number("damping"),
            ranks: number("ranks") & 1 == 1,
            vertex_at: 0,
            edge_at: 0,
            vertex: None,
            written: Vec::new(),
            dangling: 0,
            total: 0,
            asked_for: 0,
            out_of_range: 0,
        }
    }

    /// The weight at the source of the next edge, which is taken, and up to `most - 1` edges behind it announced;
    /// `None`: it waits.
    fn weight(&mut self, most: u64, memory: &mut dyn VirtualMemory) -> Option<u64> {
        let row = self.sources.get(self.edge_at * WORD / ROW, memory)?;
        let lane = (self.edge_at * WORD % ROW) as usize;
        let source = word(&row, lane);
        let inside = source < self.source_count;
        // As in the RTL, each edge reads a row, and one from nowhere row 0.
        let address = |source: u64| {
            let place = if source < self.source_count {
                source
            } else {
                0
            };
            self.weights.wrapping_add(place.wrapping_mul(WORD)) & !(ROW - 1)
        };
        let mut weights = [0; ROW as usize];
        if memory.read(READ_PORT, address(source), &mut weights) == Access::Blocked {
            // Those that are read before anything else is.
            let left = most.min(self.edges - self.edge_at);
            let rest = row[lane..].chunks_exact(WORD as usize);
            let following: Vec<u64> = rest
                .take(usize::try_from(left).unwrap_or(usize::MAX))
                .skip(1)
                .map(|bytes| address(word(bytes, 0)))
                .collect();
            memory.announce(READ_PORT, false, &following);
            return None;
        }
        self.edge_at += 1;
        if !inside {
            self.out_of_range += 1;
            return Some(0);
        }
        Some(word(&weights, (source * WORD % ROW) as usize))
    }

    /// The weights that wait, with those of a last row that is not whole.
    fn flush(&mut self, memory: &mut dyn VirtualMemory) -> Option<()> {
        let row = (self.vertex_at * WORD - self.written.len() as u64) / ROW;
        let address = self.next.wrapping_add(row * ROW);
        if !self.written.is_empty()
            && memory.write(WRITE_PORT, address, &self.written) == Access::Blocked
        {
            return None;
        }
        self.written.clear();
        Some(())
    }

    fn report(&self) -> [u8; ROW as usize] {
        let mut row = [0; ROW as usize];
        let words = [
            self.dangling,
            self.total,
            self.edges,
            self.asked_for,
            self.out_of_range,
        ];
        for (to, word) in row.chunks_exact_mut(8).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        row
    }

    /// Does what comes next; `None`: it waits.
    fn go(&mut self, memory: &mut dyn VirtualMemory) -> Option<Step> {
        if self.written.len() as u64 == ROW || self.vertex_at == self.vertices {
            self.flush(memory)?;
        }
        if self.vertex.is_none() && self.vertex_at < self.vertices {
            let row = self.records.get(self.vertex_at * RECORD / ROW, memory)?;
            let at = (self.vertex_at * RECORD % ROW) as usize;
            let (incoming, outgoing) = (word(&row, at), word(&row, at + 8));
            self.asked_for = self.asked_for.wrapping_add(incoming);
            self.vertex = Some(Vertex {
                incoming,
                outgoing,
                sum: 0,
            });
        }
        let Some(mut vertex) = self.vertex.take() else {
            if self.edge_at < self.edges {
                self.weight(u64::MAX, memory)?;
                return Some(Step::Working);
            }
            let blocked = memory.write(WRITE_PORT, self.output, &self.report()) == Access::Blocked;
            return (!blocked).then_some(Step::Done);
        };
        if vertex.incoming > 0 && self.edge_at < self.edges {
            let weight = self.weight(vertex.incoming, memory);
            if let Some(weight) = weight {
                vertex.incoming -= 1;
                vertex.sum = vertex.sum.wrapping_add(weight);
            }
            self.vertex = Some(vertex);
            return weight.map(|_| Step::Working);
        }
        let product = (u128::from(vertex.sum) * u128::from(self.damping)) >> 32;
        let rank = self.base.wrapping_add(product as u64);
        self.total = self.total.wrapping_add(rank);
        let weight = match rank.checked_div(vertex.outgoing) {
            Some(_) if self.ranks => rank,
            Some(weight) => weight,
            None => {
                self.dangling = self.dangling.wrapping_add(rank);
                rank
            }
        };
        self.written.extend(weight.to_le_bytes());
        self.vertex_at += 1;
        Some(Step::Working)
    }
}

impl FunctionalKernel for PageRank {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        go_on(
            &mut self.run,
            || PageRankRun::new(arguments),
            |run| run.go(memory).unwrap_or(Step::Blocked),
        )
    }
}
