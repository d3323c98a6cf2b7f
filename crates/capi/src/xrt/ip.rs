//! IPs: kernels whose registers the program accesses itself.

use super::{answering, entry, give, uuid_of, with_device, with_ip, Object};
use crate::handles::Handle;
use crate::pointers::text;
use std::ffi::{c_char, c_int, c_uchar};
use xrt::Ip;

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_ip_open(
    device: Handle,
    uuid: *const c_uchar,
    name: *const c_char,
    ip: *mut Handle,
) -> c_int {
    answering(ip, "ip", || {
        // SAFETY: null, or 16 bytes and a string, as the header asks.
        let (uuid, name) = unsafe { (uuid_of(uuid)?, text(name, "name")?) };
        let opened = with_device(device, |device| Ok(Ip::open(device, uuid, name)?))?;
        Ok(give(Object::Ip(opened)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_ip_read_register(
    ip: Handle,
    offset: u32,
    value: *mut u32,
) -> c_int {
    answering(value, "value", || {
        with_ip(ip, |ip| Ok(ip.read_register(offset)?))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_ip_write_register(ip: Handle, offset: u32, value: u32) -> c_int {
    entry(|| with_ip(ip, |ip| Ok(ip.write_register(offset, value)?)))
}

#[no_mangle]
pub extern "C" fn tmb_xrt_ip_require_interrupt(ip: Handle) -> c_int {
    entry(|| with_ip(ip, |ip| Ok(ip.require_interrupt()?)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_ip_wait_interrupt(
    ip: Handle,
    milliseconds: u64,
    came: *mut c_int,
) -> c_int {
    answering(came, "came", || {
        with_ip(ip, |ip| Ok(c_int::from(ip.wait_interrupt(milliseconds)?)))
    })
}
