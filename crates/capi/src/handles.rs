//! Handles: numbers with the type of pointers.

use crate::status::{Failure, Status};
use crate::xrt::Object;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, CoherentMap, CoherentMemory, Mapping, PendingLine, Preset, Rpc, RpcLines,
    SharedMemory, Slot, SpacePlacement, WriteBuffer,
};

/// The object of a handle.
pub enum HandleObject {
    OpenCard(OpenCard),
    Space(AddressSpace),
    Mapping(Mapping),
    Memory(Mutex<SharedMemory>),
    Slot(Box<Slot>),
    CoherentMemory(CoherentMemory),
    CoherentMap(CoherentMap),
    Access(Mutex<Option<PendingLine>>),
    WriteBuffer(Mutex<WriteBuffer>),
    Rpc(Mutex<Rpc>),
    RpcLines(Mutex<RpcLines>),
    Xrt(Object),
}

/// A card with its open options.
pub struct OpenCard {
    card: Card,
    preset: Option<Preset>,
    /// Number of spaces placed as the preset requires.
    applications: AtomicU8,
}

impl OpenCard {
    /// A card, with its preset if one was given.
    pub fn new(card: Card, preset: Option<Preset>) -> Self {
        Self {
            card,
            preset,
            applications: AtomicU8::new(0),
        }
    }

    /// Default placement of the next space.
    pub fn placement(&self) -> SpacePlacement {
        let Some(preset) = &self.preset else {
            return SpacePlacement::Anywhere;
        };
        preset.placement(self.applications.fetch_add(1, Ordering::Relaxed))
    }
}

impl Deref for OpenCard {
    type Target = Card;

    fn deref(&self) -> &Card {
        &self.card
    }
}

impl HandleObject {
    fn kind(&self) -> &'static str {
        match self {
            Self::OpenCard(_) => "card",
            Self::Space(_) => "address space",
            Self::Mapping(_) => "mapping",
            Self::Memory(_) => "shared memory",
            Self::Slot(_) => "slot",
            Self::CoherentMemory(_) => "coherent memory",
            Self::CoherentMap(_) => "coherent map",
            Self::Access(_) => "access",
            Self::WriteBuffer(_) => "write buffer",
            Self::Rpc(_) => "connection",
            Self::RpcLines(_) => "connection of many lines",
            Self::Xrt(_) => XRT,
        }
    }
}

/// Kind name of objects of XRT's interface.
const XRT: &str = "object of XRT";

/// The value that a C program holds, there a pointer: never dereferenced, only looked up.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(usize);

impl Handle {
    /// The null handle.
    pub const NULL: Self = Self(0);
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:#x}", self.0)
    }
}

struct Table {
    next: usize,
    things: BTreeMap<Handle, Entry>,
    /// Kinds of the objects that ended with their card and whose handles were not closed since.
    ended: BTreeMap<Handle, &'static str>,
}

struct Entry {
    thing: Arc<HandleObject>,
    /// The card that the object was created on; for a card, its own handle.
    card: Handle,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    // A large start value, so that a number meant for something else is rarely a valid handle.
    next: FIRST,
    things: BTreeMap::new(),
    ended: BTreeMap::new(),
});

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Handle values are never reused.
    fn insert(&mut self, thing: HandleObject, card: impl FnOnce(Handle) -> Handle) -> Handle {
        let handle = Handle(self.next);
        self.next += STEP;
        let (thing, card) = (Arc::new(thing), card(handle));
        self.things.insert(handle, Entry { thing, card });
        handle
    }

    fn missing(&self, handle: Handle, kind: &'static str) -> Failure {
        match self.ended.get(&handle) {
            Some(ended) if *ended != kind => wrong(handle, kind, ended),
            Some(_) => gone(handle, kind, "its card was closed"),
            None => missing(handle, kind, self.next),
        }
    }
}

/// A handle of a card.
pub fn insert_card(card: OpenCard) -> Handle {
    table().insert(HandleObject::OpenCard(card), |own| own)
}

