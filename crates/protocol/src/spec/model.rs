//! A specification with resolved names.

use std::fmt;

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub u8);

        impl $name {
            /// Position in the specification's list.
            #[must_use]
            pub fn index(self) -> usize {
                usize::from(self.0)
            }
        }
    };
}

id!(
    /// A stable state: a position in [`Spec::states`].
    StateId
);
id!(
    /// A message: a position in [`Spec::messages`].
    MsgId
);
id!(
    /// A message class: a position in [`Spec::classes`].
    ClassId
);
id!(
    /// A local operation: a position in [`Spec::operations`].
    OpId
);

/// A coherence protocol as its author wrote it: stable states and rules of interaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Name of the protocol.
    pub name: String,
    /// Name of the home agent, which has the memory.
    pub home: String,
    /// Name of a remote agent, which caches.
    pub remote: String,
    /// Stable states, weakest first; the first is "no copy".
    pub states: Vec<State>,
    /// Message classes, one virtual channel each.
    pub classes: Vec<Class>,
    /// All messages.
    pub messages: Vec<MessageType>,
    /// Non-posted transactions of a cache towards a stronger state.
    pub upgrades: Vec<Upgrade>,
    /// Transactions of a cache towards a weaker state.
    pub downgrades: Vec<Downgrade>,
    /// Non-posted transactions of the home that take a copy away.
    pub forwards: Vec<Forward>,
    /// By state: the answer of a cache that has less than a forward expects.
    pub conflicts: Vec<Option<MsgId>>,
    /// Accesses that leave no copy.
    pub accesses: Vec<Access>,
    /// Operations that the application on the card may request.
    pub operations: Vec<Operation>,
    /// Maximum requests of caches that a line holds in its state before it stalls further ones.
    pub hold: usize,
}

/// A stable state of a line in a cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Name, as `S`.
    pub name: String,
    /// Loads hit.
    pub read: bool,
    /// Stores hit.
    pub write: bool,
    /// The state after a store that hit, if it differs.
    pub store_to: Option<StateId>,
    /// Whether the copy differs from memory.
    pub dirty: bool,
    /// Level that the home can distinguish: states that are joined by silent stores share a level, named by its weakest
    /// state.
    pub level: StateId,
}

/// A virtual channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Name, as `request`.
    pub name: String,
    /// Number on the link.
    pub channel: u32,
    /// Whether a receiver may leave a message in the channel. Only requests.
    pub may_stall: bool,
    /// Whether messages carry the line's data.
    pub data: bool,
    /// Whether its buffers have room for every message of every line, so that nothing waits for them.
    pub never_full: bool,
}

/// A message of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageType {
    /// Name, as `ReadShared`.
    pub name: String,
    /// Message class.
    pub class: ClassId,
    /// Whether it carries the line's data (from its class).
    pub data: bool,
    /// Whether it is sent by a cache; otherwise by the home.
    pub to_home: bool,
}

/// Event that makes a cache start an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Trigger {
    /// A load that misses.
    Load,
    /// A store that misses; performed as soon as the answer arrives.
    Store,
    /// A prefetch hint.
    Prefetch,
}

/// Condition under which a grant answers an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GrantWhen {
    /// In the normal case.
    Always,
    /// Only if a forward took the copy that the cache still had at its request.
    Lost,
}

/// An answer to an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grant {
    /// Identifier of the message.
    pub message: MsgId,
    /// Condition of its use.
    pub when: GrantWhen,
}

/// A non-posted transaction of a cache towards a stronger state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upgrade {
    /// State before.
    pub from: StateId,
    /// State after.
    pub to: StateId,
    /// Event that starts it.
    pub trigger: Trigger,
    /// Message that requests it.
    pub request: MsgId,
    /// Grants that answer the request.
    pub grants: Vec<Grant>,
}

/// A transaction of a cache towards a weaker state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Downgrade {
    /// State before.
    pub from: StateId,
    /// State after.
    pub to: StateId,
    /// Message of the downgrade; it carries the data if the state was dirty. `None` for a silent one.
    pub message: Option<MsgId>,
    /// Answer to the message; `None` for a posted one.
    pub answer: Option<MsgId>,
}

/// A non-posted transaction of the home that takes a copy away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forward {
    /// Level that the home believes the cache to have.
    pub from: StateId,
    /// Requested state of a cache whose copy is clean.
    pub to: StateId,
    /// Requested state of a cache whose copy is dirty.
    pub dirty_to: StateId,
    /// The forward message.
    pub message: MsgId,
    /// Answer of a cache whose copy was clean.
    pub answer: MsgId,
    /// Answer of a cache whose copy was dirty.
    pub dirty_answer: MsgId,
}

