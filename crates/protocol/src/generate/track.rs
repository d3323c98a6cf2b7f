//! The home's knowledge of one cache.
//!
//! A [`Track`] is a set of *worlds*: a state of the cache together with the messages in flight between it and the home.
//! Sending a message adds it to every world; receiving one keeps only the worlds in which it was in flight. After each,
//! the set is closed under all steps that the cache may start and all arrivals at it, in any order. The set is exact: a
//! world outside it is impossible, so a message that no world contains is a protocol error.

use std::collections::{BTreeSet, HashMap};

use super::unite::{unite, Node};
use super::GenerateError;
use crate::machine::{CacheEvent, CacheMachine, CacheStep};
use crate::spec::{GrantWhen, MsgId, Spec, StateId};

/// Number of a track.
pub(super) type TrackId = u16;

/// State of the cache, and one bit for each message in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct World {
    state: u8,
    flight: u32,
}

/// A belief of the home about one cache.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub name: String,
    pub facts: Conclusion,
}

/// The home's conclusion from the worlds of a track, on which alone its behaviour depends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conclusion {
    /// A forward is unanswered.
    pub forwarded: bool,
    /// A request that arrived and is unanswered.
    pub held: Option<MsgId>,
    /// The held request may be answered now: nothing else is outstanding.
    pub answerable: bool,
    /// The cache certainly still has the copy that it had at its request.
    pub has_copy: bool,
    /// The strongest level that the cache may have, or may be about to get.
    pub level: StateId,
    /// No downgrade is known to be in flight, so a forward may be sent.
    pub ready: bool,
    /// Every world without a downgrade in flight has a grant in flight that the cache will pass on.
    pub passing: bool,
    /// Data of a downgrade may be in flight.
    pub data_in_flight: bool,
}

impl Conclusion {
    /// Nothing is outstanding.
    pub fn is_settled(&self) -> bool {
        self.ready && !self.forwarded && self.held.is_none()
    }

    /// Whether both are equal, ignoring the knowledge that a grant is passed on.
    pub fn nearly_equals(&self, other: &Self) -> bool {
        let plain = |c: &Self| Self {
            ready: c.ready || c.passing,
            passing: false,
            ..c.clone()
        };
        plain(self) == plain(other)
    }
}

/// All tracks found so far, and the steps between them.
pub(super) struct Tracks<'a> {
    spec: &'a Spec,
    cache: &'a CacheMachine,
    worlds: Vec<Vec<World>>,
    tracks: Vec<Track>,
    numbers: HashMap<Vec<World>, TrackId>,
    names: BTreeSet<String>,
    steps: HashMap<(TrackId, MsgId), Option<TrackId>>,
    /// An exact belief contains only possible worlds, so a contradiction in it is a fault of the rules. A union
    /// contains more; a contradiction there only reveals an impossible world.
    exact: bool,
}

/// Maximum number of beliefs about one cache.
const MOST_TRACKS: usize = 20_000;

impl<'a> Tracks<'a> {
    /// Starts with the belief that the cache has nothing and nothing is in flight: track 0.
    pub fn new(spec: &'a Spec, cache: &'a CacheMachine) -> Result<Self, GenerateError> {
        let mut tracks = Self {
            spec,
            cache,
            worlds: Vec::new(),
            tracks: Vec::new(),
            numbers: HashMap::new(),
            names: BTreeSet::new(),
            steps: HashMap::new(),
            exact: true,
        };
        tracks.intern(
            vec![World {
                state: 0,
                flight: 0,
            }],
            "start",
        )?;
        Ok(tracks)
    }

    /// The same beliefs with compatible ones united. A step of a union leads to the union of its members' successors.
    pub fn united(&self) -> Self {
        let step =
            |id: usize, message| self.steps.get(&(id as TrackId, message)).copied().flatten();
        let node = |id: usize| Node {
            conclusion: self.tracks[id].facts.clone(),
            steps: self
                .spec
                .message_ids()
                .map(|message| step(id, message))
                .collect(),
        };
        let groups = unite(&(0..self.len()).map(node).collect::<Vec<_>>());
        let heads: Vec<usize> = (0..self.len()).filter(|&id| groups[id] == id).collect();
        let number = |id: usize| heads.binary_search(&groups[id]).unwrap_or(0);
        let mut next = Self {
            spec: self.spec,
            cache: self.cache,
            worlds: Vec::new(),
            tracks: Vec::new(),
            numbers: HashMap::new(),
            names: BTreeSet::new(),
            steps: HashMap::new(),
            exact: false,
        };
        for &head in &heads {
            let members = (0..self.len()).filter(|&id| groups[id] == head);
            let union: BTreeSet<World> = members.flat_map(|id| self.worlds[id].clone()).collect();
            let worlds: Vec<World> = union.into_iter().collect();
            let name = self.tracks[head].name.clone();
            next.names.insert(name.clone());
            next.tracks.push(Track {
                name,
                facts: next.conclude(&worlds),
            });
            next.worlds.push(worlds);
        }
        for (&(id, message), &target) in &self.steps {
            let target = target.map(|target| number(usize::from(target)) as TrackId);
            let slot = next
                .steps
                .entry((number(usize::from(id)) as TrackId, message));
            let known = slot.or_insert(target);
            *known = known.or(target);
        }
        next
    }

