//! Speed of simulation: the whole card with `copy` busy, beside the kernel alone on an ideal memory.

use super::direct::Bench;
use super::Failure;
use crate::row::{Row, Target};
use card::sim::SimOptions;
use card::Card;
use std::process::Command;
use std::time::Instant;

const BYTES: u64 = 32 << 20;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut bench = Bench::open(SimOptions::named("f1")?, "copy", BYTES)?;
    bench.run()?;
    let period = bench.card.description().clock_period.get().max(1);
    let start = Instant::now();
    let time = bench.run()?;
    let wall = start.elapsed().as_secs_f64();
    let cycles = time.get() as f64 / period as f64;
    let mut rows = rows("shell", wall / cycles * 1e9, BYTES as f64 / wall * 1e-6);

    let home = card::sim::home();
    let output = Command::new(home.join("kernels/bench/run"))
        .arg("copy")
        .output()?;
    let text = String::from_utf8(output.stdout)?;
    let figure = |key: &str| -> Result<f64, Failure> {
        let word = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix(key));
        Ok(word
            .ok_or_else(|| format!("kernels/bench/run said no {key}"))?
            .parse()?)
    };
    let rows_kernel = self::rows("kernel", figure("ns_per_cycle=")?, figure("mb_per_s=")?);
    rows.extend(rows_kernel);
    Ok(rows)
}

fn rows(what: &str, ns_per_cycle: f64, mb_per_s: f64) -> Vec<Row> {
    vec![
        Row::new(
            &format!("sim.{what}_ns_per_cycle"),
            ns_per_cycle,
            "ns",
            Target::Shown,
        ),
        Row::new(
            &format!("sim.{what}_khz"),
            1e6 / ns_per_cycle,
            "kHz",
            Target::Shown,
        ),
        Row::new(
            &format!("sim.{what}_mb_per_s"),
            mb_per_s,
            "MB/s",
            Target::Shown,
        ),
    ]
}
