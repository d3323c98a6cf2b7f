//! The coherent side of the owner: accesses of CPU cores, and the kernel behind the directory.

mod home_memory;
mod host_lines;

use super::slots::SlotControl;
use card::coherent::{
    directory_error, home_register, take_home_violation, AccessEnd, DirectoryError,
};
use card::history::History;
use card::home_registers as reg;
use card::kernel::Manifest;
use card::CardError;
use error::{Error, HomeError};
pub(crate) use home_memory::HomeRange;
use host_lines::LineCache;
use std::collections::BTreeMap;
use units::access::{AccessId, AccessKind, LineAccess, LineBytes, LineHome, LINE_BYTES};
use units::{Picoseconds, SlotId};

/// Default timeout of a kernel's answer, in cycles.
const ANSWER_TIMEOUT: u32 = 1 << 20;

/// The owner's state of the directory.
#[derive(Debug, Default)]
pub(super) struct Lines {
    /// The responder behind the directory.
    home: Option<Home>,
    /// The slot of the kernel with line operations on lines that card memory serves.
    operator: Option<SlotId>,
    /// Card memory that is reserved for the directory.
    memory: Option<HomeRange>,
    /// Why its kernel was cut off.
    failure: Option<HomeError>,
    /// Timeout of the answer of its kernel, in cycles, if a program has set it.
    answer_timeout: Option<u32>,
    /// The CPU may hold lines of the slot behind the directory.
    used: bool,
    /// A line that the CPU wrote back was refused, and this is not reported yet.
    lost: bool,
    /// Pending accesses, with the line once it has arrived.
    accesses: BTreeMap<AccessId, Access>,
    /// State of the CPU's own lines that a kernel uses.
    host_lines: LineCache,
}

impl Lines {
    /// Creates the state, with the card memory reserved for the directory and the number of bytes of CPU memory that
    /// kernels may use.
    pub(super) fn new(memory: Option<HomeRange>, host_line_bytes: u64) -> Self {
        Self {
            memory,
            host_lines: LineCache::new(host_line_bytes),
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

/// The lines, with the card and the slots of the kernels behind them.
pub(crate) struct LineControl<'a> {
    lines: &'a mut Lines,
    slots: &'a mut SlotControl,
}

impl<'a> LineControl<'a> {
    pub(super) fn new(lines: &'a mut Lines, slots: &'a mut SlotControl) -> Self {
        Self { lines, slots }
    }
}

/// A kernel that broke a rule of the lines, with the error for its client.
pub(super) struct Offence {
    pub(super) slot: SlotId,
    pub(super) error: Error,
}

/// An error that the directory held.
pub(super) struct Trouble {
    /// The kernel that caused it, if one did.
    pub(super) offence: Option<Offence>,
}

/// State of an access.
pub(crate) enum LineLook {
    /// It is over. If the card is the line's home, the access took this time.
    Line(Box<LineBytes>, Option<Picoseconds>),
    /// The responder for this address answered with an error.
    Refused(u64),
    Late,
}

impl LineControl<'_> {
    /// Connects a newly loaded kernel with the directory and the CPU's lines, as far as it has ports for them.
    pub(in crate::kernels) fn place(
        &mut self,
        slot: SlotId,
        manifest: &Manifest,
    ) -> Result<(), Error> {
        self.place_home(slot, manifest)?;
        let card = self.slots.card();
        self.lines.host_lines.place(card, slot, manifest)
    }

    /// Disconnects the kernel of a slot.
    pub(in crate::kernels) fn leave(&mut self, slot: SlotId) -> Result<(), Error> {
        self.leave_home(slot)?;
        self.lines.host_lines.leave(self.slots.card(), slot)
    }

    /// Bytes of the CPU's memory that kernels may use.
    ///
    /// # Errors
    /// The card has no cache of such lines.
    pub(crate) fn host_line_bytes(&mut self) -> Result<u64, Error> {
        self.lines.host_lines.bytes(self.slots.card())
    }

    /// Sets how long a kernel may hold a line of the CPU, in cycles; 0: without a limit.
    ///
    /// # Errors
    /// The card has no cache of such lines.
    pub(crate) fn set_hold_timeout(&mut self, cycles: u32) -> Result<(), Error> {
        self.lines.host_lines.set_timeout(self.slots.card(), cycles)
    }

    /// Whether the kernel of a slot uses the CPU's lines.
    pub(crate) fn uses_host_lines(&self, slot: SlotId) -> bool {
        self.lines.host_lines.are_used_by(slot)
    }

    /// Whether the CPU has its lines back from a kernel in reset.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn host_lines_are_home(&mut self) -> Result<bool, Error> {
        self.lines.host_lines.are_home(self.slots.card())
    }

