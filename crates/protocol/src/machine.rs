//! The generated state machines, from which the outputs and the checker are made.

use crate::spec::{MsgId, OpId, Spec, StateId};

/// A state machine of the remote agent: one row per state, one column per event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheMachine {
    /// States; the first is the initial one.
    pub states: Vec<CacheState>,
    /// Events, one per column.
    pub events: Vec<CacheEvent>,
    /// Steps, row by row; `None` where the event cannot happen.
    pub steps: Vec<Option<CacheStep>>,
}

/// A state of a line in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheState {
    /// Name, an identifier.
    pub name: String,
    /// The copy that accesses may use.
    pub copy: StateId,
    /// Whether the line's data is kept (even if no access may use it).
    pub keeps_data: bool,
    /// Whether nothing is outstanding.
    pub stable: bool,
    /// The request whose answer this state waits for.
    pub waits_for: Option<MsgId>,
    /// The state that the transaction under way leads to; a stable state leads to itself.
    pub aim: StateId,
    /// A forward was answered early: the granted copy is used once and then downgraded to this state.
    pub pass: Option<StateId>,
}

/// An event of a line in a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheEvent {
    /// The CPU starts this upgrade rule.
    Upgrade(u8),
    /// The cache starts this downgrade rule.
    Downgrade(u8),
    /// The CPU starts this non-caching access.
    Access(u8),
    /// A store hits.
    Store,
    /// A message arrives.
    Receive(MsgId),
}

/// The step of a cache on an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CacheStep {
    /// Next state, a position in [`CacheMachine::states`].
    pub next: usize,
    /// Message to the home; one with data carries the copy as it is after the store.
    pub send: Option<MsgId>,
    /// A store is performed.
    pub store: bool,
}

impl CacheMachine {
    /// The step of a state on an event (both by position).
    #[must_use]
    pub fn step(&self, state: usize, event: usize) -> Option<CacheStep> {
        self.steps[state * self.events.len() + event]
    }

    /// The column of an event.
    #[must_use]
    pub fn column(&self, event: CacheEvent) -> Option<usize> {
        self.events.iter().position(|&e| e == event)
    }

    /// Number of defined steps.
    #[must_use]
    pub fn transitions(&self) -> usize {
        self.steps.iter().flatten().count()
    }
}

impl CacheEvent {
    /// Name of the event in every output.
    #[must_use]
    pub fn name(self, spec: &Spec) -> String {
        match self {
            CacheEvent::Upgrade(rule) => {
                let rule = &spec.upgrades[usize::from(rule)];
                format!(
                    "{}_to_{}",
                    capital(&rule.trigger.to_string()),
                    spec.state(rule.to).name
                )
            }
            CacheEvent::Downgrade(rule) => {
                let rule = &spec.downgrades[usize::from(rule)];
                format!("Evict_to_{}", spec.state(rule.to).name)
            }
            CacheEvent::Access(rule) => {
                let rule = &spec.accesses[usize::from(rule)];
                format!("Uncached_{}", rule.kind)
            }
            CacheEvent::Store => "Store_hit".to_owned(),
            CacheEvent::Receive(message) => spec.message(message).name.clone(),
        }
    }
}

/// The directory's state machine for a fixed number of caches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directory {
    /// Number of caches.
    pub caches: usize,
    /// States; the first is the initial one: no cache has a copy and no transaction is under way.
    pub states: Vec<DirState>,
    /// Events, one per column.
    pub events: Vec<DirEvent>,
    /// Cells, row by row.
    pub cells: Vec<Cell>,
    /// By state and permutation of the caches (see [`permutations`]): the state's image.
    pub images: Vec<u32>,
}

/// A state of a line in the directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DirState {
    /// Name, an identifier.
    pub name: String,
    /// Whether no transaction is under way, so that one may start.
    pub stable: bool,
    /// Whether an application holds the lock.
    pub locked: bool,
    /// By cache: the strongest level that it may have.
    pub levels: Vec<StateId>,
    /// By cache: a number that follows the cache when caches are permuted.
    pub roles: Vec<u32>,
}

