//! Address spaces and mappings of files.

use crate::device::window::Source;
use crate::device::Device;
use crate::error::Error;
use crate::link::{unexpected, Link};
use crate::message::{MappingId, Reply, Request, SpaceId};
use crate::owner::behind::StandsFor;
use crate::owner::FileState;
use crate::remote::{stand_in, RemoteMemory};
use crate::shared::SharedMemory;
use crate::stream::StreamHandle;
use card::memories::MemoryKind;
use pager::advice::Advice;
use pager::fetch::Fetch;
use pager::placement::SpacePlacement;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{Asid, PageSize, VirtAddr};

/// What the ports of one application see.
///
/// It ends, with its mappings and the kernels that work in it, when it is [closed](AddressSpace::close) or
/// dropped; a dropped one can only log that bytes could not be written back. Handles of what ended with it
/// stay harmless: their calls give [`Error::Gone`].
#[derive(Debug)]
pub struct AddressSpace {
    link: Link,
    id: SpaceId,
    asid: Asid,
    open: AtomicBool,
    /// Bytes that still wait to go into a kernel, of flows that are over, by its port: at most one for each.
    kept: Mutex<Vec<(StreamHandle, SharedMemory)>>,
}

/// What answers when a port of a space asks for an address (FSRF, §5.2): switched for each space by itself, when it is
/// made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TranslationMode {
    /// The L1 TLBs, and for what misses there the page table in card memory.
    #[default]
    Both,
    /// The page table alone, for every access: FSRF's DRAM TLB. Each page that is in card memory is found, at the price of
    /// a walk.
    Table,
    /// The L1 TLBs alone, which the host fills: FSRF's SRAM TLB, and Coyote's. No access walks; what misses asks the
    /// host, though its page may be in card memory.
    Tlb,
}

impl std::fmt::Display for TranslationMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Both => "L1 TLBs and page table",
            Self::Table => "the page table alone",
            Self::Tlb => "the L1 TLBs alone",
        })
    }
}

/// Nothing translates by such a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("translation {0:?}: say one of both, table, tlb")]
pub struct UnknownTranslation(pub String);

impl FromStr for TranslationMode {
    type Err = UnknownTranslation;

    fn from_str(text: &str) -> Result<Self, UnknownTranslation> {
        match text {
            "both" => Ok(Self::Both),
            "table" => Ok(Self::Table),
            "tlb" => Ok(Self::Tlb),
            _ => Err(UnknownTranslation(text.to_owned())),
        }
    }
}

/// How to make an address space.
///
/// ```
/// use tombolo::{SpaceOptions, SpacePlacement, TranslationMode};
///
/// let on_one_channel = SpaceOptions::new().placement(SpacePlacement::Channel(1));
/// let small = SpaceOptions::new().limit(16 << 20).translation(TranslationMode::Tlb);
/// # let _ = (on_one_channel, small);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct SpaceOptions {
    pub(crate) placement: SpacePlacement,
    pub(crate) limit: Option<u64>,
    pub(crate) translation: TranslationMode,
}

impl SpaceOptions {
    /// Frames anywhere, no limit, all that translates.
    pub fn new() -> Self {
        Self::default()
    }

    /// Its frames lie on one channel, are striped over several, or keep apart from those of other spaces
    /// ([`SpacePlacement::Isolated`]).
    pub fn placement(self, placement: SpacePlacement) -> Self {
        Self { placement, ..self }
    }

    /// It holds at most so many bytes of card memory with its pages, in whole pages and at least one: when it wants
    /// more, its own pages leave, and nobody else's.
    pub fn limit(self, bytes: impl Into<Option<u64>>) -> Self {
        let limit = bytes.into();
        Self { limit, ..self }
    }

    /// What translates its addresses.
    pub fn translation(self, translation: TranslationMode) -> Self {
        Self {
            translation,
            ..self
        }
    }
}

/// How to map a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapOptions {
    read: bool,
    write: bool,
    create: Option<u64>,
    offset: u64,
    bytes: Option<u64>,
    address: Option<VirtAddr>,
    page_size: Option<PageSize>,
    auto_pages: Option<bool>,
    direct: bool,
    memory: Option<MemoryKind>,
    advice: Advice,
    hot: bool,
    file_state: Option<FileState>,
}

