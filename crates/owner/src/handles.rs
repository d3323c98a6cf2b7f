//! The names by which clients reach their objects. A name is never reused, so one that outlived its
//! object reaches nothing.

use crate::message::ClientId;
use crate::message::{LoadId, MappingId, SpaceId};
use crate::owner_thread::closed;
use error::Error;
use std::collections::{BTreeMap, BTreeSet};
use units::{Asid, SlotId, VirtAddr};

/// Faults that tests inject, to verify that they are detected.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InjectedFault {
    /// The range of a mapping that has ended is still accepted.
    StaleMapping,
    /// A kernel that was replaced still resolves to its slot.
    StaleSlot,
}

/// The range of a space that a mapping covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MappedRange {
    pub space: SpaceId,
    pub asid: Asid,
    pub address: VirtAddr,
    pub bytes: u64,
}

/// All live objects, by name.
#[derive(Debug, Default)]
pub(super) struct Handles {
    last: u64,
    spaces: BTreeMap<SpaceId, (ClientId, Asid)>,
    mappings: BTreeMap<MappingId, (ClientId, MappedRange)>,
    loads: BTreeMap<LoadId, (ClientId, SlotId)>,
    closed: BTreeSet<ClientId>,
    injected: Option<InjectedFault>,
    ended_mappings: BTreeMap<MappingId, (ClientId, MappedRange)>,
    ended_loads: BTreeMap<LoadId, (ClientId, SlotId)>,
}

impl Handles {
    pub(super) fn new(injected: Option<InjectedFault>) -> Self {
        Self {
            injected,
            ..Self::default()
        }
    }

    /// Closes a client: its objects are no longer found, except for teardown.
    pub(super) fn close(&mut self, client: ClientId) {
        self.closed.insert(client);
    }

    /// Drops a closed client, of which no request will follow.
    pub(super) fn forget(&mut self, client: ClientId) {
        self.closed.remove(&client);
    }

    /// Clients that own an object.
    pub(super) fn clients(&self) -> BTreeSet<ClientId> {
        let spaces = self.spaces.values().map(|(client, _)| *client);
        let mappings = self.mappings.values().map(|(client, _)| *client);
        let loads = self.loads.values().map(|(client, _)| *client);
        spaces.chain(mappings).chain(loads).collect()
    }

    /// Address space identifiers of a client.
    pub(super) fn asids(&self, client: ClientId) -> impl Iterator<Item = Asid> + '_ {
        let all = self.spaces.values();
        all.filter_map(move |(of, asid)| (*of == client).then_some(*asid))
    }

    /// The address range of each mapping of a client.
    pub(super) fn ranges(&self, client: ClientId) -> impl Iterator<Item = u64> + '_ {
        let all = self.mappings.values();
        all.filter_map(move |(of, range)| (*of == client).then_some(range.bytes))
    }

    /// Slots with kernels of a client.
    pub(super) fn slots(&self, client: ClientId) -> impl Iterator<Item = SlotId> + '_ {
        let all = self.loads.values();
        all.filter_map(move |(of, slot)| (*of == client).then_some(*slot))
    }

    pub(super) fn check_open(&self, client: ClientId) -> Result<(), Error> {
        match self.closed.contains(&client) {
            false => Ok(()),
            true => Err(closed()),
        }
    }

    /// The live spaces of a client.
    pub(super) fn spaces(&self, client: ClientId) -> Vec<SpaceId> {
        let all = self.spaces.iter();
        let own = all.filter(|(_, (owner, _))| *owner == client);
        own.map(|(space, _)| *space).collect()
    }

    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    pub(super) fn add_space(&mut self, client: ClientId, asid: Asid) -> SpaceId {
        let space = SpaceId(self.next());
        self.spaces.insert(space, (client, asid));
        space
    }

    pub(super) fn add_mapping(&mut self, client: ClientId, range: MappedRange) -> MappingId {
        let mapping = MappingId(self.next());
        self.mappings.insert(mapping, (client, range));
        mapping
    }

    /// Gives the slot's kernel this name; the previous name becomes invalid.
    pub(super) fn add_load(&mut self, client: ClientId, slot: SlotId) -> LoadId {
        self.end_load(slot);
        let load = LoadId(self.next());
        self.loads.insert(load, (client, slot));
        load
    }

    /// The client that owns the kernel in a slot.
    pub(super) fn client_in(&self, slot: SlotId) -> Option<ClientId> {
        let mut loads = self.loads.values();
        loads
            .find(|(_, place)| *place == slot)
            .map(|(client, _)| *client)
    }

    /// The name of the kernel in a slot.
    pub(super) fn load_in(&self, slot: SlotId) -> Option<LoadId> {
        let mut loads = self.loads.iter();
        loads
            .find(|(_, (_, place))| *place == slot)
            .map(|(load, _)| *load)
    }

    pub(super) fn space(&self, client: ClientId, space: SpaceId) -> Result<Asid, Error> {
        own(self.spaces.get(&space), client).ok_or_else(|| Error::Gone {
            what: format!("address space #{}", space.0),
            why: "it was closed or dropped, or its card was closed".into(),
        })
    }

    pub(super) fn mapping(
        &self,
        client: ClientId,
        mapping: MappingId,
    ) -> Result<MappedRange, Error> {
        let injected = self.injected == Some(InjectedFault::StaleMapping);
        let ended = self.ended_mappings.get(&mapping).filter(|_| injected);
        own(self.mappings.get(&mapping).or(ended), client).ok_or_else(|| Error::Gone {
            what: format!("mapping #{}", mapping.0),
            why: "it was unmapped, or its address space ended".into(),
        })
    }

    pub(super) fn slot(&self, client: ClientId, load: LoadId) -> Result<SlotId, Error> {
        let injected = self.injected == Some(InjectedFault::StaleSlot);
        let ended = self.ended_loads.get(&load).filter(|_| injected);
        own(self.loads.get(&load).or(ended), client).ok_or_else(|| Error::Gone {
            what: format!("kernel #{}", load.0),
            why: "its slot was closed or got another kernel, or its address space ended".into(),
        })
    }

    pub(super) fn is_alive(&self, load: LoadId) -> bool {
        self.loads.contains_key(&load) || self.injected == Some(InjectedFault::StaleSlot)
    }

    pub(super) fn end_mapping(&mut self, mapping: MappingId) {
        let ended = self.mappings.remove(&mapping);
        if let (Some(range), true) = (ended, self.injected.is_some()) {
            self.ended_mappings.insert(mapping, range);
        }
    }

    /// Removes a space and its mappings.
    pub(super) fn end_space(&mut self, space: SpaceId) {
        self.spaces.remove(&space);
        let mappings = self.mappings.iter();
        let mappings = mappings.filter(|(_, (_, range))| range.space == space);
        let mappings: Vec<MappingId> = mappings.map(|(mapping, _)| *mapping).collect();
        for mapping in mappings {
            self.end_mapping(mapping);
        }
    }

    /// Removes the kernel of a slot.
    pub(super) fn end_load(&mut self, slot: SlotId) {
        if let Some(load) = self.load_in(slot) {
            let ended = self.loads.remove(&load);
            if let (Some(ended), true) = (ended, self.injected.is_some()) {
                self.ended_loads.insert(load, ended);
            }
        }
    }
}

