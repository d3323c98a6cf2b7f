//! Ranges of files as objects of the pager: one object per range, however often it is mapped.
//!
//! Mappings are exact to the byte. A page at the edge of a range holds only the range's bytes, with zeroes around them,
//! and only the range's bytes are written back. So different ranges of a file never share a page on the card, and
//! overlapping ranges would show different bytes after a write: they are refused unless all of them are read only.
//! Ranges of other cards and processes are kept apart by claims ([`claim`]).

mod claim;
mod map;
mod mappings;
mod object;
mod stubs;

pub(crate) use map::{check_options, check_rights, Looked, Source, EMPTYING};

use super::direct::{Direct, DirectLimit};
use super::lanes::Lanes;
use super::out_of_range::OutOfRange;
use super::policies::Paged;
use super::timeouts::FileWait;
use super::transfers::{HostPlace, Part};
use super::OwnerOptions;
use crate::backing::Backing;
use crate::handles::MappedRange;
use crate::message::{ByteRange, FileState, MapOptions};
use card::Card;
pub(super) use claim::Locking;
use claim::{joined, Claims, Keeping};
use error::Error;
use file_io::lock::without;
use file_io::{Direction, Identity, OpenFile};
use mappings::{Cut, Mapped, Mappings};
use pager::{AccessError, ObjectId, Pager, PagerError};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use stubs::{Stub, Stubs};
use units::{Advice, Asid, PageSize, VirtAddr};

#[derive(Debug)]
struct Object {
    id: ObjectId,
    /// Open for reading.
    file: Arc<OpenFile>,
    /// Open for writing, since the first writable mapping.
    writer: Option<Arc<OpenFile>>,
    label: String,
    /// Size of the whole file, in bytes.
    length: u64,
    page_size: PageSize,
    /// Size of the pages that are merged into those of `page_size`, without automatic sizes.
    parts: PageSize,
    /// Options of the first mapping, updated by later advice and file states.
    options: MapOptions,
    /// Its pages may be smaller than `page_size`.
    varies: bool,
    /// Its pages stay in host memory.
    direct: Option<Direct>,
    /// Its holes, as far as requested and not written since; disjoint and in order.
    holes: Vec<Range<u64>>,
    mappings: u32,
    /// Its pages on the card are being written back, after its last mapping.
    closing: bool,
    /// The close was abandoned: it is not awaited any more.
    given_up: bool,
}

impl Object {
    fn is_hole(&self, range: Range<u64>) -> bool {
        let mut holes = self.holes.iter();
        holes.any(|hole| hole.start <= range.start && range.end <= hole.end)
    }

    /// Removes a written range from the holes.
    fn fill(&mut self, range: Range<u64>) {
        let holes = std::mem::take(&mut self.holes);
        let around = std::slice::from_ref(&range);
        let left = holes.iter().flat_map(|hole| without(hole, around));
        self.holes = left.collect();
    }

    fn paged(&self) -> Paged {
        Paged {
            page_size: self.page_size,
            parts: self.parts,
            asked: self.options.page_size.is_some(),
            auto: self.varies,
            direct: self.direct.as_ref().map(|direct| direct.asked),
            memory: self.options.memory,
            advice: self.options.advice,
        }
    }
}

/// A range of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct View {
    pub(crate) identity: Identity,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

/// A mapping to be made of a file.
pub(crate) struct Wanted<'a> {
    pub(crate) view: View,
    pub(crate) file: Arc<OpenFile>,
    pub(crate) label: &'a str,
    /// Size of the whole file, in bytes.
    pub(crate) length: u64,
    pub(crate) options: MapOptions,
}

impl Durable {
    /// The description of a wait for the file to become durable.
    pub(crate) fn awaited(&self) -> FileWait {
        FileWait {
            device: self.identity.device,
            label: self.label.clone(),
            what: "putting it on storage",
        }
    }
}

