//! Pages with work under way or to come: those that wait for a frame or to be zeroed, that are zeroed, released,
//! cleaned or examined, and that are to be cleaned or joined.

use crate::ids::ObjectPage;
use crate::page::Page;
use crate::pages::Pages;
use crate::queue::{PageQueue, SharedQueue, Urgency};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Queues and sets of pages.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Work {
    frame_queue: PageQueue,
    zero_queue: SharedQueue,
    zeroing: Zeroing,
    releasing: BTreeSet<ObjectPage>,
    cleaning: BTreeSet<ObjectPage>,
    /// Pages that were written in order and are to be cleaned, in the order in which they were passed.
    passed: VecDeque<ObjectPage>,
    /// Pages with an outstanding examination of their accessed bits.
    examined: BTreeSet<ObjectPage>,
    /// Pages that became idle at this event; empty between events.
    rested: Vec<ObjectPage>,
}

/// Pages that are being zeroed, where this matters: their share and size in bytes.
#[derive(Clone, Debug, Default, Hash)]
struct Zeroing {
    pages: BTreeMap<ObjectPage, (u64, u64)>,
    /// Bytes by share.
    shares: BTreeMap<u64, u64>,
}

impl Zeroing {
    fn begin(&mut self, page: ObjectPage, share: u64, bytes: u64) {
        self.pages.insert(page, (share, bytes));
        *self.shares.entry(share).or_default() += bytes;
    }

    fn end(&mut self, page: ObjectPage) {
        let Some((share, bytes)) = self.pages.remove(&page) else {
            return;
        };
        if let Entry::Occupied(mut total) = self.shares.entry(share) {
            *total.get_mut() -= bytes;
            if *total.get() == 0 {
                total.remove();
            }
        }
    }

    /// Whether a page of a share may begin, if `most` bytes of it are enough; one page always may.
    fn may_begin(&self, share: u64, most: u64) -> bool {
        self.shares.get(&share).is_none_or(|&bytes| bytes < most)
    }
}

impl Work {
    /// Queues a page for a frame, or raises its urgency.
    pub(crate) fn await_frame(&mut self, page: ObjectPage, urgency: Urgency) {
        self.frame_queue.push(page, urgency);
    }

    /// The page has its frame, or needs none.
    pub(crate) fn has_frame(&mut self, page: ObjectPage) {
        self.frame_queue.remove(page);
    }

    /// Pages that wait for a frame, most urgent first.
    pub(crate) fn awaiting_frame(&self) -> Vec<ObjectPage> {
        self.frame_queue.pages()
    }

    pub(crate) fn awaits_frame(&self, page: ObjectPage) -> bool {
        self.frame_queue.contains(page)
    }

    /// Number of pages that wait for a frame.
    pub(crate) fn frames_awaited(&self) -> usize {
        self.frame_queue.len()
    }

    /// Removes the record of a page that has no frame.
    pub(crate) fn forget(&mut self, pages: &mut Pages, page: ObjectPage) {
        self.frame_queue.remove(page);
        if let Some(page) = pages.remove(page) {
            page.end();
        }
    }

    /// Queues a page to be zeroed, for a share, or raises its urgency.
    pub(crate) fn await_zero(&mut self, share: u64, page: ObjectPage, urgency: Urgency) {
        self.zero_queue.push(share, page, urgency);
    }

    pub(crate) fn awaits_zero(&self, page: ObjectPage) -> bool {
        self.zero_queue.contains(page)
    }

    /// Takes the next page to be zeroed: those with a waiting access immediately, others while fewer than `most` bytes
    /// are zeroed for their share, because a kernel that has its page needs the memory bandwidth more than one that does
    /// not need its page yet.
    pub(crate) fn begin_zero(&mut self, pages: &Pages, most: u64) -> Option<ObjectPage> {
        let zeroing = &self.zeroing;
        let (share, next) = self.zero_queue.take(|share, key| {
            let page = pages.page(key);
            let waited_for = page.is_some_and(|page| page.urgency <= Urgency::Ahead);
            waited_for || zeroing.may_begin(share, most)
        })?;
        self.zeroing.begin(next, share, pages.size_of(next).bytes());
        Some(next)
    }

    /// The page is zeroed, or its fill has failed.
    pub(crate) fn end_zero(&mut self, page: ObjectPage) {
        self.zeroing.end(page);
    }

