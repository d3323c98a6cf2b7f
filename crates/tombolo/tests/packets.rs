//! Is what a kernel has sent taken, or named, in the library, on the functional card and the simulated one? Do single words
//! of streams without TLAST go from kernel to kernel?

#[path = "common/stream_card.rs"]
mod stream_card;

use simcard::SimCard;
use std::fs;
use std::path::Path;
use tombolo::{
    AddressSpace, Card, Continue, Device, Error, Flow, FunctionalCard, FunctionalConfig,
    MapOptions, Mapping, OwnerOptions, Packets, Picoseconds, SlotId, StreamError,
};

fn simulated() -> Box<dyn card::Card> {
    Box::new(SimCard::open(stream_card::simulated(), |_| {}).unwrap())
}

fn functional() -> Box<dyn card::Card> {
    Box::new(FunctionalCard::new(FunctionalConfig {
        slots: 2,
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    }))
}

fn data(bytes: usize, seed: usize) -> Vec<u8> {
    (0..bytes).map(|i| (i * 7 + i / 251 + seed) as u8).collect()
}

fn source(space: &AddressSpace, folder: &Path, bytes: &[u8]) -> Mapping {
    let file = folder.join("source");
    fs::write(&file, bytes).unwrap();
    space.map_file(&file, MapOptions::read_only()).unwrap()
}

fn sink(space: &AddressSpace, folder: &Path, bytes: u64) -> Mapping {
    let file = folder.join("sink");
    space.map_file(&file, MapOptions::create(bytes)).unwrap()
}

const LIMIT: Option<Picoseconds> = Some(Picoseconds::from_micros(5_000));

/// Three packets go through loopback: what a connection takes of them, and what is said of the others.
#[test]
fn a_connection_takes_as_many_packets_as_it_says() {
    let sizes = [100usize, 64, 7];
    let all: Vec<u8> = data(sizes.iter().sum(), 3);
    for card in [functional(), simulated()] {
        let card = Card::new(card, OwnerOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let space = card.create_space().unwrap();
        let from = source(&space, folder.path(), &all);
        let three = Packets::Count(3.try_into().unwrap());
        for (wanted, room, taken) in [
            (Packets::One, 4096, None),
            (Packets::Any, 4096, Some((100, 1))),
            (Packets::Any, 30, Some((30, 0))),
            (Packets::All, 4096, Some((171, 3))),
            (Packets::All, 171, Some((171, 3))),
            (Packets::All, 170, None),
            (three, 4096, Some((171, 3))),
            (three, 150, None),
        ] {
            let kernel = simcard::home().join("kernels/loopback");
            let slot = card.load(SlotId(0), &kernel, &space).unwrap();
            let to = sink(&space, folder.path(), room);
            let input = slot.open_stream("in").unwrap();
            let mut at = 0;
            for size in sizes {
                input.read(from.slice(at, size as u64).unwrap()).unwrap();
                at += size as u64;
            }
            let mut flow = Flow::new(&space);
            flow.plug_packets(&slot, "out", to.all(), wanted).unwrap();
            let ended = flow.run(LIMIT, |_| Continue::Yes);
            let case = format!("{wanted:?}, room for {room}: {ended:?}");
            let closed = slot.close();
            to.unmap().unwrap();
            let got = fs::read(folder.path().join("sink")).unwrap();
            match taken {
                Some((bytes, packets)) => {
                    let flowed = &ended.unwrap()[0];
                    assert_eq!((flowed.bytes, flowed.packets), (bytes, packets), "{case}");
                    assert!(got[..bytes as usize] == all[..bytes as usize], "{case}");
                    closed.unwrap();
                }
                None => {
                    let error = ended.unwrap_err();
                    assert!(error.to_string().contains("port out"), "{error}");
                    assert!(
                        matches!(
                            error,
                            Error::Stream(StreamError::Untaken { .. } | StreamError::TooFew { .. })
                        ),
                        "{case}"
                    );
                }
            }
        }
    }
}

/// A packet that arrives after the flow has ended is lost with the slot, which reports it once.
#[test]
fn what_comes_behind_a_flow_is_told_when_the_slot_closes() {
    for card in [functional(), simulated()] {
        let card = Card::new(card, OwnerOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let space = card.create_space().unwrap();
        let from = source(&space, folder.path(), &data(100, 1));
        let to = sink(&space, folder.path(), 4096);
        let kernel = simcard::home().join("kernels/loopback");
        let slot = card.load(SlotId(0), &kernel, &space).unwrap();
        let input = slot.open_stream("in").unwrap();
        input.read(from.slice(0, 60).unwrap()).unwrap();
        let mut flow = Flow::new(&space);
        flow.plug_memory(&slot, "out", to.all()).unwrap();
        flow.run(LIMIT, |_| Continue::Yes).unwrap();
        input.sync(LIMIT).unwrap();
        input.read(from.slice(60, 40).unwrap()).unwrap();
        input.sync(LIMIT).unwrap();
        let error = slot.close().unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Stream(StreamError::Untaken {
                    packets: 1,
                    bytes: 60,
                    ..
                })
            ),
            "{error}"
        );
        // The slot is empty nevertheless, and another kernel owes nothing.
        let slot = card.load(SlotId(0), &kernel, &space).unwrap();
        slot.close().unwrap();
    }
}

