//! DMA buffers, cut into parts of one page.

use crate::ids::BufferId;
use units::HostAddr;

/// A page's worth of a DMA buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Part {
    /// Which buffer.
    pub buffer: BufferId,
    /// Where in it.
    pub offset: u64,
    /// The same place as the card sees it.
    pub address: HostAddr,
}

/// The parts that nobody uses. The one given back last is handed out first: it is warm.
#[derive(Clone, Debug, Hash)]
pub(crate) struct BufferPool {
    free: Vec<Part>,
    total: usize,
}

impl BufferPool {
    pub(crate) fn new(buffers: &[HostAddr], buffer_bytes: u64, page_bytes: u64) -> Self {
        let parts = buffer_bytes / page_bytes;
        let free: Vec<Part> = buffers
            .iter()
            .enumerate()
            .rev()
            .flat_map(|(index, &base)| {
                (0..parts).rev().map(move |part| Part {
                    buffer: BufferId(index as u32),
                    offset: part * page_bytes,
                    address: base.offset(part * page_bytes),
                })
            })
            .collect();
        Self {
            total: free.len(),
            free,
        }
    }

    pub(crate) fn take(&mut self) -> Option<Part> {
        self.free.pop()
    }

    pub(crate) fn give(&mut self, part: Part) {
        debug_assert!(!self.free.contains(&part), "{part:?} given back twice");
        self.free.push(part);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.is_empty()
    }

    pub(crate) fn free(&self) -> &[Part] {
        &self.free
    }

    pub(crate) fn total(&self) -> usize {
        self.total
    }
}
