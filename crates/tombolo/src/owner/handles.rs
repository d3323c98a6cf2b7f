//! The names by which clients reach what is theirs. A name is never given twice, so one that outlived its
//! object reaches nothing.

use super::Owner;
use crate::error::Error;
use crate::message::{LoadId, MappingId, SpaceId};
use card::SlotId;
use std::collections::BTreeMap;
use units::{Asid, VirtAddr};

/// Mistakes that tests plant, to see that they would be found.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planted {
    /// A mapping that ended is still taken for the range that it was.
    StaleMapping,
    /// A kernel that was replaced is still taken for its slot.
    StaleSlot,
}

/// The range of a space that a mapping is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MappedRange {
    pub space: SpaceId,
    pub asid: Asid,
    pub address: VirtAddr,
    pub bytes: u64,
}

/// What is alive, by name.
#[derive(Debug, Default)]
pub(super) struct Handles {
    last: u64,
    spaces: BTreeMap<SpaceId, Asid>,
    mappings: BTreeMap<MappingId, MappedRange>,
    loads: BTreeMap<LoadId, SlotId>,
    closed: bool,
    planted: Option<Planted>,
    ended_mappings: BTreeMap<MappingId, MappedRange>,
    ended_loads: BTreeMap<LoadId, SlotId>,
}

impl Handles {
    pub(super) fn new(planted: Option<Planted>) -> Self {
        Self {
            planted,
            ..Self::default()
        }
    }

    /// Nothing is given or found from now on.
    pub(super) fn close(&mut self) {
        self.closed = true;
    }

    pub(super) fn check_open(&self) -> Result<(), Error> {
        match self.closed {
            false => Ok(()),
            true => Err(Error::Gone {
                what: "the card".to_owned(),
                why: "it was closed; open another",
            }),
        }
    }

    /// The spaces that are alive.
    pub(super) fn spaces(&self) -> Vec<SpaceId> {
        self.spaces.keys().copied().collect()
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn add_space(&mut self, asid: Asid) -> SpaceId {
        let space = SpaceId(self.next());
        self.spaces.insert(space, asid);
        space
    }

    pub(super) fn add_mapping(&mut self, range: MappedRange) -> MappingId {
        let mapping = MappingId(self.next());
        self.mappings.insert(mapping, range);
        mapping
    }

    /// The slot's kernel has this name from now on; the one before it is gone.
    pub(super) fn add_load(&mut self, slot: SlotId) -> LoadId {
        self.end_load(slot);
        let load = LoadId(self.next());
        self.loads.insert(load, slot);
        load
    }

    pub(super) fn space(&self, space: SpaceId) -> Result<Asid, Error> {
        self.spaces.get(&space).copied().ok_or_else(|| Error::Gone {
            what: format!("address space #{}", space.0),
            why: "it was closed or dropped, or its card was closed",
        })
    }

    pub(super) fn mapping(&self, mapping: MappingId) -> Result<MappedRange, Error> {
        let planted = self.planted == Some(Planted::StaleMapping);
        let ended = self.ended_mappings.get(&mapping).filter(|_| planted);
        self.mappings
            .get(&mapping)
            .or(ended)
            .copied()
            .ok_or_else(|| Error::Gone {
                what: format!("mapping #{}", mapping.0),
                why: "it was unmapped, or its address space ended",
            })
    }

    pub(super) fn slot(&self, load: LoadId) -> Result<SlotId, Error> {
        let planted = self.planted == Some(Planted::StaleSlot);
        let ended = self.ended_loads.get(&load).filter(|_| planted);
        self.loads
            .get(&load)
            .or(ended)
            .copied()
            .ok_or_else(|| Error::Gone {
                what: format!("kernel #{}", load.0),
                why: "its slot was closed or got another kernel, or its address space ended",
            })
    }

    pub(super) fn end_mapping(&mut self, mapping: MappingId) {
        let ended = self.mappings.remove(&mapping);
        if let (Some(range), true) = (ended, self.planted.is_some()) {
            self.ended_mappings.insert(mapping, range);
        }
    }

    /// Ends a space and its mappings.
    pub(super) fn end_space(&mut self, space: SpaceId) {
        self.spaces.remove(&space);
        let inside = |(_, range): &(&MappingId, &MappedRange)| range.space == space;
        let mappings = self.mappings.iter().filter(inside);
        let mappings: Vec<MappingId> = mappings.map(|(mapping, _)| *mapping).collect();
        for mapping in mappings {
            self.end_mapping(mapping);
        }
    }

    /// The slot has no kernel any more.
    pub(super) fn end_load(&mut self, slot: SlotId) {
        let load = self.loads.iter().find(|(_, place)| **place == slot);
        if let Some(load) = load.map(|(load, _)| *load) {
            self.loads.remove(&load);
            if self.planted.is_some() {
                self.ended_loads.insert(load, slot);
            }
        }
    }
}

impl Owner {
    /// The slot that a kernel's name stands for.
    pub(super) fn slot_of(&self, load: LoadId) -> Result<SlotId, Error> {
        self.handles.slot(load)
    }
}
