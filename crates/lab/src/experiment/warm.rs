//! A cell with data in files, in the host's page cache or on its storage: through the library, as users run kernels.

use super::outcome::{Measured, Run, Sample};
use super::workload::Seed;
use super::{Cell, Failure, Outcome, Temperature};
use crate::input::write_input;
use simcard::SimOptions;
use std::os::unix::fs::FileExt;
use tombolo::{
    Card, Continue, FileState, MapOptions, OwnerOptions, Report, ServiceThreads, SlotId,
    SpaceOptions,
};

/// Linux's default read-ahead in bytes, `read_ahead_kb` of a block device.
const LINUX_READ_AHEAD: u64 = 128 << 10;

/// Runs the applications concurrently.
pub(super) fn run(cell: &Cell<'_>, options: SimOptions) -> Result<Outcome, Failure> {
    let data = cell.data()?;
    let preset = cell.preset();
    let load = cell.workload.load;
    let accessed = data.accessed(load, preset, false);
    let buffers = load.buffers(&data, accessed);
    let contents = load.contents(&data, accessed);
    let mut options = options;
    // One service thread per application, as in FSRF [section 5.1], for the paper's systems with one fault at a time
    // [5.2].
    let mut owner = OwnerOptions {
        service_threads: match cell.system.is_ours() {
            true => ServiceThreads::EachSpace,
            false => ServiceThreads::OneFault,
        },
        ..OwnerOptions::default()
    };
    preset.apply(&mut options, &mut owner)?;
    owner.auto_pages = cell.adapts();
    if cell.temperature == Temperature::Cold {
        owner.file_state = FileState::Cold;
        // The host reads files through its page cache, both in the paper and in our program.
        owner.host_read_ahead_bytes = LINUX_READ_AHEAD;
    }
    let card = Card::simulated(options, owner, |_| {})?;
    let files = tempfile::tempdir()?;
    let folder = simcard::home().join("kernels").join(&cell.workload.kernel);
    let mut applications = Vec::new();
    for number in 0..cell.applications {
        // Each is a process in the paper, so a client here, which shares the host's resources in turns with the others.
        let client = card.client();
        let options = SpaceOptions::new().placement(preset.placement(number));
        let space = client.create_space_with(options.limit(data.card_bytes()))?;
        let map = |name: &str, bytes, options| -> Result<_, Failure> {
            let path = files.path().join(format!("{name}{number}"));
            match (name, contents.is_empty()) {
                ("in", false) => {
                    let file = std::fs::File::create(&path)?;
                    file.set_len(bytes)?;
                    for (place, content) in &contents {
                        file.write_all_at(content, *place)?;
                    }
                }
                _ => write_input(&path, bytes)?,
            }
            Ok(space.map_file(&path, options)?)
        };
        let input = match buffers.input {
            0 => None,
            bytes => Some(map("in", bytes, MapOptions::read_only())?),
        };
        let output = map("out", buffers.output, MapOptions::read_write())?;
        let slot = client.load(SlotId(number), &folder, &space)?;
        applications.push((space, input, output, slot));
    }
    let run = |accessed, seed| -> Result<(), Failure> {
        for (_, input, output, slot) in &applications {
            let from = input.as_ref().map_or(0, |input| input.address().get());
            let to = output.address().get();
            for (name, value) in load.arguments(&data, accessed, from, to, seed) {
                slot.set_bytes(name, &value)?;
            }
        }
        for (_, _, _, slot) in &applications {
            slot.start()?;
        }
        for (_, _, _, slot) in &applications {
            slot.wait(None, |_| Continue::Yes)?;
        }
        Ok(())
    };
    if let Some(bytes) = data.warm_up_bytes() {
        run(bytes, Seed::WarmUp)?;
    }
    run(accessed, Seed::Measured)?;
    // Runs of the warm-up precede the measured ones.
    let measured = |report: &Report| -> Vec<Measured> {
        let runs = &report.runs;
        let counted = &runs[runs.len().saturating_sub(applications.len())..];
        let counted = counted.iter().map(|run| Measured {
            time: run.time,
            bytes: accessed,
        });
        counted.collect()
    };
    let mut report = card.report()?;
    let mut all = measured(&report);
    if let Some(rest) = data.whole_bytes().and_then(|all| all.checked_sub(accessed)) {
        let mut samples = Vec::new();
        for (_, input, output, _) in &applications {
            let mut absent = 0;
            for mapping in input.iter().chain([output]) {
                absent += mapping.make_hot()?;
            }
            let set = buffers.input + buffers.output;
            samples.push(Sample { set, absent });
        }
        run(accessed, Seed::After)?;
        report = card.report()?;
        for ((first, again), sample) in all.iter_mut().zip(measured(&report)).zip(samples) {
            first.extend(rest, again, sample);
        }
    }
    Ok(Outcome::of_runs(&[Run {
        applications: all,
        cycles: report.statistics.evaluated_cycles,
    }]))
}
