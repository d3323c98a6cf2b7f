//! IOMMU groups: devices that the IOMMU cannot distinguish.

use super::call::{self, Call};
use super::container::Container;
use super::function::Function;
use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;
use vfio_bindings::bindings::vfio::{vfio_group_status, VFIO_GROUP_FLAGS_VIABLE};

/// An IOMMU group that this process has opened, exclusively.
pub(crate) struct Group(File);

impl Group {
    /// Opens `/dev/vfio/NUMBER`.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        OpenOptions::new()
            .read(true)
            .write(true)
            .open(path)
            .map(Self)
    }

    /// Whether every device of the group is bound to vfio or to no driver.
    pub(crate) fn is_viable(&self) -> io::Result<bool> {
        let mut status = vfio_group_status {
            argsz: size_of::<vfio_group_status>() as u32,
            flags: 0,
        };
        // SAFETY: the structure of this call.
        unsafe { call::with(self.0.as_fd(), Call::GroupGetStatus, &mut status)? };
        Ok(status.flags & VFIO_GROUP_FLAGS_VIABLE != 0)
    }

    /// Adds the group to a container.
    pub(crate) fn join(&self, container: &Container) -> io::Result<()> {
        let mut fd = container.as_fd().as_raw_fd();
        // SAFETY: this call takes the address of a descriptor.
        unsafe { call::with(self.0.as_fd(), Call::GroupSetContainer, &mut fd)? };
        Ok(())
    }

    /// Opens a device of the group, by its PCI address.
    pub(crate) fn device(&self, address: &str) -> io::Result<Function> {
        let name = CString::new(address)?;
        // SAFETY: this request takes a zero-terminated string, and only reads it.
        let fd = unsafe {
            call::with(
                self.0.as_fd(),
                Call::GroupGetDeviceFd,
                name.as_ptr().cast_mut(),
            )?
        };
        // SAFETY: the call returned a new descriptor.
        Ok(Function::new(unsafe { OwnedFd::from_raw_fd(fd) }))
    }
}
