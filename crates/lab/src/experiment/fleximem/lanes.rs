//! FlexiMem's figure 6: rows per cycle of 32 engines over 32 channels at 128 bits, by number of address lanes and burst
//! length.
//!
//! Fabric, parks and lanes are those of the shell; engines and memory belong to a bench
//! (`rtl/fabric/tests/lanes_bench_top.sv`). The paper does not publish the figure's values, so ours are compared with
//! the statements of its text.

use super::super::Failure;
use crate::traffic::random_reads;
use serde::{Deserialize, Serialize};
use simcard::home;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use timing::platform::Platform;
use verilated::{Builder, Design, Effort, FileSet, Form, Program, ProgressSink};

/// Number of engines, and of channels.
pub const ENGINES: u32 = 32;
/// Numbers of address lanes per direction.
pub const LANES: [u32; 6] = [1, 2, 4, 8, 16, 32];
/// Burst lengths in rows.
pub const LENGTHS: [u32; 7] = [1, 2, 4, 8, 16, 32, 64];
/// Width of a row in bits: the paper's data width.
const ROW_BITS: u32 = 128;
/// Platform whose memory determines the cost of random accesses.
const PLATFORM: &str = "u55c";
/// Cycles from an address to its first row.
const LATENCY: u32 = 30;
const WARM: u32 = 1000;
const CYCLES: u32 = 4000;
/// Gaps are specified in units of 1/256 cycle.
const PARTS: f64 = 256.0;
const LIST: &str = "rtl/fabric/tests/lanes_bench.f";
const MAIN: &str = "rtl/fabric/tests/lanes_bench.cpp";
pub(crate) const PACKAGE: &str = "rtl/lib/tmb_pkg.sv";
const SHELL_ROW: &str = "RowBits = 512;";

/// Rates in rows per cycle, for bursts of one length.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneRates {
    /// Burst length in rows.
    pub length: u32,
    /// Reads, each engine at random addresses of a separate channel.
    pub reads: f64,
    /// Writes, each engine at random addresses of a separate channel.
    pub writes: f64,
    /// Reads, at random addresses of random channels.
    pub contended_reads: f64,
    /// Writes, at random addresses of random channels.
    pub contended_writes: f64,
    /// Concurrent reads and writes, each engine in a separate channel.
    pub both: [f64; 2],
}

/// Rates by burst length for one number of lanes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lanes {
    /// Address lanes per direction.
    pub lanes: u32,
    /// One entry per burst length.
    pub rates: Vec<LaneRates>,
}

/// The whole figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LaneFigure {
    /// Random accesses that the memory model serves per shell cycle, all channels together.
    pub memory: f64,
    /// One entry per number of lanes.
    pub lanes: Vec<Lanes>,
}

/// The package with rows of the paper's width.
pub(crate) fn narrow_package() -> Result<String, Failure> {
    let path = home().join(PACKAGE);
    let text = std::fs::read_to_string(&path)
        .map_err(|error| Failure::from(format!("{}: {error}", path.display())))?;
    if text.matches(SHELL_ROW).count() != 1 {
        return Err(format!("{}: `{SHELL_ROW}` is expected once", path.display()).into());
    }
    Ok(text.replace(SHELL_ROW, &format!("RowBits = {ROW_BITS};")))
}

fn build(engines: u32, lanes: u32, progress: &mut ProgressSink<'_>) -> Result<PathBuf, Failure> {
    let top = "lanes_bench_top";
    let parameters = [
        ("NumEngines", engines),
        ("NumChannels", engines),
        ("NumLanes", lanes),
    ];
    let program = Program {
        design: Design {
            name: format!("{lanes} address lanes"),
            top: top.to_owned(),
            clock: "clk_i".to_owned(),
            file_sets: vec![FileSet::from_list(&home(), Path::new(LIST))?],
            defines: Vec::new(),
            parameters: parameters
                .map(|(name, value)| (name.to_owned(), value.to_string()))
                .to_vec(),
            sleeping: Vec::new(),
            generated: None,
        },
        form: Form::Bench,
        class: format!("V{top}"),
        changed: vec![(PACKAGE.into(), narrow_package()?)],
        sources: vec![home().join(MAIN)],
        texts: Vec::new(),
        flags: vec!["-std=c++20".to_owned()],
        effort: Effort::Short,
        assertions: false,
        random_start: true,
    };
    Ok(Builder::locate()?.program(&program, progress)?)
}

fn rates(line: &str) -> Option<LaneRates> {
    let mut words = line.split_whitespace();
    let length = words.next()?.parse().ok()?;
    let rates: Vec<f64> = words.map_while(|word| word.parse().ok()).collect();
    let [reads, writes, contended_reads, contended_writes, read, written] = rates[..] else {
        return None;
    };
    Some(LaneRates {
        length,
        reads,
        writes,
        contended_reads,
        contended_writes,
        both: [read, written],
    })
}

impl Lanes {
    /// Builds the bench and runs each length. `gap`: time that a channel needs per random access, in 1/256 cycle.
    fn measure(lanes: u32, gap: u32, progress: &mut ProgressSink<'_>) -> Result<Self, Failure> {
        let program = build(ENGINES, lanes, progress)?;
        let numbers = [gap, LATENCY, WARM, CYCLES].into_iter().chain(LENGTHS);
        let output = Command::new(program)
            .args(numbers.map(|number| number.to_string()))
            .output()?;
        let said = String::from_utf8_lossy(&output.stdout);
        if !output.status.success() {
            return Err(format!("{lanes} address lanes: {said}").into());
        }
        let rates: Vec<LaneRates> = said.lines().map_while(rates).collect();
        match rates.len() == LENGTHS.len() {
            true => Ok(Self { lanes, rates }),
            false => Err(format!("{lanes} address lanes: the bench said `{said}`").into()),
        }
    }