/// A program starts each transfer itself, and closes the port while it holds a packet of the kernel: the error names
/// the port and the remaining bytes, the next transfer gets the packet, and an unclaimed packet is an error of the
/// slot.
#[test]
fn a_stream_that_is_closed_too_early_is_an_error() {
    for card in [functional(), simulated()] {
        let card = Card::new(card, OwnerOptions::default()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let space = card.create_space().unwrap();
        let all = data(165, 2);
        let from = source(&space, folder.path(), &all);
        let to = sink(&space, folder.path(), 4096);
        let kernel = simcard::home().join("kernels/loopback");
        let slot = card.load(SlotId(0), &kernel, &space).unwrap();
        let (input, output) = (
            slot.open_stream("in").unwrap(),
            slot.open_stream("out").unwrap(),
        );
        for (at, bytes) in [(0, 100), (100, 60)] {
            input.read(from.slice(at, bytes).unwrap()).unwrap();
        }
        output.write(to.slice(0, 200).unwrap()).unwrap();
        assert_eq!(output.wait(LIMIT, |_| Continue::Yes).unwrap().bytes, 100);
        input.sync(LIMIT).unwrap();
        let error = output.close().unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Stream(StreamError::Unread {
                    packets: 1,
                    bytes: 100,
                    ..
                })
            ),
            "{error}"
        );
        assert!(error.to_string().contains("port out"), "{error}");
        // It is closed, and nothing is lost.
        let output = slot.open_stream("out").unwrap();
        output.write(to.slice(100, 200).unwrap()).unwrap();
        assert_eq!(output.wait(LIMIT, |_| Continue::Yes).unwrap().bytes, 60);
        output.close().unwrap();
        // What comes later is lost with the slot.
        input.read(from.slice(160, 5).unwrap()).unwrap();
        input.sync(LIMIT).unwrap();
        let error = slot.close().unwrap_err();
        assert!(
            matches!(
                &error,
                Error::Stream(StreamError::Untaken { bytes: 60, .. })
            ),
            "{error}"
        );
        // One that is dropped asks for nothing more.
        let slot = card.load(SlotId(0), &kernel, &space).unwrap();
        let (input, output) = (
            slot.open_stream("in").unwrap(),
            slot.open_stream("out").unwrap(),
        );
        input.read(from.slice(0, 7).unwrap()).unwrap();
        input.sync(LIMIT).unwrap();
        drop(output);
        slot.close().unwrap();
        to.unmap().unwrap();
        let got = fs::read(folder.path().join("sink")).unwrap();
        assert!(got[..160] == all[..160]);
    }
}

