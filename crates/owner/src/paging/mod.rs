//! Pages of address spaces: the pager, and the execution of its actions.
//!
//! Events of the card and completed transfers go in ([`pump`]), commands and transfers come out. The card is an argument,
//! with its kernels ([`Kernels`]), and so are the handles of clients.

mod answers;
mod commands;
mod direct;
mod faults;
mod files;
mod host_time;
mod hot;
mod lanes;
mod memory;
mod moved;
mod page_cache;
mod patience;
mod policies;
mod pressure;
mod pump;
mod service;
mod shares;
mod spaces;
mod stray;
mod transfers;

use crate::inbox::Inbox;
use crate::kernels::{HomeRange, Kernels};
use crate::lane::Post;
use crate::message::Progress;
use crate::participants::Guest;
use crate::report::PagingReport;
use crate::tasks::Tasks;
use crate::trace::Trace;
use crate::OwnerOptions;
use answers::Answers;
use card::memory::HostMemory;
use card::{Card, HostWork};
use commands::Commands;
use error::Error;
use file_io::{Identity, OpenFile};
use files::Files;
pub(crate) use files::{
    check_options, check_rights, Durable, Looked, Source, View, Wanted, EMPTYING,
};
use host_time::{HostTime, Work};
use hot::Hot;
pub(crate) use lanes::InLane;
use lanes::Lanes;
pub use lanes::MakeIo;
use memory::Memories;
pub(crate) use memory::ProgramAccess;
use moved::MovedBytes;
use pager::{
    ChannelMemory, Config, Event, InstallOrder, Occupied, Pager, Policies, RequestId,
    SpaceStatistics, Success,
};
pub(crate) use patience::Awaited;
use patience::Patience;
use policies::Words;
pub(crate) use pressure::Flush;
use pressure::Place;
use service::Service;
pub use service::ServiceThreads;
use spaces::Spaces;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use transfers::Transfers;
use units::{
    Asid, CardAddr, CardDescription, FaultToken, HostAddr, PageSize, Picoseconds, SlotId, VirtAddr,
};

/// See the module.
pub(crate) struct Paging {
    pager: Pager,
    spaces: Spaces,
    files: Files,
    memories: Memories,
    transfers: Transfers,
    service: Service,
    commands: Commands,
    host_time: HostTime,
    /// State of preloading.
    hot: Hot,
    answers: Answers,
    patience: Patience,
    options: Arc<OwnerOptions>,
    trace: Trace,
    /// An event may have ended the wait of a task.
    stirred: bool,
    /// Dropped last: files are closed in them.
    lanes: Lanes,
}

/// Host memory for DMA, and its address on the card.
pub(crate) struct Buffers {
    memory: Arc<HostMemory>,
    base: HostAddr,
}

impl Buffers {
    /// Size of one buffer, in bytes.
    const EACH: u64 = PageSize::MIB_2.bytes();

    /// Allocates and maps `count` buffers.
    ///
    /// # Errors
    /// Host memory cannot be had.
    pub(crate) fn map(card: &mut dyn Card, count: u32) -> Result<Self, Error> {
        let total = Self::EACH * u64::from(count);
        let memory = HostMemory::allocate(total as usize).map_err(|source| Error::File {
            path: "/dev/zero".into(),
            what: "allocating DMA buffers",
            source,
        })?;
        let memory = Arc::new(memory);
        let base = card.map_host(memory.clone())?;
        Ok(Self { memory, base })
    }
}

/// Channels of the owner's thread: its messages, and results of work on other threads.
pub(crate) struct Ways {
    pub(crate) inbox: Inbox,
    pub(crate) post: Post,
}

