//! Kernels that misbehave: error reports, and how their slots are brought to rest.

use super::lines::{LineLook, Offence};
use super::slots::slot_register;
use super::Kernels;
use error::{AccessError, Error, ViolationError};
use pager::MappingInfo;
use units::access::{AccessId, LineBytes};
use units::{FaultToken, SlotId, VirtAddr};

impl Kernels {
    /// Reads the guard of the directory's side; returns whether a kernel broke a rule. Its slot is held in reset then.
    fn look_for_home_violation(&mut self) -> Result<bool, Error> {
        let found = self.lines().take_home_violation()?;
        self.stop_offender(found)
    }

    /// Reads the guard of the CPU's lines; returns whether a kernel broke a rule. Its slot is held in reset then.
    fn look_for_host_lines_violation(&mut self) -> Result<bool, Error> {
        let found = self.lines().take_host_lines_violation()?;
        self.stop_offender(found)
    }

    /// Holds the slot of a kernel that broke a rule in reset; returns whether there is one.
    fn stop_offender(&mut self, found: Option<Offence>) -> Result<bool, Error> {
        let Some(Offence { slot, error }) = found else {
            return Ok(false);
        };
        if self.slots.manifest(slot).is_some() {
            self.quarantine(slot, error)?;
        }
        Ok(true)
    }

    /// Ends an access to a line and returns its result, given its last state.
    pub(crate) fn access_over(
        &mut self,
        id: AccessId,
        seen: Result<LineLook, Error>,
    ) -> Result<Box<LineBytes>, Error> {
        let is_cut_off = |seen: &LineLook| self.lines().may_be_cut_off(seen);
        let looked = match seen.as_ref().is_ok_and(is_cut_off) {
            true => self.look_for_home_violation().map(drop),
            false => Ok(()),
        };
        self.lines().access_over(id, looked.and(seen))
    }

    /// Handles the errors that the directory holds.
    fn directory_trouble(&mut self) -> Result<(), Error> {
        while let Some(trouble) = self.lines().take_trouble()? {
            self.stop_offender(trouble.offence)?;
        }
        Ok(())
    }

    /// Logs the errors of the directory and of the cache of the CPU's lines.
    ///
    /// # Errors
    /// The card's.
    pub(crate) fn log_line_errors(&mut self) -> Result<(), Error> {
        self.directory_trouble()?;
        self.lines().log_host_line_errors()
    }

    /// The line that the kernel in this slot refused on a recall, if it is not reported yet.
    pub(crate) fn lost_on_the_way_home(&mut self, slot: SlotId) -> Result<Option<Error>, Error> {
        if !self.lines().are_served_by(slot) {
            return Ok(None);
        }
        // Its record may still be on the way.
        self.directory_trouble()?;
        Ok(self.lines().nothing_is_lost().err())
    }

    /// Handles a slot that the guard closed: determines why, and holds it in reset.
    pub(crate) fn slot_closed(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.look_for_home_violation()? || self.look_for_host_lines_violation()? {
            return Ok(());
        }
        let status = self.slots.card().slot_status(slot)?;
        let Some(manifest) = self.slots.manifest(slot) else {
            return Ok(());
        };
        let kernel = manifest.name.clone();
        let error = match (status.violation(), status.unanswered) {
            (Some((port, violation)), _) => Error::Violation(ViolationError {
                slot,
                kernel,
                port: self.slots.port_name(manifest, port),
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
    /// [`rest`](crate::handlers::slots::SlotRequests::rest) completes this before the slot can run again.
    pub(super) fn quarantine(&mut self, slot: SlotId, error: Error) -> Result<(), Error> {
        tracing::warn!(%error, "a slot is held in reset");
        self.slots.quarantine(slot, error)?;
        self.streams().reset(slot);
        Ok(())
    }

    /// Fails the runs of kernels that have answered register writes with an error since the last call; register writes
    /// are posted.
    pub(crate) fn notice_refused_writes(&mut self) -> Result<(), Error> {
        for address in self.slots.card().take_refused_writes() {
            let refused = match slot_register(address) {
                Some((slot, offset)) => self.slots.refused(slot, offset, true)?.map(|e| (slot, e)),
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

    /// Reports an access that was refused to the client of its kernel.
    pub(crate) fn access_failed(
        &mut self,
        token: FaultToken,
        address: VirtAddr,
        write: bool,
        reason: &pager::AccessError,
        lost: Option<String>,
        nearest: Option<(String, MappingInfo)>,
    ) -> Result<(), Error> {
        let ports = self.slots.description().ports_per_slot.max(1);
        let port = token.requester / 2;
        let slot = SlotId(port / ports);
        let nearest = nearest.map_or_else(
            || "; nothing is mapped in its address space".to_owned(),
            |(label, near)| {
                format!(
                    "; the nearest mapping is {} at {} ({} bytes, {})",
                    label,
                    near.address,
                    near.bytes,
                    rights(near)
                )
            },
        );
        let Some(manifest) = self.slots.manifest(slot) else {
            return Ok(());
        };
        let port = self.slots.port_name(manifest, usize::from(port % ports));
        let kernel = manifest.name.clone();
        let reason = match lost {
            Some(why) => format!("the page could not be fetched: {why}{nearest}"),
            None => format!("{reason}{nearest}"),
        };
        let error = AccessError {
            slot,
            kernel,
            port,
            write,
            address,
            reason,
        };
        match self.slots.is_released(slot) {
            true => self.quarantine(slot, error.into()),
            false => Ok(()),
        }
    }
}

fn rights(mapping: MappingInfo) -> &'static str {
    match (mapping.read, mapping.write) {
        (true, true) => "readable and writable",
        (true, false) => "read-only",
        (false, true) => "write-only",
        (false, false) => "no rights",
    }
}
