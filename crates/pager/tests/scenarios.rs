//! Checks each rule of docs/blocks/pager.md step by step, one short scenario per rule.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use tombolo_pager::eviction::SecondChance;
use tombolo_pager::fetch::ReadAhead;
use tombolo_pager::size::{PageSizePolicy, SizeTouch};
use tombolo_pager::{
    AccessError, Action, Around, ChannelMemory, Config, Event, IoError, IoId, ObjectId, ObjectKind,
    Pager, PagerError, Policies, RequestId, SpaceStatistics, Success,
};
use units::SpacePlacement;
use units::{Asid, CardAddr, HostAddr, PageSize, PageSizes, Stripe, TableGeometry, VirtAddr};
use units::{CommandId, CommandStatus, Fault, FaultCause, FaultToken, Operation};

const PAGE: u64 = 4096;
const FILE: ObjectKind = ObjectKind::File {
    writable: true,
    fresh: false,
};

/// A pager with frames of 4 KiB, two spaces, and an owner that answers when asked to.
struct Desk {
    pager: Pager,
    request: u64,
    token: u8,
}

fn at(page: u64) -> VirtAddr {
    VirtAddr::new(page * PAGE).unwrap()
}

fn space(number: u8) -> Asid {
    Asid::new(number).unwrap()
}

impl Desk {
    fn new(frames: u64) -> Self {
        Self::with(frames, Policies::default(), [None, None])
    }

    fn with(frames: u64, policies: Policies, limits: [Option<u64>; 2]) -> Self {
        Self::configured(frames, policies, limits, |_| {})
    }

    fn configured(
        frames: u64,
        policies: Policies,
        limits: [Option<u64>; 2],
        change: impl FnOnce(&mut Config),
    ) -> Self {
        let memory = ChannelMemory {
            base: CardAddr::new(0).unwrap(),
            bytes: 2 * 65536 + frames * PAGE,
        };
        let mut config = Config {
            page_size: PageSize::KIB_4,
            table_sets_log2: 10,
            buffer_bytes: PAGE,
            ..Config::new(vec![memory], vec![HostAddr::new(1 << 32)])
        };
        change(&mut config);
        let mut desk = Self {
            pager: Pager::with_policies(config, policies).unwrap(),
            request: 0,
            token: 0,
        };
        for (number, frames) in limits.into_iter().enumerate() {
            let asid = space(number as u8);
            let zero = desk.ask(|request| Event::CreateSpace {
                request,
                asid,
                limit: frames.map(|frames| frames * PAGE),
                placement: SpacePlacement::Anywhere,
            });
            let ready = desk.done(id_of(&zero[0]), false);
            assert!(matches!(ready[0], Action::EnableSpace { .. }));
        }
        desk
    }

    fn tell(&mut self, event: Event) -> Vec<Action> {
        let mut actions = Vec::new();
        self.pager.handle(event, &mut actions);
        self.pager.check().unwrap();
        actions
    }

    fn ask(&mut self, event: impl FnOnce(RequestId) -> Event) -> Vec<Action> {
        self.request += 1;
        self.tell(event(RequestId(self.request)))
    }

    fn done(&mut self, id: CommandId, dirty: bool) -> Vec<Action> {
        self.tell(Event::OperationDone {
            id,
            status: CommandStatus::Ok,
            accessed: true,
            dirty,
        })
    }

    fn io(&mut self, id: IoId, result: Result<u64, IoError>) -> Vec<Action> {
        self.tell(Event::IoDone { id, result })
    }

    fn object(&mut self, number: u64, bytes: u64, kind: ObjectKind) -> ObjectId {
        let object = ObjectId(number);
        let answer = self.ask(|request| Event::CreateObject {
            request,
            object,
            offset: 0,
            bytes,
            kind,
            page_size: None,
        });
        assert_eq!(result(&answer), Ok(Success::Done));
        object
    }

    fn map(
        &mut self,
        asid: u8,
        page: u64,
        object: ObjectId,
        pages: u64,
        write: bool,
    ) -> Result<Success, PagerError> {
        result(&self.ask(|request| Event::Map {
            request,
            asid: space(asid),
            address: Some(at(page)),
            object,
            offset: 0,
            bytes: pages * PAGE,
            read: true,
            write,
        }))
    }

    fn unmap(&mut self, asid: u8, page: u64, pages: u64) -> Vec<Action> {
        self.ask(|request| Event::Unmap {
            request,
            asid: space(asid),
            address: at(page),
            bytes: pages * PAGE,
        })
    }

    fn sync(&mut self, page: u64) -> Vec<Action> {
        self.ask(|request| Event::Sync {
            request,
            asid: space(0),
            address: at(page),
            bytes: 1,
        })
    }

    fn close(&mut self, object: ObjectId) -> Vec<Action> {
        self.ask(|request| Event::CloseObject {
            request,
            object,
            discard: false,
        })
    }

    fn fault(&mut self, asid: u8, page: u64, write: bool) -> Vec<Action> {
        self.fault_ahead(asid, page, write, false)
    }

    fn fault_ahead(&mut self, asid: u8, page: u64, write: bool, ahead: bool) -> Vec<Action> {
        self.token += 1;
        self.tell(Event::Fault(Fault {
            token: FaultToken {
                requester: asid,
                index: self.token,
            },
            asid: space(asid),
            address: VirtAddr::new(page * PAGE + 64).unwrap(),
            write,
            ahead,
            cause: FaultCause::Absent,
        }))
    }

    /// Carries out all actions of the pager, and those that follow.
    fn serve(&mut self, actions: Vec<Action>) -> Vec<Action> {
        let mut left = VecDeque::from(actions);
        let mut done = Vec::new();
        while let Some(action) = left.pop_front() {
            let next = match action {
                Action::ReadObject { io, bytes, .. } | Action::WriteObject { io, bytes, .. } => {
                    self.io(io, Ok(bytes))
                }
                Action::Command {
                    id, notify: true, ..
                } => self.done(id, false),
                _ => Vec::new(),
            };
            left.extend(next);
            done.push(action);
        }
        done
    }

    /// A fault that is served to the end, from an object that can be read.
    fn touch(&mut self, asid: u8, page: u64, write: bool) {
        let mut actions = self.fault(asid, page, write);
        while let Some(action) = next_to_answer(&actions) {
            actions = match action {
                Action::ReadObject { io, bytes, .. } => self.io(io, Ok(bytes)),
                Action::WriteObject { io, bytes, .. } => self.io(io, Ok(bytes)),
                Action::Command { id, .. } => self.done(id, false),
                _ => unreachable!(),
            };
        }
    }
}

fn next_to_answer(actions: &[Action]) -> Option<Action> {
    actions
        .iter()
        .find(|action| {
            matches!(
                action,
                Action::ReadObject { .. }
                    | Action::WriteObject { .. }
                    | Action::Command { notify: true, .. }
            )
        })
        .cloned()
}

fn id_of(action: &Action) -> CommandId {
    match action {
        Action::Command {
            id, notify: true, ..
        } => *id,
        other => panic!("nobody answers {other:?}"),
    }
}

fn io_of(action: &Action) -> IoId {
    match action {
        Action::ReadObject { io, .. } | Action::WriteObject { io, .. } => *io,
        other => panic!("no I/O: {other:?}"),
    }
}

