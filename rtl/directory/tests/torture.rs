//! The Verilated directory, small: does it keep the CPU's copies coherent, and does it never hang?

use coherence::cache::{Access, Cache, Outcome};
use coherence::home::{Directory, HomeError, Operation, OperationKind, Surroundings};
use coherence::line::{write_parts, PlainLine, WORDS};
use coherence::model::DirectoryGeometry;
use coherence::mutants::{try_mutant, MutantResult, MUTANTS};
use coherence::platform::Platform;
use coherence::registers;
use coherence::system::{mesi, System, SystemError};
use coherence::torture::{self, DirectoryPlan};

fn plan(seed: u64) -> DirectoryPlan {
    DirectoryPlan {
        geometry: DirectoryGeometry::SMALL,
        operations: 30_000,
        lines: 48,
        card_operations: 24,
        round_trip_ps: 40_000,
        jitter_ps: 200_000,
        resets: 0,
        seed,
    }
}

fn system() -> System<Directory> {
    let platform = Platform::enzian().expect("platform");
    let protocol = mesi().expect("protocol");
    let geometry = DirectoryGeometry::SMALL;
    let surroundings = Surroundings {
        memory_latency: 2,
        stalls: 0,
        disorder: false,
    };
    let home = Directory::new(geometry, &protocol.spec, surroundings, 1).expect("model");
    let cache = Cache::new(
        protocol,
        geometry.total_sets(),
        geometry.ways,
        geometry.slices,
    );
    System::new(
        cache,
        home,
        &platform.link,
        platform.clock_ps,
        geometry.slices,
        1,
    )
}

fn operate(system: &mut System<Directory>, kind: OperationKind, line: PlainLine, tag: u8) {
    let mut data = Box::new([0; WORDS]);
    write_parts(&mut data, 0xf, 77);
    let slice = system.home.slice_of(line);
    system.home.operations[slice].push_back(Operation {
        kind,
        tag,
        line,
        parts: 0xf,
        data,
    });
}

/// Runs until `done` returns true.
fn until(system: &mut System<Directory>, what: &str, done: impl Fn(&System<Directory>) -> bool) {
    for _ in 0..20_000 {
        if done(system) {
            return;
        }
        system.cycle().expect(what);
    }
    panic!("{what} never happened");
}

/// Lines of one unit.
fn lines_of_unit(system: &System<Directory>, slice: usize, unit: usize) -> Vec<PlainLine> {
    let here = |line: &PlainLine| {
        system.home.slice_of(*line) == slice && system.home.unit_of(*line) == unit
    };
    (0..4096).map(PlainLine).filter(here).collect()
}

#[test]
fn random_operations_are_explained() {
    let platform = Platform::enzian().expect("platform");
    for seed in [1, 2] {
        let report = torture::run(&plan(seed), &platform.link).expect("run");
        assert_eq!(report.unexplained, 0, "{:?}", report.first);
        assert!(report.cpu > 5_000 && report.card > 2_000, "{report:?}");
    }
}

#[test]
fn a_reset_at_any_moment_leaves_nothing() {
    let platform = Platform::enzian().expect("platform");
    for seed in [5, 1000] {
        let plan = DirectoryPlan {
            operations: 10_000,
            resets: 60,
            ..plan(seed)
        };
        let report = torture::run(&plan, &platform.link).expect("run");
        assert_eq!(report.unexplained, 0, "{:?}", report.first);
    }
}

#[test]
fn one_credit_a_lane_is_enough_to_get_on() {
    let mut link = Platform::enzian().expect("platform").link;
    link.header_credits = 1;
    link.data_credits = 1;
    let plan = DirectoryPlan {
        operations: 5_000,
        ..plan(4)
    };
    let report = torture::run(&plan, &link).expect("run");
    assert_eq!(report.unexplained, 0, "{:?}", report.first);
}

#[test]
fn sets_that_overflow_are_recalled() {
    // Many more lines than places, all from few sets.
    let platform = Platform::enzian().expect("platform");
    let plan = DirectoryPlan {
        lines: 400,
        operations: 20_000,
        ..plan(3)
    };
    let report = torture::run(&plan, &platform.link).expect("run");
    assert_eq!(report.unexplained, 0, "{:?}", report.first);
}

