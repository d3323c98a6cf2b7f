//! A map of an object's pages, in order.
//!
//! The pages of an object are dense, and most operations look one up by its number. A tree takes a search over all pages
//! for that; here, only groups of 64 pages are in trees, and a page is found in its group by its number.

use crate::ids::{ObjectId, ObjectPage};
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::ops::Range;

/// Pages of a group.
const PAGES: u64 = 64;

/// Values by page, in order of object and index. A value is stored on its own, so that a group with few pages is small.
#[derive(Clone, Debug)]
pub(crate) struct PageMap<V> {
    objects: BTreeMap<ObjectId, BTreeMap<u64, Box<Group<V>>>>,
}

/// Values of pages with successive numbers, the first of which is a multiple of [`PAGES`].
#[derive(Clone, Debug)]
struct Group<V> {
    /// A bit for each value.
    present: u64,
    values: [Option<Box<V>>; PAGES as usize],
}

impl<V> Group<V> {
    const fn empty() -> Self {
        Self {
            present: 0,
            values: [const { None }; PAGES as usize],
        }
    }

    /// Bit and place of a page.
    const fn place(index: u64) -> (u64, usize) {
        let place = index % PAGES;
        (1 << place, place as usize)
    }
}

impl<V> PageMap<V> {
    pub(crate) const fn new() -> Self {
        Self {
            objects: BTreeMap::new(),
        }
    }

    pub(crate) fn get(&self, page: ObjectPage) -> Option<&V> {
        let group = self.objects.get(&page.object)?.get(&(page.index / PAGES))?;
        group.values[Group::<V>::place(page.index).1].as_deref()
    }

    pub(crate) fn get_mut(&mut self, page: ObjectPage) -> Option<&mut V> {
        let groups = self.objects.get_mut(&page.object)?;
        let group = groups.get_mut(&(page.index / PAGES))?;
        group.values[Group::<V>::place(page.index).1].as_deref_mut()
    }

    /// Adds a value, or replaces it.
    pub(crate) fn insert(&mut self, page: ObjectPage, value: V) {
        let groups = self.objects.entry(page.object).or_default();
        let group = groups.entry(page.index / PAGES);
        let group = group.or_insert_with(|| Box::new(Group::empty()));
        let (bit, place) = Group::<V>::place(page.index);
        group.present |= bit;
        group.values[place] = Some(Box::new(value));
    }

    pub(crate) fn remove(&mut self, page: ObjectPage) -> Option<V> {
        let groups = self.objects.get_mut(&page.object)?;
        let number = page.index / PAGES;
        let group = groups.get_mut(&number)?;
        let (bit, place) = Group::<V>::place(page.index);
        let value = group.values[place].take()?;
        group.present &= !bit;
        if group.present == 0 {
            groups.remove(&number);
            if groups.is_empty() {
                self.objects.remove(&page.object);
            }
        }
        Some(*value)
    }

    /// All values, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ObjectPage, &V)> {
        self.objects.iter().flat_map(|(&object, groups)| {
            let all = groups.iter();
            all.flat_map(move |(&number, group)| in_group(object, number, group, u64::MAX))
        })
    }

    /// All values, in order.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (ObjectPage, &mut V)> {
        self.objects.iter_mut().flat_map(|(&object, groups)| {
            groups.iter_mut().flat_map(move |(&number, group)| {
                let values = group.values.iter_mut().zip(number * PAGES..);
                values.filter_map(move |(value, index)| {
                    Some((ObjectPage { object, index }, value.as_deref_mut()?))
                })
            })
        })
    }

    /// Values of an object in a range of page numbers, in order.
    pub(crate) fn range(
        &self,
        object: ObjectId,
        indices: Range<u64>,
    ) -> impl Iterator<Item = (ObjectPage, &V)> {
        let Range { start, end } = indices;
        // An empty range, which the tree refuses, if the end is not behind the start.
        let groups = start / PAGES..end.max(start).div_ceil(PAGES).max(start / PAGES);
        let found = self.objects.get(&object);
        let groups = found
            .into_iter()
            .flat_map(move |all| all.range(groups.clone()));
        groups.flat_map(move |(&number, group)| {
            let first = number * PAGES;
            let from = u64::MAX << start.saturating_sub(first);
            let behind = end.saturating_sub(first);
            let to = if behind >= PAGES {
                u64::MAX
            } else {
                !(u64::MAX << behind)
            };
            in_group(object, number, group, from & to)
        })
    }

    /// The last value of the page's object that is not behind the page.
    pub(crate) fn last_up_to(&self, page: ObjectPage) -> Option<(ObjectPage, &V)> {
        let groups = self.objects.get(&page.object)?;
        let number = page.index / PAGES;
        let up_to = u64::MAX >> (PAGES - 1 - page.index % PAGES);
        let here = groups
            .get(&number)
            .map(|group| (number, group, group.present & up_to));
        let (number, group, present) =
            here.filter(|(_, _, present)| *present != 0).or_else(|| {
                let (&number, group) = groups.range(..number).next_back()?;
                Some((number, group, group.present))
            })?;
        let place = u64::from(present.ilog2());
        let index = number * PAGES + place;
        let value = group.values[place as usize].as_deref()?;
        Some((ObjectPage { index, ..page }, value))
    }
}

