//! Memory behind the directory, or an application in front of it: AXI4 reads and writes of a constant
//! latency, answered in any order if so wished.

use std::collections::VecDeque;

use super::pins::{row, words};
use super::Directory;
use crate::line::{PlainLine, WORDS};
use crate::model::Row;

/// Memory behind a slice: what it has taken and not answered.
#[derive(Debug, Default)]
pub(super) struct SliceMemory {
    reads: VecDeque<(u64, u16, PlainLine)>,
    /// The read whose rows are being returned.
    returning: Option<(u16, PlainLine)>,
    return_row: usize,
    writes: VecDeque<(u16, PlainLine)>,
    rows: VecDeque<(u64, Row)>,
    responses: VecDeque<(u64, u16)>,
}

impl SliceMemory {
    /// Nothing is under way.
    pub(super) fn is_quiet(&self) -> bool {
        self.reads.is_empty()
            && self.returning.is_none()
            && self.writes.is_empty()
            && self.responses.is_empty()
    }
}

impl Directory {
    /// The pins of what memory answers.
    pub(super) fn drive_memory(&mut self, slice: usize) {
        self.start_return(slice);
        let memory = &self.memories[slice];
        let pins = &mut self.inputs[slice];
        pins.r_valid = 0;
        if let Some((id, line)) = memory.returning {
            pins.r_valid = 1;
            pins.r_id = id;
            pins.r_last = memory.return_row as u8;
            let data = self.memory.get(&line.0);
            pins.r_row = data.map_or([0; 16], |data| row(data, memory.return_row));
        }
        pins.b_valid = 0;
        if let Some(&(ready, id)) = memory.responses.front() {
            pins.b_valid = u8::from(ready <= self.cycle);
            pins.b_id = id;
        }
    }

    /// Chooses the read whose rows are returned next.
    fn start_return(&mut self, slice: usize) {
        let cycle = self.cycle;
        let disorder = self.surroundings.disorder;
        let state = &mut self.memories[slice];
        if state.returning.is_some() {
            return;
        }
        let held = &self.held;
        let free = |read: &(u64, u16, PlainLine)| read.0 <= cycle && !held.contains(&read.2);
        let ready = state
            .reads
            .iter()
            .take_while(|read| read.0 <= cycle)
            .count();
        let start = if disorder && ready > 1 {
            self.random.below(ready as u64) as usize
        } else {
            0
        };
        let chosen = (0..ready)
            .map(|i| (start + i) % ready)
            .find(|&i| free(&state.reads[i]));
        if let Some((_, id, line)) = chosen.and_then(|index| state.reads.remove(index)) {
            state.returning = Some((id, line));
            state.return_row = 0;
        }
    }

    /// Accepts requests to memory, and retires answers that were accepted.
    pub(super) fn serve_memory(&mut self, slice: usize, cycle: u64) {
        let latency = self.surroundings.memory_latency;
        let state = &mut self.memories[slice];
        let (pins, out) = (&self.inputs[slice], &self.outputs[slice]);
        let line = |address: u64| PlainLine(address >> 7);
        if out.ar_valid & pins.ar_ready == 1 {
            self.moments.read_out = cycle;
            state
                .reads
                .push_back((cycle + latency, out.ar_id, line(out.ar_addr)));
        }
        if pins.r_valid & out.r_ready == 1 {
            state.return_row += 1;
            if pins.r_last == 1 {
                state.returning = None;
                self.moments.row_in = cycle;
            }
        }
        if out.aw_valid & pins.aw_ready == 1 {
            state.writes.push_back((out.aw_id, line(out.aw_addr)));
        }
        if out.w_valid & pins.w_ready == 1 {
            state.rows.push_back((out.w_strb, out.w_row));
        }
        if pins.b_valid & out.b_ready == 1 {
            state.responses.pop_front();
        }
        // A write takes place when address and both rows are there.
        while state.rows.len() >= 2 && !state.writes.is_empty() {
            let Some((id, line)) = state.writes.pop_front() else {
                break;
            };
            let rows: Vec<_> = state.rows.drain(..2).collect();
            let data = words(&[rows[0].1, rows[1].1]);
            let memory = self
                .memory
                .entry(line.0)
                .or_insert_with(|| Box::new([0; WORDS]));
            for (word, value) in data.iter().enumerate() {
                let strobes = rows[word / 8].0 >> (8 * (word % 8)) & 0xff;
                if strobes == 0xff {
                    memory[word] = *value;
                }
            }
            state.responses.push_back((cycle + latency, id));
        }
    }
}