impl MapOptions {
    /// The kernel may read the file.
    pub const fn read_only() -> Self {
        Self {
            read: true,
            write: false,
            create: None,
            offset: 0,
            bytes: None,
            address: None,
            page_size: None,
            auto_pages: None,
            direct: false,
            memory: None,
            advice: Advice::NONE,
            hot: false,
            file_state: None,
        }
    }

    /// The kernel may read and write the file.
    pub const fn read_write() -> Self {
        Self {
            write: true,
            ..Self::read_only()
        }
    }

    /// Creates the file, or empties it, with this many bytes of zeroes; readable and writable. A file that
    /// is there is as it was if the mapping is refused.
    pub const fn create(bytes: u64) -> Self {
        Self {
            create: Some(bytes),
            ..Self::read_write()
        }
    }

    /// Starts at a byte of the file.
    pub const fn offset(self, offset: u64) -> Self {
        Self { offset, ..self }
    }

    /// Maps this many bytes rather than all up to the end of the file.
    pub const fn bytes(self, bytes: u64) -> Self {
        Self {
            bytes: Some(bytes),
            ..self
        }
    }

    /// With pages of this size rather than the owner's. Small ones suit accesses to few bytes here and
    /// there, large ones keep faults and table entries few. A file has pages of one size, however often
    /// it is mapped; a space has files of any.
    pub const fn page_size(self, page_size: PageSize) -> Self {
        Self {
            page_size: Some(page_size),
            auto_pages: Some(false),
            ..self
        }
    }

    /// With pages of 2 MiB while card memory lasts, and small ones (from 4 KiB on) once it is short, which grow
    /// again where accesses are sequential.
    pub const fn auto_pages(self) -> Self {
        Self {
            page_size: None,
            auto_pages: Some(true),
            ..self
        }
    }

    /// With pages that stay in host memory: kernels read and write them there over PCIe, and they take no card
    /// memory. It suits what is touched hardly more than once, beside data that is used again. The card must have a
    /// way to host memory (`host_channel` in [`ShellConfig`](crate::ShellConfig) or
    /// [`FunctionalConfig`](crate::FunctionalConfig)). What kernels write is written to the file by
    /// [`Mapping::sync`] and [`Mapping::unmap`], as ever; a file is direct or not, however often it is mapped.
    pub const fn direct(self) -> Self {
        Self {
            direct: true,
            ..self
        }
    }

    /// With pages in card memory of this kind, on a card that has several, such as HBM beside DRAM; without it they lie
    /// on any. A range of a file lies in one memory, however often it is mapped; a mapping without a word of it
    /// changes nothing. Not in a space that has a place of its own ([`SpacePlacement`](crate::SpacePlacement)).
    pub const fn memory(self, memory: MemoryKind) -> Self {
        Self {
            memory: Some(memory),
            ..self
        }
    }

    /// With [advice](Mapping::advise) from the first access on.
    pub const fn advice(self, advice: Advice) -> Self {
        Self { advice, ..self }
    }

    /// [Hot](Mapping::make_hot) from the start.
    pub const fn hot(self) -> Self {
        Self { hot: true, ..self }
    }

    /// With a file that is [warm or cold](FileState), whatever other files are: what reading it costs in virtual time.
    /// A range of a file has one state, the last that was said.
    pub const fn file_state(self, state: FileState) -> Self {
        Self {
            file_state: Some(state),
            ..self
        }
    }

    /// At this address rather than where the pager chooses.
    pub const fn address(self, address: VirtAddr) -> Self {
        Self {
            address: Some(address),
            ..self
        }
    }
}

impl AddressSpace {
    pub(crate) fn new(link: Link, id: SpaceId, asid: Asid) -> Self {
        let open = AtomicBool::new(true);
        Self {
            link,
            id,
            asid,
            open,
            kept: Mutex::default(),
        }
    }

    /// Keeps what a transfer under way still reads. It goes when the port is plugged in again, because the transfer is
    /// over then; at last with the space.
    pub(crate) fn keep(&self, stream: StreamHandle, memory: SharedMemory) {
        self.with_kept(|kept| kept.push((stream, memory)));
    }

    /// A port has been opened, so nothing from before is under way there.
    pub(crate) fn let_go(&self, opened: StreamHandle) {
        let there = |kept: &StreamHandle| (kept.slot, kept.stream) == (opened.slot, opened.stream);
        let gone = self.with_kept(|kept| {
            let (gone, rest) = kept.drain(..).partition(|(stream, _)| there(stream));
            *kept = rest;
            gone
        });
        // Not under the lock: the owner is asked to end it.
        drop::<Vec<(StreamHandle, SharedMemory)>>(gone);
    }

