//! The Verilated cache controller, small: is what the card sees of the CPU's memory coherent, and
//! does nothing wait for ever?

use coherence::cache_controller::controller::{
    Access, AccessKind, Answer, ControllerError, Status, ROW_WORDS,
};
use coherence::cache_controller::model::{build, ControllerGeometry, ControllerModel};
use coherence::cache_controller::system::{CardError, CardSystem, SystemSetting};
use coherence::cache_controller::torture::{self, ControllerPlan};
use coherence::line::{PlainLine, WORDS};
use coherence::platform::Platform;
use cpu::home::{HomeAccess, HomeFigures};

const GEOMETRY: ControllerGeometry = ControllerGeometry::SMALL;
/// More than a round trip with everything that it may wait for but a hold.
const SOON: u64 = 600;

fn system() -> CardSystem {
    let platform = Platform::enzian().expect("platform");
    let library = build(GEOMETRY, None).expect("model");
    let cpu = HomeFigures {
        memory_ps: 10_000,
        jitter_ps: 0,
    };
    let model = ControllerModel::load(&library).expect("model");
    let setting = SystemSetting {
        geometry: GEOMETRY,
        link: &platform.link,
        cpu,
        period: 3106,
        stalls: 0,
        seed: 1,
    };
    CardSystem::new(model, &setting).expect("system")
}

fn ask(
    system: &mut CardSystem,
    kind: AccessKind,
    tag: u8,
    line: u64,
    hold: Option<u8>,
    value: u64,
) {
    system.card.accesses.push_back(Access {
        kind,
        hold,
        tag,
        line: PlainLine(line),
        second: true,
        row: [value; ROW_WORDS],
        strobe: u64::MAX,
    });
}

fn run(system: &mut CardSystem, cycles: u64) {
    for _ in 0..cycles {
        system.cycle().expect("cycle");
    }
}

/// The answer to the only access of the card.
fn answer(system: &mut CardSystem) -> Answer {
    for _ in 0..SOON {
        system.cycle().expect("cycle");
        if let Some((_, answer)) = system.card.answers.pop() {
            return answer;
        }
    }
    panic!("no answer");
}

#[test]
fn random_accesses_are_explained() {
    let platform = Platform::enzian().expect("platform");
    let library = build(GEOMETRY, None).expect("model");
    for seed in [1, 2] {
        let plan = ControllerPlan::small(25_000, seed);
        let report = torture::run(&plan, &library, &platform.link).expect("run");
        assert_eq!(report.unexplained, 0, "{:?}", report.first);
        assert!(report.card > 5_000 && report.cpu > 5_000, "{report:?}");
        assert!(
            report.card_increments > 500 && report.cpu_increments > 500,
            "{report:?}"
        );
        assert!(
            report.lost > 5 && report.messages.iter().all(|&n| n > 10),
            "{report:?}"
        );
    }
}

#[test]
fn a_reset_at_any_moment_leaves_nothing() {
    let platform = Platform::enzian().expect("platform");
    let library = build(GEOMETRY, None).expect("model");
    for seed in [3, 1000] {
        let plan = ControllerPlan {
            resets: 60,
            ..ControllerPlan::small(10_000, seed)
        };
        let report = torture::run(&plan, &library, &platform.link).expect("run");
        assert_eq!(report.unexplained, 0, "{:?}", report.first);
    }
}

#[test]
fn a_store_reaches_the_cpu_and_a_write_of_the_cpu_reaches_the_card() {
    let mut system = system();
    ask(&mut system, AccessKind::Store, 3, 0x1234, None, 5);
    assert_eq!(answer(&mut system).status, Status::Ok);
    let line = PlainLine(0x1234);
    assert_eq!(
        system.cpu.memory(line)[8],
        0,
        "the store stays in the cache"
    );
    system.cpu.access(line, HomeAccess::Load, 1);
    run(&mut system, SOON);
    let seen = system.cpu.done.pop().expect("the load");
    assert_eq!(seen.data[..8], [0; 8]);
    assert_eq!(seen.data[8..], [5; 8]);
    let write = HomeAccess::Write {
        parts: 0xf,
        data: [9; WORDS],
    };
    system.cpu.access(line, write, 2);
    run(&mut system, SOON);
    ask(&mut system, AccessKind::Load, 4, 0x1234, None, 0);
    assert_eq!(answer(&mut system).row, [9; ROW_WORDS]);
}

