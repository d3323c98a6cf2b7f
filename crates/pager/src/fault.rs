//! Faults: accesses of kernels that wait for the host, and the pages that are fetched with theirs.

use crate::clean;
use crate::demand::Demand;
use crate::error::AccessError;
use crate::fetch::{FetchPolicy, Touch};
use crate::host_memory::{self, Ahead};
use crate::ids::ObjectPage;
use crate::page::{Access, Waiter, Wish};
use crate::queue::Urgency;
use crate::size::{PageSizePolicy, SizeTouch};
use crate::sizes::{has_room, mapped_fits};
use crate::space::Mapping;
use crate::spaces::MappedPart;
use crate::translate::Translation;
use units::{Fault, PageSize, VirtAddr};

/// A page of a mapping that was accessed.
struct Touched {
    /// First address of the mapping.
    start: VirtAddr,
    mapping: Mapping,
    page: ObjectPage,
    size: PageSize,
}

/// Decides which pages an access needs, and requests them.
pub(crate) struct Faults<'a> {
    pub(crate) demand: Demand<'a>,
    pub(crate) fetch: &'a mut dyn FetchPolicy,
    pub(crate) sizes: &'a mut dyn PageSizePolicy,
}

impl Faults<'_> {
    /// Handles a kernel access that waits.
    pub(crate) fn fault(&mut self, fault: Fault) {
        let Fault {
            token,
            asid,
            address,
            write,
            ahead,
            cause: _,
        } = fault;
        let translation = &mut self.demand.translation;
        translation.counts.add_in(Some(asid), |counts| {
            counts.faults += 1;
            counts.faults_ahead += u64::from(ahead);
        });
        let space = translation.spaces.space(asid);
        let found = space.and_then(|space| space.find(address));
        let usual = translation.pages.sizes().usual;
        let size = found.map_or(usual, |(_, mapping, _)| mapping.page_size);
        let waiter = Waiter {
            asid,
            address: address.page_base(size),
            wish: Wish::Access(Access {
                token,
                address,
                write,
            }),
        };
        let (start, mapping, at) = match found {
            None => return translation.fail_access(waiter, AccessError::NotMapped),
            Some((_, mapping, _)) if write && !mapping.write => {
                return translation.fail_access(waiter, AccessError::NotWritable)
            }
            Some((_, mapping, _)) if !write && !mapping.read => {
                return translation.fail_access(waiter, AccessError::NotReadable)
            }
            Some((start, mapping, page)) => (start, *mapping, page),
        };
        let (page, size) = self.page_of_access(&fault, start, &mapping, at);
        let urgency = if ahead { Urgency::Ahead } else { Urgency::Head };
        let translation = &mut self.demand.translation;
        if let Some(state) = translation.pages.state(page) {
            let resident = u64::from(state.serves());
            translation.counts.add_in(Some(asid), |counts| {
                counts.faults_resident += resident;
                counts.faults_joined += 1 - resident;
            });
        }
        let waiter = Waiter {
            address: address.page_base(size),
            ..waiter
        };
        self.demand.want(page, size, waiter, urgency);
        let touched = Touched {
            start,
            mapping,
            page,
            size,
        };
        let ahead = self.fetch_ahead(&fault, touched);
        let Translation { pages, issued, .. } = &mut self.demand.translation;
        let large = pages.page_size_of(page.object).min(PageSize::MIB_2);
        if size >= large {
            host_memory::expect_writes(pages, page.object, write, &ahead);
        }
        if write && size >= large {
            for range in ahead.ranges {
                host_memory::upgrade_ahead(pages, self.demand.work, issued, page.object, range);
            }
        }
    }

    /// Begins the fetches that the fetch policy asks for in addition to the accessed page.
    fn fetch_ahead(&mut self, fault: &Fault, touched: Touched) -> Ahead {
        let (asid, write, requester) = (fault.asid, fault.write, fault.token.requester);
        let Touched {
            start,
            mapping,
            page,
            size,
        } = touched;
        let Translation {
            config,
            pages,
            spaces,
            memory,
            ..
        } = &self.demand.translation;
        let mapped = mapping.object_pages();
        // Policies count in pages of the size that was accessed.
        let bits = size.bits() - mapping.unit.bits();
        let (at, varies) = (page.index, mapping.unit < mapping.page_size);
        let page = ObjectPage {
            index: page.index >> bits,
            ..page
        };
        let mapped = mapped.start >> bits..mapped.end >> bits;
        let frames = match pages.is_direct(page.object) {
            true => u64::MAX,
            false => memory.total_for(spaces, asid, size),
        };
        let touch = Touch {
            requester,
            write,
            page,
            page_size: size,
            mapped: mapped.clone(),
            frames,
            advice: mapping.advice,
        };
        let there = |index: u64| {
            // A sequence may have begun in another mapping, before this one.
            let Some(offset) = index.checked_sub(touch.mapped.start) else {
                return false;
            };
            let at = ObjectPage {
                index: index << bits,
                ..page
            };
            let held = pages.covering_in(at, mapping.unit);
            let held = held.and_then(|key| pages.page(key));
            let address = VirtAddr::truncated(start.get() + (offset << size.bits()));
            held.is_some_and(|page| page.is_ready_for(asid, address, write))
        };
        let plan = self.fetch.touched(&touch, &there);
        if write && config.overlap {
            let passed = plan.passed.start << bits..plan.passed.end << bits;
            clean::note_passed(pages, self.demand.work, page.object, passed);
        }
        let urgency = if plan.pushes {
            Urgency::Soon
        } else {
            Urgency::Hint
        };
        let (from, to) = (
            plan.ahead.start.max(mapped.start),
            plan.ahead.end.min(mapped.end),
        );
        // Before the page and behind it: the page itself is served separately.
        let parts = [from..to.min(page.index), from.max(page.index + 1)..to];
        for part in parts.clone() {
            if part.is_empty() {
                continue;
            }
            let offset = (part.start - mapped.start) << size.bits();
            let indices = part.start << bits..part.end << bits;
            if varies && plan.pushes && indices.start > at {
                self.sizes.comes(requester, indices.clone());
            }
            let part = MappedPart {
                address: VirtAddr::truncated(start.get() + offset),
                object: mapping.object,
                indices,
            };
            let marker = plan.marker.map(|marker| marker << bits);
            self.demand.want_ahead(asid, part, size, marker, urgency);
        }
        Ahead {
            ranges: parts.map(|part| part.start << bits..part.end << bits),
            goes_on: plan.pushes && !plan.jump,
        }
    }

    /// The page that an access waits for: the one that contains it, or a new one.
    fn page_of_access(
        &mut self,
        fault: &Fault,
        start: VirtAddr,
        mapping: &Mapping,
        at: ObjectPage,
    ) -> (ObjectPage, PageSize) {
        if mapping.unit == mapping.page_size {
            return (at, mapping.page_size);
        }
        let Translation {
            pages,
            spaces,
            memory,
            counts,
            ..
        } = &mut self.demand.translation;
        let Some(sizes) = pages.object(at.object).map(|object| object.sizes) else {
            return (at, mapping.unit);
        };
        let (asid, requester) = (fault.asid, fault.token.requester);
        let covering = pages.covering(at);
        let covered = covering.map(|key| {
            let size = pages.size_of(key);
            (key, size, 1 << (size.bits() - mapping.unit.bits()))
        });
        // Larger pages are made by joining these.
        let whole = mapping.page_size.min(PageSize::MIB_2);
        let memory_pages = memory.total_for(spaces, asid, mapping.unit);
        let touch = SizeTouch {
            requester,
            object: at.object,
            index: at.index,
            sizes,
            covered: covered.map(|(key, _, units)| key.index..key.index + units),
            room: has_room(pages, spaces, memory, self.demand.work, asid, whole),
            fits: mapped_fits(spaces, memory, asid, whole),
            memory: memory_pages << mapping.unit.bits(),
            first: at.index == mapping.object_pages().start,
            pattern: mapping.advice.pattern,
        };
        debug_assert!(start.page_offset(mapping.page_size) == 0);
        let most = self.sizes.touched(&touch);
        let (key, size) = match covered {
            Some((key, size, _)) => (key, size),
            None => {
                let (key, size) = pages.page_for(at, most);
                let large = size >= whole;
                counts.add(|total| {
                    total.sizes.large += u64::from(large);
                    total.sizes.small += u64::from(!large);
                });
                (key, size)
            }
        };
        let units = 1 << (size.bits() - mapping.unit.bits());
        self.sizes.comes(requester, key.index..key.index + units);
        (key, size)
    }
}
