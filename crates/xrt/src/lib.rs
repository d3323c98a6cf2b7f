//! Runs programs written for XRT on a Tombolo card.
//!
//! A thin layer: a device is a [`tombolo::Card`] with one address space, a compute unit is a slot, and a buffer is
//! [shared memory](tombolo::SharedMemory) that the program copies to and from explicitly. The order, states and errors
//! that XRT's documentation specifies are implemented here once, for the C++ headers (`crates/capi/xrt`) and the Python
//! module `pyxrt`.
//!
//! [`link`] links kernels into a [`Design`], which [`container`] writes to an `.xclbin` in Tombolo's own format.

#![deny(missing_debug_implementations)]

mod buffer;
pub mod calls;
mod card_selection;
mod command_state;
pub mod container;
mod design;
mod device;
mod dispatch;
mod error;
mod exported;
mod ip;
mod kernel;
pub mod link;
mod places;
mod registers;
mod run;
mod session;
mod unpacked;
mod uuid;

pub use buffer::{Buffer, BufferFlags, Direction};
pub use command_state::{CommandState, Repeat};
pub use design::{
    Argument, ArgumentKind, Clock, ComputeUnit, Design, File, KernelImage, Memory, MemoryType,
    StreamLink,
};
pub use device::{device_count, Device, Information};
pub use error::{Class, XrtError};
pub use ip::Ip;
pub use kernel::{Kernel, UnitAccess};
pub use places::{home_near, set_home};
pub use run::Run;
pub use uuid::{Uuid, UuidError};
