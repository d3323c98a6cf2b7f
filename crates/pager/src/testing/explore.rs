//! Every interleaving of a small world, breadth first: one object of a few pages, a few frames, one
//! kernel a space, and budgets for what kernels and clients may do and for what may fail.
//!
//! The card carries out commands in every order that docs/architecture.md allows, each at one moment
//! between its issue and its completion; completions, I/O and accesses under way end in any order. A
//! page's content is the number of writes it has seen. In every state the pager's own invariants hold,
//! what is read is what was written last, and from every state a state of rest is reached; there
//! nobody waits, and putting everything away leaves every write in storage and every frame free.

use super::Verdict;
use crate::action::{Action, Operation, Success};
use crate::buffer::Part;
use crate::config::{ChannelMemory, Config, InstallOrder};
use crate::error::{AccessError, IoError};
use crate::event::{Event, FaultCause, ObjectKind, OperationStatus};
use crate::eviction::{Choice, EvictionPolicy, Fifo};
use crate::ids::{FaultToken, IoId, ObjectId, OperationId, RequestId};
use crate::page::{ObjectPage, Purpose, Stage, State};
use crate::pager::{Pager, Policies};
use crate::placement::{SpacePlacement, Striped};
use crate::sabotage::Sabotage;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::fmt::Write as _;
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard};
use units::{Asid, CardAddr, HostAddr, PageSize, VirtAddr};

const OBJECT: ObjectId = ObjectId(1);
const PAGE: u64 = 4096;
const BUFFER: u64 = 1 << 32;

/// The small world.
#[derive(Clone, Copy, Debug)]
pub struct Small {
    /// Pages of the object, 1 to 4.
    pub pages: u64,
    /// Channels of card memory.
    pub channels: u64,
    /// Frames of each channel.
    pub frames: u64,
    /// DMA buffers.
    pub buffers: u64,
    /// Spaces that map the object, each with one kernel.
    pub spaces: u8,
    /// The object begins as zeroes.
    pub kind: ObjectKind,
    /// When entries are written.
    pub install_order: InstallOrder,
    /// See [`Config::clean_ahead`].
    pub clean_ahead: u64,
    /// Accesses of kernels.
    pub accesses: u8,
    /// Syncs.
    pub syncs: u8,
    /// Unmaps.
    pub unmaps: u8,
    /// Prefetches.
    pub hints: u8,
    /// Resets of a slot that waits.
    pub stops: u8,
    /// Failed reads, writes and copies.
    pub failures: u8,
    /// A mistake to plant.
    pub sabotage: Option<Sabotage>,
}

impl Small {
    /// Two pages, two memories with one frame each, two kernels.
    pub const TWO_TWO_TWO: Self = Self {
        pages: 2,
        channels: 2,
        frames: 1,
        buffers: 1,
        spaces: 2,
        kind: ObjectKind::File {
            writable: true,
            fresh: false,
        },
        install_order: InstallOrder::Fenced,
        clean_ahead: 0,
        accesses: 3,
        syncs: 1,
        unmaps: 0,
        hints: 0,
        stops: 0,
        failures: 0,
        sabotage: None,
    };

    /// Two pages that want one frame, one kernel.
    pub const ONE_FRAME: Self = Self {
        channels: 1,
        spaces: 1,
        accesses: 3,
        syncs: 0,
        ..Self::TWO_TWO_TWO
    };
}

/// Small worlds that together show every event to a page in every state.
///
/// # Errors
/// The first rule that was broken.
pub fn every_pair() -> Result<Explored, String> {
    let one = Small {
        accesses: 2,
        ..Small::ONE_FRAME
    };
    // Two kernels: one meets what the other has begun.
    let pair = Small { spaces: 2, ..one };
    // Three pages, two frames, one buffer: pages wait for the buffer while others need their frame.
    let three = Small {
        pages: 3,
        frames: 2,
        accesses: 3,
        ..pair
    };
    // The same with two pages: nobody waits for a frame.
    let roomy = Small { pages: 2, ..three };
    let worlds = [
        Small {
            syncs: 2,
            accesses: 1,
            ..one
        },
        Small {
            syncs: 1,
            unmaps: 1,
            ..one
        },
        Small {
            syncs: 1,
            hints: 1,
            ..one
        },
        Small {
            syncs: 1,
            failures: 1,
            ..one
        },
        Small {
            syncs: 1,
            stops: 1,
            ..pair
        },
        Small {
            accesses: 3,
            ..pair
        },
        Small {
            clean_ahead: 1,
            accesses: 3,
            ..one
        },
        Small {
            kind: ObjectKind::Anonymous,
            unmaps: 1,
            ..one
        },
        Small { unmaps: 1, ..pair },
        Small {
            syncs: 2,
            accesses: 2,
            ..roomy
        },
        Small { syncs: 1, ..roomy },
        Small {
            syncs: 1,
            hints: 1,
            accesses: 2,
            ..roomy
        },
        Small {
            syncs: 1,
            stops: 1,
            accesses: 2,
            ..roomy
        },
        Small {
            syncs: 1,
            unmaps: 1,
            accesses: 2,
            ..roomy
        },
        three,
    ];
    let mut found = Explored::default();
    for install_order in [InstallOrder::Fenced, InstallOrder::OnCompletion] {
        for world in worlds {
            found.add(explore(Small {
                install_order,
                ..world
            })?);
        }
    }
    Ok(found)
}

