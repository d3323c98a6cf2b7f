//! Kernels that misbehave: error reports, and how their slots are brought to rest.

use super::slots::slot_register;
use super::Kernels;
use card::guard::KernelWord;
use card::kernel::{ControlProtocol, Manifest};
use card::CardError;
use error::{Error, HomeError, ViolationError};
use units::{FaultToken, SlotId};

/// Maximum number of interrupts of one run that announce nothing, before the kernel is stopped. Two are usual: ready
/// and done.
pub(super) const IDLE_INTERRUPTS: u32 = 16;

impl Kernels {
    /// Reads the guard of the CPU's lines; returns whether the kernel broke a rule. Its slot is held in reset then.
    fn look_for_host_lines_violation(&mut self) -> Result<bool, Error> {
        let found = self
            .coherent
            .host_lines
            .take_violation(self.card.as_mut())?;
        let Some(violation) = found else {
            return Ok(false);
        };
        let slot = violation.slot;
        let Some(manifest) = self.manifest(slot) else {
            return Ok(true);
        };
        let error = HomeError {
            slot,
            kernel: manifest.name.clone(),
            what: format!(
                "{violation}; the slot was closed, its lines go home, and the CPU goes on. Start the kernel anew, or load \
                 another"
            ),
        };
        self.quarantine(slot, Error::Home(error))?;
        Ok(true)
    }

    /// Handles a slot that the guard closed: determines why, and holds it in reset.
    pub(crate) fn slot_closed(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.look_for_home_violation()? || self.look_for_host_lines_violation()? {
            return Ok(());
        }
        let status = self.card.slot_status(slot)?;
        let Some(manifest) = self.manifest(slot) else {
            return Ok(());
        };
        let kernel = manifest.name.clone();
        let error = match (status.violation(), status.unanswered) {
            (Some((port, violation)), _) => Error::Violation(ViolationError {
                slot,
                kernel,
                port: self.port_name(manifest, port),
                violation,
            }),
            (None, Some(unanswered)) => Error::Unanswered {
                slot,
                kernel,
                unanswered,
            },
            // It has been reset meanwhile.
            (None, None) => return Ok(()),
        };
        self.quarantine(slot, error)
    }

    /// Keeps the first error of a run, and holds the slot in reset until its client asks.
    ///
    /// Its pending accesses are dropped, so that its faults and interrupts cost the host nothing more.
    /// [`rest`](crate::owner_ref::OwnerRef::rest) completes this before the slot can run again.
    pub(super) fn quarantine(&mut self, slot: SlotId, error: Error) -> Result<(), Error> {
        tracing::warn!(%error, "a slot is held in reset");
        let space = self.loaded(slot)?.space();
        self.card.control_slot(slot, space, false)?;
        self.loaded(slot)?.hold();
        self.streams_reset(slot);
        self.failed(slot, error);
        Ok(())
    }

    /// Fails the runs of kernels that have answered register writes with an error since the last call; register writes
    /// are posted.
    pub(crate) fn notice_refused_writes(&mut self) -> Result<(), Error> {
        for address in self.card.take_refused_writes() {
            let refused = match slot_register(address) {
                Some((slot, offset)) => self.refused(slot, offset, true)?.map(|e| (slot, e)),
                None => {
                    tracing::warn!("write to register 0x{address:06x} was answered with an error");
                    None
                }
            };
            if let Some((slot, error)) = refused {
                self.quarantine(slot, error)?;
            }
        }
        Ok(())
    }

