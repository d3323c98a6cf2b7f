//! Address spaces and mappings of files.

use crate::behind::OfPeer;
use crate::device::window::Source;
use crate::device::Device;
use crate::link::Link;
use error::Error;
use owner::message::{
    Advise, ByteRange, DestroySpace, MakeHot, MapFile, MapOptions, MappingId, NewSpace, Prefetch,
    Refresh, RestOfMapping, SpaceId, StreamHandle, Sync, Unmap, UnmapPart,
};
use owner::StandsFor;
use owner::NOT_REGULAR;
use remote::{stand_in, RemoteMemory};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{Advice, Asid, Fetch, PageSize, VirtAddr};

/// Memory that is kept for a transfer.
pub(crate) type Kept = Box<dyn std::fmt::Debug + Send + std::marker::Sync>;

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
    kept: Mutex<Vec<(StreamHandle, Kept)>>,
}

impl AddressSpace {
    pub(crate) fn new(link: Link, made: NewSpace) -> Self {
        Self {
            link,
            id: made.space,
            asid: made.asid,
            open: AtomicBool::new(true),
            kept: Mutex::default(),
        }
    }

    /// Keeps what a transfer under way still reads. It goes when the port is plugged in again, because the transfer is
    /// over then; at last with the space.
    pub(crate) fn keep(&self, stream: StreamHandle, memory: Kept) {
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
        drop::<Vec<(StreamHandle, Kept)>>(gone);
    }

    fn with_kept<R>(&self, change: impl FnOnce(&mut Vec<(StreamHandle, Kept)>) -> R) -> R {
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
        self.link.call(DestroySpace { space: self.id })
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
    pub fn map_file(&self, path: impl AsRef<Path>, options: MapOptions) -> Result<Mapping, Error> {
        let path = path.as_ref();
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
        let file = file_io::off_standard_streams(file).map_err(|source| Error::File {
            path: name.to_owned(),
            what: "looking at it",
            source,
        })?;
        self.map_opened((file, None), name, options)
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
        let memory = Box::new(OfPeer(memory));
        self.map_opened((file, Some(memory)), &name, options)
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
        self.map_opened((file, Some(Box::new(source))), &name, options)
    }

    fn map_opened(
        &self,
        (file, behind): (File, Option<Box<dyn StandsFor>>),
        name: &Path,
        options: MapOptions,
    ) -> Result<Mapping, Error> {
        let mapped = self.link.call(MapFile {
            space: self.id,
            file,
            behind,
            label: name.display().to_string(),
            options,
        })?;
        Ok(Mapping {
            link: self.link.clone(),
            id: mapped.mapping,
            space: self.id,
            address: mapped.address,
            bytes: mapped.bytes,
            page: mapped.page,
            open: AtomicBool::new(true),
        })
    }
}

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
        self.link.call(Sync { mapping: self.id })
    }

    /// Lets the kernel see what others have written to the file since it was mapped: every page of the mapping leaves
    /// the card, and is read again when it is wanted. Complete when the pages have left. What the kernel has written
    /// is either saved first, in whole pages, over what others wrote there; or dropped, with `unsaved`.
    ///
    /// # Errors
    /// As [`sync`](Self::sync); what could not be saved stays on the card.
    pub fn refresh(&self, unsaved: Unsaved) -> Result<(), Error> {
        self.link.call(Refresh {
            mapping: self.id,
            discard: unsaved == Unsaved::Drop,
        })
    }

    /// Brings the pages to the card before the kernel touches them, as far as there is room.
    ///
    /// # Errors
    /// The card is broken.
    pub fn prefetch(&self) -> Result<(), Error> {
        self.link.call(Prefetch { mapping: self.id })
    }

    /// Brings the pages to a simulated card as [`prefetch`](Self::prefetch) does, as far as there is room, but at no
    /// virtual time and before this returns: for those who ask what a kernel does with data that is on the card, and not
    /// what loading it costs. Only the table entries take their time, some microseconds for many. The report says how
    /// many bytes came so. Gives their number, in whole pages: 0 on a card that cannot, which loads them as ever.
    ///
    /// # Errors
    /// [`Error::SlotState`]: a kernel is running. [`Error::Gone`] if the mapping ended.
    pub fn make_hot(&self) -> Result<u64, Error> {
        self.link.call(MakeHot { mapping: self.id })
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
        self.link.call(Advise {
            mapping: self.id,
            range: ByteRange { offset, bytes },
            advice,
        })
    }

    /// Writes back and ends a part of the mapping, as `munmap` does. What is left before it and behind it are
    /// mappings of their own; this one is gone. The part begins with the mapping or at a page, and grows to whole pages.
    ///
    /// # Errors
    /// Bytes that are not in the mapping; a part that begins inside a page; a mapping of what is no file; as
    /// [`sync`](Mapping::sync). The mapping is as it was then, but if a write fails that came after the sync: then all of it has ended.
    pub fn unmap_part(&self, offset: u64, bytes: u64) -> Result<Vec<Self>, Error> {
        let rest = self.link.call(UnmapPart {
            mapping: self.id,
            range: ByteRange { offset, bytes },
        })?;
        self.open.store(false, Ordering::Relaxed);
        let mapping = |rest: RestOfMapping| Self {
            link: self.link.clone(),
            id: rest.mapping,
            space: self.space,
            address: rest.address,
            bytes: rest.bytes,
            page: self.page,
            open: AtomicBool::new(true),
        };
        Ok(rest.into_iter().map(mapping).collect())
    }

    /// Writes back and ends the mapping.
    ///
    /// # Errors
    /// As [`sync`](Mapping::sync); the mapping is gone nevertheless. [`Error::Gone`] if it was before.
    pub fn unmap(&self) -> Result<(), Error> {
        self.open.store(false, Ordering::Relaxed);
        self.link.call(Unmap { mapping: self.id })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        if self.open.load(Ordering::Relaxed) {
            log_lost(self.unmap(), "unmapping");
        }
    }
}
