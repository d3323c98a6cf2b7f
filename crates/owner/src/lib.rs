//! The owner of a card: drives the pager, the card and file I/O, and answers clients.
//!
//! A thread of its own (`thread`) and event-driven: requests are begun and answered later, any number at
//! once (`requests`, `owner_ref`). Nothing that a client or a kernel does ends it.

pub mod answer;
mod answers;
mod behind;
mod call;
mod clients;
mod commands;
mod direct;
mod faults;
mod files;
mod handles;
mod host_time;
mod hot;
mod inbox;
mod kernels;
mod lane;
mod lanes;
mod memory;
pub mod message;
mod moved;
mod owner_ref;
mod owner_thread;
mod page_cache;
pub mod participants;
mod patience;
mod peer_handle;
mod policies;
mod pressure;
mod pump;
pub mod report;
mod requests;
mod service;
mod shares;
mod spaces;
mod status;
mod stray;
mod tasks;
mod tenants;
mod thread;
mod trace;
mod transfers;

use crate::message::{FileState, Progress};
use crate::report::{PagingReport, Report, SpaceReport};
use answers::Answers;
pub use behind::{Behind, Done, StandsFor, Tell};
pub use call::TicketId;
use card::memory::HostMemory;
use card::Card;
use clients::Clients;
use commands::Commands;
use error::Error;
use file_io::TransferId;
use files::Files;
use handles::Handles;
pub use handles::Planted;
use host_time::HostTime;
use hot::Hot;
use inbox::Inbox;
use kernels::{HomeRange, Kernels};
use lane::Post;
use lanes::Lanes;
pub use lanes::MakeIo;
use memory::Memories;
use moved::MovedBytes;
pub use owner_thread::{OwnerThread, ACROSS_FORK};
use pager::eviction::Eviction;
use pager::fetch::{Amounts, Chosen};
use pager::{ChannelMemory, Config, InstallOrder, Pager, Policies};
use patience::Patience;
pub use peer_handle::PeerHandle;
use policies::Words;
use service::Service;
pub use service::ServiceThreads;
use spaces::Spaces;
use std::sync::Arc;
use std::time::Duration;
use tasks::Tasks;
use tenants::Tenants;
pub use tenants::{Quota, Tenant};
pub use thread::start;
use timeline::Timeline;
use timing::host::HostFile;
use trace::Trace;
use transfers::Transfers;
use units::{CardAddr, Fetch, PageSize, PageSizes, Picoseconds};

/// When virtual time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// Only while somebody waits for the card, and every registered host thread waits in a call. File I/O
    /// and builds take no virtual time. The same program gives the same figures, always.
    #[default]
    Lockstep,
    /// While the card has work, whatever the host does meanwhile. What arrives when is logged
    /// (`tombolo::arrivals`, with `tracing`).
    Free,
}

/// Less than this would be more work for the service threads than the link needs for the bytes.
pub const PIECE_BYTES: u64 = 64 << 10;

/// Made ready at a time for a stream that writes: zeroing is fast, and what lies behind the stream is saved as often.
const WRITTEN_AHEAD: u64 = 4 << 20;

/// A look at something that runs lasts so long, in virtual time; then a client asks again.
pub const SLICE: Picoseconds = Picoseconds::from_micros(100);

/// Why something cannot be mapped.
pub const NOT_REGULAR: &str = "only regular files can be mapped";