/// An event of a line in the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DirEvent {
    /// A message of a cache arrives.
    Receive {
        /// Index of the sender.
        cache: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// The application on the card, or the directory itself, requests an operation.
    Operation(OpId),
    /// Memory returned the line.
    ReadDone,
    /// Memory accepted the line.
    WriteDone,
}

/// The outcome of an event at the directory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Cell {
    /// The event cannot happen in this state: a protocol error.
    Unexpected,
    /// The event stalls until the line's state changes. Only requests and operations stall.
    Stall,
    /// One step.
    Go {
        /// Next state, a position in [`Directory::states`].
        next: u32,
        /// Actions of the step.
        actions: Actions,
    },
}

/// The actions of one step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Actions {
    /// Messages to send. A message with data carries the line returned by the memory read of this event.
    pub sends: Vec<Send>,
    /// Memory access to start.
    pub memory: MemoryAccess,
    /// Acknowledge the operation that is under way (or that is the event).
    pub done: bool,
}

/// A message to a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Send {
    /// Receiving cache.
    pub cache: u8,
    /// Identifier of the message.
    pub message: MsgId,
}

/// A memory access of the directory. A line has at most one under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MemoryAccess {
    /// No memory access.
    #[default]
    None,
    /// Read the line.
    Read,
    /// Write the payload of the message that is the event.
    WritePayload,
    /// Write the payload of the request that the line holds (or that is the event).
    WriteHeld,
    /// Write the data of the operation that is under way (or that is the event).
    WriteOperation,
}

impl MemoryAccess {
    /// All values, in the order of their codes.
    pub const ALL: [MemoryAccess; 5] = [
        MemoryAccess::None,
        MemoryAccess::Read,
        MemoryAccess::WritePayload,
        MemoryAccess::WriteHeld,
        MemoryAccess::WriteOperation,
    ];

    /// Name in every output.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            MemoryAccess::None => "None",
            MemoryAccess::Read => "Read",
            MemoryAccess::WritePayload => "WritePayload",
            MemoryAccess::WriteHeld => "WriteHeld",
            MemoryAccess::WriteOperation => "WriteOperation",
        }
    }
}

impl Directory {
    /// The cell of a state and an event (both by position).
    #[must_use]
    pub fn cell(&self, state: usize, event: usize) -> &Cell {
        &self.cells[state * self.events.len() + event]
    }

    /// The column of an event.
    #[must_use]
    pub fn column(&self, event: DirEvent) -> Option<usize> {
        self.events.iter().position(|&e| e == event)
    }

    /// Number of defined steps; stalls do not count.
    #[must_use]
    pub fn transitions(&self) -> usize {
        self.cells
            .iter()
            .filter(|c| matches!(c, Cell::Go { .. }))
            .count()
    }

    /// Number of cells that stall.
    #[must_use]
    pub fn stalls(&self) -> usize {
        self.cells
            .iter()
            .filter(|c| matches!(c, Cell::Stall))
            .count()
    }
}

impl DirEvent {
    /// Name of the event in every output; the cache is named only if there are several.
    #[must_use]
    pub fn name(self, spec: &Spec, caches: usize) -> String {
        match self {
            DirEvent::Receive { cache, message } if caches > 1 => {
                format!("{}_from_{cache}", spec.message(message).name)
            }
            DirEvent::Receive { message, .. } => spec.message(message).name.clone(),
            DirEvent::Operation(op) => {
                format!("Op_{}", spec.operations[op.index()].name)
            }
            DirEvent::ReadDone => "Read_done".to_owned(),
            DirEvent::WriteDone => "Write_done".to_owned(),
        }
    }
}

/// All permutations of `count` caches, the identity first: `p[new] = old`.
#[must_use]
pub fn permutations(count: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        all = all
            .into_iter()
            .flat_map(|head: Vec<usize>| {
                let free: Vec<usize> = (0..count).filter(|i| !head.contains(i)).collect();
                free.into_iter()
                    .map(move |i| [head.as_slice(), &[i]].concat())
            })
            .collect();
    }
    all
}

/// `word` with its first letter in upper case.
#[must_use]
pub fn capital(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