    /// Number of tracks.
    pub fn len(&self) -> usize {
        self.tracks.len()
    }

    pub fn get(&self, id: TrackId) -> &Track {
        &self.tracks[usize::from(id)]
    }

    /// The track after the home received `message`; `None` if no world has it in flight.
    pub fn receive(
        &mut self,
        id: TrackId,
        message: MsgId,
    ) -> Result<Option<TrackId>, GenerateError> {
        debug_assert!(self.spec.message(message).to_home);
        if let Some(&known) = self.steps.get(&(id, message)) {
            return Ok(known);
        }
        let bit = 1 << message.0;
        let worlds: Vec<World> = self.worlds[usize::from(id)]
            .iter()
            .filter(|world| world.flight & bit != 0)
            .map(|world| World {
                flight: world.flight & !bit,
                ..*world
            })
            .collect();
        let next = if worlds.is_empty() {
            None
        } else {
            let name = format!("{}_{}", self.get(id).name, self.spec.message(message).name);
            Some(self.intern(worlds, &name)?)
        };
        self.steps.insert((id, message), next);
        Ok(next)
    }

    /// The track after the home sent `message`.
    pub fn send(&mut self, id: TrackId, message: MsgId) -> Result<TrackId, GenerateError> {
        if let Some(&Some(known)) = self.steps.get(&(id, message)) {
            return Ok(known);
        }
        let bit = 1 << message.0;
        let mut worlds = Vec::new();
        for world in &self.worlds[usize::from(id)] {
            if world.flight & bit != 0 {
                if self.exact {
                    return Err(self.twice(message));
                }
                continue;
            }
            worlds.push(World {
                flight: world.flight | bit,
                ..*world
            });
        }
        let name = format!("{}_{}", self.get(id).name, self.spec.message(message).name);
        let next = self.intern(worlds, &name)?;
        self.steps.insert((id, message), Some(next));
        Ok(next)
    }

    /// The grant that answers the held request of a track.
    pub fn grant(&self, id: TrackId) -> Option<MsgId> {
        let track = &self.get(id).facts;
        let request = track.held?;
        let spec = self.spec;
        if let Some(access) = spec.accesses.iter().find(|a| a.request == request) {
            return Some(access.answer);
        }
        let upgrade = spec.upgrades.iter().find(|u| u.request == request)?;
        let pick = |when| {
            upgrade
                .grants
                .iter()
                .find(|g| g.when == when)
                .map(|g| g.message)
        };
        let lost = upgrade.from != Spec::NO_COPY && !track.has_copy;
        if lost { pick(GrantWhen::Lost) } else { None }.or_else(|| pick(GrantWhen::Always))
    }

    fn twice(&self, message: MsgId) -> GenerateError {
        GenerateError::TwiceInFlight {
            message: self.spec.message(message).name.clone(),
        }
    }

    fn intern(&mut self, start: Vec<World>, name: &str) -> Result<TrackId, GenerateError> {
        let worlds = self.close(start)?;
        if let Some(&id) = self.numbers.get(&worlds) {
            return Ok(id);
        }
        let facts = self.conclude(&worlds);
        if self.tracks.len() >= MOST_TRACKS {
            return Err(GenerateError::TooLarge {
                what: "beliefs",
                limit: MOST_TRACKS,
            });
        }
        let id = self.tracks.len() as TrackId;
        let name = self.free_name(&facts, name);
        self.names.insert(name.clone());
        self.numbers.insert(worlds.clone(), id);
        self.worlds.push(worlds);
        self.tracks.push(Track { name, facts });
        Ok(id)
    }

    /// Adds all worlds reachable without the home.
    fn close(&self, start: Vec<World>) -> Result<Vec<World>, GenerateError> {
        let mut seen: BTreeSet<World> = start.iter().copied().collect();
        let mut todo = start;
        while let Some(world) = todo.pop() {
            for (column, &event) in self.cache.events.iter().enumerate() {
                let mut flight = world.flight;
                if let CacheEvent::Receive(message) = event {
                    let bit = 1 << message.0;
                    if flight & bit == 0 {
                        continue;
                    }
                    flight &= !bit;
                }
                let Some(step) = self.cache.step(usize::from(world.state), column) else {
                    if let (CacheEvent::Receive(message), true) = (event, self.exact) {
                        return Err(GenerateError::CacheCannotReceive {
                            state: self.cache.states[usize::from(world.state)].name.clone(),
                            message: self.spec.message(message).name.clone(),
                        });
                    }
                    continue;
                };
                if let Some(message) = step.send {
                    if flight & 1 << message.0 != 0 {
                        if self.exact {
                            return Err(self.twice(message));
                        }
                        continue;
                    }
                    flight |= 1 << message.0;
                }
                let next = World {
                    state: step.next as u8,
                    flight,
                };
                if seen.insert(next) {
                    todo.push(next);
                }
            }
        }
        Ok(seen.into_iter().collect())
    }

