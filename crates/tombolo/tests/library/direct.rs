//! Do files whose pages stay in host memory give the same bytes, without card memory? On the functional card and on
//! the simulated one, both too small for the data.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Advice, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions,
    Mapping, OwnerOptions, PageSize, Picoseconds, SimOptions, SlotId, SpacePlacement, Stripe,
    Unsaved,
};

/// No whole page, and no whole row.
const BYTES: usize = (2 << 20) + 12_345;

fn functional(host_channel: bool) -> Card {
    let config = FunctionalConfig {
        channel_bytes: 2 << 20,
        host_channel,
        ..FunctionalConfig::default()
    };
    Card::functional(FunctionalCard::new(config)).unwrap()
}

/// Runs a test on both kinds of card, each with 4 MiB of memory.
fn on_each_card(test: impl Fn(Card, &Path)) {
    let mut options = SimOptions::named("f1").unwrap();
    // The shell of crates/simcard/tests/direct.rs.
    options.asserting = true;
    options.shell.host_channel = true;
    options.channel_bytes = Some((4 << 20) / u64::from(options.shell.channels));
    let simulated = simcard::SimCard::open(options, |_| {}).unwrap();
    let simulated = Card::new(Box::new(simulated), OwnerOptions::default()).unwrap();
    for card in [functional(true), simulated] {
        eprintln!("on {}", card.describe().unwrap().0.name);
        let folder = TempDir::new().unwrap();
        test(card, folder.path());
    }
}

fn pattern(seed: u32) -> Vec<u8> {
    let byte = |n: u32| (n.wrapping_mul(2_654_435_761).wrapping_add(seed) >> 13) as u8;
    (0..BYTES as u32).map(byte).collect()
}

fn copy(card: &Card, space: &AddressSpace, maps: [&Mapping; 2], bytes: usize) -> Result<(), Error> {
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, space)?;
    slot.set_pointer("input", maps[0].address())?;
    slot.set_pointer("output", maps[1].address())?;
    slot.set("bytes", bytes as u64)?;
    slot.start()?;
    slot.wait(Some(Picoseconds::from_millis(200)), |_| Continue::Yes)?;
    Ok(())
}

#[test]
fn direct_files_take_no_card_memory_and_give_the_same_bytes() {
    on_each_card(|card, folder| {
        let path = |name: &str| folder.join(name);
        fs::write(path("in"), pattern(1)).unwrap();
        let space = card.create_space().unwrap();
        let new = MapOptions::create(BYTES as u64);
        let input = space
            .map_file(path("in"), MapOptions::read_only().direct())
            .unwrap();
        let output = space.map_file(path("out"), new.direct()).unwrap();
        copy(&card, &space, [&input, &output], BYTES).unwrap();
        output.sync().unwrap();
        assert!(fs::read(path("out")).unwrap() == pattern(1), "after sync");
        let report = card.report().unwrap();
        assert_eq!(report.paging.direct.pages, 4);
        assert_eq!(report.paging.direct.bytes, 2 * BYTES as u64);
        assert_eq!(report.paging.direct.pages_written, 2);
        assert_eq!(report.paging.evictions, 0);
        assert_eq!(report.spaces[0].bytes_on_card, 0, "{report}");
        assert!(report.to_string().contains("direct: 4 pages"), "{report}");

        // Written again behind the sync, by a kernel that reads what it wrote; one of the two is on the card.
        let other = space.map_file(path("other"), new).unwrap();
        fs::write(path("in"), pattern(2)).unwrap();
        input.refresh(Unsaved::Save).unwrap();
        copy(&card, &space, [&input, &output], BYTES).unwrap();
        copy(&card, &space, [&output, &other], BYTES).unwrap();
        for mapping in [&input, &output, &other] {
            mapping.unmap().unwrap();
        }
        for name in ["out", "other"] {
            assert!(fs::read(path(name)).unwrap() == pattern(2), "{name}");
        }
    });
}