fn result(actions: &[Action]) -> Result<Success, PagerError> {
    match actions.last() {
        Some(Action::Complete { result, .. }) => *result,
        other => panic!("not the end of a request: {other:?}"),
    }
}

/// Commands in short: name, fence, notify.
fn commands(actions: &[Action]) -> Vec<(&'static str, bool, bool)> {
    let command = |action: &Action| match action {
        Action::Command {
            operation,
            fence,
            notify,
            ..
        } => {
            let name = match operation {
                Operation::Nop => "nop",
                Operation::CopyIn { .. } => "in",
                Operation::CopyOut { .. } => "out",
                Operation::Zero { .. } => "zero",
                Operation::Install { .. } => "install",
                Operation::Invalidate { .. } => "invalidate",
                Operation::Protect { .. } => "protect",
                Operation::ReadClear { .. } => "read",
                Operation::Grow { .. } => "grow",
                Operation::FaultReply { entry: Some(_), .. } => "reply",
                Operation::FaultReply { entry: None, .. } => "fail",
            };
            Some((name, *fence, *notify))
        }
        _ => None,
    };
    actions.iter().filter_map(command).collect()
}

fn names(actions: &[Action]) -> Vec<&'static str> {
    commands(actions)
        .into_iter()
        .map(|command| command.0)
        .collect()
}

#[test]
fn a_page_is_installed_behind_its_data() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, 2 * PAGE, FILE);
    desk.map(0, 16, file, 2, true).unwrap();
    let read = desk.fault(0, 17, false);
    assert!(matches!(
        read[..],
        [Action::ReadObject {
            offset: PAGE,
            bytes: PAGE,
            buffer_offset: 0,
            ..
        }]
    ));
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    let expected = [
        ("in", false, false),
        ("install", true, false),
        ("reply", false, true),
    ];
    assert_eq!(commands(&load), expected);
    assert!(desk.done(id_of(&load[2]), false).is_empty());
    assert!(desk.pager.is_idle());
    // The page is resident: the next fault costs a reply.
    assert_eq!(names(&desk.fault(0, 17, false)), ["reply"]);
}

#[test]
fn what_lies_beyond_the_end_is_zero_and_never_written() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE + 100, FILE);
    desk.map(0, 16, file, 3, true).unwrap();
    let read = desk.fault(0, 17, true);
    assert!(matches!(read[..], [Action::ReadObject { bytes: 100, .. }]));
    let load = desk.io(io_of(&read[0]), Ok(100));
    assert_eq!(names(&load), ["in", "zero", "install", "reply"]);
    let bytes = |action: &Action| match action {
        Action::Command {
            operation: Operation::CopyIn { bytes, .. } | Operation::Zero { bytes, .. },
            ..
        } => *bytes,
        _ => 0,
    };
    assert_eq!((bytes(&load[0]), bytes(&load[1])), (128, PAGE - 128));
    desk.done(id_of(&load[3]), false);
    // A page that is wholly beyond the end costs no transfer, now or later.
    let zero = desk.fault(0, 18, true);
    assert_eq!(names(&zero), ["zero", "install", "reply"]);
    desk.done(id_of(&zero[2]), false);
    let leave = desk.unmap(0, 16, 3);
    assert_eq!(names(&leave), ["invalidate", "invalidate"]);
    let out = desk.done(id_of(&leave[0]), true);
    assert_eq!(names(&out), ["out"]);
    assert_eq!(desk.done(id_of(&leave[1]), true), []);
    let write = desk.done(id_of(&out[0]), false);
    assert!(matches!(
        write[..],
        [Action::WriteObject {
            offset: PAGE,
            bytes: 100,
            ..
        }]
    ));
    assert_eq!(
        result(&desk.io(io_of(&write[0]), Ok(100))),
        Ok(Success::Done)
    );
    assert_eq!(desk.pager.resident_pages(), 0);
}

#[test]
fn what_lies_before_a_part_of_a_file_is_zero_and_never_written() {
    let mut desk = Desk::new(4);
    let object = ObjectId(1);
    let made = desk.ask(|request| Event::CreateObject {
        request,
        object,
        offset: PAGE + 1000,
        bytes: 100,
        kind: FILE,
        page_size: None,
    });
    assert_eq!(result(&made), Ok(Success::Done));
    let mapped = desk.ask(|request| Event::Map {
        request,
        asid: Asid::new(0).unwrap(),
        address: Some(at(16)),
        object,
        offset: PAGE,
        bytes: 1100,
        read: true,
        write: true,
    });
    assert!(matches!(result(&mapped), Ok(Success::Mapped(_))));
    let read = desk.fault(0, 16, true);
    assert!(
        matches!(
            read[..],
            [Action::ReadObject { offset, bytes: 100, buffer_offset: 1000, .. }]
            if offset == PAGE + 1000
        ),
        "{read:?}"
    );
    let load = desk.io(io_of(&read[0]), Ok(100));
    assert_eq!(names(&load), ["in", "zero", "zero", "install", "reply"]);
    // From the beginning of the page, how much.
    let mut covered: Vec<(u64, u64)> = load
        .iter()
        .filter_map(|action| match action {
            Action::Command {
                operation: Operation::CopyIn { to, bytes, .. } | Operation::Zero { to, bytes, .. },
                ..
            } => Some((to.get() % PAGE, *bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(covered[0], (960, 192), "the rows of the bytes");
    covered.sort_unstable();
    assert_eq!(covered, [(0, 960), (960, 192), (1152, PAGE - 1152)]);
    desk.done(id_of(&load[4]), false);
    let leave = desk.unmap(0, 16, 1);
    let out = desk.done(id_of(&leave[0]), true);
    assert!(
        matches!(out[..], [Action::Command { operation: Operation::CopyOut { bytes, .. }, .. }]
            if bytes == PAGE),
        "the whole page, to see what was written around the bytes: {out:?}"
    );
    let write = desk.done(id_of(&out[0]), false);
    let rest = Around {
        before: 1000,
        behind: PAGE - 1100,
    };
    let expected = (PAGE + 1000, 100, 1000, rest);
    assert!(
        matches!(write[..], [Action::WriteObject { offset, bytes, buffer_offset, around, .. }]
            if (offset, bytes, buffer_offset, around) == expected),
        "{write:?}"
    );
}

#[test]
fn known_zeroes_are_not_read_until_they_are_saved() {
    let mut desk = Desk::new(1);
    let memory = desk.object(1, 2 * PAGE, ObjectKind::Anonymous);
    desk.map(0, 16, memory, 2, true).unwrap();
    desk.touch(0, 16, true);
    desk.touch(0, 17, true);
    // Page 0 was evicted dirty: from now on it is somewhere.
    assert_eq!(desk.pager.statistics().spaces.pages_written, 1);
    desk.touch(0, 16, false);
    let statistics = desk.pager.statistics();
    assert_eq!(
        (statistics.spaces.pages_zeroed, statistics.spaces.pages_read),
        (2, 1)
    );
}

#[test]
fn holes_of_a_file_are_not_read() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, 2 * PAGE, FILE);
    desk.tell(Event::ObjectHole {
        object: file,
        offset: 0,
        bytes: PAGE + 5,
    });
    desk.map(0, 16, file, 2, true).unwrap();
    assert_eq!(
        names(&desk.fault(0, 16, false)),
        ["zero", "install", "reply"]
    );
    assert!(matches!(
        desk.fault(0, 17, false)[..],
        [Action::ReadObject { .. }]
    ));
}

#[test]
fn faults_on_a_page_join_its_fill_and_spaces_share_the_frame() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, true).unwrap();
    desk.map(1, 99, file, 1, false).unwrap();
    let read = desk.fault(0, 16, true);
    assert!(desk.fault_ahead(0, 16, false, true).is_empty());
    assert!(desk.fault(1, 99, false).is_empty());
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    let expected = ["in", "install", "reply", "reply", "install", "reply"];
    assert_eq!(names(&load), expected);
    assert_eq!(desk.pager.resident_pages(), 1);
    assert_eq!(desk.pager.statistics().spaces.faults_joined, 2);
}

