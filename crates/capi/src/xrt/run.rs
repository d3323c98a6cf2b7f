//! Runs of kernels.

use super::{
    answering, entry, give, give_bytes, number_of_kind, with_buffer, with_kernel, with_run, Object,
};
use crate::handles::Handle;
use crate::pointers::{text, OutputPointer};
use std::ffi::{c_char, c_int, c_void};
use xrt::{CommandState, Repeat, Run, XrtError};

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_create(kernel: Handle, run: *mut Handle) -> c_int {
    answering(run, "run", || {
        let run = with_kernel(kernel, |kernel| Ok(Run::new(kernel)))?;
        Ok(give(Object::Run(run)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_index(
    run: Handle,
    name: *const c_char,
    index: *mut u32,
) -> c_int {
    answering(index, "index", || {
        // SAFETY: null or a string, as the header asks.
        let name = unsafe { text(name, "name") }?;
        with_run(run, |run| Ok(run.index_of(name)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_set_value(
    run: Handle,
    index: u32,
    value: *const c_void,
    count: usize,
) -> c_int {
    entry(|| {
        // SAFETY: null or `count` bytes, as the header requires.
        let value = unsafe { crate::pointers::bytes(value, count, "value") }?;
        with_run(run, |run| Ok(run.set_bytes(index, &value)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_run_set_bo(run: Handle, index: u32, bo: Handle) -> c_int {
    entry(|| {
        let bo = with_buffer(bo, |bo| Ok(bo.clone()))?;
        with_run(run, |run| Ok(run.set_buffer(index, &bo)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_run_start(run: Handle) -> c_int {
    entry(|| with_run(run, |run| Ok(run.start()?)))
}

#[no_mangle]
pub extern "C" fn tmb_xrt_run_start_repeated(run: Handle, times: u32) -> c_int {
    let repeat = match times {
        0 => Repeat::Endless,
        times => Repeat::Times(times),
    };
    entry(|| with_run(run, |run| Ok(run.start_repeated(repeat)?)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_stop(run: Handle, state: *mut u32) -> c_int {
    with_state(run, state, Run::stop)
}

#[no_mangle]
pub extern "C" fn tmb_xrt_run_renew(run: Handle) -> c_int {
    entry(|| {
        with_run(run, |run| {
            run.renew();
            Ok(())
        })
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_run_settle(run: Handle) -> c_int {
    entry(|| {
        with_run(run, |run| {
            run.settle();
            Ok(())
        })
    })
}

/// `tmb_xrt_argument` of the header.
#[repr(C)]
pub struct ArgumentInfo {
    kind: u32,
    bytes: u32,
    is_real: c_int,
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_argument(
    run: Handle,
    index: u32,
    argument: *mut ArgumentInfo,
) -> c_int {
    answering(argument, "argument", || {
        let found = with_run(run, |run| Ok(run.argument_of(index)?))?;
        let is_real = ["float", "double"].contains(&found.host_type.trim());
        Ok(ArgumentInfo {
            kind: number_of_kind(found.kind),
            bytes: found.bytes,
            is_real: c_int::from(is_real),
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_argument_count(run: Handle, count: *mut u32) -> c_int {
    answering(count, "count", || {
        with_run(run, |run| Ok(run.kernel().argument_count()))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_read_argument(
    run: Handle,
    index: u32,
    bytes: *mut c_void,
    count: *mut usize,
) -> c_int {
    entry(|| {
        OutputPointer::at(count, "count")?;
        let found = with_run(run, |run| Ok(run.read_argument(index)?))?;
        // SAFETY: not null; the header requires a count, and that many bytes at the pointer.
        unsafe { give_bytes(&found, bytes, count) };
        Ok(())
    })
}

fn with_state(
    run: Handle,
    state: *mut u32,
    call: impl FnOnce(&Run) -> Result<CommandState, XrtError>,
) -> c_int {
    answering(state, "state", || {
        with_run(run, |run| Ok(call(run)? as u32))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_wait(
    run: Handle,
    milliseconds: u64,
    state: *mut u32,
) -> c_int {
    with_state(run, state, |run| run.wait(milliseconds))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_state(run: Handle, state: *mut u32) -> c_int {
    with_state(run, state, |run| Ok(run.state()))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_run_abort(run: Handle, state: *mut u32) -> c_int {
    with_state(run, state, |run| Ok(run.abort()))
}
