//! Settings of an exploration.

/// Setting of an exploration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Lines: 1, or 2 that share ways, unit and class buffers.
    pub lines: usize,
    /// Directory ways that the lines share.
    pub ways: usize,
    /// Messages of a class in flight between the home and one cache, all lines together.
    pub capacity: u32,
    /// Whether caches that differ only by their number count as one case.
    pub symmetry: bool,
    /// The application behind the home answers a memory access for a cache only when its own clean operations on the
    /// other line are done: the known hazard of such a pair.
    pub application_waits: bool,
    /// Whether to check progress after the exploration.
    pub check_progress: bool,
    /// Number of threads, at least one.
    pub threads: usize,
    /// Maximum number of states before the check fails.
    pub max_states: usize,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            lines: 1,
            ways: 1,
            capacity: 2,
            symmetry: true,
            application_waits: false,
            check_progress: true,
            threads: 2,
            max_states: 200_000_000,
        }
    }
}

impl Setting {
    /// One line whose messages always find room.
    #[must_use]
    pub fn roomy() -> Self {
        Self {
            capacity: 64,
            ..Self::default()
        }
    }

    /// Two lines that share one directory way, one unit and class buffers of one message.
    #[must_use]
    pub fn shared_way() -> Self {
        Self {
            lines: 2,
            ways: 1,
            capacity: 1,
            ..Self::default()
        }
    }

    /// Two lines in two ways of one unit whose application waits for one line's invalidation
    /// before it answers the other line's read.
    #[must_use]
    pub fn application_waits() -> Self {
        Self {
            lines: 2,
            ways: 2,
            capacity: 1,
            application_waits: true,
            ..Self::default()
        }
    }
}
