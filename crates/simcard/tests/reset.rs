//! The shell's own reset (register RESET) and the surroundings of the shell: network interfaces and the link to a CPU.
//! A program may end at any moment; the next one must find no trace of it, and everything must work for it.

mod sim;

use card::coherent::{
    home_register, host_lines_register, AccessKind, LineAccess, LineBytes, LineHome,
};
use card::event::Event;
use card::network::MemoryNode;
use card::registers::{self as reg, reset};
use card::stream::{StreamDirection, StreamId, StreamSource, Transfer};
use card::{
    home_registers, host_lines_registers, Card, CoherentLines, Loader, Network, SlotId, Streams,
};
use sim::{kernel, open, SLOT, SPACE};
use simcard::{ShellConfig, SimCard, SimOptions};
use units::{Picoseconds, VirtAddr};

const BYTES: usize = 50_000;
const LINE: u64 = 128;

/// xorshift64*: the same sequence in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % end
    }
}

/// Lets time pass; returns the events meanwhile.
fn pass(card: &mut SimCard, time: Picoseconds) -> Vec<Event> {
    let end = card.now() + time;
    let mut all = Vec::new();
    while card.now() < end {
        all.extend(card.wait(Some(end)).unwrap());
    }
    all
}

// ---------------------------------------------------------------------------------------------------------------
// Networks
// ---------------------------------------------------------------------------------------------------------------

const INTO: StreamId = StreamId {
    pair: 0,
    direction: StreamDirection::In,
};
const OUT: StreamId = StreamId {
    pair: 0,
    direction: StreamDirection::Out,
};

/// A card whose kernel sends back what it receives, between two interfaces of its own.
fn networked() -> SimCard {
    let mut options = SimOptions::named("u280").unwrap();
    options.asserting = true;
    options.shell = ShellConfig {
        streams_per_slot: 1,
        network_pairs: 1,
        ..ShellConfig::default()
    };
    let mut card = open(options);
    card.load(SLOT, &kernel("loopback")).unwrap();
    card
}

/// Begins both transfers from one peer's memory through the kernel into another's.
fn begin(card: &mut SimCard, from: &MemoryNode, to: &MemoryNode) {
    let network = card.description().network_slot();
    let port = |slot| StreamSource::Port { slot, pair: 0 };
    card.control_slot(SLOT, SPACE, true).unwrap();
    card.connect_stream(SLOT, 0, port(network)).unwrap();
    card.connect_stream(network, 0, port(SLOT)).unwrap();
    for (direction, peer) in [(StreamDirection::Out, from), (StreamDirection::In, to)] {
        card.connect_peer(0, direction, Box::new(peer.clone()))
            .unwrap();
    }
    start(card, network, INTO);
    start(card, network, OUT);
}

fn start(card: &mut SimCard, network: SlotId, stream: StreamId) {
    let transfer = Transfer {
        address: VirtAddr::new(0).unwrap(),
        bytes: BYTES as u64,
        last: true,
    };
    card.start_transfer(network, stream, transfer).unwrap();
}

/// Waits until both have ended.
fn finish(card: &mut SimCard) {
    let deadline = card.now() + Picoseconds::from_millis(1);
    let mut ended = 0;
    while ended < 2 {
        let events = card.wait(Some(deadline)).unwrap();
        assert!(!events.is_empty(), "{ended} of 2 transfers have ended");
        for event in events {
            match event {
                Event::TransferDone { end, .. } if end.bytes == BYTES as u64 => ended += 1,
                other => panic!("{other:?}"),
            }
        }
    }
}

fn noise(seed: u64) -> Vec<u8> {
    let mut random = Random(seed + 1);
    (0..BYTES).map(|_| random.below(256) as u8).collect()
}

#[test]
fn the_next_program_hears_nothing_of_a_transfer_of_the_network() {
    let mut card = networked();
    let mut random = Random(7);
    let mut in_the_middle = 0;
    for attempt in 0..12 {
        let (from, to) = (
            MemoryNode::new(noise(attempt)),
            MemoryNode::new(vec![0; BYTES]),
        );
        begin(&mut card, &from, &to);
        pass(&mut card, Picoseconds::from_nanos(random.below(9_000)));
        card = card.restart().unwrap();
        let then = to.bytes();
        in_the_middle += u32::from(then != from.bytes() && then[0] == from.bytes()[0]);
        let events = pass(&mut card, Picoseconds::from_micros(40));
        assert_eq!(events, [], "attempt {attempt}");
        assert!(
            to.bytes() == then,
            "attempt {attempt}: written after the reset"
        );
        // No peer is connected any more.
        let network = card.description().network_slot();
        start(&mut card, network, INTO);
        let events = pass(&mut card, Picoseconds::from_micros(2));
        let none = matches!(events[..], [Event::TransferDone { end, .. }] if end.bytes == 0);
        assert!(none, "attempt {attempt}: {events:?}");
        let (from, to) = (
            MemoryNode::new(noise(!attempt)),
            MemoryNode::new(vec![0; BYTES]),
        );
        begin(&mut card, &from, &to);
        finish(&mut card);
        assert!(to.bytes() == from.bytes(), "attempt {attempt}");
        card = card.restart().unwrap();
    }
    assert!(in_the_middle > 2, "{in_the_middle} of 12 in the middle");
}

