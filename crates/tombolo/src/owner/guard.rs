//! Kernels that misbehave: what their owner is told, and how their slots come to rest.

use super::Owner;
use crate::error::{Error, ViolationError};
use card::{CardError, SlotId};

/// Interrupts of one run that announce nothing, before the kernel is stopped for it. Two are usual:
/// ready and done.
pub(super) const IDLE_INTERRUPTS: u32 = 16;

impl Owner {
    /// The guard closed a slot: finds out why, and holds it in reset.
    pub(super) fn slot_closed(&mut self, slot: SlotId) -> Result<(), Error> {
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
    /// What its accesses wait for is forgotten then, so its faults and interrupts cost the host nothing
    /// more. [`stop`](Owner::stop) does the rest before the slot can run again.
    pub(super) fn quarantine(&mut self, slot: SlotId, error: Error) -> Result<(), Error> {
        tracing::warn!(%error, "a slot is held in reset");
        let space = self.loaded(slot)?.space();
        self.card.control_slot(slot, space, false)?;
        self.loaded(slot)?.hold();
        self.streams_reset(slot);
        self.failed(slot, error);
        Ok(())
    }

    /// What the slot's ports wait for, as the end of a sentence.
    pub(super) fn waits_of(&mut self, slot: SlotId) -> Result<String, Error> {
        let status = self.card.slot_status(slot)?;
        let Some(manifest) = self.manifest(slot) else {
            return Ok(String::new());
        };
        let mut parts = Vec::new();
        let memory_ports = self.card.description().memory_ports_per_slot();
        let memory_ports = status.ports.iter().take(memory_ports.into());
        for (number, port) in memory_ports.enumerate() {
            for wait in port.waits() {
                parts.push(format!("port {} {wait}", self.port_name(manifest, number)));
            }
        }
        parts.extend(self.stream_waits(slot)?);
        let (first, last) = self.requesters_of_slot(slot);
        let faults = self.faults_waiting.iter();
        let faults = faults.filter(|token| (first..=last).contains(&token.requester));
        match faults.count() {
            0 => {}
            1 => parts.push("1 fault is with the host".to_owned()),
            count => parts.push(format!("{count} faults are with the host")),
        }
        if parts.is_empty() {
            parts.push("no access of it is under way".to_owned());
            // A beat that begins a packet waits before the switch, where nobody sees it.
            let untaken = self.untaken(slot);
            parts.extend(untaken.into_iter().map(|stream| {
                let port = self.stream_name(slot, stream).port;
                format!("port {port}: nothing takes what the kernel sends there")
            }));
        }
        Ok(parts.join("; "))
    }

    /// The result of a register access of the owner's own: the kernel's refusal to answer is no error of
    /// the owner's, the guard reports it.
    pub(super) fn unless_hung<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Error::Card(CardError::Bus { .. })) => Ok(None),
            Err(error) => Err(error),
        }
    }
}
