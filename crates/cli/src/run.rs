//! `tombolo run`

use crate::arguments::{parse_bytes, MapArgument, Mode, SetArgument, Size, Value};
use crate::progress;
use card::kernel::{AccessMode, KernelPackage, Manifest};
use clap::Args;
use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use tombolo::{
    AddressSpace, Card, Continue, Error, FileState, FunctionalCard, FunctionalConfig, MapOptions,
    Mapping, OwnerOptions, Picoseconds, Report, SimOptions, Slot, SlotId, Timeline, Waves,
};

/// Runs a kernel on mapped files.
///
/// The kernel reads and writes the files through its address space: pages come to the card when the
/// kernel touches them, and what it wrote goes back to the files.
#[derive(Args)]
#[command(after_help = "Examples:
  Encrypt a file:
    tombolo run aes256ctr --map input=plain --map output=cipher:new \\
      --set 'bytes=size(input)' --set key=0x0001…1f --set iv=0xf0f1…ff
  Add two files of 32-bit integers, with a timeout and a JSON report:
    tombolo run vadd --map a=a.bin --map b=b.bin --map c=sum.bin:new \\
      --set length=1000 --deadline 10ms --json report.json
  A card memory smaller than the data:
    tombolo run copy --card-memory 16MiB --map input=big --map output=big2:new \\
      --set 'bytes=size(input)'
  Pages of 64 KiB for one file, of 2 MiB (the default) for the other:
    tombolo run copy --map input=a:page=64KiB --map output=b:new --set 'bytes=size(input)'
  See what happened, on a timeline and cycle for cycle:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' \\
      --trace run.pftrace --wave run.fst --wave-from 50us --wave-for 5us")]
pub struct Run {
    /// A kernel's folder, or the name of one in `kernels/`.
    kernel: String,

    /// Maps a file and passes its address:
    /// ARGUMENT=FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE].
    #[arg(long = "map", value_name = "ARGUMENT=FILE")]
    maps: Vec<MapArgument>,

    /// Sets an argument: ARGUMENT=VALUE; a number, bytes as 0x…, or size(ARGUMENT).
    #[arg(long = "set", value_name = "ARGUMENT=VALUE")]
    sets: Vec<SetArgument>,

    /// The platform to simulate: a name in platforms/, or a file.
    #[arg(long, default_value = "f1")]
    platform: String,

    /// Memory of the card, shared evenly by its channels (default: all of the platform's).
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    card_memory: Option<u64>,

    /// Gives up after this much virtual time, for example 500us, 10ms, 2s.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    deadline: Option<Picoseconds>,

    /// Files count as cold: they are read from storage, not from the page cache.
    #[arg(long)]
    cold: bool,

    /// Runs the kernel's reference model on the functional card: no RTL, no time.
    #[arg(long)]
    functional: bool,

    /// Evaluates every clock edge, idle or not. Results are the same, only slower.
    #[arg(long)]
    no_idle_skipping: bool,

    /// Writes a timeline of everything that happens, for <https://ui.perfetto.dev>.
    #[arg(long, value_name = "FILE", conflicts_with = "functional")]
    trace: Option<PathBuf>,

    /// Writes waveforms: waves.fst gives waves.kernel-0.fst and, if asked for, waves.shell.fst.
    #[arg(long, value_name = "FILE.fst", conflicts_with = "functional")]
    wave: Option<PathBuf>,

    /// Whose waveforms. The shell's model is built for them, which takes minutes the first time.
    #[arg(long, value_enum, default_value_t = WaveOf::Kernel, requires = "wave")]
    wave_of: WaveOf,

    /// Waveforms begin at this virtual time.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "0ns", requires = "wave")]
    wave_from: Picoseconds,

    /// Waveforms last so long; files grow with it.
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "1ms", requires = "wave")]
    wave_for: Picoseconds,

    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Prints no report.
    #[arg(long, short)]
    quiet: bool,
}

/// Whose waveforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum WaveOf {
    /// The kernel's.
    Kernel,
    /// The shell's.
    Shell,
    /// Both.
    Both,
}

