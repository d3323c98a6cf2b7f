//! Effect of sleeping blocks: instructions per cycle, and time compared with the asserting model, whose blocks never
//! sleep; and equality of their pins at every edge.

use super::footprint::{self, Footprint};
use super::stream::four_slots;
use super::{axi, callgrind, Failure};
use crate::direct::{Bench, Lane};
use crate::row::Row;
use card::Card;
use simcard::SimOptions;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Environment variable that makes this program run one measured section, for callgrind.
const STRETCH: &str = "TOMBOLO_BENCH_STRETCH";
/// Number of edges measured.
const EDGES: u64 = 10_000;
/// Edges from the start of the kernels to the first one measured.
const RUN_UP: u64 = 2_000;
/// Models that are equal on every machine.
const PROCESSOR: &str = "x86-64-v3";

/// One slot that copies between two channels.
fn copy(options: SimOptions, bytes: u64) -> Result<Bench, Failure> {
    Bench::open(options, "copy", bytes)
}

/// Four slots that copy, each on a separate channel.
fn copy4(mut options: SimOptions, bytes: u64) -> Result<Bench, Failure> {
    options.shell = four_slots()?.shell;
    let lanes = (0..4)
        .map(|channel| Lane::isolated(&options, channel))
        .collect();
    Bench::open_lanes(options, "copy", bytes, lanes)
}

fn aes(options: SimOptions, bytes: u64) -> Result<Bench, Failure> {
    let mut bench = Bench::open(options, "aes256ctr", bytes)?;
    bench.set_argument("key", &[7; 32])?;
    bench.set_argument("iv", &[9; 16])?;
    Ok(bench)
}

/// Opens a bench.
type Open = fn(SimOptions, u64) -> Result<Bench, Failure>;

const BENCHES: [(&str, Open); 3] = [("copy", copy), ("aes", aes), ("copy4", copy4)];

/// Benches whose code is measured: KiB executed per edge, and instruction-cache misses.
const FOOTPRINTS: [&str; 2] = ["copy", "copy4"];

/// Runs the section that the environment selects, if any.
///
/// # Errors
/// Any error of the run.
pub fn stretch() -> Option<Result<(), Failure>> {
    let name = std::env::var(STRETCH).ok()?;
    let run = || {
        let (_, open, ..) = BENCHES
            .iter()
            .find(|(bench, ..)| *bench == name)
            .ok_or("no such bench")?;
        let mut bench = open(SimOptions::named("f1")?, 8 << 20)?;
        bench.start()?;
        let period = bench.card().description().clock_period;
        let until = bench.card().now() + period * RUN_UP;
        bench.card().wait(Some(until))?;
        counted_stretch(&mut bench, EDGES)
    };
    Some(run())
}

/// The function that callgrind measures, by its name.
#[inline(never)]
fn counted_stretch(bench: &mut Bench, edges: u64) -> Result<(), Failure> {
    let period = bench.card().description().clock_period;
    let until = bench.card().now() + period * edges;
    match bench.card().wait(Some(until))?[..] {
        [] => Ok(()),
        _ => Err("the kernels were done before the stretch was".into()),
    }
}

/// Runs a section under callgrind, which writes `file`; returns the section's output.
fn counted(name: &str, asserting: bool, options: &[&str], file: &Path) -> Result<String, Failure> {
    let program = std::env::current_exe()?;
    let environment = [
        (STRETCH, name),
        ("TOMBOLO_PROCESSOR", PROCESSOR),
        ("TOMBOLO_ASSERT", if asserting { "1" } else { "0" }),
    ];
    // First without callgrind: building models under it takes an hour.
    let built = Command::new(&program).envs(environment).output()?;
    if !built.status.success() {
        return Err(String::from_utf8_lossy(&built.stderr).into());
    }
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program);
    command.envs(environment).current_dir(folder.path());
    callgrind::run(&command, "*counted_stretch*", options, file)
}

/// Instructions per cycle, including the models of memory and of the event loop.
fn instructions(name: &str, asserting: bool) -> Result<f64, Failure> {
    let said = counted(name, asserting, &[], Path::new("/dev/null"))?;
    Ok(callgrind::count(&said)? / EDGES as f64)
}

