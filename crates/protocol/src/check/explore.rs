//! Parallel breadth-first exploration.
//!
//! States belong to shards by their hash, one shard per thread. In a round every thread files the letters of the
//! previous round to its shard, then expands a piece of its part of the frontier into one outbox per shard. No state is
//! shared while it changes, so there are no locks, and the result does not depend on timing.

use super::model::{Model, Setting, Sink, State, Step};
use super::shard::{file, hash, look_up, shard_of, Letter, Shard, REMEMBERED};
use super::{CheckError, Level, Violation};
use std::ops::Range;

/// Number of a state: index in its shard times the number of shards, plus the shard.
pub(super) type StateId = u32;

/// Maximum states that a shard expands in one round, so that outboxes stay in the caches.
const ROUND: usize = 1 << 14;
/// Initial capacity of an outbox, in letters per expanded state.
const LETTERS_A_STATE: usize = 2;
/// Below this many states in a round, threads cost more than they gain.
const WORTH_A_THREAD: usize = 512;

/// Result of expanding a piece of a shard: the letters to each shard.
type Outbox<const W: usize> = Vec<Vec<Letter<W>>>;

/// State of an exploration.
pub(super) struct Search<'m, const W: usize> {
    pub model: &'m Model<W>,
    shards: Vec<Shard<W>>,
    /// Letters of the previous round, by sender.
    letters: Vec<Outbox<W>>,
    /// Outboxes to fill next: reused memory.
    empty: Vec<Outbox<W>>,
    max_states: usize,
    depth: usize,
}

impl<'m, const W: usize> Search<'m, W> {
    pub fn new(model: &'m Model<W>, setting: &Setting) -> Self {
        let (home, cache) = model.cells();
        let threads = setting.threads.clamp(1, 16);
        let outboxes = || vec![vec![Vec::new(); threads]; threads];
        Self {
            model,
            shards: (0..threads).map(|_| Shard::new(home, cache)).collect(),
            letters: outboxes(),
            empty: outboxes(),
            max_states: setting.max_states,
            depth: 0,
        }
    }

    /// Explores all states, or up to the end of the level in which a property breaks.
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
            first_delivery: false,
        };
        file(&mut self.shards[home], self.model, &[letter]);
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
                let pieces: Vec<Range<usize>> = done
                    .iter()
                    .zip(&ends)
                    .map(|(&from, &end)| from..end.min(from + ROUND))
                    .collect();
                self.round(&pieces);
                done = pieces.iter().map(|piece| piece.end).collect();
            }
            // Files the results of the last piece, with nothing to expand.
            let nothing: Vec<Range<usize>> = done.iter().map(|&end| end..end).collect();
            self.round(&nothing);
            self.depth += 1;
        }
    }

    /// Files the letters of the previous round and expands a piece of each shard.
    fn round(&mut self, pieces: &[Range<usize>]) {
        let letters = std::mem::take(&mut self.letters);
        let waiting: usize = letters.iter().flatten().map(Vec::len).sum();
        let states: usize = pieces.iter().map(Range::len).sum();
        let threaded = waiting.max(states) > WORTH_A_THREAD;
        let (model, empty) = (self.model, std::mem::take(&mut self.empty));
        let work = self.shards.iter_mut().zip(pieces).zip(empty).enumerate();
        type Part<'a, const W: usize> = ((&'a mut Shard<W>, &'a Range<usize>), Outbox<W>);
        let job = |(number, ((shard, piece), outbox)): (usize, Part<'_, W>)| {
            for sender in &letters {
                file(shard, model, &sender[number]);
            }
            expand_piece(shard, model, number, piece.clone(), outbox)
        };
        self.letters = in_parallel(threaded, work, job);
        self.empty = letters;
    }

    /// The violation with the smallest number, if there is one.
    fn broken(&self) -> Option<(StateId, Violation)> {
        self.shards
            .iter()
            .filter_map(|s| s.broken)
            .min_by_key(|(id, v)| (*id, *v))
    }

    /// Number of distinct states so far.
    pub fn states(&self) -> usize {
        self.shards.iter().map(|s| s.states.len()).sum()
    }

    /// Number of steps so far.
    pub fn steps(&self) -> usize {
        self.shards.iter().map(|s| s.steps).sum()
    }

    /// Number of explored levels.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// The state with this number.
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

    /// The first delivery of each state that has one, as pairs of the state and the state after.
    pub fn first_deliveries(&self) -> impl Iterator<Item = (StateId, StateId)> + '_ {
        let count = self.shards.len();
        self.shards
            .iter()
            .enumerate()
            .flat_map(move |(number, shard)| {
                let own = move |place: u32| (place as usize * count + number) as StateId;
                let pairs = shard.deliveries.iter();
                pairs.map(move |&(from, to)| (from, own(to)))
            })
    }

    /// The number of a canonical state, if it was reached.
    pub fn find(&self, state: &State<W>) -> Option<StateId> {
        let hash = hash(state);
        let (count, number) = (self.shards.len(), shard_of(hash, self.shards.len()));
        let place = look_up(&self.shards[number], state, hash).ok()?;
        Some((place as usize * count + number) as StateId)
    }

    /// The used cells of the home's and of the cache's table.
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