    pub(crate) fn is_zeroed(&self, page: ObjectPage) -> bool {
        self.zeroing.pages.contains_key(&page)
    }

    pub(crate) fn begin_release(&mut self, page: ObjectPage) {
        self.releasing.insert(page);
    }

    pub(crate) fn end_release(&mut self, page: ObjectPage) {
        self.releasing.remove(&page);
    }

    pub(crate) fn is_released(&self, page: ObjectPage) -> bool {
        self.releasing.contains(&page)
    }

    pub(crate) fn begin_clean(&mut self, page: ObjectPage) {
        self.cleaning.insert(page);
    }

    pub(crate) fn end_clean(&mut self, page: ObjectPage) {
        self.cleaning.remove(&page);
    }

    pub(crate) fn is_cleaned(&self, page: ObjectPage) -> bool {
        self.cleaning.contains(&page)
    }

    /// Number of pages that are being cleaned.
    pub(crate) fn cleaned(&self) -> usize {
        self.cleaning.len()
    }

    /// A writing requester has passed these pages.
    pub(crate) fn pass(&mut self, pages: impl IntoIterator<Item = ObjectPage>) {
        self.passed.extend(pages);
    }

    /// Takes the next page that a writing requester has passed.
    pub(crate) fn next_passed(&mut self) -> Option<ObjectPage> {
        self.passed.pop_front()
    }

    pub(crate) fn begin_examination(&mut self, page: ObjectPage) {
        self.examined.insert(page);
    }

    pub(crate) fn end_examination(&mut self, page: ObjectPage) {
        self.examined.remove(&page);
    }

    pub(crate) fn is_examined(&self, page: ObjectPage) -> bool {
        self.examined.contains(&page)
    }

    /// Whether a page is leaving, or may leave soon.
    pub(crate) fn may_leave(&self, page: ObjectPage) -> bool {
        self.is_released(page) || self.is_examined(page)
    }

    /// Pages that are leaving, or may leave soon.
    pub(crate) fn leaving<'a>(
        &'a self,
        pages: &'a Pages,
    ) -> impl Iterator<Item = (ObjectPage, &'a Page)> {
        let keys = self.releasing.iter().chain(&self.examined);
        keys.filter_map(|&key| Some((key, pages.page(key)?)))
    }

    /// A page has become idle, and might become a part of a larger one at the end of the event.
    pub(crate) fn rest(&mut self, page: ObjectPage) {
        self.rested.push(page);
    }

    pub(crate) fn take_rested(&mut self) -> Vec<ObjectPage> {
        std::mem::take(&mut self.rested)
    }

    /// Whether no page waits for a frame or to be zeroed.
    pub(crate) fn is_idle(&self) -> bool {
        self.frame_queue.is_empty() && self.zero_queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Waiter, Wish};
    use crate::pages::Sizes;
    use units::{Asid, PageSize, PageSizes, VirtAddr};

    #[test]
    fn pages_without_an_access_are_zeroed_a_few_at_once() {
        let mut pages = Pages::new(Sizes {
            usual: PageSize::KIB_4,
            possible: PageSizes::ALL,
            largest_moved: PageSize::KIB_4,
            piece_bytes: 0,
        });
        let mut work = Work::default();
        let page = |index| ObjectPage {
            index,
            ..ObjectPage::default()
        };
        let mut queue = |work: &mut Work, index, urgency| {
            let waiter = Waiter {
                asid: Asid::default(),
                address: VirtAddr::default(),
                wish: Wish::Install,
            };
            let size = PageSize::KIB_4;
            pages.insert(page(index), Page::wanted_by(waiter, urgency, size));
            work.await_zero(0, page(index), urgency);
        };
        for index in 0..3 {
            queue(&mut work, index, Urgency::Soon);
        }
        queue(&mut work, 9, Urgency::Ahead);
        let begin = |work: &mut Work| work.begin_zero(&pages, 8192);
        assert_eq!(begin(&mut work), Some(page(9)), "an access waits");
        assert_eq!(begin(&mut work), Some(page(0)));
        assert_eq!(begin(&mut work), None, "two are zeroed");
        assert!(work.awaits_zero(page(1)) && work.is_zeroed(page(0)) && !work.is_idle());
        work.end_zero(page(9));
        assert_eq!(begin(&mut work), Some(page(1)));
        assert_eq!(begin(&mut work), None);
    }
}
