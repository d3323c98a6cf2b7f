//! Requests whose fields are plain data, and what they answer.

use crate::options::SpaceOptions;
use crate::{ConnectionId, LoadId, MappingId, Request, SpaceId, StreamHandle};
use serde::{Deserialize, Serialize};
use units::{
    Advice, Asid, CardDescription, L1Reach, PageSize, Picoseconds, SlotSchedule, StreamDirection,
    StreamWaiting, VirtAddr,
};

/// Some bytes of something: of a mapping, or of a peer's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ByteRange {
    /// The first, from the beginning of the whole.
    pub offset: u64,
    /// How many.
    pub bytes: u64,
}

impl ByteRange {
    /// Whether all of it is inside a whole of so many bytes, and it is not empty.
    pub fn is_within(self, whole: u64) -> bool {
        let end = self.offset.checked_add(self.bytes);
        self.bytes > 0 && end.is_some_and(|end| end <= whole)
    }
}

/// What a card is, and its time.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "WrittenDescription", into = "WrittenDescription")]
pub struct Description {
    /// What the card is made of.
    pub card: Box<CardDescription>,
    /// Virtual time.
    pub now: Picoseconds,
}

/// A description with what its JSON leaves out, because reports do.
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

/// An address space that was made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NewSpace {
    /// Its name.
    pub space: SpaceId,
    /// Its number in the shell.
    pub asid: Asid,
}

/// A mapping that was made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct NewMapping {
    /// Its name.
    pub mapping: MappingId,
    /// Address of the first byte of the range.
    pub address: VirtAddr,
    /// Bytes of the range.
    pub bytes: u64,
    /// Size of its largest pages.
    pub page: PageSize,
}

/// What a mapping has become of which a part ended.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct RestOfMapping {
    /// Its name.
    pub mapping: MappingId,
    /// Address of its first byte.
    pub address: VirtAddr,
    /// Its bytes.
    pub bytes: u64,
}

/// A stream port of a kernel, by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PortOf {
    /// The kernel.
    pub load: LoadId,
    /// The port.
    pub port: String,
}

/// The place of a transfer in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PacketPart {
    /// Into a kernel: the packet ends with it. Out of a kernel: it is begun whatever the one before was.
    Whole,
    /// Into a kernel: more of the packet follows. Out of a kernel: it is begun only if the packet of the one
    /// before goes on, and else over at once, with no byte.
    More,
}

/// A transfer that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// Bytes that were moved.
    pub bytes: u64,
    /// The last of them ended a packet (TLAST). Out of the kernel: if not, the range was full, and more may
    /// follow.
    pub last: bool,
}

/// What a connection does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectionState {
    /// It comes apart, or is made, when the packets that are under way have ended.
    pub pending: bool,
    /// The reset of a slot has cut a packet since the ports were connected: the receiver got less of it, or
    /// lost what it had.
    pub cut: bool,
    /// A beat waits for the receiver.
    pub waits_for_receiver: bool,
}

/// What was taken from a port out of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Taken {
    /// Packets that ended.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
    /// There is no room for more.
    pub full: bool,
}

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signal {
    /// A register holds a value in the bits of a mask.
    Register {
        /// Byte offset.
        offset: u32,
        /// The bits that count.
        mask: u32,
        /// What they shall be.
        value: u32,
    },
    /// The kernel's interrupt: one that has not been waited for yet.
    Interrupt,
}

/// How far a run is.
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
    /// It is done.
    Done(Progress),
    /// It is still at it.
    Running(Progress),
}

/// Whether a signal has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SignalState {
    /// It has: what the register holds, or how many interrupts there were.
    Come(u32),
    /// It has not.
    Awaited(Progress),
}

/// What the oldest transfer of a stream does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransferState {
    /// It is over.
    Moved(Moved),
    /// It is not.
    Moving(Progress),
}

/// What the oldest transfers of several streams do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TransfersState {
    /// That of one of them is over.
    Moved {
        /// The stream's place in the request.
        place: usize,
        /// How it ended.
        moved: Moved,
        /// How far the card is.
        progress: Progress,
    },
    /// None is.
    Moving(Progress),
    /// None is, and nothing will happen by itself.
    Quiet(Progress),
}

/// What is the card made of, and what time is it?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Describe;

impl Request for Describe {
    type Reply = Description;
}

/// Ends everything of this client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Close;

