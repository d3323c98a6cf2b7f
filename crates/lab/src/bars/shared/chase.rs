//! Pointer chasing over four times the card's memory: a node every 64 bytes on the functional card, every 16 KiB on the
//! simulated one.

use super::common::Node;
use crate::bars::Failure;
use crate::random::Random;
use crate::row::Row;
use simcard::SimOptions;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tombolo::{Card, Continue, FunctionalCard, FunctionalConfig, OwnerOptions, PageSize, SlotId};

const BYTES: usize = 1 << 30;
const CARD_BYTES: u64 = 256 << 20;
/// Nodes are shuffled within blocks of this many bytes.
const SHUFFLED: usize = 2 << 20;
const NODE: usize = size_of::<Node>();
/// Distance between nodes on the simulated card, in bytes.
const RTL_STEP: usize = 16 << 10;

/// Names of [`measure_rtl`].
pub const NAMES_RTL: &[&str] = &[
    "shared.chase.rtl",
    "shared.chase.rtl.nodes",
    "shared.chase.rtl.pages",
    "shared.chase.rtl.ms",
    "shared.chase.rtl.wall_s",
];

/// Result of a walk.
struct Walk {
    right: bool,
    nodes: u64,
    pages: u64,
    wall_s: f64,
    ms: f64,
}

fn page() -> Result<PageSize, Failure> {
    Ok(PageSize::from_bytes(64 << 10).ok_or("64 KiB")?)
}

/// Walks a shuffled list with a node every `step` bytes; a kernel adds up its values.
fn walk(card: &Card, step: usize) -> Result<Walk, Failure> {
    let space = card.create_space()?;
    let memory = space.alloc_with_pages(BYTES, page()?)?;
    let result = space.alloc_with_pages(4096, PageSize::KIB_4)?;
    let nodes = memory.slice::<Node>();

    let mut random = Random(14);
    let mut last = &result.slice::<Node>()[1].next;
    let (mut expected, mut count) = (0u64, 0u64);
    for (part, nodes) in nodes.chunks(SHUFFLED / NODE).enumerate() {
        let mut order: Vec<usize> = (0..nodes.len()).step_by(step / NODE).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n as u64 + 1) as usize);
        }
        for place in order {
            let node = &nodes[place];
            let value = (part * nodes.len() + place) as u64 ^ 0x5555;
            node.value.store(value, Relaxed);
            expected = expected.wrapping_add(value);
            count += 1;
            last.store(&raw const *node as u64, Relaxed);
            last = &node.next;
        }
    }

    let output = &result.slice::<Node>()[0];
    let slot = card.load(SlotId(0), simcard::home().join("kernels/list_sum"), &space)?;
    slot.set("head", result.slice::<Node>()[1].next.load(Relaxed))?;
    slot.set_pointer("output", result.address_of(output)?)?;
    let begin = Instant::now();
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let wall_s = begin.elapsed().as_secs_f64();
    let found = (output.next.load(Relaxed), output.value.load(Relaxed));
    let report = card.report()?;
    let time = report.runs.last().ok_or("no run was reported")?.time;
    Ok(Walk {
        right: found == (expected, count),
        nodes: found.1,
        pages: report.paging.pages_read,
        wall_s,
        ms: time.as_seconds() * 1e3,
    })
}

/// A node every 64 bytes, on the functional card.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        channels: 1,
        channel_bytes: CARD_BYTES,
        ..FunctionalConfig::default()
    }))?;
    let walk = walk(&card, NODE)?;
    Ok(vec![
        Row::holds("shared.chase", walk.right),
        Row::new("shared.chase.nodes", walk.nodes as f64, "nodes"),
        Row::new("shared.chase.pages", walk.pages as f64, "pages"),
        Row::new("shared.chase.wall_s", walk.wall_s, "s"),
    ])
}

/// A node every 16 KiB, on the simulated card.
pub fn measure_rtl() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("u55c")?;
    options.channel_bytes = Some(CARD_BYTES / u64::from(options.shell.channels));
    let of_owner = OwnerOptions {
        page_size: Some(page()?),
        ..OwnerOptions::default()
    };
    let walk = walk(&Card::simulated(options, of_owner, |_| {})?, RTL_STEP)?;
    let row = |name: &str, value, unit| Row::new(&format!("shared.chase.rtl{name}"), value, unit);
    Ok(vec![
        Row::holds("shared.chase.rtl", walk.right),
        row(".nodes", walk.nodes as f64, "nodes"),
        row(".pages", walk.pages as f64, "pages"),
        row(".ms", walk.ms, "ms"),
        row(".wall_s", walk.wall_s, "s"),
    ])
}
