//! The coherent side of the owner: accesses of CPU cores, and the kernel behind the directory.

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

/// Default timeout of a kernel's answer, in cycles.
const PATIENCE: u32 = 1 << 20;

/// The owner's state of the directory.
#[derive(Debug, Default)]
pub(super) struct Coherent {
    /// The responder behind the directory.
    home: Option<Home>,
    /// The slot of the kernel with line operations on lines that card memory serves.
    beside: Option<SlotId>,
    /// Card memory that is reserved for the directory.
    memory: Option<HomeRange>,
    /// Why its kernel was cut off.
    failure: Option<HomeError>,
    patience: Option<u32>,
    /// The CPU may hold lines of the slot behind the directory.
    used: bool,
    /// Registers were written and the writes are not confirmed yet.
    posted: bool,
    /// A line that the CPU wrote back was refused, and this is not reported yet.
    lost: bool,
    /// Pending accesses, with the line once it has arrived.
    accesses: BTreeMap<AccessId, Access>,
    /// State of the CPU's own lines that a kernel uses.
    pub(super) host_lines: HostLines,
}

impl Coherent {
    /// Creates the state, with the card memory reserved for the directory and the number of bytes of CPU memory that
    /// kernels may use.
    pub(super) fn new(memory: Option<HomeRange>, host_line_bytes: u64) -> Self {
        Self {
            memory,
            host_lines: HostLines::new(host_line_bytes),
            ..Self::default()
        }
    }
}

/// The responder for the directory's lines.
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

/// State of an access.
pub(crate) enum LineLook {
    /// It is over. If the card is the line's home, the access took this time.
    Line(Box<LineBytes>, Option<Picoseconds>),
    /// The responder for this address answered with an error.
    Refused(u64),
    Late,
}

impl Kernels {
    /// Ends an access and returns its result, given its last state.
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

    /// Asks the directory for all lines of this slot's kernel that the CPU may hold; returns whether there are any.
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

    /// Connects a newly loaded kernel: one with home ports goes behind the directory; one with line operations alone
    /// works on lines that card memory serves.
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

    /// Gives a kernel line operations on the lines that card memory serves.
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

    /// The recorded history of lines; empty on a card that is not coherent.
    pub(crate) fn line_history(&mut self) -> History {
        let card = self.card.lines();
        card.map_or_else(History::default, |card| card.line_history())
    }

    /// Puts card memory behind the directory, if it is not already; returns its size in bytes.
    pub(crate) fn use_home_memory(&mut self) -> Result<u64, Error> {
        let range = match self.coherent.memory {
            Some(range) => range,
            None => {
                // A card that is not coherent reports that first.
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
                // Errors of an earlier kernel do not concern the memory.
                self.coherent.failure = None;
                Ok(range.bytes())
            }
        }
    }

    /// Disconnects the kernel of a slot.
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

    /// A slot leaves reset: errors of its earlier kernel are dropped.
    pub(super) fn forgive_home(&mut self, slot: SlotId) {
        if self.coherent.home == Some(Home::Slot(slot)) {
            self.coherent.failure = None;
        }
    }

    /// Sets the timeout of the kernel behind the directory, in cycles; 0: none.
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

    /// Notes that registers were written. Register writes and accesses of cores reach the card on different paths.
    pub(super) fn registers_posted(&mut self) {
        self.coherent.posted = true;
    }

    /// Ensures that register writes before an access are in force when the access begins, by waiting for a read.
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
            // A card that is not coherent reports that first.
            None => {
                self.card.need_lines()?;
                Err(Error::NoHome)
            }
        }
    }

    /// The line that the kernel in this slot refused on a recall, if it is not reported yet.
    pub(crate) fn lost_on_the_way_home(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        if self.coherent.home != Some(Home::Slot(slot)) {
            return Ok(None);
        }
        // Its record may still be on the way.
        self.directory_trouble()?;
        Ok(self.nothing_is_lost().err())
    }

    /// Reports, once, a line that the kernel refused when the CPU wrote it back.
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

    /// Card memory behind the directory has an end; a kernel checks its addresses itself.
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

    /// The line of an access and how long it took; an error if it took too long.
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

    /// Decides whether the kernel or the shell answered: the shell may answer an access that took the kernel's whole
    /// timeout, or that ended when the kernel was cut off.
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

    /// Why a line came without data: its kernel was cut off, or answered with an error, which is permitted.
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
        // The failure is reported to a waiter for the kernel's run, too.
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

    /// Reads the guard of the directory's side; returns whether the kernel broke a rule.
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

    /// Handles an error that the directory holds.
    pub(crate) fn directory_trouble(&mut self) -> Result<(), Error> {
        while let Some(error) = directory_error(&mut *self.card)? {
            tracing::warn!(%error, "trouble of the directory");
            // The failure of a cut-off kernel covers the lines swept out behind it.
            if matches!(error, DirectoryError::Write { .. }) && self.coherent.failure.is_none() {
                self.coherent.lost = true;
            }
            if let DirectoryError::Write { .. } | DirectoryError::Memory { .. } = error {
                self.beyond_home_memory()?;
            }
        }
        Ok(())
    }

    /// Card memory refused an access. Accesses of the CPU are checked before they begin, so it was an operation of the
    /// kernel on card memory, to which the refusal is not reported otherwise.
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
