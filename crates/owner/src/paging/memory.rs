//! Memory that programs share with kernels: objects of the pager like files, but backed by the program's memory.

use super::answers::Answers;
use super::host_time::{HostTime, Work};
use crate::inbox::Inbox;
use crate::kernels::Kernels;
use crate::participants::Guest;
use crate::report::{PingPong, TrapPlace};
use crate::trace::Trace;
use card::{Card, HostWork, WorkId};
use error::Error;
use pager::{Event, IoError, IoId, ObjectId, RequestId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use timing::host::HostFile;
use trap::{Part, Sources, Ticket, View, Wake, PIECE};
use units::{Asid, HostAccess, HostAddr, PageSize, Picoseconds, VirtAddr};

/// A part of a block, with pages of one size.
#[derive(Debug)]
struct Block {
    asid: Asid,
    view: Arc<View>,
    part: Part,
    /// Address of the block for the card.
    host: HostAddr,
    /// Threads that were woken to repeat their access.
    woken: Vec<Woken>,
    /// A right could not be returned to programs.
    stuck: bool,
}

/// A thread that was woken to repeat its access.
#[derive(Debug)]
struct Woken {
    /// Offset of the byte that it accesses.
    offset: u64,
    wake: Wake,
    /// Set for a participant: it uses the memory until it waits again.
    guest: Option<Guest>,
}

/// A part of a block, and the object that it is.
pub(super) struct MappedPart<'a> {
    pub(super) object: ObjectId,
    pub(super) asid: Asid,
    pub(super) view: &'a View,
    pub(super) part: &'a Part,
}

/// A trapped access.
#[derive(Debug)]
struct PendingTrap {
    object: ObjectId,
    offset: u64,
    ticket: Ticket,
    guest: Option<Guest>,
}

/// A requested change of the programs' rights on a range.
#[derive(Debug)]
pub(super) struct RightsChange {
    /// One per page.
    pub(super) ios: Vec<IoId>,
    pub(super) object: ObjectId,
    pub(super) range: Range<u64>,
    pub(super) access: HostAccess,
}

/// Maximum total size of the pages protected by one system call, in bytes: the first of them waits for the whole call.
const TOGETHER: u64 = 256 << 10;

impl RightsChange {
    /// Absorbs a change if it is the same for the following bytes; false if it differs or would exceed the limit.
    fn goes_on(&mut self, next: &Self) -> bool {
        let same = self.object == next.object
            && self.access == next.access
            && self.range.end == next.range.start
            && next.range.end - self.range.start <= TOGETHER;
        if same {
            self.range.end = next.range.end;
            self.ios.extend(&next.ios);
        }
        same
    }
}

/// Merges changes of adjacent pages: those of a 2 MiB piece, if all of them are present and the piece changes in one
/// step; of other pages, as many as the limit of a call permits.
fn together(
    asked: Vec<RightsChange>,
    is_whole: impl Fn(ObjectId, &Range<u64>) -> bool,
) -> Vec<RightsChange> {
    let mut together: Vec<RightsChange> = Vec::new();
    let mut rest = asked.into_iter().peekable();
    while let Some(mut first) = rest.next() {
        let piece = first.range.start..first.range.start + PIECE as u64;
        let mut taken: Vec<RightsChange> = Vec::new();
        if first.range.end < piece.end && is_whole(first.object, &piece) {
            let mut end = first.range.end;
            while let Some(next) = rest.next_if(|next| {
                next.object == first.object
                    && next.access == first.access
                    && next.range.start == end
                    && next.range.end <= piece.end
            }) {
                end = next.range.end;
                taken.push(next);
            }
            if end == piece.end {
                first.range = piece;
                first.ios.extend(taken.drain(..).flat_map(|one| one.ios));
                together.push(first);
                continue;
            }
        }
        for asked in std::iter::once(first).chain(taken) {
            let last = together.last_mut();
            if !last.is_some_and(|last| last.goes_on(&asked)) {
                together.push(asked);
            }
        }
    }
    together
}

