//! Faults: what is reported, how it is answered, what an invalidation does to answers.

use crate::bench::{asid, at, config, entry, frame_at, Bench, SLOT};
use card::event::Event;
use card::registers::{space::mode, space::MODE, SPACE};
use card::{Card, Simulation, SpaceControl};
use units::{
    CommandStatus, Fault, FaultCause, Operation, PageEntry, PageSize, TableGeometry, Target,
};

const SIZE: PageSize = PageSize::KIB_4;
const INPUT: u64 = 0x10_0000;
const OUTPUT: u64 = 0x20_0000;

/// The copy kernel, started on `pages` pages that are absent.
fn started(pages: u64) -> Bench {
    let mut bench = Bench::with_kernel(config(None), "copy");
    bench.set_number("input", INPUT);
    bench.set_number("output", OUTPUT);
    bench.set_number("bytes", 4096 * pages);
    bench.start();
    bench
}

fn faults(bench: &mut Bench) -> Vec<Fault> {
    let events = bench.card.wait(None).unwrap();
    let fault = |event| match event {
        Event::Fault(fault) => fault,
        other => panic!("{other:?}"),
    };
    events.into_iter().map(fault).collect()
}

#[test]
fn a_fault_names_the_access_and_its_followers() {
    let mut bench = started(20);
    let faults = faults(&mut bench);
    assert_eq!(faults.len(), 9, "one and eight ahead");
    for (i, fault) in faults.iter().enumerate() {
        assert_eq!(fault.address, at(INPUT + 4096 * i as u64));
        assert_eq!(
            (fault.asid, fault.write, fault.ahead),
            (asid(), false, i > 0)
        );
        assert_eq!((fault.token.requester, fault.token.index), (0, i as u8));
        assert_eq!(fault.cause, FaultCause::Absent);
    }
    assert!(bench.card.is_quiescent());
}

#[test]
fn without_a_walker_the_replies_are_the_translations() {
    let mut bench = Bench::with_kernel(config(None), "copy");
    let register = SPACE.at(asid().get().into()) + MODE;
    bench.card.control_space(asid(), SpaceControl::Off).unwrap();
    let off = mode::WALKER_OFF.put(1);
    bench.card.write_register(register, off).unwrap();
    assert_eq!(bench.card.read_register(register).unwrap(), off);
    let table = TableGeometry::new(frame_at(0), 10).unwrap();
    bench
        .card
        .control_space(asid(), SpaceControl::table(table, 1))
        .unwrap();
    // In the table, and yet each page faults once.
    bench.install(INPUT, entry(100, SIZE));
    bench.install(OUTPUT, entry(101, SIZE));
    bench.put(frame_at(100), &[7; 4096]);
    let run = |bench: &mut Bench| {
        bench.set_number("input", INPUT);
        bench.set_number("output", OUTPUT);
        bench.set_number("bytes", 4096);
        bench.start();
        let mut faults = Vec::new();
        bench.finish(|bench, fault| {
            faults.push((fault.address.get(), fault.write, fault.cause));
            let page = PageEntry {
                dirty: fault.write,
                ..entry(100 + u32::from(fault.write), SIZE)
            };
            bench.reply(fault.token, Some(page));
        });
        faults
    };
    let read = (INPUT, false, FaultCause::Absent);
    let write = (OUTPUT, true, FaultCause::Absent);
    assert_eq!(run(&mut bench), [read, write]);
    assert_eq!(run(&mut bench), []);
    assert_eq!(bench.get(frame_at(101), 4096), [7; 4096]);
    assert_eq!(bench.invalidate(INPUT, SIZE).0, CommandStatus::Ok);
    assert_eq!(run(&mut bench), [read]);
    assert_eq!(bench.invalidate(INPUT, SIZE).0, CommandStatus::Absent);
    assert_eq!(
        run(&mut bench),
        [read],
        "the reply was forgotten all the same"
    );
}

#[test]
fn a_follower_may_be_answered_first() {
    let mut bench = started(2);
    let [first, second] = faults(&mut bench)[..] else {
        panic!()
    };
    bench.put(frame_at(100), &[1; 4096]);
    bench.put(frame_at(101), &[2; 4096]);
    bench.reply(second.token, Some(entry(101, SIZE)));
    bench.reply(first.token, Some(entry(100, SIZE)));
    bench.finish(|bench, fault| {
        let frame = 110 + ((fault.address.get() - OUTPUT) / 4096) as u32;
        bench.reply(fault.token, Some(entry(frame, SIZE)));
    });
    assert_eq!(bench.get(frame_at(110), 4096), [1; 4096]);
    assert_eq!(bench.get(frame_at(111), 4096), [2; 4096]);
}

#[test]
fn bursts_behind_a_blocked_one_are_counted_too() {
    let mut bench = started(20);
    bench.finish(|bench, fault| {
        let frame = 100 + ((fault.address.get() >> 12) & 0x1ff) as u32;
        bench.reply(fault.token, Some(entry(frame, SIZE)));
    });
    let statistics = bench.card.statistics().unwrap();
    for requester in [0, 3] {
        let port = &statistics.requesters[requester];
        assert_eq!((port.bursts, port.rows, port.bytes), (20, 1280, 20 * 4096));
    }
}

