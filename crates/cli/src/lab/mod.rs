//! `tombolo lab`: the papers' experiments, with our figures next to the published ones.

mod all;
mod cckit;
mod files;
mod fleximem;
mod fsrf;
mod run;
mod sweep;
mod vfpio;

use all::AllOptions;
use cckit::CckitOptions;
use clap::{Args, Subcommand};
use fleximem::FleximemOptions;
use fsrf::FsrfOptions;
use lab::experiment::Failure;
use sweep::SweepOptions;
use vfpio::VfpioOptions;

/// Runs experiments of the papers on simulated cards and prints our figures next to the published ones.
#[derive(Args)]
#[command(after_help = "\
Examples:
  tombolo lab all --html pages              the four papers: pages/index.html and a page each
  tombolo lab all --html pages --quick      what takes minutes only
  tombolo lab all --kept --csv values.csv   from results of earlier runs: one line per published value
  tombolo lab fsrf --quick                  data on the card, small sets: a few minutes the first time
  tombolo lab fsrf --html fsrf.html         table 2 and figures 5 to 9, also as a page; half an hour
  tombolo lab fsrf --part figure7           different applications, concurrently
  tombolo lab fsrf --workload rng_read --temperature hot --csv cells.csv
  tombolo lab fsrf --workload gups --size oversubscribed   data larger than card memory
  tombolo lab fsrf --experiment fsrf-figure8   random reads by size, on the DRAM TLB
  tombolo lab fleximem                      shared pointers, by page size; the interconnect, by address lanes
  tombolo lab fleximem --part lanes         figure 6 alone
  tombolo lab fleximem --html fleximem.html   all of it as a page: plots, tables, a verdict a figure
  tombolo lab vfpio                         kernels with streams, on each device
  tombolo lab vfpio --application sha3
  tombolo lab vfpio --part resources        table 6 alone: what the shell's parts cost
  tombolo lab vfpio --part priorities --html vfpio.html   figure 6 alone, as a page
  tombolo lab cckit                         the directory: loads, streams, and four applications
  tombolo lab cckit --quick
  tombolo lab cckit --figure figure8 --pictures .
  tombolo lab sweep experiments/sweeps/example.toml --no-area --html sweep.html   many shells and platforms

Results are kept in the folder `cells` of the cache, by the hash of everything that they depend on, so an
interrupted run continues where it stopped (docs/lab.md). The first run builds the shells' models, some minutes each.
Jobs run concurrently, one per core; each is deterministic. Experiments are files in the folder `experiments`, systems
are presets.")]
pub struct Lab {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// All four papers, one after the other: a page each, and an index page with a verdict per paper and figure.
    All(AllOptions),
    /// A workload on every combination of some fields' values of a shell and a platform, with the Pareto front of
    /// throughput over area.
    Sweep(SweepOptions),
    /// FSRF, table 2, figures 5 to 9 and fairness: files in FPGA virtual memory, compared with Coyote's TLB, AmorphOS
    /// and physical addresses.
    Fsrf(FsrfOptions),
    /// FlexiMem: an array in the program's memory updated in place, by page size (figures 7 and 8), the interconnect by
    /// address lanes (figure 6, table II), components (table III), features of systems (table I).
    Fleximem(FleximemOptions),
    /// vFPIO, figures 5 to 7, tables 4 to 6: kernels with streams, each on card memory, on host memory and over the
    /// network; a kernel with priority; area of the shell's parts (needs Yosys, some minutes the first time).
    Vfpio(VfpioOptions),
    /// CCKit, tables 1 to 3 and figures 6 to 10: loads and streams through the directory, and applications on top of
    /// it. Table 1 needs Yosys.
    Cckit(CckitOptions),
}

impl Lab {
    /// Runs the chosen paper's experiments and prints their tables.
    ///
    /// # Errors
    /// An experiment that cannot be read, a name that it does not have, work that failed.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.paper {
            Paper::All(options) => options.run(),
            Paper::Sweep(options) => options.run(),
            Paper::Fsrf(options) => options.run(),
            Paper::Fleximem(options) => options.run(),
            Paper::Vfpio(options) => options.run(),
            Paper::Cckit(options) => options.run(),
        }
    }
}
