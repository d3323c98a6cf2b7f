//! Queues of pages that wait for a resource.

use crate::ids::ObjectPage;
use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};

/// Urgency of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Urgency {
    /// A requester is stalled on it, or it frees resources that such a page needs.
    Head,
    /// Accesses behind the head of a requester wait for it.
    Ahead,
    /// No access waits for it yet, but a requester is expected to need it soon: it may evict other pages.
    Soon,
    /// Speculative: it takes a free frame or none.
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
    /// Adds a page, or raises the urgency of a queued one.
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

/// One queue per share, served in turn.
#[derive(Clone, Debug, Default, Hash)]
pub(crate) struct SharedQueue {
    queues: BTreeMap<u64, PageQueue>,
    /// Share that was served last.
    last: u64,
}

impl SharedQueue {
    pub(crate) fn push(&mut self, share: u64, page: ObjectPage, urgency: Urgency) {
        let queue = self.queues.entry(share).or_default();
        queue.push(page, urgency);
    }

    /// Takes the first permitted page of the next share that has one, with the share.
    pub(crate) fn take(
        &mut self,
        may: impl Fn(u64, ObjectPage) -> bool,
    ) -> Option<(u64, ObjectPage)> {
        let behind = self.queues.range(self.last.saturating_add(1)..);
        let all = behind.chain(self.queues.range(..=self.last));
        let firsts = all.filter_map(|(&share, queue)| Some((share, queue.first()?)));
        let (share, page) = firsts.into_iter().find(|&(share, page)| may(share, page))?;
        let queue = self.queues.get_mut(&share)?;
        queue.remove(page);
        if queue.is_empty() {
            self.queues.remove(&share);
        }
        self.last = share;
        Some((share, page))
    }

    pub(crate) fn contains(&self, page: ObjectPage) -> bool {
        self.queues.values().any(|queue| queue.contains(page))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }
}

/// Equal order gives an equal hash: places only count up.
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

    #[test]
    fn shares_take_turns_and_one_that_may_not_delays_no_other() {
        let page = |index| ObjectPage {
            index,
            ..ObjectPage::default()
        };
        let mut queue = SharedQueue::default();
        for index in 0..6 {
            queue.push(1, page(index), Urgency::Hint);
        }
        queue.push(2, page(10), Urgency::Hint);
        queue.push(2, page(11), Urgency::Head);
        queue.push(0, page(20), Urgency::Soon);
        let all = |_, _| true;
        let mut order =
            |may: &dyn Fn(u64, ObjectPage) -> bool| queue.take(may).map(|(_, page)| page.index);
        let turns: Vec<_> = (0..5).map(|_| order(&all)).collect();
        assert_eq!(turns, [0, 11, 20, 1, 10].map(Some));
        assert_eq!(order(&|share, _| share != 1), None);
        assert_eq!(order(&all), Some(2));
        assert!(queue.contains(page(3)) && !queue.contains(page(2)));
        while queue.take(all).is_some() {}
        assert!(queue.is_empty());
    }
}
