//! Several host threads that count, their traps among it: the same report in every run, whatever the
//! scheduler does.

use super::common::*;
use std::hint::black_box;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::scope;
use tombolo::{Card, Error, HostFile, OwnerOptions, PageSize, Picoseconds, SlotId};

/// Time of the machine, not of the card, in an amount that a seed picks.
fn dawdle(seed: &mut u64) {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    for n in 0..(*seed >> 50) {
        black_box(n);
    }
    if *seed >> 62 == 0 {
        std::thread::yield_now();
    }
}

/// Each of two threads runs a kernel over a list of its own, and writes and reads meanwhile in the pages of
/// both.
pub fn run(card: &Card, seed: u64) -> Result<(String, Picoseconds), Error> {
    let space = card.create_space()?;
    let halves = [(); 2].map(|()| space.alloc_with_pages(30 * 512, PageSize::KIB_4));
    let halves: Vec<_> = halves.into_iter().collect::<Result<_, _>>()?;
    let lists: Vec<_> = halves.iter().map(|half| build(half, 29, 8)).collect();
    let seats = [card.participant()?, card.participant()?];
    scope(|scope| {
        let (lists, halves, space) = (&lists, &halves, &space);
        let mut threads = Vec::new();
        for (number, seat) in seats.into_iter().enumerate() {
            threads.push(scope.spawn(move || -> Result<(), Error> {
                let _present = seat.enter()?;
                let mut seed = seed + number as u64;
                let output = halves[number].slice::<Node>().last().unwrap();
                for round in 0..4 {
                    let slot = SlotId(number as u8);
                    let slot = start(card, slot, space, lists[number][0], output, 1, 0);
                    for n in (number..29).step_by(3) {
                        dawdle(&mut seed);
                        let word = &lists[(n + number) % 2][n].rest[number];
                        assert_eq!(word.load(Relaxed), round);
                        word.store(round + 1, Relaxed);
                    }
                    wait(&slot)?;
                    assert_eq!(output.value.load(Relaxed), 29);
                }
                Ok(())
            }));
        }
        let ends = threads.into_iter().map(|thread| thread.join().unwrap());
        ends.collect::<Result<(), Error>>()
    })?;
    for node in &lists {
        assert_eq!(node[5].value.load(Relaxed), 5 * 3 + 1 + 4);
    }
    drop((halves, space));
    let report = card.report()?;
    assert!(report.paging.sharing.traps > 20, "{:?}", report.paging);
    assert_eq!(
        report.setup.host.is_empty(),
        report.paging.sharing.protect_time == Picoseconds::ZERO
    );
    Ok((report.hash(), report.time))
}

/// A simulated card with two slots, and what traps cost on its host.
pub fn simulated(host: Option<HostFile>) -> Card {
    let of_owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        host,
        ..OwnerOptions::default()
    };
    two_slots(of_owner).unwrap()
}
