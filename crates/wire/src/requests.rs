//! Requests whose fields are plain data, and their replies.

use crate::options::SpaceOptions;
use crate::{ConnectionId, LoadId, MappingId, Request, SpaceId, StreamHandle};
use serde::{Deserialize, Serialize};
use units::{
    Advice, Asid, CardDescription, L1Reach, PageSize, Picoseconds, SlotSchedule, StreamDirection,
    StreamWaiting, VirtAddr,
};

/// A byte range of an object, such as a mapping or a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// Offset of the first byte in the object.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl ByteRange {
    /// Whether the range is not empty and lies inside an object of `whole` bytes.
    pub fn is_within(self, whole: u64) -> bool {
        let end = self.offset.checked_add(self.bytes);
        self.bytes > 0 && end.is_some_and(|end| end <= whole)
    }
}

/// Description of a card, and its virtual time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "WrittenDescription", into = "WrittenDescription")]
pub struct Description {
    /// Description of the card.
    pub card: Box<CardDescription>,
    /// Virtual time.
    pub now: Picoseconds,
}

/// The description as JSON, with the fields that [`CardDescription`] omits because reports do.
#[derive(Serialize, Deserialize)]
struct WrittenDescription {
    card: Box<CardDescription>,
    l1_reach: Vec<L1Reach>,
    table_walks: bool,
    now: Picoseconds,
}

impl From<Description> for WrittenDescription {
    fn from(description: Description) -> Self {
        let Description { mut card, now } = description;
        Self {
            l1_reach: std::mem::take(&mut card.l1_reach),
            table_walks: card.table_walks,
            card,
            now,
        }
    }
}

impl From<WrittenDescription> for Description {
    fn from(written: WrittenDescription) -> Self {
        let mut card = written.card;
        card.l1_reach = written.l1_reach;
        card.table_walks = written.table_walks;
        Self {
            card,
            now: written.now,
        }
    }
}

/// Reply: the new address space.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NewSpace {
    /// Identifier of the space.
    pub space: SpaceId,
    /// ASID in the shell.
    pub asid: Asid,
}

/// Reply: the new mapping.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NewMapping {
    /// Identifier of the mapping.
    pub mapping: MappingId,
    /// Address of the first byte of the range.
    pub address: VirtAddr,
    /// Size of the range in bytes.
    pub bytes: u64,
    /// Size of its largest pages.
    pub page: PageSize,
}

/// The remainder of a mapping after a part of it ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RestOfMapping {
    /// Identifier of the mapping.
    pub mapping: MappingId,
    /// Address of its first byte.
    pub address: VirtAddr,
    /// Size in bytes.
    pub bytes: u64,
}

/// A stream port of a kernel, by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PortOf {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Name of the kernel's port.
    pub port: String,
}

/// Position of a transfer in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketPart {
    /// Into a kernel: the transfer ends the packet. Out of a kernel: it begins regardless of the previous transfer.
    Whole,
    /// Into a kernel: the packet continues after the transfer. Out of a kernel: it begins only if the previous
    /// transfer's packet continues, and otherwise completes at once with zero bytes.
    More,
}

/// A completed transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Bytes that were moved.
    pub bytes: u64,
    /// The last byte ended a packet (TLAST). Out of the kernel, `false` means that the range was full and more of the
    /// packet may follow.
    pub last: bool,
}

/// State of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionState {
    /// The connection, or its removal, waits for the packets under way to end.
    pub pending: bool,
    /// A reset of a slot has cut a packet since the ports were connected: the receiver got an incomplete packet, or
    /// lost received data.
    pub cut: bool,
    /// A beat is stalled by the receiver.
    pub waits_for_receiver: bool,
}

/// Data taken from a port out of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Packets that ended.
    pub packets: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The receive buffer is full.
    pub full: bool,
}

/// A condition that a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// A register has a value in the bits of a mask.
    Register {
        /// Byte offset of the register.
        offset: u32,
        /// Bits to compare.
        mask: u32,
        /// Expected value of these bits.
        value: u32,
    },
    /// The kernel's interrupt, if it has not been consumed by an earlier wait.
    Interrupt,
}

/// Progress of the card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Virtual time.
    pub now: Picoseconds,
    /// Bytes brought to the card, or zeroed there.
    pub bytes_in: u64,
    /// Bytes written back.
    pub bytes_out: u64,
    /// Faults served.
    pub faults: u64,
}