    /// Rates of the shortest bursts.
    pub fn single(&self) -> &LaneRates {
        &self.rates[0]
    }

    /// Rates of the longest bursts.
    pub fn long(&self) -> &LaneRates {
        &self.rates[self.rates.len() - 1]
    }
}

impl LaneFigure {
    /// Measures the figure; the first time it builds six benches, a minute each.
    ///
    /// # Errors
    /// The tools or the checkout are missing, or a bench lost a row.
    pub fn measure(progress: &mut ProgressSink<'_>) -> Result<Self, Failure> {
        let directories = simcard::platform_directories(&home());
        let platform = Platform::named(PLATFORM, &directories)?;
        let memory = platform.memory();
        let clock = platform.clock().period_ps.as_seconds();
        let clocks = clock / memory.timing.clock_ps.as_seconds();
        // At most one row per cycle: the bus of a channel.
        let channel = (random_reads(memory) * clocks).min(1.0);
        let gap = (PARTS / channel).round() as u32;
        let lanes = LANES.map(|lanes| Lanes::measure(lanes, gap, progress));
        Ok(Self {
            memory: f64::from(ENGINES) * PARTS / f64::from(gap),
            lanes: lanes.into_iter().collect::<Result<_, _>>()?,
        })
    }

    /// The smallest number of lanes at which single rows are as fast as with the largest.
    pub fn enough(&self) -> u32 {
        let most = self.lanes.last().map_or(0.0, |lanes| lanes.single().reads);
        let found = self
            .lanes
            .iter()
            .find(|lanes| lanes.single().reads >= 0.98 * most);
        found.map_or(0, |lanes| lanes.lanes)
    }

    /// The figure as a human-readable table.
    pub fn table(&self) -> String {
        let mut text = format!(
            "FlexiMem, figure 6: rows of {ROW_BITS} bits a cycle, {ENGINES} engines, {ENGINES} channels\n\
             memory: {:.2} accesses a cycle at random places ({PLATFORM}), {ENGINES} rows of long bursts\n",
            self.memory
        );
        type Of = fn(&LaneRates) -> f64;
        let parts: [(&str, Of); 5] = [
            ("reads, a channel for each engine", |rates| rates.reads),
            ("writes, a channel for each engine", |rates| rates.writes),
            ("both at once: the lower of the two", |rates| {
                rates.both[0].min(rates.both[1])
            }),
            ("reads, random channels", |rates| rates.contended_reads),
            ("writes, random channels", |rates| rates.contended_writes),
        ];
        for (name, of) in parts {
            let _ = write!(text, "\n{name}\n{:<14}", "rows of a burst");
            for lanes in &self.lanes {
                let _ = write!(text, "{:>10}", format!("{} Ax/c", lanes.lanes));
            }
            text.push('\n');
            for (number, length) in LENGTHS.iter().enumerate() {
                let _ = write!(text, "{length:<15}");
                for lanes in &self.lanes {
                    let _ = write!(text, "{:>10.2}", of(&lanes.rates[number]));
                }
                text.push('\n');
            }
        }
        let _ = writeln!(
            text,
            "\nThe paper: 8 addresses a cycle saturate all its traffic (ours: {}), long bursts reach the number of \
             engines\nwhatever the lanes. It prints no other values, and does not say how fast its memory is at random \
             places.",
            self.enough()
        );
        text
    }

    /// One line per number of lanes and burst length.
    pub fn comma_separated(&self) -> String {
        let mut text =
            "lanes,rows_of_burst,reads,writes,random_reads,random_writes,both_reads,both_writes\n"
                .to_owned();
        for lanes in &self.lanes {
            for rates in &lanes.rates {
                let [read, written] = rates.both;
                let _ = writeln!(
                    text,
                    "{},{},{},{},{},{},{read},{written}",
                    lanes.lanes,
                    rates.length,
                    rates.reads,
                    rates.writes,
                    rates.contended_reads,
                    rates.contended_writes
                );
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_bench_says_is_read() {
        let read = rates("8 32.0000 31.5 14.7160 10.78 30 29.5").unwrap();
        assert_eq!((read.length, read.reads, read.both[1]), (8, 32.0, 29.5));
        assert_eq!(rates("8 32.0 1"), None);
        assert_eq!(rates("bursts of 8 rows: deadlock"), None);
    }

    #[test]
    fn the_fewest_lanes_that_are_enough() {
        let of = |lanes: u32| {
            let reads = f64::from(lanes.min(17));
            let rates = rates(&format!("1 {reads} 0 0 0 0 0")).unwrap();
            let rates = vec![rates; LENGTHS.len()];
            Lanes { lanes, rates }
        };
        let figure = LaneFigure {
            memory: 17.0,
            lanes: LANES.map(of).to_vec(),
        };
        assert_eq!(figure.enough(), 32);
        assert!(figure.table().contains("17.00 accesses a cycle"));
        let lines = figure.comma_separated().lines().count();
        assert_eq!(lines, 1 + LANES.len() * LENGTHS.len());
    }

    #[test]
    fn the_package_has_one_width() {
        assert!(narrow_package().unwrap().contains("RowBits = 128;"));
    }
}
