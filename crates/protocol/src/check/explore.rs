//! Breadth-first exploration by several threads.
//!
//! States belong to shards by their hash, one shard a thread. A round takes a piece of the
//! frontier: first every thread expands the states of its own shard into one outbox for each
//! shard, then every thread files what was sent to its own shard. No state is shared while it
//! changes, so there are no locks; and the result does not depend on timing.

use super::model::{Model, Setting, Sink, State, Step};
use super::{CheckError, Level, Violation};

/// Number of a state: place in its shard times the number of shards, plus the shard.
pub(super) type StateId = u32;

/// States that a shard expands in one round, so that outboxes stay in the caches.
const ROUND: usize = 1 << 14;
/// Below this many states in a round, threads cost more than they bring.
const WORTH_A_THREAD: usize = 512;

/// A state on its way to its shard.
#[derive(Clone, Copy)]
struct Letter<const W: usize> {
    state: State<W>,
    hash: u64,
    from: StateId,
    drain: bool,
}

/// The states that one thread owns.
struct Shard<const W: usize> {
    states: Vec<State<W>>,
    /// By state: the state it was first reached from.
    parents: Vec<StateId>,
    /// Deliveries: from which state to which own state.
    drains: Vec<(StateId, u32)>,
    /// Open addressing: a tag of the hash in the high half, place + 1 in the low half.
    slots: Vec<u64>,
    steps: usize,
    home_used: Vec<bool>,
    cache_used: Vec<bool>,
    broken: Option<(StateId, Violation)>,
}

/// An exploration.
pub(super) struct Search<'m, const W: usize> {
    pub model: &'m Model<W>,
    shards: Vec<Shard<W>>,
    max_states: usize,
    depth: usize,
    keep_drains: bool,
}

impl<'m, const W: usize> Search<'m, W> {
    pub fn new(model: &'m Model<W>, setting: &Setting) -> Self {
        let (home, cache) = model.cells();
        let shard = || Shard {
            states: Vec::new(),
            parents: Vec::new(),
            drains: Vec::new(),
            slots: vec![0; 1 << 12],
            steps: 0,
            home_used: vec![false; home],
            cache_used: vec![false; cache],
            broken: None,
        };
        let threads = setting.threads.clamp(1, 16);
        let shards = (0..threads).map(|_| shard()).collect();
        let keep_drains = setting.check_progress;
        Self {
            model,
            shards,
            max_states: setting.max_states,
            depth: 0,
            keep_drains,
        }
    }

    /// Explores everything, or up to the end of the level in which a property breaks.
    pub fn run(
        &mut self,
        progress: &mut dyn FnMut(Level),
    ) -> Result<Option<(StateId, Violation)>, CheckError> {
        let start = self.model.canonical(&self.model.start());
        let hash = hash(&start);
        let home = shard_of(hash, self.shards.len());
        // The first state of a shard has the shard's number; the start is its own parent.
        let letter = Letter {
            state: start,
            hash,
            from: home as StateId,
            drain: false,
        };
        file(&mut self.shards[home], self.model, &[letter], false);
        let mut done = vec![0; self.shards.len()];
        loop {
            let ends: Vec<usize> = self.shards.iter().map(|s| s.states.len()).collect();
            let frontier = ends.iter().zip(&done).map(|(end, done)| end - done).sum();
            progress(Level {
                depth: self.depth,
                states: self.states(),
                frontier,
            });
            if let Some(found) = self.broken() {
                return Ok(Some(found));
            }
            if frontier == 0 {
                return Ok(None);
            }
            if self.states() > self.max_states {
                return Err(CheckError::TooManyStates {
                    states: self.states(),
                });
            }
            while done.iter().zip(&ends).any(|(done, end)| done < end) {
                let pieces: Vec<(usize, usize)> = done
                    .iter()
                    .zip(&ends)
                    .map(|(&from, &end)| (from, end.min(from + ROUND)))
                    .collect();
                self.round(&pieces);
                done = pieces.iter().map(|piece| piece.1).collect();
            }
            self.depth += 1;
        }
    }

