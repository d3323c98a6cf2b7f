//! Do policies and advice change only fetching and eviction, and never a byte? On the functional card.

use std::fs;
use std::io::Write;
use std::path::Path;
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Advice, Card, Continue, Error, Eviction, Fetch, FunctionalCard, FunctionalConfig,
    L1Reach, MapOptions, Mapping, OwnerOptions, PageSize, Report, SlotId, Unsaved,
};

const KIB_64: PageSize = match PageSize::from_class(4) {
    Some(size) => size,
    None => PageSize::KIB_4,
};
/// Numbers in each file: a little over 2 MiB, compared with 4 MiB of card memory.
const COUNT: usize = (2 << 20) / 4 + 37;

fn card(options: OwnerOptions) -> Card {
    card_of(2 << 20, options)
}

/// A card with `channel_bytes` bytes in each of its two channels.
fn card_of(channel_bytes: u64, options: OwnerOptions) -> Card {
    let small = FunctionalConfig {
        channel_bytes,
        ..FunctionalConfig::default()
    };
    Card::new(Box::new(FunctionalCard::new(small)), options).unwrap()
}

fn numbers(seed: u32) -> Vec<u8> {
    let number = |n: u32| n.wrapping_mul(2_654_435_761).wrapping_add(seed);
    (0..COUNT as u32)
        .flat_map(|n| number(n).to_le_bytes())
        .collect()
}

/// Adds two files, with advice for both and for the sum, and checks the sum.
fn add(options: OwnerOptions, folder: &Path, advice: [&str; 3]) -> Report {
    let path = |name: &str| folder.join(name);
    let (a, b) = (numbers(1), numbers(2));
    fs::write(path("a"), &a).unwrap();
    fs::write(path("b"), &b).unwrap();
    let card = card(options.clone());
    let space = card.create_space().unwrap();
    let [a_is, b_is, sum_is] = advice.map(|words| words.parse::<Advice>().unwrap());
    let auto = options.auto_pages;
    let map = |name: &str, options: MapOptions, advice: Advice| {
        let options = match auto {
            true => options.advice(advice),
            false => options.page_size(KIB_64).advice(advice),
        };
        space.map_file(path(name), options).unwrap()
    };
    let maps = [
        ("a", map("a", MapOptions::read_only(), a_is)),
        ("b", map("b", MapOptions::read_only(), b_is)),
        ("c", map("sum", MapOptions::create(a.len() as u64), sum_is)),
    ];
    let kernel = simcard::home().join("kernels/vadd");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    for (argument, mapping) in &maps {
        slot.set_pointer(argument, mapping.address()).unwrap();
    }
    slot.set("length", COUNT as u64).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    maps.iter()
        .for_each(|(_, mapping)| mapping.unmap().unwrap());
    let sum = fs::read(path("sum")).unwrap();
    let right = |n: usize| {
        let at = |bytes: &[u8]| u32::from_le_bytes(bytes[4 * n..4 * n + 4].try_into().unwrap());
        at(&sum) == at(&a).wrapping_add(at(&b))
    };
    assert!((0..COUNT).all(right), "{advice:?}");
    card.report().unwrap()
}

#[test]
fn no_policy_changes_a_byte() {
    let folder = TempDir::new().unwrap();
    for eviction in Eviction::ALL {
        for fetch in Fetch::ALL {
            let options = OwnerOptions {
                fetch,
                eviction,
                batch_bytes: 256 << 10,
                ..OwnerOptions::default()
            };
            let report = add(options, folder.path(), ["reuse", "stream", "lowuse"]);
            assert!(report.paging.evictions > 0);
        }
    }
}

#[test]
fn automatic_pages_change_no_byte() {
    let folder = TempDir::new().unwrap();
    for eviction in Eviction::ALL {
        for advice in ["none", "random", "stream+lowuse"] {
            let options = OwnerOptions {
                eviction,
                auto_pages: true,
                ..OwnerOptions::default()
            };
            let report = add(options, folder.path(), [advice, "none", advice]);
            assert!(report.paging.evictions > 0);
            assert!(report.to_string().contains("automatic"), "{report}");
        }
    }
}

