//! Rooms: the owner's state in parts, each borrowed by name.
//!
//! A task is an `async` function, so it reads from top to bottom, and the compiler generates its states. It borrows a
//! room while a closure runs, which does not wait. State may change during a wait: names are looked up again after it.
//!
//! Nested borrows follow the order of the table in `docs/architecture.md`, and no room is borrowed twice:
//! `tools/test_architecture.py` checks both.

use crate::handles::{Handles, MappedRange};
use crate::kernels::Kernels;
use crate::message::{ClientId, LoadId, MappingId, Progress};
use crate::paging::Paging;
use error::Error;
use std::cell::RefCell;
use std::rc::Rc;
use units::SlotId;

/// A room of the owner. Copies share it.
pub(crate) struct Room<T>(Rc<RefCell<T>>);

impl<T> Clone for Room<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Room<T> {
    pub(crate) fn new(room: T) -> Self {
        Self(Rc::new(RefCell::new(room)))
    }

    /// Lends the room while `act` runs.
    pub(crate) fn lend<R>(&self, act: impl FnOnce(&mut T) -> R) -> R {
        act(&mut self.0.borrow_mut())
    }
}

impl Room<Paging> {
    /// Lends paging with the card and its kernels.
    pub(crate) fn lend_with<R>(
        &self,
        kernels: &Room<Kernels>,
        act: impl FnOnce(&mut Paging, &mut Kernels) -> R,
    ) -> R {
        self.lend(|paging| kernels.lend(|kernels| act(paging, kernels)))
    }
}

impl Room<Handles> {
    /// The slot of a client's kernel.
    pub(crate) fn slot_of(&self, client: ClientId, load: LoadId) -> Result<SlotId, Error> {
        self.lend(|handles| handles.slot(client, load))
    }

    /// The range of a client's mapping.
    pub(crate) fn range_of(
        &self,
        client: ClientId,
        mapping: MappingId,
    ) -> Result<MappedRange, Error> {
        self.lend(|handles| handles.mapping(client, mapping))
    }
}

/// Virtual time, bytes and faults so far.
pub(crate) fn progress(paging: &Room<Paging>, kernels: &Room<Kernels>) -> Progress {
    paging.lend_with(kernels, |paging, kernels| paging.progress(kernels))
}