/// How an owner works.
#[derive(Clone, Debug)]
pub struct OwnerOptions {
    /// Size of the pages of files whose mapping asks for no other. `None`: 2 MiB, and of a range that a smaller page
    /// holds, the smallest that does.
    pub page_size: Option<PageSize>,
    /// Files whose mapping asks for no page size have [automatic](wire::MapOptions::auto_pages) ones.
    pub auto_pages: bool,
    /// Host buffers for DMA, of 2 MiB each. Larger pages move in pieces.
    pub dma_buffers: u32,
    /// What is fetched when a page is missing, for mappings whose advice says nothing else.
    pub fetch: Fetch,
    /// Up to this much is fetched ahead of a stream at a time; 0: only what an access waits for.
    pub read_ahead_bytes: u64,
    /// Reading ahead, zeroing, computing and writing back overlap: what a kernel has written in order is saved while it goes
    /// on, what is saved moves in pieces, a stream begins with two pages ahead, and zeroing ahead waits for zeroing that is
    /// needed.
    pub overlap: bool,
    /// Pages of spaces that say nothing of their place are striped over all memory channels, 4 KiB each in turn, where the
    /// channels are alike and the card has time: one kernel has the bandwidth of all of them. Otherwise each page lies on
    /// one channel.
    pub striped: bool,
    /// An access that no other one announced brings the block of so many bytes (a power of two) in which it lies,
    /// as far as frames are free; 0: the page.
    pub batch_bytes: u64,
    /// A page is read in pieces of so many bytes at least, and each goes to the card while the next are read. 0: it
    /// is read as a whole and copied then.
    pub piece_bytes: u64,
    /// At most so many bytes of host memory are set aside for files whose pages stay there
    /// ([`MapOptions::direct`](wire::MapOptions::direct)), in whole pages; `None`: as many as the card reaches.
    pub direct_bytes: Option<u64>,
    /// Which page leaves when card memory runs out.
    pub eviction: Eviction,
    /// While less card memory than this is free, as much of what would leave next is written back
    /// ahead; 0: pages are written when they leave.
    pub clean_ahead_bytes: u64,
    /// Whether each application has a thread that serves its faults.
    pub service_threads: ServiceThreads,
    /// The page table of a space begins with this many sets of eight entries (log2, 10 to 24).
    pub table_sets_log2: u8,
    /// It moves to one of twice the size when a set is full and this percentage of its entries is in
    /// use. Until then a full set gives up its oldest entry.
    pub table_grow_percent: u8,
    /// Card memory whose lines the directory of a coherent card keeps: `Card::home_memory`.
    /// It is not for pages.
    pub home_bytes: u64,
    /// What a kernel may use of the CPU's memory on a card that caches its lines:
    /// `Card::host_lines`. A multiple of 4096.
    pub host_line_bytes: u64,
    /// When virtual time passes.
    pub clock: ClockMode,
    /// In lockstep, the clock stands so long for a file system that does not answer; then who waits for it gets an
    /// error. `None`: [`FILE_SECONDS`], or 120 seconds.
    pub file_limit: Option<Duration>,
    /// What reading a file costs in virtual time.
    pub file_state: FileState,
    /// Cold files that are read in order come into the host's page cache so many bytes at a time, ahead of who reads them:
    /// Linux's own read-ahead (128 KiB, unless told otherwise). What was read or written stays there. 0: storage is read
    /// without a page cache, as direct I/O is.
    pub host_read_ahead_bytes: u64,
    /// Cold files that are read at random: so many bytes around a page are asked of the system with it at most, fewer at
    /// first, and more only while what came along is used. 0: none.
    pub read_around_bytes: u64,
    /// Name of the platform, for reports.
    pub platform: String,
    /// Hash of the platform's file, for reports.
    pub platform_hash: String,
    /// Name of the preset that the card was opened with, for reports; empty without one.
    pub preset: String,
    /// Why it is this one, for reports; empty if it was asked for by its name.
    pub preset_chosen: String,
    /// What traps of programs cost in virtual time; nothing if there is no host file.
    pub host: Option<HostFile>,
    /// Where to write what happens; a simulated card's own, if it has one.
    pub timeline: Option<Timeline>,
    /// For tests of tests.
    #[doc(hidden)]
    pub planted: Option<Planted>,
}

impl Default for OwnerOptions {
    fn default() -> Self {
        Self {
            page_size: None,
            auto_pages: false,
            dma_buffers: 16,
            fetch: Fetch::ReadAhead,
            read_ahead_bytes: 16 << 20,
            overlap: true,
            striped: true,
            batch_bytes: 0,
            piece_bytes: PIECE_BYTES,
            direct_bytes: None,
            eviction: Eviction::Fifo,
            clean_ahead_bytes: 16 << 20,
            service_threads: ServiceThreads::One,
            table_sets_log2: 12,
            table_grow_percent: 25,
            home_bytes: 0,
            host_line_bytes: 64 << 20,
            clock: ClockMode::Lockstep,
            file_limit: None,
            file_state: FileState::Warm,
            host_read_ahead_bytes: 0,
            read_around_bytes: 2 << 20,
            platform: String::new(),
            platform_hash: String::new(),
            preset: String::new(),
            preset_chosen: String::new(),
            host: None,
            timeline: None,
            planted: None,
        }
    }
}