/// Kind of an access that leaves no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AccessKind {
    /// Returns the line.
    Read,
    /// Replaces the line.
    Write,
}

/// A non-caching access of a cache's CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    /// Read or write.
    pub kind: AccessKind,
    /// Message that requests it.
    pub request: MsgId,
    /// Message that answers the request.
    pub answer: MsgId,
}

/// Effect of a local operation once the caches have given up enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The acknowledgement alone.
    Nothing,
    /// No cache is granted anything until an unlock.
    Lock,
    /// Ends a lock.
    Unlock,
    /// Memory is read for the application.
    Read,
    /// Memory is written by the application.
    Write,
}

/// An operation of the application on the card, or of the directory itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Name, as `clean`.
    pub name: String,
    /// Maximum level that any cache may keep; `None` leaves the caches alone.
    pub at_most: Option<StateId>,
    /// Effect of the operation.
    pub effect: Effect,
    /// Whether the directory itself starts it, to free a way.
    pub internal: bool,
}

impl Forward {
    /// The state that a copy is taken down to.
    #[must_use]
    pub fn leaves(&self, dirty: bool) -> StateId {
        if dirty {
            self.dirty_to
        } else {
            self.to
        }
    }
}

impl Spec {
    /// The state that means "no copy".
    pub const NO_COPY: StateId = StateId(0);

    /// A state by its identifier.
    #[must_use]
    pub fn state(&self, id: StateId) -> &State {
        &self.states[id.index()]
    }

    /// A message by its identifier.
    #[must_use]
    pub fn message(&self, id: MsgId) -> &MessageType {
        &self.messages[id.index()]
    }

    /// The class of a message.
    #[must_use]
    pub fn class_of(&self, id: MsgId) -> &Class {
        &self.classes[self.message(id).class.index()]
    }

    /// Identifiers of all messages.
    pub fn message_ids(&self) -> impl Iterator<Item = MsgId> {
        (0..self.messages.len() as u8).map(MsgId)
    }

    /// Identifiers of all operations.
    pub fn operation_ids(&self) -> impl Iterator<Item = OpId> {
        (0..self.operations.len() as u8).map(OpId)
    }

    /// Whether a message asks the home for something (an upgrade or an access).
    #[must_use]
    pub fn is_request(&self, id: MsgId) -> bool {
        self.upgrades.iter().any(|u| u.request == id)
            || self.accesses.iter().any(|a| a.request == id)
    }

    /// The forward that takes a level down to no more than a state, or that fetches the data of
    /// a state that stays as it is.
    #[must_use]
    pub fn forward(&self, level: StateId, to: StateId) -> Option<&Forward> {
        let takes = |f: &&Forward| f.from == level && f.dirty_to == to;
        self.forwards.iter().find(takes)
    }

    /// The state that is dirty and may not write (*Owned*): others may have the line shared while
    /// memory is old.
    #[must_use]
    pub fn owned(&self) -> Option<StateId> {
        let owned = self.states.iter().position(|s| s.dirty && !s.write)?;
        Some(StateId(owned as u8))
    }

    /// Whether a message brings a copy of data that its sender keeps as the latest value, so that
    /// memory need not take it.
    #[must_use]
    pub fn is_copy(&self, id: MsgId) -> bool {
        let copies = |f: &Forward| f.dirty_answer == id && Some(f.dirty_to) == self.owned();
        self.forwards.iter().any(copies)
    }

    /// Maximum rights of the other caches while one has `state`: single writer, multiple readers.
    #[must_use]
    pub fn others_beside(&self, state: StateId) -> StateId {
        let level = self.state(state).level;
        let writes = self.states.iter().any(|s| s.level == level && s.write);
        if writes {
            Self::NO_COPY
        } else {
            self.strongest_reader()
        }
    }

    /// The strongest level that cannot write.
    #[must_use]
    pub fn strongest_reader(&self) -> StateId {
        let writes = |level| self.states.iter().any(|s| s.level == level && s.write);
        let readers = self
            .states
            .iter()
            .map(|s| s.level)
            .filter(|&level| !writes(level));
        readers.max().unwrap_or(Self::NO_COPY)
    }

    /// The strongest level during which memory has the latest value.
    #[must_use]
    pub fn strongest_clean(&self) -> StateId {
        let unclean = |level| {
            let mut members = self.states.iter().filter(|s| s.level == level);
            members.any(|s| s.write || s.dirty)
        };
        let levels = self.states.iter().map(|s| s.level);
        let clean = levels.filter(|&level| !unclean(level));
        clean.max().unwrap_or(Self::NO_COPY)
    }
}

impl fmt::Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Trigger::Load => "load",
            Trigger::Store => "store",
            Trigger::Prefetch => "prefetch",
        })
    }
}

impl fmt::Display for AccessKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
        })
    }
}
