//! Violations of a protocol's properties.

use crate::spec::MsgId;

/// A broken property, by positions; [`super::Trace`] describes it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// A cache may write while another may read.
    TwoOwners {
        /// Index of the line.
        line: u8,
    },
    /// A cache may read a value that is not the latest.
    StaleCopy {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
    },
    /// The home read memory that is not up to date.
    StaleMemory {
        /// Index of the line.
        line: u8,
    },
    /// A copy is marked dirty although memory has the latest value.
    DirtyForNothing {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
    },
    /// A cache may write a line that the application has locked.
    WriterUnderLock {
        /// Index of the line.
        line: u8,
    },
    /// A cache received a message that its table does not define.
    CacheSurprised {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// The home met an event that its table does not define.
    HomeSurprised {
        /// Index of the line.
        line: u8,
    },
    /// A response or a forward would have to stall.
    ResponseStalls {
        /// Index of the line.
        line: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// A message is sent while an identical one is still in flight.
    TwiceInFlight {
        /// Index of the line.
        line: u8,
        /// Identifier of the message.
        message: MsgId,
    },
    /// A memory access starts while one is under way.
    MemoryBusy {
        /// Index of the line.
        line: u8,
    },
    /// A write to memory starts without data.
    NothingToWrite {
        /// Index of the line.
        line: u8,
    },
    /// The home sends data, but neither memory nor a message provided any.
    NothingToSend {
        /// Index of the line.
        line: u8,
    },
    /// An operation is acknowledged without its effect, or the lock changes without a request.
    EffectMissing {
        /// Index of the line.
        line: u8,
    },
    /// The home drops the only copy of a value.
    ValueLost {
        /// Index of the line.
        line: u8,
    },
    /// A cache loses a right without a cause, or gains one that it did not request.
    RuleBroken {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
    },
    /// An acknowledgement without an operation.
    NothingToAcknowledge {
        /// Index of the line.
        line: u8,
    },
    /// An operation was acknowledged while a cache has more rights than it leaves.
    OperationBroken {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
    },
    /// A stable cache does not offer a rule of the specification.
    RuleRefused {
        /// Index of the line.
        line: u8,
        /// Index of the cache.
        cache: u8,
    },
    /// A stable directory does not accept an operation.
    OperationRefused {
        /// Index of the line.
        line: u8,
    },
    /// Items are outstanding, and deliveries never lead to rest.
    Stuck,
}