#[test]
fn each_space_has_counts_of_its_own() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, true).unwrap();
    desk.map(1, 99, file, 1, false).unwrap();
    let read = desk.fault(0, 16, true);
    desk.fault_ahead(0, 16, false, true);
    desk.fault(1, 99, false);
    desk.io(io_of(&read[0]), Ok(PAGE));
    desk.fault(1, 99, false);
    desk.fault(1, 99, true);
    let counted: Vec<_> = desk.pager.spaces().collect();
    let of_first = SpaceStatistics {
        faults: 2,
        faults_ahead: 1,
        faults_joined: 1,
        bytes_read: PAGE,
        pages_read: 1,
        ..SpaceStatistics::default()
    };
    let of_second = SpaceStatistics {
        faults: 3,
        faults_joined: 1,
        faults_resident: 1,
        accesses_failed: 1,
        ..SpaceStatistics::default()
    };
    // The frame is charged to the space that had it filled, and not to the one that shares it.
    assert_eq!(
        counted,
        [
            (space(0), of_first, (PAGE, None)),
            (space(1), of_second, (0, None))
        ]
    );
}

#[test]
fn the_head_of_a_requester_goes_first() {
    let mut desk = Desk::new(8);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 4, true).unwrap();
    // One buffer: the first fault takes it.
    let first = desk.fault(0, 16, false);
    assert!(desk.fault_ahead(0, 17, false, true).is_empty());
    assert!(desk.fault_ahead(0, 18, false, true).is_empty());
    assert!(desk.fault(0, 18, false).is_empty());
    let load = desk.io(io_of(&first[0]), Ok(PAGE));
    let next = desk.done(id_of(load.last().unwrap()), false);
    assert!(matches!(next[..], [Action::ReadObject { offset, .. }] if offset == 2 * PAGE));
}

#[test]
fn a_write_during_a_sync_waits_for_the_copy_and_is_saved_by_the_next() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, true).unwrap();
    desk.touch(0, 16, true);
    let protect = desk.sync(16);
    assert_eq!(names(&protect), ["protect"]);
    assert!(desk.fault(0, 16, true).is_empty());
    let out = desk.done(id_of(&protect[0]), true);
    assert_eq!(names(&out), ["out"]);
    let write = desk.done(id_of(&out[0]), false);
    assert!(matches!(write[0], Action::WriteObject { .. }));
    assert_eq!(names(&write), ["invalidate", "install", "reply"]);
    // Later writes are not in the buffer: another sync has to write again.
    assert!(desk.sync(16).is_empty());
    desk.done(id_of(&write[1]), false);
    let again = desk.io(io_of(&write[0]), Ok(PAGE));
    assert!(matches!(again[0], Action::Complete { result: Ok(_), .. }));
    assert_eq!(names(&again), ["protect"]);
    let out = desk.done(id_of(&again[1]), false);
    assert_eq!(
        names(&out),
        ["out"],
        "an answered write counts, whatever the report says"
    );
}

#[test]
fn clean_pages_are_not_written() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, true).unwrap();
    desk.touch(0, 16, false);
    let protect = desk.sync(16);
    assert_eq!(
        result(&desk.done(id_of(&protect[0]), false)),
        Ok(Success::Done)
    );
    let leave = desk.unmap(0, 16, 1);
    assert_eq!(
        result(&desk.done(id_of(&leave[0]), false)),
        Ok(Success::Done)
    );
    assert_eq!(desk.pager.statistics().spaces.pages_written, 0);
}

/// Without a walker the mark of a first write costs a fault of its own, at each miss of the L1 TLB.
#[test]
fn a_reply_says_that_a_page_is_dirty_until_it_is_saved() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, true).unwrap();
    desk.map(1, 99, file, 1, false).unwrap();
    let is_dirty = |desk: &mut Desk, asid, page| match desk.fault(asid, page, false)[..] {
        [Action::Command {
            operation: Operation::FaultReply {
                entry: Some(entry), ..
            },
            ..
        }] => entry.dirty,
        ref other => panic!("not a reply: {other:?}"),
    };
    desk.touch(0, 16, false);
    desk.touch(1, 99, false);
    assert!(!is_dirty(&mut desk, 0, 16), "nothing was written");
    desk.touch(0, 16, true);
    assert!(is_dirty(&mut desk, 0, 16));
    assert!(!is_dirty(&mut desk, 1, 99), "a space that may not write");
    let sync = desk.sync(16);
    desk.serve(sync);
    assert!(!is_dirty(&mut desk, 0, 16), "the next write is to be seen");
}

#[test]
fn a_full_disk_loses_nothing() {
    let mut desk = Desk::new(1);
    let file = desk.object(1, 2 * PAGE, FILE);
    desk.map(0, 16, file, 2, true).unwrap();
    desk.touch(0, 16, true);
    // Eviction for another page fails, and so does the access that needs it.
    let invalidate = desk.fault(0, 17, false);
    let out = desk.done(id_of(&invalidate[0]), true);
    let write = desk.done(id_of(&out[0]), false);
    let failed = desk.io(io_of(&write[0]), Err(IoError::Os(28)));
    assert!(matches!(failed[0], Action::WriteBackFailed { .. }));
    assert_eq!(names(&failed), ["fail"]);
    let told = AccessError::NoFrame {
        page: PageSize::KIB_4,
        frames: 1,
        unsaved: 1,
    };
    assert!(matches!(failed[2], Action::AccessFailed { reason, .. } if reason == told));
    // The data is still available to the kernel, and an unmap reports the error.
    assert_eq!(names(&desk.fault(0, 16, false)), ["install", "reply"]);
    let leave = desk.unmap(0, 16, 2);
    let out = desk.done(id_of(&leave[0]), false);
    let write = desk.done(id_of(&out[0]), false);
    let error = result(&desk.io(io_of(&write[0]), Err(IoError::Os(28)))).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("offset 0 of object 1: system error 28"),
        "{error}"
    );
    assert_eq!(desk.pager.resident_pages(), 1);
    // There is room again: closing saves it.
    let out = desk.close(file);
    let write = desk.done(id_of(&out[0]), false);
    assert_eq!(
        result(&desk.io(io_of(&write[0]), Ok(PAGE))),
        Ok(Success::Done)
    );
    assert_eq!(
        (desk.pager.resident_pages(), desk.pager.free_frames()),
        (0, 1)
    );
}

