//! The coherent side of the owner: accesses of cores, and the kernel behind the directory.

use super::home_memory::HomeRange;
use super::host_lines::HostLines;
use super::Kernels;
use card::coherent::{
    directory_error, home_register, take_home_violation, AccessEnd, DirectoryError,
};
use card::history::History;
use card::home_registers as reg;
use card::kernel::Manifest;
use card::CardError;
use error::{Error, HomeError};
use std::collections::BTreeMap;
use units::access::{AccessId, AccessKind, LineAccess, LineBytes, LineHome, LINE_BYTES};
use units::{Picoseconds, SlotId};

/// Cycles that a kernel may take for an answer, unless the program says otherwise.
const PATIENCE: u32 = 1 << 20;

/// What the owner knows of the directory's side.
#[derive(Debug, Default)]
pub(super) struct Coherent {
    /// Who is behind the directory.
    home: Option<Home>,
    /// The kernel beside card memory, which has line operations.
    beside: Option<SlotId>,
    /// Card memory that is kept for the directory.
    memory: Option<HomeRange>,
    /// Why its kernel is cut off.
    failure: Option<HomeError>,
    patience: Option<u32>,
    /// The CPU may have lines of the slot behind the directory.
    used: bool,
    /// Registers were written, and nobody knows yet that the card has them.
    posted: bool,
    /// A line that the CPU wrote back was refused, and the program does not know yet.
    lost: bool,
    /// Accesses that somebody waits for; with the line when it is there.
    accesses: BTreeMap<AccessId, Access>,
    /// The CPU's lines that a kernel uses.
    pub(super) host_lines: HostLines,
}

impl Coherent {
    /// With this much card memory kept for the directory, and so many bytes of the CPU's memory for kernels.
    pub(super) fn new(memory: Option<HomeRange>, host_line_bytes: u64) -> Self {
        Self {
            memory,
            host_lines: HostLines::new(host_line_bytes),
            ..Self::default()
        }
    }
}

/// Who serves the directory's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Home {
    Slot(SlotId),
    Memory,
}

impl Home {
    fn slot(self) -> Option<SlotId> {
        match self {
            Self::Slot(slot) => Some(slot),
            Self::Memory => None,
        }
    }
}

#[derive(Debug)]
struct Access {
    home: LineHome,
    address: u64,
    began: Picoseconds,
    end: Option<AccessEnd>,
}

/// What a look at an access shows.
pub(crate) enum LineLook {
    /// It is over; of a line whose home is the card, after this time.
    Line(Box<LineBytes>, Option<Picoseconds>),
    /// Whoever has the line answered with an error.
    Refused(u64),
    Late,
}

impl Kernels {
    /// Ends an access and returns its result, given the last look at it.
    pub(crate) fn access_over(
        &mut self,
        id: AccessId,
        seen: Result<LineLook, Error>,
    ) -> Result<Box<LineBytes>, Error> {
        let access = self.coherent.accesses.remove(&id);
        match (seen, access) {
            (Ok(LineLook::Line(line, took)), _) => {
                took.map_or(Ok(()), |took| self.was_it_the_kernel(took))?;
                Ok(line)
            }
            (Ok(LineLook::Refused(address)), _) => Err(self.refused_line(address)),
            (Ok(LineLook::Late) | Err(Error::Card(CardError::NothingToWaitFor)), Some(access)) => {
                Err(Error::LineLate {
                    address: access.address,
                    slot: match access.home {
                        LineHome::Card => self.coherent.home.and_then(Home::slot),
                        LineHome::Cpu => self.coherent.host_lines.slot(),
                    },
                    now: self.card.now(),
                })
            }
            (Ok(LineLook::Late), None) => Err(Error::Internal(format!("unknown access {}", id.0))),
            (Err(error), _) => Err(error),
        }
    }

    /// Whether a recall is complete: the CPU has none of its lines.
    pub(crate) fn are_recalled(&mut self) -> Result<bool, Error> {
        let recall = self.card.read_register(home_register(reg::RECALL))?;
        Ok(reg::recall::ALL.get(recall) == 0)
    }

