//! A core, with a first-level cache that makes accesses to recently used lines cheap.

use std::collections::VecDeque;
use timing::platform::CpuFigures;
use units::line::FoldedLine;
use units::Picoseconds;

/// The timing of a core's first-level cache: the set of its lines. Their bytes are in the last-level cache.
#[derive(Clone, Debug)]
pub struct Core {
    /// Lines, most recently used last.
    lines: VecDeque<FoldedLine>,
    room: usize,
    l1_hit: Picoseconds,
    cache_hit: Picoseconds,
}

impl Core {
    /// A core of this CPU with an empty cache.
    #[must_use]
    pub fn new(figures: &CpuFigures) -> Self {
        let room = (figures.l1_bytes / units::line::BYTES).max(1) as usize;
        Self {
            lines: VecDeque::with_capacity(room),
            room,
            l1_hit: figures.l1_hit_ps,
            cache_hit: figures.cache_hit_ps,
        }
    }

    /// Latency of an access to a line that the last-level cache holds.
    pub fn hit(&mut self, line: FoldedLine) -> Picoseconds {
        match self.touch(line) {
            true => self.l1_hit,
            false => self.cache_hit,
        }
    }

    /// Records a use of a line; returns whether it was cached.
    pub fn touch(&mut self, line: FoldedLine) -> bool {
        let found = self.lines.iter().position(|known| *known == line);
        if let Some(place) = found {
            self.lines.remove(place);
        } else if self.lines.len() == self.room {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
        found.is_some()
    }

    /// The CPU has lost every line.
    pub fn forget(&mut self) {
        self.lines.clear();
    }

    /// The CPU has lost the line.
    pub fn lose(&mut self, line: FoldedLine) {
        self.lines.retain(|known| *known != line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_line_leaves() {
        let mut core = Core::new(&CpuFigures {
            cache_bytes: 1 << 20,
            cache_ways: 16,
            evict_ahead: 0,
            accesses_per_cycle: 1,
            cache_hit_ps: Picoseconds::new(20),
            l1_bytes: 256,
            l1_hit_ps: Picoseconds::new(1),
            home_ps: Picoseconds::new(49_000),
            request_ids: 32,
        });
        let line = FoldedLine;
        assert_eq!(core.hit(line(1)).get(), 20);
        assert_eq!(core.hit(line(1)).get(), 1);
        core.touch(line(2));
        core.touch(line(3));
        assert_eq!(core.hit(line(1)).get(), 20, "two lines fit");
        core.lose(line(1));
        assert_eq!(core.hit(line(1)).get(), 20);
    }
}
