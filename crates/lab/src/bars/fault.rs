//! Streaming from a file whose pages are not resident: the benefit of read-ahead.

use super::Failure;
use crate::input::write_input;
use crate::row::Row;
use simcard::SimCard;
use std::path::Path;
use tombolo::{Card, Continue, FileState, MapOptions, OwnerOptions, Report, SimOptions, SlotId};

const FILE_BYTES: u64 = 64 << 20;

/// Reads a file with `kernels/sum`, which writes nothing until the end.
fn stream(input: &Path, owner: OwnerOptions) -> Result<Report, Failure> {
    let card = SimCard::open(SimOptions::named("f1")?, |_| {})?;
    let card = Card::new(Box::new(card), owner)?;
    let space = card.create_space()?;
    let source = space.map_file(input, MapOptions::read_only())?;
    let output = input.with_extension("sum");
    let target = space.map_file(&output, MapOptions::create(64))?;
    let slot = card.load(SlotId(0), simcard::home().join("kernels/sum"), &space)?;
    slot.set_pointer("input", source.address())?;
    slot.set_pointer("output", target.address())?;
    slot.set("bytes", source.bytes())?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    let report = card.report()?;
    target.unmap()?;
    if std::fs::read(&output)? != lane_sums(&std::fs::read(input)?) {
        return Err("the sums are wrong".into());
    }
    Ok(report)
}

/// Expected output of the kernel.
fn lane_sums(content: &[u8]) -> Vec<u8> {
    let mut sums = [0u64; 8];
    for (index, word) in content.chunks_exact(8).enumerate() {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        sums[index % 8] = sums[index % 8].wrapping_add(word);
    }
    sums.iter().flat_map(|sum| sum.to_le_bytes()).collect()
}

/// GiB/s of the input, from start to done.
fn rate(report: &Report) -> Result<f64, Failure> {
    let run = report.runs.last().ok_or("no run")?;
    Ok(FILE_BYTES as f64 / run.time.as_seconds() / f64::from(1 << 30))
}

/// Peak rate of the link to the card, in GiB/s of payload.
fn link_rate() -> Result<f64, Failure> {
    let options = SimOptions::named("f1")?;
    let pcie = *options.platform.pcie();
    let packet = pcie.completion_bytes + pcie.tlp_overhead + pcie.link_overhead;
    let share = pcie.completion_bytes as f64 / packet as f64;
    Ok(pcie.wire_bytes_per_second as f64 * share / f64::from(1 << 30))
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let folder = tempfile::tempdir()?;
    let input = folder.path().join("input");
    write_input(&input, FILE_BYTES)?;
    let run = |read_ahead_bytes: u64, file_state: FileState| {
        let owner = OwnerOptions {
            read_ahead_bytes,
            file_state,
            ..OwnerOptions::default()
        };
        stream(&input, owner)
    };
    let ahead = OwnerOptions::default().read_ahead_bytes;
    let on = run(ahead, FileState::Warm)?;
    let off = run(0, FileState::Warm)?;
    let cold = run(ahead, FileState::Cold)?;
    eprintln!(
        "faults that reached the host: {} on, {} off",
        on.paging.faults, off.paging.faults
    );
    let (on, off, cold) = (rate(&on)?, rate(&off)?, rate(&cold)?);
    Ok(vec![
        Row::new("fault.batch_gain", on / off, "ratio"),
        Row::new("fault.batch_share_of_pcie", on / link_rate()?, "ratio"),
        Row::new("fault.batch_warm", on, "GiB/s"),
        Row::new("fault.batch_warm_off", off, "GiB/s"),
        Row::new("fault.batch_cold", cold, "GiB/s"),
    ])
}