/// Key of a block of shared memory, for counts that outlive it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct BlockKey {
    /// First address in the kernels' spaces.
    address: u64,
    bytes: u64,
    /// Page size, in bytes.
    page: u64,
}

/// All blocks, and the pending traps.
#[derive(Debug)]
pub(crate) struct Memories {
    /// Messages of threads that have left a block.
    inbox: Inbox,
    /// Cost of traps in virtual time; none without it.
    host: Option<HostFile>,
    blocks: BTreeMap<ObjectId, Block>,
    traps: BTreeMap<RequestId, PendingTrap>,
    /// Participants whose traps have ended since they were last taken.
    released: Vec<Guest>,
    /// Virtual time that traps and protection have taken.
    protect_time: Picoseconds,
    /// Threads whose accesses were trapped and that are no participants.
    free_threads: BTreeSet<u64>,
    /// How often the program waited for each page, by block and offset.
    waited: BTreeMap<BlockKey, BTreeMap<u64, u64>>,
    /// By block: addresses of the instructions that waited repeatedly for a page, with counts.
    waited_at: BTreeMap<BlockKey, BTreeMap<usize, u64>>,
    /// Changes of rights that the pager has requested and that are not executed yet.
    asked: Vec<RightsChange>,
    /// Completed changes of protection that are to be reported to the pager.
    protected: VecDeque<(IoId, Result<u64, IoError>)>,
}

impl Block {
    /// Address of its first byte for kernels.
    fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.view.address().get() + self.part.range.start as u64)
    }
}

impl Memories {
    /// Without blocks. Threads report through `inbox` that they have left a block.
    pub(super) fn new(inbox: Inbox, host: Option<HostFile>) -> Self {
        Self {
            inbox,
            host,
            blocks: BTreeMap::new(),
            traps: BTreeMap::new(),
            released: Vec::new(),
            protect_time: Picoseconds::ZERO,
            free_threads: BTreeSet::new(),
            waited: BTreeMap::new(),
            waited_at: BTreeMap::new(),
            asked: Vec::new(),
            protected: VecDeque::new(),
        }
    }

    /// The pages in a range of addresses of a space: an offset in each block.
    pub(super) fn pages_in(&self, asid: Asid, range: &Range<u64>) -> Vec<(ObjectId, u64)> {
        let mut pages = Vec::new();
        for (object, memory) in &self.blocks {
            let start = memory.address().get();
            let page = memory.part.page.bytes();
            let end = start + memory.part.range.len() as u64;
            if memory.asid != asid || range.start >= end || start >= range.end {
                continue;
            }
            let from = range.start.max(start) - start;
            let to = range.end.min(end) - start;
            let offsets = (from / page * page..to).step_by(page as usize);
            pages.extend(offsets.map(|offset| (*object, offset)));
        }
        pages
    }

    pub(super) fn holds(&self, object: ObjectId) -> bool {
        self.blocks.contains_key(&object)
    }

    /// Program address of a byte of an object, if accesses there are ever trapped.
    fn address_of(&self, object: ObjectId, offset: u64) -> Option<u64> {
        let memory = self.blocks.get(&object)?;
        let trapped = memory.view.is_trapped();
        trapped.then(|| memory.address().get() + offset)
    }

    /// Counts a program's wait for a page.
    fn count_trap(&mut self, object: ObjectId, offset: u64, ticket: &Ticket) {
        if let Some(memory) = self.blocks.get(&object) {
            let page = memory.part.page.bytes();
            let block = BlockKey {
                address: memory.address().get(),
                bytes: memory.part.range.len() as u64,
                page,
            };
            let pages = self.waited.entry(block).or_default();
            let traps = pages.entry(offset / page * page).or_default();
            *traps += 1;
            // A page that comes once and does not move again needs no attribution.
            if let Some(code) = (*traps > 1).then(|| ticket.code()).flatten() {
                let places = self.waited_at.entry(block).or_default();
                *places.entry(code).or_default() += 1;
            }
        }
    }

