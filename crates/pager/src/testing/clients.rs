//! Random behaviour of kernels and clients, and injected faults.

use super::card::Access;
use super::host::{direct_address, POISON};
use super::model::{ObjectModel, Piece, SpaceModel, SpacePhase, Wish};
use super::world::{asid, World};
use super::{Verdict, ROW};
use crate::event::{Event, ObjectKind};
use crate::ids::{ObjectId, RequestId};
use units::{Asid, CardAddr, PageSize, PageSizes, SpacePlacement, Stripe, TableGeometry, VirtAddr};

impl World {
    /// A kernel issues an access, mostly a legal one.
    pub(super) fn kernel_issues(&mut self) -> bool {
        let requester = self.rng.below(self.card.requesters.len());
        let asid = self.card.requesters[requester].asid;
        let Some(space) = self.model.spaces.get(&asid) else {
            return false;
        };
        if space.phase != SpacePhase::Ready {
            return false;
        }
        let pieces = &space.pieces;
        let mut write = self.rng.percent(50);
        let mut address = VirtAddr::truncated(self.rng.next() & !(ROW - 1));
        if !pieces.is_empty() && self.rng.percent(99) {
            let piece = self.rng.pick(pieces);
            if !self.rng.percent(2) {
                write = piece.write && (write || !piece.read);
            }
            let mut page = self.rng.below(piece.pages as usize) as u64;
            // Many requesters continue sequentially.
            let last = self.last.get(&requester).map_or(0, |last| last.get());
            let bits = piece.page.bits();
            let next = (last >> bits) + 1;
            let start = piece.start >> bits;
            if self.rng.percent(40) && (start..start + piece.pages).contains(&next) {
                page = next - start;
            }
            let row = self.rng.below((piece.page.bytes() / ROW) as usize) as u64;
            address = VirtAddr::truncated(piece.start + (page << bits) + row * ROW);
            let offset = ((piece.first + page) << bits) + row * ROW;
            let bytes = self.model.objects.get(&piece.object).map_or(0, |o| o.bytes);
            let start = self.host.starts.get(&piece.object).copied();
            if offset >= bytes || offset < start.unwrap_or_default() {
                // Writes beyond the ends are lost by rule.
                write = false;
            }
        }
        let access = Access {
            asid,
            address,
            write,
        };
        self.last.insert(requester, address);
        self.card.issue(requester, access)
    }

    fn ask(&mut self, wish: Wish, event: impl FnOnce(RequestId) -> Event) -> Verdict<()> {
        let request = RequestId(self.next_request);
        self.next_request += 1;
        self.model.wishes.insert(request, wish);
        self.tell(event(request))
    }

