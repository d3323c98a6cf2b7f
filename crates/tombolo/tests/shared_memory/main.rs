//! Do a program and kernels share one memory? Lists on both cards, concurrent random accesses of all parties on the
//! functional card, and all errors that a program can make.

mod behind;
mod calls;
mod common;
mod lines;
mod mistakes;
mod programs;
#[allow(dead_code, reason = "the bars use more of it")]
#[path = "../../../lab/src/random.rs"]
mod random;
mod registered;
#[allow(dead_code, reason = "the bars use more of it")]
mod rings;
mod scarce;
mod schedules;
mod shaker;

use common::*;
use funcard::Registry;
use simcard::SimCard;
use std::sync::atomic::Ordering::Relaxed;
use tombolo::{
    AddressSpace, Card, OwnerOptions, PageSize, Picoseconds, SharedMemory, SimOptions, SlotId,
};

/// A functional card that knows the shaker too.
fn functional(pages_of_4k: u64, seed: Option<u64>) -> Card {
    let mut kernels = Registry::default();
    kernels.register(shaker::MODEL);
    common::functional(kernels, pages_of_4k, seed)
}

fn simulated() -> Card {
    let mut options = SimOptions::named("f1").unwrap();
    options.channel_bytes = Some(4 << 20);
    let options_of_owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        ..OwnerOptions::default()
    };
    Card::new(
        Box::new(SimCard::open(options, |_| {}).unwrap()),
        options_of_owner,
    )
    .unwrap()
}

/// Built by the program, summed and changed by the kernel, changed by the program meanwhile, read by the program.
fn lists(card: &Card, count: usize) {
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_pages(count * 512, PageSize::KIB_4)
        .unwrap();
    lists_in(card, space, &memory, count);
}

fn lists_in(card: &Card, space: AddressSpace, memory: &SharedMemory, count: usize) {
    let nodes = build(memory, count - 1, 8);
    let output = memory.slice::<Node>().last().unwrap();
    let sum: u64 = nodes.iter().map(|node| node.value.load(Relaxed)).sum();
    let result = || (output.next.load(Relaxed), output.value.load(Relaxed));

    let slot = start(card, SlotId(0), &space, nodes[0], output, 0, 0);
    wait(&slot).unwrap();
    assert_eq!(result(), (sum, nodes.len() as u64));

    // The kernel changes every value, and the program others of the same pages.
    let slot = start(card, SlotId(0), &space, nodes[0], output, 100, 0);
    for (n, node) in nodes.iter().enumerate() {
        node.rest[n % 6].store(n as u64, Relaxed);
    }
    wait(&slot).unwrap();
    assert_eq!(result(), (sum, nodes.len() as u64));
    for (n, node) in nodes.iter().enumerate() {
        assert_eq!(node.value.load(Relaxed), n as u64 * 3 + 101);
        assert_eq!(node.rest[n % 6].load(Relaxed), n as u64);
    }

    // The program takes a node out, and puts one in the middle that it writes now.
    let fresh = &memory.slice::<Node>()[1];
    fresh.value.store(7, Relaxed);
    fresh.next.store(&raw const *nodes[2] as u64, Relaxed);
    nodes[0].next.store(&raw const *fresh as u64, Relaxed);
    let slot = start(card, SlotId(0), &space, nodes[0], output, 0, 0);
    wait(&slot).unwrap();
    let expected = sum + 100 * nodes.len() as u64 - (3 + 101) + 7;
    assert_eq!(result(), (expected, nodes.len() as u64));

    // What the kernel wrote is there when everything but the memory has ended.
    let slot = start(card, SlotId(0), &space, nodes[0], output, 1, 0);
    wait(&slot).unwrap();
    drop((slot, space));
    assert_eq!(fresh.value.load(Relaxed), 8);
    assert_eq!(nodes[2].value.load(Relaxed), 2 * 3 + 102);
}

#[test]
fn lists_on_the_functional_card() {
    for seed in [None, Some(1), Some(2)] {
        lists(&functional(3, seed), 100);
    }
}

#[test]
fn lists_on_the_simulated_card() {
    let card = simulated();
    lists(&card, 60);
    registered::lists(&card, 16);
}