/// Moves that [`State::may_become`] and [`State::may_end`] allow, and the birth of a page, by the
/// names of the states.
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
        State::Reading(part),
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

/// What was found.
#[derive(Clone, Debug, Default)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Steps between them.
    pub steps: u64,
    /// States of rest.
    pub rests: u64,
    /// Which event met a page in which state.
    pub pairs: BTreeSet<(&'static str, &'static str)>,
    /// Which states followed each other.
    pub moves: BTreeSet<(&'static str, &'static str)>,
}

impl Explored {
    /// What can meet: what kernels and clients do in every state, and ends in their states.
    fn pairs_that_can_meet() -> BTreeSet<(&'static str, &'static str)> {
        let asked = STATES
            .iter()
            .flat_map(|&state| ASKED.iter().map(move |&event| (state, event)));
        asked.chain(ENDS).collect()
    }

    /// Pairs of a page's state and an event that there are.
    pub fn pairs_in_all(&self) -> usize {
        Self::pairs_that_can_meet().len()
    }

    /// Those that were not seen.
    pub fn missing_pairs(&self) -> Vec<(&'static str, &'static str)> {
        let all = Self::pairs_that_can_meet();
        all.difference(&self.pairs).copied().collect()
    }

    /// Moves of a page that the table allows.
    pub fn moves_in_all(&self) -> usize {
        legal_moves().len()
    }

