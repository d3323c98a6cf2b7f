//! The small model: a pager with a card, a host, kernels and clients.

use super::coverage::{kind, take_moves, Explored};
use super::Small;
use crate::action::{Action, Success};
use crate::config::{ChannelMemory, Config};
use crate::error::{AccessError, IoError};
use crate::event::{Event, ObjectKind};
use crate::eviction::{Choice, EvictionPolicy, Fifo};
use crate::ids::{IoId, ObjectId, ObjectPage, RequestId};
use crate::page::State;
use crate::pager::Pager;
use crate::placement::Striped;
use crate::policies::Policies;
use crate::testing::Verdict;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard};
use units::{
    Asid, CardAddr, CommandId, CommandStatus, Fault, FaultCause, FaultToken, HostAddr, Operation,
    PageSize, SpacePlacement, VirtAddr,
};

const OBJECT: ObjectId = ObjectId(1);
const PAGE: u64 = 4096;
const BUFFER: u64 = 1 << 32;
/// Base of the frame numbers of pages in host memory, beyond those of card memory.
const DIRECT: u64 = 1 << 35;

/// A policy with state that can be copied from outside.
#[derive(Clone, Debug, Default)]
pub(super) struct Shared(Arc<Mutex<Fifo>>);

impl Shared {
    pub(super) fn fifo(&self) -> MutexGuard<'_, Fifo> {
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

/// Content of a frame or buffer: the page (`None`: zeroes) and the number of its writes.
pub(super) type Content = Option<(Option<u64>, u8)>;

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Command {
    pub(super) id: CommandId,
    pub(super) operation: Operation,
    pub(super) fence: bool,
    pub(super) notify: bool,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Io {
    pub(super) id: IoId,
    pub(super) write: bool,
    pub(super) page: u64,
    /// `None`: the page's place in host memory.
    pub(super) buffer: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Requester {
    Idle,
    /// Waits for the host.
    Faulted {
        page: u64,
        write: bool,
    },
    /// Issued to memory.
    Left {
        page: u64,
        frame: u64,
        write: bool,
    },
    /// Held in reset until the ring is empty.
    Held,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Entry {
    pub(super) frame: u64,
    pub(super) write: bool,
    pub(super) dirty: bool,
}

/// Guarantee of a request: this many writes of each page are in storage. `None`: nothing.
type Promise = Option<Vec<u8>>;

/// All of the model except the pager.
#[derive(Clone, Debug, Hash)]
pub(super) struct World {
    pub(super) commands: Vec<Command>,
    pub(super) events: VecDeque<Event>,
    pub(super) io: Vec<Io>,
    pub(super) table: BTreeMap<(u8, u64), Entry>,
    pub(super) frames: BTreeMap<u64, Content>,
    pub(super) buffers: Vec<Content>,
    pub(super) disk: Vec<u8>,
    pub(super) latest: Vec<u8>,
    pub(super) requesters: Vec<Requester>,
    pub(super) mapped: Vec<bool>,
    /// Whether the object was closed, and kernel stores discarded.
    pub(super) closed: bool,
    pub(super) requests: BTreeMap<RequestId, Promise>,
    pub(super) left: Budget,
    pub(super) failed: bool,
}

#[derive(Clone, Copy, Debug, Hash)]
pub(super) struct Budget {
    pub(super) accesses: u8,
    pub(super) syncs: u8,
    pub(super) refreshes: u8,
    pub(super) unmaps: u8,
    pub(super) closes: u8,
    pub(super) hints: u8,
    pub(super) stops: u8,
    pub(super) failures: u8,
}

/// The pager, and the policy inside it.
pub(super) struct Brain {
    pub(super) pager: Pager,
    pub(super) policy: Shared,
}

impl Brain {
    fn fork(&self) -> Self {
        let policy = self.policy.fork();
        Self {
            pager: self.pager.fork(Whole::policies(&policy)),
            policy,
        }
    }
}

/// A state of the whole model. States without a pager event in between share it.
pub(super) struct Whole {
    pub(super) brain: Rc<Brain>,
    pub(super) world: World,
}

/// A possible next step.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    Access(u8, u64, bool),
    Arrive(u8),
    Command(usize, bool),
    Deliver,
    Io(usize, bool),
    Sync(u8),
    Refresh(u8),
    Unmap(u8),
    Close,
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

pub(super) fn frame_of(address: CardAddr) -> u64 {
    address.get() / PAGE
}

/// Frame number of a page in host memory.
pub(super) fn direct_frame(page: u64) -> u64 {
    DIRECT / PAGE + page
}

pub(super) fn buffer_of(address: HostAddr) -> usize {
    ((address.get() - BUFFER) / PAGE) as usize
}

impl Whole {
    pub(super) fn new(small: &Small) -> Verdict<Self> {
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
            overlap: small.overlap,
            zeroed_ahead_bytes: PAGE,
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
            brain: Rc::new(Brain { pager, policy }),
            world: World {
                commands: Vec::new(),
                events: VecDeque::new(),
                io: Vec::new(),
                table: BTreeMap::new(),
                frames: BTreeMap::new(),
                buffers: vec![None; small.buffers as usize],
                disk: vec![0; pages],
                latest: vec![0; pages],
                requesters: vec![Requester::Idle; usize::from(small.spaces)],
                mapped: vec![true; usize::from(small.spaces)],
                closed: false,
                requests: BTreeMap::new(),
                left: Budget {
                    accesses: small.accesses,
                    syncs: small.syncs,
                    refreshes: small.refreshes,
                    unmaps: small.unmaps,
                    closes: small.closes,
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
                limit: None,
                placement: SpacePlacement::Anywhere,
            })?;
        }
        whole.finish()?;
        whole.ask(None, |request| Event::CreateObject {
            request,
            object: OBJECT,
            offset: 0,
            bytes: small.pages * PAGE,
            kind: small.kind,
            page_size: None,
        })?;
        if small.direct {
            let place = Event::PlaceDirect {
                object: OBJECT,
                memory: HostAddr::new(DIRECT),
            };
            whole.tell(place, &mut Explored::default())?;
        }
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

    pub(super) fn fork(&self) -> Self {
        Self {
            brain: Rc::clone(&self.brain),
            world: self.world.clone(),
        }
    }

    /// Whether it is at rest: only kernels and clients could begin something.
    pub(super) fn rests(&self) -> bool {
        let world = &self.world;
        world.commands.is_empty()
            && world.events.is_empty()
            && world.io.is_empty()
            && world.requesters.iter().all(|s| *s == Requester::Idle)
    }

    /// All possible next steps.
    pub(super) fn steps(&self, small: &Small) -> Vec<Step> {
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
        // Data that an unmap promises to save is not discarded meanwhile.
        let promised = world.requests.values().any(Option::is_some);
        if left.closes > 0 && !promised && !world.mapped.contains(&true) {
            steps.push(Step::Close);
        }
        for space in 0..small.spaces {
            let requester = world.requesters[usize::from(space)];
            let mapped = world.mapped[usize::from(space)];
            if mapped && requester == Requester::Idle && left.accesses > 0 {
                for page in 0..small.pages {
                    steps.push(Step::Access(space, page, false));
                    steps.push(Step::Access(space, page, true));
                }
            }
            if mapped && left.syncs > 0 {
                steps.push(Step::Sync(space));
            }
            if mapped && left.refreshes > 0 {
                steps.push(Step::Refresh(space));
            }
            if mapped && left.unmaps > 0 {
                steps.push(Step::Unmap(space));
            }
            if mapped && left.hints > 0 {
                steps.push(Step::Hint(space));
            }
            if left.stops > 0 && matches!(requester, Requester::Faulted { .. }) {
                steps.push(Step::Stop(space));
            }
        }
        steps
    }

    /// Steps that will occur eventually without a request.
    pub(super) fn forced(&self) -> Vec<Step> {
        let world = &self.world;
        let mut steps: Vec<Step> = (0..world.commands.len())
            .filter(|&index| self.may_run(index))
            .map(|index| Step::Command(index, true))
            .collect();
        if !world.events.is_empty() {
            steps.push(Step::Deliver);
        }
        steps.extend((0..world.io.len()).map(|index| Step::Io(index, true)));
        for (space, requester) in world.requesters.iter().enumerate() {
            if matches!(requester, Requester::Left { .. }) {
                steps.push(Step::Arrive(space as u8));
            }
        }
        if world.commands.is_empty() && world.requesters.contains(&Requester::Held) {
            steps.push(Step::Release);
        }
        steps
    }

    /// Whether a command may take effect now.
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
                let requester = self.world.requesters.get(usize::from(asid.get()));
                !matches!(requester, Some(Requester::Left { page, .. }) if *page == page_at(address))
            }
            _ => true,
        }
    }

    pub(super) fn take(&mut self, step: Step, found: &mut Explored) -> Verdict<()> {
        let world = &mut self.world;
        match step {
            Step::Access(space, page, write) => {
                if world.left.accesses != Small::ANY {
                    world.left.accesses -= 1;
                }
                let entry = world.table.get_mut(&(space, page));
                let requester = &mut world.requesters[usize::from(space)];
                let entry = entry.filter(|entry| entry.write || !write);
                if let Some(entry) = entry {
                    entry.dirty |= write;
                    let frame = entry.frame;
                    *requester = Requester::Left { page, frame, write };
                    return Ok(());
                }
                *requester = Requester::Faulted { page, write };
                let token = FaultToken {
                    requester: space,
                    index: 0,
                };
                world.events.push_back(Event::Fault(Fault {
                    token,
                    asid: asid(space),
                    address: address(page),
                    write,
                    ahead: false,
                    cause: FaultCause::Absent,
                }));
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
            Step::Refresh(space) => {
                world.left.refreshes -= 1;
                let promise = Some(world.latest.clone());
                let bytes = world.latest.len() as u64 * PAGE;
                self.ask(promise, |request| Event::Refresh {
                    request,
                    asid: asid(space),
                    address: address(0),
                    bytes,
                    discard: false,
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
            Step::Close => {
                world.left.closes -= 1;
                world.closed = true;
                self.ask(None, |request| Event::CloseObject {
                    request,
                    object: OBJECT,
                    discard: true,
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
                world.requesters[usize::from(space)] = Requester::Held;
                world.events.retain(
                    |event| !matches!(event, Event::Fault(fault) if fault.token.requester == space),
                );
                self.note_all("stop", found);
                self.tell(
                    Event::SlotStopped {
                        first_requester: space,
                        last_requester: space,
                    },
                    found,
                )
            }
            Step::Release => {
                for requester in &mut world.requesters {
                    if *requester == Requester::Held {
                        *requester = Requester::Idle;
                    }
                }
                Ok(())
            }
        }
    }

    fn is_file(&self) -> bool {
        let object = self.brain.pager.pages().object(OBJECT);
        object.is_some_and(|object| object.kind != ObjectKind::Anonymous)
    }

    fn state(&self, index: u64) -> Option<State> {
        let object = OBJECT;
        self.brain.pager.pages().state(ObjectPage { object, index })
    }

    /// Records that every page meets an event.
    fn note_all(&self, event: &'static str, found: &mut Explored) {
        for index in 0..self.world.latest.len() as u64 {
            found.pairs.insert((kind(self.state(index)), event));
        }
    }

    fn note(&self, event: &Event, found: &mut Explored) {
        match event {
            Event::Fault(fault) => {
                let name = if fault.write { "write" } else { "read" };
                let state = self.state(page_at(fault.address));
                found.pairs.insert((kind(state), name));
            }
            Event::OperationDone { id, status, .. } => {
                let meaning = self.brain.pager.issued().operations().get(id);
                let page = meaning.and_then(|meaning| meaning.page());
                let good = *status == CommandStatus::Ok;
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

    /// Performs an access to memory.
    fn arrive(&mut self, space: u8) -> Verdict<()> {
        let world = &mut self.world;
        let requester = &mut world.requesters[usize::from(space)];
        let Requester::Left { page, frame, write } = *requester else {
            return Ok(());
        };
        *requester = Requester::Idle;
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

    /// Performs a command.
    fn run(&mut self, command: Command, good: bool) -> Verdict<()> {
        let world = &mut self.world;
        let mut dirty = false;
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
                dirty = entry.dirty;
            }
            Operation::Protect { asid, address, .. } => {
                let place = (asid.get(), page_at(address));
                let entry = world.table.get_mut(&place);
                let entry = entry.ok_or_else(|| format!("{place:?} is absent"))?;
                dirty = entry.dirty;
                entry.write = false;
                entry.dirty = false;
            }
            Operation::Nop | Operation::ReadClear { .. } | Operation::Grow { .. } => {
                return Err(format!("not expected: {command:?}"));
            }
            Operation::FaultReply { token, entry } => {
                let requester = &mut world.requesters[usize::from(token.requester)];
                match (*requester, entry) {
                    (Requester::Held, _) => {}
                    (Requester::Faulted { .. }, None) => *requester = Requester::Idle,
                    (Requester::Faulted { page, write }, Some(entry)) => {
                        let frame = u64::from(entry.frame.get());
                        *requester = Requester::Left { page, frame, write };
                    }
                    (other, _) => return Err(format!("a reply for {other:?}")),
                }
            }
        }
        if command.notify {
            let status = if good {
                CommandStatus::Ok
            } else {
                CommandStatus::BusError
            };
            self.world.events.push_back(Event::OperationDone {
                id: command.id,
                status,
                // The policy of these models does not examine pages.
                accessed: false,
                dirty,
            });
        }
        Ok(())
    }

    /// Checks that a frame is unused when its content is replaced.
    fn overwrite(&mut self, frame: u64, content: Content) -> Verdict<()> {
        let world = &mut self.world;
        let shown = world.table.values().any(|entry| entry.frame == frame);
        let under_way = world
            .requesters
            .iter()
            .any(|s| matches!(s, Requester::Left { frame: used, .. } if *used == frame));
        if shown || under_way {
            return Err(format!("frame {frame} is overwritten while in use"));
        }
        world.frames.insert(frame, content);
        Ok(())
    }

    fn end_io(&mut self, io: Io, good: bool, found: &mut Explored) -> Verdict<()> {
        let name = if good { "I/O ends" } else { "I/O fails" };
        found.pairs.insert((kind(self.state(io.page)), name));
        if good && !io.write && io.buffer.is_none() {
            let content = Some((Some(io.page), self.world.disk[io.page as usize]));
            self.overwrite(direct_frame(io.page), content)?;
        }
        let world = &mut self.world;
        let page = io.page as usize;
        let result = if good {
            if io.write {
                let content = match io.buffer {
                    Some(buffer) => world.buffers[buffer],
                    None => world.frames.get(&direct_frame(io.page)).copied().flatten(),
                };
                let (held, version) = content.ok_or("garbage is written")?;
                let right = held.is_none_or(|held| held == io.page) && version >= world.disk[page];
                if !right {
                    return Err(format!("{io:?} writes {held:?} {version}"));
                }
                world.disk[page] = version;
            } else if let Some(buffer) = io.buffer {
                world.buffers[buffer] = Some((Some(io.page), world.disk[page]));
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
        take_moves();
        if Rc::get_mut(&mut self.brain).is_none() {
            self.brain = Rc::new(self.brain.fork());
        }
        if let Some(brain) = Rc::get_mut(&mut self.brain) {
            brain.pager.handle(event, &mut actions);
        }
        let moves = take_moves().into_iter().filter(|(from, to)| from != to);
        found.moves.extend(moves);
        for action in actions {
            self.carry_out(&action)?;
        }
        self.brain.pager.check()
    }

    fn carry_out(&mut self, action: &Action) -> Verdict<()> {
        let world = &mut self.world;
        match *action {
            Action::Command {
                id,
                operation,
                fence,
                notify,
                ..
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
                buffer: Some(buffer.0 as usize),
            }),
            Action::FillDirect { io, transfer } | Action::SaveDirect { io, transfer } => {
                let write = matches!(action, Action::SaveDirect { .. });
                let page = transfer.offset / PAGE;
                // Saving a page that can be written meanwhile would save half of a write.
                let shown = |entry: &Entry| entry.frame == direct_frame(page);
                let entries = world.table.values().filter(|entry| shown(entry));
                if write && entries.clone().any(|entry| entry.write) {
                    return Err(format!("page {page} is saved while it can be written"));
                }
                world.io.push(Io {
                    id: io,
                    write,
                    page,
                    buffer: None,
                });
            }
            Action::ProtectHost { .. } => {
                return Err(format!("nobody shares memory here: {action:?}"));
            }
            Action::EnableSpace { .. }
            | Action::UsePageSizes { .. }
            | Action::WriteBackFailed { .. } => {}
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

    /// Completes everything under way, in one order.
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

    /// At rest: no access or request waits, and no data is lost when everything is closed.
    pub(super) fn judge_rest(&self) -> Verdict<()> {
        if !self.brain.pager.is_idle() || !self.world.requests.is_empty() {
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
        let kept = end.is_file() && !end.world.closed;
        if !end.world.closed {
            end.ask(None, |request| Event::CloseObject {
                request,
                object: OBJECT,
                discard: false,
            })?;
            end.finish()?;
        }
        let whole = end.brain.pager.free_frames() == end.brain.pager.total_frames();
        if !whole || end.brain.pager.resident_pages() > 0 || !end.world.requests.is_empty() {
            return Err("frames or requests are left when everything is put away".into());
        }
        if kept && end.world.disk != end.world.latest {
            return Err(format!(
                "storage has {:?}, kernels wrote {:?}",
                end.world.disk, end.world.latest
            ));
        }
        Ok(())
    }
}