    /// All parts of all blocks.
    pub(super) fn parts(&self) -> impl Iterator<Item = MappedPart<'_>> {
        self.blocks.iter().map(|(object, memory)| MappedPart {
            object: *object,
            asid: memory.asid,
            view: &memory.view,
            part: &memory.part,
        })
    }

    /// Blocks whose pages move to and fro, the worst first.
    pub(super) fn ping_pong(&self) -> Vec<PingPong> {
        let mut sources = Sources::default();
        let mut block = |(key, pages): (&BlockKey, &BTreeMap<u64, u64>)| {
            // The first among equally bad pages.
            let worst = pages.iter().rev().max_by_key(|(_, traps)| **traps)?;
            let block = PingPong {
                address: key.address,
                bytes: key.bytes,
                page: key.page,
                traps: pages.values().sum(),
                pages: pages.values().filter(|traps| **traps > 1).count() as u64,
                worst_offset: *worst.0,
                worst_traps: *worst.1,
                places: self.places(*key, &mut sources),
            };
            (block.pages > 0).then_some(block)
        };
        let mut blocks: Vec<PingPong> = self.waited.iter().filter_map(&mut block).collect();
        blocks.sort_by_key(|block| std::cmp::Reverse(block.traps));
        blocks
    }

    /// The places where the program waited repeatedly for pages of a block, the most frequent first.
    fn places(&self, block: BlockKey, sources: &mut Sources) -> Vec<TrapPlace> {
        let mut traps: BTreeMap<String, u64> = BTreeMap::new();
        for (code, count) in self.waited_at.get(&block).into_iter().flatten() {
            *traps.entry(sources.name(*code)).or_default() += count;
        }
        let place = |(place, traps)| TrapPlace { place, traps };
        let mut places: Vec<TrapPlace> = traps.into_iter().map(place).collect();
        places.sort_by_key(|place| std::cmp::Reverse(place.traps));
        places
    }

    /// Whether a range of an object is a piece of its block that changes hands in one step.
    fn is_whole(&self, object: ObjectId, range: &Range<u64>) -> bool {
        self.blocks.get(&object).is_some_and(|memory| {
            let start = memory.part.range.start as u64;
            let inside = range.end <= memory.part.range.len() as u64;
            inside
                && memory
                    .view
                    .is_whole(&(start + range.start..start + range.end))
        })
    }

    fn find(&self, address: usize) -> Option<(ObjectId, u64)> {
        self.blocks.iter().find_map(|(object, memory)| {
            // Addresses of another process mean nothing here.
            let view = memory.view.is_there().then_some(&memory.view)?;
            let offset = address.checked_sub(view.start() as usize)?;
            let inside = memory.part.range.contains(&offset);
            inside.then(|| (*object, (offset - memory.part.range.start) as u64))
        })
    }

    /// Changes the programs' rights on a range; returns how many of its bytes are pieces that change in one step.
    fn protect(
        &mut self,
        object: ObjectId,
        range: Range<u64>,
        access: HostAccess,
    ) -> (Result<u64, IoError>, u64) {
        match self.blocks.get_mut(&object) {
            None => (Err(IoError::Os(libc::EINVAL)), 0),
            Some(memory) => {
                if access != HostAccess::ReadWrite {
                    // A thread that was woken gets time to make its access.
                    memory.woken.retain(|woken| {
                        let here = range.contains(&woken.offset);
                        match woken.guest {
                            _ if !here => {}
                            Some(guest) => self.inbox.wait_for(guest),
                            None => woken.wake.wait_until_up(),
                        }
                        !here
                    });
                }
                let from = memory.part.range.start as u64 + range.start;
                let result = memory.view.protect(from, range.end - range.start, access);
                memory.stuck |= result.is_err() && access == HostAccess::ReadWrite;
                let huge = *result.as_ref().unwrap_or(&0);
                let result = result
                    .map(|_| 0)
                    .map_err(|error| IoError::Os(error.raw_os_error().unwrap_or(libc::EINVAL)));
                (result, huge)
            }
        }
    }

    /// Handles the answer to a trap: its thread continues if `good`.
    pub(super) fn answered(&mut self, request: RequestId, good: bool) {
        let Some(trap) = self.traps.remove(&request) else {
            return;
        };
        self.released.extend(trap.guest);
        // Without an answer the access fails.
        if good {
            let wake = trap.ticket.serve();
            if let Some(memory) = self.blocks.get_mut(&trap.object) {
                memory.woken.push(Woken {
                    offset: trap.offset,
                    wake,
                    guest: trap.guest,
                });
            }
        }
    }
}

