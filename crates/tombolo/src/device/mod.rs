//! Devices that a stream port can be connected to, besides memory and other ports: pipes, FIFOs, sockets. Their bytes
//! have no address and no known count. A [`Flow`](crate::Flow) moves them.

pub(crate) mod end;
pub(crate) mod name;
mod packets;
pub(crate) mod window;

pub use ::error::DeviceError;
pub use name::{Device, DeviceKind};
pub use packets::{Packets, UnknownPackets};
