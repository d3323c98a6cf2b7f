//! Pages waiting for a resource.

use crate::page::ObjectPage;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// How urgent a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Urgency {
    /// A requester stands still for it, or it frees what such a page needs.
    Head,
    /// Accesses behind the head of a requester wait for it.
    Ahead,
    /// Nobody waits for it yet, but a requester will soon: it may push out other pages.
    Soon,
    /// Somebody thinks that it may be wanted: it takes a free frame or none.
    Hint,
}

/// A queue by urgency, then by arrival.
#[derive(Clone, Debug, Default)]
pub(crate) struct PageQueue {
    next: u64,
    order: BTreeMap<(Urgency, u64), ObjectPage>,
    places: BTreeMap<ObjectPage, (Urgency, u64)>,
}

impl PageQueue {
    /// Adds a page, or moves one that is queued to a more urgent place.
    pub(crate) fn push(&mut self, page: ObjectPage, urgency: Urgency) {
        if let Some(&place) = self.places.get(&page) {
            if place.0 <= urgency {
                return;
            }
            self.order.remove(&place);
        }
        let place = (urgency, self.next);
        self.next += 1;
        self.order.insert(place, page);
        self.places.insert(page, place);
    }

    pub(crate) fn remove(&mut self, page: ObjectPage) {
        if let Some(place) = self.places.remove(&page) {
            self.order.remove(&place);
        }
    }

    /// The most urgent page.
    pub(crate) fn first(&self) -> Option<ObjectPage> {
        self.order.values().next().copied()
    }

    /// The pages, most urgent first.
    pub(crate) fn pages(&self) -> Vec<ObjectPage> {
        self.order.values().copied().collect()
    }

    pub(crate) fn contains(&self, page: ObjectPage) -> bool {
        self.places.contains_key(&page)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }
}

/// Equal order, equal hash: places only count up.
impl Hash for PageQueue {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.order.len().hash(hasher);
        for (&(urgency, _), page) in &self.order {
            (urgency, page).hash(hasher);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urgent_pages_overtake() {
        let page = |index| ObjectPage {
            index,
            ..ObjectPage::default()
        };
        let mut queue = PageQueue::default();
        queue.push(page(1), Urgency::Hint);
        queue.push(page(2), Urgency::Ahead);
        queue.push(page(3), Urgency::Head);
        queue.push(page(4), Urgency::Head);
        queue.push(page(1), Urgency::Head);
        queue.push(page(4), Urgency::Hint);
        assert_eq!(queue.first(), Some(page(3)));
        let order: Vec<_> = queue.pages().iter().map(|p| p.index).collect();
        assert_eq!(order, [3, 4, 1, 2]);
        queue.pages().into_iter().for_each(|p| queue.remove(p));
        assert!(queue.is_empty());
    }
}