#[test]
fn an_evicted_line_comes_home() {
    let mut system = system();
    ask(&mut system, AccessKind::Store, 0, 7, None, 6);
    answer(&mut system);
    ask(&mut system, AccessKind::Evict, 0, 7, None, 0);
    answer(&mut system);
    run(&mut system, SOON);
    assert_eq!(system.cpu.memory(PlainLine(7))[8], 6);
}

#[test]
fn a_hold_keeps_others_out_until_its_release() {
    let mut system = system();
    ask(&mut system, AccessKind::Acquire, 0, 7, None, 0);
    let held = answer(&mut system);
    assert_eq!(held.status, Status::Ok);
    // Unwanted, it lasts.
    run(&mut system, 5 * GEOMETRY.hold_limit as u64);
    system.cpu.access(PlainLine(7), HomeAccess::Load, 1);
    ask(&mut system, AccessKind::Store, 1, 7, None, 100);
    run(&mut system, 50);
    assert!(system.cpu.done.is_empty() && system.card.answers.is_empty());
    ask(&mut system, AccessKind::Store, 2, 7, Some(held.hold), 8);
    assert_eq!(answer(&mut system).tag, 2);
    ask(&mut system, AccessKind::Release, 3, 7, Some(held.hold), 0);
    assert_eq!(answer(&mut system).status, Status::Ok);
    run(&mut system, 2 * SOON);
    assert_eq!(system.card.answers.len(), 1, "the other store of the card");
    let seen = system.cpu.done.pop().expect("the load").data[8];
    assert!(seen == 8 || seen == 100, "{seen}");
}

#[test]
fn a_hold_that_is_wanted_too_long_is_broken() {
    let mut system = system();
    ask(&mut system, AccessKind::Acquire, 0, 7, None, 0);
    let held = answer(&mut system);
    system.cpu.access(PlainLine(7), HomeAccess::Load, 1);
    let start = system.cycles();
    while system.cpu.done.is_empty() {
        run(&mut system, 1);
        assert!(system.cycles() - start < GEOMETRY.hold_limit as u64 + SOON);
    }
    assert!(system.cycles() - start > GEOMETRY.hold_limit as u64);
    assert_eq!(system.card.counts.broken, 1);
    for kind in [AccessKind::Store, AccessKind::Load, AccessKind::Release] {
        ask(&mut system, kind, 1, 7, Some(held.hold), 77);
        assert_eq!(answer(&mut system).status, Status::Lost, "{kind:?}");
    }
    ask(&mut system, AccessKind::Release, 1, 7, Some(held.hold), 0);
    assert_eq!(
        answer(&mut system).status,
        Status::Refused,
        "released twice"
    );
    ask(&mut system, AccessKind::Load, 1, 7, None, 0);
    assert_eq!(
        answer(&mut system).row,
        [0; ROW_WORDS],
        "nothing was stored"
    );
}

/// Every way of a set held: an access to another line of the set breaks one, though no forward comes.
#[test]
fn holds_give_way_to_lines_of_their_set() {
    let mut system = system();
    let set = |line: u64| PlainLine(line).fold().0 as usize % GEOMETRY.sets;
    let lines: Vec<u64> = (0..)
        .filter(|&line| set(line) == 1)
        .take(GEOMETRY.ways + 1)
        .collect();
    for (tag, &line) in (0..).zip(&lines[..GEOMETRY.ways]) {
        ask(&mut system, AccessKind::Acquire, tag, line, None, 0);
        assert_eq!(answer(&mut system).status, Status::Ok);
    }
    ask(
        &mut system,
        AccessKind::Load,
        9,
        lines[GEOMETRY.ways],
        None,
        0,
    );
    assert_eq!(answer(&mut system).tag, 9);
    assert!(system.card.counts.broken >= 1);
}

