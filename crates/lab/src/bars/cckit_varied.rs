//! Bounds of the streams of figure 6 and of the prefetcher of figure 8: the same streams with more request numbers,
//! other DIMM parameters, and the settings of a vendor's memory controller.

use super::cckit::{self, enzian_with, StreamKind, PAPERS_LATENCIES};
use super::{prefetch, Failure};
use crate::row::Row;
use tombolo::SimOptions;

/// Six bits for the request number instead of five: 64 per slice.
const MORE_IDS: (&str, &str) = ("[cpu]\n", "[cpu]\nrequest_ids = 64\n");
/// Outstanding accesses, more than 128 request numbers.
const WINDOW: usize = 160;
/// Outstanding loads of each of four clients, to use all request numbers.
const LOADS: usize = 32;

/// AMD's DDR4 controller: the settings of platform `f1-mig`, fitted to the figures of another paper
/// (docs/blocks/timing.md). Enzian's own settings are not known.
const VENDOR: [(&str, &str); 4] = [
    (
        "page_bytes = 8192\n",
        "page_bytes = 8192\nbank_interleave_log2 = 1\nplain_banks = true\n",
    ),
    (
        "read_queue = 32\n",
        "read_queue = 4\nauto_precharge = true\ngroup_gap = 3\n",
    ),
    ("write_queue = 64\n", "write_queue = 4\n"),
    ("drain_start = 32\n", "drain_start = 4\n"),
];

/// The same controller with its default settings: ROW_COLUMN_BANK, where the bank changes every 256 bytes, and open
/// banks (docs/blocks/timing.md).
const VENDORS_DEFAULTS: [(&str, &str); 4] = [
    (
        "page_bytes = 8192\n",
        "page_bytes = 8192\nbank_interleave_log2 = 0\nplain_banks = true\n",
    ),
    ("read_queue = 32\n", "read_queue = 4\ngroup_gap = 3\n"),
    ("write_queue = 64\n", "write_queue = 4\n"),
    ("drain_start = 32\n", "drain_start = 4\n"),
];

/// JESD79-4 for parts with 512-byte pages at 2400 MT/s: four activates in 13 ns, at least 16 clocks.
const SHORT_FAW: (&str, &str) = ("faw = 26 ", "faw = 16 ");

/// Both halves of a line in one page of a bank: half as many activates.
const LINE_IN_A_PAGE: (&str, &str) = (
    "page_bytes = 8192\n",
    "page_bytes = 8192\ngroup_interleave_log2 = 1\n",
);

/// `cckit.figure6.ddr.*` with 64 request numbers per slice.
pub fn more_ids() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (kind, name) in [(StreamKind::Read, "read"), (StreamKind::Write, "write")] {
        for order in ["seq", "rand"] {
            let (_card, memory) = cckit::ddr_of(enzian_with(&[MORE_IDS], "enzian, 64 requests")?)?;
            let rate = match order {
                "seq" => cckit::stream(&memory, (kind, WINDOW), cckit::sequential_lines())?,
                _ => cckit::stream(&memory, (kind, WINDOW), cckit::random_lines())?,
            };
            let name = format!("cckit.figure6.ddr.{order}_{name}.ids_64");
            rows.push(Row::new(&name, rate, "GiB/s"));
        }
    }
    Ok(rows)
}

/// `cckit.figure6.ddr.rand_write` with a shorter distance between the DIMMs' activates.
pub fn short_faw() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (edits, name) in [
        (&[SHORT_FAW][..], "faw_16"),
        (&[SHORT_FAW, MORE_IDS], "faw_16.ids_64"),
    ] {
        let (_card, memory) = cckit::ddr_of(enzian_with(edits, "enzian, tFAW of 16 clocks")?)?;
        let rate = cckit::stream(&memory, (StreamKind::Write, WINDOW), cckit::random_lines())?;
        let name = format!("cckit.figure6.ddr.rand_write.{name}");
        rows.push(Row::new(&name, rate, "GiB/s"));
    }
    Ok(rows)
}

