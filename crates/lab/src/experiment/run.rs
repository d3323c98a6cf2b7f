//! A cell of an experiment, and its execution.

use super::description::{Data, APPLICATIONS};
use super::workload::Seed;
use super::{Experiment, Failure, Size, System, Temperature, Workload};
use tombolo::{PageSize, Preset};

/// One system, workload, size and temperature.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// System under test.
    pub system: &'a System,
    /// Kernel and data.
    pub workload: &'a Workload,
    /// Location of the data at the start.
    pub temperature: Temperature,
    /// Size of the data set.
    pub size: Size,
    /// Number of concurrent applications.
    pub applications: u8,
    /// For hot data: displacement of the output in rows.
    pub shift_rows: u64,
    /// For hot data: number of runs, which differ in start times and data addresses. With a single run, applications
    /// start together.
    pub runs: u8,
    /// With several runs: data is at the addresses of a single run, on a striped card on adjacent channels.
    pub first_places: bool,
}

impl Cell<'_> {
    /// Name, such as `rng_read.coyote-4k.hot_large`, with suffixes for differences from the table's cell.
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

    /// The cell with a variation from a part of its name: `2_applications`, `shift_8`, `5_runs`.
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

    /// Whether it belongs to the quick subset: hot data, small sets.
    pub fn is_quick(&self) -> bool {
        (self.temperature, self.size) == (Temperature::Hot, Size::Small)
    }

    /// The published value in MiB/s, if any.
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

    /// Whether its data is loaded to the card in pages of 2 MiB or more.
    fn loads_large(&self) -> bool {
        // These are equal at every scale.
        let preset = self.system.preset(self.workload, self.size);
        // FSRF's batch is as large as a page of 2 MiB, as long as there is room.
        let batches =
            preset.batch_bytes >= PageSize::MIB_2.bytes() && self.size != Size::Oversubscribed;
        let loads = self.temperature != Temperature::Hot
            && (preset.largest_page() >= PageSize::MIB_2 || batches);
        // Systems that select page sizes load randomly accessed data in small pages.
        let jumps = self.adapts() && self.workload.load.is_random();
        loads && !jumps
    }

    /// Whether the system adapts page sizes.
    pub(crate) fn adapts(&self) -> bool {
        self.system.adapts(self.workload, self.size)
    }

    /// Data of the workload at this size.
    ///
    /// # Errors
    /// The workload has no data of this size.
    pub(crate) fn data(&self) -> Result<Data, Failure> {
        let data = self.workload.data(self.size);
        let data = *data.ok_or_else(|| format!("{}: no data of that size", self.name()))?;
        Ok(data.of(self.loads_large()))
    }

    /// All inputs by name and value. Cells with equal inputs are equal: a stream that is loaded has the same length for
    /// a small set as for a large one.
    pub(super) fn made_of(&self) -> Result<String, Failure> {
        let (preset, data, load) = (self.preset(), self.data()?, self.workload.load);
        let made_of = match self.temperature {
            Temperature::Hot => format!(
                "{:?}",
                (
                    (load, data, self.shift_rows),
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
    /// The cell with this name, either of the table or varied.
    pub(super) fn cell(&self, name: &str) -> Option<Cell<'_>> {
        let mut cells = self.cells().into_iter();
        cells.find_map(|cell| {
            let rest = name.strip_prefix(&cell.name())?;
            let mut parts = rest.split('.');
            // The exact name, or followed by a dot.
            let whole = parts.next()?.is_empty();
            parts.try_fold(whole.then_some(cell)?, Cell::varied)
        })
    }

    /// All cells of the experiment.
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
