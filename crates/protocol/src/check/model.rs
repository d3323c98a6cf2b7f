//! The model: one home, some caches, one or two lines, and an unordered network.
//!
//! The tables are compiled into flat arrays of words first, so that taking a step is a few loads
//! and masks.

use super::layout::{
    access, cache_state, home, in_flight, message_field, operation, with_home, Layout, ACCESS_MASK,
    ACCESS_SHIFT, BUFFER_OLD, CACHE_STATE_MASK, CACHE_STATE_SHIFT, COPY_OLD, HOME_STATE_BITS,
    MEMORY_OLD, MESSAGES, OPERATION_MASK, OPERATION_SHIFT,
};
use super::Violation;
use crate::generate::Protocol;
use crate::machine::{permutations, Actions, CacheEvent, Cell, DirEvent, Memory};
use crate::spec::{AccessKind, Effect, MsgId, OpId, Spec};

/// What is explored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Lines: 1, or 2 that share ways, unit and class buffers.
    pub lines: usize,
    /// Directory ways that the lines share.
    pub ways: usize,
    /// Messages of a class in flight between the home and one cache, all lines together.
    pub capacity: u32,
    /// Caches that only differ by their number count as one case.
    pub symmetry: bool,
    /// The application behind the home answers a memory access for a cache only when its own
    /// clean operations on the other line are done: FACTS section 4's known hazard.
    pub application_waits: bool,
    /// Check progress after the exploration.
    pub check_progress: bool,
    /// Threads, at least one.
    pub threads: usize,
    /// Give up after so many states.
    pub max_states: usize,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            lines: 1,
            ways: 1,
            capacity: 2,
            symmetry: true,
            application_waits: false,
            check_progress: true,
            threads: 2,
            max_states: 200_000_000,
        }
    }
}

impl Setting {
    /// Two lines that share one directory way, one unit and class buffers of one message.
    #[must_use]
    pub fn shared_way() -> Self {
        Self {
            lines: 2,
            ways: 1,
            capacity: 1,
            ..Self::default()
        }
    }

    /// Two lines in two ways of one unit whose application waits for one line's invalidation
    /// before it answers the other line's read.
    #[must_use]
    pub fn application_waits() -> Self {
        Self {
            lines: 2,
            ways: 2,
            capacity: 1,
            application_waits: true,
            ..Self::default()
        }
    }
}

/// One step of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// A cache does something by itself.
    CacheStarts {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
        /// Column of the event in the cache's table.
        event: u8,
    },
    /// A message arrives at a cache.
    CacheReceives {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
        /// The message.
        message: MsgId,
    },
    /// A message arrives at the home.
    HomeReceives {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
        /// The message.
        message: MsgId,
    },
    /// An operation starts.
    Operation {
        /// The line.
        line: u8,
        /// The operation.
        operation: OpId,
    },
    /// Memory finishes the access under way.
    MemoryDone {
        /// The line.
        line: u8,
    },
}

/// A state of the model.
pub(super) type State<const W: usize> = [u64; W];

/// Takes what a state's steps lead to.
pub(super) trait Sink<const W: usize> {
    /// A step leads to `next`; `drain` if it is a delivery and not a new beginning.
    fn step(&mut self, step: Step, next: State<W>, drain: bool);
    /// A step breaks a property.
    fn broken(&mut self, step: Step, violation: Violation);
    /// A cell of a table was used.
    fn home_cell(&mut self, cell: usize);
    /// A step of the cache's table was used.
    fn cache_cell(&mut self, cell: usize);
}

const UNEXPECTED: u32 = u32::MAX;
const STALL: u32 = u32::MAX - 1;

/// A cell of the directory's table.
#[derive(Clone, Copy)]
struct HomeCell {
    /// Next state, or [`UNEXPECTED`], or [`STALL`].
    next: u32,
    actions: u32,
}

/// A step of the cache's table.
#[derive(Clone, Copy)]
struct CacheCell {
    defined: bool,
    next: u8,
    send: Option<MsgId>,
    store: bool,
}

/// What the model needs to know of a message.
#[derive(Clone, Copy, Default)]
struct MessageFacts {
    to_home: bool,
    data: bool,
    request: bool,
    /// Low bits of all messages that share its buffer.
    buffer: u64,
    /// Column in the cache's table, or 0xff.
    cache_event: u8,
}

