//! `tombolo run`

mod coherent;
mod files;
mod page;
mod report;

use crate::arguments::{
    parse_bytes, ConnectArgument, MapArgument, Mode, ScheduleArgument, SetArgument, Value,
};
use crate::connect;
use crate::outputs::{Outputs, Place};
use crate::progress;
use card::kernel::{AccessMode, ControlProtocol, KernelPackage, Manifest};
use card::stream::StreamDirection;
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::Args;
use coherent::Accesses;
use files::{Opened, Ready};
use report::ReportFile;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::Arc;
use tombolo::{
    AddressSpace, Card, Continue, Error, FileState, Flowed, FunctionalCard, FunctionalConfig,
    Mapping, OwnerOptions, Picoseconds, Preset, PresetError, ShellConfig, SimOptions, Slot, SlotId,
    Timeline, WaveStart, Waves,
};

/// Card memory behind the directory for a kernel that is beside it.
const HOME_BYTES: u64 = 16 << 20;

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
  On Coyote's TLB, as FSRF's evaluation has it:
    tombolo run copy --preset coyote-2m --map input=a --map output=b:new --set 'bytes=size(input)'
  A file through a kernel with streams, into another:
    tombolo run loopback --connect in=file:a --connect out=file:b:new
  A part of a pipeline of commands:
    cat a | tombolo run loopback --connect in=- --connect out=- >b
  A kernel that serves cache lines, and the accesses of a coherent CPU to them:
    tombolo run rpc --coherent --access accesses --history --set base=0x10000000 --set handler=0 \
      --set calls=0 --set contexts=0
  See where the time went, in a browser:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' --html run.html
  See what happened, on a timeline and cycle for cycle:
    tombolo run copy --map input=a --map output=b:new --set 'bytes=size(input)' \\
      --trace run.pftrace --wave run.fst --wave-from first-activity --wave-for 5us")]
pub struct Run {
    /// A kernel's folder, or the name of one in `kernels/`.
    kernel: PathBuf,