#[test]
fn a_range_with_odd_ends_is_all_that_changes() {
    on_each_card(|card, folder| {
        let path = folder.join("file");
        fs::write(&path, pattern(3)).unwrap();
        fs::write(folder.join("in"), pattern(4)).unwrap();
        // Pages on the card are striped over its channels, pages in the host are not.
        let striped = SpacePlacement::Interleaved {
            first: 0,
            stripe: Stripe::new(64, 2).unwrap(),
        };
        let space = card.create_space_on(striped).unwrap();
        let (from, bytes) = ((2 << 20) - 4096 + 128, 9_001);
        let part = MapOptions::read_write().offset(from).bytes(bytes).direct();
        let part = part.page_size(PageSize::KIB_4);
        let input = space
            .map_file(folder.join("in"), MapOptions::read_only())
            .unwrap();
        let output = space.map_file(&path, part).unwrap();
        // One byte more than there is: it goes nowhere, and is told.
        copy(&card, &space, [&input, &output], bytes as usize + 1).unwrap();
        let error = output.unmap().unwrap_err();
        assert!(matches!(error, Error::Outside { .. }), "{error}");
        let mut right = pattern(3);
        let (from, bytes) = (from as usize, bytes as usize);
        right[from..from + bytes].copy_from_slice(&pattern(4)[..bytes]);
        assert!(fs::read(&path).unwrap() == right);
    });
}

#[test]
fn what_cannot_be_direct_is_refused_by_name() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, pattern(5)).unwrap();
    let plain = MapOptions::read_only();
    let refused = |card: &Card, options: MapOptions, word: &str| {
        let space = card.create_space().unwrap();
        let error = space.map_file(&path, options).unwrap_err().to_string();
        assert!(error.contains(word), "{error}");
        space.close().unwrap();
    };
    refused(&functional(false), plain.direct(), "host_channel = true");
    let card = functional(true);
    refused(&card, plain.auto_pages().direct(), "one size");
    for (first, second) in [(plain, plain.direct()), (plain.direct(), plain)] {
        let space = card.create_space().unwrap();
        let mapping = space.map_file(&path, first).unwrap();
        refused(&card, second, "mapped already with pages");
        mapping.unmap().unwrap();
        let mapping = space.map_file(&path, second).unwrap();
        mapping.unmap().unwrap();
        space.close().unwrap();
    }
}

#[test]
fn host_memory_for_direct_files_has_a_limit() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("a"), pattern(5)).unwrap();
    fs::write(path("b"), pattern(6)).unwrap();
    let config = FunctionalConfig {
        host_channel: true,
        ..FunctionalConfig::default()
    };
    let owner = OwnerOptions {
        // The pages of one of them.
        direct_bytes: Some(4 << 20),
        ..OwnerOptions::default()
    };
    let card = Card::new(Box::new(FunctionalCard::new(config)), owner).unwrap();
    let space = card.create_space().unwrap();
    let direct = MapOptions::read_only().direct();
    for _ in 0..2 {
        let first = space.map_file(path("a"), direct).unwrap();
        let error = space.map_file(path("b"), direct).unwrap_err().to_string();
        let told = "4194304 bytes of host memory, and of the 4194304 that direct pages may have 4194304 are taken";
        assert!(error.contains(told), "{error}");
        // Advice is no demand, and another mapping of the same takes nothing.
        let low = MapOptions::read_only().advice(Advice::LOW_USE);
        space.map_file(path("b"), low).unwrap().unmap().unwrap();
        let again = space.map_file(path("a"), direct).unwrap();
        again.unmap().unwrap();
        first.unmap().unwrap();
    }
}

#[test]
fn a_file_that_shrinks_is_an_error_for_whoever_wants_the_page() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), pattern(6)).unwrap();
    let card = functional(true);
    let space = card.create_space().unwrap();
    let input = space
        .map_file(path("in"), MapOptions::read_only().direct())
        .unwrap();
    let output = MapOptions::create(BYTES as u64).direct();
    let output = space.map_file(path("out"), output).unwrap();
    let file = fs::OpenOptions::new().write(true).open(path("in"));
    file.unwrap().set_len(100).unwrap();
    let error = copy(&card, &space, [&input, &output], BYTES).unwrap_err();
    assert!(error.to_string().contains("in"), "{error}");
    // The card goes on.
    fs::write(path("in"), pattern(7)).unwrap();
    copy(&card, &space, [&input, &output], BYTES).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(path("out")).unwrap() == pattern(7));
}

