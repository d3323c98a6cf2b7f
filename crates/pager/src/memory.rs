//! Card memory: free frames, the owner of each used one, and the blocks of page tables.

use crate::config::ChannelMemory;
use crate::frame::{FrameMemory, Within};
use crate::ids::ObjectPage;
use crate::page::Page;
use crate::spaces::Spaces;
use std::collections::BTreeMap;
use std::ops::Range;
use units::{Asid, FrameNumber, PageSize, SpacePlacement, Stripe, TableGeometry};

/// Owner of each frame that is not striped.
pub(crate) type Owners = BTreeMap<FrameNumber, ObjectPage>;

/// All card memory.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Memory {
    frames: FrameMemory,
    owners: Owners,
    /// Frames of each size, by class, when nothing is in use.
    totals: Vec<u64>,
}

impl Memory {
    pub(crate) fn new(channels: &[ChannelMemory], channel_bytes_log2: u8) -> Self {
        let frames = FrameMemory::new(channels, channel_bytes_log2);
        Self {
            totals: (0..=PageSize::GIB_1.class())
                .map(|class| frames.count(class))
                .collect(),
            owners: BTreeMap::new(),
            frames,
        }
    }

    /// Free memory.
    pub(crate) const fn frames(&self) -> &FrameMemory {
        &self.frames
    }

    pub(crate) const fn owners(&self) -> &Owners {
        &self.owners
    }

    /// Number of free frames of a size.
    pub(crate) fn free(&self, size: PageSize) -> u64 {
        self.frames.count(size.class())
    }

    /// Number of frames of a size when nothing is in use.
    pub(crate) fn total(&self, size: PageSize) -> u64 {
        self.totals[usize::from(size.class())]
    }

    /// All channels.
    pub(crate) fn channels(&self) -> Range<usize> {
        self.frames.channels_of(SpacePlacement::Anywhere)
    }

    /// Number of frames of a size that a space can have at once.
    pub(crate) fn total_for(&self, spaces: &Spaces, asid: Asid, size: PageSize) -> u64 {
        let Some(space) = spaces.space(asid) else {
            return 0;
        };
        let channels = space.channels.len() as u64;
        let all = self.channels().len() as u64;
        let frames = self.total(size) * channels / all.max(1);
        frames.min(space.limit.map_or(u64::MAX, |limit| limit >> size.bits()))
    }

    /// Takes a frame of a channel.
    pub(crate) fn allocate(&mut self, channel: usize, size: PageSize) -> Option<FrameNumber> {
        self.frames.allocate(channel, size.class())
    }

    /// Takes a frame in a larger free block of a channel.
    pub(crate) fn allocate_within(
        &mut self,
        channel: usize,
        size: PageSize,
        within: Within,
    ) -> Option<FrameNumber> {
        self.frames.allocate_within(channel, size.class(), within)
    }

    /// Takes a frame that is striped over the group of channels from `first` on.
    pub(crate) fn allocate_striped(
        &mut self,
        first: usize,
        stripe: Stripe,
        size: PageSize,
    ) -> Option<FrameNumber> {
        self.frames.allocate_striped(first, stripe, size.class())
    }

    /// Takes this frame if all of it is free.
    pub(crate) fn take(&mut self, frame: FrameNumber, size: PageSize) -> bool {
        self.frames.take(frame, size.class())
    }

    /// Gives a page its frame; it counts against the limit of the space that requested it.
    pub(crate) fn give(
        &mut self,
        spaces: &mut Spaces,
        key: ObjectPage,
        page: &mut Page,
        frame: FrameNumber,
    ) {
        page.place.frame = Some(frame);
        page.place.charged = page.waiters.first().map(|waiter| waiter.asid);
        let space = page.place.charged.and_then(|asid| spaces.space_mut(asid));
        page.place.stripe = Stripe::NONE;
        if let Some(space) = space {
            page.place.stripe = space.placement.stripe();
            space.charged += page.size.bytes();
        }
        if page.place.stripe == Stripe::NONE {
            self.owners.insert(frame, key);
        }
    }

