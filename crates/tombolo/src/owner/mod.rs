//! The owner of a card: drives the pager, the card and file I/O, and answers clients.
//!
//! Single-threaded and event-driven. Nothing that a client or a kernel does ends it.

mod coherent;
mod files;
mod guard;
mod handles;
mod managed;
mod memory;
mod moved;
mod pump;
mod service;
mod slots;
mod stray;
mod streams;
mod trace;
mod translate;

use crate::error::Error;
use crate::io::FileIo;
use crate::message::{Progress, Reply, Request, SpaceId};
use crate::report::{PagingReport, Report, RunReport};
use card::command::{Command, FaultToken};
use card::memory::HostMemory;
use card::{Card, SlotId, WorkId};
use coherent::Coherent;
use files::Files;
pub use handles::Planted;
use handles::{Handles, MappedRange};
use memory::Memories;
use moved::MovedBytes;
use pager::fetch::ReadAhead;
use pager::placement::SpacePlacement;
use pager::{
    ChannelMemory, Config, Event, InstallOrder, ObjectId, Pager, PagerError, Policies, RequestId,
    Success,
};
use pump::Work;
use service::ServiceQueue;
use slots::SlotState;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::RangeInclusive;
use std::sync::Arc;
use timeline::Timeline;
use units::{Asid, CardAddr, PageSize, PageSizes, Picoseconds, VirtAddr};

/// Whether files count as being in the host's page cache, for the cost of reading them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileState {
    /// In the page cache: a copy.
    #[default]
    Warm,
    /// On storage.
    Cold,
}

