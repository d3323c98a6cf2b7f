//! Streams on the data channels of a memory port (FSRF §4.8, streaming mode), on the simulated card: is every packet whole,
//! and does the kernel hear when the other end closes?

#[path = "common/stream_card.rs"]
mod stream_card;

use simcard::SimCard;
use std::fs;
use std::path::Path;
use tombolo::{
    AddressSpace, Card, Continue, Flow, MapOptions, Mapping, OwnerOptions, ShellConfig, SimOptions,
    Slot, SlotId, Stream,
};

/// Opens a card with a stream pair a slot, and `packet_sums` in it.
fn started(folder: &Path) -> (Card, AddressSpace, Slot, Mapping) {
    let mut options = SimOptions::named("f1").unwrap();
    options.shell = ShellConfig {
        slots: 1,
        streams_per_slot: 1,
        ..ShellConfig::default()
    };
    let card = SimCard::open(options, |_| {}).unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();
    let kernel = simcard::home().join("kernels/packet_sums");
    let slot = card.load(SlotId(0), &kernel, &space).unwrap();
    let counts = MapOptions::create(64);
    let counts = space.map_file(folder.join("counts"), counts).unwrap();
    slot.set_pointer("counts", counts.address()).unwrap();
    (card, space, slot, counts)
}

fn numbers(count: usize, seed: u32) -> Vec<u32> {
    let number = |i: u32| (i + seed).wrapping_mul(2_654_435_761) ^ seed;
    (0..count as u32).map(number).collect()
}

fn bytes(numbers: &[u32]) -> Vec<u8> {
    numbers.iter().flat_map(|n| n.to_le_bytes()).collect()
}

fn sum(numbers: &[u32]) -> u64 {
    numbers.iter().map(|n| u64::from(*n)).sum()
}

fn wait(stream: &Stream) -> u64 {
    let moved = stream.wait(None, |_| Continue::Yes).unwrap();
    assert!(moved.last);
    moved.bytes
}

fn words(folder: &Path, name: &str) -> Vec<u64> {
    let bytes = fs::read(folder.join(name)).unwrap();
    let word = |chunk: &[u8]| u64::from_le_bytes(chunk.try_into().unwrap());
    bytes.chunks_exact(8).map(word).collect()
}

#[test]
fn a_kernel_opens_its_streams_and_hears_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_card, space, slot, counts) = started(folder);
    // Packets of any length; one is longer than a page.
    let packets: Vec<Vec<u32>> = [1, 15, 16, 17, 1_500, 3]
        .into_iter()
        .zip(1..)
        .map(|(count, seed)| numbers(count, seed))
        .collect();
    let all: Vec<u8> = packets.iter().flat_map(|packet| bytes(packet)).collect();
    fs::write(folder.join("in"), &all).unwrap();
    let from = space.map_file(folder.join("in"), MapOptions::read_only());
    let to = space.map_file(folder.join("out"), MapOptions::create(48));
    let (from, to) = (from.unwrap(), to.unwrap());
    let (input, output) = (
        slot.open_stream("numbers").unwrap(),
        slot.open_stream("sums").unwrap(),
    );
    slot.start().unwrap();
    let mut at = 0;
    for (number, packet) in packets.iter().enumerate() {
        let size = 4 * packet.len() as u64;
        output
            .write(to.slice(8 * number as u64, 8).unwrap())
            .unwrap();
        input.read(from.slice(at, size).unwrap()).unwrap();
        assert_eq!((wait(&input), wait(&output)), (size, 8));
        at += size;
    }
    // Both are open at the kernel.
    let open = slot.read_register(card::kernel::STREAMS_OPEN).unwrap();
    assert_eq!(open, 3);
    // The end of the numbers ends the run.
    input.close().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    assert_eq!(slot.read_register(card::kernel::STREAMS_OPEN).unwrap(), 0);
    to.unmap().unwrap();
    counts.sync().unwrap();
    let wanted: Vec<u64> = packets.iter().map(|packet| sum(packet)).collect();
    assert_eq!(words(folder, "out"), wanted);
    assert_eq!(words(folder, "counts")[..2], [6, 0]);

    // Nobody takes sums: the kernel hears so, and goes on without.
    output.close().unwrap();
    let input = slot.open_stream("numbers").unwrap();
    slot.start().unwrap();
    for _ in 0..2 {
        input.read(from.slice(0, 64).unwrap()).unwrap();
        wait(&input);
    }
    drop(input);
    slot.wait(None, |_| Continue::Yes).unwrap();
    counts.unmap().unwrap();
    assert_eq!(words(folder, "counts")[..2], [2, 2]);
}

