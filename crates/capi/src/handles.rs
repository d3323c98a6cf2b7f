//! Handles: numbers in the guise of pointers.

use crate::status::{Failure, Status};
use crate::xrt_object::Object;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    AddressSpace, Card, CoherentMap, CoherentMemory, Mapping, PendingLine, Preset, Rpc, RpcLines,
    SharedMemory, Slot, SpacePlacement, WriteBuffer,
};

/// What a handle stands for.
pub enum Thing {
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

/// A card, with what it was opened as.
pub struct OpenCard {
    card: Card,
    preset: Option<Preset>,
    /// Spaces that were made where the preset wants them.
    applications: AtomicU8,
}

impl OpenCard {
    /// Of a preset, if one was asked for.
    pub fn new(card: Card, preset: Option<Preset>) -> Self {
        Self {
            card,
            preset,
            applications: AtomicU8::new(0),
        }
    }

    /// Where the next space lies if its maker does not say.
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

impl Thing {
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

/// Kind of what programs for XRT hold.
const XRT: &str = "object of XRT";

/// What a C program holds, there a pointer: never followed, only looked up.
#[repr(transparent)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle(usize);

impl Handle {
    /// What stands for none.
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
    /// What ended with its card, and whose handle was not closed since; what kind it was.
    ended: BTreeMap<Handle, &'static str>,
}

struct Entry {
    thing: Arc<Thing>,
    /// The card that it was made on; its own handle, if it is one.
    card: Handle,
}

static TABLE: Mutex<Table> = Mutex::new(Table {
    // Not small, so that a number that was meant for something else is seldom a handle.
    next: FIRST,
    things: BTreeMap::new(),
    ended: BTreeMap::new(),
});

fn table() -> MutexGuard<'static, Table> {
    TABLE.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    /// Handles are never given twice.
    fn insert(&mut self, thing: Thing, card: impl FnOnce(Handle) -> Handle) -> Handle {
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
    table().insert(Thing::OpenCard(card), |own| own)
}

/// A handle of what programs for XRT hold, whose card has none.
pub fn insert_xrt(object: Object) -> Handle {
    table().insert(Thing::Xrt(object), |own| own)
}

/// A handle of what was made on the card of another thing, or on that card.
///
/// # Errors
/// The card was closed meanwhile, and what was made on it has ended.
pub fn insert(made_on: Handle, thing: Thing) -> Result<Handle, Failure> {
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

/// The thing of a handle.
fn find(handle: Handle, kind: &'static str) -> Result<Arc<Thing>, Failure> {
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

/// Takes a handle out of the table: it is closed from now on, whatever comes of ending what it stands for.
/// Something that ended with what it belonged to is ended well.
pub fn close(handle: Handle, kind: &'static str) -> Result<(), Failure> {
    if table().forget_ended(handle, kind) {
        return Ok(());
    }
    let found = find(handle, kind)?;
    if table().things.remove(&handle).is_none() {
        return find(handle, kind).map(drop);
    }
    let ended = match &*found {
        Thing::OpenCard(card) => {
            let closed = card.close();
            end_all_of(handle);
            closed
        }
        Thing::Space(space) => space.close(),
        Thing::Mapping(mapping) => mapping.unmap(),
        Thing::Slot(slot) => slot.close(),
        // It is freed before its handle is forgotten.
        Thing::Memory(_) => Ok(()),
        // Nothing of it is on the card.
        Thing::CoherentMemory(_) => Ok(()),
        // Dropped, it is unmapped; without a card there are no lines.
        Thing::CoherentMap(_) => Ok(()),
        // Dropped, they go on to their end.
        Thing::Access(_) | Thing::WriteBuffer(_) | Thing::Rpc(_) | Thing::RpcLines(_) => Ok(()),
        // What uses it has it too.
        Thing::Xrt(_) => Ok(()),
    };
    match ended {
        Err(tombolo::Error::Gone { .. }) => Ok(()),
        ended => Ok(ended?),
    }
}

/// Ends what was made on a card that was closed. Memory stays: its bytes are the program's until it is freed.
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
            Thing::Memory(_) => {
                // Registered memory is what it was before, now that nobody shares it.
                memories.push(entry.thing.clone());
                drop(table.things.insert(handle, entry));
            }
            thing => {
                table.ended.insert(handle, thing.kind());
                ended.push(entry);
            }
        }
    }
    // After the lock: it may take a while.
    drop(table);
    drop(ended);
    for memory in memories {
        if let Thing::Memory(memory) = &*memory {
            let mut memory = memory.lock().unwrap_or_else(PoisonError::into_inner);
            // Whatever it says: the card has gone.
            let _ = memory.free();
        }
    }
}

impl Table {
    /// Whether the handle is of something of that kind that ended with its card. It is closed then.
    fn forget_ended(&mut self, handle: Handle, kind: &str) -> bool {
        let ended = self.ended.get(&handle) == Some(&kind);
        if ended {
            self.ended.remove(&handle);
        }
        ended
    }
}

/// Takes the handle of something that has ended out of the table.
pub fn forget(handle: Handle) {
    let gone = table().things.remove(&handle);
    // After the lock.
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
                    Thing::$variant(thing) => call(thing),
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

/// Calls with what a handle of XRT's interface stands for.
pub fn with_xrt<R>(
    handle: Handle,
    call: impl FnOnce(&Object) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, XRT)? {
        Thing::Xrt(object) => call(object),
        other => Err(wrong(handle, XRT, other.kind())),
    }
}

/// Closes a handle of XRT's interface.
pub fn close_xrt(handle: Handle) -> Result<(), Failure> {
    close(handle, XRT)
}

/// The slots of several handles, as many as there are.
pub fn slots(handles: &[Handle]) -> Result<Vec<Arc<Thing>>, Failure> {
    handles.iter().map(|slot| find(*slot, "slot")).collect()
}

/// Calls with the shared memory of a handle.
pub fn with_memory<R>(
    handle: Handle,
    call: impl FnOnce(&Mutex<SharedMemory>) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, "shared memory")? {
        Thing::Memory(memory) => call(memory),
        other => Err(wrong(handle, "shared memory", other.kind())),
    }
}

/// Calls with the address space of a handle.
pub fn with_space<R>(
    handle: Handle,
    call: impl FnOnce(&AddressSpace) -> Result<R, Failure>,
) -> Result<R, Failure> {
    match &*find(handle, "address space")? {
        Thing::Space(space) => call(space),
        other => Err(wrong(handle, "address space", other.kind())),
    }
}

/// Address and bytes of a mapping.
pub fn mapping_range(handle: Handle) -> Result<(u64, u64), Failure> {
    with_mapping(handle, |mapping| {
        Ok((mapping.address().get(), mapping.bytes()))
    })
}
