//! The home agent: one track per cache, the transaction under way, the memory access under way.
//!
//! One function, [`DirectoryBuilder::handle`], defines the home's step on an event; exploring it from the initial state gives
//! the table. The order of actions:
//!
//! * copies beyond those that a grant or an operation tolerates are recalled by forwards first, and only when no
//!   downgrade of that cache is known to be in flight (it is awaited instead);
//! * memory is accessed next, one access per line at a time;
//! * the grant, or the acknowledgement, comes last.
//!
//! A request that cannot be served immediately is held in the state (the track records it) while fewer than `hold` are;
//! further requests, and operations during any transaction, stall. Nothing else ever stalls.

use std::collections::{HashMap, HashSet};

use super::track::{Conclusion, TrackId, Tracks};
use super::GenerateError;
use crate::machine::{
    permutations, Actions, CacheMachine, Cell, DirEvent, DirState, Directory, MemoryAccess, Send,
};
use crate::spec::{AccessKind, Effect, MsgId, OpId, Operation, Spec, StateId};

/// Maximum number of caches of a directory.
const MOST_CACHES: usize = 3;
/// Maximum number of states: a larger directory would fit no device and no model.
const MOST_STATES: usize = 200_000;

/// A state of the directory before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct DirectoryKey {
    tracks: [TrackId; MOST_CACHES],
    transaction: Transaction,
    locked: bool,
    memory: MemoryAccess,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Transaction {
    None,
    /// An operation of the application.
    Operation(OpId),
    /// The held request of a cache.
    Serve(u8),
}

enum Reaction {
    Unexpected,
    Stall,
    Go(DirectoryKey, Actions),
}

/// Builds the directory's machine; also returns the number of tracks before and after uniting.
pub(super) fn build(
    spec: &Spec,
    cache: &CacheMachine,
    caches: usize,
) -> Result<(Directory, usize, usize), GenerateError> {
    // First with every belief distinguished, for as few caches as show all of them; then again with compatible beliefs
    // united.
    let mut builder = DirectoryBuilder {
        spec,
        caches: caches.min(2),
        tracks: Tracks::new(spec, cache)?,
    };
    explore(&mut builder)?;
    let beliefs = builder.tracks.len();
    let mut builder = DirectoryBuilder {
        spec,
        caches,
        tracks: builder.tracks.united(),
    };
    Ok((explore(&mut builder)?, beliefs, builder.tracks.len()))
}

fn explore(builder: &mut DirectoryBuilder<'_>) -> Result<Directory, GenerateError> {
    let caches = builder.caches;
    let events = builder.events();
    let start = DirectoryKey {
        tracks: [0; MOST_CACHES],
        transaction: Transaction::None,
        locked: false,
        memory: MemoryAccess::None,
    };
    let mut keys = vec![start];
    let mut numbers = HashMap::from([(start, 0u32)]);
    let mut cells = Vec::new();
    let mut done = 0;
    while let Some(&key) = keys.get(done) {
        for &event in &events {
            cells.push(match builder.handle(key, event)? {
                Reaction::Unexpected => Cell::Unexpected,
                Reaction::Stall => Cell::Stall,
                Reaction::Go(next, actions) => {
                    let fresh = keys.len() as u32;
                    let next = *numbers.entry(next).or_insert_with(|| {
                        keys.push(next);
                        fresh
                    });
                    Cell::Go { next, actions }
                }
            });
        }
        done += 1;
        if keys.len() > MOST_STATES {
            return Err(GenerateError::TooLarge {
                what: "states",
                limit: MOST_STATES,
            });
        }
    }
    let mut states: Vec<DirState> = keys.iter().map(|&key| builder.describe(key)).collect();
    make_names_unique(&mut states);
    let orders = permutations(caches);
    let images = keys
        .iter()
        .flat_map(|&key| orders.iter().map(move |order| permuted(key, order)))
        .map(|key| numbers.get(&key).copied().unwrap_or(0))
        .collect();
    Ok(Directory {
        caches,
        states,
        events,
        cells,
        images,
    })
}

