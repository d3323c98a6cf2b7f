//! Addresses, sizes, times and the words of a card as types, shared by crates that must not know each other.
//!
//! ```
//! use tombolo_units::{PageSize, Picoseconds, VirtAddr};
//!
//! let page = PageSize::MIB_2;
//! let address = VirtAddr::new(0x0123_4567).unwrap();
//! assert_eq!(address.page_base(page).get(), 0x0120_0000);
//! assert_eq!(Picoseconds::from_nanos(4) * 250_000_000, Picoseconds::from_millis(1000));
//! ```

pub mod access;
mod address;
mod advice;
mod checked;
mod command;
mod description;
mod fault;
mod host_access;
pub mod line;
pub mod memories;
mod page;
mod page_size;
mod page_sizes;
mod placement;
mod schedule;
mod slot;
mod stream;
mod stripe;
mod time;

pub use address::{Asid, CardAddr, FrameNumber, HostAddr, VirtAddr};
pub use advice::{Advice, AdviceError, Fetch, Pattern, Reuse};
pub use command::{CommandId, CommandStatus, Operation};
pub use description::{CardDescription, L1Reach};
pub use fault::{Fault, FaultCause, FaultToken, ServiceEvents};
pub use host_access::HostAccess;
pub use memories::{CardMemory, MemoryKind, UnknownMemory};
pub use page::{PageEntry, PageNumber, TableGeometry, Target};
pub use page_size::PageSize;
pub use page_sizes::PageSizes;
pub use placement::SpacePlacement;
pub use schedule::{Priority, SlotSchedule};
pub use slot::SlotId;
pub use stream::{StreamDirection, StreamId, StreamWaiting};
pub use stripe::Stripe;
pub use time::Picoseconds;

/// Size of a row in bytes: the width of the shell's data paths.
pub const ROW_BYTES: u64 = 64;
