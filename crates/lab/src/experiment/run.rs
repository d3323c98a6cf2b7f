//! A cell of an experiment, and how it is run.

use super::description::{Data, APPLICATIONS};
use super::workload::Seed;
use super::{Experiment, Failure, Size, System, Temperature, Workload};
use tombolo::{PageSize, Picoseconds, Preset};

/// One system, workload, size and temperature.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The system.
    pub system: &'a System,
    /// The workload.
    pub workload: &'a Workload,
    /// Where the data is.
    pub temperature: Temperature,
    /// How much data.
    pub size: Size,
    /// How many run beside each other.
    pub applications: u8,
    /// Hot data: the output lies so many rows further than it would.
    pub shift_rows: u64,
    /// Hot data: so many runs, that differ in when applications start and where their data begins. With one,
    /// applications start together.
    pub runs: u8,
    /// Of several runs: data begins where it does in one run, on a striped card on channels side by side.
    pub first_places: bool,
    /// Hot data: what the host takes for a TLB miss, if not what the platform has for an event.
    pub host_miss: Option<Picoseconds>,
}

impl Cell<'_> {
    /// Its name: `rng_read.coyote-4k.hot_large`, and what makes it another than the table's.
    pub fn name(&self) -> String {
        let mut name = format!(
            "{}.{}.{}_{}",
            self.workload.name,
            self.system.name,
            self.temperature.name(),
            self.size.name()
        );
        if self.applications != APPLICATIONS {
            name += &format!(".{}_applications", self.applications);
        }
        if self.shift_rows != 0 {
            name += &format!(".shift_{}", self.shift_rows);
        }
        if self.runs != self.system.runs {
            name += &format!(".{}_runs", self.runs);
        }
        if self.first_places {
            name += ".first_places";
        }
        name
    }

    /// The cell that a part of its name makes another than the table's: `2_applications`, `shift_8`, `5_runs`.
    fn varied(self, how: &str) -> Option<Self> {
        if how == "first_places" {
            return Some(Self {
                first_places: true,
                ..self
            });
        }
        let number = |text: Option<&str>| text?.parse().ok();
        if let Some(applications) = number(how.strip_suffix("_applications")) {
            return Some(Self {
                applications,
                ..self
            });
        }
        if let Some(runs) = number(how.strip_suffix("_runs")) {
            return Some(Self { runs, ..self });
        }
        let shift_rows = how.strip_prefix("shift_")?.parse().ok()?;
        Some(Self { shift_rows, ..self })
    }

    /// Whether it is of the quick part: data on the card, small sets.
    pub fn is_quick(&self) -> bool {
        (self.temperature, self.size) == (Temperature::Hot, Size::Small)
    }

    /// What the paper prints, in MiB/s.
    pub fn published(&self) -> Option<f64> {
        self.workload
            .published(&self.system.name, self.temperature, self.size)
    }

    /// The preset that it runs on.
    pub(crate) fn preset(&self) -> &Preset {
        let data = self.workload.data(self.size);
        let scale_log2 = data.and_then(|data| data.of(self.loads_large()).scale_log2());
        self.system.preset_at(self.workload, self.size, scale_log2)
    }

    /// Whether its data comes to the card in pages of 2 MiB or more.
    fn loads_large(&self) -> bool {
        // These are the same at every scale.
        let preset = self.system.preset(self.workload, self.size);
        // FSRF's batch is as large as a page of 2 MiB, as long as there is room.
        let batches =
            preset.batch_bytes >= PageSize::MIB_2.bytes() && self.size != Size::Oversubscribed;
        let loads = self.temperature != Temperature::Hot
            && (preset.largest_page() >= PageSize::MIB_2 || batches);
        // What is jumped about in comes in small pages to systems that choose.
        let jumps = self.adapts() && self.workload.load.is_random();
        loads && !jumps
    }

    /// Whether page sizes change as the system sees fit.
    pub(crate) fn adapts(&self) -> bool {
        self.system.adapts(self.workload, self.size)
    }

    /// Its data.
    ///
    /// # Errors
    /// The workload has no such size.
    pub(crate) fn data(&self) -> Result<Data, Failure> {
        let data = self.workload.data(self.size);
        let data = *data.ok_or_else(|| format!("{}: no data of that size", self.name()))?;
        Ok(data.of(self.loads_large()))
    }

    /// The whole of what it is made of, by names and values. Cells that are made of the same are the same: a stream
    /// that is loaded is as long for a small set as for a large one.
    pub(super) fn made_of(&self) -> Result<String, Failure> {
        let (preset, data, load) = (self.preset(), self.data()?, self.workload.load);
        let made_of = match self.temperature {
            Temperature::Hot => format!(
                "{:?}",
                (
                    (load, data, self.host_miss, self.shift_rows),
                    (self.runs, self.first_places)
                )
            ),
            Temperature::Warm | Temperature::Cold => {
                let accessed = data.accessed(load, preset, false);
                let given = |bytes| load.arguments(&data, bytes, 0, 0, Seed::Measured);
                format!(
                    "{:?}",
                    (
                        load.buffers(&data, accessed),
                        given(accessed),
                        data.warm_up_bytes().map(given),
                        data.whole_bytes(),
                        data.card_bytes(),
                        self.adapts(),
                        self.system.is_ours(),
                        data.graph,
                    )
                )
            }
        };
        let all = (
            self.temperature,
            &self.workload.kernel,
            preset,
            self.applications,
            made_of,
        );
        Ok(format!("{all:?}"))
    }
}

impl Experiment {
    /// The cell of this name, one of the table or varied.
    pub(super) fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let mut cells = self.cells().into_iter();
        cells.find_map(|cell| {
            let rest = name.strip_prefix(&cell.name())?;
            let mut parts = rest.split('.');
            // The name itself, or something behind a dot.
            let whole = parts.next()?.is_empty();
            parts.try_fold(whole.then_some(cell)?, Cell::varied)
        })
    }

    /// Its cells, those that the paper has.
    pub fn cells(&self) -> Vec<Cell<'_>> {
        let mut cells = Vec::new();
        for workload in &self.workloads {
            for system in &self.systems {
                for temperature in Temperature::ALL {
                    for size in Size::ALL {
                        let cell = Cell {
                            system,
                            workload,
                            temperature,
                            size,
                            applications: APPLICATIONS,
                            shift_rows: 0,
                            runs: system.runs,
                            first_places: false,
                            host_miss: self.host_miss,
                        };
                        if self.has(workload, &system.name, (temperature, size)) {
                            cells.push(cell);
                        }
                    }
                }
            }
        }
        cells
    }
}