/// A part of a block, and the block's address for the card.
pub(super) struct BlockPart {
    pub(super) part: Part,
    pub(super) host: HostAddr,
}

/// Where a part of a block lies.
pub(super) struct SharedPart {
    pub(super) asid: Asid,
    /// Its first address for kernels.
    pub(super) address: VirtAddr,
    /// Its first address for the card.
    pub(super) host: HostAddr,
    pub(super) bytes: u64,
    pub(super) page: PageSize,
}

/// An access of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramAccess {
    pub(crate) address: usize,
    pub(crate) write: bool,
}

impl Memories {
    /// A participant waits: the access it was woken for is complete.
    pub(crate) fn heard(&mut self, participant: u64) {
        for memory in self.blocks.values_mut() {
            let is_it = |guest: Guest| guest.participant == participant;
            memory.woken.retain(|woken| !woken.guest.is_some_and(is_it));
        }
    }

    /// Participants whose traps have ended since the last call.
    pub(crate) fn take_released(&mut self) -> Vec<Guest> {
        std::mem::take(&mut self.released)
    }

    /// Counts a trapped access of a thread that is no participant.
    pub(crate) fn trapped_alone(&mut self, thread: u64) {
        self.free_threads.insert(thread);
    }

    /// Number of threads whose accesses were trapped and that are no participants.
    pub(super) fn free_threads(&self) -> u64 {
        self.free_threads.len() as u64
    }

    /// Virtual time that traps and protection have taken.
    pub(super) fn protect_time(&self) -> Picoseconds {
        self.protect_time
    }

    /// The largest page size of some blocks.
    pub(crate) fn largest_page_of(&self, objects: &[ObjectId]) -> Option<PageSize> {
        let blocks = objects.iter();
        let blocks = blocks.filter_map(|one| self.blocks.get(one));
        blocks.map(|block| block.part.page).max()
    }

    /// The blocks of a space (in a range).
    pub(crate) fn blocks_in(&self, space: Asid, range: Option<(u64, u64)>) -> Vec<ObjectId> {
        let inside = |memory: &Block| {
            let start = memory.address().get();
            let end = start + memory.part.range.len() as u64;
            memory.asid == space && range.is_none_or(|(from, to)| from < end && start < to)
        };
        let there = self.blocks.iter().filter(|(_, memory)| inside(memory));
        there.map(|(object, _)| *object).collect()
    }

    /// Adds a part of a block, at this address of the host for the card.
    pub(super) fn add(&mut self, object: ObjectId, asid: Asid, view: &Arc<View>, place: BlockPart) {
        let BlockPart { part, host } = place;
        let memory = Block {
            asid,
            view: view.clone(),
            part,
            host,
            woken: Vec::new(),
            stuck: false,
        };
        self.blocks.insert(object, memory);
    }

    /// Ends the sharing of a block: its memory belongs to the program alone.
    pub(crate) fn give_back(&mut self, card: &mut dyn Card, object: ObjectId) {
        let Some(memory) = self.blocks.remove(&object) else {
            return;
        };
        let (start, bytes) = (memory.part.range.start, memory.part.range.len());
        if let Err(error) = memory.view.open(start as u64, bytes as u64) {
            tracing::error!(%error, "opening memory that was shared");
        }
        let mut others = self.blocks.values();
        if others.any(|other| other.host == memory.host) {
            return;
        }
        memory.view.release();
        if let Err(error) = card.unmap_host(memory.host) {
            tracing::error!(%error, "ending the card's access to memory that was shared");
        }
    }

