//! `NativeCard`

use crate::coherent::NativeCoherent;
use crate::errors;
use crate::handle::Handle;
use crate::report::{NativeReport, SharedNames};
use crate::slot::NativeSlot;
use crate::space::NativeSpace;
use crate::stream::NativeConnection;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::Arc;
use tombolo::{
    BuildProgress, Card, Error, FileState, FunctionalCard, FunctionalConfig, OwnerOptions,
    PageSize, Picoseconds, Preset, PresetError, ShellConfig, SimOptions, Slot, SlotId,
    SpaceOptions, SpacePlacement, Stripe, Timeline, TranslationMode, UnknownTranslation, WaveStart,
    Waves,
};

/// A card, with the names of the objects on it.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeCard {
    card: Handle<Card>,
    names: SharedNames,
    timeline: Option<Timeline>,
    /// Its file, if it has one.
    timeline_file: Option<PathBuf>,
    preset: Option<Preset>,
    /// Spaces that were made where the preset wants them.
    applications: AtomicU8,
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

#[pymethods]
impl NativeCard {
    /// A card by its name.
    #[staticmethod]
    fn named(py: Python<'_>, name: &str) -> PyResult<Self> {
        let card = py.detach(|| Card::open(name));
        Self::open(py, card, (None, None), None)
    }

