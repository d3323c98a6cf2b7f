//! A cell whose data is in files in the host's page cache: through the library, as users run kernels.

use super::{Cell, Failure, Measured};
use crate::bars::aes::write_input;
use card::sim::SimOptions;
use tombolo::{Card, Continue, MapOptions, OwnerOptions, SlotId};

/// What a kernel is given, besides its pointers: name and value.
pub(super) fn arguments(cell: &Cell<'_>, input: u64, output: u64) -> Vec<(&'static str, Vec<u8>)> {
    let data = cell.workload.data(cell.size);
    let accessed = data.accessed(cell.system);
    let number = |value: u64| value.to_le_bytes().to_vec();
    let mut arguments = vec![("input", number(input)), ("output", number(output))];
    match data.access_bytes {
        Some(access) => arguments.extend([
            ("accesses", number(accessed / access)),
            ("access_log2", number(access.ilog2().into())),
            (
                "period_log2",
                number((data.set_bytes / access).ilog2().into()),
            ),
            ("seed", number(1)),
            ("write", number(0)),
        ]),
        // Half is read, half is written.
        None => arguments.extend([
            ("bytes", number(accessed / 2)),
            ("key", vec![7; 32]),
            ("iv", vec![9; 16]),
        ]),
    }
    arguments
}

/// Runs the applications beside each other.
pub(super) fn run(cell: &Cell<'_>, options: SimOptions) -> Result<Vec<Measured>, Failure> {
    let data = cell.workload.data(cell.size);
    let accessed = data.accessed(cell.system);
    let slots = options.shell.slots;
    let owner = OwnerOptions {
        page_size: cell.system.page,
        read_ahead_bytes: cell.system.read_ahead_bytes,
        ..OwnerOptions::default()
    };
    let card = Card::simulated(options, owner, |_| {})?;
    let files = tempfile::tempdir()?;
    let folder = card::sim::home()
        .join("kernels")
        .join(&cell.workload.kernel);
    let mut applications = Vec::new();
    for number in 0..slots {
        let space = card.create_space_on(cell.system.placement(number))?;
        let (input, output) = match data.access_bytes {
            Some(_) => (data.set_bytes, 64),
            None => (accessed / 2, accessed / 2),
        };
        let map = |name: &str, bytes, options| -> Result<_, Failure> {
            let path = files.path().join(format!("{name}{number}"));
            write_input(&path, bytes)?;
            Ok(space.map_file(&path, options)?)
        };
        let input = map("in", input, MapOptions::read_only())?;
        let output = map("out", output, MapOptions::read_write())?;
        let slot = card.load(SlotId(number), &folder, &space)?;
        for (name, value) in arguments(cell, input.address().get(), output.address().get()) {
            slot.set_bytes(name, &value)?;
        }
        applications.push((space, input, output, slot));
    }
    for (_, _, _, slot) in &applications {
        slot.start()?;
    }
    for (_, _, _, slot) in &applications {
        slot.wait(None, |_| Continue::Yes)?;
    }
    let runs = card.report()?.runs;
    let measured = runs.iter().map(|run| Measured {
        time: run.time,
        bytes: accessed,
    });
    Ok(measured.collect())
}
