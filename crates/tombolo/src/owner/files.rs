//! Ranges of files as objects of the pager: one object a range, however often it is mapped.
//!
//! What is mapped is exact to the byte. A page at the edge of a range has only the range's bytes, and
//! zeroes around them, and only they are written back. So different ranges of a file never share a page on
//! the card, and ranges that overlap would show different bytes after a write: they are refused, unless
//! nobody writes.

use super::behind::{Behind, StandsFor};
use super::direct::Direct;
use super::handles::MappedRange;
use super::owner_ref::OwnerRef;
use super::policies::Paged;
use super::stray::Stray;
use super::Owner;
use crate::error::Error;
use crate::io::Direction;
use crate::link::ClientId;
use crate::message::{Reply, SpaceId};
use card::memories::{self, CardMemory, MemoryKind};
use card::memory::HostMemory;
use pager::advice::Advice;
use pager::{Event, ObjectId, ObjectKind, Success};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::{io, ops};
use units::{Asid, PageSize, PageSizes, VirtAddr};

/// A range to map, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub offset: u64,
    pub bytes: u64,
    pub address: Option<VirtAddr>,
    pub read: bool,
    pub write: bool,
    /// Empty the file, and give it so many bytes.
    pub fresh: Option<u64>,
    pub page_size: Option<PageSize>,
    pub auto_pages: Option<bool>,
    pub direct: bool,
    pub memory: Option<MemoryKind>,
}

#[derive(Debug)]
struct Object {
    id: ObjectId,
    /// Open for reading.
    file: Arc<File>,
    /// Open for writing, since the first writable mapping.
    writer: Option<Arc<File>>,
    label: String,
    /// Of the whole file.
    length: u64,
    page_size: PageSize,
    /// Size of the pages that become those of `page_size`, without automatic sizes.
    parts: PageSize,
    /// Whose choice the page size was.
    size_asked: bool,
    /// Its pages may be smaller.
    auto_pages: bool,
    /// Its pages stay in host memory.
    direct: Option<Direct>,
    /// Its pages lie in card memory of that kind.
    memory: Option<MemoryKind>,
    advice: Advice,
    mappings: u32,
    /// What it has on the card is being written back, after its last mapping.
    closing: bool,
}

impl Object {
    fn paged(&self) -> Paged {
        Paged {
            page_size: self.page_size,
            parts: self.parts,
            asked: self.size_asked,
            auto: self.auto_pages,
            direct: self.direct.as_ref().map(|direct| direct.asked),
            memory: self.memory,
            advice: self.advice,
        }
    }
}

#[derive(Debug)]
struct Mapped {
    space: Asid,
    address: VirtAddr,
    bytes: u64,
    view: View,
    writable: bool,
}

/// Device and inode.
type Identity = (u64, u64);

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct View {
    identity: Identity,
    pub(super) offset: u64,
    pub(super) bytes: u64,
}

impl View {
    pub(super) const fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Bytes of a file that both show.
    fn overlaps(self, other: Self) -> bool {
        self.identity == other.identity && self.offset < other.end() && other.offset < self.end()
    }
}

/// A file whose bytes must outlive a crash of the machine.
#[derive(Debug)]
pub(super) struct Durable {
    identity: Identity,
    file: Arc<File>,
    label: String,
    /// An earlier attempt failed.
    doubtful: bool,
    /// The stream that the file stands in for.
    stream: Option<Arc<Behind>>,
}

/// The files that are mapped.
#[derive(Debug, Default)]
pub(super) struct Files {
    objects: BTreeMap<View, Object>,
    mappings: Vec<Mapped>,
    /// What kernels wrote around objects, until it is told.
    strays: BTreeMap<ObjectId, Stray>,
    /// How files that are no longer mapped were paged, by name.
    told: BTreeMap<String, String>,
    /// Page sizes that were used.
    pub(super) page_sizes: BTreeSet<PageSize>,
    /// Those of which storage may have lost bytes. The system says so once and counts its pages as clean
    /// from then on, so a later attempt that goes well would prove nothing.
    doubtful: BTreeSet<Identity>,
    /// What is no file but has bytes of mappings, each by the file that stands in for it.
    stand_ins: BTreeMap<Identity, StandIn>,
    next: u64,
}