impl Request for Close {
    type Reply = ();
}

/// Makes an address space.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CreateSpace {
    /// How.
    pub options: SpaceOptions,
}

impl Request for CreateSpace {
    type Reply = NewSpace;
}

/// Ends an address space, with its mappings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DestroySpace {
    /// The space.
    pub space: SpaceId,
}

impl Request for DestroySpace {
    type Reply = ();
}

/// Writes back and ends a mapping.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unmap {
    /// The mapping.
    pub mapping: MappingId,
}

impl Request for Unmap {
    type Reply = ();
}

/// Writes back what kernels have written so far; the mapping stays.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sync {
    /// The mapping.
    pub mapping: MappingId,
}

impl Request for Sync {
    type Reply = ();
}

/// Reads again what somebody else wrote to the file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refresh {
    /// The mapping.
    pub mapping: MappingId,
    /// Drop what kernels wrote, rather than write it first.
    pub discard: bool,
}

impl Request for Refresh {
    type Reply = ();
}

/// Says how a part of a mapping is going to be used.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Advise {
    /// The mapping.
    pub mapping: MappingId,
    /// The bytes.
    pub range: ByteRange,
    /// What is known.
    pub advice: Advice,
}

impl Request for Advise {
    type Reply = ();
}

/// Brings pages in before they are touched.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Prefetch {
    /// The mapping.
    pub mapping: MappingId,
}

impl Request for Prefetch {
    type Reply = ();
}

/// Brings pages in at no cost in virtual time; gives the number of bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MakeHot {
    /// The mapping.
    pub mapping: MappingId,
}

impl Request for MakeHot {
    type Reply = u64;
}

/// Lets the program read, or also write, some bytes of shared memory.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Take {
    /// The mapping.
    pub mapping: MappingId,
    /// The bytes.
    pub range: ByteRange,
    /// Also write.
    pub write: bool,
}

impl Request for Take {
    type Reply = ();
}

/// Ends the sharing of memory, unless a kernel of the space runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Free {
    /// The mapping.
    pub mapping: MappingId,
}

impl Request for Free {
    type Reply = ();
}

/// Ends a part of a mapping; gives what is left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UnmapPart {
    /// The mapping.
    pub mapping: MappingId,
    /// The bytes.
    pub range: ByteRange,
}

impl Request for UnmapPart {
    type Reply = Vec<RestOfMapping>;
}

/// Stops the kernel and empties its slot.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Unload {
    /// The kernel.
    pub load: LoadId,
}

impl Request for Unload {
    type Reply = ();
}

/// Sets registers that hold an argument of a kernel. The owner keeps the words, and writes them again whenever
/// the slot leaves reset.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SetArgument {
    /// The kernel.
    pub load: LoadId,
    /// Byte offset of the first.
    pub offset: u32,
    /// Words, one register each.
    pub words: Vec<u32>,
}

impl Request for SetArgument {
    type Reply = ();
}

/// Writes registers of a kernel (`s_axi_control`). Refused while the slot is in reset, where they would be lost.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WriteRegisters {
    /// The kernel.
    pub load: LoadId,
    /// Byte offset of the first.
    pub offset: u32,
    /// Words, one register each.
    pub words: Vec<u32>,
}

impl Request for WriteRegisters {
    type Reply = ();
}

/// Reads a register of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReadRegister {
    /// The kernel.
    pub load: LoadId,
    /// Byte offset.
    pub offset: u32,
}

impl Request for ReadRegister {
    type Reply = u32;
}

/// What a slot gets of card memory, as long as this kernel is in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Schedule {
    /// The kernel.
    pub load: LoadId,
    /// What.
    pub schedule: SlotSchedule,
}

impl Request for Schedule {
    type Reply = ();
}

/// Starts a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Start {
    /// The kernel.
    pub load: LoadId,
}

impl Request for Start {
    type Reply = ();
}

/// Lets virtual time pass until a kernel is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Poll {
    /// The kernel.
    pub load: LoadId,
    /// How long, at most.
    pub slice: Picoseconds,
}

impl Request for Poll {
    type Reply = RunState;
}

/// Lets virtual time pass until a kernel signals.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Await {
    /// The kernel.
    pub load: LoadId,
    /// What is waited for.
    pub signal: Signal,
    /// How long, at most.
    pub slice: Picoseconds,
}

impl Request for Await {
    type Reply = SignalState;
}