#[test]
fn what_flows_through_a_memory_port_ends_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let (_card, space, slot, counts) = started(folder);
    // Three bytes at the end are an integer with a zero.
    let mut data = bytes(&numbers(20_000, 9));
    data.extend([1, 2, 3]);
    fs::write(folder.join("in"), &data).unwrap();
    let from = space.map_file(folder.join("in"), MapOptions::read_only());
    let to = space.map_file(folder.join("out"), MapOptions::create(8));
    let (from, to) = (from.unwrap(), to.unwrap());
    let mut flow = Flow::new(&space);
    flow.plug_memory(&slot, "numbers", from.all()).unwrap();
    flow.plug_memory(&slot, "sums", to.all()).unwrap();
    slot.start().unwrap();
    flow.run(None, |_| Continue::Yes).unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    to.unmap().unwrap();
    counts.unmap().unwrap();
    assert_eq!(words(folder, "out"), [sum(&numbers(20_000, 9)) + 0x03_0201]);
    assert_eq!(words(folder, "counts")[..2], [1, 0]);
}

/// The other end is a port of another kernel: joined, the kernel's stream is open, and apart it is closed, each time
/// again.
#[test]
fn a_stream_on_a_memory_port_is_joined_with_another_kernel() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let card = SimCard::open(stream_card::simulated(), |_| {}).unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();
    let kernels = simcard::home().join("kernels");
    let load = |slot, kernel: &str| card.load(SlotId(slot), kernels.join(kernel), &space);
    let (sums, other) = (
        load(0, "packet_sums").unwrap(),
        load(1, "loopback").unwrap(),
    );
    let counts = MapOptions::create(64);
    let counts = space.map_file(folder.join("counts"), counts).unwrap();
    sums.set_pointer("counts", counts.address()).unwrap();
    fs::write(folder.join("in"), bytes(&numbers(3_001, 5))).unwrap();
    let from = space.map_file(folder.join("in"), MapOptions::read_only());
    let to = space.map_file(folder.join("out"), MapOptions::create(48));
    let (from, to) = (from.unwrap(), to.unwrap());
    // The port that is joined, and whether its connection is dropped or taken apart.
    let rounds = [
        (None, false),
        (Some("numbers"), false),
        (Some("sums"), true),
        (None, false),
        (Some("numbers"), true),
        (Some("sums"), false),
    ];
    for ((port, drops), round) in rounds.into_iter().zip(0..) {
        let (mut input, mut output) = ((&sums, "numbers"), (&sums, "sums"));
        let joined = port.map(|port| match port {
            "numbers" => {
                input = (&other, "in");
                card.connect(&other, "out", &sums, port).unwrap()
            }
            _ => {
                output = (&other, "out");
                card.connect(&sums, port, &other, "in").unwrap()
            }
        });
        let mut flow = Flow::new(&space);
        flow.plug_memory(input.0, input.1, from.all()).unwrap();
        let place = to.slice(8 * round, 8).unwrap();
        flow.plug_memory(output.0, output.1, place).unwrap();
        sums.start().unwrap();
        flow.run(None, |_| Continue::Yes).unwrap();
        match joined {
            Some(joined) if !drops => joined.disconnect().unwrap(),
            joined => drop(joined),
        }
        sums.wait(None, |_| Continue::Yes).unwrap();
        counts.sync().unwrap();
        assert_eq!(words(folder, "counts")[..2], [1, 0], "round {round}");
    }
    to.unmap().unwrap();
    assert_eq!(words(folder, "out"), [sum(&numbers(3_001, 5)); 6]);
}
