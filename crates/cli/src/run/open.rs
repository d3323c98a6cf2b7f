//! An open card with mapped files, on which the kernel runs.

use super::card::OpenCard;
use super::coherent::Accesses;
use super::end::{self, StreamFile};
use super::files::{Opened, Ready};
use super::kernel::KernelOptions;
use super::page::Names;
use super::RunError;
use crate::arguments::MapArgument;
use crate::progress::Work;
use card::kernel::{ControlProtocol, Manifest};
use std::collections::BTreeMap;
use std::path::Path;
use tombolo::{AddressSpace, Card, Continue, Flow, Flowed, Mapping, Picoseconds, Slot, SlotId};
use units::access::ADDRESS_BITS;

/// Why a run failed; the kernel and the outputs may fail independently.
type Failures = Vec<RunError>;

/// The outcome of a kernel that did not fail.
#[derive(Default)]
pub(super) struct RunResult {
    /// Bytes and packets through its stream ports.
    flowed: Vec<Flowed>,
    /// The kernel's slot, unless it was closed.
    slot: Option<Slot>,
}

/// A card with an address space and the files mapped into it. Fields are dropped in this order: mappings before their
/// space, and the card last.
pub(super) struct OpenRun {
    mappings: BTreeMap<String, Mapping>,
    /// New files of stream ports, by port.
    ends: BTreeMap<String, StreamFile>,
    /// Size of the mapped data.
    bytes: u64,
    any_slot: bool,
    space: AddressSpace,
    card: Card,
}

impl RunResult {
    /// The slot that the kernel ran in.
    pub(super) fn slot(&self) -> Option<SlotId> {
        self.slot.as_ref().map(Slot::id)
    }

    /// Fails if the kernel sent packets after the last one taken: they would be lost without notice. Asking takes no
    /// virtual time.
    pub(super) fn check_taken(&self) -> Result<(), RunError> {
        match &self.slot {
            Some(slot) => Ok(slot.check_taken()?),
            None => Ok(()),
        }
    }
}

impl OpenRun {
    /// Maps the files into a new address space of the card.
    pub(super) fn new(
        opened: OpenCard,
        files: Vec<Ready<'_>>,
        manifest: &Manifest,
        bytes: u64,
    ) -> Result<Self, RunError> {
        let OpenCard {
            card,
            space,
            any_slot,
        } = opened;
        let space = card.create_space_with(space)?;
        let ends = end::ends_of(&files, manifest)?;
        let mappings = map_files(&space, files)?;
        Ok(Self {
            mappings,
            ends,
            bytes,
            any_slot,
            space,
            card,
        })
    }

    pub(super) fn card(&self) -> &Card {
        &self.card
    }

    /// Names of slot and mappings, for the page.
    pub(super) fn names(&self, files: &[&MapArgument], manifest: &Manifest) -> Names {
        Names::of(files, manifest, &self.space, &self.mappings)
    }

    /// Runs the kernel: to its end, or with `accesses` to the end of these. The outer error: the kernel could not
    /// start. The inner one: it failed.
    pub(super) fn run(
        &self,
        kernel: &KernelOptions,
        folder: &Path,
        deadline: Option<Picoseconds>,
        accesses: Option<&Accesses>,
    ) -> Result<Result<RunResult, Failures>, RunError> {
        let mut slot = self.load(kernel, folder)?;
        kernel.apply(&mut slot, &self.mappings)?;
        let flow = kernel.connect(&self.space, &slot, &self.mappings)?;
        let data_driven = slot.manifest().control == ControlProtocol::ApCtrlNone;
        if !data_driven {
            slot.start()?;
        }
        match accesses {
            Some(accesses) => self.access(slot, deadline, accesses),
            None => Ok(self.wait(slot, flow, deadline, data_driven)),
        }
    }

    fn load(&self, kernel: &KernelOptions, folder: &Path) -> Result<Slot, RunError> {
        let work = Work::spinner();
        work.say(format!(
            "loading kernel {}; one that is not in the cache is built first",
            kernel.named().display()
        ));
        let loaded = match self.any_slot {
            true => self.card.load_anywhere(folder, &self.space),
            // A device's slot already holds its kernel; `load` only attaches to it.
            false => self.card.load(SlotId(0), folder, &self.space),
        };
        drop(work);
        Ok(loaded?)
    }

    /// Performs the CPU's accesses, then closes the slot.
    fn access(
        &self,
        slot: Slot,
        deadline: Option<Picoseconds>,
        accesses: &Accesses,
    ) -> Result<Result<RunResult, Failures>, RunError> {
        let mut memory = match slot.manifest().accesses.is_empty() {
            true => self.card.coherent_memory(0, 1 << ADDRESS_BITS)?,
            false => self.card.host_lines()?,
        };
        if let Some(deadline) = deadline {
            memory = memory.with_deadline(deadline);
        }
        let done = || slot.wait(deadline, |_| Continue::Yes).map(drop);
        let result = accesses.run(&memory, &done);
        // Closing writes the cores' dirty lines back before the files are written.
        let home = slot.close().err();
        let failure = result.err();
        // An access that was aborted with its kernel has already reported this error.
        let home = home.filter(|home| !failure.as_ref().is_some_and(|told| told.tells(home)));
        let home = home.map(RunError::from);
        let failures: Failures = failure.into_iter().chain(home).collect();
        Ok(match failures.is_empty() {
            true => Ok(RunResult::default()),
            false => Err(failures),
        })
    }

    /// Waits for the streams, and for the kernel unless it is data-driven.
    fn wait(
        &self,
        slot: Slot,
        flow: Flow<'_>,
        deadline: Option<Picoseconds>,
        data_driven: bool,
    ) -> Result<RunResult, Failures> {
        let work = Work::bytes(self.bytes);
        let mut watch = |now| {
            work.show(now);
            Continue::Yes
        };
        let mut result = flow.run(deadline, &mut watch);
        if result.is_ok() && !data_driven {
            result = slot.wait(deadline, watch).and(result);
        }
        drop(work);
        let slot = Some(slot);
        result
            .map(|flowed| RunResult { flowed, slot })
            .map_err(|error| vec![error.into()])
    }

    /// Unmaps the files, which writes them back, and truncates new files of stream ports to the bytes written.
    pub(super) fn unmap(&mut self, result: &RunResult) -> Failures {
        let mut failures = Failures::new();
        for mapping in std::mem::take(&mut self.mappings).into_values() {
            failures.extend(mapping.unmap().err().map(RunError::from));
        }
        for port in &result.flowed {
            if let Some(end) = self.ends.get(&port.port) {
                failures.extend(end.cut(port.bytes).err());
            }
        }
        failures
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
