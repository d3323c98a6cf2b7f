//! Coherent memory at an ordinary address: pages that map the CPU's cache lines (CCKit, section 3.4).
//!
//! The program's page is protected while the CPU does not hold its lines. A trapped load fetches all 32 lines of the
//! page into the modelled CPU and maps them read-only; a trapped store fetches them exclusively and maps them writable.
//! Before another party gets one of the lines (the card recalls it, the cache evicts it, a core uses it by an exact
//! operation), the page is protected again, and the bytes that the program wrote are in the lines. The crate `trap`
//! describes the traps.

use super::CoherentMemory;
use card::coherent::{LinePages, PageBytes, PAGE_BYTES};
use error::Error;
use owner::message::{HidePages, ShowPage};
use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use trap::{TrapQueue, TrapWay, Trapped, View};
use units::access::{AccessKind, LINE_BYTES};
use units::HostAccess;
use units::PageSize;

/// Attempts to fetch all lines of a page, when others take lines before the page is complete.
const TRIES: usize = 1000;

/// Options of [`CoherentMemory::map_with`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoherentMapOptions {
    /// The program may store. If false, a store ends with SIGSEGV.
    pub write: bool,
    /// Fetch all pages at once, so that loads do not trap until another party takes a line.
    pub eager: bool,
}

impl Default for CoherentMapOptions {
    fn default() -> Self {
        Self {
            write: true,
            eager: false,
        }
    }
}

/// Lines behind the directory, mapped at an ordinary address. All threads of the program may use it. Dropping it unmaps
/// it; the bytes written are in the CPU's lines.
#[derive(Debug)]
pub struct CoherentMap {
    shared: Arc<CoherentMapState>,
}

#[derive(Debug)]
struct CoherentMapState {
    memory: CoherentMemory,
    pages: Arc<Pages>,
    options: CoherentMapOptions,
    failure: Mutex<Option<Error>>,
}

/// State shared with the card's side, which must not keep the card open.
#[derive(Debug)]
struct Pages {
    base: u64,
    view: View,
}

impl Pages {
    fn change(&self, address: u64, access: HostAccess) -> io::Result<usize> {
        let offset = address - self.base;
        self.view.protect(offset, PAGE_BYTES as u64, access)?;
        Ok(offset as usize)
    }
}

impl LinePages for Pages {
    fn show(&self, address: u64, bytes: &PageBytes, write: bool) -> io::Result<()> {
        let offset = (address - self.base) as usize;
        let alias = self.view.alias();
        alias.write(offset, bytes).map_err(io::Error::other)?;
        let access = match write {
            true => HostAccess::ReadWrite,
            false => HostAccess::Read,
        };
        self.change(address, access).map(drop)
    }

    fn hide(&self, address: u64) -> io::Result<Box<PageBytes>> {
        // Protect before copying: no store is lost.
        let offset = self.change(address, HostAccess::None)?;
        let mut bytes = Box::new([0; PAGE_BYTES]);
        let alias = self.view.alias();
        alias
            .read(offset, bytes.as_mut_slice())
            .map_err(io::Error::other)?;
        Ok(bytes)
    }
}

impl CoherentMapState {
    /// Fetches the lines of a page and maps the page for the program.
    fn fill(&self, offset: u64, write: bool) -> Result<(), Error> {
        let kind = match write {
            true => AccessKind::Claim,
            false => AccessKind::Load,
        };
        let memory = &self.memory;
        for _ in 0..TRIES {
            let lines = (offset..offset + PAGE_BYTES as u64).step_by(LINE_BYTES);
            let begun: Vec<_> = lines
                .map(|at| memory.pending(at, kind.clone()))
                .collect::<Result<_, Error>>()?;
            for line in begun {
                line.wait()?;
            }
            let request = ShowPage {
                address: memory.base + offset,
                write,
                pages: self.pages.clone(),
            };
            if memory.link.call(request)? {
                return Ok(());
            }
        }
        Err(Error::LineLate {
            address: memory.base + offset,
            slot: None,
            now: memory.now()?,
        })
    }

