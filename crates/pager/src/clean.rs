//! Write-back ahead: pages that would leave next are cleaned before memory is short, so that they can
//! leave at once when a frame is needed.

use crate::action::Action;
use crate::event::ObjectKind;
use crate::page::{ObjectPage, Purpose, State};
use crate::pager::Pager;

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
            if let Some(page) = self.pages.get_mut(&key) {
                page.cleaned = true;
            }
            self.statistics.pages_cleaned_ahead += 1;
            self.begin_write_back(key, Purpose::Clean, out);
            changed = true;
        }
        changed
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