impl View {
    pub(super) const fn end(self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// Whether the two share bytes of a file.
    fn overlaps(self, other: Self) -> bool {
        self.identity == other.identity && self.offset < other.end() && other.offset < self.end()
    }
}

/// A file whose bytes must outlive a crash of the machine.
#[derive(Debug)]
pub(crate) struct Durable {
    pub(crate) identity: Identity,
    pub(crate) file: Arc<OpenFile>,
    pub(crate) label: String,
    /// An earlier attempt failed.
    pub(crate) doubtful: bool,
    /// The stream that the stub file represents.
    pub(crate) stream: Option<Arc<dyn Backing>>,
}

/// The files that are mapped.
#[derive(Debug)]
pub(crate) struct Files {
    objects: BTreeMap<View, Object>,
    claims: Claims,
    mappings: Mappings,
    /// Out-of-range writes of kernels around objects, until they are reported.
    outside: BTreeMap<ObjectId, OutOfRange>,
    /// Paging of files that are no longer mapped, in words, by file name.
    past_paging: BTreeMap<String, String>,
    /// All page sizes in use so far.
    page_sizes: BTreeSet<PageSize>,
    /// Files of which storage may have lost bytes. The system reports this once and counts its pages as clean from then
    /// on, so the success of a later attempt would prove nothing.
    doubtful: BTreeSet<Identity>,
    /// Backings of mappings that are no files, each by its stub file.
    stubs: Stubs,
    /// Files that are or were mapped for writing on a file system without locks, by name.
    unlocked: BTreeSet<String>,
    /// Host memory that is set aside for pages that stay there.
    direct: DirectLimit,
    /// The last identifier of an object.
    last: u64,
    options: Arc<OwnerOptions>,
}

/// The source of the bytes of a part of an object.
#[derive(Debug)]
pub(super) struct PartSource {
    /// The file, opened for the direction of the transfer.
    pub(super) file: Arc<OpenFile>,
    /// The device of its mount.
    pub(super) device: u64,
    pub(super) label: String,
    /// Where its bytes are, for their cost.
    pub(super) state: FileState,
    /// Size of the whole file, in bytes.
    pub(super) length: u64,
    /// The part is a hole: storage holds none of it.
    pub(super) is_hole: bool,
}

impl Files {
    /// Without files, for an owner with these options.
    pub(super) fn new(options: Arc<OwnerOptions>) -> Self {
        Self {
            objects: BTreeMap::new(),
            claims: Claims::default(),
            mappings: Mappings::default(),
            outside: BTreeMap::new(),
            past_paging: BTreeMap::new(),
            page_sizes: BTreeSet::new(),
            doubtful: BTreeSet::new(),
            stubs: Stubs::default(),
            unlocked: BTreeSet::new(),
            direct: DirectLimit {
                limit: options.direct_bytes,
                taken: 0,
            },
            last: 0,
            options,
        }
    }

    /// Page sizes that were used.
    pub(super) fn page_sizes(&self) -> impl Iterator<Item = PageSize> + '_ {
        self.page_sizes.iter().copied()
    }

    /// Files that are or were mapped for writing on a file system without locks, by name.
    pub(super) fn unlocked(&self) -> impl Iterator<Item = &String> {
        self.unlocked.iter()
    }

    /// The stub files of backings that are no files.
    pub(super) fn stubs(&mut self) -> &mut Stubs {
        &mut self.stubs
    }

    /// Adds a stub file.
    pub(crate) fn add_stub(&mut self, identity: Identity, stub: Option<Stub>) {
        if let Some(stub) = stub {
            self.stubs.add(identity, stub);
        }
    }

    /// Claims a whole range; or returns the violated rule.
    pub(super) fn begin_claim(&mut self, lanes: &mut Lanes, view: View) -> Result<Locking, String> {
        let lane = lanes.of(view.identity.device);
        let lane = lane.map_err(|error| format!("a thread for its mount: {error}"))?;
        self.claims.begin(view, lane)
    }

    /// Ends the claim to a whole range: its mapping exists, or was refused.
    pub(crate) fn claim_ended(&mut self, view: View) {
        self.claims.ended(view);
    }

    /// The ranges that stay locked, and the label of the file.
    pub(crate) fn keeping(&self, view: View) -> Option<(Keeping, String)> {
        let keeping = self.claims.keeping(view, self.shown(view))?;
        Some((keeping, self.label_of(view)))
    }

    /// Releases the parts of a range that no writable mapping shows.
    pub(crate) fn settle_claim(&mut self, view: View) {
        let shown = self.shown(view);
        self.claims.settle(view, shown);
    }