    /// Those that were not seen.
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

/// A policy whose state can be copied from outside.
#[derive(Clone, Debug, Default)]
struct Shared(Arc<Mutex<Fifo>>);

impl Shared {
    fn fifo(&self) -> MutexGuard<'_, Fifo> {
        self.0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn fork(&self) -> Self {
        Self(Arc::new(Mutex::new(self.fifo().clone())))
    }
}

impl EvictionPolicy for Shared {
    fn inserted(&mut self, page: ObjectPage) {
        self.fifo().inserted(page);
    }
    fn removed(&mut self, page: ObjectPage) {
        self.fifo().removed(page);
    }
    fn observed(&mut self, page: ObjectPage, accessed: bool) {
        self.fifo().observed(page, accessed);
    }
    fn choose(&mut self, eligible: &dyn Fn(ObjectPage) -> bool) -> Choice {
        self.fifo().choose(eligible)
    }
    fn upcoming(&self, pages: usize) -> Vec<ObjectPage> {
        self.fifo().upcoming(pages)
    }
}

/// What a frame or buffer holds: the page (`None`: zeroes) and how many writes it has seen.
type Content = Option<(Option<u64>, u8)>;

#[derive(Clone, Copy, Debug)]
struct Command {
    id: OperationId,
    operation: Operation,
    fence: bool,
    notify: bool,
}

#[derive(Clone, Copy, Debug)]
struct Io {
    id: IoId,
    write: bool,
    page: u64,
    buffer: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stream {
    Idle,
    /// Waits for the host.
    Faulted {
        page: u64,
        write: bool,
    },
    /// On its way to memory.
    Left {
        page: u64,
        frame: u64,
        write: bool,
    },
    /// In reset until the ring is empty.
    Held,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    frame: u64,
    write: bool,
    dirty: bool,
    accessed: bool,
}

/// What a request promises: this many writes of each page are in storage. `None`: nothing.
type Promise = Option<Vec<u8>>;

/// Everything but the pager.
#[derive(Clone, Debug)]
struct World {
    commands: Vec<Command>,
    events: VecDeque<Event>,
    io: Vec<Io>,
    table: BTreeMap<(u8, u64), Entry>,
    frames: BTreeMap<u64, Content>,
    buffers: Vec<Content>,
    disk: Vec<u8>,
    latest: Vec<u8>,
    streams: Vec<Stream>,
    mapped: Vec<bool>,
    requests: BTreeMap<RequestId, Promise>,
    left: Budget,
    failed: bool,
}

#[derive(Clone, Copy, Debug)]
struct Budget {
    accesses: u8,
    syncs: u8,
    unmaps: u8,
    hints: u8,
    stops: u8,
    failures: u8,
}

/// A state of the whole.
struct Whole {
    pager: Pager,
    policy: Shared,
    world: World,
}

/// What can happen next.
#[derive(Clone, Copy, Debug)]
enum Step {
    Access(u8, u64, bool),
    Arrive(u8),
    Command(usize, bool),
    Deliver,
    Io(usize, bool),
    Sync(u8),
    Unmap(u8),
    Hint(u8),
    Stop(u8),
    Release,
}

fn asid(space: u8) -> Asid {
    Asid::new(space).unwrap_or_default()
}

fn address(page: u64) -> VirtAddr {
    VirtAddr::truncated((16 + page) * PAGE)
}

fn page_at(address: VirtAddr) -> u64 {
    address.get() / PAGE - 16
}

/// A state of a page in one word.
fn kind(state: Option<State>) -> &'static str {
    let Some(state) = state else {
        return "Absent";
    };
    match state {
        State::Waiting => "Waiting",
        State::AwaitingBuffer => "AwaitingBuffer",
        State::Reading(_) => "Reading",
        State::Loading { .. } => "Loading",
        State::Installing { .. } => "Installing",
        State::Resident => "Resident",
        State::WritingBack { purpose, stage } => match (purpose, stage) {
            (Purpose::Clean, Stage::Draining) => "Clean.Draining",
            (Purpose::Clean, Stage::AwaitingBuffer) => "Clean.AwaitingBuffer",
            (Purpose::Clean, Stage::CopyingOut(_)) => "Clean.CopyingOut",
            (Purpose::Clean, Stage::Writing(_)) => "Clean.Writing",
            (Purpose::Release, Stage::Draining) => "Release.Draining",
            (Purpose::Release, Stage::AwaitingBuffer) => "Release.AwaitingBuffer",
            (Purpose::Release, Stage::CopyingOut(_)) => "Release.CopyingOut",
            (Purpose::Release, Stage::Writing(_)) => "Release.Writing",
        },
    }
}

/// The states of a page.
const STATES: [&str; 15] = [
    "Absent",
    "Waiting",
    "AwaitingBuffer",
    "Reading",
    "Loading",
    "Installing",
    "Resident",
    "Clean.Draining",
    "Clean.AwaitingBuffer",
    "Clean.CopyingOut",
    "Clean.Writing",
    "Release.Draining",
    "Release.AwaitingBuffer",
    "Release.CopyingOut",
    "Release.Writing",
];

/// What kernels and clients can do to a page in any state.
const ASKED: [&str; 6] = ["read", "write", "sync", "unmap", "hint", "stop"];

/// What ends, and the states in which it can.
const ENDS: [(&str, &str); 14] = [
    ("Reading", "I/O ends"),
    ("Reading", "I/O fails"),
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
];

thread_local! {
    /// Moves of pages since it was last taken.
    static MOVES: RefCell<BTreeSet<(&'static str, &'static str)>> =
        const { RefCell::new(BTreeSet::new()) };
}

/// A page has moved.
pub(crate) fn moved(from: Option<State>, to: Option<State>) {
    MOVES.with_borrow_mut(|moves| moves.insert((kind(from), kind(to))));
}

impl Whole {
    fn new(small: &Small) -> Verdict<Self> {
        let table_bytes = 64u64 << 10;
        let channels: Vec<ChannelMemory> = (0..small.channels)
            .map(|channel| {
                let tables = if channel == 0 {
                    u64::from(small.spaces) * table_bytes
                } else {
                    0
                };
                ChannelMemory {
                    base: CardAddr::new(channel << 30).unwrap_or_default(),
                    bytes: tables + small.frames * PAGE,
                }
            })
            .collect();
        let config = Config {
            page_size: PageSize::KIB_4,
            table_sets_log2: 10,
            buffer_bytes: PAGE,
            install_order: small.install_order,
            clean_ahead: small.clean_ahead,
            ..Config::new(
                channels,
                (0..small.buffers)
                    .map(|buffer| HostAddr::new(BUFFER + buffer * PAGE))
                    .collect(),
            )
        };
        let policy = Shared::default();
        let policies = Self::policies(&policy);
        let mut pager = Pager::with_policies(config, policies).map_err(|e| e.to_string())?;
        pager.plant(small.sabotage);
        let pages = small.pages as usize;
        let mut whole = Self {
            pager,
            policy,
            world: World {
                commands: Vec::new(),
                events: VecDeque::new(),
                io: Vec::new(),
                table: BTreeMap::new(),
                frames: BTreeMap::new(),
                buffers: vec![None; small.buffers as usize],
                disk: vec![0; pages],
                latest: vec![0; pages],
                streams: vec![Stream::Idle; usize::from(small.spaces)],
                mapped: vec![true; usize::from(small.spaces)],
                requests: BTreeMap::new(),
                left: Budget {
                    accesses: small.accesses,
                    syncs: small.syncs,
                    unmaps: small.unmaps,
                    hints: small.hints,
                    stops: small.stops,
                    failures: small.failures,
                },
                failed: false,
            },
        };
        for space in 0..small.spaces {
            whole.ask(None, |request| Event::CreateSpace {
                request,
                asid: asid(space),
                frame_limit: None,
                placement: SpacePlacement::Anywhere,
            })?;
        }
        whole.finish()?;
        whole.ask(None, |request| Event::CreateObject {
            request,
            object: OBJECT,
            bytes: small.pages * PAGE,
            kind: small.kind,
        })?;
        for space in 0..small.spaces {
            whole.ask(None, |request| Event::Map {
                request,
                asid: asid(space),
                address: Some(address(0)),
                object: OBJECT,
                offset: 0,
                bytes: small.pages * PAGE,
                read: true,
                write: true,
            })?;
        }
        whole.normalise();
        Ok(whole)
    }