    /// Asks the directory for all lines that the CPU may have of this slot's kernel; whether there are any.
    pub(crate) fn begin_recall(&mut self, slot: SlotId) -> Result<bool, Error> {
        let here = self.coherent.home == Some(Home::Slot(slot));
        if !here || !std::mem::take(&mut self.coherent.used) {
            return Ok(false);
        }
        let status = self.card.read_register(home_register(reg::STATUS))?;
        if reg::status::OPEN.get(status) == 0 {
            return Ok(false);
        }
        let all = reg::recall::ALL.put(1);
        self.card.write_register(home_register(reg::RECALL), all)?;
        Ok(true)
    }

    /// A slot has got a kernel: one with home ports goes behind the directory, one that only has line operations
    /// beside card memory.
    pub(super) fn place_home(&mut self, slot: SlotId, manifest: &Manifest) -> Result<(), Error> {
        if manifest.lines.is_empty() {
            return Ok(());
        }
        if manifest.homes.is_empty() {
            return self.place_beside(slot, manifest);
        }
        let rule = match self.coherent.home {
            Some(Home::Slot(other)) if other != slot => Some(format!(
                "the directory's lines are behind slot {} already; unload that kernel first",
                other.0
            )),
            Some(Home::Memory) => Some(
                "the directory's lines are in card memory since Card::home_memory; open the card anew for a \
                 kernel that serves them"
                    .to_owned(),
            ),
            _ => None,
        };
        if let Some(rule) = rule {
            return Err(Error::Home(HomeError {
                slot,
                kernel: manifest.name.clone(),
                what: rule,
            }));
        }
        let route = reg::route::VALID.put(1) | reg::route::SLOT.put(slot.0.into());
        self.card.write_register(home_register(reg::ROUTE), route)?;
        let patience = self.coherent.patience.unwrap_or(PATIENCE);
        let address = home_register(reg::PATIENCE);
        self.card.write_register(address, patience)?;
        self.registers_posted();
        self.coherent.home = Some(Home::Slot(slot));
        self.coherent.failure = None;
        self.coherent.lost = false;
        Ok(())
    }

    /// A kernel gets line operations for the lines that card memory serves.
    fn place_beside(&mut self, slot: SlotId, manifest: &Manifest) -> Result<(), Error> {
        if let Some(other) = self.coherent.beside.filter(|other| *other != slot) {
            return Err(Error::Home(HomeError {
                slot,
                kernel: manifest.name.clone(),
                what: format!(
                    "slot {} has the line operations beside card memory already; unload that kernel first",
                    other.0
                ),
            }));
        }
        self.use_home_memory()?;
        let route = reg::route::MEMORY.put(1)
            | reg::route::VALID.put(1)
            | reg::route::SLOT.put(slot.0.into());
        self.card.write_register(home_register(reg::ROUTE), route)?;
        self.registers_posted();
        self.coherent.beside = Some(slot);
        Ok(())
    }

    /// What was recorded of lines; nothing on a card that is not coherent.
    pub(crate) fn line_history(&mut self) -> History {
        let card = self.card.lines();
        card.map_or_else(History::default, |card| card.line_history())
    }

    /// Card memory goes behind the directory, unless it is there.
    pub(crate) fn use_home_memory(&mut self) -> Result<u64, Error> {
        let range = match self.coherent.memory {
            Some(range) => range,
            None => {
                // A card that is not coherent says so first.
                self.card.need_lines()?;
                return Err(Error::NoHomeMemory);
            }
        };
        match self.coherent.home {
            Some(Home::Memory) => Ok(range.bytes()),
            Some(Home::Slot(slot)) => Err(Error::Home(HomeError {
                slot,
                kernel: self.kernel_name(slot),
                what: "it serves the directory's lines; unload it before card memory does"
                    .to_owned(),
            })),
            None => {
                range.place(self.card.as_mut())?;
                self.registers_posted();
                self.coherent.home = Some(Home::Memory);
                // What a kernel before it did is not the memory's.
                self.coherent.failure = None;
                Ok(range.bytes())
            }
        }
    }

    /// A slot's kernel goes.
    pub(super) fn leave_home(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.coherent.home == Some(Home::Slot(slot)) {
            self.card.write_register(home_register(reg::ROUTE), 0)?;
            self.coherent.home = None;
        }
        if self.coherent.beside == Some(slot) {
            let route = reg::route::MEMORY.put(1);
            self.card.write_register(home_register(reg::ROUTE), route)?;
            self.coherent.beside = None;
        }
        Ok(())
    }