    fn with_kept<R>(&self, change: impl FnOnce(&mut Vec<(StreamHandle, SharedMemory)>) -> R) -> R {
        change(&mut self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn id(&self) -> SpaceId {
        self.id
    }

    /// Ends it: stops the kernels that work in it, writes back what they wrote, ends its mappings.
    ///
    /// # Errors
    /// A page that could not be written back, whose bytes are lost. The space is gone nevertheless.
    /// [`Error::Gone`] if it was before.
    pub fn close(&self) -> Result<(), Error> {
        self.open.store(false, Ordering::Relaxed);
        self.link.tell(Request::DestroySpace { space: self.id })
    }

    /// Its name in the shell.
    pub fn asid(&self) -> Asid {
        self.asid
    }

    /// Maps a file, or a range of it. The file is opened here, with the caller's rights.
    ///
    /// `remote:HOST:PORT` and its other forms ([`Device::KINDS`]) are no file, but what
    /// [`map_remote`](Self::map_remote) maps; a file of such a name is `./remote:…`. So are `pipe:PATH` and the names of
    /// sockets: [`map_stream`](Self::map_stream) maps [as many bytes](MapOptions::bytes) as the options say.
    ///
    /// With [`MapOptions::create`] nothing happens to a file that is there until everything that can be
    /// refused has been checked; only then is it emptied. A file that was made for a mapping that is refused
    /// is removed again.
    ///
    /// # Errors
    /// The file is missing, not readable, read-only but mapped writable, no regular file, or empty; the
    /// offset lies past its end; the range overlaps another mapping; the card has no pages of that
    /// size, or the file is mapped with others; a file to be made anew is mapped already; it is to be written, and
    /// bytes of the range are mapped for writing by another card of this process or another process. What others may
    /// do with a file meanwhile: docs/policies.md, "When others write the file".
    pub fn map_file(&self, path: &Path, options: MapOptions) -> Result<Mapping, Error> {
        if Device::names_remote(path.as_os_str()) {
            let (memory, offset, bytes) = Device::parse(path.as_os_str())?.connect_remote()?;
            let options = MapOptions {
                offset: options.offset.saturating_add(offset),
                bytes: options.bytes.or(bytes),
                ..options
            };
            return self.map_remote(memory, options);
        }
        if Device::names_network(path.as_os_str()) {
            return Err(Error::Unmappable {
                path: path.to_owned(),
                rule: Device::NETWORK_RULE.to_owned(),
            });
        }
        if Device::names_stream(path.as_os_str()) {
            let bytes = options.bytes.unwrap_or_default();
            return self.map_stream(Device::parse(path.as_os_str())?, bytes, options);
        }
        let (file, made) = open(path, &options)?;
        let mapping = self.map_open_file(file, path, options);
        if let (Err(_), Some(made)) = (&mapping, made) {
            // It is empty and was not there before. If it stays, the reason for the refusal matters more.
            let _ = std::fs::remove_file(made);
        }
        mapping
    }

    /// As [`map_file`](Self::map_file), of a file that is open already, with the rights that the options
    /// ask for. Messages call it `name`.
    ///
    /// # Errors
    /// As [`map_file`](Self::map_file).
    pub fn map_open_file(
        &self,
        file: File,
        name: &Path,
        options: MapOptions,
    ) -> Result<Mapping, Error> {
        let refuse = |rule: String| Error::Unmappable {
            path: name.to_owned(),
            rule,
        };
        let failed = |source| Error::File {
            path: name.to_owned(),
            what: "looking at it",
            source,
        };
        let file = crate::io::off_standard_streams(file).map_err(failed)?;
        let metadata = file.metadata().map_err(failed)?;
        if !metadata.is_file() {
            return Err(refuse(NOT_REGULAR.to_owned()));
        }
        let length = options.create.unwrap_or(metadata.len());
        self.map_opened((file, None), name, options, length)
    }

    /// Maps memory of a peer, or a range of it: pages are fetched from it when kernels touch them, and what kernels
    /// wrote is written back to it, as with a file. Several mappings of one address share one connection, and show
    /// the same bytes.
    ///
    /// A peer that goes away or is silent is an error, of the kernel that waits for a page and of the
    /// [`Mapping::sync`] or [`Mapping::unmap`] that writes back; other kernels go on. The mapping does not come back
    /// by itself, as nobody knows what is at that address then: unmap it, connect and map again. What had not been
    /// written back before is lost, and said so.
    ///
    /// # Errors
    /// As [`map_file`](Self::map_file); mapped writable but exported for reading only; [`MapOptions::create`].
    pub fn map_remote(&self, memory: RemoteMemory, options: MapOptions) -> Result<Mapping, Error> {
        let name = PathBuf::from(format!("remote:{}", memory.address()));
        let refuse = |rule: &str| Error::Unmappable {
            path: name.clone(),
            rule: rule.to_owned(),
        };
        if options.create.is_some() {
            return Err(refuse(
                "remote memory is there and has its size; map it for reading and writing instead",
            ));
        }
        if options.write && !memory.is_writable() {
            return Err(refuse("it is exported for reading only; map it read-only"));
        }
        let length = memory.bytes();
        let file = stand_in(length).map_err(|source| Error::File {
            path: name.clone(),
            what: "standing in for it",
            source,
        })?;
        let memory = StandsFor::Remote(Box::new(memory));
        self.map_opened((file, Some(memory)), &name, options, length)
    }

    /// Maps `bytes` of a stream, a pipe, a socket or another device: byte `n` of what comes is byte `n` of the mapping. A
    /// kernel that reads a page waits until its bytes have come, so long as nobody says `:timeout=`; no more is read of the device
    /// than kernels want, and so pages are of 4 KiB if the options say no other size. With a writable mapping, what
    /// kernels wrote goes out by [`Mapping::sync`] and [`Mapping::unmap`]: from the first byte on, without gaps, in whole
    /// pages but for the last. Bytes that are out cannot be changed.
    ///
    /// What has come is kept in host memory until the mapping ends. A stream that ends early, is late or fails is an error
    /// of the kernel that wants the page, or of the call that sends; a page of which something came is filled up with
    /// zeroes, as the last page of a file.
    ///
    /// # Errors
    /// What is no stream, or does not exist; zero bytes; an offset.
    pub fn map_stream(
        &self,
        device: Device,
        bytes: u64,
        options: MapOptions,
    ) -> Result<Mapping, Error> {
        let name = PathBuf::from(device.name());
        let refuse = |rule: &str| Error::Unmappable {
            path: name.clone(),
            rule: rule.to_owned(),
        };
        if options.offset > 0 || options.bytes.is_some_and(|part| part != bytes) {
            return Err(refuse("a stream is mapped from its first byte on"));
        }
        if bytes == 0 {
            return Err(refuse("say how many bytes of the stream are mapped"));
        }
        let source = Source::prepare(device, options.write, bytes)?;
        let file = stand_in(bytes).map_err(|source| Error::File {
            path: name.clone(),
            what: "keeping its bytes",
            source,
        })?;
        let options = MapOptions {
            page_size: options.page_size.or(Some(PageSize::KIB_4)),
            advice: options.advice.then(Advice::fetching(Fetch::OnDemand)),
            ..options
        };
        self.map_opened(
            (file, Some(StandsFor::Stream(source))),
            &name,
            options,
            bytes,
        )
    }

    fn map_opened(
        &self,
        (file, behind): (File, Option<StandsFor>),
        name: &Path,
        options: MapOptions,
        length: u64,
    ) -> Result<Mapping, Error> {
        let bytes = range_within(length, &options).map_err(|rule| Error::Unmappable {
            path: name.to_owned(),
            rule,
        })?;
        if options.hot && options.direct {
            return Err(Error::Unmappable {
                path: name.to_owned(),
                rule: "pages that stay in host memory cannot be hot; leave out one of the two"
                    .to_owned(),
            });
        }
        let request = Request::Map {
            space: self.id,
            file,
            behind,
            label: name.display().to_string(),
            offset: options.offset,
            bytes,
            address: options.address,
            read: options.read,
            write: options.write,
            fresh: options.create,
            page_size: options.page_size,
            auto_pages: options.auto_pages,
            direct: options.direct,
            memory: options.memory,
            file_state: options.file_state,
        };
        match self.link.call(request)? {
            Reply::Mapped {
                mapping,
                address,
                page,
            } => {
                let link = self.link.clone();
                let mapping = Mapping {
                    link,
                    id: mapping,
                    space: self.id,
                    address,
                    bytes,
                    page,
                    open: AtomicBool::new(true),
                };
                if !options.advice.is_empty() {
                    mapping.advise(options.advice)?;
                }
                if options.hot {
                    mapping.make_hot()?;
                }
                Ok(mapping)
            }
            other => Err(unexpected(&other)),
        }
    }
}

const NOT_REGULAR: &str = "only regular files can be mapped";

/// Opens a file without changing it. Also its path, if it was not there before.
fn open(path: &Path, options: &MapOptions) -> Result<(File, Option<PathBuf>), Error> {
    let failed = |what: &'static str| {
        move |source: io::Error| Error::File {
            path: path.to_owned(),
            what,
            source,
        }
    };
    let what = if options.create.is_some() {
        "creating it"
    } else if options.write {
        "opening it for reading and writing, as the mapping asks"
    } else {
        "opening it for reading"
    };
    // To open a pipe is to wait for whoever is at its other end.
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        return Err(Error::Unmappable {
            path: path.to_owned(),
            rule: NOT_REGULAR.to_owned(),
        });
    }
    let mut how = OpenOptions::new();
    how.read(true).write(options.write);
    match how.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound && options.create.is_some() => {
            let file = how.create(true).open(path).map_err(failed(what))?;
            // Where a symbolic link leads to.
            Ok((file, Some(path.canonicalize().map_err(failed(what))?)))
        }
        other => Ok((other.map_err(failed(what))?, None)),
    }
}

