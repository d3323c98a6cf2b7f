//! Description of a mapping, for replies and messages.

use crate::ids::ObjectId;
use units::{PageSize, VirtAddr};

/// A mapping, for replies and messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MappingInfo {
    /// Virtual address of the first byte.
    pub address: VirtAddr,
    /// Size in bytes, whole pages.
    pub bytes: u64,
    /// Size of its pages, in every mapping of the object.
    pub page_size: PageSize,
    /// Object that is mapped.
    pub object: ObjectId,
    /// Offset of the first mapped byte in the object, in bytes.
    pub offset: u64,
    /// Whether kernels may read.
    pub read: bool,
    /// Whether kernels may write.
    pub write: bool,
}
