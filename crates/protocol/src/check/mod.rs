//! The checker: every interleaving of a generated protocol, on an unordered network.
//!
//! The model knows the generated tables and the specification's rights of each state, and
//! nothing of how the tables came about. It has one home, some caches and one or two lines; a
//! message in flight is delivered at any time and in any order; a class's buffer is finite, and
//! a step whose message finds no room waits.
//!
//! | property | what is checked |
//! |---|---|
//! | single writer, multiple readers | in every state |
//! | data value | every readable copy has the latest value; memory is read only when it has it |
//! | no unexpected message | every message that can arrive has a step, or stalls if it is a request |
//! | operations | at the acknowledgement no cache has more than the operation left it |
//! | nothing refused | a stable cache offers every rule of the specification; a stable directory accepts every operation |
//! | buffers | no message waits, over any way, for room in its own buffer ([`buffers`]) |
//! | deadlock freedom, progress | from every state, deliveries alone lead to rest: every request answered, every operation acknowledged |
//!
//! The last one implies progress under fairness: whatever is outstanding can complete from
//! every reachable state, so a run in which it never does ignores for ever a step that is
//! enabled again and again.

mod buffers;
mod diagram;
mod explore;
mod layout;
mod model;
mod progress;
mod shard;
mod trace;
mod violation;

use std::time::{Duration, Instant};

pub use buffers::{buffers, Buffers, Wait};
pub use model::{Setting, Step};
pub use trace::{Trace, TraceStep};
pub use violation::Violation;

use crate::generate::Protocol;
use explore::Search;
use layout::Layout;
use model::Model;

/// Result of a check.
#[derive(Clone, Debug)]
pub struct Verdict {
    /// Distinct states reached (after symmetry, if the setting asks for it).
    pub states: usize,
    /// Number of steps between them.
    pub steps: usize,
    /// Depth: the largest distance of a state from the start.
    pub depth: usize,
    /// Duration of the exploration.
    pub explored_in: Duration,
    /// Duration of the progress check.
    pub progress_in: Duration,
    /// Cells of the directory that were used, by position.
    pub home_used: Vec<bool>,
    /// Steps of the cache that were used, by position.
    pub cache_used: Vec<bool>,
    /// Shortest trace to a violation, if there is one.
    pub failure: Option<Trace>,
}

impl Verdict {
    /// States per second, both phases together.
    #[must_use]
    pub fn states_per_second(&self) -> f64 {
        let seconds = (self.explored_in + self.progress_in).as_secs_f64();
        self.states as f64 / seconds.max(1e-9)
    }
}

/// Progress of a check; passed to the callback after each level.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Steps from the start.
    pub depth: usize,
    /// States found so far.
    pub states: usize,
    /// States whose steps have not been taken yet.
    pub frontier: usize,
}

/// Cause of a failed check.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CheckError {
    /// The packed words cannot hold a model of this size.
    #[error("a model has 1 to 3 caches and 1 or 2 lines, not {caches} and {lines}")]
    Size {
        /// Requested caches.
        caches: usize,
        /// Requested lines.
        lines: usize,
    },
    /// A field of the packed words is too narrow.
    #[error("{count} {what} are more than the model's words hold ({most})")]
    TooMany {
        /// Item that exceeds its field.
        what: &'static str,
        /// Number of items.
        count: usize,
        /// Maximum that fits.
        most: usize,
    },
    /// The limit on states was reached.
    #[error("stopped after {states} states; no violation so far")]
    TooManyStates {
        /// States reached.
        states: usize,
    },
}

/// Explores every interleaving and checks every property.
///
/// # Errors
///
/// [`CheckError`] if the model cannot be explored; a violation is no error but a
/// [`Verdict::failure`].
pub fn check(
    protocol: &Protocol,
    setting: &Setting,
    progress: &mut dyn FnMut(Level),
) -> Result<Verdict, CheckError> {
    let layout = Layout::new(protocol, setting)?;
    match layout.words() {
        2 => check_words::<2>(protocol, setting, layout, progress),
        3 => check_words::<3>(protocol, setting, layout, progress),
        4 => check_words::<4>(protocol, setting, layout, progress),
        5 => check_words::<5>(protocol, setting, layout, progress),
        _ => check_words::<7>(protocol, setting, layout, progress),
    }
}

fn check_words<const W: usize>(
    protocol: &Protocol,
    setting: &Setting,
    layout: Layout,
    progress: &mut dyn FnMut(Level),
) -> Result<Verdict, CheckError> {
    let model = Model::<W>::new(protocol, setting, layout);
    let start = Instant::now();
    let mut search = Search::new(&model, setting);
    let mut found = search.run(progress)?;
    let explored_in = start.elapsed();
    let start = Instant::now();
    if found.is_none() && setting.check_progress {
        found = progress::stuck_state(&search);
    }
    let progress_in = start.elapsed();
    let failure = found.map(|(id, broken)| trace::build(protocol, &model, &search, id, broken));
    let (home_used, cache_used) = search.coverage();
    Ok(Verdict {
        states: search.states(),
        steps: search.steps(),
        depth: search.depth(),
        explored_in,
        progress_in,
        home_used,
        cache_used,
        failure,
    })
}
