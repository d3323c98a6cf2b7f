//! The owner of a card: drives the pager, the card and file I/O, and answers clients.
//!
//! It has its own thread (`thread`) and is event-driven: requests are begun and answered later, any number concurrently
//! (`requests`, `handlers`, `wait`). No action of a client or a kernel ends it.

pub mod answer;
mod backing;
mod call;
mod clients;
mod handlers;
mod handles;
mod inbox;
mod inputs;
mod kernels;
mod lane;
pub mod message;
mod owner_thread;
mod paging;
pub mod participants;
mod peer_handle;
pub mod report;
mod requests;
mod rooms;
mod sequence;
mod status;
mod tasks;
mod tenants;
mod thread;
mod trace;
mod wait;

use crate::message::FileState;
pub use backing::{Backing, BackingSource, Done, Tell};
pub use call::TicketId;
use card::Card;
use clients::Clients;
use error::Error;
use file_io::TransferId;
use handlers::claims::RangeClaims;
use handlers::files::FileRequests;
use handlers::lines::LineRequests;
use handlers::memory::MemoryRequests;
use handlers::pager_calls::PagerCalls;
use handlers::preloading::Preloading;
use handlers::saving::WriteBack;
use handlers::slots::SlotRequests;
use handlers::spaces::SpaceRequests;
use handlers::storage::Storage;
use handlers::streams::StreamRequests;
use handles::Handles;
pub use handles::InjectedFault;
use inbox::Inbox;
pub use inputs::{
    AsideWork, Input, InputPlace, Inputs, RecordInputs, ReplayInputs, Replayed, ReplayedInput,
};
use kernels::{HomeRange, Kernels};
use lane::Post;
pub use owner_thread::{OwnerThread, ACROSS_FORK};
use pager::eviction::Eviction;
use pager::fetch::{Amounts, Chosen};
use paging::{Buffers, Paging, Ways};
pub use paging::{MakeIo, ServiceThreads};
pub use peer_handle::PeerHandle;
use requests::Requests;
use rooms::Room;
use status::Reports;
use std::sync::Arc;
use std::time::Duration;
use tasks::Tasks;
pub use tenants::{Quota, Tenant};
use tenants::{Quotas, Tenants};
pub use thread::start;
use timeline::Timeline;
use timing::host::HostFile;
use trace::Trace;
use units::{Fetch, PageSize, Picoseconds};
use wait::Waits;

/// When virtual time passes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClockMode {
    /// Only while a request waits for the card and every registered host thread waits in a call. File I/O and builds
    /// take no virtual time. The same program always gives the same figures.
    #[default]
    Lockstep,
    /// While the card has work, whatever the host does meanwhile. Arrivals are logged (`tombolo::arrivals`, with
    /// `tracing`).
    Free,
}

/// Smaller pieces would cost the service threads more time than the link needs for the bytes.
pub const PIECE_BYTES: u64 = 64 << 10;

/// Bytes prepared at a time for a stream that is written: zeroing is fast, and the bytes that the stream has passed are
/// saved at the same interval.
const WRITTEN_AHEAD: u64 = 4 << 20;

/// Maximum duration of one poll of a running operation, in virtual time; then the client asks again.
pub const SLICE: Picoseconds = Picoseconds::from_micros(100);

/// Why something cannot be mapped.
pub const NOT_REGULAR: &str = "only regular files can be mapped";

