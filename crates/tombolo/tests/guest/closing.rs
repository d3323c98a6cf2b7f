//! Does a card that was closed leave nothing behind, in whatever order its things end?

use crate::alone;
use std::fs;
use std::time::{Duration, Instant};
use tombolo::{
    AddressSpace, Card, Error, ErrorCode, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    PageSize, SharedMemory, Slot, SlotId, TrapWay,
};

/// Descriptors and threads of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    descriptors: usize,
    threads: usize,
}

impl Held {
    fn now() -> Self {
        let count = |folder: &str| fs::read_dir(folder).unwrap().count();
        Self {
            descriptors: count("/proc/self/fd"),
            threads: count("/proc/self/task"),
        }
    }

    /// The resources in use at rest: the minimum of several samples.
    fn at_rest() -> Self {
        let looks = (0..100).map(|_| {
            std::thread::sleep(Duration::from_millis(2));
            Self::now()
        });
        let least = looks.min_by_key(|held| (held.threads, held.descriptors));
        least.unwrap()
    }

    /// A thread that was asked to end may need a moment.
    fn comes_back(self) {
        let began = Instant::now();
        while Self::now() != self {
            let now = Self::now();
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "{now:?}, not {self:?}"
            );
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

/// A card with one of everything.
struct Things {
    card: Option<Card>,
    space: Option<AddressSpace>,
    mapping: Option<Mapping>,
    slot: Option<Slot>,
    memories: Vec<SharedMemory>,
}

impl Things {
    fn new(folder: &std::path::Path) -> Self {
        let card = FunctionalCard::new(FunctionalConfig::default());
        let card = Card::functional(card).unwrap();
        let space = card.create_space().unwrap();
        let file = folder.join("file");
        fs::write(&file, [7; 4096]).unwrap();
        let mapping = space.map_file(&file, MapOptions::read_write()).unwrap();
        let slot = card.load(SlotId(0), crate::kernel("copy"), &space).unwrap();
        let ways = [TrapWay::Protect, TrapWay::InThread, TrapWay::Userfault];
        let memories = ways.map(|way| {
            let memory = space.alloc_with_traps(8192, PageSize::KIB_4, way).unwrap();
            // SAFETY: the memory is the program's, and nobody else knows it.
            unsafe { memory.as_ptr().write_bytes(9, 4096) };
            memory
        });
        // The card has a page of each.
        for memory in &memories {
            slot.set_pointer("input", memory.address()).unwrap();
            slot.set_pointer("output", memory.address()).unwrap();
            slot.set("bytes", 4096).unwrap();
            slot.start().unwrap();
            slot.join(None).unwrap();
        }
        Self {
            card: Some(card),
            space: Some(space),
            mapping: Some(mapping),
            slot: Some(slot),
            memories: memories.into(),
        }
    }

    fn close(&mut self, what: usize) {
        match what {
            0 => drop(self.card.take()),
            1 => drop(self.space.take()),
            2 => drop(self.mapping.take()),
            3 => drop(self.slot.take()),
            _ => self.memories.clear(),
        }
    }
}

/// All orders of the numbers below `count`.
fn orders(count: usize) -> Vec<Vec<usize>> {
    match count {
        0 => vec![Vec::new()],
        _ => {
            let shorter = orders(count - 1);
            let insert = |order: &Vec<usize>, at: usize| {
                let mut order = order.clone();
                order.insert(at, count - 1);
                order
            };
            let all = shorter.iter();
            all.flat_map(|order| (0..count).map(move |at| insert(order, at)))
                .collect()
        }
    }
}

#[test]
fn nothing_is_left_in_any_order_of_closing() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    // What the process opens once for all cards.
    drop(Things::new(folder.path()));
    let before = Held::at_rest();
    for order in orders(5) {
        let mut things = Things::new(folder.path());
        for what in order {
            things.close(what);
        }
        before.comes_back();
    }
}

#[test]
fn a_closed_card_has_ended_whatever_handles_there_are() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    drop(Things::new(folder.path()));
    let before = Held::at_rest();
    // More than the 64 with which a process can share memory at once.
    let mut kept = Vec::new();
    for _ in 0..70 {
        let things = Things::new(folder.path());
        things.card.as_ref().unwrap().close().unwrap();
        before.comes_back();
        kept.push(things);
    }
    let things = kept.pop().unwrap();
    let card = things.card.as_ref().unwrap();
    let space = things.space.as_ref().unwrap();
    let slot = things.slot.as_ref().unwrap();
    let told = [
        card.close(),
        card.describe().map(drop),
        card.create_space().map(drop),
        card.client().describe().map(drop),
        space.alloc(4096).map(drop),
        space.close(),
        things.mapping.as_ref().unwrap().sync(),
        slot.start(),
        slot.join(None),
        slot.read_register(0).map(drop),
        things.memories[0].sync(),
    ];
    for error in told {
        let error: Error = error.unwrap_err();
        assert_eq!(error.code(), ErrorCode::Gone, "{error}");
    }
    // Memory is the program's: what was with the card is back, and what nobody has touched comes.
    for memory in &things.memories {
        for byte in [0, 4095, 4096, 8191] {
            // SAFETY: the memory is there until it is dropped.
            let found = unsafe {
                let at = memory.as_ptr().add(byte);
                at.write(at.read() + 1);
                at.read()
            };
            assert_eq!(
                found,
                if byte < 4096 { 10 } else { 1 },
                "{:?}",
                memory.trap_way()
            );
        }
    }
    drop(kept);
    drop(things);
    before.comes_back();
}

#[test]
fn the_last_client_ends_the_card() {
    let _alone = alone();
    let card = Card::functional(FunctionalCard::new(FunctionalConfig::default())).unwrap();
    let before = Held::at_rest();
    let other = card.client();
    card.close().unwrap();
    other.describe().unwrap();
    let space = other.create_space().unwrap();
    other.close().unwrap();
    assert_eq!(space.close().unwrap_err().code(), ErrorCode::Gone);
    assert!(Held::now().threads < before.threads);
}