/// What ends a run badly.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The library's word.
    #[error(transparent)]
    Library(#[from] Error),
    /// Arguments that do not fit the kernel.
    #[error("{0}")]
    Arguments(String),
    /// The report, or another output, could not be written.
    #[error("{path}: {source}", path = .path.display())]
    Report {
        /// Where to.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

impl Failure {
    /// For `map_err`: a file that could not be written.
    fn writing(path: &Path) -> impl Fn(std::io::Error) -> Self + '_ {
        |source| Self::Report {
            path: path.to_owned(),
            source,
        }
    }

    /// The user's Ctrl-C.
    pub fn is_interruption(&self) -> bool {
        matches!(self, Self::Library(Error::Interrupted))
    }
}

impl From<card::CardError> for Failure {
    fn from(error: card::CardError) -> Self {
        Self::Library(error.into())
    }
}

impl Run {
    /// Does it. Several failures are possible: of the kernel, and of writing back what it wrote.
    pub fn run(self) -> Result<(), Vec<Failure>> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        // Without a handler Ctrl-C ends the process at once, as it does everywhere.
        let _ = ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed));

        let one = |failure: Failure| vec![failure];
        let folder = kernel_folder(&self.kernel).map_err(one)?;
        let manifest = KernelPackage::open(&folder)
            .map_err(|error| one(Error::from(error).into()))?
            .manifest;
        self.check(&manifest).map_err(one)?;
        let timeline = self.create_timeline().map_err(one)?;
        let card = self.open_card(timeline.as_ref()).map_err(one)?;
        let space = card.create_space().map_err(|error| one(error.into()))?;
        let mappings = self.map_files(&manifest, &space).map_err(one)?;
        let total = mappings.values().map(Mapping::bytes).sum();

        let mut failures = Vec::new();
        if let Err(failure) = self.run_kernel(&card, &folder, &space, &mappings, total, &stop) {
            failures.push(failure);
        }
        for mapping in mappings.into_values() {
            if let Err(error) = mapping.unmap() {
                failures.push(error.into());
            }
        }
        if let (Some(timeline), Some(path)) = (timeline, &self.trace) {
            failures.extend(timeline.finish().err().map(Failure::writing(path)));
        }
        if failures.is_empty() {
            self.report(&card).map_err(one)?;
            return Ok(());
        }
        Err(failures)
    }

    /// Says what is wrong with the arguments before anything is built or opened.
    fn check(&self, manifest: &Manifest) -> Result<(), Failure> {
        let names: Vec<&str> = manifest.arguments.iter().map(|a| a.name.as_str()).collect();
        let wrong = |text: String| Err(Failure::Arguments(text));
        let mut given: Vec<&str> = Vec::new();
        let maps = self.maps.iter().map(|map| (map.argument.as_str(), true));
        let sets = self.sets.iter().map(|set| (set.argument.as_str(), false));
        for (name, is_map) in maps.chain(sets) {
            let Some(argument) = manifest.arguments.iter().find(|a| a.name == name) else {
                return wrong(format!(
                    "kernel {} has no argument `{name}`; it has {}",
                    manifest.name,
                    names.join(", ")
                ));
            };
            if is_map && argument.port.is_none() {
                return wrong(format!("`{name}` is no pointer; use --set {name}=VALUE"));
            }
            if given.contains(&name) {
                return wrong(format!("argument `{name}` is given twice"));
            }
            given.push(name);
        }
        for name in names {
            if !given.contains(&name) {
                return wrong(format!(
                    "argument `{name}` of kernel {} is not given; use --map or --set",
                    manifest.name
                ));
            }
        }
        for set in &self.sets {
            if let Value::SizeOf(name) = &set.value {
                if !self.maps.iter().any(|map| &map.argument == name) {
                    return wrong(format!("size({name}): no file is mapped for `{name}`"));
                }
            }
        }
        Ok(())
    }

    fn create_timeline(&self) -> Result<Option<Timeline>, Failure> {
        let create = |path: &PathBuf| Timeline::create(path).map_err(Failure::writing(path));
        self.trace.as_ref().map(create).transpose()
    }

    fn open_card(&self, timeline: Option<&Timeline>) -> Result<Card, Failure> {
        if self.functional {
            return Ok(Card::functional(FunctionalCard::new(
                FunctionalConfig::default(),
            ))?);
        }
        let mut options = SimOptions::named(&self.platform)?;
        options.channel_bytes = self
            .card_memory
            .map(|bytes| bytes / u64::from(options.shell.channels.max(1)));
        options.idle_skipping = !self.no_idle_skipping;
        options.timeline = timeline.cloned();
        options.waves = self.wave.as_ref().map(|path| Waves {
            path: path.clone(),
            from: self.wave_from,
            span: self.wave_for,
            shell: self.wave_of != WaveOf::Kernel,
            kernels: self.wave_of != WaveOf::Shell,
        });
        let file_state = if self.cold {
            FileState::Cold
        } else {
            FileState::Warm
        };
        let owner = OwnerOptions {
            file_state,
            ..OwnerOptions::default()
        };
        let spinner = progress::spinner();
        let shown = spinner.clone();
        let card = Card::simulated(options, owner, move |what| {
            shown.set_message(what.to_string())
        });
        spinner.finish_and_clear();
        Ok(card?)
    }

    fn map_files(
        &self,
        manifest: &Manifest,
        space: &AddressSpace,
    ) -> Result<BTreeMap<String, Mapping>, Failure> {
        let mut mappings: BTreeMap<String, Mapping> = BTreeMap::new();
        // New files last: their size may be that of others.
        let (new, old): (Vec<_>, Vec<_>) = self
            .maps
            .iter()
            .partition(|map| matches!(map.mode, Mode::New(_)));
        for map in old.into_iter().chain(new) {
            let access = manifest
                .arguments
                .iter()
                .find(|argument| argument.name == map.argument)
                .map_or(AccessMode::ReadWrite, |argument| argument.access);
            let mut options = match &map.mode {
                Mode::ReadOnly => MapOptions::read_only(),
                Mode::AsNeeded if access == AccessMode::Read => MapOptions::read_only(),
                Mode::AsNeeded | Mode::ReadWrite => MapOptions::read_write(),
                Mode::New(size) => MapOptions::create(new_size(map, size.as_ref(), &mappings)?),
            }
            .offset(map.offset);
            if let Some(bytes) = map.bytes {
                options = options.bytes(bytes);
            }
            if let Some(size) = map.page_size {
                options = options.page_size(size);
            }
            let mapping = space.map_file(&map.file, options)?;
            mappings.insert(map.argument.clone(), mapping);
        }
        Ok(mappings)
    }

    fn run_kernel(
        &self,
        card: &Card,
        folder: &Path,
        space: &AddressSpace,
        mappings: &BTreeMap<String, Mapping>,
        total: u64,
        stop: &AtomicBool,
    ) -> Result<(), Failure> {
        let spinner = progress::spinner();
        spinner.set_message(format!("loading kernel {}", self.kernel));
        let loaded = card.load(SlotId(0), folder, space);
        spinner.finish_and_clear();
        let mut slot = loaded?;
        for (name, mapping) in mappings {
            slot.set_pointer(name, mapping.address())?;
        }
        for set in &self.sets {
            set_argument(&mut slot, set, mappings)?;
        }
        slot.start()?;
        let bar = progress::bytes(total);
        let result = slot.wait(self.deadline, |now| {
            progress::show(&bar, now);
            if stop.load(Ordering::Relaxed) {
                Continue::Stop
            } else {
                Continue::Yes
            }
        });
        bar.finish_and_clear();
        Ok(result?)
    }

    fn report(&self, card: &Card) -> Result<(), Failure> {
        let report = card.report()?;
        if !self.quiet {
            print(&report)?;
        }
        if let Some(path) = &self.json {
            let json = serde_json::to_string_pretty(&report)
                .map_err(std::io::Error::other)
                .and_then(|json| std::fs::write(path, json + "\n"));
            json.map_err(Failure::writing(path))?;
        }
        Ok(())
    }
}

