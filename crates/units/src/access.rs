//! Accesses of a coherent CPU's cores to cache lines.

/// Bytes of a line.
pub const LINE_BYTES: usize = 128;

/// What a line holds, in the order of memory.
pub type LineBytes = [u8; LINE_BYTES];

/// What a core does with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Reads it.
    Load,
    /// Reads it, so that it may be written: nobody else keeps a copy.
    LoadExclusive,
    /// Writes bytes of it.
    Store(Vec<u8>),
    /// Makes it this CPU's alone, and changed, but changes nothing.
    Claim,
    /// A hint: it will be read.
    Prefetch,
    /// Gives it up: what was written in it goes home. Ends when it is on its way.
    Flush,
    /// Sends home what was written in it, and keeps a copy. Ends when it is on its way.
    Clean,
    /// Adds to the 64-bit word at the address, as one; the line as it was before. Of the CPU's own lines alone.
    Add(u64),
    /// Writes the 64-bit word at the address if it holds what is expected, as one; the line as it was before. Of the
    /// CPU's own lines alone.
    CompareExchange {
        /// What the word holds.
        expected: u64,
        /// What it gets.
        new: u64,
    },
}

/// Whose memory a line is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineHome {
    /// The card's: the CPU caches it, the directory keeps it.
    #[default]
    Card,
    /// The CPU's: the card caches it.
    Cpu,
}

/// An access of a core to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAccess {
    /// The core, 0 to [`CORES`] − 1.
    pub core: u8,
    /// Whose line. Each home has addresses of its own.
    pub home: LineHome,
    /// Address of the first byte; a store does not leave its line.
    pub address: u64,
    /// What.
    pub kind: AccessKind,
}

/// Cores of a coherent CPU.
pub const CORES: u8 = 48;

/// Bits of an address of the coherent link.
pub const ADDRESS_BITS: u32 = 40;

/// Names an access of a core.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(pub u64);
