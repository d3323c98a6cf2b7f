//! Memory shared by a coherent card and its CPU, as the CPU's cores see it: behind the card's directory, or the CPU's
//! own memory, which the card caches.
//!
//! Every operation is exact: it takes the virtual time of the modelled core, caches, link, directory and kernel. A
//! kernel with home ports is the home agent of the lines; see `docs/blocks/home.md`.

mod map;
mod pending;
mod rpc;
mod rpc_lines;
mod under_way;
mod write_buffer;

pub use map::{CoherentMap, CoherentMapOptions};
pub use pending::PendingLine;
pub use rpc::Rpc;
pub use rpc_lines::{RpcAnswer, RpcLines};
pub use write_buffer::WriteBuffer;

use crate::link::Link;
use card::history::History;
use card::CardError;
use error::Error;
use owner::message::{BeginAccess, Describe, HomeMemory, HostLines, LineHistory, RecordLines};
use units::access::{AccessKind, LineAccess, LineHome, LINE_BYTES};
use units::line::{PlainLine, BYTES};
use units::Picoseconds;

/// Default deadline of an access, after which it counts as lost: one second, as on the paper's CPU.
const DEADLINE: Picoseconds = Picoseconds::from_micros(1_000_000);

/// A range of addresses behind the directory, or of the CPU's own memory ([`Card::host_lines`]), as used by one core.
///
/// [`Card::host_lines`]: crate::Card::host_lines
#[derive(Clone, Debug)]
pub struct CoherentMemory {
    link: Link,
    home: LineHome,
    base: u64,
    bytes: u64,
    core: u8,
    deadline: Picoseconds,
}

impl CoherentMemory {
    /// A range of addresses that a kernel serves.
    pub(crate) fn of_kernel(link: Link, base: u64, bytes: u64) -> Result<Self, Error> {
        Self::new(link, LineHome::Card, base, bytes)
    }

    /// The card memory that the directory serves.
    pub(crate) fn of_card(link: Link) -> Result<Self, Error> {
        let bytes = link.call(HomeMemory)?;
        Self::new(link, LineHome::Card, 0, bytes)
    }

    /// The part of the CPU's own memory that kernels may use.
    pub(crate) fn of_cpu(link: Link) -> Result<Self, Error> {
        let bytes = link.call(HostLines)?;
        Self::new(link, LineHome::Cpu, 0, bytes)
    }

    fn new(link: Link, home: LineHome, base: u64, bytes: u64) -> Result<Self, Error> {
        let end = base.checked_add(bytes);
        let fits = end.is_some_and(|end| end <= 1 << units::access::ADDRESS_BITS);
        if base % BYTES != 0 || bytes % BYTES != 0 || bytes == 0 || !fits {
            return Err(Error::CoherentRange { base, bytes });
        }
        Ok(Self {
            link,
            home,
            base,
            bytes,
            core: 0,
            deadline: DEADLINE,
        })
    }

    /// The same memory, accessed by another core.
    #[must_use]
    pub fn on_core(&self, core: u8) -> Self {
        Self {
            core,
            ..self.clone()
        }
    }

    /// A part of the memory: `bytes` from `offset` on, both multiples of 128.
    ///
    /// # Errors
    /// [`Error::CoherentOffset`]; [`Error::CoherentRange`].
    pub fn part(&self, offset: u64, bytes: u64) -> Result<Self, Error> {
        self.check(offset, bytes)?;
        let part = Self::new(self.link.clone(), self.home, self.base + offset, bytes)?;
        Ok(part.on_core(self.core).with_deadline(self.deadline))
    }

    /// The same memory with another deadline (virtual time), after which an access counts as lost.
    #[must_use]
    pub fn with_deadline(&self, deadline: Picoseconds) -> Self {
        Self {
            deadline,
            ..self.clone()
        }
    }

    /// Address of the first byte on the coherent link.
    #[must_use]
    pub fn base(&self) -> u64 {
        self.base
    }

    /// Length in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Loads the line at `offset`, a multiple of 128.
    ///
    /// # Errors
    /// [`Error::CoherentOffset`]; [`Error::NoHome`]; the kernel broke a protocol rule ([`Error::Home`]) or does not
    /// answer ([`Error::LineLate`]).
    pub fn load(&self, offset: u64) -> Result<[u8; LINE_BYTES], Error> {
        self.line(offset, AccessKind::Load)
    }

