//! Adjacent pages of an object: the block that may become one larger page.

use crate::event::ObjectKind;
use crate::ids::ObjectPage;
use crate::page::{Entry, Page, State};
use crate::pages::Pages;
use units::{FrameNumber, PageSize, Stripe, VirtAddr};

/// A block of an object, and its parts.
pub(crate) struct Block {
    /// Its first page, which identifies the joined page.
    pub(crate) key: ObjectPage,
    pub(crate) size: PageSize,
    /// Keys of its parts, in order.
    pub(crate) parts: Vec<ObjectPage>,
    /// Entries of the first part: those of the joined page.
    pub(crate) entries: Vec<Entry>,
}

impl Pages {
    /// The next larger block that contains a page, if all of it is on the card, mapped alike and quiet. `examined`: a
    /// page's accessed bits are being read.
    pub(crate) fn complete_block(
        &self,
        key: ObjectPage,
        examined: impl Fn(ObjectPage) -> bool,
    ) -> Option<Block> {
        let (page, object) = self.page_and_object(key)?;
        // Direct pages have one size.
        let size = object.sizes.iter().find(|&size| size > page.size)?;
        if matches!(object.kind, ObjectKind::Host { .. }) || page.place.stripe != Stripe::NONE {
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
        let one = self.page(first)?;
        let base = one.place.frame?;
        if base.get() % (1 << size.class()) != 0 || one.entries.list.is_empty() {
            return None;
        }
        let parts = (first.index..first.index + units).step_by(step as usize);
        let parts: Vec<ObjectPage> = parts.map(|index| ObjectPage { index, ..key }).collect();
        let fits = |(part, number): (&ObjectPage, u32)| {
            let there = self.page(*part).filter(|other| other.size == page.size)?;
            let frame = FrameNumber::new(base.get() + (number << page.size.class()));
            let offset = u64::from(number) << page.size.bits();
            let alike = there.place.frame == frame && shown_alike(one, there, offset);
            let quiet = is_quiet(there) && !examined(*part);
            (alike && quiet && goes_with(one, there)).then_some(())
        };
        parts.iter().zip(0..).try_for_each(fits)?;
        Some(Block {
            key: first,
            size,
            parts,
            entries: one.entries.list.clone(),
        })
    }

    /// Frame of a page next to the parts of its largest block that have frames.
    pub(crate) fn frame_beside(&self, key: ObjectPage) -> Option<FrameNumber> {
        let (start, largest, unit) = self.block_around(key)?;
        let units = 1u64 << (largest.bits() - unit.bits());
        let to_frames = unit.class();
        let within = self.range(start.object, start.index..start.index + units);
        within
            .filter(|(_, page)| page.place.stripe == Stripe::NONE)
            .find_map(|(other, page)| {
                let offset = ((other.index - start.index) << to_frames) as u32;
                let base = page.place.frame?.get().checked_sub(offset)?;
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
        let object = self.object(key.object)?;
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

/// Whether nothing is under way for a page but an examination, and no access or request waits for it.
fn is_quiet(page: &Page) -> bool {
    page.state() == State::Resident
        && (page.entries.unreported, page.entries.examining) == (0, 0)
        && page.waiters.is_empty()
        && page.requests.is_empty()
}

/// Whether two pages count against the same space and are treated alike.
fn goes_with(one: &Page, other: &Page) -> bool {
    let (place, other_place) = (one.place, other.place);
    (place.charged, place.stripe) == (other_place.charged, other_place.stripe)
        && (one.keep, one.exclusive) == (other.keep, other.exclusive)
        && one.content.drop_dirty == other.content.drop_dirty
}

/// Whether each space that maps one page maps the other, `offset` bytes behind it, with the same rights.
fn shown_alike(one: &Page, other: &Page, offset: u64) -> bool {
    let behind = |entry: &Entry| Entry {
        address: VirtAddr::truncated(entry.address.get() + offset),
        ..*entry
    };
    let (one, other) = (&one.entries.list, &other.entries.list);
    let mut entries = one.iter().map(behind);
    one.len() == other.len() && entries.all(|entry| other.contains(&entry))
}
