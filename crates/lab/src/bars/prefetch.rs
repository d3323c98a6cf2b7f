//! Application prefetcher (CCKit, section 5.5 and figure 8): clients that load disjoint parts of a file in order, with
//! and without the kernel's blocks.

use super::Failure;
use crate::row::Row;
pub(super) use clients::LOADS;
use clients::{serve, stream, LINE};
use tombolo::{Card, ShellConfig, SimOptions};

#[path = "../../../tombolo/examples/prefetch/clients.rs"]
mod clients;

/// Lines per stream; clients and streams do not share lines.
const PART: u64 = (1 << 20) / LINE;
const CLIENTS: u64 = 4;
/// Parts of all streams: one to four clients, twice.
const PARTS: u64 = 2 * (1 + 2 + 3 + CLIENTS);

fn file_of(bytes: u64) -> Vec<u8> {
    (0..bytes / 8)
        .flat_map(|word| word.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes())
        .collect()
}

/// GiB/s of four clients without and with the kernel's blocks, on the given platform, with `loads` outstanding loads
/// per client.
pub(super) fn four_clients(mut options: SimOptions, loads: usize) -> Result<(f64, f64), Failure> {
    let file = file_of(2 * CLIENTS * PART * LINE);
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/prefetcher");
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let served = serve(&card, &kernel, &file)?;
    let mut rates = [0.0; 2];
    for (turn, units) in [(0, 0), (1, 8)] {
        served.slot.set("units", units)?;
        let lines = (turn * CLIENTS * PART, (turn + 1) * CLIENTS * PART);
        let (rate, wrong) = stream(&served.memory, &file, (CLIENTS, loads), lines)?;
        if wrong > 0 {
            return Err(format!("{wrong} lines are not the file's").into());
        }
        rates[turn as usize] = rate;
    }
    Ok((rates[0], rates[1]))
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let file = file_of(PARTS * PART * LINE);
    let mut options = SimOptions::named("enzian")?;
    options.shell = ShellConfig::coherent_full();
    let kernel = options.home.join("kernels/prefetcher");
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let served = serve(&card, &kernel, &file)?;

    let mut rows = Vec::new();
    let (mut wrong, mut first) = (0, 0);
    for (units, name) in [(0, "without"), (8, "with")] {
        served.slot.set("units", units)?;
        for clients in 1..=CLIENTS {
            let lines = (first * PART, (first + clients) * PART);
            let (rate, bad) = stream(&served.memory, &file, (clients, LOADS), lines)?;
            first += clients;
            wrong += bad;
            let name = format!("app.prefetch.{name}.clients_{clients}");
            rows.push(Row::new(&name, rate, "GiB/s"));
        }
    }
    let name = "app.prefetch.wrong";
    rows.push(Row::new(name, wrong as f64, "lines"));
    Ok(rows)
}
