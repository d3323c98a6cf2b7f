//! The pager's interface: its rooms, and the dispatch of events.

mod requests;
mod residency;

use crate::action::Action;
use crate::allocation::Allocation;
use crate::buffer::Buffers;
use crate::check::Invariants;
use crate::completion::Completion;
use crate::config::Config;
use crate::demand::Demand;
use crate::error::{ConfigError, Direction};
use crate::event::Event;
use crate::fault::Faults;
use crate::fill::Fill;
use crate::host_memory;
use crate::ids::{IoId, ObjectId, RequestId};
use crate::issue::{Io, Issued, Meaning};
use crate::memory::Memory;
use crate::page::{State, Waiter};
use crate::pages::{Pages, Sizes};
use crate::policies::Policies;
use crate::request::Requests;
use crate::sabotage::Injected;
use crate::spaces::Spaces;
use crate::statistics::{Counts, SpaceStatistics, Statistics};
use crate::translate::Translation;
use crate::work::Work;
use crate::writeback::WriteBack;
use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use units::{Asid, CommandId, CommandStatus, FaultToken, PageSize, SpacePlacement, ROW_BYTES};

#[cfg(feature = "testing")]
use crate::sabotage::Sabotage;

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
    config: Arc<Config>,
    policies: Policies,
    pages: Pages,
    spaces: Spaces,
    memory: Memory,
    buffers: Buffers,
    work: Work,
    issued: Issued,
    requests: Requests,
    counts: Counts,
    injected: Injected,
}

