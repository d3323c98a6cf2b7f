//! Breadth-first search in a graph that the program has in vectors, by a kernel that writes distances into them:
//! docs/tutorials/shared-pointers.md.
//!
//! `cargo run --release --example shared_graph` on the simulated card; with `-- functional`, on the functional one.

use std::collections::VecDeque;
use tombolo::{
    AddressSpace, Card, Continue, FunctionalCard, FunctionalConfig, PageSize, SharedMemory,
    SimOptions, SlotId,
};

type Failure = Box<dyn std::error::Error>;

/// Numbers in whole pages: a vector of them can be shared in place.
#[repr(C, align(4096))]
#[derive(Clone, Copy)]
struct Page([u32; 1024]);

/// A vector with these numbers, filled up to whole pages.
fn vector(numbers: &[u32], fill: u32) -> Vec<Page> {
    let mut pages = vec![Page([fill; 1024]); numbers.len().div_ceil(1024).max(1)];
    for (page, numbers) in pages.iter_mut().zip(numbers.chunks(1024)) {
        page.0[..numbers.len()].copy_from_slice(numbers);
    }
    pages
}

/// Shares a vector where it is.
fn share(space: &AddressSpace, pages: &mut [Page]) -> Result<SharedMemory, tombolo::Error> {
    let bytes = size_of_val(pages);
    // SAFETY: the vectors live longer than what is shared of them, and nobody looks at them meanwhile.
    unsafe { space.register_with_pages(pages.as_mut_ptr().cast(), bytes, PageSize::KIB_4) }
}

/// A graph that is the same every time: some vertices, edges at random, parts that are not joined.
fn graph(vertices: u32) -> Vec<Vec<u32>> {
    let mut state = 1u64;
    let mut random = || {
        state = state
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (state >> 33) as u32 % vertices
    };
    let targets = |_| (0..random() % 4).map(|_| random()).collect();
    (0..vertices).map(targets).collect()
}

fn main() -> Result<(), Failure> {
    let card = match std::env::args().nth(1).as_deref() {
        Some("functional") => Card::functional(FunctionalCard::new(FunctionalConfig::default()))?,
        Some(other) => return Err(format!("`{other}`: give `functional` or nothing").into()),
        None => Card::simulated(SimOptions::named("f1")?, Default::default(), |_| {})?,
    };
    const VERTICES: u32 = 1500;
    let graph = graph(VERTICES);

    // Compressed rows: where each vertex' edges begin, and where all of them lead.
    let (mut offsets, mut edges) = (vec![0], Vec::new());
    for targets in &graph {
        edges.extend(targets);
        offsets.push(edges.len() as u32);
    }
    let (mut offsets, mut edges) = (vector(&offsets, 0), vector(&edges, 0));
    let mut levels = vector(&[], u32::MAX);
    levels.resize((VERTICES as usize).div_ceil(1024), Page([u32::MAX; 1024]));
    let (mut queue, mut result) = (vector(&[0; VERTICES as usize], 0), vector(&[], 0));

    let space = card.create_space()?;
    let slot = card.load(SlotId(0), std::path::Path::new("kernels/bfs"), &space)?;
    {
        let arrays = [
            ("offsets", share(&space, &mut offsets)?),
            ("edges", share(&space, &mut edges)?),
            ("levels", share(&space, &mut levels)?),
            ("queue", share(&space, &mut queue)?),
            ("output", share(&space, &mut result)?),
        ];
        for (name, memory) in &arrays {
            slot.set_pointer(name, memory.address())?;
        }
        slot.set("vertices", VERTICES.into())?;
        slot.set("source", 0)?;
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
    }

    // The vectors are the program's alone again. The same search with the standard library:
    let mut expected = vec![u32::MAX; VERTICES as usize];
    let mut front = VecDeque::from([0]);
    expected[0] = 0;
    while let Some(vertex) = front.pop_front() {
        for &target in &graph[vertex as usize] {
            if expected[target as usize] == u32::MAX {
                expected[target as usize] = expected[vertex as usize] + 1;
                front.push_back(target);
            }
        }
    }
    let found = levels.iter().flat_map(|page| page.0);
    if let Some(vertex) = (0..)
        .zip(found)
        .zip(&expected)
        .find_map(|((vertex, found), expected)| (found != *expected).then_some(vertex as usize))
    {
        return Err(format!("vertex {vertex} is not at distance {}", expected[vertex]).into());
    }
    let reached = expected.iter().filter(|level| **level != u32::MAX).count();
    if result[0].0[0] as usize != reached {
        return Err(format!("{} vertices and not {reached}", result[0].0[0]).into());
    }
    println!(
        "{reached} of {VERTICES} vertices reached, the last at distance {}, as the standard library says",
        result[0].0[2]
    );
    Ok(())
}
