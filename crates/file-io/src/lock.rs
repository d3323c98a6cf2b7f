//! Write locks on ranges of files, by which processes that map the same file for writing detect each other.
//!
//! They are open file description locks (`F_OFD_SETLK`): they belong to an open file description, not to a process, so
//! the descriptor must not be shared with the program, whose own locks and closes would change them.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// Maximum attempts to get a lock that another process held and has released.
const ATTEMPTS: u32 = 100;

/// Write locks on ranges of a file. All are released on drop.
#[derive(Debug)]
pub struct RangeLock {
    file: File,
    /// Ranges that are locked through `file`.
    held: Vec<Range<u64>>,
}

/// Cause of a failed lock.
#[derive(Debug)]
pub enum NotLocked {
    /// Another process has a lock on some of it.
    Held {
        /// First byte of the other lock.
        start: u64,
        /// Length of the other lock; 0: to the end of the file.
        bytes: u64,
        /// Process of the lock, if it belongs to one.
        process: Option<u32>,
    },
    /// The file system does not support locks.
    Unsupported(io::Error),
}

impl RangeLock {
    /// For a file that is open for writing: its locks belong to a newly opened description. If that is refused (no
    /// `/proc`, or the rights to the file have been revoked) they belong to the caller's, so the program could release
    /// them, and two mappings of one descriptor do not exclude each other across a fork.
    pub fn new(file: &File) -> io::Result<Self> {
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let own = OpenOptions::new().read(true).write(true).open(path);
        let file = match own.and_then(super::off_standard_streams) {
            Ok(own) => own,
            Err(error) => {
                tracing::debug!(%error, "a lock shares the caller's description of the file");
                file.try_clone()?
            }
        };
        Ok(Self {
            file,
            held: Vec::new(),
        })
    }

    /// Locks a range. Locks that the caller already holds, through the description `callers` or as this process, stay
    /// unchanged.
    pub fn lock(&mut self, range: Range<u64>, callers: &File) -> Result<(), NotLocked> {
        let mut rest = vec![range];
        let mut vanished = 0;
        while let Some(piece) = rest.pop() {
            match set(&self.file, libc::F_WRLCK, &piece) {
                Ok(()) => self.held.push(piece),
                Err(error) if is_held(&error) => {
                    let Some(other) = holder(&self.file, &piece)? else {
                        // It was released meanwhile; or this file system uses the error differently.
                        vanished += 1;
                        if vanished == ATTEMPTS {
                            return Err(NotLocked::Unsupported(error));
                        }
                        rest.push(piece);
                        continue;
                    };
                    let is_callers = other.process == Some(std::process::id())
                        || (other.process.is_none() && holder(callers, &piece)?.is_none());
                    if !is_callers {
                        return Err(other.into());
                    }
                    let end = match other.bytes {
                        0 => u64::MAX,
                        bytes => other.start.saturating_add(bytes),
                    };
                    let sides = [piece.start..other.start, end..piece.end];
                    rest.extend(sides.into_iter().filter(|side| side.start < side.end));
                }
                Err(error) => return Err(NotLocked::Unsupported(error)),
            }
        }
        Ok(())
    }

    /// Ends the locks outside of these ranges.
    pub fn keep(&mut self, kept: &[Range<u64>]) {
        let held = std::mem::take(&mut self.held);
        for range in held {
            for gone in without(&range, kept) {
                if let Err(error) = set(&self.file, libc::F_UNLCK, &gone) {
                    tracing::warn!(%error, "a lock on a file could not be ended");
                }
            }
            let inside = kept
                .iter()
                .map(|kept| kept.start.max(range.start)..kept.end.min(range.end));
            self.held
                .extend(inside.filter(|part| part.start < part.end));
        }
    }
}

impl Drop for RangeLock {
    fn drop(&mut self) {
        // Closing is not enough: after a fork the child has the description too.
        self.keep(&[]);
    }
}

/// A conflicting lock.
struct Holder {
    start: u64,
    bytes: u64,
    process: Option<u32>,
}

impl From<Holder> for NotLocked {
    fn from(holder: Holder) -> Self {
        Self::Held {
            start: holder.start,
            bytes: holder.bytes,
            process: holder.process,
        }
    }
}

/// The parts of a range outside `others`, which are in order and disjoint.
pub fn without(range: &Range<u64>, others: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut left = Vec::new();
    let mut start = range.start;
    for other in others {
        left.push(start..other.start.min(range.end));
        start = start.max(other.end);
    }
    left.push(start..range.end);
    left.retain(|part| part.start < part.end);
    left
}

