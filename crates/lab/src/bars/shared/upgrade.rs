//! Pages that the card may read and upgrades to writable: no data moves.

use super::common::{build, kernel, Node};
use crate::bars::Failure;
use crate::row::Row;
use std::sync::atomic::Ordering::Relaxed;
use tombolo::{Card, Continue, OwnerOptions, PageSize, Report, SimOptions, SlotId};

const PAGES: usize = 32;

/// Bytes moved by the pager, and all bytes on the link to the card.
fn moved(report: &Report) -> (u64, u64) {
    let paging = &report.paging;
    let data = paging.bytes_read + paging.bytes_written;
    (data, report.statistics.link.bytes_to_card)
}

/// A kernel reads a list, which makes its pages resident; then it writes every node.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let options = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        ..OwnerOptions::default()
    };
    let card = Card::simulated(SimOptions::named("f1")?, options, |_| {})?;
    let space = card.create_space()?;
    let memory = space.alloc_with_pages((PAGES + 1) * 4096, PageSize::KIB_4)?;
    let nodes = build(&memory, PAGES * 4, 16);
    let output = memory.slice::<Node>().last().ok_or("no nodes")?;
    let slot = card.load(SlotId(0), kernel("list_sum"), &space)?;
    slot.set_pointer("head", memory.address_of(nodes[0])?)?;
    slot.set_pointer("output", memory.address_of(output)?)?;
    let run = |add: u64| {
        slot.set("add", add)?;
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
        card.report()
    };
    let before = run(0)?;
    let after = run(5)?;
    let upgraded = after.paging.sharing.upgraded - before.paging.sharing.upgraded;
    let (data, link) = (
        moved(&after).0 - moved(&before).0,
        moved(&after).1 - moved(&before).1,
    );
    let wrong = (0..)
        .zip(&nodes)
        .filter(|(n, node)| node.value.load(Relaxed) != n * 3 + 6);
    if wrong.count() > 0 || upgraded < PAGES as u64 {
        return Err(format!("{upgraded} pages were upgraded, or nodes are wrong").into());
    }
    let upgraded = upgraded as f64;
    Ok(vec![
        Row::new("shared.upgrade_bytes", data as f64, "bytes"),
        Row::new("shared.upgrades", upgraded, "pages"),
        // The link carries commands only.
        Row::new(
            "shared.upgrade_link_bytes",
            link as f64 / upgraded,
            "bytes/page",
        ),
    ])
}
