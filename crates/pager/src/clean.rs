//! Early write-back. Eviction candidates are cleaned before memory is short, so that they can leave without delay when
//! a frame is needed. Pages that a kernel writes sequentially are cleaned behind it, so that little is left to save
//! when it ends.

use crate::action::Action;
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage};
use crate::page::{Purpose, State};
use crate::pager::Pager;
use std::ops::Range;

/// Maximum pages under cleaning at once.
const AT_ONCE: usize = 2;
/// Maximum pages examined, whatever their size.
const LOOK: usize = 256;

impl Pager {
    /// Cleans pages while few frames are free. Returns true if anything changed.
    ///
    /// Three bounds apply: only the next eviction candidates are examined, the number of pages under way is limited,
    /// and a page is cleaned ahead once per residency, however often it is written again.
    pub(crate) fn clean_ahead(&mut self, out: &mut Vec<Action>) -> bool {
        if self.clean_ahead == 0 || self.free_frames() >= self.clean_ahead {
            return false;
        }
        let mut left = self.clean_ahead << self.page_size.bits();
        let enough = |key: &ObjectPage| {
            let more = left > 0;
            left = left.saturating_sub(self.size_of(*key).bytes());
            more
        };
        let mut upcoming = self.policies.eviction.upcoming(LOOK);
        if self.advised {
            upcoming.sort_by_key(|key| self.pages.get(key).map(|page| page.keep));
        }
        let next: Vec<ObjectPage> = upcoming.into_iter().take_while(enough).collect();
        let mut changed = false;
        for key in next {
            if self.cleaning.len() >= AT_ONCE {
                break;
            }
            if !self.worth_cleaning(key) {
                continue;
            }
            self.statistics.pages_cleaned_ahead += 1;
            self.clean(key, out);
            changed = true;
        }
        changed
    }

    /// Records that a writing requester has passed these pages of an object, in its smallest page size.
    pub(crate) fn note_passed(&mut self, object: ObjectId, passed: Range<u64>) {
        let Some(known) = self.objects.get(&object).filter(|_| self.overlap) else {
            return;
        };
        if known.rewritten {
            return;
        }
        let pages = self.pages_of(object, passed);
        self.passed.extend(pages);
    }

    /// Cleans pages that were written sequentially, in the order in which they were passed. Returns true if anything
    /// changed.
    ///
    /// Bounded like cleaning ahead. If a kernel writes such a page again, its object is excluded from then on: the
    /// kernel returns to written data, so that early saves are wasted.
    pub(crate) fn clean_behind(&mut self, out: &mut Vec<Action>) -> bool {
        let mut changed = false;
        while self.cleaning.len() < AT_ONCE {
            let Some(key) = self.passed.pop_front() else {
                break;
            };
            let object = self.objects.get(&key.object);
            if object.is_some_and(|object| object.rewritten) || !self.worth_cleaning(key) {
                continue;
            }
            self.statistics.pages_cleaned_behind += 1;
            self.clean(key, out);
            changed = true;
        }
        changed
    }

    /// A kernel writes a page that it could only read.
    pub(crate) fn note_rewritten(&mut self, key: ObjectPage) {
        let cleaned = self.pages.get(&key).is_some_and(|page| page.cleaned);
        if let Some(object) = self.objects.get_mut(&key.object) {
            object.rewritten |= cleaned;
        }
    }

    fn clean(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        if let Some(page) = self.pages.get_mut(&key) {
            page.cleaned = true;
        }
        self.begin_write_back(key, Purpose::Clean, out);
    }

    /// Whether a page is idle, possibly written, backed by storage, and not cleaned ahead before.
    fn worth_cleaning(&self, key: ObjectPage) -> bool {
        let Some((page, object)) = self.pages.get(&key).zip(self.objects.get(&key.object)) else {
            return false;
        };
        let written = page.dirty || page.entries.iter().any(|entry| entry.write);
        page.state == State::Resident
            && page.unreported == 0
            && page.waiters.is_empty()
            && written
            && !page.cleaned
            && !page.unsaved
            && !self.examined.contains(&key)
            && matches!(object.kind, ObjectKind::File { .. })
    }
}