    /// Frees the frame of a page, and forgets its place in host memory.
    pub(crate) fn take_back(&mut self, spaces: &mut Spaces, page: &mut Page) {
        page.place.direct = None;
        page.place.requested = None;
        let charged = page.place.charged.take();
        if let Some(space) = charged.and_then(|asid| spaces.space_mut(asid)) {
            space.charged -= page.size.bytes();
        }
        if let Some(frame) = page.place.frame.take() {
            if page.place.stripe == Stripe::NONE {
                self.owners.remove(&frame);
            }
            let class = page.size.class();
            self.frames.release(frame, class, page.place.stripe);
        }
    }

    /// The frame has become a part of a larger one.
    pub(crate) fn merge(&mut self, frame: FrameNumber) {
        self.owners.remove(&frame);
    }

    /// Order of the block that holds a page table.
    pub(crate) const fn table_order(sets_log2: u8) -> u8 {
        sets_log2.saturating_sub(6)
    }

    /// Allocates a table on the space's own channels if they have room, so that isolated spaces do not contend for
    /// them.
    pub(crate) fn allocate_table(
        &mut self,
        channels: Range<usize>,
        sets_log2: u8,
    ) -> Option<(TableGeometry, FrameNumber)> {
        let order = Self::table_order(sets_log2);
        let available = self.frames.available(order);
        let channel = channels
            .chain(0..available.len())
            .find(|&channel| available[channel])?;
        let frame = self.frames.allocate(channel, order)?;
        let geometry = TableGeometry::new(frame.card_address(), sets_log2)?;
        Some((geometry, frame))
    }

    pub(crate) fn release_table(&mut self, frame: FrameNumber, sets_log2: u8) {
        let order = Self::table_order(sets_log2);
        self.frames.release(frame, order, Stripe::NONE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::RequestId;
    use crate::page::{Waiter, Wish};
    use crate::queue::Urgency;
    use crate::space::{Phase, Space};
    use crate::table::TableImage;
    use std::collections::BTreeSet;
    use units::{CardAddr, PageSizes, VirtAddr};

    #[test]
    fn a_frame_counts_against_the_space_that_asked_first_until_it_is_taken_back() {
        let size = PageSize::KIB_4;
        let base = |channel: u64| CardAddr::new(channel << 20).unwrap();
        let channel = |channel| ChannelMemory {
            base: base(channel),
            bytes: 1 << 20,
        };
        let mut memory = Memory::new(&[channel(0), channel(1)], 20);
        let all = memory.free(size);
        let (geometry, table_frame) = memory.allocate_table(1..2, 10).unwrap();
        assert_eq!(memory.frames().channel_of(table_frame), 1);
        let asid = Asid::new(3).unwrap();
        let space = Space {
            phase: Phase::Ready,
            share: 0,
            table: TableImage::new(geometry),
            table_frame,
            old_table: None,
            mappings: BTreeMap::new(),
            limit: Some(5 << 12),
            placement: SpacePlacement::Anywhere,
            channels: 1..2,
            charged: 0,
            page_sizes: PageSizes::only(size),
            unmaps: BTreeSet::new(),
        };
        let mut spaces = Spaces::default();
        spaces.create(asid, RequestId(1), space, 2);
        assert_eq!(memory.total_for(&spaces, asid, size), 5, "its limit");
        let waiter = Waiter {
            asid,
            address: VirtAddr::default(),
            wish: Wish::Load,
        };
        let mut page = Page::wanted_by(waiter, Urgency::Head, size);
        let (key, frame) = (ObjectPage::default(), memory.allocate(1, size).unwrap());
        memory.give(&mut spaces, key, &mut page, frame);
        assert_eq!(spaces.slack(asid), 4 << 12);
        assert_eq!(memory.owners().get(&frame), Some(&key));
        assert!(!memory.take(frame, size) && page.has_place());
        memory.take_back(&mut spaces, &mut page);
        memory.release_table(table_frame, 10);
        assert_eq!(spaces.slack(asid), 5 << 12);
        assert_eq!((memory.free(size), memory.owners().len()), (all, 0));
        assert!(!page.has_place() && page.place.charged.is_none());
    }
}
