//! What clients ask: spaces, objects, mappings, syncs.

use crate::action::{Action, Operation, Success};
use crate::error::{AccessError, PagerError};
use crate::event::{ObjectKind, OperationStatus};
use crate::ids::{ObjectId, RequestId};
use crate::issue::{Meaning, Step};
use crate::object::Object;
use crate::page::{ObjectPage, State, Waiter};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::request::{answer, Ended, Last};
use crate::space::{Mapping, Phase, Space};
use crate::table::TableImage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Asid, PageSize, TableGeometry, VirtAddr};

impl Pager {
    pub(crate) fn create_space(
        &mut self,
        request: RequestId,
        asid: Asid,
        frame_limit: Option<u32>,
        out: &mut Vec<Action>,
    ) {
        if self.spaces.contains_key(&asid) {
            return out.push(answer(request, Err(PagerError::SpaceExists { asid })));
        }
        let Some((geometry, table_frame)) = self.allocate_table() else {
            let bytes = 64 << self.table_sets_log2;
            return out.push(answer(
                request,
                Err(PagerError::NoTableMemory { asid, bytes }),
            ));
        };
        let space = Space {
            phase: Phase::Creating,
            table: TableImage::new(geometry, self.page_size),
            table_frame,
            mappings: BTreeMap::new(),
            frame_limit,
            frames: 0,
            unmaps: BTreeSet::new(),
        };
        self.spaces.insert(asid, space);
        self.creating.insert(asid, request);
        let zero = Operation::Zero {
            to: geometry.base(),
            bytes: geometry.bytes(),
        };
        let meaning = Some(Meaning::TableZeroed(asid));
        self.issued.command(Step::new(zero, meaning), out);
    }

    /// Order of the block that holds a page table.
    pub(crate) fn table_order(&self) -> u8 {
        self.table_sets_log2.saturating_sub(6)
    }

    fn allocate_table(&mut self) -> Option<(TableGeometry, units::FrameNumber)> {
        let order = self.table_order();
        let channel = self.memory.available(order).iter().position(|&room| room)?;
        let frame = self.memory.allocate(channel, order)?;
        let geometry = TableGeometry::new(frame.card_address(), self.table_sets_log2)?;
        Some((geometry, frame))
    }

    pub(crate) fn table_zeroed(
        &mut self,
        asid: Asid,
        status: OperationStatus,
        out: &mut Vec<Action>,
    ) {
        let Some(request) = self.creating.remove(&asid) else {
            return;
        };
        if status != OperationStatus::Ok {
            self.remove_space(asid);
            let error = PagerError::TableFailed { asid, status };
            return out.push(answer(request, Err(error)));
        }
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        space.phase = Phase::Ready;
        out.push(Action::EnableSpace {
            asid,
            table: space.table.geometry(),
            size_classes: 1 << self.page_size.class(),
        });
        out.push(answer(request, Ok(Success::Done)));
    }

    fn remove_space(&mut self, asid: Asid) {
        if let Some(space) = self.spaces.remove(&asid) {
            self.memory.release(space.table_frame, self.table_order());
        }
        for page in self.pages.values_mut() {
            page.charged = page.charged.filter(|&charged| charged != asid);
        }
    }

    /// A space that requests may name.
    fn ready_space(&mut self, asid: Asid) -> Result<&mut Space, PagerError> {
        match self.spaces.get_mut(&asid) {
            None => Err(PagerError::NoSuchSpace { asid }),
            Some(space) if space.phase != Phase::Ready => Err(PagerError::SpaceBusy { asid }),
            Some(space) => Ok(space),
        }
    }

    pub(crate) fn destroy_space(&mut self, request: RequestId, asid: Asid, out: &mut Vec<Action>) {
        let unmaps = match self.ready_space(asid) {
            Err(error) => return out.push(answer(request, Err(error))),
            Ok(space) => {
                space.phase = Phase::Destroying(request);
                space.unmaps.len()
            }
        };
        self.requests.open(request, Last::DestroySpace(asid));
        (0..unmaps).for_each(|_| self.requests.add_one(request));
        self.unmap_pages(request, asid, 0..1 << VirtAddr::BITS, out);
        self.end_requests([request], Ok(()), out);
    }

