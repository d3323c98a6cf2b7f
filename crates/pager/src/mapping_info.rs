//! What is told of a mapping.

use crate::ids::ObjectId;
use units::{PageSize, VirtAddr};

/// A mapping, for answers and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MappingInfo {
    /// First address.
    pub address: VirtAddr,
    /// Bytes, whole pages.
    pub bytes: u64,
    /// Size of its pages.
    pub page_size: PageSize,
    /// What it shows.
    pub object: ObjectId,
    /// First byte of the object that it shows.
    pub offset: u64,
    /// The kernel may read.
    pub read: bool,
    /// The kernel may write.
    pub write: bool,
}