    /// A slot leaves reset: what its kernel did before is forgotten.
    pub(super) fn forgive_home(&mut self, slot: SlotId) {
        if self.coherent.home == Some(Home::Slot(slot)) {
            self.coherent.failure = None;
        }
    }

    /// Sets how long the kernel behind the directory may take for an answer; 0: for ever.
    pub(crate) fn set_patience(&mut self, cycles: u32) -> Result<(), Error> {
        let address = home_register(reg::PATIENCE);
        self.card.write_register(address, cycles)?;
        self.registers_posted();
        self.coherent.patience = Some(cycles);
        Ok(())
    }

    pub(crate) fn begin_access(&mut self, access: LineAccess) -> Result<AccessId, Error> {
        let home = access.home;
        match home {
            LineHome::Card => {
                self.home_is_there()?;
                self.nothing_is_lost()?;
                self.home_has(&access)?;
                self.settle_registers()?;
                self.coherent.used = true;
            }
            LineHome::Cpu => self.coherent.host_lines.have(&access)?,
        }
        let (address, began) = (access.address, self.card.now());
        let hint = access.kind == AccessKind::Prefetch;
        let id = self.card.need_lines()?.access(access)?;
        if !hint {
            let access = Access {
                home,
                address,
                began,
                end: None,
            };
            self.coherent.accesses.insert(id, access);
        }
        Ok(id)
    }

    /// Notes that registers were written. Such writes and accesses of cores reach the card on different ways.
    pub(super) fn registers_posted(&mut self) {
        self.coherent.posted = true;
    }

    /// What was written to registers before an access is in force when the access begins: a read waits for
    /// it.
    fn settle_registers(&mut self) -> Result<(), Error> {
        if std::mem::take(&mut self.coherent.posted) {
            self.card.read_register(home_register(reg::STATUS))?;
        }
        Ok(())
    }

    fn home_is_there(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.coherent.failure {
            return Err(Error::Home(failure.clone()));
        }
        match self.coherent.home {
            Some(_) => Ok(()),
            // A card that is not coherent says so first.
            None => {
                self.card.need_lines()?;
                Err(Error::NoHome)
            }
        }
    }

    /// A line that was refused when it was called home from the kernel in this slot, if nobody was told yet.
    pub(crate) fn lost_on_the_way_home(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        if self.coherent.home != Some(Home::Slot(slot)) {
            return Ok(None);
        }
        // Its record may still be on the way.
        self.directory_trouble()?;
        Ok(self.nothing_is_lost().err())
    }

    /// Tells, once, of a line that the kernel refused when the CPU wrote it back.
    fn nothing_is_lost(&mut self) -> Result<(), Error> {
        let lost = std::mem::take(&mut self.coherent.lost);
        match self.coherent.home {
            Some(Home::Slot(slot)) if lost => Err(Error::Home(HomeError {
                slot,
                kernel: self.kernel_name(slot),
                what: "refused a line that the CPU wrote back (SLVERR or DECERR): what was stored in it is lost"
                    .to_owned(),
            })),
            _ => Ok(()),
        }
    }

    /// Card memory behind the directory has an end; what a kernel serves, it says itself.
    fn home_has(&self, access: &LineAccess) -> Result<(), Error> {
        let (Some(Home::Memory), Some(range)) = (self.coherent.home, self.coherent.memory) else {
            return Ok(());
        };
        match access.address < range.bytes() {
            true => Ok(()),
            false => Err(Error::CoherentOffset {
                offset: access.address,
                bytes: LINE_BYTES as u64,
                range: range.bytes(),
            }),
        }
    }

    /// The line of an access and how long it took, or `Late`.
    pub(crate) fn look_for_line(
        &mut self,
        id: AccessId,
        until: Option<Picoseconds>,
    ) -> Result<Option<LineLook>, Error> {
        let now = self.card.now();
        let Some(access) = self.coherent.accesses.get_mut(&id) else {
            return Err(Error::Internal(format!("unknown access {}", id.0)));
        };
        if let Some(end) = access.end.take() {
            let took = (access.home == LineHome::Card).then(|| now - access.began);
            let refused = LineLook::Refused(access.address);
            return Ok(Some(end.map_or(refused, |line| LineLook::Line(line, took))));
        }
        Ok(until
            .is_some_and(|until| now >= until)
            .then_some(LineLook::Late))
    }

