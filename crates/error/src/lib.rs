//! What can go wrong with a card, each with the thing, the rule and what to do; and what of it crosses a socket.
//!
//! [`Error`] is the one error of the library: what the owner of a card tells its clients, and what the library adds on
//! their side.

mod code;
mod device;
mod error;
mod failure;
mod stream;

pub use device::DeviceError;
pub use error::{AccessError, Error, HomeError, ViolationError};
pub use stream::{PortName, StreamError};