    fn policies(policy: &Shared) -> Policies {
        Policies {
            eviction: Box::new(policy.clone()),
            placement: Box::new(Striped),
            ..Policies::default()
        }
    }

    fn fork(&self) -> Self {
        let policy = self.policy.fork();
        Self {
            pager: self.pager.fork(Self::policies(&policy)),
            policy,
            world: self.world.clone(),
        }
    }

    /// Names that count up are replaced by their order, so that equal states look equal.
    fn normalise(&mut self) {
        let (operations, io) = self.pager.renumber();
        self.policy.fifo().renumber();
        let rename = |id: OperationId| operations.get(&id).copied();
        for command in &mut self.world.commands {
            command.id = rename(command.id).unwrap_or(OperationId(u32::MAX));
        }
        for event in &mut self.world.events {
            if let Event::OperationDone { id, .. } = event {
                *id = rename(*id).unwrap_or(OperationId(u32::MAX));
            }
        }
        for transfer in &mut self.world.io {
            transfer.id = io.get(&transfer.id).copied().unwrap_or_default();
        }
        self.world.io.sort_by_key(|io| io.id);
    }

    fn fingerprint(&self) -> u128 {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = write!(text, "{:?}{:?}", self.pager, self.world);
        let half = |seed: u8| {
            let mut hasher = DefaultHasher::new();
            hasher.write_u8(seed);
            hasher.write(text.as_bytes());
            u128::from(hasher.finish())
        };
        half(1) << 64 | half(2)
    }

    /// At rest: only kernels and clients could begin something.
    fn rests(&self) -> bool {
        let world = &self.world;
        world.commands.is_empty()
            && world.events.is_empty()
            && world.io.is_empty()
            && world.streams.iter().all(|s| *s == Stream::Idle)
    }

    /// Everything that can happen next.
    fn steps(&self, small: &Small) -> Vec<Step> {
        let world = &self.world;
        let left = &world.left;
        let mut steps = self.forced();
        if left.failures > 0 {
            for (index, command) in world.commands.iter().enumerate() {
                let copy = matches!(
                    command.operation,
                    Operation::CopyIn { .. } | Operation::CopyOut { .. } | Operation::Zero { .. }
                );
                if copy && command.notify && self.may_run(index) {
                    steps.push(Step::Command(index, false));
                }
            }
            steps.extend((0..world.io.len()).map(|index| Step::Io(index, false)));
        }
        for space in 0..small.spaces {
            let stream = world.streams[usize::from(space)];
            let mapped = world.mapped[usize::from(space)];
            if mapped && stream == Stream::Idle && left.accesses > 0 {
                for page in 0..small.pages {
                    steps.push(Step::Access(space, page, false));
                    steps.push(Step::Access(space, page, true));
                }
            }
            if mapped && left.syncs > 0 {
                steps.push(Step::Sync(space));
            }
            if mapped && left.unmaps > 0 {
                steps.push(Step::Unmap(space));
            }
            if mapped && left.hints > 0 {
                steps.push(Step::Hint(space));
            }
            if left.stops > 0 && matches!(stream, Stream::Faulted { .. }) {
                steps.push(Step::Stop(space));
            }
        }
        steps
    }

