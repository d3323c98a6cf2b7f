//! `tombolo lab`: the papers' experiments, with our figures next to the published ones.

use crate::lab_files::{at, can_be_written, write};
use crate::lab_fsrf::FsrfOptions;
use crate::print::{print, say};
use clap::{Args, Subcommand, ValueEnum};
use lab::experiment::cckit::{Cckit, Figure};
use lab::experiment::fleximem::{
    self, area, components, features, lanes::LaneFigure, FlexiMem, FleximemFigures,
};
use lab::experiment::vfpio::priorities::Figure6;
use lab::experiment::vfpio::{self, resources, Device, Vfpio};
use lab::experiment::Failure;
use std::path::PathBuf;
use std::time::Instant;
use tombolo::{Card, OwnerOptions};

/// Runs experiments of the papers on simulated cards and prints our figures next to the published ones.
#[derive(Args)]
#[command(after_help = "\
Examples:
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

FSRF's results are kept in the folder `cells` of the cache, by the hash of everything that they depend on, so an
interrupted run continues where it stopped (docs/lab.md). The first run builds the shells' models, some minutes each.
Cells run concurrently, one per core; each is deterministic. Experiments are files in the folder `experiments`, systems
are presets.")]
pub struct Lab {
    #[command(subcommand)]
    paper: Paper,
}

#[derive(Subcommand)]
enum Paper {
    /// FSRF, table 2, figures 5 to 9 and fairness: files in FPGA virtual memory, compared with Coyote's TLB, AmorphOS
    /// and physical addresses.
    Fsrf(FsrfOptions),
    /// FlexiMem: an array in the program's memory updated in place, by page size (figures 7 and 8), the interconnect by
    /// address lanes (figure 6, table II), components (table III), features of systems (table I).
    Fleximem(Shared),
    /// vFPIO, figures 5 to 7, tables 4 to 6: kernels with streams, each on card memory, on host memory and over the
    /// network; a kernel with priority; area of the shell's parts (needs Yosys, some minutes the first time).
    Vfpio(Streams),
    /// CCKit, tables 1 to 3 and figures 6 to 10: loads and streams through the directory, and applications on top of
    /// it. Table 1 needs Yosys.
    Cckit(Coherent),
}

#[derive(Args)]
struct Coherent {
    /// Runs only table 2 and figures 7 and 10.
    #[arg(long)]
    quick: bool,

    /// Runs only these (table1, table2, table3, figure6 to figure10, and their variants; an unknown name lists all).
    #[arg(long, value_name = "NAME")]
    figure: Vec<String>,

    /// Writes one line per point to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Draws each figure into this folder, as NAME.svg.
    #[arg(long, value_name = "DIR")]
    pictures: Option<PathBuf>,
}

impl Coherent {
    fn run(&self) -> Result<(), Failure> {
        can_be_written(&[&self.csv])?;
        let experiment = Cckit::read(&simcard::home().join("experiments"), lab::BARS)?;
        let names = experiment.figure.iter().map(|one| one.name.as_str());
        let known = names.collect::<Vec<_>>().join(", ");
        for name in &self.figure {
            if experiment.figure(name).is_none() {
                return Err(format!("no figure `{name}`; there are {known}").into());
            }
        }
        let chosen = |figure: &&Figure| {
            (!self.quick || figure.quick)
                && (self.figure.is_empty() || self.figure.contains(&figure.name))
        };
        let figures: Vec<&Figure> = experiment.figure.iter().filter(chosen).collect();
        if figures.is_empty() {
            return Err("none of the selected figures is quick".into());
        }
        let mut pictures: Vec<Option<PathBuf>> = Vec::new();
        if let Some(folder) = &self.pictures {
            std::fs::create_dir_all(folder).map_err(at(folder))?;
            let path = |figure: &&Figure| Some(folder.join(format!("{}.svg", figure.name)));
            pictures = figures.iter().map(path).collect();
            can_be_written(&pictures.iter().collect::<Vec<_>>())?;
        }
        let outcome = experiment.run(&figures, |ended| {
            let failed = ended.failure.map(|why| format!(": failed: {why}"));
            say!(
                "[{}/{}] {}{} ({:.0} s)",
                ended.done,
                ended.of,
                ended.name,
                failed.unwrap_or_default(),
                ended.took.as_secs_f64()
            );
        });
        print(experiment.table(&figures, &outcome))?;
        if let Some(path) = &self.csv {
            write(path, experiment.comma_separated(&figures, &outcome))?;
        }
        for (figure, path) in figures.iter().zip(pictures.iter().flatten()) {
            write(path, figure.picture(&experiment.rows, &outcome))?;
        }
        match outcome.failures.len() {
            0 => Ok(()),
            failed => Err(format!("{failed} measurements failed").into()),
        }
    }
}

