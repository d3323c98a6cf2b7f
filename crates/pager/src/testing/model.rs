//! Expectations of clients and kernels: mappings as requested, and objects as the latest stamp written to each row.

use super::host::Host;
use super::{Verdict, ROW};
use crate::action::Success;
use crate::error::PagerError;
use crate::event::ObjectKind;
use crate::ids::{ObjectId, ObjectPage, RequestId};
use crate::mapping_info::MappingInfo;
use std::collections::BTreeMap;
use units::{Asid, PageSize, SpacePlacement, Stripe, VirtAddr};

/// A mapping, or a piece of one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: u64,
    pub(super) pages: u64,
    /// Page size of the object.
    pub(super) page: PageSize,
    /// Smallest page size of the object.
    pub(super) unit: PageSize,
    pub(super) object: ObjectId,
    pub(super) first: u64,
    pub(super) read: bool,
    pub(super) write: bool,
    /// The request that ends it. Accesses under way may still be performed.
    pub(super) ending: Option<RequestId>,
}

impl Piece {
    pub(super) fn bytes(&self) -> u64 {
        self.pages << self.page.bits()
    }

    pub(super) fn end(&self) -> u64 {
        self.start + self.bytes()
    }

    fn contains(&self, address: u64) -> bool {
        (self.start..self.end()).contains(&address)
    }

