//! What a stream port can be plugged into beside memory and other ports: pipes, FIFOs, sockets. Their bytes have
//! no address and no known number.
//!
//! A [`Flow`] moves bytes between the ports of kernels and devices, through buffers in memory that the program
//! shares with the card, two for each port: the card works on one while the host fills or empties the other.
//!
//! ```no_run
//! use std::ffi::OsStr;
//! use tombolo::{Continue, Device, Flow};
//! # fn main() -> Result<(), tombolo::Error> {
//! # let card = tombolo::Card::functional(tombolo::FunctionalCard::new(Default::default()))?;
//! let space = card.create_space()?;
//! let slot = card.load(tombolo::SlotId(0), "kernels/loopback", &space)?;
//! let mut flow = Flow::new(&space);
//! flow.plug(&slot, "in", Device::parse(OsStr::new("tcp-listen:7000:timeout=5s"))?)?;
//! flow.plug(&slot, "out", Device::parse(OsStr::new("-"))?)?;
//! for flowed in flow.run(None, |_| Continue::Yes)? {
//!     println!("{}: {} bytes", flowed.port, flowed.bytes);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Ends.** What comes from a device is one packet: its end is the end of the packet (TLAST). A packet that comes
//! out of a kernel ends the stream to a device. With `:live` each piece that arrives is a packet of its own, and
//! packets are passed on until all inputs have ended and nothing moves on the card any more.
//!
//! More packets than are taken are an error that names the port, as they would be lost: [`Packets`] says how many are
//! wanted. A port without TLAST ends no packet: what it has sent when all inputs have ended and nothing moves any more is all.
//!
//! **Time.** The same bytes take the same virtual time, however they come: buffers are full but for the last, and
//! virtual time stands still while a device keeps the host waiting. Not so with `:live`, where the pieces are
//! as large as what happened to be there.
//!
//! **Back-pressure.** A kernel that takes nothing fills the two buffers, then the pipe, and its writer waits; a
//! reader that takes nothing keeps the kernel from sending. No byte is read that has no place to go.

mod across;
mod end;
mod error;
mod flow;
mod hose;
mod name;
mod packets;
pub(crate) mod window;

pub use error::DeviceError;
pub use flow::{Flow, Flowed};
pub use name::{Device, DeviceKind};
pub use packets::{Packets, UnknownPackets};
