//! Requests of clients.

use super::Pager;
use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::event::{Event, ObjectKind};
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::issue::{Meaning, Step};
use crate::mapping;
use crate::page::{Purpose, Stage, State};
use crate::queue::Urgency;
use crate::request::Last;
use crate::space::{Phase, Space, Wanted};
use crate::table::TableImage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{Asid, CommandStatus, Operation, PageSizes, SpacePlacement, Stripe, VirtAddr};

impl Pager {
    /// Begins a client's request, or applies its hint.
    pub(super) fn request(&mut self, event: Event) {
        match event {
            Event::CreateSpace {
                request,
                asid,
                limit,
                placement,
            } => {
                if let Err(error) = self.create_space(request, asid, limit, placement) {
                    self.issued.answer(request, Err(error));
                }
            }
            Event::ShareSpace { asid, share } => {
                if let Some(space) = self.spaces.space_mut(asid) {
                    space.share = share;
                }
            }
            Event::DestroySpace { request, asid } => self.destroy_space(request, asid),
            Event::CreateObject {
                request,
                object,
                offset,
                bytes,
                kind,
                page_size,
            } => {
                let range = offset..offset.saturating_add(bytes);
                let result = self.pages.create_object(object, range, kind, page_size);
                self.issued.answer(request, result);
            }
            Event::ObjectHole {
                object,
                offset,
                bytes,
            } => {
                if let Some(object) = self.pages.object_mut(object) {
                    object.add_hole(offset, bytes);
                }
            }
            Event::VaryPages { object, sizes } => self.pages.vary(object, sizes),
            Event::PlaceOn {
                object,
                first,
                channels,
            } => {
                let there = first..(first + channels).min(self.memory.channels().end);
                let object = self.pages.object_mut(object);
                if let Some(object) = object.filter(|_| !there.is_empty()) {
                    object.channels = Some(there);
                }
            }
            Event::PlaceDirect { object, memory } => self.pages.place_direct(object, memory),
            Event::CloseObject {
                request,
                object,
                discard,
            } => self.close_object(request, object, discard),
            Event::Map {
                request,
                asid,
                address,
                object,
                offset,
                bytes,
                read,
                write,
            } => {
                let wanted = Wanted {
                    object,
                    offset,
                    bytes,
                    read,
                    write,
                };
                self.map(request, asid, address, wanted);
            }
            Event::Unmap {
                request,
                asid,
                address,
                bytes,
            } => match self.spaces.checked_range(asid, address, bytes) {
                Ok(range) => self.unmap(request, asid, range),
                Err(error) => self.issued.answer(request, Err(error)),
            },
            Event::Sync {
                request,
                asid,
                address,
                bytes,
            } => match self.spaces.checked_range(asid, address, bytes) {
                Ok(range) => self.sync(request, asid, range),
                Err(error) => self.issued.answer(request, Err(error)),
            },
            Event::Refresh {
                request,
                asid,
                address,
                bytes,
                discard,
            } => match self.spaces.checked_range(asid, address, bytes) {
                Ok(range) => self.refresh(request, asid, range, discard),
                Err(error) => self.issued.answer(request, Err(error)),
            },
            Event::Prefetch {
                asid,
                address,
                bytes,
            } => self.demand().prefetch(asid, address, bytes),
            Event::Announce { asid, address } => self.demand().announce(asid, address),
            Event::Advise {
                request,
                asid,
                address,
                bytes,
                advice,
            } => {
                let range = self.spaces.checked_range(asid, address, bytes);
                let (pages, spaces) = (&mut self.pages, &mut self.spaces);
                let advise = |range| mapping::advise(pages, spaces, asid, &range, advice);
                let result = range.map(advise).map(|()| Success::Done);
                self.issued.answer(request, result);
            }
            Event::HostTrap {
                request,
                object,
                offset,
                write,
            } => self.host_trap(request, object, offset, write),
            // Dispatched by the caller.
            Event::Fault(_)
            | Event::OperationDone { .. }
            | Event::IoDone { .. }
            | Event::SlotStopped { .. } => {}
        }
    }

