//! Requests that exist only on a socket: within a process memory is passed directly, on a socket as descriptors and
//! text.

use crate::status::Status;
use crate::{LoadId, MapOptions, NewMapping, Request, SpaceId};
use serde::{Deserialize, Serialize};
use units::{PageSize, SlotId, VirtAddr};

/// Maps a range of a file. The descriptor comes with the request and has the rights that the mapping needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MapDescriptor {
    /// Address space of the mapping.
    pub space: SpaceId,
    /// The file's name, for messages to the client.
    pub label: String,
    /// Options of the mapping.
    pub options: MapOptions,
}

impl Request for MapDescriptor {
    type Reply = NewMapping;
}

/// Shares memory of the program. Its file comes with the request and has a fixed size. Accesses of the program are not
/// trapped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareDescriptor {
    /// Address space to share with.
    pub space: SpaceId,
    /// Address of the memory, equal in the program and in kernels.
    pub address: VirtAddr,
    /// Size in bytes, whole pages.
    pub bytes: u64,
    /// Page size.
    pub page: PageSize,
    /// Kernels use the memory in place, in host memory.
    pub direct: bool,
}

impl Request for ShareDescriptor {
    type Reply = NewMapping;
}

/// Shares memory of the program whose accesses its own process traps. Its file comes with the request and has a fixed
/// size; with the first such request of a client also the daemon's end of the socket for orders
/// ([`order_sockets`](crate::order_sockets)).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareTrapped {
    /// Address space to share with.
    pub space: SpaceId,
    /// Address of the memory, equal in the program and in kernels.
    pub address: VirtAddr,
    /// Its parts, one behind the other.
    pub parts: Vec<TrappedPart>,
    /// Number of the block, by the program's count; orders name it.
    pub block: u64,
    /// Pieces of 2 MiB change their rights in one step.
    pub pieces: bool,
    /// The socket for orders comes along. It takes the place of an earlier one if that has no memory.
    pub orders: bool,
}

/// A part of trapped memory, with pages of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrappedPart {
    /// Size in bytes, whole pages.
    pub bytes: u64,
    /// Page size.
    pub page: PageSize,
}

impl Request for ShareTrapped {
    type Reply = NewMapping;
}

/// Lets a thread of the program continue that waits for a page of its trapped memory. The reply comes when orders have
/// given it the right.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServeTrap {
    /// Block, by the program's count.
    pub block: u64,
    /// Accessed byte, relative to the start of the block.
    pub offset: u64,
    /// The access writes.
    pub write: bool,
}

impl Request for ServeTrap {
    type Reply = TrapServed;
}

/// Reply to a trap.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct TrapServed {
    /// Number of this reply among those to the client's traps: later orders name it, so that the thread makes its access
    /// before it loses the right again.
    pub number: u64,
}

/// Loads the kernel of a folder into a slot. The folder's descriptor comes with the request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadFolder {
    /// Slot; `None`: the first without a kernel.
    pub slot: Option<SlotId>,
    /// The kernel's address space.
    pub space: SpaceId,
}

impl Request for LoadFolder {
    type Reply = Loaded;
}

/// Reply to a load.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// Identifier of this load.
    pub load: LoadId,
    /// Slot that holds the kernel.
    pub slot: SlotId,
}

/// Requests the time report of this client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FetchReport;

impl Request for FetchReport {
    type Reply = WrittenReport;
}

/// A report, as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenReport(pub serde_json::Value);

/// Requests the usage of the card by its clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TakeStatus;

impl Request for TakeStatus {
    type Reply = Status;
}