/// Words of 32 bits without TLAST: one by one from kernel to kernel, and as whole rows into a kernel without TKEEP.
#[test]
fn words_without_tlast_go_from_kernel_to_kernel() {
    let kernels = simcard::home().join("tests/cases/kernels");
    let word = |n: u32| n.to_le_bytes();
    let card = Card::new(simulated(), OwnerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let space = card.create_space().unwrap();
    let words: Vec<u8> = (0..17u32).flat_map(word).collect();
    let from = source(&space, folder.path(), &words);
    for (first, second, wanted) in [
        (
            "words",
            "adder",
            (2..5u32).flat_map(word).collect::<Vec<u8>>(),
        ),
        ("adder", "adder", (2..19).flat_map(word).collect()),
        ("adder", "wide", (1..17).flat_map(word).collect()),
    ] {
        let sends = card.load(SlotId(0), kernels.join(first), &space).unwrap();
        let takes = card.load(SlotId(1), kernels.join(second), &space).unwrap();
        let joint = card.connect(&sends, "out", &takes, "in").unwrap();
        let to = sink(&space, folder.path(), 4096);
        if first == "adder" {
            // Word by word, with a pause behind each: no row is full when it leaves.
            let input = sends.open_stream("in").unwrap();
            let output = takes.open_stream("out").unwrap();
            output.write(to.all()).unwrap();
            for word in 0..17 {
                input.read(from.slice(4 * word, 4).unwrap()).unwrap();
                input.sync(LIMIT).unwrap();
            }
            assert!(output.wait(LIMIT, |_| Continue::Yes).is_err());
            output.stop().unwrap();
            let moved = output.wait(LIMIT, |_| Continue::Yes).unwrap();
            assert_eq!(moved.bytes, wanted.len() as u64, "{first} to {second}");
            output.close().unwrap();
        } else {
            let mut flow = Flow::new(&space);
            flow.plug_memory(&takes, "out", to.all()).unwrap();
            let flowed = flow.run(LIMIT, |_| Continue::Yes).unwrap();
            assert_eq!(flowed[0].bytes, wanted.len() as u64, "{first} to {second}");
        }
        to.unmap().unwrap();
        let got = fs::read(folder.path().join("sink")).unwrap();
        assert!(
            got[..wanted.len()] == wanted,
            "{first} to {second}: {:?}",
            &got[..80]
        );
        drop(joint);
        takes.close().unwrap();
        sends.close().unwrap();
    }
}

/// A device takes them all, too, and its name gives the number.
#[test]
fn a_device_takes_packets_until_nothing_moves() {
    let card = Card::new(functional(), OwnerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let space = card.create_space().unwrap();
    let all = data(1000, 9);
    let from = source(&space, folder.path(), &all);
    let kernel = simcard::home().join("kernels/loopback");
    for (packets, wanted) in [("all", 1000), ("2", 200), ("any", 100), ("10", 1000)] {
        let slot = card.load(SlotId(0), &kernel, &space).unwrap();
        let path = folder.path().join(format!("pipe-{packets}"));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let name = format!("pipe:{}:packets={packets}", path.display());
        let read = std::thread::spawn(move || fs::read(path).unwrap());
        let input = slot.open_stream("in").unwrap();
        for at in 0..10 {
            input.read(from.slice(100 * at, 100).unwrap()).unwrap();
        }
        let mut flow = Flow::new(&space);
        flow.plug(&slot, "out", Device::parse(name.as_ref()).unwrap())
            .unwrap();
        flow.run(LIMIT, |_| Continue::Yes).unwrap();
        assert!(read.join().unwrap() == all[..wanted], "{packets}");
        // What was not wanted goes away with the kernel.
        slot.close().unwrap();
    }
}
