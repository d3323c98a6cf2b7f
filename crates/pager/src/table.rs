//! What the pager knows of a page table in card memory: which entries it has installed.
//!
//! Only the shell writes the table, on command; this image is what the commands issued so far will
//! make of it. Table commands run in ring order, so the image is enough to never overfill a set.

use crate::page::ObjectPage;
use std::collections::BTreeMap;
use units::{PageNumber, PageSize, TableGeometry, VirtAddr};

/// The image of one table.
#[derive(Clone, Debug, Hash)]
pub(crate) struct TableImage {
    geometry: TableGeometry,
    page_size: PageSize,
    /// Entries of each set that has any, oldest first.
    sets: BTreeMap<u64, Vec<VirtAddr>>,
    /// What each entry shows.
    entries: BTreeMap<VirtAddr, ObjectPage>,
}

impl TableImage {
    pub(crate) fn new(geometry: TableGeometry, page_size: PageSize) -> Self {
        Self {
            geometry,
            page_size,
            sets: BTreeMap::new(),
            entries: BTreeMap::new(),
        }
    }

    pub(crate) fn geometry(&self) -> TableGeometry {
        self.geometry
    }

    /// Moves to a larger geometry. Each set becomes two, in the same order.
    pub(crate) fn grow(&mut self, geometry: TableGeometry) {
        self.geometry = geometry;
        for address in std::mem::take(&mut self.sets).into_values().flatten() {
            self.sets
                .entry(self.set_of(address))
                .or_default()
                .push(address);
        }
    }

    fn set_of(&self, address: VirtAddr) -> u64 {
        self.geometry
            .set(PageNumber::containing(address, self.page_size))
    }

    /// The entry that has to leave before one for `address` can be installed.
    pub(crate) fn conflict(&self, address: VirtAddr) -> Option<(VirtAddr, ObjectPage)> {
        let set = self.sets.get(&self.set_of(address))?;
        if set.len() < TableGeometry::WAYS || set.contains(&address) {
            return None;
        }
        let oldest = *set.first()?;
        Some((oldest, *self.entries.get(&oldest)?))
    }

    pub(crate) fn insert(&mut self, address: VirtAddr, page: ObjectPage) {
        if self.entries.insert(address, page).is_none() {
            let set = self.sets.entry(self.set_of(address)).or_default();
            set.push(address);
            debug_assert!(set.len() <= TableGeometry::WAYS, "set overfilled");
        }
    }

    pub(crate) fn remove(&mut self, address: VirtAddr) {
        if self.entries.remove(&address).is_none() {
            return;
        }
        let number = self.set_of(address);
        if let Some(set) = self.sets.get_mut(&number) {
            set.retain(|&entry| entry != address);
            if set.is_empty() {
                self.sets.remove(&number);
            }
        }
    }

    pub(crate) fn entries(&self) -> &BTreeMap<VirtAddr, ObjectPage> {
        &self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::CardAddr;

    #[test]
    fn a_full_set_names_its_oldest_entry() {
        let geometry = TableGeometry::new(CardAddr::default(), 10).unwrap();
        let size = PageSize::KIB_4;
        let mut table = TableImage::new(geometry, size);
        let addresses: Vec<_> = (0..9)
            .map(|tag| geometry.page(3, tag, size).base())
            .collect();
        for &address in &addresses[..8] {
            assert_eq!(table.conflict(address), None);
            table.insert(address, ObjectPage::default());
        }
        assert_eq!(table.conflict(addresses[0]), None);
        let victim = table.conflict(addresses[8]).unwrap().0;
        assert_eq!(victim, addresses[0]);
        table.remove(victim);
        assert_eq!(table.conflict(addresses[8]), None);
    }
}
