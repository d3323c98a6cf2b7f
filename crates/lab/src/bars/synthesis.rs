//! Area of the shell's blocks, mapped by Yosys to an UltraScale+ device (`tools/synthesis`), and maximum clock
//! frequency of two of them in an ECP5, placed and routed by nextpnr (`tools/fmax`).

use super::Failure;
use crate::experiment::fleximem::{area, components};
use crate::row::{Row, Target};
use crate::synthesis::{run, synthesize, synthesize_by_levels, synthesize_with, tlb, NONE, SHELL};

/// Maximum number of LUT levels between two registers of a block.
const LEVELS: f64 = 10.0;

/// A block, with the default parameters of its module: those of the default shell.
struct ShellBlock {
    name: &'static str,
    top: &'static str,
    /// LUT and FF of the nearest equivalent in FSRF, table 3.
    paper: Option<(f64, f64)>,
}

const fn block(name: &'static str, top: &'static str) -> ShellBlock {
    ShellBlock {
        name,
        top,
        paper: None,
    }
}

const BLOCKS: [ShellBlock; 10] = [
    block("port", "tmb_port"),
    block("park", "tmb_park"),
    block("l1_tlb", "tmb_l1_tlb"),
    block("lane", "tmb_translate_lane"),
    ShellBlock {
        // The paper's DRAM TLB reads, marks and changes the table: walker and table engine.
        paper: Some((3310.0, 1150.0)),
        ..block("walker", "tmb_walker")
    },
    block("table_engine", "tmb_table_engine"),
    block("invalidate", "tmb_invalidate"),
    ShellBlock {
        paper: Some((4629.0, 1263.0)),
        ..block("dma", "tmb_dma")
    },
    ShellBlock {
        // The paper's crossbar has four channels, this fabric two.
        paper: Some((17455.0, 968.0)),
        ..block("fabric", "tmb_fabric")
    },
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
        let row = |what: &str, value, target| {
            Row::new(&format!("synth.{}.{what}", block.name), value, "", target)
        };
        let paper = |value: Option<f64>| value.map_or(Target::Shown, Target::Beside);
        rows.extend([
            row("lut", report.lut, paper(block.paper.map(|p| p.0))),
            row("ff", report.ff, paper(block.paper.map(|p| p.1))),
            row("bram36", report.bram36, Target::Shown),
            row("levels", report.longest_path.levels, Target::AtMost(LEVELS)),
        ]);
    }
    let by_levels = synthesize_by_levels(SHELL, "tmb_shell")?;
    rows.push(Row::new(
        "synth.shell.levels_by_levels",
        by_levels.longest_path.levels,
        "",
        Target::Shown,
    ));
    let none = Target::Exactly(0.0);
    rows.push(Row::new("synth.latches", latches, "", none));
    rows.push(Row::new(
        "synth.warnings",
        f64::from(warnings as u32),
        "",
        none,
    ));
    Ok(rows)
}

/// `synth.lanes.*`: FlexiMem's interconnect of 32 engines and 32 channels (its table II), as the sum of its parts.
pub fn measure_lanes() -> Result<Vec<Row>, Failure> {
    let areas = area::measure(|part| eprintln!("synth {part}"))?;
    eprint!("{}", area::table(&areas));
    let mut rows = Vec::new();
    for (found, (lanes, lut, ff)) in areas.iter().zip(area::TABLE2) {
        let row = |what: &str, value, paper| {
            let name = format!("synth.lanes.{lanes}.{what}");
            Row::new(&name, value, "", Target::Beside(f64::from(paper)))
        };
        rows.extend([row("lut", found.lut(), lut), row("ff", found.ff(), ff)]);
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
    let row = |what: &str, value, paper| {
        Row::new(&format!("synth.{what}"), value, "", Target::Beside(paper))
    };
    Ok(vec![
        row("scheduler.lut", 2.0 * scheduler.lut, 270.0),
        row("scheduler.ff", 2.0 * scheduler.ff, 513.0),
        row("virtual_io.lut", switch.lut, 3.0),
        row("virtual_io.ff", switch.ff, 3090.0),
    ])
}

/// FSRF's SRAM TLB (table 3): one of 4 KiB pages and one of 2 MiB pages, as log2(bytes of a page), log2(sets), ways;
/// LUT and FF of both together.
const FSRF_TLBS: [(u8, u8, u8); 2] = [(12, 8, 4), (21, 5, 2)];
const FSRF_TLBS_COST: (f64, f64) = (1402.0, 247.0);

/// `synth.fsrf_tlbs.*`: our TLBs in the sizes of FSRF's, both counted, as in the paper.
pub fn measure_fsrf() -> Result<Vec<Row>, Failure> {
    let (mut lut, mut ff, mut bram36) = (0.0, 0.0, 0.0);
    for (bits, sets, ways) in FSRF_TLBS {
        let report = tlb(bits, sets, ways)?;
        lut += report.lut;
        ff += report.ff;
        bram36 += report.bram36;
    }
    let row =
        |what: &str, value, target| Row::new(&format!("synth.fsrf_tlbs.{what}"), value, "", target);
    Ok(vec![
        row("lut", lut, Target::Beside(FSRF_TLBS_COST.0)),
        row("ff", ff, Target::Beside(FSRF_TLBS_COST.1)),
        row("bram36", bram36, Target::Shown),
    ])
}

/// `synth.fleximem_tlb.*`: fully associative L1 TLBs of 8 entries, as in FlexiMem's evaluation: rows of its table III.
pub fn measure_fleximem() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (name, component) in ["32k", "256k", "2m"].into_iter().zip(components::TABLE3) {
        let components::Ours::Tlb(bits) = component.ours else {
            continue;
        };
        let report = tlb(bits, 0, 8)?;
        let row = |what: &str, value, paper| {
            let name = format!("synth.fleximem_tlb.{name}.{what}");
            Row::new(&name, value, "", Target::Beside(f64::from(paper)))
        };
        let [lut, ff, _] = component.paper;
        rows.extend([row("lut", report.lut, lut), row("ff", report.ff, ff)]);
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
            Target::Shown,
        ));
    }
    Ok(rows)
}
