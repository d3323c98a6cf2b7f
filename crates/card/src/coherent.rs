//! The coherent CPU beside a card: accesses of its cores to the lines that the card's directory keeps,
//! and what the directory and the guards behind it report.

use crate::registers::Array;
use crate::{directory_registers, home_registers, host_lines_registers, Card, CardError, SlotId};
use std::fmt;
pub use units::access::{
    AccessId, AccessKind, LineAccess, LineBytes, LineHome, ADDRESS_BITS, CORES, LINE_BYTES,
};

/// The directory's registers in the BAR, then those of the way to the slots, then those of the CPU's lines.
pub const DIRECTORY: Array = Array {
    base: 0x8_0000,
    stride: 0x1000,
    count: 3,
};

/// A register of the way from the directory to the slots.
pub const fn home_register(offset: u32) -> u32 {
    DIRECTORY.at(1) + offset
}

/// A register of the way from a slot to the CPU's lines.
pub const fn host_lines_register(offset: u32) -> u32 {
    DIRECTORY.at(2) + offset
}

/// A register of the directory.
pub const fn directory_register(offset: u32) -> u32 {
    DIRECTORY.at(0) + offset
}

/// An access that a core is to make.
pub trait CheckedAccess {
    /// Whether such an access can be.
    ///
    /// # Errors
    /// [`CardError::Access`]: what rule it breaks.
    fn check(&self) -> Result<(), CardError>;
}

impl CheckedAccess for LineAccess {
    fn check(&self) -> Result<(), CardError> {
        let broken = |rule| CardError::Access {
            core: self.core,
            address: self.address,
            rule,
        };
        if self.core >= CORES {
            return Err(broken("cores are numbered 0 to 47"));
        }
        if self.address >> ADDRESS_BITS != 0 {
            return Err(broken("addresses of the coherent link have 40 bits"));
        }
        if let AccessKind::Add(_) | AccessKind::CompareExchange { .. } = &self.kind {
            if self.home == LineHome::Card {
                return Err(broken("additions and exchanges are of the CPU's own lines"));
            }
            if self.address % 8 != 0 {
                return Err(broken("a word begins at a multiple of 8"));
            }
        }
        if let AccessKind::Store(bytes) = &self.kind {
            let room = LINE_BYTES - self.address as usize % LINE_BYTES;
            if bytes.is_empty() || bytes.len() > room {
                return Err(broken(
                    "a store has at least a byte, and stays in its line of 128 bytes",
                ));
            }
        }
        Ok(())
    }
}

/// How an access ends: with the line as it saw or left it, or, where whoever has the line answered with an
/// error, without.
pub type AccessEnd = Option<Box<LineBytes>>;

/// Bytes of a page of a program.
pub const PAGE_BYTES: usize = 4096;

/// What a page holds.
pub type PageBytes = [u8; PAGE_BYTES];

/// Pages of a program that show lines of the CPU, to be read or written at ordinary addresses. Pages are
/// named by the address of their first line.
///
/// It is called by the thread that has the card, and must not ask anything of the card.
pub trait LinePages: std::fmt::Debug + Send + Sync {
    /// The program has the page from now on, with these bytes, and may change them if `write`.
    ///
    /// # Errors
    /// The system refuses.
    fn show(&self, address: u64, bytes: &PageBytes, write: bool) -> std::io::Result<()>;

    /// The program does not have the page any more; the bytes as it left them.
    ///
    /// # Errors
    /// The system refuses.
    fn hide(&self, address: u64) -> std::io::Result<Box<PageBytes>>;
}

/// A rule of the way from the directory to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeRule {
    /// Reads are answered in time.
    ReadLate,
    /// Writes are taken and answered in time.
    WriteLate,
    /// Rows answer a read.
    ReadUnknown,
    /// An answer is two rows of one ID, `rlast` on the second.
    Rows,
    /// A response answers a write.
    WriteUnknown,
    /// Operations are known and whole.
    Operation,
    /// Tags of operations under way differ.
    Tag,
}

/// What a kernel behind the directory did first against a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeViolation {
    /// The kernel's slot.
    pub slot: SlotId,
    /// The slice of the directory.
    pub slice: u8,
    /// The rule.
    pub rule: HomeRule,
    /// Address of the line; for answers to nothing, the ID.
    pub at: u64,
}

