//! Cold data. Random reads: a read of bytes that are on their way with another page waits for it, and nothing else
//! changes; on the functional card, where work of the host completes in any order. Write-back amid reads in order leaves
//! none of them waiting. And cold data takes its time: one file and not another, and a hole only if a mapping asks for
//! it.

use std::path::Path;
use tombolo::{
    Card, Continue, FileState, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions,
    PageSize, Picoseconds, Report, SimOptions, SlotId,
};

/// The table as it begins: 1 MiB.
fn table() -> Vec<u8> {
    (0..1u64 << 17).flat_map(u64::to_le_bytes).collect()
}

/// File contents after random updates all over a cold file.
fn update(read_around_bytes: u64, seed: Option<u64>) -> Vec<u8> {
    let owner = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        read_ahead_bytes: 0,
        file_state: FileState::Cold,
        host_read_ahead_bytes: 128 << 10,
        read_around_bytes,
        ..OwnerOptions::default()
    };
    let config = FunctionalConfig {
        seed,
        ..FunctionalConfig::default()
    };
    let card = Card::new(Box::new(FunctionalCard::new(config)), owner).unwrap();
    let space = card.create_space().unwrap();
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("table");
    std::fs::write(&path, table()).unwrap();
    let options = MapOptions::read_write().page_size(PageSize::KIB_4);
    let mapping = space.map_file(&path, options).unwrap();
    let kernel = simcard::home().join("kernels/gups");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    slot.set_pointer("table", mapping.address()).unwrap();
    for (argument, value) in [
        ("words_log2", 17),
        ("updates", 1200),
        ("seed", 1),
        ("under_way", 8),
    ] {
        slot.set(argument, value).unwrap();
    }
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    mapping.unmap().unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn random_pages_of_a_cold_file_come_with_what_lies_around_them() {
    let alone = update(0, None);
    assert!(alone != table(), "nothing was updated");
    for seed in [None, Some(1), Some(2), Some(3)] {
        assert!(update(2 << 20, seed) == alone, "another table: {seed:?}");
    }
}

/// Copies a cold file onto itself on a card with little memory: pages are written back while others are read in order,
/// several at a time. Returns the pages that were evicted.
fn copy_in_place(path: &Path, seed: Option<u64>) -> u64 {
    let page_size = PageSize::from_bytes(64 << 10).unwrap();
    let owner = OwnerOptions {
        page_size: Some(page_size),
        file_state: FileState::Cold,
        host_read_ahead_bytes: 128 << 10,
        ..OwnerOptions::default()
    };
    let config = FunctionalConfig {
        channel_bytes: 1 << 20,
        seed,
        ..FunctionalConfig::default()
    };
    let card = Card::new(Box::new(FunctionalCard::new(config)), owner).unwrap();
    let space = card.create_space().unwrap();
    let options = MapOptions::read_write().page_size(page_size);
    let mapping = space.map_file(path, options).unwrap();
    let kernel = simcard::home().join("kernels/copy");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    slot.set_pointer("input", mapping.address()).unwrap();
    slot.set_pointer("output", mapping.address()).unwrap();
    slot.set("bytes", mapping.bytes()).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    mapping.unmap().unwrap();
    card.report().unwrap().paging.evictions
}

#[test]
fn write_back_leaves_no_read_in_order_waiting() {
    let folder = tempfile::TempDir::new().unwrap();
    let path = folder.path().join("table");
    let content: Vec<u8> = table().repeat(4);
    for seed in [None, Some(1), Some(2), Some(3)] {
        std::fs::write(&path, &content).unwrap();
        let evictions = copy_in_place(&path, seed);
        assert!(evictions > 0);
        assert!(std::fs::read(&path).unwrap() == content, "{seed:?}");
    }
}

/// How long the simulated card needs to add two files, by what their mappings say of where they are.
fn time_to_add(folder: &Path, states: [Option<FileState>; 2]) -> Picoseconds {
    let options = states.map(|state| {
        let options = MapOptions::read_only().page_size(PageSize::KIB_4);
        state.map_or(options, |state| options.file_state(state))
    });
    add(folder, options).time
}

/// Adds two files, mapped so, on the simulated card.
fn add(folder: &Path, inputs: [MapOptions; 2]) -> Report {
    let options = SimOptions::named("f1").unwrap();
    let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
    let space = card.create_space().unwrap();
    let input = |name: &str, options| space.map_file(folder.join(name), options).unwrap();
    let output = MapOptions::create(4096).page_size(PageSize::KIB_4);
    let maps = [
        ("a", input("a", inputs[0])),
        ("b", input("b", inputs[1])),
        ("c", space.map_file(folder.join("c"), output).unwrap()),
    ];
    let kernel = simcard::home().join("kernels/vadd");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    for (argument, mapping) in &maps {
        slot.set_pointer(argument, mapping.address()).unwrap();
    }
    slot.set("length", 1024).unwrap();
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    card.report().unwrap()
}

#[test]
fn each_file_is_cold_or_warm_by_itself() {
    let folder = tempfile::TempDir::new().unwrap();
    for name in ["a", "b"] {
        std::fs::write(folder.path().join(name), [1; 4096]).unwrap();
    }
    let cold = Some(FileState::Cold);
    let warm = time_to_add(folder.path(), [None, None]);
    assert_eq!(
        time_to_add(folder.path(), [Some(FileState::Warm), None]),
        warm
    );
    // A read of storage takes 90 us.
    let one = time_to_add(folder.path(), [cold, None]);
    assert!(
        one > warm + Picoseconds::from_micros(80),
        "{one} for {warm}"
    );
}

/// The storage of holes changes nothing, unless a mapping asks for it.
#[test]
fn holes_cost_nothing_if_a_mapping_says_so() {
    let folder = tempfile::TempDir::new().unwrap();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(folder.path().join(name), content).unwrap();
    };
    let warm = MapOptions::read_only().page_size(PageSize::KIB_4);
    let cold = warm.file_state(FileState::Cold);
    write("b", &[1; 4096]);
    let run = |first| add(folder.path(), [first, warm]);
    write("a", &[0; 4096]);
    let (dense, asked) = (run(cold), run(cold.holes()));
    assert_eq!(
        (dense.time, &dense.bytes_hash),
        (asked.time, &asked.bytes_hash)
    );
    let sparse = std::fs::File::create(folder.path().join("a")).unwrap();
    sparse.set_len(4096).unwrap();
    let as_data = run(cold);
    assert_eq!(
        (as_data.time, &as_data.bytes_hash),
        (dense.time, &dense.bytes_hash)
    );
    let (hole, read) = (run(cold.holes()), run(warm));
    assert_eq!(hole.time, read.time);
    assert_ne!(hole.bytes_hash, dense.bytes_hash);
}