    pub(crate) fn create_object(
        &mut self,
        request: RequestId,
        object: ObjectId,
        bytes: u64,
        kind: ObjectKind,
        out: &mut Vec<Action>,
    ) {
        let result = if self.objects.contains_key(&object) {
            Err(PagerError::ObjectExists { object })
        } else if bytes == 0 {
            Err(PagerError::EmptyObject { object })
        } else {
            let new = Object::new(bytes, kind, self.page_size);
            self.objects.insert(object, new);
            Ok(Success::Done)
        };
        out.push(answer(request, result));
    }

    pub(crate) fn object_hole(&mut self, object: ObjectId, offset: u64, bytes: u64) {
        let page_size = self.page_size;
        if let Some(object) = self.objects.get_mut(&object) {
            object.add_hole(offset, bytes, page_size);
        }
    }

    pub(crate) fn close_object(
        &mut self,
        request: RequestId,
        object: ObjectId,
        discard: bool,
        out: &mut Vec<Action>,
    ) {
        let error = match self.objects.get(&object) {
            None => Some(PagerError::NoSuchObject { object }),
            Some(known) if known.closing => Some(PagerError::ObjectClosing { object }),
            Some(known) => known
                .any_user()
                .map(|(asid, address)| PagerError::ObjectMapped {
                    object,
                    asid,
                    address,
                }),
        };
        if let Some(error) = error {
            return out.push(answer(request, Err(error)));
        }
        if let Some(known) = self.objects.get_mut(&object) {
            known.closing = true;
            known.discard = discard || known.kind == ObjectKind::Anonymous;
        }
        self.requests.open(request, Last::CloseObject(object));
        for key in self.pages_of(object, 0..u64::MAX) {
            self.release_for(request, key, out);
        }
        self.end_requests([request], Ok(()), out);
    }

    /// Pages of an object that have a record.
    fn pages_of(&self, object: ObjectId, indices: Range<u64>) -> Vec<ObjectPage> {
        let key = |index| ObjectPage { object, index };
        self.pages
            .range(key(indices.start)..key(indices.end))
            .map(|(&key, _)| key)
            .collect()
    }

    /// A request waits until a page has left (or is found to be used by others).
    fn release_for(&mut self, request: RequestId, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        if page.state == State::Waiting {
            if page.waiters.is_empty() {
                self.forget(key);
            }
            return;
        }
        page.leaving.push(request);
        self.requests.add_one(request);
        self.settle(key, out);
    }

    pub(crate) fn map(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: Option<VirtAddr>,
        range: (ObjectId, u64, u64),
        rights: (bool, bool),
        out: &mut Vec<Action>,
    ) {
        let result = self.try_map(asid, address, range, rights);
        out.push(answer(request, result));
    }

    fn try_map(
        &mut self,
        asid: Asid,
        address: Option<VirtAddr>,
        (object, offset, bytes): (ObjectId, u64, u64),
        (read, write): (bool, bool),
    ) -> Result<Success, PagerError> {
        let page = self.page_size;
        self.ready_space(asid)?;
        let known = self
            .objects
            .get_mut(&object)
            .ok_or(PagerError::NoSuchObject { object })?;
        let space = self
            .spaces
            .get_mut(&asid)
            .ok_or(PagerError::NoSuchSpace { asid })?;
        if known.closing {
            return Err(PagerError::ObjectClosing { object });
        }
        if !read && !write {
            return Err(PagerError::NoRights { object });
        }
        if write && !known.kind.writable() {
            return Err(PagerError::ReadOnlyObject { object });
        }
        if offset % page.bytes() != 0 {
            return Err(PagerError::MisalignedOffset {
                object,
                offset,
                page,
            });
        }
        if offset >= known.bytes {
            return Err(PagerError::OffsetPastEnd {
                object,
                offset,
                bytes: known.bytes,
            });
        }
        let pages = bytes.div_ceil(page.bytes());
        if pages == 0 {
            let address = address.unwrap_or_default();
            return Err(PagerError::EmptyRange { address });
        }
        let address = place(space, asid, address, pages, bytes, page)?;
        let mapping = Mapping {
            pages,
            object,
            first: offset >> page.bits(),
            read,
            write,
        };
        space.mappings.insert(address, mapping);
        known.add_user(asid, address, mapping.object_pages());
        Ok(Success::Mapped(mapping.info(address, page)))
    }