/// How an owner works.
#[derive(Clone, Debug)]
pub struct OwnerOptions {
    /// Default page size of files. `None`: 2 MiB or, for a range that fits into a smaller page, the smallest such page.
    pub page_size: Option<PageSize>,
    /// Use [automatic](wire::MapOptions::auto_pages) page sizes for files whose mapping requests no page size.
    pub auto_pages: bool,
    /// Host buffers for DMA, of 2 MiB each. Larger pages move in pieces.
    pub dma_buffers: u32,
    /// Pages to fetch on a fault, for mappings without other advice.
    pub fetch: Fetch,
    /// Maximum read-ahead of a stream at a time, in bytes; 0: fetch only pages that an access waits for.
    pub read_ahead_bytes: u64,
    /// Overlap reading ahead, zeroing, computing and writing back: bytes that a kernel writes in order are saved while
    /// it continues, saved bytes move in pieces, a stream begins with two pages ahead, and zeroing ahead yields to
    /// zeroing on demand.
    pub overlap: bool,
    /// Stripe the pages of spaces without a placement over all memory channels, 4 KiB each in turn, if the channels are
    /// alike and the card has time: one kernel then gets the bandwidth of all of them. Otherwise each page lies on one
    /// channel.
    pub striped: bool,
    /// Size of the aligned block fetched for an access that was not announced by an earlier one, in bytes (a power of
    /// two), as far as frames are free; 0: the page alone.
    pub batch_bytes: u64,
    /// Minimum size of the pieces in which a page is read, in bytes; each piece is copied to the card while the next
    /// ones are read. 0: pages are read whole, then copied.
    pub piece_bytes: u64,
    /// Maximum host memory for files whose pages stay there ([`MapOptions::direct`](wire::MapOptions::direct)), in
    /// bytes, used in whole pages; `None`: as much as the card reaches.
    pub direct_bytes: Option<u64>,
    /// Eviction policy for card memory.
    pub eviction: Eviction,
    /// While less card memory than this is free, this many bytes of the next eviction candidates are written back
    /// ahead; 0: pages are written back on eviction.
    pub clean_ahead_bytes: u64,
    /// Whether each application has a thread that serves its faults.
    pub service_threads: ServiceThreads,
    /// Initial number of sets in the page table of a space, of eight entries each (log2, 10 to 24).
    pub table_sets_log2: u8,
    /// Occupancy in percent at which a page table with a full set moves to one of twice the size. Below it, a full set
    /// evicts its oldest entry.
    pub table_grow_percent: u8,
    /// Card memory whose lines the directory of a coherent card keeps, in bytes: `Card::home_memory`. It is not used
    /// for pages.
    pub home_bytes: u64,
    /// Size of the CPU memory that a kernel may use on a card that caches its lines, in bytes: `Card::host_lines`. A
    /// multiple of 4096.
    pub host_line_bytes: u64,
    /// When virtual time passes.
    pub clock: ClockMode,
    /// In lockstep mode, the real time for which the clock waits for a file system that does not answer; after it,
    /// waiting requests fail. `None`: [`FILE_SECONDS`], or 120 seconds.
    pub file_limit: Option<Duration>,
    /// Cost of file reads in virtual time.
    pub file_state: FileState,
    /// Window in bytes by which cold files that are read in order are read ahead into the host's page cache, as Linux
    /// does (default 128 KiB). Pages that were read or written stay there. 0: storage is read without a page cache, as
    /// by direct I/O.
    pub host_read_ahead_bytes: u64,
    /// Maximum read-around in bytes for cold files that are read at random: the window starts smaller, and grows only
    /// while the additional pages are used. 0: none.
    pub read_around_bytes: u64,
    /// Name of the platform, for reports.
    pub platform: String,
    /// Hash of the platform's file, for reports.
    pub platform_hash: String,
    /// Name of the preset that the card was opened with, for reports; empty without one.
    pub preset: String,
    /// Why this preset was chosen, for reports; empty if it was requested by name.
    pub preset_chosen: String,
    /// Cost of a program's traps in virtual time, and in free mode of requests over a daemon's socket; none without a
    /// host file.
    pub host: Option<HostFile>,
    /// Timeline to write to; `None`: the timeline of a simulated card, if it has one.
    pub timeline: Option<Timeline>,
    /// Where the inputs of the owner's thread come from: from clients, recorded or not, or from a record.
    pub inputs: Inputs,
    /// Fault to inject, for tests of tests.
    #[doc(hidden)]
    pub injected: Option<InjectedFault>,
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
            inputs: Inputs::default(),
            injected: None,
        }
    }
}

/// Environment variable: seconds for which the clock waits for a file system.
pub const FILE_SECONDS: &str = "TOMBOLO_FILE_SECONDS";

/// Default: disks that sleep and archives wake up in less.
const FILE_LIMIT: Duration = Duration::from_secs(120);

impl OwnerOptions {
    fn file_limit(&self) -> Duration {
        let seconds = std::env::var(FILE_SECONDS).ok();
        let seconds = seconds.and_then(|text| text.parse().ok());
        let limit = self.file_limit.or(seconds.map(Duration::from_secs));
        limit.unwrap_or(FILE_LIMIT)
    }

    /// How files are fetched, as the options choose.
    fn fetching(&self) -> Chosen {
        let amounts = Amounts {
            ahead_bytes: self.read_ahead_bytes,
            written_bytes: if self.overlap { WRITTEN_AHEAD } else { 0 },
            first_window: if self.overlap { 2 } else { 1 },
            batch_bytes: self.batch_bytes,
        };
        Chosen::new(self.fetch, amounts)
    }

    /// Page size of a large file whose mapping requests no size.
    pub fn largest_page(&self) -> PageSize {
        self.page_size.unwrap_or(PageSize::MIB_2)
    }
}

/// The result of work on another thread.
#[derive(Debug)]
pub(crate) enum Aside {
    /// Bytes between a file and memory.
    Moved(TransferId, std::io::Result<usize>),
    /// A file was made durable on storage.
    Durable(u64, std::io::Result<()>),
    /// A build, or other long work.
    Worked(u64, Result<(), Error>),
}

/// The rooms of the owner, each in its own cell: a task borrows those that its handler has.
pub(crate) struct Owner {
    kernels: Room<Kernels>,
    handles: Room<Handles>,
    /// Statistics of clients.
    clients: Room<Clients>,
    tenants: Room<Tenants>,
    tasks: Room<Tasks>,
    post: Post,
    options: Arc<OwnerOptions>,
    /// Dropped last: files are closed in it.
    paging: Room<Paging>,
}

