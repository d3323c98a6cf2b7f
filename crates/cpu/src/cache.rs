//! The CPU's last-level cache: the generated cache machine, one copy per line, with sets and ways.
//!
//! Received messages are accepted immediately, so the link never waits for the CPU. Sent messages wait in unbounded
//! queues (the write buffer).

use std::collections::{HashMap, VecDeque};

use protocol::generate::Protocol;
use protocol::machine::CacheEvent;
use protocol::spec::{AccessKind, MsgId, Trigger};

use crate::message::Message;
use units::line::{merge_parts, write_bytes, write_parts, Data, FoldedLine, WORDS};

/// Default number of outstanding requests of a slice's CPU side: five bits of the link's header.
pub const REQUESTS: u8 = 32;

/// Access of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read the line.
    Load,
    /// Write `stamp` into these parts of the line.
    Store {
        /// Mask, one bit per part.
        parts: u8,
        /// Stamp to write.
        stamp: u64,
    },
    /// Write these bytes of the line.
    StoreBytes {
        /// Mask, one bit per byte.
        mask: u128,
        /// Line with the bytes at their offsets.
        data: Data,
    },
    /// Hint: the line will be read.
    PrefetchShared,
    /// Hint: the line will be written.
    PrefetchExclusive,
    /// Evict the line, writing dirty data home.
    Flush,
    /// Write dirty data of the line home, and keep a copy.
    Clean,
    /// Read without keeping a copy.
    UncachedRead,
    /// Write these parts without keeping a copy.
    UncachedWrite {
        /// Mask, one bit per part.
        parts: u8,
        /// Stamp to write.
        stamp: u64,
    },
}

impl Access {
    /// Performs a store to a line that the cache may write; returns whether there was one.
    fn write(self, line: &mut Data) -> bool {
        match self {
            Self::Store { parts, stamp } => write_parts(line, parts, stamp),
            Self::StoreBytes { mask, data } => write_bytes(line, mask, &data),
            _ => return false,
        }
        true
    }
}

/// Result of an access.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Complete; the line after the access.
    Hit(Box<Data>),
    /// Under way; a [`Completion`] will follow.
    Started,
    /// Not possible now: the line, its set or all request numbers are busy, or the access does not fit the line's
    /// state.
    Busy,
}

/// Completion of an access that returned [`Outcome::Started`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    /// Token of the core.
    pub token: u64,
    /// The line as the access saw or left it.
    pub data: Box<Data>,
    /// The home answered with an error; the data is invalid, and the line is not kept.
    pub poisoned: bool,
}

/// A message that the cache's machine does not define in its state.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the cache, in state {state}, received {message} for line {line:#x}")]
pub struct Unexpected {
    /// State of the line.
    pub state: String,
    /// Name of the message.
    pub message: String,
    /// Folded number of the line.
    pub line: u64,
}

#[derive(Debug)]
struct Entry {
    state: usize,
    data: Box<Data>,
    used: u64,
    /// Number of the request under way, which identifies its access.
    request: u8,
    token: u64,
    access: Access,
    /// Whether it takes a way of its set.
    resident: bool,
    /// Whether its data is invalid.
    poisoned: bool,
}

/// The CPU's last-level cache.
#[derive(Debug)]
pub struct Cache {
    protocol: Protocol,
    sets: Vec<Vec<u64>>,
    ways: usize,
    slices: usize,
    lines: HashMap<u64, Entry>,
    requests: u8,
    free: Vec<Vec<u8>>,
    clock: u64,
    /// Ways of a set that are emptied before a miss needs them; initially 0.
    pub evict_ahead: usize,
    /// Messages to send, by lane.
    pub out: Vec<VecDeque<Message>>,
    /// Completed accesses.
    pub completed: Vec<Completion>,
}

/// Free request numbers; the next one is last.
fn free_numbers(requests: u8) -> Vec<u8> {
    match requests > REQUESTS {
        // The highest first, so that a small number of requests also uses numbers of six bits.
        true => (0..requests).collect(),
        false => (0..requests).rev().collect(),
    }
}

impl Cache {
    /// An empty cache of this many sets and ways.
    #[must_use]
    pub fn new(protocol: Protocol, sets: usize, ways: usize, slices: usize) -> Self {
        let lanes = slices * protocol.spec.classes.len();
        Self {
            protocol,
            sets: vec![Vec::new(); sets],
            ways,
            slices,
            lines: HashMap::new(),
            requests: REQUESTS,
            free: vec![free_numbers(REQUESTS); slices],
            clock: 0,
            evict_ahead: 0,
            out: (0..lanes).map(|_| VecDeque::new()).collect(),
            completed: Vec::new(),
        }
    }

