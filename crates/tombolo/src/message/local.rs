//! Requests that hold what only a process can hold. A socket refuses them, or has others in their place.

use super::{LoadId, MapOptions, NewMapping, Request, SpaceId, StreamHandle};
use crate::network::PeerHandle;
use crate::owner::behind::StandsFor;
use crate::trap::View;
use card::coherent::LinePages;
use card::history::History;
use card::kernel::KernelPackage;
use std::fs::File;
use std::sync::Arc;
use units::SlotId;

/// Puts a kernel into a slot, in a space.
#[derive(Debug)]
pub(crate) struct Load {
    /// The slot.
    pub slot: SlotId,
    /// The kernel, as its folder has it.
    pub kernel: Box<KernelPackage>,
    /// Its address space.
    pub space: SpaceId,
}

impl Request for Load {
    type Reply = LoadId;
}

/// Maps a range of a file, or of what a file stands in for.
#[derive(Debug)]
pub(crate) struct MapFile {
    /// Where to.
    pub space: SpaceId,
    /// The file, opened by the client with the rights that the mapping needs.
    pub file: File,
    /// What the file stands in for, if it does.
    pub behind: Option<StandsFor>,
    /// The file's name, for messages.
    pub label: String,
    /// How; [`MapOptions::range`] says how many bytes.
    pub options: MapOptions,
}

impl Request for MapFile {
    type Reply = NewMapping;
}

/// Shares memory of the program with the kernels of a space, at the same address.
#[derive(Debug)]
pub(crate) struct Share {
    /// With whom.
    pub space: SpaceId,
    /// The memory.
    pub view: Arc<View>,
    /// Kernels use it where it is.
    pub direct: bool,
}

impl Request for Share {
    type Reply = NewMapping;
}

/// Plugs a port into a network interface, and that into a peer.
#[derive(Debug)]
pub(crate) struct PlugPeer {
    /// The port.
    pub stream: StreamHandle,
    /// The peer.
    pub peer: PeerHandle,
}

impl Request for PlugPeer {
    type Reply = ();
}

/// Shows a program the page of lines from `address` on; false if the CPU does not have them.
#[derive(Debug)]
pub(crate) struct ShowPage {
    /// On the coherent link.
    pub address: u64,
    /// To be written too.
    pub write: bool,
    /// Whose pages.
    pub pages: Arc<dyn LinePages>,
}

impl Request for ShowPage {
    type Reply = bool;
}

/// Records what happens to lines from now on.
#[derive(Debug)]
pub(crate) struct RecordLines {
    /// An empty history of these lines.
    pub history: Box<History>,
}

impl Request for RecordLines {
    type Reply = ();
}
