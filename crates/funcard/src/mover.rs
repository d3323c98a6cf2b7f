//! Movers: transfers between memory and the streams of a kernel.

use super::access::PortMemory;
use super::kernel::{Access, VirtualMemory};
use card::stream::{StreamDirection, StreamState, Transfer, TransferEnd, TransferStatus};
use std::collections::VecDeque;

/// Approximate buffer between a mover and its kernel in bytes.
const ROOM: usize = 4096;
const BLOCK: u64 = 4096;

/// Bytes of a stream sent together.
#[derive(Clone, Debug)]
struct Chunk {
    bytes: Vec<u8>,
    /// Bytes received from it so far.
    taken: usize,
    /// The chunk ends a packet.
    last: bool,
}

/// A transfer in progress.
#[derive(Clone, Copy, Debug)]
struct Running {
    transfer: Transfer,
    /// Bytes moved between memory and the chunks.
    moved: u64,
    /// Into the kernel: bytes that it has received.
    crossed: u64,
    failed: bool,
    /// The host has asked for its end.
    stopped: bool,
}

/// One stream of a slot, with its mover.
#[derive(Clone, Debug)]
pub(super) struct Mover {
    direction: StreamDirection,
    running: Option<Running>,
    chunks: VecDeque<Chunk>,
    /// Bytes of the last transfer.
    moved: u64,
    /// A packet is partly transferred.
    in_packet: bool,
    /// Its memory access waits for the host.
    pub(super) blocked: bool,
    /// The kernel's port is connected to another port: transfers wait.
    pub(super) linked: bool,
}

impl Mover {
    pub(super) fn new(direction: StreamDirection) -> Self {
        Self {
            direction,
            running: None,
            chunks: VecDeque::new(),
            moved: 0,
            in_packet: false,
            blocked: false,
            linked: false,
        }
    }

    /// Resets everything but the connection, as a reset of the slot does.
    pub(super) fn reset(&mut self) {
        *self = Self {
            linked: self.linked,
            ..Self::new(self.direction)
        };
    }

    /// Whether a packet is partly transferred.
    pub(super) fn is_in_packet(&self) -> bool {
        let waits = self.direction == StreamDirection::In && !self.chunks.is_empty();
        self.in_packet || waits
    }

