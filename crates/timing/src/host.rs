//! The host: service threads, copies between page cache and buffers, and storage.

mod file;
mod model;

pub use file::{HostFile, HostFileError, TrapFigures};
pub use model::HostModel;

use units::{Picoseconds, ServiceEvents};

/// Host resources in virtual time. Each call books the resource and returns the time at which the work is complete.
pub trait Host {
    /// The service thread handles a batch of events, starting when it is free.
    fn serve_events(&mut self, now: Picoseconds, events: ServiceEvents) -> Picoseconds;

    /// A service thread that belongs to one application handles a batch of events.
    fn serve_events_of(
        &mut self,
        now: Picoseconds,
        thread: u8,
        events: ServiceEvents,
    ) -> Picoseconds;

    /// The service thread is busy for `span`, starting when it is free.
    fn serve(&mut self, now: Picoseconds, span: Picoseconds) -> Picoseconds;

    /// Copies between page cache and a DMA buffer.
    fn page_cache_copy(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds;

    /// Reads from storage into a buffer.
    fn storage_read(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds;

    /// Writes from a buffer to storage.
    fn storage_write(&mut self, now: Picoseconds, bytes: u64) -> Picoseconds;

    /// Loads another kernel into a slot; one slot at a time.
    fn reconfigure(&mut self, now: Picoseconds) -> Picoseconds;

    /// From the arrival of an interrupt (or of a record, when polling) to user code.
    fn wake(&mut self, now: Picoseconds) -> Picoseconds;

    /// Busy times: (service, copy, storage).
    fn busy(&self) -> (Picoseconds, Picoseconds, Picoseconds);
}
