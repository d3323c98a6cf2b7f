//! Write-back before somebody asks for it: pages that would leave next are cleaned before memory is short, so that they can
//! leave at once when a frame is needed, and pages that a kernel has written in order are cleaned behind it, so that little is
//! left to be saved when it ends.

use crate::action::Action;
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage};
use crate::page::{Purpose, State};
use crate::pager::Pager;
use std::ops::Range;

/// Pages that are cleaned at once, at most.
const AT_ONCE: usize = 2;
/// Pages that are looked at, however small they are.
const LOOK: usize = 256;

impl Pager {
    /// Cleans pages while few frames are free. True if anything changed.
    ///
    /// Bounded three ways: only the pages that would leave next are looked at, only some are under way
    /// at once, and a page is cleaned ahead once in its stay, however often it is written again.
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

    /// A requester that writes has gone through these pages of an object, counted in its smallest.
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

    /// Cleans pages that were written in order, in the order in which they were passed. True if anything changed.
    ///
    /// Bounded like cleaning ahead. Where a kernel writes such a page again its object is left alone from then on: the kernel
    /// comes back to what it has written, and saving it early was in vain.
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

    /// At rest, perhaps written, with storage of its own, and not cleaned ahead before.
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
