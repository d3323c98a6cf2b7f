//! Mistakes that tests plant, to see that the tests notice them. Without the feature `testing`
//! none can be planted, and the questions below are constants.

/// A mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Does not wait for the reports of Invalidate and Protect.
    SkipDrain,
    /// Ignores the dirty bit of reports.
    DropDirty,
    /// Gives a frame back before its write-back has ended.
    ReuseEarly,
    /// Installs a page without waiting for its data.
    InstallEarly,
    /// Syncs a page that can still be written.
    SyncUnprotected,
    /// Writes whole pages, also beyond the end of the object.
    WriteTail,
    /// Takes a failed write for a good one.
    TrustFailedWrite,
    /// Forgets that an answered write makes the page dirty.
    ForgetAnsweredWrite,
    /// Keeps the DMA buffer after a failed read.
    LeakBuffer,
    /// Installs into a full set without removing an entry first.
    OverfillSet,
    /// Reads a page from the object although it was zeroed and evicted dirty, or the reverse: takes a
    /// saved page for zero.
    ForgetSaved,
    /// Pages that become one forget what was written to all but the first.
    JoinForgetsWrites,
    /// Takes a page that stays in host memory for written to its object.
    ForgetDirect,
    /// Takes a page for complete when the first copy of its pieces after the last read has answered.
    ForgetPieces,
}
