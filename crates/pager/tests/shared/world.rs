//! A pager of shared memory with a card, kernels, and programs of the host, all in random order. The content of a page
//! is one number: the last write.

use std::collections::{BTreeMap, VecDeque};
use tombolo_pager::eviction::Eviction;
use tombolo_pager::fetch::{FetchPolicy, Plan, Touch};
use tombolo_pager::{
    Action, ChannelMemory, Config, Event, InstallOrder, IoError, IoId, ObjectId, ObjectKind, Pager,
    Policies, RequestId, Success,
};
use units::{Asid, CardAddr, HostAccess, HostAddr, PageEntry, PageSize, VirtAddr};
use units::{CommandId, CommandStatus, Fault, FaultCause, FaultToken, Operation};

pub const PAGE: u64 = 4096;
const OBJECT: ObjectId = ObjectId(1);
const MEMORY: u64 = 1 << 33;
const FIRST: u64 = 0x7f00_0000_0000;

/// A small generator of random numbers.
pub struct Rng(pub u64);

impl Rng {
    pub fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % n
    }
}

/// Wants two pages more at each access, however few frames there are.
#[derive(Debug)]
struct Eager;

impl FetchPolicy for Eager {
    fn touched(&mut self, touch: &Touch, _there: &dyn Fn(u64) -> bool) -> Plan {
        Plan {
            ahead: touch.page.index + 1..touch.page.index + 3,
            ..Plan::default()
        }
    }
}

/// A reader or writer, and its page.
#[derive(Clone, Copy, Debug)]
pub struct Access {
    pub page: u64,
    pub write: bool,
}

#[derive(Clone, Copy, Debug)]
enum Kernel {
    Idle,
    /// To be translated.
    Open(Access),
    /// Its fault is reported, or about to be.
    Faulted(Access),
    /// It has a translation, which an invalidation takes away again.
    Answered(Access, PageEntry),
    /// It has left: nothing stops it.
    Left(Access, PageEntry),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Program {
    Idle,
    Wants(u64, bool),
    Trapped(u64, bool, RequestId),
}

pub struct World {
    pub pager: Pager,
    pub rng: Rng,
    pages: u64,
    spaces: u8,
    kernels: Vec<Kernel>,
    programs: Vec<Program>,
    queue: VecDeque<(CommandId, Operation, bool)>,
    copies: Vec<(CommandId, Operation, bool)>,
    events: VecDeque<Event>,
    protections: Vec<(IoId, u64, HostAccess)>,
    table: BTreeMap<(u8, u64), PageEntry>,
    frames: BTreeMap<u64, u64>,
    pub memory: Vec<u64>,
    pub access: Vec<HostAccess>,
    latest: Vec<u64>,
    stamp: u64,
    next_request: u64,
    pub completed: BTreeMap<RequestId, Result<Success, String>>,
    /// Copies to the card, and back.
    pub copied: (u64, u64),
    pub kernel_accesses: u64,
    pub program_accesses: u64,
    /// Percent of copies to the card, and of tighter protections, that fail.
    pub failures: usize,
    pub failed: u64,
}

impl World {
    pub fn new(seed: u64, pages: u64, frames: u64, order: InstallOrder) -> Self {
        let eviction = match seed % 4 {
            0 => Eviction::Fifo,
            2 => Eviction::SharedFirst,
            _ => Eviction::SecondChance,
        };
        let usual = Policies::default();
        let policies = Policies {
            eviction: eviction.policy(),
            fetch: match seed % 5 {
                0 | 1 => Box::new(Eager),
                _ => usual.fetch,
            },
            ..usual
        };
        Self::with_policies(seed, pages, frames, order, policies)
    }

    pub fn with_eviction(
        seed: u64,
        pages: u64,
        frames: u64,
        order: InstallOrder,
        eviction: Eviction,
    ) -> Self {
        let policies = Policies {
            eviction: eviction.policy(),
            ..Policies::default()
        };
        Self::with_policies(seed, pages, frames, order, policies)
    }

