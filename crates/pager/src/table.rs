//! The pager's image of a page table in card memory: the entries that it has installed.
//!
//! Only the shell writes the table, on command; this image is the state after all commands issued so far. Table
//! commands run in ring order, so the image suffices to never overfill a set.

use crate::ids::ObjectPage;
use std::collections::BTreeMap;
use units::{PageNumber, PageSize, TableGeometry, VirtAddr};

/// Content of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shown {
    pub(crate) page: ObjectPage,
    pub(crate) size: PageSize,
}

/// The image of one table.
#[derive(Clone, Debug, Hash)]
pub(crate) struct TableImage {
    geometry: TableGeometry,
    /// Entries of each set that has any, oldest first.
    sets: BTreeMap<u64, Vec<VirtAddr>>,
    /// Content of each entry. Mappings never overlap, so an address has pages of one size.
    entries: BTreeMap<VirtAddr, Shown>,
}

impl TableImage {
    pub(crate) fn new(geometry: TableGeometry) -> Self {
        Self {
            geometry,
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
            let size = self.entries.get(&address).map(|shown| shown.size);
            let set = self.set_of(address, size.unwrap_or(PageSize::KIB_4));
            self.sets.entry(set).or_default().push(address);
        }
    }

    fn set_of(&self, address: VirtAddr, size: PageSize) -> u64 {
        self.geometry.set(PageNumber::containing(address, size))
    }

    /// The entry that must be removed before one for a page of `size` at `address` can be installed: the oldest,
    /// avoiding spared pages while there are others.
    pub(crate) fn conflict(
        &self,
        address: VirtAddr,
        size: PageSize,
        spared: impl Fn(ObjectPage) -> bool,
    ) -> Option<(VirtAddr, ObjectPage)> {
        let set = self.sets.get(&self.set_of(address, size))?;
        if set.len() < TableGeometry::WAYS || set.contains(&address) {
            return None;
        }
        let page = |address: VirtAddr| Some(self.entries.get(&address)?.page);
        let goes = |address: &&VirtAddr| page(**address).is_some_and(|page| !spared(page));
        let leaves = set.iter().find(goes).or(set.first())?;
        Some((*leaves, page(*leaves)?))
    }

    pub(crate) fn insert(&mut self, address: VirtAddr, page: ObjectPage, size: PageSize) {
        let shown = Shown { page, size };
        if self.entries.insert(address, shown).is_none() {
            let set = self.sets.entry(self.set_of(address, size)).or_default();
            set.push(address);
            debug_assert!(set.len() <= TableGeometry::WAYS, "set overfilled");
        }
    }

    pub(crate) fn remove(&mut self, address: VirtAddr) {
        let Some(shown) = self.entries.remove(&address) else {
            return;
        };
        let number = self.set_of(address, shown.size);
        if let Some(set) = self.sets.get_mut(&number) {
            set.retain(|&entry| entry != address);
            if set.is_empty() {
                self.sets.remove(&number);
            }
        }
    }

    pub(crate) fn entries(&self) -> &BTreeMap<VirtAddr, Shown> {
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
        let mut table = TableImage::new(geometry);
        let spares_none = |_| false;
        // The pages have the numbers of their addresses.
        let page = |address: VirtAddr| ObjectPage {
            index: address.get(),
            ..ObjectPage::default()
        };
        let addresses: Vec<_> = (0..9)
            .map(|tag| geometry.page(3, tag, size).base())
            .collect();
        for &address in &addresses[..8] {
            assert_eq!(table.conflict(address, size, spares_none), None);
            table.insert(address, page(address), size);
        }
        assert_eq!(table.conflict(addresses[0], size, spares_none), None);
        let victim = table.conflict(addresses[8], size, spares_none).unwrap().0;
        assert_eq!(victim, addresses[0]);
        let old = [page(addresses[0]), page(addresses[1])];
        let (third, _) = table
            .conflict(addresses[8], size, |page| old.contains(&page))
            .unwrap();
        assert_eq!(third, addresses[2]);
        let (first, _) = table.conflict(addresses[8], size, |_| true).unwrap();
        assert_eq!(first, addresses[0]);
        table.remove(victim);
        assert_eq!(table.conflict(addresses[8], size, spares_none), None);
    }
}
