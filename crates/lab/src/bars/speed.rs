//! Simulation speed: the whole card running `copy`, compared with the kernel alone on an ideal memory.

use super::stream::four_slots;
use super::Failure;
use crate::direct::{Bench, Lane};
use crate::row::Row;
use crate::tools::python;
use card::Card;
use simcard::SimOptions;
use std::process::Command;
use std::time::Instant;

const BYTES: u64 = 32 << 20;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut bench = Bench::open(SimOptions::named("f1")?, "copy", BYTES)?;
    bench.run()?;
    let period = bench.card().description().clock_period.get().max(1);
    let start = Instant::now();
    let time = bench.run()?;
    let wall = start.elapsed().as_secs_f64();
    let cycles = time.get() as f64 / period as f64;
    let mut rows = rows("shell", wall / cycles * 1e9, BYTES as f64 / wall * 1e-6);

    let home = simcard::home();
    let output = Command::new(python(&home))
        .arg(home.join("kernels/testing/bench.py"))
        .args(["copy", "--json"])
        .output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into());
    }
    let said: serde_json::Value = serde_json::from_slice(&output.stdout)?;
    let figure = |key: &str| {
        said[key]
            .as_f64()
            .ok_or_else(|| format!("the bench said no {key}"))
    };
    rows.extend(self::rows(
        "kernel",
        figure("ns_per_cycle")?,
        figure("mb_per_s")?,
    ));
    Ok(rows)
}

/// Bytes copied by each of four slots.
const BYTES_OF_FOUR: u64 = 4 << 20;

/// Four copy kernels on four channels, all busy: cycles per second, and bytes moved per cycle.
pub fn measure_four() -> Result<Vec<Row>, Failure> {
    let options = four_slots()?;
    let lanes = (0..4)
        .map(|channel| Lane::isolated(&options, channel))
        .collect();
    let mut bench = Bench::open_lanes(options, "copy", BYTES_OF_FOUR, lanes)?;
    bench.run()?;
    let period = bench.card().description().clock_period.get().max(1);
    let start = Instant::now();
    let time = bench.run()?;
    let wall = start.elapsed().as_secs_f64();
    let cycles = time.get() as f64 / period as f64;
    // Read and written bytes.
    let bytes = 8.0 * BYTES_OF_FOUR as f64 / cycles;
    Ok(vec![
        Row::new("sim.copy4_khz", cycles / wall * 1e-3, "kHz"),
        Row::new("sim.copy4_bytes_per_cycle", bytes, "B"),
    ])
}

fn rows(what: &str, ns_per_cycle: f64, mb_per_s: f64) -> Vec<Row> {
    vec![
        Row::new(&format!("sim.{what}_ns_per_cycle"), ns_per_cycle, "ns"),
        Row::new(&format!("sim.{what}_khz"), 1e6 / ns_per_cycle, "kHz"),
        Row::new(&format!("sim.{what}_mb_per_s"), mb_per_s, "MB/s"),
    ]
}