    /// What happens sooner or later by itself.
    fn forced(&self) -> Vec<Step> {
        let world = &self.world;
        let mut steps: Vec<Step> = (0..world.commands.len())
            .filter(|&index| self.may_run(index))
            .map(|index| Step::Command(index, true))
            .collect();
        if !world.events.is_empty() {
            steps.push(Step::Deliver);
        }
        steps.extend((0..world.io.len()).map(|index| Step::Io(index, true)));
        for (space, stream) in world.streams.iter().enumerate() {
            if matches!(stream, Stream::Left { .. }) {
                steps.push(Step::Arrive(space as u8));
            }
        }
        if world.commands.is_empty() && world.streams.contains(&Stream::Held) {
            steps.push(Step::Release);
        }
        steps
    }

    /// A command may take effect now.
    fn may_run(&self, index: usize) -> bool {
        let (earlier, rest) = self.world.commands.split_at(index);
        let Some(command) = rest.first() else {
            return false;
        };
        let copies = |operation: &Operation| {
            matches!(
                operation,
                Operation::CopyIn { .. } | Operation::CopyOut { .. } | Operation::Zero { .. }
            )
        };
        if earlier.iter().any(|c| c.fence) || (command.fence && !earlier.is_empty()) {
            return false;
        }
        match command.operation {
            operation if copies(&operation) => true,
            _ if earlier.iter().any(|c| !copies(&c.operation)) => false,
            Operation::Invalidate { asid, address, .. }
            | Operation::Protect { asid, address, .. } => {
                let stream = self.world.streams.get(usize::from(asid.get()));
                !matches!(stream, Some(Stream::Left { page, .. }) if *page == page_at(address))
            }
            _ => true,
        }
    }

    fn take(&mut self, step: Step, found: &mut Explored) -> Verdict<()> {
        let world = &mut self.world;
        match step {
            Step::Access(space, page, write) => {
                world.left.accesses -= 1;
                let entry = world.table.get_mut(&(space, page));
                let stream = &mut world.streams[usize::from(space)];
                let entry = entry.filter(|entry| entry.write || !write);
                if let Some(entry) = entry {
                    entry.accessed = true;
                    entry.dirty |= write;
                    let frame = entry.frame;
                    *stream = Stream::Left { page, frame, write };
                    return Ok(());
                }
                *stream = Stream::Faulted { page, write };
                let token = FaultToken {
                    stream: space,
                    index: 0,
                };
                world.events.push_back(Event::Fault {
                    token,
                    asid: asid(space),
                    address: address(page),
                    write,
                    ahead: false,
                    cause: FaultCause::Absent,
                });
                Ok(())
            }
            Step::Arrive(space) => self.arrive(space),
            Step::Command(index, good) => {
                let command = world.commands.remove(index);
                if !good {
                    world.left.failures -= 1;
                    world.failed = true;
                }
                self.run(command, good)
            }
            Step::Deliver => match world.events.pop_front() {
                Some(event) => self.tell(event, found),
                None => Ok(()),
            },
            Step::Io(index, good) => {
                let io = world.io.remove(index);
                self.end_io(io, good, found)
            }
            Step::Sync(space) => {
                world.left.syncs -= 1;
                let promise = Some(world.latest.clone());
                let bytes = world.latest.len() as u64 * PAGE;
                self.note_all("sync", found);
                self.ask(promise, |request| Event::Sync {
                    request,
                    asid: asid(space),
                    address: address(0),
                    bytes,
                })
            }
            Step::Unmap(space) => {
                world.left.unmaps -= 1;
                world.mapped[usize::from(space)] = false;
                let file = self.is_file();
                let world = &self.world;
                let promise = file.then(|| world.latest.clone());
                let bytes = world.latest.len() as u64 * PAGE;
                self.note_all("unmap", found);
                self.ask(promise, |request| Event::Unmap {
                    request,
                    asid: asid(space),
                    address: address(0),
                    bytes,
                })
            }
            Step::Hint(space) => {
                world.left.hints -= 1;
                let bytes = world.latest.len() as u64 * PAGE;
                self.note_all("hint", found);
                self.tell(
                    Event::Prefetch {
                        asid: asid(space),
                        address: address(0),
                        bytes,
                    },
                    found,
                )
            }
            Step::Stop(space) => {
                world.left.stops -= 1;
                world.streams[usize::from(space)] = Stream::Held;
                world.events.retain(
                    |event| !matches!(event, Event::Fault { token, .. } if token.stream == space),
                );
                self.note_all("stop", found);
                self.tell(
                    Event::SlotStopped {
                        first_stream: space,
                        last_stream: space,
                    },
                    found,
                )
            }
            Step::Release => {
                for stream in &mut world.streams {
                    if *stream == Stream::Held {
                        *stream = Stream::Idle;
                    }
                }
                Ok(())
            }
        }
    }

