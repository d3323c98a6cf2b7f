//! `tombolo run`

mod check;
mod coherent;
mod end;
mod failure;
mod files;
mod open;
mod page;
mod prepare;
mod report;
mod waves;

use crate::arguments::{
    parse_bytes, ConnectArgument, MapArgument, ScheduleArgument, SetArgument, Value,
};
use crate::connect;
use crate::kernel::folder_of;
use crate::outputs::Outputs;
use crate::progress::Work;
use advice::Bound;
use card::kernel::{ControlProtocol, KernelPackage};
use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::Args;
use coherent::Accesses;
pub use failure::RunError;
use files::{Opened, Ready};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tombolo::{
    AddressSpace, Card, CardName, Continue, Error, Flowed, Mapping, Picoseconds, Slot, SlotId,
    SpaceOptions, Timeline, TranslationMode, WaveStart,
};
use units::access::ADDRESS_BITS;
use waves::{parse_start, WaveOf};

/// Runs a kernel on mapped files.
///
/// The kernel accesses the files through its address space: pages are loaded when the kernel touches them, and written
/// back if it changed them.
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
  Pages of 64 KiB for one file, of 2 MiB or less (the default) for the other:
    tombolo run copy --map input=a:page=64KiB --map output=b:new --set 'bytes=size(input)'
  On Coyote's TLB, as FSRF's evaluation has it:
    tombolo run copy --preset coyote-2m --map input=a --map output=b:new --set 'bytes=size(input)'
  A file through a kernel with streams, into another:
    tombolo run loopback --connect in=file:a --connect out=file:b:new
  A part of a pipeline of commands:
    cat a | tombolo run loopback --connect in=- --connect out=- >b
  A kernel that serves cache lines, and the accesses of a coherent CPU to them:
    tombolo run rpc --coherent --access accesses --history --set base=0x10000000 --set handler=0 \\
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
    /// ARGUMENT=FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:memory=KIND].
    /// A new file has BYTES bytes, or as many as size(ARGUMENT), or as the largest existing file that is mapped; it
    /// appears whole after a successful run, or not at all. If a file's name ends like an option, add one: x:new:rw is
    /// the file x:new. See docs/command.md.
    #[arg(long = "map", value_name = "ARGUMENT=FILE",
          value_parser = OsStringValueParser::new().try_map(|text| MapArgument::parse(&text)))]
    maps: Vec<MapArgument>,

    /// Connects a stream port to a device:
    /// PORT=file:FILE[@OFFSET[+BYTES]][:ro|:rw|:new[=BYTES]][:page=SIZE][:advice=WORDS][:direct][:hot|:warm|:cold][:memory=KIND][:packets=N|all|any].
    /// An input file is one packet. By default an output file takes one packet, which ends the run, and further data is
    /// an error. :packets=all takes all packets, contiguously, N the first N, any one packet or as much of it as fits;
    /// N and any discard the rest. Other devices are pipes, sockets, the standard input and output (-): `tombolo
    /// devices` lists them.
    #[arg(long = "connect", value_name = "PORT=DEVICE:…",
          value_parser = OsStringValueParser::new().try_map(|text| ConnectArgument::parse(&text)))]
    connections: Vec<ConnectArgument>,

    /// The files of `maps` and `connections`.
    #[arg(skip)]
    files: Vec<MapArgument>,

    /// Sets an argument: ARGUMENT=VALUE. VALUE is a number (42, -42, 0x2a), bytes in memory order (hex: and pairs of
    /// digits, or 0x and more than 16 digits), f32:1.5, f64:1.5, or size(ARGUMENT).
    #[arg(long = "set", value_name = "ARGUMENT=VALUE",
          value_parser = OsStringValueParser::new().try_map(|text| SetArgument::parse(&text)))]
    sets: Vec<SetArgument>,

    /// Sets a slot's share of card memory bandwidth:
    /// SLOT=low|normal|high|urgent[,weight=N][,floor=PERCENT][,limit=BYTES]. The kernel is in slot 0. Priority, weight
    /// and floor take effect if other slots access card memory concurrently; the limit, in bytes a second, applies to
    /// the slot's reads and to its writes. See docs/command.md.
    #[arg(long = "priority", value_name = "SLOT=PRIORITY",
          value_parser = text().try_map(|text| ScheduleArgument::parse(&text)))]
    priorities: Vec<ScheduleArgument>,

    /// The platform to simulate: a name in platforms/, or a file (default: f1; with --coherent enzian).
    #[arg(long, default_value = "f1", default_value_if("coherent", "true", "enzian"), value_parser = text())]
    platform: String,

    /// Adds a coherent CPU to the card. The kernel serves cache lines (ports of kind axi4_home), or uses 64 MiB of the
    /// CPU's own memory (host_lines); --access lists the CPU's accesses. The run ends with the last access. See
    /// docs/tutorials/coherent-lines.md.
    #[arg(long, requires = "access", conflicts_with_all = ["functional", "preset", "shell"])]
    coherent: bool,

    /// Accesses of the CPU's cores, one per line: [CORE:] load|load-exclusive|store|prefetch|flush|clean|add ADDRESS
    /// [BYTES] [&]. BYTES are the data of a store, as 0x…, or the number to add to a word of the CPU's own memory. With
    /// & the next access does not wait for this one; `wait` waits for all of them, `done` for the end of the kernel. -
    /// is the standard input.
    #[arg(long, value_name = "FILE", requires = "coherent")]
    access: Option<PathBuf>,

    /// Prints the messages of the first eight lines that the accesses use.
    #[arg(long, requires = "coherent")]
    history: bool,

    /// Translation mode: L1 TLBs and the page table in card memory (both), the page table alone (table), or TLBs that
    /// the host fills (tlb). The shell must support it. See docs/presets.md.
    #[arg(
        long,
        value_name = "both|table|tlb",
        default_value = "both",
        conflicts_with = "coherent"
    )]
    translation: TranslationMode,

    /// Runs on another system than the default: tombolo, fsrf (with the TLB that suits the data; fsrf-sram, fsrf-dram),
    /// coyote-4k, coyote-2m, amorphos, physical. See docs/presets.md.
    #[arg(long, value_name = "NAME", value_parser = text(), conflicts_with = "functional")]
    preset: Option<String>,

    /// Runs on a system of your own, from a file: shell, page size, read-ahead, striping. See docs/presets.md.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["preset", "functional"])]
    shell: Option<PathBuf>,

    /// Card memory, divided evenly between the channels (default: the platform's; 1GiB of this machine's memory with
    /// --functional).
    #[arg(long, value_name = "BYTES", value_parser = text().try_map(|text| parse_bytes(&text)))]
    card_memory: Option<u64>,

    /// Timeout in virtual time, for example 500us, 10ms, 2s.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)))]
    deadline: Option<Picoseconds>,

    /// Treats files as cold: reads them from storage, not from the page cache.
    #[arg(long)]
    cold: bool,

    /// Runs the kernel's reference model on the functional card: no RTL, no time.
    #[arg(long)]
    functional: bool,

    /// Runs the kernel on the card of a daemon, in the first empty slot, concurrently with other programs
    /// (docs/daemon.md), or on a PCI device with the kernel in its slot 0 (docs/pcie.md). The default is TOMBOLO_CARD,
    /// unless another option selects a card. The report covers this run alone.
    #[arg(long, value_name = "unix:FILE|vfio:ADDRESS?card=FILE",
          conflicts_with_all = ["functional", "preset", "shell", "coherent", "card_memory", "cold", "trace", "wave", "asserting"])]
    card: Option<CardName>,

    /// Evaluates every clock edge, idle or not. Slower, with the same results.
    #[arg(long)]
    no_idle_skipping: bool,

    /// Runs the shell's model with all assertions of its RTL and of AXI. Slower, with the same results.
    #[arg(long = "assert", conflicts_with = "functional")]
    asserting: bool,

    /// Writes a timeline of everything that happens, for <https://ui.perfetto.dev>.
    #[arg(long, value_name = "FILE", conflicts_with = "functional")]
    trace: Option<PathBuf>,

    /// Writes waveforms: waves.fst gives waves.kernel-0.fst and waves.shell.fst, according to --wave-of.
    #[arg(long, value_name = "FILE.fst", conflicts_with = "functional")]
    wave: Option<PathBuf>,

    /// Whose waveforms to write. The shell's model with waveforms takes minutes to build the first time.
    #[arg(long, value_enum, default_value_t = WaveOf::Kernel, requires = "wave")]
    wave_of: WaveOf,

    /// Begins waveforms at this virtual time, or at `first-activity`: the first data beat at a port of the kernel,
    /// which follows the arrival of its first page.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_start(&text)),
          default_value = "0ns", requires = "wave")]
    wave_from: WaveStart,

    /// Duration of the waveforms; file size grows with it.
    #[arg(long, value_name = "TIME", value_parser = text().try_map(|text| parse_time(&text)), default_value = "1ms", requires = "wave")]
    wave_for: Picoseconds,

    /// Writes the report as JSON; with -, JSON goes to the standard output and the text to the standard error.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,

    /// Writes a page that shows where the time went: activity and stalls over time, faults, a map of the pages. It is
    /// one file that needs no network; with --trace it links to the timeline.
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Prints no report.
    #[arg(long, short)]
    quiet: bool,
}