#[test]
fn nothing_is_lost_when_everybody_accesses_at_random() {
    let folder = shaker::folder();
    let small = shaker::Load::SMALL;
    let large = shaker::Load {
        page: PageSize::from_class(4).unwrap(),
        accesses: 2500,
        ..small
    };
    // Six pages and one with the results; frames for all, for half and for two.
    let all = [
        (8, None, small),
        (4, Some(1), small),
        (2, Some(2), small),
        (36, Some(3), large),
    ];
    for (frames, seed, load) in all {
        let shaken = shaker::shake(&functional(frames, seed), folder.path(), load).unwrap();
        assert_eq!(shaken.wrong, 0, "{shaken:?}");
        assert_eq!(shaken.accesses, 5 * load.accesses);
        assert!(shaken.traps > 100, "they hardly met: {shaken:?}");
    }
}

fn functional_seeds(seeds: std::ops::Range<u64>) {
    let folder = shaker::folder();
    let mut traps = 0;
    let count = seeds.end - seeds.start;
    for seed in seeds {
        let shaken = schedules::functional(folder.path(), seed).unwrap();
        assert_eq!(shaken.wrong, 0, "seed {seed}: {shaken:?}");
        traps += shaken.traps;
    }
    assert!(traps > 10 * count, "they hardly met: {traps} traps");
}

fn rtl_seeds(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let gone = schedules::rtl(seed).unwrap();
        assert_eq!(gone.wrong, 0, "seed {seed}: {gone:?}");
        assert!(gone.moves > 30, "seed {seed}: they hardly met: {gone:?}");
    }
}

#[test]
fn some_schedules_lose_nothing() {
    functional_seeds(0..12);
    rtl_seeds(0..1);
}

#[test]
#[ignore = "deep: 1,000 schedules"]
fn a_thousand_schedules_lose_nothing() {
    functional_seeds(12..schedules::FUNCTIONAL);
}

#[test]
#[ignore = "deep: 20 schedules of the simulated card"]
fn twenty_schedules_of_the_shell_lose_nothing() {
    rtl_seeds(1..schedules::RTL);
}

#[test]
fn the_report_names_pages_that_go_to_and_fro() {
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc_with_pages(4 * 4096, PageSize::KIB_4).unwrap();
    let result = space.alloc_with_pages(4096, PageSize::KIB_4).unwrap();
    // A node in each page; the kernel changes all, and the program looks at one of them each time, at another once.
    let nodes = build(&memory, 4, 64);
    let output = &result.slice::<Node>()[0];
    for round in 1..=3 {
        wait(&start(&card, SlotId(0), &space, nodes[0], output, 1, 0)).unwrap();
        assert_eq!(nodes[2].value.load(Relaxed), 7 + round);
    }
    assert_eq!(nodes[1].value.load(Relaxed), 7);
    let report = card.report().unwrap();
    let report_places = &report.paging.ping_pong[0].places;
    assert_eq!(
        report_places.iter().map(|place| place.traps).sum::<u64>(),
        2
    );
    let expected = tombolo::report::PingPong {
        address: memory.address().get(),
        bytes: 4 * 4096,
        page: 4096,
        traps: 4,
        pages: 1,
        worst_offset: 2 * 4096,
        worst_traps: 3,
        places: report_places.clone(),
    };
    assert_eq!(report.paging.ping_pong, [expected]);
    let text = report.to_string();
    assert!(text.contains("for that at offset 0x2000 3 times"), "{text}");
}

