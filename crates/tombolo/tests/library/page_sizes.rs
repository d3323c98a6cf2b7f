//! Can pages of several sizes coexist in one space? On the functional card and on the simulated one, both too small for
//! the data.

use crate::common::{Between, Watched};
use card::command::Command;
use card::CardError;
use simcard::SimCard;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, Continue, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, PageSize, PageSizes, Picoseconds, SimOptions, SlotId, VirtAddr,
};
use units::Operation;

const KIB_64: PageSize = match PageSize::from_class(4) {
    Some(size) => size,
    None => PageSize::KIB_4,
};
const MIB_4: PageSize = match PageSize::from_class(10) {
    Some(size) => size,
    None => PageSize::KIB_4,
};

/// Entries written and removed, by the size of their pages.
type Entries = Arc<Mutex<BTreeMap<PageSize, (u64, u64)>>>;

/// Counts them.
struct Counter(Entries);

impl Between for Counter {
    fn submit(&mut self, card: &mut dyn card::Card, command: Command) -> Result<(), CardError> {
        let mut entries = self.0.lock().unwrap();
        match command.operation {
            Operation::Install { entry, .. } => entries.entry(entry.size).or_default().0 += 1,
            Operation::Invalidate { size, .. } => entries.entry(size).or_default().1 += 1,
            _ => {}
        }
        drop(entries);
        card.submit(command)
    }
}

fn functional(config: FunctionalConfig) -> Box<dyn card::Card> {
    Box::new(FunctionalCard::new(config))
}

/// Runs a test on both kinds of card, each with this much memory.
fn on_each_card(memory: u64, test: impl Fn(Card, &Path, &Entries)) {
    let small = FunctionalConfig {
        channel_bytes: memory / 2,
        ..FunctionalConfig::default()
    };
    let mut options = SimOptions::named("f1").unwrap();
    options.channel_bytes = Some(memory / u64::from(options.shell.channels));
    let simulated = Box::new(SimCard::open(options, |_| {}).unwrap());
    for card in [functional(small), simulated] {
        eprintln!("on {}", card.description().name);
        let entries = Entries::default();
        let between = Counter(entries.clone());
        let card = Box::new(Watched { card, between });
        let folder = TempDir::new().unwrap();
        let card = Card::new(card, OwnerOptions::default()).unwrap();
        test(card, folder.path(), &entries);
    }
}

fn integers(count: usize, seed: u32) -> Vec<u32> {
    let next = |state: &mut u32| {
        *state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        Some(*state)
    };
    std::iter::repeat_with(|| ())
        .scan(seed, |state, ()| next(state))
        .take(count)
        .collect()
}

fn write(path: &Path, content: &[u32]) {
    let bytes: Vec<u8> = content.iter().flat_map(|n| n.to_le_bytes()).collect();
    fs::write(path, bytes).unwrap();
}

fn read(path: &Path) -> Vec<u32> {
    let bytes = fs::read(path).unwrap();
    let words = bytes.chunks_exact(4);
    words
        .map(|n| u32::from_le_bytes(n.try_into().unwrap()))
        .collect()
}

fn kernel(name: &str) -> std::path::PathBuf {
    simcard::home().join("kernels").join(name)
}

/// Runs a kernel whose arguments are mappings and one number.
fn run(
    card: &Card,
    space: &AddressSpace,
    name: &str,
    pointers: &[(&str, &Mapping)],
    (argument, value): (&str, u64),
) {
    let slot = card.load(SlotId(0), kernel(name), space).unwrap();
    for (argument, mapping) in pointers {
        slot.set_pointer(argument, mapping.address()).unwrap();
    }
    slot.set(argument, value).unwrap();
    slot.start().unwrap();
    slot.wait(Some(Picoseconds::from_millis(200)), |_| Continue::Yes)
        .unwrap();
}

#[test]
fn three_sizes_share_a_space_and_push_each_other_out() {
    const COUNT: usize = (3 << 20) / 4 - 5;
    on_each_card(6 << 20, |card, folder, entries| {
        let path = |name: &str| folder.join(name);
        let (a, b) = (integers(COUNT, 1), integers(COUNT, 2));
        write(&path("a"), &a);
        write(&path("b"), &b);
        let space = card.create_space().unwrap();
        let map = |name: &str, options: MapOptions, size: PageSize| {
            let options = options.page_size(size);
            space.map_file(path(name), options).unwrap()
        };
        let new = MapOptions::create(4 * COUNT as u64);
        let in_a = map("a", MapOptions::read_only(), PageSize::KIB_4);
        let in_b = map("b", MapOptions::read_only(), KIB_64);
        let sum = map("sum", new, PageSize::MIB_2);
        let pointers = [("a", &in_a), ("b", &in_b), ("c", &sum)];
        run(&card, &space, "vadd", &pointers, ("length", COUNT as u64));
        let expected: Vec<u32> = a.iter().zip(&b).map(|(a, b)| a.wrapping_add(*b)).collect();
        sum.sync().unwrap();
        assert!(read(&path("sum")) == expected, "after the sync");

        // What was written with large pages is read, and small ones are written.
        let more = map("more", new, PageSize::KIB_4);
        let pointers = [("a", &sum), ("b", &in_b), ("c", &more)];
        run(&card, &space, "vadd", &pointers, ("length", COUNT as u64));
        let counts = entries.lock().unwrap().clone();
        let sizes: Vec<PageSize> = counts.keys().copied().collect();
        assert_eq!(sizes, [PageSize::KIB_4, KIB_64, PageSize::MIB_2]);
        // Nothing is unmapped yet: these entries went with pages that left, or were synced.
        let gone = counts.values().all(|(_, removed)| *removed > 0);
        assert!(gone, "{counts:?}");
        for mapping in [in_a, in_b, sum, more] {
            mapping.unmap().unwrap();
        }
        let expected: Vec<u32> = expected
            .iter()
            .zip(&b)
            .map(|(a, b)| a.wrapping_add(*b))
            .collect();
        assert!(read(&path("more")) == expected, "after the end");
        let paging = card.report().unwrap().paging;
        assert!(paging.evictions > 100, "{paging:?}");
    });
}

