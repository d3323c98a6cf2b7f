//! Invariants of the pager between two events.

use crate::buffer::{Buffers, Part};
use crate::ids::{ObjectPage, RequestId};
use crate::issue::{Issued, Meaning};
use crate::memory::Memory;
use crate::page::{Page, Purpose, Stage, State};
use crate::pages::Pages;
use crate::piece::Saving;
use crate::request::Requests;
use crate::space::Phase;
use crate::spaces::Spaces;
use crate::table::Shown;
use crate::work::Work;
use std::collections::BTreeMap;
use units::{CardAddr, PageSize, Stripe};

/// Collects violated invariants.
struct Findings(Vec<String>);

impl Findings {
    fn expect(&mut self, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.0.push(what());
        }
    }
}

/// Agreement of a pager's rooms between two events.
pub(crate) struct Invariants<'a> {
    pub(crate) pages: &'a Pages,
    pub(crate) spaces: &'a Spaces,
    pub(crate) memory: &'a Memory,
    pub(crate) buffers: &'a Buffers,
    pub(crate) work: &'a Work,
    pub(crate) issued: &'a Issued,
    pub(crate) requests: &'a Requests,
}

impl Invariants<'_> {
    /// Checks that every frame and buffer has one owner and none is lost, that the table images agree with the reverse
    /// lists, and that everything that waits has something to wait for.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut findings = Findings(Vec::new());
        self.check_frames(&mut findings);
        self.check_buffers(&mut findings);
        self.check_tables(&mut findings);
        self.check_commands(&mut findings);
        self.check_requests(&mut findings);
        for (key, page) in self.pages.iter() {
            self.check_page(key, page, &mut findings);
        }
        if findings.0.is_empty() {
            Ok(())
        } else {
            Err(findings.0.join("; "))
        }
    }

    fn check_frames(&self, findings: &mut Findings) {
        let mut places: BTreeMap<CardAddr, ObjectPage> = BTreeMap::new();
        let mut used = 0;
        let mut unstriped = 0;
        for (key, page) in self.pages.iter() {
            let Some(frame) = page.place.frame else {
                continue;
            };
            let other = places.insert(self.memory.frames().place_of(frame, page.place.stripe), key);
            findings.expect(other.is_none(), || {
                format!("{frame:?} belongs to {key:?} and {other:?}")
            });
            used += 1u64 << page.size.class();
            if page.place.stripe == Stripe::NONE {
                unstriped += 1;
                let owner = self.memory.owners().get(&frame);
                findings.expect(owner == Some(&key), || {
                    format!("{frame:?} of {key:?} is said to be of {owner:?}")
                });
            }
        }
        findings.expect(self.memory.owners().len() == unstriped, || {
            format!(
                "{} frames have owners, {unstriped} pages",
                self.memory.owners().len()
            )
        });
        let ends = self.memory.owners().iter().map(|(frame, key)| {
            let units = 1 << self.pages.size_of(*key).class();
            (frame.get(), frame.get() + units)
        });
        let ends: Vec<_> = ends.collect();
        let apart = ends.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        findings.expect(apart, || format!("frames overlap: {ends:?}"));
        let units = |sets_log2| 1u64 << Memory::table_order(sets_log2);
        let tables: u64 = self
            .spaces
            .iter()
            .map(|(_, space)| {
                let old = space.old_table.map_or(0, |old| units(old.sets_log2));
                units(space.table.geometry().sets_log2()) + old
            })
            .sum();
        let free = self.memory.free(PageSize::KIB_4);
        findings.expect(
            used + tables + free == self.memory.total(PageSize::KIB_4),
            || format!("{used} units of pages, {tables} of tables and {free} free are not all"),
        );
        for (asid, space) in self.spaces.iter() {
            let pages = self.pages.iter();
            let charged = pages.filter(|(_, page)| page.place.charged == Some(asid));
            let bytes: u64 = charged.map(|(_, page)| page.size.bytes()).sum();
            findings.expect(space.charged == bytes, || {
                format!("{asid:?} is charged {} bytes for {bytes}", space.charged)
            });
            let within = space.charged <= space.limit.unwrap_or(u64::MAX);
            findings.expect(within, || {
                format!("{asid:?} has {bytes} bytes, more than its limit")
            });
        }
    }

    fn check_buffers(&self, findings: &mut Findings) {
        let used = self
            .pages
            .iter()
            .filter_map(|(_, page)| page.state().part());
        let mut parts: Vec<Part> = used.chain(self.buffers.free()).collect();
        parts.sort_unstable();
        let apart = |a: &Part, b: &Part| a.buffer != b.buffer || a.offset + a.bytes() <= b.offset;
        findings.expect(
            parts.windows(2).all(|pair| apart(&pair[0], &pair[1])),
            || format!("parts of buffers have two owners: {parts:?}"),
        );
        let bytes: u64 = parts.iter().map(|part| part.bytes()).sum();
        findings.expect(bytes == self.buffers.bytes(), || {
            format!(
                "{bytes} of {} bytes of buffers are left",
                self.buffers.bytes()
            )
        });
        let size = |key| self.pages.page(key).map(|page| page.size);
        let stalled = self.buffers.is_stalled(size);
        findings.expect(!stalled, || {
            "a page waits for a buffer while one is free".into()
        });
    }

    fn check_tables(&self, findings: &mut Findings) {
        let mut entries = 0;
        for (key, page) in self.pages.iter() {
            for entry in &page.entries.list {
                entries += 1;
                let shown = self
                    .spaces
                    .space(entry.asid)
                    .and_then(|space| space.table.entries().get(&entry.address));
                let right = Shown {
                    page: key,
                    size: page.size,
                };
                findings.expect(shown == Some(&right), || {
                    format!("{entry:?} of {key:?} is not in the table")
                });
            }
        }
        let spaces = self.spaces.iter();
        let in_tables: usize = spaces.map(|(_, space)| space.table.entries().len()).sum();
        findings.expect(entries == in_tables, || {
            format!("{entries} entries of pages, {in_tables} in tables")
        });
    }

    fn check_commands(&self, findings: &mut Findings) {
        let mut reports: BTreeMap<ObjectPage, (u32, u32)> = BTreeMap::new();
        for meaning in self.issued.operations().values() {
            let Some(key) = meaning.page() else { continue };
            let counts = reports.entry(key).or_default();
            counts.0 += u32::from(matches!(meaning, Meaning::Reported(_)));
            counts.1 += u32::from(matches!(meaning, Meaning::Examined(_)));
            findings.expect(self.pages.page(key).is_some(), || {
                format!("{meaning:?} is outstanding for an absent page")
            });
        }
        for (key, page) in self.pages.iter() {
            let counts = reports.get(&key).copied().unwrap_or_default();
            findings.expect(
                counts == (page.entries.unreported, page.entries.examining),
                || format!("{key:?} waits for other reports than are outstanding"),
            );
            let reads = self.issued.pieces().filter(|&piece| piece == key).count();
            let copies = self.issued.operations().values();
            let copies = copies.filter(|meaning| **meaning == Meaning::Loaded(key));
            let copies = copies.count();
            let waits = match page.state() {
                State::Loading { left, .. } => (page.progress.filling.reading, left),
                _ => (page.progress.filling.reading, page.progress.filling.loading),
            };
            let in_turn = waits == (0, 0) && copies <= 1;
            let Saving {
                copying, writing, ..
            } = page.progress.saving;
            let out = self.issued.operations().values();
            let out =
                out.filter(|meaning| matches!(meaning, Meaning::PieceOut(of, _) if *of == key));
            findings.expect(out.count() == usize::from(copying), || {
                format!("{key:?} waits for {copying} copies out that are not outstanding")
            });
            let reads = reads - usize::from(writing).min(reads);
            let right = (reads, copies) == (waits.0.into(), waits.1.into()) || in_turn;
            findings.expect(right, || {
                format!("{key:?} waits for {waits:?} reads and copies of ({reads}, {copies})")
            });
        }
    }

    fn check_requests(&self, findings: &mut Findings) {
        let mut counts: BTreeMap<RequestId, u64> = BTreeMap::new();
        for (_, page) in self.pages.iter() {
            for request in page.requests.all().flatten() {
                *counts.entry(*request).or_default() += 1;
            }
        }
        for (_, space) in self.spaces.iter() {
            if let Phase::Destroying(request) = space.phase {
                *counts.entry(request).or_default() += space.unmaps.len() as u64;
            }
        }
        for (request, left) in self.requests.lefts() {
            let count = counts.remove(&request).unwrap_or_default();
            findings.expect(count == left, || {
                format!("{request} waits for {left} pages, {count} know of it")
            });
        }
        findings.expect(counts.is_empty(), || {
            format!("pages hold ended requests: {counts:?}")
        });
    }

    /// Checks the rules of shared memory, which apply to shared memory only.
    fn check_shared(&self, key: ObjectPage, page: &Page, expect: &mut impl FnMut(bool, &str)) {
        let shared = self.pages.host_address(key).is_some();
        let of_shared_memory = matches!(
            page.state(),
            State::Claiming
                | State::Upgrading
                | State::WritingBack {
                    stage: Stage::Returning | Stage::Yielding,
                    ..
                }
        );
        let of_buffers = page.state().part().is_some()
            || matches!(
                page.state(),
                State::AwaitingBuffer
                    | State::WritingBack {
                        stage: Stage::AwaitingBuffer,
                        ..
                    }
            );
        expect(
            !(if shared { of_buffers } else { of_shared_memory }),
            "shared memory moves without a buffer, and nothing else does",
        );
        expect(
            shared || page.exclusive,
            "what programs do not share is the card's alone",
        );
        let writable = page.entries.list.iter().any(|entry| entry.write);
        expect(
            page.exclusive || !writable,
            "a page that programs may read cannot be written by the card",
        );
        let rests = matches!(page.state(), State::Resident | State::Installing { .. });
        expect(
            page.exclusive || !rests || !page.content.dirty,
            "a page that programs may read is not dirty",
        );
        expect(
            page.state() != State::Upgrading || !page.exclusive,
            "a page is upgraded once",
        );
    }

    fn check_page(&self, key: ObjectPage, page: &Page, findings: &mut Findings) {
        let state = page.state();
        let waiting = state == State::Waiting;
        let mut expect = |holds: bool, rule: &str| {
            findings.expect(holds, || format!("{key:?} in {state:?}: {rule}"));
        };
        let object = self.pages.object(key.object);
        let units = object.map_or(1, |object| page.size.bytes() >> object.unit().bits());
        expect(
            object.is_some_and(|object| object.sizes.contains(page.size)) && key.index % units == 0,
            "a page has one of the sizes of its object's pages, and lies so",
        );
        let block = key.index..key.index + units;
        expect(
            self.pages.range(key.object, block).count() == 1,
            "pages of an object lie apart",
        );
        expect(
            page.progress.moved == 0 || state.part().is_some(),
            "only what moves through a buffer has moved",
        );
        let filling = page.progress.filling;
        expect(
            (filling.reading, filling.loading) == (0, 0) || matches!(state, State::Reading(_)),
            "pieces come to a page that is read",
        );
        let copied_out = matches!(
            state,
            State::WritingBack {
                stage: Stage::CopyingOut(_) | Stage::Writing(_),
                ..
            }
        );
        expect(
            page.progress.saving == Saving::default() || copied_out,
            "pieces are saved of a page that is written back",
        );
        expect(
            self.work.awaits_zero(key) == (state == State::AwaitingZero),
            "a page is queued to be zeroed when it is to be",
        );
        expect(
            !self.work.is_zeroed(key)
                || matches!(state, State::Loading { .. } | State::Installing { .. }),
            "a page that is zeroed comes to its frame",
        );
        expect(
            filling.failed.is_none() || matches!(state, State::Reading(_) | State::Loading { .. }),
            "a piece fails in a fill",
        );
        expect(
            page.has_place() != waiting,
            "a page has a frame unless it waits for one",
        );
        expect(
            page.place.direct.is_none()
                || (page.place.frame.is_none() && page.place.charged.is_none()),
            "a page in host memory takes no card memory",
        );
        let of_host = matches!(
            state,
            State::Fetching
                | State::WritingBack {
                    stage: Stage::Saving,
                    ..
                }
        );
        expect(
            !of_host || page.place.direct.is_some(),
            "only a page in host memory is fetched and saved there",
        );
        let of_card = matches!(
            state,
            State::AwaitingBuffer | State::AwaitingZero | State::Loading { .. }
        );
        expect(
            page.place.direct.is_none() || (!of_card && state.part().is_none()),
            "a page in host memory needs no buffer and no copy",
        );
        expect(
            self.work.awaits_frame(key) == waiting,
            "a page is queued for a frame when it waits for one",
        );
        let wants_buffer = matches!(
            state,
            State::AwaitingBuffer
                | State::WritingBack {
                    stage: Stage::AwaitingBuffer,
                    ..
                }
        );
        expect(
            self.buffers.is_queued(key) == wants_buffer,
            "a page is queued for a buffer when it waits for one",
        );
        let releasing = matches!(
            state,
            State::WritingBack {
                purpose: Purpose::Release,
                ..
            }
        );
        expect(
            self.work.is_released(key) == releasing,
            "a page is on its way out when it is released",
        );
        let cleaning = matches!(
            state,
            State::WritingBack {
                purpose: Purpose::Clean,
                ..
            }
        );
        expect(
            self.work.is_cleaned(key) == cleaning,
            "a page is known to be cleaned",
        );
        expect(
            page.entries.list.is_empty()
                || (state.serves()
                    || matches!(
                        state,
                        State::Upgrading
                            | State::WritingBack {
                                purpose: Purpose::Clean,
                                ..
                            }
                    )),
            "a page has entries only while its frame holds its data",
        );
        expect(
            !page.entries.list.iter().any(|entry| entry.write) || state.serves(),
            "a page that is copied out cannot be written",
        );
        let drained = matches!(
            state,
            State::WritingBack { stage, purpose: Purpose::Release } if stage != Stage::Draining
        );
        expect(
            !drained || (page.entries.unreported == 0 && page.entries.list.is_empty()),
            "a page is copied out after its drain",
        );
        expect(
            !state.serves()
                || page.waiters.iter().all(|waiter| {
                    page.awaits_upgrade(waiter) && matches!(state, State::Installing { .. })
                }),
            "nobody waits for a page that is there",
        );
        expect(object.is_some(), "a page belongs to an object");
        for waiter in &page.waiters {
            let found = self
                .spaces
                .space(waiter.asid)
                .and_then(|space| space.find(waiter.address));
            expect(
                found.is_some_and(|(_, _, page)| page == key),
                "who waits for a page has it mapped",
            );
        }
        for entry in &page.entries.list {
            let found = self
                .spaces
                .space(entry.asid)
                .and_then(|space| space.find(entry.address));
            expect(
                found.is_some_and(|(_, mapping, page)| {
                    page == key && (mapping.write || !entry.write)
                }),
                "an entry follows a mapping",
            );
        }
        self.check_shared(key, page, &mut expect);
        let at_rest = state == State::Resident && page.entries.unreported == 0;
        expect(
            !at_rest || page.requests.is_empty(),
            "nobody waits for a page at rest",
        );
    }
}