    fn conclude(&self, worlds: &[World]) -> Conclusion {
        let spec = self.spec;
        let mask = |pick: &dyn Fn(MsgId) -> bool| {
            spec.message_ids()
                .filter(|&m| pick(m))
                .fold(0, |bits, m| bits | 1 << m.0)
        };
        let to_home = mask(&|m| spec.message(m).to_home);
        let forward_cycle = mask(&|m| {
            spec.forwards
                .iter()
                .any(|f| f.message == m || f.answer == m || f.dirty_answer == m)
                || spec.conflicts.contains(&Some(m))
        });
        let requests = mask(&|m| spec.is_request(m));
        let data = mask(&|m| spec.message(m).data && spec.message(m).to_home) & !requests;
        let grants = mask(&|m| !spec.message(m).to_home) & !forward_cycle;

        let state = |world: &World| &self.cache.states[usize::from(world.state)];
        let silent = |world: &World| world.flight & to_home == 0;
        let passes = |world: &World| {
            let tells = |m: MsgId| {
                self.granted(*world, m)
                    .is_some_and(|step| step.send.is_some())
            };
            let arriving = |m: &MsgId| world.flight & grants & 1 << m.0 != 0;
            state(world).pass.is_some() && spec.message_ids().filter(arriving).any(tells)
        };
        let ready = worlds.iter().any(|w| silent(w) && !passes(w));
        let waits = |world: &World| {
            let request = state(world).waits_for?;
            (world.flight & (1 << request.0 | grants) == 0).then_some(request)
        };
        let held = waits(&worlds[0]).filter(|_| worlds.iter().all(|w| waits(w).is_some()));
        Conclusion {
            forwarded: worlds.iter().all(|w| w.flight & forward_cycle != 0),
            held,
            answerable: held.is_some() && worlds.iter().all(|w| w.flight == 0),
            has_copy: held.is_some() && worlds.iter().all(|w| state(w).copy != Spec::NO_COPY),
            level: worlds
                .iter()
                .map(|w| self.level(*w))
                .max()
                .unwrap_or(Spec::NO_COPY),
            ready,
            passing: !ready && worlds.iter().any(silent),
            data_in_flight: worlds.iter().any(|w| w.flight & data != 0),
        }
    }

    /// The level of a cache, or the level that a grant in flight will give it.
    fn level(&self, world: World) -> StateId {
        let spec = self.spec;
        let state = &self.cache.states[usize::from(world.state)];
        let own = spec.state(state.copy).level;
        let granted = spec
            .upgrades
            .iter()
            .filter(|u| Some(u.request) == state.waits_for)
            .flat_map(|u| u.grants.iter().map(move |g| (u, g.message)))
            .filter(|(_, message)| world.flight & 1 << message.0 != 0)
            .map(|(upgrade, message)| match self.granted(world, message) {
                // A grant that is used once and given up silently leaves nothing.
                Some(step) if state.pass.is_some() && step.send.is_none() => {
                    spec.state(self.cache.states[step.next].copy).level
                }
                _ => spec.state(upgrade.to).level,
            });
        granted.fold(own, StateId::max)
    }

    /// Step of a world's cache when a message arrives.
    fn granted(&self, world: World, message: MsgId) -> Option<CacheStep> {
        let column = self.cache.column(CacheEvent::Receive(message))?;
        self.cache.step(usize::from(world.state), column)
    }

    /// A settled track is named by its meaning, any other by its history.
    fn free_name(&self, track: &Conclusion, history: &str) -> String {
        let level = &self.spec.state(track.level).name;
        let settled = track.ready && !track.forwarded;
        let base = match track.held {
            Some(request) if settled && track.answerable => {
                let request = &self.spec.message(request).name;
                if track.has_copy {
                    format!("{level}_{request}")
                } else {
                    format!("I_{request}")
                }
            }
            None if settled => level.clone(),
            _ => history.to_owned(),
        };
        let numbered = (2..).map(|n| format!("{base}_{n}"));
        let mut names = std::iter::once(base.clone()).chain(numbered);
        names
            .find(|name| !self.names.contains(name))
            .unwrap_or(base)
    }
}
