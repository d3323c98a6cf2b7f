//! Names that an owner gives to what it holds for its clients.
//!
//! A name is given once for as long as the owner lives, so one that outlived its object reaches nothing.

use serde::{Deserialize, Serialize};
use units::{SlotId, StreamId};

/// Who asks: one program, or a part of one that keeps its things to itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClientId(pub u64);

/// An address space. The next one with the same ASID has another name.
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

/// Two stream ports that are joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// One opening of a stream port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct StreamHandle {
    /// The slot.
    pub slot: SlotId,
    /// The slot's stream.
    pub stream: StreamId,
    /// Which opening of it.
    pub serial: u64,
}
