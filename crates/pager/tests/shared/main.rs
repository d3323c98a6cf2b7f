//! Checks that shared memory is coherent in any order, and that its transitions match the generated table.

mod esi;
mod world;

use tombolo_pager::eviction::Eviction;
use tombolo_pager::fetch::ReadAhead;
use tombolo_pager::{InstallOrder, Policies, SpaceStatistics, Statistics};
use units::HostAccess;
use world::World;

/// Random life: three kernels in two spaces and three programs over a few pages, with fewer frames.
fn live(seed: u64, failures: usize) -> (Statistics, u64, u64) {
    let order = match seed % 3 {
        0 if failures == 0 => InstallOrder::Fenced,
        _ => InstallOrder::OnCompletion,
    };
    let mut world = World::new(seed, 4, 2 + seed % 3, order);
    world.failures = failures;
    for _ in 0..3000 {
        let (who, page) = (world.rng.below(3), world.rng.below(4) as u64);
        let write = world.rng.below(3) == 0;
        match world.rng.below(12) {
            0 => drop(world.kernel(who, page, write)),
            1 => drop(world.program(who, page, write)),
            2 if world.rng.below(20) == 0 => drop(world.sync()),
            3 if world.rng.below(20) == 0 => world.prefetch(page),
            _ => drop(world.step()),
        }
    }
    world.rest();
    let programs = world.program_accesses;
    let kernels = world.kernel_accesses;
    assert!(failures == 0 || world.failed > 0 || kernels < 50);
    world.put_away();
    (*world.pager.statistics(), kernels, programs)
}

#[test]
fn nothing_is_lost_in_random_lives() {
    let mut all = SpaceStatistics::default();
    let (mut kernels, mut programs) = (0, 0);
    for seed in 0..300 {
        let (statistics, by_kernels, by_programs) = live(seed, 0);
        kernels += by_kernels;
        programs += by_programs;
        all += statistics.spaces;
    }
    eprintln!("{kernels} accesses of kernels, {programs} of programs, {all:?}");
    assert!(kernels > 20_000 && programs > 20_000);
    assert!(all.shared.traps > 5_000 && all.shared.upgraded > 1_000 && all.evictions > 1_000);
    assert!(all.shared.shared > 1_000 && all.shared.returned > 1_000);
}

#[test]
fn pages_that_are_shared_leave_before_those_that_the_card_owns() {
    // A page that was written, one that was read, and a third for which one of the two frames is needed.
    let copies_back = |eviction| {
        let mut world = World::with_eviction(2, 3, 2, InstallOrder::OnCompletion, eviction);
        for (page, write) in [(0, true), (1, false), (2, false)] {
            world.kernel(0, page, write);
            world.rest();
        }
        assert_eq!(world.pager.statistics().spaces.evictions, 1);
        let owned = world.entry(0, 0).is_some_and(|entry| entry.write);
        let copied = world.copied.1;
        world.put_away();
        (owned, copied)
    };
    assert_eq!(copies_back(Eviction::Fifo), (false, 1));
    assert_eq!(copies_back(Eviction::SharedFirst), (true, 0));
}

#[test]
fn pages_that_are_written_in_order_are_upgraded_ahead() {
    let policies = Policies {
        fetch: Box::new(ReadAhead::new(4 * world::PAGE)),
        ..Policies::default()
    };
    let mut world = World::with_policies(4, 12, 64, InstallOrder::OnCompletion, policies);
    for page in 0..12 {
        world.kernel(0, page, false);
        world.rest();
    }
    let shared = |world: &World| {
        let read = |access: &&HostAccess| **access == HostAccess::Read;
        world.access.iter().filter(read).count()
    };
    assert_eq!(shared(&world), 12);
    for page in 0..3 {
        world.kernel(0, page, true);
        world.rest();
    }
    let upgraded = 12 - shared(&world);
    assert!(upgraded > 3, "only {upgraded} pages are the card's");
    assert!(shared(&world) > 0, "a window is bounded");
    assert_eq!(world.copied.0, 12, "no data moves");
    // A program gets such a page like any other.
    world.program(0, upgraded as u64 - 1, true);
    world.rest();
    assert_eq!(world.access[upgraded - 1], HostAccess::ReadWrite);
    world.put_away();
}