/// A file that stands in, and for what.
#[derive(Clone, Debug)]
struct StandIn {
    file: Arc<File>,
    behind: Arc<Behind>,
}

impl Files {
    /// A name for an object.
    pub(super) fn new_object(&mut self) -> ObjectId {
        self.next += 1;
        ObjectId(self.next)
    }

    fn find(&self, object: ObjectId) -> Option<&Object> {
        let mut all = self.objects.values();
        all.find(|candidate| candidate.id == object)
    }

    /// The file of a mapping that all of it belongs to, if it has no other and may have its pages in host memory:
    /// its range, its object and its page size.
    pub(super) fn could_be_direct(
        &self,
        space: Asid,
        (address, bytes): (VirtAddr, u64),
    ) -> Option<(View, ObjectId, PageSize)> {
        let inside = |m: &&Mapped| {
            let end = m.address.get() + m.bytes;
            m.space == space && (m.address.get()..end).contains(&address.get())
        };
        let mapped = self.mappings.iter().find(inside)?;
        let object = self.objects.get(&mapped.view)?;
        let whole = bytes >= mapped.view.bytes && object.mappings == 1;
        let can = whole
            && !object.auto_pages
            && object.parts == object.page_size
            && !object.closing
            && object.direct.is_none();
        can.then_some((mapped.view, object.id, object.page_size))
    }

    /// The pages of a range's object stay in host memory.
    pub(super) fn set_direct(&mut self, view: View, direct: Direct) {
        if let Some(object) = self.objects.get_mut(&view) {
            object.direct = Some(direct);
        }
    }

    /// File and name behind an object; the file is open for that direction.
    pub(super) fn of(&self, object: ObjectId, way: Direction) -> Option<(Arc<File>, String)> {
        let found = self.find(object)?;
        let file = match way {
            Direction::Read => &found.file,
            Direction::Write => found.writer.as_ref()?,
        };
        Some((file.clone(), found.label.clone()))
    }

    /// The memory of an object whose pages stay in host memory, and where its first page begins there.
    pub(super) fn direct_memory(&self, object: ObjectId) -> Result<(Arc<HostMemory>, u64), Error> {
        let found = self.find(object).and_then(|found| found.direct.as_ref());
        match found {
            Some(direct) => Ok((direct.memory.clone(), direct.first)),
            None => Err(Error::Internal(format!("{object} has no host memory"))),
        }
    }

    fn stream_of(&self, identity: Identity) -> Option<Arc<Behind>> {
        let behind = &self.stand_ins.get(&identity)?.behind;
        behind.is_stream().then(|| behind.clone())
    }

    /// What has an object's bytes; `None` if a file has them.
    pub(super) fn behind(&self, object: ObjectId) -> Option<&Behind> {
        if self.stand_ins.is_empty() {
            return None;
        }
        let mut all = self.objects.iter();
        let (view, _) = all.find(|(_, candidate)| candidate.id == object)?;
        Some(&*self.stand_ins.get(&view.identity)?.behind)
    }

    /// The mapping of a stream that kernels write at an address: where it begins, and bytes of its pages.
    pub(super) fn written_stream(&self, space: Asid, address: VirtAddr) -> Option<(VirtAddr, u64)> {
        if self.stand_ins.is_empty() {
            return None;
        }
        let inside = |m: &&Mapped| {
            let end = m.address.get() + m.bytes;
            let range = m.address.get()..end;
            m.writable && m.space == space && range.contains(&address.get())
        };
        let mapped = self.mappings.iter().find(inside)?;
        let object = self.objects.get(&mapped.view)?;
        self.stream_of(mapped.view.identity)?;
        Some((mapped.address, object.page_size.bytes()))
    }