#[derive(Args)]
struct Streams {
    /// Runs only these applications (names as in the table), and nothing else.
    #[arg(long, conflicts_with = "part")]
    application: Vec<String>,

    /// Runs only these parts.
    #[arg(long)]
    part: Vec<StreamPart>,

    /// Writes a page with plots, tables and a verdict per figure to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StreamPart {
    /// Figure 5 and table 5: each kernel on card memory, on host memory and over the network.
    Applications,
    /// Table 4: lines and branches of the user logic.
    Complexity,
    /// Figure 6: a kernel with priority, concurrently with two others.
    Priorities,
    /// Figure 7: latency of transfers by size.
    Latency,
    /// Table 6: area of the shell's parts (needs Yosys, some minutes the first time).
    Resources,
}

impl Streams {
    fn has(&self, part: StreamPart) -> bool {
        match self.application.is_empty() {
            true => self.part.is_empty() || self.part.contains(&part),
            false => part == StreamPart::Applications,
        }
    }

    fn run(&self) -> Result<(), Failure> {
        can_be_written(&[&self.html])?;
        let experiment = Vfpio::read(&simcard::home().join("experiments"))?;
        let names = experiment.application.iter().map(|one| one.name.as_str());
        let known = names.collect::<Vec<_>>().join(", ");
        for name in &self.application {
            if experiment.application(name).is_none() {
                return Err(format!("no application `{name}`; there are {known}").into());
            }
        }
        let open = || {
            let options = experiment.options()?;
            let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
            Ok::<_, Failure>(card)
        };
        let mut measured = vfpio::VfpioFigures::default();
        if self.has(StreamPart::Applications) {
            let named = |name| self.application.is_empty() || self.application.contains(name);
            let chosen = experiment.application.iter().filter(|one| named(&one.name));
            let mut outcomes = Vec::new();
            for one in chosen {
                say!("{}", one.name);
                outcomes.push((one, experiment.run(&open()?, one)?));
            }
            print(experiment.throughput(&outcomes))?;
            measured.applications = Some(outcomes);
        }
        if self.has(StreamPart::Priorities) {
            say!("figure 6");
            let figure = Figure6::measure()?;
            print(figure.table(experiment.priorities.paper))?;
            measured.priorities = Some(figure);
        }
        if self.has(StreamPart::Latency) {
            say!("figure 7");
            let host = experiment.latency(&open()?, Device::Host)?;
            let card = experiment.latency(&open()?, Device::Card)?;
            print(experiment.latencies(&host, &card))?;
            measured.latency = Some([host, card]);
        }
        if self.has(StreamPart::Complexity) {
            print(experiment.complexity()?)?;
        }
        let mut failed = 0;
        if self.has(StreamPart::Resources) {
            let lines = &experiment.resource;
            let mapped = resources::measure(lines, |block| say!("mapping {block}"));
            print(resources::table(lines, &mapped))?;
            failed = resources::failures(&mapped);
            measured.resources = Some(mapped);
        }
        let study = vfpio::study(&experiment, &measured);
        print(format_args!("\n{}", study.verdicts()))?;
        if let Some(path) = &self.html {
            write(path, study.to_string())?;
        }
        match failed {
            0 => Ok(()),
            failed => Err(format!("{failed} lines of table 6 were not measured").into()),
        }
    }
}

