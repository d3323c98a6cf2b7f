//! Coverage: which events met a page in which states, and the state transitions of pages.

use crate::buffer::Part;
use crate::page::{Purpose, Stage, State};
use std::cell::RefCell;
use std::collections::BTreeSet;

/// Result of an exploration.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Distinct states.
    pub states: u64,
    /// Transitions between them.
    pub steps: u64,
    /// States in which nothing is under way.
    pub rests: u64,
    /// Pairs of an event and the page state that it met.
    pub pairs: BTreeSet<(&'static str, &'static str)>,
    /// State transitions of pages.
    pub moves: BTreeSet<(&'static str, &'static str)>,
}

impl Explored {
    /// Possible pairs: requests of kernels and clients in every state, and completions in their states.
    fn pairs_that_can_meet() -> BTreeSet<(&'static str, &'static str)> {
        let asked = STATES
            .iter()
            .flat_map(|&state| ASKED.iter().map(move |&event| (state, event)));
        asked.chain(ENDS).collect()
    }

    /// Number of possible pairs of a page state and an event.
    pub fn pairs_in_all(&self) -> usize {
        Self::pairs_that_can_meet().len()
    }

    /// Possible pairs that were not seen.
    pub fn missing_pairs(&self) -> Vec<(&'static str, &'static str)> {
        let all = Self::pairs_that_can_meet();
        all.difference(&self.pairs).copied().collect()
    }

    /// Number of transitions of a page that the table allows.
    pub fn moves_in_all(&self) -> usize {
        legal_moves().len()
    }

    /// Allowed transitions that were not seen.
    pub fn missing_moves(&self) -> Vec<(&'static str, &'static str)> {
        legal_moves().difference(&self.moves).copied().collect()
    }

    /// Adds another exploration.
    pub fn add(&mut self, other: Self) {
        self.states += other.states;
        self.steps += other.steps;
        self.rests += other.rests;
        self.pairs.extend(other.pairs);
        self.moves.extend(other.moves);
    }
}

/// Transitions that [`State::may_become`] and [`State::may_end`] allow, and the creation of a page, by the names of the
/// states.
fn legal_moves() -> BTreeSet<(&'static str, &'static str)> {
    let part = Part::default();
    let loading = State::Loading {
        part: Some(part),
        left: 1,
        failed: None,
    };
    let installing = State::Installing { part: None };
    let mut states = vec![
        State::Waiting,
        State::AwaitingBuffer,
        State::AwaitingZero,
        State::Reading(part),
        State::Fetching,
        loading,
        installing,
        State::Resident,
    ];
    for purpose in [Purpose::Clean, Purpose::Release] {
        for stage in [
            Stage::Draining,
            Stage::AwaitingBuffer,
            Stage::CopyingOut(part),
            Stage::Writing(part),
            Stage::Saving,
        ] {
            states.push(State::WritingBack { purpose, stage });
        }
    }
    let mut moves = BTreeSet::from([("Absent", "Waiting")]);
    for &from in &states {
        for &to in &states {
            if from.may_become(to) && kind(Some(from)) != kind(Some(to)) {
                moves.insert((kind(Some(from)), kind(Some(to))));
            }
        }
        if from.may_end() {
            moves.insert((kind(Some(from)), "Absent"));
        }
    }
    moves
}

/// Name of a page's state.
pub(super) fn kind(state: Option<State>) -> &'static str {
    let Some(state) = state else {
        return "Absent";
    };
    match state {
        State::Waiting => "Waiting",
        State::AwaitingBuffer => "AwaitingBuffer",
        State::AwaitingZero => "AwaitingZero",
        State::Reading(_) => "Reading",
        State::Fetching => "Fetching",
        State::Loading { .. } => "Loading",
        State::Installing { .. } => "Installing",
        State::Claiming => "Claiming",
        State::Upgrading => "Upgrading",
        State::Resident => "Resident",
        State::WritingBack { purpose, stage } => match (purpose, stage) {
            (Purpose::Clean, Stage::Draining) => "Clean.Draining",
            (Purpose::Clean, Stage::AwaitingBuffer) => "Clean.AwaitingBuffer",
            (Purpose::Clean, Stage::CopyingOut(_)) => "Clean.CopyingOut",
            (Purpose::Clean, Stage::Writing(_)) => "Clean.Writing",
            (Purpose::Clean, Stage::Returning) => "Clean.Returning",
            (Purpose::Clean, Stage::Yielding) => "Clean.Yielding",
            (Purpose::Clean, Stage::Saving) => "Clean.Saving",
            (Purpose::Release, Stage::Saving) => "Release.Saving",
            (Purpose::Release, Stage::Returning) => "Release.Returning",
            (Purpose::Release, Stage::Yielding) => "Release.Yielding",
            (Purpose::Release, Stage::Draining) => "Release.Draining",
            (Purpose::Release, Stage::AwaitingBuffer) => "Release.AwaitingBuffer",
            (Purpose::Release, Stage::CopyingOut(_)) => "Release.CopyingOut",
            (Purpose::Release, Stage::Writing(_)) => "Release.Writing",
        },
    }
}

/// The states of a page.
const STATES: [&str; 19] = [
    "Absent",
    "Waiting",
    "AwaitingBuffer",
    "AwaitingZero",
    "Reading",
    "Fetching",
    "Loading",
    "Installing",
    "Resident",
    "Clean.Draining",
    "Clean.AwaitingBuffer",
    "Clean.CopyingOut",
    "Clean.Writing",
    "Clean.Saving",
    "Release.Draining",
    "Release.AwaitingBuffer",
    "Release.CopyingOut",
    "Release.Writing",
    "Release.Saving",
];

/// Requests of kernels and clients for a page in any state.
const ASKED: [&str; 6] = ["read", "write", "sync", "unmap", "hint", "stop"];

/// Completions, and the states in which they occur.
const ENDS: [(&str, &str); 20] = [
    ("Reading", "I/O ends"),
    ("Reading", "I/O fails"),
    ("Fetching", "I/O ends"),
    ("Fetching", "I/O fails"),
    ("Loading", "command ends"),
    ("Loading", "command fails"),
    ("Installing", "command ends"),
    ("Resident", "command ends"),
    ("Clean.Draining", "command ends"),
    ("Clean.CopyingOut", "command ends"),
    ("Clean.CopyingOut", "command fails"),
    ("Clean.Writing", "I/O ends"),
    ("Clean.Writing", "I/O fails"),
    ("Release.Draining", "command ends"),
    ("Release.CopyingOut", "command ends"),
    ("Release.Writing", "I/O ends"),
    ("Clean.Saving", "I/O ends"),
    ("Clean.Saving", "I/O fails"),
    ("Release.Saving", "I/O ends"),
    ("Release.Saving", "I/O fails"),
];

thread_local! {
    /// Transitions of pages since the last call of `take_moves`.
    static MOVES: RefCell<BTreeSet<(&'static str, &'static str)>> =
        const { RefCell::new(BTreeSet::new()) };
}

/// Records a transition of a page.
pub(crate) fn moved(from: Option<State>, to: Option<State>) {
    MOVES.with_borrow_mut(|moves| moves.insert((kind(from), kind(to))));
}

/// The transitions since the last call.
pub(super) fn take_moves() -> BTreeSet<(&'static str, &'static str)> {
    MOVES.take()
}
