//! A peer of a network interface, on its way to the card.

use card::network::{Peer, PeerError};
use std::sync::{Arc, Mutex, PoisonError};

/// Shared handle of a peer.
#[derive(Clone)]
pub struct PeerHandle(Arc<Mutex<Box<dyn Peer>>>);

impl PeerHandle {
    /// Wraps a peer.
    pub fn new(peer: impl Peer + 'static) -> Self {
        Self(Arc::new(Mutex::new(Box::new(peer))))
    }

    fn with<R>(&self, work: impl FnOnce(&mut dyn Peer) -> R) -> R {
        let mut peer = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut **peer)
    }
}

impl std::fmt::Debug for PeerHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("PeerHandle").finish()
    }
}

impl Peer for PeerHandle {
    fn name(&self) -> String {
        self.with(|peer| peer.name())
    }

    fn read(&mut self, offset: u64, to: &mut [u8]) -> Result<(), PeerError> {
        self.with(|peer| peer.read(offset, to))
    }

    fn write(&mut self, offset: u64, from: &[u8]) -> Result<(), PeerError> {
        self.with(|peer| peer.write(offset, from))
    }
}