    /// Maps a file and passes its address:
    /// ARGUMENT=FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:memory=KIND].
    /// New files are as large as the largest file that is mapped and there already, or as BYTES or
    /// size(ARGUMENT) says; they appear whole, when the run has succeeded, or not at all. A name that ends
    /// like an option needs one behind it: x:new:rw is the file x:new. See docs/command.md.
    #[arg(long = "map", value_name = "ARGUMENT=FILE",
          value_parser = OsStringValueParser::new().try_map(|text| MapArgument::parse(&text)))]
    maps: Vec<MapArgument>,

    /// Connects a stream port to a device:
    /// PORT=file:FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:memory=KIND]. The
    /// file goes into the kernel as one packet; a packet that comes out ends the run, or a full file does. Others are
    /// pipes, sockets, the standard input and output (-): `tombolo devices` lists them.
    #[arg(long = "connect", value_name = "PORT=DEVICE:…",
          value_parser = OsStringValueParser::new().try_map(|text| ConnectArgument::parse(&text)))]
    connections: Vec<ConnectArgument>,

    /// The files of both.
    #[arg(skip)]
    files: Vec<MapArgument>,

    /// Sets an argument: ARGUMENT=VALUE; a number, bytes as 0x…, or size(ARGUMENT).
    #[arg(long = "set", value_name = "ARGUMENT=VALUE",
          value_parser = OsStringValueParser::new().try_map(|text| SetArgument::parse(&text)))]
    sets: Vec<SetArgument>,

    /// What a slot gets of card memory: SLOT=low|normal|high|urgent[,weight=N][,floor=PERCENT][,limit=BYTES].
    /// The kernel is in slot 0. Priority, weight and floor matter where other slots want card memory too; the
    /// limit, in bytes a second, holds for the slot's reads and for its writes. See docs/command.md.
    #[arg(long = "priority", value_name = "SLOT=PRIORITY",
          value_parser = text().try_map(|text| ScheduleArgument::parse(&text)))]
    priorities: Vec<ScheduleArgument>,

    /// The platform to simulate: a name in platforms/, or a file (default: f1; with --coherent enzian).
    #[arg(long, default_value = "f1", default_value_if("coherent", "true", "enzian"), value_parser = text())]
    platform: String,

    /// A card beside a coherent CPU: the kernel serves cache lines (ports of kind axi4_home), and --access says what the
    /// CPU does with them. The run ends with the last access. See docs/tutorials/coherent-lines.md.
    #[arg(long, requires = "access", conflicts_with_all = ["functional", "preset", "shell"])]
    coherent: bool,

    /// Accesses of the CPU's cores, a line each: [CORE:] load|load-exclusive|store|prefetch|flush|clean ADDRESS [BYTES]
    /// [&]. BYTES, of a store, as 0x…; with & the next access does not wait for it, `wait` does. - is the standard input.
    #[arg(long, value_name = "FILE", requires = "coherent")]
    access: Option<PathBuf>,

    /// Prints what happened to the first eight lines that the accesses use, message by message.
    #[arg(long, requires = "coherent")]
    history: bool,

    /// A system to run on instead of the default one: tombolo, fsrf (with the TLB that suits the data; fsrf-sram,
    /// fsrf-dram), coyote-4k, coyote-2m, amorphos, physical. See docs/presets.md.
    #[arg(long, value_name = "NAME", value_parser = text(), conflicts_with = "functional")]
    preset: Option<String>,

    /// The same from a file of your own: shell, page size, read-ahead, striping. See docs/presets.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "functional"])]
    shell: Option<PathBuf>,

    /// Memory of the card, shared evenly by its channels (default: all of the platform's).
    #[arg(long, value_name = "BYTES", value_parser = text().try_map(|text| parse_bytes(&text)))]
    card_memory: Option<u64>,

    /// Gives up after this much virtual time, for example 500us, 10ms, 2s.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)))]
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

    /// Runs the shell's model with all assertions of its RTL and of AXI. Results are the same, only slower.
    #[arg(long = "assert", conflicts_with = "functional")]
    asserting: bool,

    /// Writes a timeline of everything that happens, for <https://ui.perfetto.dev>.
    #[arg(long, value_name = "FILE", conflicts_with = "functional")]
    trace: Option<PathBuf>,

    /// Writes waveforms: waves.fst gives waves.kernel-0.fst and, if asked for, waves.shell.fst.
    #[arg(long, value_name = "FILE.fst", conflicts_with = "functional")]
    wave: Option<PathBuf>,

    /// Whose waveforms. The shell's model is built for them, which takes minutes the first time.
    #[arg(long, value_enum, default_value_t = WaveOf::Kernel, requires = "wave")]
    wave_of: WaveOf,

    /// Waveforms begin at this virtual time, or with `first-activity`: the first row of data at a port of
    /// the kernel, which is when its first page has come.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_start(&text)),
          default_value = "0ns", requires = "wave")]
    wave_from: WaveStart,

    /// Waveforms last so long; files grow with it.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)), default_value = "1ms", requires = "wave")]
    wave_for: Picoseconds,

    /// Writes the report as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes a page that says where the time went: what was busy when, what waited for what, faults, a map of
    /// the pages. It is one file that needs no network; with --trace it links to the timeline.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

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
}

impl From<PresetError> for Failure {
    fn from(error: PresetError) -> Self {
        Self::Arguments(error.to_string())
    }
}

impl From<card::CardError> for Failure {
    fn from(error: card::CardError) -> Self {
        Self::Library(error.into())
    }
}

/// A text; an error of other bytes names the option.
fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let wrong = |text: OsString| format!("{} is not UTF-8", text.to_string_lossy());
        text.into_string().map_err(wrong)
    })
}

/// The outputs that are no mapped files.
#[derive(Default)]
struct Written {
    timeline: Option<Timeline>,
    waves: Option<Waves>,
    report: Option<ReportFile>,
    page: Option<ReportFile>,
}

