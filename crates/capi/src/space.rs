//! Address spaces and mappings.

use crate::handles::{self, Handle, HandleObject};
use crate::options::{self, page_size, MapOptions, SpaceOptions};
use crate::pointers::{text, OutputPointer};
use crate::status::{entry, Failure};
use std::ffi::{c_char, c_int};
use std::path::Path;
use tombolo::VirtAddr;

#[no_mangle]
pub unsafe extern "C" fn tmb_space_create(
    card: Handle,
    options: *const SpaceOptions,
    space: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(space, "space")?;
        // SAFETY: null or the caller's options, as the header asks.
        let options = unsafe { options::read(options) }?;
        let placement = options.placement()?;
        let translation = options.translation()?;
        let limit = (options.limit != 0).then_some(options.limit);
        let made = handles::with_card(card, |card| {
            let placement = placement.unwrap_or_else(|| card.placement());
            let made = tombolo::SpaceOptions::new()
                .placement(placement)
                .limit(limit);
            Ok(card.create_space_with(made.translation(translation))?)
        })?;
        let made = handles::insert(card, HandleObject::Space(made))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_space_close(space: Handle) -> c_int {
    entry(|| handles::close(space, "address space"))
}

/// Converts C options to the library's.
fn library(options: &MapOptions) -> Result<tombolo::MapOptions, Failure> {
    let mut made = match (options.create != 0, options.access) {
        (true, 0 | 2) => tombolo::MapOptions::create(options.create_bytes),
        (true, _) => {
            let rule = "create makes a file of zeroes, so it needs TMB_READ_WRITE";
            return Err(Failure::argument(rule));
        }
        (false, 0 | 1) => tombolo::MapOptions::read_only(),
        (false, 2) => tombolo::MapOptions::read_write(),
        (false, other) => {
            let rule = format!("access is {other}: use TMB_READ or TMB_READ_WRITE");
            return Err(Failure::argument(rule));
        }
    };
    made = made.offset(options.offset);
    if options.bytes != 0 {
        made = made.bytes(options.bytes);
    }
    if options.page_size != 0 {
        made = made.page_size(page_size(options.page_size)?);
    }
    if options.address != 0 {
        made = made.address(address(options.address)?);
    }
    if options.direct != 0 {
        made = made.direct();
    }
    if let Some(kind) = options.memory()? {
        made = made.memory(kind);
    }
    if let Some(state) = options.file_state()? {
        made = made.file_state(state);
    }
    if options.holes != 0 {
        made = made.holes();
    }
    Ok(made)
}

/// A virtual address.
pub fn address(address: u64) -> Result<VirtAddr, Failure> {
    VirtAddr::new(address)
        .ok_or_else(|| Failure::argument(format!("address {address:#x} has more than 48 bits")))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_map_file(
    space: Handle,
    path: *const c_char,
    options: *const MapOptions,
    mapping: *mut Handle,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(mapping, "mapping")?;
        // SAFETY: null or a string, as the header asks.
        let path = Path::new(unsafe { text(path, "path") }?);
        // SAFETY: null or the caller's options, as the header asks.
        let options = library(&unsafe { options::read(options) }?)?;
        let mapped = handles::with_space(space, |space| Ok(space.map_file(path, options)?))?;
        let made = handles::insert(space, HandleObject::Mapping(mapped))?;
        // SAFETY: the caller's place for a handle.
        unsafe { answer.give(made) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_mapping_address(mapping: Handle, address: *mut u64) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(address, "address")?;
        let (found, _) = handles::mapping_range(mapping)?;
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(found) };
        Ok(())
    })
}

#[no_mangle]
pub unsafe extern "C" fn tmb_mapping_bytes(mapping: Handle, bytes: *mut u64) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(bytes, "bytes")?;
        let (_, found) = handles::mapping_range(mapping)?;
        // SAFETY: the caller's place for a number.
        unsafe { answer.give(found) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_mapping_sync(mapping: Handle) -> c_int {
    entry(|| handles::with_mapping(mapping, |mapping| Ok(mapping.sync()?)))
}

#[no_mangle]
pub extern "C" fn tmb_mapping_prefetch(mapping: Handle) -> c_int {
    entry(|| handles::with_mapping(mapping, |mapping| Ok(mapping.prefetch()?)))
}

#[no_mangle]
pub unsafe extern "C" fn tmb_mapping_make_hot(mapping: Handle, bytes: *mut u64) -> c_int {
    entry(|| {
        let hot = handles::with_mapping(mapping, |mapping| Ok(mapping.make_hot()?))?;
        if !bytes.is_null() {
            // SAFETY: the caller's place for a number.
            unsafe { bytes.write(hot) };
        }
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_mapping_unmap(mapping: Handle) -> c_int {
    entry(|| handles::close(mapping, "mapping"))
}
