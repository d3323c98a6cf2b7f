//! Creation and removal of objects.

use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::object::Object;
use crate::page::{Purpose, Stage, State};
use crate::pager::Pager;
use crate::queue::Urgency;
use crate::request::{answer, Last};
use std::collections::btree_map::Entry;
use std::ops::Range;
use units::{PageSize, SpacePlacement};

impl Pager {
    pub(crate) fn create_object(
        &mut self,
        request: RequestId,
        object: ObjectId,
        range: Range<u64>,
        kind: ObjectKind,
        page_size: Option<PageSize>,
        out: &mut Vec<Action>,
    ) {
        let page = page_size.unwrap_or(self.page_size);
        let sizes = self.page_sizes;
        let bytes = range.end.saturating_sub(range.start);
        let free = match self.objects.entry(object) {
            Entry::Occupied(_) => Err(PagerError::ObjectExists { object }),
            Entry::Vacant(_) if bytes == 0 => Err(PagerError::EmptyObject { object }),
            Entry::Vacant(_) if !sizes.contains(page) => Err(PagerError::NoSuchPageSize {
                object,
                page,
                sizes,
            }),
            Entry::Vacant(_)
                if matches!(kind, ObjectKind::Host { .. })
                    && (range.start != 0 || bytes % page.bytes() != 0) =>
            {
                Err(PagerError::PartialHostPage {
                    object,
                    bytes,
                    page,
                })
            }
            Entry::Vacant(free) => Ok(free),
        };
        let result = free.map(|free| {
            free.insert(Object::new(range, kind, page));
            Success::Done
        });
        out.push(answer(request, result));
    }

    pub(crate) fn place_on(&mut self, object: ObjectId, channels: Range<usize>) {
        let all = self.memory.channels_of(SpacePlacement::Anywhere);
        let there = channels.start..channels.end.min(all.end);
        if let Some(object) = self.objects.get_mut(&object).filter(|_| !there.is_empty()) {
            object.channels = Some(there);
        }
    }

    pub(crate) fn object_hole(&mut self, object: ObjectId, offset: u64, bytes: u64) {
        if let Some(object) = self.objects.get_mut(&object) {
            object.add_hole(offset, bytes);
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
    pub(crate) fn pages_of(&self, object: ObjectId, indices: Range<u64>) -> Vec<ObjectPage> {
        let key = |index| ObjectPage { object, index };
        self.pages
            .range(key(indices.start)..key(indices.end))
            .map(|(&key, _)| key)
            .collect()
    }

    /// Makes a request wait until a page has left (or is found to be used by others).
    pub(super) fn release_for(
        &mut self,
        request: RequestId,
        key: ObjectPage,
        out: &mut Vec<Action>,
    ) {
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
        let waits = State::WritingBack {
            purpose: Purpose::Clean,
            stage: Stage::AwaitingBuffer,
        };
        if page.state == waits {
            self.buffer_queue.push(key, Urgency::Head);
        }
        self.requests.add_one(request);
        self.settle(key, out);
    }
}