    fn round(&mut self, pieces: &[(usize, usize)]) {
        let threaded = pieces.iter().map(|p| p.1 - p.0).sum::<usize>() > WORTH_A_THREAD;
        let (model, count, keep) = (self.model, self.shards.len(), self.keep_drains);
        let expand = |(number, (shard, piece)): (usize, (&mut Shard<W>, &(usize, usize)))| {
            expand_piece(shard, model, number, count, *piece)
        };
        let work = self.shards.iter_mut().zip(pieces).enumerate();
        let outboxes: Vec<Vec<Vec<Letter<W>>>> = in_parallel(threaded, work, expand);
        let work = self.shards.iter_mut().enumerate();
        in_parallel(threaded, work, |(number, shard): (usize, &mut Shard<W>)| {
            for outbox in &outboxes {
                file(shard, model, &outbox[number], keep);
            }
        });
    }

    /// The violation with the smallest number, if there is any.
    fn broken(&self) -> Option<(StateId, Violation)> {
        self.shards
            .iter()
            .filter_map(|s| s.broken)
            .min_by_key(|(id, v)| (*id, *v))
    }

    /// Distinct states so far.
    pub fn states(&self) -> usize {
        self.shards.iter().map(|s| s.states.len()).sum()
    }

    /// Steps taken so far.
    pub fn steps(&self) -> usize {
        self.shards.iter().map(|s| s.steps).sum()
    }

    /// Levels explored.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// A state by its number.
    pub fn state(&self, id: StateId) -> &State<W> {
        let count = self.shards.len();
        &self.shards[id as usize % count].states[id as usize / count]
    }

    /// The state that a state was first reached from; the start is its own parent.
    pub fn parent(&self, id: StateId) -> StateId {
        let count = self.shards.len();
        self.shards[id as usize % count].parents[id as usize / count]
    }

    /// Numbers of all states.
    pub fn ids(&self) -> impl Iterator<Item = StateId> + '_ {
        let count = self.shards.len();
        self.shards
            .iter()
            .enumerate()
            .flat_map(move |(number, shard)| {
                (0..shard.states.len()).map(move |place| (place * count + number) as StateId)
            })
    }

    /// One more than the largest number.
    pub fn end_of_ids(&self) -> usize {
        let longest = self
            .shards
            .iter()
            .map(|s| s.states.len())
            .max()
            .unwrap_or(0);
        longest * self.shards.len()
    }

    /// All deliveries, as pairs of a state and the state after.
    pub fn drains(&self) -> impl Iterator<Item = (StateId, StateId)> + Clone + '_ {
        let count = self.shards.len();
        self.shards
            .iter()
            .enumerate()
            .flat_map(move |(number, shard)| {
                let own = move |place: u32| (place as usize * count + number) as StateId;
                shard.drains.iter().map(move |&(from, to)| (from, own(to)))
            })
    }

    /// Which cells of the home's and the cache's table were used.
    pub fn coverage(&self) -> (Vec<bool>, Vec<bool>) {
        let merge = |pick: fn(&Shard<W>) -> &Vec<bool>| {
            let mut all = pick(&self.shards[0]).clone();
            for shard in &self.shards[1..] {
                all.iter_mut().zip(pick(shard)).for_each(|(a, b)| *a |= *b);
            }
            all
        };
        (merge(|s| &s.home_used), merge(|s| &s.cache_used))
    }
}

/// Runs one job an item, on threads of their own if that is worth it; results in order.
fn in_parallel<T: std::marker::Send, R: std::marker::Send>(
    threaded: bool,
    items: impl Iterator<Item = T>,
    job: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if !threaded {
        return items.map(job).collect();
    }
    std::thread::scope(|scope| {
        let job = &job;
        let handles: Vec<_> = items.map(|item| scope.spawn(move || job(item))).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, R>| match handle.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        handles.into_iter().map(join).collect()
    })
}

fn shard_of(hash: u64, count: usize) -> usize {
    (((hash >> 32) * count as u64) >> 32) as usize
}

/// A mixing hash of a state: multiply and fold, word by word.
fn hash<const W: usize>(state: &State<W>) -> u64 {
    let mut h: u64 = 0x9e37_79b9_7f4a_7c15;
    for &word in state {
        let product = u128::from(h ^ word) * 0xd6e8_feb8_6659_fd93_u128;
        h = (product >> 64) as u64 ^ product as u64;
        h = h.rotate_left(23).wrapping_add(0xa076_1d64_78bd_642f);
    }
    h ^ h >> 29
}

