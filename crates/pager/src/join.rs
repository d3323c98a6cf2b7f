//! Joining: adjacent small pages on the card become one large page.
//!
//! Small pages arrive earlier, and each is a separate I/O operation; large pages need one entry of the page table and
//! of the TLBs. A file is therefore fetched in small pages, which are placed in adjacent frames where there is room,
//! and when a block of the next larger size is complete, its pages are joined without moving data.

use crate::action::Action;
use crate::event::ObjectKind;
use crate::ids::ObjectPage;
use crate::page::{Entry, Page, State};
use crate::pager::Pager;
use crate::sabotage::Sabotage;
use units::{FrameNumber, PageEntry, PageSize, Stripe, Target, VirtAddr};

/// A block of an object, and its parts.
struct Block {
    /// Its first page, which identifies the joined page.
    key: ObjectPage,
    size: PageSize,
    /// Keys of its parts, in order.
    parts: Vec<ObjectPage>,
}

impl Pager {
    /// Joins pages that have become idle into larger ones. Runs at the end of an event, when no code iterates over
    /// pages: a request that has completed one page of a block must still find the others.
    pub(crate) fn join_rested(&mut self, out: &mut Vec<Action>) {
        for key in std::mem::take(&mut self.rested) {
            self.join(key, out);
        }
    }

    /// Joins an idle page with the rest of its block, if all of it is on the card, mapped alike and quiet. The small
    /// entries are removed and the large one is written behind them: an access in between waits for the host, as for
    /// any removed entry.
    fn join(&mut self, key: ObjectPage, out: &mut Vec<Action>) {
        let Some(block) = self.complete_block(key) else {
            return;
        };
        let Some(entries) = self.pages.get(&block.key).map(|page| page.entries.clone()) else {
            return;
        };
        if !entries
            .iter()
            .all(|entry| self.joins_in(entry.asid, block.size))
        {
            return;
        }
        let mut steps = Vec::new();
        for &part in &block.parts {
            let shown = self.pages.get(&part).map(|page| page.entries.clone());
            for entry in shown.into_iter().flatten() {
                self.remove_entry(part, entry.asid, entry.address, &mut steps);
            }
        }
        for step in &mut steps {
            step.meaning = step.meaning.map(|meaning| meaning.of(block.key));
        }
        self.unite(&block);
        for step in steps {
            self.issued.command(step, out);
        }
        let mut steps = Vec::new();
        for entry in entries {
            let space = self.spaces.get(&entry.asid);
            let read = space.and_then(|space| Some(space.find(entry.address)?.1.read));
            let frame = self.pages.get(&block.key).and_then(|page| page.frame);
            let (Some(read), Some(frame)) = (read, frame) else {
                continue;
            };
            self.use_page_size(entry.asid, block.size, out);
            let shown = PageEntry {
                frame,
                size: block.size,
                target: Target::Card,
                read,
                write: entry.write,
                accessed: true,
                dirty: false,
            };
            self.install(block.key, entry.asid, entry.address, shown, &mut steps);
        }
        for step in steps {
            self.issued.command(step, out);
        }
        self.statistics.pages_joined += 1;
    }

    /// The next larger block that contains a page, if it is complete.
    fn complete_block(&self, key: ObjectPage) -> Option<Block> {
        let object = self.objects.get(&key.object)?;
        let page = self.pages.get(&key)?;
        // Direct pages have one size.
        let size = object.sizes.iter().find(|&size| size > page.size)?;
        if matches!(object.kind, ObjectKind::Host { .. }) || page.stripe != Stripe::NONE {
            return None;
        }
        let unit = object.unit().bits();
        let (step, units) = (
            1u64 << (page.size.bits() - unit),
            1u64 << (size.bits() - unit),
        );
        let first = ObjectPage {
            index: key.index / units * units,
            ..key
        };
        let one = self.pages.get(&first)?;
        let base = one.frame?;
        if base.get() % (1 << size.class()) != 0 || one.entries.is_empty() {
            return None;
        }
        let parts = (first.index..first.index + units).step_by(step as usize);
        let parts: Vec<ObjectPage> = parts.map(|index| ObjectPage { index, ..key }).collect();
        let fits = |(part, number): (&ObjectPage, u32)| {
            let there = self
                .pages
                .get(part)
                .filter(|other| other.size == page.size)?;
            let frame = FrameNumber::new(base.get() + (number << page.size.class()));
            let offset = u64::from(number) << page.size.bits();
            let alike = there.frame == frame && shown_alike(one, there, offset);
            (alike && self.is_quiet(*part, there) && goes_with(one, there)).then_some(())
        };
        parts.iter().zip(0..).try_for_each(fits)?;
        Some(Block {
            key: first,
            size,
            parts,
        })
    }