    /// Ends what a file stands in for, if nothing of it is mapped.
    fn forget_stand_in(&mut self, identity: Identity) {
        if !self.shows(identity) {
            self.stand_ins.remove(&identity);
        }
    }

    fn is_closing(&self, identity: Identity) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|(view, object)| view.identity == identity && object.closing)
    }

    /// A name for an object, for messages.
    pub(super) fn label(&self, object: ObjectId) -> String {
        self.find(object)
            .map_or_else(|| object.to_string(), |found| found.label.clone())
    }

    /// Files with a writable mapping in a range.
    pub(super) fn mapped_in(&self, space: Asid, address: VirtAddr, bytes: u64) -> Vec<Durable> {
        let end = address.get().saturating_add(bytes);
        self.mappings
            .iter()
            .filter(|m| m.space == space && m.writable)
            .filter(|m| m.address.get() < end && address.get() < m.address.get() + m.bytes)
            .filter_map(|m| Some((m.view.identity, self.objects.get(&m.view)?)))
            .map(|(identity, object)| Durable {
                identity,
                file: object.writer.as_ref().unwrap_or(&object.file).clone(),
                label: object.label.clone(),
                doubtful: self.doubtful.contains(&identity),
                stream: self.stream_of(identity),
            })
            .collect()
    }

    /// Advice on a range: the files in it remember it, for the report.
    pub(super) fn advised(
        &mut self,
        space: Asid,
        (address, bytes): (VirtAddr, u64),
        advice: Advice,
    ) {
        let end = address.get().saturating_add(bytes);
        let inside = |m: &&Mapped| {
            m.space == space && m.address.get() < end && address.get() < m.address.get() + m.bytes
        };
        for mapped in self.mappings.iter().filter(inside) {
            if let Some(object) = self.objects.get_mut(&mapped.view) {
                object.advice = object.advice.then(advice);
            }
        }
    }

    /// Name of each file that is or was mapped, and how it is paged in words.
    pub(super) fn paged(&self, told: impl Fn(Paged) -> String) -> Vec<(String, String)> {
        let now = self.objects.values();
        let now = now.map(|object| (object.label.clone(), told(object.paged())));
        let before = self.told.iter();
        let before = before.map(|(label, how)| (label.clone(), how.clone()));
        before.chain(now).collect()
    }

    fn shows(&self, identity: Identity) -> bool {
        self.objects.keys().any(|view| view.identity == identity)
    }

    /// A kernel wrote around an object.
    pub(super) fn strayed(&mut self, object: ObjectId, stray: Stray) {
        self.strays.entry(object).or_insert(stray);
    }

    /// What kernels wrote around the objects in a range, as an error; each is told once.
    pub(super) fn take_stray(
        &mut self,
        space: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let end = address.get().saturating_add(bytes);
        let inside = |m: &&Mapped| {
            m.space == space && m.address.get() < end && address.get() < m.address.get() + m.bytes
        };
        for mapped in self.mappings.iter().filter(inside) {
            let Some(object) = self.objects.get(&mapped.view) else {
                continue;
            };
            if let Some(stray) = self.strays.remove(&object.id) {
                let base = mapped.view.offset / object.page_size.bytes() * object.page_size.bytes();
                let range = mapped.view.offset..mapped.view.end();
                let first = VirtAddr::truncated(mapped.address.get() + (stray.offset - base));
                return Err(stray.told(&object.label, range, first));
            }
        }
        Ok(())
    }
}

