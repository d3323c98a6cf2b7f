//! Kernels that work on a program's own data, where it is: the functional models against the standard library.

use crate::registered::Block;
use crate::{functional, kernel, wait};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use tombolo::{Slot, SlotId};

fn run(slot: &Slot, arguments: &[(&str, u64)]) {
    for (name, value) in arguments {
        slot.set(name, *value).unwrap();
    }
    slot.start().unwrap();
    wait(slot).unwrap();
}

#[test]
fn an_array_is_changed_in_place() {
    let card = functional(3, Some(4));
    let space = card.create_space().unwrap();
    let block = Block::new(5);
    let words = block.words();
    for (n, word) in words.iter().enumerate() {
        word.store(n as u64 * 0x1_2345_6789, Relaxed);
    }
    let memory = block.register(&space);
    let slot = card.load(SlotId(0), kernel("transform"), &space).unwrap();
    // Neither ends with a row, nor with a word of 8 bytes.
    let bytes = 3 * 4096 + 68;
    let data = memory.address().get();
    run(
        &slot,
        &[("data", data), ("bytes", bytes), ("addend", 7), ("pace", 3)],
    );
    drop(memory);
    let changed = |word: u64| u64::from((word as u32).wrapping_add(7).rotate_left(7));
    for (n, word) in (0u64..).zip(words) {
        let old = n * 0x1_2345_6789;
        let (low, high) = (changed(old), changed(old >> 32));
        let expected = match 8 * n {
            at if at + 8 <= bytes => low | high << 32,
            at if at < bytes => low | old >> 32 << 32,
            _ => old,
        };
        assert_eq!(word.load(Relaxed), expected, "word {n}");
    }
}

#[test]
fn keys_are_looked_up_in_a_programs_table() {
    const BITS: u64 = 4;
    let card = functional(3, Some(5));
    let space = card.create_space().unwrap();
    let (nodes, table) = (Block::new(2), Block::new(1));
    let (keys, found) = (Block::new(1), Block::new(2));
    let address = |word: usize| &raw const nodes.words()[word] as u64;
    let mut judge = BTreeMap::new();
    for n in 0..100 {
        let key = (n as u64).pow(9) | 1;
        let bucket = (key ^ (key >> 21) ^ (key >> 42)) % (1 << BITS);
        let head = &table.words()[bucket as usize];
        let node = &nodes.words()[8 * n..8 * n + 3];
        for (word, value) in node.iter().zip([head.load(Relaxed), key, 3 * key]) {
            word.store(value, Relaxed);
        }
        head.store(address(8 * n), Relaxed);
        judge.insert(key, 3 * key);
        keys.words()[2 * n].store(key, Relaxed);
        keys.words()[2 * n + 1].store(key + 2, Relaxed);
    }
    let shared = [&nodes, &table, &keys, &found].map(|block| block.register(&space));
    let slot = card.load(SlotId(0), kernel("hash_probe"), &space).unwrap();
    let arguments = [
        ("buckets", shared[1].address().get()),
        ("keys", shared[2].address().get()),
        ("output", shared[3].address().get()),
        ("count", 200),
        ("bits", BITS),
    ];
    run(&slot, &arguments);
    drop(shared);
    for n in 0..200 {
        let key = keys.words()[n].load(Relaxed);
        let result = [0, 1].map(|word| found.words()[2 * n + word].load(Relaxed));
        let expected = judge.get(&key).map_or([0, 0], |value| [1, *value]);
        assert_eq!(result, expected, "key {key}");
    }
    assert_eq!(found.words()[400].load(Relaxed), 0);
}

#[test]
fn a_programs_graph_is_searched() {
    let card = functional(4, Some(6));
    let space = card.create_space().unwrap();
    let graph = [
        vec![1u32, 2],
        vec![3, 3],
        vec![0, 3, 9],
        vec![5],
        vec![0],
        vec![],
    ];
    // Words of 8 bytes hold two numbers each.
    let fill = |numbers: &[u32]| {
        let block = Block::new(1);
        for (word, pair) in block.words().iter().zip(numbers.chunks(2)) {
            let high = pair.get(1).copied().unwrap_or(u32::MAX);
            word.store(u64::from(pair[0]) | u64::from(high) << 32, Relaxed);
        }
        block
    };
    let read =
        |block: &Block, n: usize| (block.words()[n / 2].load(Relaxed) >> (32 * (n % 2))) as u32;
    let mut offsets = vec![0];
    for targets in &graph {
        offsets.push(offsets.last().unwrap() + targets.len() as u32);
    }
    let edges = fill(&graph.concat());
    let (offsets, levels) = (fill(&offsets), fill(&[u32::MAX; 6]));
    let (queue, output) = (fill(&[]), Block::new(1));
    let shared = [&offsets, &edges, &levels, &queue, &output].map(|block| block.register(&space));
    let slot = card.load(SlotId(0), kernel("bfs"), &space).unwrap();
    let names = ["offsets", "edges", "levels", "queue", "output"];
    let pointers = names.iter().zip(&shared);
    let mut arguments: Vec<_> = pointers
        .map(|(name, memory)| (*name, memory.address().get()))
        .collect();
    arguments.extend([("vertices", 6), ("source", 0)]);
    run(&slot, &arguments);
    drop(shared);
    // Vertex 4 leads into the rest, and nothing to it; 9 is no vertex.
    let expected = [0, 1, 1, 2, u32::MAX, 3];
    assert_eq!([0, 1, 2, 3, 4, 5].map(|n| read(&levels, n)), expected);
    assert_eq!([0, 1, 2, 3, 4].map(|n| read(&queue, n)), [0, 1, 2, 3, 5]);
    assert_eq!([0, 1, 2, 3].map(|n| read(&output, n)), [5, 0, 3, 0]);
}