/// What the model needs to know of a cache's state.
#[derive(Clone, Copy, Default)]
struct CacheFacts {
    reads: bool,
    writes: bool,
    dirty: bool,
    keeps_data: bool,
    stable: bool,
    level: u8,
    copy: u8,
    aim: u8,
    /// [`NO_PASS`], or what a granted copy is given up to.
    pass: u8,
    refuses: bool,
    /// Low bit of the request to write that this state waits for.
    waits_to_write: u64,
}

/// A cache that keeps what it is granted.
const NO_PASS: u8 = u8::MAX;

/// What a forward takes: from a level, down to a state.
#[derive(Clone, Copy)]
struct ForwardFacts {
    from: u8,
    to: u8,
}

pub(super) struct Model<const W: usize> {
    pub layout: Layout,
    ways: usize,
    capacity: u32,
    symmetry: bool,
    application_waits: bool,
    home_events: usize,
    home_cells: Vec<HomeCell>,
    home_stable: Vec<bool>,
    home_locked: Vec<bool>,
    home_refuses: Vec<bool>,
    actions: Vec<Actions>,
    /// By cache and message: column of its arrival.
    arrivals: Vec<usize>,
    first_operation: usize,
    read_done: usize,
    write_done: usize,
    cache_events: usize,
    cache_cells: Vec<CacheCell>,
    /// By cache state: the events that the cache starts by itself.
    starts: Vec<Vec<u8>>,
    cache_facts: Vec<CacheFacts>,
    messages: Vec<MessageFacts>,
    /// Low bits of messages whose data grows old when somebody stores.
    carries_copy: u64,
    /// Low bits of requests.
    requests: u64,
    operations: Vec<OperationFacts>,
    /// By event of the cache: the state that it asks for.
    asks_for: Vec<Option<u8>>,
    /// By message: what a forward takes.
    forwards: Vec<Option<ForwardFacts>>,
    /// By state of the specification: its level.
    levels: Vec<u8>,
    orders: Vec<Vec<usize>>,
    images: Vec<u32>,
    roles: Vec<u32>,
}

#[derive(Clone, Copy)]
struct OperationFacts {
    at_most: Option<u8>,
    effect: Effect,
    internal: bool,
}

impl<const W: usize> Model<W> {
    pub fn new(protocol: &Protocol, setting: &Setting, layout: Layout) -> Self {
        let (spec, cache, directory) = (&protocol.spec, &protocol.cache, &protocol.directory);
        let mut actions: Vec<Actions> = Vec::new();
        let mut action_numbers = std::collections::HashMap::new();
        let home_cells = directory
            .cells
            .iter()
            .map(|cell| match cell {
                Cell::Unexpected => HomeCell {
                    next: UNEXPECTED,
                    actions: 0,
                },
                Cell::Stall => HomeCell {
                    next: STALL,
                    actions: 0,
                },
                Cell::Go {
                    next,
                    actions: list,
                } => {
                    let number = *action_numbers.entry(list.clone()).or_insert_with(|| {
                        actions.push(list.clone());
                        actions.len() as u32 - 1
                    });
                    HomeCell {
                        next: *next,
                        actions: number,
                    }
                }
            })
            .collect();
        let cache_cells = cache
            .steps
            .iter()
            .map(|step| match step {
                None => CacheCell {
                    defined: false,
                    next: 0,
                    send: None,
                    store: false,
                },
                Some(s) => CacheCell {
                    defined: true,
                    next: s.next as u8,
                    send: s.send,
                    store: s.store,
                },
            })
            .collect();
        let starts = (0..cache.states.len())
            .map(|state| {
                let own = |&e: &usize| !matches!(cache.events[e], CacheEvent::Receive(_));
                let events = (0..cache.events.len()).filter(own);
                events
                    .filter(|&e| cache.step(state, e).is_some())
                    .map(|e| e as u8)
                    .collect()
            })
            .collect();
        let column = |event| directory.column(event).unwrap_or(0);
        let arrivals = (0..layout.caches as u8)
            .flat_map(|cache| {
                let arrival = move |message| DirEvent::Receive { cache, message };
                spec.message_ids().map(move |m| column(arrival(m)))
            })
            .collect();
        Self {
            layout,
            ways: setting.ways,
            capacity: setting.capacity,
            symmetry: setting.symmetry && (layout.caches > 1 || layout.lines > 1),
            application_waits: setting.application_waits,
            home_events: directory.events.len(),
            home_cells,
            home_stable: directory.states.iter().map(|s| s.stable).collect(),
            home_locked: directory.states.iter().map(|s| s.locked).collect(),
            home_refuses: refusing_home_states(protocol),
            actions,
            arrivals,
            first_operation: column(DirEvent::Operation(OpId(0))),
            read_done: column(DirEvent::ReadDone),
            write_done: column(DirEvent::WriteDone),
            cache_events: cache.events.len(),
            cache_cells,
            starts,
            cache_facts: cache_facts(protocol),
            messages: message_facts(protocol),
            carries_copy: low_bits(spec, |m| spec.message(m).data && !spec.is_request(m)),
            requests: low_bits(spec, |m| spec.is_request(m)),
            operations: spec
                .operations
                .iter()
                .map(|op| OperationFacts {
                    at_most: op.at_most.map(|s| spec.state(s).level.0),
                    effect: op.effect,
                    internal: op.internal,
                })
                .collect(),
            asks_for: cache
                .events
                .iter()
                .map(|event| match event {
                    CacheEvent::Upgrade(rule) => Some(spec.upgrades[usize::from(*rule)].to.0),
                    CacheEvent::Access(_) => Some(Spec::NO_COPY.0),
                    _ => None,
                })
                .collect(),
            forwards: spec
                .message_ids()
                .map(|m| {
                    let forward = spec.forwards.iter().find(|f| f.message == m)?;
                    Some(ForwardFacts {
                        from: forward.from.0,
                        to: forward.to.0,
                    })
                })
                .collect(),
            levels: spec.states.iter().map(|state| state.level.0).collect(),
            orders: permutations(layout.caches),
            images: directory.images.clone(),
            roles: directory
                .states
                .iter()
                .flat_map(|s| s.roles.iter().copied())
                .collect(),
        }
    }