/// Bytes that are mapped of a file of that length, or the rule that is broken.
fn range_within(length: u64, options: &MapOptions) -> Result<u64, String> {
    let offset = options.offset;
    if length == 0 {
        return Err("the file is empty; only files of at least 1 byte can be mapped".to_owned());
    }
    if offset >= length {
        return Err(format!(
            "offset {offset} is past the end of the file, which has {length} bytes"
        ));
    }
    let rest = length - offset;
    match options.bytes.unwrap_or(rest) {
        bytes if bytes == 0 || bytes > rest => Err(format!(
            "{bytes} bytes from offset {offset} cannot be mapped; the file has {rest} there"
        )),
        bytes => Ok(bytes),
    }
}

impl Drop for AddressSpace {
    fn drop(&mut self) {
        if self.open.load(Ordering::Relaxed) {
            log_lost(self.close(), "ending an address space");
        }
    }
}

/// For drops, which cannot return an error. What is gone wrote back when it ended.
pub(crate) fn log_lost(result: Result<(), Error>, what: &'static str) {
    match result {
        Ok(()) | Err(Error::Gone { .. }) => {}
        Err(error) => tracing::error!(%error, "{what}: some written bytes may be lost"),
    }
}

/// What becomes of bytes that a kernel has written and that are not in the file yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsaved {
    /// They are saved first.
    #[default]
    Save,
    /// They are dropped.
    Drop,
}

