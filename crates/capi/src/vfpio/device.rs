//! The object of a dev_fd: ports, the device at their other end, and transfers under way.

use super::ports::Ports;
use crate::status::{Failure, Status};
use std::collections::VecDeque;
use std::ffi::c_int;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo::{
    Connection, Continue, MappedRange, Mapping, Moved, Picoseconds, RemoteMemory, SharedMemory,
    Stream, StreamErrorKind,
};

/// The other end of a port.
pub(super) enum Device {
    /// Memory of `vfpio_huge_alloc`.
    Memory { card: bool },
    /// Memory of a peer: a byte has the same offset there as in its block of `vfpio_huge_alloc`, through which it is
    /// transferred.
    Remote { peer: Arc<Mutex<RemoteMemory>> },
    /// The same over the card's own network interface, to which its ports are connected: bypasses the block and the
    /// host.
    Network { address: String },
    /// A file, and the current position.
    File { file: Mapping, at: Mutex<u64> },
    /// Another port.
    Port(Connection),
}

/// Start of a transfer's memory: a block of `vfpio_huge_alloc`, and an offset in it.
type Memory = (Arc<SharedMemory>, u64);

/// Timeout of a wait for transfers.
#[derive(Clone, Copy)]
pub(super) enum WaitLimit {
    NoWait,
    /// Virtual time.
    Within(Picoseconds),
    Unlimited,
}

/// The object of a dev_fd.
pub(super) struct OpenDevice {
    slot: c_int,
    device: Device,
    ports: Ports,
    /// Transfers not waited for yet, in order, with their memory unless it is a file's: those into the user logic, and
    /// those out of it.
    begun: [Mutex<VecDeque<Option<Memory>>>; 2],
    /// One thread at a time begins transfers, and one waits for them.
    begins: Mutex<()>,
    turn: Mutex<()>,
}

impl OpenDevice {
    pub(super) fn new(slot: c_int, device: Device, ports: Ports) -> Self {
        Self {
            slot,
            device,
            ports,
            begun: Default::default(),
            begins: Mutex::default(),
            turn: Mutex::default(),
        }
    }

    /// Slot of its ports.
    pub(super) fn slot(&self) -> c_int {
        self.slot
    }

    /// Transfers bytes at its only port in a direction; the number of bytes that were moved, or will be. `memory` finds
    /// the block of an address.
    pub(super) fn transfer(
        &self,
        writes: bool,
        address: *const u8,
        size: usize,
        memory: impl FnOnce() -> Result<(Arc<SharedMemory>, MappedRange), Failure>,
    ) -> Result<usize, Failure> {
        if let Device::Port(_) = self.device {
            let rule = "this dev_fd connects two ports: there is nothing to read or write";
            return Err(Failure::argument(rule));
        }
        let stream = self.ports.one(writes)?;
        match &self.device {
            Device::File { file, at } => {
                if !address.is_null() {
                    let rule = "address: a file has none here, the next bytes are moved; use NULL";
                    return Err(Failure::argument(rule));
                }
                let mut at = lock(at);
                let bytes = size as u64;
                self.begin(stream, writes, None, file.slice(*at, bytes)?)?;
                *at += bytes;
            }
            _ => {
                let (memory, range) = memory()?;
                self.begin(stream, writes, Some(memory), range)?;
            }
        }
        if !self.ports.waits() {
            return Ok(size);
        }
        let moved = self.drain(stream, writes, WaitLimit::Unlimited)?;
        self.sync(WaitLimit::Unlimited)?;
        Ok(usize::try_from(moved).unwrap_or(size))
    }

    /// Begins a transfer at one of its ports.
    fn begin(
        &self,
        stream: &Stream,
        writes: bool,
        memory: Option<Arc<SharedMemory>>,
        range: MappedRange,
    ) -> Result<(), Failure> {
        let _one = lock(&self.begins);
        let (offset, bytes) = (range.offset(), range.bytes());
        match (&self.device, &memory) {
            (Device::Remote { peer }, Some(memory)) if !writes => {
                memory.take(offset, bytes, true)?;
                let (start, bytes) = bytes_of(memory, offset, bytes);
                // SAFETY: as long as no transfer uses it it is the program's, which has given it to this call.
                let bytes = unsafe { std::slice::from_raw_parts_mut(start, bytes) };
                lock(peer).read(offset, bytes).map_err(remote)?;
            }
            (Device::Memory { card: true }, Some(memory)) if !writes => memory.prefetch()?,
            _ => {}
        }
        // Recorded before it begins: another thread may wait for it, and find it complete.
        let begun = &self.begun[usize::from(writes)];
        lock(begun).push_back(memory.map(|memory| (memory, offset)));
        let result = match (&self.device, writes) {
            (Device::Network { .. }, true) => stream.write_peer(offset, bytes),
            (Device::Network { .. }, false) => stream.read_peer(offset, bytes),
            (_, true) => stream.write(range),
            (_, false) => stream.read(range),
        };
        if result.is_err() {
            lock(begun).pop_back();
        }
        Ok(result?)
    }

