//! The CPU's own lines that a kernel uses: which kernel, how much of the memory, and what it did wrong.

use super::Kernels;
use card::coherent::{host_lines_error, host_lines_register, take_host_lines_violation};
use card::host_lines_registers as reg;
use card::kernel::Manifest;
use error::{Error, HomeError};
use units::access::{LineAccess, LINE_BYTES};
use units::SlotId;

/// What a range is divided into.
const FRAME_BYTES: u64 = 4096;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct HostLines {
    bytes: u64,
    /// Whose kernel uses them.
    slot: Option<SlotId>,
    /// The card has the cache: a kernel used it.
    used: bool,
}

impl HostLines {
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
}

impl Kernels {
    /// Whether the kernel of a slot uses the CPU's lines.
    pub(crate) fn uses_host_lines(&self, slot: SlotId) -> bool {
        self.coherent.host_lines.slot == Some(slot)
    }

    /// Whether the CPU has its lines back from a kernel in reset.
    pub(crate) fn host_lines_are_home(&mut self) -> Result<bool, Error> {
        let status = self.card.read_register(host_lines_register(reg::STATUS))?;
        Ok(reg::status::CLOSING.get(status) == 0)
    }

    /// What a kernel may use of the CPU's memory, in bytes.
    pub(crate) fn host_line_bytes(&mut self) -> Result<u64, Error> {
        // A card that is not coherent says so first.
        self.card.need_lines()?;
        let status = self.card.read_register(host_lines_register(reg::STATUS))?;
        match reg::status::SLICES.get(status) {
            0 => Err(Error::NoHostLines),
            _ => Ok(self.coherent.host_lines.bytes),
        }
    }

    /// A slot has got a kernel: it uses the CPU's lines if it has ports for them.
    pub(super) fn place_host_lines(
        &mut self,
        slot: SlotId,
        manifest: &Manifest,
    ) -> Result<(), Error> {
        if manifest.accesses.is_empty() {
            return Ok(());
        }
        if let Some(other) = self.coherent.host_lines.slot.filter(|other| *other != slot) {
            return Err(Error::Home(HomeError {
                slot,
                kernel: manifest.name.clone(),
                what: format!(
                    "cannot use the CPU's lines: the kernel in slot {} does already; unload that first",
                    other.0
                ),
            }));
        }
        let frames = (self.host_line_bytes()? / FRAME_BYTES) as u32;
        let route = reg::route::VALID.put(1) | reg::route::SLOT.put(slot.0.into());
        for (register, value) in [(reg::RANGE, frames), (reg::ROUTE, route)] {
            self.card
                .write_register(host_lines_register(register), value)?;
        }
        self.coherent.host_lines.slot = Some(slot);
        self.coherent.host_lines.used = true;
        Ok(())
    }

    /// A slot's kernel goes.
    pub(super) fn leave_host_lines(&mut self, slot: SlotId) -> Result<(), Error> {
        if self.coherent.host_lines.slot == Some(slot) {
            self.card
                .write_register(host_lines_register(reg::ROUTE), 0)?;
            self.coherent.host_lines.slot = None;
        }
        Ok(())
    }

    /// Sets how long a kernel may hold a line of the CPU; 0: as long as it likes.
    pub(crate) fn set_hold_patience(&mut self, cycles: u32) -> Result<(), Error> {
        self.host_line_bytes()?;
        let address = host_lines_register(reg::PATIENCE);
        Ok(self.card.write_register(address, cycles)?)
    }

    /// Whether the CPU's memory that a kernel may use has the line of an access.
    pub(super) fn host_lines_have(&mut self, access: &LineAccess) -> Result<(), Error> {
        let range = self.coherent.host_lines.bytes;
        match access.address < range {
            true => Ok(()),
            false => Err(Error::CoherentOffset {
                offset: access.address,
                bytes: LINE_BYTES as u64,
                range,
            }),
        }
    }

    /// The cache of the CPU's lines, or the directory, holds an error.
    pub(crate) fn host_lines_trouble(&mut self) -> Result<(), Error> {
        if self.coherent.host_lines.used {
            while let Some(error) = host_lines_error(&mut *self.card)? {
                tracing::warn!(%error, "trouble of the cache of the CPU's lines");
            }
        }
        Ok(())
    }

    /// Reads what the guard of the CPU's lines knows; whether the kernel broke a rule.
    pub(super) fn look_for_host_lines_violation(&mut self) -> Result<bool, Error> {
        if self.coherent.host_lines.slot.is_none() {
            return Ok(false);
        }
        let Some(violation) = take_host_lines_violation(&mut *self.card)? else {
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
}
