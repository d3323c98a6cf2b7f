//! Slots.

use crate::handles::{self, Handle, HandleObject};
use crate::options::{self, Progress, ScheduleOptions, WaitOptions};
use crate::pointers::{bytes, text, OutputPointer};
use crate::status::{entry, Failure};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use tombolo::{AddressSpace, Card, Continue, Error, Picoseconds, Slot, SlotId};

/// Loads a kernel and creates a handle.
pub fn load(card: Handle, number: u32, folder: &Path, space: Handle) -> Result<Handle, Failure> {
    let number = u8::try_from(number)
        .map_err(|_| Failure::argument(format!("slot {number}: slots are numbered from 0")))?;
    load_with(card, space, |card, space| {
        card.load(SlotId(number), folder, space)
    })
}

fn load_with(
    card: Handle,
    space: Handle,
    load: impl FnOnce(&Card, &AddressSpace) -> Result<Slot, Error>,
) -> Result<Handle, Failure> {
    let slot = handles::with_card(card, |card| {
        handles::with_space(space, |space| Ok(load(card, space)?))
    })?;
    handles::insert(card, HandleObject::Slot(Box::new(slot)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_load_anywhere(
    card: Handle,
    folder: *const c_char,
    space: Handle,
    slot: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(slot, "slot")?;
        // SAFETY: null or a string, as the header asks.
        let folder = Path::new(unsafe { text(folder, "folder") }?);
        let made = load_with(card, space, |card, space| card.load_anywhere(folder, space))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_load(
    card: Handle,
    number: u32,
    folder: *const c_char,
    space: Handle,
    slot: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(slot, "slot")?;
        // SAFETY: null or a string, as the header asks.
        let folder = Path::new(unsafe { text(folder, "folder") }?);
        let made = load(card, number, folder, space)?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_set(slot: Handle, argument: *const c_char, value: u64) -> c_int {
    entry(|| {
        // SAFETY: null or a string, as the header asks.
        let argument = unsafe { text(argument, "argument") }?;
        handles::with_slot(slot, |slot| Ok(slot.set(argument, value)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_set_mapping(
    slot: Handle,
    argument: *const c_char,
    mapping: Handle,
) -> c_int {
    entry(|| {
        // SAFETY: null or a string, as the header asks.
        let argument = unsafe { text(argument, "argument") }?;
        handles::with_slot(slot, |slot| {
            handles::with_mapping(mapping, |mapping| Ok(slot.set_mapping(argument, mapping)?))
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_set_bytes(
    slot: Handle,
    argument: *const c_char,
    value: *const c_void,
    count: usize,
) -> c_int {
    entry(|| {
        // SAFETY: null or a string, and null or `count` readable bytes, as the header requires.
        let (argument, value) =
            unsafe { (text(argument, "argument")?, bytes(value, count, "value")?) };
        handles::with_slot(slot, |slot| Ok(slot.set_bytes(argument, &value)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_set_schedule(
    slot: Handle,
    options: *const ScheduleOptions,
) -> c_int {
    entry(|| {
        // SAFETY: null or the caller's options, as the header asks.
        let schedule = unsafe { options::read(options) }?.schedule()?;
        handles::with_slot(slot, |slot| Ok(slot.set_schedule(schedule)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_slot_start(slot: Handle) -> c_int {
    entry(|| handles::with_slot(slot, |slot| Ok(slot.start()?)))
}

/// A deadline in virtual time; zero means none.
fn deadline(picoseconds: u64) -> Option<Picoseconds> {
    (picoseconds != 0).then(|| Picoseconds::new(picoseconds))
}

/// Waits, calling the caller's callback.
pub fn wait(slot: Handle, options: &WaitOptions) -> Result<(), Failure> {
    let deadline = deadline(options.deadline_ps);
    handles::with_slot(slot, |slot| {
        let look = |progress: tombolo::Progress| {
            let Some(callback) = options.progress else {
                return Continue::Yes;
            };
            let progress = Progress {
                time_ps: progress.now.get(),
                bytes_in: progress.bytes_in,
                bytes_out: progress.bytes_out,
                faults: progress.faults,
            };
            match callback(&raw const progress, options.context) {
                0 => Continue::Yes,
                _ => Continue::Stop,
            }
        };
        Ok(slot.wait(deadline, look)?)
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_wait(slot: Handle, options: *const WaitOptions) -> c_int {
    entry(|| {
        // SAFETY: null or the caller's options, as the header asks.
        let options = unsafe { options::read(options) }?;
        wait(slot, &options)
    })
}

/// Refuses offsets that are not a multiple of a register's 4 bytes.
fn aligned(offset: u32) -> Result<(), Failure> {
    match offset % 4 {
        0 => Ok(()),
        _ => Err(Failure::argument(format!(
            "register offset {offset:#x}: registers are 4 bytes, so offsets are multiples of 4"
        ))),
    }
}

/// Reads a register.
pub fn read_register(slot: Handle, offset: u32) -> Result<u32, Failure> {
    aligned(offset)?;
    handles::with_slot(slot, |slot| Ok(slot.read_register(offset)?))
}

/// Writes a register.
pub fn write_register(slot: Handle, offset: u32, value: u32) -> Result<(), Failure> {
    aligned(offset)?;
    handles::with_slot(slot, |slot| Ok(slot.write_register(offset, value)?))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_read_register(
    slot: Handle,
    offset: u32,
    value: *mut u32,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(value, "value")?;
        let read = read_register(slot, offset)?;
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(read) };
        Ok(())
    })
}

/// Waits for a register value and returns the register.
pub fn wait_register(
    slot: Handle,
    wanted: RegisterCondition,
    deadline_ps: u64,
) -> Result<u32, Failure> {
    aligned(wanted.offset)?;
    let RegisterCondition {
        offset,
        mask,
        value,
    } = wanted;
    let deadline = deadline(deadline_ps);
    handles::with_slot(slot, |slot| {
        Ok(slot.wait_register(offset, mask, value, deadline)?)
    })
}

/// The register condition of a wait.
#[derive(Clone, Copy, Debug)]
pub struct RegisterCondition {
    pub offset: u32,
    pub mask: u32,
    pub value: u32,
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_wait_register(
    slot: Handle,
    offset: u32,
    mask: u32,
    value: u32,
    deadline_ps: u64,
    found: *mut u32,
) -> c_int {
    entry(|| {
        let wanted = RegisterCondition {
            offset,
            mask,
            value,
        };
        let word = wait_register(slot, wanted, deadline_ps)?;
        if !found.is_null() {
            // SAFETY: the header asks for a place for a number, or null.
            unsafe { found.write(word) };
        }
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_slot_wait_interrupt(
    slot: Handle,
    deadline_ps: u64,
    count: *mut u32,
) -> c_int {
    entry(|| {
        let deadline = deadline(deadline_ps);
        let interrupts = handles::with_slot(slot, |slot| Ok(slot.wait_interrupt(deadline)?))?;
        if !count.is_null() {
            // SAFETY: the header asks for a place for a number, or null.
            unsafe { count.write(interrupts) };
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_slot_write_register(slot: Handle, offset: u32, value: u32) -> c_int {
    entry(|| write_register(slot, offset, value))
}

#[no_mangle]
pub extern "C" fn tmb_slot_close(slot: Handle) -> c_int {
    entry(|| handles::close(slot, "slot"))
}
