//! Trapped memory of programs in other processes: their process changes rights, by order.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use units::HostAccess;

/// A process whose threads access shared memory, and which traps them.
pub trait OtherProgram: std::fmt::Debug + Send + Sync {
    /// Changes the rights of its threads to a range of a block. When it returns, no thread has more.
    ///
    /// # Errors
    /// The process could not, or is gone; its memory is cut off then.
    fn change(&self, block: u64, range: Range<u64>, access: HostAccess) -> io::Result<()>;

    /// Ends the traps of a block: all its bytes are the program's.
    fn release(&self, block: u64);

    /// Counts a trap that is being answered; its number.
    fn count_answer(&self) -> u64;
}

/// Traps of a block in another process.
#[derive(Debug)]
pub struct TrapsElsewhere {
    /// Process that has the memory.
    pub program: Arc<dyn OtherProgram>,
    /// Number of the block, by that process's count.
    pub block: u64,
    /// Pieces of 2 MiB change their rights in one step.
    pub pieces: bool,
}

/// A block in another process.
#[derive(Clone, Debug)]
pub struct Elsewhere {
    program: Arc<dyn OtherProgram>,
    block: u64,
}

impl Elsewhere {
    pub(super) fn new(traps: TrapsElsewhere) -> Self {
        let TrapsElsewhere { program, block, .. } = traps;
        Self { program, block }
    }

    /// Number of the block, by its process's count.
    pub fn block(&self) -> u64 {
        self.block
    }

    /// Counts a trap of that process that is being answered; its number.
    pub fn count_answer(&self) -> u64 {
        self.program.count_answer()
    }

    pub(super) fn change(&self, range: Range<u64>, access: HostAccess) -> io::Result<()> {
        self.program.change(self.block, range, access)
    }

    pub(super) fn release(&self) {
        self.program.release(self.block);
    }
}