    /// Waits for all transfers that were begun; returns the first failure.
    pub(super) fn sync(&self, limit: WaitLimit) -> Result<(), Failure> {
        let mut result = Ok(());
        for (stream, writes) in self.ports.all() {
            result = result.and(self.drain(stream, writes, limit).map(drop));
        }
        result
    }

    /// Waits for all transfers that were begun at a port; returns the bytes of the last one, or the first failure.
    /// Transfers that miss the timeout stay under way.
    fn drain(&self, stream: &Stream, writes: bool, limit: WaitLimit) -> Result<u64, Failure> {
        // The bytes go to the memory of their own transfer, whichever thread waits for it.
        let _turn = lock(&self.turn);
        let mut result = Ok(0);
        loop {
            let waited = match limit {
                WaitLimit::NoWait => stream.poll(),
                WaitLimit::Within(time) => stream.wait(Some(time), |_| Continue::Yes).map(Some),
                WaitLimit::Unlimited => stream.wait(None, |_| Continue::Yes).map(Some),
            };
            let over = match waited {
                Ok(Some(moved)) => Ok(moved),
                Ok(None) => return result,
                Err(error) => match error.stream_kind() {
                    Some(StreamErrorKind::NothingUnderWay) => return result,
                    Some(StreamErrorKind::TransferFailed) => Err(error.into()),
                    _ => return result.and(Err(error.into())),
                },
            };
            // Only the bytes that have arrived; the memory of bytes still to come is the kernel's.
            let memory = lock(&self.begun[usize::from(writes)]).pop_front().flatten();
            let over = over.and_then(|moved: Moved| match memory {
                Some(memory) if writes => self.arrived(memory, moved.bytes).map(|()| moved.bytes),
                _ => Ok(moved.bytes),
            });
            result = match (result, over) {
                (Ok(_), over) => over,
                (failed, _) => failed,
            };
        }
    }

    /// Delivers bytes from the user logic to the device.
    fn arrived(&self, (memory, offset): Memory, moved: u64) -> Result<(), Failure> {
        let peer = match &self.device {
            Device::Memory { card: false } => return Ok(memory.sync()?),
            Device::Remote { peer } if moved > 0 => peer,
            _ => return Ok(()),
        };
        memory.take(offset, moved, false)?;
        let (start, bytes) = bytes_of(&memory, offset, moved);
        // SAFETY: the transfer into it is over, and it was taken for reading.
        let bytes = unsafe { std::slice::from_raw_parts(start, bytes) };
        lock(peer).write(offset, bytes).map_err(remote)
    }

    /// Whether a transfer that was not waited for uses this memory.
    pub(super) fn uses(&self, memory: &Arc<SharedMemory>) -> bool {
        self.begun.iter().any(|begun| {
            let begun = lock(begun);
            let mut used = begun.iter().flatten();
            used.any(|(used, _)| Arc::ptr_eq(used, memory))
        })
    }

    /// Closes its ports and the device. Finished transfers that were not waited for are delivered before; the inner
    /// result is theirs, or reports data of the kernel that no transfer took.
    ///
    /// # Errors
    /// A transfer is under way: nothing is closed.
    pub(super) fn close(&self, dev_fd: c_int) -> Result<Result<(), Failure>, Failure> {
        let mut told = self.sync(WaitLimit::NoWait);
        if self.begun.iter().any(|begun| !lock(begun).is_empty()) {
            told?;
            let rule =
                format!("a transfer at dev_fd {dev_fd} is under way: vfpio_sync waits for it");
            return Err(Failure::new(Status::Order, rule));
        }
        for (stream, _) in self.ports.all() {
            let Err(error) = stream.close() else {
                continue;
            };
            match error.stream_kind() {
                Some(StreamErrorKind::NotOpen) => {}
                // It is closed nevertheless.
                Some(StreamErrorKind::Unread) => told = told.and(Err(error.into())),
                _ => return Err(error.into()),
            }
        }
        match &self.device {
            Device::File { file, .. } => file.unmap()?,
            Device::Port(connection) => connection.disconnect()?,
            Device::Memory { .. } | Device::Remote { .. } | Device::Network { .. } => {}
        }
        Ok(told)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The failure of a peer.
pub(super) fn remote(error: tombolo::RemoteError) -> Failure {
    tombolo::Error::from(tombolo::DeviceError::from(error)).into()
}

/// Bytes of a block of shared memory, which the program owns while no transfer uses them.
fn bytes_of(memory: &SharedMemory, offset: u64, bytes: u64) -> (*mut u8, usize) {
    // SAFETY: the range was checked when its transfer was begun.
    (
        unsafe { memory.as_ptr().add(offset as usize) },
        bytes as usize,
    )
}