/// The rooms that translations need.
macro_rules! translation {
    ($pager:ident) => {
        Translation {
            config: &$pager.config,
            pages: &mut $pager.pages,
            spaces: &mut $pager.spaces,
            memory: &mut $pager.memory,
            issued: &mut $pager.issued,
            counts: &mut $pager.counts,
            eviction: &*$pager.policies.eviction,
            injected: $pager.injected,
        }
    };
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
        let memory = Memory::new(&config.channels, config.channel_bytes_log2);
        let buffers = Buffers::new(&config.buffers, config.buffer_bytes);
        let sizes = Sizes {
            usual: config.page_size,
            possible: config.page_sizes,
            largest_moved: buffers.largest(),
            piece_bytes: config.piece_bytes / ROW_BYTES * ROW_BYTES,
        };
        Ok(Self {
            config: Arc::new(config),
            policies,
            pages: Pages::new(sizes),
            spaces: Spaces::default(),
            memory,
            buffers,
            work: Work::default(),
            issued: Issued::default(),
            requests: Requests::default(),
            counts: Counts::default(),
            injected: Injected::default(),
        })
    }

    /// Handles one event and appends the resulting actions, in order.
    pub fn handle(&mut self, event: Event, out: &mut Vec<Action>) {
        self.issued.exchange(out);
        match event {
            Event::Fault(fault) => self.faults().fault(fault),
            Event::OperationDone {
                id,
                status,
                accessed,
                dirty,
            } => self.operation_done(id, status, accessed, dirty),
            Event::IoDone { id, result } => {
                if let Some((page, io)) = self.issued.io_done(id) {
                    let state = self.pages.state(page);
                    let saved = matches!(state, Some(State::WritingBack { .. }));
                    let outcome = match io {
                        Io::Move(Direction::Read) if state == Some(State::Fetching) => {
                            self.fill().direct_filled(page, result)
                        }
                        Io::Move(Direction::Read) => self.fill().read_done(page, result),
                        Io::Move(Direction::Write) => self.write_back().write_done(page, result),
                        Io::Piece(number) if saved => {
                            self.write_back().piece_written(page, number, result)
                        }
                        Io::Piece(number) => self.fill().piece_read(page, number, result),
                        Io::Protect => {
                            host_memory::protected(&mut self.translation(), page, result)
                        }
                    };
                    self.apply(page, outcome);
                }
            }
            Event::SlotStopped {
                first_requester,
                last_requester,
            } => self.slot_stopped(first_requester..=last_requester),
            request => self.request(request),
        }
        self.pump();
        self.join_rested();
        self.issued.exchange(out);
    }

    fn operation_done(
        &mut self,
        id: CommandId,
        status: CommandStatus,
        accessed: bool,
        dirty: bool,
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
            self.issued.push(Action::CardFailed { id, status });
        }
        let Some(meaning) = meaning else {
            return;
        };
        let outcome = match meaning {
            Meaning::TableZeroed(asid) => return self.table_zeroed(asid, status),
            Meaning::TableGrown(asid) => return self.translation().table_grown(asid, status),
            Meaning::Examined(page) => return self.page_examined(page, accessed),
            Meaning::Loaded(page) => self.fill().loaded(page, status),
            Meaning::Installed(page) => self.fill().installed(page),
            Meaning::Reported(page) => {
                // Without a trustworthy report the page counts as written.
                let dirty = dirty || status != CommandStatus::Ok;
                self.write_back().reported(page, accessed, dirty)
            }
            Meaning::CopiedOut(page) => self.write_back().copied_out(page, status),
            Meaning::PieceOut(page, number) => {
                self.write_back().piece_copied_out(page, number, status)
            }
        };
        if let Some(page) = meaning.page() {
            self.apply(page, outcome);
        }
    }

    /// Accesses of these requesters are gone and must not be answered.
    fn slot_stopped(&mut self, requesters: RangeInclusive<u8>) {
        let gone = |waiter: &Waiter| {
            let access = waiter.access();
            access.is_some_and(|access| requesters.contains(&access.token.requester))
        };
        let mut unwanted = Vec::new();
        for (key, page) in self.pages.iter_mut() {
            page.waiters.retain(|waiter| !gone(waiter));
            if page.state() == State::Waiting && page.waiters.is_empty() {
                unwanted.push(key);
            }
        }
        for key in unwanted {
            self.work.forget(&mut self.pages, key);
        }
    }

    fn translation(&mut self) -> Translation<'_> {
        translation!(self)
    }

    fn fill(&mut self) -> Fill<'_> {
        Fill {
            translation: translation!(self),
            buffers: &mut self.buffers,
            work: &mut self.work,
        }
    }

    fn write_back(&mut self) -> WriteBack<'_> {
        WriteBack {
            translation: translation!(self),
            buffers: &mut self.buffers,
        }
    }

    fn demand(&mut self) -> Demand<'_> {
        Demand {
            translation: translation!(self),
            buffers: &mut self.buffers,
            work: &mut self.work,
        }
    }

    fn faults(&mut self) -> Faults<'_> {
        Faults {
            demand: Demand {
                translation: translation!(self),
                buffers: &mut self.buffers,
                work: &mut self.work,
            },
            fetch: &mut *self.policies.fetch,
            sizes: &mut *self.policies.size,
        }
    }

    fn completion(&mut self) -> Completion<'_> {
        Completion {
            requests: &mut self.requests,
            pages: &mut self.pages,
            spaces: &mut self.spaces,
            memory: &mut self.memory,
            issued: &mut self.issued,
            fetch: &mut *self.policies.fetch,
        }
    }

    fn allocation(&mut self) -> Allocation<'_> {
        Allocation {
            pages: &self.pages,
            spaces: &self.spaces,
            memory: &mut self.memory,
            work: &self.work,
            policies: &mut self.policies,
        }
    }

    /// Counts since the pager was created.
    pub fn statistics(&self) -> &Statistics {
        self.counts.total()
    }

    /// Statistics by ASID: waits of each space's kernels, the bytes of card memory filled on its behalf and, for
    /// isolated spaces, the current channels. A destroyed space is listed until its number is reused.
    pub fn spaces(&self) -> impl Iterator<Item = (Asid, SpaceStatistics, Occupied)> + '_ {
        self.counts.spaces().map(|(asid, statistics)| {
            let space = self.spaces.space(asid);
            let charged = space.map_or(0, |space| space.charged);
            let isolated = space.filter(|space| space.placement == SpacePlacement::Isolated);
            let channels = isolated.map(|space| space.channels.clone());
            (asid, statistics, (charged, channels))
        })
    }

    /// Whether the placement is possible on this card.
    pub fn has_placement(&self, placement: SpacePlacement) -> bool {
        let class = self.page_size().class();
        let frames = self.memory.frames();
        frames.has_placement(placement) && frames.could_hold(placement, class)
    }

    /// Whether a space exists, including one whose last page has not left.
    pub fn has_space(&self, asid: Asid) -> bool {
        self.spaces.space(asid).is_some()
    }

    /// Whether an object exists, including one whose last page has not left.
    pub fn has_object(&self, object: ObjectId) -> bool {
        self.pages.object(object).is_some()
    }

    /// Whether the pages of an object stay in host memory.
    pub fn is_direct(&self, object: ObjectId) -> bool {
        self.pages.is_direct(object)
    }

    /// Waiters of the page of an outstanding I/O operation.
    pub fn waits_for(&self, io: IoId) -> Waits {
        let page = self.issued.page_of(io);
        let Some(page) = page.and_then(|key| self.pages.page(key)) else {
            return Waits::default();
        };
        let accesses = page.waiters.iter().filter_map(Waiter::access);
        Waits {
            faults: accesses.map(|access| access.token).collect(),
            requests: page.requests.all().flatten().copied().collect(),
        }
    }

    /// The space that requested, or waits for, the page of an outstanding I/O operation.
    pub fn space_of(&self, io: IoId) -> Option<Asid> {
        self.pages.brought_by(self.issued.page_of(io)?)
    }

    /// Number of frames (of [`Config::page_size`]) that could hold pages if there were no page tables.
    pub fn total_frames(&self) -> u64 {
        self.memory.total(self.page_size())
    }

    /// Number of free frames (of [`Config::page_size`]).
    pub fn free_frames(&self) -> u64 {
        self.memory.free(self.page_size())
    }

    /// Free bytes, in pieces of any size.
    pub fn free_bytes(&self) -> u64 {
        self.memory.free(PageSize::KIB_4) << PageSize::KIB_4.bits()
    }

    /// Number of pages that have a frame, or a place in host memory.
    pub fn resident_pages(&self) -> usize {
        let pages = self.pages.iter();
        pages.filter(|(_, page)| page.has_place()).count()
    }

    /// Default page size of objects.
    pub fn page_size(&self) -> PageSize {
        self.config.page_size
    }

    /// Whether nothing is under way: no command, no I/O, no request.
    pub fn is_idle(&self) -> bool {
        self.issued.operations().is_empty()
            && self.issued.io_count() == 0
            && self.requests.len() == 0
            && self.spaces.is_idle()
            && self.work.is_idle()
            && self.buffers.is_idle()
    }

    /// Checks the pager's invariants: every frame and buffer has one owner and none is lost, the table images agree
    /// with the reverse lists, and everything that waits has something to wait for. For tests; the run time is
    /// proportional to the number of pages.
    ///
    /// # Errors
    /// The violated invariants.
    pub fn check(&self) -> Result<(), String> {
        let invariants = Invariants {
            pages: &self.pages,
            spaces: &self.spaces,
            memory: &self.memory,
            buffers: &self.buffers,
            work: &self.work,
            issued: &self.issued,
            requests: &self.requests,
        };
        invariants.check()
    }
}

