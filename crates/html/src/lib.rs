//! A run as one HTML page: where the time went.
//!
//! ```
//! use tombolo::{Card, FunctionalCard, FunctionalConfig};
//!
//! # fn main() -> Result<(), tombolo::Error> {
//! let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()))?;
//! let report = card.report()?;
//! let page = html::Page::new(&report).to_string();
//! assert!(page.starts_with("<!doctype html>"));
//! # Ok(())
//! # }
//! ```
//!
//! The page is made from a [`Report`], and from a [`timeline`] record if there is one: without it there are totals,
//! with it also pictures over time. It loads nothing, works without JavaScript (which only adds details under the
//! pointer), and its size does not grow with the run.
//!
//! A [`Study`] is such a page for an experiment: a paper's figures next to ours.

mod bound;
mod channels;
mod document;
mod faults;
mod index;
mod owners;
mod pages;
mod roofline;
mod study;
mod svg;
mod text;
mod time_line;
mod waits;

pub use index::{Index, IndexFigure, IndexPaper, Miss};
pub use study::{Section, Study, Verdict};

use advice::{Bound, Unmodelled};
use std::fmt;
use timeline::Record;
use tombolo::Report;
use units::{PageSize, VirtAddr};

/// Names of a kernel in a slot, for the page.
#[derive(Clone, Debug, Default)]
pub struct SlotName {
    /// Number of the slot.
    pub slot: u8,
    /// Name of the kernel.
    pub kernel: String,
    /// Identifier of its address space.
    pub space: u8,
    /// Names of its memory ports, in the order of the slot's.
    pub ports: Vec<String>,
    /// Its stream pairs: names of the ports in and out.
    pub streams: Vec<(String, String)>,
}

impl SlotName {
    /// The names from a kernel's manifest.
    pub fn of(slot: u8, space: u8, manifest: &card::kernel::Manifest) -> Self {
        use units::StreamDirection::{In, Out};
        let streams = |way| {
            let ports = manifest.streams.iter();
            ports.filter(move |port| port.direction == way)
        };
        let name = |port: Option<&card::kernel::StreamPort>| {
            port.map_or_else(String::new, |port| port.name.clone())
        };
        let pairs = usize::from(manifest.stream_pairs());
        Self {
            slot,
            kernel: manifest.name.clone(),
            space,
            ports: manifest
                .ports
                .iter()
                .map(|port| port.name.clone())
                .collect(),
            streams: (0..pairs)
                .map(|pair| (name(streams(In).nth(pair)), name(streams(Out).nth(pair))))
                .collect(),
        }
    }
}

/// Names of a mapping, for the page.
#[derive(Clone, Debug)]
pub struct MappingName {
    /// Argument or port that uses it; may be empty.
    pub name: String,
    /// The mapped file, or a description.
    pub what: String,
    /// Identifier of its address space.
    pub space: u8,
    /// Virtual address of the first byte.
    pub address: VirtAddr,
    /// Length in bytes.
    pub bytes: u64,
    /// Page size, if known.
    pub page_size: Option<PageSize>,
    /// Whether kernels may write it.
    pub write: bool,
}

/// A page; write it with [`Display`](fmt::Display).
#[derive(Clone, Copy, Debug)]
pub struct Page<'a> {
    report: &'a Report,
    record: Option<&'a Record>,
    slots: &'a [SlotName],
    mappings: &'a [MappingName],
    trace: Option<&'a str>,
    bound: Option<&'a Result<Bound, Unmodelled>>,
    advice: Option<&'a str>,
    failure: Option<&'a str>,
}

impl<'a> Page<'a> {
    /// A page from a report alone.
    pub fn new(report: &'a Report) -> Self {
        Self {
            report,
            record: None,
            slots: &[],
            mappings: &[],
            trace: None,
            bound: None,
            advice: None,
            failure: None,
        }
    }

    /// Adds pictures over time.
    #[must_use]
    pub fn record(mut self, record: Option<&'a Record>) -> Self {
        self.record = record;
        self
    }

    /// Adds the names of kernels and their ports.
    #[must_use]
    pub fn slots(mut self, slots: &'a [SlotName]) -> Self {
        self.slots = slots;
        self
    }

    /// Adds a map of each of these.
    #[must_use]
    pub fn mappings(mut self, mappings: &'a [MappingName]) -> Self {
        self.mappings = mappings;
        self
    }

    /// Adds a link to the timeline of the same run.
    #[must_use]
    pub fn trace(mut self, file: Option<&'a str>) -> Self {
        self.trace = file;
        self
    }

    /// Adds the bottleneck of the run, and remedies.
    #[must_use]
    pub fn bound(mut self, bound: &'a Result<Bound, Unmodelled>) -> Self {
        self.bound = Some(bound);
        self
    }

    /// Adds a note on how to get missing parts: a timeline, or pictures over time.
    #[must_use]
    pub fn advice(mut self, words: &'a str) -> Self {
        self.advice = Some(words);
        self
    }

    /// Adds the failure of the run.
    #[must_use]
    pub fn failure(mut self, message: Option<&'a str>) -> Self {
        self.failure = message;
        self
    }

    /// The kernel in a slot.
    fn kernel(&self, slot: u8) -> &str {
        let named = self.slots.iter().find(|named| named.slot == slot);
        let ran = || self.report.runs.iter().find(|run| run.slot == slot);
        named.map_or_else(
            || ran().map_or("no kernel", |run| run.kernel.as_str()),
            |named| named.kernel.as_str(),
        )
    }

    /// A port of a slot, in one direction.
    fn port(&self, slot: u8, port: usize, write: bool) -> String {
        let named = self.slots.iter().find(|named| named.slot == slot);
        let memory = usize::from(self.report.card.memory_ports_per_slot());
        let name = named.and_then(|named| match port.checked_sub(memory) {
            None => named.ports.get(port),
            Some(pair) => {
                let pair = named.streams.get(pair);
                pair.map(|(into, out)| if write { out } else { into })
            }
        });
        match name.filter(|name| !name.is_empty()) {
            Some(name) => name.clone(),
            None => format!("port {port}"),
        }
    }
}

impl fmt::Display for Page<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        document::write(self, f)
    }
}
