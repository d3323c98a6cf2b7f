//! The BAR: the shell's description registers, and the slots' control windows.

use super::slot::{Loaded, Slot};
use card::registers::{self, geometry, memory};
use card::{CardDescription, CardError};

/// Target of a BAR address.
pub(super) enum BarTarget {
    /// The shell, at an offset.
    Shell(u32),
    /// The control window of a slot, at an offset.
    Slot(usize, u32),
}

pub(super) fn error(address: u32, what: &'static str) -> CardError {
    CardError::Bus { address, what }
}

/// The target of an access.
pub(super) fn place(address: u32) -> Result<BarTarget, CardError> {
    let window = registers::SLOT_CONTROL;
    if address % 4 != 0 {
        return Err(error(address, "register addresses are multiples of 4"));
    }
    if address < window.base {
        return Ok(BarTarget::Shell(address));
    }
    let slot = (address - window.base) / window.stride;
    if slot >= window.count {
        return Err(error(address, "beyond the BAR"));
    }
    Ok(BarTarget::Slot(
        slot as usize,
        (address - window.base) % window.stride,
    ))
}

/// The kernel that answers in a slot's window.
pub(super) fn kernel(
    slots: &mut [Slot],
    slot: usize,
    address: u32,
) -> Result<&mut Loaded, CardError> {
    let slot = slots
        .get_mut(slot)
        .ok_or(error(address, "there is no such slot"))?;
    if !slot.run || slot.failed {
        return Err(error(
            address,
            "the slot is held in reset, or its kernel failed",
        ));
    }
    slot.kernel
        .as_mut()
        .ok_or(error(address, "the slot is empty"))
}

/// The space whose mode register is at an offset.
pub(super) fn mode_of_space(offset: u32) -> Option<usize> {
    let spaces = registers::SPACE;
    let space = offset.checked_sub(spaces.base + registers::space::MODE)? / spaces.stride;
    let found = space < spaces.count && spaces.at(space) + registers::space::MODE == offset;
    found.then_some(space as usize)
}

/// The slot whose status register is at an offset.
pub(super) fn status_of_slot(offset: u32) -> Option<usize> {
    let slots = registers::SLOT;
    let slot = offset.checked_sub(slots.base + registers::slot::STATUS)? / slots.stride;
    let found = slot < slots.count && slots.at(slot) + registers::slot::STATUS == offset;
    found.then_some(slot as usize)
}

/// The shell's description of itself.
pub(super) fn read_shell(card: &CardDescription, offset: u32) -> Result<u32, CardError> {
    match offset {
        registers::ID => Ok(registers::ID_MAGIC),
        registers::VERSION => Ok(registers::version::MAJOR.put(registers::VERSION_MAJOR)
            | registers::version::MINOR.put(registers::VERSION_MINOR)),
        registers::GEOMETRY => Ok(geometry::SLOTS.put(card.slots.into())
            | geometry::PORTS_PER_SLOT.put(card.ports_per_slot.into())
            | geometry::SPACES.put(card.spaces.into())
            | geometry::TRANSLATOR.put((!card.translated).into())),
        registers::MEMORY => Ok(memory::CHANNELS.put(card.channels.into())
            | memory::CHANNEL_BYTES_LOG2.put(card.channel_bytes_log2.into())),
        _ => Err(error(offset, "the functional card has no such register")),
    }
}
