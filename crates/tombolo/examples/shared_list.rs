//! A linked list that the program and a kernel share, pointers and all: docs/tutorials/shared-pointers.md.
//!
//! `cargo run --release --example shared_list` on the simulated card; with `-- functional`, on the functional one, or
//! with the name of another.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use tombolo::{Card, Continue, PageSize, Shareable, SlotId};

/// A node as `kernels/list_sum` knows it. Its fields are atomics because two sides use them at once.
#[repr(C, align(64))]
struct Node {
    next: AtomicU64,
    value: AtomicU64,
    rest: [AtomicU64; 6],
}

// SAFETY: made of atomics, and smaller than a page.
unsafe impl Shareable for Node {}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let name = std::env::args().nth(1);
    let card = Card::open(name.as_deref().unwrap_or("f1"))?;
    let space = card.create_space()?;

    // Sixteen pages of 4 KiB; a node in each half of a page, the result at the end.
    let memory = space.alloc_with_pages(16 * 4096, PageSize::KIB_4)?;
    let all = memory.slice::<Node>();
    let (output, nodes) = (
        &all[all.len() - 1],
        all[..all.len() - 32].iter().step_by(32),
    );
    let nodes: Vec<&Node> = nodes.collect();
    for (n, node) in nodes.iter().enumerate() {
        node.value.store(n as u64, Relaxed);
        let next = nodes.get(n + 1).map_or(0, |next| &raw const **next as u64);
        node.next.store(next, Relaxed);
    }

    let slot = card.load(SlotId(0), std::path::Path::new("kernels/list_sum"), &space)?;
    slot.set_pointer("head", memory.address_of(nodes[0])?)?;
    slot.set_pointer("output", memory.address_of(output)?)?;
    let sum = |expected: u64| -> Result<(), Box<dyn std::error::Error>> {
        slot.wait(None, |_| Continue::Yes)?;
        let (sum, count) = (output.next.load(Relaxed), output.value.load(Relaxed));
        println!("{count} nodes, sum {sum}");
        (sum == expected)
            .then_some(())
            .ok_or_else(|| "that is wrong".into())
    };
    let count = nodes.len() as u64;
    let expected: u64 = (0..count).sum();
    slot.start()?;
    sum(expected)?;

    // The kernel adds 1000 to every value, while the program writes other words of the same nodes.
    slot.set("add", 1000)?;
    slot.start()?;
    for (n, node) in nodes.iter().enumerate() {
        node.rest[0].store(n as u64, Relaxed);
    }
    sum(expected)?;

    // What either side wrote is there, and a node that the program takes out is out.
    nodes[0].next.store(nodes[1].next.load(Relaxed), Relaxed);
    slot.set("add", 0)?;
    slot.start()?;
    sum(expected + 1000 * (count - 1) - 1)?;
    for (n, node) in nodes.iter().enumerate() {
        let (value, rest) = (node.value.load(Relaxed), node.rest[0].load(Relaxed));
        if (value, rest) != (n as u64 + 1000, n as u64) {
            return Err(format!("node {n} has {value} and {rest}").into());
        }
    }
    println!("every node holds what the kernel and the program wrote");
    Ok(())
}
