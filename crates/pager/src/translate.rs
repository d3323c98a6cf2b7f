//! Translations: page-table entries, and the replies to accesses that wait for them.

use crate::action::Action;
use crate::config::Config;
use crate::error::AccessError;
use crate::eviction::EvictionPolicy;
use crate::ids::ObjectPage;
use crate::issue::{Issued, Meaning, Step};
use crate::memory::Memory;
use crate::page::{Entry, Page, Waiter, Wish};
use crate::pages::Pages;
use crate::sabotage::{Injected, Sabotage};
use crate::spaces::Spaces;
use crate::statistics::Counts;
use units::{Asid, Operation, PageEntry, VirtAddr};

/// Writes and removes entries, and answers accesses. Entries belong to pages and to tables of spaces; tables grow into
/// card memory.
pub(crate) struct Translation<'a> {
    pub(crate) config: &'a Config,
    pub(crate) pages: &'a mut Pages,
    pub(crate) spaces: &'a mut Spaces,
    pub(crate) memory: &'a mut Memory,
    pub(crate) issued: &'a mut Issued,
    pub(crate) counts: &'a mut Counts,
    pub(crate) eviction: &'a dyn EvictionPolicy,
    pub(crate) injected: Injected,
}

impl Translation<'_> {
    /// Writes entries and replies for all requests that wait for a resident page.
    pub(crate) fn serve(&mut self, key: ObjectPage) -> Vec<Step> {
        let mut steps = Vec::new();
        let Some(page) = self.pages.page_mut(key) else {
            return steps;
        };
        let (later, now) = std::mem::take(&mut page.waiters)
            .into_iter()
            .partition(|waiter| page.awaits_upgrade(waiter));
        page.waiters = later;
        let now: Vec<Waiter> = now;
        for waiter in now {
            self.serve_one(key, waiter, &mut steps);
        }
        steps
    }

    /// Writes the entries and replies without waiting.
    pub(crate) fn serve_now(&mut self, key: ObjectPage) {
        let steps = self.serve(key);
        self.issued.commands(steps);
    }

    fn serve_one(&mut self, key: ObjectPage, waiter: Waiter, steps: &mut Vec<Step>) {
        let Waiter {
            asid,
            address,
            wish,
        } = waiter;
        if wish == Wish::Load {
            return;
        }
        let space = self.spaces.space(asid);
        let rights = space
            .and_then(|space| space.find(address))
            .filter(|(_, _, page)| *page == key)
            .map(|(_, mapping, _)| (mapping.read, mapping.write));
        let page = self.pages.page(key);
        let place = page.and_then(|page| Some((page.target()?, page)));
        let (Some((read, write)), Some(((frame, target), page))) = (rights, place) else {
            return self.fail_access(waiter, AccessError::NotMapped);
        };
        let size = page.size;
        let marks = waiter.writes() && !self.injected.is(Sabotage::ForgetAnsweredWrite);
        let write = write && page.exclusive;
        let mut entry = PageEntry {
            frame,
            size,
            target,
            read,
            write,
            accessed: waiter.access().is_some(),
            // A page that is known to be dirty needs no mark by a later write, which without a walker were a fault.
            dirty: marks || write && page.content.dirty,
        };
        match page.entry(asid, address).copied() {
            Some(existing) if existing.write || !waiter.writes() => {
                entry.write = existing.write;
                entry.dirty &= existing.write;
            }
            existing => {
                if existing.is_some() {
                    self.pages.note_rewritten(key);
                    // A downgraded entry may have copies: remove it with the whole sequence.
                    self.remove_entry(key, asid, address, steps);
                }
                self.spaces.use_page_size(self.issued, asid, size);
                self.install(key, asid, address, entry, steps);
            }
        }
        if let Some(access) = waiter.access() {
            let reply = Operation::FaultReply {
                token: access.token,
                entry: Some(entry),
            };
            steps.push(Step::new(reply, None).of(Some(asid)));
        }
        if let Some(page) = self.pages.page_mut(key).filter(|_| marks) {
            // The access completes with the reply, even if the entry changes later: count it now.
            page.content.dirty = true;
        }
    }

    /// The entry that must be removed before one at an address can be written.
    fn conflict(
        &self,
        asid: Asid,
        address: VirtAddr,
        entry: PageEntry,
    ) -> Option<(VirtAddr, ObjectPage)> {
        let space = self.spaces.space(asid)?;
        let spares = self.eviction.spares_written();
        let spared = |page| spares && self.pages.page(page).is_some_and(Page::may_be_written);
        space.table.conflict(address, entry.size, spared)
    }

    /// Writes an entry; if its set is full, the table grows, or the oldest entry of the set is evicted first.
    pub(crate) fn install(
        &mut self,
        key: ObjectPage,
        asid: Asid,
        address: VirtAddr,
        entry: PageEntry,
        steps: &mut Vec<Step>,
    ) {
        if self.conflict(asid, address, entry).is_some() {
            self.grow_table(asid, steps);
            if let Some((victim, page)) = self.conflict(asid, address, entry) {
                self.counts
                    .add_in(Some(asid), |counts| counts.set_conflicts += 1);
                let before = steps.len();
                self.remove_entry(page, asid, victim, steps);
                if self.injected.is(Sabotage::OverfillSet) {
                    steps.truncate(before);
                    if let Some(page) = self.pages.page_mut(page) {
                        page.entries.unreported -= 1;
                    }
                }
            }
        }
        if let Some(space) = self.spaces.space_mut(asid) {
            space.table.insert(address, key, entry.size);
        }
        if let Some(page) = self.pages.page_mut(key) {
            page.entries.list.push(Entry {
                asid,
                address,
                write: entry.write,
            });
        }
        let operation = Operation::Install {
            asid,
            address,
            entry,
        };
        steps.push(Step::new(operation, None));
    }

    /// Removes an entry. Its report is outstanding from here on.
    pub(crate) fn remove_entry(
        &mut self,
        key: ObjectPage,
        asid: Asid,
        address: VirtAddr,
        steps: &mut Vec<Step>,
    ) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        let entries = &mut page.entries;
        entries
            .list
            .retain(|entry| (entry.asid, entry.address) != (asid, address));
        entries.unreported += 1;
        let size = page.size;
        if let Some(space) = self.spaces.space_mut(asid) {
            space.table.remove(address);
        }
        let operation = Operation::Invalidate {
            asid,
            address,
            size,
        };
        steps.push(Step::new(operation, Some(Meaning::Reported(key))));
    }

    /// Removes all entries of a page.
    pub(crate) fn remove_entries(&mut self, key: ObjectPage, steps: &mut Vec<Step>) {
        let entries = self.pages.page(key).map(|page| page.entries.list.clone());
        for entry in entries.into_iter().flatten() {
            self.remove_entry(key, entry.asid, entry.address, steps);
        }
    }

    /// Removes a page from one address of a space: its entry, and the accesses that wait for it there.
    pub(crate) fn detach(&mut self, key: ObjectPage, asid: Asid, address: VirtAddr) {
        let Some(page) = self.pages.page_mut(key) else {
            return;
        };
        let here = |waiter: &Waiter| (waiter.asid, waiter.address) == (asid, address);
        let gone: Vec<_> = page.waiters.iter().copied().filter(here).collect();
        page.waiters.retain(|waiter| !here(waiter));
        let installed = page.entry(asid, address).is_some();
        for waiter in gone {
            self.fail_access(waiter, AccessError::Unmapped);
        }
        if installed {
            let mut steps = Vec::new();
            self.remove_entry(key, asid, address, &mut steps);
            self.issued.commands(steps);
        }
    }

    /// Reports a failed access to its kernel and the owner. Hints end without a report.
    pub(crate) fn fail_access(&mut self, waiter: Waiter, reason: AccessError) {
        let Some(access) = waiter.access() else {
            return;
        };
        self.counts
            .add_in(Some(waiter.asid), |counts| counts.accesses_failed += 1);
        let reply = Operation::FaultReply {
            token: access.token,
            entry: None,
        };
        let step = Step::new(reply, None).of(Some(waiter.asid));
        self.issued.command(step);
        let space = self.spaces.space(waiter.asid);
        self.issued.push(Action::AccessFailed {
            token: access.token,
            asid: waiter.asid,
            address: access.address,
            write: access.write,
            reason,
            nearest: space.and_then(|space| space.nearest(access.address)),
        });
    }

    /// Fails all requests that wait for a page.
    pub(crate) fn fail_waiters(&mut self, key: ObjectPage, reason: AccessError) {
        let page = self.pages.page_mut(key);
        let waiters = page.map(|page| std::mem::take(&mut page.waiters));
        for waiter in waiters.into_iter().flatten() {
            self.fail_access(waiter, reason);
        }
    }
}