impl Paging {
    /// For the memory of a card, without the range `home` behind the directory.
    ///
    /// # Errors
    /// The card's memory is too small for one page.
    pub(crate) fn new(
        card: &mut dyn Card,
        home: Option<HomeRange>,
        buffers: Buffers,
        io: MakeIo,
        ways: Ways,
        options: Arc<OwnerOptions>,
    ) -> Result<Self, Error> {
        let description = card.description().clone();
        let page = options.largest_page();
        let channels = (0..description.channels)
            .map(|channel| {
                let channel_bytes = description.bytes_of_channel(channel);
                let channel = u64::from(channel);
                let base = CardAddr::new(channel << description.channel_bytes_log2);
                let bytes = home.map_or(channel_bytes, |home| home.rest_of(channel, channel_bytes));
                base.map(|base| ChannelMemory { base, bytes })
            })
            .collect::<Option<Vec<_>>>()
            .ok_or_else(|| Error::Internal("channels beyond the card's address space".into()))?;
        let Buffers { memory, base } = buffers;
        let addresses = (0..options.dma_buffers)
            .map(|n| base.offset(u64::from(n) * Buffers::EACH))
            .collect();
        let config = Config {
            page_size: page,
            page_sizes: description.page_sizes,
            buffer_bytes: Buffers::EACH,
            piece_bytes: options.piece_bytes,
            channel_bytes_log2: description.channel_bytes_log2,
            // Copies of several pages overlap, in both directions, which outweighs the round trip to the host.
            install_order: InstallOrder::OnCompletion,
            clean_ahead: options.clean_ahead_bytes / page.bytes(),
            overlap: options.overlap,
            table_sets_log2: options.table_sets_log2,
            grow_percent: options.table_grow_percent,
            ..Config::new(channels, addresses)
        };
        let chosen = options.fetching();
        let policies = Policies {
            fetch: Box::new(chosen),
            eviction: options.eviction.policy(),
            size: Box::new(policies::page_sizes(&description.l1_reach)),
            ..Policies::default()
        };
        let pager = Pager::with_policies(config, policies).map_err(|source| Error::CardMemory {
            channels: description.channels,
            channel_bytes: description.channel_bytes,
            source,
        })?;
        let timed = card
            .simulation()
            .is_some_and(|card| card.has_virtual_time());
        let moved = timed.then(MovedBytes::new);
        Ok(Self {
            pager,
            spaces: Spaces::new(description.spaces),
            files: Files::default(),
            memories: Memories::new(ways.inbox),
            transfers: Transfers::new(memory, Buffers::EACH, moved, &options),
            service: Service::new(options.service_threads),
            commands: Commands::new(description.queues),
            host_time: HostTime::default(),
            hot: Hot::default(),
            answers: Answers::default(),
            patience: Patience::new(options.clock, options.file_limit()),
            trace: Trace::new(options.timeline.clone()),
            options,
            stirred: false,
            lanes: Lanes::new(io, ways.post),
        })
    }

    /// The paging policy of each of these files on a card, with its reason.
    pub(crate) fn policies(
        &self,
        card: &CardDescription,
        of: impl Fn(&str) -> bool,
    ) -> Vec<String> {
        let words = Words::new(card, &self.options, self.pager.statistics());
        words.policies(&self.files, of)
    }

    /// Starts the time of a slot's reconfiguration.
    pub(crate) fn begin_reconfiguration(&mut self, kernels: &mut Kernels, slot: SlotId) {
        let then = Work::Reconfiguration(slot);
        self.host_time
            .begin(kernels.card(), HostWork::Reconfigure, then);
    }

    /// Faults that have no answer yet.
    pub(crate) fn faults_waiting(&self) -> Vec<FaultToken> {
        self.service.faults_waiting()
    }

    /// Whether events of the card are unhandled.
    pub(crate) fn is_told(&self) -> bool {
        self.service.is_told()
    }

    /// Whether the modelled time of a transfer is over before its bytes have arrived.
    pub(crate) fn any_late(&self) -> bool {
        self.transfers.any_late()
    }

    /// The files that are mapped.
    pub(crate) fn files(&mut self) -> &mut Files {
        &mut self.files
    }

    /// Begins to put a file on storage; returns its identifier among the work on other threads.
    ///
    /// # Errors
    /// The mount has no thread.
    pub(crate) fn make_durable(
        &mut self,
        tasks: &mut Tasks,
        file: &Arc<OpenFile>,
        awaited: Awaited,
    ) -> io::Result<u64> {
        let lane = self.lanes.of(awaited.device)?;
        let id = tasks.open_aside();
        lane.make_durable(id, file.clone());
        self.patience.wait_for(id, awaited);
        Ok(id)
    }

    /// Runs an operation that may block on a file system, in the order of the mount's requests.
    ///
    /// # Errors
    /// The mount has no thread.
    pub(crate) fn ask_lane<T: Send + 'static>(
        &mut self,
        tasks: &mut Tasks,
        awaited: Awaited,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<InLane<T>, Error> {
        self.lanes.ask(tasks, &mut self.patience, awaited, work)
    }

    /// Whether a mount did not answer in time, and has answered nothing since.
    pub(crate) fn is_silent(&self, device: u64) -> bool {
        self.patience.is_silent(device)
    }

    /// Records the holes of a range, for a mapping with that option.
    pub(crate) fn has_holes(&mut self, view: View, holes: Vec<Range<u64>>) {
        self.transfers.has_holes(&holes);
        self.files.has_holes(view, holes);
    }

    /// Whether the pager has no object left of a file that was abandoned at its close.
    pub(crate) fn given_up_has_left(&self, identity: Identity) -> bool {
        self.files.given_up_has_left(&self.pager, identity)
    }

    /// Whether the pager has nothing outstanding.
    pub(crate) fn is_idle(&self) -> bool {
        self.pager.is_idle()
    }

    /// Pages of a file whose mapping asks for no size.
    pub(crate) fn page_size(&self) -> PageSize {
        self.pager.page_size()
    }

    /// Files with a writable mapping in a range.
    pub(crate) fn mapped_in(&self, space: Asid, address: VirtAddr, bytes: u64) -> Vec<Durable> {
        self.files.mapped_in(space, address, bytes)
    }