    /// A range of addresses, rounded out to whole pages.
    fn page_range(&self, address: VirtAddr, bytes: u64) -> Result<Range<u64>, PagerError> {
        if bytes == 0 {
            return Err(PagerError::EmptyRange { address });
        }
        let end = address
            .get()
            .checked_add(bytes)
            .filter(|end| (end - 1) >> VirtAddr::BITS == 0)
            .ok_or(PagerError::RangeTooHigh { address, bytes })?;
        let start = address.page_base(self.page_size).get();
        Ok(start..end.next_multiple_of(self.page_size.bytes()))
    }

    pub(crate) fn unmap(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        let range = match self.checked_range(asid, address, bytes) {
            Ok(range) => range,
            Err(error) => return out.push(answer(request, Err(error))),
        };
        self.requests.open(request, Last::Unmap(asid));
        if let Some(space) = self.spaces.get_mut(&asid) {
            space.unmaps.insert(request);
        }
        self.unmap_pages(request, asid, range, out);
        self.end_requests([request], Ok(()), out);
    }

    /// A range in which something is mapped.
    fn checked_range(
        &mut self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<Range<u64>, PagerError> {
        let page_size = self.page_size;
        let range = self.page_range(address, bytes)?;
        let space = self.ready_space(asid)?;
        let start = VirtAddr::truncated(range.start);
        let pages = (range.end - range.start) >> page_size.bits();
        if space.overlap(start, pages, page_size).is_none() {
            return Err(PagerError::NotMapped {
                asid,
                address,
                bytes,
            });
        }
        Ok(range)
    }

    /// Ends the mappings in a range; the request waits for their pages.
    fn unmap_pages(
        &mut self,
        request: RequestId,
        asid: Asid,
        range: Range<u64>,
        out: &mut Vec<Action>,
    ) {
        let page_size = self.page_size;
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        let cuts = space.cut(range, page_size);
        for cut in &cuts {
            if let Some(object) = self.objects.get_mut(&cut.gone.1.object) {
                object.remove_user(asid, cut.was);
                for (address, kept) in &cut.kept {
                    object.add_user(asid, *address, kept.object_pages());
                }
            }
        }
        for cut in cuts {
            let (start, mapping) = cut.gone;
            for key in self.pages_of(mapping.object, mapping.object_pages()) {
                let offset = (key.index - mapping.first) << page_size.bits();
                let address = VirtAddr::truncated(start.get() + offset);
                self.detach(key, asid, address, out);
                self.release_for(request, key, out);
            }
        }
    }

    /// Takes a page out of one place of a space: its entry, and who waits for it there.
    fn detach(&mut self, key: ObjectPage, asid: Asid, address: VirtAddr, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let here = |waiter: &Waiter| (waiter.asid, waiter.address) == (asid, address);
        let gone: Vec<_> = page.waiters.iter().copied().filter(here).collect();
        page.waiters.retain(|waiter| !here(waiter));
        let installed = page.entry(asid, address).is_some();
        for waiter in gone {
            self.fail_access(waiter, AccessError::Unmapped, out);
        }
        if installed {
            let mut steps = Vec::new();
            self.remove_entry(key, asid, address, &mut steps);
            for step in steps {
                self.issued.command(step, out);
            }
        }
    }

    pub(crate) fn sync(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        let range = match self.checked_range(asid, address, bytes) {
            Ok(range) => range,
            Err(error) => return out.push(answer(request, Err(error))),
        };
        self.requests.open(request, Last::Answer);
        for (_, object, indices) in self.mapped_in(asid, range) {
            for key in self.pages_of(object, indices) {
                self.sync_page(request, key, out);
            }
        }
        self.end_requests([request], Ok(()), out);
    }

    /// What is mapped in a range: address, object and its pages.
    fn mapped_in(&self, asid: Asid, range: Range<u64>) -> Vec<(VirtAddr, ObjectId, Range<u64>)> {
        let bits = self.page_size.bits();
        let Some(space) = self.spaces.get(&asid) else {
            return Vec::new();
        };
        let mut found: Vec<_> = space
            .mappings
            .range(..VirtAddr::truncated(range.end - 1))
            .rev()
            .map(|(start, mapping)| {
                let from = range.start.max(start.get());
                let to = range.end.min(start.get() + (mapping.pages << bits));
                let index = |at: u64| mapping.first + ((at - start.get()) >> bits);
                (from < to).then(|| {
                    let indices = index(from)..index(to);
                    (VirtAddr::truncated(from), mapping.object, indices)
                })
            })
            .map_while(|found| found)
            .collect();
        found.reverse();
        found
    }

    /// A request waits until what was written to a page before now is saved.
    fn sync_page(&mut self, request: RequestId, key: ObjectPage, out: &mut Vec<Action>) {
        use crate::page::{Purpose, Stage};
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        match page.state {
            // Nothing has been written since its data was fetched.
            State::Waiting | State::AwaitingBuffer | State::Reading(_) | State::Loading { .. } => {
                return
            }
            // It may have been written again since its copy was taken.
            State::WritingBack {
                purpose: Purpose::Clean,
                stage: Stage::Writing(_),
            } => page.wanted.push(request),
            State::WritingBack { .. } => page.joined.push(request),
            State::Installing { .. } | State::Resident => page.wanted.push(request),
        }
        self.requests.add_one(request);
        self.settle(key, out);
    }

    pub(crate) fn prefetch(
        &mut self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        if let Ok(range) = self.checked_range(asid, address, bytes) {
            self.want_range(asid, range, out);
        }
    }

    /// Hints for every page of a range that is mapped, as far as frames are free.
    pub(crate) fn want_range(&mut self, asid: Asid, range: Range<u64>, out: &mut Vec<Action>) {
        let mut room = self
            .free_frames()
            .saturating_sub(self.frame_queue.len() as u64);
        for (start, object, indices) in self.mapped_in(asid, range) {
            let first = indices.start;
            for index in indices {
                let offset = (index - first) << self.page_size.bits();
                let waiter = Waiter {
                    asid,
                    address: VirtAddr::truncated(start.get() + offset),
                    access: None,
                };
                let key = ObjectPage { object, index };
                let absent = !self.pages.contains_key(&key);
                if absent && room == 0 {
                    return;
                }
                room -= u64::from(absent);
                self.want(key, waiter, Urgency::Hint, out);
            }
        }
    }

    /// One thing less for each of these requests; answers those that waited for nothing else.
    pub(crate) fn end_requests(
        &mut self,
        requests: impl IntoIterator<Item = RequestId>,
        result: Result<(), PagerError>,
        out: &mut Vec<Action>,
    ) {
        for request in requests {
            if let Some(ended) = self.requests.end_one(request, result) {
                self.finish(ended, out);
            }
        }
    }

    /// Ends every request that waits for a page.
    pub(crate) fn end_all_requests(
        &mut self,
        key: ObjectPage,
        result: Result<(), PagerError>,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let mut ended = std::mem::take(&mut page.joined);
        ended.append(&mut page.wanted);
        ended.append(&mut page.leaving);
        self.end_requests(ended, result, out);
    }

    fn finish(&mut self, ended: Ended, out: &mut Vec<Action>) {
        let mut destroying = None;
        match ended.last {
            Last::Answer => {}
            Last::Unmap(asid) => {
                if let Some(space) = self.spaces.get_mut(&asid) {
                    space.unmaps.remove(&ended.request);
                    if let Phase::Destroying(request) = space.phase {
                        destroying = Some(request);
                    }
                }
            }
            Last::CloseObject(object) if ended.error.is_none() => {
                self.objects.remove(&object);
            }
            Last::CloseObject(object) => {
                if let Some(object) = self.objects.get_mut(&object) {
                    object.closing = false;
                    object.discard = false;
                }
            }
            Last::DestroySpace(asid) => {
                out.push(Action::DisableSpace { asid });
                self.remove_space(asid);
            }
        }
        let result = ended.error.map_or(Ok(Success::Done), Err);
        out.push(answer(ended.request, result));
        self.end_requests(destroying, Ok(()), out);
    }
}

/// Where a new mapping goes.
fn place(
    space: &Space,
    asid: Asid,
    address: Option<VirtAddr>,
    pages: u64,
    bytes: u64,
    page: PageSize,
) -> Result<VirtAddr, PagerError> {
    let Some(address) = address else {
        return space
            .gap(pages, page)
            .ok_or(PagerError::NoGap { asid, bytes });
    };
    if address.page_offset(page) != 0 {
        return Err(PagerError::MisalignedAddress { address, page });
    }
    let end = (u128::from(pages) << page.bits()) + u128::from(address.get());
    if end > 1 << VirtAddr::BITS {
        return Err(PagerError::RangeTooHigh { address, bytes });
    }
    match space.overlap(address, pages, page) {
        None => Ok(address),
        Some(existing) => Err(PagerError::Overlap {
            asid,
            address,
            bytes,
            existing,
        }),
    }
}