    fn serve(&self, trapped: Trapped) {
        let start = self.pages.view.start() as usize;
        let offset = (trapped.address.wrapping_sub(start) / PAGE_BYTES * PAGE_BYTES) as u64;
        if trapped.write && !self.options.write {
            tracing::error!(
                offset,
                "a store to coherent memory that is mapped to be read"
            );
            return;
        }
        match self.fill(offset, trapped.write) {
            Ok(()) => drop(trapped.ticket.serve()),
            Err(error) => {
                tracing::error!(%error, "an access to coherent memory gets SIGSEGV");
                let place = self.failure.lock();
                *place.unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }

    fn hide(&self) -> Result<(), Error> {
        self.memory.link.call(HidePages {
            base: self.memory.base,
            bytes: self.memory.bytes,
        })
    }
}

impl CoherentMemory {
    /// Maps the memory: real pages, accessed through an ordinary pointer. No line is fetched yet. The 32 lines of a
    /// page are fetched together, so a page must not hold lines whose load has a side effect in the kernel, such as
    /// those of a call ([`Rpc`](super::Rpc)).
    ///
    /// # Errors
    /// As [`map_with`](Self::map_with).
    pub fn map(&self) -> Result<CoherentMap, Error> {
        self.map_with(CoherentMapOptions::default())
    }

    /// Maps the memory, whose start and length must be multiples of 4096 bytes.
    ///
    /// # Errors
    /// [`Error::CoherentMap`]: start or end is not such a multiple, or the system refuses; for eager maps also as
    /// [`load`](Self::load).
    pub fn map_with(&self, options: CoherentMapOptions) -> Result<CoherentMap, Error> {
        self.is_of_card("only lines of the card are mapped")?;
        let (base, bytes) = (self.base, self.bytes);
        let refused = |source: io::Error| Error::CoherentMap {
            base,
            bytes,
            what: source.to_string(),
        };
        if base % PAGE_BYTES as u64 != 0 || bytes % PAGE_BYTES as u64 != 0 {
            return Err(refused(io::Error::other(
                "a map begins and ends at multiples of 4096",
            )));
        }
        // The trap queue must not keep the map, nor the card, open.
        let place: Arc<OnceLock<Weak<CoherentMapState>>> = Arc::default();
        let seen = place.clone();
        let queue = TrapQueue::open(move |trapped| {
            // Without a map, the access ends as it would without traps.
            if let Some(shared) = seen.get().and_then(Weak::upgrade) {
                shared.serve(trapped);
            }
        });
        let queue = Arc::new(queue.map_err(refused)?);
        let (view, _) = View::trapped(bytes as usize, PageSize::KIB_4, TrapWay::Protect, queue)
            .map_err(refused)?;
        view.protect(0, bytes, HostAccess::None).map_err(refused)?;
        let shared = Arc::new(CoherentMapState {
            memory: self.clone(),
            pages: Arc::new(Pages { base, view }),
            options,
            failure: Mutex::default(),
        });
        let map = CoherentMap { shared };
        if place.set(Arc::downgrade(&map.shared)).is_err() {
            return Err(Error::Internal(
                "a new map has a trap queue already".to_owned(),
            ));
        }
        if options.eager {
            for offset in (0..bytes).step_by(PAGE_BYTES) {
                map.shared.fill(offset, false)?;
            }
        }
        Ok(map)
    }
}

impl CoherentMap {
    /// Pointer to the first byte. It stays valid until the map is dropped.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.shared.pages.view.start()
    }

    /// The memory as 64-bit words that threads may share.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        self.shared.pages.view.words()
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.shared.memory.bytes as usize
    }

    /// Protects all pages again: the bytes written are in the CPU's lines, and the next access traps.
    ///
    /// # Errors
    /// The connection to the owner is broken.
    pub fn sync(&self) -> Result<(), Error> {
        self.shared.hide()
    }

    /// The cause of the last access that ended with a signal: a fault of the kernel, or a line that no kernel serves.
    #[must_use]
    pub fn take_failure(&self) -> Option<Error> {
        let place = self.shared.failure.lock();
        place.unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Drop for CoherentMap {
    fn drop(&mut self) {
        // If the owner has ended, there are no lines to write back.
        let _ = self.shared.hide();
    }
}
