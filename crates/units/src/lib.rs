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

mod address;
mod command;
mod fault;
pub mod line;
mod page;
mod page_sizes;
mod stripe;
mod time;

pub use address::{Asid, CardAddr, FrameNumber, HostAddr, VirtAddr};
pub use command::{CommandId, CommandStatus, Operation};
pub use fault::{Fault, FaultCause, FaultToken};
pub use page::{PageEntry, PageNumber, PageSize, TableGeometry, Target};
pub use page_sizes::PageSizes;
pub use stripe::Stripe;
pub use time::Picoseconds;

/// Bytes of a row: the width of the shell's data paths.
pub const ROW_BYTES: u64 = 64;
