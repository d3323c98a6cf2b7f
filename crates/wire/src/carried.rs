//! Requests that only a socket has: what a process gives by its memory, they give by descriptors and text.

use crate::status::Status;
use crate::{LoadId, MapOptions, NewMapping, Request, SpaceId};
use serde::{Deserialize, Serialize};
use units::{PageSize, SlotId, VirtAddr};

/// Maps a range of a file, whose descriptor comes along with the rights that the mapping needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MapDescriptor {
    /// Where to.
    pub space: SpaceId,
    /// The file's name, for messages to the client.
    pub label: String,
    /// How.
    pub options: MapOptions,
}

impl Request for MapDescriptor {
    type Reply = NewMapping;
}

/// Shares memory of the program, whose file comes along: one that keeps its size. No access of the program is trapped.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ShareDescriptor {
    /// With whom.
    pub space: SpaceId,
    /// Where the program has it, and kernels will.
    pub address: VirtAddr,
    /// Whole pages.
    pub bytes: u64,
    /// The pages.
    pub page: PageSize,
    /// Kernels use it where it is.
    pub direct: bool,
}

impl Request for ShareDescriptor {
    type Reply = NewMapping;
}

/// Puts the kernel of a folder, whose descriptor comes along, into a slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoadFolder {
    /// The slot; `None`: the first that has no kernel.
    pub slot: Option<SlotId>,
    /// The kernel's address space.
    pub space: SpaceId,
}

impl Request for LoadFolder {
    type Reply = Loaded;
}

/// A kernel that was loaded.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Loaded {
    /// Its name.
    pub load: LoadId,
    /// Where it is.
    pub slot: SlotId,
}

/// Where did the time of this client go?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FetchReport;

impl Request for FetchReport {
    type Reply = WrittenReport;
}

/// A report as JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WrittenReport(pub serde_json::Value);

/// Who uses what of the card?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TakeStatus;

impl Request for TakeStatus {
    type Reply = Status;
}