/// A card and its paging, for the thread that is to own them.
pub(crate) struct Opened {
    kernels: Kernels,
    paging: Paging,
    post: Post,
    options: Arc<OwnerOptions>,
}

impl Opened {
    /// Takes ownership of a card.
    ///
    /// # Errors
    /// Host memory for DMA is unavailable, the card does not support the owner's page size, or its memory is too small
    /// for one page.
    fn new(
        mut card: Box<dyn Card>,
        io: MakeIo,
        options: OwnerOptions,
        post: Post,
        inbox: Inbox,
    ) -> Result<Self, Error> {
        let options = Arc::new(options);
        let page = options.largest_page();
        let sizes = card.description().page_sizes;
        if !sizes.contains(page) {
            return Err(Error::NoSuchPageSize { page, sizes });
        }
        let buffers = Buffers::map(&mut *card, options.dma_buffers)?;
        let home = HomeRange::reserve(&mut *card, options.home_bytes)?;
        let ways = Ways {
            inbox,
            post: post.clone(),
        };
        let paging = Paging::new(&mut *card, home, buffers, io, ways, options.clone())?;
        let trace = Trace::new(options.timeline.clone());
        Ok(Self {
            kernels: Kernels::new(card, home, options.host_line_bytes, trace),
            paging,
            post,
            options,
        })
    }
}

impl Owner {
    /// On the owner's thread: no other thread reaches its rooms.
    fn new(opened: Opened) -> Self {
        let Opened {
            kernels,
            paging,
            post,
            options,
        } = opened;
        Self {
            kernels: Room::new(kernels),
            handles: Room::new(Handles::new(options.injected)),
            clients: Room::new(Clients::default()),
            tenants: Room::new(Tenants::default()),
            tasks: Room::new(Tasks::default()),
            post,
            options,
            paging: Room::new(paging),
        }
    }

    /// The handlers of requests, each with the rooms that it may borrow.
    fn requests(&self) -> Requests {
        let Self {
            kernels,
            handles,
            clients,
            tenants,
            tasks,
            post,
            options,
            paging,
        } = self;
        let waits = Waits::new(tasks.clone(), post.clone());
        let quotas = Quotas {
            handles: handles.clone(),
            tenants: tenants.clone(),
        };
        let pager = PagerCalls {
            paging: paging.clone(),
            kernels: kernels.clone(),
            waits: waits.clone(),
        };
        let storage = Storage {
            paging: paging.clone(),
            tasks: tasks.clone(),
            waits: waits.clone(),
        };
        let lines = LineRequests {
            kernels: kernels.clone(),
            waits: waits.clone(),
        };
        let slots = SlotRequests {
            handles: handles.clone(),
            clients: clients.clone(),
            paging: paging.clone(),
            kernels: kernels.clone(),
            tasks: tasks.clone(),
            waits: waits.clone(),
            quotas: quotas.clone(),
            lines: lines.clone(),
        };
        let claims = RangeClaims {
            paging: paging.clone(),
            storage: storage.clone(),
        };
        let saving = WriteBack {
            handles: handles.clone(),
            tenants: tenants.clone(),
            paging: paging.clone(),
            kernels: kernels.clone(),
            tasks: tasks.clone(),
            pager: pager.clone(),
            storage: storage.clone(),
            claims: claims.clone(),
            slots: slots.clone(),
        };
        let preload = Preloading {
            handles: handles.clone(),
            paging: paging.clone(),
            kernels: kernels.clone(),
            waits: waits.clone(),
        };
        Requests {
            handles: handles.clone(),
            paging: paging.clone(),
            kernels: kernels.clone(),
            reports: Reports {
                options: options.clone(),
                handles: handles.clone(),
                tenants: tenants.clone(),
                clients: clients.clone(),
                paging: paging.clone(),
                kernels: kernels.clone(),
            },
            spaces: SpaceRequests {
                handles: handles.clone(),
                tenants: tenants.clone(),
                paging: paging.clone(),
                kernels: kernels.clone(),
                waits: waits.clone(),
                quotas: quotas.clone(),
                pager: pager.clone(),
                slots: slots.clone(),
                saving: saving.clone(),
            },
            files: FileRequests {
                handles: handles.clone(),
                clients: clients.clone(),
                paging: paging.clone(),
                kernels: kernels.clone(),
                tasks: tasks.clone(),
                waits: waits.clone(),
                quotas: quotas.clone(),
                storage,
                claims,
                saving: saving.clone(),
                slots: slots.clone(),
                preload: preload.clone(),
                post: post.clone(),
            },
            memory: MemoryRequests {
                handles: handles.clone(),
                paging: paging.clone(),
                kernels: kernels.clone(),
                waits: waits.clone(),
                quotas,
                pager,
                saving: saving.clone(),
            },
            streams: StreamRequests {
                handles: handles.clone(),
                paging: paging.clone(),
                kernels: kernels.clone(),
                waits,
                slots: slots.clone(),
            },
            saving,
            preload,
            slots,
            lines,
        }
    }
}