    /// The parts of a range that writable mappings show, in order and disjoint.
    fn shown(&self, view: View) -> Vec<Range<u64>> {
        match self.objects.get(&view) {
            Some(object) => joined(self.mappings.shown(view, object.page_size)),
            None => Vec::new(),
        }
    }

    fn label_of(&self, view: View) -> String {
        let object = self.objects.get(&view);
        object.map_or_else(|| "a mapped file".to_owned(), |object| object.label.clone())
    }

    /// The pages of a part of a mapping.
    pub(crate) fn part_of(&self, range: MappedRange, part: ByteRange) -> Result<Range<u64>, Error> {
        let ByteRange { offset, bytes } = part;
        let (first, end) = (range.address.get(), range.address.get() + range.bytes);
        let to = offset.checked_add(bytes).map(|to| first.saturating_add(to));
        let Some(to) = to.filter(|to| bytes > 0 && *to <= end) else {
            return Err(Error::Pager(PagerError::NotMapped {
                asid: range.asid,
                address: VirtAddr::truncated(first.saturating_add(offset)),
                bytes,
            }));
        };
        let from = first + offset;
        let Some(mapped) = self.mappings.at(range) else {
            return Err(Error::Internal("a mapping of no file".into()));
        };
        let Some(object) = self.objects.get(&mapped.view) else {
            return Err(Error::Internal("a mapping of no object".into()));
        };
        let refuse = |rule: String| Error::Unmappable {
            path: (&mapped.label).into(),
            rule,
        };
        if self.stubs.contains(mapped.view.identity) {
            let rule = "only a file is unmapped in parts; unmap all of what is mapped of it";
            return Err(refuse(rule.to_owned()));
        }
        let page = object.page_size.bytes();
        if from != first && from % page != 0 {
            return Err(refuse(format!(
                "a part that is unmapped begins at a page; 0x{from:x} is in the middle of one of {}",
                object.page_size
            )));
        }
        // The first and last bytes of the mapping lie inside pages that are removed with them.
        let from = match from == first {
            true => mapped.address.get(),
            false => from,
        };
        let to = match to == end {
            true => mapped.end(),
            false => to.next_multiple_of(page).min(mapped.end()),
        };
        Ok(from..to)
    }

    /// Removes pages from a mapping; returns the parts that are left.
    pub(crate) fn cut(&mut self, range: MappedRange, gone: &Range<u64>) -> Vec<MappedRange> {
        let Some(Cut { view, left }) = self.mappings.cut(range, gone) else {
            return Vec::new();
        };
        if let Some(object) = self.objects.get_mut(&view) {
            object.mappings += left.len() as u32 - 1;
        }
        left
    }

    /// Marks a file of which storage may have lost bytes.
    pub(crate) fn doubt(&mut self, identity: Identity) {
        if self.shows(identity) {
            self.doubtful.insert(identity);
        }
    }

    /// Begins to close the object of a range without mappings.
    pub(crate) fn begin_to_close(&mut self, view: View) -> Option<ObjectId> {
        let object = self.objects.get_mut(&view)?;
        let idle = object.mappings == 0 && !object.closing;
        object.closing |= idle;
        idle.then_some(object.id)
    }

    /// The range of a file in a mapping.
    pub(crate) fn view_at(&self, range: MappedRange) -> Option<View> {
        self.mappings.at(range).map(|mapped| mapped.view)
    }

    /// Records a file, mapped for writing, on a file system without locks.
    pub(crate) fn is_unlocked(&mut self, label: &str) {
        self.unlocked.insert(label.to_owned());
    }

    /// An identifier for a new object.
    pub(super) fn new_object(&mut self) -> ObjectId {
        self.last += 1;
        ObjectId(self.last)
    }

    fn find(&self, object: ObjectId) -> Option<&Object> {
        let mut all = self.objects.values();
        all.find(|candidate| candidate.id == object)
    }

    /// The file of a mapping that covers all of it, if there is no other mapping and its pages may stay in host memory:
    /// its range, its object and its page size.
    pub(super) fn could_be_direct(
        &self,
        space: Asid,
        (address, bytes): (VirtAddr, u64),
    ) -> Option<(View, ObjectId, PageSize)> {
        let mapped = self.mappings.holding(space, address)?;
        let object = self.objects.get(&mapped.view)?;
        let whole = bytes >= mapped.view.bytes && object.mappings == 1;
        let can = whole
            && !object.varies
            && object.parts == object.page_size
            && !object.closing
            && object.direct.is_none();
        can.then_some((mapped.view, object.id, object.page_size))
    }