#[test]
fn advice_of_low_use_leaves_a_file_in_host_memory_where_the_card_has_a_way_there() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), pattern(8)).unwrap();
    for (channel, direct) in [(true, 2), (false, 0)] {
        let card = functional(channel);
        let space = card.create_space().unwrap();
        let low = MapOptions::read_only().advice(Advice::LOW_USE);
        let input = space.map_file(path("in"), low).unwrap();
        let new = MapOptions::create(BYTES as u64);
        let output = space.map_file(path("out"), new).unwrap();
        copy(&card, &space, [&input, &output], BYTES).unwrap();
        // Too late: a page of it is on the card.
        output.advise(Advice::LOW_USE).unwrap();
        // Who says nothing of it shows the same pages.
        let again = space.map_file(path("in"), MapOptions::read_only()).unwrap();
        copy(&card, &space, [&again, &output], BYTES).unwrap();
        let report = card.report().unwrap();
        assert_eq!(report.paging.direct.pages, direct, "{report}");
        let told = "in host memory (advice lowuse)";
        assert_eq!(report.to_string().contains(told), channel, "{report}");
        output.unmap().unwrap();
        assert!(fs::read(path("out")).unwrap() == pattern(8));
    }
}

#[test]
fn spaces_share_a_direct_file_until_the_last_of_them_ends() {
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::write(path("in"), pattern(9)).unwrap();
    fs::write(path("file"), pattern(10)).unwrap();
    let card = functional(true);
    let plain = MapOptions::read_only();
    let writer = card.create_space().unwrap();
    let input = writer.map_file(path("in"), plain).unwrap();
    let both = MapOptions::read_write().direct();
    let written = writer.map_file(path("file"), both).unwrap();
    let reader = card.create_space().unwrap();
    let read = reader.map_file(path("file"), plain.direct()).unwrap();
    let output = MapOptions::create(BYTES as u64);
    let output = reader.map_file(path("out"), output).unwrap();
    copy(&card, &writer, [&input, &written], BYTES).unwrap();
    // The writer goes; what it wrote is in the file, and the reader reads it where it lies.
    written.unmap().unwrap();
    assert!(fs::read(path("file")).unwrap() == pattern(9));
    writer.close().unwrap();
    copy(&card, &reader, [&read, &output], BYTES).unwrap();
    output.unmap().unwrap();
    assert!(fs::read(path("out")).unwrap() == pattern(9));
    assert_eq!(card.report().unwrap().paging.direct.pages, 2);
}

#[test]
fn shared_memory_that_stays_in_the_host_is_one_for_both() {
    const WORDS: usize = 3 << 10;
    on_each_card(|card, _| {
        let space = card.create_space().unwrap();
        for page in [PageSize::KIB_4, PageSize::MIB_2] {
            let mut memory = space.alloc_direct(2 * 8 * WORDS, page).unwrap();
            let all = memory.slice::<AtomicU64>();
            let (from, to) = all.split_at(WORDS);
            let kernel = simcard::home().join("kernels/copy");
            let slot = card.load(SlotId(0), &kernel, &space).unwrap();
            let start = memory.address().get();
            slot.set("input", start).unwrap();
            slot.set("output", start + 8 * WORDS as u64).unwrap();
            slot.set("bytes", 8 * WORDS as u64).unwrap();
            for round in 0..3 {
                // Neither side asks, and nothing moves.
                for (n, word) in from.iter().enumerate() {
                    word.store(n as u64 * 3 + round, Relaxed);
                }
                slot.start().unwrap();
                slot.wait(Some(Picoseconds::from_millis(200)), |_| Continue::Yes)
                    .unwrap();
                let right = |(n, word): (usize, &AtomicU64)| {
                    word.load(Relaxed) == n as u64 * 3 + round && to.len() == WORDS
                };
                assert!(to.iter().enumerate().all(right), "{page}, round {round}");
            }
            let report = card.report().unwrap();
            assert_eq!(report.paging.pages_read + report.paging.pages_written, 0);
            assert_eq!(report.spaces[0].bytes_on_card, 0, "{report}");
            // Once a page, and not once a run.
            let pages = (2 * 8 * WORDS as u64).div_ceil(page.bytes());
            let before = if page == PageSize::KIB_4 { 0 } else { 12 };
            assert_eq!(report.paging.direct.pages, before + pages, "{report}");
            memory.free().unwrap();
        }
    });
    let card = functional(false);
    let space = card.create_space().unwrap();
    let error = space.alloc_direct(4096, PageSize::KIB_4).unwrap_err();
    assert!(error.to_string().contains("host_channel"), "{error}");
}