fn is_held(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EACCES))
}

fn describe(kind: libc::c_int, range: &Range<u64>) -> io::Result<libc::flock> {
    let place =
        |byte: u64| i64::try_from(byte).map_err(|_| io::Error::from(io::ErrorKind::InvalidInput));
    // SAFETY: a plain record of integers, for which zeroes are values.
    let mut record: libc::flock = unsafe { std::mem::zeroed() };
    record.l_type = kind as libc::c_short;
    record.l_whence = libc::SEEK_SET as libc::c_short;
    record.l_start = place(range.start)?;
    record.l_len = place(range.end - range.start)?;
    Ok(record)
}

fn control(file: &File, command: libc::c_int, record: &mut libc::flock) -> io::Result<()> {
    loop {
        // SAFETY: the descriptor is open while `file` is borrowed, and the record is ours for the length of the call.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, std::ptr::from_mut(record)) };
        match done {
            -1 => match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => {}
                error => return Err(error),
            },
            _ => return Ok(()),
        }
    }
}

fn set(file: &File, kind: libc::c_int, range: &Range<u64>) -> io::Result<()> {
    control(file, libc::F_OFD_SETLK, &mut describe(kind, range)?)
}

/// The first lock in a range that conflicts with a write lock of this description.
fn holder(file: &File, range: &Range<u64>) -> Result<Option<Holder>, NotLocked> {
    let asked = describe(libc::F_WRLCK, range)
        .and_then(|mut record| control(file, libc::F_OFD_GETLK, &mut record).map(|()| record));
    let record = asked.map_err(NotLocked::Unsupported)?;
    if record.l_type == libc::F_UNLCK as libc::c_short {
        return Ok(None);
    }
    Ok(Some(Holder {
        start: u64::try_from(record.l_start).unwrap_or_default(),
        bytes: u64::try_from(record.l_len).unwrap_or_default(),
        process: u32::try_from(record.l_pid).ok().filter(|&id| id > 0),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(1000).unwrap();
        file
    }

    /// Another description of the same file.
    fn other(file: &File) -> RangeLock {
        RangeLock::new(file).unwrap()
    }

    fn is_free(file: &File, range: Range<u64>) -> bool {
        other(file).lock(range, &file.try_clone().unwrap()).is_ok()
    }

    #[test]
    fn ranges_exclude_each_other_and_end_with_what_is_not_kept() {
        let file = file();
        let mut first = other(&file);
        first.lock(100..300, &file).unwrap();
        let held = other(&file).lock(299..400, &file).unwrap_err();
        assert!(
            matches!(
                held,
                NotLocked::Held {
                    start: 100,
                    bytes: 200,
                    process: None
                }
            ),
            "{held:?}"
        );
        // Ranges that abut are apart.
        assert!(is_free(&file, 0..100) && is_free(&file, 300..1000));
        first.keep(&[100..150, 250..300]);
        assert!(is_free(&file, 150..250) && !is_free(&file, 149..150) && !is_free(&file, 250..251));
        first.lock(100..300, &file).unwrap();
        assert!(!is_free(&file, 200..201));
        drop(first);
        assert!(is_free(&file, 0..1000));
    }

    #[test]
    fn what_the_caller_has_locked_is_no_obstacle_and_stays() {
        let file = file();
        set(&file, libc::F_WRLCK, &(200..300)).unwrap();
        let mut lock = other(&file);
        lock.lock(100..400, &file).unwrap();
        assert_eq!(lock.held.len(), 2, "{:?}", lock.held);
        drop(lock);
        let stranger = File::options()
            .read(true)
            .write(true)
            .open(format!("/proc/self/fd/{}", file.as_raw_fd()))
            .unwrap();
        assert!(holder(&stranger, &(200..300)).unwrap().is_some());
        assert!(holder(&stranger, &(100..200)).unwrap().is_none());
    }

    #[test]
    fn a_range_is_cut_by_others() {
        let (range, around) = (10..20, 5..25);
        assert_eq!(without(&range, &[]), std::slice::from_ref(&range));
        assert_eq!(
            without(&(10..20), &[0..10, 12..13, 15..15, 19..30]),
            [10..12, 13..15, 15..19]
        );
        assert!(without(&range, &[around]).is_empty());
    }
}
