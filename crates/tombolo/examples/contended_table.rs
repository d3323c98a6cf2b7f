//! A core and a kernel contend for the rows of a table (CCKit, section 5.4).
//!
//!     cargo run --release --example contended_table
//!
//! Kernel `kernels/shared_table` locks rows and counts in them; a core scans the whole table and counts in each
//! row. The more rows the kernel takes, the more of the core's accesses have to fetch them back. The first run
//! builds the shell's model, which takes a minute or two.

use tombolo::{Card, CoherentMemory, Continue, ShellConfig, SimOptions, Slot, SlotId};

const BASE: u64 = 0x1000_0000;
const ROWS: u64 = 512;
const LINE: u64 = 128;
/// Cycles in which the kernel goes once through its rows: less than the core needs for the table.
const ROUND: u64 = 3600;
/// Rounds of a run: more than the core's pass takes when every row is contended.
const ROUNDS: u64 = 20;

fn word(line: &[u8], place: usize) -> u64 {
    let bytes = line[8 * place..8 * place + 8].try_into();
    bytes.map_or(0, u64::from_le_bytes)
}

/// One pass: each row is loaded, and the core's count in it, `pass`, stored as one more; nanoseconds a row.
fn scan(table: &CoherentMemory, pass: u64) -> Result<f64, Box<dyn std::error::Error>> {
    let began = table.now()?;
    for row in 0..ROWS {
        let count = word(&table.load_exclusive(row * LINE)?, 0);
        if count != pass {
            return Err(format!("row {row}: the core has counted to {pass}, not {count}").into());
        }
        table.store(row * LINE, &(pass + 1).to_le_bytes())?;
    }
    Ok((table.now()? - began).get() as f64 / 1000.0 / ROWS as f64)
}

/// The kernel counts in the first `rows` rows, so often in each.
fn start(slot: &Slot, rows: u64, each: u64) -> Result<(), tombolo::Error> {
    slot.set("rows", rows)?;
    slot.set("pause", ROUND / rows)?;
    slot.set("updates", each * rows)?;
    slot.start()
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent();
    let kernel = options.home.join("kernels/shared_table");
    let card = Card::simulated(options, Default::default(), |step| eprintln!("{step}"))?;
    let space = card.create_space()?;
    let slot = card.load(SlotId(0), &kernel, &space)?;
    slot.set("base", BASE)?;
    slot.set("inflight", 8)?;
    // A run without updates: the kernel serves lines from now on.
    start(&slot, ROWS, 0)?;
    slot.wait(None, |_| Continue::Yes)?;
    let table = card.coherent_memory(BASE, ROWS * LINE)?;

    // The first pass brings every row to the CPU.
    scan(&table, 0)?;
    let here = scan(&table, 1)?;
    let mut pass = 2;
    let mut updates = vec![0; ROWS as usize];
    let mut measured = Vec::new();
    for percent in [100, 75, 50, 25, 10, 5, 2, 1] {
        let rows = (ROWS * percent).div_ceil(100);
        start(&slot, rows, ROUNDS)?;
        let cost = scan(&table, pass)?;
        pass += 1;
        slot.wait(None, |_| Continue::Yes)?;
        for count in &mut updates[..rows as usize] {
            *count += ROUNDS;
        }
        measured.push((rows as f64 / ROWS as f64, cost));
        // All rows are the CPU's again.
        scan(&table, pass)?;
        pass += 1;
    }
    let away = measured[0].1;
    println!("a row that the CPU has: {here:.1} ns; one that the kernel has taken: {away:.1} ns\n");
    println!("rows taken   million rows/s   by these two");
    for (share, cost) in &measured {
        let form = (1.0 - share) * here + share * away;
        let (rate, expected) = (1000.0 / cost, 1000.0 / form);
        println!("{:9.1}%   {rate:14.2}   {expected:12.2}", 100.0 * share);
    }

    // Nothing is lost, whoever changed a row last.
    let mut wrong = 0;
    for row in 0..ROWS {
        let line = table.load(row * LINE)?;
        wrong += u64::from(word(&line, 0) != pass || word(&line, 1) != updates[row as usize]);
    }
    let counted: u64 = updates.iter().sum();
    println!("\n{pass} passes of the core, {counted} updates of the kernel: {wrong} rows wrong");
    match wrong {
        0 => Ok(()),
        _ => Err("rows are not what was counted".into()),
    }
}
