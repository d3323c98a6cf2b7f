//! Memory that programs share with kernels: objects of the pager like files, but backed by the program's memory.

use super::host_time::Work;
use crate::inbox::Inbox;
use crate::kernels::Kernels;
use crate::paging::Paging;
use crate::participants::Guest;
use crate::report::{PingPong, TrapPlace};
use card::{HostWork, WorkId};
use error::Error;
use pager::{Event, IoError, IoId, MappingInfo, ObjectId, ObjectKind, RequestId, Success};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use std::sync::Arc;
use trap::{Part, Sources, Ticket, View, Wake, PIECE};
use units::{Asid, HostAccess, HostAddr, PageSize, Picoseconds, VirtAddr};

/// A part of a block, with pages of one size.
#[derive(Debug)]
struct Memory {
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

/// A trapped access.
#[derive(Debug)]
struct Waiting {
    object: ObjectId,
    offset: u64,
    ticket: Ticket,
    guest: Option<Guest>,
}

/// A requested change of the programs' rights on a range.
#[derive(Debug)]
pub(super) struct Asked {
    /// One per page.
    pub(super) ios: Vec<IoId>,
    pub(super) object: ObjectId,
    pub(super) range: Range<u64>,
    pub(super) access: HostAccess,
}

/// Maximum total size of the pages protected by one system call, in bytes: the first of them waits for the whole call.
const TOGETHER: u64 = 256 << 10;

impl Asked {
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
fn together(asked: Vec<Asked>, is_whole: impl Fn(ObjectId, &Range<u64>) -> bool) -> Vec<Asked> {
    let mut together: Vec<Asked> = Vec::new();
    let mut rest = asked.into_iter().peekable();
    while let Some(mut first) = rest.next() {
        let piece = first.range.start..first.range.start + PIECE as u64;
        let mut taken: Vec<Asked> = Vec::new();
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
pub(super) struct Memories {
    /// Messages of threads that have left a block.
    inbox: Inbox,
    blocks: BTreeMap<ObjectId, Memory>,
    traps: BTreeMap<RequestId, Waiting>,
    /// Participants whose traps have ended since they were last taken.
    pub(super) released: Vec<Guest>,
    /// Virtual time that traps and protection have taken.
    pub(super) protect_time: Picoseconds,
    /// Threads whose accesses were trapped and that are no participants.
    pub(super) free_threads: BTreeSet<u64>,
    /// How often the program waited for each page, by block and offset.
    waited: BTreeMap<BlockKey, BTreeMap<u64, u64>>,
    /// By block: addresses of the instructions that waited repeatedly for a page, with counts.
    waited_at: BTreeMap<BlockKey, BTreeMap<usize, u64>>,
    /// Changes of rights that the pager has requested and that are not executed yet.
    pub(super) asked: Vec<Asked>,
    /// Completed changes of protection that are to be reported to the pager.
    pub(super) protected: VecDeque<(IoId, Result<u64, IoError>)>,
}

impl Memory {
    /// Address of its first byte for kernels.
    fn address(&self) -> VirtAddr {
        VirtAddr::truncated(self.view.address().get() + self.part.range.start as u64)
    }
}

impl Memories {
    /// Without blocks. Threads report through `inbox` that they have left a block.
    pub(super) fn new(inbox: Inbox) -> Self {
        Self {
            inbox,
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
    fn pages_in(&self, asid: Asid, range: &Range<u64>) -> Vec<(ObjectId, u64)> {
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

    fn holds(&self, object: ObjectId) -> bool {
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
    pub(super) fn protect(
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

impl Memories {
    /// A participant waits: the access it was woken for is complete.
    pub(super) fn heard(&mut self, participant: u64) {
        for memory in self.blocks.values_mut() {
            let is_it = |guest: Guest| guest.participant == participant;
            memory.woken.retain(|woken| !woken.guest.is_some_and(is_it));
        }
    }
}

/// An access of a program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramAccess {
    pub(crate) address: usize,
    pub(crate) write: bool,
}

impl Paging {
    /// The largest page size of some blocks.
    pub(crate) fn largest_page_of(&self, objects: &[ObjectId]) -> Option<PageSize> {
        let blocks = objects.iter();
        let blocks = blocks.filter_map(|one| self.memories.blocks.get(one));
        blocks.map(|block| block.part.page).max()
    }

    /// The blocks of a space (in a range).
    pub(crate) fn memories_in(&self, space: Asid, range: Option<(u64, u64)>) -> Vec<ObjectId> {
        let inside = |memory: &Memory| {
            let start = memory.address().get();
            let end = start + memory.part.range.len() as u64;
            memory.asid == space && range.is_none_or(|(from, to)| from < end && start < to)
        };
        let blocks = self.memories.blocks.iter();
        let there = blocks.filter(|(_, memory)| inside(memory));
        there.map(|(object, _)| *object).collect()
    }

    /// Ends the sharing of a block: its memory belongs to the program alone.
    pub(crate) fn give_back(&mut self, kernels: &mut Kernels, object: ObjectId) {
        let Some(memory) = self.memories.blocks.remove(&object) else {
            return;
        };
        let (start, bytes) = (memory.part.range.start, memory.part.range.len());
        if let Err(error) = memory.view.open(start as u64, bytes as u64) {
            tracing::error!(%error, "opening memory that was shared");
        }
        let mut others = self.memories.blocks.values();
        if others.any(|other| other.host == memory.host) {
            return;
        }
        memory.view.release();
        if let Err(error) = kernels.card().unmap_host(memory.host) {
            tracing::error!(%error, "ending the card's access to memory that was shared");
        }
    }

    /// Begins to give the program read, or also write, access to a range. Returns the requests to wait for.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn begin_to_take(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
        range: &Range<u64>,
        write: bool,
    ) -> Result<Vec<RequestId>, Error> {
        let pages = self.memories.pages_in(space, range);
        let pages = pages.into_iter().map(|(object, offset)| {
            self.ask(kernels, |request| Event::HostTrap {
                request,
                object,
                offset,
                write,
            })
        });
        pages.collect()
    }

    /// Starts the latency from an access to its service thread, if there is any.
    pub(crate) fn begin_trap_time(&mut self, kernels: &mut Kernels) -> Option<WorkId> {
        let cost = self.options.host.as_ref()?.traps().trap_ps;
        let costs = cost > Picoseconds::ZERO;
        costs.then(|| self.serve_memory(kernels, cost, Work::Trap))
    }

    /// Whether work of the host is over.
    pub(crate) fn is_over(&self, work: WorkId) -> bool {
        self.host_time.is_over(work)
    }

    /// Serves a trapped access. Returns the request to wait for, the block, and an immediate error. `None`: the sharing
    /// has just ended, and the memory is open.
    pub(crate) fn trapped(
        &mut self,
        kernels: &mut Kernels,
        ProgramAccess { address, write }: ProgramAccess,
        ticket: Ticket,
        guest: Option<Guest>,
    ) -> Option<(RequestId, ObjectId, Result<(), Error>)> {
        let Some((object, offset)) = self.memories.find(address) else {
            self.memories.released.extend(guest);
            ticket.serve();
            return None;
        };
        self.memories.count_trap(object, offset, &ticket);
        self.trace.trap(kernels.now(), address as u64, write);
        let request = self.answers.ask();
        let trap = Waiting {
            object,
            offset,
            ticket,
            guest,
        };
        self.memories.traps.insert(request, trap);
        let told = self.tell(
            kernels,
            Event::HostTrap {
                request,
                object,
                offset,
                write,
            },
        );
        Some((request, object, told))
    }

    /// Ends a trap; without an answer, its access fails.
    pub(crate) fn trap_over(&mut self, request: RequestId, object: ObjectId) {
        self.memories.answered(request, false);
        if let Some(memory) = self.memories.blocks.get_mut(&object) {
            if std::mem::take(&mut memory.stuck) {
                // Pages that are not on the card belong to the program again, or will at the next trap.
                tracing::error!(%object, "a page of shared memory could not be opened");
            }
        }
    }

    /// Changes the programs' rights as the pager has requested: one system call for adjacent pages.
    pub(super) fn protect_asked(&mut self, kernels: &mut Kernels) {
        let asked = std::mem::take(&mut self.memories.asked);
        let huge = match &self.options.host {
            Some(host) => host.traps().has_huge_pages(),
            None => true,
        };
        let is_whole = |object, range: &Range<u64>| huge && self.memories.is_whole(object, range);
        let together = together(asked, is_whole);
        for Asked {
            ios,
            object,
            range,
            access,
        } in together
        {
            self.protect_together(kernels, ios, object, range, access);
        }
    }

    /// Protects adjacent pages of one size together. If that fails, protects each separately: the program may have
    /// unmapped one of them.
    fn protect_together(
        &mut self,
        kernels: &mut Kernels,
        ios: Vec<IoId>,
        object: ObjectId,
        range: Range<u64>,
        access: HostAccess,
    ) {
        let bytes = range.end - range.start;
        if let Some(address) = self.memories.address_of(object, range.start) {
            let now = kernels.now();
            self.trace.owner(now, address, bytes, access);
        }
        let (result, huge) = self.memories.protect(object, range.clone(), access);
        if result.is_err() && ios.len() > 1 {
            let page = bytes / ios.len() as u64;
            for (io, start) in ios.into_iter().zip((range.start..).step_by(page as usize)) {
                self.protect_together(kernels, vec![io], object, start..start + page, access);
            }
            return;
        }
        match self.protection_cost(object, bytes, huge, ios.len() as u64, access) {
            Picoseconds::ZERO => {
                let all = ios.into_iter().map(|io| (io, result));
                self.memories.protected.extend(all);
            }
            cost => drop(self.serve_memory(kernels, cost, Work::Protection(ios, result))),
        }
    }

    /// Cost in virtual time of changing the programs' rights on a range, given how many of its bytes are pieces that
    /// change in one step.
    pub(super) fn protection_cost(
        &self,
        object: ObjectId,
        bytes: u64,
        huge: u64,
        pages: u64,
        access: HostAccess,
    ) -> Picoseconds {
        let Some(host) = &self.options.host else {
            return Picoseconds::ZERO;
        };
        let traps = host.traps();
        let memory = self.memories.blocks.get(&object);
        let call = match access {
            _ if !memory.is_some_and(|memory| memory.view.is_trapped()) => Picoseconds::ZERO,
            HostAccess::ReadWrite => traps.open_with(bytes, huge),
            HostAccess::Read | HostAccess::None => traps.protect_with(bytes, huge),
        };
        traps.service_ps * pages + call
    }

    /// Occupies the service thread for a duration, then runs the continuation.
    pub(super) fn serve_memory(
        &mut self,
        kernels: &mut Kernels,
        cost: Picoseconds,
        then: Work,
    ) -> WorkId {
        self.memories.protect_time += cost;
        self.host_time
            .begin(kernels.card(), HostWork::Serve(cost), then)
    }

    /// The name that the client of a space uses for a mapping, for messages.
    pub(super) fn label_in(&self, space: Asid, near: MappingInfo) -> String {
        if self.memories.holds(near.object) {
            return "shared memory".to_owned();
        }
        let label = self.files.label_at(space, near.address);
        label.map_or_else(|| near.object.to_string(), str::to_owned)
    }

    /// Registers the parts of a block with the pager.
    pub(crate) fn new_memory(
        &mut self,
        kernels: &mut Kernels,
        asid: Asid,
        view: &Arc<View>,
    ) -> Result<Vec<ObjectId>, Error> {
        let host = kernels.card().map_host(view.alias().clone())?;
        let parts = view.parts().iter();
        let objects = parts.map(|part| {
            let object = self.files.new_object();
            let memory = Memory {
                asid,
                view: view.clone(),
                part: part.clone(),
                host,
                woken: Vec::new(),
                stuck: false,
            };
            self.memories.blocks.insert(object, memory);
            object
        });
        Ok(objects.collect())
    }

    /// Maps a part of a block; returns its address and its size in bytes.
    pub(crate) fn map_memory(
        &mut self,
        kernels: &mut Kernels,
        object: ObjectId,
        direct: bool,
    ) -> Result<(VirtAddr, u64), Error> {
        let Some(memory) = self.memories.blocks.get(&object) else {
            return Err(Error::Internal(format!("{object} is no shared memory")));
        };
        let Part { range, page } = memory.part.clone();
        let (asid, host) = (memory.asid, memory.host.offset(range.start as u64));
        let (address, bytes) = (memory.address(), range.len() as u64);
        self.ask_now(kernels, |request| Event::CreateObject {
            request,
            object,
            offset: 0,
            bytes,
            kind: ObjectKind::Host { memory: host },
            page_size: Some(page),
        })?;
        if direct {
            self.memory_stays(kernels, object, host, bytes)?;
        }
        let mapped = self.ask_now(kernels, |request| Event::Map {
            request,
            asid,
            address: Some(address),
            object,
            offset: 0,
            bytes,
            read: true,
            write: true,
        })?;
        match mapped {
            Success::Mapped(_) => Ok((address, bytes)),
            Success::Done => Err(Error::Internal("a mapping without an address".into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_side_by_side_are_protected_together() {
        let asked = |io: u64, range: Range<u64>, access| Asked {
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
        let pages = |from: u64, to: u64| -> Vec<Asked> {
            let one = |n: u64| Asked {
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
