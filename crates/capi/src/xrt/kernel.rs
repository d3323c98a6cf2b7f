//! Kernels.

use super::{answering, entry, give, uuid_of, with_device, with_kernel, Object, UuidOutput};
use crate::handles::Handle;
use crate::pointers::{new_text, text};
use crate::status::Failure;
use std::ffi::{c_char, c_int, c_uchar};
use xrt::{Kernel, UnitAccess};

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_open(
    device: Handle,
    uuid: *const c_uchar,
    name: *const c_char,
    access: u32,
    kernel: *mut Handle,
) -> c_int {
    answering(kernel, "kernel", || {
        // SAFETY: null, or 16 bytes and a string, as the header asks.
        let (uuid, name) = unsafe { (uuid_of(uuid)?, text(name, "name")?) };
        let access = match access {
            0 => UnitAccess::Exclusive,
            1 => UnitAccess::Shared,
            2 => UnitAccess::None,
            other => {
                let rule = format!("kernel `{name}`: cu_access_mode {other}: it is 0, 1 or 2");
                return Err(Failure::argument(rule));
            }
        };
        let opened = with_device(device, |device| {
            Ok(Kernel::open(device, uuid, name, access)?)
        })?;
        Ok(give(Object::Kernel(opened)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_group(
    kernel: Handle,
    index: u32,
    group: *mut c_int,
) -> c_int {
    answering(group, "group", || {
        with_kernel(kernel, |kernel| Ok(kernel.group_id(index)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_offset(
    kernel: Handle,
    index: u32,
    offset: *mut u32,
) -> c_int {
    answering(offset, "offset", || {
        with_kernel(kernel, |kernel| Ok(kernel.offset(index)?))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_name(kernel: Handle, name: *mut *mut c_char) -> c_int {
    answering(name, "name", || {
        new_text(with_kernel(kernel, |kernel| Ok(kernel.name().to_owned()))?)
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_uuid(kernel: Handle, uuid: *mut c_uchar) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        let own = with_kernel(kernel, |kernel| Ok(kernel.uuid()))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(own) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_kernel_read_register(
    kernel: Handle,
    offset: u32,
    value: *mut u32,
) -> c_int {
    answering(value, "value", || {
        with_kernel(kernel, |kernel| Ok(kernel.read_register(offset)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_kernel_write_register(kernel: Handle, offset: u32, value: u32) -> c_int {
    entry(|| with_kernel(kernel, |kernel| Ok(kernel.write_register(offset, value)?)))
}

#[no_mangle]
pub extern "C" fn tmb_xrt_kernel_set_read_range(kernel: Handle, start: u32, bytes: u32) -> c_int {
    entry(|| with_kernel(kernel, |kernel| Ok(kernel.set_read_range(start, bytes)?)))
}