/// A reader that has seen enough is no failure.
fn print(report: &Report) -> Result<(), Failure> {
    match writeln!(std::io::stdout(), "{report}") {
        Err(source) if source.kind() != ErrorKind::BrokenPipe => Err(Failure::Report {
            path: "standard output".into(),
            source,
        }),
        _ => Ok(()),
    }
}

fn new_size(
    map: &MapArgument,
    size: Option<&Size>,
    mappings: &BTreeMap<String, Mapping>,
) -> Result<u64, Failure> {
    let missing = |text: String| Failure::Arguments(text);
    match size {
        Some(Size::Bytes(bytes)) => Ok(*bytes),
        Some(Size::Of(name)) => mappings
            .get(name)
            .map(Mapping::bytes)
            .ok_or_else(|| missing(format!("size({name}): no file is mapped for `{name}`"))),
        None => mappings.values().map(Mapping::bytes).max().ok_or_else(|| {
            missing(format!(
                "{}: how large shall the new file be? No other file is mapped; write :new=BYTES",
                map.file.display()
            ))
        }),
    }
}

fn set_argument(
    slot: &mut Slot,
    set: &SetArgument,
    mappings: &BTreeMap<String, Mapping>,
) -> Result<(), Failure> {
    match &set.value {
        Value::Number(number) => slot.set(&set.argument, *number)?,
        Value::Bytes(bytes) => slot.set_bytes(&set.argument, bytes)?,
        Value::SizeOf(name) => {
            slot.set(&set.argument, mappings.get(name).map_or(0, Mapping::bytes))?;
        }
    }
    Ok(())
}

/// A folder with a `kernel.toml`, or the name of one in `kernels/`.
fn kernel_folder(name: &str) -> Result<PathBuf, Failure> {
    let direct = PathBuf::from(name);
    if direct.join("kernel.toml").is_file() {
        return Ok(direct);
    }
    let library = card::sim::home().join("kernels");
    let known = library.join(name);
    if known.join("kernel.toml").is_file() {
        return Ok(known);
    }
    let mut names: Vec<String> = std::fs::read_dir(&library)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| entry.path().join("kernel.toml").is_file())
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    Err(Failure::Arguments(format!(
        "no kernel `{name}`: there is no {name}/kernel.toml, and {} has {}",
        library.display(),
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    )))
}

fn parse_time(text: &str) -> Result<Picoseconds, String> {
    let units = [
        ("ns", 1_000),
        ("us", 1_000_000),
        ("ms", 1_000_000_000),
        ("s", 1_000_000_000_000),
    ];
    let parsed = units.iter().find_map(|(unit, scale): &(&str, u64)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        number.checked_mul(*scale).map(Picoseconds::new)
    });
    parsed.ok_or_else(|| "write a whole number and a unit: 500us, 10ms, 2s".to_owned())
}
