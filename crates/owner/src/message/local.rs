//! Requests whose content exists only within a process. A socket refuses them by name, or carries a replacement.

use super::any::Carried;
use super::{
    ByteRange, Loaded, MapOptions, NewMapping, Request, SpaceId, StreamHandle, TakeStatus,
};
use crate::backing::BackingSource;
use crate::peer_handle::PeerHandle;
use crate::report::Report;
use crate::Tenant;
use card::coherent::LinePages;
use card::history::History;
use card::kernel::KernelPackage;
use error::Error;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use trap::{TrapWay, View};
use units::access::{AccessId, LineAccess, LineBytes};
use units::{Picoseconds, SlotId, StreamDirection};
use wire::{
    FetchReport, LoadFolder, MapDescriptor, ShareDescriptor, ShareTrapped, TrappedPart,
    WrittenReport,
};

/// A request within a process.
pub trait OfProcess: Request {
    /// Converts the request to its replacement on a socket.
    ///
    /// # Errors
    /// [`Error::NotCarried`]: there is no replacement.
    fn carried(self) -> Result<Carried<Self::Reply>, Error>;
}

macro_rules! stay {
    ($($name:ident: $what:literal,)*) => {
        $(
            impl OfProcess for $name {
                fn carried(self) -> Result<Carried<Self::Reply>, Error> {
                    Err(Error::NotCarried { what: $what })
                }
            }
        )*
    };
}

stay! {
    KeepApart: "clients of another daemon",
    PlugPeer: "network interfaces",
    BeginPeerTransfer: "network interfaces",
    SetNetworkLink: "network interfaces",
    ShowPage: "coherent lines",
    RecordLines: "coherent lines",
    BeginAccess: "coherent lines",
    EndAccess: "coherent lines",
    HidePages: "coherent lines",
    LineHistory: "coherent lines",
    HomeMemory: "coherent lines",
    HostLines: "coherent lines",
    SetHoldTimeout: "coherent lines",
    SetHomeTimeout: "coherent lines",
}

impl OfProcess for Load {
    /// A kernel is sent as the descriptor of its folder.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        let Self {
            slot,
            kernel,
            space,
        } = self;
        let folder = File::open(&kernel.directory).map_err(|source| Error::File {
            path: kernel.directory.clone(),
            what: "opening the kernel's folder",
            source,
        })?;
        Ok(Carried {
            message: LoadFolder { slot, space }.into(),
            descriptors: vec![folder.into()],
            reply: super::any::reply::<LoadFolder>,
        })
    }
}

impl OfProcess for MapFile {
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        let Self {
            space,
            file,
            backing,
            label,
            options,
        } = self;
        if backing.is_some() {
            return Err(Error::NotCarried {
                what: "mappings of streams and of memory of peers",
            });
        }
        let request = MapDescriptor {
            space,
            label,
            options,
        };
        Ok(Carried {
            message: request.into(),
            descriptors: vec![file.into()],
            reply: super::any::reply::<MapDescriptor>,
        })
    }
}

impl OfProcess for Share {
    /// Memory is sent as its file; with traps, also the socket for orders to the process that traps them.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        let Self {
            space,
            view,
            direct,
            file,
            traps,
        } = self;
        let Some(traps) = traps else {
            let request = ShareDescriptor {
                space,
                address: view.address(),
                bytes: view.bytes() as u64,
                page: view.page(),
                direct,
            };
            return Ok(Carried {
                message: request.into(),
                descriptors: vec![file.into()],
                reply: super::any::reply::<ShareDescriptor>,
            });
        };
        let parts = view.parts().iter().map(|part| TrappedPart {
            bytes: part.range.len() as u64,
            page: part.page,
        });
        let request = ShareTrapped {
            space,
            address: view.address(),
            parts: parts.collect(),
            block: traps.block,
            pieces: view.trap_way() == Some(TrapWay::Protect),
            orders: traps.orders.is_some(),
        };
        let file = std::iter::once(file.into());
        Ok(Carried {
            message: request.into(),
            descriptors: file.chain(traps.orders).collect(),
            reply: super::any::reply::<ShareTrapped>,
        })
    }
}

/// Marks this client as served over a socket: its reports cover itself alone.
#[derive(Clone, Debug)]
pub struct KeepApart {
    /// The tenant whose quota it shares.
    pub tenant: Option<Arc<Tenant>>,
}

impl Request for KeepApart {
    type Reply = ();
}

impl OfProcess for TakeStatus {
    /// Sent unchanged; a daemon adds to the reply.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        Ok(Carried {
            message: self.into(),
            descriptors: Vec::new(),
            reply: super::any::reply::<Self>,
        })
    }
}

impl OfProcess for MakeReport {
    /// A client of a daemon gets only its own part.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        Ok(Carried {
            message: FetchReport.into(),
            descriptors: Vec::new(),
            reply: |bytes| {
                let WrittenReport(json) = super::any::reply::<FetchReport>(bytes)?;
                serde_json::from_value(json).map_err(super::any::unreadable)
            },
        })
    }
}

/// Loads a kernel into a slot, in a space.
#[derive(Debug)]
pub struct Load {
    /// The slot; `None`: the first without a kernel.
    pub slot: Option<SlotId>,
    /// The kernel, read from its folder.
    pub kernel: Box<KernelPackage>,
    /// Its address space.
    pub space: SpaceId,
}

impl Request for Load {
    type Reply = Loaded;
}

