//! Model of the L1 TLBs of a space whose walker is off: the host's replies, as many as fit.

use super::table::permits;
use std::collections::VecDeque;
use units::{FaultCause, Operation, PageEntry, PageNumber, VirtAddr};

/// Capacity in translations; the oldest is replaced first.
const ROOM: usize = 32;

/// Translations received with replies.
#[derive(Clone, Debug, Default)]
pub(super) struct HostFilledL1 {
    entries: VecDeque<(PageNumber, PageEntry)>,
}

impl HostFilledL1 {
    /// Adds the reply for `address`.
    pub(super) fn fill(&mut self, address: VirtAddr, entry: PageEntry) {
        let page = PageNumber::containing(address, entry.size);
        self.kill(page);
        if self.entries.len() == ROOM {
            self.entries.pop_front();
        }
        self.entries.push_back((page, entry));
    }

    /// Translates an access if the page is present with the required permission. A write needs a page that the host
    /// knows to be dirty.
    pub(super) fn translate(
        &self,
        address: VirtAddr,
        write: bool,
        host_channel: bool,
    ) -> Result<PageEntry, FaultCause> {
        let holds = |page: &PageNumber| *page == PageNumber::containing(address, page.size);
        let found = self.entries.iter().find(|(page, _)| holds(page));
        let (_, entry) = found.ok_or(FaultCause::Absent)?;
        permits(entry, write, host_channel)?;
        if write && !entry.dirty {
            return Err(FaultCause::Absent);
        }
        Ok(*entry)
    }

    /// Invalidates the entries that a table command makes stale.
    pub(super) fn outdate(&mut self, operation: &Operation) {
        let (address, size) = match *operation {
            Operation::Install { address, entry, .. } => (address, entry.size),
            Operation::Invalidate { address, size, .. }
            | Operation::Protect { address, size, .. } => (address, size),
            _ => return,
        };
        self.kill(PageNumber::containing(address, size));
    }

    fn kill(&mut self, page: PageNumber) {
        self.entries.retain(|(held, _)| *held != page);
    }
}
