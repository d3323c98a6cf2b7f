//! Traps: what happens when a program touches shared memory that it may not touch right now.
//!
//! Shared memory ([`View`]) is a memory file mapped twice: the program's *view*, at the address that kernels
//! use too, which is protected page by page; and our *alias*, which is never protected, for DMA. A forbidden
//! access raises SIGSEGV. The handler (`handler`) writes a preallocated record (`records`), wakes the
//! thread of its [`Desk`], and sleeps; the desk tells the owner of the card, and the owner lets the program's
//! thread try again.
//!
//! A view can be guarded by userfaultfd instead (`userfault`): its pages are missing, and a thread that touches one
//! waits in the kernel, also inside a system call; or raises SIGBUS, and serves itself what is the program's.
//!
//! Memory that the program had before (`taken`) is one too: its pages are copied into the file, which is mapped
//! over them. `range` says which memory that can be. `source` says which line of the program an access is from. Pieces of 2 MiB that change hands as a whole are one page
//! for the system where it can be had (`huge`).
//!
//! Rules of this room, one of those with `unsafe`:
//! - The handler calls nothing but `futex`, `getpid`, `gettid` and `sched_yield`: no allocation, no log, and no lock but
//!   one, which `handler` argues; in that of SIGBUS also `ioctl` on the userfaultfd and `rt_sigprocmask`.
//! - No thread of ours touches a view: the owner and the card use the alias.
//! - An address that is no view's, and a signal that somebody sent, go on to the handler that was there before
//!   ours: a real segmentation fault stays one.

mod calibrate;
mod desk;
mod handler;
mod huge;
mod places;
mod range;
mod records;
mod source;
mod taken;
mod userfault;
mod view;

pub use calibrate::{measure_traps, measure_traps_with};
pub use desk::Desk;
pub use huge::PIECE;
pub use range::RangeError;
pub use records::Ticket;
pub use records::{Trapped, Wake};
pub use source::Sources;
pub use view::Part;
pub use view::{TrapWay, View};

/// Whether the system can move pages between addresses of a program (`UFFDIO_MOVE`, Linux 6.8). Shared memory does not
/// use it: only private anonymous pages can be moved, and pages of shared memory are shown without a copy anyway.
///
/// # Errors
/// The system has no userfaultfd; the text says what would change that.
pub fn can_move_pages() -> std::io::Result<bool> {
    userfault::can_move()
}
