//! Interrupts delivered to an eventfd.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd};
use std::time::Duration;

/// An eventfd that counts interrupts.
pub(crate) struct Event(File);

impl Event {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: creates a descriptor, touches no memory.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: a new descriptor.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Waits for an interrupt, for at most `limit`; true if there was one since the last call.
    pub(crate) fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        let mut poll = libc::pollfd {
            fd: self.0.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let limit = libc::timespec {
            tv_sec: limit.as_secs().min(3600) as libc::time_t,
            tv_nsec: limit.subsec_nanos().into(),
        };
        // SAFETY: one descriptor, and a timeout, both valid during the call.
        let ready = unsafe { libc::ppoll(&mut poll, 1, &limit, std::ptr::null()) };
        if ready < 0 {
            let error = io::Error::last_os_error();
            return match error.kind() {
                io::ErrorKind::Interrupted => Ok(false),
                _ => Err(error),
            };
        }
        if ready == 0 {
            return Ok(false);
        }
        let mut count = [0; 8];
        match self.0.read(&mut count) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }
}
