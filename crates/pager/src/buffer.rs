//! DMA buffers, divided into parts of the size of the pages that move through them.

use crate::ids::{BufferId, ObjectPage};
use crate::queue::{PageQueue, Urgency};
use units::{HostAddr, PageSize};

/// A part of a DMA buffer that holds a page, or a piece of a page larger than a buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// DMA buffer that holds the part.
    pub buffer: BufferId,
    /// Offset in the buffer, in bytes.
    pub offset: u64,
    /// Address of the part as the card reaches it.
    pub address: HostAddr,
    /// Size class: the part holds a page of this class.
    pub class: u8,
}

impl Part {
    /// Size of the part in bytes.
    pub const fn bytes(self) -> u64 {
        PageSize::KIB_4.bytes() << self.class
    }

    /// The buddy of the part: the adjacent part of the same size with which it merges.
    fn mate(self) -> Self {
        let offset = self.offset ^ self.bytes();
        self.moved_to(offset)
    }

    fn moved_to(self, offset: u64) -> Self {
        let start = HostAddr::new(self.address.get() - self.offset);
        Self {
            offset,
            address: start.offset(offset),
            ..self
        }
    }
}

/// Free parts. The smallest part that fits is allocated, and among equals the one freed last, which is warm in the
/// cache. Free buddies merge.
#[derive(Clone, Debug, Hash)]
pub(crate) struct BufferPool {
    /// Free parts by class.
    free: Vec<Vec<Part>>,
}

impl BufferPool {
    pub(crate) fn new(buffers: &[HostAddr], buffer_bytes: u64) -> Self {
        let units = buffer_bytes / PageSize::KIB_4.bytes();
        let largest = PageSize::GIB_1.class().min(units.max(1).ilog2() as u8);
        let mut pool = Self {
            free: vec![Vec::new(); usize::from(largest) + 1],
        };
        for (index, &base) in buffers.iter().enumerate().rev() {
            let mut unit = 0;
            while unit < units {
                let fits = (units - unit).ilog2().min(unit.trailing_zeros()) as u8;
                let offset = unit * PageSize::KIB_4.bytes();
                let part = Part {
                    buffer: BufferId(index as u32),
                    offset,
                    address: base.offset(offset),
                    class: fits.min(largest),
                };
                unit += 1 << part.class;
                pool.free[usize::from(part.class)].push(part);
            }
        }
        pool
    }

    /// Class of the part that pages of a size move through.
    pub(crate) fn class_for(&self, page: PageSize) -> u8 {
        page.class().min(self.free.len() as u8 - 1)
    }

    /// Whether a part of a class is available.
    pub(crate) fn has(&self, class: u8) -> bool {
        self.free
            .iter()
            .skip(class.into())
            .any(|parts| !parts.is_empty())
    }

    pub(crate) fn take(&mut self, class: u8) -> Option<Part> {
        let found = (usize::from(class)..self.free.len()).find(|&k| !self.free[k].is_empty())?;
        let mut part = self.free[found].pop()?;
        while part.class > class {
            part.class -= 1;
            self.free[usize::from(part.class)].push(part.mate());
        }
        Some(part)
    }

    pub(crate) fn give(&mut self, mut part: Part) {
        let freed = |parts: &[Part]| parts.contains(&part);
        debug_assert!(
            !self.free.iter().any(|parts| freed(parts)),
            "{part:?} given back twice"
        );
        while usize::from(part.class) + 1 < self.free.len() {
            let parts = &mut self.free[usize::from(part.class)];
            let mate = part.mate();
            let Some(place) = parts.iter().position(|&other| other == mate) else {
                break;
            };
            parts.remove(place);
            part = part.moved_to(part.offset & mate.offset);
            part.class += 1;
        }
        self.free[usize::from(part.class)].push(part);
    }

    pub(crate) fn free(&self) -> impl Iterator<Item = Part> + '_ {
        self.free.iter().flatten().copied()
    }
}

/// All DMA buffers, and the pages that wait for a part of one.
#[derive(Clone, Debug, Hash)]
pub(crate) struct Buffers {
    pool: BufferPool,
    queue: PageQueue,
    /// Size of all buffers together, in whole parts.
    bytes: u64,
}

impl Buffers {
    pub(crate) fn new(buffers: &[HostAddr], buffer_bytes: u64) -> Self {
        let pool = BufferPool::new(buffers, buffer_bytes);
        Self {
            bytes: pool.free().map(|part| part.bytes()).sum(),
            queue: PageQueue::default(),
            pool,
        }
    }

