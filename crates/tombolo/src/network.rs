// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Streams over the card's own network interface: between a kernel and a peer's memory, without the host.
//!
//! ```no_run
//! use tombolo::{Card, Continue, MemoryNode, ShellConfig, SimOptions, SlotId};
//!
//! # fn main() -> Result<(), tombolo::Error> {
//! let mut options = SimOptions::named("u280")?;
//! options.shell = ShellConfig { streams_per_slot: 1, network_pairs: 1, ..ShellConfig::default() };
//! let card = Card::simulated(options, Default::default(), |_| {})?;
//! let space = card.create_space()?;
//! let slot = card.load(SlotId(0), "kernels/loopback", &space)?;
//! let node = MemoryNode::new(vec![7; 1 << 20]);
//! let (input, output) = (slot.open_stream("in")?, slot.open_stream("out")?);
//! input.plug_peer(node.clone())?;
//! output.plug_peer(node)?;
//! output.write_peer(500_000, 100_001)?;
//! input.read_peer(3, 100_001)?;
//! output.wait(None, |_| Continue::Yes)?;
//! # Ok(())
//! # }
//! ```

use crate::stream::Stream;
use card::network::Peer;
use error::Error;
use owner::message::{BeginPeerTransfer, ByteRange, PlugPeer};
use owner::PeerHandle;
use units::StreamDirection;

impl Stream {
    /// Connects the port to a network interface of the card, and the interface to a peer, until the port is closed. Its
    /// transfers are then [`read_peer`](Stream::read_peer) or [`write_peer`](Stream::write_peer). A second call
    /// connects another peer, or the same one after a failure.
    ///
    /// # Errors
    /// [`StreamError::NoInterface`]: no interface of the card is free; [`StreamError::UnderWay`];
    /// [`StreamError::BetweenPackets`]: the switch waits for the end of a packet.
    ///
    /// [`StreamError::NoInterface`]: crate::StreamError::NoInterface
    /// [`StreamError::UnderWay`]: crate::StreamError::UnderWay
    /// [`StreamError::BetweenPackets`]: crate::StreamError::BetweenPackets
    pub fn plug_peer(&self, peer: impl Peer + 'static) -> Result<(), Error> {
        self.link().call(PlugPeer {
            stream: self.handle(),
            peer: PeerHandle::new(peer),
        })
    }

    /// Begins a transfer from the peer's memory to the kernel: one packet, whose last beat carries TLAST.
    ///
    /// # Errors
    /// [`StreamError::WrongDirection`](crate::StreamError::WrongDirection),
    /// [`StreamError::NoPeer`](crate::StreamError::NoPeer); or the kernel has failed.
    pub fn read_peer(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        self.begin_peer(StreamDirection::In, offset, bytes)
    }

    /// Begins a transfer from the kernel to the peer's memory. It ends with the packet (TLAST) or when the range is
    /// full, and is complete when all bytes are in that memory.
    ///
    /// # Errors
    /// As [`read_peer`](Stream::read_peer).
    pub fn write_peer(&self, offset: u64, bytes: u64) -> Result<(), Error> {
        self.begin_peer(StreamDirection::Out, offset, bytes)
    }

    pub(crate) fn begin_peer(
        &self,
        direction: StreamDirection,
        offset: u64,
        bytes: u64,
    ) -> Result<(), Error> {
        self.link().call(BeginPeerTransfer {
            stream: self.handle(),
            direction,
            range: ByteRange { offset, bytes },
        })
    }
}