    #[staticmethod]
    #[pyo3(signature = (*, slots, ports_per_slot, streams_per_slot, channels, channel_bytes, seed, host_channel, page_size, read_ahead_bytes, clean_ahead_bytes))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn functional(
        py: Python<'_>,
        slots: Option<u8>,
        ports_per_slot: Option<u8>,
        streams_per_slot: Option<u8>,
        channels: Option<u8>,
        channel_bytes: Option<u64>,
        seed: Option<u64>,
        host_channel: bool,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
    ) -> PyResult<Self> {
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
        let card = py.detach(|| Card::new(Box::new(FunctionalCard::new(config)), options));
        Self::open(py, card, (None, None), None)
    }

    #[staticmethod]
    #[pyo3(signature = (platform, home, progress, *, shell, preset, channel_bytes, page_size, read_ahead_bytes, clean_ahead_bytes, cold, coherent, home_bytes, timeline, waves))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn simulated(
        py: Python<'_>,
        platform: &str,
        home: PathBuf,
        progress: Option<Py<PyAny>>,
        shell: Option<&str>,
        preset: Option<&str>,
        channel_bytes: Option<u64>,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
        cold: bool,
        coherent: bool,
        home_bytes: Option<u64>,
        timeline: Option<PathBuf>,
        waves: Option<PathBuf>,
    ) -> PyResult<Self> {
        let mut options =
            SimOptions::named(platform).map_err(|error| errors::raise(py, &error.into()))?;
        options.home = home;
        options.channel_bytes = channel_bytes;
        let preset = preset.map(|name| find_preset(py, name)).transpose()?;
        let mut owner = OwnerOptions::default();
        if let Some(preset) = &preset {
            let applied = preset.apply(&mut options, &mut owner);
            applied.map_err(|error| refused(py, &error))?;
        }
        if coherent {
            options.shell = ShellConfig::coherent();
        }
        if let Some(shell) = shell {
            options.shell = serde_json::from_str(shell)
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
                    if let Err(error) = progress.call1(py, (step.to_string(),)) {
                        error.write_unraisable(py, None);
                    }
                });
            }
        };
        let card = py.detach(|| Card::simulated(options, owner, report));
        Self::open(py, card, (Some(recorder), timeline), preset)
    }

    fn create_space(
        &self,
        py: Python<'_>,
        channel: Option<usize>,
        stripe: Option<(usize, u64, u64)>,
        isolated: bool,
        limit: Option<u64>,
        translation: &str,
    ) -> PyResult<NativeSpace> {
        let placement = match (placement(channel, stripe, isolated)?, &self.preset) {
            (Some(placement), _) => placement,
            (None, Some(preset)) => {
                preset.placement(self.applications.fetch_add(1, Ordering::Relaxed))
            }
            (None, None) => SpacePlacement::Anywhere,
        };
        let options = SpaceOptions::new().placement(placement).limit(limit);
        let translation: Result<TranslationMode, UnknownTranslation> = translation.parse();
        let translation = translation.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let options = options.translation(translation);
        let create = |card: &Card| card.create_space_with(options);
        let space = self.card.call(py, create)?;
        Ok(NativeSpace::new(space, self.names.clone()))
    }

    fn load(
        &self,
        py: Python<'_>,
        slot: Option<u8>,
        folder: PathBuf,
        space: &NativeSpace,
    ) -> PyResult<NativeSlot> {
        let space = space.shared(py)?;
        let loaded = self.card.call(py, |card| match slot {
            Some(slot) => card.load(SlotId(slot), &folder, &space),
            None => card.load_anywhere(&folder, &space),
        })?;
        let asid = space.asid().get();
        self.names
            .loaded(html::SlotName::of(loaded.id().0, asid, loaded.manifest()));
        Ok(NativeSlot::new(loaded, self.names.clone()))
    }

    fn connect(
        &self,
        py: Python<'_>,
        source: &NativeSlot,
        output: &str,
        target: &NativeSlot,
        input: &str,
    ) -> PyResult<NativeConnection> {
        let (from, to) = (source.shared(py)?, target.shared(py)?);
        let connect = |card: &Card| card.connect(&from, output, &to, input);
        Ok(NativeConnection::new(self.card.call(py, connect)?))
    }

    /// The place of one that is done. Looks at signals.
    fn wait_any(
        &self,
        py: Python<'_>,
        slots: Vec<Bound<'_, NativeSlot>>,
        deadline_ps: Option<u64>,
    ) -> PyResult<usize> {
        let held = slots.iter().map(|slot| slot.get().shared(py));
        let held: Vec<Arc<Slot>> = held.collect::<PyResult<_>>()?;
        let slots: Vec<&Slot> = held.iter().map(AsRef::as_ref).collect();
        let mut left = deadline_ps.map(Picoseconds::new);
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
                return Ok(place);
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

    fn coherent_memory(&self, py: Python<'_>, base: u64, bytes: u64) -> PyResult<NativeCoherent> {
        let made = self
            .card
            .call(py, |card| card.coherent_memory(base, bytes))?;
        Ok(NativeCoherent::new(made))
    }

    fn home_memory(&self, py: Python<'_>) -> PyResult<NativeCoherent> {
        Ok(NativeCoherent::new(self.card.call(py, Card::home_memory)?))
    }

    fn set_home_patience(&self, py: Python<'_>, cycles: u32) -> PyResult<()> {
        self.card.call(py, |card| card.set_home_patience(cycles))
    }

    fn report(&self, py: Python<'_>) -> PyResult<NativeReport> {
        let report = self.card.call(py, |card| card.report())?;
        let record = self.timeline.as_ref().and_then(Timeline::record);
        let file = self.timeline_file.as_ref();
        let file = file.and_then(|path| std::path::absolute(path).ok());
        let file = file.and_then(|path| path.to_str().map(str::to_owned));
        Ok(NativeReport::new(report, record, self.names.now(), file))
    }

    /// The card's description (JSON) and its virtual time in picoseconds.
    fn describe(&self, py: Python<'_>) -> PyResult<(String, u64)> {
        let (description, now) = self.card.call(py, |card| card.describe())?;
        let description = json(py, serde_json::to_string(&description))?;
        Ok((description, now.get()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let closed = self.card.close(py, Card::close);
        if let (Some(timeline), Some(path)) = (&self.timeline, &self.timeline_file) {
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
        closed
    }
}

impl NativeCard {
    fn open(
        py: Python<'_>,
        card: Result<Card, Error>,
        (timeline, timeline_file): (Option<Timeline>, Option<PathBuf>),
        preset: Option<Preset>,
    ) -> PyResult<Self> {
        let card = card.map_err(|error| errors::raise(py, &error))?;
        Ok(Self {
            card: Handle::new("card", card),
            names: SharedNames::default(),
            timeline,
            timeline_file,
            preset,
            applications: AtomicU8::new(0),
        })
    }
}
