//! What can be wrong with a protocol.

use crate::spec::MsgId;

/// A broken property, in positions; [`super::Trace`] puts it in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Violation {
    /// A cache may write while another may read.
    TwoOwners {
        /// The line.
        line: u8,
    },
    /// A cache may read a value that is not the latest.
    StaleCopy {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
    },
    /// The home read memory that is not up to date.
    StaleMemory {
        /// The line.
        line: u8,
    },
    /// A copy is called dirty although memory has the latest value.
    DirtyForNothing {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
    },
    /// A cache may write a line that the application has locked.
    WriterUnderLock {
        /// The line.
        line: u8,
    },
    /// A cache received what its table does not know.
    CacheSurprised {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
        /// The message.
        message: MsgId,
    },
    /// The home met an event that its table does not know.
    HomeSurprised {
        /// The line.
        line: u8,
    },
    /// A response or a forward would have to stall.
    ResponseStalls {
        /// The line.
        line: u8,
        /// The message.
        message: MsgId,
    },
    /// A message is sent while the same message is still in flight.
    TwiceInFlight {
        /// The line.
        line: u8,
        /// The message.
        message: MsgId,
    },
    /// A memory access starts while one is under way.
    MemoryBusy {
        /// The line.
        line: u8,
    },
    /// A write to memory starts, but what it should write is not there.
    NothingToWrite {
        /// The line.
        line: u8,
    },
    /// The home sends data, but neither memory nor a message brought any.
    NothingToSend {
        /// The line.
        line: u8,
    },
    /// An operation is acknowledged that did not have its effect, or the lock changes unasked.
    EffectMissing {
        /// The line.
        line: u8,
    },
    /// The home drops data that nobody else has.
    ValueLost {
        /// The line.
        line: u8,
    },
    /// A cache loses a right that nothing took, or gets what it did not ask for.
    RuleBroken {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
    },
    /// An acknowledgement without an operation.
    NothingToAcknowledge {
        /// The line.
        line: u8,
    },
    /// An operation was acknowledged while a cache has more than the operation leaves it.
    OperationBroken {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
    },
    /// A stable cache does not offer a rule of the specification.
    RuleRefused {
        /// The line.
        line: u8,
        /// The cache.
        cache: u8,
    },
    /// A stable directory does not accept an operation.
    OperationRefused {
        /// The line.
        line: u8,
    },
    /// Something is outstanding and deliveries never lead to rest.
    Stuck,
}