/// An end for which the host has no room: it waits in the shell, and in front of it.
#[test]
fn the_next_program_hears_nothing_of_a_transfer_that_had_ended() {
    let mut card = networked();
    card.write_register(reg::CONTROL, 0).unwrap();
    let (from, to) = (MemoryNode::new(noise(1)), MemoryNode::new(vec![0; BYTES]));
    begin(&mut card, &from, &to);
    pass(&mut card, Picoseconds::from_micros(100));
    assert!(to.bytes() == from.bytes());
    card = card.restart().unwrap();
    assert_eq!(pass(&mut card, Picoseconds::from_micros(40)), []);
}

/// The reset waits until sent packets are acknowledged; a peer that does not answer is given up.
#[test]
fn a_reset_waits_for_packets_that_are_not_acknowledged() {
    const PACKETS: u32 = 1 << 4;
    let mut card = networked();
    let (from, to) = (MemoryNode::new(noise(1)), MemoryNode::new(vec![0; BYTES]));
    begin(&mut card, &from, &to);
    // Packets have been sent, and none is acknowledged.
    while to.bytes()[0] != from.bytes()[0] {
        pass(&mut card, Picoseconds::from_nanos(100));
    }
    card.set_network_link(0, false).unwrap();
    card.write_register(reg::RESET, reset::START.put(1))
        .unwrap();
    pass(&mut card, Picoseconds::from_micros(20));
    let busy = card.read_register(reg::RESET).unwrap();
    assert_eq!(reset::BUSY.get(busy), 1);
    assert_eq!(reset::WAITS_FOR.get(busy), PACKETS);
    let then = to.bytes();
    card.set_network_link(0, true).unwrap();
    pass(&mut card, Picoseconds::from_micros(20));
    let done = card.read_register(reg::RESET).unwrap();
    assert_eq!((reset::BUSY.get(done), reset::DONE.get(done)), (0, 1));
    assert!(to.bytes() == then, "nothing new was sent");
}

/// A peer that never answers is given up, and does not block the card.
#[test]
fn a_peer_that_never_answers_is_given_up() {
    let mut card = networked();
    let (from, to) = (MemoryNode::new(noise(1)), MemoryNode::new(vec![0; BYTES]));
    begin(&mut card, &from, &to);
    while to.bytes()[0] != from.bytes()[0] {
        pass(&mut card, Picoseconds::from_nanos(100));
    }
    card.set_network_link(0, false).unwrap();
    card = card.restart().unwrap();
    let then = to.bytes();
    card.set_network_link(0, true).unwrap();
    assert_eq!(pass(&mut card, Picoseconds::from_micros(40)), []);
    assert!(to.bytes() == then, "sent again after the reset");
    begin(&mut card, &from, &to);
    finish(&mut card);
    assert!(to.bytes() == from.bytes());
}

// ---------------------------------------------------------------------------------------------------------------
// The CPU
// ---------------------------------------------------------------------------------------------------------------

const LINES: u64 = 64;

/// A card whose memory serves lines to the CPU, with a kernel that uses lines of the CPU.
fn coherent() -> SimCard {
    let mut options = SimOptions::named("enzian").unwrap();
    options.asserting = true;
    options.shell = ShellConfig::coherent_host();
    options.channel_bytes = Some(64 << 20);
    open(options)
}

fn serve_lines(card: &mut SimCard) {
    for (register, value) in [
        (home_registers::MEMORY_BASE, 0),
        (home_registers::MEMORY_SIZE, 1 << 10),
        (home_registers::ROUTE, home_registers::route::MEMORY.put(1)),
    ] {
        card.write_register(home_register(register), value).unwrap();
    }
    // Ordered behind the writes.
    let status = card.read_register(home_register(home_registers::STATUS));
    assert_eq!(home_registers::status::OPEN.get(status.unwrap()), 1);
}

fn access(
    card: &mut SimCard,
    home: LineHome,
    line: u64,
    kind: AccessKind,
) -> card::coherent::AccessId {
    let access = LineAccess {
        core: 0,
        home,
        address: line * LINE,
        kind,
    };
    card.access(access).unwrap()
}

fn store(byte: u8) -> AccessKind {
    AccessKind::Store(vec![byte; 8])
}

/// The first byte of a line, as a core loads it.
fn load(card: &mut SimCard, home: LineHome, line: u64) -> u8 {
    loaded(card, home, line)[0]
}

/// The first byte of its third word.
fn load_word(card: &mut SimCard, home: LineHome, line: u64) -> u8 {
    loaded(card, home, line)[16]
}

