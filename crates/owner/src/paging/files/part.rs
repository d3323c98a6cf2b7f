//! The end of a part of a mapping: the parts left on either side become mappings of their own.

use super::{Files, Mapped};
use crate::handles::MappedRange;
use crate::message::ByteRange;
use error::Error;
use pager::PagerError;
use std::ops::Range;
use units::VirtAddr;

impl Files {
    /// The pages of a part of a mapping.
    pub(crate) fn part_of(&self, range: MappedRange, part: ByteRange) -> Result<Range<u64>, Error> {
        let ByteRange { offset, bytes } = part;
        let (first, end) = (range.address.get(), range.address.get() + range.bytes);
        let to = offset.checked_add(bytes).map(|to| first.saturating_add(to));
        let Some(to) = to.filter(|to| bytes > 0 && *to <= end) else {
            return Err(Error::Pager(PagerError::NotMapped {
                asid: range.asid,
                address: VirtAddr::truncated(first.saturating_add(offset)),
                bytes,
            }));
        };
        let from = first + offset;
        let Some(mapped) = self.at(range) else {
            return Err(Error::Internal("a mapping of no file".into()));
        };
        let Some(object) = self.objects.get(&mapped.view) else {
            return Err(Error::Internal("a mapping of no object".into()));
        };
        let refuse = |rule: String| Error::Unmappable {
            path: (&mapped.label).into(),
            rule,
        };
        if self.stand_ins.contains_key(&mapped.view.identity) {
            let rule = "only a file is unmapped in parts; unmap all of what is mapped of it";
            return Err(refuse(rule.to_owned()));
        }
        let page = object.page_size.bytes();
        if from != first && from % page != 0 {
            return Err(refuse(format!(
                "a part that is unmapped begins at a page; 0x{from:x} is in the middle of one of {}",
                object.page_size
            )));
        }
        // The first and last bytes of the mapping lie inside pages that are removed with them.
        let from = match from == first {
            true => mapped.address.get(),
            false => from,
        };
        let to = match to == end {
            true => mapped.end(),
            false => to.next_multiple_of(page).min(mapped.end()),
        };
        Ok(from..to)
    }

    /// Removes pages from a mapping; returns the parts that are left.
    pub(crate) fn cut(&mut self, range: MappedRange, gone: &Range<u64>) -> Vec<MappedRange> {
        let Some(place) = self.place_of(range) else {
            return Vec::new();
        };
        let mapped = &self.mappings[place];
        let (start, last) = (mapped.address.get(), mapped.end());
        let sides = [start..gone.start, gone.end..last];
        let sides: Vec<Range<u64>> = sides.into_iter().filter(|side| !side.is_empty()).collect();
        if sides.is_empty() {
            return Vec::new();
        }
        let Mapped {
            space,
            view,
            writable,
            first,
            label,
            ..
        } = self.mappings.remove(place);
        let pieces = sides.iter().map(|side| Mapped {
            space,
            address: VirtAddr::truncated(side.start),
            bytes: side.end - side.start,
            view,
            writable,
            first: first + (side.start - start),
            label: label.clone(),
        });
        self.mappings.extend(pieces);
        if let Some(object) = self.objects.get_mut(&view) {
            object.mappings += sides.len() as u32 - 1;
        }
        // The first and the last byte are not page-aligned.
        let (from, end) = (range.address.get(), range.address.get() + range.bytes);
        let left = |side: &Range<u64>| MappedRange {
            address: VirtAddr::truncated(side.start.max(from)),
            bytes: side.end.min(end) - side.start.max(from),
            ..range
        };
        sides.iter().map(left).collect()
    }
}

impl super::Files {
    fn place_of(&self, range: MappedRange) -> Option<usize> {
        let mut all = self.mappings.iter();
        all.position(|m| m.holds(range.asid, range.address))
    }

    pub(super) fn at(&self, range: MappedRange) -> Option<&Mapped> {
        self.place_of(range).map(|place| &self.mappings[place])
    }
}