impl fmt::Display for HomeViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slice, at, .. } = *self;
        match self.rule {
            HomeRule::ReadLate => write!(f, "did not answer the read of line 0x{at:x} in time"),
            HomeRule::WriteLate => {
                write!(f, "did not take, or answer, the write of line 0x{at:x} in time")
            }
            HomeRule::ReadUnknown => {
                write!(f, "sent a row with ID {at}, which no read under way has")
            }
            HomeRule::Rows => write!(
                f,
                "answered the read with ID {at} otherwise than by two rows together, rlast on the second"
            ),
            HomeRule::WriteUnknown => {
                write!(f, "sent a write response with ID {at}, which no write under way has")
            }
            HomeRule::Operation => write!(
                f,
                "sent an operation on line 0x{at:x} that is not known or not whole (a write has two rows, \
                 any other one)"
            ),
            HomeRule::Tag => write!(
                f,
                "sent an operation on line 0x{at:x} with the tag of one that is under way"
            ),
        }?;
        write!(f, " (home port of slice {slice})")
    }
}

/// Reads what a kernel behind the directory did first against a rule since this was last read.
///
/// # Errors
/// [`CardError::Bus`]: the shell has no directory.
pub fn take_home_violation(card: &mut dyn Card) -> Result<Option<HomeViolation>, CardError> {
    use home_registers as reg;
    let status = card.read_register(home_register(reg::STATUS))?;
    if reg::status::VIOLATION.get(status) == 0 {
        return Ok(None);
    }
    let word = card.read_register(home_register(reg::RULE))?;
    let low = card.read_register(home_register(reg::AT_LO))?;
    let high = card.read_register(home_register(reg::AT_HI))?;
    card.write_register(home_register(reg::STATUS), reg::status::VIOLATION.mask())?;
    let rule = match reg::rule::RULE.get(word) {
        1 => HomeRule::ReadLate,
        2 => HomeRule::WriteLate,
        3 => HomeRule::ReadUnknown,
        4 => HomeRule::Rows,
        5 => HomeRule::WriteUnknown,
        6 => HomeRule::Operation,
        7 => HomeRule::Tag,
        _ => return Ok(None),
    };
    Ok(Some(HomeViolation {
        slot: SlotId(reg::rule::SLOT.get(word) as u8),
        slice: reg::rule::SLICE.get(word) as u8,
        rule,
        at: u64::from(low) | u64::from(high) << 32,
    }))
}

/// A rule of the way from a slot to the CPU's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLinesRule {
    /// Accesses are known.
    Access,
    /// Tags of accesses under way differ.
    Tag,
    /// Lines are in the range that the CPU gave.
    Range,
    /// A port is used for the lines of its slice.
    Slice,
    /// Holds are released in time.
    Hold,
}

/// What a kernel that uses the CPU's lines did first against a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLinesViolation {
    /// The kernel's slot.
    pub slot: SlotId,
    /// The slice of the link.
    pub slice: u8,
    /// The rule.
    pub rule: HostLinesRule,
    /// Address of the line.
    pub at: u64,
}

impl fmt::Display for HostLinesViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { slice, at, .. } = *self;
        match self.rule {
            HostLinesRule::Access => write!(f, "sent an access to line 0x{at:x} of the CPU that is not known"),
            HostLinesRule::Tag => write!(
                f,
                "sent an access to line 0x{at:x} of the CPU with the tag of one that is under way"
            ),
            HostLinesRule::Range => write!(
                f,
                "sent an access to line 0x{at:x}, which is beyond what it may use of the CPU's memory"
            ),
            HostLinesRule::Slice => write!(
                f,
                "sent an access to line 0x{at:x} of the CPU, which belongs to another slice"
            ),
            HostLinesRule::Hold => write!(f, "did not release its hold of line 0x{at:x} of the CPU in time"),
        }?;
        write!(f, " (port of slice {slice} for the CPU's lines)")
    }
}

/// Reads what a kernel that uses the CPU's lines did first against a rule since this was last read.
///
/// # Errors
/// [`CardError::Bus`]: the shell has no cache of them.
pub fn take_host_lines_violation(
    card: &mut dyn Card,
) -> Result<Option<HostLinesViolation>, CardError> {
    use host_lines_registers as reg;
    let status = card.read_register(host_lines_register(reg::STATUS))?;
    if reg::status::VIOLATION.get(status) == 0 {
        return Ok(None);
    }
    let word = card.read_register(host_lines_register(reg::RULE))?;
    let low = card.read_register(host_lines_register(reg::AT_LO))?;
    let high = card.read_register(host_lines_register(reg::AT_HI))?;
    card.write_register(
        host_lines_register(reg::STATUS),
        reg::status::VIOLATION.mask(),
    )?;
    let rule = match reg::rule::RULE.get(word) {
        1 => HostLinesRule::Access,
        2 => HostLinesRule::Tag,
        3 => HostLinesRule::Range,
        4 => HostLinesRule::Slice,
        5 => HostLinesRule::Hold,
        _ => return Ok(None),
    };
    Ok(Some(HostLinesViolation {
        slot: SlotId(reg::rule::SLOT.get(word) as u8),
        slice: reg::rule::SLICE.get(word) as u8,
        rule,
        at: u64::from(low) | u64::from(high) << 32,
    }))
}