    /// An access that took as long as a kernel may take, or that ended when the kernel was cut off, may have
    /// been answered by the shell.
    fn was_it_the_kernel(&mut self, took: Picoseconds) -> Result<(), Error> {
        let patience = u64::from(self.coherent.patience.unwrap_or(PATIENCE));
        let limit = self.card.description().clock_period * patience;
        if self.coherent.failure.is_none() && patience != 0 && took >= limit {
            self.look_for_home_violation()?;
        }
        match &self.coherent.failure {
            Some(failure) => Err(Error::Home(failure.clone())),
            None => Ok(()),
        }
    }

    /// Why a line came without data: its kernel was cut off, or answered with an error, which it may.
    fn refused_line(&mut self, address: u64) -> Error {
        if self.coherent.failure.is_none() {
            if let Err(error) = self.look_for_home_violation() {
                return error;
            }
        }
        if let Some(failure) = &self.coherent.failure {
            return Error::Home(failure.clone());
        }
        let Some(slot) = self.coherent.home.and_then(Home::slot) else {
            return Error::NoHome;
        };
        // Whoever waits for the kernel's run is told of its failure, too.
        let why = match self.untold_failure(slot) {
            Some(failure) => format!("after an access of its own had failed ({failure})"),
            None => "it does not serve that line".to_owned(),
        };
        Error::Home(HomeError {
            slot,
            kernel: self.kernel_name(slot),
            what: format!(
                "answered the read of line 0x{:x} with an error (SLVERR or DECERR): {why}",
                address / LINE_BYTES as u64 * LINE_BYTES as u64
            ),
        })
    }

    /// Reads what the guard of the directory's side knows; whether the kernel broke a rule.
    pub(super) fn look_for_home_violation(&mut self) -> Result<bool, Error> {
        if self.coherent.home.is_none() {
            return Ok(false);
        }
        let Some(violation) = take_home_violation(&mut *self.card)? else {
            return Ok(false);
        };
        let slot = violation.slot;
        let kernel = self
            .manifest(slot)
            .map_or("none", |manifest| &manifest.name);
        let beside = self.coherent.beside == Some(slot);
        let then = match beside {
            true => "card memory serves the lines as before",
            false => "the shell answers the CPU in the kernel's place",
        };
        let error = HomeError {
            slot,
            kernel: kernel.to_owned(),
            what: format!(
                "{violation}; the slot was closed, and {then}. Start the kernel anew, or load another"
            ),
        };
        if !beside {
            self.coherent.failure.get_or_insert(error.clone());
        }
        if self.manifest(slot).is_some() {
            self.quarantine(slot, Error::Home(error))?;
        }
        Ok(true)
    }

    /// The directory holds an error.
    pub(crate) fn directory_trouble(&mut self) -> Result<(), Error> {
        while let Some(error) = directory_error(&mut *self.card)? {
            tracing::warn!(%error, "trouble of the directory");
            // What is swept out behind a kernel that is cut off, its failure tells.
            if matches!(error, DirectoryError::Write { .. }) && self.coherent.failure.is_none() {
                self.coherent.lost = true;
            }
            if let DirectoryError::Write { .. } | DirectoryError::Memory { .. } = error {
                self.beyond_home_memory()?;
            }
        }
        Ok(())
    }

    /// Card memory did not take an access. Those of the CPU are refused before they begin, so it was an operation of the
    /// kernel beside it, to which nobody answers that.
    fn beyond_home_memory(&mut self) -> Result<(), Error> {
        let (Some(Home::Memory), Some(slot)) = (self.coherent.home, self.coherent.beside) else {
            return Ok(());
        };
        if self.manifest(slot).is_none() {
            return Ok(());
        }
        let bytes = self.coherent.memory.map_or(0, |range| range.bytes());
        let error = HomeError {
            slot,
            kernel: self.kernel_name(slot),
            what: format!(
                "had an operation on a line beyond the {bytes} bytes of card memory behind the directory \
                 (OwnerOptions::home_bytes); what it wrote there is nowhere"
            ),
        };
        self.quarantine(slot, Error::Home(error))
    }

    pub(crate) fn access_done(&mut self, id: AccessId, end: AccessEnd) {
        if let Some(access) = self.coherent.accesses.get_mut(&id) {
            access.end = Some(end);
        }
    }
}