    fn create_space(
        &mut self,
        request: RequestId,
        asid: Asid,
        limit: Option<u64>,
        placement: SpacePlacement,
    ) -> Result<(), PagerError> {
        if self.spaces.space(asid).is_some() {
            return Err(PagerError::SpaceExists { asid });
        }
        let frames = self.memory.frames();
        if !frames.has_placement(placement) {
            return Err(PagerError::NoSuchPlacement { asid, placement });
        }
        let all = frames.channels_of(placement);
        let channels = self.spaces.channels_for(asid, placement, all);
        let sets_log2 = self.config.table_sets_log2;
        let table = self.memory.allocate_table(channels.clone(), sets_log2);
        let bytes = 64 << sets_log2;
        let (geometry, table_frame) = table.ok_or(PagerError::NoTableMemory { asid, bytes })?;
        let space = Space {
            phase: Phase::Creating,
            share: 0,
            table: TableImage::new(geometry),
            table_frame,
            old_table: None,
            mappings: BTreeMap::new(),
            limit,
            placement,
            channels,
            charged: 0,
            page_sizes: PageSizes::only(self.config.page_size),
            unmaps: BTreeSet::new(),
        };
        let channels = self.memory.channels().len();
        self.spaces.create(asid, request, space, channels);
        self.counts.begin_space(asid);
        let zero = Operation::Zero {
            to: geometry.base(),
            bytes: geometry.bytes(),
            stripe: Stripe::NONE,
        };
        let meaning = Some(Meaning::TableZeroed(asid));
        self.issued.command(Step::new(zero, meaning));
        Ok(())
    }

    /// The table of a space is zeroed: the space can be used.
    pub(super) fn table_zeroed(&mut self, asid: Asid, status: CommandStatus) {
        let Some(request) = self.spaces.created(asid) else {
            return;
        };
        if status != CommandStatus::Ok {
            self.completion().remove_space(asid);
            let error = PagerError::TableFailed { asid, status };
            return self.issued.answer(request, Err(error));
        }
        let Some(space) = self.spaces.space_mut(asid) else {
            return;
        };
        space.phase = Phase::Ready;
        self.issued.push(Action::EnableSpace {
            asid,
            table: space.table.geometry(),
            stripe: space.placement.stripe(),
            size_classes: space.page_sizes.bits(),
        });
        self.issued.answer(request, Ok(Success::Done));
    }

    fn destroy_space(&mut self, request: RequestId, asid: Asid) {
        let unmaps = match self.spaces.ready(asid) {
            Err(error) => return self.issued.answer(request, Err(error)),
            Ok(space) => {
                space.phase = Phase::Destroying(request);
                space.unmaps.len()
            }
        };
        self.requests.open(request, Last::DestroySpace(asid));
        (0..unmaps).for_each(|_| self.requests.add_one(request));
        self.unmap_pages(request, asid, 0..1 << VirtAddr::BITS);
        self.end([request], Ok(()));
    }

    fn close_object(&mut self, request: RequestId, object: ObjectId, discard: bool) {
        if let Err(error) = self.pages.closable(object) {
            return self.issued.answer(request, Err(error));
        }
        if let Some(known) = self.pages.object_mut(object) {
            known.closing = true;
            known.discard = discard || known.kind == ObjectKind::Anonymous;
        }
        self.requests.open(request, Last::CloseObject(object));
        for key in self.pages.pages_of(object, 0..u64::MAX) {
            self.release_for(request, key);
        }
        self.end([request], Ok(()));
    }

