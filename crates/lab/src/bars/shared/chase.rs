//! Pointers over four times the card's memory, on the functional card.

use super::common::Node;
use crate::bars::Failure;
use crate::random::Random;
use crate::row::{Row, Target};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;
use tombolo::{Card, Continue, FunctionalCard, FunctionalConfig, PageSize, SlotId};

const BYTES: usize = 1 << 30;
const CARD_BYTES: u64 = 256 << 20;
/// Nodes are shuffled within as many bytes.
const SHUFFLED: usize = 2 << 20;
const NODE: usize = size_of::<Node>();

pub fn measure() -> Result<Vec<Row>, Failure> {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        channels: 1,
        channel_bytes: CARD_BYTES,
        ..FunctionalConfig::default()
    }))?;
    let space = card.create_space()?;
    let page = PageSize::from_bytes(64 << 10).ok_or("64 KiB")?;
    let memory = space.alloc_with_pages(BYTES, page)?;
    let result = space.alloc_with_pages(4096, PageSize::KIB_4)?;
    let nodes = memory.slice::<Node>();

    let mut random = Random(14);
    let mut last: Option<&Node> = None;
    let mut expected = 0u64;
    for (part, nodes) in nodes.chunks(SHUFFLED / NODE).enumerate() {
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        for n in (1..order.len()).rev() {
            order.swap(n, random.below(n as u64 + 1) as usize);
        }
        for place in order {
            let node = &nodes[place];
            let value = (part * nodes.len() + place) as u64 ^ 0x5555;
            node.value.store(value, Relaxed);
            expected = expected.wrapping_add(value);
            if let Some(last) = last {
                last.next.store(&raw const *node as u64, Relaxed);
            }
            last = Some(node);
            if expected == value {
                result.slice::<Node>()[1]
                    .next
                    .store(&raw const *node as u64, Relaxed);
            }
        }
    }

    let output = &result.slice::<Node>()[0];
    let slot = card.load(
        SlotId(0),
        &card::sim::home().join("kernels/list_sum"),
        &space,
    )?;
    slot.set("head", result.slice::<Node>()[1].next.load(Relaxed))?;
    slot.set_pointer("output", result.address_of(output)?)?;
    let begin = Instant::now();
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let wall = begin.elapsed().as_secs_f64();
    let found = (output.next.load(Relaxed), output.value.load(Relaxed));
    let right = found == (expected, nodes.len() as u64);
    let pages = card.report()?.paging.pages_read;
    Ok(vec![
        Row::holds("shared.chase", right),
        Row::new(
            "shared.chase.nodes",
            found.1 as f64,
            "nodes",
            Target::AtLeast(16_777_216.0),
        ),
        Row::new(
            "shared.chase.pages",
            pages as f64,
            "pages",
            Target::AtLeast(16_384.0),
        ),
        Row::new("shared.chase.wall_s", wall, "s", Target::Shown),
    ])
}