/// Access for tests.
#[cfg(feature = "testing")]
impl Pager {
    /// A copy with other policies, which must be in an equivalent state.
    pub(crate) fn fork(&self, policies: Policies) -> Self {
        Self {
            config: self.config.clone(),
            policies,
            pages: self.pages.clone(),
            spaces: self.spaces.clone(),
            memory: self.memory.clone(),
            buffers: self.buffers.clone(),
            work: self.work.clone(),
            issued: self.issued.clone(),
            requests: self.requests.clone(),
            counts: self.counts.clone(),
            injected: self.injected,
        }
    }

    /// Hashes all state except statistics, outstanding commands and I/O, and policies: the caller, which executes them,
    /// hashes those.
    pub(crate) fn hash_state(&self, hasher: &mut impl std::hash::Hasher) {
        use std::hash::Hash;
        let data = (&self.pages, &self.spaces, &self.memory);
        (data, &self.buffers, &self.work, &self.requests).hash(hasher);
    }

    /// Address and size in bytes of every page table, including old and unfinished ones.
    pub(crate) fn tables(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        use units::FrameNumber;
        let at = |frame: FrameNumber, sets_log2: u8| (frame.card_address().get(), 64 << sets_log2);
        self.spaces.iter().flat_map(move |(_, space)| {
            let old = space.old_table.map(|old| at(old.frame, old.sets_log2));
            let sets_log2 = space.table.geometry().sets_log2();
            old.into_iter().chain([at(space.table_frame, sets_log2)])
        })
    }

    pub(crate) const fn pages(&self) -> &Pages {
        &self.pages
    }

    pub(crate) const fn buffers(&self) -> &Buffers {
        &self.buffers
    }

    pub(crate) const fn issued(&self) -> &Issued {
        &self.issued
    }

    /// Injects a fault.
    pub fn plant(&mut self, sabotage: Option<Sabotage>) {
        self.injected.set(sabotage);
    }
}
