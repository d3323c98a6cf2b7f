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
use owner::BackingSource;
use owner::NOT_REGULAR;
use remote::{stand_in, RemoteMemory};
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use units::{Advice, Asid, Fetch, PageSize, VirtAddr};

/// Memory kept alive for a transfer.
pub(crate) type Kept = Box<dyn std::fmt::Debug + Send + std::marker::Sync>;

/// An address space: the virtual memory of one application's kernels and ports.
///
/// It ends, with its mappings and the kernels loaded into it, when it is [closed](AddressSpace::close) or dropped; on
/// drop, a failed write-back is only logged. Handles of its mappings and kernels stay safe to use afterwards: their
/// calls return [`Error::Gone`].
#[derive(Debug)]
pub struct AddressSpace {
    link: Link,
    id: SpaceId,
    asid: Asid,
    open: AtomicBool,
    /// Buffers of finished flows that are still being sent into a kernel, by port; at most one per port.
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

    /// Keeps memory alive that a transfer under way still reads. It is released when the port is opened again, because
    /// the transfer is over then, and with the space at the latest.
    pub(crate) fn keep(&self, stream: StreamHandle, memory: Kept) {
        self.with_kept(|kept| kept.push((stream, memory)));
    }

    /// A port has been opened: no earlier transfer is under way there, so its memory is released.
    pub(crate) fn let_go(&self, opened: StreamHandle) {
        let there = |kept: &StreamHandle| (kept.slot, kept.stream) == (opened.slot, opened.stream);
        let gone = self.with_kept(|kept| {
            let (gone, rest) = kept.drain(..).partition(|(stream, _)| there(stream));
            *kept = rest;
            gone
        });
        // Outside the lock: the drop sends a request to the owner.
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

    /// Ends the space: stops its kernels, writes back the pages they wrote, ends its mappings.
    ///
    /// # Errors
    /// A page could not be written back; its bytes are lost. The space is gone nevertheless. [`Error::Gone`] if it was
    /// before.
    pub fn close(&self) -> Result<(), Error> {
        self.open.store(false, Ordering::Relaxed);
        self.link.call(DestroySpace { space: self.id })
    }

    /// The space's identifier in the shell.
    pub fn asid(&self) -> Asid {
        self.asid
    }

    /// Maps a file, or a range of it. The file is opened here, with the caller's rights.
    ///
    /// Names of remote memory, `remote:HOST:PORT` and its other forms ([`Device::KINDS`]), are mapped as by
    /// [`map_remote`](Self::map_remote); a file of such a name is written `./remote:…`. `pipe:PATH` and socket names
    /// are mapped as by [`map_stream`](Self::map_stream), with the [length](MapOptions::bytes) that the options give.
    ///
    /// [`MapOptions::create`] empties an existing file only after every check has passed. If the mapping is refused, a
    /// file that was created for it is removed again.
    ///
    /// # Errors
    /// The file is missing, unreadable, read-only but mapped writable, not a regular file, or empty; the offset lies
    /// past its end; the range overlaps another mapping; the card has no pages of that size, or the file is mapped with
    /// another size; a file to be created is mapped already; the mapping is writable and bytes of the range are mapped
    /// for writing by another card of this process or by another process. For changes that others make to a mapped file
    /// see docs/policies.md, "When others write the file".
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
            // It is empty and did not exist before. If the removal fails, the reason for the refusal matters more.
            let _ = std::fs::remove_file(made);
        }
        mapping
    }

    /// As [`map_file`](Self::map_file), for a file that is already open with the rights that the options require.
    /// `name` is its name in messages.
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

    /// Maps memory of a peer, or a range of it: pages are fetched when kernels touch them, and written back as to a
    /// file. Several mappings of one address share one connection and show the same bytes.
    ///
    /// If the peer disconnects or stops answering, the kernel that waits for a page fails, and so does the
    /// [`Mapping::sync`] or [`Mapping::unmap`] that writes back; other kernels continue. The mapping does not reconnect
    /// automatically, since the memory at that address may be another by then: unmap it, connect and map again. Bytes
    /// that were not written back before are lost, and the error reports this.
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

    /// Maps `bytes` of a stream: a pipe, a socket or another device. Byte `n` received is byte `n` of the mapping. A
    /// kernel that reads a page waits until its bytes have arrived, without limit unless `:timeout=` is given. The
    /// device is read no further than kernels ask; for that reason pages are 4 KiB unless the options set another size.
    /// With a writable mapping, [`Mapping::sync`] and [`Mapping::unmap`] send the bytes that kernels wrote: from the
    /// first byte on, without gaps, in whole pages except the last. Bytes that were sent cannot be changed.
    ///
    /// Received bytes stay in host memory until the mapping ends. If a stream ends early, times out or fails, the
    /// kernel that waits for the page fails, or the call that sends; a page that was received in part is filled with
    /// zeroes, like the last page of a file.
    ///
    /// # Errors
    /// The device is no stream or does not exist; `bytes` is zero; an offset was given.
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
        (file, backing): (File, Option<Box<dyn BackingSource>>),
        name: &Path,
        options: MapOptions,
    ) -> Result<Mapping, Error> {
        let mapped = self.link.call(MapFile {
            space: self.id,
            file,
            backing,
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

/// Opens a file without changing it. Also returns its path if it did not exist before.
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
    // Opening a pipe would block until its other end is open.
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
            // The target of a symbolic link.
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

/// For drops, which cannot return an error. A space or mapping that is gone was written back when it ended.
pub(crate) fn log_lost(result: Result<(), Error>, what: &'static str) {
    match result {
        Ok(()) | Err(Error::Gone { .. }) => {}
        Err(error) => tracing::error!(%error, "{what}: some written bytes may be lost"),
    }
}

/// Treatment of dirty pages, those a kernel has written that are not in the file yet, see [`Mapping::refresh`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unsaved {
    /// Write them back first.
    #[default]
    Save,
    /// Discard them.
    Drop,
}

/// A range of an address space that maps a range of a file.
///
/// [`unmap`](Mapping::unmap) writes back the dirty pages and reports failures; dropping the mapping does the same, but
/// can only log them.
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
    /// The page size; the largest one, if the mapping has pages of several sizes.
    pub fn page_size(&self) -> PageSize {
        self.page
    }

    /// Virtual address of the first byte, as the kernel uses it.
    pub fn address(&self) -> VirtAddr {
        self.address
    }

    pub(crate) fn id(&self) -> MappingId {
        self.id
    }

    /// The space of the mapping.
    pub(crate) fn space(&self) -> SpaceId {
        self.space
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    /// Length of the mapping in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Writes all bytes that the kernel wrote before this call back to the file and its storage.
    ///
    /// # Errors
    /// The file cannot grow or its storage fails; or the file was truncated, and the write-back would extend it again.
    /// Pages that failed stay on the card.
    pub fn sync(&self) -> Result<(), Error> {
        self.link.call(Sync { mapping: self.id })
    }

    /// Makes changes to the file since it was mapped visible to the kernel: every page of the mapping is evicted from
    /// the card and read again on its next use. Returns when the pages are evicted. `unsaved` decides about dirty
    /// pages: they are written back first, in whole pages, over changes that others made there; or they are discarded.
    ///
    /// # Errors
    /// As [`sync`](Self::sync); pages that could not be written back stay on the card.
    pub fn refresh(&self, unsaved: Unsaved) -> Result<(), Error> {
        self.link.call(Refresh {
            mapping: self.id,
            discard: unsaved == Unsaved::Drop,
        })
    }

    /// Loads pages to the card before the kernel touches them, as many as fit.
    ///
    /// # Errors
    /// The card is broken.
    pub fn prefetch(&self) -> Result<(), Error> {
        self.link.call(Prefetch { mapping: self.id })
    }

    /// Preloads the pages to a simulated card, as many as fit, at zero virtual time and before this returns: for
    /// measuring a kernel on data that is on the card already, without the cost of loading. Only the page-table entries
    /// take time, a few microseconds for many. The report shows the preloaded bytes. Returns their number, in whole
    /// pages: 0 on a card without preloading, which loads them as usual.
    ///
    /// # Errors
    /// [`Error::SlotState`]: a kernel is running. [`Error::Gone`] if the mapping ended.
    pub fn make_hot(&self) -> Result<u64, Error> {
        self.link.call(MakeHot { mapping: self.id })
    }

    /// Declares how the kernel will use the mapping. Advice affects speed, never results.
    ///
    /// | advice | |
    /// |---|---|
    /// | [`Advice::STREAM`] | sequential: large read-ahead from the first access on |
    /// | [`Advice::RANDOM`] | random: no read-ahead |
    /// | [`Advice::REUSE`] | reused: its pages are kept while other eviction candidates exist |
    /// | [`Advice::LOW_USE`] | used about once: its pages are evicted first |
    /// | [`Advice::fetching`] | this fetch policy, whatever the pattern |
    ///
    /// [`Advice::and`] combines two, and refuses contradictions. Aspects that new advice does not mention stay as
    /// advised before; `Advice::default()` resets all.
    ///
    /// # Errors
    /// [`Error::Gone`] if the mapping ended.
    pub fn advise(&self, advice: Advice) -> Result<(), Error> {
        self.advise_range(0, self.bytes, advice)
    }

    /// As [`advise`](Self::advise), for a range of the mapping, extended to whole pages.
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

    /// Writes back and unmaps a part of the mapping, as `munmap` does. Returns the remaining parts before and behind it
    /// as new mappings; this handle is gone. The part must start at the mapping's start or at a page, and is extended
    /// to whole pages.
    ///
    /// # Errors
    /// The range exceeds the mapping or starts inside a page; the mapping is not of a file; as [`sync`](Mapping::sync).
    /// The mapping is unchanged then, with one exception: if a write that came after the sync fails, the whole mapping
    /// has ended.
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
