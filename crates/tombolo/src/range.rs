//! Ranges of mappings, for transfers.

use crate::link::Link;
use crate::space::Mapping;
use error::{Error, StreamError};
use owner::message::{ByteRange, MappingId};

/// A range of a mapping: the memory of a transfer. Any byte alignment.
#[derive(Clone, Debug)]
pub struct MappedRange {
    link: Link,
    mapping: MappingId,
    offset: u64,
    bytes: u64,
}

impl MappedRange {
    /// A range of a mapping whose length is `mapped`.
    pub(crate) fn of(
        link: Link,
        mapping: MappingId,
        ByteRange { offset, bytes }: ByteRange,
        mapped: u64,
    ) -> Result<Self, Error> {
        if bytes > 0 && offset.checked_add(bytes).is_some_and(|end| end <= mapped) {
            return Ok(Self {
                link,
                mapping,
                offset,
                bytes,
            });
        }
        Err(Error::Stream(StreamError::OutOfMapping {
            bytes,
            offset,
            mapped,
        }))
    }

    /// The same range, `by` bytes further into the mapping.
    pub(crate) fn shifted(mut self, by: u64) -> Self {
        self.offset += by;
        self
    }

    /// The rest of the range after its first `bytes`, if any.
    pub(crate) fn behind(mut self, bytes: u64) -> Option<Self> {
        self.offset += bytes;
        self.bytes = self.bytes.saturating_sub(bytes);
        (self.bytes > 0).then_some(self)
    }

    pub(crate) fn is_of(&self, link: &Link) -> bool {
        self.link.is(link)
    }

    pub(crate) fn mapping(&self) -> MappingId {
        self.mapping
    }

    /// Offset of the first byte in the mapping.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Length in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Mapping {
    /// The whole mapping, as the memory of a transfer.
    pub fn all(&self) -> MappedRange {
        MappedRange {
            link: self.link().clone(),
            mapping: self.id(),
            offset: 0,
            bytes: self.bytes(),
        }
    }

    /// A range of the mapping, as the memory of a transfer.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`]: the range is empty or exceeds the mapping.
    pub fn slice(&self, offset: u64, bytes: u64) -> Result<MappedRange, Error> {
        MappedRange::of(
            self.link().clone(),
            self.id(),
            ByteRange { offset, bytes },
            self.bytes(),
        )
    }
}