/// Instructions per cycle with one slot and with four.
pub fn measure_instructions() -> Result<Vec<Row>, Failure> {
    let compiler = Command::new("g++").arg("--version").output()?;
    let compiler = String::from_utf8_lossy(&compiler.stdout);
    eprintln!(
        "{EDGES} edges, {PROCESSOR}, {}",
        compiler.lines().next().unwrap_or("")
    );
    let mut rows = Vec::new();
    for name in FOOTPRINTS {
        let fast = instructions(name, false)?;
        let asserting = instructions(name, true)?;
        eprintln!("{name}: {fast:.0} instructions a cycle, the asserting model {asserting:.0}");
        rows.push(Row::new(
            &format!("sim.instructions_per_cycle.{name}"),
            fast,
            "",
        ));
    }
    Ok(rows)
}

/// Code executed per edge, with one slot and with four.
pub fn measure_footprints() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for name in FOOTPRINTS {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("callgrind");
        counted(name, false, &footprint::OPTIONS, &file)?;
        let found = Footprint::read(&std::fs::read_to_string(&file)?, EDGES)?;
        let row = |what: &str, value, unit| Row::new(&format!("sim.{what}.{name}"), value, unit);
        rows.push(row("hot_kb", found.hot_kb, "KiB"));
        rows.push(row("i1_misses", found.misses, ""));
    }
    Ok(rows)
}

/// Processor time of this thread.
fn processor_time() -> Result<Duration, Failure> {
    // The first field is the time on the processor in nanoseconds.
    let text = std::fs::read_to_string("/proc/thread-self/schedstat")?;
    let spent = text.split_whitespace().next().ok_or("schedstat")?;
    Ok(Duration::from_nanos(spent.parse()?))
}

const BYTES: u64 = 4 << 20;
const ROUNDS: u32 = 3;

/// Ratio of the asserting model's run time to the other's, from the minimum of alternating runs.
fn speedup(name: &str, open: Open) -> Result<f64, Failure> {
    let bench = |asserting| {
        let mut options = SimOptions::named("f1")?;
        options.asserting = asserting;
        open(options, BYTES)
    };
    let mut benches = [bench(true)?, bench(false)?];
    let mut least = [Duration::MAX; 2];
    let mut times = [None; 2];
    for _ in 0..ROUNDS {
        for (which, bench) in benches.iter_mut().enumerate() {
            let start = processor_time()?;
            let time = bench.run()?;
            least[which] = least[which].min(processor_time()?.saturating_sub(start));
            times[which] = Some(time);
        }
        if times[0] != times[1] {
            return Err(format!("{name}: {times:?} of virtual time, asserting and not").into());
        }
    }
    Ok(least[0].as_secs_f64() / least[1].as_secs_f64())
}

/// Kernels on resident pages: time of the asserting model relative to the model for users.
pub fn measure_speedups() -> Result<Vec<Row>, Failure> {
    let row = |(name, open): &(&str, Open)| {
        let value = speedup(name, *open)?;
        Ok(Row::new(&format!("sim.speedup.{name}"), value, "times"))
    };
    BENCHES.iter().map(row).collect()
}

/// Number of bursts of the random traffic.
const BURSTS: u64 = 200_000;

/// Both models in lockstep, with kernels and with random bursts while pages are mapped and evicted. The first differing
/// pin breaks the card.
pub fn measure_mismatches() -> Result<Vec<Row>, Failure> {
    let mut edges = 0;
    let mut mismatches = 0;
    for (name, open, ..) in BENCHES {
        let mut options = SimOptions::named("f1")?;
        options.asserting = false;
        options.witness = true;
        let run = || {
            let mut bench = open(options, BYTES)?;
            for _ in 0..ROUNDS {
                bench.run()?;
            }
            Ok::<_, Failure>(bench.card().statistics()?.evaluated_cycles)
        };
        match run() {
            Ok(more) => edges += more,
            Err(error) => {
                eprintln!("{name}: {error}");
                mismatches += 1;
            }
        }
    }
    match axi::in_lockstep(BURSTS) {
        Ok(more) => edges += more,
        Err(error) => {
            eprintln!("random bursts: {error}");
            mismatches += 1;
        }
    }
    Ok(vec![
        Row::new("sim.gated_mismatches", f64::from(mismatches), "runs"),
        Row::new("sim.gated_edges", edges as f64, ""),
    ])
}