/// The page size for a range. A page is no larger than what lies behind it, beyond the usual 2 MiB: who asks
/// for pages of 1 GiB for a small file means large ones, and not a gibibyte of zeroes.
fn page_for(asked: PageSize, sizes: PageSizes, bytes: u64) -> PageSize {
    let enough = bytes.max(PageSize::MIB_2.bytes());
    if asked.bytes() <= enough || !sizes.contains(asked) {
        return asked;
    }
    let smaller = (PageSize::MIB_2.class()..asked.class()).rev();
    let mut smaller = smaller.filter_map(PageSize::from_class);
    smaller
        .find(|&size| size.bytes() <= enough && sizes.contains(size))
        .unwrap_or(asked)
}

/// Makes a file one of zeroes; one that cannot get the size is as it was.
fn empty(file: &File, bytes: u64) -> io::Result<()> {
    let before = file.metadata()?.len();
    if bytes > before {
        file.set_len(bytes)
            .inspect_err(|_| drop(file.set_len(before)))?;
    }
    file.set_len(0)?;
    file.set_len(bytes)
}

/// People know files by name, not by the pager's numbers.
fn named(error: Error, object: ObjectId, label: &str) -> Error {
    match error {
        Error::Pager(error) => Error::Unmappable {
            path: label.into(),
            rule: error.to_string().replace(&object.to_string(), "the file"),
        },
        other => other,
    }
}

impl OwnerRef {
    /// Maps a range of a file, or of what it stands in for; gives the address of its first byte.
    pub(super) async fn map(
        &self,
        client: ClientId,
        space: SpaceId,
        (file, behind): (File, Option<StandsFor>),
        label: String,
        range: Range,
    ) -> Result<Reply, Error> {
        let Some(behind) = behind else {
            let file = Arc::new(file);
            return self
                .map_one(client, space, (file, None), label, range)
                .await;
        };
        let (identity, stand_in) = self.with(|owner| owner.stand_in(file, behind, &label))?;
        let file = (stand_in.file.clone(), Some(stand_in));
        let result = self.map_one(client, space, file, label, range).await;
        if result.is_err() {
            self.with(|owner| owner.files.forget_stand_in(identity));
        }
        result
    }

    async fn map_one(
        &self,
        client: ClientId,
        space: SpaceId,
        (file, stand_in): (Arc<File>, Option<StandIn>),
        label: String,
        range: Range,
    ) -> Result<Reply, Error> {
        let metadata = file.metadata().map_err(|source| Error::File {
            path: label.clone().into(),
            what: "looking at it",
            source,
        })?;
        check_rights(&file, &label, range)?;
        let identity = (metadata.dev(), metadata.ino());
        let view = View {
            identity,
            offset: range.offset,
            bytes: range.bytes,
        };
        // What its last mapping wrote is still on its way to it.
        self.until(|owner| !owner.files.is_closing(identity)).await;
        let asid = self.with(|owner| owner.handles.space(client, space))?;
        let length = range.fresh.unwrap_or(metadata.len());
        let mapped = self.with(|owner| {
            // Whoever closed it meanwhile has forgotten it.
            owner
                .files
                .stand_ins
                .extend(stand_in.map(|stand_in| (identity, stand_in)));
            owner.map(asid, view, file, &label, length, range)
        });
        let address = match mapped {
            Ok(address) => address,
            Err(error) => {
                self.close_file(view).await?;
                return Err(error);
            }
        };
        let bytes = range.bytes;
        let emptied = self.with(|owner| owner.empty_if_fresh(view, &label, range));
        if let Err(error) = emptied {
            self.unmap(asid, address, bytes).await?;
            return Err(error);
        }
        let range = MappedRange {
            space,
            asid,
            address,
            bytes,
        };
        let mapping = self.with(|owner| owner.handles.add_mapping(client, range));
        Ok(Reply::Mapped { mapping, address })
    }