#[test]
fn a_failed_read_fails_its_access_and_nothing_else() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, false).unwrap();
    let read = desk.fault(0, 16, false);
    let failed = desk.io(io_of(&read[0]), Err(IoError::Os(5)));
    assert_eq!(names(&failed), ["fail"]);
    let Action::AccessFailed { reason, .. } = &failed[1] else {
        panic!("{failed:?}");
    };
    assert!(reason
        .to_string()
        .contains("cannot read 4096 bytes at offset 0 of object 1"));
    desk.touch(0, 16, false);
    assert_eq!(desk.pager.resident_pages(), 1);
}

#[test]
fn wrong_accesses_name_the_nearest_mapping() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, false).unwrap();
    for (page, write, expected) in [
        (17, false, AccessError::NotMapped),
        (16, true, AccessError::NotWritable),
    ] {
        let failed = desk.fault(0, page, write);
        assert_eq!(names(&failed), ["fail"]);
        let Action::AccessFailed {
            reason, nearest, ..
        } = failed[1]
        else {
            panic!("{failed:?}");
        };
        assert_eq!(reason, expected);
        assert_eq!(nearest.unwrap().address, at(16));
    }
}

#[test]
fn a_stopped_slot_is_not_answered() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, PAGE, FILE);
    desk.map(0, 16, file, 1, false).unwrap();
    let read = desk.fault(0, 16, false);
    desk.tell(Event::SlotStopped {
        first_requester: 0,
        last_requester: 1,
    });
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    assert_eq!(commands(&load), [("in", false, true)]);
}

#[test]
fn a_full_set_gives_up_its_oldest_entry() {
    let mut desk = Desk::new(16);
    let file = desk.object(1, 9 * PAGE, FILE);
    let table = TableGeometry::new(CardAddr::new(0).unwrap(), 10).unwrap();
    let page = |tag| table.page(5, tag, PageSize::KIB_4).number;
    for tag in 1..=9 {
        let answer = desk.ask(|request| Event::Map {
            request,
            asid: space(0),
            address: Some(at(page(tag))),
            object: file,
            offset: (tag - 1) * PAGE,
            bytes: PAGE,
            read: true,
            write: true,
        });
        result(&answer).unwrap();
    }
    (1..=8).for_each(|tag| desk.touch(0, page(tag), false));
    let read = desk.fault(0, page(9), false);
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    assert_eq!(names(&load), ["in", "invalidate", "install", "reply"]);
    assert!(matches!(
        load[1],
        Action::Command { operation: Operation::Invalidate { address, .. }, .. } if address == at(page(1))
    ));
    // The victim keeps its frame.
    desk.done(id_of(&load[1]), true);
    desk.done(id_of(&load[3]), false);
    assert_eq!(desk.pager.resident_pages(), 9);
}

#[test]
fn a_space_at_its_limit_evicts_its_own() {
    let mut desk = Desk::with(8, Policies::default(), [Some(1), None]);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 2, false).unwrap();
    desk.map(1, 16, file, 4, false).unwrap();
    desk.touch(1, 18, false);
    desk.touch(0, 16, false);
    desk.touch(0, 17, false);
    assert_eq!(desk.pager.statistics().spaces.evictions, 1);
    assert_eq!(names(&desk.fault(1, 18, false)), ["reply"]);
}

#[test]
fn room_made_for_others_counts_for_a_space_at_its_limit() {
    let mut desk = Desk::with(1, Policies::default(), [Some(1), None]);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 4, true).unwrap();
    desk.map(1, 16, file, 4, true).unwrap();
    // A page is fetched without a waiter, and counts against the first space.
    let read = desk.fault(0, 16, false);
    desk.tell(Event::SlotStopped {
        first_requester: 0,
        last_requester: 0,
    });
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    assert!(desk.fault(1, 17, false).is_empty());
    assert!(desk.fault(0, 18, false).is_empty());
    // It leaves at once, and the first space is below its limit again.
    let next = desk.done(id_of(&load[0]), false);
    assert!(matches!(next[..], [Action::ReadObject { offset, .. }] if offset == PAGE));
}

#[test]
fn the_eviction_policy_can_ask_what_was_touched() {
    let policies = Policies {
        eviction: Box::<SecondChance>::default(),
        ..Policies::default()
    };
    let mut desk = Desk::with(2, policies, [None, None]);
    let file = desk.object(1, 3 * PAGE, FILE);
    desk.map(0, 16, file, 3, false).unwrap();
    desk.touch(0, 16, false);
    desk.touch(0, 17, false);
    let examine = desk.fault(0, 18, false);
    assert_eq!(names(&examine), ["read"]);
    let next = desk.done(id_of(&examine[0]), false);
    assert_eq!(
        names(&next),
        ["read"],
        "the first was touched, so the second is looked at"
    );
    let evict = desk.tell(Event::OperationDone {
        id: id_of(&next[0]),
        status: CommandStatus::Ok,
        accessed: false,
        dirty: false,
    });
    assert_eq!(names(&evict), ["invalidate"]);
}

#[test]
fn hints_use_free_frames_only() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, 4 * PAGE, ObjectKind::Anonymous);
    desk.map(0, 16, file, 4, true).unwrap();
    let hint = desk.tell(Event::Prefetch {
        asid: space(0),
        address: at(16),
        bytes: 4 * PAGE,
    });
    assert_eq!(names(&hint), ["zero", "install", "zero", "install"]);
    assert_eq!(desk.pager.statistics().pages_hinted, 2);
}

#[test]
fn refusals_name_the_thing_and_the_rule() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, 100, FILE);
    let locked = desk.object(
        2,
        100,
        ObjectKind::File {
            writable: false,
            fresh: false,
        },
    );
    desk.map(0, 16, file, 2, true).unwrap();
    let says = |result: Result<Success, PagerError>, words: &[&str]| {
        let text = result.unwrap_err().to_string();
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
    };
    let overlap = desk.map(0, 17, locked, 1, false);
    says(overlap, &["0x000000011000", "object 1", "0x000000010000"]);
    says(desk.map(0, 32, locked, 1, true), &["object 2 is read-only"]);
    says(
        desk.map(7, 32, file, 1, true),
        &["address space 7 does not exist"],
    );
    says(
        desk.map(0, 32, ObjectId(9), 1, true),
        &["object 9 does not exist"],
    );
    says(
        desk.map(0, 32, file, 0, true),
        &["0x000000020000 has no bytes"],
    );
    says(desk.map(0, (1 << 36) - 1, file, 2, true), &["48-bit"]);
    let empty = desk.ask(|request| Event::CreateObject {
        request,
        object: ObjectId(3),
        offset: 0,
        bytes: 0,
        kind: FILE,
        page_size: None,
    });
    says(result(&empty), &["object 3 is empty"]);
    for (offset, words) in [
        (PAGE, ["past the end", "100 bytes"]),
        (64, ["offset 64", "4 KiB"]),
    ] {
        let answer = desk.ask(|request| Event::Map {
            request,
            asid: space(0),
            address: None,
            object: file,
            offset,
            bytes: 1,
            read: true,
            write: false,
        });
        says(result(&answer), &words);
    }
    says(
        result(&desk.unmap(0, 99, 1)),
        &["nothing is mapped", "0x000000063000"],
    );
    says(
        result(&desk.close(file)),
        &["object 1 is still mapped at 0x000000010000"],
    );
}

