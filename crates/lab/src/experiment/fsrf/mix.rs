//! Figure 7: different applications running concurrently with resident data, compared with each alone on the same
//! system.

use crate::experiment::hot::{together, HotApplication, Setting};
use crate::experiment::{Experiment, Failure, Outcome, Size, System, Workload};
use simcard::SimOptions;
use tombolo::Preset;

/// Applications of the mix: the paper's as far as available, with `gups` for PGRNK, and `sha` (Verilog) for the paper's
/// SHA of HLS.
pub const APPLICATIONS: [&str; 4] = ["aes", "gups", "sha", "rng_read"];
/// Systems of the figure.
pub const SYSTEMS: [&str; 5] = ["tombolo", "fsrf", "coyote-2m", "amorphos", "physical"];
/// Measured runs of the slowest application.
const ROUNDS: u32 = 2;

/// Applications that run on a system.
#[derive(Clone, Debug)]
pub struct Mix<'a> {
    /// System under test.
    pub system: &'a System,
    workloads: Vec<&'a Workload>,
    /// The application that determines FSRF's TLB configuration: the same card is used for each alone and for all.
    decides: &'a Workload,
}

impl<'a> Mix<'a> {
    /// All runs of the figure: on each system, each application alone, followed by all of them.
    pub fn all(experiment: &'a Experiment) -> Vec<Self> {
        let found = |name: &&str| experiment.workloads.iter().find(|w| w.name == **name);
        let workloads: Vec<&Workload> = APPLICATIONS.iter().filter_map(found).collect();
        // One with random accesses: FSRF's DRAM TLB.
        let Some(decides) = workloads.iter().copied().find(|w| w.load.is_random()) else {
            return Vec::new();
        };
        let systems = experiment
            .systems
            .iter()
            .filter(|system| SYSTEMS.contains(&system.name.as_str()));
        let of = |system: &'a System| {
            let mut sets: Vec<Vec<&'a Workload>> = workloads.iter().map(|w| vec![*w]).collect();
            sets.push(workloads.clone());
            sets.into_iter().map(move |workloads| Self {
                system,
                workloads,
                decides,
            })
        };
        systems.flat_map(of).collect()
    }

    /// Whether this run has all applications.
    pub fn is_whole(&self) -> bool {
        self.workloads.len() == APPLICATIONS.len()
    }

    /// The only application, if it runs alone.
    pub fn alone(&self) -> Option<&str> {
        match self.workloads[..] {
            [only] => Some(&only.name),
            _ => None,
        }
    }

    /// Name, such as `mix.fsrf.aes+gups`.
    pub fn name(&self) -> String {
        let names: Vec<&str> = self.workloads.iter().map(|w| w.name.as_str()).collect();
        format!("mix.{}.{}", self.system.name, names.join("+"))
    }

    pub(in crate::experiment) fn kernels(&self) -> Vec<&str> {
        self.workloads.iter().map(|w| w.kernel.as_str()).collect()
    }

    pub(in crate::experiment) fn preset(&self) -> &Preset {
        self.system.preset(self.decides, Size::Large)
    }

    fn applications(&self) -> Result<Vec<HotApplication<'a>>, Failure> {
        let of = |workload: &&'a Workload| {
            let data = workload.data(Size::Large);
            Ok(HotApplication {
                workload,
                data: *data.ok_or("no large data")?,
            })
        };
        self.workloads.iter().map(of).collect()
    }

    pub(in crate::experiment) fn made_of(&self) -> Result<String, Failure> {
        let data: Vec<_> = self
            .applications()?
            .iter()
            .map(|one| (one.workload.load, one.data))
            .collect();
        Ok(format!("{:?}", (self.preset(), data, ROUNDS)))
    }

    /// Throughputs in the order of the applications.
    pub(in crate::experiment) fn run(&self, options: SimOptions) -> Result<Outcome, Failure> {
        let setting = Setting {
            preset: self.preset(),
            applications: self.applications()?,
            shift_rows: 0,
            run: None,
            first_places: false,
        };
        together(&setting, options, ROUNDS)
    }
}