/// A range of an address space that shows a range of a file.
///
/// [`unmap`](Mapping::unmap) writes back what the kernel wrote, and says whether that worked; a
/// mapping that is dropped does the same, but can only log a failure.
#[derive(Debug)]
pub struct Mapping {
    link: Link,
    id: MappingId,
    space: SpaceId,
    address: VirtAddr,
    bytes: u64,
    page: PageSize,
    open: AtomicBool,
}

impl Mapping {
    /// Its pages; the largest, if they have several sizes.
    pub fn page_size(&self) -> PageSize {
        self.page
    }

    /// Address of the first byte, as the kernel sees it.
    pub fn address(&self) -> VirtAddr {
        self.address
    }

    pub(crate) fn id(&self) -> MappingId {
        self.id
    }

    /// The space that it is in.
    pub(crate) fn space(&self) -> SpaceId {
        self.space
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Bytes mapped.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes back what the kernel has written before this call, to the file and its storage.
    ///
    /// # Errors
    /// The file takes no more bytes, or its storage fails; it was truncated, and saving would make it longer again. What
    /// failed stays on the card.
    pub fn sync(&self) -> Result<(), Error> {
        self.link.tell(Request::Sync { mapping: self.id })
    }

    /// Lets the kernel see what others have written to the file since it was mapped: every page of the mapping leaves
    /// the card, and is read again when it is wanted. Complete when the pages have left. What the kernel has written
    /// is either saved first, in whole pages, over what others wrote there; or dropped, with `unsaved`.
    ///
    /// # Errors
    /// As [`sync`](Self::sync); what could not be saved stays on the card.
    pub fn refresh(&self, unsaved: Unsaved) -> Result<(), Error> {
        self.link.tell(Request::Refresh {
            mapping: self.id,
            discard: unsaved == Unsaved::Drop,
        })
    }

    /// Brings the pages to the card before the kernel touches them, as far as there is room.
    ///
    /// # Errors
    /// The card is broken.
    pub fn prefetch(&self) -> Result<(), Error> {
        self.link.tell(Request::Prefetch { mapping: self.id })
    }

    /// Brings the pages to a simulated card as [`prefetch`](Self::prefetch) does, as far as there is room, but at no
    /// virtual time and before this returns: for those who ask what a kernel does with data that is on the card, and not
    /// what loading it costs. Only the table entries take their time, some microseconds for many. The report says how
    /// many bytes came so. Gives their number, in whole pages: 0 on a card that cannot, which loads them as ever.
    ///
    /// # Errors
    /// [`Error::SlotState`]: a kernel is running. [`Error::Gone`] if the mapping ended.
    pub fn make_hot(&self) -> Result<u64, Error> {
        match self.link.call(Request::MakeHot { mapping: self.id })? {
            Reply::Hot(bytes) => Ok(bytes),
            other => Err(unexpected(&other)),
        }
    }

    /// Says how the kernel is going to use the mapping. Advice makes runs fast or slow, never wrong.
    ///
    /// | advice | |
    /// |---|---|
    /// | [`Advice::STREAM`] | one byte after the other: large windows are fetched ahead from the first access on |
    /// | [`Advice::RANDOM`] | in no order: nothing is fetched ahead |
    /// | [`Advice::REUSE`] | used again and again: its pages stay while others can leave |
    /// | [`Advice::LOW_USE`] | used hardly more than once: its pages leave first |
    /// | [`Advice::fetching`] | this way of fetching, whatever the pattern |
    ///
    /// [`Advice::and`] joins two, and refuses those that contradict each other. What new advice does not speak
    /// of stays as advised before; `Advice::default()` takes everything back.
    ///
    /// # Errors
    /// [`Error::Gone`] if the mapping ended.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.advise_range(0, self.bytes, advice)
    }

