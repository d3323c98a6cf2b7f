//! Streaming with resident data and table entries, compared with the identity translator.

use super::Failure;
use crate::direct::{Bench, Lane};
use crate::row::Row;
use simcard::{SimOptions, Translator};
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
    Ok(vec![Row::new(name, share, "ratio")])
}

/// Bytes streamed by each of four slots.
const BYTES_OF_FOUR: u64 = 8 << 20;
/// Four channels of one row per cycle at 250 MHz.
const PEAK_OF_FOUR: f64 = 64e9;

/// Displaces the output by one bank relative to the input: on F1 the DRAM row starts at bit 17 of an address, and its
/// two lowest bits in every two are XORed into the bank.
const BANK: u64 = 2 << 20;
const BANKS: u64 = 4;

/// Time of four slots that stream `bytes` bytes each, with outputs displaced by `bank` banks.
fn time_of_four(translator: Translator, bytes: u64, bank: u64) -> Result<Picoseconds, Failure> {
    let mut options = four_slots()?;
    options.shell.translator = translator;
    let lanes = (0..4)
        .map(|channel| Lane::isolated(&options, channel).with_output_moved(bank * BANK))
        .collect();
    let mut bench = Bench::open_lanes(options, "aes256ctr", bytes, lanes)?;
    bench.set_argument("key", &[7; 32])?;
    bench.set_argument("iv", &[9; 16])?;
    bench.run()
}

/// FSRF's platform: four slots, four channels.
pub fn four_slots() -> Result<SimOptions, Failure> {
    let mut options = SimOptions::named("f1")?;
    options.shell.slots = 4;
    options.shell.channels = 4;
    options.shell.queues = 5;
    Ok(options)
}

/// Four AES slots, each in a separate space on a separate channel. FSRF, section 6.2: hot streaming has 98 % of the
/// rate of physical addressing.
pub fn measure_four() -> Result<Vec<Row>, Failure> {
    let physical = time_of_four(Translator::Identity, BYTES_OF_FOUR, 0)?;
    let paged = time_of_four(Translator::Paged, BYTES_OF_FOUR, 0)?;
    let rate = |time: Picoseconds| 8.0 * BYTES_OF_FOUR as f64 / time.as_seconds();
    eprintln!(
        "physical {:.2} GB/s, paged {:.2} GB/s of {:.0}",
        rate(physical) * 1e-9,
        rate(paged) * 1e-9,
        PEAK_OF_FOUR * 1e-9
    );
    Ok(vec![
        Row::new(
            "stream.hot4.share_of_physical",
            physical.as_seconds() / paged.as_seconds(),
            "ratio",
        ),
        Row::new(
            "stream.hot4.share_of_peak",
            rate(paged) / PEAK_OF_FOUR,
            "ratio",
        ),
    ])
}

/// The same over all bank relations of input and output, as the ratio of total times. Whether the two streams of a
/// channel collide in a bank depends on their positions and on the output's delay; a single layout would show that
/// effect more than the translator's.
pub fn measure_four_over_banks() -> Result<Vec<Row>, Failure> {
    let total = |translator| -> Result<f64, Failure> {
        let mut total = 0.0;
        for bank in 0..BANKS {
            let time = time_of_four(translator, BANK, bank)?.as_seconds();
            eprintln!(
                "{translator:?}, outputs {bank} banks further: {:.1} us",
                time * 1e6
            );
            total += time;
        }
        Ok(total)
    };
    let share = total(Translator::Identity)? / total(Translator::Paged)?;
    let name = "stream.hot4.over_banks.share_of_physical";
    Ok(vec![Row::new(name, share, "ratio")])
}
