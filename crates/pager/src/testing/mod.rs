//! A random environment for the pager, and a model that checks the pager's behaviour in it.
//!
//! The card of this environment guarantees only the order that docs/architecture.md promises: copies run concurrently
//! with each other and with table commands, some rows at a time; a fence waits for everything before it; an
//! invalidation waits for the accesses under way. I/O completes in any order and may fail. Every row of memory, buffer
//! and storage holds the stamp of its last write, so that a read of anything but the latest write is detected
//! immediately. Everything follows from the seed.

mod card;
mod clients;
pub mod explore;
mod host;
mod model;
mod rng;
mod world;

pub use crate::sabotage::Sabotage;
use crate::statistics::Statistics;

/// Size of a row in bytes.
const ROW: u64 = units::ROW_BYTES;

/// A value, or the description of the broken rule.
type Verdict<T> = Result<T, String>;

/// Configuration of a run.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// Seed of all random choices: sizes, policies, order, failures.
    pub seed: u64,
    /// Number of pager events before everything is closed.
    pub events: u64,
    /// Whether I/O may fail.
    pub failures: bool,
    /// Whether to call [`Pager::check`](crate::Pager::check) after every event.
    pub check: bool,
    /// Fault to inject.
    pub sabotage: Option<Sabotage>,
}

/// Counts of one or several runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Pager events.
    pub events: u64,
    /// Kernel accesses that reached memory with the right result.
    pub accesses: u64,
    /// Accesses that failed as expected.
    pub accesses_failed: u64,
    /// Completed requests.
    pub requests: u64,
    /// Of these, requests with an expected error.
    pub requests_failed: u64,
    /// Writes to objects.
    pub writes: u64,
    /// Of these, transfers of a piece of a page behind its first.
    pub pieces: u64,
    /// Pages read in several concurrent pieces.
    pub pages_in_pieces: u64,
    /// Of these, pages of which a piece failed.
    pub pages_in_pieces_failed: u64,
    /// Pages evicted.
    pub evictions: u64,
    /// Entries removed because a set was full.
    pub set_conflicts: u64,
    /// Write-backs that failed.
    pub write_backs_failed: u64,
    /// Faults on a page that was already in transit.
    pub faults_joined: u64,
    /// Pages zeroed instead of read.
    pub pages_zeroed: u64,
    /// Pages fetched before any access.
    pub pages_hinted: u64,
    /// Pages cleaned before their eviction.
    pub pages_cleaned_ahead: u64,
    /// Pages cleaned behind a kernel that wrote them in order.
    pub pages_cleaned_behind: u64,
    /// Pages that were copied out and saved in pieces.
    pub pages_saved_in_pieces: u64,
    /// Page tables that grew.
    pub tables_grown: u64,
    /// Pages of the largest size, in objects with several sizes.
    pub pages_large: u64,
    /// Pages of a smaller size, in such objects.
    pub pages_small: u64,
    /// Pages that were requested whole and split into smaller ones.
    pub pages_split: u64,
    /// Larger pages made by joining resident parts.
    pub pages_joined: u64,
    /// Pages filled in host memory.
    pub pages_direct: u64,
    /// Pages written back from there.
    pub pages_direct_written: u64,
}

impl Tally {
    fn statistics(&mut self, statistics: &Statistics) {
        self.pages_in_pieces += statistics.pieces.read;
        self.pages_in_pieces_failed += statistics.pieces.failed;
        self.evictions += statistics.spaces.evictions;
        self.set_conflicts += statistics.spaces.set_conflicts;
        self.write_backs_failed += statistics.write_backs_failed;
        self.faults_joined += statistics.spaces.faults_joined;
        self.pages_zeroed += statistics.spaces.pages_zeroed;
        self.pages_hinted += statistics.pages_hinted;
        self.pages_cleaned_ahead += statistics.pages_cleaned_ahead;
        self.pages_cleaned_behind += statistics.pages_cleaned_behind;
        self.pages_saved_in_pieces += statistics.pieces.saved;
        self.tables_grown += statistics.tables_grown;
        self.pages_large += statistics.sizes.large;
        self.pages_small += statistics.sizes.small;
        self.pages_split += statistics.sizes.split;
        self.pages_joined += statistics.sizes.joined;
        self.pages_direct += statistics.spaces.direct.pages;
        self.pages_direct_written += statistics.spaces.direct.written;
    }

    /// Adds another run.
    pub fn add(&mut self, other: &Self) {
        let Self {
            events,
            accesses,
            accesses_failed,
            requests,
            requests_failed,
            writes,
            pieces,
            pages_in_pieces,
            pages_in_pieces_failed,
            evictions,
            set_conflicts,
            write_backs_failed,
            faults_joined,
            pages_zeroed,
            pages_hinted,
            pages_cleaned_ahead,
            pages_cleaned_behind,
            pages_saved_in_pieces,
            tables_grown,
            pages_large,
            pages_small,
            pages_split,
            pages_joined,
            pages_direct,
            pages_direct_written,
        } = other;
        self.events += events;
        self.accesses += accesses;
        self.accesses_failed += accesses_failed;
        self.requests += requests;
        self.requests_failed += requests_failed;
        self.writes += writes;
        self.pieces += pieces;
        self.pages_in_pieces += pages_in_pieces;
        self.pages_in_pieces_failed += pages_in_pieces_failed;
        self.evictions += evictions;
        self.set_conflicts += set_conflicts;
        self.write_backs_failed += write_backs_failed;
        self.faults_joined += faults_joined;
        self.pages_zeroed += pages_zeroed;
        self.pages_hinted += pages_hinted;
        self.pages_cleaned_ahead += pages_cleaned_ahead;
        self.pages_cleaned_behind += pages_cleaned_behind;
        self.pages_saved_in_pieces += pages_saved_in_pieces;
        self.tables_grown += tables_grown;
        self.pages_large += pages_large;
        self.pages_small += pages_small;
        self.pages_split += pages_split;
        self.pages_joined += pages_joined;
        self.pages_direct += pages_direct;
        self.pages_direct_written += pages_direct_written;
    }
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Seed of the run.
    pub seed: u64,
    /// Number of events before the failure.
    pub after: u64,
    /// Description of the broken rule.
    pub rule: String,
    /// The last events and actions.
    pub trace: String,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "seed {} after {} events: {}\n{}",
            self.seed, self.after, self.rule, self.trace
        )
    }
}

/// Runs one random model from its creation to the last frame.
///
/// # Errors
/// The first rule that was broken, with the preceding events.
pub fn run(scenario: Scenario) -> Result<Tally, Broken> {
    let broken = |after, rule, trace| Broken {
        seed: scenario.seed,
        after,
        rule,
        trace,
    };
    let mut world = world::World::new(scenario).map_err(|rule| broken(0, rule, String::new()))?;
    match world.run() {
        Ok(()) => Ok(world.tally),
        Err(rule) => {
            world.remark(rule.clone());
            Err(broken(world.tally.events, rule, world.trace()))
        }
    }
}

/// Runs models of `events_each` events until `events` have been passed to pagers in total.
///
/// # Errors
/// The first rule that was broken.
pub fn run_many(seed: u64, events: u64, events_each: u64) -> Result<Tally, Broken> {
    let mut tally = Tally::default();
    let mut world = 0;
    while tally.events < events {
        let scenario = Scenario {
            seed: seed.wrapping_mul(1_000_003).wrapping_add(world),
            events: events_each,
            failures: world % 3 != 0,
            check: true,
            sabotage: None,
        };
        tally.add(&run(scenario)?);
        world += 1;
    }
    Ok(tally)
}