    pub fn with_policies(
        seed: u64,
        pages: u64,
        frames: u64,
        order: InstallOrder,
        policies: Policies,
    ) -> Self {
        let memory = ChannelMemory {
            base: CardAddr::new(0).unwrap(),
            bytes: 2 * 65536 + frames * PAGE,
        };
        let config = Config {
            page_size: PageSize::KIB_4,
            table_sets_log2: 10,
            buffer_bytes: PAGE,
            install_order: order,
            ..Config::new(vec![memory], vec![HostAddr::new(1 << 32)])
        };
        let mut world = Self {
            pager: Pager::with_policies(config, policies).unwrap(),
            rng: Rng(seed * 2 + 1),
            pages,
            spaces: 2,
            kernels: vec![Kernel::Idle; 3],
            programs: vec![Program::Idle; 3],
            queue: VecDeque::new(),
            copies: Vec::new(),
            events: VecDeque::new(),
            protections: Vec::new(),
            table: BTreeMap::new(),
            frames: BTreeMap::new(),
            memory: vec![0; pages as usize],
            access: vec![HostAccess::ReadWrite; pages as usize],
            latest: vec![0; pages as usize],
            stamp: 0,
            next_request: 0,
            completed: BTreeMap::new(),
            copied: (0, 0),
            kernel_accesses: 0,
            program_accesses: 0,
            failures: 0,
            failed: 0,
        };
        for number in 0..world.spaces {
            let asid = Asid::new(number).unwrap();
            world.ask(|request| Event::CreateSpace {
                request,
                asid,
                limit: None,
                placement: Default::default(),
            });
            world.rest();
        }
        let kind = ObjectKind::Host {
            memory: HostAddr::new(MEMORY),
        };
        world.ask(|request| Event::CreateObject {
            request,
            object: OBJECT,
            offset: 0,
            bytes: pages * PAGE,
            kind,
            page_size: None,
        });
        for number in 0..world.spaces {
            let asid = Asid::new(number).unwrap();
            world.ask(|request| Event::Map {
                request,
                asid,
                address: VirtAddr::new(FIRST),
                object: OBJECT,
                offset: 0,
                bytes: pages * PAGE,
                read: true,
                write: true,
            });
        }
        world.rest();
        world
    }

    fn request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }

    fn ask(&mut self, event: impl FnOnce(RequestId) -> Event) -> RequestId {
        let request = self.request();
        self.tell(event(request));
        request
    }

    fn tell(&mut self, event: Event) {
        let mut actions = Vec::new();
        self.pager.handle(event, &mut actions);
        self.pager.check().unwrap();
        for action in actions {
            match action {
                Action::Command {
                    id,
                    operation,
                    fence,
                    notify,
                    ..
                } => {
                    if fence {
                        self.queue.push_back((
                            id,
                            Operation::Zero {
                                to: CardAddr::default(),
                                bytes: 0,
                                stripe: Default::default(),
                            },
                            false,
                        ));
                    }
                    self.queue.push_back((id, operation, notify));
                }
                Action::ProtectHost {
                    io,
                    object,
                    offset,
                    bytes,
                    access,
                } => {
                    assert_eq!((object, bytes), (OBJECT, PAGE));
                    self.protections.push((io, offset / PAGE, access));
                }
                Action::Complete { request, result } => {
                    let result = result.map_err(|error| error.to_string());
                    self.completed.insert(request, result);
                }
                Action::AccessFailed { token, reason, .. } => {
                    assert!(self.failures > 0 || self.gone(), "{reason}");
                    self.failed += 1;
                    self.kernels[usize::from(token.requester / 2)] = Kernel::Idle;
                }
                Action::EnableSpace { .. } | Action::UsePageSizes { .. } => {}
                Action::DisableSpace { .. } => {}
                other => panic!("{other:?}"),
            }
        }
    }

    fn gone(&self) -> bool {
        self.spaces == 0
    }

