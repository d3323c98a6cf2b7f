//! Identifiers of the objects that an owner holds for its clients.
//!
//! An identifier is not reused during the owner's life, so a stale one never reaches another object.

use serde::{Deserialize, Serialize};
use units::{SlotId, StreamId};

/// A client: one program, or a part of one that owns its objects separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientId(pub u64);

/// An address space. Its successor with the same ASID has another identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SpaceId(pub u64);

/// A mapping of a space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct MappingId(pub u64);

/// One loading of a kernel into a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoadId(pub u64);

/// A connection of two stream ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// One opening of a stream port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamHandle {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Stream number within the slot.
    pub stream: StreamId,
    /// Count of openings, which distinguishes this one from earlier ones.
    pub serial: u64,
}
