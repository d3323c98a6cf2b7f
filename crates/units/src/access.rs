//! Accesses of a coherent CPU's cores to cache lines.

/// Size of a cache line in bytes.
pub const LINE_BYTES: usize = 128;

/// Content of a line, in memory order.
pub type LineBytes = [u8; LINE_BYTES];

/// Access of a core to a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// Read the line.
    Load,
    /// Read the line for writing: no other cache keeps a copy.
    LoadExclusive,
    /// Write bytes of the line.
    Store(Vec<u8>),
    /// Take exclusive ownership and mark the line dirty, without a change of its content.
    Claim,
    /// Hint: the line will be read.
    Prefetch,
    /// Evict the line, writing dirty data home. Completes when the write-back is in flight.
    Flush,
    /// Write dirty data home, and keep a copy. Completes when the write-back is in flight.
    Clean,
    /// Add to the 64-bit word at the address, atomically; returns the line before it. Only for lines of the CPU's
    /// memory.
    Add(u64),
    /// Write the 64-bit word at the address if it has the expected value, atomically; returns the line before it. Only
    /// for lines of the CPU's memory.
    CompareExchange {
        /// Expected value.
        expected: u64,
        /// New value.
        new: u64,
    },
}

/// Home of a line: the owner of its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineHome {
    /// The card's memory: the CPU caches it, the directory tracks it.
    #[default]
    Card,
    /// The CPU's memory: the card caches it.
    Cpu,
}

/// An access of a core to one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineAccess {
    /// Number of the core, 0 to [`CORES`] − 1.
    pub core: u8,
    /// Home of the line. Each home has its own address space.
    pub home: LineHome,
    /// Address of the first byte; a store stays within its line.
    pub address: u64,
    /// Kind of the access.
    pub kind: AccessKind,
}

/// Number of cores of a coherent CPU.
pub const CORES: u8 = 48;

/// Width of an address of the coherent link, in bits.
pub const ADDRESS_BITS: u32 = 40;

/// Identifier of a core's access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessId(pub u64);