/// Lets virtual time pass until one of several kernels is done; gives the place of the first that is.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollAny {
    /// The kernels.
    pub loads: Vec<LoadId>,
    /// How long, at most.
    pub slice: Picoseconds,
}

impl Request for PollAny {
    type Reply = Option<usize>;
}

/// A kernel was not done in time: stops it, and says what it waits for. The answer is an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Expire {
    /// The kernel.
    pub load: LoadId,
}

impl Request for Expire {
    type Reply = ();
}

/// Stops a kernel: holds it in reset, lets go of its parked accesses.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stop {
    /// The kernel.
    pub load: LoadId,
}

impl Request for Stop {
    type Reply = ();
}

/// Opens a stream port of a kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenStream {
    /// The kernel.
    pub load: LoadId,
    /// The port's name.
    pub port: String,
}

impl Request for OpenStream {
    type Reply = StreamHandle;
}

/// Begins a transfer, after those that were begun before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeginTransfer {
    /// The stream.
    pub stream: StreamHandle,
    /// The way that the client means.
    pub direction: StreamDirection,
    /// The memory's mapping.
    pub mapping: MappingId,
    /// The bytes of it.
    pub range: ByteRange,
    /// Its place in a packet.
    pub packet: PacketPart,
}

impl Request for BeginTransfer {
    type Reply = ();
}

/// Lets virtual time pass until the oldest transfer of one of several streams is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollStreams {
    /// The streams; each has a transfer that nobody has asked for yet.
    pub streams: Vec<StreamHandle>,
    /// How long, at most.
    pub slice: Picoseconds,
}

impl Request for PollStreams {
    type Reply = TransfersState;
}

/// Lets virtual time pass until the oldest transfer of a stream is over.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PollStream {
    /// The stream.
    pub stream: StreamHandle,
    /// How long, at most.
    pub slice: Picoseconds,
}

impl Request for PollStream {
    type Reply = TransferState;
}

/// The oldest transfer was not over in time: says what it waits for. The answer is an error, or that it is over now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExpireStream {
    /// The stream.
    pub stream: StreamHandle,
    /// How long the client has waited.
    pub elapsed: Picoseconds,
}

impl Request for ExpireStream {
    type Reply = Moved;
}

/// Connects an outgoing port of one kernel with an incoming one of another.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConnectPorts {
    /// The outgoing port.
    pub from: PortOf,
    /// The incoming port.
    pub to: PortOf,
}

impl Request for ConnectPorts {
    type Reply = ConnectionId;
}

/// What does a connection do?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Inspect {
    /// The connection.
    pub connection: ConnectionId,
}

impl Request for Inspect {
    type Reply = ConnectionState;
}

/// Takes the ports of a connection apart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Disconnect {
    /// The connection.
    pub connection: ConnectionId,
    /// Without waiting for the packet under way.
    pub later: bool,
}

impl Request for Disconnect {
    type Reply = ();
}

/// Ends the transfers out of a kernel that are not over, with what has come.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct StopStream {
    /// The stream.
    pub stream: StreamHandle,
}

impl Request for StopStream {
    type Reply = ();
}

/// Closes a stream port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CloseStream {
    /// The stream.
    pub stream: StreamHandle,
    /// Also with transfers under way: the port is free when they are over.
    pub later: bool,
}

impl Request for CloseStream {
    type Reply = ();
}

/// What has a kernel sent out of a port that nobody has taken?
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct InspectStream {
    /// The stream.
    pub stream: StreamHandle,
}

impl Request for InspectStream {
    type Reply = StreamWaiting;
}

/// The client takes no more from a port out of a kernel. What waits there is an error, and so is what waits when the slot
/// is emptied.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SettleStream {
    /// The stream.
    pub stream: StreamHandle,
    /// What the client has taken.
    pub taken: Taken,
}

impl Request for SettleStream {
    type Reply = ();
}

/// More waits at ports of a kernel than was taken from them: an error, of the first.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CheckTaken {
    /// The kernel.
    pub load: LoadId,
}

impl Request for CheckTaken {
    type Reply = ();
}

/// The packets that the client wants did not come: says so. The answer is an error.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PacketsMissing {
    /// The stream.
    pub stream: StreamHandle,
    /// Packets that were wanted.
    pub wanted: u64,
    /// What came.
    pub taken: Taken,
}

impl Request for PacketsMissing {
    type Reply = ();
}