    /// Whether bytes of the kernel are waiting.
    pub(super) fn has_chunk(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Whether there is room for more bytes to the kernel.
    pub(super) fn has_room(&self) -> bool {
        self.waiting_bytes() < ROOM
    }

    /// Takes one chunk of the kernel, for another port.
    pub(super) fn take_chunk(&mut self) -> Option<(Vec<u8>, bool)> {
        let mut chunk = self.chunks.pop_front()?;
        Some((chunk.bytes.split_off(chunk.taken), chunk.last))
    }

    /// Adds a chunk for the kernel, from another port.
    pub(super) fn put_chunk(&mut self, bytes: Vec<u8>, last: bool) {
        self.chunks.push_back(Chunk {
            bytes,
            taken: 0,
            last,
        });
    }

    /// Begins a transfer; `false` if one is in progress.
    pub(super) fn start(&mut self, transfer: Transfer) -> bool {
        if self.running.is_some() {
            return false;
        }
        self.moved = 0;
        self.running = Some(Running {
            transfer,
            moved: 0,
            crossed: 0,
            failed: false,
            stopped: false,
        });
        true
    }

    /// Ends the transfer out of the kernel at the next step.
    pub(super) fn stop(&mut self) {
        if let (StreamDirection::Out, Some(running)) = (self.direction, &mut self.running) {
            running.stopped = true;
        }
    }

    pub(super) fn state(&self) -> StreamState {
        let waits = !self.chunks.is_empty();
        let (valid, ready) = match self.direction {
            StreamDirection::In => (waits, false),
            StreamDirection::Out => (waits, !waits),
        };
        StreamState {
            busy: self.running.is_some(),
            valid,
            ready,
            moved: self.moved,
        }
    }

    fn waiting_bytes(&self) -> usize {
        let left = |chunk: &Chunk| chunk.bytes.len() - chunk.taken;
        self.chunks.iter().map(left).sum()
    }

    /// Whether a step would make progress.
    pub(super) fn is_runnable(&self) -> bool {
        let Some(running) = &self.running else {
            return false;
        };
        if self.blocked {
            return false;
        }
        if running.stopped {
            return true;
        }
        if self.linked {
            return false;
        }
        match self.direction {
            StreamDirection::In => {
                running.transfer.bytes == 0
                    || running.moved < running.transfer.bytes && self.waiting_bytes() < ROOM
            }
            StreamDirection::Out => running.transfer.bytes == 0 || !self.chunks.is_empty(),
        }
    }

    /// Moves one burst. Returns the transfer's end, if this completed it.
    pub(super) fn step(&mut self, port: usize, memory: &mut PortMemory<'_>) -> Option<TransferEnd> {
        let running = self.running.as_mut()?;
        let left = running.transfer.bytes - running.moved;
        if left == 0 || running.stopped {
            return Some(self.end(false));
        }
        let address = running.transfer.address.get() + running.moved;
        let in_block = BLOCK - address % BLOCK;
        match self.direction {
            StreamDirection::In => {
                let mut bytes = vec![0; left.min(in_block) as usize];
                match memory.read(port, address, &mut bytes) {
                    Access::Blocked => {
                        self.blocked = true;
                        return None;
                    }
                    Access::Failed => running.failed = true,
                    Access::Done => {}
                }
                running.moved += bytes.len() as u64;
                let last = running.transfer.last && running.moved == running.transfer.bytes;
                self.chunks.push_back(Chunk {
                    bytes,
                    taken: 0,
                    last,
                });
                None
            }
            StreamDirection::Out => {
                let chunk = self.chunks.front_mut()?;
                let rest = &chunk.bytes[chunk.taken..];
                let count = (rest.len() as u64).min(left).min(in_block) as usize;
                if count > 0 {
                    match memory.write(port, address, &rest[..count]) {
                        Access::Blocked => {
                            self.blocked = true;
                            return None;
                        }
                        Access::Failed => running.failed = true,
                        Access::Done => {}
                    }
                }
                running.moved += count as u64;
                self.moved = running.moved;
                chunk.taken += count;
                let empty = chunk.taken == chunk.bytes.len();
                let last = empty && chunk.last;
                let full = running.moved == running.transfer.bytes;
                self.in_packet = !last;
                if empty {
                    self.chunks.pop_front();
                }
                (last || full).then(|| self.end(last))
            }
        }
    }

    fn end(&mut self, last: bool) -> TransferEnd {
        let failed = self.running.take().is_some_and(|running| running.failed);
        TransferEnd {
            bytes: self.moved,
            last,
            status: match failed {
                true => TransferStatus::AccessFailed,
                false => TransferStatus::Ok,
            },
        }
    }

    /// The kernel receives up to `most` bytes, within one packet. Returns them, whether they end a packet, and the
    /// transfer's end if they were its last.
    pub(super) fn receive(&mut self, most: usize) -> Option<(Vec<u8>, bool, Option<TransferEnd>)> {
        let chunk = self.chunks.front_mut()?;
        let count = most.min(chunk.bytes.len() - chunk.taken);
        let bytes = chunk.bytes[chunk.taken..chunk.taken + count].to_vec();
        chunk.taken += count;
        let empty = chunk.taken == chunk.bytes.len();
        let last = empty && chunk.last;
        if empty {
            self.chunks.pop_front();
        }
        self.in_packet = !last;
        let mut end = None;
        if let Some(running) = self.running.as_mut().filter(|_| !self.linked) {
            running.crossed += count as u64;
            self.moved = running.crossed;
            if running.crossed == running.transfer.bytes {
                end = Some(self.end(last));
            }
        }
        Some((bytes, last, end))
    }

    /// The kernel sends bytes; `false` if there is no room.
    pub(super) fn send(&mut self, bytes: &[u8], last: bool) -> bool {
        if self.waiting_bytes() >= ROOM {
            return false;
        }
        if !bytes.is_empty() || last {
            self.chunks.push_back(Chunk {
                bytes: bytes.to_vec(),
                taken: 0,
                last,
            });
        }
        true
    }
}
