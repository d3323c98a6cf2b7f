//! The bytes of a memory channel. A room of `unsafe`: the system allocates the memory page by page.

use super::model::{Pin, Row};
use std::io;
use std::ptr::NonNull;

/// Zeroed memory of one channel, of the channel's size; only touched pages occupy memory.
#[derive(Debug)]
pub(crate) struct Store {
    start: NonNull<u8>,
    bytes: u64,
}

impl Store {
    pub(crate) fn new(bytes: u64) -> io::Result<Self> {
        let length = usize::try_from(bytes).map_err(|_| {
            io::Error::new(io::ErrorKind::InvalidInput, "more than the address space")
        })?;
        // SAFETY: a new anonymous mapping; no existing memory is touched.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        match NonNull::new(start.cast()) {
            Some(start) => Ok(Self { start, bytes }),
            None => Err(io::Error::other("mmap gave address zero")),
        }
    }

    /// Whether `rows` rows from `offset` exist.
    pub(crate) fn holds(&self, offset: u64, rows: u64) -> bool {
        offset % 64 == 0
            && offset
                .checked_add(rows * 64)
                .is_some_and(|end| end <= self.bytes)
    }

    /// Drives a row onto a pin.
    #[inline]
    pub(crate) fn read_row(&self, offset: u64, to: &Pin<Row>) {
        assert!(self.holds(offset, 1));
        // SAFETY: the row lies inside the mapping (checked); nothing else writes it, because the
        // store is private to its channel.
        let row = unsafe {
            self.start
                .as_ptr()
                .add(offset as usize)
                .cast::<Row>()
                .read()
        };
        to.set(row);
    }

    /// Writes bytes, bypassing the timing. Returns false if the range does not exist.
    pub(crate) fn put(&mut self, offset: u64, bytes: &[u8]) -> bool {
        let end = offset.checked_add(bytes.len() as u64);
        if end.is_none_or(|end| end > self.bytes) {
            return false;
        }
        // SAFETY: inside the mapping (checked), which `&mut self` owns; `bytes` is none of it.
        unsafe {
            let to = self.start.as_ptr().add(offset as usize);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
        }
        true
    }

    /// Stores a row from a pin; bit k of `strobe`: byte k is written.
    #[inline]
    pub(crate) fn write_row(&mut self, offset: u64, from: &Pin<Row>, strobe: u64) {
        assert!(self.holds(offset, 1));
        let row = from.get();
        // SAFETY: as in `read_row`, and `&mut self` excludes readers.
        let to = unsafe { &mut *self.start.as_ptr().add(offset as usize).cast::<Row>() };
        merge(to, &row, strobe);
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `new` with this size, and nothing borrows it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.bytes as usize) };
    }
}

// SAFETY: the memory is owned, and reached only through this value.
unsafe impl Send for Store {}

/// Writes the bytes of a row whose strobes are set.
#[inline]
pub(crate) fn merge(to: &mut Row, from: &Row, strobe: u64) {
    if strobe == u64::MAX {
        *to = *from;
        return;
    }
    for (index, (to, from)) in to.iter_mut().zip(from).enumerate() {
        if strobe >> index & 1 != 0 {
            *to = *from;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_channel_costs_what_is_touched() {
        let store = Store::new(16 << 30).unwrap();
        assert!(store.holds((16 << 30) - 64, 1));
        assert!(!store.holds((16 << 30) - 64, 2));
        assert!(!store.holds(32, 1));
        assert!(!store.holds(u64::MAX - 63, 1));
    }

    #[test]
    fn strobes_choose_bytes() {
        let mut row = [0; 64];
        merge(&mut row, &[7; 64], 1 | 1 << 63);
        assert_eq!((row[0], row[1], row[62], row[63]), (7, 0, 0, 7));
        merge(&mut row, &[9; 64], u64::MAX);
        assert_eq!(row, [9; 64]);
    }
}
