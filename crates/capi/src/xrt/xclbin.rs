//! Designs: xclbin files, what they contain, and their UUIDs.

use super::{
    answering, entry, give, give_bytes, number_of_kind, with_device, with_xclbin, Object,
    UuidOutput,
};
use crate::handles::Handle;
use crate::pointers::{new_text, text, OutputPointer};
use crate::status::Failure;
use std::ffi::{c_char, c_int, c_uchar, c_void};
use std::path::Path;
use std::sync::Arc;
use xrt::container::{self, HEADER};
use xrt::{Design, MemoryType, Uuid};

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_uuid_parse(text: *const c_char, uuid: *mut c_uchar) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        // SAFETY: null or a string, as the header asks.
        let text = unsafe { crate::pointers::text(text, "text") }?;
        let parsed: Result<Uuid, _> = text.parse();
        let parsed = parsed.map_err(|error| Failure::argument(error.to_string()))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(parsed) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_open(path: *const c_char, xclbin: *mut Handle) -> c_int {
    answering(xclbin, "xclbin", || {
        // SAFETY: null or a string, as the header asks.
        let path = unsafe { text(path, "path") }?;
        let read = container::read(Path::new(path))?;
        Ok(give(Object::Xclbin(Arc::new(read))))
    })
}

fn parse(bytes: &[u8]) -> Result<Handle, Failure> {
    let read = container::parse("the bytes given", bytes)?;
    Ok(give(Object::Xclbin(Arc::new(read))))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_parse(
    bytes: *const c_void,
    count: usize,
    xclbin: *mut Handle,
) -> c_int {
    answering(xclbin, "xclbin", || {
        if bytes.is_null() {
            return Err(Failure::argument("bytes is a null pointer"));
        }
        // SAFETY: not null; the header requires `count` bytes.
        parse(unsafe { std::slice::from_raw_parts(bytes.cast(), count) })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_parse_axlf(
    bytes: *const c_void,
    xclbin: *mut Handle,
) -> c_int {
    answering(xclbin, "xclbin", || {
        if bytes.is_null() {
            return Err(Failure::argument("axlf is a null pointer"));
        }
        // SAFETY: not null; every file of this kind, in either format, has 8 bytes that identify it.
        let magic = unsafe { std::slice::from_raw_parts(bytes.cast::<u8>(), 8) };
        if magic != container::MAGIC {
            return parse(magic);
        }
        // SAFETY: files in this format have a header, which holds the length.
        let header = unsafe { &*bytes.cast::<[u8; HEADER]>() };
        let length = container::length_of(header).and_then(|length| usize::try_from(length).ok());
        let length = length.ok_or_else(|| Failure::argument("axlf: damaged: it has no length"))?;
        // SAFETY: as above.
        parse(unsafe { std::slice::from_raw_parts(bytes.cast(), length) })
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_of_device(device: Handle, xclbin: *mut Handle) -> c_int {
    answering(xclbin, "xclbin", || {
        let container = with_device(device, |device| Ok(device.container("get_xclbin")?))?;
        Ok(give(Object::Xclbin(container)))
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_uuid(xclbin: Handle, uuid: *mut c_uchar) -> c_int {
    entry(|| {
        let answer = UuidOutput::at(uuid)?;
        let own = with_xclbin(xclbin, |xclbin| Ok(xclbin.uuid))?;
        // SAFETY: the caller's place for it.
        unsafe { answer.give(own) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_bytes(
    xclbin: Handle,
    bytes: *mut c_void,
    count: *mut usize,
) -> c_int {
    entry(|| {
        OutputPointer::at(count, "count")?;
        let written = with_xclbin(xclbin, |xclbin| Ok(container::write(&xclbin.design)))?;
        // SAFETY: not null; the header requires a count, and that many bytes at the pointer.
        unsafe { give_bytes(&written, bytes, count) };
        Ok(())
    })
}

fn no_entry() -> Failure {
    Failure::argument("xclbin: there is no such entry")
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_count(
    xclbin: Handle,
    list: u32,
    index: u32,
    count: *mut u32,
) -> c_int {
    answering(count, "count", || {
        with_xclbin(xclbin, |xclbin| {
            let design = &xclbin.design;
            let found = match list {
                0 => Some(design.kernels.len()),
                1 => Some(design.units.len()),
                2 => Some(design.memories.len()),
                3 => {
                    let kernel = design.kernels.get(index as usize);
                    kernel.map(|kernel| kernel.arguments.len())
                }
                _ => None,
            };
            found.map(|count| count as u32).ok_or_else(no_entry)
        })
    })
}

fn text_of(design: &Design, what: u32, index: usize, place: usize) -> Option<String> {
    let argument = || design.kernels.get(index)?.arguments.get(place);
    Some(match what {
        0 => design.platform.clone(),
        1 => design.kernels.get(index)?.name.clone(),
        2 => design.full_name(design.units.get(index)?),
        3 => design.memories.get(index)?.tag.clone(),
        4 => argument()?.name.clone(),
        5 => argument()?.port.clone(),
        6 => argument()?.host_type.clone(),
        _ => return None,
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_text(
    xclbin: Handle,
    what: u32,
    index: u32,
    place: u32,
    text: *mut *mut c_char,
) -> c_int {
    answering(text, "text", || {
        let found = with_xclbin(xclbin, |xclbin| {
            let found = text_of(&xclbin.design, what, index as usize, place as usize);
            found.ok_or_else(no_entry)
        })?;
        new_text(found)
    })
}

fn number_of(design: &Design, what: u32, index: usize, place: usize) -> Option<u64> {
    let argument = || design.kernels.get(index)?.arguments.get(place);
    let unit = || design.units.get(index);
    let memory = || design.memories.get(index);
    Some(match what {
        0 => unit()?.kernel as u64,
        1 => unit()?.base_address,
        2 => match design.kernels.get(unit()?.kernel)?.control.as_str() {
            "ap_ctrl_hs" => 0,
            "ap_ctrl_chain" => 1,
            _ => 2,
        },
        3 => {
            let unit = unit()?;
            let argument = design.kernels.get(unit.kernel)?.arguments.get(place)?;
            let group = unit.groups.get(&argument.index);
            group.map_or(u64::MAX, |group| u64::from(*group))
        }
        4 => memory()?.bytes,
        5 => u64::from(memory()?.used),
        6 => match memory()?.kind {
            MemoryType::Ddr => 1,
            MemoryType::Hbm => 6,
            MemoryType::Plram => 7,
            MemoryType::Host => 10,
        },
        7 => u64::from(argument()?.index),
        8 => u64::from(argument()?.host_bytes),
        9 => u64::from(argument()?.offset),
        10 => u64::from(number_of_kind(argument()?.kind)),
        11 => design.base_of(index)?,
        _ => return None,
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_xrt_xclbin_number(
    xclbin: Handle,
    what: u32,
    index: u32,
    place: u32,
    number: *mut u64,
) -> c_int {
    answering(number, "number", || {
        with_xclbin(xclbin, |xclbin| {
            let found = number_of(&xclbin.design, what, index as usize, place as usize);
            found.ok_or_else(no_entry)
        })
    })
}