#[test]
fn impossible_configurations_are_refused() {
    let memory = ChannelMemory {
        base: CardAddr::new(0).unwrap(),
        bytes: 4 << 20,
    };
    let good = Config::new(vec![memory, memory], vec![HostAddr::new(0)]);
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = good.clone();
        config.channels.truncate(1);
        change(&mut config);
        Pager::new(config).err().map(|error| error.to_string())
    };
    assert_eq!(refused(&|_| {}), None);
    assert!(refused(&|config| config.buffers.clear()).is_some());
    assert!(refused(&|config| config.buffer_bytes = 2048).is_some());
    let four = PageSizes::only(PageSize::KIB_4);
    assert!(refused(&|config| config.page_sizes = four).is_some());
    assert!(refused(&|config| config.buffers[0] = HostAddr::new(1)).is_some());
    assert!(refused(&|config| config.channels[0].bytes = 1 << 20).is_some());
    assert!(refused(&|config| config.table_sets_log2 = 9).is_some());
    assert!(refused(&|config| config.channels.push(memory)).is_some());
}

const CHANNEL_BYTES_LOG2: u8 = 20;
const FRAMES: u64 = 4;

/// Two channels of four frames, a third for tables, and spaces with these placements.
fn desk_with_placements(placements: &[SpacePlacement]) -> Desk {
    let channel = |number: u64, bytes| ChannelMemory {
        base: CardAddr::new(number << CHANNEL_BYTES_LOG2).unwrap(),
        bytes,
    };
    let (few, tables) = (FRAMES * PAGE, 4 * 65536);
    let config = Config {
        page_size: PageSize::KIB_4,
        table_sets_log2: 10,
        buffer_bytes: PAGE,
        channel_bytes_log2: CHANNEL_BYTES_LOG2,
        ..Config::new(
            vec![channel(0, few), channel(1, few), channel(2, tables)],
            vec![HostAddr::new(1 << 32)],
        )
    };
    let mut desk = Desk {
        pager: Pager::with_policies(config, Policies::default()).unwrap(),
        request: 0,
        token: 0,
    };
    for (number, &placement) in placements.iter().enumerate() {
        let actions = desk.ask(|request| Event::CreateSpace {
            request,
            asid: space(number as u8),
            limit: None,
            placement,
        });
        let actions = desk.serve(actions);
        assert_eq!(result(&actions), Ok(Success::Done));
    }
    desk
}

fn interleaved(granule: u64) -> SpacePlacement {
    SpacePlacement::Interleaved {
        first: 0,
        stripe: Stripe::new(granule, 2).unwrap(),
    }
}

/// Channels of the copies to the card.
fn channels_of_copies(actions: &[Action]) -> Vec<u64> {
    actions
        .iter()
        .filter_map(|action| match action {
            Action::Command {
                operation: Operation::CopyIn { to, stripe, .. },
                ..
            } => Some(stripe.place(*to, CHANNEL_BYTES_LOG2).get() >> CHANNEL_BYTES_LOG2),
            _ => None,
        })
        .collect()
}

#[test]
fn an_isolated_space_stays_on_its_channel_and_evicts_only_there() {
    let placements = [SpacePlacement::Channel(0), SpacePlacement::Channel(1)];
    let mut desk = desk_with_placements(&placements);
    for asid in 0..2 {
        let object = desk.object(asid, 16 * PAGE, FILE);
        desk.map(asid as u8, 0, object, 16, true).unwrap();
    }
    for page in 0..10 {
        let actions = desk.fault(1, page, false);
        assert_eq!(channels_of_copies(&desk.serve(actions)), [1]);
    }
    assert_eq!(desk.pager.statistics().spaces.evictions, 10 - FRAMES);
    // Its neighbour finds its channel untouched.
    for page in 0..FRAMES {
        let actions = desk.fault(0, page, false);
        assert_eq!(channels_of_copies(&desk.serve(actions)), [0]);
    }
    assert_eq!(desk.pager.statistics().spaces.evictions, 10 - FRAMES);
}

#[test]
fn isolated_spaces_get_other_channels_as_others_come_and_go() {
    let mut desk = desk_with_placements(&[SpacePlacement::Isolated]);
    let object = desk.object(0, 16 * PAGE, FILE);
    desk.map(0, 0, object, 16, true).unwrap();
    let channels = |desk: &mut Desk, asid, page| {
        let actions = desk.fault(asid, page, false);
        channels_of_copies(&desk.serve(actions))
    };
    // Alone, it has all.
    let alone: Vec<u64> = (0..8)
        .flat_map(|page| channels(&mut desk, 0, page))
        .collect();
    assert!(alone.contains(&0) && alone.contains(&1), "{alone:?}");
    let place = |asid| {
        move |request| Event::CreateSpace {
            request,
            asid: space(asid),
            limit: None,
            placement: SpacePlacement::Isolated,
        }
    };
    for asid in [1, 2] {
        let actions = desk.ask(place(asid));
        let actions = desk.serve(actions);
        assert_eq!(result(&actions), Ok(Success::Done));
    }
    let groups: Vec<_> = desk
        .pager
        .spaces()
        .map(|(_, _, (_, group))| group)
        .collect();
    assert_eq!(groups, [Some(0..1), Some(1..2), Some(2..3)]);
    let object = desk.object(1, 16 * PAGE, FILE);
    desk.map(1, 0, object, 16, true).unwrap();
    // The second finds its channel full of the first's pages, and these leave.
    for page in 0..FRAMES {
        assert_eq!(channels(&mut desk, 1, page), [1]);
    }
    for page in 8..12 {
        assert_eq!(channels(&mut desk, 0, page), [0]);
    }
    // When the others have gone, it has all again.
    for asid in [1, 2] {
        let actions = desk.ask(|request| Event::DestroySpace {
            request,
            asid: space(asid),
        });
        desk.serve(actions);
    }
    let again: Vec<u64> = (12..16)
        .flat_map(|page| channels(&mut desk, 0, page))
        .collect();
    assert!(again.iter().any(|&channel| channel > 0), "{again:?}");
}

#[test]
fn a_striped_space_gets_room_on_all_its_channels() {
    for granule in [64, 2048, PAGE] {
        let placements = [
            SpacePlacement::Channel(0),
            SpacePlacement::Channel(1),
            interleaved(granule),
        ];
        let mut desk = desk_with_placements(&placements);
        for asid in 0..3 {
            let object = desk.object(asid, 16 * PAGE, FILE);
            desk.map(asid as u8, 0, object, 16, true).unwrap();
        }
        // Both channels are full; the striped space needs a frame at the same offset of each.
        for page in 0..FRAMES {
            desk.touch(0, page, true);
            desk.touch(1, page, true);
        }
        for page in 0..16 {
            let actions = desk.fault(2, page, true);
            let actions = desk.serve(actions);
            assert_eq!(
                channels_of_copies(&actions).len(),
                1,
                "page {page} of granule {granule}"
            );
        }
        // And the others get theirs back.
        for asid in 0..2 {
            let actions = desk.fault(asid, 9, false);
            let actions = desk.serve(actions);
            assert_eq!(channels_of_copies(&actions), [u64::from(asid)]);
        }
    }
}

