//! Exported bytes, all mapped in memory. The kernel alone copies between them and a socket: a truncated file or a full
//! disk is then an error of the call and no signal.

use std::ffi::c_int;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, RawFd};

/// The exported bytes.
#[derive(Debug)]
pub(super) struct Mapped {
    start: *mut u8,
    bytes: usize,
}

// SAFETY: it is only an address and a length; the bytes are accessed by the kernel only.
unsafe impl Send for Mapped {}
// SAFETY: as above.
unsafe impl Sync for Mapped {}

impl Mapped {
    /// Maps a file's bytes.
    pub(super) fn new(file: &File, bytes: u64, writable: bool) -> io::Result<Self> {
        let access = match writable {
            true => libc::PROT_READ | libc::PROT_WRITE,
            false => libc::PROT_READ,
        };
        Self::map(bytes, access, libc::MAP_SHARED, file.as_raw_fd())
    }

    /// Zeroed memory, which the system allocates on access: in large pages if available, because all of it is copied
    /// from and to.
    pub(super) fn zeroed(bytes: u64) -> io::Result<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let mapped = Self::map(bytes, access, kind, -1)?;
        // SAFETY: it is ours; advice changes no byte, and none is needed.
        unsafe { libc::madvise(mapped.start.cast(), mapped.bytes, libc::MADV_HUGEPAGE) };
        Ok(mapped)
    }

    fn map(bytes: u64, access: c_int, kind: c_int, file: RawFd) -> io::Result<Self> {
        let bytes = usize::try_from(bytes).map_err(|_| io::Error::from(ErrorKind::OutOfMemory))?;
        // SAFETY: a new mapping, where the system wants it.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, kind, file, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let start = start.cast();
        Ok(Self { start, bytes })
    }

    /// Address and size of all bytes.
    pub(super) fn all(&self) -> (*mut u8, usize) {
        (self.start, self.bytes)
    }

    fn part(&self, offset: u64, bytes: usize) -> io::Result<*mut u8> {
        let inside = usize::try_from(offset).ok().filter(|offset| {
            let end = offset.checked_add(bytes);
            end.is_some_and(|end| end <= self.bytes)
        });
        let offset = inside.ok_or_else(|| io::Error::from(ErrorKind::InvalidInput))?;
        // SAFETY: it is inside.
        Ok(unsafe { self.start.add(offset) })
    }

    /// Sends a head, and bytes behind it.
    pub(super) fn send(
        &self,
        socket: &TcpStream,
        head: &[u8],
        offset: u64,
        bytes: usize,
    ) -> io::Result<()> {
        let start = self.part(offset, bytes)?;
        let (mut at, end) = (0, head.len() + bytes);
        while at < end {
            let rest = head.get(at..).unwrap_or(&[]);
            let behind = at.saturating_sub(head.len());
            // SAFETY: behind the head the place is inside.
            let from = unsafe { start.add(behind) };
            let parts = [
                part(rest.as_ptr().cast_mut(), rest.len()),
                part(from, bytes - behind),
            ];
            // SAFETY: an address and a length each, of memory that is valid for the head, and mapped behind it.
            let sent = again(|| unsafe { libc::writev(socket.as_raw_fd(), parts.as_ptr(), 2) })?;
            at += sent;
        }
        Ok(())
    }

    /// Receives bytes. A storage error, as opposed to one of the connection, is returned as the second value, after all
    /// bytes have been taken from the connection, which stays usable.
    pub(super) fn receive(
        &self,
        socket: &TcpStream,
        offset: u64,
        bytes: usize,
    ) -> io::Result<io::Result<()>> {
        let start = self.part(offset, bytes)?;
        let mut at = 0;
        while at < bytes {
            // SAFETY: the place is inside, and so long.
            let to = unsafe { start.add(at) };
            match receive(socket.as_raw_fd(), to, bytes - at) {
                Ok(got) => at += got,
                Err(error) if error.raw_os_error() == Some(libc::EFAULT) => {
                    drain(socket, bytes - at)?;
                    return Ok(Err(error));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(Ok(()))
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: this struct owns the mapping, and no code uses it any more.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// Discards bytes of a connection.
pub(super) fn drain(socket: &TcpStream, bytes: usize) -> io::Result<()> {
    let mut rest = bytes;
    let mut waste = vec![0u8; bytes.min(64 << 10)];
    while rest > 0 {
        let now = rest.min(waste.len());
        rest -= receive(socket.as_raw_fd(), waste.as_mut_ptr(), now)?;
    }
    Ok(())
}

fn part(start: *mut u8, bytes: usize) -> libc::iovec {
    libc::iovec {
        iov_base: start.cast(),
        iov_len: bytes,
    }
}

/// Receives at least one byte.
fn receive(socket: RawFd, to: *mut u8, bytes: usize) -> io::Result<usize> {
    // SAFETY: the callers give it as much room as they say, or memory that the kernel checks.
    match again(|| unsafe { libc::recv(socket, to.cast(), bytes, 0) })? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        got => Ok(got),
    }
}

fn again(call: impl Fn() -> isize) -> io::Result<usize> {
    loop {
        match usize::try_from(call()) {
            Ok(done) => return Ok(done),
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
}
