//! Do a program and kernels see one memory? Lists on both cards, random accesses of everybody at once on the
//! functional card, and everything that a program can do wrong.

mod common;
mod mistakes;
mod registered;
mod shaker;

use card::functional::Registry;
use card::sim::SimCard;
use common::*;
use std::sync::atomic::Ordering::Relaxed;
use tombolo::{AddressSpace, Card, OwnerOptions, PageSize, SharedMemory, SimOptions, SlotId};

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
        page_size: PageSize::KIB_4,
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
