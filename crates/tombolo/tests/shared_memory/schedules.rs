//! Schedules that a seed picks: who comes when, with how much memory, in pages of which size, guarded in which way.

use super::common::{costs, functional_on, two_slots};
use super::random::Random;
use super::rings::{Gone, Rings};
use super::shaker::{self, Load, Shaken};
use funcard::Registry;
use std::path::Path;
use std::time::Duration;
use tombolo::{Error, HostFile, OwnerOptions, PageSize, TrapWay};

/// Seeds of the functional card, all of them.
pub const FUNCTIONAL: u64 = 1000;
/// Seeds of the simulated card, all of them.
pub const RTL: u64 = 20;

/// Every third host takes time for a trap and for a change of protection.
fn host(random: &mut Random) -> Option<HostFile> {
    let times = (random.below(20), 1 + random.below(10));
    (random.below(3) == 0).then(|| costs(times.0, times.1))
}

/// Two kernels and three threads that access at random, on the functional card.
///
/// # Errors
/// The library's errors.
pub fn functional(folder: &Path, seed: u64) -> Result<Shaken, Error> {
    let mut random = Random(seed);
    let mut kernels = Registry::default();
    kernels.register(shaker::MODEL);
    // 4 KiB to 32 KiB.
    let class = random.below(4) as u8;
    let load = Load {
        page: PageSize::from_class(class).unwrap_or(PageSize::KIB_4),
        pages: 2 + random.below(6),
        accesses: 150,
        near: 1 + random.below(30),
        ahead: 1 + random.below(60),
        seed,
    };
    // From one page and the results to all of them.
    let frames = (1 + random.below(load.pages)) << class;
    let host = host(&mut random);
    let card = functional_on(host, kernels, frames + 1, Some(seed));
    let way = match random.below(3) {
        0 => TrapWay::Protect,
        // Where the system has it.
        1 => TrapWay::Userfault,
        _ => TrapWay::InThread,
    };
    shaker::shake_in(&card, folder, load, way)
}

/// Two kernels that go round rings and two threads, on a simulated card.
///
/// # Errors
/// The library's errors.
pub fn rtl(seed: u64) -> Result<Gone, Error> {
    let mut random = Random(seed);
    let of_owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        read_ahead_bytes: 4096 * random.below(5),
        host: host(&mut random),
        ..OwnerOptions::default()
    };
    let card = two_slots(of_owner)?;
    let rings = Rings {
        pages: 8,
        frames: 1 + random.below(8),
        nodes: 8,
        rounds: 6,
        threads: 2,
        rest: Duration::from_micros(random.below(300)),
        seed,
    };
    rings.run(&card)
}