    /// The error of a register access that a kernel answered with an error response. `None` if the shell answered: the
    /// slot is in reset, or closed because the kernel hangs, which the guard reports.
    pub(super) fn refused(
        &mut self,
        slot: SlotId,
        offset: u32,
        write: bool,
    ) -> Result<Option<Error>, Error> {
        if !self.loaded(slot).is_ok_and(|loaded| loaded.listens()) {
            return Ok(None);
        }
        if self.card.slot_status(slot)?.unanswered.is_some() {
            return Ok(None);
        }
        let kernel = self.kernel_name(slot);
        let register = match self.manifest(slot) {
            Some(manifest) => register_name(manifest, offset),
            None => String::new(),
        };
        let access = if write { "write" } else { "read" };
        let reason = format!(
            "{register} at 0x{offset:02x}: the kernel answered a {access} with an error (SLVERR or DECERR): \
             registers of the manifest answer OKAY; compare the offset with the kernel's RTL"
        );
        Ok(Some(Error::KernelFailed {
            slot,
            kernel,
            reason,
        }))
    }

    /// Waits of the slot's ports, as the end of a sentence.
    pub(super) fn waits_of(
        &mut self,
        faults: &[FaultToken],
        slot: SlotId,
    ) -> Result<String, Error> {
        let status = self.card.slot_status(slot)?;
        let Some(manifest) = self.manifest(slot) else {
            return Ok(String::new());
        };
        let mut parts = Vec::new();
        let memory_ports = self.card.description().memory_ports_per_slot();
        let memory_ports = status.ports.iter().take(memory_ports.into());
        let mut exclusive = Vec::new();
        for (number, port) in memory_ports.enumerate() {
            let name = self.port_name(manifest, number);
            let waits = port.waits().into_iter();
            parts.extend(waits.map(|wait| format!("port {name} {wait}")));
            if port.exclusive {
                exclusive.push(format!(
                    "port {name} has asked for exclusive access (AxLOCK): every access is answered OKAY, none EXOKAY, so a \
                     kernel that waits for EXOKAY never ends"
                ));
            }
        }
        parts.extend(self.stream_waits(slot)?);
        let (first, last) = self.requesters_of_slot(slot);
        let faults = faults.iter();
        let faults = faults.filter(|token| (first..=last).contains(&token.requester));
        match faults.count() {
            0 => {}
            1 => parts.push("1 fault is with the host".to_owned()),
            count => parts.push(format!("{count} faults are with the host")),
        }
        if parts.is_empty() {
            parts.push("no access of it is under way".to_owned());
            let untaken = self.untaken(slot);
            parts.extend(untaken.into_iter().map(|stream| {
                let port = self.stream_name(slot, stream).port;
                format!("port {port}: nothing takes what the kernel sends there")
            }));
        }
        parts.extend(exclusive);
        Ok(parts.join("; "))
    }

    /// Reads a kernel's register for the owner itself. `None` if the kernel refused, for which the slot is held in
    /// reset, or did not answer, which the guard reports.
    pub(super) fn read_own(
        &mut self,
        slot: SlotId,
        offset: u32,
    ) -> Result<Option<KernelWord>, Error> {
        let read = self.read_kernel(slot, offset);
        match Self::unless_hung(read) {
            Err(error @ Error::KernelFailed { .. }) => {
                self.quarantine(slot, error)?;
                Ok(None)
            }
            other => other,
        }
    }

    /// The result of the owner's own register access. A kernel that does not answer is no error of the owner; the
    /// guard reports it.
    pub(super) fn unless_hung<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Card(CardError::Bus { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Name of the kernel's register at an offset, for messages.
fn register_name(manifest: &Manifest, offset: u32) -> String {
    let of_argument = |argument: &&card::kernel::Argument| {
        (argument.offset..argument.offset.saturating_add(argument.bytes)).contains(&offset)
    };
    if let Some(argument) = manifest.arguments.iter().find(of_argument) {
        return format!("argument `{}`", argument.name);
    }
    let name = match offset {
        _ if manifest.control == ControlProtocol::UserManaged => "register",
        0x0 => "control register (ap_start, ap_done)",
        0x4 => "global interrupt enable",
        0x8 => "interrupt enable register",
        0xc => "interrupt status register",
        _ => "register",
    };
    name.to_owned()
}
