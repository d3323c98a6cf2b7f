//! Transfers between files and DMA buffers, with io_uring, or `pread`/`pwrite` if it is forbidden.
//!
//! This crate calls the kernel with raw pointers into [`HostMemory`]; each `unsafe` states its justification.
//! Completions carry bytes, never time: the card's model decides when the work counts as done.

mod blocking;
mod identity;
pub mod lock;
mod open_file;
mod uring;

pub use blocking::BlockingIo;
pub use identity::{identity, Identity};
pub use open_file::OpenFile;
pub use uring::UringIo;

use card::memory::HostMemory;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// Identifier of a transfer under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(pub u64);

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the file to memory.
    Read,
    /// From memory to the file.
    Write,
}

/// A transfer between a file and host memory.
#[derive(Clone, Debug)]
pub struct Transfer {
    /// Identifier chosen by the caller.
    pub id: TransferId,
    /// Direction of the transfer.
    pub direction: Direction,
    /// File, kept open by the transfer.
    pub file: Arc<OpenFile>,
    /// Offset in the file, in bytes.
    pub file_offset: u64,
    /// Memory, kept alive by the transfer.
    pub memory: Arc<HostMemory>,
    /// Offset in the memory, in bytes.
    pub memory_offset: usize,
    /// Bytes to move.
    pub bytes: usize,
    /// Range of the file for read-ahead by the system: it is likely to be read next.
    pub along: Option<Range<u64>>,
}

/// Asks the system to read ahead in the file. A hint: errors are ignored.
fn ask_along(transfer: &Transfer) {
    let Some(along) = &transfer.along else {
        return;
    };
    let (Ok(start), Ok(bytes)) = (
        i64::try_from(along.start),
        i64::try_from(along.end.saturating_sub(along.start)),
    ) else {
        return;
    };
    // SAFETY: takes no pointer, and the descriptor is open as long as the transfer is borrowed.
    let refused = unsafe {
        libc::posix_fadvise(
            transfer.file.as_raw_fd(),
            start,
            bytes,
            libc::POSIX_FADV_WILLNEED,
        )
    };
    if refused != 0 {
        let error = io::Error::from_raw_os_error(refused);
        tracing::debug!(%error, "asking for what lies around a read");
    }
}

/// Moves bytes between files and host memory.
pub trait FileIo: Send {
    /// Name of the method for reports: `io_uring` or `blocking`.
    fn name(&self) -> &'static str;

    /// Starts a transfer. Its result, errors included, is returned by [`finish`](FileIo::finish).
    fn start(&mut self, transfer: Transfer);

    /// Waits for a started transfer. A read at the end of the file returns fewer bytes than requested; a write returns
    /// all or an error.
    ///
    /// # Errors
    /// Error of the kernel; `InvalidInput` if the memory is too small or the identifier is unknown.
    fn finish(&mut self, id: TransferId) -> io::Result<usize>;

    /// Makes the writes to a file durable and returns the result; `None` leaves it to the owner, which uses a separate
    /// thread because storage may be slow.
    fn make_durable(&mut self, _file: &File) -> Option<io::Result<()>> {
        None
    }
}

/// Makes the writes to a file durable; objects without storage, such as pipes, are no error.
pub fn make_durable(file: &File) -> io::Result<()> {
    match file.sync_data() {
        Err(error) if error.raw_os_error() != Some(libc::EINVAL) => Err(error),
        _ => Ok(()),
    }
}

/// Holes of a file in a range, disjoint and in order: storage reads nothing there. Empty if the file system does not
/// report holes. Moves the descriptor's offset, so readers must give their own.
///
/// # Errors
/// Error of the operating system.
pub fn holes(file: &File, range: Range<u64>) -> io::Result<Vec<Range<u64>>> {
    let mut holes = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let data = next(file, at, libc::SEEK_DATA)?.map_or(range.end, |data| data.min(range.end));
        if data > at {
            holes.push(at..data);
        }
        at = match data < range.end {
            true => next(file, data, libc::SEEK_HOLE)?.map_or(range.end, |hole| hole.max(data + 1)),
            false => range.end,
        };
    }
    Ok(holes)
}