/// Environment variable: seconds for which the clock stands for a file system.
pub const FILE_SECONDS: &str = "TOMBOLO_FILE_SECONDS";

/// Unless somebody says more: disks that sleep and archives wake up in less.
const FILE_LIMIT: Duration = Duration::from_secs(120);

impl OwnerOptions {
    fn file_limit(&self) -> Duration {
        let told = std::env::var(FILE_SECONDS).ok();
        let told = told.and_then(|text| text.parse().ok());
        let told = self.file_limit.or(told.map(Duration::from_secs));
        told.unwrap_or(FILE_LIMIT)
    }

    /// How files are fetched.
    fn fetching(&self) -> Chosen {
        let amounts = Amounts {
            ahead_bytes: self.read_ahead_bytes,
            written_bytes: if self.overlap { WRITTEN_AHEAD } else { 0 },
            first_window: if self.overlap { 2 } else { 1 },
            batch_bytes: self.batch_bytes,
        };
        Chosen::new(self.fetch, amounts)
    }

    /// Pages of a large file whose mapping asks for no size.
    pub fn largest_page(&self) -> PageSize {
        self.page_size.unwrap_or(PageSize::MIB_2)
    }
}

/// The result of work that was done beside the owner's thread.
#[derive(Debug)]
pub(crate) enum Aside {
    /// Bytes between a file and memory.
    Moved(TransferId, std::io::Result<usize>),
    /// A file was put on storage.
    Durable(u64, std::io::Result<()>),
    /// A build, or other long work.
    Worked(u64, Result<(), Error>),
}

/// See the module.
pub(crate) struct Owner {
    inbox: Inbox,
    kernels: Kernels,
    host_time: HostTime,
    pager: Pager,
    post: Post,
    patience: Patience,
    options: OwnerOptions,
    trace: Trace,
    transfers: Transfers,
    files: Files,
    memories: Memories,
    handles: Handles,
    spaces: Spaces,
    service: Service,
    /// The card is no model: nobody can ring it, and it counts what its registers count.
    in_real_time: bool,
    /// Data that is on the card at no time.
    hot: Hot,
    commands: Commands,
    answers: Answers,
    tasks: Tasks,
    /// What each client has done.
    clients: Clients,
    tenants: Tenants,
    /// The last to go: files are closed in them.
    lanes: Lanes,
}