#[test]
fn pages_that_are_read_before_they_are_written_in_order_are_claimed_once() {
    let policies = Policies {
        fetch: Box::new(ReadAhead::new(4 * world::PAGE)),
        ..Policies::default()
    };
    let mut world = World::with_policies(4, 40, 64, InstallOrder::OnCompletion, policies);
    let with = |world: &World, rights: HostAccess| {
        let alike = world.access.iter().filter(|access| **access == rights);
        alike.count()
    };
    for page in 0..8 {
        for write in [false, true] {
            world.kernel(0, page, write);
            world.rest();
        }
    }
    let before = with(&world, HostAccess::None);
    // Reads run ahead of the writes: their pages belong to the card immediately.
    for page in 8..13 {
        world.kernel(0, page, false);
        world.rest();
    }
    assert_eq!(with(&world, HostAccess::Read), 0);
    assert!(
        with(&world, HostAccess::None) > before + 2,
        "{:?}",
        world.access
    );
    // A program looks: from then on pages come to be read, as before.
    world.program(0, 2, false);
    world.rest();
    for page in 13..22 {
        world.kernel(0, page, false);
        world.rest();
    }
    assert!(with(&world, HostAccess::Read) > 3, "{:?}", world.access);
    world.put_away();
}

#[test]
fn nothing_is_lost_when_copies_and_protections_fail() {
    for seed in 0..60 {
        live(seed, 10);
    }
}

#[test]
fn a_first_read_leaves_programs_reading_and_an_upgrade_moves_no_data() {
    let mut world = World::new(2, 2, 2, InstallOrder::OnCompletion);
    world.kernel(0, 0, false);
    world.rest();
    assert_eq!(world.access[0], HostAccess::Read);
    assert!(!world.entry(0, 0).unwrap().write);
    assert_eq!(world.copied, (1, 0));
    // A program reads without a trap; the kernel's write takes the page away from it.
    world.program(0, 0, false);
    world.rest();
    assert_eq!(world.pager.statistics().spaces.shared.traps, 0);
    world.kernel(0, 0, true);
    world.rest();
    assert_eq!(world.access[0], HostAccess::None);
    assert!(world.entry(0, 0).unwrap().write);
    assert_eq!(world.copied, (1, 0), "an upgrade moves no data");
    // The kernel of the other space shares the frame.
    world.kernel(1, 0, true);
    world.rest();
    assert_eq!(world.copied, (1, 0));
    // A read of the program shares the page again; the copy on the card stays.
    world.program(0, 0, false);
    world.rest();
    assert_eq!((world.access[0], world.copied), (HostAccess::Read, (1, 1)));
    world.kernel(0, 0, false);
    world.rest();
    assert_eq!(world.copied, (1, 1));
    // A write of the program takes it from the card, which had not changed it.
    world.program(0, 0, true);
    world.rest();
    assert_eq!(
        (world.access[0], world.copied),
        (HostAccess::ReadWrite, (1, 1))
    );
    assert_eq!((world.entry(0, 0), world.entry(1, 0)), (None, None));
    world.put_away();
}

#[test]
fn a_page_that_was_read_only_leaves_without_a_copy() {
    let mut world = World::new(2, 2, 1, InstallOrder::OnCompletion);
    for page in [0, 1, 0] {
        world.kernel(0, page, false);
        world.rest();
    }
    assert_eq!(world.copied, (3, 0));
    assert_eq!(world.access, [HostAccess::Read, HostAccess::ReadWrite]);
    world.put_away();
}
