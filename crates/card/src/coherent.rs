//! The coherent CPU attached to a card: accesses of its cores to the lines that the card's directory keeps,
//! and error reports of the directory and of the guards behind it.

use crate::registers;
use crate::{directory_registers, home_registers, host_lines_registers, Card, CardError, SlotId};
use std::fmt;
pub use units::access::{
    AccessId, AccessKind, LineAccess, LineBytes, LineHome, ADDRESS_BITS, CORES, LINE_BYTES,
};

/// BAR address of a register of the path from the directory to the slots.
pub const fn home_register(offset: u32) -> u32 {
    registers::HOME + offset
}

/// BAR address of a register of the path from a slot to the CPU's lines.
pub const fn host_lines_register(offset: u32) -> u32 {
    registers::HOST_LINES + offset
}

/// BAR address of a register of the directory.
pub const fn directory_register(offset: u32) -> u32 {
    registers::DIRECTORY + offset
}

/// Validity check of a core's access.
pub trait CheckedAccess {
    /// Checks the access.
    ///
    /// # Errors
    /// [`CardError::Access`], with the violated rule.
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

/// Result of an access: the line as the access saw or left it; `None` if the responder for the line
/// answered with an error.
pub type AccessEnd = Option<Box<LineBytes>>;

/// Size of a program's page, in bytes.
pub const PAGE_BYTES: usize = 4096;

/// Content of a page.
pub type PageBytes = [u8; PAGE_BYTES];

/// Pages of a program that show lines of the CPU, to be accessed at ordinary addresses. A page is
/// identified by the address of its first line.
///
/// Called by the thread that drives the card; must not call back into the card.
pub trait LinePages: std::fmt::Debug + Send + Sync {
    /// Gives the program the page with these bytes, writable if `write`.
    ///
    /// # Errors
    /// The system refuses.
    fn show(&self, address: u64, bytes: &PageBytes, write: bool) -> std::io::Result<()>;

    /// Takes the page from the program; returns its bytes as the program left them.
    ///
    /// # Errors
    /// The system refuses.
    fn hide(&self, address: u64) -> std::io::Result<Box<PageBytes>>;
}

/// A rule for kernels on the path from the directory to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeRule {
    /// Reads are answered before the timeout.
    ReadLate,
    /// Writes are accepted and answered before the timeout.
    WriteLate,
    /// Every row answers a read.
    ReadUnknown,
    /// A read response has two rows of one ID, with `rlast` on the second.
    Rows,
    /// Every write response answers a write.
    WriteUnknown,
    /// Operations have a known code and are complete.
    Operation,
    /// Concurrent operations have different tags.
    Tag,
}

/// The first rule violation of a kernel behind the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HomeViolation {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Slice of the directory.
    pub slice: u8,
    /// Violated rule.
    pub rule: HomeRule,
    /// Address of the line; for a response without a request, its ID.
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

/// Reads and clears the first rule violation of a kernel behind the directory since the last call.
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

/// A rule for kernels on the path from a slot to the CPU's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLinesRule {
    /// Accesses have a known code.
    Access,
    /// Concurrent accesses have different tags.
    Tag,
    /// Lines lie in the range that the CPU has granted.
    Range,
    /// Each port carries only lines of its slice.
    Slice,
    /// Holds are released before the timeout.
    Hold,
}

/// The first rule violation of a kernel that uses the CPU's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLinesViolation {
    /// Slot of the kernel.
    pub slot: SlotId,
    /// Slice of the link.
    pub slice: u8,
    /// Violated rule.
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

/// Reads and clears the first rule violation of a kernel that uses the CPU's lines since the last call.
///
/// # Errors
/// [`CardError::Bus`]: the shell has no cache of these lines.
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

/// The first error recorded by the cache of the CPU's lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostLinesError {
    /// The protocol does not permit the message in the line's state.
    Unexpected {
        /// Slice of the link.
        slice: u8,
        /// State and event, as encoded in the register.
        info: u16,
    },
    /// An access of the kernel exceeds the timeout.
    Late {
        /// Slice of the link.
        slice: u8,
        /// Tag of the access.
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

/// Reads and clears the first error recorded by the cache of the CPU's lines, so that it can record the
/// next.
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

/// The first error recorded by the directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DirectoryError {
    /// The protocol does not permit the message or operation in the line's state.
    Unexpected {
        /// Slice of the directory.
        slice: u8,
        /// State and event, as encoded in the register.
        info: u16,
    },
    /// A request of the CPU, or an operation of the kernel, exceeds the timeout.
    Late {
        /// Slice of the directory.
        slice: u8,
        /// True for an operation of the kernel, false for a request of the CPU.
        operation: bool,
        /// Tag of the operation, or number of the request.
        number: u8,
    },
    /// The responder behind the directory answered a read with an error.
    Memory {
        /// Slice of the directory.
        slice: u8,
    },
    /// The responder behind the directory answered a write with an error.
    Write {
        /// Slice of the directory.
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

/// Reads and clears the first error recorded by the directory, so that it can record the next.
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