/// The CPU keeps lines that all tags but one wait for; a forward is answered all the same, and so is
/// an access to a line that the card has.
#[test]
fn forwards_and_hits_do_not_wait_behind_requests() {
    let mut system = system();
    ask(&mut system, AccessKind::Store, 0, 7, None, 6);
    answer(&mut system);
    // Of other sets: the line stays.
    let set = |line: u64| PlainLine(line).fold().0 as usize % GEOMETRY.sets;
    let kept: Vec<u64> = (100..)
        .filter(|&line| set(line) != set(7))
        .take(31)
        .collect();
    let increment = HomeAccess::Add {
        word: 0,
        value: 1,
        mask: 0,
        data: [0; WORDS],
    };
    for &line in &kept {
        system.cpu.access(PlainLine(line), increment, line);
    }
    run(&mut system, SOON);
    assert_eq!(system.cpu.done.len(), kept.len());
    system.cpu.done.clear();
    for (tag, &line) in (1..).zip(&kept) {
        ask(&mut system, AccessKind::Load, tag, line, None, 0);
    }
    run(&mut system, SOON);
    assert!(system.card.answers.is_empty());
    ask(&mut system, AccessKind::Load, 0, 7, None, 0);
    let start = system.cycles();
    assert_eq!(answer(&mut system).row, [6; ROW_WORDS]);
    assert!(system.cycles() - start < 20, "{}", system.cycles() - start);
    system.cpu.access(PlainLine(7), HomeAccess::Load, 1);
    run(&mut system, SOON);
    assert_eq!(system.cpu.done.pop().expect("the load").data[8], 6);
    assert!(system.card.answers.is_empty());
    for &line in &kept {
        system.cpu.give_up(PlainLine(line));
    }
    run(&mut system, 4 * SOON);
    assert_eq!(system.card.answers.len(), kept.len());
}

#[test]
fn an_access_that_waits_too_long_is_reported() {
    let mut system = system();
    system.card.set_timeout(2 * SOON as u32);
    ask(&mut system, AccessKind::Load, 5, 7, None, 0);
    assert_eq!(answer(&mut system).status, Status::Ok);
    // The CPU has another line to itself, and keeps it.
    let store = HomeAccess::Store {
        mask: u128::MAX,
        data: [1; WORDS],
    };
    system.cpu.access(PlainLine(8), store, 1);
    run(&mut system, SOON);
    ask(&mut system, AccessKind::Load, 6, 8, None, 0);
    let error = (0..8 * SOON)
        .find_map(|_| system.cycle().err())
        .expect("a report");
    assert!(
        matches!(
            error,
            CardError::Controller(ControllerError::Late { tag: 6 })
        ),
        "{error}"
    );
}

#[test]
fn what_comes_right_behind_a_store_sees_it() {
    for kind in [AccessKind::Evict, AccessKind::Acquire] {
        for gap in 0..4 {
            let mut system = system();
            ask(&mut system, AccessKind::Store, 0, 7, None, 1);
            answer(&mut system);
            let value = 50 + u64::from(gap);
            ask(&mut system, AccessKind::Store, 1, 7, None, value);
            for tag in 0..gap {
                let other = 100 + u64::from(tag);
                ask(&mut system, AccessKind::Load, 10 + tag, other, None, 0);
            }
            ask(&mut system, kind, 2, 7, None, 0);
            run(&mut system, 2 * SOON);
            if kind == AccessKind::Evict {
                let memory = system.cpu.memory(PlainLine(7));
                assert_eq!(memory[ROW_WORDS], value, "behind {gap} others");
            } else {
                let mut answers = system.card.answers.iter();
                let acquired = answers.find(|(_, answer)| answer.tag == 2);
                let (_, acquired) = acquired.expect("an answer");
                assert_eq!(acquired.row, [value; ROW_WORDS], "behind {gap} others");
            }
        }
    }
}
