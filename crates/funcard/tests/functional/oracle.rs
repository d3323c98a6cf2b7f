//! Random installs, invalidations, copies and kernel accesses against plain arrays of bytes.

use crate::bench::{asid, at, config, entry, frame_at, Bench, FIRST_FRAME};
use proptest::prelude::*;
use units::{CommandStatus, Fault, FaultCause};
use units::{Operation, PageEntry, PageSize};

const SIZE: PageSize = PageSize::KIB_4;
const PAGES: usize = 12;
const BASE: u64 = 0x40_0000;
const BLOCK: usize = 4096;

/// Expected contents of a page-table entry.
#[derive(Clone, Copy, Debug)]
struct Page {
    read: bool,
    write: bool,
    accessed: bool,
    dirty: bool,
}

/// The world as it should be. Page `i` has frame `i`, whose bytes stay when the page goes.
struct Oracle {
    pages: [Option<Page>; PAGES],
    frames: Vec<u8>,
}

#[derive(Clone, Debug)]
enum Action {
    Install {
        page: usize,
        read: bool,
        write: bool,
    },
    Invalidate {
        page: usize,
    },
    Protect {
        page: usize,
    },
    ReadClear {
        page: usize,
    },
    Put {
        page: usize,
        rows: usize,
        value: u8,
    },
    /// The kernel copies; `refuse`: the host fails faults instead of answering them.
    Copy {
        from: usize,
        to: usize,
        bytes: usize,
        refuse: bool,
    },
}

fn action() -> impl Strategy<Value = Action> {
    let page = || 0..PAGES;
    let half = || 0usize..6 * 64;
    prop_oneof![
        (page(), any::<bool>(), any::<bool>()).prop_map(|(page, read, write)| Action::Install {
            page,
            read,
            write
        }),
        page().prop_map(|page| Action::Invalidate { page }),
        page().prop_map(|page| Action::Protect { page }),
        page().prop_map(|page| Action::ReadClear { page }),
        (page(), 1..65usize, any::<u8>()).prop_map(|(page, rows, value)| Action::Put {
            page,
            rows,
            value
        }),
        (half(), half(), 1usize..10_000, any::<bool>(), any::<bool>()).prop_map(
            |(from, to, bytes, refuse, up)| {
                // From one half of the pages to the other: the order of accesses does not matter.
                let (from, to) = if up {
                    (from, to + 384)
                } else {
                    (from + 384, to)
                };
                let room = (384 - from % 384).min(384 - to % 384) * 64;
                Action::Copy {
                    from: 64 * from,
                    to: 64 * to,
                    bytes: bytes.min(room),
                    refuse,
                }
            }
        ),
    ]
}

impl Oracle {
    /// Bursts as (offset, bytes), each in one page.
    fn bursts(start: usize, bytes: usize) -> Vec<(usize, usize)> {
        let mut bursts = Vec::new();
        let mut offset = start;
        while offset < start + bytes {
            let length = (BLOCK - offset % BLOCK).min(start + bytes - offset);
            bursts.push((offset, length));
            offset += length;
        }
        bursts
    }

    /// Whether an access goes through the table; marks the page if it does.
    fn access(&mut self, page: usize, write: bool) -> Result<(), FaultCause> {
        let entry = self.pages[page].as_mut().ok_or(FaultCause::Absent)?;
        if !(if write { entry.write } else { entry.read }) {
            return Err(FaultCause::Permission);
        }
        entry.accessed = true;
        entry.dirty |= write;
        Ok(())
    }

    /// Expected effect of the kernel's copy; its faults, as (offset, write, cause).
    fn copy(
        &mut self,
        from: usize,
        to: usize,
        bytes: usize,
        refuse: bool,
    ) -> Vec<(usize, bool, FaultCause)> {
        let mut faults = Vec::new();
        let mut data = vec![0; bytes];
        for (offset, length) in Self::bursts(from, bytes) {
            let outcome = self.access(offset / BLOCK, false);
            faults.extend(outcome.err().map(|cause| (offset, false, cause)));
            if outcome.is_ok() || !refuse {
                let place = &mut data[offset - from..offset - from + length];
                place.copy_from_slice(&self.frames[offset..offset + length]);
            }
        }
        for (offset, length) in Self::bursts(to, bytes) {
            let outcome = self.access(offset / BLOCK, true);
            faults.extend(outcome.err().map(|cause| (offset, true, cause)));
            if outcome.is_ok() || !refuse {
                let source = &data[offset - to..offset - to + length];
                self.frames[offset..offset + length].copy_from_slice(source);
            }
        }
        faults
    }
}