    /// The start: nobody has anything, memory has the latest value.
    pub fn start(&self) -> State<W> {
        [0; W]
    }

    /// Sizes of the coverage maps: home cells and cache cells.
    pub fn cells(&self) -> (usize, usize) {
        (self.home_cells.len(), self.cache_cells.len())
    }

    /// The representative of a state among those that differ by the caches' numbers only.
    pub fn canonical(&self, state: &State<W>) -> State<W> {
        if !self.symmetry {
            return *state;
        }
        if self.layout.lines == 2 {
            return self.canonical_pair(state);
        }
        let caches = self.layout.caches;
        let home_state = home_state(home(state[0], 0));
        let role = |i: usize| self.roles[home_state * caches + i];
        let mut keys = [(0u64, 0u32, 0u8); 3];
        for (i, key) in keys.iter_mut().enumerate().take(caches) {
            *key = (state[1 + i], role(i), i as u8);
        }
        let keys = &mut keys[..caches];
        keys.sort_unstable();
        if keys
            .iter()
            .enumerate()
            .all(|(i, key)| usize::from(key.2) == i)
        {
            return *state;
        }
        let mut image = *state;
        for (i, key) in keys.iter().enumerate() {
            image[1 + i] = key.0;
        }
        let same = |order: &&Vec<usize>| order.iter().zip(&*keys).all(|(o, k)| *o == k.2.into());
        let order = self
            .orders
            .iter()
            .position(|order| same(&order))
            .unwrap_or(0);
        let next = self.images[home_state * self.orders.len() + order];
        let half = home(state[0], 0) & !HOME_STATE | next;
        image[0] = with_home(state[0], 0, half);
        image
    }

    /// The same for two lines: caches change places on both at once, and the lines with each other. The
    /// least of the images.
    fn canonical_pair(&self, state: &State<W>) -> State<W> {
        let mut least = *state;
        for (number, order) in self.orders.iter().enumerate() {
            let mut image = *state;
            for line in 0..2 {
                let half = home(state[0], line);
                let next = self.images[home_state(half) * self.orders.len() + number];
                image[0] = with_home(image[0], line, half & !HOME_STATE | next);
                for (cache, &from) in order.iter().enumerate() {
                    image[self.layout.word(line, cache)] = state[self.layout.word(line, from)];
                }
            }
            let mut swapped = image;
            swapped[0] = image[0].rotate_left(32);
            for cache in 0..self.layout.caches {
                swapped.swap(self.layout.word(0, cache), self.layout.word(1, cache));
            }
            least = least.min(image).min(swapped);
        }
        least
    }