/// Maps a range of a file, or of the backing that the file represents.
#[derive(Debug)]
pub struct MapFile {
    /// The space to map it in.
    pub space: SpaceId,
    /// The file, opened by the client with the rights that the mapping needs.
    pub file: File,
    /// The backing that the file represents, if any.
    pub backing: Option<Box<dyn BackingSource>>,
    /// The file's name, for messages.
    pub label: String,
    /// Options; [`MapOptions::bytes`] sets the size.
    pub options: MapOptions,
}

impl Request for MapFile {
    type Reply = NewMapping;
}

/// Shares memory of the program with the kernels of a space, at the same address.
#[derive(Debug)]
pub struct Share {
    /// The space of the kernels.
    pub space: SpaceId,
    /// The shared range of the program's memory.
    pub view: Arc<View>,
    /// Kernels access the memory in the host instead of moving its pages to the card.
    pub direct: bool,
    /// The memory as a file of fixed size: an owner in another process can use it.
    pub file: File,
    /// Traps that this process serves by order of an owner in another one.
    pub traps: Option<OrderedTraps>,
}

/// Traps that the program's process serves by order of an owner in another process.
#[derive(Debug)]
pub struct OrderedTraps {
    /// Number of the block; orders name it.
    pub block: u64,
    /// The owner's end of the socket for orders, with the first block.
    pub orders: Option<OwnedFd>,
}

impl Request for Share {
    type Reply = NewMapping;
}

/// Connects a port to a network interface, and the interface to a peer.
#[derive(Debug)]
pub struct PlugPeer {
    /// Stream port to connect.
    pub stream: StreamHandle,
    /// Peer across the network.
    pub peer: PeerHandle,
}

impl Request for PlugPeer {
    type Reply = ();
}

/// Shows a program the page of lines from `address` on; false if the CPU does not have them all.
#[derive(Debug)]
pub struct ShowPage {
    /// Address on the coherent link.
    pub address: u64,
    /// The program may write the page, too.
    pub write: bool,
    /// Owner of the program's pages.
    pub pages: Arc<dyn LinePages>,
}

impl Request for ShowPage {
    type Reply = bool;
}

/// Starts recording events of lines.
#[derive(Debug)]
pub struct RecordLines {
    /// An empty history that names the lines to record.
    pub history: Box<History>,
}

impl Request for RecordLines {
    type Reply = ();
}

/// Starts an access of a core to a coherent line.
#[derive(Clone, Debug)]
pub struct BeginAccess {
    /// Core, address and operation.
    pub access: LineAccess,
}

impl Request for BeginAccess {
    type Reply = AccessId;
}

/// Waits for the end of an access; returns the line as the access saw or left it.
#[derive(Clone, Debug)]
pub struct EndAccess {
    /// Identifier that the start of the access returned.
    pub id: AccessId,
    /// Maximum duration, in virtual time.
    pub deadline: Option<Picoseconds>,
}

impl Request for EndAccess {
    type Reply = Box<LineBytes>;
}

/// Hides the pages of programs that show lines of a range.
#[derive(Clone, Debug)]
pub struct HidePages {
    /// Address on the coherent link.
    pub base: u64,
    /// Size of the range, in bytes.
    pub bytes: u64,
}

impl Request for HidePages {
    type Reply = ();
}

/// Returns the recorded history of lines.
#[derive(Clone, Debug)]
pub struct LineHistory;

impl Request for LineHistory {
    type Reply = Box<History>;
}

/// Makes card memory serve the directory's lines; returns its size in bytes.
#[derive(Clone, Debug)]
pub struct HomeMemory;

impl Request for HomeMemory {
    type Reply = u64;
}

/// Returns how many bytes of the CPU's memory a kernel may use.
#[derive(Clone, Debug)]
pub struct HostLines;

impl Request for HostLines {
    type Reply = u64;
}

/// Sets how long a kernel may hold a line of the CPU.
#[derive(Clone, Debug)]
pub struct SetHoldTimeout {
    /// Cycles of the card; 0: without a limit.
    pub cycles: u32,
}

impl Request for SetHoldTimeout {
    type Reply = ();
}

/// Sets the timeout of the kernel behind the directory.
#[derive(Clone, Debug)]
pub struct SetHomeTimeout {
    /// Cycles of the card; 0: without a limit.
    pub cycles: u32,
}

impl Request for SetHomeTimeout {
    type Reply = ();
}

/// Disconnects or reconnects the cable of a network interface.
#[derive(Clone, Debug)]
pub struct SetNetworkLink {
    /// Number of the interface.
    pub interface: u8,
    /// Whether the link is up.
    pub up: bool,
}

impl Request for SetNetworkLink {
    type Reply = ();
}

/// Begins a transfer between a kernel and its peer's memory.
#[derive(Clone, Debug)]
pub struct BeginPeerTransfer {
    /// Stream port of the transfer.
    pub stream: StreamHandle,
    /// Direction, as the client sees it.
    pub direction: StreamDirection,
    /// Range of the peer's memory.
    pub range: ByteRange,
}

impl Request for BeginPeerTransfer {
    type Reply = ();
}

/// Scope of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOf {
    /// Everything that the card did since it was opened.
    Card,
    /// Everything that the client did with the card.
    Client,
}

/// Makes a report of where the time went.
#[derive(Clone, Debug)]
pub struct MakeReport {
    /// Scope of the report.
    pub of: ReportOf,
}

impl Request for MakeReport {
    type Reply = Box<Report>;
}