    /// Writes back what was written so far.
    pub(super) async fn sync(&self, range: MappedRange) -> Result<(), Error> {
        let MappedRange {
            asid,
            address,
            bytes,
            ..
        } = range;
        let files = self.with(|owner| owner.files.mapped_in(asid, address, bytes));
        let sync = |request| Event::Sync {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.ask(sync).await;
        let stray = self.with(|owner| owner.files.take_stray(asid, address, bytes));
        result?;
        self.make_durable(&files).await.and(stray)
    }

    /// What is on the card of a range leaves it, and is read again from the files.
    pub(super) async fn refresh(&self, range: MappedRange, discard: bool) -> Result<(), Error> {
        let MappedRange {
            asid,
            address,
            bytes,
            ..
        } = range;
        let refresh = |request| Event::Refresh {
            request,
            asid,
            address,
            bytes,
            discard,
        };
        let result = self.ask(refresh).await;
        let stray = self.with(|owner| owner.files.take_stray(asid, address, bytes));
        result.map(drop).and(stray)
    }

    /// Writes back and ends the mappings in a range.
    pub(super) async fn unmap(
        &self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let durable = self.with(|owner| owner.files.mapped_in(asid, address, bytes));
        let unmap = |request| Event::Unmap {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.ask(unmap).await;
        let end = address.get().saturating_add(bytes);
        let range = Some((address.get(), end));
        let (stray, unmapped) = self.with(|owner| {
            let stray = owner.files.take_stray(asid, address, bytes);
            (stray, owner.forget_mappings(asid, range))
        });
        self.close_files(unmapped).await;
        self.forget_memories(asid, range).await;
        result?;
        self.make_durable(&durable).await.and(stray)
    }

    /// Puts files on storage: all of them, whatever becomes of one.
    ///
    /// # Errors
    /// The first that failed; also when it failed before and has been mapped ever since.
    pub(super) async fn make_durable(&self, files: &[Durable]) -> Result<(), Error> {
        let mut result = Ok(());
        for durable in files {
            if let Some(stream) = &durable.stream {
                let sent = self.send(stream).await;
                result = result.and(sent.map_err(|source| Error::File {
                    path: (&durable.label).into(),
                    what: "sending what was written",
                    source,
                }));
                continue;
            }
            let (what, source) = if durable.doubtful {
                let source = io::Error::from_raw_os_error(libc::EIO);
                ("putting it on storage, which failed before,", source)
            } else if let Err(source) = self.storage(&durable.file).await {
                ("putting it on storage", source)
            } else {
                continue;
            };
            self.with(|owner| {
                if owner.files.shows(durable.identity) {
                    owner.files.doubtful.insert(durable.identity);
                }
            });
            result = result.and(Err(Error::File {
                path: (&durable.label).into(),
                what,
                source,
            }));
        }
        result
    }

    /// Closes those of these files that nobody maps any more.
    pub(super) async fn close_files(&self, files: Vec<View>) {
        for view in files {
            if let Err(error) = self.close_file(view).await {
                tracing::warn!(%error, "a file could not be closed");
            }
        }
    }

    async fn close_file(&self, view: View) -> Result<(), Error> {
        let Some(object) = self.with(|owner| {
            let object = owner.files.objects.get_mut(&view)?;
            let idle = object.mappings == 0 && !object.closing;
            object.closing |= idle;
            idle.then_some(object.id)
        }) else {
            return Ok(());
        };
        let close = |discard| {
            move |request| Event::CloseObject {
                request,
                object,
                discard,
            }
        };
        let mut result = self.ask(close(false)).await;
        if result.is_err() {
            // What could not be written back was reported by the unmap; nobody can reach it now.
            result = self.ask(close(true)).await;
        }
        self.with(|owner| {
            if let Some(object) = owner.files.objects.remove(&view) {
                // When every page has left, the card has answered every Invalidate. A card that fails may still
                // write: it keeps the memory.
                if let Some(direct) = object.direct.as_ref().filter(|_| result.is_ok()) {
                    owner.end_direct(direct);
                }
                owner.remember_paging(object.label.clone(), object.paged());
            }
            owner.files.strays.remove(&object);
            if !owner.files.shows(view.identity) {
                owner.files.doubtful.remove(&view.identity);
            }
            owner.files.forget_stand_in(view.identity);
            owner.stirred = true;
        });
        result.map(drop)
    }
}

/// Whoever maps a file must have opened it with the rights that the mapping needs, even if somebody else
/// has it mapped with more.
fn check_rights(file: &File, label: &str, range: Range) -> Result<(), Error> {
    let rights = crate::io::rights(file).map_err(|source| Error::File {
        path: label.into(),
        what: "looking how it was opened",
        source,
    })?;
    let rule = match (rights.read, rights.write || !range.write) {
        (false, _) => "the file was opened without the right to read; open it for reading too",
        (_, false) => "the file was opened read-only; open it for writing too, or map it read-only",
        (true, true) => return Ok(()),
    };
    Err(Error::Unmappable {
        path: label.into(),
        rule: rule.to_owned(),
    })
}

/// Files that are no longer mapped of which the report tells.
const TOLD: usize = 16;

impl Owner {
    /// What has the bytes of a mapping, with the file that stands in for it: the peer there is, or this one.
    fn stand_in(
        &mut self,
        file: File,
        behind: StandsFor,
        label: &str,
    ) -> Result<(Identity, StandIn), Error> {
        let failed = |source| Error::File {
            path: label.into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.files.stand_ins.iter();
        let found = known.find(|(_, known)| match &behind {
            StandsFor::Remote(memory) => known.behind.is_at(memory.address()),
            StandsFor::Stream(_) => false,
        });
        if let Some((identity, known)) = found {
            return match known.behind.failure() {
                None => Ok((*identity, known.clone())),
                Some(why) => Err(Error::Unmappable {
                    path: label.into(),
                    rule: format!("it is mapped already and has failed; unmap it first: {why}"),
                }),
            };
        }
        let metadata = file.metadata().map_err(failed)?;
        let identity = (metadata.dev(), metadata.ino());
        let post = self.post.clone();
        let file = Arc::new(file);
        let behind = Behind::start(behind, file.clone(), move |aside| post.send(aside));
        let stand_in = StandIn {
            file,
            behind: Arc::new(behind.map_err(failed)?),
        };
        self.files.stand_ins.insert(identity, stand_in.clone());
        Ok((identity, stand_in))
    }

    /// Of the first files that were mapped, for a report that is asked for later.
    fn remember_paging(&mut self, label: String, paged: Paged) {
        if self.files.told.len() < TOLD {
            let how = self.told(paged);
            self.files.told.insert(label, how);
        }
    }

    fn map(
        &mut self,
        space: Asid,
        view: View,
        file: Arc<File>,
        label: &str,
        length: u64,
        range: Range,
    ) -> Result<VirtAddr, Error> {
        let (object, page) = self.object(view, &file, label, length, range)?;
        // The pager maps whole pages of the object; the client gets the byte that it asked for.
        let lead = range.offset % page.bytes();
        let address = match range.address {
            Some(wanted) => Some(
                wanted
                    .get()
                    .checked_sub(lead)
                    .and_then(VirtAddr::new)
                    .ok_or_else(|| Error::Unmappable {
                        path: label.into(),
                        rule: format!(
                            "offset {} does not fit address {wanted}: both must have the same \
                         remainder by the page size, {}",
                            range.offset, page
                        ),
                    })?,
            ),
            None => None,
        };
        let result = self.ask_now(|request| Event::Map {
            request,
            asid: space,
            address,
            object,
            offset: range.offset - lead,
            bytes: range.bytes + lead,
            read: range.read,
            write: range.write,
        });
        let mapped = match result {
            Ok(Success::Mapped(mapped)) => mapped,
            Ok(Success::Done) => {
                return Err(Error::Internal("a mapping without an address".into()));
            }
            Err(error) => return Err(named(error, object, label)),
        };
        self.files.mappings.push(Mapped {
            space,
            address: mapped.address,
            bytes: mapped.bytes,
            view,
            writable: range.write,
        });
        if let Some(object) = self.files.objects.get_mut(&view) {
            object.mappings += 1;
            if range.write {
                object.writer.get_or_insert(file);
            }
        }
        mapped
            .address
            .checked_add(lead)
            .ok_or_else(|| Error::Internal("a mapping beyond the address space".into()))
    }

    /// The channels that have memory of a kind, or the rule against it.
    fn channels_of(&self, memory: MemoryKind, direct: bool) -> Result<ops::Range<u8>, String> {
        if direct {
            let rule = "pages that stay in host memory lie in no card memory: leave out direct, or the memory";
            return Err(rule.to_owned());
        }
        let card = self.card.description();
        let of_kind = |there: &&CardMemory| there.kind == memory;
        match card.memories.iter().find(of_kind) {
            Some(there) => Ok(there.channels.clone()),
            None => Err(format!(
                "its pages shall lie in {memory}, and card {} has {}",
                card.name,
                memories::names(&card.memories)
            )),
        }
    }

    /// The object of a range of a file: the one there is, or a new one.
    fn object(
        &mut self,
        view: View,
        file: &Arc<File>,
        label: &str,
        length: u64,
        range: Range,
    ) -> Result<(ObjectId, PageSize), Error> {
        let refused = |rule: String| Error::Unmappable {
            path: label.into(),
            rule,
        };
        if range.fresh.is_some() && self.files.shows(view.identity) {
            let rule = "it is mapped already, and cannot be made anew; unmap it first";
            return Err(refused(rule.to_owned()));
        }
        let mut others = self.files.objects.iter();
        let clash = |(other, object): &(&View, &Object)| {
            **other != view && view.overlaps(**other) && (range.write || object.writer.is_some())
        };
        if let Some((other, _)) = others.find(clash) {
            return Err(refused(format!(
                "its bytes {} to {} are mapped already, and {} to {} overlap them: mappings of a file show \
                 the same range or ranges apart, unless none is writable. Map one range that holds both",
                other.offset,
                other.end() - 1,
                view.offset,
                view.end().saturating_sub(1)
            )));
        }
        let sizes = self.card.description().page_sizes;
        let auto = range.auto_pages.unwrap_or(self.options.auto_pages)
            && range.page_size.is_none()
            && !range.direct;
        if range.direct && range.auto_pages == Some(true) {
            let rule = "pages that stay in host memory have one size: leave out direct, or automatic pages";
            return Err(refused(rule.to_owned()));
        }
        let usual = match auto && sizes.contains(PageSize::MIB_2) {
            true => PageSize::MIB_2,
            false => self.options.page_size,
        };
        let page_size = range.page_size.unwrap_or(usual);
        let page_size = page_for(page_size, sizes, range.bytes);
        // Pages that nobody asked for become larger ones, where the L1 TLB of their size is too small.
        let beyond = match range.page_size.is_none() && !range.direct {
            true => self.beyond_reach(page_size, range.bytes),
            false => None,
        };
        let (parts, page_size) = (page_size, beyond.map_or(page_size, |(larger, _)| larger));
        if let Some(object) = self.files.objects.get(&view) {
            let rule = if object.length != length {
                Some(format!(
                    "it is mapped already and has changed its size from {} to {length} bytes since; \
                     unmap it first",
                    object.length
                ))
            } else if range.page_size.is_some() && object.auto_pages
                || range.auto_pages == Some(true) && !object.auto_pages
            {
                let how = if object.auto_pages {
                    "automatic"
                } else {
                    "fixed"
                };
                Some(format!(
                    "it is mapped already with pages of {how} size; unmap it first, or map it likewise"
                ))
            } else if range.direct != object.direct.is_some()
                && object.direct.as_ref().is_none_or(|direct| direct.asked)
            {
                let place = if range.direct {
                    "on the card"
                } else {
                    "in host memory (direct)"
                };
                Some(format!(
                    "it is mapped already with pages {place}; unmap it first, or map it likewise"
                ))
            } else if range.memory.is_some() && range.memory != object.memory {
                let place = match object.memory {
                    Some(memory) => memory.to_string(),
                    None => "any memory of the card".to_owned(),
                };
                Some(format!(
                    "it is mapped already with pages in {place}; unmap it first, or map it likewise"
                ))
            } else if range.page_size.is_some() && page_size != object.parts {
                Some(format!(
                    "it is mapped already with pages of {}, and a range of a file has pages of one \
                     size; unmap it first or ask for that size",
                    object.parts
                ))
            } else {
                None
            };
            return match rule {
                Some(rule) => Err(refused(rule)),
                None => Ok((object.id, object.page_size)),
            };
        }
        let channels = match range.memory {
            Some(memory) => Some(self.channels_of(memory, range.direct).map_err(refused)?),
            None => None,
        };
        let direct = match range.direct {
            true => Some(self.begin_direct(view, page_size).map_err(refused)?),
            false => None,
        };
        let id = self.files.new_object();
        let kind = ObjectKind::File {
            // Each mapping has its own rights; a writable one may come later.
            writable: true,
            fresh: range.fresh.is_some(),
        };
        let created = self.ask_now(|request| Event::CreateObject {
            request,
            object: id,
            offset: range.offset,
            bytes: range.bytes,
            kind,
            page_size: Some(page_size),
        });
        if let Err(error) = created {
            if let Some(direct) = &direct {
                self.end_direct(direct);
            }
            return Err(named(error, id, label));
        }
        if let Some(channels) = channels {
            self.tell(Event::PlaceOn {
                object: id,
                first: channels.start.into(),
                channels: channels.len(),
            })?;
        }
        if let Some(direct) = &direct {
            let memory = direct.host.offset(direct.first);
            self.tell(Event::PlaceDirect { object: id, memory })?;
        }
        let varying = match auto {
            true => super::policies::AUTOMATIC,
            false => PageSizes::only(parts),
        };
        if auto || parts < page_size {
            let event = Event::VaryPages {
                object: id,
                sizes: varying,
            };
            self.tell(event)?;
        }
        let object = Object {
            id,
            file: file.clone(),
            writer: None,
            label: label.to_owned(),
            length,
            page_size,
            parts,
            size_asked: range.page_size.is_some(),
            auto_pages: auto,
            direct,
            memory: range.memory,
            advice: Advice::default(),
            mappings: 0,
            closing: false,
        };
        self.files.told.remove(label);
        self.files.objects.insert(view, object);
        self.files.page_sizes.insert(parts);
        Ok((id, page_size))
    }

    /// Forgets the mappings of a space (in a range); gives the files that may be closed.
    pub(super) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        let mut gone = Vec::new();
        self.files.mappings.retain(|mapped| {
            let (start, end) = (mapped.address.get(), mapped.address.get() + mapped.bytes);
            let inside = range.is_none_or(|(from, to)| from < end && start < to);
            if mapped.space == space && inside {
                gone.push(mapped.view);
                return false;
            }
            true
        });
        self.end_pressure(space, range);
        for view in &gone {
            if let Some(object) = self.files.objects.get_mut(view) {
                object.mappings = object.mappings.saturating_sub(1);
            }
        }
        gone
    }

    /// Empties a file that is to be made anew. Everything that can be refused has been checked, and no time
    /// has passed since.
    fn empty_if_fresh(&mut self, view: View, label: &str, range: Range) -> Result<(), Error> {
        let (Some(bytes), Some(object)) = (range.fresh, self.files.objects.get(&view)) else {
            return Ok(());
        };
        empty(object.writer.as_ref().unwrap_or(&object.file), bytes).map_err(|source| Error::File {
            path: label.into(),
            what: "giving it its size",
            source,
        })
    }
}