    fn is_file(&self) -> bool {
        let object = self.pager.objects.get(&OBJECT);
        object.is_some_and(|object| object.kind != ObjectKind::Anonymous)
    }

    fn state(&self, index: u64) -> Option<State> {
        let object = OBJECT;
        let page = self.pager.pages.get(&ObjectPage { object, index });
        page.map(|page| page.state)
    }

    /// Every page meets an event.
    fn note_all(&self, event: &'static str, found: &mut Explored) {
        for index in 0..self.world.latest.len() as u64 {
            found.pairs.insert((kind(self.state(index)), event));
        }
    }

    fn note(&self, event: &Event, found: &mut Explored) {
        match event {
            Event::Fault { address, write, .. } => {
                let name = if *write { "write" } else { "read" };
                let state = self.state(page_at(*address));
                found.pairs.insert((kind(state), name));
            }
            Event::OperationDone { id, status, .. } => {
                let meaning = self.pager.issued.operations().get(id);
                let page = meaning.and_then(|meaning| meaning.page());
                let good = *status == OperationStatus::Ok;
                let name = if good {
                    "command ends"
                } else {
                    "command fails"
                };
                if let Some(page) = page {
                    found.pairs.insert((kind(self.state(page.index)), name));
                }
            }
            _ => {}
        }
    }

    /// An access reaches memory.
    fn arrive(&mut self, space: u8) -> Verdict<()> {
        let world = &mut self.world;
        let stream = &mut world.streams[usize::from(space)];
        let Stream::Left { page, frame, write } = *stream else {
            return Ok(());
        };
        *stream = Stream::Idle;
        let latest = &mut world.latest[page as usize];
        let content = world.frames.entry(frame).or_default();
        let right = match *content {
            Some((Some(held), version)) => held == page && version == *latest,
            Some((None, version)) => version == *latest,
            None => false,
        };
        if !right {
            return Err(format!(
                "space {space} page {page}: the frame holds {content:?}, the last write was {latest}"
            ));
        }
        if write {
            *latest += 1;
            *content = Some((Some(page), *latest));
        }
        Ok(())
    }

    /// A command takes effect.
    fn run(&mut self, command: Command, good: bool) -> Verdict<()> {
        let world = &mut self.world;
        let frame_of = |address: CardAddr| address.get() / PAGE;
        let buffer_of = |address: HostAddr| ((address.get() - BUFFER) / PAGE) as usize;
        let (mut accessed, mut dirty) = (false, false);
        match command.operation {
            Operation::CopyIn { from, to, .. } => {
                let content = world.buffers[buffer_of(from)];
                self.overwrite(frame_of(to), if good { content } else { None })?;
            }
            Operation::Zero { to, .. } => {
                self.overwrite(frame_of(to), good.then_some((None, 0)))?;
            }
            Operation::CopyOut { from, to, .. } => {
                let content = world.frames.get(&frame_of(from)).copied().flatten();
                world.buffers[buffer_of(to)] = if good { content } else { None };
            }
            Operation::Install {
                asid,
                address,
                entry,
            } => {
                let entry = Entry {
                    frame: u64::from(entry.frame.get()),
                    write: entry.write,
                    dirty: entry.dirty,
                    accessed: entry.accessed,
                };
                let place = (asid.get(), page_at(address));
                if world.table.insert(place, entry).is_some() {
                    return Err(format!("{place:?} is installed twice"));
                }
            }
            Operation::Invalidate { asid, address, .. } => {
                let place = (asid.get(), page_at(address));
                let entry = world.table.remove(&place);
                let entry = entry.ok_or_else(|| format!("{place:?} is absent"))?;
                (accessed, dirty) = (entry.accessed, entry.dirty);
            }
            Operation::Protect { asid, address, .. } => {
                let place = (asid.get(), page_at(address));
                let entry = world.table.get_mut(&place);
                let entry = entry.ok_or_else(|| format!("{place:?} is absent"))?;
                (accessed, dirty) = (entry.accessed, entry.dirty);
                entry.write = false;
                entry.dirty = false;
            }
            Operation::ReadClear { .. } | Operation::Grow { .. } => {
                return Err(format!("not expected: {command:?}"));
            }
            Operation::FaultReply { token, entry } => {
                let stream = &mut world.streams[usize::from(token.stream)];
                match (*stream, entry) {
                    (Stream::Held, _) => {}
                    (Stream::Faulted { .. }, None) => *stream = Stream::Idle,
                    (Stream::Faulted { page, write }, Some(entry)) => {
                        let frame = u64::from(entry.frame.get());
                        *stream = Stream::Left { page, frame, write };
                    }
                    (other, _) => return Err(format!("a reply for {other:?}")),
                }
            }
        }
        if command.notify {
            let status = if good {
                OperationStatus::Ok
            } else {
                OperationStatus::BusError
            };
            self.world.events.push_back(Event::OperationDone {
                id: command.id,
                status,
                accessed,
                dirty,
            });
        }
        Ok(())
    }