/// Offset of the next byte of a kind; `None` if there is none up to the end.
fn next(file: &File, from: u64, kind: libc::c_int) -> io::Result<Option<u64>> {
    let from = i64::try_from(from).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput))?;
    // SAFETY: takes no pointer, and the descriptor is open as long as `file` is borrowed.
    let found = unsafe { libc::lseek(file.as_raw_fd(), from, kind) };
    u64::try_from(found)
        .map(Some)
        .or_else(|_| match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
            error => Err(error),
        })
}

/// Access mode of a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Whether it is open for reading.
    pub read: bool,
    /// Whether it is open for writing.
    pub write: bool,
    /// Whether writes always append to the file.
    pub appends: bool,
}

/// Access mode of this descriptor, independently of others of the same file.
pub fn rights(file: &File) -> io::Result<Rights> {
    // SAFETY: F_GETFL takes no pointer, and the descriptor is open as long as `file` is borrowed.
    let flags = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        return Err(io::Error::last_os_error());
    }
    let path_only = flags & libc::O_PATH != 0;
    let mode = flags & libc::O_ACCMODE;
    Ok(Rights {
        read: !path_only && mode != libc::O_WRONLY,
        write: !path_only && mode != libc::O_RDONLY,
        appends: flags & libc::O_APPEND != 0,
    })
}

/// A duplicate of a descriptor that this process inherited by number. Child processes get neither.
///
/// # Errors
/// No descriptor is open under the number.
pub fn inherited(number: RawFd) -> io::Result<OwnedFd> {
    // SAFETY: both calls take no pointer; other users of the number keep their open file.
    let made = unsafe {
        libc::fcntl(number, libc::F_SETFD, libc::FD_CLOEXEC);
        libc::fcntl(number, libc::F_DUPFD_CLOEXEC, STANDARD_STREAMS)
    };
    match made {
        0.. => {
            // SAFETY: it was made just now, and no other code knows its number.
            Ok(unsafe { OwnedFd::from_raw_fd(made) })
        }
        _ => Err(io::Error::last_os_error()),
    }
}

/// Numbers reserved for the standard streams, open or not.
const STANDARD_STREAMS: i32 = 3;

/// Moves a file to a number outside the standard streams. If a program has closed one of those, the next file gets its
/// number, and printed output would go into that file.
pub fn off_standard_streams(file: File) -> io::Result<File> {
    match file.as_raw_fd() < STANDARD_STREAMS {
        // A clone gets none of these numbers.
        true => file.try_clone(),
        false => Ok(file),
    }
}

/// The file is shorter than the range to be written back.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error(
    "the file has {length} bytes now, and these end at {end}: it was truncated while it was mapped, and writing them \
     would make it longer again. Nothing of them was written; give the file its size again and repeat this, or unmap it, \
     and they are lost"
)]
struct Truncated {
    length: u64,
    end: u64,
}

/// Refuses a write that would extend its file: a mapping covers existing bytes only.
pub fn check_length(transfer: &Transfer) -> io::Result<()> {
    if transfer.direction == Direction::Read {
        return Ok(());
    }
    let length = transfer.file.metadata()?.len();
    let end = transfer.file_offset.saturating_add(transfer.bytes as u64);
    match end > length {
        true => Err(io::Error::other(Truncated { length, end })),
        false => Ok(()),
    }
}

/// The best method that this machine supports.
pub fn best() -> Box<dyn FileIo> {
    match UringIo::new() {
        Ok(uring) => Box::new(uring),
        Err(error) => {
            tracing::info!(%error, "io_uring is not available; using pread and pwrite");
            Box::new(BlockingIo::default())
        }
    }
}

/// Checks a transfer and returns the address of its first byte.
fn pointer(transfer: &Transfer, done: usize) -> io::Result<*mut u8> {
    transfer
        .memory
        .pointer(transfer.memory_offset + done, transfer.bytes - done)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))
}

/// The error for a write that moved nothing without an error number.
pub fn write_stopped() -> io::Error {
    io::Error::new(io::ErrorKind::WriteZero, "the file takes no more bytes")
}