#[test]
fn an_object_lies_on_its_channels_whatever_space_wants_it() {
    let anywhere = [SpacePlacement::Anywhere, SpacePlacement::Anywhere];
    let mut desk = desk_with_placements(&anywhere);
    let placed = desk.object(0, 16 * PAGE, FILE);
    let other = desk.object(1, 16 * PAGE, FILE);
    desk.tell(Event::PlaceOn {
        object: placed,
        first: 1,
        channels: 1,
    });
    for asid in 0..2 {
        desk.map(asid, 0, placed, 16, true).unwrap();
        desk.map(asid, 32, other, 16, true).unwrap();
    }
    // More than the channel holds: its pages leave, and those of the other object on other channels stay.
    let actions = desk.fault(0, 32, false);
    assert_eq!(channels_of_copies(&desk.serve(actions)), [0]);
    for page in 0..10 {
        let actions = desk.fault((page % 2) as u8, page, false);
        assert_eq!(channels_of_copies(&desk.serve(actions)), [1]);
    }
    assert_eq!(desk.pager.statistics().spaces.evictions, 10 - FRAMES);
    let actions = desk.fault(1, 32, false);
    assert_eq!(channels_of_copies(&desk.serve(actions)), []);
}

#[test]
fn an_object_is_not_placed_twice() {
    let mut desk = desk_with_placements(&[SpacePlacement::Channel(0), SpacePlacement::Anywhere]);
    let object = desk.object(0, PAGE, FILE);
    desk.tell(Event::PlaceOn {
        object,
        first: 1,
        channels: 7,
    });
    let refused = desk.map(0, 0, object, 1, true);
    assert!(matches!(refused, Err(PagerError::PlacedTwice { .. })));
    desk.map(1, 0, object, 1, true).unwrap();
    // Missing channels do not count: 1 and 2 exist.
    let actions = desk.fault(1, 0, false);
    let channels = channels_of_copies(&desk.serve(actions));
    assert!(channels == [1] || channels == [2], "{channels:?}");
}

#[test]
fn placements_that_are_not_there_are_refused() {
    let mut desk = desk_with_placements(&[]);
    for placement in [
        SpacePlacement::Channel(3),
        SpacePlacement::Interleaved {
            first: 1,
            stripe: Stripe::new(64, 2).unwrap(),
        },
        SpacePlacement::Interleaved {
            first: 0,
            stripe: Stripe::new(64, 4).unwrap(),
        },
        interleaved(2 << 20),
    ] {
        let asid = space(0);
        let answer = desk.ask(|request| Event::CreateSpace {
            request,
            asid,
            limit: None,
            placement,
        });
        let expected = PagerError::NoSuchPlacement { asid, placement };
        assert_eq!(result(&answer), Err(expected));
    }
}

#[test]
fn spaces_that_share_an_object_are_striped_alike() {
    let placements = [
        SpacePlacement::Channel(0),
        SpacePlacement::Channel(1),
        interleaved(PAGE),
    ];
    let mut desk = desk_with_placements(&placements);
    let object = desk.object(0, 4 * PAGE, FILE);
    desk.map(0, 0, object, 4, true).unwrap();
    desk.map(1, 0, object, 4, true).unwrap();
    let refused = desk.map(2, 0, object, 4, true);
    assert!(matches!(refused, Err(PagerError::StripesDiffer { .. })));
    desk.touch(0, 0, true);
    for asid in 0..2 {
        let actions = desk.unmap(asid, 0, 4);
        desk.serve(actions);
    }
    desk.map(2, 0, object, 4, true).unwrap();
}

#[test]
fn pages_that_would_leave_next_are_cleaned_ahead() {
    let mut desk = Desk::configured(2, Policies::default(), [None, None], |config| {
        config.clean_ahead = 1;
    });
    let file = desk.object(1, 3 * PAGE, FILE);
    desk.map(0, 16, file, 3, true).unwrap();
    desk.touch(0, 16, true);
    // The second page takes the last frame; the first one is protected, and written as soon as the
    // buffer is free.
    let read = desk.fault(0, 17, false);
    assert_eq!(commands(&read[1..]), [("protect", false, true)]);
    assert!(desk.done(id_of(&read[1]), true).is_empty());
    let load = desk.io(io_of(&read[0]), Ok(PAGE));
    let copy = desk.done(id_of(&load[2]), false);
    assert_eq!(names(&copy), ["out"]);
    let write = desk.done(id_of(&copy[0]), false);
    assert!(desk.io(io_of(&write[0]), Ok(PAGE)).is_empty());
    assert_eq!(desk.pager.statistics().pages_cleaned_ahead, 1);
    // It leaves without being written again.
    let third = desk.fault(0, 18, false);
    assert_eq!(names(&third), ["invalidate"]);
    let read = desk.done(id_of(&third[0]), false);
    assert!(matches!(read[0], Action::ReadObject { offset, .. } if offset == 2 * PAGE));
}

#[test]
fn a_window_is_fetched_ahead_and_its_first_page_is_not_installed() {
    let policies = Policies {
        fetch: Box::new(ReadAhead::new(2 * PAGE)),
        ..Policies::default()
    };
    let mut desk = Desk::configured(32, policies, [None, None], |config| {
        config.buffers = (1..5).map(|n| HostAddr::new(n << 32)).collect();
    });
    let file = desk.object(1, 8 * PAGE, FILE);
    desk.map(0, 16, file, 8, true).unwrap();
    let reads = desk.fault(0, 16, false);
    assert_eq!(reads.len(), 2, "the page, and one more: {reads:?}");
    for read in &reads {
        let load = desk.io(io_of(read), Ok(PAGE));
        assert_eq!(names(&load)[..2], ["in", "install"]);
        desk.done(id_of(load.last().unwrap()), false);
    }
    // The second page is resident; a fault on it is unexpected, and shows that the requester continues.
    let next = desk.fault(0, 17, false);
    assert_eq!(names(&next), ["reply"]);
    let reads: Vec<Action> = next
        .into_iter()
        .filter(|action| matches!(action, Action::ReadObject { .. }))
        .collect();
    assert_eq!(reads.len(), 2);
    let marker = desk.io(io_of(&reads[0]), Ok(PAGE));
    assert_eq!(commands(&marker), [("in", false, true)], "no entry");
    let other = desk.io(io_of(&reads[1]), Ok(PAGE));
    assert_eq!(names(&other), ["in", "install"]);
    // The marker's data is in transit: its buffer is not free, and later requests wait for it.
    assert!(commands(&desk.fault(0, 18, false)).is_empty());
    let answered = desk.done(id_of(&marker[0]), false);
    assert_eq!(names(&answered), ["install", "reply"]);
}