    /// As [`advise`](Self::advise), of some bytes of the mapping, rounded out to pages.
    ///
    /// # Errors
    /// The range is empty or not all of it is in the mapping. [`Error::Gone`] if the mapping ended.
    pub fn advise_range(&self, offset: u64, bytes: u64, advice: Advice) -> Result<(), Error> {
        let request = Request::Advise {
            mapping: self.id,
            offset,
            bytes,
            advice,
        };
        self.link.tell(request)
    }

    /// Writes back and ends a part of the mapping, as `munmap` does. What is left before it and behind it are
    /// mappings of their own; this one is gone. The part begins with the mapping or at a page, and grows to whole pages.
    ///
    /// # Errors
    /// Bytes that are not in the mapping; a part that begins inside a page; a mapping of what is no file; as
    /// [`sync`](Mapping::sync). The mapping is as it was then, but if a write fails that came after the sync: then all of it has ended.
    pub fn unmap_part(&self, offset: u64, bytes: u64) -> Result<Vec<Self>, Error> {
        let request = Request::UnmapPart {
            mapping: self.id,
            offset,
            bytes,
        };
        let parts = match self.link.call(request)? {
            Reply::Parts(parts) => parts,
            other => return Err(unexpected(&other)),
        };
        self.open.store(false, Ordering::Relaxed);
        let part = |(id, address, bytes)| Self {
            link: self.link.clone(),
            id,
            space: self.space,
            address,
            bytes,
            page: self.page,
            open: AtomicBool::new(true),
        };
        Ok(parts.into_iter().map(part).collect())
    }

    /// Writes back and ends the mapping.
    ///
    /// # Errors
    /// As [`sync`](Mapping::sync); the mapping is gone nevertheless. [`Error::Gone`] if it was before.
    pub fn unmap(&self) -> Result<(), Error> {
        self.open.store(false, Ordering::Relaxed);
        self.link.tell(Request::Unmap { mapping: self.id })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.open.load(Ordering::Relaxed) {
            log_lost(self.unmap(), "unmapping");
        }
    }
}
