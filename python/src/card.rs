//! `NativeCard`

use crate::errors;
use crate::handle::Handle;
use crate::slot::NativeSlot;
use crate::space::NativeSpace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::path::PathBuf;
use tombolo::{
    BuildProgress, Card, Error, FileState, FunctionalCard, FunctionalConfig, OwnerOptions,
    PageSize, SimOptions, SlotId, SpacePlacement,
};

/// A card.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeCard {
    card: Handle<Card>,
}

/// JSON of something that always has one.
fn json(py: Python<'_>, value: serde_json::Result<String>) -> PyResult<String> {
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

fn owner_options(
    owner_page_size: Option<u64>,
    read_ahead_bytes: Option<u64>,
    clean_ahead_bytes: Option<u64>,
    cold: bool,
) -> PyResult<OwnerOptions> {
    let mut options = OwnerOptions::default();
    if let Some(bytes) = owner_page_size {
        options.page_size = page_size(bytes)?;
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
    #[staticmethod]
    #[pyo3(signature = (*, slots, ports_per_slot, channels, channel_bytes, seed, page_size, read_ahead_bytes, clean_ahead_bytes))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn functional(
        py: Python<'_>,
        slots: Option<u8>,
        ports_per_slot: Option<u8>,
        channels: Option<u8>,
        channel_bytes: Option<u64>,
        seed: Option<u64>,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
    ) -> PyResult<Self> {
        let base = FunctionalConfig::default();
        let config = FunctionalConfig {
            slots: slots.unwrap_or(base.slots),
            ports_per_slot: ports_per_slot.unwrap_or(base.ports_per_slot),
            channels: channels.unwrap_or(base.channels),
            channel_bytes: channel_bytes.unwrap_or(base.channel_bytes),
            seed,
            ..base
        };
        let options = owner_options(page_size, read_ahead_bytes, clean_ahead_bytes, false)?;
        let card = py.detach(|| Card::new(Box::new(FunctionalCard::new(config)), options));
        Self::open(py, card)
    }

    #[staticmethod]
    #[pyo3(signature = (platform, home, progress, *, shell, channel_bytes, page_size, read_ahead_bytes, clean_ahead_bytes, cold))]
    #[allow(clippy::too_many_arguments)] // Named in Python.
    fn simulated(
        py: Python<'_>,
        platform: &str,
        home: PathBuf,
        progress: Option<Py<PyAny>>,
        shell: Option<&str>,
        channel_bytes: Option<u64>,
        page_size: Option<u64>,
        read_ahead_bytes: Option<u64>,
        clean_ahead_bytes: Option<u64>,
        cold: bool,
    ) -> PyResult<Self> {
        let mut options =
            SimOptions::named(platform).map_err(|error| errors::raise(py, &error.into()))?;
        options.home = home;
        options.channel_bytes = channel_bytes;
        if let Some(shell) = shell {
            options.shell = serde_json::from_str(shell)
                .map_err(|error| PyValueError::new_err(format!("shell: {error}")))?;
        }
        let owner = owner_options(page_size, read_ahead_bytes, clean_ahead_bytes, cold)?;
        let report = move |step: BuildProgress| {
            if let Some(progress) = &progress {
                Python::attach(|py| {
                    // The build goes on; the interpreter says what was wrong with the callback.
                    if let Err(error) = progress.call1(py, (step.to_string(),)) {
                        error.write_unraisable(py, None);
                    }
                });
            }
        };
        let card = py.detach(|| Card::simulated(options, owner, report));
        Self::open(py, card)
    }

    fn create_space(
        &self,
        py: Python<'_>,
        channel: Option<usize>,
        limit: Option<u64>,
    ) -> PyResult<NativeSpace> {
        let placement = channel.map_or(SpacePlacement::Anywhere, SpacePlacement::Channel);
        let create = |card: &Card| card.create_space_with(placement, limit);
        let space = self.card.call(py, create)?;
        Ok(NativeSpace::new(space))
    }

    fn load(
        &self,
        py: Python<'_>,
        slot: u8,
        folder: PathBuf,
        space: &NativeSpace,
    ) -> PyResult<NativeSlot> {
        let space = space.shared(py)?;
        let slot = self
            .card
            .call(py, |card| card.load(SlotId(slot), &folder, &space))?;
        Ok(NativeSlot::new(slot))
    }

    /// The report as (JSON, text).
    fn report(&self, py: Python<'_>) -> PyResult<(String, String)> {
        let report = self.card.call(py, |card| card.report())?;
        let text = report.to_string();
        Ok((json(py, serde_json::to_string(&report))?, text))
    }

    /// The card's description (JSON) and its virtual time in picoseconds.
    fn describe(&self, py: Python<'_>) -> PyResult<(String, u64)> {
        let (description, now) = self.card.call(py, |card| card.describe())?;
        let description = json(py, serde_json::to_string(&description))?;
        Ok((description, now.get()))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        self.card.close(py, Card::close)
    }
}

impl NativeCard {
    fn open(py: Python<'_>, card: Result<Card, Error>) -> PyResult<Self> {
        let card = card.map_err(|error| errors::raise(py, &error))?;
        Ok(Self {
            card: Handle::new("card", card),
        })
    }
}