/// Expands a piece of a shard's states into one outbox for each shard.
fn expand_piece<const W: usize>(
    shard: &mut Shard<W>,
    model: &Model<W>,
    number: usize,
    count: usize,
    (from, to): (usize, usize),
) -> Vec<Vec<Letter<W>>> {
    let mut boxes = Outboxes {
        model,
        boxes: (0..count)
            .map(|_| Vec::with_capacity((to - from) * 4))
            .collect(),
        from: 0,
        steps: 0,
        home_used: &mut shard.home_used,
        cache_used: &mut shard.cache_used,
        broken: None,
    };
    for (place, state) in shard.states.iter().enumerate().take(to).skip(from) {
        boxes.from = (place * count + number) as StateId;
        model.expand(state, &mut boxes);
    }
    shard.steps += boxes.steps;
    let (boxes, broken) = (boxes.boxes, boxes.broken);
    shard.broken = shard.broken.or(broken);
    boxes
}

/// Collects the steps of a piece.
struct Outboxes<'a, const W: usize> {
    model: &'a Model<W>,
    boxes: Vec<Vec<Letter<W>>>,
    from: StateId,
    steps: usize,
    home_used: &'a mut [bool],
    cache_used: &'a mut [bool],
    broken: Option<(StateId, Violation)>,
}

impl<const W: usize> Sink<W> for Outboxes<'_, W> {
    fn step(&mut self, _: Step, next: State<W>, drain: bool) {
        let state = self.model.canonical(&next);
        let hash = hash(&state);
        let to = shard_of(hash, self.boxes.len());
        self.boxes[to].push(Letter {
            state,
            hash,
            from: self.from,
            drain,
        });
        self.steps += 1;
    }

    fn broken(&mut self, _: Step, violation: Violation) {
        self.broken = self.broken.or(Some((self.from, violation)));
    }

    fn home_cell(&mut self, cell: usize) {
        self.home_used[cell] = true;
    }

    fn cache_cell(&mut self, cell: usize) {
        self.cache_used[cell] = true;
    }
}

/// Files letters: new states get a place, known ones only their delivery edge.
fn file<const W: usize>(
    shard: &mut Shard<W>,
    model: &Model<W>,
    letters: &[Letter<W>],
    keep_drains: bool,
) {
    let mut ready = [0u64; LOOK_AHEAD];
    for group in letters.chunks(LOOK_AHEAD) {
        grow(shard, group.len());
        let mask = shard.slots.len() - 1;
        // Independent loads first: the memory system overlaps them.
        for (first, letter) in ready.iter_mut().zip(group) {
            *first = shard.slots[letter.hash as usize & mask];
        }
        std::hint::black_box(&ready);
        for letter in group {
            let place = find_or_insert(shard, model, letter);
            if keep_drains && letter.drain {
                shard.drains.push((letter.from, place));
            }
        }
    }
}

const LOOK_AHEAD: usize = 16;
const TAG: u64 = 0xffff_ffff_0000_0000;

fn find_or_insert<const W: usize>(
    shard: &mut Shard<W>,
    model: &Model<W>,
    letter: &Letter<W>,
) -> u32 {
    let mask = shard.slots.len() - 1;
    let tag = letter.hash & TAG;
    let mut slot = letter.hash as usize & mask;
    loop {
        let entry = shard.slots[slot];
        if entry == 0 {
            break;
        }
        let place = (entry as u32) - 1;
        if entry & TAG == tag && shard.states[place as usize] == letter.state {
            return place;
        }
        slot = (slot + 1) & mask;
    }
    let place = shard.states.len() as u32;
    shard.slots[slot] = tag | u64::from(place + 1);
    shard.states.push(letter.state);
    shard.parents.push(letter.from);
    if shard.broken.is_none() {
        // The state itself may be wrong; it is blamed on the step from its parent.
        shard.broken = model
            .inspect(&letter.state)
            .map(|violation| (letter.from, violation));
    }
    place
}

/// Keeps the table at most half full.
fn grow<const W: usize>(shard: &mut Shard<W>, more: usize) {
    if (shard.states.len() + more) * 2 <= shard.slots.len() {
        return;
    }
    let size = shard.slots.len() * 2;
    let mask = size - 1;
    let mut slots = vec![0; size];
    for (place, state) in shard.states.iter().enumerate() {
        let hash = hash(state);
        let mut slot = hash as usize & mask;
        while slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        slots[slot] = hash & TAG | (place as u64 + 1);
    }
    shard.slots = slots;
}
