//! Parts of mappings, for transfers.

use crate::link::Link;
use crate::space::Mapping;
use error::{Error, StreamError};
use owner::message::{ByteRange, MappingId};

/// A part of a mapping: the memory of a transfer. Begins and ends at any byte.
#[derive(Clone, Debug)]
pub struct MappedRange {
    link: Link,
    mapping: MappingId,
    offset: u64,
    bytes: u64,
}

impl MappedRange {
    /// Some bytes of a mapping that has `mapped`.
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

    /// The same further behind in the mapping.
    pub(crate) fn shifted(mut self, by: u64) -> Self {
        self.offset += by;
        self
    }

    /// What is behind its first bytes, if anything is.
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

    /// First byte of it, in its mapping.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Mapping {
    /// All of it, for a transfer.
    pub fn all(&self) -> MappedRange {
        MappedRange {
            link: self.link().clone(),
            mapping: self.id(),
            offset: 0,
            bytes: self.bytes(),
        }
    }

    /// Some bytes of it, for a transfer.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`]: beyond its end, or none.
    pub fn slice(&self, offset: u64, bytes: u64) -> Result<MappedRange, Error> {
        MappedRange::of(
            self.link().clone(),
            self.id(),
            ByteRange { offset, bytes },
            self.bytes(),
        )
    }
}
