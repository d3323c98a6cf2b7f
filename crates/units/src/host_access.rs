//! Access rights of host programs to memory that they share with the card.

/// Access rights of host programs to a page of shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HostAccess {
    /// None: the card owns the page. Any access is trapped.
    None,
    /// Read-only: the card has a copy that it may read. Writes are trapped.
    Read,
    /// All: the card has no copy.
    ReadWrite,
}