#[test]
fn the_timeline_says_whose_memory_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("it.pftrace");
    let timeline = timeline::Timeline::create(&path).unwrap();
    let options = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        timeline: Some(timeline.clone()),
        ..OwnerOptions::default()
    };
    let card = Box::new(tombolo::FunctionalCard::new(Default::default()));
    let card = Card::new(card, options).unwrap();
    let space = card.create_space().unwrap();
    let memory = space.alloc_with_pages(2 * 4096, PageSize::KIB_4).unwrap();
    let nodes = build(&memory, 1, 64);
    let output = &memory.slice::<Node>()[64];
    // The kernel reads the node, writes it, and writes the result; the program reads the node, then writes it.
    wait(&start(&card, SlotId(0), &space, nodes[0], output, 5, 0)).unwrap();
    assert_eq!(nodes[0].value.load(Relaxed), 6);
    nodes[0].value.store(1, Relaxed);
    let first = format!("{:#x}", memory.address().get());
    drop(memory);
    drop((space, card));
    timeline.finish().unwrap();
    let events = timeline::read::events(&std::fs::read(&path).unwrap()).unwrap();
    let page = |address: &str| {
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
        format!("{:#x}", address / 4096 * 4096)
    };
    let of_first = events.iter().filter(|event| {
        event.track == "host/shared memory" && page(&event.values["address"]) == first
    });
    let names: Vec<&str> = of_first.map(|event| event.name.as_str()).collect();
    let expected = [
        "shared",
        "the card's",
        "read waits",
        "shared",
        "write waits",
        "the program's",
    ];
    assert!(names.starts_with(&expected), "{names:?} of {events:?}");
}

#[test]
fn memory_without_traps_is_asked_for() {
    let card = functional_on(Some(costs(5, 2)), Registry::default(), 3, None);
    let space = card.create_space().unwrap();
    let bytes = 8 * 4096;
    let memory = space.alloc_untrapped(bytes, PageSize::KIB_4).unwrap();
    let nodes = build(&memory, 30, 16);
    let output = memory.slice::<Node>().last().unwrap();
    for round in 0..3 {
        wait(&start(&card, SlotId(0), &space, nodes[0], output, 10, 0)).unwrap();
        memory.take(0, bytes as u64, false).unwrap();
        assert_eq!(output.value.load(Relaxed), 30);
        for (n, node) in nodes.iter().enumerate() {
            assert_eq!(
                node.value.load(Relaxed),
                n as u64 * 3 + 1 + 10 * (round + 1)
            );
        }
        // What the program writes is seen by the kernel if the page was taken to be written.
        let place = memory.address_of(&nodes[4].rest[2]).unwrap().get();
        memory
            .take(place - memory.address().get(), 8, true)
            .unwrap();
        nodes[4].rest[2].store(round, Relaxed);
    }
    wait(&start(&card, SlotId(0), &space, nodes[0], output, 1, 0)).unwrap();
    memory.take(0, bytes as u64, true).unwrap();
    assert_eq!(nodes[4].rest[2].load(Relaxed), 2);
    assert!(memory.take(4096, bytes as u64, false).is_err());
    // Nothing was protected, and nothing cost anything.
    assert_eq!(
        card.report().unwrap().paging.sharing.protect_time,
        Picoseconds::ZERO
    );
}

#[test]
fn traps_cost_what_the_host_file_says() {
    let kernels = Registry::default();
    let card = functional_on(Some(costs(5, 2)), kernels, 3, None);
    lists(&card, 60);
    let report = card.report().unwrap();
    let sharing = report.paging.sharing;
    assert!(sharing.traps > 10 && sharing.upgraded > 0 && sharing.shared > 0);
    assert_eq!(sharing.free_threads, 1, "this one");
    // A page that comes, gets to write, may be read again, leaves.
    let changes = [
        report.paging.pages_read,
        sharing.upgraded,
        sharing.shared,
        sharing.returned,
    ];
    let micros = sharing.traps * 5 + changes.iter().sum::<u64>() * 2;
    assert_eq!(sharing.protect_time, Picoseconds::from_micros(micros));
    assert_eq!(
        (report.setup.host.as_str(), report.setup.host_hash.len()),
        ("test", 64)
    );
}

#[test]
fn a_file_mapped_beside_shared_memory_lies_elsewhere() {
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(10_000).unwrap();
    assert_eq!(memory.len(), 10_000);
    assert_eq!(memory.page_size().bytes(), 16 << 10);
    assert_eq!(memory.as_ptr() as u64, memory.address().get());
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), [1; 5000]).unwrap();
    let options = tombolo::MapOptions::read_only();
    let mapping = space.map_file(file.path(), options).unwrap();
    let end = mapping.address().get() + mapping.bytes();
    assert!(end <= memory.address().get());
}
