//! Requests of clients to the owner, and their replies.
//!
//! A request is a struct that names the type of its reply ([`Request`]), so a reply of another type does not compile.
//! Requests with plain data are those of the crate `wire`; requests whose content exists only within a process (memory
//! of the program, callbacks, an open kernel folder) are in `local`. Within a process, requests are moved to the
//! owner's thread; over a socket they are messages (`any`). Clients open files, so that the system's permission checks
//! apply to them.

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
    ServeTrap, SetArgument, SettleStream, SignalState, SpaceId, Start, Stop, StopStream,
    StreamHandle, Sync, Take, TakeStatus, Taken, TransferState, TransfersState, TrapServed, Unload,
    Unmap, UnmapPart, WriteRegisters,
};
pub use wire::{
    ConnectionState, FileState, MapOptions, Moved, Progress, RunState, Signal, SpaceOptions,
    TranslationMode, UnknownTranslation,
};
