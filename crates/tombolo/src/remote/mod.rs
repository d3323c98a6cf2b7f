//! Memory of another machine: [`RemoteServer`] exports a file or a block of memory, [`RemoteMemory`] reads and writes
//! it. `tombolo serve` is the first as a command; a stream port is plugged into the second by `remote:HOST:PORT`.
//!
//! It goes over TCP. Neither side believes the other: lengths, keys, ranges and tags are checked before anything
//! is read into memory or written, and who is silent for too long has failed.

mod client;
mod error;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub(crate) use client::connect_to_any;
pub use client::RemoteMemory;
pub use error::RemoteError;
pub use server::{Export, RemoteServer};