    fn space_of(kernel: usize) -> u8 {
        (kernel % 2) as u8
    }

    /// A kernel wants to access a page; false if it is at something else.
    pub fn kernel(&mut self, kernel: usize, page: u64, write: bool) -> bool {
        let idle = matches!(self.kernels[kernel], Kernel::Idle);
        if idle {
            self.kernels[kernel] = Kernel::Open(Access { page, write });
        }
        idle
    }

    /// A program wants to; false if it is at something else.
    pub fn program(&mut self, program: usize, page: u64, write: bool) -> bool {
        let idle = self.programs[program] == Program::Idle;
        if idle {
            self.programs[program] = Program::Wants(page, write);
        }
        idle
    }

    /// Advances another agent; returns false if none can advance.
    pub fn step(&mut self) -> bool {
        let start = self.rng.below(5);
        (0..5).any(|n| match (start + n) % 5 {
            0 => self.step_kernels(),
            1 => self.step_programs(),
            2 => self.step_card(),
            3 => self.step_copies() || self.step_protections(),
            _ => match self.events.pop_front() {
                Some(event) => {
                    self.tell(event);
                    true
                }
                None => false,
            },
        })
    }

    fn step_kernels(&mut self) -> bool {
        let first = self.rng.below(self.kernels.len());
        (0..self.kernels.len()).any(|n| self.step_kernel((first + n) % self.kernels.len()))
    }

    fn step_kernel(&mut self, kernel: usize) -> bool {
        let asid = Self::space_of(kernel);
        match self.kernels[kernel] {
            Kernel::Idle | Kernel::Faulted(_) => return false,
            Kernel::Open(access) => {
                let found = self.table.get_mut(&(asid, access.page));
                match found {
                    Some(entry) if entry.write || !access.write => {
                        entry.accessed = true;
                        entry.dirty |= access.write;
                        self.kernels[kernel] = Kernel::Answered(access, *entry);
                    }
                    found => {
                        let cause = match found {
                            Some(_) => FaultCause::Permission,
                            None => FaultCause::Absent,
                        };
                        self.kernels[kernel] = Kernel::Faulted(access);
                        self.events.push_back(Event::Fault(Fault {
                            token: FaultToken {
                                requester: 2 * kernel as u8,
                                index: 0,
                            },
                            asid: Asid::new(asid).unwrap(),
                            address: VirtAddr::new(FIRST + access.page * PAGE + 64).unwrap(),
                            write: access.write,
                            ahead: false,
                            cause,
                        }));
                    }
                }
            }
            Kernel::Answered(access, entry) => {
                assert!(entry.write || !access.write, "{access:?} by {entry:?}");
                self.kernels[kernel] = Kernel::Left(access, entry);
            }
            Kernel::Left(access, entry) => {
                let latest = &mut self.latest[access.page as usize];
                let frame = self.frames.get_mut(&entry.frame.card_address().get());
                let frame = frame.expect("a frame with data");
                if access.write {
                    self.stamp += 1;
                    (*frame, *latest) = (self.stamp, self.stamp);
                } else {
                    assert_eq!(
                        *frame, *latest,
                        "kernel {kernel} reads page {}",
                        access.page
                    );
                }
                self.kernel_accesses += 1;
                self.kernels[kernel] = Kernel::Idle;
            }
        }
        true
    }

    fn step_programs(&mut self) -> bool {
        let first = self.rng.below(self.programs.len());
        (0..self.programs.len()).any(|n| self.step_program((first + n) % self.programs.len()))
    }

