//! How a state of the model is packed into words.
//!
//! Word 0 has 32 bits for each line: the directory's state, what memory is doing, whether memory
//! has the latest value, and which operation is under way. Every further word is one cache's view
//! of one line: two bits for each message (absent, in flight, in flight with an old value), the
//! cache's state, and whether its copy is old.

use super::model::Setting;
use super::CheckError;
use crate::generate::Protocol;

/// Bits of the directory's state.
pub(super) const HOME_STATE_BITS: u32 = 20;
/// Memory does not have the latest value.
pub(super) const MEMORY_OLD: u32 = 1 << 20;
/// The value being written is not the latest.
pub(super) const BUFFER_OLD: u32 = 1 << 21;
/// Position of the memory access under way (three bits).
pub(super) const ACCESS_SHIFT: u32 = 22;
pub(super) const ACCESS_MASK: u32 = 7;
/// Position of the operation under way, plus one (five bits).
pub(super) const OPERATION_SHIFT: u32 = 25;
pub(super) const OPERATION_MASK: u32 = 0x1f;

/// Position of the cache's state in its word.
pub(super) const CACHE_STATE_SHIFT: u32 = 56;
pub(super) const CACHE_STATE_MASK: u64 = 0x3f;
/// The cache's copy is not the latest value.
pub(super) const COPY_OLD: u64 = 1 << 62;
/// All message fields.
pub(super) const MESSAGES: u64 = (1 << CACHE_STATE_SHIFT) - 1;
/// The low bit of every message field.
pub(super) const MESSAGE_LOW: u64 = 0x5555_5555_5555_5555 & MESSAGES;

/// Layout of the words of a state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    pub caches: usize,
    pub lines: usize,
}

impl Layout {
    pub fn new(protocol: &Protocol, setting: &Setting) -> Result<Self, CheckError> {
        let (caches, lines) = (protocol.directory.caches, setting.lines);
        if !(1..=2).contains(&lines) || !(1..=3).contains(&caches) {
            return Err(CheckError::Size { caches, lines });
        }
        let fits = |what, count, most| {
            if count <= most {
                Ok(())
            } else {
                Err(CheckError::TooMany { what, count, most })
            }
        };
        fits(
            "directory states",
            protocol.directory.states.len(),
            1 << HOME_STATE_BITS,
        )?;
        fits(
            "cache states",
            protocol.cache.states.len(),
            CACHE_STATE_MASK as usize + 1,
        )?;
        fits(
            "messages",
            protocol.spec.messages.len(),
            CACHE_STATE_SHIFT as usize / 2,
        )?;
        fits(
            "operations",
            protocol.spec.operations.len(),
            OPERATION_MASK as usize,
        )?;
        Ok(Self { caches, lines })
    }

    pub fn words(self) -> usize {
        1 + self.lines * self.caches
    }

    /// The word of a cache's view of a line.
    pub fn word(self, line: usize, cache: usize) -> usize {
        1 + line * self.caches + cache
    }
}

/// The home's half word of a line.
pub(super) fn home(words: u64, line: usize) -> u32 {
    (words >> (32 * line)) as u32
}

/// The memory access under way, in the model's code.
pub(super) fn access(half: u32) -> u32 {
    half >> ACCESS_SHIFT & ACCESS_MASK
}

/// The operation under way, plus one; 0 without one.
pub(super) fn operation(half: u32) -> u32 {
    half >> OPERATION_SHIFT & OPERATION_MASK
}

/// `words` with the half word of a line replaced.
pub(super) fn with_home(words: u64, line: usize, home: u32) -> u64 {
    let shift = 32 * line;
    words & !(0xffff_ffff << shift) | u64::from(home) << shift
}

/// The field of a message, shifted down: 0 absent, 1 in flight, 2 in flight with an old value.
pub(super) fn message_field(word: u64, message: u8) -> u64 {
    word >> (2 * u32::from(message)) & 3
}

/// The state of a cache.
pub(super) fn cache_state(word: u64) -> usize {
    (word >> CACHE_STATE_SHIFT & CACHE_STATE_MASK) as usize
}

/// One bit, the low one, for each message in flight.
pub(super) fn in_flight(word: u64) -> u64 {
    (word | word >> 1) & MESSAGE_LOW
}