    fn page_at(&self, address: u64) -> ObjectPage {
        ObjectPage {
            object: self.object,
            index: (self.first << (self.page.bits() - self.unit.bits()))
                + ((address - self.start) >> self.unit.bits()),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SpacePhase {
    Creating,
    Ready,
    Destroying,
}

#[derive(Clone, Debug)]
pub(super) struct SpaceModel {
    pub(super) phase: SpacePhase,
    pub(super) limit: Option<u64>,
    pub(super) placement: SpacePlacement,
    pub(super) pieces: Vec<Piece>,
}

#[derive(Clone, Debug)]
pub(super) struct ObjectModel {
    pub(super) bytes: u64,
    pub(super) kind: ObjectKind,
    pub(super) page: PageSize,
    /// Smallest page size.
    pub(super) unit: PageSize,
    /// The latest stamp of each row, as written by kernels.
    pub(super) rows: Vec<u64>,
    pub(super) closing: bool,
}

/// A guarantee: in storage, this row is at least as new as this stamp.
pub(super) type Promise = (ObjectId, usize, u64);

/// Kind of a request.
#[derive(Clone, Debug)]
pub(super) enum Wish {
    CreateSpace(Asid),
    DestroySpace(Asid, Vec<Promise>),
    CreateObject,
    CloseObject(ObjectId, bool),
    Map {
        asid: Asid,
        address: Option<VirtAddr>,
        piece: Piece,
    },
    Unmap(Vec<Promise>),
    Sync(Vec<Promise>),
    Advise,
}

/// The expected state.
#[derive(Debug)]
pub(super) struct Model {
    /// Smallest page sizes of all objects, including closed ones.
    pub(super) sizes: BTreeMap<ObjectId, PageSize>,
    pub(super) spaces: BTreeMap<Asid, SpaceModel>,
    pub(super) objects: BTreeMap<ObjectId, ObjectModel>,
    pub(super) wishes: BTreeMap<RequestId, Wish>,
}

impl Model {
    /// The page of an object that holds an offset.
    pub(super) fn page_of(&self, object: ObjectId, offset: u64) -> (ObjectPage, PageSize) {
        let size = self.sizes.get(&object).copied().unwrap_or(PageSize::KIB_4);
        let index = offset >> size.bits();
        (ObjectPage { object, index }, size)
    }

    /// Whether the pages of an object have several sizes.
    pub(super) fn varies(&self, object: ObjectId) -> bool {
        let model = self.objects.get(&object);
        model.is_some_and(|model| model.unit < model.page)
    }

    /// The live mapping at an address.
    pub(super) fn live(&self, asid: Asid, address: u64) -> Option<Piece> {
        self.pieces_at(asid, address)
            .find(|piece| piece.ending.is_none())
    }

    fn pieces_at(&self, asid: Asid, address: u64) -> impl Iterator<Item = Piece> + '_ {
        self.spaces
            .get(&asid)
            .into_iter()
            .flat_map(|space| space.pieces.iter().copied())
            .filter(move |piece| piece.contains(address))
    }

    /// The object's page at an address of a live mapping.
    pub(super) fn shows(&self, asid: Asid, address: u64) -> Option<ObjectPage> {
        let piece = self.live(asid, address)?;
        Some(piece.page_at(address))
    }

    /// Whether a mapping, live or ending, maps this page there.
    pub(super) fn may_show(&self, asid: Asid, address: u64, page: ObjectPage, write: bool) -> bool {
        self.pieces_at(asid, address).any(|piece| {
            piece.page_at(address) == page && if write { piece.write } else { piece.read }
        })
    }

    /// Splits pieces so that a range is covered by whole ones; marks those as ending.
    pub(super) fn end_range(&mut self, asid: Asid, start: u64, end: u64, request: RequestId) {
        let Some(space) = self.spaces.get_mut(&asid) else {
            return;
        };
        let mut split = Vec::new();
        for piece in space.pieces.drain(..) {
            let (from, to) = (piece.start.max(start), piece.end().min(end));
            if piece.ending.is_some() || from >= to {
                split.push(piece);
                continue;
            }
            let part = |from: u64, to: u64, ending| Piece {
                start: from,
                pages: (to - from) >> piece.page.bits(),
                first: piece.first + ((from - piece.start) >> piece.page.bits()),
                ending,
                ..piece
            };
            let parts = [
                part(piece.start, from, None),
                part(from, to, Some(request)),
                part(to, piece.end(), None),
            ];
            split.extend(parts.into_iter().filter(|part| part.pages > 0));
        }
        space.pieces = split;
    }

    /// Content that storage must have once everything written so far in a range is saved.
    pub(super) fn promises(
        &self,
        asid: Asid,
        start: u64,
        end: u64,
        anonymous: bool,
    ) -> Vec<Promise> {
        let mut promises = Vec::new();
        let pieces = self.spaces.get(&asid).map(|space| space.pieces.as_slice());
        for piece in pieces.unwrap_or_default() {
            let (from, to) = (piece.start.max(start), piece.end().min(end));
            let Some(object) = self.objects.get(&piece.object) else {
                continue;
            };
            if piece.ending.is_some()
                || from >= to
                || (object.kind == ObjectKind::Anonymous && !anonymous)
            {
                continue;
            }
            let offset = (piece.first << piece.page.bits()) + (from - piece.start);
            let first = (offset / ROW) as usize;
            let last = ((offset + to - from) / ROW) as usize;
            let rows = object.rows.iter().enumerate().take(last).skip(first);
            promises.extend(rows.map(|(row, &stamp)| (piece.object, row, stamp)));
        }
        promises
    }

    /// Overlap with a live mapping.
    fn overlaps(&self, asid: Asid, start: u64, bytes: u64) -> Option<Piece> {
        let end = start + bytes;
        let pieces = self.spaces.get(&asid)?.pieces.iter();
        pieces
            .filter(|piece| piece.ending.is_none())
            .find(|piece| piece.start < end && start < piece.end())
            .copied()
    }

    /// Checks the result of a request.
    pub(super) fn complete(
        &mut self,
        request: RequestId,
        result: &Result<Success, PagerError>,
        host: &mut Host,
        card_failed: bool,
    ) -> Verdict<()> {
        let wish = self.wishes.remove(&request);
        let wish = wish.ok_or_else(|| format!("{request} ended twice: {result:?}"))?;
        let odd = Err(format!("{wish:?} ended with {result:?}"));
        if let Err(PagerError::Io { object, offset, .. }) = result {
            if !host.failed_writes.contains(&(*object, *offset)) {
                return odd;
            }
        }
        let io = match result {
            Err(PagerError::Io { .. }) => true,
            Err(PagerError::Card { .. } | PagerError::TableFailed { .. }) => card_failed,
            _ => false,
        };
        match (&wish, result) {
            (Wish::CreateSpace(asid), Ok(Success::Done)) => {
                if let Some(space) = self.spaces.get_mut(asid) {
                    space.phase = SpacePhase::Ready;
                }
                Ok(())
            }
            (Wish::CreateSpace(asid), Err(PagerError::NoTableMemory { .. })) => {
                self.spaces.remove(asid);
                Ok(())
            }
            (Wish::CreateSpace(asid), Err(_)) if io => {
                self.spaces.remove(asid);
                Ok(())
            }
            (Wish::CreateObject | Wish::Advise, Ok(Success::Done)) => Ok(()),
            (Wish::CloseObject(object, discard), Ok(Success::Done)) => {
                self.closed(*object, *discard, host)
            }
            (Wish::CloseObject(object, _), Err(PagerError::ObjectMapped { .. })) => {
                match self.users(*object) {
                    0 => odd,
                    _ => Ok(()),
                }
            }
            (Wish::CloseObject(object, _), Err(_)) if io => {
                if let Some(object) = self.objects.get_mut(object) {
                    object.closing = false;
                }
                Ok(())
            }
            (Wish::Map { .. }, _) => self.mapped(&wish, result),
            (Wish::DestroySpace(asid, promises), result) if result.is_ok() || io => {
                if result.is_ok() {
                    kept(promises, host)?;
                }
                self.spaces.remove(asid);
                Ok(())
            }
            (Wish::Unmap(promises), result) if result.is_ok() || io => {
                if result.is_ok() {
                    kept(promises, host)?;
                }
                for space in self.spaces.values_mut() {
                    space.pieces.retain(|piece| piece.ending != Some(request));
                }
                Ok(())
            }
            (Wish::Sync(promises), Ok(Success::Done)) => kept(promises, host),
            (Wish::Sync(_), Err(_)) if io => Ok(()),
            _ => odd,
        }
    }

    /// Drops the guarantees on an object.
    pub(super) fn drop_promises(&mut self, object: ObjectId) {
        for wish in self.wishes.values_mut() {
            if let Wish::DestroySpace(_, promises) | Wish::Unmap(promises) | Wish::Sync(promises) =
                wish
            {
                promises.retain(|promise| promise.0 != object);
            }
        }
    }

    /// Live mappings of an object.
    pub(super) fn users(&self, object: ObjectId) -> usize {
        let pieces = self.spaces.values().flat_map(|space| &space.pieces);
        pieces
            .filter(|piece| piece.object == object && piece.ending.is_none())
            .count()
    }

    fn closed(&mut self, object: ObjectId, discard: bool, host: &mut Host) -> Verdict<()> {
        let disk = host.disk.remove(&object).unwrap_or_default();
        host.bytes.remove(&object);
        // Later accesses to its memory are errors.
        host.direct.remove(&object);
        let Some(model) = self.objects.remove(&object) else {
            return Err(format!("{object} closed twice"));
        };
        let dropped = discard || model.kind == ObjectKind::Anonymous;
        if !dropped && disk != model.rows {
            let row = disk.iter().zip(&model.rows).position(|(a, b)| a != b);
            let (old, new) = row.map_or((0, 0), |row| (disk[row], model.rows[row]));
            return Err(format!("{object} lost row {row:?}: {old} instead of {new}"));
        }
        Ok(())
    }

    fn mapped(&mut self, wish: &Wish, result: &Result<Success, PagerError>) -> Verdict<()> {
        let Wish::Map {
            asid,
            address,
            piece,
        } = wish
        else {
            return Ok(());
        };
        let object = self.objects.get(&piece.object);
        let ready = self
            .spaces
            .get(asid)
            .is_some_and(|space| space.phase == SpacePhase::Ready);
        let writable = object.is_some_and(|object| object.kind.writable());
        let bytes = object.map_or(0, |object| object.bytes);
        let inside = piece.first << piece.page.bits() < bytes;
        let overlap =
            address.and_then(|address| self.overlaps(*asid, address.get(), piece.bytes()));
        let as_expected = match result {
            Ok(Success::Mapped(info)) => {
                ready
                    && inside
                    && (piece.read || piece.write)
                    && (writable || !piece.write)
                    && overlap.is_none()
                    && self.striped_alike(*asid, piece.object)
                    && address.is_none_or(|address| address == info.address)
                    && self.fits(*asid, piece, info)
            }
            Err(PagerError::Overlap { existing, .. }) => {
                overlap.is_some() && self.live(*asid, existing.address.get()).is_some()
            }
            Err(PagerError::StripesDiffer { stripe, other, .. }) => {
                stripe != other && self.stripe(*asid) == Some(*stripe)
            }
            Err(PagerError::PageTooLarge { page, .. }) => {
                let limit = self.spaces.get(asid).and_then(|space| space.limit);
                *page == piece.page && limit.is_some_and(|limit| limit < page.bytes())
            }
            Err(PagerError::ReadOnlyObject { .. }) => !writable && piece.write,
            Err(PagerError::OffsetPastEnd { bytes: told, .. }) => !inside && *told == bytes,
            Err(PagerError::NoRights { .. }) => !piece.read && !piece.write,
            Err(PagerError::SpaceBusy { .. } | PagerError::NoSuchSpace { .. }) => !ready,
            Err(PagerError::ObjectClosing { .. }) => object.is_some_and(|object| object.closing),
            Err(PagerError::NoSuchObject { .. }) => object.is_none(),
            _ => false,
        };
        if !as_expected {
            return Err(format!("{wish:?} ended with {result:?}"));
        }
        if let (Ok(Success::Mapped(info)), Some(space)) = (result, self.spaces.get_mut(asid)) {
            space.pieces.push(Piece {
                start: info.address.get(),
                ..*piece
            });
        }
        Ok(())
    }

    fn stripe(&self, asid: Asid) -> Option<Stripe> {
        Some(self.spaces.get(&asid)?.placement.stripe())
    }

    /// Whether all spaces that map the object are striped alike.
    fn striped_alike(&self, asid: Asid, object: ObjectId) -> bool {
        let stripe = self.stripe(asid);
        self.spaces.values().all(|space| {
            let shows = |piece: &Piece| piece.object == object && piece.ending.is_none();
            Some(space.placement.stripe()) == stripe || !space.pieces.iter().any(shows)
        })
    }

    fn fits(&self, asid: Asid, piece: &Piece, info: &MappingInfo) -> bool {
        let start = info.address.get();
        start & (piece.page.bytes() - 1) == 0
            && (info.bytes, info.page_size) == (piece.bytes(), piece.page)
            && self.overlaps(asid, start, piece.bytes()).is_none()
    }
}

/// Checks that storage meets the guarantees.
fn kept(promises: &[Promise], host: &Host) -> Verdict<()> {
    for (object, row, stamp) in promises {
        let stored = host.disk.get(object).and_then(|disk| disk.get(*row));
        if stored.is_some_and(|stored| stored < stamp) {
            return Err(format!(
                "row {row} of {object} was said to be safe at {stamp}, storage has {stored:?}"
            ));
        }
    }
    Ok(())
}
