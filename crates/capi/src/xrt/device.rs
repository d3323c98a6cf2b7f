//! Devices.

use super::{answering, entry, give, with_device, with_xclbin, Object, UuidOutput};
use crate::handles::Handle;
use crate::pointers::{new_text, text};
use crate::status::Failure;
use std::ffi::{c_char, c_int, c_uchar, c_void, CStr};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Once;
use xrt::container::Container;
use xrt::{Device, Information};

/// Sets the folder of the shell's RTL, from the location of the library file that was loaded.
fn find_home() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: plain data, for which all zeroes are valid.
        let mut found: libc::Dl_info = unsafe { std::mem::zeroed() };
        let own: extern "C" fn() -> u32 = tmb_xrt_device_count;
        // SAFETY: an address of code, and a place for the result.
        let there = unsafe { libc::dladdr(own as *const c_void, &raw mut found) };
        if there == 0 || found.dli_fname.is_null() {
            return;
        }
        // SAFETY: a string of the loader, valid as long as the library is loaded.
        let name = unsafe { CStr::from_ptr(found.dli_fname) };
        let library = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
        if let Some(home) = xrt::home_near(library) {
            xrt::set_home(home);
        }
    });
}

#[no_mangle]
pub extern "C" fn tmb_xrt_device_count() -> u32 {
    xrt::device_count()
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_open(number: u32, device: *mut Handle) -> c_int {
    find_home();
    answering(device, "device", || {
        Ok(give(Object::Device(Device::open(number)?)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_open_named(
    name: *const c_char,
    device: *mut Handle,
) -> c_int {
    find_home();
    answering(device, "device", || {
        // SAFETY: null or a string, as the header asks.
        let name = unsafe { text(name, "name") }?;
        Ok(give(Object::Device(Device::open_named(name)?)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_again(device: Handle, same: *mut Handle) -> c_int {
    answering(same, "same", || {
        let device = with_device(device, |device| Ok(device.clone()))?;
        Ok(give(Object::Device(device)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_load_file(
    device: Handle,
    path: *const c_char,
    uuid: *mut c_uchar,
) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        // SAFETY: null or a string, as the header asks.
        let path = unsafe { text(path, "path") }?;
        let loaded = with_device(device, |device| Ok(device.load_file(Path::new(path))?))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(loaded) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_load_xclbin(
    device: Handle,
    xclbin: Handle,
    uuid: *mut c_uchar,
) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        let container = with_xclbin(xclbin, |xclbin| Ok(Container::clone(xclbin)))?;
        let origin = "the xclbin given".to_owned();
        let loaded = with_device(device, |device| Ok(device.load(origin, container)?))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(loaded) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_uuid(device: Handle, uuid: *mut c_uchar) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        let loaded = with_device(device, |device| Ok(device.uuid()))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(loaded) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_same(
    device: Handle,
    other: Handle,
    same: *mut c_int,
) -> c_int {
    answering(same, "same", || {
        let other = with_device(other, |other| Ok(other.clone()))?;
        with_device(device, |device| Ok(c_int::from(device.is(&other))))
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_device_reset(device: Handle) -> c_int {
    entry(|| with_device(device, |device| Ok(device.reset()?)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_info(
    device: Handle,
    what: u32,
    text: *mut *mut c_char,
) -> c_int {
    answering(text, "text", || {
        let unknown = || Failure::argument(format!("get_info: {what} is no information"));
        let what = Information::from_number(what).ok_or_else(unknown)?;
        new_text(with_device(device, |device| Ok(device.information(what)?))?)
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_device_now(device: Handle, picoseconds: *mut u64) -> c_int {
    answering(picoseconds, "picoseconds", || {
        with_device(device, |device| Ok(device.now()?))
    })
}
