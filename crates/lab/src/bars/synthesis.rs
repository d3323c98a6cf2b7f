//! Area of the shell's blocks, mapped by Yosys to an UltraScale+ device (`tools/synthesis`), and maximum clock
//! frequency of two of them in an ECP5, placed and routed by nextpnr (`tools/fmax`).

use super::Failure;
use crate::experiment::fleximem::{area, FlexiMem};
use crate::row::Row;
use crate::synthesis::{run, synthesize, synthesize_by_levels, synthesize_with, tlb, NONE, SHELL};

/// A block, with the default parameters of its module: those of the default shell.
struct ShellBlock {
    name: &'static str,
    top: &'static str,
}

const fn block(name: &'static str, top: &'static str) -> ShellBlock {
    ShellBlock { name, top }
}

const BLOCKS: [ShellBlock; 10] = [
    block("port", "tmb_port"),
    block("park", "tmb_park"),
    block("l1_tlb", "tmb_l1_tlb"),
    block("lane", "tmb_translate_lane"),
    block("walker", "tmb_walker"),
    block("table_engine", "tmb_table_engine"),
    block("invalidate", "tmb_invalidate"),
    block("dma", "tmb_dma"),
    block("fabric", "tmb_fabric"),
    // As a whole: if modules are mapped separately, a path across their boundary may have the full depth on either
    // side.
    block("shell", "tmb_shell"),
];

/// Blocks that are placed and routed, with their top modules: one with memories and comparators, one with adders and
/// shifters, both small enough for the smaller devices.
const ROUTED: [(&str, &str); 2] = [
    ("l1_tlb", "tmb_l1_tlb"),
    ("fabric_stripe", "tmb_fabric_stripe"),
];

/// Output of `tools/fmax`.
#[derive(serde::Deserialize)]
struct Speed {
    fmax_mhz: f64,
    longest_path: SlowestPath,
}

#[derive(serde::Deserialize)]
struct SlowestPath {
    from: String,
    to: String,
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    let (mut latches, mut warnings) = (0.0, 0);
    for block in &BLOCKS {
        let report = synthesize(SHELL, block.top, &[])?;
        eprintln!(
            "synth {}: longest path from {} to {}",
            block.name, report.longest_path.from, report.longest_path.to
        );
        latches += report.latches;
        warnings += report.warnings.len();
        let row = |what: &str, value| Row::new(&format!("synth.{}.{what}", block.name), value, "");
        rows.extend([
            row("lut", report.lut),
            row("ff", report.ff),
            row("bram36", report.bram36),
            row("levels", report.longest_path.levels),
        ]);
    }
    let by_levels = synthesize_by_levels(SHELL, "tmb_shell")?;
    rows.push(Row::new(
        "synth.shell.levels_by_levels",
        by_levels.longest_path.levels,
        "",
    ));
    rows.push(Row::new("synth.latches", latches, ""));
    rows.push(Row::new("synth.warnings", f64::from(warnings as u32), ""));
    Ok(rows)
}

/// `synth.lanes.*`: FlexiMem's interconnect of 32 engines and 32 channels (its table II), as the sum of its parts.
pub fn measure_lanes() -> Result<Vec<Row>, Failure> {
    let experiment = FlexiMem::read(&simcard::home().join("experiments"))?;
    let areas = area::measure(|part| eprintln!("synth {part}"))?;
    eprint!("{}", area::table(&experiment, &areas));
    let mut rows = Vec::new();
    for found in &areas {
        let row = |what: &str, value| {
            let name = format!("synth.lanes.{}.{what}", found.lanes);
            Row::new(&name, value, "")
        };
        rows.extend([row("lut", found.lut()), row("ff", found.ff())]);
    }
    Ok(rows)
}

/// `synth.scheduler.*`, `synth.virtual_io.*`: compared with vFPIO's table 6. The scheduler is that of one device, reads
/// and writes, for three slots with two ports each, as in the paper's experiments (its table's shell has one slot:
/// `tombolo lab vfpio --part resources` prints both); unlike the paper's, it has weights, floors and a bound. Virtual
/// I/O is the switch of two pairs of ports: any port to any mover or port, unlike the paper's.
pub fn measure_vfpio() -> Result<Vec<Row>, Failure> {
    let slots = ["NumSlots=3", "NumRequests=8"].map(str::to_owned);
    let scheduler = synthesize_with(SHELL, "tmb_schedule", &slots)?;
    let switch = synthesize(SHELL, "tmb_stream_switch", &[])?;
    let row = |what: &str, value| Row::new(&format!("synth.{what}"), value, "");
    Ok(vec![
        row("scheduler.lut", 2.0 * scheduler.lut),
        row("scheduler.ff", 2.0 * scheduler.ff),
        row("virtual_io.lut", switch.lut),
        row("virtual_io.ff", switch.ff),
    ])
}

/// FSRF's SRAM TLB (table 3): one of 4 KiB pages and one of 2 MiB pages, as log2(bytes of a page), log2(sets), ways.
const FSRF_TLBS: [(u8, u8, u8); 2] = [(12, 8, 4), (21, 5, 2)];

/// `synth.fsrf_tlbs.*`: our TLBs in the sizes of FSRF's, both counted, as in the paper.
pub fn measure_fsrf() -> Result<Vec<Row>, Failure> {
    let (mut lut, mut ff, mut bram36) = (0.0, 0.0, 0.0);
    for (bits, sets, ways) in FSRF_TLBS {
        let report = tlb(bits, sets, ways)?;
        lut += report.lut;
        ff += report.ff;
        bram36 += report.bram36;
    }
    let row = |what: &str, value| Row::new(&format!("synth.fsrf_tlbs.{what}"), value, "");
    Ok(vec![row("lut", lut), row("ff", ff), row("bram36", bram36)])
}

/// `synth.fleximem_tlb.*`: fully associative L1 TLBs of 8 entries, as in FlexiMem's evaluation: rows of its table III.
pub fn measure_fleximem() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (name, bits) in [("32k", 15), ("256k", 18), ("2m", 21)] {
        let report = tlb(bits, 0, 8)?;
        let row = |what: &str, value| {
            let name = format!("synth.fleximem_tlb.{name}.{what}");
            Row::new(&name, value, "")
        };
        rows.extend([row("lut", report.lut), row("ff", report.ff)]);
    }
    Ok(rows)
}

/// `synth.ecp5_fmax.*`
pub fn measure_fmax() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (name, top) in ROUTED {
        let speed: Speed = run("fmax", SHELL, top, &[], NONE)?;
        eprintln!(
            "synth {name}: slowest path from {} to {}",
            speed.longest_path.from, speed.longest_path.to
        );
        rows.push(Row::new(
            &format!("synth.ecp5_fmax.{name}"),
            speed.fmax_mhz,
            "MHz",
        ));
    }
    Ok(rows)
}