/// A handle of XRT's interface, which has no card.
pub fn insert_xrt(object: Object) -> Handle {
    table().insert(HandleObject::Xrt(object), |own| own)
}

/// A handle of an object created on the card of another object, or on that card.
///
/// # Errors
/// The card was closed meanwhile, and its objects have ended.
pub fn insert(made_on: Handle, thing: HandleObject) -> Result<Handle, Failure> {
    let mut table = table();
    match table.things.get(&made_on).map(|entry| entry.card) {
        Some(card) => Ok(table.insert(thing, |_| card)),
        None => {
            drop(table);
            let kind = thing.kind();
            Err(gone(
                made_on,
                kind,
                "it was closed while something was made on it",
            ))
        }
    }
}

const FIRST: usize = 0x7100_0010;
const STEP: usize = 16;

fn missing(handle: Handle, kind: &'static str, next: usize) -> Failure {
    let Handle(number) = handle;
    if (FIRST..next).contains(&number) && (number - FIRST) % STEP == 0 {
        return gone(handle, kind, "it was closed");
    }
    let text = match number {
        0 => format!("the {kind} is a null pointer"),
        _ => format!("{handle} is no {kind}: the library never gave it"),
    };
    Failure::new(Status::Handle, text)
}

fn gone(handle: Handle, kind: &str, why: &'static str) -> Failure {
    tombolo::Error::Gone {
        what: format!("the {kind} {handle}"),
        why: why.into(),
    }
    .into()
}

/// The object of a handle.
fn find(handle: Handle, kind: &'static str) -> Result<Arc<HandleObject>, Failure> {
    let table = table();
    match table.things.get(&handle).map(|entry| &entry.thing) {
        None => Err(table.missing(handle, kind)),
        Some(found) if found.kind() != kind => Err(wrong(handle, kind, found.kind())),
        Some(found) => Ok(Arc::clone(found)),
    }
}

fn wrong(handle: Handle, kind: &str, is: &str) -> Failure {
    let text = format!("{handle} is no {kind}: it is a handle of another kind ({is})");
    Failure::new(Status::Handle, text)
}

/// Removes a handle from the table: it is closed from now on, even if ending its object fails. Closing the handle of an
/// object that ended with its owner succeeds.
pub fn close(handle: Handle, kind: &'static str) -> Result<(), Failure> {
    if table().forget_ended(handle, kind) {
        return Ok(());
    }
    let found = find(handle, kind)?;
    if table().things.remove(&handle).is_none() {
        return find(handle, kind).map(drop);
    }
    let ended = match &*found {
        HandleObject::OpenCard(card) => {
            let closed = card.close();
            end_all_of(handle);
            closed
        }
        HandleObject::Space(space) => space.close(),
        HandleObject::Mapping(mapping) => mapping.unmap(),
        HandleObject::Slot(slot) => slot.close(),
        // It is freed before its handle is removed.
        HandleObject::Memory(_) => Ok(()),
        // It holds nothing on the card.
        HandleObject::CoherentMemory(_) => Ok(()),
        // Dropping it unmaps it; without a card there are no lines.
        HandleObject::CoherentMap(_) => Ok(()),
        // If dropped, they run to completion.
        HandleObject::Access(_)
        | HandleObject::WriteBuffer(_)
        | HandleObject::Rpc(_)
        | HandleObject::RpcLines(_) => Ok(()),
        // Its users hold references of their own.
        HandleObject::Xrt(_) => Ok(()),
    };
    match ended {
        Err(tombolo::Error::Gone { .. }) => Ok(()),
        ended => Ok(ended?),
    }
}

