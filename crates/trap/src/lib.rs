//! Traps: handling of program accesses to shared memory without the current right.
//!
//! Shared memory ([`View`]) is a memory file mapped twice: the program's *view*, at the address that kernels use too,
//! which is protected page by page; and the library's *alias*, which is never protected, for DMA. A forbidden access
//! raises SIGSEGV. The handler (`handler`) writes a preallocated record (`records`), wakes the thread of its trap queue
//! ([`TrapQueue`]), and sleeps; the queue reports the access to the owner of the card, and the owner lets the program's
//! thread retry.
//!
//! A view can be guarded by userfaultfd instead (`userfault`): its pages are missing, and a thread that accesses one
//! waits in the kernel, also inside a system call; or it raises SIGBUS and maps the program's own pages itself.
//!
//! Memory of a program in another process (`programs`) has only the alias here: its own process protects the view, by
//! order.
//!
//! Existing memory of the program (`taken`) can be a view too: its pages are copied into the file, which is mapped over
//! them. `range` checks whether memory qualifies. `source` finds the source line of an access. Pieces of 2 MiB that
//! change hands as a whole are one page for the system if available (`huge`).
//!
//! Rules of this crate, one of those with `unsafe`:
//! - The handler calls nothing but `futex`, `getpid`, `gettid` and `sched_yield`: no allocation, no log, and a single
//!   lock, which `handler` justifies; that of SIGBUS also calls `ioctl` on the userfaultfd and `rt_sigprocmask`.
//! - No thread of the library touches a view: the owner and the card use the alias.
//! - Addresses outside all views, and signals sent by a process, are forwarded to the previous handler: a real
//!   segmentation fault stays one.

mod calibrate;
mod handler;
mod huge;
mod places;
mod programs;
mod range;
mod records;
mod source;
mod taken;
mod trap_queue;
mod userfault;
mod view;

pub use calibrate::{measure_traps, measure_traps_with};
pub use huge::PIECE;
pub use programs::{Elsewhere, OtherProgram, TrapsElsewhere};
pub use range::RangeError;
pub use records::Ticket;
pub use records::{Trapped, Wake};
pub use source::Sources;
pub use trap_queue::TrapQueue;
pub use view::{Part, PartSize, TrapWay, View};

/// Checks whether the system can move pages between addresses of a program (`UFFDIO_MOVE`, Linux 6.8). Shared memory
/// does not use it: only private anonymous pages can be moved, and pages of shared memory are mapped without a copy
/// anyway.
///
/// # Errors
/// The system has no userfaultfd; the text names the remedy.
pub fn can_move_pages() -> std::io::Result<bool> {
    userfault::can_move()
}