    /// Takes every step of a state.
    pub fn expand(&self, state: &State<W>, sink: &mut impl Sink<W>) {
        for line in 0..self.layout.lines {
            for cache in 0..self.layout.caches {
                self.expand_cache(state, line, cache, sink);
            }
            self.expand_home(state, line, sink);
        }
    }

    fn expand_cache(&self, s: &State<W>, line: usize, cache: usize, sink: &mut impl Sink<W>) {
        let word = s[self.layout.word(line, cache)];
        let (line8, cache8) = (line as u8, cache as u8);
        for &event in &self.starts[cache_state(word)] {
            let step = Step::CacheStarts {
                line: line8,
                cache: cache8,
                event,
            };
            let cell = cache_state(word) * self.cache_events + usize::from(event);
            self.cache_step(s, (line, cache), cell, None, step, sink);
        }
        let mut bits = in_flight(word);
        while bits != 0 {
            let number = (bits.trailing_zeros() / 2) as u8;
            bits &= bits - 1;
            let message = MsgId(number);
            let facts = &self.messages[usize::from(number)];
            if facts.to_home {
                let step = Step::HomeReceives {
                    line: line8,
                    cache: cache8,
                    message,
                };
                let event = self.arrivals[cache * self.messages.len() + usize::from(number)];
                self.home_step(s, line, event, Cause::Message(cache, message), step, sink);
            } else {
                let step = Step::CacheReceives {
                    line: line8,
                    cache: cache8,
                    message,
                };
                let cell = cache_state(word) * self.cache_events + usize::from(facts.cache_event);
                self.cache_step(s, (line, cache), cell, Some(message), step, sink);
            }
        }
    }

    fn expand_home(&self, s: &State<W>, line: usize, sink: &mut impl Sink<W>) {
        let half = home(s[0], line);
        let line8 = line as u8;
        let under_way = access(half);
        if under_way != Access::NONE && !self.application_withholds(s, line) {
            let event = if under_way == Access::READ {
                self.read_done
            } else {
                self.write_done
            };
            self.home_step(
                s,
                line,
                event,
                Cause::Memory,
                Step::MemoryDone { line: line8 },
                sink,
            );
        }
        if operation(half) == 0 {
            for number in 0..self.operations.len() {
                let operation = OpId(number as u8);
                let step = Step::Operation {
                    line: line8,
                    operation,
                };
                let event = self.first_operation + number;
                self.home_step(s, line, event, Cause::Operation(operation), step, sink);
            }
        }
    }

    /// The application holds back this line's memory access until its own clean of the other
    /// line is acknowledged.
    fn application_withholds(&self, s: &State<W>, line: usize) -> bool {
        let under_way = |line| operation(home(s[0], line));
        self.application_waits
            && under_way(line) == 0
            && (0..self.layout.lines).any(|other| {
                let number = under_way(other) as usize;
                other != line
                    && number > 0
                    && self.operations[number - 1].effect == Effect::Nothing
                    && !self.operations[number - 1].internal
            })
    }

    fn cache_step(
        &self,
        s: &State<W>,
        (line, cache): (usize, usize),
        cell_number: usize,
        arrived: Option<MsgId>,
        step: Step,
        sink: &mut impl Sink<W>,
    ) {
        let cell = self.cache_cells[cell_number];
        if !cell.defined {
            if let Some(message) = arrived {
                let (line, cache) = (line as u8, cache as u8);
                sink.broken(
                    step,
                    Violation::CacheSurprised {
                        line,
                        cache,
                        message,
                    },
                );
            }
            return;
        }
        let place = self.layout.word(line, cache);
        let mut next = *s;
        let mut word = s[place];
        if !self.conforms(cache_state(word), usize::from(cell.next), step) {
            let (line, cache) = (line as u8, cache as u8);
            sink.broken(step, Violation::RuleBroken { line, cache });
            return;
        }
        if let Some(message) = arrived {
            let field = message_field(word, message.0);
            word &= !(3 << (2 * message.0));
            if self.messages[message.index()].data {
                word = if field == 2 {
                    word | COPY_OLD
                } else {
                    word & !COPY_OLD
                };
            }
        }
        next[place] = word;
        if cell.store {
            self.make_old(&mut next, line);
            word = next[place] & !COPY_OLD;
        }
        let state = u64::from(cell.next);
        word = word & !(CACHE_STATE_MASK << CACHE_STATE_SHIFT) | state << CACHE_STATE_SHIFT;
        if let Some(message) = cell.send {
            next[place] = word;
            if !self.room(&next, cache, message) {
                return;
            }
            if message_field(word, message.0) != 0 {
                let line = line as u8;
                sink.broken(step, Violation::TwiceInFlight { line, message });
                return;
            }
            let facts = &self.messages[message.index()];
            let old = facts.data && !facts.request && word & COPY_OLD != 0;
            word |= (1 + u64::from(old)) << (2 * message.0);
        }
        if !self.cache_facts[usize::from(cell.next)].keeps_data {
            word &= !COPY_OLD;
        }
        next[place] = word;
        sink.cache_cell(cell_number);
        sink.step(step, next, arrived.is_some());
    }

