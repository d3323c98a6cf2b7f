//! All address spaces: their creation and end, and the division of channels among isolated ones.

use crate::action::Action;
use crate::error::PagerError;
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::issue::Issued;
use crate::keep::Keep;
use crate::object::Object;
use crate::placement::groups;
use crate::space::{Mapping, Phase, Space};
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, PageSize, SpacePlacement, VirtAddr};

/// A part of a mapping.
pub(crate) struct MappedPart {
    /// First address of the part.
    pub(crate) address: VirtAddr,
    pub(crate) object: ObjectId,
    /// Pages of the object, in its smallest page size.
    pub(crate) indices: Range<u64>,
}

/// The address spaces.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct Spaces {
    spaces: BTreeMap<Asid, Space>,
    /// Spaces whose table is being zeroed, with the request that waits for each.
    creating: BTreeMap<Asid, RequestId>,
    /// Whether any advice on reuse was given.
    advised: bool,
    /// Whether an isolated space was given other channels.
    regrouped: bool,
}

impl Spaces {
    pub(crate) fn space(&self, asid: Asid) -> Option<&Space> {
        self.spaces.get(&asid)
    }

    pub(crate) fn space_mut(&mut self, asid: Asid) -> Option<&mut Space> {
        self.spaces.get_mut(&asid)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (Asid, &Space)> {
        self.spaces.iter().map(|(&asid, space)| (asid, space))
    }

    /// A space that requests may refer to.
    pub(crate) fn ready(&mut self, asid: Asid) -> Result<&mut Space, PagerError> {
        match self.spaces.get_mut(&asid) {
            None => Err(PagerError::NoSuchSpace { asid }),
            Some(space) if space.phase != Phase::Ready => Err(PagerError::SpaceBusy { asid }),
            Some(space) => Ok(space),
        }
    }

    /// Adds a space, for a request that waits until its table is zeroed. `channels`: number of all.
    pub(crate) fn create(&mut self, asid: Asid, request: RequestId, space: Space, channels: usize) {
        self.spaces.insert(asid, space);
        self.creating.insert(asid, request);
        self.regroup(channels);
    }

    /// The table of a space is zeroed: the request that waited for it.
    pub(crate) fn created(&mut self, asid: Asid) -> Option<RequestId> {
        self.creating.remove(&asid)
    }

    /// Whether no space is being created.
    pub(crate) fn is_idle(&self) -> bool {
        self.creating.is_empty()
    }

    pub(crate) fn remove(&mut self, asid: Asid, channels: usize) -> Option<Space> {
        let space = self.spaces.remove(&asid)?;
        self.regroup(channels);
        Some(space)
    }

    /// Channels for a new space, of those for its placement.
    pub(crate) fn channels_for(
        &self,
        asid: Asid,
        placement: SpacePlacement,
        all: Range<usize>,
    ) -> Range<usize> {
        if placement != SpacePlacement::Isolated {
            return all;
        }
        let mut isolated = self.isolated();
        isolated.push(asid);
        isolated.sort_unstable();
        let place = isolated.iter().position(|&other| other == asid);
        let mut groups = groups(isolated.len(), all.len());
        groups.swap_remove(place.unwrap_or(0))
    }

    /// Isolated spaces, in the order of their numbers.
    fn isolated(&self) -> Vec<Asid> {
        let isolated = |space: &Space| space.placement == SpacePlacement::Isolated;
        let all = self.iter().filter(|(_, space)| isolated(space));
        all.map(|(asid, _)| asid).collect()
    }

    /// Divides the channels again after an isolated space was added or removed: each has its share. Pages on channels
    /// that a space lost stay until room is needed, and are then evicted first; their space fetches them again to its
    /// own channels.
    fn regroup(&mut self, channels: usize) {
        let isolated = self.isolated();
        for (asid, group) in isolated.iter().zip(groups(isolated.len(), channels)) {
            if let Some(space) = self.spaces.get_mut(asid) {
                self.regrouped |= space.channels != group;
                space.channels = group;
            }
        }
    }

    /// Whether an isolated space was given other channels.
    pub(crate) const fn is_regrouped(&self) -> bool {
        self.regrouped
    }

    /// Bytes left below the limit of a space.
    pub(crate) fn slack(&self, asid: Asid) -> u64 {
        self.space(asid).map_or(u64::MAX, |space| {
            space.limit.unwrap_or(u64::MAX) - space.charged
        })
    }

    /// Share of the space that requested a page.
    pub(crate) fn share_of(&self, charged: Option<Asid>) -> u64 {
        let space = charged.and_then(|asid| self.space(asid));
        space.map_or(0, |space| space.share)
    }

    /// Bytes that a space maps.
    pub(crate) fn mapped_bytes(&self, asid: Asid) -> u64 {
        let mappings = self.space(asid).map(|space| space.mappings.values());
        mappings.into_iter().flatten().map(Mapping::bytes).sum()
    }

    /// A space that maps an object.
    pub(crate) fn mapping_of(&self, object: ObjectId) -> Option<&Space> {
        self.spaces.values().find(|space| {
            let mut mappings = space.mappings.values();
            mappings.any(|mapping| mapping.object == object)
        })
    }

    /// Has the shell look up pages of a size in a space, before one is installed.
    pub(crate) fn use_page_size(&mut self, issued: &mut Issued, asid: Asid, size: PageSize) {
        let Some(space) = self.space_mut(asid) else {
            return;
        };
        if !space.page_sizes.contains(size) {
            space.page_sizes = space.page_sizes.with(size);
            issued.push(Action::UsePageSizes {
                asid,
                size_classes: space.page_sizes.bits(),
            });
        }
    }

    /// Checks a range of addresses that must contain a mapping.
    pub(crate) fn checked_range(
        &mut self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<Range<u64>, PagerError> {
        if bytes == 0 {
            return Err(PagerError::EmptyRange { address });
        }
        let end = address
            .get()
            .checked_add(bytes)
            .filter(|end| (end - 1) >> VirtAddr::BITS == 0)
            .ok_or(PagerError::RangeTooHigh { address, bytes })?;
        let range = address.get()..end;
        if self.ready(asid)?.overlap(&range).is_none() {
            return Err(PagerError::NotMapped {
                asid,
                address,
                bytes,
            });
        }
        Ok(range)
    }

    /// Mapped parts of a range.
    pub(crate) fn mapped_in(&self, asid: Asid, range: Range<u64>) -> Vec<MappedPart> {
        let Some(space) = self.space(asid) else {
            return Vec::new();
        };
        let show = |(start, mapping, part): (VirtAddr, Mapping, Range<u64>)| {
            let bits = mapping.unit.bits();
            let index = |at: u64| mapping.object_pages().start + ((at - start.get()) >> bits);
            MappedPart {
                address: VirtAddr::truncated(part.start),
                object: mapping.object,
                indices: index(part.start)..index(part.end),
            }
        };
        space.mapped_in(&range).into_iter().map(show).collect()
    }

    /// Advice on reuse was given: pages are retained by it from now on.
    pub(crate) fn note_advice(&mut self, reuse: bool) {
        self.advised |= reuse;
    }

    /// Whether any advice on reuse was given.
    pub(crate) const fn is_advised(&self) -> bool {
        self.advised
    }

    /// Retention advice of a page of an object; if several mappings share it, the most retentive advice wins.
    pub(crate) fn keep_of(&self, object: Option<&Object>, key: ObjectPage) -> Keep {
        if !self.advised {
            return Keep::default();
        }
        let places = object.map(|object| object.users_of(key.index));
        let advised = places.into_iter().flatten().filter_map(|(asid, address)| {
            let mapping = self.space(asid)?.mappings.get(&address)?;
            Some(Keep::of(mapping.advice.reuse))
        });
        advised.max().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::TableImage;
    use std::collections::BTreeSet;
    use units::{CardAddr, FrameNumber, PageSizes, TableGeometry};

    fn space(channels: Range<usize>) -> Space {
        let geometry = TableGeometry::new(CardAddr::default(), 10).unwrap();
        Space {
            phase: Phase::Creating,
            share: 0,
            table: TableImage::new(geometry),
            table_frame: FrameNumber::default(),
            old_table: None,
            mappings: BTreeMap::new(),
            limit: None,
            placement: SpacePlacement::Isolated,
            channels,
            charged: 0,
            page_sizes: PageSizes::only(PageSize::KIB_4),
            unmaps: BTreeSet::new(),
        }
    }

    #[test]
    fn isolated_spaces_divide_the_channels_whenever_one_comes_or_goes() {
        let (one, two) = (Asid::new(1).unwrap(), Asid::new(2).unwrap());
        let mut spaces = Spaces::default();
        for asid in [one, two] {
            let channels = spaces.channels_for(asid, SpacePlacement::Isolated, 0..4);
            spaces.create(asid, RequestId(7), space(channels), 4);
        }
        let channels =
            |spaces: &Spaces, asid| spaces.space(asid).map(|space| space.channels.clone());
        assert_eq!(channels(&spaces, one), Some(0..2));
        assert_eq!(channels(&spaces, two), Some(2..4));
        assert!(spaces.is_regrouped() && !spaces.is_idle());
        assert!(matches!(
            spaces.ready(one),
            Err(PagerError::SpaceBusy { .. })
        ));
        assert_eq!(spaces.created(one), Some(RequestId(7)));
        assert!(spaces.remove(one, 4).is_some() && spaces.remove(one, 4).is_none());
        assert_eq!(channels(&spaces, two), Some(0..4));
    }
}
