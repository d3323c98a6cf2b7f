// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Network interfaces of a card, and the peers whose memory they read and write.
//!
//! An interface is outside the shell, as memory is, and takes part in the stream switch: data that a kernel sends
//! goes to a peer's memory, and data that is read there goes into a kernel, without the host. Its two streams are
//! those of [`CardDescription::network_slot`](crate::CardDescription::network_slot): pair `n` is interface `n`, the
//! stream *into* it is sent, the one *out* of it is received. The host starts each transfer, as for movers; its
//! address is then one in the peer's memory.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// The reason why a peer did not execute a request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// The peer answered with a refusal.
    #[error("{0}")]
    Refused(String),
    /// The peer does not answer.
    #[error("{0}")]
    Gone(String),
}

/// Memory at the other end of a connection. It carries bytes, not time: the model of the network determines the
/// arrival of packets.
pub trait Peer: Send {
    /// Location of the peer, for messages.
    fn name(&self) -> String;

    /// Reads bytes of the peer's memory.
    ///
    /// # Errors
    /// [`PeerError`]. The content of `to` is undefined then.
    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError>;

    /// Writes bytes of the peer's memory.
    ///
    /// # Errors
    /// [`PeerError`]. Some of the bytes may have been written.
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError>;
}

/// A simulated machine across the cable that consists of memory alone, deterministic in every run. Clones share the
/// memory.
#[derive(Clone)]
pub struct MemoryNode {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemoryNode {
    /// Creates a machine with this memory content.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Arc::new(Mutex::new(bytes)),
        }
    }

    /// A copy of its present content.
    pub fn bytes(&self) -> Vec<u8> {
        let bytes = self.bytes.lock();
        bytes.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn with<R>(
        &self,
        offset: u64,
        bytes: usize,
        work: impl FnOnce(&mut [u8]) -> R,
    ) -> Result<R, PeerError> {
        let mut all = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
        let size = all.len();
        let range = usize::try_from(offset)
            .ok()
            .and_then(|start| Some(start..start.checked_add(bytes)?));
        match range.and_then(|range| all.get_mut(range)) {
            Some(part) => Ok(work(part)),
            None => Err(PeerError::Refused(format!(
                "{bytes} bytes from offset {offset}: it has {size} bytes"
            ))),
        }
    }
}

impl fmt::Debug for MemoryNode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryNode").finish_non_exhaustive()
    }
}

impl Peer for MemoryNode {
    fn name(&self) -> String {
        "a simulated memory node".to_owned()
    }

    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError> {
        self.with(offset, to.len(), |part| to.copy_from_slice(part))
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError> {
        self.with(offset, from.len(), |part| part.copy_from_slice(from))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_refuses_what_is_beyond_its_end() {
        let node = MemoryNode::new(vec![1, 2, 3, 4]);
        let mut peer = node.clone();
        peer.write(1, &[7, 8]).unwrap();
        assert_eq!(node.bytes(), [1, 7, 8, 4]);
        let mut two = [0; 2];
        peer.read(2, &mut two).unwrap();
        assert_eq!(two, [8, 4]);
        for offset in [3, 4, u64::MAX] {
            let refused = peer.read(offset, &mut two).unwrap_err();
            assert!(matches!(refused, PeerError::Refused(_)), "{refused}");
        }
    }
}