    /// The same cache, empty, with another number of outstanding requests per slice. The directory must support as many
    /// (`TMB_REQUEST_ID_WIDTH`).
    #[must_use]
    pub fn with_requests(self, requests: u8) -> Self {
        Self {
            requests,
            free: vec![free_numbers(requests); self.slices],
            ..self
        }
    }

    /// The directory has been reset and records no copies: empties the cache. Accesses under way do not complete.
    pub fn forget(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        self.lines.clear();
        self.free = vec![free_numbers(self.requests); self.slices];
        self.out.iter_mut().for_each(VecDeque::clear);
        self.completed.clear();
    }

    /// Starts an access; `token` is returned with its completion.
    pub fn access(&mut self, line: FoldedLine, access: Access, token: u64) -> Outcome {
        self.clock += 1;
        let state = self.lines.get(&line.0).map_or(0, |entry| entry.state);
        let machine = &self.protocol.cache;
        let spec = &self.protocol.spec;
        let about = &machine.states[state];
        if !about.stable {
            return Outcome::Busy;
        }
        match access {
            Access::Flush => return self.flush(line),
            Access::Clean => return self.clean(line),
            _ => {}
        }
        let rights = spec.state(about.copy);
        let hit = match access {
            Access::Load | Access::PrefetchShared | Access::PrefetchExclusive => rights.read,
            Access::Store { .. } | Access::StoreBytes { .. } => rights.write,
            Access::Flush | Access::Clean | Access::UncachedRead | Access::UncachedWrite { .. } => {
                false
            }
        };
        if hit {
            return self.hit(line, access);
        }
        let wanted = |event: &CacheEvent| match (*event, access) {
            (CacheEvent::Upgrade(rule), _) => {
                let trigger = spec.upgrades[usize::from(rule)].trigger;
                match access {
                    Access::Load | Access::PrefetchShared => trigger == Trigger::Load,
                    Access::Store { .. } | Access::StoreBytes { .. } => trigger == Trigger::Store,
                    Access::PrefetchExclusive => trigger == Trigger::Prefetch,
                    _ => false,
                }
            }
            (CacheEvent::Access(rule), Access::UncachedRead) => {
                spec.accesses[usize::from(rule)].kind == AccessKind::Read
            }
            (CacheEvent::Access(rule), Access::UncachedWrite { .. }) => {
                spec.accesses[usize::from(rule)].kind == AccessKind::Write
            }
            _ => false,
        };
        let step = (0..machine.events.len())
            .filter(|&column| wanted(&machine.events[column]))
            .find_map(|column| machine.step(state, column));
        let Some(step) = step else {
            return Outcome::Busy;
        };
        let slice = line.slice(self.slices);
        let uncached = matches!(access, Access::UncachedRead | Access::UncachedWrite { .. });
        if self.free[slice].is_empty()
            || (state == 0 && !uncached && !self.make_room(line, self.ways))
        {
            return Outcome::Busy;
        }
        let Some(request) = self.free[slice].pop() else {
            return Outcome::Busy;
        };
        let clock = self.clock;
        let entry = self.lines.entry(line.0).or_insert_with(|| Entry {
            state: 0,
            data: Box::new([0; WORDS]),
            used: clock,
            request,
            token,
            access,
            resident: false,
            poisoned: false,
        });
        entry.state = step.next;
        entry.used = clock;
        entry.request = request;
        entry.token = token;
        entry.access = access;
        if !uncached && !entry.resident {
            entry.resident = true;
            let set = line.0 as usize % self.sets.len();
            self.sets[set].push(line.0);
        }
        let (mut parts, mut payload) = (0xf, None);
        if let Access::UncachedWrite { parts: mask, stamp } = access {
            let mut data = Box::new([0; WORDS]);
            write_parts(&mut data, mask, stamp);
            (parts, payload) = (mask, Some(data));
        }
        if let Some(id) = step.send {
            self.send(Message {
                id,
                request,
                parts,
                line,
                poisoned: false,
                data: payload,
            });
        }
        if !uncached && self.evict_ahead > 0 {
            self.make_room(line, self.ways + 1 - self.evict_ahead.min(self.ways));
        }
        Outcome::Started
    }

    fn hit(&mut self, line: FoldedLine, access: Access) -> Outcome {
        let machine = &self.protocol.cache;
        let clock = self.clock;
        let Some(entry) = self.lines.get_mut(&line.0) else {
            return Outcome::Busy;
        };
        entry.used = clock;
        if access.write(&mut entry.data) {
            let store = machine.column(CacheEvent::Store);
            if let Some(step) = store.and_then(|column| machine.step(entry.state, column)) {
                entry.state = step.next;
            }
        }
        Outcome::Hit(entry.data.clone())
    }