/// Distinct states with equal names get a number.
fn make_names_unique(states: &mut [DirState]) {
    let mut taken = HashSet::new();
    for state in states {
        let base = state.name.clone();
        let mut number = 2;
        while !taken.insert(state.name.clone()) {
            state.name = format!("{base}_{number}");
            number += 1;
        }
    }
}

/// The key with cache `order[i]` renamed to `i`.
fn permuted(key: DirectoryKey, order: &[usize]) -> DirectoryKey {
    let mut image = key;
    for (new, &old) in order.iter().enumerate() {
        image.tracks[new] = key.tracks[old];
        if key.transaction == Transaction::Serve(old as u8) {
            image.transaction = Transaction::Serve(new as u8);
        }
    }
    image
}

struct DirectoryBuilder<'a> {
    spec: &'a Spec,
    caches: usize,
    tracks: Tracks<'a>,
}

impl DirectoryBuilder<'_> {
    fn events(&self) -> Vec<DirEvent> {
        let mut events = Vec::new();
        for cache in 0..self.caches as u8 {
            let arriving = self
                .spec
                .message_ids()
                .filter(|&m| self.spec.message(m).to_home);
            events.extend(arriving.map(|message| DirEvent::Receive { cache, message }));
        }
        events.extend(self.spec.operation_ids().map(DirEvent::Operation));
        events.extend([DirEvent::ReadDone, DirEvent::WriteDone]);
        events
    }

    fn track(&self, key: &DirectoryKey, cache: usize) -> &Conclusion {
        &self.tracks.get(key.tracks[cache]).facts
    }

    fn handle(&mut self, key: DirectoryKey, event: DirEvent) -> Result<Reaction, GenerateError> {
        match event {
            DirEvent::Receive { cache, message } => self.receive(key, cache, message),
            DirEvent::Operation(op) => self.operation(key, op),
            DirEvent::ReadDone if key.memory == MemoryAccess::Read => self.read_done(key),
            DirEvent::WriteDone
                if !matches!(key.memory, MemoryAccess::None | MemoryAccess::Read) =>
            {
                self.write_done(key)
            }
            DirEvent::ReadDone | DirEvent::WriteDone => Ok(Reaction::Unexpected),
        }
    }

    fn receive(
        &mut self,
        mut key: DirectoryKey,
        cache: u8,
        message: MsgId,
    ) -> Result<Reaction, GenerateError> {
        let slot = usize::from(cache);
        let before = key;
        let Some(next) = self.tracks.receive(key.tracks[slot], message)? else {
            return Ok(Reaction::Unexpected);
        };
        key.tracks[slot] = next;
        let mut actions = Actions::default();
        if self.spec.is_request(message) {
            let held = (0..self.caches)
                .filter(|&i| self.track(&before, i).held.is_some())
                .count();
            let idle = key.transaction == Transaction::None
                && key.memory == MemoryAccess::None
                && !key.locked;
            let at_once = held == 0 && idle && self.tracks.get(next).facts.answerable;
            if held >= self.spec.hold && !at_once {
                return Ok(Reaction::Stall);
            }
        } else if self.spec.is_copy(message) {
            if self.may_pass_on(&key) {
                if let Transaction::Serve(reader) = key.transaction {
                    self.grant(&mut key, reader, &mut actions)?;
                }
            }
        } else if self.spec.message(message).data {
            if key.memory != MemoryAccess::None {
                return Err(GenerateError::DataWhileBusy {
                    state: self.describe(before).name,
                    message: self.spec.message(message).name.clone(),
                });
            }
            key.memory = MemoryAccess::WritePayload;
            actions.memory = MemoryAccess::WritePayload;
        }
        let answer = self
            .spec
            .downgrades
            .iter()
            .find(|d| d.message == Some(message))
            .and_then(|d| d.answer);
        if let Some(answer) = answer {
            key.tracks[slot] = self.tracks.send(key.tracks[slot], answer)?;
            actions.sends.push(Send {
                cache,
                message: answer,
            });
        }
        self.advance(before, key, actions)
    }

    fn operation(&mut self, mut key: DirectoryKey, op: OpId) -> Result<Reaction, GenerateError> {
        let operation = &self.spec.operations[op.index()];
        let free = key.transaction == Transaction::None && key.memory == MemoryAccess::None;
        let quiet = (0..self.caches).all(|i| {
            let track = self.track(&key, i);
            !track.forwarded
                && (track.held.is_none() || key.locked)
                && (track.ready || self.satisfied(track, operation))
        });
        if !free || !quiet || (operation.internal && key.locked) {
            return Ok(Reaction::Stall);
        }
        let before = key;
        key.transaction = Transaction::Operation(op);
        self.advance(before, key, Actions::default())
    }

    fn read_done(&mut self, mut key: DirectoryKey) -> Result<Reaction, GenerateError> {
        let before = key;
        key.memory = MemoryAccess::None;
        let mut actions = Actions::default();
        match key.transaction {
            Transaction::Serve(cache) => self.grant(&mut key, cache, &mut actions)?,
            Transaction::Operation(_) => {
                actions.done = true;
                key.transaction = Transaction::None;
            }
            Transaction::None => return Ok(Reaction::Unexpected),
        }
        self.advance(before, key, actions)
    }

    fn write_done(&mut self, mut key: DirectoryKey) -> Result<Reaction, GenerateError> {
        let before = key;
        let mut actions = Actions::default();
        match (key.memory, key.transaction) {
            (MemoryAccess::WriteHeld, Transaction::Serve(cache)) => {
                self.grant(&mut key, cache, &mut actions)?;
            }
            (MemoryAccess::WriteOperation, _) => {
                actions.done = true;
                key.transaction = Transaction::None;
            }
            _ => {}
        }
        key.memory = MemoryAccess::None;
        self.advance(before, key, actions)
    }

    /// Answers the held request of a cache, which ends its transaction.
    fn grant(
        &mut self,
        key: &mut DirectoryKey,
        cache: u8,
        actions: &mut Actions,
    ) -> Result<(), GenerateError> {
        let slot = usize::from(cache);
        if let Some(message) = self.tracks.grant(key.tracks[slot]) {
            key.tracks[slot] = self.tracks.send(key.tracks[slot], message)?;
            actions.sends.push(Send { cache, message });
        }
        key.transaction = Transaction::None;
        Ok(())
    }

    /// Performs all steps that are possible now, up to the next event that is needed.
    fn advance(
        &mut self,
        before: DirectoryKey,
        mut key: DirectoryKey,
        mut actions: Actions,
    ) -> Result<Reaction, GenerateError> {
        while key.memory == MemoryAccess::None {
            match key.transaction {
                Transaction::None => {
                    let waiting = (0..self.caches).find(|&i| self.track(&key, i).answerable);
                    match waiting {
                        Some(cache) if !key.locked => {
                            key.transaction = Transaction::Serve(cache as u8);
                        }
                        _ => break,
                    }
                }
                Transaction::Operation(op) => {
                    let operation = self.spec.operations[op.index()].clone();
                    let most = operation.at_most;
                    if !self.fetch(&mut key, most, None, &mut actions)? {
                        break;
                    }
                    self.finish_operation(&mut key, &operation, &mut actions);
                }
                Transaction::Serve(cache) => {
                    let most = self.tolerated(&key, cache);
                    if !self.fetch(&mut key, Some(most), Some(cache), &mut actions)? {
                        break;
                    }
                    if self.needs_data(&key, cache) {
                        if let Some(owner) = self.owner(&key, cache) {
                            self.ask_owner(&mut key, owner, &mut actions)?;
                            break;
                        }
                    }
                    self.finish_request(&mut key, cache, &mut actions)?;
                }
            }
        }
        let mut targets: Vec<u8> = actions.sends.iter().map(|s| s.cache).collect();
        targets.sort_unstable();
        targets.dedup();
        if targets.len() != actions.sends.len() {
            return Err(GenerateError::TwoSends {
                state: self.describe(before).name,
            });
        }
        actions.sends.sort_unstable();
        Ok(Reaction::Go(key, actions))
    }

    /// Makes every cache but one give up its rights beyond `most`; returns true when all have.
    fn fetch(
        &mut self,
        key: &mut DirectoryKey,
        most: Option<StateId>,
        except: Option<u8>,
        actions: &mut Actions,
    ) -> Result<bool, GenerateError> {
        let Some(most) = most else { return Ok(true) };
        let mut all = true;
        for slot in 0..self.caches {
            if except == Some(slot as u8) || self.keeps_at_most(self.track(key, slot), most) {
                continue;
            }
            all = false;
            let track = self.track(key, slot);
            let (level, ready) = (track.level, track.ready && !track.forwarded);
            if !ready || level <= self.spec.state(most).level {
                continue;
            }
            if let Some(forward) = self.spec.forward(level, most) {
                key.tracks[slot] = self.tracks.send(key.tracks[slot], forward.message)?;
                actions.sends.push(Send {
                    cache: slot as u8,
                    message: forward.message,
                });
            }
        }
        Ok(all)
    }

    /// Whether the copy that just arrived may answer the request being served: all other caches have given up enough.
    fn may_pass_on(&self, key: &DirectoryKey) -> bool {
        let Transaction::Serve(reader) = key.transaction else {
            return false;
        };
        let most = self.tolerated(key, reader);
        let mut others = (0..self.caches).filter(|&slot| slot != usize::from(reader));
        let quiet = others.all(|slot| self.keeps_at_most(self.track(key, slot), most));
        quiet && self.needs_data(key, reader)
    }

    /// Whether the held request of a cache is answered with data that the request does not carry.
    fn needs_data(&self, key: &DirectoryKey, cache: u8) -> bool {
        let id = key.tracks[usize::from(cache)];
        let held = self.tracks.get(id).facts.held;
        let answer = self.tracks.grant(id);
        self.access(held) != Some(AccessKind::Write)
            && answer.is_some_and(|message| self.spec.message(message).data)
    }

    /// The cache other than `reader` whose copy is newer than memory.
    fn owner(&self, key: &DirectoryKey, reader: u8) -> Option<usize> {
        let owned = self.spec.owned()?;
        let mut others = (0..self.caches).filter(|&slot| slot != usize::from(reader));
        others.find(|&slot| self.track(key, slot).level == owned)
    }

    /// Asks the owner of the latest value for a copy.
    fn ask_owner(
        &mut self,
        key: &mut DirectoryKey,
        owner: usize,
        actions: &mut Actions,
    ) -> Result<(), GenerateError> {
        let (level, ready) = (self.track(key, owner).level, self.track(key, owner).ready);
        let forward = self.spec.forward(level, level).filter(|_| ready);
        if let Some(message) = forward.map(|forward| forward.message) {
            key.tracks[owner] = self.tracks.send(key.tracks[owner], message)?;
            actions.sends.push(Send {
                cache: owner as u8,
                message,
            });
        }
        Ok(())
    }

    fn finish_operation(
        &self,
        key: &mut DirectoryKey,
        operation: &Operation,
        actions: &mut Actions,
    ) {
        match operation.effect {
            Effect::Read => {
                key.memory = MemoryAccess::Read;
                actions.memory = MemoryAccess::Read;
                return;
            }
            Effect::Write => {
                key.memory = MemoryAccess::WriteOperation;
                actions.memory = MemoryAccess::WriteOperation;
                return;
            }
            Effect::Lock => key.locked = true,
            Effect::Unlock => key.locked = false,
            Effect::Nothing => {}
        }
        actions.done = true;
        key.transaction = Transaction::None;
    }

    fn finish_request(
        &mut self,
        key: &mut DirectoryKey,
        cache: u8,
        actions: &mut Actions,
    ) -> Result<(), GenerateError> {
        let id = key.tracks[usize::from(cache)];
        let held = self.tracks.get(id).facts.held;
        if self.access(held) == Some(AccessKind::Write) {
            key.memory = MemoryAccess::WriteHeld;
        } else if self.needs_data(key, cache) {
            key.memory = MemoryAccess::Read;
        } else {
            return self.grant(key, cache, actions);
        }
        actions.memory = key.memory;
        Ok(())
    }

    /// Maximum rights of the other caches while `cache` gets what its held request asks for.
    fn tolerated(&self, key: &DirectoryKey, cache: u8) -> StateId {
        let held = self.track(key, usize::from(cache)).held;
        match self.access(held) {
            Some(AccessKind::Read) => self.spec.strongest_reader(),
            Some(AccessKind::Write) => Spec::NO_COPY,
            None => {
                let upgrades = self
                    .spec
                    .upgrades
                    .iter()
                    .filter(|u| Some(u.request) == held);
                let most = upgrades.map(|u| self.spec.others_beside(u.to));
                most.min().unwrap_or(Spec::NO_COPY)
            }
        }
    }

    fn access(&self, request: Option<MsgId>) -> Option<AccessKind> {
        self.spec
            .accesses
            .iter()
            .find(|a| Some(a.request) == request)
            .map(|a| a.kind)
    }

    fn satisfied(&self, track: &Conclusion, operation: &Operation) -> bool {
        operation
            .at_most
            .is_none_or(|most| self.keeps_at_most(track, most))
    }

    fn keeps_at_most(&self, track: &Conclusion, most: StateId) -> bool {
        !track.forwarded && !track.data_in_flight_beyond(self.spec, most)
    }

    fn describe(&self, key: DirectoryKey) -> DirState {
        let mut name = (0..self.caches)
            .map(|i| self.tracks.get(key.tracks[i]).name.as_str())
            .collect::<Vec<_>>()
            .join("__");
        if key.locked {
            name.push_str("_locked");
        }
        match key.transaction {
            Transaction::None => {}
            Transaction::Operation(op) => {
                name.push_str("_op_");
                name.push_str(&self.spec.operations[op.index()].name);
            }
            Transaction::Serve(cache) if self.caches > 1 => {
                name.push_str(&format!("_serve_{cache}"));
            }
            Transaction::Serve(_) => {}
        }
        name.push_str(match key.memory {
            MemoryAccess::None => "",
            MemoryAccess::Read => "_reading",
            MemoryAccess::WritePayload => "_writing_back",
            MemoryAccess::WriteHeld | MemoryAccess::WriteOperation => "_writing",
        });
        let stable = key.transaction == Transaction::None
            && key.memory == MemoryAccess::None
            && (0..self.caches).all(|i| {
                let track = self.track(&key, i);
                track.ready && !track.forwarded && track.held.is_none()
            });
        let roles = (0..self.caches)
            .map(|i| {
                let serves = key.transaction == Transaction::Serve(i as u8);
                u32::from(key.tracks[i]) << 1 | u32::from(serves)
            })
            .collect();
        let levels = (0..self.caches)
            .map(|i| self.track(&key, i).level)
            .collect();
        DirState {
            name,
            stable,
            locked: key.locked,
            levels,
            roles,
        }
    }
}

impl Conclusion {
    /// Whether the cache may have, get, or still be sending back more than `most`.
    fn data_in_flight_beyond(&self, spec: &Spec, most: StateId) -> bool {
        // An owner may send its data back at any time; a request for a copy reveals it.
        let owns = Some(self.level) == spec.owned();
        self.level > spec.state(most).level || self.data_in_flight && !owns
    }
}
