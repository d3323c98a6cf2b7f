//! `--html`: the run as one human-readable page.

use super::RunError;
use crate::arguments::MapArgument;
use crate::outputs::folder_of;
use crate::text_file::TextFile;
use advice::{Bound, Unmodelled};
use card::kernel::Manifest;
use html::{MappingName, Page, SlotName};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use timeline::Record;
use tombolo::{AddressSpace, Mapping, Report, SlotId};

/// Names of slots and mappings on the page; collected while the mappings exist.
pub(super) struct Names {
    slots: [SlotName; 1],
    mappings: Vec<MappingName>,
}

impl Names {
    pub(super) fn of(
        files: &[&MapArgument],
        manifest: &Manifest,
        space: &AddressSpace,
        mappings: &BTreeMap<String, Mapping>,
    ) -> Self {
        let asid = space.asid().get();
        let name = |(name, mapping): (&String, &Mapping)| {
            let map = files.iter().find(|map| &map.argument == name);
            let manifest = manifest.argument(name).map(|found| found.access.writes());
            MappingName {
                name: name.clone(),
                what: map.map_or_else(String::new, |map| map.file.display().to_string()),
                space: asid,
                address: mapping.address(),
                bytes: mapping.bytes(),
                page_size: Some(mapping.page_size()),
                write: map.is_some_and(|map| map.writes(manifest.unwrap_or(false))),
            }
        };
        Self {
            slots: [SlotName::of(0, asid, manifest)],
            mappings: mappings.iter().map(name).collect(),
        }
    }
}

impl Names {
    /// Sets the slot of the kernel.
    pub(super) fn place(&mut self, slot: SlotId) {
        self.slots[0].slot = slot.0;
    }
}

/// The data of a page.
pub(super) struct PageContent<'a> {
    pub(super) report: &'a Report,
    pub(super) record: Option<&'a Record>,
    pub(super) bound: &'a Result<Bound, Unmodelled>,
    /// Link to the timeline.
    pub(super) trace: Option<String>,
    /// Whether the card has no time, so that a timeline needs another one.
    pub(super) functional: bool,
}

/// Writes the page of the card's whole activity, also after a failed run.
pub(super) fn write(
    content: &PageContent<'_>,
    names: &Names,
    failures: &[RunError],
    file: TextFile,
) -> Result<(), RunError> {
    let failure = failures.iter().fold(String::new(), |mut all, failure| {
        // Writing to a string cannot fail.
        let _ = writeln!(all, "{failure}");
        all
    });
    let advice = match content.functional {
        true => "run it without --functional, with --trace run.pftrace",
        false => "run it again with --trace run.pftrace",
    };
    let page = Page::new(content.report)
        .record(content.record)
        .bound(content.bound)
        .slots(&names.slots)
        .mappings(&names.mappings)
        .trace(content.trace.as_deref())
        .advice(advice)
        .failure((!failure.is_empty()).then(|| failure.trim_end()));
    let named = file.named().to_owned();
    file.write(&page.to_string())
        .map_err(RunError::writing(&named))
}

/// A link to a file: its name in the same folder, else its absolute path.
pub(super) fn link(page: &Path, file: &Path) -> Option<String> {
    if folder_of(page) == folder_of(file) {
        return file.file_name()?.to_str().map(str::to_owned);
    }
    let whole = std::path::absolute(file).ok()?;
    whole.to_str().map(str::to_owned)
}