#[test]
fn pages_larger_than_a_buffer_move_in_pieces() {
    const COUNT: usize = (9 << 20) / 4 + 1;
    on_each_card(20 << 20, |card, folder, entries| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let content = integers(COUNT, 3);
        write(&from, &content);
        let space = card.create_space().unwrap();
        let input = MapOptions::read_only().page_size(MIB_4);
        let input = space.map_file(&from, input).unwrap();
        let output = MapOptions::create(input.bytes()).page_size(MIB_4);
        let output = space.map_file(&to, output).unwrap();
        let pointers = [("input", &input), ("output", &output)];
        run(&card, &space, "copy", &pointers, ("bytes", input.bytes()));
        output.unmap().unwrap();
        assert!(read(&to) == content);
        let counts = entries.lock().unwrap();
        assert!(counts.keys().eq([&MIB_4]), "{counts:?}");
        let paging = card.report().unwrap().paging;
        assert!(paging.evictions > 0, "{paging:?}");
    });
}

fn refused(result: Result<Mapping, Error>, words: &[&str]) {
    let error = result.err().unwrap().to_string();
    for word in words {
        assert!(error.contains(word), "`{word}` is not in: {error}");
    }
}

#[test]
fn sizes_that_cannot_be_are_named() {
    let folder = TempDir::new().unwrap();
    let (file, other) = (folder.path().join("file"), folder.path().join("other"));
    // A page is not larger than what it shows; holes cost nothing.
    for path in [&file, &other] {
        fs::File::create(path).unwrap().set_len(1 << 30).unwrap();
    }
    let coarse = FunctionalConfig {
        page_sizes: PageSizes::from(PageSize::MIB_2),
        channel_bytes: 64 << 20,
        ..FunctionalConfig::default()
    };
    let card = Card::new(functional(coarse.clone()), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();
    let with = |size: PageSize| MapOptions::read_only().page_size(size);
    let small = space.map_file(&file, with(PageSize::KIB_4));
    refused(small, &["file", "4 KiB", "2 MiB to 1 GiB"]);
    let large = space.map_file(&file, with(PageSize::GIB_1));
    refused(large, &["1 GiB", "use smaller pages"]);
    // Nothing is left of the refused ones.
    let mapped = space.map_file(&file, with(MIB_4)).unwrap();
    let again = space.map_file(&file, with(PageSize::MIB_2));
    refused(again, &["mapped already", "4 MiB"]);
    assert!(space.map_file(&file, MapOptions::read_only()).is_ok());
    let within = VirtAddr::new(mapped.address().get() + PageSize::MIB_2.bytes()).unwrap();
    let overlap = space.map_file(&other, with(PageSize::MIB_2).address(within));
    refused(overlap, &["overlap"]);
    let misaligned = space.map_file(&other, with(MIB_4).address(within));
    refused(misaligned, &["not a multiple of the page size, 4 MiB"]);

    let owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        ..OwnerOptions::default()
    };
    let card = Card::new(functional(coarse), owner).err().unwrap();
    assert!(matches!(card, Error::NoSuchPageSize { .. }), "{card}");
    assert!(card.to_string().contains("2 MiB to 1 GiB"), "{card}");
}

/// A space's limit is in bytes, whatever its pages; one that is too large for it is refused.
#[test]
fn limits_hold_for_pages_of_all_sizes() {
    let folder = TempDir::new().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let content = integers((4 << 20) / 4, 4);
    write(&from, &content);
    let card = functional(FunctionalConfig::default());
    let card = Card::new(card, OwnerOptions::default()).unwrap();
    let space = card
        .create_space_with(tombolo::SpaceOptions::new().limit(3 << 20))
        .unwrap();
    let large = MapOptions::read_only().page_size(MIB_4);
    refused(space.map_file(&from, large), &["4 MiB", "limit"]);
    let input = MapOptions::read_only().page_size(KIB_64);
    let input = space.map_file(&from, input).unwrap();
    let output = MapOptions::create(input.bytes());
    let output = space.map_file(&to, output).unwrap();
    let pointers = [("input", &input), ("output", &output)];
    run(&card, &space, "copy", &pointers, ("bytes", input.bytes()));
    output.unmap().unwrap();
    assert!(read(&to) == content);
    assert!(card.report().unwrap().paging.evictions > 0);
}
