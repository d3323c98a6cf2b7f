//! Shared memory: pages that programs of the host and kernels both read and write.
//!
//! The states are FlexiMem's (§III-C), and the transitions those of the generated table
//! `protocols/generated/esi.rs`, with which `tests/shared/esi.rs` compares them. The host is the table's home, the card
//! its remote. For a page that is
//!
//! - *Invalid* at the card there is no record, or one without data: programs read and write;
//! - *Shared*, the record is not [`exclusive`](Page::exclusive): programs and kernels read;
//! - *Exclusive*, it is: kernels read and write, every access of a program is trapped.
//!
//! Two orders keep that: programs lose a right *before* kernels get it ([`State::Claiming`],
//! [`State::Upgrading`]), and kernels have lost it, drained, and host memory is complete *before* programs
//! get it back ([`Stage::Yielding`]).

use crate::action::Action;
use crate::error::{AccessError, Direction, IoError, PagerError};
use crate::ids::{ObjectId, ObjectPage};
use crate::issue::{Issued, Meaning, Step};
use crate::outcome::Outcome;
use crate::page::{Purpose, Stage, State, Waiter};
use crate::pages::Pages;
use crate::statistics::Counts;
use crate::translate::Translation;
use crate::work::Work;
use std::ops::Range;
use units::{CommandStatus, HostAccess, Operation};

/// Pages fetched in addition to the accessed page.
pub(crate) struct Ahead {
    /// Pages before it and behind it.
    pub(crate) ranges: [Range<u64>; 2],
    /// Whether the access continues its requester's sequence.
    pub(crate) goes_on: bool,
}

fn protect(pages: &Pages, issued: &mut Issued, key: ObjectPage, access: HostAccess) {
    let size = pages.size_of(key);
    let io = issued.protect(key);
    issued.push(Action::ProtectHost {
        io,
        object: key.object,
        offset: key.index << size.bits(),
        bytes: size.bytes(),
        access,
    });
}

/// A page was given a frame: programs lose the right to write it, and also to read it if it is, or is expected to
/// be, requested for writing (FlexiMem's *get for writing*, ahead).
pub(crate) fn claim(pages: &mut Pages, issued: &mut Issued, key: ObjectPage) {
    let object = pages.object(key.object);
    let expected = object.is_some_and(|object| object.expected.contains(&key.index));
    let Some(page) = pages.page_mut(key) else {
        return;
    };
    page.exclusive = expected || page.waiters.iter().any(Waiter::writes);
    page.enter(State::Claiming);
    let access = if page.exclusive {
        HostAccess::None
    } else {
        HostAccess::Read
    };
    protect(pages, issued, key, access);
}

/// Begins an upgrade of a resident page that programs may read and a kernel wants to write: programs lose all
/// rights. No data moves. Returns true if the upgrade was begun.
pub(crate) fn upgrade(pages: &mut Pages, issued: &mut Issued, key: ObjectPage) -> bool {
    let Some(page) = pages.page_mut(key) else {
        return false;
    };
    let mut waiters = page.waiters.iter();
    let wanted = waiters.any(|waiter| page.awaits_upgrade(waiter));
    if page.state() != State::Resident || !wanted {
        return false;
    }
    page.enter(State::Upgrading);
    protect(pages, issued, key, HostAccess::None);
    true
}

/// Upgrades resident read-only pages that a kernel is expected to write, as it wrote those before (FlexiMem's
/// *upgrade for writing*, ahead). No data moves, and programs lose the right to read many pages in one step. The
/// kernel's write still faults, but no longer waits for programs.
pub(crate) fn upgrade_ahead(
    pages: &mut Pages,
    work: &Work,
    issued: &mut Issued,
    object: ObjectId,
    indices: Range<u64>,
) {
    let shared = pages.object(object).is_some_and(|known| {
        let first = known.host_address(indices.start);
        first.is_some() && !known.closing
    });
    if !shared {
        return;
    }
    for index in indices {
        let key = ObjectPage { object, index };
        let Some(page) = pages.page_mut(key) else {
            continue;
        };
        // The request that waits for it decides on the page.
        let requests = &page.requests;
        let rests = page.state() == State::Resident
            && page.waiters.is_empty()
            && requests.leaving.is_empty()
            && requests.returning.is_empty()
            && requests.wanted.is_empty();
        if rests && !page.exclusive && !work.is_released(key) {
            page.enter(State::Upgrading);
            protect(pages, issued, key, HostAccess::None);
        }
    }
}

/// A kernel writes pages in order: for the following pages, which its reads fetch earlier, programs lose both
/// rights at once. Writes to such pages are no longer seen, so reads that continue there are taken as writes, until
/// a program accesses the object.
pub(crate) fn expect_writes(pages: &mut Pages, object: ObjectId, write: bool, ahead: &Ahead) {
    let [_, behind] = &ahead.ranges;
    if !ahead.goes_on || behind.is_empty() {
        return;
    }
    let known = pages.object_mut(object);
    let known = known.filter(|known| write || known.expected.contains(&behind.start));
    if let Some(known) = known {
        // Windows double: reads may be two further windows ahead of writes.
        let count = behind.end - behind.start;
        known.expected = behind.start..behind.end.saturating_add(6 * count);
    }
}