    /// Reserves host memory for the direct pages of a range; or returns the violated rule.
    pub(super) fn begin_direct(
        &mut self,
        card: &mut dyn Card,
        view: View,
        page: PageSize,
    ) -> Result<Direct, String> {
        let direct = Direct::begin(card, view, page, self.direct)?;
        self.direct.taken += direct.bytes;
        Ok(direct)
    }

    /// The card no longer uses it.
    pub(super) fn end_direct(&mut self, card: &mut dyn Card, direct: &Direct) {
        self.direct.taken -= direct.bytes;
        direct.end(card);
    }

    /// Keeps the pages of a range's object in host memory.
    pub(super) fn set_direct(&mut self, view: View, direct: Direct) {
        if let Some(object) = self.objects.get_mut(&view) {
            object.direct = Some(direct);
        }
    }

    /// The source of a part of an object, for a transfer in this direction. Its file state is `usual` unless a mapping
    /// stated it.
    pub(super) fn source_of(
        &self,
        way: Direction,
        part: Part,
        usual: FileState,
    ) -> Option<PartSource> {
        let mut all = self.objects.iter();
        let (view, found) = all.find(|(_, candidate)| candidate.id == part.object)?;
        let file = match way {
            Direction::Read => &found.file,
            Direction::Write => found.writer.as_ref()?,
        };
        Some(PartSource {
            file: file.clone(),
            device: view.identity.device,
            label: found.label.clone(),
            state: found.options.file_state.unwrap_or(usual),
            length: found.length,
            is_hole: found.is_hole(part.offset..part.offset + part.bytes),
        })
    }

    /// Records the holes of a range, as a mapping requested.
    pub(crate) fn has_holes(&mut self, view: View, holes: Vec<Range<u64>>) {
        if let Some(object) = self.objects.get_mut(&view) {
            object.holes = holes;
        }
    }

    /// Records that a part of an object is written back.
    pub(super) fn fill(&mut self, part: Part) {
        let mut all = self.objects.values_mut();
        if let Some(object) = all.find(|candidate| candidate.id == part.object) {
            object.fill(part.offset..part.offset + part.bytes);
        }
    }

    /// A position in the memory of an object whose pages stay in host memory, relative to its first page.
    pub(super) fn direct_place(&self, object: ObjectId, at: u64) -> Result<HostPlace, Error> {
        let found = self.find(object).and_then(|found| found.direct.as_ref());
        match found {
            Some(direct) => Ok(HostPlace {
                memory: direct.memory.clone(),
                offset: direct.first + at,
                around: None,
                buffer: None,
            }),
            None => Err(Error::Internal(format!("{object} has no host memory"))),
        }
    }

    /// The backing of an object; `None` if a file holds its bytes.
    pub(super) fn backing(&self, object: ObjectId) -> Option<&dyn Backing> {
        if self.stubs.is_empty() {
            return None;
        }
        let mut all = self.objects.iter();
        let (view, _) = all.find(|(_, candidate)| candidate.id == object)?;
        self.stubs.backing(view.identity).map(|backing| &**backing)
    }

    /// The failure of a peer that made an access fail; it has no system error code.
    pub(super) fn lost(&self, reason: &AccessError) -> Option<String> {
        match reason {
            AccessError::Fetch(PagerError::Io { object, .. }) => self.backing(*object)?.failure(),
            _ => None,
        }
    }

    /// The mapping of a stream that kernels write at an address: its start, and its page size in bytes.
    pub(super) fn written_stream(&self, space: Asid, address: VirtAddr) -> Option<(VirtAddr, u64)> {
        if self.stubs.is_empty() {
            return None;
        }
        let mapped = self.mappings.written(space, (address, 1)).next()?;
        let object = self.objects.get(&mapped.view)?;
        self.stubs.stream(mapped.view.identity)?;
        Some((mapped.address, object.page_size.bytes()))
    }