/// The first error that the cache of the CPU's lines holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLinesError {
    /// A message that the protocol does not know in the line's state.
    Unexpected {
        /// Slice.
        slice: u8,
        /// State and event.
        info: u16,
    },
    /// An access of the kernel takes too long.
    Late {
        /// Slice.
        slice: u8,
        /// The access's tag.
        tag: u16,
    },
}

impl fmt::Display for HostLinesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unexpected { slice, info } => write!(
                f,
                "slice {slice} of the cache of the CPU's lines met a message that the protocol does not know in its \
                 state (0x{info:x})"
            ),
            Self::Late { slice, tag } => write!(
                f,
                "access {tag} in slice {slice} of the cache of the CPU's lines takes too long"
            ),
        }
    }
}

/// Reads the first error that the cache of the CPU's lines holds, and lets it hold the next.
///
/// # Errors
/// [`CardError::Bus`]: the shell has no such cache.
pub fn host_lines_error(card: &mut dyn Card) -> Result<Option<HostLinesError>, CardError> {
    use host_lines_registers as reg;
    let status = card.read_register(host_lines_register(reg::STATUS))?;
    if reg::status::ERROR.get(status) == 0 {
        return Ok(None);
    }
    let word = card.read_register(host_lines_register(reg::ERROR))?;
    card.write_register(host_lines_register(reg::STATUS), reg::status::ERROR.mask())?;
    let slice = reg::error::SLICE.get(word) as u8;
    let info = reg::error::INFO.get(word) as u16;
    Ok(Some(match reg::error::CAUSE.get(word) {
        1 => HostLinesError::Late { slice, tag: info },
        _ => HostLinesError::Unexpected { slice, info },
    }))
}

/// The first error that the directory holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryError {
    /// A message or an operation that the protocol does not know in the line's state.
    Unexpected {
        /// Slice.
        slice: u8,
        /// State and event.
        info: u16,
    },
    /// A request of the CPU, or an operation of the kernel, takes too long.
    Late {
        /// Slice.
        slice: u8,
        /// Of an operation: its tag. Else the request's number.
        operation: bool,
        /// The number.
        number: u8,
    },
    /// Whoever is behind the directory answered a read with an error.
    Memory {
        /// Slice.
        slice: u8,
    },
    /// Whoever is behind the directory answered a write with an error.
    Write {
        /// Slice.
        slice: u8,
    },
}

impl fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Unexpected { slice, info } => write!(
                f,
                "slice {slice} of the directory met an event that the protocol does not know in its \
                 state (0x{info:x})"
            ),
            Self::Late {
                slice,
                operation,
                number,
            } => {
                let what = match operation {
                    true => "operation",
                    false => "request",
                };
                write!(f, "{what} {number} in slice {slice} of the directory takes too long")
            }
            Self::Memory { slice } => write!(
                f,
                "a read behind slice {slice} of the directory ended with an error"
            ),
            Self::Write { slice } => write!(
                f,
                "a write behind slice {slice} of the directory ended with an error; its bytes are lost"
            ),
        }
    }
}

/// Reads the first error that the directory holds, and lets it hold the next.
///
/// # Errors
/// [`CardError::Bus`]: the shell has no directory.
pub fn directory_error(card: &mut dyn Card) -> Result<Option<DirectoryError>, CardError> {
    use directory_registers as reg;
    let status = card.read_register(directory_register(reg::STATUS))?;
    if reg::status::ERROR.get(status) == 0 {
        return Ok(None);
    }
    let word = card.read_register(directory_register(reg::ERROR))?;
    card.write_register(directory_register(reg::STATUS), reg::status::ERROR.mask())?;
    let slice = reg::error::SLICE.get(word) as u8;
    let info = reg::error::INFO.get(word) as u16;
    Ok(match reg::error::CAUSE.get(word) {
        0 => Some(DirectoryError::Unexpected { slice, info }),
        1 => Some(DirectoryError::Late {
            slice,
            operation: info >> 6 & 1 == 1,
            number: (info & 0x3f) as u8,
        }),
        2 => Some(DirectoryError::Memory { slice }),
        3 => Some(DirectoryError::Write { slice }),
        _ => None,
    })
}
