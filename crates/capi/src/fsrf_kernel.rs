//! `fsrf_tombolo.h`: the parts that a program of FSRF needs and its paper does not print: the space, kernels,
//! registers, start and wait.

use crate::fsrf::state;
use crate::handles::{self, Handle};
use crate::options::WaitOptions;
use crate::pointers::{bytes, text, OutputPointer};
use crate::slot::{self, RegisterCondition};
use crate::status::{entry, Failure, Status};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;

#[no_mangle]
pub extern "C" fn fsrf_tombolo_attach(card: Handle, space: Handle) -> c_int {
    entry(|| {
        // Both are open now; closing them later makes the call that needs them fail.
        handles::with_card(card, |_| Ok(()))?;
        handles::with_space(space, |_| Ok(()))?;
        state().attach(card, space)
    })
}

#[no_mangle]
pub extern "C" fn fsrf_tombolo_detach() -> c_int {
    entry(|| state().detach())
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_tombolo_load(number: u32, folder: *const c_char) -> c_int {
    entry(|| {
        // SAFETY: null or a string, as the header asks.
        let folder = Path::new(unsafe { text(folder, "folder") }?);
        let (card, space) = {
            let mut state = state();
            let attached = state.attached()?;
            (attached.card, attached.space)
        };
        let handle = slot::load(card, number, folder, space)?;
        let before = state().attached()?.slots.insert(number, handle);
        if let Some(before) = before {
            handles::close(before, "slot")?;
        }
        Ok(())
    })
}

fn loaded(number: u32) -> Result<Handle, Failure> {
    let mut state = state();
    let found = state.attached()?.slots.get(&number).copied();
    found.ok_or_else(|| {
        let rule = format!("slot {number} has no kernel; call fsrf_tombolo_load first");
        Failure::new(Status::Order, rule)
    })
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_tombolo_set(
    number: u32,
    argument: *const c_char,
    value: u64,
) -> c_int {
    entry(|| {
        // SAFETY: null or a string, as the header asks.
        let argument = unsafe { text(argument, "argument") }?;
        handles::with_slot(loaded(number)?, |slot| Ok(slot.set(argument, value)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_tombolo_set_bytes(
    number: u32,
    argument: *const c_char,
    value: *const c_void,
    count: usize,
) -> c_int {
    entry(|| {
        // SAFETY: null or a string, and null or `count` readable bytes, as the header requires.
        let (argument, value) =
            unsafe { (text(argument, "argument")?, bytes(value, count, "value")?) };
        handles::with_slot(
            loaded(number)?,
            |slot| Ok(slot.set_bytes(argument, &value)?),
        )
    })
}

#[no_mangle]
pub extern "C" fn fsrf_tombolo_start(number: u32) -> c_int {
    entry(|| handles::with_slot(loaded(number)?, |slot| Ok(slot.start()?)))
}

#[no_mangle]
pub extern "C" fn fsrf_tombolo_wait(number: u32, deadline_ps: u64) -> c_int {
    entry(|| {
        let options = WaitOptions {
            size: size_of::<WaitOptions>(),
            deadline_ps,
            progress: None,
            context: std::ptr::null_mut(),
        };
        slot::wait(loaded(number)?, &options)
    })
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_tombolo_read_register(
    number: u32,
    offset: u32,
    value: *mut u32,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(value, "value")?;
        let read = slot::read_register(loaded(number)?, offset)?;
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(read) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn fsrf_tombolo_wait_register(
    number: u32,
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
        let word = slot::wait_register(loaded(number)?, wanted, deadline_ps)?;
        if !found.is_null() {
            // SAFETY: the header asks for a place for a number, or null.
            unsafe { found.write(word) };
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn fsrf_tombolo_write_register(number: u32, offset: u32, value: u32) -> c_int {
    entry(|| slot::write_register(loaded(number)?, offset, value))
}
