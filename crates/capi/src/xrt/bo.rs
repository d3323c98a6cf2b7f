//! Buffers.

use super::{answering, entry, give, with_buffer, with_device, Object};
use crate::handles::Handle;
use crate::pointers::OutputPointer;
use crate::status::Failure;
use std::ffi::{c_int, c_void};
use std::os::fd::{BorrowedFd, IntoRawFd};
use xrt::{Buffer, BufferFlags, Direction, XrtError};

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_alloc(
    device: Handle,
    count: usize,
    flags: u32,
    group: u32,
    bo: *mut Handle,
) -> c_int {
    answering(bo, "bo", || {
        let made = with_device(device, |device| {
            Ok(Buffer::new(device, count, BufferFlags(flags), group)?)
        })?;
        Ok(give(Object::Buffer(made)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_over(
    device: Handle,
    pointer: *mut c_void,
    count: usize,
    flags: u32,
    group: u32,
    bo: *mut Handle,
) -> c_int {
    answering(bo, "bo", || {
        let made = with_device(device, |device| {
            let flags = BufferFlags(flags);
            // SAFETY: the caller's `count` bytes, as XRT's documentation requires.
            Ok(unsafe { Buffer::over(device, pointer.cast(), count, flags, group) }?)
        })?;
        Ok(give(Object::Buffer(made)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_part(
    parent: Handle,
    count: usize,
    offset: usize,
    bo: *mut Handle,
) -> c_int {
    answering(bo, "bo", || {
        let part = with_buffer(parent, |parent| Ok(parent.part(count, offset)?))?;
        Ok(give(Object::Buffer(part)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_export(bo: Handle, descriptor: *mut c_int) -> c_int {
    answering(descriptor, "descriptor", || {
        with_buffer(bo, |bo| Ok(bo.export()?.into_raw_fd()))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_import(descriptor: c_int, bo: *mut Handle) -> c_int {
    answering(bo, "bo", || {
        if descriptor < 0 {
            return Err(XrtError::NotExported.into());
        }
        // SAFETY: not negative; a descriptor that is not open is refused by the call that looks at it.
        let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
        Ok(give(Object::Buffer(Buffer::import(descriptor)?)))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_bo_sync(
    bo: Handle,
    direction: u32,
    count: usize,
    offset: usize,
) -> c_int {
    entry(|| {
        let direction = match direction {
            0 => Direction::ToDevice,
            1 => Direction::FromDevice,
            other => {
                let rule =
                    format!("bo: sync: direction {other}: AI engines are not offered; use 0 or 1");
                return Err(Failure::argument(rule));
            }
        };
        with_buffer(bo, |bo| Ok(bo.sync(direction, count, offset)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_map(bo: Handle, pointer: *mut *mut c_void) -> c_int {
    answering(pointer, "pointer", || {
        with_buffer(bo, |bo| Ok(bo.map()?.cast()))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_write(
    bo: Handle,
    source: *const c_void,
    count: usize,
    seek: usize,
) -> c_int {
    entry(|| {
        OutputPointer::at(source.cast_mut(), "source")?;
        with_buffer(bo, |bo| {
            // SAFETY: not null; the header requires `count` bytes.
            Ok(unsafe { bo.write(source.cast(), count, seek) }?)
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_read(
    bo: Handle,
    target: *mut c_void,
    count: usize,
    skip: usize,
) -> c_int {
    entry(|| {
        OutputPointer::at(target, "target")?;
        // SAFETY: not null; the header requires `count` bytes.
        with_buffer(bo, |bo| Ok(unsafe { bo.read(target.cast(), count, skip) }?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_bo_copy(
    bo: Handle,
    source: Handle,
    count: usize,
    source_offset: usize,
    offset: usize,
) -> c_int {
    entry(|| {
        let source = with_buffer(source, |source| Ok(source.clone()))?;
        with_buffer(bo, |bo| {
            Ok(bo.copy(&source, count, source_offset, offset)?)
        })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_size(bo: Handle, count: *mut usize) -> c_int {
    answering(count, "count", || with_buffer(bo, |bo| Ok(bo.len())))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_address(bo: Handle, address: *mut u64) -> c_int {
    answering(address, "address", || {
        with_buffer(bo, |bo| Ok(bo.address()))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_group(bo: Handle, group: *mut u32) -> c_int {
    answering(group, "group", || with_buffer(bo, |bo| Ok(bo.group())))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_bo_flags(bo: Handle, flags: *mut u32) -> c_int {
    answering(flags, "flags", || with_buffer(bo, |bo| Ok(bo.flags().0)))
}
