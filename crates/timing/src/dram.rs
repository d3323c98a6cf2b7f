//! A memory channel: banks, rows, refresh, and a controller queue with write drains.
//!
//! [`Controller`] is one channel: a scheduler over the devices' timing. It is event-driven and lazy:
//! a call costs a comparison unless a command could have been issued since the last one, and what
//! it answers does not depend on how often it was asked.

mod address;
mod choice;
mod controller;
mod devices;
mod queue;
mod trace;
mod window;

pub use controller::Controller;
pub use trace::{Command, CommandKind};

/// Most rows that a queue of the scheduler may hold.
pub const MAX_QUEUE: usize = 64;

use units::Picoseconds;

/// A burst of rows (64 bytes each) at a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The caller's name for it.
    pub token: u32,
    /// Byte offset within the channel, row-aligned.
    pub offset: u64,
    /// Rows, at least one.
    pub rows: u16,
    /// A write.
    pub write: bool,
}

/// One row of an access has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowDone {
    /// Of which access.
    pub token: u32,
    /// Which row of it, from 0.
    pub row: u16,
    /// The last one.
    pub last: bool,
    /// When its data is at the controller's user side (reads), or accepted for good (writes).
    pub at: Picoseconds,
}

/// One memory controller with its devices.
///
/// Rows of reads come back in the order in which reads were pushed, and so do the ends of writes;
/// the devices may be scheduled in another order.
pub trait MemoryChannel {
    /// Whether [`push`](Self::push) would be taken now.
    fn can_accept(&self, write: bool) -> bool;

    /// Takes an access at time `now` (never earlier than in any call before).
    fn push(&mut self, now: Picoseconds, access: Access);

    /// The next row of a read that is done at or before `now`, in order.
    fn pop_read(&mut self, now: Picoseconds) -> Option<RowDone>;

    /// The next write that is complete at or before `now`, in order (`row` is its last row).
    fn pop_write(&mut self, now: Picoseconds) -> Option<RowDone>;

    /// The earliest time at which a pop could give something; `None` when nothing is under way.
    /// Refreshes alone are no reason to wake: they are accounted lazily.
    fn next_event(&mut self) -> Option<Picoseconds>;

    /// Activations so far.
    fn activations(&self) -> u64;

    /// Refreshes so far, up to the last call's time.
    fn refreshes(&self) -> u64;
}
