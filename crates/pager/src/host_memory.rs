//! Shared memory: pages that programs of the host and kernels both read and write.
//!
//! The states are FlexiMem's (§III-C), and the transitions those of the generated table
//! `protocol::tables::esi`, with which `tests/esi.rs` compares them. The host is the table's home, the card
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
use crate::fault::Ahead;
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::issue::{Meaning, Step};
use crate::page::{Page, Purpose, Stage, State, Waiter};
use crate::pager::Pager;
use crate::request::{answer, Last};
use std::ops::Range;
use units::{CommandStatus, HostAccess, HostAddr, Operation};

impl Pager {
    /// Address of a page of host memory for the card; `None` for pages of other objects.
    pub(crate) fn host_address(&self, key: ObjectPage) -> Option<HostAddr> {
        self.objects.get(&key.object)?.host_address(key.index)
    }

    fn protect_host(&mut self, key: ObjectPage, access: HostAccess, out: &mut Vec<Action>) {
        let size = self.size_of(key);
        out.push(Action::ProtectHost {
            io: self.issued.protect(key),
            object: key.object,
            offset: key.index << size.bits(),
            bytes: size.bytes(),
            access,
        });
    }

    /// A page was given a frame: programs lose the right to write it, and also to read it if it is, or is expected to
    /// be, requested for writing (FlexiMem's *get for writing*, ahead).
    pub(crate) fn claim(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let expected = self.objects.get(&key.object);
        let expected = expected.is_some_and(|object| object.expected.contains(&key.index));
        page.exclusive = expected || page.waiters.iter().any(Waiter::writes);
        page.enter(State::Claiming);
        let access = if page.exclusive {
            HostAccess::None
        } else {
            HostAccess::Read
        };
        self.protect_host(key, access, out);
    }

    /// Begins an upgrade of a resident page that programs may read and a kernel wants to write: programs lose all
    /// rights. No data moves. Returns true if the upgrade was begun.
    pub(crate) fn upgrade(&mut self, key: ObjectPage, out: &mut Vec<Action>) -> bool {
        let Some(page) = self.pages.get_mut(&key) else {
            return false;
        };
        let wanted = page
            .waiters
            .iter()
            .any(|waiter| page.awaits_upgrade(waiter));
        if page.state != State::Resident || !wanted {
            return false;
        }
        page.enter(State::Upgrading);
        self.protect_host(key, HostAccess::None, out);
        true
    }

    /// Upgrades resident read-only pages that a kernel is expected to write, as it wrote those before (FlexiMem's
    /// *upgrade for writing*, ahead). No data moves, and programs lose the right to read many pages in one step. The
    /// kernel's write still faults, but no longer waits for programs.
    pub(crate) fn upgrade_ahead(
        &mut self,
        object: ObjectId,
        pages: Range<u64>,
        out: &mut Vec<Action>,
    ) {
        let shared = self.objects.get(&object).is_some_and(|known| {
            let first = known.host_address(pages.start);
            first.is_some() && !known.closing
        });
        if !shared {
            return;
        }
        for index in pages {
            let key = ObjectPage { object, index };
            let Some(page) = self.pages.get_mut(&key) else {
                continue;
            };
            // The request that waits for it decides on the page.
            let rests = page.state == State::Resident
                && page.waiters.is_empty()
                && page.leaving.is_empty()
                && page.returning.is_empty()
                && page.wanted.is_empty();
            if rests && !page.exclusive && !self.releasing.contains(&key) {
                page.enter(State::Upgrading);
                self.protect_host(key, HostAccess::None, out);
            }
        }
    }

    /// A kernel writes pages in order: for the following pages, which its reads fetch earlier, programs lose both
    /// rights at once. Writes to such pages are no longer seen, so reads that continue there are taken as writes, until
    /// a program accesses the object.
    pub(crate) fn expect_writes(&mut self, object: ObjectId, write: bool, ahead: &Ahead) {
        let [_, behind] = &ahead.ranges;
        if !ahead.goes_on || behind.is_empty() {
            return;
        }
        let known = self.objects.get_mut(&object);
        let known = known.filter(|known| write || known.expected.contains(&behind.start));
        if let Some(known) = known {
            // Windows double: reads may be two further windows ahead of writes.
            let count = behind.end - behind.start;
            known.expected = behind.start..behind.end.saturating_add(6 * count);
        }
    }

