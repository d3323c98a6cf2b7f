//! A core's write buffer: stores complete for the core before their lines have arrived.

use super::under_way::UnderWay;
use super::CoherentMemory;
use error::Error;
use units::access::LINE_BYTES;

/// Size in bytes, per core (CCKit, section 5.2: 3 KiB).
const BYTES: usize = 3072;

/// A core's stores and flushes on their way. They begin in order, and those to one line complete in order; the core
/// does not wait while the buffer has room. A store to a buffered line merges into its entry and takes no room (up to
/// 128 stores; a flush of the line ends the merging). Loads of the same lines, by any core, are ordered after the
/// stores that began before them.
///
/// A failure is returned by a later store or by [`fence`](Self::fence). If the buffer is dropped, its entries complete
/// and failures are discarded.
#[derive(Debug)]
pub struct WriteBuffer {
    memory: CoherentMemory,
    under_way: UnderWay,
}

impl WriteBuffer {
    /// Capacity in lines.
    pub const LINES: usize = BYTES / LINE_BYTES;

    pub(super) fn new(memory: CoherentMemory) -> Self {
        let under_way = UnderWay::new(Self::LINES);
        Self { memory, under_way }
    }

    /// Stores bytes at `offset`, within one line. Waits for the oldest entry if the buffer is full.
    ///
    /// # Errors
    /// As [`CoherentMemory::store`], for this store or an earlier one.
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

    /// Flushes the line at `offset`, after the stores to it: see [`CoherentMemory::flush`].
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

    /// Waits until all stores are in their lines, visible to every core, and all flushes are on their way.
    ///
    /// # Errors
    /// The error of the first store that failed; the others have completed, too.
    pub fn fence(&mut self) -> Result<(), Error> {
        self.under_way.wait()
    }
}