fn page_at(page: usize) -> u64 {
    BASE + (page * BLOCK) as u64
}

fn frame_of(page: usize) -> u32 {
    FIRST_FRAME + page as u32
}

fn perform(bench: &mut Bench, oracle: &mut Oracle, action: &Action) {
    let table = |page: usize| (asid(), at(page_at(page)), SIZE);
    let answer = |page: Option<Page>| match page {
        None => (CommandStatus::Absent, false, false),
        Some(page) => (CommandStatus::Ok, page.accessed, page.dirty),
    };
    match *action {
        Action::Install { page, read, write } => {
            let entry = PageEntry {
                read,
                write,
                ..entry(frame_of(page), SIZE)
            };
            assert_eq!(bench.install(page_at(page), entry), CommandStatus::Ok);
            oracle.pages[page] = Some(Page {
                read,
                write,
                accessed: false,
                dirty: false,
            });
        }
        Action::Invalidate { page } => {
            let expected = answer(oracle.pages[page].take());
            assert_eq!(bench.invalidate(page_at(page), SIZE), expected);
        }
        Action::Protect { page } => {
            let (asid, address, size) = table(page);
            let expected = answer(oracle.pages[page]);
            assert_eq!(
                bench.run(Operation::Protect {
                    asid,
                    address,
                    size
                }),
                expected
            );
            if let Some(page) = &mut oracle.pages[page] {
                (page.write, page.dirty) = (false, false);
            }
        }
        Action::ReadClear { page } => {
            let (asid, address, size) = table(page);
            let expected = answer(oracle.pages[page]);
            assert_eq!(
                bench.run(Operation::ReadClear {
                    asid,
                    address,
                    size
                }),
                expected
            );
            if let Some(page) = &mut oracle.pages[page] {
                page.accessed = false;
            }
        }
        Action::Put { page, rows, value } => {
            bench.put(frame_at(frame_of(page)), &vec![value; 64 * rows]);
            oracle.frames[page * BLOCK..page * BLOCK + 64 * rows].fill(value);
        }
        Action::Copy {
            from,
            to,
            bytes,
            refuse,
        } => {
            let mut expected = oracle.copy(from, to, bytes, refuse);
            bench.set_number("input", BASE + from as u64);
            bench.set_number("output", BASE + to as u64);
            bench.set_number("bytes", bytes as u64);
            bench.start();
            bench.finish(|bench, fault: Fault| {
                let offset = (fault.address.get() - BASE) as usize;
                let found = (offset, fault.write, fault.cause);
                let place = expected.iter().position(|fault| *fault == found);
                let place = place.unwrap_or_else(|| panic!("unexpected: {fault:?}"));
                expected.remove(place);
                let frame = frame_of(offset / BLOCK);
                bench.reply(fault.token, (!refuse).then(|| entry(frame, SIZE)));
            });
            assert!(expected.is_empty(), "not reported: {expected:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_card_does_what_arrays_of_bytes_do(
        seed in any::<Option<u64>>(),
        actions in proptest::collection::vec(action(), 1..60),
    ) {
        let mut bench = Bench::with_kernel(config(seed), "copy");
        let mut oracle = Oracle {
            pages: [None; PAGES],
            frames: (0..PAGES * BLOCK).map(|i| (i / 3) as u8).collect(),
        };
        bench.put(frame_at(FIRST_FRAME), &oracle.frames);
        for action in &actions {
            perform(&mut bench, &mut oracle, action);
        }
        prop_assert!(bench.get(frame_at(FIRST_FRAME), PAGES * BLOCK) == oracle.frames);
    }
}
