//! The work of a point: throughput on the simulated card, and area by Yosys.

use super::{ArgumentText, Setup, Sweep, SweepPoint, SweepWorkload};
use crate::experiment::cache::{self, Cached, Parts};
use crate::experiment::workers::KeptWork;
use crate::experiment::{work, Failure};
use crate::input::write_input;
use crate::processor;
use crate::synthesis::{self, SHELL};
use serde::{Deserialize, Serialize};
use simcard::SimOptions;
use std::path::Path;
use tombolo::{Card, Continue, MapOptions, Mapping, OwnerOptions, SlotId};

/// Number of runs of a kernel; the last one, with its data on the card, counts.
const RUNS: usize = 2;

/// Figures of a piece of work.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PointFigures {
    /// Throughput in MiB/s.
    Throughput(f64),
    /// Area of the shell: LUT, FF, BRAM36.
    Area([f64; 3]),
}

/// Figures of a piece of work, and what they cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointOutcome {
    /// Processor time in seconds, with child processes.
    pub processor_seconds: f64,
    /// Throughput or area.
    pub figures: PointFigures,
}

/// A piece of work of a point.
#[derive(Clone, Copy)]
pub(in crate::experiment) struct SweepJob<'a> {
    sweep: &'a Sweep,
    point: &'a SweepPoint,
    setup: &'a Setup,
    area: bool,
}

impl<'a> SweepJob<'a> {
    pub(super) fn new(
        sweep: &'a Sweep,
        point: &'a SweepPoint,
        setup: &'a Setup,
        area: bool,
    ) -> Self {
        Self {
            sweep,
            point,
            setup,
            area,
        }
    }

    /// Name of the point.
    pub(super) fn point(&self) -> &str {
        &self.point.name
    }

    fn options(&self) -> Result<SimOptions, Failure> {
        let mut options = SimOptions::named(self.setup.platform.name())?;
        options.platform = self.setup.platform.clone();
        options.shell = self.setup.shell.clone();
        Ok(options)
    }

    fn measure(&self) -> Result<PointFigures, Failure> {
        if self.area {
            // Yosys takes the configuration as one word.
            let pattern: String = self.setup.shell.to_system_verilog();
            let pattern: String = pattern.split_whitespace().collect();
            let report =
                synthesis::synthesize_with(SHELL, "tmb_shell", &[format!("Cfg={pattern}")])?;
            return Ok(PointFigures::Area([report.lut, report.ff, report.bram36]));
        }
        let options = self.options()?;
        Ok(PointFigures::Throughput(match &self.sweep.workload {
            SweepWorkload::Kernel { name, arguments } => {
                let arguments: Vec<_> = arguments.iter().collect();
                run(name, &arguments, options)?
            }
            SweepWorkload::Cell { experiment, cell } => {
                let mut experiment = experiment.clone();
                experiment.set_shell(&self.setup.shell);
                let found = experiment.cell(cell).ok_or("the cell is gone")?;
                work::simulate(&found, options)?.mib_per_s
            }
        }))
    }
}

/// Throughput of a kernel in MiB/s: the bytes that it reads and writes over its time, with its data on the card.
fn run(
    kernel: &str,
    arguments: &[(&String, &ArgumentText)],
    options: SimOptions,
) -> Result<f64, Failure> {
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let space = card.create_space()?;
    let folder = simcard::home().join("kernels").join(kernel);
    let manifest = card::kernel::KernelPackage::open(&folder)?.manifest;
    let slot = card.load(SlotId(0), &folder, &space)?;
    let files = tempfile::tempdir()?;
    let mut mappings: Vec<Mapping> = Vec::new();
    for (name, value) in arguments {
        match value {
            ArgumentText::Number(number) => slot.set(name, *number)?,
            ArgumentText::Buffer(buffer) => {
                let path = files.path().join(name);
                write_input(&path, buffer.bytes)?;
                let access = manifest.argument(name).map(|argument| argument.access);
                let options = match access {
                    Some(card::kernel::AccessMode::Read) => MapOptions::read_only(),
                    _ => MapOptions::read_write(),
                };
                let mapping = space.map_file(&path, options)?;
                slot.set_pointer(name, mapping.address())?;
                mappings.push(mapping);
            }
        }
    }
    let moved = || -> Result<u64, Failure> {
        let (read, written) = card.report()?.kernel_bytes();
        Ok(read + written)
    };
    let mut before = 0;
    for _ in 0..RUNS {
        before = moved()?;
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
    }
    let report = card.report()?;
    let time = report.runs.last().ok_or("no run was reported")?.time;
    Ok((moved()? - before) as f64 / f64::from(1 << 20) / time.as_seconds())
}

impl KeptWork for SweepJob<'_> {
    type Done = PointOutcome;

    fn name(&self) -> String {
        match self.area {
            true => format!("{} area", self.point.name),
            false => self.point.name.clone(),
        }
    }

    fn arguments(&self) -> Vec<String> {
        let file = self.sweep.path.to_string_lossy().into_owned();
        ["lab", "sweep", &file, "--worker"]
            .map(str::to_owned)
            .to_vec()
    }

    fn cached(&self, root: &Path) -> Result<Cached, Failure> {
        let shell = &self.setup.shell;
        let name = KeptWork::name(self);
        if self.area {
            let made_of = format!("area {}", shell.to_system_verilog());
            // Points with equal shells share it.
            return Cached::of_part(root, "shell area", &["tools/synthesis"], &made_of);
        }
        let (kernel, made_of) = match &self.sweep.workload {
            SweepWorkload::Kernel { name, arguments } => {
                (name.clone(), format!("{arguments:?} {RUNS}"))
            }
            SweepWorkload::Cell { experiment, cell } => {
                let mut experiment = experiment.clone();
                experiment.set_shell(shell);
                let found = experiment.cell(cell).ok_or("the cell is gone")?;
                (found.workload.kernel.clone(), found.made_of()?)
            }
        };
        let parts = Parts {
            name: &name,
            kernels: &[&kernel],
            platform: self.setup.platform.hash(),
            made_of: &format!("sweep {shell:?} {made_of}"),
        };
        Cached::of(root, &parts)
    }

    fn perform(&self) -> Result<PointOutcome, Failure> {
        self.cached(&cache::root())?.or_compute(|| {
            let (figures, processor_seconds) = processor::seconds_of(|| self.measure())?;
            Ok(PointOutcome {
                processor_seconds,
                figures,
            })
        })
    }
}