/// Whether a kernel is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RunState {
    /// The kernel is done.
    Done(Progress),
    /// The kernel is still running.
    Running(Progress),
}

/// Whether a signal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalState {
    /// It has: the register's value, or the number of interrupts.
    Come(u32),
    /// It has not.
    Awaited(Progress),
}

/// State of the oldest transfer of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransferState {
    /// The transfer is complete.
    Moved(Moved),
    /// The transfer is under way.
    Moving(Progress),
}

/// State of the oldest transfers of several streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransfersState {
    /// One of the transfers is complete.
    Moved {
        /// Index of its stream in the request.
        place: usize,
        /// Result of the transfer.
        moved: Moved,
        /// Progress of the card.
        progress: Progress,
    },
    /// All are under way.
    Moving(Progress),
    /// None is complete, and no pending event can complete one.
    Quiet(Progress),
}

/// Requests the card's description and virtual time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Describe;

impl Request for Describe {
    type Reply = Description;
}

/// Ends all objects of this client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Close;

impl Request for Close {
    type Reply = ();
}

/// Makes an address space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateSpace {
    /// Options of the address space.
    pub options: SpaceOptions,
}

impl Request for CreateSpace {
    type Reply = NewSpace;
}

/// Ends an address space, with its mappings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DestroySpace {
    /// Address space to end.
    pub space: SpaceId,
}

impl Request for DestroySpace {
    type Reply = ();
}

/// Writes a mapping back and ends it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unmap {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
}

impl Request for Unmap {
    type Reply = ();
}

/// Writes back what kernels have written so far; the mapping stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sync {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
}

impl Request for Sync {
    type Reply = ();
}

/// Reads the file again after another process changed it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refresh {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
    /// Drops the kernels' stores instead of writing them back first.
    pub discard: bool,
}

impl Request for Refresh {
    type Reply = ();
}

/// Sets the expected access pattern of a part of a mapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Advise {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
    /// Range, relative to the start of the mapping.
    pub range: ByteRange,
    /// Expected access pattern.
    pub advice: Advice,
}

impl Request for Advise {
    type Reply = ();
}

/// Brings pages to the card before kernels access them.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prefetch {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
}

impl Request for Prefetch {
    type Reply = ();
}

/// Preloads pages at no cost in virtual time; returns the number of bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MakeHot {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
}

impl Request for MakeHot {
    type Reply = u64;
}

/// Gives the program read access, or read and write access, to a range of shared memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Take {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
    /// Range, relative to the start of the mapping.
    pub range: ByteRange,
    /// Also for writing.
    pub write: bool,
}

impl Request for Take {
    type Reply = ();
}

/// Ends the sharing of memory, unless a kernel of the space runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Free {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
}

impl Request for Free {
    type Reply = ();
}

/// Ends a part of a mapping; returns the remainder.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnmapPart {
    /// Mapping that the request applies to.
    pub mapping: MappingId,
    /// Range, relative to the start of the mapping.
    pub range: ByteRange,
}

impl Request for UnmapPart {
    type Reply = Vec<RestOfMapping>;
}

/// Stops the kernel and empties its slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unload {
    /// Kernel, identified by its load.
    pub load: LoadId,
}

impl Request for Unload {
    type Reply = ();
}

/// Sets the registers of a kernel's argument. The owner keeps the words, and writes them again whenever the slot leaves
/// reset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetArgument {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Byte offset of the first register.
    pub offset: u32,
    /// Words, one per register.
    pub words: Vec<u32>,
}

impl Request for SetArgument {
    type Reply = ();
}

/// Writes registers of a kernel (`s_axi_control`). Refused while the slot is in reset, where they would be lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteRegisters {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Byte offset of the first register.
    pub offset: u32,
    /// Words, one per register.
    pub words: Vec<u32>,
}

impl Request for WriteRegisters {
    type Reply = ();
}

/// Reads a register of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadRegister {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Byte offset of the register.
    pub offset: u32,
}

impl Request for ReadRegister {
    type Reply = u32;
}

/// Sets a slot's share of card memory, until another kernel is loaded.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Share of card memory.
    pub schedule: SlotSchedule,
}

impl Request for Schedule {
    type Reply = ();
}

/// Starts a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// Kernel, identified by its load.
    pub load: LoadId,
}

impl Request for Start {
    type Reply = ();
}

/// Lets virtual time pass until a kernel is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Poll {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Maximum virtual time to wait.
    pub slice: Picoseconds,
}

