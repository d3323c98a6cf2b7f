//! A wait as a sequence of requests, each for a slice of virtual time, so that a program can look between them.

use crate::link::Link;
use crate::serving::MOST_SLICE;
use owner::SLICE;
use std::time::{Duration, Instant};
use units::Picoseconds;

/// A request to a daemon that returns sooner leads to a longer slice, so that the socket costs little of the work.
const SHORT: Duration = Duration::from_millis(4);
/// A request to a daemon that returns later leads to a shorter slice, so that the program can look often enough.
const LONG: Duration = Duration::from_millis(20);

/// Progress of one wait.
///
/// The owner in this process gets slices of constant length. Those of a daemon depend on the time that its replies take:
/// on a functional card, [`SLICE`] is over in half a millisecond, and each request wakes a thread in both processes.
#[derive(Debug)]
pub(crate) struct SlicedWait {
    deadline: Option<Picoseconds>,
    elapsed: Picoseconds,
    slice: Picoseconds,
    most: Picoseconds,
    requested: Instant,
}

impl SlicedWait {
    /// A wait that begins now, for at most `deadline` of virtual time.
    pub(crate) fn new(link: &Link, deadline: Option<Picoseconds>) -> Self {
        let most = match link.is_served() {
            true => MOST_SLICE,
            false => SLICE,
        };
        Self::with_most(most, deadline)
    }

    fn with_most(most: Picoseconds, deadline: Option<Picoseconds>) -> Self {
        Self {
            deadline,
            elapsed: Picoseconds::ZERO,
            slice: SLICE,
            most,
            requested: Instant::now(),
        }
    }

    /// Virtual time that the next request is to wait at most.
    pub(crate) fn next_slice(&mut self) -> Picoseconds {
        self.requested = Instant::now();
        self.bounded()
    }

    /// Records that the last slice is over, and nothing has come.
    pub(crate) fn slice_over(&mut self) {
        self.elapsed += self.bounded();
        self.adapt(self.requested.elapsed());
    }

    /// Virtual time of all slices that are over.
    pub(crate) fn elapsed(&self) -> Picoseconds {
        self.elapsed
    }

    /// Whether the deadline has passed.
    pub(crate) fn is_over(&self) -> bool {
        self.deadline
            .is_some_and(|deadline| self.elapsed >= deadline)
    }

    fn bounded(&self) -> Picoseconds {
        match self.deadline {
            Some(deadline) => self.slice.min(deadline - self.elapsed),
            None => self.slice,
        }
    }

    fn adapt(&mut self, taken: Duration) {
        let slice = self.slice.get();
        let slice = match taken {
            taken if taken < SHORT => slice * 2,
            taken if taken > LONG => slice / 2,
            _ => slice,
        };
        self.slice = Picoseconds::new(slice).max(SLICE).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(most: Picoseconds) -> SlicedWait {
        SlicedWait::with_most(most, None)
    }

    #[test]
    fn in_this_process_slices_have_one_length() {
        let mut wait = wait(SLICE);
        for taken in [Duration::ZERO, LONG * 2] {
            wait.adapt(taken);
            assert_eq!(wait.next_slice(), SLICE);
        }
    }

    #[test]
    fn quick_replies_of_a_daemon_lengthen_slices_up_to_its_limit() {
        let mut wait = wait(MOST_SLICE);
        let mut last = wait.next_slice();
        for _ in 0..8 {
            wait.adapt(Duration::ZERO);
            assert!(wait.next_slice() >= last);
            last = wait.next_slice();
        }
        assert_eq!(last, MOST_SLICE);
    }

    #[test]
    fn late_replies_of_a_daemon_shorten_slices_again() {
        let mut wait = wait(MOST_SLICE);
        for _ in 0..8 {
            wait.adapt(Duration::ZERO);
        }
        for _ in 0..8 {
            wait.adapt(LONG * 2);
        }
        assert_eq!(wait.next_slice(), SLICE);
    }

    #[test]
    fn slices_end_at_the_deadline() {
        let deadline = Picoseconds::new(SLICE.get() * 2 + 1);
        let mut wait = SlicedWait::with_most(SLICE, Some(deadline));
        let mut slices = Vec::new();
        while !wait.is_over() {
            slices.push(wait.next_slice().get());
            wait.slice_over();
        }
        assert_eq!(slices, [SLICE.get(), SLICE.get(), 1]);
        assert_eq!(wait.elapsed(), deadline);
    }
}