    /// Whether it is a stub file that represents a backing.
    pub(crate) fn is_stub(&self, identity: Identity) -> bool {
        self.stubs.contains(identity)
    }

    /// Abandons the close of a range's object: it is not awaited any more.
    fn give_up(&mut self, view: View) {
        if let Some(object) = self.objects.get_mut(&view) {
            object.given_up = true;
        }
    }

    /// The abandoned ranges whose objects satisfy the condition.
    fn given_up(&self, is_so: impl Fn(ObjectId) -> bool) -> Vec<View> {
        let all = self.objects.iter();
        let gone = all.filter(|(_, object)| object.given_up && is_so(object.id));
        gone.map(|(view, _)| *view).collect()
    }

    /// Ends the backing of a stub file, if nothing of it is mapped.
    pub(crate) fn forget_stub(&mut self, identity: Identity) {
        if !self.shows(identity) {
            self.stubs.remove(identity);
        }
    }

    pub(crate) fn is_closing(&self, identity: Identity) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|(view, object)| view.identity == identity && object.closing)
    }

    pub(crate) fn is_given_up(&self, identity: Identity) -> bool {
        let mut objects = self.objects.iter();
        objects.any(|(view, object)| view.identity == identity && object.given_up)
    }

    /// The name that the client of a space uses for the object mapped at an address.
    pub(super) fn label_at(&self, space: Asid, address: VirtAddr) -> Option<&str> {
        let found = self.mappings.holding(space, address)?;
        Some(&found.label)
    }

    /// Replaces the file name in an error about a range by the one that the mapping there uses. The failed transfer may
    /// have been begun for another client, which uses another path.
    pub(crate) fn by_own_label(
        &self,
        space: Asid,
        (address, bytes): (VirtAddr, u64),
        error: Error,
    ) -> Error {
        let own = |theirs: &str| {
            let named = |m: &&Mapped| {
                let object = self.objects.get(&m.view);
                object.is_some_and(|object| object.label == theirs)
            };
            let mut all = self.mappings.touching(space, (address, bytes));
            let found = all.find(named);
            found.map_or_else(|| "a mapped file".to_owned(), |mapped| mapped.label.clone())
        };
        match error {
            Error::Transfer {
                label,
                direction,
                bytes,
                offset,
                source,
            } => Error::Transfer {
                label: own(&label),
                direction,
                bytes,
                offset,
                source,
            },
            Error::File { path, what, source } => Error::File {
                path: own(&path.to_string_lossy()).into(),
                what,
                source,
            },
            other => other,
        }
    }

    /// Files with a writable mapping in a range.
    pub(super) fn mapped_in(&self, space: Asid, address: VirtAddr, bytes: u64) -> Vec<Durable> {
        self.mappings
            .written(space, (address, bytes))
            .filter_map(|m| Some((m, m.view.identity, self.objects.get(&m.view)?)))
            .map(|(mapped, identity, object)| Durable {
                identity,
                file: object.writer.as_ref().unwrap_or(&object.file).clone(),
                label: mapped.label.clone(),
                doubtful: self.doubtful.contains(&identity),
                stream: self.stubs.stream(identity),
            })
            .collect()
    }

    /// Records advice on a range in its files, for the report.
    pub(super) fn advised(
        &mut self,
        space: Asid,
        (address, bytes): (VirtAddr, u64),
        advice: Advice,
    ) {
        for mapped in self.mappings.touching(space, (address, bytes)) {
            if let Some(object) = self.objects.get_mut(&mapped.view) {
                object.options.advice = object.options.advice.then(advice);
            }
        }
    }

    /// Drops the object of a range; `saved` if it has no errors. The paging of the first files is kept as text for
    /// later reports.
    fn forget_object(
        &mut self,
        card: &mut dyn Card,
        view: View,
        saved: bool,
        words: impl Fn(Paged) -> String,
    ) {
        if let Some(object) = self.objects.remove(&view) {
            // When every page has left, the card has answered every Invalidate. A card that fails may still write, so
            // its memory is kept.
            if let Some(direct) = object.direct.as_ref().filter(|_| saved) {
                self.end_direct(card, direct);
            }
            if self.past_paging.len() < PAST_FILES {
                let how = words(object.paged());
                self.past_paging.insert(object.label, how);
            }
            self.outside.remove(&object.id);
        }
        if !self.shows(view.identity) {
            self.doubtful.remove(&view.identity);
        }
        self.forget_stub(view.identity);
    }

    /// Whether the pager has no object left of a file that was abandoned at its close.
    pub(crate) fn given_up_has_left(&self, pager: &Pager, identity: Identity) -> bool {
        let there = self.given_up(|object| pager.has_object(object));
        there.iter().all(|view| view.identity != identity)
    }

    /// Drops the mappings of a space (in a range); returns the files that may be closed.
    pub(super) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        let gone = self.mappings.forget(space, range);
        for view in &gone {
            if let Some(object) = self.objects.get_mut(view) {
                object.mappings = object.mappings.saturating_sub(1);
            }
        }
        gone
    }

    /// Drops the paging text of a file.
    pub(super) fn forget_paging(&mut self, label: &str) {
        self.past_paging.remove(label);
    }

    /// Name of each file that is or was mapped, and its paging in words.
    pub(super) fn paged(&self, words: impl Fn(Paged) -> String) -> Vec<(String, String)> {
        let now = self.objects.values();
        let now = now.map(|object| (object.label.clone(), words(object.paged())));
        let before = self.past_paging.iter();
        let before = before.map(|(label, how)| (label.clone(), how.clone()));
        before.chain(now).collect()
    }

    fn shows(&self, identity: Identity) -> bool {
        self.objects.keys().any(|view| view.identity == identity)
    }

    /// Records the first out-of-range write of an object, if there is one.
    pub(super) fn wrote_outside(&mut self, object: ObjectId, write: Option<OutOfRange>) {
        if let Some(write) = write {
            self.outside.entry(object).or_insert(write);
        }
    }

    /// The out-of-range writes of kernels around the objects that a range maps for writing, as an error; each is
    /// reported once.
    pub(super) fn take_outside(
        &mut self,
        space: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        // A read-only mapping has written nothing.
        for mapped in self.mappings.written(space, (address, bytes)) {
            let Some(object) = self.objects.get(&mapped.view) else {
                continue;
            };
            if let Some(write) = self.outside.remove(&object.id) {
                let base = mapped.view.offset / object.page_size.bytes() * object.page_size.bytes();
                let range = mapped.view.offset..mapped.view.end();
                let start = mapped.address.get() - mapped.first;
                let first = VirtAddr::truncated(start + (write.offset - base));
                return Err(write.error(&mapped.label, range, first));
            }
        }
        Ok(())
    }
}

