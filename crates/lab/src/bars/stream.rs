//! Streaming with data and table entries on the card, against the identity translator.

use super::direct::Bench;
use super::Failure;
use crate::row::{Row, Target};
use card::sim::{SimOptions, Translator};
use units::Picoseconds;

const BYTES: u64 = 32 << 20;

fn time(translator: Translator) -> Result<Picoseconds, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.shell.translator = translator;
    let mut bench = Bench::open(options, "aes256ctr", BYTES)?;
    bench.set_argument("key", &[7; 32])?;
    bench.set_argument("iv", &[9; 16])?;
    bench.run()
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let physical = time(Translator::Identity)?;
    let paged = time(Translator::Paged)?;
    let share = physical.as_seconds() / paged.as_seconds();
    let rate = |time: Picoseconds| 2.0 * BYTES as f64 / time.as_seconds() * 1e-9;
    eprintln!(
        "physical {:.2} GB/s, paged {:.2} GB/s",
        rate(physical),
        rate(paged)
    );
    let name = "stream.hot.share_of_physical";
    Ok(vec![Row::new(name, share, "ratio", Target::AtLeast(0.97))])
}