    /// Evicts a line that is in a stable state; returns the line as it was, or zeroes if it is not cached.
    fn flush(&mut self, line: FoldedLine) -> Outcome {
        let Some(entry) = self.lines.get(&line.0) else {
            return Outcome::Hit(Box::new([0; WORDS]));
        };
        let data = entry.data.clone();
        match self.downgrade(line, 0) {
            true => Outcome::Hit(data),
            false => Outcome::Busy,
        }
    }

    /// Writes dirty data of a line in a stable state home; the cache keeps the strongest copy that is not dirty.
    /// Returns the line, or zeroes if it is not cached.
    fn clean(&mut self, line: FoldedLine) -> Outcome {
        let Some(entry) = self.lines.get(&line.0) else {
            return Outcome::Hit(Box::new([0; WORDS]));
        };
        let data = entry.data.clone();
        let states = &self.protocol.spec.states;
        let copy = self.protocol.cache.states[entry.state].copy;
        if !states[copy.index()].dirty {
            return Outcome::Hit(data);
        }
        let kept: Vec<usize> = (0..states.len())
            .rev()
            .filter(|copy| !states[*copy].dirty)
            .collect();
        match kept.into_iter().any(|to| self.downgrade(line, to)) {
            true => Outcome::Hit(data),
            false => Outcome::Busy,
        }
    }

    /// Evicts until the line's set has fewer than `limit` lines; false if all its lines are busy.
    fn make_room(&mut self, line: FoldedLine, limit: usize) -> bool {
        let set = line.0 as usize % self.sets.len();
        while self.sets[set].len() >= limit {
            let states = &self.protocol.cache.states;
            let idle = |line: &&u64| states[self.lines[*line].state].stable;
            let oldest = self.sets[set]
                .iter()
                .filter(idle)
                .min_by_key(|l| self.lines[*l].used);
            let Some(&oldest) = oldest else { return false };
            if !self.downgrade(FoldedLine(oldest), 0) {
                return false;
            }
        }
        true
    }

    /// Downgrades a copy to the state numbered `to` (0: no copy); returns false if no rule allows it.
    pub fn downgrade(&mut self, line: FoldedLine, to: usize) -> bool {
        let machine = &self.protocol.cache;
        let Some(entry) = self.lines.get(&line.0) else {
            return false;
        };
        let found = machine
            .events
            .iter()
            .enumerate()
            .find_map(|(column, event)| {
                let CacheEvent::Downgrade(_) = event else {
                    return None;
                };
                let step = machine.step(entry.state, column)?;
                (machine.states[step.next].copy.index() == to).then_some(step)
            });
        let Some(step) = found else { return false };
        self.apply(line, step.next, step.send);
        true
    }

    /// Receives a message of the home.
    ///
    /// # Errors
    /// [`Unexpected`].
    pub fn receive(&mut self, message: Message) -> Result<(), Unexpected> {
        let line = message.line;
        let machine = &self.protocol.cache;
        let state = self.lines.get(&line.0).map_or(0, |entry| entry.state);
        let column = machine.column(CacheEvent::Receive(message.id));
        let Some(step) = column.and_then(|column| machine.step(state, column)) else {
            let spec = &self.protocol.spec;
            let known = spec.messages.get(message.id.index());
            return Err(Unexpected {
                state: machine.states[state].name.clone(),
                message: known.map_or_else(|| message.id.0.to_string(), |m| m.name.clone()),
                line: line.0,
            });
        };
        let forward = self
            .protocol
            .spec
            .forwards
            .iter()
            .any(|f| f.message == message.id);
        // A message that is not a forward answers the line's request, by its number.
        let asked = self.lines.get(&line.0).map(|entry| entry.request);
        if let Some(asked) = asked.filter(|asked| !forward && *asked != message.request) {
            let name = &self.protocol.spec.message(message.id).name;
            return Err(Unexpected {
                state: machine.states[state].name.clone(),
                message: format!("{name} for request {}, not {asked},", message.request),
                line: line.0,
            });
        }
        if let (Some(entry), Some(data)) = (self.lines.get_mut(&line.0), message.data) {
            merge_parts(&mut entry.data, message.parts, &data);
        }
        let poisoned = message.poisoned && !forward;
        if let Some(entry) = self.lines.get_mut(&line.0) {
            entry.poisoned |= poisoned;
        }
        let mut next = step.next;
        if let (true, true, Some(store)) = (poisoned, step.store, machine.column(CacheEvent::Store))
        {
            // The store is not performed: the copy is as clean as before one, if the protocol has such a state.
            let leads_there = |state: &usize| {
                let about = &machine.states[*state];
                let after = machine.step(*state, store).map(|after| after.next);
                about.stable && *state != next && after == Some(next)
            };
            let clean = (0..machine.states.len()).find(leads_there);
            next = clean.unwrap_or(next);
        }
        if let (Some(entry), true) = (self.lines.get_mut(&line.0), step.store && !poisoned) {
            let access = entry.access;
            access.write(&mut entry.data);
        }
        if !forward {
            if let Some(entry) = self.lines.get(&line.0) {
                self.free[line.slice(self.slices)].push(entry.request);
                let (token, data) = (entry.token, entry.data.clone());
                self.completed.push(Completion {
                    token,
                    data,
                    poisoned,
                });
            }
        }
        self.apply(line, next, step.send);
        if poisoned {
            // It is evicted immediately: a later access requests it again.
            self.downgrade(line, 0);
        }
        Ok(())
    }