    /// Nobody may use a frame that gets new content.
    fn overwrite(&mut self, frame: u64, content: Content) -> Verdict<()> {
        let world = &mut self.world;
        let shown = world.table.values().any(|entry| entry.frame == frame);
        let under_way = world
            .streams
            .iter()
            .any(|s| matches!(s, Stream::Left { frame: used, .. } if *used == frame));
        if shown || under_way {
            return Err(format!("frame {frame} is overwritten while in use"));
        }
        world.frames.insert(frame, content);
        Ok(())
    }

    fn end_io(&mut self, io: Io, good: bool, found: &mut Explored) -> Verdict<()> {
        let name = if good { "I/O ends" } else { "I/O fails" };
        found.pairs.insert((kind(self.state(io.page)), name));
        let world = &mut self.world;
        let page = io.page as usize;
        let result = if good {
            if io.write {
                let (held, version) = world.buffers[io.buffer].ok_or("garbage is written")?;
                let right = held.is_none_or(|held| held == io.page) && version >= world.disk[page];
                if !right {
                    return Err(format!("{io:?} writes {held:?} {version}"));
                }
                world.disk[page] = version;
            } else {
                world.buffers[io.buffer] = Some((Some(io.page), world.disk[page]));
            }
            Ok(PAGE)
        } else {
            world.left.failures -= 1;
            world.failed = true;
            Err(IoError::Os(5))
        };
        self.tell(Event::IoDone { id: io.id, result }, found)
    }

    fn ask(&mut self, promise: Promise, event: impl FnOnce(RequestId) -> Event) -> Verdict<()> {
        let name = (1..).map(RequestId);
        let mut free = name.filter(|name| !self.world.requests.contains_key(name));
        let request = free.next().unwrap_or_default();
        self.world.requests.insert(request, promise);
        self.tell(event(request), &mut Explored::default())
    }

    fn tell(&mut self, event: Event, found: &mut Explored) -> Verdict<()> {
        self.note(&event, found);
        let mut actions = Vec::new();
        MOVES.take();
        self.pager.handle(event, &mut actions);
        let moves = MOVES.take().into_iter().filter(|(from, to)| from != to);
        found.moves.extend(moves);
        for action in actions {
            self.carry_out(&action)?;
        }
        self.pager.check()
    }

    fn carry_out(&mut self, action: &Action) -> Verdict<()> {
        let world = &mut self.world;
        match *action {
            Action::Command {
                id,
                operation,
                fence,
                notify,
            } => world.commands.push(Command {
                id,
                operation,
                fence,
                notify,
            }),
            Action::ReadObject {
                io, offset, buffer, ..
            }
            | Action::WriteObject {
                io, offset, buffer, ..
            } => world.io.push(Io {
                id: io,
                write: matches!(action, Action::WriteObject { .. }),
                page: offset / PAGE,
                buffer: buffer.0 as usize,
            }),
            Action::EnableSpace { .. } | Action::WriteBackFailed { .. } => {}
            Action::DisableSpace { asid } => {
                if world.table.keys().any(|place| place.0 == asid.get()) {
                    return Err(format!("{asid:?} is disabled with entries"));
                }
            }
            Action::Complete { request, result } => {
                let promise = world.requests.remove(&request);
                let promise = promise.ok_or_else(|| format!("{request} ended twice"))?;
                match (result, promise) {
                    (Ok(Success::Mapped(_)), _) | (Ok(Success::Done), None) => {}
                    (Ok(Success::Done), Some(promise)) => {
                        if promise
                            .iter()
                            .zip(&world.disk)
                            .any(|(want, has)| has < want)
                        {
                            return Err(format!(
                                "{request} promised {promise:?}, storage has {:?}",
                                world.disk
                            ));
                        }
                    }
                    (Err(_), _) if world.failed => {}
                    (Err(error), _) => return Err(error.to_string()),
                }
            }
            Action::AccessFailed { asid, reason, .. } => {
                let mapped = world.mapped[usize::from(asid.get())];
                let fair = match reason {
                    AccessError::NotMapped | AccessError::Unmapped => !mapped,
                    AccessError::Fetch(_) | AccessError::NoFrame { .. } => world.failed,
                    AccessError::NotReadable | AccessError::NotWritable => false,
                };
                if !fair {
                    return Err(format!("unfair: {reason}"));
                }
            }
            Action::CardFailed { id, status } => {
                return Err(format!("the card failed {id} with {status:?}"));
            }
        }
        Ok(())
    }