/// The outcome of a kernel that did not fail.
#[derive(Default)]
struct RunResult {
    /// Bytes and packets through its stream ports.
    flowed: Vec<Flowed>,
    /// The kernel's slot, unless it was closed.
    slot: Option<Slot>,
}

/// A value that must be UTF-8; the error names the option.
fn text() -> impl TypedValueParser<Value = String> {
    OsStringValueParser::new().try_map(|text: OsString| {
        let wrong = |text: OsString| format!("{} is not UTF-8", text.to_string_lossy());
        text.into_string().map_err(wrong)
    })
}

impl Run {
    /// Runs the kernel. It can fail more than once: in the kernel, and while outputs are written.
    ///
    /// Everything that can be rejected without the card is checked first, and existing files stay unchanged until the
    /// end: outputs are made next to their destinations.
    pub fn run(mut self) -> Result<(), Vec<RunError>> {
        let environment = CardName::from_environment(CardName::VARIABLE);
        self.select_card(environment).map_err(|error| vec![error])?;
        let connected = self.connections.iter().filter_map(ConnectArgument::file);
        self.files = self.maps.iter().chain(connected).cloned().collect();
        let mut outputs = Outputs::default();
        let result = self.run_with(&mut outputs);
        // The card is closed by now, so waveforms are complete.
        let named = |(path, source): (PathBuf, _)| RunError::Report { path, source };
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

    fn run_with(&self, outputs: &mut Outputs) -> Result<(), Vec<RunError>> {
        let one = |failure: RunError| vec![failure];
        let folder = folder_of(&self.kernel).map_err(|error| one(error.into()))?;
        let kernel =
            KernelPackage::open(&folder).map_err(|error| one(Error::from(error).into()))?;
        self.check(&kernel.manifest).map_err(one)?;
        let accesses = self.access.as_deref().map(Accesses::read);
        let accesses = accesses.transpose().map_err(one)?;
        if let Some(accesses) = &accesses {
            accesses
                .check(kernel.manifest.accesses.is_empty())
                .map_err(one)?;
        }
        if !self.functional && self.external_card().is_none() {
            // Finds a missing or unsuitable platform or preset before anything is built.
            self.open_options(&kernel.manifest, 0).map_err(one)?;
        }
        let (planned, mut written) = self.prepare(&kernel, outputs).map_err(one)?;
        let total = planned
            .iter()
            .fold(0u64, |sum, file| sum.saturating_add(file.bytes));

        let (card, preset) = self
            .open_card(&kernel.manifest, &written, total)
            .map_err(one)?;
        let options = SpaceOptions::new().translation(self.translation);
        let space = card.create_space_with(match &preset {
            Some(preset) => options.placement(preset.placement(0)),
            None => options,
        });
        let space = space.map_err(|error| one(error.into()))?;
        let ends = end::ends_of(&planned, &kernel.manifest).map_err(one)?;
        let mappings = map_files(&space, planned).map_err(one)?;
        let mut names = page::Names::of(self, &kernel.manifest, &space, &mappings);
        let mut failures = Vec::new();
        let mut ran = RunResult::default();
        match self.run_kernel(&card, &folder, &space, &mappings, total, accesses.as_ref()) {
            // A failed run is worth its records; one that did not begin has none.
            Ok(result) => {
                outputs.keep_records(true);
                match result {
                    Ok(well) => ran = well,
                    Err(several) => failures.extend(several),
                }
            }
            Err(failure) => failures.push(failure),
        }
        if let Some(slot) = &ran.slot {
            names.place(slot.id());
        }
        for mapping in mappings.into_values() {
            if let Err(error) = mapping.unmap() {
                failures.push(error.into());
            }
        }
        for port in &ran.flowed {
            if let Some(end) = ends.get(&port.port) {
                failures.extend(end.cut(port.bytes).err());
            }
        }
        // Packets that the kernel sent after the last one taken would be lost without notice. Asking takes no virtual
        // time.
        if let (Some(slot), true) = (&ran.slot, failures.is_empty()) {
            failures.extend(slot.check_taken().err().map(RunError::from));
        }
        // Read once, for text, JSON and page, because reading the report's counters takes time of the card.
        let report = match failures.is_empty() || written.page.is_some() {
            true => card.report().map(Some),
            false => Ok(None),
        };
        let report = report.unwrap_or_else(|error| {
            failures.push(error.into());
            None
        });
        let record = written.timeline.as_ref().and_then(Timeline::record);
        let bound = report
            .as_ref()
            .map(|report| Bound::of(report, record.as_ref()));
        if let (Some(file), Some(report), Some(bound)) = (written.page.take(), &report, &bound) {
            let shown = page::PageContent {
                report,
                record: record.as_ref(),
                bound,
            };
            if let Err(failure) = page::write(self, &shown, &names, &failures, file) {
                self.html.iter().for_each(|path| outputs.withdraw(path));
                failures.push(failure);
            }
        }
        if let (Some(timeline), Some(path)) = (written.timeline.take(), &self.trace) {
            if let Err(error) = timeline.finish() {
                outputs.withdraw(path);
                failures.push(RunError::writing(path)(error));
            }
        }
        if let Some(waves) = &written.waves {
            self.warn_if_flat(&card, waves);
        }
        let place = match connect::fills_standard_output(&self.connections, &kernel.manifest) {
            _ if self.quiet => report::ReportOutput::Nobody,
            true => report::ReportOutput::StandardError,
            false if self.prints_json() => report::ReportOutput::StandardError,
            false => report::ReportOutput::StandardOutput,
        };
        if let (Some(report), Some(bound), true) = (report, bound, failures.is_empty()) {
            let result = report::write(&report, &bound, place, written.report);
            failures.extend(result.err());
        }
        match failures.is_empty() {
            true => Ok(()),
            false => Err(failures),
        }
    }

    /// The outer error: the kernel could not start. The inner one: it failed.
    fn run_kernel(
        &self,
        card: &Card,
        folder: &Path,
        space: &AddressSpace,
        mappings: &BTreeMap<String, Mapping>,
        total: u64,
        accesses: Option<&Accesses>,
    ) -> Result<Result<RunResult, Vec<RunError>>, RunError> {
        let work = Work::spinner();
        work.say(format!(
            "loading kernel {}; one that is not in the cache is built first",
            self.kernel.display()
        ));
        let loaded = match self.external_card() {
            Some(CardName::Daemon(_)) => card.load_anywhere(folder, space),
            // A device's slot already holds its kernel; `load` only attaches to it.
            _ => card.load(SlotId(0), folder, space),
        };
        drop(work);
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
            let mut memory = match slot.manifest().accesses.is_empty() {
                true => card.coherent_memory(0, 1 << ADDRESS_BITS)?,
                false => card.host_lines()?,
            };
            if let Some(deadline) = self.deadline {
                memory = memory.with_deadline(deadline);
            }
            let done = || slot.wait(self.deadline, |_| Continue::Yes).map(drop);
            let result = accesses.run(&memory, self.history, &done);
            // Closing writes the cores' dirty lines back before the files are written.
            let home = slot.close().err();
            let failure = result.err();
            // An access that was aborted with its kernel has already reported this error.
            let home = home.filter(|home| !failure.as_ref().is_some_and(|told| told.tells(home)));
            let home = home.map(RunError::from);
            let failures: Vec<RunError> = failure.into_iter().chain(home).collect();
            return Ok(match failures.is_empty() {
                true => Ok(RunResult::default()),
                false => Err(failures),
            });
        }
        let work = Work::bytes(total);
        let mut watch = |now| {
            work.show(now);
            Continue::Yes
        };
        let mut result = flow.run(self.deadline, &mut watch);
        if result.is_ok() && !data_driven {
            result = slot.wait(self.deadline, watch).and(result);
        }
        drop(work);
        let slot = Some(slot);
        Ok(result
            .map(|flowed| RunResult { flowed, slot })
            .map_err(|error| vec![error.into()]))
    }
}

fn map_files(
    space: &AddressSpace,
    planned: Vec<Ready<'_>>,
) -> Result<BTreeMap<String, Mapping>, RunError> {
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

fn set_argument(
    slot: &mut Slot,
    set: &SetArgument,
    mappings: &BTreeMap<String, Mapping>,
) -> Result<(), RunError> {
    match &set.value {
        Value::Number(number) => slot.set(&set.argument, *number)?,
        Value::Bytes(bytes) => slot.set_bytes(&set.argument, bytes)?,
        Value::Negative(number) => {
            let argument = slot.manifest().argument(&set.argument);
            let bytes = argument.and_then(|it| Value::in_bytes(*number, it.bytes));
            slot.set_bytes(&set.argument, &bytes.unwrap_or_default())?;
        }
        Value::SizeOf(name) => {
            slot.set(&set.argument, mappings.get(name).map_or(0, Mapping::bytes))?;
        }
    }
    Ok(())
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
