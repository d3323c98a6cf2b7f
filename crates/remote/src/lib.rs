//! Memory of another machine: [`RemoteServer`] exports a file or a block of memory, [`RemoteMemory`] reads and writes
//! it. `tombolo serve` is the server as a command; `remote:HOST:PORT` connects a stream port to the memory, and
//! `AddressSpace::map_remote` maps it.
//!
//! The transport is TCP or, for `fabric+PROVIDER://HOST:PORT`, one-sided accesses through libfabric. Neither side
//! trusts the other: lengths, keys, ranges and tags are checked before any byte is stored, and a peer that is silent
//! for the timeout has failed.

mod backing;
mod client;
mod error;
mod fabric;
mod mapped;
mod peer;
mod server;
#[cfg(test)]
mod tests;
mod wire;

pub use backing::{stand_in, Backing};
pub use client::RemoteMemory;
pub use client::{connect_to_any, split};
pub use error::RemoteError;
pub use fabric::is_provider;
pub use fabric::FabricError;
pub use peer::FileNode;
pub use server::{Export, RemoteServer};
