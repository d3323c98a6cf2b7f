//! Map files into an FPGA kernel, start it, wait: the library that programs use.
//!
//! ```no_run
//! use tombolo::{Card, MapOptions, SlotId};
//!
//! # fn main() -> Result<(), tombolo::Error> {
//! let card = Card::open("f1")?;
//! let space = card.create_space()?;
//! let input = space.map_file("in.bin", MapOptions::read_only())?;
//! let output = space.map_file("out.bin", MapOptions::create(input.bytes()))?;
//! let slot = card.load(SlotId(0), "kernels/copy", &space)?;
//! slot.set_pointer("input", input.address())?;
//! slot.set_pointer("output", output.address())?;
//! slot.set("bytes", input.bytes())?;
//! slot.run()?;
//! output.unmap()?; // the bytes are in the file now
//! println!("{}", card.report()?);
//! # Ok(())
//! # }
//! ```

#![deny(missing_debug_implementations)]

mod behind;
mod behind_vfio;
mod card_handle;
mod card_name;
mod coherent;
mod connection;
pub mod device;
mod flow;
mod link;
mod network;
mod participant;
mod preset;
mod range;
mod registers;
mod rights;
mod served;
pub mod serving;
mod shared;
mod sizes;
mod sliced_wait;
mod slot;
mod space;
mod stream;

pub use card::guard::{Rule, Violation};
pub use card::history::History;
pub use card::network::{MemoryNode, Peer, PeerError};
pub use card_handle::Card;
pub use card_name::CardName;
pub use coherent::{
    CoherentMap, CoherentMapOptions, CoherentMemory, PendingLine, Rpc, RpcAnswer, RpcLines,
    WriteBuffer,
};
pub use connection::Connection;
pub use device::{Device, Packets, UnknownPackets};
pub use error::{
    AccessError, DeviceError, Error, HomeError, PortName, StreamError, ViolationError,
};
pub use file_io as io;
pub use flow::{Flow, Flowed};
pub use funcard::{FunctionalCard, FunctionalConfig};
pub use owner::message::{
    ConnectionState, FileState, MapOptions, Moved, Progress, RunState, SpaceOptions,
    TranslationMode, UnknownTranslation,
};
pub use owner::report;
pub use owner::report::{DirectReport, Report, SlotShare, SpaceReport};
#[doc(hidden)]
pub use owner::InjectedFault;
pub use owner::{ClockMode, OwnerOptions, ServiceThreads};
pub use pager::eviction::Eviction;
pub use participant::{Participant, Present};
pub use preset::{Preset, PresetError};
pub use range::MappedRange;
pub use registers::Registers;
pub use remote;
pub use remote::{Export, FabricError, FileNode, RemoteError, RemoteMemory, RemoteServer};
pub use shared::{Shareable, SharedMemory};
pub use simcard::{DirectoryConfig, ShellConfig, SimOptions, WaveStart, Waves};
pub use sizes::parse_bytes;
pub use slot::{Continue, Slot};
pub use space::{AddressSpace, Mapping, Unsaved};
pub use stream::Stream;
pub use timeline::Timeline;
pub use timing::host::{HostFile, HostFileError, TrapFigures};
pub use trap::{can_move_pages, measure_traps, measure_traps_with, RangeError, TrapWay};
pub use units::{
    Advice, AdviceError, CardMemory, Fetch, L1Reach, MemoryKind, PageSize, PageSizes, Pattern,
    Picoseconds, Priority, Reuse, SlotId, SlotSchedule, SpacePlacement, StreamDirection, Stripe,
    UnknownMemory, VirtAddr,
};
pub use verilated::Progress as BuildProgress;
pub use wire::{
    ClientId, ClientPaging, ClientStatus, DaemonStatus, ErrorCode, Failure, OwnerStatus,
    SlotStatus, Status, StreamErrorKind, TenantStatus, Use,
};