#[test]
fn a_table_that_is_full_enough_grows() {
    let mut desk = Desk::configured(64, Policies::default(), [None, None], |config| {
        config.grow_percent = 0;
    });
    let file = desk.object(1, 9 * PAGE, FILE);
    let table = TableGeometry::new(CardAddr::new(0).unwrap(), 10).unwrap();
    let page = |tag| table.page(5, tag, PageSize::KIB_4).number;
    for tag in 1..=9 {
        desk.map(0, page(tag), file, 1, true).unwrap();
    }
    for tag in 1..=8 {
        desk.touch(0, page(tag), false);
    }
    let free = desk.pager.free_frames();
    // The same page of the file at a ninth address: it is resident, but its set is full.
    let install = desk.fault(0, page(9), false);
    assert_eq!(names(&install), ["grow", "install", "reply"]);
    assert_eq!(desk.pager.free_frames(), free - 32, "128 KiB");
    desk.done(id_of(&install[0]), false);
    assert_eq!(desk.pager.free_frames(), free - 16, "the old table is free");
    assert_eq!(desk.pager.statistics().spaces.set_conflicts, 0);
}

impl Desk {
    fn advise(&mut self, page: u64, pages: u64, advice: &str) -> Result<Success, PagerError> {
        result(&self.ask(|request| Event::Advise {
            request,
            asid: space(0),
            address: at(page),
            bytes: pages * PAGE,
            advice: advice.parse().unwrap(),
        }))
    }

    /// Which of the pages that are on the card leaves for another.
    fn leaves_for(&mut self, page: u64) -> VirtAddr {
        match self.fault(0, page, false)[..] {
            [Action::Command {
                operation: Operation::Invalidate { address, .. },
                ..
            }] => address,
            ref other => panic!("one page leaves, and not {other:?}"),
        }
    }
}

#[test]
fn advice_says_who_leaves_first() {
    for (advised, leaves) in [
        (&[][..], 16),
        (&[(16, 1, "reuse")], 17),
        (&[(16, 4, "reuse")], 16),
        (&[(18, 1, "lowuse")], 18),
        (&[(16, 2, "reuse"), (16, 1, "lowuse")], 16),
        (&[(16, 2, "reuse"), (16, 2, "none")], 16),
        (&[(16, 1, "reuse"), (17, 1, "reuse"), (16, 2, "stream")], 18),
    ] {
        let mut desk = Desk::new(3);
        let file = desk.object(1, 4 * PAGE, FILE);
        desk.map(0, 16, file, 4, false).unwrap();
        (16..19).for_each(|page| desk.touch(0, page, false));
        for &(page, pages, advice) in advised {
            desk.advise(page, pages, advice).unwrap();
        }
        assert_eq!(desk.leaves_for(19), at(leaves), "{advised:?}");
    }
}

#[test]
fn pages_that_come_after_the_advice_follow_it() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 4, false).unwrap();
    desk.advise(16, 1, "reuse").unwrap();
    desk.touch(0, 16, false);
    desk.touch(0, 17, false);
    assert_eq!(desk.leaves_for(18), at(17));
}

#[test]
fn a_mapping_in_parts_is_unmapped_whole() {
    let mut desk = Desk::new(4);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 4, true).unwrap();
    desk.advise(17, 2, "random+reuse").unwrap();
    (16..20).for_each(|page| desk.touch(0, page, true));
    assert!(matches!(
        desk.advise(30, 1, "stream"),
        Err(PagerError::NotMapped { .. })
    ));
    let leaving = desk.unmap(0, 16, 4);
    assert_eq!(names(&leaving), ["invalidate"; 4]);
    assert!(matches!(
        desk.advise(16, 1, "stream"),
        Err(PagerError::NotMapped { .. })
    ));
}

fn refresh(desk: &mut Desk, page: u64, discard: bool) -> Vec<Action> {
    desk.ask(|request| Event::Refresh {
        request,
        asid: space(0),
        address: at(page),
        bytes: PAGE,
        discard,
    })
}

#[test]
fn a_refreshed_page_leaves_and_is_read_again() {
    let mut desk = Desk::new(2);
    let file = desk.object(1, 2 * PAGE, FILE);
    desk.map(0, 16, file, 2, true).unwrap();
    desk.touch(0, 16, false);
    let leaves = refresh(&mut desk, 16, false);
    assert_eq!(names(&leaves), ["invalidate"]);
    let done = desk.done(id_of(&leaves[0]), false);
    assert_eq!(result(&done), Ok(Success::Done));
    let again = desk.fault(0, 16, false);
    assert!(matches!(again[..], [Action::ReadObject { offset: 0, .. }]));
    assert!(matches!(
        result(&refresh(&mut desk, 60, false)),
        Err(PagerError::NotMapped { .. })
    ));
}

#[test]
fn what_was_written_is_saved_before_a_refresh_or_dropped() {
    for discard in [false, true] {
        let mut desk = Desk::new(2);
        let file = desk.object(1, 2 * PAGE, FILE);
        desk.map(0, 16, file, 2, true).unwrap();
        desk.touch(0, 16, true);
        let leaves = refresh(&mut desk, 16, discard);
        let next = desk.done(id_of(&leaves[0]), true);
        if discard {
            assert_eq!(result(&next), Ok(Success::Done));
            assert_eq!(desk.pager.statistics().spaces.pages_written, 0);
            continue;
        }
        let write = desk.done(id_of(&next[0]), false);
        let done = desk.io(io_of(&write[0]), Ok(PAGE));
        assert_eq!(result(&done), Ok(Success::Done));
    }
}

#[test]
fn a_hole_that_somebody_filled_is_read() {
    let mut desk = Desk::new(2);
    let fresh = ObjectKind::File {
        writable: true,
        fresh: true,
    };
    let file = desk.object(1, 2 * PAGE, fresh);
    desk.map(0, 16, file, 2, true).unwrap();
    assert_eq!(result(&refresh(&mut desk, 16, false)), Ok(Success::Done));
    let read = desk.fault(0, 16, false);
    assert!(matches!(read[..], [Action::ReadObject { offset: 0, .. }]));
    assert_eq!(names(&desk.fault(0, 17, false))[0], "zero");
}

/// Small pages, which are joined while a switch is on.
#[derive(Debug)]
struct JoinsWhile(Arc<AtomicBool>);

impl PageSizePolicy for JoinsWhile {
    fn touched(&mut self, _: &SizeTouch) -> PageSize {
        PageSize::KIB_4
    }

    fn comes(&mut self, _: u8, _: Range<u64>) {}

