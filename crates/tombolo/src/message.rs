//! What clients ask of the owner, and what it answers.
//!
//! Within a process the owner is a thread away; these messages are what will cross a Unix socket when it
//! becomes a daemon, files as passed descriptors. Clients open files, so that the system's permission
//! checks are theirs.

use crate::owner::behind::StandsFor;
use crate::owner::FileState;
use crate::report::Report;
use crate::space::SpaceOptions;
use crate::stream::{StreamReply, StreamRequest};
use crate::trap::View;
use card::coherent::{AccessId, LineAccess, LineBytes, LinePages};
use card::history::History;
use card::kernel::KernelPackage;
use card::memories::MemoryKind;
use card::schedule::SlotSchedule;
use card::{CardDescription, SlotId};
use pager::advice::Advice;
use std::fs::File;
use std::sync::Arc;
use units::{Asid, PageSize, Picoseconds, VirtAddr};

/// Names an address space for as long as the owner lives: the next space with the same ASID has another
/// name, so nobody reaches it with this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SpaceId(pub u64);

/// Names a mapping, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct MappingId(pub u64);

/// Names one loading of a kernel into a slot, likewise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct LoadId(pub u64);

/// A wish of a client.
#[derive(Debug)]
pub(crate) enum Request {
    /// What is the card made of, and what time is it?
    Describe,
    /// Make an address space.
    CreateSpace {
        /// How.
        options: SpaceOptions,
    },
    /// End one, with its mappings.
    DestroySpace {
        /// Which.
        space: SpaceId,
    },
    /// Put a kernel into a slot, in a space.
    Load {
        /// Which slot.
        slot: SlotId,
        /// The kernel.
        kernel: Box<KernelPackage>,
        /// Its address space.
        space: SpaceId,
    },
    /// Stop the kernel and empty its slot.
    Unload {
        /// Which kernel.
        load: LoadId,
    },
    /// Share memory of the program with the kernels of a space, at the same address.
    Share {
        /// With whom.
        space: SpaceId,
        /// The memory.
        view: Arc<View>,
        /// Kernels use it where it is.
        direct: bool,
    },
    /// Let the program read, or also write, some bytes of shared memory.
    Take {
        /// Which memory.
        mapping: MappingId,
        /// First byte.
        offset: u64,
        /// How many.
        bytes: u64,
        /// Also write.
        write: bool,
    },
    /// End the sharing of memory, unless a kernel of the space runs.
    Free {
        /// Which memory.
        mapping: MappingId,
    },
    /// Map a range of a file.
    Map {
        /// Where to.
        space: SpaceId,
        /// The file, opened by the client with the rights that the mapping needs.
        file: File,
        /// What the file stands in for, if it does.
        behind: Option<StandsFor>,
        /// The file's name, for messages.
        label: String,
        /// Where in the file.
        offset: u64,
        /// How much of it.
        bytes: u64,
        /// Where in the space; the owner chooses if `None`.
        address: Option<VirtAddr>,
        /// The kernel may read.
        read: bool,
        /// The kernel may write.
        write: bool,
        /// Once the mapping is accepted, the file is emptied and gets so many bytes of zeroes.
        fresh: Option<u64>,
        /// Size of the file's pages; the one it is mapped with already, or the owner's, if `None`.
        page_size: Option<PageSize>,
        /// The pager chooses the size of each page; as the owner does if `None`.
        auto_pages: Option<bool>,
        /// Its pages stay in host memory.
        direct: bool,
        /// Its pages lie in card memory of that kind.
        memory: Option<MemoryKind>,
        /// Where the file is, for the cost of reading it; as the owner has it if `None`.
        file_state: Option<FileState>,
    },
    /// Write back and end a mapping.
    Unmap {
        /// Which.
        mapping: MappingId,
    },
    /// Write back what the kernel has written so far; the mapping stays.
    Sync {
        /// Which.
        mapping: MappingId,
    },
    /// Read again what somebody else wrote to the file.
    Refresh {
        /// Which.
        mapping: MappingId,
        /// Drop what kernels wrote, rather than write it first.
        discard: bool,
    },
    /// Say how a part of a mapping is going to be used.
    Advise {
        /// Which.
        mapping: MappingId,
        /// First byte of it.
        offset: u64,
        /// How many.
        bytes: u64,
        /// What is known.
        advice: Advice,
    },
    /// Bring pages in before they are touched.
    Prefetch {
        /// Which.
        mapping: MappingId,
    },
    /// Bring pages in at no virtual time.
    MakeHot {
        /// Which.
        mapping: MappingId,
    },
    /// End a part of a mapping.
    UnmapPart {
        /// Which.
        mapping: MappingId,
        /// First byte of the part.
        offset: u64,
        /// How many.
        bytes: u64,
    },
    /// Set registers that hold an argument of a kernel. The owner keeps the words, and writes them again
    /// whenever the slot leaves reset.
    SetArgument {
        /// Which kernel.
        load: LoadId,
        /// Byte offset of the first.
        offset: u32,
        /// Words, one register each.
        words: Vec<u32>,
    },
    /// Write registers of a kernel (`s_axi_control`). Refused while the slot is in reset, where they
    /// would be lost.
    WriteRegisters {
        /// Which kernel.
        load: LoadId,
        /// Byte offset of the first.
        offset: u32,
        /// Words, one register each.
        words: Vec<u32>,
    },
    /// Read a register of a kernel.
    ReadRegister {
        /// Which kernel.
        load: LoadId,
        /// Byte offset.
        offset: u32,
    },
    /// What a slot gets of card memory, as long as this kernel is in it.
    Schedule {
        /// Which kernel.
        load: LoadId,
        /// What.
        schedule: SlotSchedule,
    },
    /// Start the kernel.
    Start {
        /// Which kernel.
        load: LoadId,
    },
    /// Let virtual time pass until the kernel is done, at most for `slice`.
    Poll {
        /// Which kernel.
        load: LoadId,
        /// How long.
        slice: Picoseconds,
    },
    /// Let virtual time pass until a kernel signals, at most for `slice`.
    Await {
        /// Which kernel.
        load: LoadId,
        /// What is waited for.
        signal: Signal,
        /// How long.
        slice: Picoseconds,
    },
    /// Let virtual time pass until one of several kernels is done, at most for `slice`.
    PollAny {
        /// Which kernels.
        loads: Vec<LoadId>,
        /// How long.
        slice: Picoseconds,
    },
    /// End everything of this client.
    Close,
    /// The kernel was not done in time: stop it, and say what it waits for. The answer is an error.
    Expire {
        /// Which kernel.
        load: LoadId,
    },
    /// Stop the kernel: hold it in reset, let go of its parked accesses.
    Stop {
        /// Which kernel.
        load: LoadId,
    },
    /// Something of a stream.
    Stream(StreamRequest),
    /// Start an access of a core to memory behind the directory.
    BeginAccess {
        /// Which.
        access: LineAccess,
    },
    /// Wait for the end of an access, at most for `deadline`.
    EndAccess {
        /// Which.
        id: AccessId,
        /// How long.
        deadline: Option<Picoseconds>,
    },
    /// Show a program the page of lines from `address` on.
    ShowPage {
        /// On the coherent link.
        address: u64,
        /// To be written too.
        write: bool,
        /// Whose pages.
        pages: Arc<dyn LinePages>,
    },
    /// Hide the pages of programs that show lines of a range.
    HidePages {
        /// On the coherent link.
        base: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Record what happens to lines from now on.
    RecordLines {
        /// An empty history of these lines.
        history: Box<History>,
    },
    /// What was recorded?
    LineHistory,
    /// Let card memory serve the directory's lines.
    HomeMemory,
    /// What may a kernel use of the CPU's memory?
    HostLines,
    /// How long may a kernel hold a line of the CPU?
    SetHoldPatience {
        /// Cycles of the card; 0: for ever.
        cycles: u32,
    },
    /// How long may the kernel behind the directory take for an answer?
    SetHomePatience {
        /// Cycles of the card; 0: for ever.
        cycles: u32,
    },
    /// Where did the time go?
    Report,
}

/// What a program waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Virtual time; zero on a card without time.
    pub now: Picoseconds,
    /// Bytes brought to the card, or zeroed there.
    pub bytes_in: u64,
    /// Bytes written back.
    pub bytes_out: u64,
    /// Faults served.
    pub faults: u64,
}