    /// Loads the line at `offset` exclusively, so that it can be written without another message.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn load_exclusive(&self, offset: u64) -> Result<[u8; LINE_BYTES], Error> {
        self.line(offset, AccessKind::LoadExclusive)
    }

    /// Stores bytes at `offset`, within one line of 128 bytes. Returns when the line is written.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn store(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.check_store(offset, bytes)?;
        self.access(offset, AccessKind::Store(bytes.to_vec()))
            .map(drop)
    }

    /// Adds to the 64-bit word at `offset` atomically and returns its previous value. Only in the CPU's own memory
    /// ([`Card::host_lines`](crate::Card::host_lines)): it is an atomic instruction of the core, which holds the line
    /// exclusively.
    ///
    /// # Errors
    /// [`Error::CoherentOffset`]; [`Error::LineLate`]; the line is not the CPU's own, or the offset is not aligned to a
    /// word ([`CardError::Access`](card::CardError::Access)).
    pub fn add(&self, offset: u64, value: u64) -> Result<u64, Error> {
        self.atomic(offset, AccessKind::Add(value))
    }

    /// Writes `new` to the 64-bit word at `offset` if it holds `expected`, atomically, and returns its previous value.
    /// Memory as for [`add`](Self::add).
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn compare_exchange(&self, offset: u64, expected: u64, new: u64) -> Result<u64, Error> {
        self.atomic(offset, AccessKind::CompareExchange { expected, new })
    }

    fn atomic(&self, offset: u64, kind: AccessKind) -> Result<u64, Error> {
        const WORD: u64 = 8;
        self.check(offset, WORD)?;
        let line = self.access(offset, kind)?;
        let start = ((self.base + offset) % BYTES) as usize;
        let word = line.get(start..start + WORD as usize);
        let word = word.and_then(|word| word.try_into().ok());
        word.map(u64::from_le_bytes)
            .ok_or_else(|| self.wrong_offset(offset, WORD))
    }

    /// Prefetch hint: the line at `offset` will be loaded. Does not wait for it.
    ///
    /// # Errors
    /// As [`load`](Self::load), without the kernel's.
    pub fn prefetch(&self, offset: u64) -> Result<(), Error> {
        self.check_line(offset)?;
        self.begin(offset, AccessKind::Prefetch).map(drop)
    }

    /// Evicts the line at `offset`, as an instruction that cleans and invalidates a cache line: bytes that this CPU
    /// wrote are sent home. Returns when the message is on its way; the link is unordered, so a later request may
    /// arrive before it. A line that the CPU does not hold costs no message.
    ///
    /// # Errors
    /// As [`load`](Self::load), without the kernel's.
    pub fn flush(&self, offset: u64) -> Result<(), Error> {
        self.check_line(offset)?;
        self.access(offset, AccessKind::Flush).map(drop)
    }

    /// Writes the line at `offset` back home and keeps a shared copy, as an instruction that cleans a cache line.
    /// Returns when the message is on its way, as [`flush`](Self::flush). A line that the CPU does not hold, or has not
    /// written, costs no message.
    ///
    /// # Errors
    /// As [`load`](Self::load), without the kernel's.
    pub fn clean(&self, offset: u64) -> Result<(), Error> {
        self.check_line(offset)?;
        self.access(offset, AccessKind::Clean).map(drop)
    }

    /// Begins to load the line at `offset` without waiting: a core may have many loads outstanding. A hit has the
    /// cache's latency, from the moment of the call.
    ///
    /// # Errors
    /// As [`load`](Self::load), without the kernel's.
    pub fn begin_load(&self, offset: u64) -> Result<PendingLine, Error> {
        self.check_line(offset)?;
        self.pending(offset, AccessKind::Load)
    }

    /// Begins to [`load_exclusive`](Self::load_exclusive).
    ///
    /// # Errors
    /// As [`begin_load`](Self::begin_load).
    pub fn begin_load_exclusive(&self, offset: u64) -> Result<PendingLine, Error> {
        self.check_line(offset)?;
        self.pending(offset, AccessKind::LoadExclusive)
    }

    /// Begins to [`flush`](Self::flush), ordered after the accesses to the line that were begun before.
    ///
    /// # Errors
    /// As [`begin_load`](Self::begin_load).
    pub fn begin_flush(&self, offset: u64) -> Result<PendingLine, Error> {
        self.check_line(offset)?;
        self.pending(offset, AccessKind::Flush)
    }

    /// Begins to [`clean`](Self::clean), ordered after the accesses to the line that were begun before.
    ///
    /// # Errors
    /// As [`begin_load`](Self::begin_load).
    pub fn begin_clean(&self, offset: u64) -> Result<PendingLine, Error> {
        self.check_line(offset)?;
        self.pending(offset, AccessKind::Clean)
    }

    /// Begins to [`store`](Self::store), like a store that waits in a core's write buffer.
    ///
    /// # Errors
    /// As [`begin_load`](Self::begin_load).
    pub fn begin_store(&self, offset: u64, bytes: &[u8]) -> Result<PendingLine, Error> {
        self.check_store(offset, bytes)?;
        self.pending(offset, AccessKind::Store(bytes.to_vec()))
    }

    /// An empty write buffer of this core: its stores complete for the core before their lines have arrived.
    #[must_use]
    pub fn write_buffer(&self) -> WriteBuffer {
        WriteBuffer::new(self.clone())
    }

    /// Current virtual time.
    ///
    /// # Errors
    /// The connection to the owner is broken.
    pub fn now(&self) -> Result<Picoseconds, Error> {
        self.link.call(Describe).map(|description| description.now)
    }

    /// Starts recording the events of the lines at these offsets, under the names given here for pictures. Discards
    /// earlier recordings, whichever client made them.
    ///
    /// # Errors
    /// [`Error::CoherentOffset`], or the card is not coherent.
    pub fn record(&self, lines: &[(u64, &str)]) -> Result<(), Error> {
        self.is_of_card("only lines of the card are recorded")?;
        let mut named = Vec::with_capacity(lines.len());
        for (offset, name) in lines {
            self.check_line(*offset)?;
            named.push((PlainLine((self.base + offset) / BYTES), *name));
        }
        self.link.call(RecordLines {
            history: Box::new(History::of(&named)),
        })
    }

    /// The recorded events.
    ///
    /// # Errors
    /// The connection to the owner is broken.
    pub fn history(&self) -> Result<History, Error> {
        self.link.call(LineHistory).map(|history| *history)
    }

    /// Refuses operations that the CPU's own lines do not support.
    fn is_of_card(&self, rule: &'static str) -> Result<(), Error> {
        match self.home {
            LineHome::Card => Ok(()),
            LineHome::Cpu => Err(Error::Card(CardError::Access {
                core: self.core,
                address: self.base,
                rule,
            })),
        }
    }

    fn wrong_offset(&self, offset: u64, bytes: u64) -> Error {
        Error::CoherentOffset {
            offset,
            bytes,
            range: self.bytes,
        }
    }

    fn check(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        match offset.checked_add(bytes) {
            Some(end) if end <= self.bytes => Ok(()),
            _ => Err(self.wrong_offset(offset, bytes)),
        }
    }

    fn check_line(&self, offset: u64) -> Result<(), Error> {
        if offset % BYTES != 0 {
            return Err(self.wrong_offset(offset, BYTES));
        }
        self.check(offset, BYTES)
    }

    fn check_store(&self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        let room = LINE_BYTES as u64 - offset % BYTES;
        if bytes.is_empty() || bytes.len() as u64 > room {
            return Err(self.wrong_offset(offset, bytes.len() as u64));
        }
        self.check(offset, bytes.len() as u64)
    }

    fn pending(&self, offset: u64, kind: AccessKind) -> Result<PendingLine, Error> {
        let id = self.begin(offset, kind)?;
        Ok(PendingLine::new(self.link.clone(), id, self.deadline))
    }

    fn line(&self, offset: u64, kind: AccessKind) -> Result<[u8; LINE_BYTES], Error> {
        self.check_line(offset)?;
        self.access(offset, kind)
    }

    fn begin(&self, offset: u64, kind: AccessKind) -> Result<units::access::AccessId, Error> {
        let access = LineAccess {
            core: self.core,
            home: self.home,
            address: self.base + offset,
            kind,
        };
        self.link.call(BeginAccess { access })
    }

    fn access(&self, offset: u64, kind: AccessKind) -> Result<[u8; LINE_BYTES], Error> {
        self.pending(offset, kind)?.wait()
    }
}
