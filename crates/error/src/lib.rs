//! Errors of the library, each with the object, the rule and the remedy, and their form on a socket.
//!
//! [`Error`] is the only error type of the library: the errors that the owner of a card reports to its clients, and
//! those that the client side adds.

mod code;
mod device;
mod error;
mod failure;
mod stream;

pub use device::DeviceError;
pub use error::{AccessError, Error, HomeError, ViolationError};
pub use stream::{PortName, StreamError};