#[test]
fn a_store_reaches_the_card_and_a_write_of_the_card_reaches_the_cpu() {
    let mut system = system();
    let line = PlainLine(0x1234);
    let store = Access::Store {
        parts: 0xf,
        stamp: 5,
    };
    assert_eq!(system.cache.access(line.fold(), store, 1), Outcome::Started);
    until(&mut system, "the store", |s| !s.cache.completed.is_empty());
    assert_eq!(system.home.memory(line), [0; WORDS]);
    operate(&mut system, OperationKind::Read, line, 3);
    until(&mut system, "the card's read", |s| {
        !s.home.acknowledged.is_empty()
    });
    let acknowledge = system.home.acknowledged.remove(0);
    assert_eq!(acknowledge.data.as_deref(), Some(&[5; WORDS]));
    operate(&mut system, OperationKind::Write, line, 4);
    until(&mut system, "the card's write", |s| {
        !s.home.acknowledged.is_empty()
    });
    assert!(!system.cache.has_copy(line.fold()));
    system.cache.completed.clear();
    assert_eq!(
        system.cache.access(line.fold(), Access::Load, 2),
        Outcome::Started
    );
    until(&mut system, "the load", |s| !s.cache.completed.is_empty());
    assert_eq!(*system.cache.completed[0].data, [77; WORDS]);
}

#[test]
fn a_locked_line_waits_and_the_rest_of_its_unit_does_not() {
    let mut system = system();
    let lines = lines_of_unit(&system, 1, 1);
    operate(&mut system, OperationKind::Lock, lines[0], 0);
    until(&mut system, "the lock", |s| !s.home.acknowledged.is_empty());
    assert_eq!(
        system.cache.access(lines[0].fold(), Access::Load, 10),
        Outcome::Started
    );
    for _ in 0..400 {
        system.cycle().expect("cycle");
    }
    assert!(
        system.cache.completed.is_empty(),
        "the locked line was handed out"
    );
    // One at a time: each has to get past the request that waits.
    for (token, &line) in (20..).zip(&lines[1..4]) {
        assert_eq!(
            system.cache.access(line.fold(), Access::Load, token),
            Outcome::Started
        );
        until(&mut system, "a load of the same unit", |s| {
            s.cache.completed.last().is_some_and(|c| c.token == token)
        });
    }
    operate(&mut system, OperationKind::Unlock, lines[0], 1);
    until(&mut system, "the load after the unlock", |s| {
        s.cache.completed.len() == 4
    });
    assert_eq!(system.cache.completed[3].token, 10);
}

/// Two full sets of a unit, each with a locked line and one that can be recalled, in different ways: an
/// operation on a third line of each must find the one that can go. When all are locked, it waits.
#[test]
fn a_recall_finds_the_line_that_can_go() {
    let mut system = system();
    let sets = |line: &PlainLine| line.fold().0 >> 2 & 3;
    let unit = lines_of_unit(&system, 0, 0);
    let of_set = |set: u64| -> Vec<PlainLine> {
        let here = unit.iter().filter(|line| sets(line) == set);
        here.take(3).copied().collect()
    };
    let (a, b) = (of_set(0), of_set(1));
    let load = |system: &mut System<Directory>, line: PlainLine| {
        let outcome = system.cache.access(line.fold(), Access::Load, 0);
        assert_eq!(outcome, Outcome::Started);
        until(system, "a load", |s| !s.cache.completed.is_empty());
        system.cache.completed.clear();
    };
    let lock = |system: &mut System<Directory>, line: PlainLine| {
        operate(system, OperationKind::Lock, line, 0);
        until(system, "a lock", |s| !s.home.acknowledged.is_empty());
        system.home.acknowledged.clear();
    };
    lock(&mut system, a[0]);
    load(&mut system, a[1]);
    load(&mut system, b[0]);
    lock(&mut system, b[1]);
    operate(&mut system, OperationKind::Lock, a[2], 1);
    operate(&mut system, OperationKind::Lock, b[2], 2);
    until(&mut system, "locks behind recalls", |s| {
        s.home.acknowledged.len() == 2
    });
    system.home.acknowledged.clear();
    assert!(!system.cache.has_copy(a[1].fold()) && !system.cache.has_copy(b[0].fold()));
    // Now both sets hold nothing but locked lines.
    operate(&mut system, OperationKind::Lock, a[1], 3);
    for _ in 0..2_000 {
        system.cycle().expect("cycle");
    }
    assert!(system.home.acknowledged.is_empty());
    operate(&mut system, OperationKind::Unlock, a[0], 4);
    until(&mut system, "the lock after the unlock", |s| {
        s.home.acknowledged.len() == 2
    });
    assert_eq!(system.home.acknowledged[1].tag, 3);
}

