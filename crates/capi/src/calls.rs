//! Outstanding operations of a core: accesses, a write buffer, calls to kernels through coherent lines.

use crate::handles::{self, Handle, HandleObject};
use crate::pointers::{self, OutputPointer};
use crate::status::{entry, Failure};
use std::ffi::{c_int, c_void};
use std::slice;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo::{CoherentMemory, Error, PendingLine, Rpc, RpcLines};

const LINE: usize = 128;

fn locked<T>(thing: &Mutex<T>) -> MutexGuard<'_, T> {
    thing.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates a handle for the object that `make` builds from the memory.
unsafe fn of_memory(
    coherent: Handle,
    answer: OutputPointer<Handle>,
    make: impl FnOnce(&CoherentMemory) -> Result<HandleObject, Error>,
) -> Result<(), Failure> {
    let made = handles::with_coherent(coherent, |memory| Ok(make(memory)?))?;
    let made = handles::insert(coherent, made)?;
    // SAFETY: the caller's place for a handle.
    unsafe { answer.give(made) };
    Ok(())
}

fn begun(pending: PendingLine) -> HandleObject {
    HandleObject::Access(Mutex::new(Some(pending)))
}

/// The caller's bytes, at most `most`; empty if there are none.
unsafe fn bytes(
    pointer: *const c_void,
    count: usize,
    most: u64,
    what: &str,
) -> Result<Vec<u8>, Failure> {
    if count as u64 > most {
        return Err(Error::CoherentOffset {
            offset: 0,
            bytes: count as u64,
            range: most,
        }
        .into());
    }
    if count == 0 {
        return Ok(Vec::new());
    }
    if pointer.is_null() {
        return Err(Failure::argument(format!("{what} is a null pointer")));
    }
    // SAFETY: not null; the header requires `count` readable bytes.
    Ok(unsafe { slice::from_raw_parts(pointer.cast::<u8>(), count) }.to_vec())
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_begin_load(
    coherent: Handle,
    offset: u64,
    exclusive: c_int,
    access: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(access, "access")?;
        // SAFETY: the caller's place.
        unsafe {
            of_memory(coherent, answer, |memory| {
                Ok(begun(match exclusive {
                    0 => memory.begin_load(offset)?,
                    _ => memory.begin_load_exclusive(offset)?,
                }))
            })
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_coherent_begin_store(
    coherent: Handle,
    offset: u64,
    data: *const c_void,
    count: usize,
    access: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(access, "access")?;
        // SAFETY: the header requires `count` readable bytes at `data`, and a valid place for the handle.
        unsafe {
            let data = pointers::bytes(data, count, "bytes")?;
            of_memory(coherent, answer, |memory| {
                Ok(begun(memory.begin_store(offset, &data)?))
            })
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_access_wait(access: Handle, line: *mut c_void) -> c_int {
    entry(|| {
        let pending = handles::with_access(access, |access| Ok(locked(access).take()))?;
        handles::forget(access);
        let Some(pending) = pending else {
            // Another thread waits for it.
            return Err(Error::Gone {
                what: format!("the access {access}"),
                why: "it was waited for".into(),
            }
            .into());
        };
        let loaded = pending.wait()?;
        if !line.is_null() {
            // SAFETY: the header asks for a place for a line, or null.
            unsafe { line.cast::<[u8; LINE]>().write_unaligned(loaded) };
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_access_close(access: Handle) -> c_int {
    entry(|| handles::close(access, "access"))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_write_buffer_open(coherent: Handle, buffer: *mut Handle) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(buffer, "buffer")?;
        // SAFETY: the caller's place.
        unsafe {
            of_memory(coherent, answer, |memory| {
                Ok(HandleObject::WriteBuffer(Mutex::new(memory.write_buffer())))
            })
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_write_buffer_store(
    buffer: Handle,
    offset: u64,
    data: *const c_void,
    count: usize,
) -> c_int {
    entry(|| {
        // SAFETY: null, or `count` readable bytes, as the header requires.
        let data = unsafe { pointers::bytes(data, count, "bytes") }?;
        handles::with_write_buffer(buffer, |buffer| Ok(locked(buffer).store(offset, &data)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_write_buffer_flush(buffer: Handle, offset: u64) -> c_int {
    entry(|| handles::with_write_buffer(buffer, |buffer| Ok(locked(buffer).flush(offset)?)))
}

#[no_mangle]
pub extern "C" fn tmb_write_buffer_fence(buffer: Handle) -> c_int {
    entry(|| handles::with_write_buffer(buffer, |buffer| Ok(locked(buffer).fence()?)))
}

#[no_mangle]
pub extern "C" fn tmb_write_buffer_close(buffer: Handle) -> c_int {
    entry(|| {
        let fenced = handles::with_write_buffer(buffer, |buffer| Ok(locked(buffer).fence()?));
        handles::close(buffer, "write buffer")?;
        fenced
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_rpc_connect(
    coherent: Handle,
    context: u32,
    push: c_int,
    rpc: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(rpc, "rpc")?;
        let lines = 2 * LINE as u64;
        // SAFETY: the caller's place.
        unsafe {
            of_memory(coherent, answer, |memory| {
                let memory = memory.part(u64::from(context) * lines, lines)?;
                let rpc = Rpc::connect(memory)?;
                let rpc = match push {
                    0 => rpc,
                    _ => rpc.pushing(),
                };
                Ok(HandleObject::Rpc(Mutex::new(rpc)))
            })
        }
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_rpc_call(
    rpc: Handle,
    arguments: *const c_void,
    count: usize,
    result: *mut c_void,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(result.cast::<[u8; LINE]>(), "result")?;
        // SAFETY: the header requires `count` readable bytes.
        let arguments = unsafe { bytes(arguments, count, LINE as u64, "arguments") }?;
        let line = handles::with_rpc(rpc, |rpc| Ok(locked(rpc).call(&arguments)?))?;
        // SAFETY: the header asks for a place for a line.
        unsafe { answer.give(line) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_rpc_begin_call(
    rpc: Handle,
    arguments: *const c_void,
    count: usize,
    access: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(access, "access")?;
        // SAFETY: the header requires `count` readable bytes.
        let arguments = unsafe { bytes(arguments, count, LINE as u64, "arguments") }?;
        let pending = handles::with_rpc(rpc, |rpc| Ok(locked(rpc).begin_call(&arguments)?))?;
        let made = handles::insert(rpc, begun(pending))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_rpc_close(rpc: Handle) -> c_int {
    entry(|| handles::close(rpc, "connection"))
}

/// `tmb_lines_answer`
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LinesAnswer {
    pub sum: u64,
    pub xor_bits: u64,
    pub lines: u32,
    pub calls: u32,
    pub cycles: u32,
    pub reserved: u32,
}

#[no_mangle]
pub unsafe extern "C" fn tmb_rpc_lines_connect(coherent: Handle, rpc: *mut Handle) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(rpc, "rpc")?;
        // SAFETY: the caller's place.
        unsafe {
            of_memory(coherent, answer, |memory| {
                let rpc = RpcLines::connect(memory.clone())?;
                Ok(HandleObject::RpcLines(Mutex::new(rpc)))
            })
        }
    })
}

#[no_mangle]
pub extern "C" fn tmb_rpc_lines_prepare(rpc: Handle, lines: u64) -> c_int {
    entry(|| handles::with_rpc_lines(rpc, |rpc| Ok(locked(rpc).prepare(lines)?)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_rpc_lines_call(
    rpc: Handle,
    payload: *const c_void,
    count: usize,
    answer: *mut c_void,
    answer_lines: u64,
    about: *mut LinesAnswer,
) -> c_int {
    entry(|| {
        if answer.is_null() && answer_lines > 0 {
            return Err(Failure::argument("answer is a null pointer"));
        }
        let most = RpcLines::MOST * LINE as u64;
        // SAFETY: the header requires `count` readable bytes.
        let payload = unsafe { bytes(payload, count, most, "payload") }?;
        let got =
            handles::with_rpc_lines(rpc, |rpc| Ok(locked(rpc).call(&payload, answer_lines)?))?;
        if !got.payload.is_empty() {
            // SAFETY: not null; the header requires room for `answer_lines` lines, to which the caller gives exclusive
            // access.
            let place =
                unsafe { slice::from_raw_parts_mut(answer.cast::<u8>(), got.payload.len()) };
            place.copy_from_slice(&got.payload);
        }
        if !about.is_null() {
            let row = LinesAnswer {
                sum: got.sum,
                xor_bits: got.xor,
                lines: got.lines,
                calls: got.calls,
                cycles: got.cycles,
                reserved: 0,
            };
            // SAFETY: the header asks for a place for it, or null.
            unsafe { about.write(row) };
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_rpc_lines_close(rpc: Handle) -> c_int {
    entry(|| handles::close(rpc, "connection of many lines"))
}
