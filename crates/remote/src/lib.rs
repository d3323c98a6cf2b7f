//! Memory of another machine: [`RemoteServer`] exports a file or a block of memory, [`RemoteMemory`] reads and writes
//! it. `tombolo serve` is the first as a command; a stream port is plugged into the second by `remote:HOST:PORT`,
//! and `AddressSpace::map_remote` maps it.
//!
//! It goes over TCP; or, to `fabric+PROVIDER://HOST:PORT`, by one-sided accesses through libfabric. Neither side believes the other: lengths, keys, ranges and tags are checked before anything
//! is read into memory or written, and who is silent for too long has failed.

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
