//! What clients ask of the owner, and what it answers.
//!
//! A request is a struct that names the type of its reply ([`Request`]), so an answer of another kind cannot be
//! written. Requests whose fields are plain data are those of the crate `wire`; what only a process can hold (memory of the
//! program, callbacks, a kernel's folder that is open already) is in `local`. Within a process requests are moved to
//! the owner's thread; over a socket they are messages (`any`). Clients open files, so that the system's permission
//! checks are theirs.

mod any;
mod local;

pub use any::{AnyRequest, Ask, Carried, ReplyTo, Waiting, WayBack};
pub use local::*;
pub use wire::{
    Advise, Await, BeginTransfer, ByteRange, CheckTaken, ClientId, Close, CloseStream,
    ConnectPorts, ConnectionId, CreateSpace, Describe, Description, DestroySpace, Disconnect,
    Expire, ExpireStream, Free, Inspect, InspectStream, LoadId, Loaded, MakeHot, MappingId,
    NewMapping, NewSpace, OpenStream, PacketPart, PacketsMissing, Poll, PollAny, PollStream,
    PollStreams, PortOf, Prefetch, ReadRegister, Refresh, Request, RestOfMapping, Schedule,
    SetArgument, SettleStream, SignalState, SpaceId, Start, Stop, StopStream, StreamHandle, Sync,
    Take, TakeStatus, Taken, TransferState, TransfersState, Unload, Unmap, UnmapPart,
    WriteRegisters,
};
pub use wire::{
    ConnectionState, FileState, MapOptions, Moved, Progress, RunState, Signal, SpaceOptions,
    TranslationMode, UnknownTranslation,
};
