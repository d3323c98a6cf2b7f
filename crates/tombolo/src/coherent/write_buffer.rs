//! A core's write buffer: stores that end for the core before their lines have come.

use super::under_way::UnderWay;
use super::CoherentMemory;
use error::Error;
use units::access::LINE_BYTES;

/// Of a core, in bytes (CCKit, section 5.2: 3 KiB).
const BYTES: usize = 3072;

/// A core's stores and flushes on their way. They begin in order, and those to one line end in order; the core goes
/// on at once while the buffer has room. A store to a line that waits in the buffer merges with what is there, and
/// takes no room (up to 128 stores; a flush of the line ends that). Loads of the same lines, by whatever core, come
/// after the stores that began before them.
///
/// What went wrong is told by a later store, or by [`fence`](Self::fence); dropped, the buffer empties itself, and
/// nobody learns of it.
#[derive(Debug)]
pub struct WriteBuffer {
    memory: CoherentMemory,
    under_way: UnderWay,
}

impl WriteBuffer {
    /// Lines that it holds.
    pub const LINES: usize = BYTES / LINE_BYTES;

    pub(super) fn new(memory: CoherentMemory) -> Self {
        let under_way = UnderWay::new(Self::LINES);
        Self { memory, under_way }
    }

    /// Stores bytes at `offset`, in one line. Waits for the oldest line if the buffer is full.
    ///
    /// # Errors
    /// As [`CoherentMemory::store`], of this store or of an earlier one.
    pub fn store(&mut self, offset: u64, bytes: &[u8]) -> Result<(), Error> {
        self.memory.check_store(offset, bytes)?;
        let line = offset - offset % LINE_BYTES as u64;
        if self.under_way.merges(line) {
            let store = self.memory.begin_store(offset, bytes)?;
            self.under_way.merge(line, store);
            return Ok(());
        }
        self.under_way.make_room()?;
        let store = self.memory.begin_store(offset, bytes)?;
        self.under_way.push_store(line, store);
        Ok(())
    }

    /// Gives the line at `offset` up after the stores to it: see [`CoherentMemory::flush`].
    ///
    /// # Errors
    /// As [`store`](Self::store).
    pub fn flush(&mut self, offset: u64) -> Result<(), Error> {
        self.memory.check_line(offset)?;
        self.under_way.make_room()?;
        let flush = self.memory.begin_flush(offset)?;
        self.under_way.push(offset, flush);
        Ok(())
    }

    /// Waits until all that was stored is in its lines, so that every core sees it, and what was flushed is on its way.
    ///
    /// # Errors
    /// Of the first store that failed; the others have ended, too.
    pub fn fence(&mut self) -> Result<(), Error> {
        self.under_way.wait()
    }
}