    /// Makes a request wait until a page has left (or is found to be used by others).
    fn release_for(&mut self, request: RequestId, key: ObjectPage) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        if page.state() == State::Waiting {
            if page.waiters.is_empty() {
                self.work.forget(&mut self.pages, key);
            }
            return;
        }
        page.requests.leaving.push(request);
        self.hurry_clean(key);
        self.requests.add_one(request);
        self.settle(key);
    }

    /// A request waits for a page: if that is cleaned, it needs its buffer now.
    fn hurry_clean(&mut self, key: ObjectPage) {
        let waits = State::WritingBack {
            purpose: Purpose::Clean,
            stage: Stage::AwaitingBuffer,
        };
        if self.pages.state(key) == Some(waits) {
            self.buffers.push(key, Urgency::Head);
        }
    }

    fn map(&mut self, request: RequestId, asid: Asid, address: Option<VirtAddr>, wanted: Wanted) {
        let (pages, spaces) = (&mut self.pages, &mut self.spaces);
        let result = mapping::map(pages, spaces, &self.memory, asid, address, wanted);
        if result.is_ok() {
            let size = pages.page_size_of(wanted.object);
            spaces.use_page_size(&mut self.issued, asid, size);
        }
        self.issued.answer(request, result);
    }

    fn unmap(&mut self, request: RequestId, asid: Asid, range: Range<u64>) {
        self.requests.open(request, Last::Unmap(asid));
        if let Some(space) = self.spaces.space_mut(asid) {
            space.unmaps.insert(request);
        }
        self.unmap_pages(request, asid, range);
        self.end([request], Ok(()));
    }

    /// Ends the mappings in a range; the request waits for their pages.
    fn unmap_pages(&mut self, request: RequestId, asid: Asid, range: Range<u64>) {
        for cut in mapping::unmap(&mut self.pages, &mut self.spaces, asid, &range) {
            let (start, mapping) = cut.gone;
            let indices = mapping.object_pages();
            for key in self.pages.pages_of(mapping.object, indices.clone()) {
                let offset = (key.index - indices.start) << mapping.unit.bits();
                let address = VirtAddr::truncated(start.get() + offset);
                self.translation().detach(key, asid, address);
                self.release_for(request, key);
            }
        }
    }

    fn sync(&mut self, request: RequestId, asid: Asid, range: Range<u64>) {
        self.requests.open(request, Last::Answer);
        for part in self.spaces.mapped_in(asid, range) {
            for key in self.pages.pages_of(part.object, part.indices) {
                self.sync_page(request, key);
            }
        }
        self.end([request], Ok(()));
    }

    /// Makes a request wait until stores to a page before now are saved.
    fn sync_page(&mut self, request: RequestId, key: ObjectPage) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        match page.state() {
            // Nothing has been written since its data was fetched.
            State::Waiting
            | State::AwaitingBuffer
            | State::AwaitingZero
            | State::Claiming
            | State::Reading(_)
            | State::Fetching
            | State::Loading { .. } => return,
            // It may have been written again since its copy was taken.
            State::WritingBack {
                purpose: Purpose::Clean,
                stage: Stage::Writing(_),
            } => page.requests.wanted.push(request),
            State::WritingBack { stage, .. } => {
                page.requests.joined.push(request);
                if stage == Stage::AwaitingBuffer {
                    self.buffers.push(key, Urgency::Head);
                }
            }
            State::Installing { .. } | State::Resident | State::Upgrading => {
                page.requests.wanted.push(request)
            }
        }
        self.requests.add_one(request);
        self.settle(key);
    }

    fn refresh(&mut self, request: RequestId, asid: Asid, range: Range<u64>, discard: bool) {
        self.requests.open(request, Last::Answer);
        for part in self.spaces.mapped_in(asid, range) {
            let known = self.pages.object_mut(part.object);
            let Some(known) = known.filter(|known| matches!(known.kind, ObjectKind::File { .. }))
            else {
                continue;
            };
            known.may_have_changed(part.indices.clone());
            for key in self.pages.pages_of(part.object, part.indices) {
                self.refresh_page(request, key, discard);
            }
        }
        self.end([request], Ok(()));
    }

    /// Makes a request wait until a page has left, if its data was read before now.
    fn refresh_page(&mut self, request: RequestId, key: ObjectPage, discard: bool) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        if matches!(page.state(), State::Waiting | State::AwaitingBuffer) {
            return;
        }
        page.requests.returning.push(request);
        page.content.drop_dirty |= discard;
        self.hurry_clean(key);
        self.requests.add_one(request);
        self.settle(key);
    }

    /// A program's access was trapped.
    fn host_trap(&mut self, request: RequestId, object: ObjectId, offset: u64, write: bool) {
        let known = match self.pages.object_mut(object) {
            None => Err(PagerError::NoSuchObject { object }),
            Some(known) if offset >= known.end => Err(PagerError::OffsetPastEnd {
                object,
                offset,
                bytes: known.end,
            }),
            Some(known) => Ok(known),
        };
        let known = match known {
            Err(error) => return self.issued.answer(request, Err(error)),
            Ok(known) => known,
        };
        known.expected = 0..0;
        let index = offset >> self.pages.page_size_of(object).bits();
        let key = ObjectPage { object, index };
        let asid = self.pages.brought_by(key);
        self.counts.add_in(asid, |counts| counts.shared.traps += 1);
        self.requests.open(request, Last::Answer);
        let page = self.pages.page_mut(key);
        // A page that only waits for a frame still belongs to the host.
        if let Some(page) = page.filter(|page| page.state() != State::Waiting) {
            if write {
                page.requests.returning.push(request);
            } else {
                page.requests.wanted.push(request);
            }
            self.requests.add_one(request);
            self.settle(key);
        }
        self.end([request], Ok(()));
    }
}
