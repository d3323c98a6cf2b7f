// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Network interfaces of a card, and the peers whose memory they read and write.
//!
//! An interface stands beside the shell, as memory does, and takes part in the stream switch: what a kernel sends
//! goes to a peer's memory, and what is read there goes into a kernel, without the host. Its two streams are those of
//! [`CardDescription::network_slot`](crate::CardDescription::network_slot): pair `n` is interface `n`, the stream
//! *into* it is sent, the one *out* of it is received. The host starts each transfer, as it does those of movers; an
//! address is then one in the peer's memory.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a peer did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PeerError {
    /// It has answered: no.
    #[error("{0}")]
    Refused(String),
    /// It does not answer.
    #[error("{0}")]
    Gone(String),
}

/// Memory at the other end of a connection. It carries bytes, never time: when a packet is where, the model of the
/// network says.
pub trait Peer: Send {
    /// Where it is, for messages.
    fn name(&self) -> String;

    /// Reads bytes of its memory.
    ///
    /// # Errors
    /// [`PeerError`]. What is in `to` then is not known.
    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError>;

    /// Writes bytes of its memory.
    ///
    /// # Errors
    /// [`PeerError`]. Some of the bytes may be there then.
    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError>;
}

/// A machine across the cable that is nothing but memory: simulated, and the same in every run. Clones are the same
/// memory.
#[derive(Clone)]
pub struct MemoryNode {
    bytes: Arc<Mutex<Vec<u8>>>,
}

impl MemoryNode {
    /// With these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Self {
            bytes: Arc::new(Mutex::new(bytes)),
        }
    }

    /// What it has now.
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