/// Runs one job per item, on separate threads if that pays off; returns the results in order.
fn in_parallel<T: std::marker::Send, R: std::marker::Send>(
    threaded: bool,
    items: impl Iterator<Item = T>,
    job: impl Fn(T) -> R + Sync,
) -> Vec<R> {
    if !threaded {
        return items.map(job).collect();
    }
    threads::scope(|scope| {
        let job = &job;
        let start = |item| scope.run("tombolo-explore", move || job(item));
        let running: Vec<_> = items.map(start).collect();
        running.into_iter().map(|running| running.join()).collect()
    })
}

/// Expands a piece of a shard's states into one outbox for each shard.
fn expand_piece<const W: usize>(
    shard: &mut Shard<W>,
    model: &Model<W>,
    number: usize,
    piece: Range<usize>,
    mut boxes: Outbox<W>,
) -> Outbox<W> {
    let count = boxes.len();
    for letters in &mut boxes {
        letters.clear();
        letters.reserve(piece.len() * LETTERS_A_STATE);
    }
    let mut writer = LetterWriter {
        model,
        boxes,
        from: 0,
        delivered: false,
        steps: 0,
        sent: &mut shard.sent,
        home_used: &mut shard.home_used,
        cache_used: &mut shard.cache_used,
        broken: None,
    };
    for (place, state) in shard
        .states
        .iter()
        .enumerate()
        .take(piece.end)
        .skip(piece.start)
    {
        writer.from = (place * count + number) as StateId;
        writer.delivered = false;
        model.expand(state, &mut writer);
    }
    shard.steps += writer.steps;
    let (boxes, broken) = (writer.boxes, writer.broken);
    shard.broken = shard.broken.or(broken);
    boxes
}

/// Writes a letter for each step of a piece.
struct LetterWriter<'a, const W: usize> {
    model: &'a Model<W>,
    boxes: Outbox<W>,
    from: StateId,
    /// A delivery of `from` was written.
    delivered: bool,
    steps: usize,
    sent: &'a mut [State<W>],
    home_used: &'a mut [bool],
    cache_used: &'a mut [bool],
    broken: Option<(StateId, Violation)>,
}

impl<const W: usize> Sink<W> for LetterWriter<'_, W> {
    fn step(&mut self, _: Step, next: State<W>, delivery: bool) {
        self.steps += 1;
        let state = self.model.canonical(&next);
        let hash = hash(&state);
        let first_delivery = delivery && !self.delivered;
        self.delivered |= delivery;
        let place = hash as usize % REMEMBERED;
        let sent = &mut self.sent[place];
        if *sent == state && !first_delivery {
            return;
        }
        *sent = state;
        let to = shard_of(hash, self.boxes.len());
        self.boxes[to].push(Letter {
            state,
            hash,
            from: self.from,
            first_delivery,
        });
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