    /// The step keeps what the rules leave the cache: asking takes nothing away, a forward takes
    /// no more than it asks for, an answer gives what was asked for; and a grant is passed on
    /// only if a forward may have overtaken it.
    fn conforms(&self, from: usize, to: usize, step: Step) -> bool {
        let (before, after) = (&self.cache_facts[from], &self.cache_facts[to]);
        match step {
            Step::CacheStarts { event, .. } => match self.asks_for[usize::from(event)] {
                Some(aim) => after.copy == before.copy && after.aim == aim && after.pass == NO_PASS,
                None => true,
            },
            Step::CacheReceives { message, .. } => match self.forwards[message.index()] {
                Some(forward) if before.stable => after.copy == before.copy.min(forward.to),
                Some(forward) => {
                    let overtook = self.levels[usize::from(before.aim)] == forward.from
                        && before.level < forward.from;
                    let limit = if overtook { forward.to } else { NO_PASS };
                    after.copy == before.copy.min(forward.to)
                        && after.aim == before.aim
                        && after.pass == before.pass.min(limit)
                }
                None if before.pass == NO_PASS => after.copy == before.aim,
                None => after.copy <= before.pass || after.copy == before.aim,
            },
            _ => true,
        }
    }

    fn home_step(
        &self,
        s: &State<W>,
        line: usize,
        event: usize,
        cause: Cause,
        step: Step,
        sink: &mut impl Sink<W>,
    ) {
        let half = home(s[0], line);
        let cell_number = home_state(half) * self.home_events + event;
        let cell = self.home_cells[cell_number];
        let line8 = line as u8;
        if cell.next == UNEXPECTED {
            sink.broken(step, Violation::HomeSurprised { line: line8 });
            return;
        }
        if cell.next == STALL {
            match cause {
                Cause::Message(_, message) if !self.messages[message.index()].request => {
                    sink.broken(
                        step,
                        Violation::ResponseStalls {
                            line: line8,
                            message,
                        },
                    );
                }
                Cause::Memory => sink.broken(step, Violation::HomeSurprised { line: line8 }),
                _ => sink.home_cell(cell_number),
            }
            return;
        }
        if cell.next != 0 && home_state(half) == 0 && !self.way_is_free(s, line) {
            return;
        }
        match self.take_home_step(s, line, cell, cause) {
            Ok(Some(next)) => {
                sink.home_cell(cell_number);
                sink.step(step, next, self.drains(s, line, cause));
            }
            Ok(None) => {}
            Err(violation) => sink.broken(step, violation),
        }
    }

