//! Ratio of a run without options to its lower bound.
//!
//! The bound is the longest of four times that cannot be hidden: transfers over the link to the card, transfers back,
//! the host's copies between page cache and buffers on one thread, and the same kernels with resident pages.

use super::{aes, Failure};
use crate::input::write_input;
use crate::row::Row;
use std::path::Path;
use tombolo::{AddressSpace, SimOptions, Slot, SlotId};
use tombolo::{Card, Continue, MapOptions, OwnerOptions, Picoseconds, Report, ShellConfig};

pub const NAMES: &[&str] = &[
    "defaults.copy_8m.over_bound",
    "defaults.copy_8m.us",
    "defaults.copy4_8m.over_bound",
    "defaults.aes_64m.over_bound",
];

/// A kernel that reads a file and writes another of the same size, alone or in several slots with separate files.
struct DefaultRun {
    kernel: &'static str,
    bytes: u64,
    slots: u8,
}

impl DefaultRun {
    fn options(&self) -> Result<SimOptions, Failure> {
        let mut options = SimOptions::named("f1")?;
        if self.slots > 1 {
            options.shell = ShellConfig {
                slots: self.slots,
                channels: 4,
                ..ShellConfig::default()
            };
        }
        Ok(options)
    }

    fn load(&self, card: &Card, space: &AddressSpace, slot: SlotId) -> Result<Slot, Failure> {
        let folder = simcard::home().join("kernels").join(self.kernel);
        let loaded = card.load(slot, folder, space)?;
        loaded.set("bytes", self.bytes)?;
        if self.kernel == "aes256ctr" {
            aes::give_key(&loaded)?;
        }
        Ok(loaded)
    }

    /// Report of the whole session, including write-back, and the time of its longest run.
    fn run(&self, folder: &Path, hot: bool) -> Result<(Report, Picoseconds), Failure> {
        let input = folder.join("in");
        let card = Card::simulated(self.options()?, OwnerOptions::default(), |_| {})?;
        let mut jobs = Vec::new();
        for number in 0..self.slots {
            let output = folder.join(format!("out{number}"));
            let space = card.create_space()?;
            let source = space.map_file(&input, MapOptions::read_only())?;
            let target = space.map_file(&output, MapOptions::create(self.bytes))?;
            let slot = self.load(&card, &space, SlotId(number))?;
            slot.set_pointer("input", source.address())?;
            slot.set_pointer("output", target.address())?;
            if hot {
                source.make_hot()?;
                target.make_hot()?;
            }
            jobs.push((slot, source, target, space, output));
        }
        for (slot, ..) in &jobs {
            slot.start()?;
        }
        for (slot, ..) in &jobs {
            slot.wait(None, |_| Continue::Yes)?;
        }
        for (_slot, source, target, _space, output) in jobs {
            target.unmap()?;
            source.unmap()?;
            let right = match self.kernel {
                "aes256ctr" => aes::openssl_agrees(&input, &output)?,
                _ => std::fs::read(&input)? == std::fs::read(&output)?,
            };
            if !right {
                return Err(format!("{} wrote other bytes", self.kernel).into());
            }
        }
        let report = card.report()?;
        let longest = report.runs.iter().map(|run| run.time).max();
        let longest = longest.unwrap_or_default();
        Ok((report, longest))
    }

    /// Ratio of a run without options to its bound, and its time.
    fn over_bound(&self) -> Result<(f64, Picoseconds), Failure> {
        let folder = tempfile::tempdir()?;
        write_input(&folder.path().join("in"), self.bytes)?;
        let (report, _) = self.run(folder.path(), false)?;
        let (_, resident) = self.run(folder.path(), true)?;
        let statistics = &report.statistics;
        let bound = [
            statistics.link.busy_to_card,
            statistics.link.busy_to_host,
            statistics.host.copy_busy,
            resident,
        ];
        eprintln!(
            "{} × {} of {} bytes: {} (to the card, to the host, page-cache copies, resident: {bound:?})",
            self.slots, self.kernel, self.bytes, report.time
        );
        let bound = bound.into_iter().max().unwrap_or_default();
        Ok((report.time.get() as f64 / bound.get() as f64, report.time))
    }
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let copy = |slots| DefaultRun {
        kernel: "copy",
        bytes: 8 << 20,
        slots,
    };
    let aes = DefaultRun {
        kernel: "aes256ctr",
        bytes: 64 << 20,
        slots: 1,
    };
    let (one, time) = copy(1).over_bound()?;
    let (four, _) = copy(4).over_bound()?;
    let (aes, _) = aes.over_bound()?;
    Ok(vec![
        Row::new(NAMES[0], one, "ratio"),
        Row::new(NAMES[1], time.get() as f64 / 1e6, "us"),
        Row::new(NAMES[2], four, "ratio"),
        Row::new(NAMES[3], aes, "ratio"),
    ])
}
