// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Do bytes reach a peer's memory over the card's own network interface, and come back, without the host; and is a peer
//! that refuses, dies, or is behind a link that is down an error that leaves everything else working?

use std::fs;
use tombolo::{
    Card, Continue, Device, DeviceError, Error, ErrorCode, Export, Flow, FunctionalCard,
    FunctionalConfig, MapOptions, MemoryNode, Moved, OwnerOptions, Picoseconds, RemoteMemory,
    RemoteServer, ShellConfig, SimOptions, Slot, SlotId, Stream, StreamError,
};

fn card() -> Card {
    let mut options = SimOptions::named("u280").unwrap();
    options.shell = ShellConfig {
        streams_per_slot: 1,
        network_pairs: 1,
        ..ShellConfig::default()
    };
    Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap()
}

fn load(card: &Card) -> (tombolo::AddressSpace, Slot) {
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/loopback");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    (space, slot)
}

fn noise(bytes: usize, seed: u64) -> Vec<u8> {
    let word = |i: u64| (i ^ seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56;
    (0..bytes as u64).map(|i| word(i) as u8).collect()
}

fn wait(stream: &Stream) -> Result<Moved, Error> {
    stream.wait(Some(Picoseconds::from_millis(20)), |_| Continue::Yes)
}

fn stream_error(result: Result<impl std::fmt::Debug, Error>) -> StreamError {
    match result {
        Err(Error::Stream(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Packets of any length, at any alignment, both ways at once; the ports then serve memory again, and peers again.
#[test]
fn packets_reach_a_peer_and_come_back() {
    let card = card();
    let (_space, slot) = load(&card);
    let (input, output) = (
        slot.open_stream("in").unwrap(),
        slot.open_stream("out").unwrap(),
    );
    let from = noise(300_000, 1);
    let node = MemoryNode::new(from.clone());
    let target = MemoryNode::new(vec![0; 300_000]);
    input.plug_peer(node.clone()).unwrap();
    output.plug_peer(target.clone()).unwrap();
    let mut wanted = vec![0; 300_000];
    let (mut here, mut there) = (3, 1);
    for bytes in [1, 63, 64, 65, 4095, 4096, 4097, 65_537, 100_003] {
        output.write_peer(there as u64, bytes as u64 + 7).unwrap();
        input.read_peer(here as u64, bytes as u64).unwrap();
        let whole = Moved {
            bytes: bytes as u64,
            last: true,
        };
        assert_eq!(wait(&output).unwrap(), whole, "{bytes}");
        assert_eq!(wait(&input).unwrap(), whole, "{bytes}");
        wanted[there..there + bytes].copy_from_slice(&from[here..here + bytes]);
        (here, there) = (here + bytes, there + bytes + 5);
    }
    assert!(target.bytes() == wanted);
    assert!(node.bytes() == from, "the source was written");
    // A range that is full in the middle of a packet, and of a beat: the rest is the next transfer's.
    output.write_peer(10, 1_001).unwrap();
    input.read_peer(0, 5_000).unwrap();
    let part = |bytes, last| Moved { bytes, last };
    assert_eq!(wait(&output).unwrap(), part(1_001, false));
    output.write_peer(1_011, 100_000).unwrap();
    assert_eq!(wait(&output).unwrap(), part(3_999, true));
    assert_eq!(wait(&input).unwrap(), part(5_000, true));
    assert!(target.bytes()[10..5_010] == from[..5_000]);
}

/// Memory to the network, and the network to memory, in one run after the other; the port is the mover's again when closed.
#[test]
fn a_port_goes_from_memory_to_the_network_and_back() {
    let folder = tempfile::tempdir().unwrap();
    let (source, result) = (folder.path().join("a"), folder.path().join("b"));
    let data = noise(70_001, 2);
    fs::write(&source, &data).unwrap();
    let card = card();
    let (space, slot) = load(&card);
    let from = space.map_file(&source, MapOptions::read_only()).unwrap();
    let to = space
        .map_file(&result, MapOptions::create(data.len() as u64))
        .unwrap();
    let node = MemoryNode::new(vec![0; data.len()]);
    for _ in 0..2 {
        let (input, output) = (
            slot.open_stream("in").unwrap(),
            slot.open_stream("out").unwrap(),
        );
        output.plug_peer(node.clone()).unwrap();
        let plugged = stream_error(output.write(to.all()));
        assert!(matches!(plugged, StreamError::NoPeer { plugged: true, .. }));
        output.write_peer(0, data.len() as u64).unwrap();
        input.read(from.all()).unwrap();
        wait(&output).unwrap();
        wait(&input).unwrap();
        assert!(node.bytes() == data);
        output.close().unwrap();
        input.plug_peer(node.clone()).unwrap();
        let output = slot.open_stream("out").unwrap();
        output.write(to.all()).unwrap();
        input.read_peer(0, data.len() as u64).unwrap();
        wait(&input).unwrap();
        assert_eq!(wait(&output).unwrap().bytes, data.len() as u64);
        input.close().unwrap();
        output.close().unwrap();
    }
    to.unmap().unwrap();
    assert!(fs::read(&result).unwrap() == data);
}

/// Each possible failure is an error that names the port and the remedy, and afterwards the port works.
#[test]
fn a_peer_that_refuses_or_is_not_reached_is_an_error() {
    let card = card();
    let (_space, slot) = load(&card);
    let (input, output) = (
        slot.open_stream("in").unwrap(),
        slot.open_stream("out").unwrap(),
    );
    let none = stream_error(input.read_peer(0, 1));
    assert!(matches!(none, StreamError::NoPeer { plugged: false, .. }));
    let node = MemoryNode::new(noise(100_000, 3));
    let again = |input: &Stream, output: &Stream| {
        input.plug_peer(node.clone()).unwrap();
        output.plug_peer(node.clone()).unwrap();
        output.write_peer(50_000, 9_999).unwrap();
        input.read_peer(7, 9_999).unwrap();
        assert_eq!(wait(output).unwrap().bytes, 9_999);
        wait(input).unwrap();
        let bytes = node.bytes();
        assert!(bytes[7..10_006] == bytes[50_000..59_999]);
    };
    again(&input, &output);
    let wrong = stream_error(input.write_peer(0, 1));
    assert!(matches!(wrong, StreamError::WrongDirection { .. }));
    assert!(input.read_peer(0, 0).is_err() && input.read_peer(u64::MAX, 2).is_err());

    // Beyond its end, in the middle of the packet: a receiver gets a short packet, and the sender's rest is forgotten.
    output.write_peer(0, 50_000).unwrap();
    input.read_peer(99_000, 65_536 + 2_000).unwrap();
    let refused = stream_error(wait(&input));
    assert!(refused.to_string().contains("refuses"), "{refused}");
    assert!(matches!(refused, StreamError::Network { moved: 0, .. }));
    let error = input
        .read_peer(0, 64)
        .and_then(|()| wait(&input).map(|_| ()));
    let error = error.unwrap_err();
    assert_eq!(error.code(), ErrorCode::Transfer, "{error}");
    input.plug_peer(node.clone()).unwrap();
    input.read_peer(0, 64).unwrap();
    wait(&input).unwrap();
    assert_eq!(wait(&output).unwrap().bytes, 64);
    output.write_peer(99_000, 40_000).unwrap();
    input.read_peer(0, 30_000).unwrap();
    let refused = stream_error(wait(&output));
    assert!(matches!(
        refused,
        StreamError::Network { bytes: 40_000, .. }
    ));
    assert_eq!(
        wait(&input).unwrap().bytes,
        30_000,
        "the kernel is not stuck"
    );
    again(&input, &output);

    // The cable is pulled in the middle, and put back in time; then it is not put back.
    let large = MemoryNode::new(noise(500_000, 5));
    input.plug_peer(large.clone()).unwrap();
    output.plug_peer(large.clone()).unwrap();
    output.write_peer(0, 200_000).unwrap();
    input.read_peer(250_000, 200_000).unwrap();
    let late = input.wait(Some(Picoseconds::from_micros(3)), |_| Continue::Yes);
    assert!(matches!(
        stream_error(late),
        StreamError::Stuck { moved: 1.., .. }
    ));
    card.set_network_link(0, false).unwrap();
    let late = input.wait(Some(Picoseconds::from_micros(50)), |_| Continue::Yes);
    assert!(matches!(stream_error(late), StreamError::Stuck { .. }));
    card.set_network_link(0, true).unwrap();
    assert_eq!(wait(&output).unwrap().bytes, 200_000);
    wait(&input).unwrap();
    let bytes = large.bytes();
    assert!(bytes[..200_000] == bytes[250_000..450_000]);
    card.set_network_link(0, false).unwrap();
    input.read_peer(0, 10_000).unwrap();
    let down = stream_error(wait(&input));
    assert!(down.to_string().contains("link is down"), "{down}");
    card.set_network_link(0, true).unwrap();
    again(&input, &output);
    assert!(card.set_network_link(1, true).is_err());
}

/// Memory of another process, over the interface; the process ends in the middle.
#[test]
fn memory_that_is_served_is_reached_by_the_interface() {
    let data = noise(200_000, 4);
    let export = Export::memory(1 << 20).unwrap();
    let server = RemoteServer::listen(export, "127.0.0.1:0").unwrap();
    let address = server.address().to_string();
    let timeout = RemoteMemory::TIMEOUT;
    let mut memory = RemoteMemory::connect(&address, timeout).unwrap();
    memory.write(0, &data).unwrap();
    let card = card();
    let (space, slot) = load(&card);
    let flow = |ranges: [&str; 2]| {
        let mut flow = Flow::new(&space);
        for (port, range) in ["in", "out"].into_iter().zip(ranges) {
            let device = Device::parse(format!("net:{address}@{range}").as_ref()).unwrap();
            flow.plug(&slot, port, device)?;
        }
        flow.run(None, |_| Continue::Yes)
    };
    let flowed = flow(["0+200000", "500000"]).unwrap();
    assert!(flowed.iter().all(|one| one.bytes == 200_000), "{flowed:?}");
    let mut got = vec![0; data.len()];
    memory.read(500_000, &mut got).unwrap();
    assert!(got == data);
    // Another process ends: nobody answers.
    let other = RemoteServer::listen(Export::memory(1 << 20).unwrap(), "127.0.0.1:0").unwrap();
    let dying = RemoteMemory::connect(&other.address().to_string(), timeout).unwrap();
    let input = slot.open_stream("in").unwrap();
    input.plug_peer(dying).unwrap();
    drop(other);
    input.read_peer(0, 100_000).unwrap();
    let gone = stream_error(wait(&input));
    assert!(gone.to_string().contains("does not answer"), "{gone}");
    input.close().unwrap();
    let small = flow(["0+200000", "500000+100000"]).unwrap_err();
    assert!(
        matches!(small, Error::Device(DeviceError::Unfit { .. })),
        "{small}"
    );
    drop(memory);
    drop(server);
    let mut flow = Flow::new(&space);
    let device = Device::parse(format!("net:{address}").as_ref()).unwrap();
    let gone = flow.plug(&slot, "out", device).unwrap_err();
    assert!(
        matches!(gone, Error::Device(DeviceError::Remote(_))),
        "{gone}"
    );
}

/// A card without an interface reports this.
#[test]
fn a_card_without_an_interface_refuses() {
    let config = FunctionalConfig {
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    };
    let card = Card::functional(FunctionalCard::new(config)).unwrap();
    let (_space, slot) = load(&card);
    let input = slot.open_stream("in").unwrap();
    let none = stream_error(input.plug_peer(MemoryNode::new(vec![0])));
    assert!(matches!(
        none,
        StreamError::NoInterface { interfaces: 0, .. }
    ));
}
