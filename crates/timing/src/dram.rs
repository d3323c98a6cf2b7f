//! A memory channel: banks, rows, refresh, and a controller queue with write drains.
//!
//! [`Controller`] is one channel: a scheduler over the devices' timing. It is event-driven and lazy: a call costs a
//! comparison unless a command could have been issued since the last one, and the results do not depend on the number
//! of calls.

mod address;
mod choice;
mod controller;
mod devices;
mod queue;
mod trace;
mod window;

pub use controller::Controller;
pub use trace::{Command, CommandKind};

/// Maximum rows in a queue of the scheduler.
pub const MAX_QUEUE: usize = 64;

use units::Picoseconds;

/// A burst of rows (64 bytes each) at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Token chosen by the caller.
    pub token: u32,
    /// Byte offset within the channel, row-aligned.
    pub offset: u64,
    /// Number of rows, at least one.
    pub rows: u16,
    /// `true` for a write, `false` for a read.
    pub write: bool,
}

/// Completion of one row of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDone {
    /// Token of the access.
    pub token: u32,
    /// Index of the row in the access, from 0.
    pub row: u16,
    /// Whether it is the last row.
    pub last: bool,
    /// Time at which its data is at the controller's user side (reads), or accepted irrevocably (writes).
    pub at: Picoseconds,
}

/// One memory controller with its devices.
///
/// Rows of reads return in the order in which reads were pushed, and so do the completions of writes; the devices may
/// be scheduled in another order.
pub trait MemoryChannel {
    /// Whether [`push`](Self::push) would be accepted now.
    fn can_accept(&self, write: bool) -> bool;

    /// Accepts an access at time `now` (never earlier than in any call before).
    fn push(&mut self, now: Picoseconds, access: Access);

    /// The next row of a read that is complete at or before `now`, in order.
    fn pop_read(&mut self, now: Picoseconds) -> Option<RowDone>;

    /// The next write that is complete at or before `now`, in order (`row` is its last row).
    fn pop_write(&mut self, now: Picoseconds) -> Option<RowDone>;

    /// The earliest time at which a pop could return something; `None` when nothing is under way. Refreshes alone are
    /// no reason to wake: they are accounted lazily.
    fn next_event(&mut self) -> Option<Picoseconds>;

    /// Number of activations so far.
    fn activations(&self) -> u64;

    /// Number of refreshes so far, up to the last call's time.
    fn refreshes(&self) -> u64;
}