/// The known deadlock: the application does not answer a read of the CPU before an invalidation in
/// the same unit is acknowledged.
#[test]
fn a_read_may_wait_for_an_invalidation_in_the_same_unit() {
    let mut system = system();
    // Different sets, so that only the unit is shared.
    let lines = lines_of_unit(&system, 0, 1);
    let (dirty, reads) = (lines[0], &lines[1..4]);
    let store = Access::Store {
        parts: 0xf,
        stamp: 8,
    };
    assert_eq!(
        system.cache.access(dirty.fold(), store, 1),
        Outcome::Started
    );
    until(&mut system, "the store", |s| !s.cache.completed.is_empty());
    system.cache.completed.clear();
    system.home.held.extend(reads);
    for (token, line) in (10..).zip(reads) {
        assert_eq!(
            system.cache.access(line.fold(), Access::Load, token),
            Outcome::Started
        );
    }
    for _ in 0..400 {
        system.cycle().expect("cycle");
    }
    // Operations on the lines being read have to wait; the one that matters comes behind them.
    for (tag, &line) in (1..).zip(reads) {
        operate(&mut system, OperationKind::CleanInvalidate, line, tag);
    }
    operate(&mut system, OperationKind::CleanInvalidate, dirty, 0);
    until(&mut system, "the invalidation", |s| {
        !s.home.acknowledged.is_empty()
    });
    assert_eq!(system.home.acknowledged[0].tag, 0);
    assert_eq!(system.home.memory(dirty), [8; WORDS]);
    assert!(system.cache.completed.is_empty());
    system.home.held.clear();
    until(&mut system, "the loads", |s| s.cache.completed.len() == 3);
    until(&mut system, "the other operations", |s| {
        s.home.acknowledged.len() == 4
    });
}

#[test]
fn a_read_that_memory_never_answers_is_reported() {
    let mut system = system();
    system
        .home
        .write_register(registers::TIMEOUT, 1_000)
        .expect("register");
    assert_eq!(
        system
            .home
            .read_register(registers::TIMEOUT)
            .expect("register"),
        1_000
    );
    let line = PlainLine(99);
    system.home.held.insert(line);
    assert_eq!(
        system.cache.access(line.fold(), Access::Load, 1),
        Outcome::Started
    );
    let error = (0..4_000)
        .find_map(|_| system.cycle().err())
        .expect("a report");
    assert!(
        matches!(
            error,
            SystemError::Home(HomeError::Reported { cause: 1, .. })
        ),
        "{error}"
    );
}

/// A new period counts when the one that runs is over, and 0 ends that one (docs/directory_registers.md).
#[test]
fn a_new_timeout_counts_from_the_next_period_on() {
    for (between, cycles) in [(None, 3_800..4_100), (Some(0), 0..200)] {
        let mut system = system();
        let set = |system: &mut System<Directory>, value| {
            let written = system.home.write_register(registers::TIMEOUT, value);
            written.expect("register");
        };
        set(&mut system, 4_000);
        let line = PlainLine(99);
        system.home.held.insert(line);
        let started = system.cache.access(line.fold(), Access::Load, 1);
        assert_eq!(started, Outcome::Started);
        // The request is at the directory, and the first period runs.
        for _ in 0..100 {
            system.cycle().expect("in time");
        }
        if let Some(value) = between {
            set(&mut system, value);
        }
        set(&mut system, 10);
        let reported = (0..10_000).position(|_| system.cycle().is_err());
        let reported = reported.expect("a report");
        assert!(
            cycles.contains(&reported),
            "{between:?}: after {reported} cycles"
        );
    }
}

#[test]
fn counters_count() {
    let mut system = system();
    for line in 0..8 {
        let folded = PlainLine(line).fold();
        assert_eq!(
            system.cache.access(folded, Access::Load, line),
            Outcome::Started
        );
    }
    system.drain(10_000).expect("drain");
    assert_eq!(
        system
            .home
            .read_register(registers::GEOMETRY)
            .expect("register"),
        0x0202_0202
    );
    assert_eq!(
        system
            .home
            .read_register(registers::ERRORS)
            .expect("register"),
        0
    );
    assert_eq!(
        system
            .home
            .read_register(registers::REQUESTS)
            .expect("register"),
        8
    );
    assert_eq!(
        system
            .home
            .read_register(registers::READS)
            .expect("register"),
        8
    );
}

/// An assertion of the RTL that fails ends the run with an error, and not the whole process.
#[test]
fn a_fault_that_an_assertion_sees_is_an_error() {
    let platform = Platform::enzian().expect("platform");
    let locked = MUTANTS
        .into_iter()
        .find(|mutant| mutant.what == "locked lines are recalled");
    let mutant = locked.expect("the mutant");
    let fate = try_mutant(mutant, &plan(1), &platform.link).expect("a model");
    assert!(matches!(fate, MutantResult::Found(_)), "{fate:?}");
}
