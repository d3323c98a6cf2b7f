//! Concurrent reads and writes of all agents: lost writes and stale reads.

use super::common::{functional, two_slots};
use super::rings::Rings;
use super::schedules;
use super::shaker::{self, Load, MODEL};
use crate::bars::Failure;
use crate::row::Row;
use funcard::Registry;
use std::time::Duration;
use tombolo::{OwnerOptions, PageSize};

/// Two kernels and three threads on the functional card, with frames for a quarter of the pages.
pub fn functional_card() -> Result<Vec<Row>, Failure> {
    let mut kernels = Registry::default();
    kernels.register(MODEL);
    let load = Load {
        page: PageSize::KIB_4,
        pages: 64,
        accesses: 2_100_000,
        near: 300,
        ahead: 4000,
        seed: 0,
    };
    let folder = shaker::folder();
    let card = functional(kernels, load.pages / 4, Some(14));
    let shaken = shaker::shake(&card, folder.path(), load)?;
    Ok(vec![
        Row::new("shared.lost", shaken.wrong as f64, "words"),
        Row::new("shared.lost.accesses", shaken.accesses as f64, "accesses"),
        Row::new("shared.lost.traps", shaken.traps as f64, "traps"),
    ])
}

/// The same rings and threads as in the seeded schedules, for longer; card memory for a quarter of the pages.
pub fn rtl() -> Result<Vec<Row>, Failure> {
    const PAGES: usize = 64;
    let of_owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        read_ahead_bytes: 0,
        ..OwnerOptions::default()
    };
    let card = two_slots(of_owner)?;
    let rings = Rings {
        pages: PAGES,
        frames: PAGES as u64 / 4,
        nodes: 32,
        rounds: 250,
        threads: 2,
        rest: Duration::from_millis(2),
        seed: 14,
    };
    let gone = rings.run(&card)?;
    let row = |name: &str, value: u64, unit| {
        Row::new(&format!("shared.lost.rtl{name}"), value as f64, unit)
    };
    Ok(vec![
        row("", gone.wrong, "words"),
        row(".card_accesses", gone.card_accesses, "accesses"),
        row(".host_accesses", gone.host_accesses, "accesses"),
        row(".moves", gone.moves, "moves"),
    ])
}

/// All seeded schedules: number of wrong words, and of schedules.
pub fn schedules() -> Result<Vec<Row>, Failure> {
    let folder = shaker::folder();
    let (mut wrong, mut traps) = (0, 0);
    for seed in 0..schedules::FUNCTIONAL {
        let shaken = schedules::functional(folder.path(), seed)?;
        wrong += shaken.wrong;
        traps += shaken.traps;
    }
    let mut moves = 0;
    for seed in 0..schedules::RTL {
        let gone = schedules::rtl(seed)?;
        wrong += gone.wrong;
        moves += gone.moves;
    }
    let row = |name: &str, value: u64, unit| {
        let name = format!("shared.lost.schedules{name}");
        Row::new(&name, value as f64, unit)
    };
    Ok(vec![
        row("", wrong, "words"),
        row(".functional", schedules::FUNCTIONAL, "schedules"),
        row(".rtl", schedules::RTL, "schedules"),
        row(".traps", traps, "traps"),
        row(".moves", moves, "moves"),
    ])
}