    /// The next state; `None` if a message finds no room in its buffer.
    fn take_home_step(
        &self,
        s: &State<W>,
        line: usize,
        cell: HomeCell,
        cause: Cause,
    ) -> Result<Option<State<W>>, Violation> {
        let line8 = line as u8;
        let mut next = *s;
        let mut half = home(s[0], line);
        let mut payload = None;
        let mut finished = Access::NONE;
        let mut acknowledged = None;
        match cause {
            Cause::Message(cache, message) => {
                let place = self.layout.word(line, cache);
                if self.carries_copy & 1 << (2 * message.0) != 0 {
                    payload = Some(message_field(s[place], message.0) == 2);
                }
                next[place] &= !(3 << (2 * message.0));
            }
            Cause::Operation(operation) => {
                half |= (u32::from(operation.0) + 1) << OPERATION_SHIFT;
            }
            Cause::Memory => {
                finished = access(half);
                half &= !(ACCESS_MASK << ACCESS_SHIFT);
                match finished {
                    Access::READ if half & MEMORY_OLD != 0 => {
                        return Err(Violation::StaleMemory { line: line8 })
                    }
                    Access::PAYLOAD => {
                        let old = half & BUFFER_OLD != 0;
                        half &= !(MEMORY_OLD | BUFFER_OLD);
                        half |= if old { MEMORY_OLD } else { 0 };
                    }
                    Access::HELD | Access::OPERATION => {
                        next[0] = with_home(next[0], line, half);
                        self.make_old(&mut next, line);
                        half = home(next[0], line) & !MEMORY_OLD;
                    }
                    _ => {}
                }
            }
        }
        let actions = &self.actions[cell.actions as usize];
        if payload == Some(false) && actions.memory != Memory::WritePayload {
            return Err(Violation::ValueLost { line: line8 });
        }
        if actions.memory != Memory::None {
            if access(half) != Access::NONE {
                return Err(Violation::MemoryBusy { line: line8 });
            }
            if !self.has_value_for(actions.memory, &next, line, half, payload) {
                return Err(Violation::NothingToWrite { line: line8 });
            }
            half |= Access::of(actions.memory) << ACCESS_SHIFT;
            if actions.memory == Memory::WritePayload && payload == Some(true) {
                half |= BUFFER_OLD;
            }
        }
        for send in &actions.sends {
            let cache = usize::from(send.cache);
            let place = self.layout.word(line, cache);
            if !self.room(&next, cache, send.message) {
                return Ok(None);
            }
            if message_field(next[place], send.message.0) != 0 {
                return Err(Violation::TwiceInFlight {
                    line: line8,
                    message: send.message,
                });
            }
            let old = self.messages[send.message.index()].data && half & MEMORY_OLD != 0;
            next[place] |= (1 + u64::from(old)) << (2 * send.message.0);
        }
        if actions.done {
            let number = operation(half);
            if number == 0 {
                return Err(Violation::NothingToAcknowledge { line: line8 });
            }
            half &= !(OPERATION_MASK << OPERATION_SHIFT);
            acknowledged = Some(self.operations[number as usize - 1]);
            self.operation_holds(&next, line, number as usize - 1)?;
        }
        let locks = (
            self.home_locked[home_state(half)],
            self.home_locked[cell.next as usize],
        );
        if !effect_is_right(acknowledged.map(|op| op.effect), finished, locks) {
            return Err(Violation::EffectMissing { line: line8 });
        }
        half = half & !HOME_STATE | cell.next;
        next[0] = with_home(next[0], line, half);
        Ok(Some(next))
    }

    /// Whether there is a value for a write to write.
    fn has_value_for(
        &self,
        memory: Memory,
        s: &State<W>,
        line: usize,
        half: u32,
        payload: Option<bool>,
    ) -> bool {
        match memory {
            Memory::None | Memory::Read => true,
            Memory::WritePayload => payload.is_some(),
            Memory::WriteOperation => {
                let number = operation(half) as usize;
                number > 0 && self.operations[number - 1].effect == Effect::Write
            }
            Memory::WriteHeld => (0..self.layout.caches).any(|cache| {
                let word = s[self.layout.word(line, cache)];
                let request = self.cache_facts[cache_state(word)].waits_to_write;
                request != 0 && in_flight(word) & request == 0
            }),
        }
    }

    fn operation_holds(&self, s: &State<W>, line: usize, number: usize) -> Result<(), Violation> {
        let Some(most) = self.operations[number].at_most else {
            return Ok(());
        };
        for cache in 0..self.layout.caches {
            let word = s[self.layout.word(line, cache)];
            if self.cache_facts[cache_state(word)].level > most {
                let (line, cache) = (line as u8, cache as u8);
                return Err(Violation::OperationBroken { line, cache });
            }
        }
        Ok(())
    }

    /// A line that is idle needs a way of the directory before anything can start.
    fn way_is_free(&self, s: &State<W>, line: usize) -> bool {
        let busy = (0..self.layout.lines)
            .filter(|&other| other != line && home_state(home(s[0], other)) != 0)
            .count();
        busy < self.ways
    }