    fn step_program(&mut self, program: usize) -> bool {
        match self.programs[program] {
            Program::Idle => false,
            Program::Wants(page, write) => {
                let allowed = match self.access[page as usize] {
                    HostAccess::ReadWrite => true,
                    HostAccess::Read => !write,
                    HostAccess::None => false,
                };
                if !allowed {
                    let request = self.request();
                    self.programs[program] = Program::Trapped(page, write, request);
                    self.tell(Event::HostTrap {
                        request,
                        object: OBJECT,
                        offset: page * PAGE + 5,
                        write,
                    });
                    return true;
                }
                let (memory, latest) = (
                    &mut self.memory[page as usize],
                    &mut self.latest[page as usize],
                );
                if write {
                    self.stamp += 1;
                    (*memory, *latest) = (self.stamp, self.stamp);
                } else {
                    assert_eq!(*memory, *latest, "program {program} reads page {page}");
                }
                self.program_accesses += 1;
                self.programs[program] = Program::Idle;
                true
            }
            Program::Trapped(page, write, request) => {
                let Some(result) = self.completed.remove(&request) else {
                    return false;
                };
                result.unwrap();
                self.programs[program] = Program::Wants(page, write);
                true
            }
        }
    }

    fn finish(&mut self, id: CommandId, notify: bool, status: CommandStatus, bits: (bool, bool)) {
        if notify || status != CommandStatus::Ok {
            self.events.push_back(Event::OperationDone {
                id,
                status,
                accessed: bits.0,
                dirty: bits.1,
            });
        }
    }

    /// The card's next command, unless it waits for something.
    fn step_card(&mut self) -> bool {
        let Some(&(id, operation, notify)) = self.queue.front() else {
            return false;
        };
        let mut bits = (false, false);
        match operation {
            // A fence.
            Operation::Zero { bytes: 0, .. } => {
                if !self.copies.is_empty() {
                    return false;
                }
                self.queue.pop_front();
                return true;
            }
            Operation::Zero { .. } => {}
            Operation::CopyIn { .. } | Operation::CopyOut { .. } => {
                self.queue.pop_front();
                self.copies.push((id, operation, notify));
                return true;
            }
            Operation::Install {
                asid,
                address,
                entry,
            } => {
                let page = (address.get() - FIRST) / PAGE;
                let before = self.table.insert((asid.get(), page), entry);
                assert_eq!(before, None, "an entry is installed over another");
            }
            Operation::Invalidate { asid, address, .. }
            | Operation::Protect { asid, address, .. } => {
                let page = (address.get() - FIRST) / PAGE;
                for (kernel, state) in self.kernels.iter_mut().enumerate() {
                    let here = Self::space_of(kernel) == asid.get();
                    match *state {
                        Kernel::Answered(access, _) if here => *state = Kernel::Open(access),
                        // The entry is removed immediately; the answer follows when accesses under way have arrived.
                        Kernel::Left(access, _) if here && access.page == page => {
                            let entry = self.table.get_mut(&(asid.get(), page)).unwrap();
                            if matches!(operation, Operation::Protect { .. }) {
                                entry.write = false;
                            } else {
                                (entry.read, entry.write) = (false, false);
                            }
                            return false;
                        }
                        _ => {}
                    }
                }
                let protect = matches!(operation, Operation::Protect { .. });
                let entry = self.table.get_mut(&(asid.get(), page)).unwrap();
                bits = (entry.accessed, entry.dirty);
                if protect {
                    (entry.write, entry.dirty) = (false, false);
                } else {
                    self.table.remove(&(asid.get(), page));
                }
            }
            Operation::ReadClear { asid, address, .. } => {
                let page = (address.get() - FIRST) / PAGE;
                if let Some(entry) = self.table.get_mut(&(asid.get(), page)) {
                    bits = (std::mem::take(&mut entry.accessed), entry.dirty);
                }
            }
            Operation::FaultReply { token, entry } => {
                let state = &mut self.kernels[usize::from(token.requester / 2)];
                match (entry, *state) {
                    (Some(entry), Kernel::Faulted(access)) => {
                        *state = Kernel::Answered(access, entry);
                    }
                    (None, _) => {}
                    other => panic!("{other:?}"),
                }
            }
            Operation::Grow { .. } => panic!("no table grows here"),
            Operation::Nop => panic!("the pager has nothing to wait for with it"),
        }
        self.queue.pop_front();
        self.finish(id, notify, CommandStatus::Ok, bits);
        true
    }