    /// A client makes a request.
    pub(super) fn client_asks(&mut self) -> Verdict<bool> {
        let asid = asid(self.rng.below(3));
        let phase = self.model.spaces.get(&asid).map(|space| space.phase);
        match (self.rng.below(40), phase) {
            (0..=15, None) => self.create_space(asid)?,
            (0..=7, _) if self.model.objects.len() < 8 => self.create_object()?,
            (0..=19, _) => self.map(asid)?,
            (20..=24, Some(_)) => self.unmap(asid)?,
            (25, Some(_)) => self.refresh(asid)?,
            (26..=33, Some(_)) => self.sync(asid)?,
            (34..=36, Some(_)) => self.prefetch(asid)?,
            (37..=38, _) => {
                let objects: Vec<ObjectId> = self.model.objects.keys().copied().collect();
                if objects.is_empty() {
                    return Ok(false);
                }
                let object = self.rng.pick(&objects);
                let discard = self.rng.percent(10);
                self.close_object(object, discard)?;
            }
            (39, Some(SpacePhase::Ready)) if self.rng.percent(30) => self.destroy_space(asid)?,
            (39, Some(_)) => self.advise(asid)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Storage fills up or has room again, reads start or stop failing, or a slot is stopped.
    pub(super) fn mishap(&mut self) -> Verdict<bool> {
        match self.rng.below(20) {
            0 if self.scenario.failures => {
                self.host.full = !self.host.full && self.rng.percent(50);
            }
            1 if self.scenario.failures => {
                self.host.read_failures = if self.rng.percent(30) { 20 } else { 0 };
            }
            2 if self.scenario.failures => {
                self.card.bus_failures = if self.rng.percent(30) { 10 } else { 0 };
            }
            3 => {
                let asid = asid(self.rng.below(3));
                self.stop(asid)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Puts the slots of a space into reset.
    fn stop(&mut self, asid: Asid) -> Verdict<()> {
        for requester in self.card.stop(asid) {
            self.tell(Event::SlotStopped {
                first_requester: requester,
                last_requester: requester,
            })?;
        }
        Ok(())
    }

    pub(super) fn create_space(&mut self, asid: Asid) -> Verdict<()> {
        let limited = if self.placed { 60 } else { 20 };
        let limit = self
            .rng
            .percent(limited)
            .then(|| self.sizes[0].bytes() * (1 + self.rng.below(4) as u64));
        let placement = match self.rng.below(4) {
            _ if !self.placed => SpacePlacement::Anywhere,
            0 => SpacePlacement::Anywhere,
            1 => SpacePlacement::Channel(self.rng.below(2)),
            2 => SpacePlacement::Isolated,
            _ => SpacePlacement::Interleaved {
                first: 0,
                // No page is larger than a granule: the model's frames are contiguous.
                stripe: Stripe::new(self.largest().bytes(), 2).unwrap_or_default(),
            },
        };
        let space = SpaceModel {
            phase: SpacePhase::Creating,
            limit,
            placement,
            pieces: Vec::new(),
        };
        self.model.spaces.insert(asid, space);
        self.ask(Wish::CreateSpace(asid), |request| Event::CreateSpace {
            request,
            asid,
            limit,
            placement,
        })
    }

    pub(super) fn destroy_space(&mut self, asid: Asid) -> Verdict<()> {
        let busy = self
            .model
            .spaces
            .get(&asid)
            .is_none_or(|space| space.phase != SpacePhase::Ready);
        if busy {
            return Ok(());
        }
        self.stop(asid)?;
        let promises = self.model.promises(asid, 0, u64::MAX, false);
        if let Some(space) = self.model.spaces.get_mut(&asid) {
            space.phase = SpacePhase::Destroying;
        }
        let request = RequestId(self.next_request);
        self.model.end_range(asid, 0, u64::MAX, request);
        self.ask(Wish::DestroySpace(asid, promises), |request| {
            Event::DestroySpace { request, asid }
        })
    }

    pub(super) fn create_object(&mut self) -> Verdict<()> {
        let object = ObjectId(self.next_object);
        self.next_object += 1;
        let page_size = match self.roomy {
            true => self.largest(),
            false => self.rng.pick(&self.sizes),
        };
        let page = page_size.bytes();
        // Half of the objects leave the size to the policy, where there are several.
        let varies = page_size > self.sizes[0] && (self.roomy || self.rng.percent(50));
        let unit = if varies { self.sizes[0] } else { page_size };
        let bytes = match self.rng.below(3) {
            0 => page * (1 + self.rng.below(6) as u64),
            _ => 1 + self.rng.next() % (8 * page),
        };
        // Offset in its file, and behind its end.
        let start = match self.rng.percent(30) {
            true => self.rng.next() % page / ROW * ROW,
            false => 0,
        };
        let bytes = start + bytes;
        let rows = bytes.div_ceil(ROW);
        let kind = match self.rng.below(8) {
            0..=1 => ObjectKind::Anonymous,
            pick => ObjectKind::File {
                writable: pick < 7,
                fresh: pick < 4,
            },
        };
        let mut content = vec![0; rows as usize];
        if !kind.starts_zero() {
            for row in &mut content[(start / ROW) as usize..] {
                *row = self.next_stamp;
                self.next_stamp += 1;
            }
        }
        let hole = (!kind.starts_zero() && self.rng.percent(40)).then(|| {
            let offset = start + self.rng.next() % (bytes - start);
            (offset, 1 + self.rng.next() % (bytes - offset))
        });
        if let Some((offset, length)) = hole {
            let end = offset + length;
            let last = if end == bytes { rows } else { end / ROW };
            for row in offset.div_ceil(ROW)..last {
                content[row as usize] = 0;
            }
        }
        self.host.disk.insert(object, content.clone());
        self.host.bytes.insert(object, bytes);
        self.host.starts.insert(object, start);
        let model = ObjectModel {
            bytes,
            kind,
            page: page_size,
            unit,
            rows: content,
            closing: false,
        };
        self.model.objects.insert(object, model);
        self.model.sizes.insert(object, unit);
        let default = page_size == self.sizes[0] && self.rng.percent(50);
        self.ask(Wish::CreateObject, |request| Event::CreateObject {
            request,
            object,
            offset: start,
            bytes: bytes - start,
            kind,
            page_size: (!default).then_some(page_size),
        })?;
        if varies {
            self.card.units.insert(object, unit);
            let all = self.sizes.iter().copied();
            let sizes = all.fold(PageSizes::default(), PageSizes::with);
            self.tell(Event::VaryPages { object, sizes })?;
        }
        if self.rng.percent(30) {
            self.place_direct(object)?;
        }
        match hole {
            Some((offset, bytes)) => self.tell(Event::ObjectHole {
                object,
                offset,
                bytes,
            }),
            None => Ok(()),
        }
    }

    /// Places the pages of a file in host memory. This has no effect once a page was requested.
    fn place_direct(&mut self, object: ObjectId) -> Verdict<()> {
        let Some(model) = self.model.objects.get(&object) else {
            return Ok(());
        };
        let one_size = model.unit == model.page;
        let known = self.host.direct.contains_key(&object) || model.closing;
        if known || !one_size || !matches!(model.kind, ObjectKind::File { .. }) {
            return Ok(());
        }
        let page = model.page.bytes();
        let start = self.host.starts.get(&object).copied().unwrap_or_default();
        let bytes = model.bytes.next_multiple_of(page) - start / page * page;
        let memory = direct_address(object);
        self.tell(Event::PlaceDirect { object, memory })?;
        if self.pager.is_direct(object) {
            let rows = vec![POISON; (bytes / ROW) as usize];
            self.host.direct.insert(object, rows);
        }
        Ok(())
    }

    pub(super) fn close_object(&mut self, object: ObjectId, discard: bool) -> Verdict<()> {
        let users = self.model.users(object);
        match self.model.objects.get_mut(&object) {
            Some(model) if !model.closing => model.closing = users == 0,
            _ => return Ok(()),
        }
        if discard && users == 0 {
            self.model.drop_promises(object);
        }
        self.ask(Wish::CloseObject(object, discard), |request| {
            Event::CloseObject {
                request,
                object,
                discard,
            }
        })
    }

    pub(super) fn map(&mut self, asid: Asid) -> Verdict<()> {
        let objects: Vec<ObjectId> = self.model.objects.keys().copied().collect();
        if objects.is_empty() {
            return Ok(());
        }
        let object = self.rng.pick(&objects);
        let model = &self.model.objects[&object];
        let (page, unit) = (model.page, model.unit);
        let object_pages = model.bytes.div_ceil(page.bytes());
        let writable = model.kind.writable();
        let first = if self.rng.percent(3) {
            object_pages
        } else {
            self.rng.next() % object_pages
        };
        let left = (object_pages - first.min(object_pages)).max(1);
        let pages = 1 + self.rng.next() % (left + u64::from(self.rng.percent(20)));
        let address = match self.rng.below(10) {
            _ if self.collide => Some(self.colliding_address(page)),
            0..=3 => None,
            4..=5 => Some(self.colliding_address(page)),
            _ => Some(VirtAddr::truncated(
                (16 + self.rng.next() % 32) << page.bits(),
            )),
        };
        let (read, write) = match self.rng.below(20) {
            0 => (self.rng.percent(50), !writable),
            1..=3 => (true, false),
            4 => (!writable, writable),
            _ => (true, writable),
        };
        let piece = Piece {
            start: 0,
            pages,
            page,
            unit,
            object,
            first,
            read,
            write,
            ending: None,
        };
        let bytes = (pages << page.bits()) - self.rng.next() % page.bytes();
        let wish = Wish::Map {
            asid,
            address,
            piece,
        };
        self.ask(wish, |request| Event::Map {
            request,
            asid,
            address,
            object,
            offset: first << page.bits(),
            bytes,
            read,
            write,
        })
    }

    /// Pages that fall into one set of the table.
    fn colliding_address(&mut self, page: PageSize) -> VirtAddr {
        let sets_log2 = TableGeometry::MIN_SETS_LOG2;
        let geometry = TableGeometry::new(CardAddr::default(), sets_log2);
        let tag = 1 + self.rng.next() % 16;
        geometry.map_or_else(VirtAddr::default, |geometry| {
            geometry.page(7, tag, page).base()
        })
    }

    /// A range in a mapping of a space, and the size of its pages.
    fn some_range(&mut self, asid: Asid) -> Option<(u64, u64, PageSize)> {
        let space = self.model.spaces.get(&asid)?;
        let live: Vec<Piece> = space
            .pieces
            .iter()
            .filter(|piece| piece.ending.is_none())
            .copied()
            .collect();
        if space.phase != SpacePhase::Ready || live.is_empty() {
            return None;
        }
        let piece = self.rng.pick(&live);
        let bytes = piece.bytes();
        if self.rng.percent(50) {
            return Some((piece.start, bytes, piece.page));
        }
        let start = self.rng.next() % bytes;
        let length = 1 + self.rng.next() % (bytes - start);
        Some((piece.start + start, length, piece.page))
    }

    fn unmap(&mut self, asid: Asid) -> Verdict<()> {
        let Some((start, bytes, page)) = self.some_range(asid) else {
            return Ok(());
        };
        let (from, to) = rounded(start, bytes, page);
        let promises = self.model.promises(asid, from, to, false);
        let request = RequestId(self.next_request);
        self.model.end_range(asid, from, to, request);
        self.ask(Wish::Unmap(promises), |request| Event::Unmap {
            request,
            asid,
            address: VirtAddr::truncated(start),
            bytes,
        })
    }

    fn sync(&mut self, asid: Asid) -> Verdict<()> {
        let Some((start, bytes, page)) = self.some_range(asid) else {
            return Ok(());
        };
        let (from, to) = rounded(start, bytes, page);
        let promises = self.model.promises(asid, from, to, true);
        self.ask(Wish::Sync(promises), |request| Event::Sync {
            request,
            asid,
            address: VirtAddr::truncated(start),
            bytes,
        })
    }

    /// A refresh without discarding: stores are saved first.
    fn refresh(&mut self, asid: Asid) -> Verdict<()> {
        let Some((start, bytes, page)) = self.some_range(asid) else {
            return Ok(());
        };
        let (from, to) = rounded(start, bytes, page);
        let promises = self.model.promises(asid, from, to, false);
        self.ask(Wish::Sync(promises), |request| Event::Refresh {
            request,
            asid,
            address: VirtAddr::truncated(start),
            bytes,
            discard: false,
        })
    }

    fn prefetch(&mut self, asid: Asid) -> Verdict<()> {
        let Some((start, bytes, _)) = self.some_range(asid) else {
            return Ok(());
        };
        self.tell(Event::Prefetch {
            asid,
            address: VirtAddr::truncated(start),
            bytes,
        })
    }

    fn advise(&mut self, asid: Asid) -> Verdict<()> {
        let objects: Vec<ObjectId> = self.model.objects.keys().copied().collect();
        if !objects.is_empty() && self.rng.percent(30) {
            let object = self.rng.pick(&objects);
            self.place_direct(object)?;
        }
        let Some((start, bytes, _)) = self.some_range(asid) else {
            return Ok(());
        };
        let said = [
            "none",
            "stream",
            "random",
            "reuse",
            "lowuse",
            "preload",
            "ondemand",
            "stream+lowuse",
            "readahead+reuse",
        ];
        let advice = self.rng.pick(&said).parse().unwrap_or_default();
        self.ask(Wish::Advise, |request| Event::Advise {
            request,
            asid,
            address: VirtAddr::truncated(start),
            bytes,
            advice,
        })
    }
}

/// Rounded out to pages.
fn rounded(start: u64, bytes: u64, page: PageSize) -> (u64, u64) {
    let page = page.bytes();
    (start / page * page, (start + bytes).next_multiple_of(page))
}