    /// Whether a step only brings forward what is under way.
    fn drains(&self, s: &State<W>, line: usize, cause: Cause) -> bool {
        let Cause::Operation(operation) = cause else {
            return true;
        };
        let facts = &self.operations[operation.index()];
        if facts.effect == Effect::Unlock {
            return self.home_locked[home_state(home(s[0], line))];
        }
        // The directory frees a way as soon as another line's request wants it.
        facts.internal
            && (0..self.layout.lines).any(|other| {
                other != line && home_state(home(s[0], other)) == 0 && {
                    let words = (0..self.layout.caches).map(|c| s[self.layout.word(other, c)]);
                    words.fold(0, |bits, word| bits | in_flight(word)) & self.requests != 0
                        && !self.way_is_free(s, other)
                }
            })
    }

    /// Somebody has a newer value of the line: everything else is old.
    fn make_old(&self, s: &mut State<W>, line: usize) {
        let mut half = home(s[0], line) | MEMORY_OLD;
        if access(half) == Access::PAYLOAD {
            half |= BUFFER_OLD;
        }
        s[0] = with_home(s[0], line, half);
        for cache in 0..self.layout.caches {
            let word = &mut s[self.layout.word(line, cache)];
            let young = *word & self.carries_copy;
            *word = *word & !young | young << 1;
            if self.cache_facts[cache_state(*word)].keeps_data {
                *word |= COPY_OLD;
            }
        }
    }

    fn room(&self, s: &State<W>, cache: usize, message: MsgId) -> bool {
        let buffer = self.messages[message.index()].buffer;
        let used: u32 = (0..self.layout.lines)
            .map(|line| (in_flight(s[self.layout.word(line, cache)]) & buffer).count_ones())
            .sum();
        used < self.capacity
    }

    /// The properties of a single state.
    pub fn inspect(&self, s: &State<W>) -> Option<Violation> {
        (0..self.layout.lines).find_map(|line| self.inspect_line(s, line))
    }

    fn inspect_line(&self, s: &State<W>, line: usize) -> Option<Violation> {
        let line8 = line as u8;
        let half = home(s[0], line);
        let (mut readers, mut writers) = (0, 0);
        for cache in 0..self.layout.caches {
            let word = s[self.layout.word(line, cache)];
            let facts = &self.cache_facts[cache_state(word)];
            let cache = cache as u8;
            readers += u32::from(facts.reads);
            writers += u32::from(facts.writes);
            if facts.reads && word & COPY_OLD != 0 {
                return Some(Violation::StaleCopy { line: line8, cache });
            }
            if facts.dirty && half & MEMORY_OLD == 0 {
                return Some(Violation::DirtyForNothing { line: line8, cache });
            }
            if facts.refuses {
                return Some(Violation::RuleRefused { line: line8, cache });
            }
        }
        if writers > 0 && readers > 1 {
            return Some(Violation::TwoOwners { line: line8 });
        }
        if writers > 0 && self.home_locked[home_state(half)] {
            return Some(Violation::WriterUnderLock { line: line8 });
        }
        self.home_refuses[home_state(half)].then_some(Violation::OperationRefused { line: line8 })
    }

    /// Nothing is outstanding anywhere.
    pub fn at_rest(&self, s: &State<W>) -> bool {
        (0..self.layout.lines).all(|line| {
            let half = home(s[0], line);
            self.home_stable[home_state(half)]
                && access(half) == Access::NONE
                && operation(half) == 0
                && (0..self.layout.caches).all(|cache| {
                    let word = s[self.layout.word(line, cache)];
                    word & MESSAGES == 0 && self.cache_facts[cache_state(word)].stable
                })
        })
    }
}

/// What makes the home move.
#[derive(Clone, Copy)]
enum Cause {
    Message(usize, MsgId),
    Operation(OpId),
    Memory,
}

const HOME_STATE: u32 = (1 << HOME_STATE_BITS) - 1;

fn home_state(half: u32) -> usize {
    (half & HOME_STATE) as usize
}

/// Codes of the memory access under way.
struct Access;

impl Access {
    const NONE: u32 = 0;
    const READ: u32 = 1;
    const PAYLOAD: u32 = 2;
    const HELD: u32 = 3;
    const OPERATION: u32 = 4;

    fn of(memory: Memory) -> u32 {
        match memory {
            Memory::None => Self::NONE,
            Memory::Read => Self::READ,
            Memory::WritePayload => Self::PAYLOAD,
            Memory::WriteHeld => Self::HELD,
            Memory::WriteOperation => Self::OPERATION,
        }
    }
}

