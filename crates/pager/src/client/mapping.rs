//! Creation and removal of mappings.

use crate::action::{Action, Success};
use crate::error::{AccessError, PagerError};
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::page::Waiter;
use crate::pager::Pager;
use crate::request::{answer, Last};
use crate::space::{Mapping, Space, Wanted};
use std::ops::Range;
use units::{Advice, Asid, PageSize, SpacePlacement, Stripe, VirtAddr};

impl Pager {
    pub(crate) fn map(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: Option<VirtAddr>,
        wanted: Wanted,
        out: &mut Vec<Action>,
    ) {
        let result = self.try_map(asid, address, wanted);
        if result.is_ok() {
            self.use_page_size(asid, self.page_size_of(wanted.object), out);
        }
        out.push(answer(request, result));
    }

    fn try_map(
        &mut self,
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
        let page = self.page_size_of(object);
        let unit = self.objects.get(&object).map_or(page, |known| known.unit());
        let placement = self.ready_space(asid)?.placement;
        let stripe = placement.stripe();
        let other = self.stripe_of(object);
        let known = self
            .objects
            .get_mut(&object)
            .ok_or(PagerError::NoSuchObject { object })?;
        let space = self
            .spaces
            .get_mut(&asid)
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
        let pages = bytes.div_ceil(page.bytes());
        if pages == 0 {
            let address = address.unwrap_or_default();
            return Err(PagerError::EmptyRange { address });
        }
        // Without a frame for one page, every access would fail.
        let largest = page.bytes() <= space.limit.unwrap_or(u64::MAX);
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
                .any(|one| (self.memory).could_hold(SpacePlacement::Channel(one), page.class())),
            None => self.memory.could_hold(placement, page.class()),
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
            pages,
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

    /// Has the shell look up pages of a size in a space, before one is installed.
    pub(crate) fn use_page_size(&mut self, asid: Asid, size: PageSize, out: &mut Vec<Action>) {
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        if !space.page_sizes.contains(size) {
            space.page_sizes = space.page_sizes.with(size);
            out.push(Action::UsePageSizes {
                asid,
                size_classes: space.page_sizes.bits(),
            });
        }
    }

    /// Striping of an object's pages, while it is mapped or has a frame.
    fn stripe_of(&self, object: ObjectId) -> Option<Stripe> {
        let all = ObjectPage { object, index: 0 }..=ObjectPage {
            object,
            index: u64::MAX,
        };
        let mut with_frames = self
            .pages
            .range(all)
            .filter(|(_, page)| page.frame.is_some());
        let shows = |space: &&Space| {
            space
                .mappings
                .values()
                .any(|mapping| mapping.object == object)
        };
        let of_frames = with_frames.next().map(|(_, page)| page.stripe);
        of_frames.or_else(|| {
            let space = self.spaces.values().find(shows)?;
            Some(space.placement.stripe())
        })
    }

    pub(crate) fn unmap(
        &mut self,
        request: RequestId,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
        out: &mut Vec<Action>,
    ) {
        let range = match self.checked_range(asid, address, bytes) {
            Ok(range) => range,
            Err(error) => return out.push(answer(request, Err(error))),
        };
        self.requests.open(request, Last::Unmap(asid));
        if let Some(space) = self.spaces.get_mut(&asid) {
            space.unmaps.insert(request);
        }
        self.unmap_pages(request, asid, range, out);
        self.end_requests([request], Ok(()), out);
    }

    /// Checks a range of addresses that must contain a mapping.
    pub(super) fn checked_range(
        &mut self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<Range<u64>, PagerError> {
        if bytes == 0 {
            return Err(PagerError::EmptyRange { address });
        }
        let end = address
            .get()
            .checked_add(bytes)
            .filter(|end| (end - 1) >> VirtAddr::BITS == 0)
            .ok_or(PagerError::RangeTooHigh { address, bytes })?;
        let range = address.get()..end;
        if self.ready_space(asid)?.overlap(&range).is_none() {
            return Err(PagerError::NotMapped {
                asid,
                address,
                bytes,
            });
        }
        Ok(range)
    }

    /// Ends the mappings in a range; the request waits for their pages.
    pub(super) fn unmap_pages(
        &mut self,
        request: RequestId,
        asid: Asid,
        range: Range<u64>,
        out: &mut Vec<Action>,
    ) {
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        let cuts = space.cut(&range);
        for cut in &cuts {
            if let Some(object) = self.objects.get_mut(&cut.gone.1.object) {
                object.remove_user(asid, cut.was);
                for (address, kept) in &cut.kept {
                    object.add_user(asid, *address, kept.object_pages());
                }
            }
        }
        for cut in cuts {
            let (start, mapping) = cut.gone;
            for key in self.pages_of(mapping.object, mapping.object_pages()) {
                let offset = (key.index - mapping.object_pages().start) << mapping.unit.bits();
                let address = VirtAddr::truncated(start.get() + offset);
                self.detach(key, asid, address, out);
                self.release_for(request, key, out);
            }
        }
    }

    /// Removes a page from one address of a space: its entry, and the accesses that wait for it there.
    fn detach(&mut self, key: ObjectPage, asid: Asid, address: VirtAddr, out: &mut Vec<Action>) {
        let Some(page) = self.pages.get_mut(&key) else {
            return;
        };
        let here = |waiter: &Waiter| (waiter.asid, waiter.address) == (asid, address);
        let gone: Vec<_> = page.waiters.iter().copied().filter(here).collect();
        page.waiters.retain(|waiter| !here(waiter));
        let installed = page.entry(asid, address).is_some();
        for waiter in gone {
            self.fail_access(waiter, AccessError::Unmapped, out);
        }
        if installed {
            let mut steps = Vec::new();
            self.remove_entry(key, asid, address, &mut steps);
            for step in steps {
                self.issued.command(step, out);
            }
        }
    }
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