    /// Programs have no more rights than requested.
    pub(crate) fn host_protected(
        &mut self,
        key: ObjectPage,
        result: Result<u64, IoError>,
        out: &mut Vec<Action>,
    ) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let state = page.state;
        let result = result.map_err(|error| {
            let offset = key.index << page.size.bits();
            PagerError::HostMemory {
                object: key.object,
                offset,
                bytes: page.size.bytes(),
                error,
            }
        });
        match (state, result) {
            (State::Claiming, Ok(_)) => {
                self.statistics.pages_read += 1;
                self.count_of(key, |space| space.pages_read += 1);
                self.count_moved(key, Direction::Read, self.own_bytes(key));
                self.load(key, None, out);
            }
            (State::Claiming, Err(error)) => self.fail_fill(key, AccessError::Fetch(error), out),
            (State::Upgrading, Ok(_)) => {
                page.exclusive = true;
                page.enter(State::Resident);
                self.statistics.pages_upgraded += 1;
                self.settle(key, out);
            }
            (State::Upgrading, Err(error)) => {
                page.enter(State::Resident);
                let (gone, kept) = std::mem::take(&mut page.waiters)
                    .into_iter()
                    .partition(|waiter| page.awaits_upgrade(waiter));
                page.waiters = kept;
                let gone: Vec<Waiter> = gone;
                for waiter in gone {
                    self.fail_access(waiter, AccessError::Fetch(error), out);
                }
                self.settle(key, out);
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
                self.written_back(key, purpose, Ok(()), out);
            }
            _ => {}
        }
    }

    /// No kernel can write the page now.
    pub(crate) fn host_drained(
        &mut self,
        key: ObjectPage,
        purpose: Purpose,
        writes: bool,
        out: &mut Vec<Action>,
    ) {
        let to = self.host_address(key);
        let Some((page, to)) = self.pages.get_mut(&key).zip(to) else {
            return;
        };
        let returns = page.dirty && writes;
        page.dirty = false;
        if let (true, Some(from)) = (returns, page.place(0)) {
            page.enter(State::WritingBack {
                purpose,
                stage: Stage::Returning,
            });
            let operation = Operation::CopyOut {
                from,
                to,
                bytes: page.size.bytes(),
                stripe: page.stripe,
            };
            let step = Step::new(operation, Some(Meaning::CopiedOut(key))).of(page.charged);
            return self.issued.command(step, out);
        }
        if purpose == Purpose::Release {
            self.statistics.pages_dropped_clean += 1;
            self.count_of(key, |space| space.pages_dropped_clean += 1);
        } else if !page.exclusive {
            // Programs may read it already.
            return self.written_back(key, purpose, Ok(()), out);
        }
        self.yield_page(key, purpose, out);
    }

    /// Host memory is complete: gives the page back to programs, for reading or with all rights.
    fn yield_page(&mut self, key: ObjectPage, purpose: Purpose, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
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
        match purpose {
            Purpose::Clean => self.statistics.pages_shared += 1,
            Purpose::Release => self.statistics.pages_returned += 1,
        }
        self.protect_host(key, access, out);
    }

    /// Handles the end of a copy to host memory. Returns false if there was no copy.
    pub(crate) fn returned(
        &mut self,
        key: ObjectPage,
        status: CommandStatus,
        out: &mut Vec<Action>,
    ) -> bool {
        let Some(State::WritingBack {
            purpose,
            stage: Stage::Returning,
        }) = self.pages.get(&key).map(|page| page.state)
        else {
            return false;
        };
        if status == CommandStatus::Ok {
            self.statistics.pages_written += 1;
            self.count_of(key, |space| space.pages_written += 1);
            self.count_moved(key, Direction::Write, self.own_bytes(key));
            self.yield_page(key, purpose, out);
        } else {
            let error = self.card_error(Direction::Write, key, status);
            self.written_back(key, purpose, Err(error), out);
        }
        true
    }

    /// Gives a page of host memory back to programs after its copy to the card failed. Returns false if it is no such
    /// page.
    pub(crate) fn yield_failed(&mut self, key: ObjectPage, out: &mut Vec<Action>) -> bool {
        let loading = |page: &Page| matches!(page.state, State::Loading { .. });
        if self.host_address(key).is_none() || !self.pages.get(&key).is_some_and(loading) {
            return false;
        }
        self.releasing.insert(key);
        self.yield_page(key, Purpose::Release, out);
        true
    }

    /// A program's access was trapped.
    pub(crate) fn host_trap(
        &mut self,
        request: RequestId,
        object: ObjectId,
        offset: u64,
        write: bool,
        out: &mut Vec<Action>,
    ) {
        let error = match self.objects.get(&object) {
            None => Some(PagerError::NoSuchObject { object }),
            Some(known) if offset >= known.end => Some(PagerError::OffsetPastEnd {
                object,
                offset,
                bytes: known.end,
            }),
            Some(_) => None,
        };
        if let Some(error) = error {
            return out.push(answer(request, Err(error)));
        }
        self.statistics.host_traps += 1;
        if let Some(known) = self.objects.get_mut(&object) {
            known.expected = 0..0;
        }
        let index = offset >> self.page_size_of(object).bits();
        let key = ObjectPage { object, index };
        self.requests.open(request, Last::Answer);
        let page = self.pages.get_mut(&key);
        // A page that only waits for a frame still belongs to the host.
        if let Some(page) = page.filter(|page| page.state != State::Waiting) {
            if write {
                page.returning.push(request);
            } else {
                page.wanted.push(request);
            }
            self.requests.add_one(request);
            self.settle(key, out);
        }
        self.end_requests([request], Ok(()), out);
    }
}
