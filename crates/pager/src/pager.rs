//! The pager's interface: its state, and the dispatch of events.

use crate::action::Action;
use crate::buffer::BufferPool;
use crate::config::{Config, InstallOrder, MAX_SETS_LOG2};
use crate::error::{ConfigError, Direction, IoError, PagerError};
use crate::event::Event;
use crate::eviction::{EvictionPolicy, Fifo};
use crate::fetch::{FetchPolicy, OnDemand};
use crate::frame::FrameMemory;
use crate::ids::{IoId, ObjectId, ObjectPage, RequestId};
use crate::issue::{Io, Issued, Meaning};
use crate::object::Object;
use crate::page::{Page, Waiter};
use crate::piece::Piece;
use crate::placement::{Placement, RoundRobin};
use crate::queue::{PageQueue, SharedQueue};
use crate::request::Requests;
use crate::sabotage::Sabotage;
use crate::size::{Doubling, PageSizePolicy};
use crate::space::{Space, Wanted};
use crate::statistics::{SpaceStatistics, Statistics};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Range;
use units::{
    Asid, CommandId, CommandStatus, FaultToken, FrameNumber, PageSize, PageSizes, SpacePlacement,
    ROW_BYTES,
};

/// The replaceable policies.
#[derive(Debug)]
pub struct Policies {
    /// Chooses the channel of a page.
    pub placement: Box<dyn Placement>,
    /// Chooses the page to evict when frames run out.
    pub eviction: Box<dyn EvictionPolicy>,
    /// Chooses the pages fetched in addition to a missing page.
    pub fetch: Box<dyn FetchPolicy>,
    /// Chooses page sizes, for objects with several.
    pub size: Box<dyn PageSizePolicy>,
}

impl Default for Policies {
    /// Round robin over the channels; first in, first out; no read-ahead.
    fn default() -> Self {
        Self {
            placement: Box::<RoundRobin>::default(),
            eviction: Box::<Fifo>::default(),
            fetch: Box::<OnDemand>::default(),
            size: Box::<Doubling>::default(),
        }
    }
}

/// Bytes of card memory filled on behalf of a space and, for an isolated one, its current channels.
pub type Occupied = (u64, Option<Range<usize>>);

/// Waiters of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// Accesses of kernels.
    pub faults: Vec<FaultToken>,
    /// Requests that complete with its transfer to or from the card.
    pub requests: Vec<RequestId>,
}

/// The pager of one card. See the [crate's page](crate) for an example.
#[derive(Debug)]
pub struct Pager {
    pub(crate) page_size: PageSize,
    pub(crate) page_sizes: PageSizes,
    pub(crate) table_sets_log2: u8,
    pub(crate) grow_percent: u8,
    pub(crate) max_sets_log2: u8,
    pub(crate) install_order: InstallOrder,
    pub(crate) clean_ahead: u64,
    pub(crate) overlap: bool,
    pub(crate) zeroed_ahead_bytes: u64,
    /// Minimum size of the pieces, in bytes, of pages that fit into a buffer; 0: pages move as a whole.
    pub(crate) piece_bytes: u64,
    pub(crate) policies: Policies,
    pub(crate) spaces: BTreeMap<Asid, Space>,
    pub(crate) creating: BTreeMap<Asid, RequestId>,
    pub(crate) objects: BTreeMap<ObjectId, Object>,
    pub(crate) pages: BTreeMap<ObjectPage, Page>,
    pub(crate) memory: FrameMemory,
    /// Owner of each frame that is not striped.
    pub(crate) owners: BTreeMap<FrameNumber, ObjectPage>,
    pub(crate) buffers: BufferPool,
    pub(crate) frame_queue: PageQueue,
    pub(crate) buffer_queue: PageQueue,
    /// Pages that wait for zeroing.
    pub(crate) zero_queue: SharedQueue,
    /// Pages that are being zeroed, where this matters.
    pub(crate) zeroing: BTreeSet<ObjectPage>,
    /// Pages that are being released.
    pub(crate) releasing: BTreeSet<ObjectPage>,
    /// Pages that are being cleaned.
    pub(crate) cleaning: BTreeSet<ObjectPage>,
    /// Pages that were written in order and are to be cleaned, in the order in which they were passed.
    pub(crate) passed: VecDeque<ObjectPage>,
    /// Pages with an outstanding examination of their accessed bits.
    pub(crate) examined: BTreeSet<ObjectPage>,
    /// Pages that became idle at this event; empty between events.
    pub(crate) rested: Vec<ObjectPage>,
    /// Whether any advice on reuse was given.
    pub(crate) advised: bool,
    /// Whether an isolated space was given other channels.
    pub(crate) regrouped: bool,
    pub(crate) issued: Issued,
    pub(crate) requests: Requests,
    pub(crate) statistics: Statistics,
    /// Statistics of each space; those of an ended space stay until its number is reused.
    pub(crate) space_statistics: BTreeMap<Asid, SpaceStatistics>,
    /// Frames of each size, by class, when nothing is in use.
    total_frames: Vec<u64>,
    pub(crate) total_units: u64,
    /// Size of all DMA buffers together, in whole parts.
    pub(crate) buffer_bytes: u64,
    #[cfg(feature = "testing")]
    sabotage: Option<Sabotage>,
}

