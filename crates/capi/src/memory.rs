//! Shared memory.

use crate::handles::{self, Handle, HandleObject};
use crate::options::page_size as size_of_pages;
use crate::pointers::OutputPointer;
use crate::status::{entry, Failure};
use std::ffi::{c_int, c_void};
use std::sync::{Mutex, PoisonError};
use tombolo::{AddressSpace, Error, PageSize, SharedMemory, TrapWay};

fn share(
    space: Handle,
    page_size: u64,
    memory: *mut Handle,
    make: impl FnOnce(&AddressSpace, Option<PageSize>) -> Result<SharedMemory, Error>,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(memory, "memory")?;
        let page = match page_size {
            0 => None,
            bytes => Some(size_of_pages(bytes)?),
        };
        let made = handles::with_space(space, |space| Ok(make(space, page)?))?;
        let made = handles::insert(space, HandleObject::Memory(Mutex::new(made)))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_alloc(
    space: Handle,
    bytes: usize,
    page_size: u64,
    memory: *mut Handle,
) -> c_int {
    share(space, page_size, memory, |space, page| match page {
        None => space.alloc(bytes),
        Some(page) => space.alloc_with_pages(bytes, page),
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_alloc_direct(
    space: Handle,
    bytes: usize,
    page_size: u64,
    memory: *mut Handle,
) -> c_int {
    share(space, page_size, memory, |space, page| match page {
        None => space.alloc_direct(bytes, space.page_for(bytes)?),
        Some(page) => space.alloc_direct(bytes, page),
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_alloc_for_calls(
    space: Handle,
    bytes: usize,
    page_size: u64,
    memory: *mut Handle,
    in_calls: *mut c_int,
) -> c_int {
    let mut way = None;
    let status = share(space, page_size, memory, |space, page| {
        let page = page.unwrap_or(PageSize::KIB_4);
        let made = space.alloc_with_traps(bytes, page, TrapWay::Userfault)?;
        way = made.trap_way();
        Ok(made)
    });
    if status == 0 && !in_calls.is_null() {
        // SAFETY: not null, and the header asks for a place for an int.
        unsafe { in_calls.write(c_int::from(way == Some(TrapWay::Userfault))) };
    }
    status
}

/// `tmb_traps` of the header.
const WAYS: [TrapWay; 3] = [TrapWay::Protect, TrapWay::Userfault, TrapWay::InThread];

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_alloc_with_traps(
    space: Handle,
    bytes: usize,
    page_size: u64,
    traps: c_int,
    memory: *mut Handle,
    taken: *mut c_int,
) -> c_int {
    let way = usize::try_from(traps).ok().and_then(|n| WAYS.get(n));
    let Some(&way) = way else {
        let rule = format!("traps is {traps}: give a tmb_traps, 0 to 2");
        return entry(|| Err(Failure::argument(rule)));
    };
    let mut found = None;
    let status = share(space, page_size, memory, |space, page| {
        let page = page.unwrap_or(match way {
            TrapWay::Protect => PageSize::MIB_2,
            _ => PageSize::KIB_4,
        });
        let made = space.alloc_with_traps(bytes, page, way)?;
        found = made.trap_way();
        Ok(made)
    });
    let number = WAYS.iter().position(|way| found == Some(*way));
    if let (0, Some(number), false) = (status, number, taken.is_null()) {
        // SAFETY: not null, and the header asks for a place for an int. There are three ways.
        unsafe { taken.write(number as c_int) };
    }
    status
}

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_register(
    space: Handle,
    start: *mut c_void,
    bytes: usize,
    page_size: u64,
    memory: *mut Handle,
) -> c_int {
    share(space, page_size, memory, |space, page| {
        let page = page.unwrap_or(PageSize::MIB_2);
        // SAFETY: the header asks for memory of the caller that stays until it is freed.
        unsafe { space.register_with_pages(start.cast(), bytes, page) }
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_memory_pointer(memory: Handle, pointer: *mut *mut c_void) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(pointer, "pointer")?;
        let start = handles::with_memory(memory, |memory| {
            let memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(memory.as_ptr())
        })?;
        // SAFETY: the caller's place for a pointer.
        unsafe { answer.give(start.cast()) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_memory_free(memory: Handle) -> c_int {
    entry(|| {
        handles::with_memory(memory, |memory| {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            match memory.free() {
                // It ended with its space.
                Ok(()) | Err(Error::Gone { .. }) => Ok(()),
                Err(error) => Err(Failure::from(error)),
            }
        })?;
        handles::forget(memory);
        Ok(())
    })
}
