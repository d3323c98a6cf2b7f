//! Functions of `tombolo_xrt.h`, on which the C++ headers for XRT programs are built.

use crate::handles::{self, Handle};
use crate::pointers::{new_text, text, OutputPointer};
use crate::status::{self, Failure};
use crate::xrt_object::Object;
use std::ffi::{c_char, c_int, c_uchar, c_void, CStr};
use std::os::fd::{BorrowedFd, IntoRawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, Once};
use xrt::container::{self, Container, HEADER};
use xrt::{
    ArgumentKind, Buffer, BufferFlags, Class, CommandState, Design, Device, Direction, Information,
    Ip, Kernel, MemoryType, Repeat, Run, UnitAccess, Uuid, XrtError,
};

/// `TMB_XRT_RUNTIME`
const RUNTIME: c_int = -1;
/// `TMB_XRT_OUT_OF_RANGE`
const OUT_OF_RANGE: c_int = -2;

impl From<XrtError> for Failure {
    fn from(error: XrtError) -> Self {
        let class = match error.class() {
            Class::System(errno) => errno,
            Class::Runtime => RUNTIME,
            Class::OutOfRange => OUT_OF_RANGE,
        };
        Self::of_class(class, error.to_string())
    }
}

/// Runs a call; a failure returns the class of its exception.
fn entry(call: impl FnOnce() -> Result<(), Failure>) -> c_int {
    status::entry_with_class(call)
}

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

fn give(object: Object) -> Handle {
    handles::insert_xrt(object)
}

macro_rules! objects {
    ($($name:ident, $variant:ident, $held:ty, $kind:literal;)*) => {
        $(
            fn $name<R>(
                handle: Handle,
                call: impl FnOnce(&$held) -> Result<R, Failure>,
            ) -> Result<R, Failure> {
                handles::with_xrt(handle, |object| match object {
                    Object::$variant(found) => call(found),
                    _ => Err(Failure::argument(format!("{handle} is no {}", $kind))),
                })
            }
        )*
    };
}

objects! {
    with_device, Device, Device, "device";
    with_buffer, Buffer, Buffer, "bo";
    with_kernel, Kernel, Kernel, "kernel";
    with_run, Run, Run, "run";
    with_ip, Ip, Ip, "ip";
    with_xclbin, Xclbin, Arc<Container>, "xclbin";
}

/// The caller's buffer of 16 bytes for a UUID.
struct UuidOutput(*mut c_uchar);

impl UuidOutput {
    fn at(pointer: *mut c_uchar) -> Result<Self, Failure> {
        OutputPointer::at(pointer, "uuid").map(|_| Self(pointer))
    }

    unsafe fn give(self, uuid: Uuid) {
        // SAFETY: not null, and the header asks for 16 bytes.
        unsafe { std::ptr::copy_nonoverlapping(uuid.0.as_ptr(), self.0, 16) };
    }
}

unsafe fn uuid_of(pointer: *const c_uchar) -> Result<Uuid, Failure> {
    if pointer.is_null() {
        return Err(Failure::argument("uuid is a null pointer"));
    }
    let mut uuid = Uuid::default();
    // SAFETY: not null, and the header asks for 16 bytes.
    unsafe { std::ptr::copy_nonoverlapping(pointer, uuid.0.as_mut_ptr(), 16) };
    Ok(uuid)
}

/// Copies as many bytes as the caller has room for, and reports the full count.
unsafe fn give_bytes(found: &[u8], bytes: *mut c_void, count: *mut usize) {
    // SAFETY: the caller's number, which is not null.
    let room = unsafe { count.read() };
    if !bytes.is_null() {
        let taken = room.min(found.len());
        // SAFETY: not null, and the caller has room for `taken` bytes.
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), bytes.cast(), taken) };
    }
    // SAFETY: as above.
    unsafe { count.write(found.len()) };
}

/// Stores the result of a call through the caller's pointer.
fn answering<T>(
    pointer: *mut T,
    what: &'static str,
    call: impl FnOnce() -> Result<T, Failure>,
) -> c_int {
    entry(|| {
        let answer = OutputPointer::at(pointer, what)?;
        let value = call()?;
        // SAFETY: the caller's place, as the header asks.
        unsafe { answer.give(value) };
        Ok(())
    })
}

#[no_mangle]
pub extern "C" fn tmb_xrt_close(object: Handle) -> c_int {
    entry(|| handles::close_xrt(object))
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

fn number_of_kind(kind: ArgumentKind) -> u32 {
    match kind {
        ArgumentKind::Scalar => 0,
        ArgumentKind::Global => 1,
        ArgumentKind::Stream => 4,
    }
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