impl Run {
    /// Does it. Several failures are possible: of the kernel, and of writing back what it wrote.
    ///
    /// Everything that can be refused without the card comes first, and nothing that is there is changed
    /// before the end: outputs are made beside their places.
    pub fn run(mut self) -> Result<(), Vec<Failure>> {
        let connected = self.connections.iter().filter_map(ConnectArgument::file);
        self.files = self.maps.iter().chain(connected).cloned().collect();
        let mut outputs = Outputs::default();
        let result = self.run_with(&mut outputs);
        // Waveforms are complete when the card is gone, which it is by now.
        let named = |(path, source): (PathBuf, _)| Failure::Report { path, source };
        let finished = outputs.finish(result.is_ok()).map_err(named);
        match (result, finished) {
            (Ok(()), Ok(())) => Ok(()),
            (Ok(()), Err(failure)) => Err(vec![failure]),
            (Err(mut failures), finished) => {
                failures.extend(finished.err());
                Err(failures)
            }
        }
    }

    fn run_with(&self, outputs: &mut Outputs) -> Result<(), Vec<Failure>> {
        let one = |failure: Failure| vec![failure];
        let folder = kernel_folder(&self.kernel).map_err(one)?;
        let kernel =
            KernelPackage::open(&folder).map_err(|error| one(Error::from(error).into()))?;
        self.check(&kernel.manifest).map_err(one)?;
        let accesses = self.access.as_deref().map(Accesses::read);
        let accesses = accesses.transpose().map_err(one)?;
        if !self.functional {
            // A platform or preset that is not there, or does not fit.
            self.open_options(&kernel.manifest, 0).map_err(one)?;
        }
        let (planned, mut written) = self.prepare(&kernel, outputs).map_err(one)?;
        let total = planned
            .iter()
            .fold(0u64, |sum, file| sum.saturating_add(file.bytes));

        let (card, preset) = self
            .open_card(&kernel.manifest, &written, total)
            .map_err(one)?;
        let space = match &preset {
            Some(preset) => preset.create_space(&card, 0),
            None => card.create_space(),
        };
        let space = space.map_err(|error| one(error.into()))?;
        let ends = ends_of(&planned, &kernel.manifest).map_err(one)?;
        let mappings = map_files(&space, planned).map_err(one)?;
        let names = page::Names::of(self, &kernel.manifest, &space, &mappings);
        let mut failures = Vec::new();
        let mut flowed = Vec::new();
        match self.run_kernel(&card, &folder, &space, &mappings, total, accesses.as_ref()) {
            // What a kernel did that failed is worth seeing; a run that did not begin did nothing.
            Ok(result) => {
                outputs.keep_records(true);
                match result {
                    Ok(through) => flowed = through,
                    Err(error) => failures.push(error.into()),
                }
            }
            Err(failure) => failures.push(failure),
        }
        for mapping in mappings.into_values() {
            if let Err(error) = mapping.unmap() {
                failures.push(error.into());
            }
        }
        for port in &flowed {
            if let Some(end) = ends.get(&port.port) {
                failures.extend(end.cut(port.bytes).err());
            }
        }
        // Once, for the text, the JSON and the page: it takes time of the card to ask it.
        let report = match failures.is_empty() || written.page.is_some() {
            true => card.report().map(Some),
            false => Ok(None),
        };
        let report = report.unwrap_or_else(|error| {
            failures.push(error.into());
            None
        });
        if let (Some(file), Some(report)) = (written.page.take(), &report) {
            let timeline = written.timeline.as_ref();
            let result = page::write(self, report, &names, timeline, &failures, file);
            failures.extend(result.err());
        }
        if let (Some(timeline), Some(path)) = (written.timeline.take(), &self.trace) {
            if let Err(error) = timeline.finish() {
                outputs.keep_records(false);
                failures.push(Failure::writing(path)(error));
            }
        }
        if let Some(waves) = &written.waves {
            self.warn_if_flat(&card, waves);
        }
        let place = match connect::fills_standard_output(&self.connections, &kernel.manifest) {
            _ if self.quiet => report::To::Nobody,
            true => report::To::StandardError,
            false => report::To::StandardOutput,
        };
        if let Some(report) = report.filter(|_| failures.is_empty()) {
            let result = report::write(&report, place, written.report);
            failures.extend(result.err());
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures),
        }
    }

    /// Opens inputs, finds outputs, holds them against one another, and begins the outputs.
    fn prepare(
        &self,
        kernel: &KernelPackage,
        outputs: &mut Outputs,
    ) -> Result<(Vec<Ready<'_>>, Written), Failure> {
        let access_of = |name: &str| {
            let stream = kernel.manifest.stream(name).map(|(port, _)| port.direction);
            match (kernel.manifest.argument(name), stream) {
                (Some(argument), _) => argument.access,
                (None, Some(StreamDirection::In)) => AccessMode::Read,
                (None, _) => AccessMode::ReadWrite,
            }
        };
        let planned = files::plan(&self.files, access_of)?;
        let find = |path: &PathBuf| Place::find(path).map_err(Failure::writing(path));
        let report = self.json.as_ref().map(find).transpose()?;
        let page = self.html.as_ref().map(find).transpose()?;
        let trace = self.trace.as_ref().map(find).transpose()?;
        let waves = self
            .wave_files()
            .iter()
            .map(find)
            .collect::<Result<Vec<_>, _>>()?;
        let fills = connect::fills_standard_output(&self.connections, &kernel.manifest);
        if fills && report.as_ref().is_some_and(Place::is_standard_output) {
            let text = "--json: a port writes the standard output; name another file";
            return Err(Failure::Arguments(text.to_owned()));
        }
        let mut others: Vec<(&str, &Place)> = Vec::new();
        others.extend(report.iter().map(|place| (files::REPORT, place)));
        others.extend(page.iter().map(|place| ("--html", place)));
        others.extend(trace.iter().map(|place| ("--trace", place)));
        others.extend(waves.iter().map(|place| ("--wave", place)));
        let platform = Path::new(&self.platform);
        files::refuse_clashes(&planned, &others, kernel, Some(platform))?;

        let ready: Result<Vec<_>, _> = planned
            .into_iter()
            .map(|file| file.begin(outputs))
            .collect();
        let ready = ready?;
        let mut written = Written::default();
        if let Some(place) = report {
            let name = place.named.clone();
            let file = ReportFile::begin(place, outputs, false).map_err(Failure::writing(&name))?;
            written.report = Some(file);
        }
        if let Some(place) = page {
            let name = place.named.clone();
            let file = ReportFile::begin(place, outputs, true).map_err(Failure::writing(&name))?;
            written.page = Some(file);
            written.timeline = (!self.functional).then(Timeline::recorder);
        }
        if let Some(place) = trace {
            let name = place.named.clone();
            let record = self.html.is_some();
            let timeline =
                begin_timeline(place, outputs, record).map_err(Failure::writing(&name))?;
            written.timeline = Some(timeline);
        }
        written.waves = self.begin_waves(waves, outputs)?;
        Ok((ready, written))
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
        match (self.coherent, manifest.lines.len()) {
            (true, 0) => {
                return wrong(format!(
                    "--coherent: kernel {} has nothing to do with cache lines: it has no port of kind axi4_home or \
                     line_operations",
                    manifest.name
                ))
            }
            (false, 1..) => {
                return wrong(format!(
                    "kernel {} uses cache lines (ports of kind line_operations): it needs --coherent and --access",
                    manifest.name
                ))
            }
            _ => {}
        }
        if let Some(text) = connect::wrong(&self.connections, manifest) {
            return wrong(text);
        }
        if let Some(other) = self.priorities.iter().find(|priority| priority.slot != 0) {
            return wrong(format!(
                "--priority {}=…: the kernel of this command is in slot 0, and no other slot has one",
                other.slot
            ));
        }
        for priority in &self.priorities {
            priority.schedule.check(SlotId(priority.slot))?;
        }
        for set in &self.sets {
            check_size(manifest, set)?;
            if let Value::SizeOf(name) = &set.value {
                if !self.files.iter().any(|map| &map.argument == name) {
                    return wrong(format!("size({name}): no file is mapped for `{name}`"));
                }
            }
        }
        Ok(())
    }

    /// Waveforms of a stretch in which nothing happened are seldom what was wanted.
    fn warn_if_flat(&self, card: &Card, waves: &Waves) {
        if waves.changed.load(Ordering::Relaxed) {
            return;
        }
        let stretch = match self.wave_from {
            WaveStart::At(from) => format!("in the {} from {from} on", self.wave_for),
            WaveStart::FirstActivity => "because no row of data crossed a port".to_owned(),
        };
        let ended = card.describe().map_or_else(
            |_| String::new(),
            |(_, now)| format!("; the run ended at {now}"),
        );
        let advice = match self.wave_from {
            WaveStart::At(_) => ". `--wave-from first-activity` begins with the first row of data",
            WaveStart::FirstActivity => ". `--wave-from 0ns` begins with the run",
        };
        let name = self.wave_files().into_iter().next().unwrap_or_default();
        eprintln!(
            "tombolo: warning: {} is flat: nothing changed {stretch}{ended}{advice}",
            name.display()
        );
    }

    /// The files that `--wave` makes.
    fn wave_files(&self) -> Vec<PathBuf> {
        self.wave
            .iter()
            .flat_map(|path| self.waves_at(path))
            .collect()
    }

    /// The same, named after another file.
    fn waves_at(&self, path: &Path) -> Vec<PathBuf> {
        let waves = self.waves(path);
        let kernel = waves.kernels.then(|| waves.file("kernel-0"));
        kernel
            .into_iter()
            .chain(waves.shell.then(|| waves.file("shell")))
            .collect()
    }

    fn waves(&self, path: &Path) -> Waves {
        Waves {
            path: path.to_owned(),
            from: self.wave_from,
            span: self.wave_for,
            shell: self.wave_of != WaveOf::Kernel,
            kernels: self.wave_of != WaveOf::Shell,
            changed: Arc::default(),
        }
    }

    /// Begins the files of waveforms, under other names until they get their places.
    fn begin_waves(
        &self,
        places: Vec<Place>,
        outputs: &mut Outputs,
    ) -> Result<Option<Waves>, Failure> {
        let (Some(named), Some(first)) = (&self.wave, places.first()) else {
            return Ok(None);
        };
        let folder_of = |place: &Place| crate::outputs::folder_of(&place.path).to_owned();
        if let Some(other) = places
            .iter()
            .find(|place| folder_of(place) != folder_of(first))
        {
            return Err(Failure::Arguments(format!(
                "{} and {}: these are links into different folders; waveforms of a run are made in one",
                first.named.display(),
                other.named.display()
            )));
        }
        let folder = outputs
            .folder_for(first)
            .map_err(Failure::writing(&first.named))?;
        let base = folder.join(named.file_name().unwrap_or_default());
        for (place, temporary) in places.into_iter().zip(self.waves_at(&base)) {
            let name = place.named.clone();
            outputs
                .file_at(&temporary, place, true)
                .map_err(Failure::writing(&name))?;
        }
        Ok(Some(self.waves(&base)))
    }

    /// The first file whose pages stay in host memory.
    fn direct(&self) -> Option<&MapArgument> {
        self.files.iter().find(|file| file.direct)
    }

    /// The system that was asked for; `fsrf` depends on the bytes of data.
    fn find_preset(&self, bytes: u64) -> Result<Option<Preset>, Failure> {
        let preset = match (&self.preset, &self.shell) {
            (Some(name), _) => Preset::named(name, bytes)?,
            (None, Some(path)) => Preset::load(path)?,
            (None, None) => return Ok(None),
        };
        preset.check_virtual_memory()?;
        Ok(Some(preset))
    }

    /// What a simulated card is made of. Opens and builds nothing.
    fn open_options(
        &self,
        manifest: &Manifest,
        bytes: u64,
    ) -> Result<(SimOptions, OwnerOptions, Option<Preset>), Failure> {
        let mut options = SimOptions::named(&self.platform)?;
        let mut owner = OwnerOptions::default();
        let preset = self.find_preset(bytes)?;
        let channels = preset
            .as_ref()
            .map_or(options.shell.channels, |p| p.shell.channels);
        if let Some(bytes) = self.card_memory {
            let least = options
                .platform
                .memories()
                .iter()
                .map(|memory| memory.channel_bytes);
            let there = least.min().unwrap_or(0);
            options.channel_bytes = Some(memory_of_a_channel(bytes, channels, there)?);
        }
        if let Some(preset) = &preset {
            preset.apply(&mut options, &mut owner)?;
        }
        if self.coherent {
            options.shell = match manifest.lines.len() {
                1 => ShellConfig::coherent(),
                _ => ShellConfig::coherent_full(),
            };
            if manifest.homes.is_empty() {
                owner.home_bytes = HOME_BYTES;
            }
        }
        if let Some(direct) = self.direct() {
            // A shell that was asked for is as it is.
            options.shell.host_channel |= preset.is_none() && !self.coherent;
            if !options.shell.host_channel {
                return Err(files::no_host_channel(&direct.file));
            }
        }
        let pairs = manifest.stream_pairs();
        if pairs > 0 {
            options.shell.ports_per_slot = ports_of(manifest);
            options.shell.streams_per_slot = pairs;
        }
        options.shell.network_pairs = connect::interfaces(&self.connections, manifest);
        Ok((options, owner, preset))
    }

    fn open_card(
        &self,
        manifest: &Manifest,
        written: &Written,
        bytes: u64,
    ) -> Result<(Card, Option<Preset>), Failure> {
        if self.functional {
            let pairs = manifest.stream_pairs();
            let mut config = FunctionalConfig {
                host_channel: self.direct().is_some(),
                ..FunctionalConfig::default()
            };
            if pairs > 0 {
                config.ports_per_slot = ports_of(manifest);
                config.streams_per_slot = pairs;
            }
            if let Some(bytes) = self.card_memory {
                config.channel_bytes =
                    memory_of_a_channel(bytes, config.channels, config.channel_bytes)?;
            }
            return Ok((Card::functional(FunctionalCard::new(config))?, None));
        }
        let (mut options, mut owner, preset) = self.open_options(manifest, bytes)?;
        options.idle_skipping = !self.no_idle_skipping;
        options.asserting |= self.asserting;
        options.timeline = written.timeline.clone();
        options.waves = written.waves.clone();
        if self.cold {
            owner.file_state = FileState::Cold;
        }
        let spinner = progress::spinner();
        let shown = spinner.clone();
        let card = Card::simulated(options, owner, move |what| {
            shown.set_message(what.to_string())
        });
        spinner.finish_and_clear();
        Ok((card?, preset))
    }

    /// Fails if the kernel cannot start; else what came of it.
    fn run_kernel(
        &self,
        card: &Card,
        folder: &Path,
        space: &AddressSpace,
        mappings: &BTreeMap<String, Mapping>,
        total: u64,
        accesses: Option<&Accesses>,
    ) -> Result<Result<Vec<Flowed>, Error>, Failure> {
        let spinner = progress::spinner();
        spinner.set_message(format!("loading kernel {}", self.kernel.display()));
        let loaded = card.load(SlotId(0), folder, space);
        spinner.finish_and_clear();
        let mut slot = loaded?;
        for map in &self.maps {
            if let Some(mapping) = mappings.get(&map.argument) {
                slot.set_pointer(&map.argument, mapping.address())?;
            }
        }
        for set in &self.sets {
            set_argument(&mut slot, set, mappings)?;
        }
        for priority in &self.priorities {
            slot.set_schedule(priority.schedule)?;
        }
        let flow = connect::plug(space, &slot, &self.connections, mappings)?;
        let data_driven = slot.manifest().control == ControlProtocol::ApCtrlNone;
        if !data_driven {
            slot.start()?;
        }
        if let Some(accesses) = accesses {
            let done = accesses.run(card, self.deadline, self.history);
            return Ok(done.map(|()| Vec::new()));
        }
        let bar = progress::bytes(total);
        let mut watch = |now| {
            progress::show(&bar, now);
            Continue::Yes
        };
        let mut result = flow.run(self.deadline, &mut watch);
        if result.is_ok() && !data_driven {
            result = slot.wait(self.deadline, watch).and(result);
        }
        bar.finish_and_clear();
        Ok(result)
    }
}