#[test]
fn a_reply_translates_without_the_table() {
    let mut bench = started(1);
    let fault = faults(&mut bench)[0];
    bench.reply(fault.token, Some(entry(100, SIZE)));
    let write = faults(&mut bench)[0];
    assert!(write.write);
    assert_eq!(write.token.requester, 3, "port 1 writes");
    // The entry is in the table, but the access does not look at it, so it leaves no mark there.
    assert_eq!(bench.install(OUTPUT, entry(101, SIZE)), CommandStatus::Ok);
    bench.reply(write.token, Some(entry(101, SIZE)));
    bench.finish(|_, fault| panic!("{fault:?}"));
    assert_eq!(
        bench.invalidate(OUTPUT, SIZE),
        (CommandStatus::Ok, false, false)
    );
}

#[test]
fn an_invalidation_takes_answers_back() {
    let mut bench = started(2);
    let [first, second] = faults(&mut bench)[..] else {
        panic!()
    };
    bench.reply(second.token, Some(entry(101, SIZE)));
    bench.install(INPUT + 4096, entry(101, SIZE));
    bench.invalidate(INPUT + 4096, SIZE);
    bench.reply(first.token, Some(entry(100, SIZE)));
    // The first page goes through; the write of it and the second page fault.
    let again: Vec<_> = std::iter::repeat_with(|| faults(&mut bench))
        .take(2)
        .flatten()
        .collect();
    assert!(
        again
            .iter()
            .any(|fault| fault.token == second.token && !fault.ahead),
        "{again:?}"
    );
}

#[test]
fn causes_are_told_apart() {
    for (change, cause) in [
        (
            PageEntry {
                read: false,
                ..entry(100, SIZE)
            },
            FaultCause::Permission,
        ),
        (
            PageEntry {
                target: Target::Host,
                ..entry(100, SIZE)
            },
            FaultCause::Target,
        ),
        (
            PageEntry {
                target: Target::None,
                ..entry(100, SIZE)
            },
            FaultCause::Target,
        ),
    ] {
        let mut bench = started(1);
        bench.install(INPUT, change);
        assert_eq!(faults(&mut bench)[0].cause, cause);
    }
    let mut bench = started(1);
    bench.install(INPUT, entry(100, SIZE));
    bench.install(
        OUTPUT,
        PageEntry {
            write: false,
            ..entry(101, SIZE)
        },
    );
    let fault = faults(&mut bench)[0];
    assert_eq!((fault.cause, fault.write), (FaultCause::Permission, true));
}

#[test]
fn a_useless_answer_is_a_new_fault() {
    let mut bench = started(1);
    let fault = faults(&mut bench)[0];
    bench.reply(
        fault.token,
        Some(PageEntry {
            read: false,
            ..entry(100, SIZE)
        }),
    );
    let again = faults(&mut bench)[0];
    assert_eq!(
        (again.token, again.cause),
        (fault.token, FaultCause::Permission)
    );
}

#[test]
fn a_refused_access_reads_zeros_and_writes_nothing() {
    let mut bench = started(2);
    bench.install(OUTPUT, entry(110, SIZE));
    bench.put(frame_at(110), &[9; 8192]);
    for fault in faults(&mut bench) {
        bench.reply(fault.token, None);
    }
    bench.finish(|bench, fault| {
        assert_eq!(fault.address, at(OUTPUT + 4096));
        bench.reply(fault.token, None);
    });
    assert_eq!(
        bench.get(frame_at(110), 8192),
        [[0; 4096], [9; 4096]].concat()
    );
}

#[test]
fn marks_are_exact() {
    let mut bench = started(1);
    bench.install(INPUT, entry(100, SIZE));
    bench.install(OUTPUT, entry(101, SIZE));
    bench.finish(|_, fault| panic!("{fault:?}"));
    let read_clear = |address| Operation::ReadClear {
        asid: asid(),
        address: at(address),
        size: SIZE,
    };
    let ok = CommandStatus::Ok;
    assert_eq!(bench.run(read_clear(INPUT)), (ok, true, false));
    assert_eq!(bench.run(read_clear(INPUT)), (ok, false, false));
    assert_eq!(bench.run(read_clear(OUTPUT)), (ok, true, true));
    assert_eq!(
        bench.run(read_clear(OUTPUT)),
        (ok, false, true),
        "dirty stays"
    );
    let protect = Operation::Protect {
        asid: asid(),
        address: at(OUTPUT),
        size: SIZE,
    };
    assert_eq!(bench.run(protect), (ok, false, true));
    assert_eq!(bench.run(protect), (ok, false, false));
    bench.start();
    let fault = faults(&mut bench)[0];
    assert_eq!(
        (fault.address, fault.cause),
        (at(OUTPUT), FaultCause::Permission)
    );
}

#[test]
fn a_reset_forgets_faults_and_late_replies_do_no_harm() {
    let mut bench = started(3);
    let old = faults(&mut bench);
    bench.card.control_slot(SLOT, asid(), false).unwrap();
    for fault in &old {
        bench.reply(fault.token, Some(entry(100, SIZE)));
    }
    assert!(bench.card.wait(Some(bench.card.now())).unwrap().is_empty());
    bench.card.control_slot(SLOT, asid(), true).unwrap();
    bench.set_number("input", INPUT);
    bench.set_number("bytes", 64);
    bench.start();
    assert_eq!(faults(&mut bench)[0].address, at(INPUT));
}

#[test]
fn a_frame_beyond_memory_fails_the_access() {
    let mut bench = started(1);
    bench.install(INPUT, entry((1 << 25) - 1, SIZE));
    bench.install(OUTPUT, entry(110, SIZE));
    bench.put(frame_at(110), &[9; 4096]);
    bench.finish(|_, fault| panic!("{fault:?}"));
    assert_eq!(bench.get(frame_at(110), 4096), [0; 4096]);
}