/// Maximum number of no longer mapped files in a report.
const PAST_FILES: usize = 16;

/// Replaces the pager's object number in an error by the file name, which users know.
fn named(error: Error, object: ObjectId, label: &str) -> Error {
    match error {
        Error::Pager(error) => Error::Unmappable {
            path: label.into(),
            rule: error.to_string().replace(&object.to_string(), "the file"),
        },
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handles::Handles;
    use crate::message::ClientId;

    const READ: MapOptions = MapOptions::read_only();
    const WRITE: MapOptions = MapOptions::read_write();

    /// A table of files, and how many mappings it got.
    struct Table(Files, u64);

    impl Table {
        fn new() -> Self {
            Self(Files::new(Arc::new(OwnerOptions::default())), 0)
        }

        /// Maps a range in a space, as the pager would have done it; returns the range of the mapping.
        fn map(&mut self, view: View, asid: u8, options: MapOptions) -> MappedRange {
            let Self(files, count) = self;
            *count += 1;
            let address = VirtAddr::new(*count << 32).unwrap();
            let space = Asid::new(asid).unwrap();
            let file = || Arc::new(OpenFile::from(tempfile::tempfile().unwrap()));
            let id = files.new_object();
            let object = files.objects.entry(view).or_insert_with(|| Object {
                id,
                file: file(),
                writer: None,
                label: "data".into(),
                length: 1 << 20,
                page_size: PageSize::KIB_4,
                parts: PageSize::KIB_4,
                options,
                varies: false,
                direct: None,
                holes: Vec::new(),
                mappings: 0,
                closing: false,
                given_up: false,
            });
            object.mappings += 1;
            if options.write {
                object.writer.get_or_insert_with(file);
            }
            let label = format!("data of space {asid}");
            files.mappings.add(Mapped {
                space,
                address,
                bytes: view.bytes,
                view,
                writable: options.write,
                first: 0,
                label,
            });
            MappedRange {
                space: crate::message::SpaceId(asid.into()),
                asid: space,
                address,
                bytes: view.bytes,
            }
        }

        fn is_refused(&self, view: View, options: MapOptions) -> Option<String> {
            let refused = self.0.may_begin(view, "data", options).err();
            refused.map(|error| error.to_string())
        }
    }

    fn view(offset: u64, bytes: u64) -> View {
        let identity = Identity {
            device: 1,
            inode: 2,
        };
        View {
            identity,
            offset,
            bytes,
        }
    }

    #[test]
    fn ranges_that_overlap_are_refused_unless_all_are_read_only() {
        let mut table = Table::new();
        table.map(view(0, 8192), 1, READ);
        assert_eq!(table.is_refused(view(4096, 8192), READ), None);
        let rule = table.is_refused(view(8191, 1), WRITE).unwrap();
        let expected = "bytes 0 to 8191 are mapped already, and 8191 to 8191 overlap them";
        assert!(rule.contains(expected), "{rule}");
        assert_eq!(table.is_refused(view(8192, 1), WRITE), None, "next to it");
        assert_eq!(table.is_refused(view(0, 8192), WRITE), None, "the same");
        let another = View {
            identity: Identity {
                device: 1,
                inode: 3,
            },
            ..view(8191, 1)
        };
        assert_eq!(table.is_refused(another, WRITE), None, "another file");
        // From now on a kernel may write it.
        table.map(view(0, 8192), 2, WRITE);
        assert!(table.is_refused(view(4096, 8192), READ).is_some());
        let anew = MapOptions::create(100);
        let rule = table.is_refused(view(1 << 20, 1), anew).unwrap();
        assert!(rule.contains("cannot be made anew"), "{rule}");
    }

    #[test]
    fn only_those_who_may_write_drop_what_was_written() {
        let (me, other) = (ClientId(1), ClientId(2));
        let mut handles = Handles::default();
        for (client, asid) in [(me, 1), (me, 2), (other, 3)] {
            handles.add_space(client, Asid::new(asid).unwrap());
        }
        let mut table = Table::new();
        let mine = table.map(view(0, 8192), 1, READ);
        let may = |table: &Table, range| table.0.may_discard(&handles, me, range).is_ok();
        assert!(may(&table, mine), "nobody writes it");
        let writable = table.map(view(0, 8192), 2, WRITE);
        assert!(
            may(&table, mine) && may(&table, writable),
            "a space of mine"
        );
        table.map(view(0, 8192), 3, WRITE);
        assert!(may(&table, writable) && !may(&table, mine));
    }

    #[test]
    fn errors_name_the_file_as_the_mapping_there_does() {
        let mut table = Table::new();
        let range = table.map(view(0, 8192), 1, READ);
        let error = |label: &str| Error::File {
            path: label.into(),
            what: "reading it",
            source: std::io::ErrorKind::TimedOut.into(),
        };
        let named = |label| {
            let place = (range.address, range.bytes);
            let error = table.0.by_own_label(range.asid, place, error(label));
            error.to_string()
        };
        assert!(named("data").contains("data of space 1"));
        // The path of another client is not shown.
        let hidden = named("secret");
        assert!(
            hidden.contains("a mapped file") && !hidden.contains("secret"),
            "{hidden}"
        );
    }

    #[test]
    fn an_object_closes_after_its_last_mapping_once() {
        let mut table = Table::new();
        let first = table.map(view(0, 8192), 1, READ);
        let second = table.map(view(0, 8192), 2, WRITE);
        assert_eq!(table.0.begin_to_close(view(0, 8192)), None);
        assert_eq!(table.0.forget_mappings(first.asid, None), [view(0, 8192)]);
        assert_eq!(table.0.begin_to_close(view(0, 8192)), None, "one is left");
        assert!(!table.0.is_closing(view(0, 8192).identity));
        table.0.forget_mappings(second.asid, None);
        assert!(table.0.begin_to_close(view(0, 8192)).is_some());
        assert_eq!(table.0.begin_to_close(view(0, 8192)), None);
        assert!(table.0.is_closing(view(0, 8192).identity));
    }
}