/// How an owner works.
#[derive(Clone, Debug)]
pub struct OwnerOptions {
    /// Size of the pages of files whose mapping asks for no other.
    pub page_size: PageSize,
    /// Host buffers for DMA, of 2 MiB each. Larger pages move in pieces.
    pub dma_buffers: u32,
    /// Up to this much is fetched ahead of a stream at a time; 0: only what an access waits for.
    pub read_ahead_bytes: u64,
    /// While less card memory than this is free, as much of what would leave next is written back
    /// ahead; 0: pages are written when they leave.
    pub clean_ahead_bytes: u64,
    /// The page table of a space begins with this many sets of eight entries (log2, 10 to 24).
    pub table_sets_log2: u8,
    /// It moves to one of twice the size when a set is full and this percentage of its entries is in
    /// use. Until then a full set gives up its oldest entry.
    pub table_grow_percent: u8,
    /// What reading a file costs in virtual time.
    pub file_state: FileState,
    /// Name of the platform, for reports.
    pub platform: String,
    /// Hash of the platform's file, for reports.
    pub platform_hash: String,
    /// Where to write what happens; a simulated card's own, if it has one.
    pub timeline: Option<Timeline>,
    /// For tests of tests.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

impl Default for OwnerOptions {
    fn default() -> Self {
        Self {
            page_size: PageSize::MIB_2,
            dma_buffers: 16,
            read_ahead_bytes: 16 << 20,
            clean_ahead_bytes: 16 << 20,
            table_sets_log2: 12,
            table_grow_percent: 25,
            file_state: FileState::Warm,
            platform: String::new(),
            platform_hash: String::new(),
            timeline: None,
            planted: None,
        }
    }
}

/// See the module.
pub(crate) struct Owner {
    card: Box<dyn Card>,
    pager: Pager,
    io: Box<dyn FileIo>,
    options: OwnerOptions,
    buffers: Arc<HostMemory>,
    buffer_bytes: u64,
    files: Files,
    memories: Memories,
    handles: Handles,
    slots: Vec<SlotState>,
    streams: streams::Streams,
    spaces: Vec<bool>,
    work: BTreeMap<WorkId, Work>,
    /// Events that wait for the service thread, and whether it is busy.
    service: ServiceQueue,
    serving: bool,
    /// A slot is being reconfigured.
    reconfiguring: bool,
    /// Commands for which the card had no room yet, by queue.
    outgoing: Vec<VecDeque<Command>>,
    completed: BTreeMap<RequestId, Result<Success, PagerError>>,
    /// The last failed write of each place, until it is told.
    write_back_errors: BTreeMap<(ObjectId, u64), Error>,
    next_request: u64,
    faults_waiting: BTreeSet<FaultToken>,
    fault_since: Picoseconds,
    /// Streams of a slot that is being stopped.
    draining: Option<RangeInclusive<u8>>,
    fault_time: Picoseconds,
    runs: Vec<RunReport>,
    moved: MovedBytes,
    coherent: Coherent,
}

impl Owner {
    /// Takes a card.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    pub(crate) fn new(
        mut card: Box<dyn Card>,
        io: Box<dyn FileIo>,
        options: OwnerOptions,
    ) -> Result<Self, Error> {
        let description = card.description().clone();
        let page = options.page_size;
        let sizes = description.page_sizes;
        if !sizes.contains(page) {
            return Err(Error::NoSuchPageSize { page, sizes });
        }
        let buffer_bytes = PageSize::MIB_2.bytes();
        let total = buffer_bytes * u64::from(options.dma_buffers);
        let buffers = HostMemory::allocate(total as usize).map_err(|source| Error::File {
            path: "/dev/zero".into(),
            what: "allocating DMA buffers",
            source,
        })?;
        let buffers = Arc::new(buffers);
        let base = card.map_host(buffers.clone())?;
        let channels = (0..u64::from(description.channels))
            .map(|channel| {
                let base = CardAddr::new(channel << description.channel_bytes_log2);
                base.map(|base| ChannelMemory {
                    base,
                    bytes: description.channel_bytes,
                })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::Internal("channels beyond the card's address space".into()))?;
        let addresses = (0..options.dma_buffers)
            .map(|n| base.offset(u64::from(n) * buffer_bytes))
            .collect();
        let config = Config {
            page_size: page,
            page_sizes: sizes,
            buffer_bytes,
            channel_bytes_log2: description.channel_bytes_log2,
            // Copies of several pages overlap, in both directions, which is worth a trip to the host.
            install_order: InstallOrder::OnCompletion,
            clean_ahead: options.clean_ahead_bytes / page.bytes(),
            table_sets_log2: options.table_sets_log2,
            grow_percent: options.table_grow_percent,
            ..Config::new(channels, addresses)
        };
        let mut policies = Policies::default();
        if options.read_ahead_bytes > 0 {
            policies.fetch = Box::new(ReadAhead::new(options.read_ahead_bytes));
        }
        let pager = Pager::with_policies(config, policies).map_err(|source| Error::CardMemory {
            channels: description.channels,
            channel_bytes: description.channel_bytes,
            source,
        })?;
        Ok(Self {
            slots: (0..description.slots)
                .map(|_| SlotState::default())
                .collect(),
            streams: streams::Streams::default(),
            spaces: vec![false; usize::from(description.spaces)],
            card,
            pager,
            io,
            handles: Handles::new(options.planted),
            options,
            buffers,
            buffer_bytes,
            files: Files::default(),
            memories: Memories::default(),
            work: BTreeMap::new(),
            service: ServiceQueue::default(),
            serving: false,
            reconfiguring: false,
            outgoing: vec![VecDeque::new(); usize::from(description.queues)],
            completed: BTreeMap::new(),
            write_back_errors: BTreeMap::new(),
            next_request: 0,
            faults_waiting: BTreeSet::new(),
            fault_since: Picoseconds::ZERO,
            draining: None,
            fault_time: Picoseconds::ZERO,
            runs: Vec::new(),
            moved: MovedBytes::default(),
            coherent: Coherent::default(),
        })
    }

    /// Serves one request, letting virtual time pass as it needs.
    ///
    /// # Errors
    /// What the request says; the owner itself goes on.
    pub(crate) fn handle(&mut self, request: Request) -> Result<Reply, Error> {
        self.handles.check_open()?;
        match request {
            Request::Describe => Ok(Reply::Description {
                card: Box::new(self.card.description().clone()),
                now: self.card.now(),
            }),
            Request::CreateSpace { placement, limit } => {
                let asid = self.create_space(placement, limit)?;
                let space = self.handles.add_space(asid);
                Ok(Reply::Space { space, asid })
            }
            Request::DestroySpace { space } => self.destroy_space(space),
            Request::Load {
                slot,
                kernel,
                space,
            } => self.load(slot, *kernel, space),
            Request::Unload { load } => self.close_slot(self.slot_of(load)?),
            Request::Map {
                space,
                file,
                label,
                offset,
                bytes,
                address,
                read,
                write,
                fresh,
                page_size,
            } => {
                let range = files::Range {
                    offset,
                    bytes,
                    address,
                    read,
                    write,
                    fresh,
                    page_size,
                };
                let asid = self.handles.space(space)?;
                let address = self.map(asid, file, label, range)?;
                let mapping = self.handles.add_mapping(MappedRange {
                    space,
                    asid,
                    address,
                    bytes,
                });
                Ok(Reply::Mapped { mapping, address })
            }
            Request::Share { space, view } => {
                let (mapping, address) = self.share(space, view)?;
                Ok(Reply::Mapped { mapping, address })
            }
            Request::Free { mapping } => self.free(mapping).map(|()| Reply::Done),
            Request::Trap {
                address,
                write,
                ticket,
            } => self.trap(address, write, ticket).map(|()| Reply::Done),
            Request::Unmap { mapping } => {
                let range = self.handles.mapping(mapping)?;
                self.handles.end_mapping(mapping);
                self.unmap(range.asid, range.address, range.bytes)?;
                Ok(Reply::Done)
            }
            Request::Sync { mapping } => {
                let MappedRange {
                    asid: space,
                    address,
                    bytes,
                    ..
                } = self.handles.mapping(mapping)?;
                let files = self.files.mapped_in(space, address, bytes);
                let request = |request| Event::Sync {
                    request,
                    asid: space,
                    address,
                    bytes,
                };
                let result = self.ask(request);
                let stray = self.files.take_stray(space, address, bytes);
                result?;
                self.make_durable(&files).and(stray).map(|()| Reply::Done)
            }
            Request::Prefetch { mapping } => {
                let range = self.handles.mapping(mapping)?;
                self.tell(Event::Prefetch {
                    asid: range.asid,
                    address: range.address,
                    bytes: range.bytes,
                })?;
                Ok(Reply::Done)
            }
            Request::SetArgument {
                load,
                offset,
                words,
            } => self
                .set_argument(self.slot_of(load)?, offset, &words)
                .map(|()| Reply::Done),
            Request::WriteRegisters {
                load,
                offset,
                words,
            } => self
                .write_raw_registers(self.slot_of(load)?, offset, &words)
                .map(|()| Reply::Done),
            Request::ReadRegister { load, offset } => self
                .read_register(self.slot_of(load)?, offset)
                .map(Reply::Register),
            Request::Start { load } => self.start(self.slot_of(load)?).map(|()| Reply::Done),
            Request::Poll { load, slice } => self.poll(self.slot_of(load)?, slice),
            Request::Await {
                load,
                signal,
                slice,
            } => self.await_signal(self.slot_of(load)?, signal, slice),
            Request::PollAny { loads, slice } => {
                let slots = loads.into_iter().map(|load| self.slot_of(load));
                let slots: Vec<SlotId> = slots.collect::<Result<_, _>>()?;
                self.poll_any(&slots, slice).map(Reply::Any)
            }
            Request::Close => {
                let mut result = Ok(());
                for space in self.handles.spaces() {
                    result = result.and(self.destroy_space(space).map(drop));
                }
                self.handles.close();
                result.map(|()| Reply::Done)
            }
            Request::Expire { load } => self.expire(self.slot_of(load)?),
            Request::Stop { load } => self.stop(self.slot_of(load)?).map(|()| Reply::Done),
            Request::Stream(request) => self.stream(request),
            Request::BeginAccess { access } => self.begin_access(access).map(Reply::Access),
            Request::EndAccess { id, deadline } => self.end_access(id, deadline),
            Request::RecordLines { history } => {
                self.card.record_lines(*history)?;
                Ok(Reply::Done)
            }
            Request::LineHistory => Ok(Reply::History(Box::new(self.card.line_history()))),
            Request::SetHomePatience { cycles } => self.set_patience(cycles).map(|()| Reply::Done),
            Request::Report => Ok(Reply::Report(Box::new(self.report()?))),
        }
    }

    /// How far things are.
    fn progress(&self) -> Progress {
        let paging = self.pager.statistics();
        Progress {
            now: self.card.now(),
            bytes_in: paging.bytes_read + paging.bytes_zeroed,
            bytes_out: paging.bytes_written,
            faults: paging.faults,
        }
    }

    fn report(&mut self) -> Result<Report, Error> {
        Ok(Report {
            card: self.card.description().clone(),
            platform: self.options.platform.clone(),
            platform_hash: self.options.platform_hash.clone(),
            file_io: self.io.name().to_owned(),
            time: self.card.now(),
            runs: self.runs.clone(),
            paging: PagingReport::new(self.pager.statistics(), self.fault_time),
            bytes_hash: self.moved.hex(),
            notes: self.notes(),
            statistics: self.card.statistics()?,
        })
    }

    /// What the user might want to change.
    fn notes(&self) -> Vec<String> {
        let l1 = self.card.description().l1_sizes;
        let slow = self.files.page_sizes.iter();
        let slow = slow.filter(|&&size| l1 != PageSizes::default() && !l1.contains(size));
        slow.map(|size| {
            format!(
                "pages of {size} were used, and no L1 TLB has that size: each of its entries serves a smaller \
                 part of such a page, so bursts miss more often. The shell has L1 TLBs for {l1}: take pages of \
                 such a size, or give the shell an L1 TLB of this one"
            )
        })
        .collect()
    }

    fn create_space(
        &mut self,
        placement: SpacePlacement,
        limit: Option<u64>,
    ) -> Result<Asid, Error> {
        let spaces = self.spaces.len() as u8;
        let free = self.spaces.iter().position(|used| !used);
        let asid = free.and_then(|number| Asid::new(number as u8));
        let asid = asid.ok_or(Error::NoFreeSpace { spaces })?;
        let page = self.pager.page_size();
        let limit = limit.map(|bytes| bytes.max(page.bytes()));
        self.ask(|request| Event::CreateSpace {
            request,
            asid,
            limit,
            placement,
        })?;
        self.spaces[usize::from(asid.get())] = true;
        Ok(asid)
    }

    fn destroy_space(&mut self, space: SpaceId) -> Result<Reply, Error> {
        let id = space;
        let space = self.handles.space(id)?;
        self.handles.end_space(id);
        for number in 0..self.slots.len() {
            if self.slots[number].loaded_in(space) {
                self.unload(card::SlotId(number as u8))?;
            }
        }
        let result = self.ask(|request| Event::DestroySpace {
            request,
            asid: space,
        });
        if let Some(used) = self.spaces.get_mut(usize::from(space.get())) {
            *used = false;
        }
        let everything = 1 << VirtAddr::BITS;
        let stray = self
            .files
            .take_stray(space, VirtAddr::default(), everything);
        self.forget_files(space, None);
        self.forget_memories(space, None);
        result?;
        stray.map(|()| Reply::Done)
    }

    fn take_request(&mut self) -> RequestId {
        self.next_request += 1;
        RequestId(self.next_request)
    }
}