    /// Logs the errors of the cache of the CPU's lines.
    ///
    /// # Errors
    /// The card's.
    pub(in crate::kernels) fn log_host_line_errors(&mut self) -> Result<(), Error> {
        self.lines.host_lines.log_errors(self.slots.card())
    }

    /// Reads the guard of the CPU's lines; returns the kernel that broke a rule.
    pub(in crate::kernels) fn take_host_lines_violation(
        &mut self,
    ) -> Result<Option<Offence>, Error> {
        let found = self.lines.host_lines.take_violation(self.slots.card())?;
        let Some(violation) = found else {
            return Ok(None);
        };
        let slot = violation.slot;
        let error = HomeError {
            slot,
            kernel: self.slots.kernel_name(slot),
            what: format!(
                "{violation}; the slot was closed, its lines go home, and the CPU goes on. Start the kernel anew, or load \
                 another"
            ),
        };
        let error = Error::Home(error);
        Ok(Some(Offence { slot, error }))
    }

    /// Reads the guard of the directory's side; returns the kernel that broke a rule.
    pub(in crate::kernels) fn take_home_violation(&mut self) -> Result<Option<Offence>, Error> {
        if self.lines.home.is_none() {
            return Ok(None);
        }
        let Some(violation) = take_home_violation(self.slots.card())? else {
            return Ok(None);
        };
        let slot = violation.slot;
        let is_operator = self.lines.operator == Some(slot);
        let then = match is_operator {
            true => "card memory serves the lines as before",
            false => "the shell answers the CPU in the kernel's place",
        };
        let error = HomeError {
            slot,
            kernel: self.slots.kernel_name(slot),
            what: format!(
                "{violation}; the slot was closed, and {then}. Start the kernel anew, or load another"
            ),
        };
        if !is_operator {
            self.lines.failure.get_or_insert(error.clone());
        }
        let error = Error::Home(error);
        Ok(Some(Offence { slot, error }))
    }

    /// Takes an error that the directory holds, if it holds one.
    pub(in crate::kernels) fn take_trouble(&mut self) -> Result<Option<Trouble>, Error> {
        let Some(error) = directory_error(self.slots.card())? else {
            return Ok(None);
        };
        tracing::warn!(%error, "trouble of the directory");
        // The failure of a cut-off kernel covers the lines swept out behind it.
        if matches!(error, DirectoryError::Write { .. }) && self.lines.failure.is_none() {
            self.lines.lost = true;
        }
        let offence = match error {
            DirectoryError::Write { .. } | DirectoryError::Memory { .. } => {
                self.beyond_home_memory()
            }
            _ => None,
        };
        Ok(Some(Trouble { offence }))
    }

    /// Card memory refused an access. Accesses of the CPU are checked before they begin, so it was an operation of the
    /// kernel on card memory, to which the refusal is not reported otherwise.
    fn beyond_home_memory(&mut self) -> Option<Offence> {
        let (Some(Home::Memory), Some(slot)) = (self.lines.home, self.lines.operator) else {
            return None;
        };
        let bytes = self.lines.memory.map_or(0, |range| range.bytes());
        let error = HomeError {
            slot,
            kernel: self.slots.kernel_name(slot),
            what: format!(
                "had an operation on a line beyond the {bytes} bytes of card memory behind the directory \
                 (OwnerOptions::home_bytes); what it wrote there is nowhere"
            ),
        };
        let error = Error::Home(error);
        Some(Offence { slot, error })
    }

    /// Whether the kernel of a slot serves the directory's lines.
    pub(in crate::kernels) fn are_served_by(&self, slot: SlotId) -> bool {
        self.lines.home == Some(Home::Slot(slot))
    }

    /// Whether an access may have been answered by the shell, which the guard knows: one that took the kernel's whole
    /// timeout, or that was answered with an error.
    pub(in crate::kernels) fn may_be_cut_off(&self, seen: &LineLook) -> bool {
        let timeout = u64::from(self.lines.answer_timeout.unwrap_or(ANSWER_TIMEOUT));
        let limit = self.slots.description().clock_period * timeout;
        self.lines.failure.is_none()
            && match seen {
                LineLook::Line(_, Some(took)) => timeout != 0 && *took >= limit,
                LineLook::Refused(_) => true,
                LineLook::Line(_, None) | LineLook::Late => false,
            }
    }