/// `cckit.figure6.ddr.*` with both halves of a line in one page, and `rand_write` also with its other bounds changed.
pub fn line_in_a_page() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let mut measure = |edits: &[_], kind, order: &str, name: &str| {
        let (_card, memory) = cckit::ddr_of(enzian_with(edits, "enzian, a line in a page")?)?;
        let rate = match order {
            "seq" => cckit::stream(&memory, (kind, WINDOW), cckit::sequential_lines())?,
            _ => cckit::stream(&memory, (kind, WINDOW), cckit::random_lines())?,
        };
        let name = format!("cckit.figure6.ddr.{order}_{name}");
        rows.push(Row::new(&name, rate, "GiB/s"));
        Ok::<_, Failure>(())
    };
    for (kind, name) in [(StreamKind::Read, "read"), (StreamKind::Write, "write")] {
        for order in ["seq", "rand"] {
            let name = format!("{name}.line_in_a_page");
            measure(&[LINE_IN_A_PAGE], kind, order, &name)?;
            let edits = [LINE_IN_A_PAGE, MORE_IDS];
            measure(&edits, kind, order, &format!("{name}.ids_64"))?;
        }
    }
    let edits = [LINE_IN_A_PAGE, SHORT_FAW, MORE_IDS];
    let name = "write.line_in_a_page.faw_16.ids_64";
    measure(&edits, StreamKind::Write, "rand", name)?;
    Ok(rows)
}

/// Figure 6 on platform `enzian-corrected`: both changes together, for all streams.
pub fn corrected() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let options = || SimOptions::named("enzian-corrected");
    for (kind, name) in [(StreamKind::Read, "read"), (StreamKind::Write, "write")] {
        let (_card, memory) = cckit::ddr_of(options()?)?;
        let rate = cckit::stream(&memory, (kind, WINDOW), cckit::sequential_lines())?;
        let seq = format!("cckit.figure6.corrected.seq_{name}");
        rows.push(Row::new(&seq, rate, "GiB/s"));
        let (_card, memory) = cckit::ddr_of(options()?)?;
        let rate = cckit::stream(&memory, (kind, WINDOW), cckit::random_lines())?;
        let rand = format!("cckit.figure6.corrected.rand_{name}");
        rows.push(Row::new(&rand, rate, "GiB/s"));
    }
    Ok(rows)
}

/// `app.prefetch` of four clients with 64 request numbers per slice.
pub fn prefetch_with_more_ids() -> Result<Vec<Row>, Failure> {
    let (without, with) =
        prefetch::four_clients(enzian_with(&[MORE_IDS], "enzian, 64 requests")?, LOADS)?;
    let row = |name: &str, rate| {
        Row::new(
            &format!("app.prefetch.{name}.clients_4.ids_64"),
            rate,
            "GiB/s",
        )
    };
    Ok(vec![row("without", without), row("with", with)])
}

/// `cckit.repro.prefetch_*` with a vendor's memory controller, with the settings for FSRF's card and with the defaults.
pub fn vendors_controller() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (settings, name) in [
        (VENDOR, "vendors_controller"),
        (VENDORS_DEFAULTS, "vendors_defaults"),
    ] {
        let edits: Vec<_> = PAPERS_LATENCIES.into_iter().chain(settings).collect();
        let options = enzian_with(&edits, "enzian, with a vendor's memory controller")?;
        let (without, with) = prefetch::four_clients(options, prefetch::LOADS)?;
        for (what, value, unit) in [
            ("prefetch_without", without, "GiB/s"),
            ("prefetch_with", with, "GiB/s"),
            ("prefetch_gain", with / without, "x"),
        ] {
            let name = format!("cckit.repro.{what}.{name}");
            rows.push(Row::new(&name, value, unit));
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corrected_platform_is_enzian_but_for_two_figures() {
        let read = |name: &str| {
            let file = simcard::home().join(format!("platforms/{name}.toml"));
            std::fs::read_to_string(file).unwrap()
        };
        let figures = |text: &str| {
            let mut table: toml::Table = text.parse().unwrap();
            table.remove("name");
            table.remove("description");
            table
        };
        let mut printed = read("enzian");
        assert_ne!(figures(&printed), figures(&read("enzian-corrected")));
        for (ours, theirs) in [LINE_IN_A_PAGE, SHORT_FAW] {
            printed = printed.replace(ours, theirs);
        }
        assert_eq!(figures(&printed), figures(&read("enzian-corrected")));
    }
}