fn loaded(card: &mut SimCard, home: LineHome, line: u64) -> Box<LineBytes> {
    let wanted = access(card, home, line, AccessKind::Load);
    let deadline = card.now() + Picoseconds::from_millis(1);
    let mut events = card.wait(Some(deadline)).unwrap();
    assert_eq!(events.len(), 1, "the load of line {line}: {events:?}");
    match events.remove(0) {
        Event::AccessDone { id, line: end } if id == wanted => end.unwrap(),
        other => panic!("{other:?}"),
    }
}

/// Lines of the card that the CPU held, including dirty ones, are gone: the directory has no entry of them.
#[test]
fn the_cpu_has_no_line_of_the_last_program() {
    let mut card = coherent();
    let mut random = Random(3);
    let mut failed = 0;
    for attempt in 1..=6 {
        serve_lines(&mut card);
        let byte = attempt as u8;
        let mut expected = 0;
        for line in 0..LINES {
            let kind = match line % 3 {
                0 => AccessKind::Load,
                _ => store(byte),
            };
            access(&mut card, LineHome::Card, line, kind);
            expected += 1;
        }
        let mut events = pass(&mut card, Picoseconds::from_nanos(random.below(2_500)));
        card.write_register(reg::RESET, reset::START.put(1))
            .unwrap();
        events.extend(pass(&mut card, Picoseconds::from_micros(5)));
        // Every access of the old program has ended, possibly with an error.
        let ends = |event: &Event| matches!(event, Event::AccessDone { .. });
        assert_eq!(events.iter().filter(|event| ends(event)).count(), expected);
        failed += events
            .iter()
            .filter(|event| matches!(event, Event::AccessDone { line: None, .. }))
            .count();
        card = card.restart().unwrap();
        serve_lines(&mut card);
        // The content of memory, without a write-back of any cache: not the last store of a core.
        for line in 0..LINES {
            assert_eq!(
                load(&mut card, LineHome::Card, line),
                0,
                "attempt {attempt}, line {line}"
            );
        }
        for line in 0..LINES {
            access(&mut card, LineHome::Card, line, store(byte));
        }
        let events = pass(&mut card, Picoseconds::from_micros(20));
        assert_eq!(events.len() as u64, LINES, "{events:?}");
        for line in 0..LINES {
            assert_eq!(load(&mut card, LineHome::Card, line), byte);
        }
        card = card.restart().unwrap();
    }
    assert!(failed > LINES as usize, "{failed} accesses were under way");
}

/// Lines of the CPU that the card held belong to the CPU again, and the card's cache is empty.
#[test]
fn the_card_has_no_line_of_the_cpu_of_the_last_program() {
    const ROWS: u64 = 100;
    // Operation code of `kernels/host_counter`.
    const STORE: u64 = 2;
    const FRAMES: u64 = 16;
    let mut card = coherent();
    card.load(SLOT, &kernel("host_counter")).unwrap();
    let mut random = Random(5);
    let begin = |card: &mut SimCard| {
        use host_lines_registers as lines;
        card.control_slot(SLOT, SPACE, true).unwrap();
        let route = lines::route::VALID.put(1) | lines::route::SLOT.put(SLOT.0.into());
        for (register, value) in [(lines::RANGE, FRAMES as u32), (lines::ROUTE, route)] {
            let register = host_lines_register(register);
            card.write_register(register, value).unwrap();
        }
        let base = reg::SLOT_CONTROL.at(SLOT.0.into());
        let result = FRAMES * 4096 - LINE;
        for (offset, value) in [
            (0x10, 0),
            (0x18, ROWS | ROWS << 32),
            (0x20, 8 | STORE << 32),
            (0x28, result),
        ] {
            card.write_register(base + offset, value as u32).unwrap();
            let high = (value >> 32) as u32;
            card.write_register(base + offset + 4, high).unwrap();
        }
        for (offset, value) in [(4, 1), (8, 1), (0, 1)] {
            card.write_register(base + offset, value).unwrap();
        }
    };
    for attempt in 0..5 {
        begin(&mut card);
        pass(&mut card, Picoseconds::from_nanos(random.below(8_000)));
        // The CPU requests the card's lines: these accesses are under way, too.
        for line in 0..8 {
            access(&mut card, LineHome::Cpu, line, store(0));
        }
        card = card.restart().unwrap();
        pass(&mut card, Picoseconds::from_micros(20));
        for line in 0..ROWS {
            load(&mut card, LineHome::Cpu, line);
        }
        begin(&mut card);
        let events = pass(&mut card, Picoseconds::from_micros(200));
        assert_eq!(events, [Event::Interrupt(SLOT)], "attempt {attempt}");
        for line in 0..ROWS {
            let wanted = (ROWS - line) as u8;
            assert_eq!(load_word(&mut card, LineHome::Cpu, line), wanted, "{line}");
        }
        card = card.restart().unwrap();
    }
}
