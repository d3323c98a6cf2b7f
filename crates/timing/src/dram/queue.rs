//! One direction of a channel: waiting accesses, and the window of the scheduler.

use super::window::Window;
use std::collections::VecDeque;

/// One direction: accesses that wait for room, and the window.
#[derive(Clone, Debug)]
pub(super) struct Queue {
    pub(super) waiting: VecDeque<Waiting>,
    pub(super) window: Window,
    /// Accesses pushed and not returned yet.
    pub(super) outstanding: u32,
}

/// An access whose rows have not all entered the window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) token: u32,
    /// First row that has not entered.
    pub(super) next: u32,
    /// Rows of the access that have entered, and their total.
    pub(super) entered: u16,
    pub(super) rows: u16,
    pub(super) sequence: u64,
    /// The access of the other direction that must have entered before.
    pub(super) after: Option<u64>,
}

impl Queue {
    pub(super) fn new(accesses: u32, rows: u32, bypass_limit: u32) -> Self {
        Self {
            waiting: VecDeque::with_capacity(accesses as usize),
            window: Window::new(rows, bypass_limit),
            outstanding: 0,
        }
    }

    /// The youngest waiting access that shares a row with `[first, first + rows)`.
    pub(super) fn overlapping(&self, first: u32, rows: u16) -> Option<u64> {
        let end = u64::from(first) + u64::from(rows);
        let overlaps = |waiting: &&Waiting| {
            let left = u64::from(waiting.rows - waiting.entered);
            u64::from(waiting.next) < end && u64::from(first) < u64::from(waiting.next) + left
        };
        self.waiting
            .iter()
            .rev()
            .find(overlaps)
            .map(|waiting| waiting.sequence)
    }

    /// Whether every access up to `sequence` has entered the window.
    pub(super) fn has_entered(&self, sequence: Option<u64>) -> bool {
        match (sequence, self.waiting.front()) {
            (Some(sequence), Some(front)) => front.sequence > sequence,
            _ => true,
        }
    }
}
