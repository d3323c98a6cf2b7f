//! Spaces: page tables, creation and removal.

use crate::action::{Action, Success};
use crate::error::PagerError;
use crate::ids::RequestId;
use crate::issue::{Meaning, Step};
use crate::pager::Pager;
use crate::placement::groups;
use crate::request::{answer, Last};
use crate::space::{Phase, Space};
use crate::statistics::SpaceStatistics;
use crate::table::TableImage;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use units::{
    Asid, CommandStatus, FrameNumber, Operation, PageSizes, SpacePlacement, Stripe, TableGeometry,
    VirtAddr,
};

impl Pager {
    pub(crate) fn create_space(
        &mut self,
        request: RequestId,
        asid: Asid,
        (limit, placement): (Option<u64>, SpacePlacement),
        out: &mut Vec<Action>,
    ) {
        if self.spaces.contains_key(&asid) {
            return out.push(answer(request, Err(PagerError::SpaceExists { asid })));
        }
        if !self.memory.has_placement(placement) {
            let error = PagerError::NoSuchPlacement { asid, placement };
            return out.push(answer(request, Err(error)));
        }
        let channels = self.channels_for(asid, placement);
        let table = self.allocate_table(channels.clone(), self.table_sets_log2);
        let Some((geometry, table_frame)) = table else {
            let bytes = 64 << self.table_sets_log2;
            return out.push(answer(
                request,
                Err(PagerError::NoTableMemory { asid, bytes }),
            ));
        };
        let space = Space {
            phase: Phase::Creating,
            share: 0,
            table: TableImage::new(geometry),
            table_frame,
            old_table: None,
            mappings: BTreeMap::new(),
            limit,
            placement,
            channels,
            charged: 0,
            page_sizes: PageSizes::only(self.page_size),
            unmaps: BTreeSet::new(),
        };
        self.spaces.insert(asid, space);
        self.regroup();
        self.space_statistics
            .insert(asid, SpaceStatistics::default());
        self.creating.insert(asid, request);
        let zero = Operation::Zero {
            to: geometry.base(),
            bytes: geometry.bytes(),
            stripe: Stripe::NONE,
        };
        let meaning = Some(Meaning::TableZeroed(asid));
        self.issued.command(Step::new(zero, meaning), out);
    }

    /// Channels for a new space.
    fn channels_for(&self, asid: Asid, placement: SpacePlacement) -> Range<usize> {
        let all = self.memory.channels_of(placement);
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
        let all = self.spaces.iter();
        let isolated = all.filter(|(_, space)| space.placement == SpacePlacement::Isolated);
        isolated.map(|(&asid, _)| asid).collect()
    }

    /// Divides the channels again after an isolated space was added or removed: each has its share. Pages on channels
    /// that a space lost stay until room is needed, and are then evicted first; their space fetches them again to its
    /// own channels.
    fn regroup(&mut self) {
        let isolated = self.isolated();
        let channels = self.memory.channels_of(SpacePlacement::Isolated).len();
        for (asid, group) in isolated.iter().zip(groups(isolated.len(), channels)) {
            if let Some(space) = self.spaces.get_mut(asid) {
                self.regrouped |= space.channels != group;
                space.channels = group;
            }
        }
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
        let available = self.memory.available(order);
        let channel = channels
            .chain(0..available.len())
            .find(|&channel| available[channel])?;
        let frame = self.memory.allocate(channel, order)?;
        let geometry = TableGeometry::new(frame.card_address(), sets_log2)?;
        Some((geometry, frame))
    }

    pub(crate) fn table_zeroed(
        &mut self,
        asid: Asid,
        status: CommandStatus,
        out: &mut Vec<Action>,
    ) {
        let Some(request) = self.creating.remove(&asid) else {
            return;
        };
        if status != CommandStatus::Ok {
            self.remove_space(asid);
            let error = PagerError::TableFailed { asid, status };
            return out.push(answer(request, Err(error)));
        }
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        space.phase = Phase::Ready;
        out.push(Action::EnableSpace {
            asid,
            table: space.table.geometry(),
            stripe: space.placement.stripe(),
            size_classes: space.page_sizes.bits(),
        });
        out.push(answer(request, Ok(Success::Done)));
    }

    pub(super) fn remove_space(&mut self, asid: Asid) {
        if let Some(space) = self.spaces.remove(&asid) {
            let order = Self::table_order(space.table.geometry().sets_log2());
            self.memory.release(space.table_frame, order, Stripe::NONE);
            self.regroup();
        }
        for page in self.pages.values_mut() {
            page.charged = page.charged.filter(|&charged| charged != asid);
        }
    }

    /// A space that requests may refer to.
    pub(super) fn ready_space(&mut self, asid: Asid) -> Result<&mut Space, PagerError> {
        match self.spaces.get_mut(&asid) {
            None => Err(PagerError::NoSuchSpace { asid }),
            Some(space) if space.phase != Phase::Ready => Err(PagerError::SpaceBusy { asid }),
            Some(space) => Ok(space),
        }
    }

    pub(crate) fn destroy_space(&mut self, request: RequestId, asid: Asid, out: &mut Vec<Action>) {
        let unmaps = match self.ready_space(asid) {
            Err(error) => return out.push(answer(request, Err(error))),
            Ok(space) => {
                space.phase = Phase::Destroying(request);
                space.unmaps.len()
            }
        };
        self.requests.open(request, Last::DestroySpace(asid));
        (0..unmaps).for_each(|_| self.requests.add_one(request));
        self.unmap_pages(request, asid, 0..1 << VirtAddr::BITS, out);
        self.end_requests([request], Ok(()), out);
    }
}