#[derive(Args)]
struct Shared {
    /// Fits the accelerator's rate and the host's costs to the paper's ratios, instead of using those in
    /// `experiments/fleximem.toml` and `hosts/fleximem.toml`; prints them.
    #[arg(long)]
    fit: bool,

    /// Runs only these parts.
    #[arg(long)]
    part: Vec<FlexiMemPart>,

    /// Writes one line per page size to this file; without pages among the parts, one line per number of lanes and
    /// length.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,

    /// Writes a page with plots, tables and a verdict per figure to this file.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum FlexiMemPart {
    /// Table I: features of systems.
    Features,
    /// Figures 7 and 8: shared pointers, by page size.
    Pages,
    /// Figure 6: rows a cycle by address lanes and burst length. The first run builds six test benches, a minute or
    /// more each.
    Lanes,
    /// Table II: area of the interconnect, by address lanes; some minutes.
    Area,
    /// Table III: area of TLBs, walker, table engine and DMA, compared with the paper's components; some minutes.
    Components,
}

impl Shared {
    fn has(&self, part: FlexiMemPart) -> bool {
        self.part.is_empty() || self.part.contains(&part)
    }

    fn run(&self) -> Result<(), Failure> {
        can_be_written(&[&self.csv, &self.html])?;
        let experiment = FlexiMem::read(&simcard::home().join("experiments"))?;
        if self.fit {
            let told = |fitted: &_| say!("{fitted:?}");
            print(format_args!("{:?}\n", experiment.fit(told)?))?;
            return Ok(());
        }
        let mut measured = FleximemFigures::default();
        if self.has(FlexiMemPart::Features) {
            print(format_args!("{}\n", features::table()))?;
        }
        if self.has(FlexiMemPart::Pages) {
            let mut tell = steps("pages", experiment.steps());
            let pages = experiment.pages(&mut tell)?;
            print(format_args!("{}\n", experiment.table(&pages)))?;
            if let Some(path) = &self.csv {
                write(path, experiment.comma_separated(&pages))?;
            }
            measured.pages = Some(pages);
        }
        if self.has(FlexiMemPart::Lanes) {
            let figure = LaneFigure::measure(&mut |progress| say!("{progress}"))?;
            print(format_args!("{}\n", figure.table()))?;
            if let Some(path) = self.csv.as_ref().filter(|_| !self.has(FlexiMemPart::Pages)) {
                write(path, figure.comma_separated())?;
            }
            measured.lanes = Some(figure);
        }
        if self.has(FlexiMemPart::Area) {
            let areas = area::measure(steps("area", area::STEPS))?;
            print(format_args!("{}\n", area::table(&experiment, &areas)))?;
            measured.area = Some(areas);
        }
        if self.has(FlexiMemPart::Components) {
            let costs = components::measure(
                &experiment.component,
                steps("components", components::steps(&experiment.component)),
            )?;
            print(format_args!(
                "{}\n",
                components::table(&experiment.component, &costs)
            ))?;
            measured.components = Some(costs);
        }
        let study = fleximem::study(&experiment, &measured);
        print(study.verdicts())?;
        match &self.html {
            Some(path) => write(path, study.to_string()),
            None => Ok(()),
        }
    }
}

/// Reports the progress of a part: step, number of steps, time since its start.
fn steps(part: &'static str, of: usize) -> impl FnMut(&str) {
    let began = Instant::now();
    let mut step = 0;
    move |what| {
        step += 1;
        let spent = began.elapsed().as_secs_f64();
        say!("{part} [{step}/{of}] {what} ({spent:.0} s)");
    }
}

impl Lab {
    /// Runs the chosen paper's experiments and prints their tables.
    ///
    /// # Errors
    /// An experiment that cannot be read, a name that it does not have, work that failed.
    pub fn run(&self) -> Result<(), Failure> {
        match &self.paper {
            Paper::Fsrf(choice) => choice.run(),
            Paper::Fleximem(shared) => shared.run(),
            Paper::Vfpio(streams) => streams.run(),
            Paper::Cckit(coherent) => coherent.run(),
        }
    }
}
