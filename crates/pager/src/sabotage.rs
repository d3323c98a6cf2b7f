//! Faults that tests inject, to verify that the tests detect them. Without the feature `testing` none can be injected,
//! and the queries below are constants.

/// An injected fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sabotage {
    /// Does not wait for the reports of Invalidate and Protect.
    SkipDrain,
    /// Ignores the dirty bit of reports.
    DropDirty,
    /// Frees a frame before its write-back has ended.
    ReuseEarly,
    /// Installs a page without waiting for its data.
    InstallEarly,
    /// Syncs a page that can still be written.
    SyncUnprotected,
    /// Writes whole pages, also beyond the end of the object.
    WriteTail,
    /// Treats a failed write as successful.
    TrustFailedWrite,
    /// Forgets that an answered write makes the page dirty.
    ForgetAnsweredWrite,
    /// Keeps the DMA buffer after a failed read.
    LeakBuffer,
    /// Installs into a full set without removing an entry first.
    OverfillSet,
    /// Reads a page from the object although it was zeroed and evicted dirty, or the reverse: treats a saved page as
    /// zero.
    ForgetSaved,
    /// Loses the dirty state of all joined pages but the first.
    JoinForgetsWrites,
    /// Treats a page in host memory as written to its object.
    ForgetDirect,
    /// Treats a page as complete after the first copy of its pieces that follows the last read.
    ForgetPieces,
}

/// The injected fault, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Injected {
    #[cfg(feature = "testing")]
    fault: Option<Sabotage>,
}

impl Injected {
    /// Injects a fault, or none.
    #[cfg(feature = "testing")]
    pub(crate) fn set(&mut self, fault: Option<Sabotage>) {
        self.fault = fault;
    }

    /// Whether this fault is injected.
    #[cfg(feature = "testing")]
    pub(crate) fn is(self, fault: Sabotage) -> bool {
        self.fault == Some(fault)
    }

    #[cfg(not(feature = "testing"))]
    #[allow(clippy::unused_self)]
    pub(crate) const fn is(self, _fault: Sabotage) -> bool {
        false
    }
}
