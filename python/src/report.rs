//! `NativeReport`, and the names that its page uses.

use advice::{Bound, Unmodelled};
use html::{MappingName, Page, SlotName};
use pyo3::prelude::*;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use timeline::Record;
use tombolo::{Mapping, PageSize, Report, SharedMemory, VirtAddr};

/// Mappings that are remembered, the latest.
const MAPPINGS: usize = 256;

/// Names of the kernels and mappings on a card.
#[derive(Clone, Debug, Default)]
pub struct Names {
    slots: Vec<SlotName>,
    mappings: Vec<MappingName>,
}

/// The same, as everything on a card shares it.
#[derive(Clone, Debug, Default)]
pub struct SharedNames(Arc<Mutex<Names>>);

impl SharedNames {
    fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A snapshot of the names.
    pub fn now(&self) -> Names {
        self.lock().clone()
    }

    /// A kernel was loaded.
    pub fn loaded(&self, slot: SlotName) {
        let mut names = self.lock();
        names.slots.retain(|named| named.slot != slot.slot);
        names.slots.push(slot);
    }

    /// Something was mapped.
    pub fn mapped(&self, space: u8, what: &str, mapping: &Mapping, size: PageSize, write: bool) {
        let place = (mapping.address(), mapping.bytes());
        self.lies(space, what, place, size, write);
    }

    /// Memory is shared.
    pub fn shared(&self, space: u8, what: &str, memory: &SharedMemory) {
        let place = (memory.address(), memory.len() as u64);
        self.lies(space, what, place, memory.page_size(), true);
    }

    /// Records a mapping of `bytes` bytes at an address.
    fn lies(
        &self,
        space: u8,
        what: &str,
        (address, bytes): (VirtAddr, u64),
        size: PageSize,
        write: bool,
    ) {
        let mut names = self.lock();
        // Mappings that it overlaps have ended.
        names.mappings.retain(|old| {
            let apart = old.address.get() >= address.get().saturating_add(bytes)
                || address.get() >= old.address.get().saturating_add(old.bytes);
            old.space != space || apart
        });
        if names.mappings.len() == MAPPINGS {
            names.mappings.remove(0);
        }
        names.mappings.push(MappingName {
            name: String::new(),
            what: what.to_owned(),
            space,
            address,
            bytes,
            page_size: Some(size),
            write,
        });
    }

    /// A kernel in a slot calls an address so.
    pub fn called(&self, slot: u8, argument: &str, address: u64) {
        let mut names = self.lock();
        let named = names.slots.iter().find(|named| named.slot == slot);
        let Some(space) = named.map(|named| named.space) else {
            return;
        };
        let within = |mapping: &&mut MappingName| {
            let place = address.checked_sub(mapping.address.get());
            mapping.space == space && place.is_some_and(|place| place < mapping.bytes)
        };
        if let Some(mapping) = names.mappings.iter_mut().find(within) {
            mapping.name = argument.to_owned();
        }
    }
}

/// A report at a moment.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeReport {
    report: Report,
    record: Option<Record>,
    bound: Result<Bound, Unmodelled>,
    names: Names,
    timeline: Option<String>,
}

impl NativeReport {
    pub(crate) fn new(
        report: Report,
        record: Option<Record>,
        names: Names,
        timeline: Option<String>,
    ) -> Self {
        Self {
            bound: Bound::of(&report, record.as_ref()),
            report,
            record,
            names,
            timeline,
        }
    }
}

#[pymethods]
impl NativeReport {
    /// As JSON.
    fn json(&self, py: Python<'_>) -> PyResult<String> {
        let json = serde_json::to_value(&self.report).map(|mut json| {
            json["bound"] = Bound::json(&self.bound);
            json.to_string()
        });
        crate::card::json(py, json)
    }

    /// The human-readable report.
    fn text(&self) -> String {
        format!("{}\n{}", self.report, Bound::words(&self.bound))
    }

    /// The bottleneck of the run in a sentence, and advice.
    fn bound(&self) -> String {
        Bound::words(&self.bound)
    }

    /// Utilisation over time: the seconds up to the end of the last activity, and for each track the busy share of each
    /// of `parts` equal intervals. Empty on a card without a clock.
    fn busy(&self, parts: usize) -> (f64, Vec<(String, Vec<f64>)>) {
        let Some(record) = &self.record else {
            return (0.0, Vec::new());
        };
        let end = record.end();
        let tracks = record.tracks.iter();
        let shares = tracks.map(|track| (track.name.clone(), track.busy.shares(end, parts)));
        (end.get() as f64 * 1e-12, shares.collect())
    }

    /// As a page of HTML.
    fn html(&self) -> String {
        Page::new(&self.report)
            .record(self.record.as_ref())
            .bound(&self.bound)
            .slots(&self.names.slots)
            .mappings(&self.names.mappings)
            .trace(self.timeline.as_deref())
            .advice("open the card with Card.simulated(timeline=\"run.pftrace\")")
            .to_string()
    }
}