    /// The out-of-range writes of kernels around a writable range, as an error; each is reported once.
    pub(crate) fn take_stray(
        &mut self,
        space: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        self.files.take_stray(space, address, bytes)
    }

    /// A stream has accepted its data, or has failed: the faults held back for it are queued.
    pub(crate) fn flushed(&mut self, stream: Place) {
        self.service.flushed(stream);
    }

    /// Parts of streams to send, since the last call.
    pub(crate) fn take_flushes(&mut self) -> Vec<Flush> {
        self.service.pressure.take_begun()
    }

    /// Fails the waits for abandoned transfers.
    pub(crate) fn tell_of_silence(&mut self, kernels: &mut Kernels, tasks: &mut Tasks) {
        let answers = &mut self.answers;
        self.patience
            .tell_of_silence(&self.pager, kernels, answers, tasks);
    }

    /// The error for tasks that wait for an abandoned transfer.
    pub(crate) fn silence(&self) -> Option<Error> {
        self.patience.trouble()
    }

    /// Ends waits for files that exceeded the timeout.
    pub(crate) fn lose_patience(&mut self, tasks: &mut Tasks) {
        self.patience.lose(tasks);
    }

    /// Time until the next check of file timeouts; `None`: no file is awaited.
    pub(crate) fn next_look(&self) -> Option<Duration> {
        self.patience.next_look()
    }

    /// Participants whose traps have ended since the last call.
    pub(crate) fn take_released(&mut self) -> Vec<Guest> {
        std::mem::take(&mut self.memories.released)
    }

    /// A participant waits: its access to shared memory is over.
    pub(crate) fn heard(&mut self, participant: u64) {
        self.memories.heard(participant);
    }

    /// Counts a trapped access of a thread that is no participant.
    pub(crate) fn trapped_alone(&mut self, thread: u64) {
        self.memories.free_threads.insert(thread);
    }

    /// Virtual time, bytes and faults so far.
    pub(crate) fn progress(&self, kernels: &Kernels) -> Progress {
        let paging = self.pager.statistics();
        Progress {
            now: match kernels.description().clock_period {
                Picoseconds::ZERO => Picoseconds::ZERO,
                _ => kernels.now(),
            },
            bytes_in: paging.spaces.bytes_read + paging.bytes_zeroed,
            bytes_out: paging.spaces.bytes_written,
            faults: paging.spaces.faults,
        }
    }

    /// Each space, its statistics, and its card memory.
    pub(crate) fn spaces(&self) -> impl Iterator<Item = (Asid, SpaceStatistics, Occupied)> + '_ {
        self.pager.spaces()
    }

    /// Virtual time with a fault waiting.
    pub(crate) fn fault_time(&self) -> Picoseconds {
        self.service.fault_time()
    }

    /// `io_uring` or `blocking`.
    pub(crate) fn file_io(&mut self) -> &'static str {
        self.lanes.name()
    }

    /// The hash of all bytes that were moved; nothing without virtual time.
    pub(crate) fn bytes_hash(&self) -> String {
        self.transfers.bytes_hash()
    }

    /// The paging report of all spaces together.
    pub(crate) fn report(&self) -> PagingReport {
        PagingReport {
            ping_pong: self.memories.ping_pong(),
            made_hot: self.hot_bytes(),
            ..PagingReport::new(
                self.pager.statistics(),
                self.service.fault_time(),
                self.memories.protect_time,
                self.memories.free_threads.len() as u64,
            )
        }
    }

    /// Page sizes that were used.
    pub(crate) fn page_sizes(&self) -> impl Iterator<Item = PageSize> + '_ {
        self.files.page_sizes.iter().copied()
    }

    /// Files that are or were mapped for writing on a file system without locks, by name.
    pub(crate) fn unlocked(&self) -> impl Iterator<Item = &String> {
        self.files.unlocked.iter()
    }

    /// Forgets the paging of a file.
    pub(crate) fn forget_paging(&mut self, label: &str) {
        self.files.forget_paging(label);
    }

    /// Sends the pager an event that it answers later; returns the request.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn ask(
        &mut self,
        kernels: &mut Kernels,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<RequestId, Error> {
        let request = self.answers.ask();
        self.tell(kernels, event(request)).map(|()| request)
    }

    /// The pager's answer to a request, if it has one.
    pub(crate) fn take_answer(&mut self, request: RequestId) -> Option<Result<Success, Error>> {
        self.answers.take(request)
    }

    /// Whether an event since the last call may have ended the wait of a task.
    pub(crate) fn take_stirred(&mut self) -> bool {
        std::mem::take(&mut self.stirred)
    }

    /// Asks the pager what it answers at once.
    pub(super) fn ask_now(
        &mut self,
        kernels: &mut Kernels,
        event: impl FnOnce(RequestId) -> Event,
    ) -> Result<Success, Error> {
        let request = self.ask(kernels, event)?;
        let answer = self.answers.take(request);
        answer.ok_or_else(|| Error::Internal("the pager did not answer at once".into()))?
    }
}
