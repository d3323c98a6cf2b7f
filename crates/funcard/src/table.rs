//! Page tables in card memory, in the format of docs/architecture.md ("Page-table entry").

use super::memory::CardMemory;
use units::{
    CardAddr, Operation, PageEntry, PageNumber, PageSize, Stripe, TableGeometry, Target, VirtAddr,
};
use units::{CommandStatus, FaultCause};

/// An enabled address space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Space {
    pub(super) table: TableGeometry,
    /// Bit k: pages of size class k are allowed.
    pub(super) size_classes: u32,
    /// Interleaving of its frames over the channels.
    pub(super) stripe: Stripe,
    /// The table is not walked; replies fill the L1 TLBs.
    pub(super) walker_off: bool,
    /// Pages in host memory are reachable.
    pub(super) host_channel: bool,
}

/// An entry and its position.
struct Found {
    at: CardAddr,
    tag: u64,
    entry: PageEntry,
}

/// Result of a table command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: CommandStatus,
    pub(super) accessed: bool,
    pub(super) dirty: bool,
}

impl Answer {
    pub(super) const fn bare(status: CommandStatus) -> Self {
        Self {
            status,
            accessed: false,
            dirty: false,
        }
    }
}

impl Space {
    fn slot(&self, page: PageNumber, way: usize) -> CardAddr {
        let address = self.table.base().get() + 64 * self.table.set(page) + 8 * way as u64;
        CardAddr::new(address).unwrap_or_default()
    }

    fn uses(&self, size: PageSize) -> bool {
        self.size_classes >> size.class() & 1 != 0
    }

    fn find(&self, memory: &CardMemory, page: PageNumber) -> Option<Found> {
        (0..TableGeometry::WAYS).find_map(|way| {
            let at = self.slot(page, way);
            let (tag, entry) = PageEntry::decode(memory.read_word(at))?;
            let same = tag == self.table.tag(page) && entry.size == page.size;
            same.then_some(Found { at, tag, entry })
        })
    }

    /// Translates an access and, if `mark`, sets the accessed and dirty bits that it causes.
    pub(super) fn translate(
        &self,
        memory: &mut CardMemory,
        address: VirtAddr,
        write: bool,
        mark: bool,
    ) -> Result<PageEntry, FaultCause> {
        let found = (0..=PageSize::GIB_1.class())
            .filter_map(PageSize::from_class)
            .filter(|&size| self.uses(size))
            .find_map(|size| self.find(memory, PageNumber::containing(address, size)))
            .ok_or(FaultCause::Absent)?;
        permits(&found.entry, write, self.host_channel)?;
        if mark {
            let marked = PageEntry {
                accessed: true,
                dirty: found.entry.dirty || write,
                ..found.entry
            };
            memory.write_word(found.at, marked.encode(found.tag));
        }
        Ok(found.entry)
    }

    /// Executes a table command whose space this is. Other operations are refused.
    pub(super) fn execute(&self, memory: &mut CardMemory, operation: &Operation) -> Answer {
        let (address, size) = match *operation {
            Operation::Install { address, entry, .. } => (address, entry.size),
            Operation::Invalidate { address, size, .. }
            | Operation::Protect { address, size, .. }
            | Operation::ReadClear { address, size, .. } => (address, size),
            _ => return Answer::bare(CommandStatus::Refused),
        };
        if !self.uses(size) || address.page_offset(size) != 0 {
            return Answer::bare(CommandStatus::Refused);
        }
        let page = PageNumber::containing(address, size);
        let found = self.find(memory, page);
        if let Operation::Install { entry, .. } = *operation {
            return Answer::bare(self.install(memory, page, entry, found));
        }
        let Some(Found { at, tag, entry }) = found else {
            return Answer::bare(CommandStatus::Absent);
        };
        let word = match operation {
            Operation::Invalidate { .. } => 0,
            Operation::Protect { .. } => {
                let protected = PageEntry {
                    write: false,
                    dirty: false,
                    ..entry
                };
                protected.encode(tag)
            }
            _ => {
                let cleared = PageEntry {
                    accessed: false,
                    ..entry
                };
                cleared.encode(tag)
            }
        };
        memory.write_word(at, word);
        Answer {
            status: CommandStatus::Ok,
            accessed: entry.accessed,
            dirty: entry.dirty,
        }
    }

    /// The space with its table moved to one of twice the size; `None` if that is impossible.
    pub(super) fn grow(&self, memory: &mut CardMemory, to: TableGeometry) -> Option<Self> {
        let fits = self.table.doubled(to.base()) == Some(to);
        if !fits || !memory.contains(to.base(), to.bytes()) {
            return None;
        }
        let grown = Self { table: to, ..*self };
        memory.zero(to.base(), to.bytes());
        for set in 0..1 << self.table.sets_log2() {
            for way in 0..TableGeometry::WAYS {
                let at = self.table.base().get() + 64 * set + 8 * way as u64;
                let word = memory.read_word(CardAddr::new(at)?);
                if let Some((tag, entry)) = PageEntry::decode(word) {
                    let page = self.table.page(set, tag, entry.size);
                    memory.write_word(grown.slot(page, way), entry.encode(to.tag(page)));
                }
            }
        }
        Some(grown)
    }

    fn install(
        &self,
        memory: &mut CardMemory,
        page: PageNumber,
        entry: PageEntry,
        found: Option<Found>,
    ) -> CommandStatus {
        let free = || {
            (0..TableGeometry::WAYS)
                .map(|way| self.slot(page, way))
                .find(|&at| memory.read_word(at) & 1 == 0)
        };
        match found.map(|found| found.at).or_else(free) {
            None => CommandStatus::SetFull,
            Some(at) => {
                memory.write_word(at, entry.encode(self.table.tag(page)));
                CommandStatus::Ok
            }
        }
    }
}

/// The first frame that an entry cannot name with a host channel: there the upper half of the card's addresses is the
/// window to the host.
const FIRST_OF_WINDOW: u32 = 1 << 24;

/// Whether the page of an entry is reachable.
pub(super) fn reachable(entry: &PageEntry, host_channel: bool) -> bool {
    let lower_half = entry.frame.get() < FIRST_OF_WINDOW;
    match entry.target {
        Target::Card => lower_half || !host_channel,
        Target::Host => lower_half && host_channel,
        _ => false,
    }
}

/// Whether an entry permits an access.
pub(super) fn permits(
    entry: &PageEntry,
    write: bool,
    host_channel: bool,
) -> Result<(), FaultCause> {
    let allowed = if write { entry.write } else { entry.read };
    match entry.target {
        _ if !allowed => Err(FaultCause::Permission),
        _ if reachable(entry, host_channel) => Ok(()),
        _ => Err(FaultCause::Target),
    }
}
