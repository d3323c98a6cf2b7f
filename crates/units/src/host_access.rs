//! What programs of the host may do with memory that they share with the card.

/// What programs of the host may do with a page of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostAccess {
    /// Nothing: the card owns the page. Any access is trapped.
    None,
    /// Read: the card has a copy that it may read. Writes are trapped.
    Read,
    /// Everything: the card has no copy.
    ReadWrite,
}
