//! Requests that hold what only a process can hold. A socket refuses them by name, or has others in their place.

use super::any::Carried;
use super::{
    ByteRange, Loaded, MapOptions, NewMapping, Request, SpaceId, StreamHandle, TakeStatus,
};
use crate::behind::StandsFor;
use crate::peer_handle::PeerHandle;
use crate::report::Report;
use crate::Tenant;
use card::coherent::LinePages;
use card::history::History;
use card::kernel::KernelPackage;
use error::Error;
use std::fs::File;
use std::sync::Arc;
use trap::View;
use units::access::{AccessId, LineAccess, LineBytes};
use units::{Picoseconds, SlotId, StreamDirection};
use wire::{FetchReport, LoadFolder, MapDescriptor, ShareDescriptor, WrittenReport};

/// A request of a process.
pub trait OfProcess: Request {
    /// What a socket carries in its place.
    ///
    /// # Errors
    /// [`Error::NotCarried`]: nothing.
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
    /// A kernel travels as the descriptor of its folder.
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
            behind,
            label,
            options,
        } = self;
        if behind.is_some() {
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
    /// Memory travels as its file. Accesses in another process cannot be trapped.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        let Self {
            space,
            view,
            direct,
            file,
        } = self;
        let file = file.ok_or(Error::NotCarried {
            what: "memory whose accesses are trapped (it carries what asks by itself: alloc_untrapped, alloc_direct)",
        })?;
        let request = ShareDescriptor {
            space,
            address: view.address(),
            bytes: view.bytes() as u64,
            page: view.page(),
            direct,
        };
        Ok(Carried {
            message: request.into(),
            descriptors: vec![file.into()],
            reply: super::any::reply::<ShareDescriptor>,
        })
    }
}

/// This client is served over a socket: its reports tell of itself alone.
#[derive(Clone, Debug)]
pub struct KeepApart {
    /// With whom it shares a quota.
    pub tenant: Option<Arc<Tenant>>,
}

impl Request for KeepApart {
    type Reply = ();
}

impl OfProcess for TakeStatus {
    /// As it is; a daemon adds to the reply.
    fn carried(self) -> Result<Carried<Self::Reply>, Error> {
        Ok(Carried {
            message: self.into(),
            descriptors: Vec::new(),
            reply: super::any::reply::<Self>,
        })
    }
}

impl OfProcess for MakeReport {
    /// A client of a daemon gets its own part.
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

/// Puts a kernel into a slot, in a space.
#[derive(Debug)]
pub struct Load {
    /// The slot; `None`: the first that has no kernel.
    pub slot: Option<SlotId>,
    /// The kernel, as its folder has it.
    pub kernel: Box<KernelPackage>,
    /// Its address space.
    pub space: SpaceId,
}

impl Request for Load {
    type Reply = Loaded;
}

/// Maps a range of a file, or of what a file stands in for.
#[derive(Debug)]
pub struct MapFile {
    /// Where to.
    pub space: SpaceId,
    /// The file, opened by the client with the rights that the mapping needs.
    pub file: File,
    /// What the file stands in for, if it does.
    pub behind: Option<Box<dyn StandsFor>>,
    /// The file's name, for messages.
    pub label: String,
    /// How; [`MapOptions::bytes`] says how many bytes.
    pub options: MapOptions,
}

impl Request for MapFile {
    type Reply = NewMapping;
}

/// Shares memory of the program with the kernels of a space, at the same address.
#[derive(Debug)]
pub struct Share {
    /// With whom.
    pub space: SpaceId,
    /// The memory.
    pub view: Arc<View>,
    /// Kernels use it where it is.
    pub direct: bool,
    /// The memory as a file that keeps its size, if nobody is trapped: an owner in another process can have that.
    pub file: Option<File>,
}

impl Request for Share {
    type Reply = NewMapping;
}

/// Plugs a port into a network interface, and that into a peer.
#[derive(Debug)]
pub struct PlugPeer {
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
pub struct ShowPage {
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
pub struct RecordLines {
    /// An empty history of these lines.
    pub history: Box<History>,
}

impl Request for RecordLines {
    type Reply = ();
}

/// Starts an access of a core to a coherent line.
#[derive(Clone, Debug)]
pub struct BeginAccess {
    /// The access.
    pub access: LineAccess,
}

impl Request for BeginAccess {
    type Reply = AccessId;
}

/// Waits for the end of an access; gives the line as the access saw or left it.
#[derive(Clone, Debug)]
pub struct EndAccess {
    /// The access.
    pub id: AccessId,
    /// How long, at most.
    pub deadline: Option<Picoseconds>,
}

impl Request for EndAccess {
    type Reply = Box<LineBytes>;
}

/// Hides the pages of programs that show lines of a range.
#[derive(Clone, Debug)]
pub struct HidePages {
    /// On the coherent link.
    pub base: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Request for HidePages {
    type Reply = ();
}

/// What happened to the lines that are recorded?
#[derive(Clone, Debug)]
pub struct LineHistory;

impl Request for LineHistory {
    type Reply = Box<History>;
}

/// Lets card memory serve the directory's lines; gives its bytes.
#[derive(Clone, Debug)]
pub struct HomeMemory;

impl Request for HomeMemory {
    type Reply = u64;
}

/// How many bytes may a kernel use of the CPU's memory?
#[derive(Clone, Debug)]
pub struct HostLines;

impl Request for HostLines {
    type Reply = u64;
}

/// How long may a kernel hold a line of the CPU?
#[derive(Clone, Debug)]
pub struct SetHoldTimeout {
    /// Cycles of the card; 0: for ever.
    pub cycles: u32,
}

impl Request for SetHoldTimeout {
    type Reply = ();
}

/// How long may the kernel behind the directory take for an answer?
#[derive(Clone, Debug)]
pub struct SetHomeTimeout {
    /// Cycles of the card; 0: for ever.
    pub cycles: u32,
}

impl Request for SetHomeTimeout {
    type Reply = ();
}

/// Pulls the cable of a network interface, or puts it back.
#[derive(Clone, Debug)]
pub struct SetNetworkLink {
    /// The interface.
    pub interface: u8,
    /// It works.
    pub up: bool,
}

impl Request for SetNetworkLink {
    type Reply = ();
}

/// Begins a transfer between a kernel and its peer's memory.
#[derive(Clone, Debug)]
pub struct BeginPeerTransfer {
    /// The stream.
    pub stream: StreamHandle,
    /// The way that the client means.
    pub direction: StreamDirection,
    /// The bytes of the peer's memory.
    pub range: ByteRange,
}

impl Request for BeginPeerTransfer {
    type Reply = ();
}

/// Of whom a report tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportOf {
    /// Of all that the card did since it was opened.
    Card,
    /// Of what the client did with it.
    Client,
}

/// Where did the time go?
#[derive(Clone, Debug)]
pub struct MakeReport {
    /// Of whom.
    pub of: ReportOf,
}

impl Request for MakeReport {
    type Reply = Box<Report>;
}
