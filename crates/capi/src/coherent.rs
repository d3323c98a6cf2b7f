//! Coherent memory: cache lines of a coherent card's CPU.

use crate::handles::{self, Handle, HandleObject};
use crate::pointers::{self, OutputPointer};
use crate::status::{entry, Failure};
use std::ffi::{c_int, c_void};
use tombolo::{Card, CoherentMapOptions, CoherentMemory, Error};

const LINE: usize = 128;

/// Creates a handle for the object that `make` builds, as used by a core.
fn memory(
    card: Handle,
    core: u32,
    answer: OutputPointer<Handle>,
    make: impl FnOnce(&Card) -> Result<CoherentMemory, Error>,
) -> Result<(), Failure> {
    let core = u8::try_from(core)
        .map_err(|_| Failure::argument(format!("core {core}: cores are numbered from 0 to 255")))?;
    let made = handles::with_card(card, |card| Ok(make(card)?))?.on_core(core);
    let made = handles::insert(card, HandleObject::CoherentMemory(made))?;
    // SAFETY: the caller's place for a handle.
    unsafe { answer.give(made) };
    Ok(())
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_open(
    card: Handle,
    base: u64,
    bytes: u64,
    core: u32,
    coherent: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(coherent, "coherent")?;
        memory(card, core, answer, |card| card.coherent_memory(base, bytes))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_open_home(
    card: Handle,
    core: u32,
    coherent: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(coherent, "coherent")?;
        memory(card, core, answer, Card::home_memory)
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_load(
    coherent: Handle,
    offset: u64,
    exclusive: c_int,
    line: *mut c_void,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(line.cast::<[u8; LINE]>(), "line")?;
        let loaded = handles::with_coherent(coherent, |memory| match exclusive {
            0 => Ok(memory.load(offset)?),
            _ => Ok(memory.load_exclusive(offset)?),
        })?;
        // SAFETY: the header asks for a place for a line.
        unsafe { answer.give(loaded) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_store(
    coherent: Handle,
    offset: u64,
    bytes: *const c_void,
    count: usize,
) -> c_int {
    entry(|| {
        // SAFETY: null, or `count` readable bytes, as the header requires.
        let bytes = unsafe { pointers::bytes(bytes, count, "bytes") }?;
        handles::with_coherent(coherent, |memory| Ok(memory.store(offset, &bytes)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_coherent_prefetch(coherent: Handle, offset: u64) -> c_int {
    entry(|| handles::with_coherent(coherent, |memory| Ok(memory.prefetch(offset)?)))
}

#[no_mangle]
pub extern "C" fn tmb_coherent_flush(coherent: Handle, offset: u64) -> c_int {
    entry(|| handles::with_coherent(coherent, |memory| Ok(memory.flush(offset)?)))
}

#[no_mangle]
pub extern "C" fn tmb_coherent_clean(coherent: Handle, offset: u64) -> c_int {
    entry(|| handles::with_coherent(coherent, |memory| Ok(memory.clean(offset)?)))
}

#[no_mangle]
pub extern "C" fn tmb_coherent_close(coherent: Handle) -> c_int {
    entry(|| handles::close(coherent, "coherent memory"))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_map_open(
    coherent: Handle,
    write: c_int,
    eager: c_int,
    map: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(map, "map")?;
        let options = CoherentMapOptions {
            write: write != 0,
            eager: eager != 0,
        };
        let made = handles::with_coherent(coherent, |memory| Ok(memory.map_with(options)?))?;
        let made = handles::insert(coherent, HandleObject::CoherentMap(made))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_map_pointer(map: Handle, pointer: *mut *mut c_void) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(pointer, "pointer")?;
        let start = handles::with_coherent_map(map, |map| Ok(map.as_ptr()))?;
        // SAFETY: the caller's place for a pointer.
        unsafe { answer.give(start.cast()) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_coherent_map_sync(map: Handle) -> c_int {
    entry(|| handles::with_coherent_map(map, |map| Ok(map.sync()?)))
}

#[no_mangle]
pub extern "C" fn tmb_coherent_map_close(map: Handle) -> c_int {
    entry(|| handles::close(map, "coherent map"))
}
