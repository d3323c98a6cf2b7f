//! Early write-back. Eviction candidates are cleaned before memory is short, so that they can leave without delay when
//! a frame is needed. Pages that a kernel writes sequentially are cleaned behind it, so that little is left to save
//! when it ends.
//!
//! Three bounds apply: only the next eviction candidates are examined, the number of pages under way is limited, and a
//! page is cleaned early once per residency, however often it is written again. If a kernel writes such a page again,
//! its object is excluded from cleaning behind from then on: the kernel returns to written data, so that early saves are
//! wasted.

use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage};
use crate::page::State;
use crate::pages::Pages;
use crate::work::Work;
use std::ops::Range;

/// Maximum pages under cleaning at once.
const AT_ONCE: usize = 2;
/// Maximum pages examined, whatever their size.
pub(crate) const LOOK: usize = 256;

/// Whether another page may be cleaned early.
pub(crate) fn may_begin(work: &Work) -> bool {
    work.cleaned() < AT_ONCE
}

/// The first of the upcoming eviction candidates, in order, up to `bytes` bytes. `advised`: pages are retained by
/// advice.
pub(crate) fn candidates(
    pages: &Pages,
    mut upcoming: Vec<ObjectPage>,
    bytes: u64,
    advised: bool,
) -> Vec<ObjectPage> {
    let mut left = bytes;
    let enough = |key: &ObjectPage| {
        let more = left > 0;
        left = left.saturating_sub(pages.size_of(*key).bytes());
        more
    };
    if advised {
        upcoming.sort_by_key(|&key| pages.page(key).map(|page| page.keep));
    }
    upcoming.into_iter().take_while(enough).collect()
}

/// Records that a writing requester has passed these pages of an object, in its smallest page size.
pub(crate) fn note_passed(pages: &Pages, work: &mut Work, object: ObjectId, passed: Range<u64>) {
    let known = pages.object(object);
    if known.is_some_and(|known| !known.rewritten) {
        work.pass(pages.pages_of(object, passed));
    }
}

/// The next page that was written sequentially and is worth cleaning, in the order in which they were passed.
pub(crate) fn next_behind(pages: &Pages, work: &mut Work) -> Option<ObjectPage> {
    while may_begin(work) {
        let key = work.next_passed()?;
        let object = pages.object(key.object);
        let rewritten = object.is_some_and(|object| object.rewritten);
        if !rewritten && is_worth_it(pages, work, key) {
            return Some(key);
        }
    }
    None
}

/// Whether a page is idle, possibly written, backed by storage, and not cleaned ahead before.
pub(crate) fn is_worth_it(pages: &Pages, work: &Work, key: ObjectPage) -> bool {
    let Some((page, object)) = pages.page_and_object(key) else {
        return false;
    };
    page.state() == State::Resident
        && page.entries.unreported == 0
        && page.waiters.is_empty()
        && page.may_be_written()
        && !page.content.cleaned
        && !page.content.unsaved
        && !work.is_examined(key)
        && matches!(object.kind, ObjectKind::File { .. })
}