    /// Ends an access and returns its result, given its last state.
    pub(in crate::kernels) fn access_over(
        &mut self,
        id: AccessId,
        seen: Result<LineLook, Error>,
    ) -> Result<Box<LineBytes>, Error> {
        let access = self.lines.accesses.remove(&id);
        match (seen, access) {
            (Ok(LineLook::Line(line, took)), _) => match &self.lines.failure {
                Some(failure) if took.is_some() => Err(Error::Home(failure.clone())),
                _ => Ok(line),
            },
            (Ok(LineLook::Refused(address)), _) => Err(self.refused_line(address)),
            (Ok(LineLook::Late) | Err(Error::Card(CardError::NothingToWaitFor)), Some(access)) => {
                Err(Error::LineLate {
                    address: access.address,
                    slot: match access.home {
                        LineHome::Card => self.lines.home.and_then(Home::slot),
                        LineHome::Cpu => self.lines.host_lines.slot(),
                    },
                    now: self.slots.now(),
                })
            }
            (Ok(LineLook::Late), None) => Err(Error::Internal(format!("unknown access {}", id.0))),
            (Err(error), _) => Err(error),
        }
    }

    /// Why a line came without data: its kernel was cut off, or answered with an error, which is permitted.
    fn refused_line(&mut self, address: u64) -> Error {
        if let Some(failure) = &self.lines.failure {
            return Error::Home(failure.clone());
        }
        let Some(slot) = self.lines.home.and_then(Home::slot) else {
            return Error::NoHome;
        };
        // The failure is reported to a waiter for the kernel's run, too.
        let why = match self.slots.unreported_failure(slot) {
            Some(failure) => format!("after an access of its own had failed ({failure})"),
            None => "it does not serve that line".to_owned(),
        };
        Error::Home(HomeError {
            slot,
            kernel: self.slots.kernel_name(slot),
            what: format!(
                "answered the read of line 0x{:x} with an error (SLVERR or DECERR): {why}",
                address / LINE_BYTES as u64 * LINE_BYTES as u64
            ),
        })
    }

    /// Whether a recall is complete: the CPU has none of its lines.
    pub(crate) fn are_recalled(&mut self) -> Result<bool, Error> {
        let recall = self
            .slots
            .card()
            .read_register(home_register(reg::RECALL))?;
        Ok(reg::recall::ALL.get(recall) == 0)
    }

    /// Asks the directory for all lines of this slot's kernel that the CPU may hold; returns whether there are any.
    pub(crate) fn begin_recall(&mut self, slot: SlotId) -> Result<bool, Error> {
        let here = self.lines.home == Some(Home::Slot(slot));
        if !here || !std::mem::take(&mut self.lines.used) {
            return Ok(false);
        }
        let status = self
            .slots
            .card()
            .read_register(home_register(reg::STATUS))?;
        if reg::status::OPEN.get(status) == 0 {
            return Ok(false);
        }
        let all = reg::recall::ALL.put(1);
        self.slots
            .card()
            .write_register(home_register(reg::RECALL), all)?;
        Ok(true)
    }

