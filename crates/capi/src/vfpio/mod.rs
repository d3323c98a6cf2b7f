//! `vfpio.h`: table 1 of vFPIO's paper, over the streams of the library.

mod device;
mod ports;
mod state;

use crate::handles::{self, Handle};
use crate::options::{self, ScheduleOptions};
use crate::pointers::text;
use crate::status::{with_errno, Failure};
use device::{Device, OpenDevice, WaitLimit};
use ports::{port_name, Flag, Ports};
use state::{state, Peer};
use std::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::Mutex;
use tombolo::{MapOptions, Picoseconds};

#[no_mangle]
pub unsafe extern "C" fn vfpio_init(bitstream: *const c_void) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let folder = Path::new(unsafe { text(bitstream.cast(), "bitstream") }?);
        state().load(folder)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_release(slot_id: c_int) -> c_int {
    with_errno(-1, || state().release(slot_id).map(|()| 0))
}

#[no_mangle]
pub extern "C" fn vfpio_slot(slot_id: c_int) -> Handle {
    with_errno(Handle::NULL, || state().slot(slot_id))
}

#[no_mangle]
pub extern "C" fn vfpio_huge_alloc(data_size: usize) -> *mut u64 {
    with_errno(std::ptr::null_mut(), || match data_size {
        0 => Err(Failure::argument("data_size is 0")),
        _ => Ok(state().alloc(data_size)?.cast()),
    })
}

#[no_mangle]
pub extern "C" fn vfpio_free(memory: *mut u64) -> c_int {
    with_errno(-1, || match memory.is_null() {
        true => Ok(0),
        false => state().free(memory.cast()).map(|()| 0),
    })
}

#[no_mangle]
pub extern "C" fn vfpio_open(
    device_type: c_int,
    rw_flag: c_int,
    slot_id: c_int,
    port_id: c_int,
) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        let device = state.named(device_type)?;
        let ports = state.ports(slot_id, Flag::parse(rw_flag)?, port_id)?;
        if let Device::Network { address } = &device {
            ports.plug(address)?;
        }
        Ok(state.add(OpenDevice::new(slot_id, device, ports)))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_stand_in(missing: c_int, instead: c_int) -> c_int {
    with_errno(-1, || state().substitute(missing, instead).map(|()| 0))
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_peer(address: *const c_char) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let address = unsafe { text(address, "address") }?;
        let peer = Peer::connect(address)?;
        state().set_peer(peer);
        Ok(0)
    })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_open_file(
    path: *const c_char,
    rw_flag: c_int,
    slot_id: c_int,
    port_id: c_int,
    size: usize,
) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or a string, as the header asks.
        let path = Path::new(unsafe { text(path, "path") }?);
        let flag = Flag::parse(rw_flag)?;
        let options = match (flag.writes(), size as u64) {
            _ if flag.reads() && flag.writes() => {
                let rule = "a file goes one way: open it for reading and for writing by itself";
                return Err(Failure::argument(rule));
            }
            (false, 0) => MapOptions::read_only(),
            (false, size) => MapOptions::read_only().bytes(size),
            (true, 0) => {
                return Err(Failure::argument(
                    "size is 0: say how long the file shall be",
                ))
            }
            (true, size) => MapOptions::create(size),
        };
        let mut state = state();
        let ports = state.ports(slot_id, flag, port_id)?;
        let file = state.space()?.map_file(path, options)?;
        let at = Mutex::new(0);
        let device = Device::File { file, at };
        Ok(state.add(OpenDevice::new(slot_id, device, ports)))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_connect(
    from_slot_id: c_int,
    from_port_id: c_int,
    to_slot_id: c_int,
    to_port_id: c_int,
) -> c_int {
    with_errno(-1, || {
        let mut state = state();
        let (from, to) = (state.slot(from_slot_id)?, state.slot(to_slot_id)?);
        let card = state.card()?;
        let connection = handles::with_slot(from, |from| {
            let output = port_name(from, from_port_id)?;
            handles::with_slot(to, |to| {
                let input = port_name(to, to_port_id)?;
                handles::with_card(card, |card| Ok(card.connect(from, &output, to, &input)?))
            })
        })?;
        Ok(state.add(OpenDevice::new(
            from_slot_id,
            Device::Port(connection),
            Ports::default(),
        )))
    })
}

#[no_mangle]
pub extern "C" fn vfpio_close(dev_fd: c_int) -> c_int {
    with_errno(-1, || {
        let open = state().device(dev_fd)?;
        let ended = open.close(dev_fd)?;
        state().remove(dev_fd);
        ended.map(|()| 0)
    })
}

fn transfer(
    dev_fd: c_int,
    address: *const c_void,
    size: usize,
    writes: bool,
) -> Result<usize, Failure> {
    let open = state().device(dev_fd)?;
    let address = address.cast();
    open.transfer(writes, address, size, || state().range(address, size))
}

#[no_mangle]
pub extern "C" fn vfpio_read(dev_fd: c_int, address: *const c_void, size: usize) -> usize {
    with_errno(0, || transfer(dev_fd, address, size, false))
}

#[no_mangle]
pub extern "C" fn vfpio_write(dev_fd: c_int, address: *mut c_void, size: usize) -> usize {
    with_errno(0, || transfer(dev_fd, address.cast_const(), size, true))
}

/// More entries than a program has open: the list lacks its end.
const LONGEST_LIST: usize = 1 << 16;

/// Waits for the transfers of several dev_fds, with a timeout per port.
///
/// # Safety
/// Null, or a list that ends with -1.
unsafe fn sync(dev_fds: *const c_int, limit: WaitLimit) -> Result<c_int, Failure> {
    if dev_fds.is_null() {
        return Err(Failure::argument("dev_fds is a null pointer"));
    }
    let mut all = Vec::new();
    for index in 0..LONGEST_LIST {
        // SAFETY: not null, and as the caller promises.
        let dev_fd = unsafe { dev_fds.add(index).read() };
        if dev_fd == -1 {
            break;
        }
        all.push(state().device(dev_fd)?);
    }
    let results: Vec<_> = all.iter().map(|open| open.sync(limit)).collect();
    results.into_iter().collect::<Result<(), _>>()?;
    Ok(0)
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_sync(dev_fds: *const c_int) -> c_int {
    // SAFETY: as the header asks.
    with_errno(-1, || unsafe { sync(dev_fds, WaitLimit::Unlimited) })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_sync_within(dev_fds: *const c_int, deadline_ps: u64) -> c_int {
    let limit = WaitLimit::Within(Picoseconds::new(deadline_ps));
    // SAFETY: as the header asks.
    with_errno(-1, || unsafe { sync(dev_fds, limit) })
}

#[no_mangle]
pub unsafe extern "C" fn vfpio_set_schedule(
    slot_id: c_int,
    options: *const ScheduleOptions,
) -> c_int {
    with_errno(-1, || {
        // SAFETY: null or the caller's options, as the header asks.
        let schedule = unsafe { options::read(options) }?.schedule()?;
        let slot = state().slot(slot_id)?;
        handles::with_slot(slot, |slot| Ok(slot.set_schedule(schedule)?))?;
        Ok(0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_attach(card: Handle) -> c_int {
    with_errno(-1, || state().attach(card).map(|()| 0))
}

#[no_mangle]
pub extern "C" fn vfpio_detach() -> c_int {
    with_errno(-1, || {
        let opened = state().take()?;
        opened.close().map(|()| 0)
    })
}

#[no_mangle]
pub extern "C" fn vfpio_error() -> *const c_char {
    crate::status::tmb_last_error()
}