/// Ends the objects of a card that was closed. Shared memory stays: its bytes belong to the program until it is freed.
fn end_all_of(card: Handle) {
    let mut table = table();
    let things = table.things.iter();
    let of_card = things.filter(|(_, entry)| entry.card == card);
    let of_card: Vec<Handle> = of_card.map(|(handle, _)| *handle).collect();
    let (mut ended, mut memories) = (Vec::new(), Vec::new());
    for handle in of_card {
        let Some(entry) = table.things.remove(&handle) else {
            continue;
        };
        match &*entry.thing {
            HandleObject::Memory(_) => {
                // Registered memory is ordinary memory again, since it is no longer shared.
                memories.push(entry.thing.clone());
                drop(table.things.insert(handle, entry));
            }
            thing => {
                table.ended.insert(handle, thing.kind());
                ended.push(entry);
            }
        }
    }
    // After the lock is released, since it may take a while.
    drop(table);
    drop(ended);
    for memory in memories {
        if let HandleObject::Memory(memory) = &*memory {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            // The result is ignored: the card is gone.
            let _ = memory.free();
        }
    }
}

impl Table {
    /// Whether the handle is of an object of that kind that ended with its card. The handle is closed then.
    fn forget_ended(&mut self, handle: Handle, kind: &str) -> bool {
        let ended = self.ended.get(&handle) == Some(&kind);
        if ended {
            self.ended.remove(&handle);
        }
        ended
    }
}

/// Removes the handle of an object that has ended.
pub fn forget(handle: Handle) {
    let gone = table().things.remove(&handle);
    // After the lock is released.
    drop(gone);
}

macro_rules! callers {
    ($($name:ident, $variant:ident, $held:ty, $kind:literal;)*) => {
        $(
            #[doc = concat!("Calls with the ", $kind, " of a handle.")]
            pub fn $name<R>(
                handle: Handle,
                call: impl FnOnce(&$held) -> Result<R, Failure>,
            ) -> Result<R, Failure> {
                match &*find(handle, $kind)? {
                    HandleObject::$variant(thing) => call(thing),
                    other => Err(wrong(handle, $kind, other.kind())),
                }
            }
        )*
    };
}

callers! {
    with_card, OpenCard, OpenCard, "card";
    with_mapping, Mapping, Mapping, "mapping";
    with_slot, Slot, Slot, "slot";
    with_coherent, CoherentMemory, CoherentMemory, "coherent memory";
    with_coherent_map, CoherentMap, CoherentMap, "coherent map";
    with_access, Access, Mutex<Option<PendingLine>>, "access";
    with_write_buffer, WriteBuffer, Mutex<WriteBuffer>, "write buffer";
    with_rpc, Rpc, Mutex<Rpc>, "connection";
    with_rpc_lines, RpcLines, Mutex<RpcLines>, "connection of many lines";
}

/// Calls a function with the object of an XRT handle.
pub fn with_xrt<R>(
    handle: Handle,
    call: impl FnOnce(&Object) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, XRT)? {
        HandleObject::Xrt(object) => call(object),
        other => Err(wrong(handle, XRT, other.kind())),
    }
}

/// Closes an XRT handle.
pub fn close_xrt(handle: Handle) -> Result<(), Failure> {
    close(handle, XRT)
}

/// The slots of several handles, in order.
pub fn slots(handles: &[Handle]) -> Result<Vec<Arc<HandleObject>>, Failure> {
    handles.iter().map(|slot| find(*slot, "slot")).collect()
}

/// Calls a function with the shared memory of a handle.
pub fn with_memory<R>(
    handle: Handle,
    call: impl FnOnce(&Mutex<SharedMemory>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, "shared memory")? {
        HandleObject::Memory(memory) => call(memory),
        other => Err(wrong(handle, "shared memory", other.kind())),
    }
}

/// Calls a function with the address space of a handle.
pub fn with_space<R>(
    handle: Handle,
    call: impl FnOnce(&AddressSpace) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, "address space")? {
        HandleObject::Space(space) => call(space),
        other => Err(wrong(handle, "address space", other.kind())),
    }
}

/// Address and length of a mapping.
pub fn mapping_range(handle: Handle) -> Result<(u64, u64), Failure> {
    with_mapping(handle, |mapping| {
        Ok((mapping.address().get(), mapping.bytes()))
    })
}