/// An L1 TLB of two 2 MiB pages, and one of larger ones.
#[test]
fn pages_become_larger_where_their_l1_tlb_does_not_reach() {
    const BYTES: usize = (10 << 20) + 300;
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let count = BYTES / 4;
    let numbers = |seed: u32| -> Vec<u8> {
        let all = (0..count as u32).flat_map(|n| n.wrapping_mul(seed).to_le_bytes());
        all.collect()
    };
    fs::write(path("a"), numbers(3)).unwrap();
    fs::write(path("b"), numbers(5)).unwrap();
    for auto_pages in [false, true] {
        let larger = PageSize::from_class(10).unwrap();
        let l1 = |page: PageSize, bytes| L1Reach { page, bytes };
        let config = FunctionalConfig {
            channel_bytes: 32 << 20,
            l1_reach: vec![l1(PageSize::MIB_2, 4 << 20), l1(larger, 32 << 20)],
            ..FunctionalConfig::default()
        };
        let options = OwnerOptions {
            auto_pages,
            // Pages that are being saved behind the kernel join no others.
            overlap: false,
            ..OwnerOptions::default()
        };
        let card = Card::new(Box::new(FunctionalCard::new(config)), options).unwrap();
        let space = card.create_space().unwrap();
        let a = space.map_file(path("a"), MapOptions::read_only()).unwrap();
        let small = MapOptions::read_only().page_size(PageSize::MIB_2);
        let b = space.map_file(path("b"), small).unwrap();
        let new = MapOptions::create(BYTES as u64);
        let sum = space.map_file(path("sum"), new).unwrap();
        vadd(&card, &space, &[("a", &a), ("b", &b), ("c", &sum)], count);
        assert!(fs::read(path("sum")).unwrap() == numbers(8));
        let report = card.report().unwrap();
        assert_eq!(report.paging.evictions, 0);
        let text = report.to_string();
        let told = match auto_pages {
            false => "pages of 2 MiB (default), merged into pages of 4 MiB in place where",
            true => "pages of up to 4 MiB",
        };
        assert!(text.contains(told), "{text}");
        let (before, _) = text
            .split_once(" merged, ")
            .or(text.split_once(" merged)"))
            .unwrap();
        let made: u64 = before.rsplit(' ').next().unwrap().parse().unwrap();
        // Two of 4 MiB of `a` and of the sum each; automatic ones count those of 2 MiB too.
        assert!(made >= 4, "{text}");
        assert!(text.contains("b: pages of 2 MiB (requested), "), "{text}");
    }
}

#[test]
fn a_file_has_fixed_or_automatic_pages() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, vec![1; 100_000]).unwrap();
    let card = card(OwnerOptions::default());
    let space = card.create_space().unwrap();
    let (fixed, auto) = (
        MapOptions::read_only(),
        MapOptions::read_only().auto_pages(),
    );
    let first = space.map_file(&path, auto).unwrap();
    let also = space.map_file(&path, fixed).unwrap();
    let refused = space.map_file(&path, fixed.page_size(PageSize::MIB_2));
    assert!(refused.unwrap_err().to_string().contains("automatic"));
    first.unmap().unwrap();
    also.unmap().unwrap();
    let _fixed = space.map_file(&path, fixed).unwrap();
    assert!(space.map_file(&path, auto).is_err());
}

#[test]
fn advice_steers_what_is_fetched() {
    let folder = TempDir::new().unwrap();
    let faults = |advice: [&str; 3]| {
        let report = add(OwnerOptions::default(), folder.path(), advice);
        report.paging.faults
    };
    let random = faults(["random"; 3]);
    let stream = faults(["stream"; 3]);
    assert!(
        stream * 2 < random,
        "{stream} with, {random} without read-ahead"
    );
}