    /// Largest page that moves through a buffer as a whole.
    pub(crate) fn largest(&self) -> PageSize {
        let class = self.pool.class_for(PageSize::GIB_1);
        PageSize::from_class(class).unwrap_or(PageSize::KIB_4)
    }

    /// Queues a page, or raises its urgency.
    pub(crate) fn push(&mut self, page: ObjectPage, urgency: Urgency) {
        self.queue.push(page, urgency);
    }

    /// Takes the most urgent page off the queue, with a part for it. A page that waits for a large part is never
    /// overtaken; otherwise it would starve. A page without a size is given the smallest part.
    pub(crate) fn grant(
        &mut self,
        size: impl Fn(ObjectPage) -> Option<PageSize>,
    ) -> Option<(ObjectPage, Part)> {
        let page = self.queue.first()?;
        let class = size(page).map_or(0, |size| self.pool.class_for(size));
        let part = self.pool.take(class)?;
        self.queue.remove(page);
        Some((page, part))
    }

    /// Whether the most urgent page could have a part now.
    pub(crate) fn is_stalled(&self, size: impl Fn(ObjectPage) -> Option<PageSize>) -> bool {
        let size = self.queue.first().and_then(size);
        size.is_some_and(|size| self.pool.has(self.pool.class_for(size)))
    }

    /// Frees a part.
    pub(crate) fn give(&mut self, part: Part) {
        self.pool.give(part);
    }

    pub(crate) fn free(&self) -> impl Iterator<Item = Part> + '_ {
        self.pool.free()
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_queued(&self, page: ObjectPage) -> bool {
        self.queue.contains(page)
    }

    /// Whether no page waits for a part.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Allocates and frees parts of all sizes at random: no two share a byte, and at the end all parts have merged. The
    /// last buffer's tail (the buffers have five units) is used too.
    #[test]
    fn parts_lie_apart_and_become_whole_again() {
        let bases = [HostAddr::new(1 << 32), HostAddr::new(2 << 32)];
        let mut pool = BufferPool::new(&bases, 5 << 12);
        let whole: Vec<Part> = pool.free().collect();
        assert_eq!(whole.iter().map(|part| part.bytes()).sum::<u64>(), 10 << 12);
        assert_eq!(pool.class_for(PageSize::GIB_1), 2);
        let mut random = 1u64;
        let mut taken: Vec<Part> = Vec::new();
        for _ in 0..4000 {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            let (choice, number) = (random >> 62, (random >> 33) as usize);
            if choice < 2 && !taken.is_empty() {
                pool.give(taken.swap_remove(number % taken.len()));
                continue;
            }
            let class = (number % 3) as u8;
            assert_eq!(pool.has(class), pool.clone().take(class).is_some());
            if let Some(part) = pool.take(class) {
                let end = part.offset + part.bytes();
                assert!(part.class == class && end <= 5 << 12);
                assert_eq!(
                    part.address,
                    bases[part.buffer.0 as usize].offset(part.offset)
                );
                let apart = |other: &Part| {
                    other.buffer != part.buffer
                        || other.offset >= end
                        || part.offset >= other.offset + other.bytes()
                };
                assert!(taken.iter().all(apart), "{part:?} {taken:?}");
                taken.push(part);
            }
        }
        taken.into_iter().for_each(|part| pool.give(part));
        let sorted = |mut parts: Vec<Part>| {
            parts.sort_unstable();
            parts
        };
        assert_eq!(sorted(pool.free().collect()), sorted(whole));
    }
    #[test]
    fn a_page_that_waits_for_a_large_part_is_not_overtaken() {
        let page = |index| ObjectPage {
            index,
            ..ObjectPage::default()
        };
        let mut buffers = Buffers::new(&[HostAddr::new(1 << 32)], 2 << 12);
        let large = PageSize::from_class(1).unwrap();
        assert_eq!((buffers.largest(), buffers.bytes()), (large, 2 << 12));
        let size = |key: ObjectPage| {
            Some(if key.index == 2 {
                large
            } else {
                PageSize::KIB_4
            })
        };
        buffers.push(page(1), Urgency::Head);
        buffers.push(page(3), Urgency::Hint);
        buffers.push(page(2), Urgency::Ahead);
        let (first, part) = buffers.grant(size).unwrap();
        assert_eq!((first, part.class), (page(1), 0));
        assert!(buffers.grant(size).is_none() && !buffers.is_stalled(size));
        buffers.give(part);
        assert!(buffers.is_stalled(size));
        assert_eq!(buffers.grant(size).unwrap().0, page(2));
        assert!(buffers.grant(size).is_none() && buffers.is_queued(page(3)));
    }
}