    fn step_copies(&mut self) -> bool {
        if self.copies.is_empty() {
            return false;
        }
        let chosen = self.rng.below(self.copies.len());
        let (id, operation, notify) = self.copies.swap_remove(chosen);
        let page = |at: HostAddr| ((at.get() - MEMORY) / PAGE) as usize;
        let mut status = CommandStatus::Ok;
        match operation {
            Operation::CopyIn {
                from, to, bytes, ..
            } => {
                assert_eq!(bytes, PAGE);
                if notify && self.rng.below(100) < self.failures {
                    status = CommandStatus::BusError;
                } else {
                    assert_ne!(self.access[page(from)], HostAccess::ReadWrite);
                    self.frames.insert(to.get(), self.memory[page(from)]);
                    self.copied.0 += 1;
                }
            }
            Operation::CopyOut {
                from, to, bytes, ..
            } => {
                assert_eq!((bytes, self.access[page(to)]), (PAGE, HostAccess::None));
                self.memory[page(to)] = self.frames[&from.get()];
                self.copied.1 += 1;
            }
            _ => {}
        }
        self.finish(id, notify, status, (false, false));
        true
    }

    fn step_protections(&mut self) -> bool {
        if self.protections.is_empty() {
            return false;
        }
        let chosen = self.rng.below(self.protections.len());
        let (id, page, access) = self.protections.swap_remove(chosen);
        let tighter = access < self.access[page as usize];
        let result = if tighter && self.rng.below(100) < self.failures {
            Err(IoError::Os(12))
        } else {
            self.access[page as usize] = access;
            Ok(0)
        };
        self.events.push_back(Event::IoDone { id, result });
        true
    }

    /// Runs until no agent can advance; then none may be waiting.
    pub fn rest(&mut self) {
        for _ in 0..100_000 {
            if !self.step() {
                assert!(self.pager.is_idle(), "the pager waits for something");
                let idle = |state: &Kernel| matches!(state, Kernel::Idle);
                assert!(self.kernels.iter().all(idle), "{:?}", self.kernels);
                let idle = |state: &Program| *state == Program::Idle;
                assert!(self.programs.iter().all(idle), "{:?}", self.programs);
                return;
            }
        }
        panic!("no rest: {:?} {:?}", self.kernels, self.programs);
    }

    /// Entry that kernels of a space have for a page now.
    pub fn entry(&self, asid: u8, page: u64) -> Option<PageEntry> {
        self.table.get(&(asid, page)).copied()
    }

    pub fn sync(&mut self) -> RequestId {
        let bytes = self.pages * PAGE;
        self.ask(|request| Event::Sync {
            request,
            asid: Asid::default(),
            address: VirtAddr::new(FIRST).unwrap(),
            bytes,
        })
    }

    pub fn prefetch(&mut self, page: u64) {
        self.tell(Event::Prefetch {
            asid: Asid::default(),
            address: VirtAddr::new(FIRST + page * PAGE).unwrap(),
            bytes: 2 * PAGE,
        });
    }

    /// Ends all spaces; host memory must be complete then, and accessible to all programs.
    pub fn put_away(&mut self) {
        for number in 0..std::mem::take(&mut self.spaces) {
            let asid = Asid::new(number).unwrap();
            let request = self.ask(|request| Event::DestroySpace { request, asid });
            self.rest();
            assert_eq!(self.completed[&request], Ok(Success::Done));
        }
        assert_eq!(self.memory, self.latest);
        let open = |access: &HostAccess| *access == HostAccess::ReadWrite;
        assert!(self.access.iter().all(open), "{:?}", self.access);
        let request = self.ask(|request| Event::CloseObject {
            request,
            object: OBJECT,
            discard: false,
        });
        assert_eq!(self.completed[&request], Ok(Success::Done));
        assert_eq!(self.pager.resident_pages(), 0);
    }
}
