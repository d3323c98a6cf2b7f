//! A cell of an experiment, and how it is run.

use super::cache::Cached;
use super::description::{Data, APPLICATIONS};
use super::{hot, warm, Experiment, Failure, Outcome, Size, System, Temperature, Workload};
use card::sim::SimOptions;
use std::sync::mpsc;
use std::sync::Mutex;
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
    /// Hot data: what the host takes for a TLB miss, if not what the platform has for an event.
    pub host_miss: Option<Picoseconds>,
}

impl Cell<'_> {
    /// A name for bars: `rng_read.coyote-4k.hot_large`.
    pub fn name(&self) -> String {
        format!(
            "{}.{}.{}_{}",
            self.workload.name,
            self.system.name,
            self.temperature.name(),
            self.size.name()
        )
    }

    /// What the paper prints, in MiB/s.
    pub fn published(&self) -> Option<f64> {
        self.workload
            .published(&self.system.name, self.temperature, self.size)
    }

    /// The preset that it runs on.
    pub(crate) fn preset(&self) -> &Preset {
        self.system.preset(self.workload, self.size)
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
        let loads = self.temperature != Temperature::Hot && self.preset().page >= PageSize::MIB_2;
        // What is jumped about in comes in small pages to systems that choose.
        let jumps = self.adapts() && self.workload.load.is_random();
        Ok(data.of(loads && !jumps))
    }

    /// A card of this cell's system.
    fn options(&self, platform: &str) -> Result<SimOptions, Failure> {
        let mut options = SimOptions::named(platform)?;
        options.shell = self.preset().shell.clone();
        Ok(options)
    }

    /// Runs it, or takes what an earlier run of the same thing gave.
    ///
    /// # Errors
    /// Whatever keeps it from running.
    pub fn run(&self, platform: &str) -> Result<Outcome, Failure> {
        let options = self.options(platform)?;
        let cached = Cached::of(self, &options)?;
        if let Some(outcome) = cached.read() {
            return Ok(outcome);
        }
        let outcome = self.simulate(options)?;
        cached.write(&outcome)?;
        Ok(outcome)
    }

    fn simulate(&self, options: SimOptions) -> Result<Outcome, Failure> {
        let measured = match self.temperature {
            Temperature::Hot => hot::run(self, options)?,
            Temperature::Warm | Temperature::Cold => warm::run(self, options)?,
        };
        Ok(Outcome::of(&measured))
    }
}

impl Experiment {
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

    /// Runs cells, as many beside each other as the machine has cores; `ended` hears of each as it ends. The
    /// outcomes come in the order of the cells.
    pub fn run(
        &self,
        cells: &[Cell<'_>],
        mut ended: impl FnMut(&Cell<'_>, &Result<Outcome, Failure>),
    ) -> Vec<Result<Outcome, Failure>> {
        let workers = std::thread::available_parallelism().map_or(1, usize::from);
        let next = Mutex::new(0..cells.len());
        let (send, receive) = mpsc::channel();
        let mut outcomes: Vec<_> = cells.iter().map(|_| None).collect();
        std::thread::scope(|scope| {
            for _ in 0..workers.min(cells.len()) {
                let (send, next) = (send.clone(), &next);
                scope.spawn(move || loop {
                    let taken = next.lock().map_or(None, |mut left| left.next());
                    let Some(number) = taken else { break };
                    let outcome = cells[number].run(&self.platform);
                    if send.send((number, outcome)).is_err() {
                        break;
                    }
                });
            }
            drop(send);
            for (number, outcome) in receive {
                ended(&cells[number], &outcome);
                outcomes[number] = Some(outcome);
            }
        });
        outcomes
            .into_iter()
            .map(|outcome| outcome.unwrap_or_else(|| Err("the cell ended without a result".into())))
            .collect()
    }
}