impl Owner {
    /// Takes a card.
    ///
    /// # Errors
    /// Host memory for DMA cannot be had, the card does not have the owner's page size, or its memory is
    /// too small for one page.
    fn new(
        mut card: Box<dyn Card>,
        io: MakeIo,
        options: OwnerOptions,
        post: Post,
        inbox: Inbox,
    ) -> Result<Self, Error> {
        let description = card.description().clone();
        let in_real_time = card.simulation().is_none();
        let page = options.largest_page();
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
        let home = HomeRange::reserve(&mut *card, options.home_bytes)?;
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
        let addresses = (0..options.dma_buffers)
            .map(|n| base.offset(u64::from(n) * buffer_bytes))
            .collect();
        let config = Config {
            page_size: page,
            page_sizes: sizes,
            buffer_bytes,
            piece_bytes: options.piece_bytes,
            channel_bytes_log2: description.channel_bytes_log2,
            // Copies of several pages overlap, in both directions, which is worth a trip to the host.
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
            inbox,
            spaces: Spaces::new(description.spaces),
            kernels: Kernels::new(card, home, options.host_line_bytes),
            host_time: HostTime::default(),
            pager,
            patience: Patience::new(options.clock, options.file_limit()),
            lanes: Lanes::new(io, post.clone()),
            post,
            handles: Handles::new(options.planted),
            service: Service::new(options.service_threads),
            transfers: Transfers::new(buffers, buffer_bytes, moved, &options),
            trace: Trace::new(options.timeline.clone()),
            options,
            files: Files::default(),
            memories: Memories::default(),
            in_real_time,
            hot: Hot::default(),
            commands: Commands::new(description.queues),
            answers: Answers::default(),
            tasks: Tasks::default(),
            clients: Clients::default(),
            tenants: Tenants::default(),
        })
    }

    /// How far things are.
    fn progress(&self) -> Progress {
        let paging = self.pager.statistics();
        Progress {
            now: match self.kernels.description().clock_period {
                Picoseconds::ZERO => Picoseconds::ZERO,
                _ => self.kernels.now(),
            },
            bytes_in: paging.bytes_read + paging.bytes_zeroed,
            bytes_out: paging.bytes_written,
            faults: paging.faults,
        }
    }

    fn report(&mut self) -> Result<Report, Error> {
        // Reading the counters takes time.
        let time = self.kernels.now();
        let statistics = self.kernels.statistics()?;
        let ports = statistics.requesters.len() / 2;
        let report = Report {
            shares: self.kernels.shares(&statistics),
            card: self.kernels.description().clone(),
            platform: self.options.platform.clone(),
            platform_hash: self.options.platform_hash.clone(),
            preset: self.options.preset.clone(),
            preset_chosen: self.options.preset_chosen.clone(),
            host: self.host(HostFile::name),
            host_hash: self.host(HostFile::hash),
            file_io: self.lanes.name().to_owned(),
            time,
            runs: self.clients.runs(),
            paging: PagingReport {
                ping_pong: self.memories.ping_pong(),
                made_hot: self.hot.bytes,
                ..PagingReport::new(
                    self.pager.statistics(),
                    self.service.fault_time(),
                    self.memories.protect_time,
                    self.memories.free_threads.len() as u64,
                )
            },
            bytes_hash: self.transfers.bytes_hash(),
            notes: self.notes(|_| true, |_| true),
            policies: self.words().policies(&self.files, |_| true),
            spaces: self.spaces_report(),
            ports: (0..ports)
                .map(|port| self.kernels.name_of_port(port))
                .collect(),
            statistics,
        };
        Ok(report.without_invented_time())
    }

    fn spaces_report(&self) -> Vec<SpaceReport> {
        let all = self.pager.spaces();
        all.map(|space| {
            let time = self.kernels.run_time(space.0);
            SpaceReport::new(space, time)
        })
        .collect()
    }

    /// What is said of how files are paged.
    fn words(&self) -> Words<'_> {
        let card = self.kernels.description();
        Words::new(card, &self.options, self.pager.statistics())
    }

    /// What the host file says of itself, if there is one.
    fn host(&self, what: impl FnOnce(&HostFile) -> &str) -> String {
        self.options
            .host
            .as_ref()
            .map(what)
            .unwrap_or_default()
            .to_owned()
    }

    /// What the user might want to change, of these files and page sizes.
    fn notes(&self, of: impl Fn(&str) -> bool, asked: impl Fn(PageSize) -> bool) -> Vec<String> {
        let l1 = self.kernels.description().l1_sizes;
        let slow = self.files.page_sizes.iter();
        let slow =
            slow.filter(|&&size| asked(size) && l1 != PageSizes::default() && !l1.contains(size));
        let unlocked = self.files.unlocked.iter().filter(|label| of(label));
        let unlocked = unlocked.map(|label| {
            format!(
                "{label} lies on a file system without locks: nothing keeps another process from mapping it for writing at \
                 the same time, and one would undo what the other wrote"
            )
        });
        let slow = slow.map(|size| {
            format!(
                "pages of {size} were used, and no L1 TLB has that size: each of its entries serves a smaller \
                 part of such a page, so bursts miss more often. The shell has L1 TLBs for {l1}: take pages of \
                 such a size, or give the shell an L1 TLB of this one"
            )
        });
        let uncounted = self.in_real_time.then(|| {
            "what crosses the ports and the memory channels of this card, and how long link and host are busy, is not \
             counted: only a simulated card does"
                .to_owned()
        });
        slow.chain(unlocked).chain(uncounted).collect()
    }
}