    /// Connects a newly loaded kernel: one with home ports goes behind the directory; one with line operations alone
    /// works on lines that card memory serves.
    fn place_home(&mut self, slot: SlotId, manifest: &Manifest) -> Result<(), Error> {
        if manifest.lines.is_empty() {
            return Ok(());
        }
        if manifest.homes.is_empty() {
            return self.place_operator(slot, manifest);
        }
        let rule = match self.lines.home {
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
        self.slots
            .card()
            .write_register(home_register(reg::ROUTE), route)?;
        let timeout = self.lines.answer_timeout.unwrap_or(ANSWER_TIMEOUT);
        let address = home_register(reg::PATIENCE);
        self.slots.card().write_register(address, timeout)?;
        self.slots.registers_posted();
        self.lines.home = Some(Home::Slot(slot));
        self.lines.failure = None;
        self.lines.lost = false;
        Ok(())
    }

    /// Gives a kernel line operations on the lines that card memory serves.
    fn place_operator(&mut self, slot: SlotId, manifest: &Manifest) -> Result<(), Error> {
        if let Some(other) = self.lines.operator.filter(|other| *other != slot) {
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
        self.slots
            .card()
            .write_register(home_register(reg::ROUTE), route)?;
        self.slots.registers_posted();
        self.lines.operator = Some(slot);
        Ok(())
    }

    /// The recorded history of lines; empty on a card that is not coherent.
    pub(crate) fn line_history(&mut self) -> History {
        let card = self.slots.card().lines();
        card.map_or_else(History::default, |card| card.line_history())
    }

    /// Puts card memory behind the directory, if it is not already; returns its size in bytes.
    pub(crate) fn use_home_memory(&mut self) -> Result<u64, Error> {
        let range = match self.lines.memory {
            Some(range) => range,
            None => {
                // A card that is not coherent reports that first.
                self.slots.card().need_lines()?;
                return Err(Error::NoHomeMemory);
            }
        };
        match self.lines.home {
            Some(Home::Memory) => Ok(range.bytes()),
            Some(Home::Slot(slot)) => Err(Error::Home(HomeError {
                slot,
                kernel: self.slots.kernel_name(slot),
                what: "it serves the directory's lines; unload it before card memory does"
                    .to_owned(),
            })),
            None => {
                range.place(self.slots.card())?;
                self.slots.registers_posted();
                self.lines.home = Some(Home::Memory);
                // Errors of an earlier kernel do not concern the memory.
                self.lines.failure = None;
                Ok(range.bytes())
            }
        }
    }

    fn leave_home(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.lines.home == Some(Home::Slot(slot)) {
            self.slots
                .card()
                .write_register(home_register(reg::ROUTE), 0)?;
            self.lines.home = None;
        }
        if self.lines.operator == Some(slot) {
            let route = reg::route::MEMORY.put(1);
            self.slots
                .card()
                .write_register(home_register(reg::ROUTE), route)?;
            self.lines.operator = None;
        }
        Ok(())
    }

    /// A slot leaves reset: errors of its earlier kernel are dropped.
    pub(in crate::kernels) fn forgive_home(&mut self, slot: SlotId) {
        if self.lines.home == Some(Home::Slot(slot)) {
            self.lines.failure = None;
        }
    }

    /// Sets the timeout of the kernel behind the directory, in cycles; 0: none.
    pub(crate) fn set_answer_timeout(&mut self, cycles: u32) -> Result<(), Error> {
        let address = home_register(reg::PATIENCE);
        self.slots.card().write_register(address, cycles)?;
        self.slots.registers_posted();
        self.lines.answer_timeout = Some(cycles);
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
                self.lines.used = true;
            }
            LineHome::Cpu => self.lines.host_lines.have(&access)?,
        }
        let (address, began) = (access.address, self.slots.now());
        let hint = access.kind == AccessKind::Prefetch;
        let id = self.slots.card().need_lines()?.access(access)?;
        if !hint {
            let access = Access {
                home,
                address,
                began,
                end: None,
            };
            self.lines.accesses.insert(id, access);
        }
        Ok(id)
    }

    /// Ensures that register writes before an access are in force when the access begins, by waiting for a read.
    fn settle_registers(&mut self) -> Result<(), Error> {
        if self.slots.take_posted() {
            self.slots
                .card()
                .read_register(home_register(reg::STATUS))?;
        }
        Ok(())
    }

    fn home_is_there(&mut self) -> Result<(), Error> {
        if let Some(failure) = &self.lines.failure {
            return Err(Error::Home(failure.clone()));
        }
        match self.lines.home {
            Some(_) => Ok(()),
            // A card that is not coherent reports that first.
            None => {
                self.slots.card().need_lines()?;
                Err(Error::NoHome)
            }
        }
    }

    /// Reports, once, a line that the kernel refused when the CPU wrote it back.
    pub(in crate::kernels) fn nothing_is_lost(&mut self) -> Result<(), Error> {
        let lost = std::mem::take(&mut self.lines.lost);
        match self.lines.home {
            Some(Home::Slot(slot)) if lost => Err(Error::Home(HomeError {
                slot,
                kernel: self.slots.kernel_name(slot),
                what: "refused a line that the CPU wrote back (SLVERR or DECERR): what was stored in it is lost"
                    .to_owned(),
            })),
            _ => Ok(()),
        }
    }

    /// Card memory behind the directory has an end; a kernel checks its addresses itself.
    fn home_has(&self, access: &LineAccess) -> Result<(), Error> {
        let (Some(Home::Memory), Some(range)) = (self.lines.home, self.lines.memory) else {
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
        let now = self.slots.now();
        let Some(access) = self.lines.accesses.get_mut(&id) else {
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

    pub(crate) fn access_done(&mut self, id: AccessId, end: AccessEnd) {
        if let Some(access) = self.lines.accesses.get_mut(&id) {
            access.end = Some(end);
        }
    }
}
