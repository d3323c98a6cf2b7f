//! Mappings: creation, removal and advice.

use crate::action::Success;
use crate::error::PagerError;
use crate::memory::Memory;
use crate::pages::Pages;
use crate::space::{Cut, Mapping, Space, Wanted};
use crate::spaces::Spaces;
use std::ops::Range;
use units::{Advice, Asid, PageSize, SpacePlacement, VirtAddr};

/// Maps a part of an object into a space.
pub(crate) fn map(
    pages: &mut Pages,
    spaces: &mut Spaces,
    memory: &Memory,
    asid: Asid,
    address: Option<VirtAddr>,
    wanted: Wanted,
) -> Result<Success, PagerError> {
    let Wanted {
        object,
        offset,
        bytes,
        read,
        write,
    } = wanted;
    let page = pages.page_size_of(object);
    let unit = pages.unit_of(object).unwrap_or(page);
    let placement = spaces.ready(asid)?.placement;
    let stripe = placement.stripe();
    // Striping of the object's pages, while it is mapped or has a frame.
    let of_mapping = || Some(spaces.mapping_of(object)?.placement.stripe());
    let other = pages.stripe_of(object).or_else(of_mapping);
    let known = pages
        .object_mut(object)
        .ok_or(PagerError::NoSuchObject { object })?;
    let space = spaces
        .space_mut(asid)
        .ok_or(PagerError::NoSuchSpace { asid })?;
    if known.closing {
        return Err(PagerError::ObjectClosing { object });
    }
    if !read && !write {
        return Err(PagerError::NoRights { object });
    }
    if write && !known.kind.writable() {
        return Err(PagerError::ReadOnlyObject { object });
    }
    if offset % page.bytes() != 0 {
        return Err(PagerError::MisalignedOffset {
            object,
            offset,
            page,
        });
    }
    if offset >= known.end {
        return Err(PagerError::OffsetPastEnd {
            object,
            offset,
            bytes: known.end,
        });
    }
    let count = bytes.div_ceil(page.bytes());
    if count == 0 {
        let address = address.unwrap_or_default();
        return Err(PagerError::EmptyRange { address });
    }
    // Without a frame for one page, every access would fail.
    let largest = page.bytes() <= space.limit.unwrap_or(u64::MAX);
    let frames = memory.frames();
    let fits = match &known.channels {
        // Two placements cannot be combined.
        Some(_) if placement != SpacePlacement::Anywhere => {
            return Err(PagerError::PlacedTwice {
                object,
                asid,
                placement,
            })
        }
        Some(channels) => (channels.clone())
            .any(|one| frames.could_hold(SpacePlacement::Channel(one), page.class())),
        None => frames.could_hold(placement, page.class()),
    };
    if !largest || !fits {
        return Err(PagerError::PageTooLarge { object, asid, page });
    }
    let address = place(space, asid, address, bytes, page)?;
    if let Some(other) = other.filter(|&other| other != stripe) {
        return Err(PagerError::StripesDiffer {
            object,
            asid,
            stripe,
            other,
        });
    }
    let mapping = Mapping {
        pages: count,
        page_size: page,
        unit,
        object,
        first: offset >> page.bits(),
        read,
        write,
        advice: Advice::default(),
    };
    space.mappings.insert(address, mapping);
    known.add_user(asid, address, mapping.object_pages());
    Ok(Success::Mapped(mapping.info(address)))
}

/// Chooses the address of a new mapping.
fn place(
    space: &Space,
    asid: Asid,
    address: Option<VirtAddr>,
    bytes: u64,
    page: PageSize,
) -> Result<VirtAddr, PagerError> {
    let pages = bytes.div_ceil(page.bytes());
    let Some(address) = address else {
        return space
            .gap(pages, page)
            .ok_or(PagerError::NoGap { asid, bytes });
    };
    if address.page_offset(page) != 0 {
        return Err(PagerError::MisalignedAddress { address, page });
    }
    let end = (u128::from(pages) << page.bits()) + u128::from(address.get());
    if end > 1 << VirtAddr::BITS {
        return Err(PagerError::RangeTooHigh { address, bytes });
    }
    match space.overlap(&(address.get()..end as u64)) {
        None => Ok(address),
        Some(existing) => Err(PagerError::Overlap {
            asid,
            address,
            bytes,
            existing,
        }),
    }
}

/// Ends the mappings in a range; returns the removed parts.
pub(crate) fn unmap(
    pages: &mut Pages,
    spaces: &mut Spaces,
    asid: Asid,
    range: &Range<u64>,
) -> Vec<Cut> {
    let space = spaces.space_mut(asid);
    let cuts = space.map_or_else(Vec::new, |space| space.cut(range));
    for cut in &cuts {
        if let Some(object) = pages.object_mut(cut.gone.1.object) {
            object.remove_user(asid, cut.was);
            for (address, kept) in &cut.kept {
                object.add_user(asid, *address, kept.object_pages());
            }
        }
    }
    cuts
}

/// Stores advice with the mappings of a range. Splits a mapping if only a part of it is advised, as `madvise` does.
pub(crate) fn advise(
    pages: &mut Pages,
    spaces: &mut Spaces,
    asid: Asid,
    range: &Range<u64>,
    advice: Advice,
) {
    spaces.note_advice(advice.reuse.is_some());
    let Some(space) = spaces.space_mut(asid) else {
        return;
    };
    let mut touched = Vec::new();
    for cut in space.cut(range) {
        let (start, mut mapping) = cut.gone;
        mapping.advice = mapping.advice.then(advice);
        space.mappings.insert(start, mapping);
        touched.push((mapping.object, mapping.object_pages()));
        let Some(object) = pages.object_mut(mapping.object) else {
            continue;
        };
        object.remove_user(asid, cut.was);
        for (address, piece) in cut.kept.iter().chain([&(start, mapping)]) {
            object.add_user(asid, *address, piece.object_pages());
        }
    }
    for (object, indices) in touched {
        for key in pages.pages_of(object, indices) {
            let keep = spaces.keep_of(pages.object(object), key);
            if let Some(page) = pages.page_mut(key) {
                page.keep = keep;
            }
        }
    }
}