impl Pager {
    /// A pager with the default [`Policies`].
    ///
    /// # Errors
    /// [`ConfigError`] names the invalid value.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        Self::with_policies(config, Policies::default())
    }

    /// A pager with custom policies.
    ///
    /// # Errors
    /// [`ConfigError`] names the invalid value.
    pub fn with_policies(config: Config, policies: Policies) -> Result<Self, ConfigError> {
        config.validate()?;
        let memory = FrameMemory::new(&config.channels, config.channel_bytes_log2);
        let total_frames: Vec<u64> = (0..=PageSize::GIB_1.class())
            .map(|class| memory.count(class))
            .collect();
        let of_one_size = total_frames[usize::from(config.page_size.class())];
        let total_units = memory.count(0);
        let buffers = BufferPool::new(&config.buffers, config.buffer_bytes);
        Ok(Self {
            page_size: config.page_size,
            page_sizes: config.page_sizes,
            table_sets_log2: config.table_sets_log2,
            grow_percent: config.grow_percent,
            max_sets_log2: config.max_sets_log2.min(MAX_SETS_LOG2),
            install_order: config.install_order,
            clean_ahead: config.clean_ahead.min(of_one_size / 4),
            overlap: config.overlap,
            zeroed_ahead_bytes: config.zeroed_ahead_bytes,
            piece_bytes: config.piece_bytes / ROW_BYTES * ROW_BYTES,
            policies,
            spaces: BTreeMap::new(),
            creating: BTreeMap::new(),
            objects: BTreeMap::new(),
            pages: BTreeMap::new(),
            memory,
            owners: BTreeMap::new(),
            buffer_bytes: buffers.free().map(|part| part.bytes()).sum(),
            buffers,
            frame_queue: PageQueue::default(),
            buffer_queue: PageQueue::default(),
            zero_queue: SharedQueue::default(),
            zeroing: BTreeSet::new(),
            releasing: BTreeSet::new(),
            cleaning: BTreeSet::new(),
            passed: VecDeque::new(),
            examined: BTreeSet::new(),
            rested: Vec::new(),
            advised: false,
            regrouped: false,
            issued: Issued::default(),
            requests: Requests::default(),
            statistics: Statistics::default(),
            space_statistics: BTreeMap::new(),
            total_frames,
            total_units,
            #[cfg(feature = "testing")]
            sabotage: None,
        })
    }

    /// Handles one event and appends the resulting actions, in order.
    pub fn handle(&mut self, event: Event, out: &mut Vec<Action>) {
        match event {
            Event::CreateSpace {
                request,
                asid,
                limit,
                placement,
            } => self.create_space(request, asid, (limit, placement), out),
            Event::ShareSpace { asid, share } => {
                if let Some(space) = self.spaces.get_mut(&asid) {
                    space.share = share;
                }
            }
            Event::DestroySpace { request, asid } => self.destroy_space(request, asid, out),
            Event::CreateObject {
                request,
                object,
                offset,
                bytes,
                kind,
                page_size,
            } => {
                let range = offset..offset.saturating_add(bytes);
                self.create_object(request, object, range, kind, page_size, out);
            }
            Event::ObjectHole {
                object,
                offset,
                bytes,
            } => self.object_hole(object, offset, bytes),
            Event::VaryPages { object, sizes } => self.vary_pages(object, sizes),
            Event::PlaceOn {
                object,
                first,
                channels,
            } => self.place_on(object, first..first + channels),
            Event::PlaceDirect { object, memory } => self.place_direct(object, memory),
            Event::CloseObject {
                request,
                object,
                discard,
            } => self.close_object(request, object, discard, out),
            Event::Map {
                request,
                asid,
                address,
                object,
                offset,
                bytes,
                read,
                write,
            } => {
                let wanted = Wanted {
                    object,
                    offset,
                    bytes,
                    read,
                    write,
                };
                self.map(request, asid, address, wanted, out);
            }
            Event::Unmap {
                request,
                asid,
                address,
                bytes,
            } => self.unmap(request, asid, address, bytes, out),
            Event::Sync {
                request,
                asid,
                address,
                bytes,
            } => self.sync(request, asid, address, bytes, out),
            Event::Refresh {
                request,
                asid,
                address,
                bytes,
                discard,
            } => self.refresh(request, asid, (address, bytes), discard, out),
            Event::Prefetch {
                asid,
                address,
                bytes,
            } => self.prefetch(asid, address, bytes, out),
            Event::Announce { asid, address } => self.announce(asid, address, out),
            Event::Advise {
                request,
                asid,
                address,
                bytes,
                advice,
            } => self.advise(request, asid, (address, bytes), advice, out),
            Event::HostTrap {
                request,
                object,
                offset,
                write,
            } => self.host_trap(request, object, offset, write, out),
            Event::Fault(fault) => self.fault(fault, out),
            Event::OperationDone {
                id,
                status,
                accessed,
                dirty,
            } => self.operation_done(id, status, accessed, dirty, out),
            Event::IoDone { id, result } => match self.issued.io_done(id) {
                Some((page, Io::Move(Direction::Read))) => self.read_done(page, result, out),
                Some((page, Io::Move(Direction::Write))) => self.write_done(page, result, out),
                Some((page, Io::Piece(number))) => self.piece_moved(page, number, result, out),
                Some((page, Io::Protect)) => self.host_protected(page, result, out),
                None => {}
            },
            Event::SlotStopped {
                first_requester,
                last_requester,
            } => self.slot_stopped(first_requester..=last_requester),
        }
        self.pump(out);
        self.join_rested(out);
    }

    fn operation_done(
        &mut self,
        id: CommandId,
        status: CommandStatus,
        accessed: bool,
        dirty: bool,
        out: &mut Vec<Action>,
    ) {
        let meaning = self.issued.operation_done(id);
        // Failed transfers are reported to the requests that wait for them.
        let told = matches!(
            meaning,
            Some(
                Meaning::TableZeroed(_)
                    | Meaning::Loaded(_)
                    | Meaning::CopiedOut(_)
                    | Meaning::PieceOut(..)
            )
        );
        if status != CommandStatus::Ok && !told {
            out.push(Action::CardFailed { id, status });
        }
        match meaning {
            None => {}
            Some(Meaning::TableZeroed(asid)) => self.table_zeroed(asid, status, out),
            Some(Meaning::TableGrown(asid)) => self.table_grown(asid, status),
            Some(Meaning::Loaded(page)) => self.loaded(page, status, out),
            Some(Meaning::Installed(page)) => self.installed(page, out),
            Some(Meaning::Reported(page)) => {
                // Without a trustworthy report the page counts as written.
                let dirty = dirty || status != CommandStatus::Ok;
                self.reported(page, accessed, dirty, out);
            }
            Some(Meaning::Examined(page)) => self.page_examined(page, accessed),
            Some(Meaning::CopiedOut(page)) => self.copied_out(page, status, out),
            Some(Meaning::PieceOut(page, number)) => {
                self.piece_copied_out(page, number, status, out);
            }
        }
    }

    /// Gives frames and buffers to waiting pages, until nothing changes.
    fn pump(&mut self, out: &mut Vec<Action>) {
        while self.grant_frames(out)
            | self.grant_zeroes(out)
            | self.grant_buffers(out)
            | self.make_room(out)
            | self.clean_ahead(out)
            | self.clean_behind(out)
        {}
    }

    /// Counts since the pager was created.
    pub fn statistics(&self) -> &Statistics {
        &self.statistics
    }

    /// Statistics by ASID: waits of each space's kernels, the bytes of card memory filled on its behalf and, for
    /// isolated spaces, the current channels. A destroyed space is listed until its number is reused.
    pub fn spaces(&self) -> impl Iterator<Item = (Asid, SpaceStatistics, Occupied)> + '_ {
        self.space_statistics.iter().map(|(&asid, &statistics)| {
            let charged = self.spaces.get(&asid).map_or(0, |space| space.charged);
            let isolated = |space: &&Space| space.placement == SpacePlacement::Isolated;
            let space = self.spaces.get(&asid).filter(isolated);
            (
                asid,
                statistics,
                (charged, space.map(|space| space.channels.clone())),
            )
        })
    }

    /// Whether the placement is possible on this card.
    pub fn has_placement(&self, placement: SpacePlacement) -> bool {
        let class = self.page_size.class();
        self.memory.has_placement(placement) && self.memory.could_hold(placement, class)
    }

    /// Whether a space exists, including one whose last page has not left.
    pub fn has_space(&self, asid: Asid) -> bool {
        self.spaces.contains_key(&asid)
    }

    /// Whether an object exists, including one whose last page has not left.
    pub fn has_object(&self, object: ObjectId) -> bool {
        self.objects.contains_key(&object)
    }

    /// Waiters of the page of an outstanding I/O operation.
    pub fn waits_for(&self, io: IoId) -> Waits {
        let page = self.issued.page_of(io).and_then(|key| self.pages.get(&key));
        let Some(page) = page else {
            return Waits::default();
        };
        let accesses = page.waiters.iter().filter_map(Waiter::access);
        let requests = [&page.joined, &page.wanted, &page.leaving, &page.returning];
        Waits {
            faults: accesses.map(|access| access.token).collect(),
            requests: requests.into_iter().flatten().copied().collect(),
        }
    }

    /// The space that requested, or waits for, the page of an outstanding I/O operation.
    pub fn space_of(&self, io: IoId) -> Option<Asid> {
        self.had_brought(self.issued.page_of(io)?)
    }

    fn had_brought(&self, key: ObjectPage) -> Option<Asid> {
        let page = self.pages.get(&key)?;
        let waits = page.waiters.first().map(|waiter| waiter.asid);
        let shows = page.entries.first().map(|entry| entry.asid);
        page.charged.or(waits).or(shows)
    }

    /// Counts an event of a space, if it ever existed.
    pub(crate) fn count_in(&mut self, asid: Asid, count: impl FnOnce(&mut SpaceStatistics)) {
        if let Some(statistics) = self.space_statistics.get_mut(&asid) {
            count(statistics);
        }
    }

    /// Counts an event of the space that requested a page.
    pub(crate) fn count_of(&mut self, key: ObjectPage, count: impl FnOnce(&mut SpaceStatistics)) {
        if let Some(asid) = self.had_brought(key) {
            self.count_in(asid, count);
        }
    }

    /// Counts bytes moved between a page and its object, also for the space that requested the page.
    pub(crate) fn count_moved(&mut self, key: ObjectPage, direction: Direction, bytes: u64) {
        match direction {
            Direction::Read => self.statistics.bytes_read += bytes,
            Direction::Write => self.statistics.bytes_written += bytes,
        }
        self.count_of(key, |space| match direction {
            Direction::Read => space.bytes_read += bytes,
            Direction::Write => space.bytes_written += bytes,
        });
    }

    /// Number of frames (of [`Config::page_size`]) that could hold pages if there were no page tables.
    pub fn total_frames(&self) -> u64 {
        self.frames_in_all(self.page_size)
    }

    /// Number of free frames (of [`Config::page_size`]).
    pub fn free_frames(&self) -> u64 {
        self.memory.count(self.page_size.class())
    }

    /// Number of frames of a size when nothing is in use.
    pub(crate) fn frames_in_all(&self, size: PageSize) -> u64 {
        self.total_frames[usize::from(size.class())]
    }

    /// Free bytes, in pieces of any size.
    pub fn free_bytes(&self) -> u64 {
        self.memory.count(0) << PageSize::KIB_4.bits()
    }

    /// Number of pages that have a frame, or a place in host memory.
    pub fn resident_pages(&self) -> usize {
        self.pages.values().filter(|page| page.has_place()).count()
    }

    /// Default page size of objects.
    pub fn page_size(&self) -> PageSize {
        self.page_size
    }

    /// Whether nothing is under way: no command, no I/O, no request.
    pub fn is_idle(&self) -> bool {
        self.issued.operations().is_empty()
            && self.issued.io_count() == 0
            && self.requests.len() == 0
            && self.creating.is_empty()
            && self.frame_queue.is_empty()
            && self.buffer_queue.is_empty()
            && self.zero_queue.is_empty()
    }

    /// The error of a failed I/O operation of a page.
    pub(crate) fn io_error(
        &self,
        direction: Direction,
        page: ObjectPage,
        error: IoError,
    ) -> PagerError {
        self.piece(page).error(direction, page, error)
    }

    /// The error of a failed card transfer of a page.
    pub(crate) fn card_error(
        &self,
        direction: Direction,
        page: ObjectPage,
        status: CommandStatus,
    ) -> PagerError {
        let Piece { offset, bytes, .. } = self.piece(page);
        PagerError::Card {
            direction,
            object: page.object,
            offset,
            bytes,
            status,
        }
    }

    /// The part of a page that is the object's.
    pub(crate) fn part_on(&self, page: ObjectPage) -> Range<u64> {
        self.objects.get(&page.object).map_or(0..0, |object| {
            object.part_on(page.index, self.size_of(page))
        })
    }

    /// Number of bytes of a page that are the object's.
    pub(crate) fn own_bytes(&self, page: ObjectPage) -> u64 {
        let own = self.part_on(page);
        own.end - own.start
    }

    /// Size of a page.
    pub(crate) fn size_of(&self, key: ObjectPage) -> PageSize {
        let page = self.pages.get(&key).map(|page| page.size);
        page.unwrap_or_else(|| self.page_size_of(key.object))
    }

    /// Page size of an object, the largest if there are several.
    pub(crate) fn page_size_of(&self, object: ObjectId) -> PageSize {
        self.objects
            .get(&object)
            .map_or(self.page_size, |object| object.page_size)
    }

    /// The part of a page that moves next through one buffer. Pages that fit into a buffer move in one piece.
    pub(crate) fn piece(&self, key: ObjectPage) -> Piece {
        let size = self.size_of(key);
        let unit = self.objects.get(&key.object).map_or(size, Object::unit);
        let moved = self.pages.get(&key).map_or(0, |page| page.moved);
        let own = self.part_on(key);
        let at = (own.start + moved).min(own.end);
        let left = own.end - at;
        let buffer = match self.host_address(key) {
            Some(_) => size.bytes(),
            None if self.stays_in_host(key) => size.bytes(),
            None => PageSize::KIB_4.bytes() << self.buffers.class_for(size),
        };
        // All pieces but the first begin at a row.
        let whole = size.bytes() <= buffer;
        let place = if whole { at } else { at % ROW_BYTES };
        let room = buffer - place;
        Piece {
            offset: (key.index << unit.bits()) + at,
            bytes: left.min(room),
            at,
            place,
            last: left <= room,
            edge: whole && (own.start > 0 || own.end < size.bytes()),
        }
    }

    /// A copy with other policies, which must be in an equivalent state.
    #[cfg(feature = "testing")]
    pub(crate) fn fork(&self, policies: Policies) -> Self {
        Self {
            page_size: self.page_size,
            page_sizes: self.page_sizes,
            table_sets_log2: self.table_sets_log2,
            grow_percent: self.grow_percent,
            max_sets_log2: self.max_sets_log2,
            install_order: self.install_order,
            clean_ahead: self.clean_ahead,
            overlap: self.overlap,
            zeroed_ahead_bytes: self.zeroed_ahead_bytes,
            piece_bytes: self.piece_bytes,
            policies,
            spaces: self.spaces.clone(),
            creating: self.creating.clone(),
            objects: self.objects.clone(),
            pages: self.pages.clone(),
            memory: self.memory.clone(),
            owners: self.owners.clone(),
            buffers: self.buffers.clone(),
            frame_queue: self.frame_queue.clone(),
            buffer_queue: self.buffer_queue.clone(),
            zero_queue: self.zero_queue.clone(),
            zeroing: self.zeroing.clone(),
            releasing: self.releasing.clone(),
            cleaning: self.cleaning.clone(),
            passed: self.passed.clone(),
            examined: self.examined.clone(),
            rested: Vec::new(),
            advised: self.advised,
            regrouped: self.regrouped,
            issued: self.issued.clone(),
            requests: self.requests.clone(),
            statistics: self.statistics,
            space_statistics: self.space_statistics.clone(),
            total_frames: self.total_frames.clone(),
            total_units: self.total_units,
            buffer_bytes: self.buffer_bytes,
            sabotage: self.sabotage,
        }
    }

    /// Hashes all state except statistics, outstanding commands and I/O, and policies: the caller, which executes them,
    /// hashes those.
    #[cfg(feature = "testing")]
    pub(crate) fn hash_state(&self, hasher: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        let lists = (&self.spaces, &self.creating, &self.objects, &self.pages);
        let queues = (&self.frame_queue, &self.buffer_queue, &self.zero_queue);
        let sets = (
            &self.releasing,
            &self.cleaning,
            &self.passed,
            &self.zeroing,
            &self.examined,
        );
        let flags = (self.advised, self.regrouped);
        let rest = (&self.memory, &self.buffers, &self.requests, flags);
        (lists, queues, sets, rest).hash(hasher);
    }

    /// Address and size in bytes of every page table, including old and unfinished ones.
    #[cfg(feature = "testing")]
    pub(crate) fn tables(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let at = |frame: FrameNumber, sets_log2: u8| (frame.card_address().get(), 64 << sets_log2);
        self.spaces.values().flat_map(move |space| {
            let old = space.old_table.map(|old| at(old.frame, old.sets_log2));
            let sets_log2 = space.table.geometry().sets_log2();
            old.into_iter().chain([at(space.table_frame, sets_log2)])
        })
    }

    /// Injects a fault.
    #[cfg(feature = "testing")]
    pub fn plant(&mut self, sabotage: Option<Sabotage>) {
        self.sabotage = sabotage;
    }

    #[cfg(feature = "testing")]
    pub(crate) fn sabotaged(&self, sabotage: Sabotage) -> bool {
        self.sabotage == Some(sabotage)
    }

    #[cfg(not(feature = "testing"))]
    #[allow(clippy::unused_self)]
    pub(crate) const fn sabotaged(&self, _sabotage: Sabotage) -> bool {
        false
    }
}