/// Ports that a slot needs.
fn ports_of(manifest: &Manifest) -> u8 {
    manifest.stream_pairs() + manifest.ports.len().max(1) as u8
}

/// A new file that takes what comes out of a port: it ends where this ends.
struct End {
    file: File,
    path: PathBuf,
    offset: u64,
    bytes: u64,
}

impl End {
    /// Cuts off what was not written.
    fn cut(&self, written: u64) -> Result<(), Failure> {
        if written >= self.bytes {
            return Ok(());
        }
        let cut = self.file.set_len(self.offset + written);
        cut.map_err(|source| {
            Failure::Library(Error::File {
                path: self.path.clone(),
                what: "cutting it where the stream ended",
                source,
            })
        })
    }
}

/// The new files behind ports, by port.
fn ends_of(planned: &[Ready<'_>], manifest: &Manifest) -> Result<BTreeMap<String, End>, Failure> {
    let mut ends = BTreeMap::new();
    for ready in planned {
        let name = &ready.map.argument;
        if !matches!(ready.map.mode, Mode::New(_)) || manifest.stream(name).is_none() {
            continue;
        }
        let path = ready.map.file.clone();
        let Opened::File(file) = &ready.opened else {
            continue;
        };
        let file = file.try_clone().map_err(Failure::writing(&path))?;
        let end = End {
            file,
            path,
            offset: ready.map.offset,
            bytes: ready.bytes,
        };
        ends.insert(name.clone(), end);
    }
    Ok(ends)
}

fn map_files(
    space: &AddressSpace,
    planned: Vec<Ready<'_>>,
) -> Result<BTreeMap<String, Mapping>, Failure> {
    let mut mappings = BTreeMap::new();
    for file in planned {
        let mapping = match file.opened {
            Opened::File(opened) => space.map_open_file(opened, &file.map.file, file.options)?,
            Opened::Remote(memory) => space.map_remote(*memory, file.options)?,
            Opened::Stream(device) => space.map_stream(device, file.bytes, file.options)?,
        };
        mappings.insert(file.map.argument.clone(), mapping);
    }
    Ok(mappings)
}

/// A timeline beside its place, or right into what is no regular file.
fn begin_timeline(place: Place, outputs: &mut Outputs, record: bool) -> std::io::Result<Timeline> {
    let create = match record {
        true => Timeline::create_and_record,
        false => Timeline::create,
    };
    if place.is_special() {
        return create(&place.path);
    }
    let (_, temporary) = outputs.record(place)?;
    create(&temporary)
}

/// An even share of the card's memory.
fn memory_of_a_channel(bytes: u64, channels: u8, there: u64) -> Result<u64, Failure> {
    let channels = u64::from(channels.max(1));
    let share = bytes / channels;
    if share == 0 || share % 4096 != 0 || share > there {
        return Err(Failure::Arguments(format!(
            "--card-memory {bytes}: the card's {channels} memory channels share it evenly, each gets a multiple \
             of 4096 bytes, and the card has {} bytes",
            there.saturating_mul(channels)
        )));
    }
    Ok(share)
}

/// Whether a value fits its argument, before anything is built for it.
fn check_size(manifest: &Manifest, set: &SetArgument) -> Result<(), Failure> {
    let mut arguments = manifest.arguments.iter();
    let Some(argument) = arguments.find(|argument| argument.name == set.argument) else {
        return Ok(());
    };
    let room = argument.bytes as usize;
    let (fits, given) = match &set.value {
        Value::Number(number) => {
            let bytes = (8 - number.leading_zeros() as usize / 8).max(1);
            (bytes <= room && room <= 8, bytes)
        }
        Value::Bytes(bytes) => (bytes.len() == room, bytes.len()),
        Value::SizeOf(_) => (room <= 8, 8),
    };
    if fits {
        return Ok(());
    }
    Err(Failure::Library(Error::ArgumentSize {
        kernel: manifest.name.clone(),
        argument: set.argument.clone(),
        expected: argument.bytes,
        given,
    }))
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
fn kernel_folder(name: &Path) -> Result<PathBuf, Failure> {
    let direct = name.to_owned();
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
        "no kernel `{0}`: there is no {0}/kernel.toml, and {1} has {2}",
        name.display(),
        library.display(),
        if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        }
    )))
}

fn parse_start(text: &str) -> Result<WaveStart, String> {
    match text {
        "first-activity" => Ok(WaveStart::FirstActivity),
        _ => parse_time(text).map(WaveStart::At),
    }
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