    /// Where a part of a block lies for kernels and for the card.
    pub(super) fn shared_part(&self, object: ObjectId) -> Result<SharedPart, Error> {
        let Some(memory) = self.blocks.get(&object) else {
            return Err(Error::Internal(format!("{object} is no shared memory")));
        };
        let Part { range, page } = memory.part.clone();
        Ok(SharedPart {
            asid: memory.asid,
            address: memory.address(),
            host: memory.host.offset(range.start as u64),
            bytes: range.len() as u64,
            page,
        })
    }

    /// Starts the latency from an access to its service thread, if there is any.
    pub(super) fn begin_trap_time(
        &mut self,
        host_time: &mut HostTime,
        card: &mut dyn Card,
    ) -> Option<WorkId> {
        let cost = self.host.as_ref()?.traps().trap_ps;
        let costs = cost > Picoseconds::ZERO;
        costs.then(|| self.occupy(host_time, card, cost, Work::Trap))
    }

    /// Admits a trapped access. Returns the request to wait for, the block, and the event for the pager. `None`: the
    /// sharing has just ended, and the memory is open.
    pub(super) fn admit(
        &mut self,
        ProgramAccess { address, write }: ProgramAccess,
        ticket: Ticket,
        guest: Option<Guest>,
        answers: &mut Answers,
    ) -> Option<(RequestId, ObjectId, Event)> {
        let Some((object, offset)) = self.find(address) else {
            self.released.extend(guest);
            ticket.serve();
            return None;
        };
        self.count_trap(object, offset, &ticket);
        let request = answers.ask();
        let trap = PendingTrap {
            object,
            offset,
            ticket,
            guest,
        };
        self.traps.insert(request, trap);
        let event = Event::HostTrap {
            request,
            object,
            offset,
            write,
        };
        Some((request, object, event))
    }

    /// Ends a trap; without an answer, its access fails.
    pub(crate) fn trap_over(&mut self, request: RequestId, object: ObjectId) {
        self.answered(request, false);
        if let Some(memory) = self.blocks.get_mut(&object) {
            if std::mem::take(&mut memory.stuck) {
                // Pages that are not on the card belong to the program again, or will at the next trap.
                tracing::error!(%object, "a page of shared memory could not be opened");
            }
        }
    }

    /// Records a change of the programs' rights that the pager has requested.
    pub(super) fn request_rights(&mut self, change: RightsChange) {
        self.asked.push(change);
    }

    /// Takes a completed change of rights, for the pager.
    pub(super) fn take_protected(&mut self) -> Option<Event> {
        let (id, result) = self.protected.pop_front()?;
        Some(Event::IoDone { id, result })
    }

    /// Changes the programs' rights as the pager has requested: one system call for adjacent pages.
    pub(super) fn protect_asked(
        &mut self,
        host_time: &mut HostTime,
        kernels: &mut Kernels,
        trace: &Trace,
    ) {
        let asked = std::mem::take(&mut self.asked);
        let huge = match &self.host {
            Some(host) => host.traps().has_huge_pages(),
            None => true,
        };
        let is_whole = |object, range: &Range<u64>| huge && self.is_whole(object, range);
        for change in together(asked, is_whole) {
            self.protect_together(host_time, kernels, trace, change);
        }
    }