#[test]
fn the_report_says_what_was_chosen_and_why() {
    let folder = TempDir::new().unwrap();
    let report = add(
        OwnerOptions::default(),
        folder.path(),
        ["stream+lowuse", "preload+reuse", "none"],
    );
    let text = report.to_string();
    let line = |name: &str| {
        let mut lines = text.lines().filter(|line| line.starts_with("paged: "));
        let found = lines.find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("{name} is not in\n{text}"))
    };
    for (name, words) in [
        (
            "/a:",
            &[
                "64 KiB (requested)",
                "from the first access (advice stream)",
                "evicted first",
            ][..],
        ),
        (
            "/b:",
            &["preloaded at the first access (advice)", "evicted last"],
        ),
        (
            "/sum:",
            &["ahead of sequential accesses (default)", "FIFO eviction"],
        ),
    ] {
        let line = line(name);
        words
            .iter()
            .for_each(|word| assert!(line.contains(word), "{word:?} is not in {line:?}"));
    }
    let mut without = report.clone();
    without.policies.clear();
    assert_eq!(without.hash(), report.hash(), "words are no figures");
}

#[test]
fn advice_for_what_is_not_mapped_is_refused() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("a");
    fs::write(&path, vec![1; 100_000]).unwrap();
    let card = card(OwnerOptions::default());
    let space = card.create_space().unwrap();
    let mapping = space.map_file(&path, MapOptions::read_only()).unwrap();
    mapping.advise_range(99_999, 1, Advice::REUSE).unwrap();
    for (offset, bytes) in [
        (0, 0),
        (0, 100_001),
        (100_000, 1),
        (u64::MAX, 1),
        (1, u64::MAX),
    ] {
        let refused = mapping
            .advise_range(offset, bytes, Advice::REUSE)
            .unwrap_err();
        assert!(
            matches!(refused, Error::Pager(_)),
            "{offset} {bytes}: {refused}"
        );
    }
    mapping.unmap().unwrap();
    assert!(matches!(
        mapping.advise(Advice::STREAM),
        Err(Error::Gone { .. })
    ));
}

/// Runs `vadd` once on what is mapped.
fn vadd(card: &Card, space: &AddressSpace, maps: &[(&str, &Mapping)], count: usize) {
    let kernel = simcard::home().join("kernels/vadd");
    let slot = card.load(SlotId(0), &kernel, space).unwrap();
    for (argument, mapping) in maps {
        slot.set_pointer(argument, mapping.address()).unwrap();
    }
    slot.set("length", count as u64).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    slot.close().unwrap();
    maps[2].1.sync().unwrap();
}

#[test]
fn what_others_wrote_is_seen_after_a_refresh() {
    const SMALL: usize = 5000;
    let folder = TempDir::new().unwrap();
    let path = |name: &str| folder.path().join(name);
    let of = |number: u32| number.to_le_bytes().repeat(SMALL);
    fs::write(path("a"), of(1)).unwrap();
    fs::write(path("b"), of(10)).unwrap();
    for (options, pages) in [
        (OwnerOptions::default(), MapOptions::read_only()),
        (
            OwnerOptions::default(),
            MapOptions::read_only().auto_pages(),
        ),
    ] {
        fs::write(path("a"), of(1)).unwrap();
        // Nothing leaves by itself.
        let card = card_of(16 << 20, options);
        let space = card.create_space().unwrap();
        let a = space.map_file(path("a"), pages).unwrap();
        let b = space.map_file(path("b"), pages).unwrap();
        let new = MapOptions::create(4 * SMALL as u64);
        let sum = space.map_file(path("sum"), new).unwrap();
        let run = || {
            vadd(&card, &space, &[("a", &a), ("b", &b), ("c", &sum)], SMALL);
            let bytes = fs::read(path("sum")).unwrap();
            u32::from_le_bytes(bytes[400..404].try_into().unwrap())
        };
        assert_eq!(run(), 11);
        // In place: the file stays the one that is mapped.
        let mut file = fs::OpenOptions::new().write(true).open(path("a")).unwrap();
        file.write_all(&of(2)).unwrap();
        assert_eq!(run(), 11, "pages on the card are as they were read");
        a.refresh(Unsaved::Save).unwrap();
        assert_eq!(run(), 12);
        sum.refresh(Unsaved::Drop).unwrap();
        a.unmap().unwrap();
        assert!(matches!(a.refresh(Unsaved::Save), Err(Error::Gone { .. })));
    }
}
