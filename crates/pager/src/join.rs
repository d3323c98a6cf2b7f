//! Joining: adjacent small pages on the card become one large page.
//!
//! Small pages arrive earlier, and each is a separate I/O operation; large pages need one entry of the page table and
//! of the TLBs. A file is therefore fetched in small pages, which are placed in adjacent frames where there is room,
//! and when a block of the next larger size is complete, its pages are joined without moving data.

use crate::issue::Step;
use crate::memory::Memory;
use crate::neighbours::Block;
use crate::pages::Pages;
use crate::translate::Translation;
use units::{PageEntry, Target};

impl Block {
    /// The commands that remove the entries of the parts; their reports are the joined page's.
    pub(crate) fn hide(&self, translation: &mut Translation<'_>) -> Vec<Step> {
        let mut steps = Vec::new();
        for &part in &self.parts {
            translation.remove_entries(part, &mut steps);
        }
        for step in &mut steps {
            step.meaning = step.meaning.map(|meaning| meaning.of(self.key));
        }
        steps
    }

    /// Makes one page of the parts. Their entries are removed; the reports of the removal are counted on the joined
    /// page. `forget`: the dirty state of all parts but the first is lost.
    pub(crate) fn unite(&self, pages: &mut Pages, memory: &mut Memory, forget: bool) {
        let mut others = Vec::new();
        for &part in self.parts.iter().filter(|&&part| part != self.key) {
            if let Some(page) = pages.remove(part) {
                if let Some(frame) = page.place.frame {
                    memory.merge(frame);
                }
                others.push(page);
            }
        }
        let Some(whole) = pages.page_mut(self.key) else {
            return;
        };
        whole.size = self.size;
        for part in others {
            whole.entries.unreported += part.entries.unreported;
            whole.entries.accessed |= part.entries.accessed;
            whole.content.dirty |= part.content.dirty && !forget;
            whole.content.cleaned &= part.content.cleaned;
            whole.content.unsaved |= part.content.unsaved;
        }
    }

    /// Writes the entries of the joined page.
    pub(crate) fn show(&self, translation: &mut Translation<'_>) {
        let mut steps = Vec::new();
        for entry in &self.entries {
            let space = translation.spaces.space(entry.asid);
            let read = space.and_then(|space| Some(space.find(entry.address)?.1.read));
            let page = translation.pages.page(self.key);
            let frame = page.and_then(|page| page.place.frame);
            let (Some(read), Some(frame)) = (read, frame) else {
                continue;
            };
            let (issued, asid) = (&mut *translation.issued, entry.asid);
            translation.spaces.use_page_size(issued, asid, self.size);
            let shown = PageEntry {
                frame,
                size: self.size,
                target: Target::Card,
                read,
                write: entry.write,
                accessed: true,
                dirty: false,
            };
            translation.install(self.key, asid, entry.address, shown, &mut steps);
        }
        translation.issued.commands(steps);
    }
}