/// Resolves a name that belongs to the client. A name of another client looks as if it had never existed.
fn own<T: Copy>(found: Option<&(ClientId, T)>, client: ClientId) -> Option<T> {
    let (owner, found) = found?;
    (*owner == client).then_some(*found)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ME: ClientId = ClientId(1);
    const OTHER: ClientId = ClientId(2);

    fn asid(number: u8) -> Asid {
        Asid::new(number).unwrap()
    }

    fn range(space: SpaceId) -> MappedRange {
        MappedRange {
            space,
            asid: asid(3),
            address: VirtAddr::new(0x1000).unwrap(),
            bytes: 4096,
        }
    }

    fn is_gone<T>(found: Result<T, Error>) -> bool {
        matches!(found, Err(Error::Gone { .. }))
    }

    #[test]
    fn objects_of_another_client_look_as_if_they_had_never_existed() {
        let mut handles = Handles::default();
        let space = handles.add_space(ME, asid(3));
        let mapping = handles.add_mapping(ME, range(space));
        let load = handles.add_load(ME, SlotId(2));
        assert_eq!(handles.space(ME, space).unwrap(), asid(3));
        assert_eq!(handles.mapping(ME, mapping).unwrap(), range(space));
        assert_eq!(handles.slot(ME, load).unwrap(), SlotId(2));
        let text = |found: Result<Asid, Error>| found.unwrap_err().to_string();
        let unknown = SpaceId(99);
        let expected = text(handles.space(OTHER, unknown));
        let refused = text(handles.space(OTHER, space));
        assert_eq!(refused, expected.replace("#99", &format!("#{}", space.0)));
        assert!(is_gone(handles.mapping(OTHER, mapping)));
        assert!(is_gone(handles.slot(OTHER, load)));
        assert_eq!(
            handles.slots(OTHER).count() + handles.ranges(OTHER).count(),
            0
        );
    }

    #[test]
    fn the_end_of_a_space_ends_its_mappings_and_no_others() {
        let mut handles = Handles::default();
        let (ending, staying) = (
            handles.add_space(ME, asid(3)),
            handles.add_space(ME, asid(4)),
        );
        let gone = [range(ending); 2].map(|range| handles.add_mapping(ME, range));
        let stays = handles.add_mapping(ME, range(staying));
        handles.end_space(ending);
        assert!(is_gone(handles.space(ME, ending)));
        assert!(gone.iter().all(|one| is_gone(handles.mapping(ME, *one))));
        handles.mapping(ME, stays).unwrap();
        // The number is used again, the name is not.
        let next = handles.add_space(OTHER, asid(3));
        assert!(next != ending && is_gone(handles.space(ME, ending)));
    }

    #[test]
    fn a_slot_has_one_name_which_ends_with_its_kernel() {
        let mut handles = Handles::default();
        let first = handles.add_load(ME, SlotId(0));
        let other = handles.add_load(ME, SlotId(1));
        let second = handles.add_load(OTHER, SlotId(0));
        assert!(is_gone(handles.slot(ME, first)) && !handles.is_alive(first));
        assert_eq!(handles.client_in(SlotId(0)), Some(OTHER));
        handles.end_load(SlotId(0));
        assert!(is_gone(handles.slot(OTHER, second)));
        assert_eq!(handles.slot(ME, other).unwrap(), SlotId(1));
        assert_eq!(handles.load_in(SlotId(0)), None);
    }

    #[test]
    fn a_closed_client_is_refused_until_it_is_forgotten() {
        let mut handles = Handles::default();
        let space = handles.add_space(ME, asid(3));
        handles.close(ME);
        assert!(is_gone(handles.check_open(ME)) && handles.check_open(OTHER).is_ok());
        // Teardown finds its objects.
        assert_eq!(handles.spaces(ME), [space]);
        handles.forget(ME);
        handles.check_open(ME).unwrap();
    }
}