impl Request for Poll {
    type Reply = RunState;
}

/// Lets virtual time pass until a kernel signals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Await {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Condition to wait for.
    pub signal: Signal,
    /// Maximum virtual time to wait.
    pub slice: Picoseconds,
}

impl Request for Await {
    type Reply = SignalState;
}

/// Lets virtual time pass until one of several kernels is done; returns the index of the first that is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollAny {
    /// Kernels, identified by their loads.
    pub loads: Vec<LoadId>,
    /// Maximum virtual time to wait.
    pub slice: Picoseconds,
}

impl Request for PollAny {
    type Reply = Option<usize>;
}

/// Stops a kernel that missed its deadline. The reply is an error that names the cause of the wait.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expire {
    /// Kernel, identified by its load.
    pub load: LoadId,
}

impl Request for Expire {
    type Reply = ();
}

/// Stops a kernel: holds it in reset and releases its parked accesses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// Kernel, identified by its load.
    pub load: LoadId,
}

impl Request for Stop {
    type Reply = ();
}

/// Opens a stream port of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenStream {
    /// Kernel, identified by its load.
    pub load: LoadId,
    /// Name of the port.
    pub port: String,
}

impl Request for OpenStream {
    type Reply = StreamHandle;
}

/// Begins a transfer; it follows those that were begun before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeginTransfer {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Direction that the client expects.
    pub direction: StreamDirection,
    /// Mapping of the memory.
    pub mapping: MappingId,
    /// Range of the mapping.
    pub range: ByteRange,
    /// Position in a packet.
    pub packet: PacketPart,
}

impl Request for BeginTransfer {
    type Reply = ();
}

/// Lets virtual time pass until the oldest transfer of one of several streams is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollStreams {
    /// Streams; each has a transfer whose completion has not been collected.
    pub streams: Vec<StreamHandle>,
    /// Maximum virtual time to wait.
    pub slice: Picoseconds,
}

impl Request for PollStreams {
    type Reply = TransfersState;
}

/// Lets virtual time pass until the oldest transfer of a stream is complete.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Maximum virtual time to wait.
    pub slice: Picoseconds,
}

impl Request for PollStream {
    type Reply = TransferState;
}

/// Reports the oldest transfer of a stream as late. The reply is an error that names the cause of the wait, or the
/// transfer if it is complete now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExpireStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Virtual time that the client has waited.
    pub elapsed: Picoseconds,
}

impl Request for ExpireStream {
    type Reply = Moved;
}

/// Connects an outgoing port of one kernel to an incoming port of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectPorts {
    /// Outgoing port.
    pub from: PortOf,
    /// Incoming port.
    pub to: PortOf,
}

impl Request for ConnectPorts {
    type Reply = ConnectionId;
}

/// Requests the state of a connection.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspect {
    /// Connection that the request applies to.
    pub connection: ConnectionId,
}

impl Request for Inspect {
    type Reply = ConnectionState;
}

/// Removes a connection between ports.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Disconnect {
    /// Connection that the request applies to.
    pub connection: ConnectionId,
    /// Returns without waiting for the packet under way.
    pub later: bool,
}

impl Request for Disconnect {
    type Reply = ();
}

/// Ends the incomplete transfers out of a kernel, with the data received so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StopStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
}

impl Request for StopStream {
    type Reply = ();
}

/// Closes a stream port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CloseStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Closes it with transfers under way: the port becomes free when they are complete.
    pub later: bool,
}

impl Request for CloseStream {
    type Reply = ();
}

/// Requests the data that a kernel has sent out of a port and that was not taken.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InspectStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
}

impl Request for InspectStream {
    type Reply = StreamWaiting;
}

/// The client takes no more from a port out of a kernel. Data left there is an error, now and when the slot is emptied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettleStream {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Data that the client has taken.
    pub taken: Taken,
}

impl Request for SettleStream {
    type Reply = ();
}

/// Checks a kernel's ports: data beyond what was taken from them is an error, reported for the first such port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckTaken {
    /// Kernel, identified by its load.
    pub load: LoadId,
}

impl Request for CheckTaken {
    type Reply = ();
}

/// Reports that expected packets did not arrive. The reply is an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PacketsMissing {
    /// Open stream port that the request applies to.
    pub stream: StreamHandle,
    /// Expected packets.
    pub wanted: u64,
    /// Received data.
    pub taken: Taken,
}

impl Request for PacketsMissing {
    type Reply = ();
}