fn unknown(id: TransferId) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("no transfer {} is under way", id.0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    fn transfer(
        id: u64,
        direction: Direction,
        file: &Arc<OpenFile>,
        memory: &Arc<HostMemory>,
        bytes: usize,
    ) -> Transfer {
        Transfer {
            id: TransferId(id),
            direction,
            file: file.clone(),
            file_offset: 3,
            memory: memory.clone(),
            memory_offset: 64,
            bytes,
            along: (id == 1).then_some(0..1 << 20),
        }
    }

    fn round_trip(mut io: Box<dyn FileIo>) {
        let mut plain = tempfile::tempfile().unwrap();
        plain.write_all(b"abcdefgh").unwrap();
        let file = Arc::new(OpenFile::from(plain));
        let memory = Arc::new(HostMemory::allocate(4096).unwrap());
        io.start(transfer(1, Direction::Read, &file, &memory, 100));
        assert_eq!(
            io.finish(TransferId(1)).unwrap(),
            5,
            "a read ends at the end of the file"
        );
        let mut got = [0; 5];
        memory.read(64, &mut got).unwrap();
        assert_eq!(&got, b"defgh");

        memory.write(64, b"XYZ").unwrap();
        io.start(transfer(2, Direction::Write, &file, &memory, 3));
        let elsewhere = Arc::new(HostMemory::allocate(4096).unwrap());
        io.start(transfer(3, Direction::Read, &file, &elsewhere, 1));
        assert_eq!(io.finish(TransferId(3)).unwrap(), 1);
        assert_eq!(io.finish(TransferId(2)).unwrap(), 3);
        let mut all = String::new();
        let mut reader: &File = &file;
        reader.rewind().unwrap();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "abcXYZgh");

        assert!(io.finish(TransferId(9)).is_err());
        io.start(transfer(4, Direction::Read, &file, &memory, 5000));
        assert_eq!(
            io.finish(TransferId(4)).unwrap_err().kind(),
            io::ErrorKind::InvalidInput
        );
    }

    #[test]
    fn blocking_moves_bytes() {
        round_trip(Box::new(BlockingIo::default()));
    }

    #[test]
    fn uring_moves_bytes_where_it_is_allowed() {
        match UringIo::new() {
            Ok(uring) => round_trip(Box::new(uring)),
            Err(error) => eprintln!("io_uring is forbidden here ({error}); nothing to test"),
        }
    }

    #[test]
    fn holes_are_found() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1 << 20).unwrap();
        std::os::unix::fs::FileExt::write_all_at(&file, b"here", 512 << 10).unwrap();
        let found = holes(&file, 0..1 << 20).unwrap();
        // The file system's blocks may be larger than what was written.
        let first = found.first().unwrap();
        assert!(
            first.start == 0 && first.end > 64 << 10 && first.end <= 512 << 10,
            "{found:?}"
        );
        let last = found.last().unwrap();
        assert!(
            found.len() == 2 && last.end == 1 << 20 && last.start > 512 << 10,
            "{found:?}"
        );
        let inside = holes(&file, 4096..8192).unwrap();
        assert_eq!(inside, std::slice::from_ref(&(4096..8192)));
        assert!(holes(&file, 512 << 10..(512 << 10) + 4).unwrap().is_empty());
        // Behind the end there is nothing.
        let behind = holes(&file, (1 << 20) - 4096..2 << 20).unwrap();
        assert_eq!(behind, std::slice::from_ref(&((1 << 20) - 4096..2 << 20)));
    }

    #[test]
    fn a_full_disk_is_an_error() {
        let memory = Arc::new(HostMemory::allocate(4096).unwrap());
        let Ok(full) = File::options().write(true).open("/dev/full") else {
            return;
        };
        let full = Arc::new(OpenFile::from(full));
        for mut io in [Box::new(BlockingIo::default()) as Box<dyn FileIo>, best()] {
            io.start(transfer(1, Direction::Write, &full, &memory, 64));
            assert_eq!(
                io.finish(TransferId(1)).unwrap_err().raw_os_error(),
                Some(libc::ENOSPC)
            );
        }
    }
}
