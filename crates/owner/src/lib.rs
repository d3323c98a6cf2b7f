//! The owner of a card: drives the pager, the card and file I/O, and answers clients.
//!
//! A thread of its own (`thread`) and event-driven: requests are begun and answered later, any number at
//! once (`requests`, `owner_ref`). Nothing that a client or a kernel does ends it.

pub mod answer;
mod behind;
mod call;
mod clients;
mod handlers;
mod handles;
mod inbox;
mod kernels;
mod lane;
pub mod message;
mod owner_ref;
mod owner_thread;
mod paging;
pub mod participants;
mod peer_handle;
pub mod report;
mod requests;
mod status;
mod tasks;
mod tenants;
mod thread;
mod trace;

use crate::message::FileState;
pub use behind::{Behind, Done, StandsFor, Tell};
pub use call::TicketId;
use card::Card;
use clients::Clients;
use error::Error;
use file_io::TransferId;
use handles::Handles;
pub use handles::Planted;
use inbox::Inbox;
use kernels::{HomeRange, Kernels};
use lane::Post;
pub use owner_thread::{OwnerThread, ACROSS_FORK};
use pager::eviction::Eviction;
use pager::fetch::{Amounts, Chosen};
use paging::{Buffers, Paging, Ways};
pub use paging::{MakeIo, ServiceThreads};
pub use peer_handle::PeerHandle;
use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;
use tasks::Tasks;
use tenants::Tenants;
pub use tenants::{Quota, Tenant};
pub use thread::start;
use timeline::Timeline;
use timing::host::HostFile;
use trace::Trace;
use units::{Fetch, PageSize, Picoseconds};

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

/// The rooms of the owner, each in a cell of its own: a task reaches those that it names
/// ([`OwnerRef`](owner_ref::OwnerRef)).
pub(crate) struct Owner {
    kernels: RefCell<Kernels>,
    handles: RefCell<Handles>,
    /// What each client has done.
    clients: RefCell<Clients>,
    tenants: RefCell<Tenants>,
    tasks: RefCell<Tasks>,
    post: Post,
    options: Arc<OwnerOptions>,
    /// The last to go: files are closed in it.
    paging: RefCell<Paging>,
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
            kernels: RefCell::new(Kernels::new(card, home, options.host_line_bytes, trace)),
            handles: RefCell::new(Handles::new(options.planted)),
            clients: RefCell::default(),
            tenants: RefCell::default(),
            tasks: RefCell::default(),
            post,
            options,
            paging: RefCell::new(paging),
        })
    }
}