/// An answer.
#[derive(Debug)]
pub(crate) enum Reply {
    /// To `Describe`.
    Description {
        /// What the card is made of.
        card: Box<CardDescription>,
        /// Virtual time.
        now: Picoseconds,
    },
    /// To `CreateSpace`.
    Space {
        /// Its name.
        space: SpaceId,
        /// Its number in the shell.
        asid: Asid,
    },
    /// To `Load`.
    Loaded(LoadId),
    /// To `Map`.
    Mapped {
        /// Its name.
        mapping: MappingId,
        /// Address of the first byte of the range.
        address: VirtAddr,
        /// Its pages; the largest, if they have several sizes.
        page: PageSize,
    },
    /// To `MakeHot`: bytes that came at no time.
    Hot(u64),
    /// To `UnmapPart`: what is left, with the address of its first byte and its bytes.
    Parts(Vec<(MappingId, VirtAddr, u64)>),
    /// To `ReadRegister`; to `Await`: what the register holds, or how many interrupts there were.
    Register(u32),
    /// To `Poll`: the kernel is still at it.
    Running(Progress),
    /// To `Poll`: the kernel is done.
    Finished(Progress),
    /// To `PollAny`: the place of the first that is done.
    Any(Option<usize>),
    /// To `Stream`.
    Stream(StreamReply),
    /// To `BeginAccess`.
    Access(AccessId),
    /// To `EndAccess`: the line as the access saw or left it.
    Line(Box<LineBytes>),
    /// To `ShowPage`: the CPU had its lines.
    Shown(bool),
    /// To `HomeMemory`: its bytes.
    HomeMemory(u64),
    /// To `HostLines`: its bytes.
    HostLines(u64),
    /// To `LineHistory`.
    History(Box<History>),
    /// To `Report`.
    Report(Box<Report>),
    /// Nothing more to say.
    Done,
}
