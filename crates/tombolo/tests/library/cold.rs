//! Cold data that is read at random: reads of what is on its way with another page wait for it, and nothing else
//! changes. On the functional card, where work of the host ends in any order.

use tombolo::{
    Card, Continue, FileState, FunctionalCard, FunctionalConfig, MapOptions, OwnerOptions,
    PageSize, SlotId,
};

/// The table as it begins: 1 MiB.
fn table() -> Vec<u8> {
    (0..1u64 << 17).flat_map(u64::to_le_bytes).collect()
}

/// What random updates all over a cold file leave in it.
fn update(read_around_bytes: u64, seed: Option<u64>) -> Vec<u8> {
    let owner = OwnerOptions {
        page_size: PageSize::KIB_4,
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
    let kernel = card::sim::home().join("kernels/gups");
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