    fn apply(&mut self, line: FoldedLine, next: usize, send: Option<MsgId>) {
        if let Some(id) = send {
            let carries = self.protocol.spec.message(id).data;
            let entry = self.lines.get(&line.0).filter(|_| carries);
            let poisoned = entry.is_some_and(|entry| entry.poisoned);
            let data = entry.map(|entry| entry.data.clone());
            // Invalid data: no part is written.
            let parts = if data.is_some() && !poisoned { 0xf } else { 0 };
            self.send(Message {
                id,
                request: 0,
                parts,
                line,
                poisoned,
                data,
            });
        }
        if next == 0 {
            if self
                .lines
                .remove(&line.0)
                .is_some_and(|entry| entry.resident)
            {
                let set = line.0 as usize % self.sets.len();
                self.sets[set].retain(|&other| other != line.0);
            }
        } else if let Some(entry) = self.lines.get_mut(&line.0) {
            entry.state = next;
        }
    }

    fn send(&mut self, message: Message) {
        let lane = message.lane(&self.protocol.spec, self.slices);
        self.out[lane].push_back(message);
    }

    /// Whether cores may use a copy of the line now.
    #[must_use]
    pub fn has_copy(&self, line: FoldedLine) -> bool {
        let copy = |entry: &Entry| self.protocol.cache.states[entry.state].copy.index();
        self.lines
            .get(&line.0)
            .is_some_and(|entry| copy(entry) != 0)
    }

    /// Whether cores may read, or write, the line without a message.
    #[must_use]
    pub fn may(&self, line: FoldedLine, write: bool) -> bool {
        let Some(entry) = self.lines.get(&line.0) else {
            return false;
        };
        let about = &self.protocol.cache.states[entry.state];
        let rights = self.protocol.spec.state(about.copy);
        about.stable && if write { rights.write } else { rights.read }
    }

    /// Applies stores that cores made without notifying the cache: to the line, and to messages that have not been
    /// sent.
    pub fn put(&mut self, line: FoldedLine, data: &Data) {
        if let Some(entry) = self.lines.get_mut(&line.0) {
            *entry.data = *data;
        }
        let waiting = self.out.iter_mut().flatten();
        for message in waiting.filter(|message| message.line == line) {
            if let Some(old) = &mut message.data {
                **old = *data;
            }
        }
    }

    /// The cached line, if cores may use it.
    #[must_use]
    pub fn copy(&self, line: FoldedLine) -> Option<&Data> {
        let entry = self.lines.get(&line.0)?;
        self.has_copy(line).then_some(&*entry.data)
    }

    /// Name of a line's state in the protocol.
    #[must_use]
    pub fn state(&self, line: FoldedLine) -> &str {
        let state = self.lines.get(&line.0).map_or(0, |entry| entry.state);
        &self.protocol.cache.states[state].name
    }

    /// The protocol that the cache runs.
    #[must_use]
    pub fn protocol(&self) -> &Protocol {
        &self.protocol
    }

    /// Number of lines with a state.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether no line has a state.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Number of sets.
    #[must_use]
    pub fn sets(&self) -> usize {
        self.sets.len()
    }

    /// Whether the set is full, so that each new line of it evicts one.
    #[must_use]
    pub fn is_full(&self, set: usize) -> bool {
        let kept = self.ways - self.evict_ahead.min(self.ways);
        self.sets[set].len() >= kept
    }

    /// Whether nothing is under way or waits to be sent.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.out.iter().all(VecDeque::is_empty)
            && self
                .free
                .iter()
                .all(|free| free.len() == usize::from(self.requests))
    }
}
