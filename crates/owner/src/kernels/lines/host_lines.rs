//! A kernel's use of the CPU's own lines: the kernel, the size of the memory, and rule violations.

use card::coherent::{
    host_lines_error, host_lines_register, take_host_lines_violation, HostLinesViolation,
};
use card::host_lines_registers as reg;
use card::kernel::Manifest;
use card::Card;
use error::{Error, HomeError};
use units::access::{LineAccess, LINE_BYTES};
use units::SlotId;

/// Granule of the range, in bytes.
const FRAME_BYTES: u64 = 4096;

/// The card's cache of the CPU's lines.
#[derive(Debug, Default)]
pub(super) struct LineCache {
    bytes: u64,
    /// Slot of the kernel that uses them.
    slot: Option<SlotId>,
    /// A kernel has used the card's cache of these lines.
    used: bool,
}

impl LineCache {
    pub(super) fn new(bytes: u64) -> Self {
        Self {
            bytes,
            slot: None,
            used: false,
        }
    }

    /// The slot whose kernel uses the lines.
    pub(super) fn slot(&self) -> Option<SlotId> {
        self.slot
    }

    /// Whether the kernel of a slot uses the CPU's lines.
    pub(super) fn are_used_by(&self, slot: SlotId) -> bool {
        self.slot == Some(slot)
    }

    /// Whether the CPU has its lines back from a kernel in reset.
    pub(super) fn are_home(&self, card: &mut dyn Card) -> Result<bool, Error> {
        let status = card.read_register(host_lines_register(reg::STATUS))?;
        Ok(reg::status::CLOSING.get(status) == 0)
    }

    /// Size of the CPU memory that a kernel may use, in bytes.
    pub(super) fn bytes(&self, card: &mut dyn Card) -> Result<u64, Error> {
        // A card that is not coherent reports that first.
        card.need_lines()?;
        let status = card.read_register(host_lines_register(reg::STATUS))?;
        match reg::status::SLICES.get(status) {
            0 => Err(Error::NoHostLines),
            _ => Ok(self.bytes),
        }
    }

    /// Connects a newly loaded kernel to the CPU's lines, if it has ports for them.
    pub(super) fn place(
        &mut self,
        card: &mut dyn Card,
        slot: SlotId,
        manifest: &Manifest,
    ) -> Result<(), Error> {
        if manifest.accesses.is_empty() {
            return Ok(());
        }
        if let Some(other) = self.slot.filter(|other| *other != slot) {
            return Err(Error::Home(HomeError {
                slot,
                kernel: manifest.name.clone(),
                what: format!(
                    "cannot use the CPU's lines: the kernel in slot {} does already; unload that first",
                    other.0
                ),
            }));
        }
        let frames = (self.bytes(card)? / FRAME_BYTES) as u32;
        let route = reg::route::VALID.put(1) | reg::route::SLOT.put(slot.0.into());
        for (register, value) in [(reg::RANGE, frames), (reg::ROUTE, route)] {
            card.write_register(host_lines_register(register), value)?;
        }
        self.slot = Some(slot);
        self.used = true;
        Ok(())
    }

    /// Disconnects the kernel of a slot.
    pub(super) fn leave(&mut self, card: &mut dyn Card, slot: SlotId) -> Result<(), Error> {
        if self.slot == Some(slot) {
            card.write_register(host_lines_register(reg::ROUTE), 0)?;
            self.slot = None;
        }
        Ok(())
    }

    /// Sets how long a kernel may hold a line of the CPU, in cycles; 0: without a limit.
    pub(super) fn set_timeout(&self, card: &mut dyn Card, cycles: u32) -> Result<(), Error> {
        self.bytes(card)?;
        let address = host_lines_register(reg::PATIENCE);
        Ok(card.write_register(address, cycles)?)
    }

    /// Whether the line of an access lies in the CPU memory that a kernel may use.
    pub(super) fn have(&self, access: &LineAccess) -> Result<(), Error> {
        let range = self.bytes;
        match access.address < range {
            true => Ok(()),
            false => Err(Error::CoherentOffset {
                offset: access.address,
                bytes: LINE_BYTES as u64,
                range,
            }),
        }
    }

    /// Logs the error that the cache of the CPU's lines, or the directory, holds.
    pub(super) fn log_errors(&self, card: &mut dyn Card) -> Result<(), Error> {
        if self.used {
            while let Some(error) = host_lines_error(card)? {
                tracing::warn!(%error, "trouble of the cache of the CPU's lines");
            }
        }
        Ok(())
    }

    /// The violation that the guard of the CPU's lines has recorded since the last call.
    pub(super) fn take_violation(
        &self,
        card: &mut dyn Card,
    ) -> Result<Option<HostLinesViolation>, Error> {
        match self.slot {
            Some(_) => Ok(take_host_lines_violation(card)?),
            None => Ok(None),
        }
    }
}