/// An acknowledged operation has had its effect; and nothing else locks or unlocks.
fn effect_is_right(effect: Option<Effect>, finished: u32, (was, is): (bool, bool)) -> bool {
    match effect {
        Some(Effect::Lock) => is,
        Some(Effect::Unlock) => !is,
        Some(Effect::Read) => finished == Access::READ && was == is,
        Some(Effect::Write) => finished == Access::OPERATION && was == is,
        Some(Effect::Nothing) | None => was == is,
    }
}

fn low_bits(spec: &Spec, pick: impl Fn(MsgId) -> bool) -> u64 {
    spec.message_ids()
        .filter(|&m| pick(m))
        .fold(0, |bits, m| bits | 1 << (2 * m.0))
}

fn message_facts(protocol: &Protocol) -> Vec<MessageFacts> {
    let spec = &protocol.spec;
    let facts = |id: MsgId| {
        let message = spec.message(id);
        let same = |other: MsgId| {
            let other = spec.message(other);
            other.class == message.class && other.to_home == message.to_home
        };
        let column = protocol.cache.column(CacheEvent::Receive(id));
        MessageFacts {
            to_home: message.to_home,
            data: message.data,
            request: spec.is_request(id),
            buffer: low_bits(spec, same),
            cache_event: column.map_or(0xff, |c| c as u8),
        }
    };
    spec.message_ids().map(facts).collect()
}

fn cache_facts(protocol: &Protocol) -> Vec<CacheFacts> {
    let (spec, cache) = (&protocol.spec, &protocol.cache);
    let facts = |(number, state): (usize, &crate::machine::CacheState)| {
        let rights = spec.state(state.copy);
        let offers = |event: CacheEvent| {
            cache
                .column(event)
                .is_some_and(|column| cache.step(number, column).is_some())
        };
        let writes = spec.accesses.iter().filter(|a| a.kind == AccessKind::Write);
        let awaited = writes
            .map(|a| a.request)
            .find(|&r| Some(r) == state.waits_for);
        let refuses = state.stable && !rules_of(spec, state.copy).into_iter().all(offers);
        CacheFacts {
            reads: rights.read,
            writes: state.stable && rights.write,
            dirty: rights.dirty,
            keeps_data: state.keeps_data,
            stable: state.stable,
            level: rights.level.0,
            copy: state.copy.0,
            aim: state.aim.0,
            pass: state.pass.map_or(NO_PASS, |pass| pass.0),
            refuses,
            waits_to_write: awaited.map_or(0, |r| 1 << (2 * r.0)),
        }
    };
    cache.states.iter().enumerate().map(facts).collect()
}

/// What the specification lets a cache start in a stable state.
fn rules_of(spec: &Spec, state: crate::spec::StateId) -> Vec<CacheEvent> {
    let mut rules = Vec::new();
    let upgrades = spec
        .upgrades
        .iter()
        .enumerate()
        .filter(|(_, u)| u.from == state);
    rules.extend(upgrades.map(|(i, _)| CacheEvent::Upgrade(i as u8)));
    let downgrades = spec
        .downgrades
        .iter()
        .enumerate()
        .filter(|(_, d)| d.from == state);
    rules.extend(downgrades.map(|(i, _)| CacheEvent::Downgrade(i as u8)));
    if state == Spec::NO_COPY {
        rules.extend((0..spec.accesses.len() as u8).map(CacheEvent::Access));
    }
    if spec.state(state).store_to.is_some() {
        rules.push(CacheEvent::Store);
    }
    rules
}

/// Stable directory states that make an operation wait; the directory's own may wait for a lock.
fn refusing_home_states(protocol: &Protocol) -> Vec<bool> {
    let (spec, directory) = (&protocol.spec, &protocol.directory);
    let refuses = |number: usize| {
        let state = &directory.states[number];
        state.stable
            && spec.operation_ids().any(|op| {
                let waits_for_lock = state.locked && spec.operations[op.index()].internal;
                let column = directory.column(DirEvent::Operation(op));
                let stalls = column.is_some_and(|c| *directory.cell(number, c) == Cell::Stall);
                stalls && !waits_for_lock
            })
    };
    (0..directory.states.len()).map(refuses).collect()
}
