// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Virtual I/O over the card's network interface: rate of a kernel's streams on 100 Gb/s Ethernet.

use super::Failure;
use crate::row::Row;
use timing::network::Network;
use tombolo::{
    AddressSpace, Card, Continue, MapOptions, MemoryNode, OwnerOptions, Picoseconds, ShellConfig,
    SimOptions, Slot, SlotId,
};

/// Figures produced.
pub const NAMES: &[&str] = &[
    "vio.nic.share_of_link",
    "vio.nic.share_of_link.both_ways",
    "vio.nic.wrong_bytes",
    "vio.nic.round_trip_us",
];

/// Bytes per transfer.
const BYTES: u64 = 4 << 20;

/// A kernel's stream from card memory to a peer, from a peer to card memory, and from peer to peer.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let mut options = SimOptions::named("u280")?;
    options.shell = ShellConfig {
        streams_per_slot: 1,
        network_pairs: 1,
        ..ShellConfig::default()
    };
    let card = Card::simulated(options, OwnerOptions::default(), |_| {})?;
    let space = card.create_space()?;
    let kernel = simcard::home().join("kernels/loopback");
    let slot = card.load(SlotId(0), &kernel, &space)?;
    let bench = NetworkBench { card, space, slot };
    let data: Vec<u8> = (0..BYTES)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    let (sent, node) = bench.send(&data)?;
    let (received, back) = bench.receive(&data)?;
    let target = MemoryNode::new(vec![0; BYTES as usize]);
    let both = bench.across(&MemoryNode::new(data.clone()), &target, BYTES)?;
    let little = || MemoryNode::new(vec![1; 64]);
    let first = bench.across(&little(), &little(), 64)?;
    let wrong = |got: &[u8]| data.iter().zip(got).filter(|(a, b)| a != b).count();
    let wrong = wrong(&node.bytes()) + wrong(&back) + wrong(&target.bytes());
    let most = Network::ethernet_100().figures().payload_bytes_per_second();
    let share = |time: Picoseconds| BYTES as f64 / time.as_seconds() / most;
    eprintln!(
        "of {:.3} GB/s: sent {:.3}, received {:.3}, both ways at once {:.3}",
        most / 1e9,
        share(sent),
        share(received),
        share(both)
    );
    let alone = share(sent).min(share(received));
    Ok(vec![
        Row::new(NAMES[0], alone, "ratio"),
        Row::new(NAMES[1], share(both), "ratio"),
        Row::new(NAMES[2], wrong as f64, "bytes"),
        Row::new(NAMES[3], first.as_seconds() * 1e6, "us"),
    ])
}

struct NetworkBench {
    card: Card,
    space: AddressSpace,
    slot: Slot,
}

impl NetworkBench {
    fn now(&self) -> Result<Picoseconds, Failure> {
        Ok(self.card.describe().map(|(_, now)| now)?)
    }

    /// From a file with resident pages: the second run counts.
    fn send(&self, data: &[u8]) -> Result<(Picoseconds, MemoryNode), Failure> {
        let file = tempfile::NamedTempFile::new()?;
        std::fs::write(file.path(), data)?;
        let from = self.space.map_file(file.path(), MapOptions::read_only())?;
        let node = MemoryNode::new(vec![0; data.len()]);
        let input = self.slot.open_stream("in")?;
        let output = self.slot.open_stream("out")?;
        output.plug_peer(node.clone())?;
        let mut time = Picoseconds::ZERO;
        for _ in 0..2 {
            let begins = self.now()?;
            output.write_peer(0, data.len() as u64)?;
            input.read(from.all())?;
            output.wait(None, |_| Continue::Yes)?;
            time = self.now()? - begins;
            input.wait(None, |_| Continue::Yes)?;
        }
        Ok((time, node))
    }

    /// Into resident pages of a file.
    fn receive(&self, data: &[u8]) -> Result<(Picoseconds, Vec<u8>), Failure> {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("back");
        let bytes = data.len() as u64;
        let to = self.space.map_file(&path, MapOptions::create(bytes))?;
        let input = self.slot.open_stream("in")?;
        let output = self.slot.open_stream("out")?;
        input.plug_peer(MemoryNode::new(data.to_vec()))?;
        let mut time = Picoseconds::ZERO;
        for _ in 0..2 {
            let begins = self.now()?;
            output.write(to.all())?;
            input.read_peer(0, bytes)?;
            output.wait(None, |_| Continue::Yes)?;
            time = self.now()? - begins;
            input.wait(None, |_| Continue::Yes)?;
        }
        to.unmap()?;
        Ok((time, std::fs::read(&path)?))
    }

    /// From a peer to a peer.
    fn across(
        &self,
        from: &MemoryNode,
        to: &MemoryNode,
        bytes: u64,
    ) -> Result<Picoseconds, Failure> {
        let input = self.slot.open_stream("in")?;
        let output = self.slot.open_stream("out")?;
        input.plug_peer(from.clone())?;
        output.plug_peer(to.clone())?;
        let begins = self.now()?;
        output.write_peer(0, bytes)?;
        input.read_peer(0, bytes)?;
        output.wait(None, |_| Continue::Yes)?;
        let time = self.now()? - begins;
        input.wait(None, |_| Continue::Yes)?;
        Ok(time)
    }
}
