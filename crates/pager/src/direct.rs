//! Direct pages: they stay in host memory, and kernels access them there over PCIe (FSRF §4.6).
//!
//! The owner gives an object a range of host memory that the card reaches, as large as all its pages. A page's place in
//! this range is its frame, so it takes no card memory and no DMA buffer: it is read from the object to its place
//! ([`State::Fetching`]), its entries have the target *host*, and kernel stores are written from its place to the
//! object ([`Stage::Saving`]). Because there is no copy, all writes to it are blocked meanwhile. Pages of shared memory
//! are resident from the beginning and need neither transfer. A page leaves when it is unmapped or refreshed, or its
//! object is closed, never to make room. When it has left, every Invalidate has completed, so the owner may remove the
//! card's access to the memory as soon as the object is closed.

use crate::action::{Action, Around};
use crate::error::{AccessError, Direction, IoError};
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage};
use crate::page::{Purpose, Stage, State};
use crate::pager::Pager;
use crate::sabotage::Sabotage;
use units::HostAddr;

impl Pager {
    /// Places the pages of a file in this host memory; pages of shared memory stay where they are.
    pub(crate) fn place_direct(&mut self, object: ObjectId, memory: HostAddr) {
        let used = !self.pages_of(object, 0..u64::MAX).is_empty();
        if let Some(known) = self.objects.get_mut(&object) {
            let file = match known.kind {
                ObjectKind::File { .. } => true,
                ObjectKind::Host { memory: own } => own == memory,
                ObjectKind::Anonymous => false,
            };
            // Pages of several sizes split and join, which moves data.
            let one_size = known.unit() == known.page_size;
            let aligned = memory.get() % known.page_size.bytes() == 0;
            let free = !used && !known.closing && known.direct.is_none();
            if file && one_size && aligned && free {
                known.direct = Some(memory);
            }
        }
    }

    /// Whether the pages of an object stay in host memory.
    pub fn is_direct(&self, object: ObjectId) -> bool {
        let known = self.objects.get(&object);
        known.is_some_and(|known| known.direct.is_some())
    }

    /// Whether a page has a place in host memory. If a mapping is longer than its object, the pages behind the object
    /// have none: that memory may belong to another owner. They are zeroes on the card, as for any object.
    pub(crate) fn stays_in_host(&self, key: ObjectPage) -> bool {
        self.is_direct(key.object) && !self.part_on(key).is_empty()
    }

    /// Fetches a page's data to its place, without a frame.
    pub(crate) fn begin_direct(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let keep = self.keep_of(key);
        let place = self.objects.get(&key.object);
        let place = place.and_then(|object| object.direct_address(key.index));
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        page.keep = keep;
        page.drop_dirty = false;
        page.moved = 0;
        page.direct = place;
        page.enter(State::Fetching);
        if page.is_hint() {
            self.statistics.pages_hinted += 1;
        }
        if self.host_address(key).is_some() {
            return self.direct_there(key, out);
        }
        let Some((offset, bytes, at, around)) = self.direct_part(key) else {
            return;
        };
        out.push(Action::FillDirect {
            io: self.issued.io(key, Direction::Read),
            object: key.object,
            offset,
            bytes,
            at,
            around,
        });
    }

    /// The part of a page that is the object's: offset in the file, bytes, offset in the direct memory, and the bytes
    /// before and after it in the page.
    fn direct_part(&self, key: ObjectPage) -> Option<(u64, u64, u64, Around)> {
        let object = self.objects.get(&key.object)?;
        let own = self.part_on(key);
        let size = self.size_of(key).bytes();
        let base = object.direct_offset(key.index);
        let offset = (key.index << object.unit().bits()) + own.start;
        let around = Around {
            before: own.start,
            behind: size - own.end,
        };
        Some((offset, own.end - own.start, base + own.start, around))
    }

    /// Handles the end of a fetch, successful or not. Returns false if the page is not direct.
    pub(crate) fn direct_filled(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) -> bool {
        let page = self.pages.get(&key);
        if page.is_none_or(|page| page.state != State::Fetching) {
            return false;
        }
        let wanted = self.own_bytes(key);
        match IoError::check(result, wanted) {
            Ok(()) => {
                self.statistics.pages_read += 1;
                self.count_of(key, |space| space.pages_read += 1);
                self.count_moved(key, Direction::Read, wanted);
                self.direct_there(key, out);
            }
            Err(error) => {
                let error = self.io_error(Direction::Read, key, error);
                self.fail_fill(key, AccessError::Fetch(error), out);
            }
        }
        true
    }

    /// The data is in its place: kernels may use it.
    fn direct_there(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        self.statistics.pages_direct += 1;
        self.statistics.bytes_direct += self.own_bytes(key);
        self.become_resident(key, out);
    }

    /// Saves a dirty page to the object, once all writes to it are blocked.
    pub(crate) fn save_direct(&mut self, key: ObjectPage, purpose: Purpose, out: &mut Vec<Action>) {
        let Some((offset, bytes, at, around)) = self.direct_part(key) else {
            return;
        };
        if let Some(page) = self.pages.get_mut(&key) {
            page.dirty = false;
        }
        if self.sabotaged(Sabotage::ForgetDirect) {
            return self.written_back(key, purpose, Ok(()), out);
        }
        if let Some(page) = self.pages.get_mut(&key) {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::Saving,
            });
        }
        out.push(Action::SaveDirect {
            io: self.issued.io(key, Direction::Write),
            object: key.object,
            offset,
            bytes,
            at,
            around,
        });
    }

    /// Handles the end of a save, successful or not. Returns false if the page is not direct.
    pub(crate) fn direct_saved(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) -> bool {
        let state = self.pages.get(&key).map(|page| page.state);
        let Some(State::WritingBack {
            purpose,
            stage: Stage::Saving,
        }) = state
        else {
            return false;
        };
        let wanted = self.own_bytes(key);
        let result = IoError::check(result, wanted);
        if result.is_ok() {
            self.statistics.pages_written += 1;
            self.count_of(key, |space| space.pages_written += 1);
            self.count_moved(key, Direction::Write, wanted);
            self.statistics.pages_direct_written += 1;
            let size = self.size_of(key);
            if let Some(object) = self.objects.get_mut(&key.object) {
                object.saved(key.index, size);
            }
        }
        let result = result.map_err(|error| self.io_error(Direction::Write, key, error));
        self.written_back(key, purpose, result, out);
        true
    }
}