/// Programs have no more rights than requested.
pub(crate) fn protected(
    translation: &mut Translation<'_>,
    key: ObjectPage,
    result: Result<u64, IoError>,
) -> Outcome {
    let Some(page) = translation.pages.page_mut(key) else {
        return Outcome::UnderWay;
    };
    let result = result.map_err(|error| {
        let offset = key.index << page.size.bits();
        PagerError::HostMemory {
            object: key.object,
            offset,
            bytes: page.size.bytes(),
            error,
        }
    });
    match (page.state(), result) {
        (State::Claiming, Ok(_)) => {
            let pages = &*translation.pages;
            let asid = pages.brought_by(key);
            let counts = &mut *translation.counts;
            counts.page_read(asid);
            counts.moved(asid, Direction::Read, pages.own_bytes(key));
            Outcome::Load
        }
        (State::Claiming, Err(error)) => Outcome::FillFailed(AccessError::Fetch(error)),
        (State::Upgrading, Ok(_)) => {
            page.exclusive = true;
            page.enter(State::Resident);
            let asid = translation.pages.brought_by(key);
            let counts = &mut *translation.counts;
            counts.add_in(asid, |counts| counts.shared.upgraded += 1);
            Outcome::Settle
        }
        (State::Upgrading, Err(error)) => {
            page.enter(State::Resident);
            let (gone, kept) = std::mem::take(&mut page.waiters)
                .into_iter()
                .partition(|waiter| page.awaits_upgrade(waiter));
            page.waiters = kept;
            let gone: Vec<Waiter> = gone;
            for waiter in gone {
                translation.fail_access(waiter, AccessError::Fetch(error));
            }
            Outcome::Settle
        }
        // Host memory is complete. If programs could not be given a right back now, they get it when they request
        // it again.
        (
            State::WritingBack {
                purpose,
                stage: Stage::Yielding,
            },
            _,
        ) => {
            page.exclusive &= purpose != Purpose::Clean;
            Outcome::WrittenBack(purpose, Ok(()))
        }
        _ => Outcome::UnderWay,
    }
}

/// No kernel can write the page now; `writes`: a dirty one is written.
pub(crate) fn drained(
    pages: &mut Pages,
    issued: &mut Issued,
    counts: &mut Counts,
    key: ObjectPage,
    purpose: Purpose,
    writes: bool,
) -> Outcome {
    let (to, asid) = (pages.host_address(key), pages.brought_by(key));
    let Some((page, to)) = pages.page_mut(key).zip(to) else {
        return Outcome::UnderWay;
    };
    let returns = page.content.dirty && writes;
    page.content.dirty = false;
    if let (true, Some(from)) = (returns, page.address_of(0)) {
        page.enter(State::WritingBack {
            purpose,
            stage: Stage::Returning,
        });
        let operation = Operation::CopyOut {
            from,
            to,
            bytes: page.size.bytes(),
            stripe: page.place.stripe,
        };
        let step = Step::new(operation, Some(Meaning::CopiedOut(key)));
        issued.command(step.of(page.place.charged));
        return Outcome::UnderWay;
    }
    if purpose == Purpose::Release {
        counts.dropped_clean(asid);
    } else if !page.exclusive {
        // Programs may read it already.
        return Outcome::WrittenBack(purpose, Ok(()));
    }
    give_back(pages, issued, counts, key, purpose);
    Outcome::UnderWay
}

/// Host memory is complete: gives the page back to programs, for reading or with all rights.
pub(crate) fn give_back(
    pages: &mut Pages,
    issued: &mut Issued,
    counts: &mut Counts,
    key: ObjectPage,
    purpose: Purpose,
) {
    let Some(page) = pages.page_mut(key) else {
        return;
    };
    page.enter(State::WritingBack {
        purpose,
        stage: Stage::Yielding,
    });
    let access = match purpose {
        Purpose::Clean => HostAccess::Read,
        Purpose::Release => HostAccess::ReadWrite,
    };
    counts.add_in(pages.brought_by(key), |counts| match purpose {
        Purpose::Clean => counts.shared.shared += 1,
        Purpose::Release => counts.shared.returned += 1,
    });
    protect(pages, issued, key, access);
}

/// Handles the end of a copy to host memory. `None` if there was no copy.
pub(crate) fn returned(
    pages: &mut Pages,
    issued: &mut Issued,
    counts: &mut Counts,
    key: ObjectPage,
    status: CommandStatus,
) -> Option<Outcome> {
    let Some(State::WritingBack {
        purpose,
        stage: Stage::Returning,
    }) = pages.state(key)
    else {
        return None;
    };
    if status != CommandStatus::Ok {
        let error = pages.card_error(Direction::Write, key, status);
        return Some(Outcome::WrittenBack(purpose, Err(error)));
    }
    let asid = pages.brought_by(key);
    counts.page_written(asid);
    counts.moved(asid, Direction::Write, pages.own_bytes(key));
    give_back(pages, issued, counts, key, purpose);
    Some(Outcome::UnderWay)
}

/// Whether a page of host memory was being copied to the card, so that it is given back if the copy fails.
pub(crate) fn is_claimed(pages: &Pages, key: ObjectPage) -> bool {
    let loading = matches!(pages.state(key), Some(State::Loading { .. }));
    loading && pages.host_address(key).is_some()
}