    /// Protects adjacent pages of one size together. If that fails, protects each separately: the program may have
    /// unmapped one of them.
    fn protect_together(
        &mut self,
        host_time: &mut HostTime,
        kernels: &mut Kernels,
        trace: &Trace,
        change: RightsChange,
    ) {
        let RightsChange {
            ios,
            object,
            range,
            access,
        } = change;
        let bytes = range.end - range.start;
        if let Some(address) = self.address_of(object, range.start) {
            trace.owner(kernels.now(), address, bytes, access);
        }
        let (result, huge) = self.protect(object, range.clone(), access);
        if result.is_err() && ios.len() > 1 {
            let page = bytes / ios.len() as u64;
            for (io, start) in ios.into_iter().zip((range.start..).step_by(page as usize)) {
                let change = RightsChange {
                    ios: vec![io],
                    object,
                    range: start..start + page,
                    access,
                };
                self.protect_together(host_time, kernels, trace, change);
            }
            return;
        }
        match self.protection_cost(object, bytes, huge, ios.len() as u64, access) {
            Picoseconds::ZERO => {
                let all = ios.into_iter().map(|io| (io, result));
                self.protected.extend(all);
            }
            cost => {
                let then = Work::Protection(ios, result);
                self.occupy(host_time, kernels.card(), cost, then);
            }
        }
    }

    /// Cost in virtual time of changing the programs' rights on a range, given how many of its bytes are pieces that
    /// change in one step.
    fn protection_cost(
        &self,
        object: ObjectId,
        bytes: u64,
        huge: u64,
        pages: u64,
        access: HostAccess,
    ) -> Picoseconds {
        let Some(host) = &self.host else {
            return Picoseconds::ZERO;
        };
        let traps = host.traps();
        let memory = self.blocks.get(&object);
        let call = match access {
            _ if !memory.is_some_and(|memory| memory.view.is_trapped()) => Picoseconds::ZERO,
            HostAccess::ReadWrite => traps.open_with(bytes, huge),
            HostAccess::Read | HostAccess::None => traps.protect_with(bytes, huge),
        };
        traps.service_ps * pages + call
    }

    /// Occupies the service thread for a duration, then runs the continuation.
    fn occupy(
        &mut self,
        host_time: &mut HostTime,
        card: &mut dyn Card,
        cost: Picoseconds,
        then: Work,
    ) -> WorkId {
        self.protect_time += cost;
        host_time.begin(card, HostWork::Serve(cost), then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_side_by_side_are_protected_together() {
        let asked = |io: u64, range: Range<u64>, access| RightsChange {
            ios: vec![IoId(io)],
            object: ObjectId(3),
            range,
            access,
        };
        let mut first = asked(1, 0..4096, HostAccess::Read);
        assert!(first.goes_on(&asked(2, 4096..8192, HostAccess::Read)));
        assert!(!first.goes_on(&asked(3, 8192..9000, HostAccess::None)));
        assert!(!first.goes_on(&asked(4, 12288..16384, HostAccess::Read)));
        assert!(!first.goes_on(&asked(5, 8192..TOGETHER + 1, HostAccess::Read)));
        assert_eq!((first.ios, first.range), (vec![IoId(1), IoId(2)], 0..8192));
    }

    #[test]
    fn a_piece_of_which_all_pages_change_is_protected_in_one_step() {
        let pages = |from: u64, to: u64| -> Vec<RightsChange> {
            let one = |n: u64| RightsChange {
                ios: vec![IoId(n)],
                object: ObjectId(3),
                range: n << 15..(n + 1) << 15,
                access: HostAccess::Read,
            };
            (from..to).map(one).collect()
        };
        let aligned = |_, range: &Range<u64>| range.start % PIECE as u64 == 0;
        let sizes = |asked, is_whole: fn(ObjectId, &Range<u64>) -> bool| -> Vec<usize> {
            let made = together(asked, is_whole);
            let ios = made.iter().flat_map(|one| &one.ios);
            assert!(ios.is_sorted_by_key(|io| io.0));
            made.iter().map(|one| one.ios.len()).collect()
        };
        // A part of a piece, two whole pieces, a part of a fourth.
        let all = || pages(60, 200);
        assert_eq!(sizes(all(), aligned), [4, 64, 64, 8]);
        assert_eq!(
            sizes(all(), |_, _| false),
            [8; 17].into_iter().chain([4]).collect::<Vec<_>>()
        );
        // One page is missing.
        let mut missing = pages(0, 64);
        missing.remove(40);
        assert_eq!(sizes(missing, aligned), [8, 8, 8, 8, 8, 8, 8, 7]);
    }
}