    /// Lets everything under way end, in one order.
    fn finish(&mut self) -> Verdict<()> {
        let mut found = Explored::default();
        for _ in 0..10_000 {
            let Some(&step) = self.forced().first() else {
                return Ok(());
            };
            self.take(step, &mut found)?;
        }
        Err("what is under way does not end".into())
    }

    /// At rest: nobody waits, and nothing is lost when everything is put away.
    fn judge_rest(&self) -> Verdict<()> {
        if !self.pager.is_idle() || !self.world.requests.is_empty() {
            return Err(format!(
                "stuck: the pager waits for nothing, requests {:?}",
                self.world.requests
            ));
        }
        let mut end = self.fork();
        let spaces = end.world.mapped.len() as u8;
        end.world.mapped.fill(false);
        for space in 0..spaces {
            end.ask(None, |request| Event::DestroySpace {
                request,
                asid: asid(space),
            })?;
            end.finish()?;
        }
        let file = end.is_file();
        end.ask(None, |request| Event::CloseObject {
            request,
            object: OBJECT,
            discard: false,
        })?;
        end.finish()?;
        let whole = end.pager.free_frames() == end.pager.total_frames();
        if !whole || end.pager.resident_pages() > 0 || !end.world.requests.is_empty() {
            return Err("frames or requests are left when everything is put away".into());
        }
        if file && end.world.disk != end.world.latest {
            return Err(format!(
                "storage has {:?}, kernels wrote {:?}",
                end.world.disk, end.world.latest
            ));
        }
        Ok(())
    }
}

/// Visits every state that can be reached.
///
/// # Errors
/// The first rule that was broken, with the steps that lead there.
pub fn explore(small: Small) -> Result<Explored, String> {
    let mut found = Explored::default();
    let first = Whole::new(&small)?;
    let mut known: HashMap<u128, u32> = HashMap::from([(first.fingerprint(), 0)]);
    // Where each state was first reached from, and how.
    let mut origins: Vec<Option<(u32, Step)>> = vec![None];
    let mut edges: Vec<(u32, u32)> = Vec::new();
    let mut rests: Vec<u32> = Vec::new();
    let mut queue = VecDeque::from([(0u32, first)]);
    let story = |origins: &[Option<(u32, Step)>], mut at: u32| {
        let mut steps = Vec::new();
        while let Some((from, step)) = origins[at as usize] {
            steps.push(format!("{step:?}"));
            at = from;
        }
        steps.reverse();
        steps.join(" ")
    };
    while let Some((number, whole)) = queue.pop_front() {
        let steps = whole.steps(&small);
        if whole.rests() {
            found.rests += 1;
            rests.push(number);
            whole
                .judge_rest()
                .map_err(|rule| format!("{rule}\nafter {}", story(&origins, number)))?;
        } else if whole.forced().is_empty() {
            return Err(format!("stuck after {}", story(&origins, number)));
        }
        for step in steps {
            let mut next = whole.fork();
            found.steps += 1;
            next.take(step, &mut found)
                .map_err(|rule| format!("{rule}\nafter {} {step:?}", story(&origins, number)))?;
            next.normalise();
            let fresh = origins.len() as u32;
            let place = *known.entry(next.fingerprint()).or_insert(fresh);
            edges.push((place, number));
            if place == fresh {
                origins.push(Some((number, step)));
                queue.push_back((fresh, next));
            }
        }
    }
    found.states = origins.len() as u64;
    if let Some(lost) = never_rests(&edges, &rests, origins.len()) {
        return Err(format!(
            "no state of rest can be reached after {}",
            story(&origins, lost)
        ));
    }
    Ok(found)
}

/// A state from which no state of rest can be reached. Edges are (to, from).
fn never_rests(edges: &[(u32, u32)], rests: &[u32], states: usize) -> Option<u32> {
    let mut into: Vec<Vec<u32>> = vec![Vec::new(); states];
    for &(to, from) in edges {
        into[to as usize].push(from);
    }
    let mut reached = vec![false; states];
    let mut open: Vec<u32> = rests.to_vec();
    while let Some(state) = open.pop() {
        if !std::mem::replace(&mut reached[state as usize], true) {
            open.extend(&into[state as usize]);
        }
    }
    let lost = reached.iter().position(|&reached| !reached)?;
    Some(lost as u32)
}
