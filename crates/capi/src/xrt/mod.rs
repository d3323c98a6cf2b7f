//! Functions of `tombolo_xrt.h`, on which the C++ headers for XRT programs are built.

mod bo;
mod device;
mod ip;
mod kernel;
mod object;
mod run;
mod xclbin;

use crate::handles::{self, Handle};
use crate::pointers::OutputPointer;
use crate::status::{self, Failure};
use std::ffi::{c_int, c_uchar, c_void};
use std::sync::Arc;
use xrt::container::Container;
use xrt::{ArgumentKind, Buffer, Class, Device, Ip, Kernel, Run, Uuid, XrtError};

pub use object::Object;

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

fn number_of_kind(kind: ArgumentKind) -> u32 {
    match kind {
        ArgumentKind::Scalar => 0,
        ArgumentKind::Global => 1,
        ArgumentKind::Stream => 4,
    }
}
