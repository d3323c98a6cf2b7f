//! A BAR, mapped into this process.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

/// Mapped registers of a device.
pub(crate) struct Bar {
    start: NonNull<u32>,
    bytes: usize,
}

// SAFETY: registers, accessed as whole words and with volatile accesses only; no thread owns them.
unsafe impl Send for Bar {}

impl Bar {
    /// Maps `bytes` bytes of a device's descriptor.
    pub(super) fn map(fd: BorrowedFd<'_>, offset: u64, bytes: usize) -> io::Result<Self> {
        // SAFETY: a new mapping; no existing memory is touched.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                offset as libc::off_t,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = NonNull::new(start.cast());
        let start = start.ok_or_else(|| io::Error::other("mmap gave address zero"))?;
        Ok(Self { start, bytes })
    }

    /// Size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The register at a byte address, a multiple of 4; `None` outside the BAR.
    fn register(&self, address: u32) -> Option<*mut u32> {
        let inside = address % 4 == 0 && (address as usize) < self.bytes;
        // SAFETY: inside the mapping, whose size is a multiple of 4.
        inside.then(|| unsafe { self.start.as_ptr().add(address as usize / 4) })
    }

    /// Reads a register; `None` outside the BAR.
    pub(crate) fn read(&self, address: u32) -> Option<u32> {
        // SAFETY: inside the mapping, and aligned.
        self.register(address)
            .map(|register| unsafe { register.read_volatile() })
    }

    /// Writes a register; false outside the BAR. Earlier writes of this thread to memory are visible to the device
    /// first.
    pub(crate) fn write(&mut self, address: u32, value: u32) -> bool {
        let Some(register) = self.register(address) else {
            return false;
        };
        std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
        // SAFETY: inside the mapping, and aligned.
        unsafe { register.write_volatile(value) };
        true
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; nothing borrows it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes) };
    }
}
