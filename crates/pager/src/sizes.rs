//! Room for pages of several sizes: whether larger pages pay, and whether there is a frame for one.

use crate::ids::ObjectPage;
use crate::memory::Memory;
use crate::pages::Pages;
use crate::size::PageSizePolicy;
use crate::spaces::Spaces;
use crate::work::Work;
use units::{Asid, PageSize};

/// Whether all mappings of a space could be on the card at once.
pub(crate) fn mapped_fits(spaces: &Spaces, memory: &Memory, asid: Asid, size: PageSize) -> bool {
    spaces.mapped_bytes(asid) <= memory.total_for(spaces, asid, size) << size.bits()
}

/// Whether the parts of blocks of a size are joined in a space.
pub(crate) fn joins_in(
    policy: &mut dyn PageSizePolicy,
    spaces: &Spaces,
    memory: &Memory,
    asid: Asid,
    size: PageSize,
) -> bool {
    let fits = mapped_fits(spaces, memory, asid, size);
    policy.joins(size, fits, spaces.mapped_bytes(asid))
}

/// Whether a frame of a size is free for a space, not counting those that others wait for.
pub(crate) fn has_room(
    pages: &Pages,
    spaces: &Spaces,
    memory: &Memory,
    work: &Work,
    asid: Asid,
    size: PageSize,
) -> bool {
    let Some(space) = spaces.space(asid) else {
        return false;
    };
    let waiting = work.awaiting_frame().into_iter();
    let waiting: u64 = waiting.map(|key| pages.size_of(key).bytes()).sum();
    let within = space
        .limit
        .is_none_or(|limit| space.charged + waiting + size.bytes() <= limit);
    let channels = space.channels.clone();
    let there = memory.frames().available(size.class())[channels].contains(&true);
    within && there && memory.free(size) > waiting.div_ceil(size.bytes())
}

/// Whether a page that has just left may be fetched again at its former size.
pub(crate) fn fits_again(
    pages: &Pages,
    spaces: &Spaces,
    memory: &Memory,
    work: &Work,
    key: ObjectPage,
) -> bool {
    let page = pages.page(key);
    let waiter = page.and_then(|page| Some((page.size, page.waiters.first()?.asid)));
    waiter.is_none_or(|(size, asid)| has_room(pages, spaces, memory, work, asid, size))
}
