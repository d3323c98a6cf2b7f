//! `ioctl` requests of vfio.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use vfio_bindings::bindings::vfio::{VFIO_BASE, VFIO_TYPE};

/// A request of vfio, numbered from its base as in `linux/vfio.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    GetApiVersion = 0,
    CheckExtension = 1,
    SetIommu = 2,
    GroupGetStatus = 3,
    GroupSetContainer = 4,
    GroupGetDeviceFd = 6,
    DeviceGetInfo = 7,
    DeviceGetRegionInfo = 8,
    DeviceGetIrqInfo = 9,
    DeviceSetIrqs = 10,
    DeviceReset = 11,
    IommuGetInfo = 12,
    IommuMapDma = 13,
    IommuUnmapDma = 14,
}

impl Call {
    /// `_IO(VFIO_TYPE, VFIO_BASE + n)`: requests of vfio encode neither size nor direction.
    const fn number(self) -> libc::c_ulong {
        (VFIO_TYPE as libc::c_ulong) << 8 | (VFIO_BASE as libc::c_ulong + self as libc::c_ulong)
    }
}

fn result(value: libc::c_int) -> io::Result<i32> {
    match value {
        0.. => Ok(value),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Issues a request whose argument is a number, or unused.
pub(super) fn with_number(fd: BorrowedFd<'_>, call: Call, number: u64) -> io::Result<i32> {
    debug_assert!(matches!(
        call,
        Call::GetApiVersion | Call::CheckExtension | Call::SetIommu | Call::DeviceReset
    ));
    // SAFETY: these calls take a number and touch no memory of this process.
    result(unsafe { libc::ioctl(fd.as_raw_fd(), call.number() as _, number as libc::c_ulong) })
}

/// Issues a request with a structure of the kernel's interface, which the kernel may write.
///
/// # Safety
/// `argument` points to the structure that `call` takes, in memory of at least its `argsz` bytes; pointers in it stay
/// valid as long as the kernel uses them.
pub(super) unsafe fn with<T>(fd: BorrowedFd<'_>, call: Call, argument: *mut T) -> io::Result<i32> {
    // SAFETY: guaranteed by the caller.
    result(unsafe { libc::ioctl(fd.as_raw_fd(), call.number() as _, argument) })
}