/// Values of a group whose bit is in `mask`, in order.
fn in_group<V>(
    object: ObjectId,
    number: u64,
    group: &Group<V>,
    mask: u64,
) -> impl Iterator<Item = (ObjectPage, &V)> {
    let mut left = group.present & mask;
    std::iter::from_fn(move || {
        let place = left.checked_ilog2().map(|_| left.trailing_zeros())?;
        left &= left - 1;
        let index = number * PAGES + u64::from(place);
        let value = group.values[place as usize].as_deref()?;
        Some((ObjectPage { object, index }, value))
    })
}

impl<V: Hash> Hash for PageMap<V> {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.iter().count().hash(hasher);
        for entry in self.iter() {
            entry.hash(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Pages of a few objects, near the limits of groups and at the end of the numbers.
    fn pages() -> impl Strategy<Value = ObjectPage> {
        let index = prop_oneof![0..200_u64, 8190..8200_u64, u64::MAX - 3..=u64::MAX];
        (0..3_u64, index).prop_map(|(object, index)| ObjectPage {
            object: ObjectId(object),
            index,
        })
    }

    proptest! {
        /// Whatever is inserted and removed, every lookup is that of a tree.
        #[test]
        fn lookups_are_those_of_a_tree(
            changes in prop::collection::vec((pages(), any::<Option<u16>>()), 1..200),
            asked in prop::collection::vec((pages(), pages()), 1..50),
        ) {
            let (mut map, mut tree) = (PageMap::new(), BTreeMap::new());
            for (page, value) in changes {
                match value {
                    Some(value) => {
                        map.insert(page, value);
                        tree.insert(page, value);
                    }
                    None => prop_assert_eq!(map.remove(page), tree.remove(&page)),
                }
            }
            let all: Vec<_> = tree.iter().map(|(&page, &value)| (page, value)).collect();
            prop_assert!(map.iter().map(|(page, &value)| (page, value)).eq(all.iter().copied()));
            for (page, other) in asked {
                prop_assert_eq!(map.get(page), tree.get(&page));
                prop_assert_eq!(map.get_mut(page), tree.get_mut(&page));
                let own = |(page, value): (&ObjectPage, &u16)| (*page, *value);
                let first = ObjectPage { index: 0, ..page };
                let last = tree.range(first..=page).next_back().map(own);
                prop_assert_eq!(map.last_up_to(page).map(|(page, &value)| (page, value)), last);
                let found = map.range(page.object, page.index..other.index);
                let within = |&&(found, _): &&(ObjectPage, u16)| {
                    found.object == page.object && (page.index..other.index).contains(&found.index)
                };
                let expected: Vec<_> = all.iter().filter(within).copied().collect();
                prop_assert_eq!(found.map(|(page, &value)| (page, value)).collect::<Vec<_>>(), expected);
            }
            for (page, value) in map.iter_mut() {
                *value = value.wrapping_add(page.index as u16);
            }
            let changed = tree.iter().map(|(&page, value)| (page, value.wrapping_add(page.index as u16)));
            prop_assert!(map.iter().map(|(page, &value)| (page, value)).eq(changed));
        }
    }
}