    fn joins(&mut self, _: PageSize, _: bool, _: u64) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_sync_saves_every_page_of_a_block_that_is_joined_meanwhile() {
    let joins = Arc::new(AtomicBool::new(true));
    let policies = Policies {
        size: Box::new(JoinsWhile(joins.clone())),
        ..Policies::default()
    };
    let mut desk = Desk::configured(8, policies, [None, None], |_| {});
    let file = ObjectId(1);
    let (large, sizes) = (
        PageSize::from_class(1).unwrap(),
        PageSizes::only(PageSize::KIB_4),
    );
    desk.ask(|request| Event::CreateObject {
        request,
        object: file,
        offset: 0,
        bytes: 2 * PAGE,
        kind: FILE,
        page_size: Some(large),
    });
    desk.tell(Event::VaryPages {
        object: file,
        sizes: sizes.with(large),
    });
    desk.map(0, 16, file, 2, true).unwrap();
    desk.touch(0, 16, false);
    let fill = desk.fault(0, 17, true);
    joins.store(false, Ordering::Relaxed);
    desk.serve(fill);
    assert_eq!(desk.pager.statistics().sizes.joined, 0);

    // Neither can be written now, and the second one could not be saved.
    let sync = |desk: &mut Desk| {
        desk.ask(|request| Event::Sync {
            request,
            asid: space(0),
            address: at(16),
            bytes: 2 * PAGE,
        })
    };
    let protect = sync(&mut desk);
    assert_eq!(names(&protect), ["protect", "protect"]);
    desk.done(id_of(&protect[0]), false);
    let out = desk.done(id_of(&protect[1]), true);
    let write = desk.done(id_of(&out[0]), false);
    let failed = desk.io(io_of(&write[0]), Err(IoError::Os(28)));
    assert!(result(&failed).is_err());

    joins.store(true, Ordering::Relaxed);
    let again = sync(&mut desk);
    let answered = |actions: &[Action]| {
        let mut ends = actions.iter();
        ends.any(|action| matches!(action, Action::Complete { .. }))
    };
    assert!(!answered(&again), "the second page is not saved: {again:?}");
    let done = desk.serve(again);
    assert!(answered(&done));
    assert_eq!(desk.pager.statistics().spaces.pages_written, 1);
    assert_eq!(desk.pager.statistics().sizes.joined, 1, "in the end");
}

/// A pager whose work overlaps, with buffers enough, that reads ahead a page.
fn overlapping(change: impl FnOnce(&mut Config)) -> Desk {
    let policies = Policies {
        fetch: Box::new(ReadAhead::new(PAGE)),
        ..Policies::default()
    };
    Desk::configured(32, policies, [None, None], |config| {
        config.buffers = (1..5).map(|n| HostAddr::new(n << 32)).collect();
        config.overlap = true;
        config.zeroed_ahead_bytes = PAGE;
        change(config);
    })
}

/// Offsets of writes to objects.
fn saved(actions: &[Action]) -> Vec<u64> {
    let offset = |action: &Action| match action {
        Action::WriteObject { offset, .. } => Some(*offset),
        _ => None,
    };
    actions.iter().filter_map(offset).collect()
}

#[test]
fn what_was_written_in_order_is_saved_behind_the_kernel() {
    let mut desk = overlapping(|_| {});
    let file = desk.object(1, 8 * PAGE, FILE);
    desk.map(0, 16, file, 8, true).unwrap();
    let mut written = Vec::new();
    for page in 16..22 {
        let actions = desk.fault(0, page, true);
        written.extend(saved(&desk.serve(actions)));
    }
    assert_eq!(written, [0, PAGE, 2 * PAGE, 3 * PAGE, 4 * PAGE]);
    assert_eq!(desk.pager.statistics().pages_cleaned_behind, 5);
    // Pages that were read in order are not written.
    let other = desk.object(2, 8 * PAGE, FILE);
    desk.map(1, 16, other, 8, true).unwrap();
    for page in 16..22 {
        let actions = desk.fault(1, page, false);
        assert!(saved(&desk.serve(actions)).is_empty());
    }
}

#[test]
fn a_kernel_that_writes_again_what_was_saved_is_left_alone() {
    let mut desk = overlapping(|_| {});
    let file = desk.object(1, 8 * PAGE, FILE);
    desk.map(0, 16, file, 8, true).unwrap();
    for page in 16..19 {
        let actions = desk.fault(0, page, true);
        desk.serve(actions);
    }
    assert_eq!(desk.pager.statistics().pages_cleaned_behind, 2);
    let again = desk.fault(0, 16, true);
    assert!(commands(&again).iter().any(|(name, ..)| *name == "reply"));
    desk.serve(again);
    for page in 19..24 {
        let actions = desk.fault(0, page, true);
        assert!(saved(&desk.serve(actions)).is_empty());
    }
    let unmapped = desk.unmap(0, 16, 8);
    let written = saved(&desk.serve(unmapped));
    assert_eq!(
        written.len(),
        7,
        "all but the page that nobody wrote again: {written:?}"
    );
}

#[test]
fn the_page_of_a_pointer_comes_in_and_its_first_access_is_seen() {
    let mut desk = overlapping(|_| {});
    let file = desk.object(1, 4 * PAGE, ObjectKind::Anonymous);
    desk.map(0, 16, file, 4, true).unwrap();
    let announce = |page| Event::Announce {
        asid: space(0),
        address: VirtAddr::new(page * PAGE + 8).unwrap(),
    };
    let actions = desk.tell(announce(16));
    assert_eq!(names(&actions), ["zero"]);
    assert!(desk.done(id_of(&actions[0]), false).is_empty(), "no entry");
    let faulted = desk.fault(0, 16, true);
    assert_eq!(names(&faulted)[..2], ["install", "reply"]);
    assert!(
        desk.tell(announce(99)).is_empty(),
        "nothing is mapped there"
    );
    // Without overlap there is no report.
    let mut desk = Desk::new(4);
    let file = desk.object(1, 4 * PAGE, ObjectKind::Anonymous);
    desk.map(0, 16, file, 4, true).unwrap();
    assert!(desk.tell(announce(16)).is_empty());
}

#[test]
fn zeroing_ahead_waits_for_zeroing_that_is_needed() {
    let mut desk = overlapping(|_| {});
    let file = desk.object(1, 4 * PAGE, ObjectKind::Anonymous);
    desk.map(0, 16, file, 4, true).unwrap();
    let hint = desk.tell(Event::Prefetch {
        asid: space(0),
        address: at(17),
        bytes: 3 * PAGE,
    });
    assert_eq!(names(&hint), ["zero", "install"], "one at a time");
    // A waiter is served immediately, with its own page and with one that was to come later.
    assert_eq!(names(&desk.fault(0, 16, true))[..1], ["zero"]);
    assert_eq!(names(&desk.fault(0, 19, true))[..1], ["zero"]);
}

#[test]
fn pieces_are_written_while_others_are_copied_out() {
    let mut desk = overlapping(|config| config.piece_bytes = PAGE / 4);
    let file = desk.object(1, 4 * PAGE, FILE);
    desk.map(0, 16, file, 4, true).unwrap();
    let actions = desk.fault(0, 16, true);
    desk.serve(actions);
    let sync = desk.sync(16);
    let out = desk.done(id_of(&sync[0]), true);
    assert_eq!(names(&out), ["out"; 4]);
    let last = desk.done(id_of(&out[3]), false);
    assert_eq!(saved(&last), [3 * PAGE / 4]);
    let mut writes = vec![io_of(&last[0])];
    for copy in &out[..3] {
        writes.push(io_of(&desk.done(id_of(copy), false)[0]));
    }
    // One is refused: the others are waited for, and the page is to be written again, whole.
    assert!(desk.io(writes[0], Ok(PAGE / 4)).is_empty());
    assert!(desk.io(writes[1], Err(IoError::Os(28))).is_empty());
    assert!(desk.io(writes[2], Ok(PAGE / 4)).is_empty());
    let refused = desk.io(writes[3], Ok(PAGE / 4));
    assert!(matches!(
        result(&refused),
        Err(PagerError::Io { offset: 0, .. })
    ));
    let sync = desk.sync(16);
    let done = desk.serve(sync);
    assert_eq!(saved(&done).len(), 4);
    assert_eq!(result(&done), Ok(Success::Done));
    assert_eq!(desk.pager.statistics().pieces.saved, 2);
}