    /// Whether nothing is under way for a page, and no access or request waits for it.
    fn is_quiet(&self, key: ObjectPage, page: &Page) -> bool {
        let requests = [&page.joined, &page.wanted, &page.leaving, &page.returning];
        page.state == State::Resident
            && (page.unreported, page.examining) == (0, 0)
            && !self.examined.contains(&key)
            && page.waiters.is_empty()
            && requests.iter().all(|requests| requests.is_empty())
    }

    /// Makes one page of the parts. Their entries are removed; the reports of the removal are counted on the joined
    /// page.
    fn unite(&mut self, block: &Block) {
        let mut others = Vec::new();
        for &part in &block.parts {
            if part == block.key {
                continue;
            }
            if let Some(page) = self.pages.remove(&part) {
                if let Some(frame) = page.frame {
                    self.owners.remove(&frame);
                }
                others.push(page);
            }
        }
        let forget = self.sabotaged(Sabotage::JoinForgetsWrites);
        let Some(whole) = self.pages.get_mut(&block.key) else {
            return;
        };
        whole.size = block.size;
        for part in others {
            whole.unreported += part.unreported;
            whole.accessed |= part.accessed;
            whole.dirty |= part.dirty && !forget;
            whole.cleaned &= part.cleaned;
            whole.unsaved |= part.unsaved;
        }
        self.policies.eviction.joined(&block.parts, block.key);
    }

    /// Frame of a page next to the parts of its largest block that have frames.
    pub(crate) fn frame_beside(&self, key: ObjectPage) -> Option<FrameNumber> {
        let (start, largest, unit) = self.block_around(key)?;
        let units = 1u64 << (largest.bits() - unit.bits());
        let end = ObjectPage {
            index: start.index + units,
            ..start
        };
        let to_frames = unit.class();
        let within = self.pages.range(start..end);
        within
            .filter(|(_, page)| page.stripe == Stripe::NONE)
            .find_map(|(other, page)| {
                let offset = ((other.index - start.index) << to_frames) as u32;
                let base = page.frame?.get().checked_sub(offset)?;
                let aligned = base % (1 << largest.class()) == 0;
                let place = base + ((key.index - start.index) << to_frames) as u32;
                aligned.then(|| FrameNumber::new(place))?
            })
    }

    /// Size of the largest page that a page may be joined into, and its offset in the frame of that page, in units of 4
    /// KiB.
    pub(crate) fn place_in_block(&self, key: ObjectPage) -> Option<(PageSize, u32)> {
        let (start, largest, unit) = self.block_around(key)?;
        Some((largest, ((key.index - start.index) << unit.class()) as u32))
    }

    /// The largest block around a page that may be joined: its start, its size, and the smallest pages.
    fn block_around(&self, key: ObjectPage) -> Option<(ObjectPage, PageSize, PageSize)> {
        let object = self.objects.get(&key.object)?;
        let (largest, unit) = (object.page_size, object.unit());
        if self.size_of(key) >= largest || matches!(object.kind, ObjectKind::Host { .. }) {
            return None;
        }
        let units = 1u64 << (largest.bits() - unit.bits());
        let start = ObjectPage {
            index: key.index / units * units,
            ..key
        };
        Some((start, largest, unit))
    }
}

/// Whether two pages count against the same space and are treated alike.
fn goes_with(one: &Page, other: &Page) -> bool {
    (one.charged, one.keep, one.stripe) == (other.charged, other.keep, other.stripe)
        && (one.exclusive, one.drop_dirty) == (other.exclusive, other.drop_dirty)
}

/// Whether each space that maps one page maps the other, `offset` bytes behind it, with the same rights.
fn shown_alike(one: &Page, other: &Page, offset: u64) -> bool {
    let behind = |entry: &Entry| Entry {
        address: VirtAddr::truncated(entry.address.get() + offset),
        ..*entry
    };
    one.entries.len() == other.entries.len()
        && one
            .entries
            .iter()
            .map(behind)
            .all(|entry| other.entries.contains(&entry))
}
