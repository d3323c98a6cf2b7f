//! Do streams carry every byte of every packet, to where it belongs, and say clearly what is wrong? Every
//! test runs on the functional card and on the simulated one.

#[path = "common/liar.rs"]
mod liar;
#[allow(dead_code, reason = "its main is for people")]
#[path = "../examples/loopback_direct.rs"]
mod loopback_direct;
#[path = "common/odd_kernel.rs"]
mod odd_kernel;
#[allow(dead_code, reason = "its main is for people")]
#[path = "../examples/pipeline.rs"]
mod pipeline;
#[path = "common/stream_card.rs"]
mod stream_card;

use liar::{liar, GOOD, WRONG_KEY};
use odd_kernel::odd_kernel;
use simcard::SimCard;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tombolo::{
    AddressSpace, Card, Continue, Device, DeviceError, Error, ErrorCode, Export, Flow,
    FunctionalCard, FunctionalConfig, MapOptions, Mapping, Moved, OwnerOptions, PageSize,
    Picoseconds, RemoteError, RemoteMemory, RemoteServer, SimOptions, Slot, SlotId, Stream,
    StreamError,
};

const CARD_MEMORY: u64 = 4 << 20;

fn kernel(name: &str) -> PathBuf {
    simcard::home().join("kernels").join(name)
}

fn simulated() -> SimOptions {
    let mut options = stream_card::simulated();
    options.channel_bytes = Some(CARD_MEMORY / 2);
    options
}

/// Runs a test on every kind of card: two slots, and less memory than the tests have data.
fn on_each_card(test: impl Fn(Card, &Path)) {
    let functional = FunctionalCard::new(FunctionalConfig {
        slots: 2,
        streams_per_slot: 1,
        queues: 3,
        channel_bytes: CARD_MEMORY / 2,
        seed: Some(1),
        ..FunctionalConfig::default()
    });
    let simulated = SimCard::open(simulated(), |_| {}).unwrap();
    let cards: [Box<dyn card::Card>; 2] = [Box::new(functional), Box::new(simulated)];
    for card in cards {
        let owner = OwnerOptions {
            page_size: PageSize::from_bytes(64 << 10),
            read_ahead_bytes: 256 << 10,
            clean_ahead_bytes: 256 << 10,
            ..OwnerOptions::default()
        };
        let folder = tempfile::tempdir().unwrap();
        test(Card::new(card, owner).unwrap(), folder.path());
    }
}

/// A slot with the loopback kernel, its streams, and two mapped files of this many bytes.
struct Loop {
    input: Stream,
    output: Stream,
    slot: Slot,
    from: Mapping,
    to: Mapping,
    data: Vec<u8>,
    result: PathBuf,
    space: AddressSpace,
}

impl Loop {
    fn new(card: &Card, folder: &Path, slot: u8, bytes: usize) -> Self {
        let data: Vec<u8> = (0..bytes as u64)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8 ^ slot)
            .collect();
        let source = folder.join(format!("in{slot}"));
        let result = folder.join(format!("out{slot}"));
        fs::write(&source, &data).unwrap();
        let space = card.create_space().unwrap();
        let from = space.map_file(&source, MapOptions::read_only()).unwrap();
        let options = MapOptions::create(bytes as u64);
        let to = space.map_file(&result, options).unwrap();
        let slot = card.load(SlotId(slot), kernel("loopback"), &space).unwrap();
        Self {
            input: slot.open_stream("in").unwrap(),
            output: slot.open_stream("out").unwrap(),
            slot,
            from,
            to,
            data,
            result,
            space,
        }
    }

    fn begin(&self, from: usize, to: usize, bytes: usize) {
        let target = self.to.slice(to as u64, bytes as u64).unwrap();
        self.output.write(target).unwrap();
        let source = self.from.slice(from as u64, bytes as u64).unwrap();
        self.input.read(source).unwrap();
    }
}

fn wait(stream: &Stream) -> Moved {
    stream.wait(None, |_| Continue::Yes).unwrap()
}

fn stream_error(result: Result<impl std::fmt::Debug, Error>) -> StreamError {
    match result {
        Err(Error::Stream(error)) => error,
        other => panic!("{other:?}"),
    }
}

/// Lengths from 1 byte on, at any alignment, in two slots at once; twice as much as the card holds.
#[test]
fn packets_of_any_length_arrive_whole() {
    on_each_card(|card, folder| {
        let bytes = CARD_MEMORY as usize + 12_345;
        let mut loops = [0, 1].map(|slot| Loop::new(&card, folder, slot, bytes));
        let lengths = [1, 2, 63, 64, 65, 127, 4095, 4096, 4097, 65_521, 300_007];
        let mut wanted = loops.each_ref().map(|each| vec![0; each.data.len()]);
        let mut at = [(7usize, 3usize), (64, 61)];
        for (round, length) in lengths
            .into_iter()
            .chain([CARD_MEMORY as usize / 3])
            .enumerate()
        {
            for (each, wanted, (from, to)) in together(&mut loops, &mut wanted, &mut at) {
                each.begin(*from, *to, length);
                wanted[*to..*to + length].copy_from_slice(&each.data[*from..*from + length]);
                *from += length + round;
                *to += length + 1;
            }
            for each in &mut loops {
                let whole = Moved {
                    bytes: length as u64,
                    last: true,
                };
                assert_eq!(wait(&each.output), whole);
                assert_eq!(wait(&each.input), whole);
            }
        }
        for (each, wanted) in loops.into_iter().zip(wanted) {
            each.to.unmap().unwrap();
            assert!(fs::read(&each.result).unwrap() == wanted);
        }
    });
}

fn together<'a, A, B, C>(
    a: &'a mut [A],
    b: &'a mut [B],
    c: &'a mut [C],
) -> impl Iterator<Item = (&'a mut A, &'a mut B, &'a mut C)> {
    let pairs = a.iter_mut().zip(b.iter_mut());
    pairs.zip(c.iter_mut()).map(|((a, b), c)| (a, b, c))
}

/// A transfer out of the kernel ends with its packet or when it is full, and no byte between two is lost.
#[test]
fn a_packet_larger_than_its_range_fills_several() {
    on_each_card(|card, folder| {
        let each = Loop::new(&card, folder, 0, 20_000);
        each.input.read(each.from.slice(5, 1000).unwrap()).unwrap();
        for (to, bytes) in [(11, 1), (100, 64), (201, 100), (5000, 835), (9000, 500)] {
            each.output
                .write(each.to.slice(to, bytes).unwrap())
                .unwrap();
        }
        each.input
            .read(each.from.slice(2000, 300).unwrap())
            .unwrap();
        let moved = each.output.sync(None).unwrap();
        let counts: Vec<u64> = moved.iter().map(|moved| moved.bytes).collect();
        assert_eq!(counts, [1, 64, 100, 835, 300]);
        let ends: Vec<bool> = moved.iter().map(|moved| moved.last).collect();
        assert_eq!(ends, [false, false, false, true, true]);
        assert_eq!(each.input.sync(None).unwrap().len(), 2);
        each.to.unmap().unwrap();
        let result = fs::read(&each.result).unwrap();
        let data = &each.data;
        let parts = [
            (11, 5, 1),
            (100, 6, 64),
            (201, 70, 100),
            (5000, 170, 835),
            (9000, 2000, 300),
        ];
        let mut wanted = vec![0; result.len()];
        for (to, from, bytes) in parts {
            wanted[to..to + bytes].copy_from_slice(&data[from..from + bytes]);
        }
        assert!(result == wanted);
    });
}

#[test]
fn mistakes_are_told() {
    on_each_card(|card, folder| {
        let mut each = Loop::new(&card, folder, 0, 10_000);
        let no_port = stream_error(each.slot.open_stream("data")).to_string();
        assert!(
            no_port.contains("port data") && no_port.contains("`in`"),
            "{no_port}"
        );
        let taken = stream_error(each.slot.open_stream("in"));
        assert!(matches!(taken, StreamError::Taken { .. }), "{taken}");
        let wrong = stream_error(each.input.write(each.to.all()));
        assert!(
            matches!(wrong, StreamError::WrongDirection { .. }),
            "{wrong}"
        );
        for (offset, bytes) in [(0, 10_001), (9_999, 2), (0, 0), (10_000, 1), (u64::MAX, 2)] {
            let beyond = stream_error(each.from.slice(offset, bytes));
            assert!(
                matches!(beyond, StreamError::OutOfMapping { .. }),
                "{beyond}"
            );
        }
        let other = card.create_space().unwrap();
        let foreign = other.map_file(folder.join("in0"), MapOptions::read_only());
        let foreign = foreign.unwrap();
        let elsewhere = stream_error(each.input.read(foreign.all()));
        assert!(
            matches!(elsewhere, StreamError::OtherSpace { .. }),
            "{elsewhere}"
        );
        let nothing = stream_error(each.input.wait(None, |_| Continue::Yes));
        assert!(
            matches!(nothing, StreamError::NothingUnderWay { .. }),
            "{nothing}"
        );

        // After all of this, the port works; closed, it can be opened again.
        each.begin(1, 2, 3);
        assert_eq!(wait(&each.output).bytes, 3);
        wait(&each.input);
        each.input.close().unwrap();
        let closed = stream_error(each.input.read(each.from.all()));
        assert!(matches!(closed, StreamError::NotOpen { .. }), "{closed}");
        each.input = each.slot.open_stream("in").unwrap();
        each.begin(4, 5, 6);
        assert_eq!(wait(&each.output).bytes, 6);

        // Another kernel in the slot: its ports are not the ones that were opened.
        let again = card
            .load(SlotId(0), kernel("loopback"), &each.space)
            .unwrap();
        let stale = stream_error(each.output.write(each.to.all()));
        assert!(matches!(stale, StreamError::NotOpen { .. }), "{stale}");
        again.open_stream("out").unwrap();
    });
}

/// The kernel's output is not taken, so it stalls its input: the wait reports this, the other slot is not affected, and
/// the transfer completes once the output is taken.
#[test]
fn a_stuck_port_is_named_and_harms_nobody() {
    on_each_card(|card, folder| {
        let stuck = Loop::new(&card, folder, 0, 500_000);
        let other = Loop::new(&card, folder, 1, 500_000);
        stuck
            .input
            .read(stuck.from.slice(1, 400_000).unwrap())
            .unwrap();
        let deadline = Some(Picoseconds::from_micros(300));
        let told = stream_error(stuck.input.wait(deadline, |_| Continue::Yes)).to_string();
        assert!(told.contains("port in"), "{told}");
        assert!(
            told.contains("of 400000 bytes") && told.contains("does not take"),
            "{told}"
        );
        let early = stream_error(stuck.input.close());
        assert!(matches!(early, StreamError::UnderWay { .. }), "{early}");

        other.begin(3, 4, 490_000);
        assert_eq!(wait(&other.output).bytes, 490_000);
        stuck.output.write(stuck.to.all()).unwrap();
        let whole = Moved {
            bytes: 400_000,
            last: true,
        };
        assert_eq!(wait(&stuck.output), whole);
        assert_eq!(wait(&stuck.input), whole);

        // And the other way round: nothing goes in, so nothing comes out.
        stuck.output.write(stuck.to.all()).unwrap();
        let told = stream_error(stuck.output.wait(None, |_| Continue::Yes)).to_string();
        assert!(
            told.contains("port out") && told.contains("sends nothing"),
            "{told}"
        );
    });
}

/// A width that the manifest does not declare, or that no stream has. The slot is free afterwards.
#[test]
fn widths_that_cannot_be_are_told() {
    on_each_card(|card, folder| {
        let space = card.create_space().unwrap();
        let rules = [
            (None, "has `data_width`"),
            (Some(12), "12 bits: a stream's"),
        ];
        for (width, rule) in rules {
            odd_kernel(folder, width);
            let error = card.load(SlotId(0), folder, &space).unwrap_err();
            assert_eq!(error.code(), ErrorCode::Kernel, "{error}");
            assert!(error.to_string().contains(rule), "{error}");
        }
        card.load(SlotId(0), kernel("loopback"), &space).unwrap();
    });
}

/// A kernel is not done because the rest of its output is not taken: its wait names the port.
#[test]
fn a_kernel_whose_output_nobody_takes_is_told_by_its_port() {
    on_each_card(|card, _| {
        let space = card.create_space().unwrap();
        let folder = kernel("rng_stream");
        let slot = card.load(SlotId(0), &folder, &space).unwrap();
        slot.set_bytes("state", &[7; 32]).unwrap();
        slot.set("bytes", 100_000).unwrap();
        let output = slot.open_stream("out").unwrap();
        let memory = space.alloc(64).unwrap();
        output.write(memory.part(0, 64).unwrap()).unwrap();
        slot.start().unwrap();
        let full = Moved {
            bytes: 64,
            last: false,
        };
        assert_eq!(wait(&output), full);
        let error = slot.wait(None, |_| Continue::Yes).unwrap_err();
        assert_eq!(error.code(), ErrorCode::Deadline, "{error}");
        let told = "port out: a beat of the kernel waits, and no transfer takes it";
        assert!(error.to_string().contains(told), "{error}");
        // Nor its first beat.
        slot.start().unwrap();
        let error = slot.wait(None, |_| Continue::Yes).unwrap_err();
        assert!(error.to_string().contains("port out: "), "{error}");
    });
}

/// Peers that send more than was asked for, or say that the key is wrong; the slot is as good as before.
#[test]
fn a_peer_that_lies_is_found_out() {
    on_each_card(|card, folder| {
        let each = Loop::new(&card, folder, 1, 100);
        let slot = card
            .load(SlotId(0), kernel("loopback"), &each.space)
            .unwrap();
        let key = "the key is of another connection";
        let lies = [
            (GOOD, 101, "a reply of 101 bytes came, not of 100"),
            (WRONG_KEY, 0, key),
        ];
        for (status, bytes, told) in lies {
            let mut flow = Flow::new(&each.space);
            let name = format!("remote:{}", liar(Some((status, bytes))));
            let device = Device::parse(name.as_ref()).unwrap();
            flow.plug(&slot, "in", device).unwrap();
            flow.plug_memory(&slot, "out", each.to.all()).unwrap();
            let error = flow.run(None, |_| Continue::Yes).unwrap_err();
            assert_eq!(error.code(), ErrorCode::DevicePeer, "{error}");
            assert!(error.to_string().contains(told), "{error}");
        }
        let mut flow = Flow::new(&each.space);
        flow.plug_memory(&slot, "in", each.from.all()).unwrap();
        flow.plug_memory(&slot, "out", each.to.all()).unwrap();
        flow.run(None, |_| Continue::Yes).unwrap();
        each.to.unmap().unwrap();
        assert!(fs::read(&each.result).unwrap() == each.data);
    });
}

/// The memory of a transfer goes away under it: the port is named, and the slot works again afterwards.
#[test]
fn memory_that_goes_away_ends_the_transfer() {
    on_each_card(|card, folder| {
        let each = Loop::new(&card, folder, 0, 300_000);
        let source = folder.join("short-lived");
        fs::write(&source, vec![1; 300_000]).unwrap();
        let short_lived = each
            .space
            .map_file(&source, MapOptions::read_only())
            .unwrap();
        each.input.read(short_lived.all()).unwrap();
        short_lived.unmap().unwrap();
        each.output.write(each.to.all()).unwrap();
        let told = each
            .output
            .wait(None, |_| Continue::Yes)
            .unwrap_err()
            .to_string();
        assert!(told.contains("port in") && told.contains("read"), "{told}");
        let reset = stream_error(each.input.wait(None, |_| Continue::Yes));
        assert!(
            matches!(reset, StreamError::Reset { bytes: 300_000, .. }),
            "{reset}"
        );

        // Nothing of the broken packet is left in the kernel or the movers.
        each.begin(9, 0, 300_000 - 9);
        assert_eq!(wait(&each.output).bytes, 300_000 - 9);
        each.to.unmap().unwrap();
        let result = fs::read(&each.result).unwrap();
        assert!(result[..300_000 - 9] == each.data[9..]);
    });
}

/// Two slots with the loopback kernel in one space, and two files: in -> a -> b -> out.
struct Pipeline {
    a: Slot,
    b: Slot,
    from: Mapping,
    to: Mapping,
    data: Vec<u8>,
    result: PathBuf,
    space: AddressSpace,
}

impl Pipeline {
    fn new(card: &Card, folder: &Path, bytes: u64) -> Self {
        let data: Vec<u8> = (0..bytes)
            .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
            .collect();
        let (source, result) = (folder.join("in"), folder.join("out"));
        fs::write(&source, &data).unwrap();
        let space = card.create_space().unwrap();
        Self {
            a: card.load(SlotId(0), kernel("loopback"), &space).unwrap(),
            b: card.load(SlotId(1), kernel("loopback"), &space).unwrap(),
            from: space.map_file(&source, MapOptions::read_only()).unwrap(),
            to: space.map_file(&result, MapOptions::create(bytes)).unwrap(),
            data,
            result,
            space,
        }
    }
}

/// Output of one kernel is the input of another, without memory between them; disconnected again, each works alone.
#[test]
fn kernels_are_joined_and_come_apart() {
    on_each_card(|card, folder| {
        let line = Pipeline::new(&card, folder, 700_000);
        let joined = card.connect(&line.a, "out", &line.b, "in").unwrap();
        let input = line.a.open_stream("in").unwrap();
        let output = line.b.open_stream("out").unwrap();
        let mut wanted = vec![0; line.data.len()];
        let (mut from, mut to) = (3, 1);
        for length in [1, 64, 65, 4097, 300_001] {
            output.write(line.to.slice(to, length).unwrap()).unwrap();
            input.read(line.from.slice(from, length).unwrap()).unwrap();
            let whole = Moved {
                bytes: length,
                last: true,
            };
            assert_eq!(wait(&output), whole);
            assert_eq!(wait(&input), whole);
            let (a, b, n) = (from as usize, to as usize, length as usize);
            wanted[b..b + n].copy_from_slice(&line.data[a..a + n]);
            from += length;
            to += length;
        }
        let state = joined.state().unwrap();
        assert!(!state.pending && !state.cut, "{state:?}");

        // The ports that the connection has are taken, for a while.
        let taken = stream_error(line.a.open_stream("out"));
        assert!(matches!(taken, StreamError::Taken { .. }), "{taken}");
        let taken = stream_error(card.connect(&line.b, "out", &line.b, "in"));
        assert!(matches!(taken, StreamError::Taken { .. }), "{taken}");
        joined.disconnect().unwrap();
        let apart = stream_error(joined.disconnect());
        assert!(matches!(apart, StreamError::NotConnected), "{apart}");

        let alone = line.a.open_stream("out").unwrap();
        alone.write(line.to.slice(to, 5000).unwrap()).unwrap();
        input.read(line.from.slice(9, 4000).unwrap()).unwrap();
        assert_eq!(wait(&alone).bytes, 4000);
        wanted[to as usize..to as usize + 4000].copy_from_slice(&line.data[9..4009]);
        line.to.unmap().unwrap();
        assert!(fs::read(&line.result).unwrap() == wanted);
    });
}

#[test]
fn mistakes_with_connections_are_told() {
    on_each_card(|card, folder| {
        let line = Pipeline::new(&card, folder, 1000);
        for (output, input) in [("in", "in"), ("out", "out")] {
            let wrong = stream_error(card.connect(&line.a, output, &line.b, input));
            assert!(matches!(wrong, StreamError::WrongEnd { .. }), "{wrong}");
        }
        let none = stream_error(card.connect(&line.a, "out", &line.b, "data")).to_string();
        assert!(none.contains("slot 1") && none.contains("`in`"), "{none}");
        let open = line.b.open_stream("in").unwrap();
        let taken = stream_error(card.connect(&line.a, "out", &line.b, "in"));
        assert!(matches!(taken, StreamError::Taken { .. }), "{taken}");
        open.close().unwrap();
        let other = Card::new(
            Box::new(FunctionalCard::new(FunctionalConfig {
                streams_per_slot: 1,
                ..FunctionalConfig::default()
            })),
            OwnerOptions::default(),
        )
        .unwrap();
        let elsewhere = other.connect(&line.a, "out", &line.b, "in");
        assert!(matches!(elsewhere, Err(Error::OtherCard)), "{elsewhere:?}");

        // A kernel that is connected with itself, and its connection dropped: the port is free.
        drop(card.connect(&line.a, "out", &line.a, "in").unwrap());
        card.connect(&line.a, "out", &line.b, "in").unwrap();
    });
}

/// A packet that is between two kernels when they shall come apart goes to its end; nothing is lost.
#[test]
fn a_packet_ends_where_it_began() {
    on_each_card(|card, folder| {
        let line = Pipeline::new(&card, folder, 400_000);
        let joined = card.connect(&line.a, "out", &line.b, "in").unwrap();
        let input = line.a.open_stream("in").unwrap();
        let output = line.b.open_stream("out").unwrap();
        input.read(line.from.slice(0, 300_000).unwrap()).unwrap();
        output.write(line.to.slice(0, 100_000).unwrap()).unwrap();
        assert_eq!(
            wait(&output),
            Moved {
                bytes: 100_000,
                last: false
            }
        );
        let early = stream_error(joined.disconnect());
        assert!(matches!(early, StreamError::MidPacket { .. }), "{early}");
        assert!(joined.state().unwrap().pending);
        let told = stream_error(input.wait(Some(Picoseconds::from_micros(300)), |_| Continue::Yes));
        let told = told.to_string();
        assert!(
            told.contains("to slot 1 (kernel loopback), port in"),
            "{told}"
        );

        // The rest of it still goes to b; the next packet does not.
        output
            .write(line.to.slice(100_000, 300_000).unwrap())
            .unwrap();
        input
            .read(line.from.slice(300_000, 50_000).unwrap())
            .unwrap();
        let rest = Moved {
            bytes: 200_000,
            last: true,
        };
        assert_eq!(wait(&output), rest);
        assert_eq!(wait(&input).bytes, 300_000);
        joined.disconnect().unwrap();
        let alone = line.a.open_stream("out").unwrap();
        alone
            .write(line.to.slice(300_000, 100_000).unwrap())
            .unwrap();
        assert_eq!(wait(&alone).bytes, 50_000);
        line.to.unmap().unwrap();
        let result = fs::read(&line.result).unwrap();
        assert!(result[..350_000] == line.data[..350_000]);
    });
}

/// Another kernel comes into the receiver's slot in mid-packet: the sender is not stuck, and nothing of the
/// old packet reaches the new kernel.
#[test]
fn a_receiver_that_goes_away_harms_nobody() {
    on_each_card(|card, folder| {
        let line = Pipeline::new(&card, folder, 400_000);
        let joined = card.connect(&line.a, "out", &line.b, "in").unwrap();
        let input = line.a.open_stream("in").unwrap();
        input.read(line.from.slice(0, 300_000).unwrap()).unwrap();
        let still = input.wait(Some(Picoseconds::from_micros(200)), |_| Continue::Yes);
        assert!(matches!(stream_error(still), StreamError::Stuck { .. }));
        let b = card
            .load(SlotId(1), kernel("loopback"), &line.space)
            .unwrap();
        assert_eq!(wait(&input).bytes, 300_000);
        let gone = stream_error(joined.state());
        assert!(matches!(gone, StreamError::NotConnected), "{gone}");

        let input = b.open_stream("in").unwrap();
        let output = b.open_stream("out").unwrap();
        output.write(line.to.slice(0, 1000).unwrap()).unwrap();
        input.read(line.from.slice(300_000, 500).unwrap()).unwrap();
        assert_eq!(wait(&output).bytes, 500);
        line.to.unmap().unwrap();
        let result = fs::read(&line.result).unwrap();
        assert!(result[..500] == line.data[300_000..300_500]);
    });
}

/// The example does what it claims, and the tutorial shows the same text.
#[test]
fn the_example_sends_a_file_through_two_kernels() {
    on_each_card(|card, folder| {
        let (from, to) = (folder.join("from"), folder.join("to"));
        let data: Vec<u8> = (0..200_003u32).map(|i| (i * 7 + i / 251) as u8).collect();
        fs::write(&from, &data).unwrap();
        let bytes = pipeline::pipeline(&card, &kernel("loopback"), &from, &to).unwrap();
        assert_eq!(bytes, data.len() as u64);
        assert!(fs::read(&to).unwrap() == data);
    });
    let home = simcard::home();
    let read = |name: &str| fs::read_to_string(home.join(name)).unwrap();
    let tutorial = read("docs/tutorials/streams.md");
    for (language, program) in [
        ("rust", "crates/tombolo/examples/pipeline.rs"),
        ("cpp", "crates/capi/examples/vfpio_listing2.cpp"),
    ] {
        let (_, rest) = tutorial.split_once(&format!("```{language}\n")).unwrap();
        let (block, _) = rest.split_once("```").unwrap();
        assert!(read(program).contains(block), "{program} has no {block}");
    }
}

fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    path
}

fn device(kind: &str, path: &Path, options: &str) -> Device {
    Device::parse(format!("{kind}:{}{options}", path.display()).as_ref()).unwrap()
}

#[test]
fn bytes_of_unknown_number_flow_between_pipes_and_sockets() {
    on_each_card(|card, folder| {
        let space = card.create_space().unwrap();
        let slot = card.load(SlotId(0), kernel("loopback"), &space).unwrap();
        let (p, q) = (fifo(folder, "p"), fifo(folder, "q"));
        // More than the four buffers, of no round number; and exactly full ones.
        for bytes in [300_001usize, 131_072, 1] {
            let data: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 253) as u8).collect();
            let options = ":buffer=64KiB:timeout=60s";
            let mut flow = Flow::new(&space);
            flow.plug(&slot, "in", device("pipe", &p, options)).unwrap();
            flow.plug(&slot, "out", device("pipe", &q, options))
                .unwrap();
            let (flowed, got) = std::thread::scope(|scope| {
                scope.spawn(|| {
                    let mut to = fs::OpenOptions::new().write(true).open(&p).unwrap();
                    for piece in data.chunks(7919) {
                        std::io::Write::write_all(&mut to, piece).unwrap();
                    }
                });
                let got = scope.spawn(|| fs::read(&q).unwrap());
                let flowed = flow.run(None, |_| Continue::Yes).unwrap();
                (flowed, got.join().unwrap())
            });
            assert!(got == data, "{bytes}");
            for one in flowed {
                assert_eq!((one.bytes, one.packets), (bytes as u64, 1), "{}", one.port);
            }
        }
        // The ports are free again: now a socket, both ways, of a peer that waits for each answer.
        let path = folder.join("s");
        let mut flow = Flow::new(&space);
        let both = device("unix-listen", &path, ":live:timeout=60s");
        flow.plug(&slot, "in", both.clone()).unwrap();
        flow.plug(&slot, "out", both).unwrap();
        std::thread::scope(|scope| {
            let peer = scope.spawn(|| {
                let mut socket = std::os::unix::net::UnixStream::connect(&path).unwrap();
                for bytes in [1usize, 100, 2000] {
                    let said = vec![bytes as u8; bytes];
                    std::io::Write::write_all(&mut socket, &said).unwrap();
                    let mut heard = vec![0; bytes];
                    std::io::Read::read_exact(&mut socket, &mut heard).unwrap();
                    assert!(heard == said);
                }
            });
            let flowed = flow.run(None, |_| Continue::Yes).unwrap();
            assert!(flowed.iter().all(|one| one.bytes == 2101), "{flowed:?}");
            peer.join().unwrap();
        });
        assert!(!path.exists());
        // And again: a transfer that waits, stopped, and one behind it.
        let (input, output) = (
            slot.open_stream("in").unwrap(),
            slot.open_stream("out").unwrap(),
        );
        let memory = space.alloc(8192).unwrap();
        let part = |at| memory.part(at, 4096).unwrap();
        output.write(part(0)).unwrap();
        output.write(part(4096)).unwrap();
        assert_eq!(output.poll().unwrap(), None);
        output.stop().unwrap();
        let nothing = Moved {
            bytes: 0,
            last: false,
        };
        assert_eq!(output.sync(None).unwrap(), [nothing; 2]);
        let error = stream_error(input.stop());
        assert!(
            matches!(error, StreamError::WrongDirection { .. }),
            "{error}"
        );
        output.write(part(0)).unwrap();
        output.stop().unwrap();
        drop(output);
        let output = slot.open_stream("out").unwrap();
        output.write(part(0)).unwrap();
        input.read(part(4096)).unwrap();
        assert_eq!(wait(&output).bytes, 4096);
    });
}

/// A flow that ends leaves its ports free, however it ends: for the next flow, for a handle of the program, and
/// for a connection with another port, each at once.
#[test]
fn a_live_port_is_free_when_its_flow_is_over() {
    on_each_card(|card, folder| {
        let space = card.create_space().unwrap();
        let slot = card.load(SlotId(0), kernel("loopback"), &space).unwrap();
        let path = folder.join("s");
        // What the peer sends, and whether the program stops the flow.
        for (says, stops) in [(0, false), (2000, false), (0, true)] {
            let mut flow = Flow::new(&space);
            let both = device("unix-listen", &path, ":live:buffer=64KiB:timeout=60s");
            flow.plug(&slot, "in", both.clone()).unwrap();
            flow.plug(&slot, "out", both).unwrap();
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    let socket = std::os::unix::net::UnixStream::connect(&path);
                    if stops {
                        return;
                    }
                    let mut socket = socket.unwrap();
                    let said = vec![7; says];
                    std::io::Write::write_all(&mut socket, &said).unwrap();
                    let mut heard = vec![0; says];
                    std::io::Read::read_exact(&mut socket, &mut heard).unwrap();
                });
                let ended = flow.run(None, |_| match stops {
                    true => Continue::Stop,
                    false => Continue::Yes,
                });
                assert_eq!(ended.is_ok(), !stops, "{ended:?}");
            });
            let connection = card.connect(&slot, "out", &slot, "in").unwrap();
            connection.disconnect().unwrap();
            let output = slot.open_stream("out").unwrap();
            drop((output, slot.open_stream("in").unwrap()));
        }
    });
}

/// A flow ends while bytes wait to go into the kernel: they stay until it takes them, and then the port is free.
#[test]
fn what_a_flow_has_begun_to_send_arrives_after_its_end() {
    on_each_card(|card, folder| {
        let each = Loop::new(&card, folder, 0, 300_000);
        each.input.close().unwrap();
        let path = fifo(folder, "p");
        let begun = 2 * (64 << 10);
        let mut flow = Flow::new(&each.space);
        let from = device("pipe", &path, ":buffer=64KiB");
        flow.plug(&each.slot, "in", from).unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut pipe = fs::OpenOptions::new().write(true).open(&path).unwrap();
                // Not all of it is taken.
                let _ = pipe.write_all(&each.data);
            });
            // Nobody takes what comes out of the kernel.
            let told = stream_error(flow.run(None, |_| Continue::Yes)).to_string();
            assert!(told.contains("does not take"), "{told}");
        });
        each.output.write(each.to.slice(0, begun).unwrap()).unwrap();
        let moved = Moved {
            bytes: begun,
            last: false,
        };
        assert_eq!(wait(&each.output), moved);
        // Its packet goes on with what the next flow sends.
        let mut flow = Flow::new(&each.space);
        let rest = each.from.slice(begun, 5000).unwrap();
        flow.plug_memory(&each.slot, "in", rest).unwrap();
        each.output
            .write(each.to.slice(begun, 9000).unwrap())
            .unwrap();
        flow.run(None, |_| Continue::Yes).unwrap();
        let rest = Moved {
            bytes: 5000,
            last: true,
        };
        assert_eq!(wait(&each.output), rest);
        each.to.unmap().unwrap();
        let result = fs::read(&each.result).unwrap();
        let count = begun as usize + 5000;
        assert!(result[..count] == each.data[..count]);
    });
}

#[test]
fn the_other_end_of_a_device_that_fails_is_named() {
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    }))
    .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let space = card.create_space().unwrap();
    let (p, q) = (fifo(folder.path(), "p"), fifo(folder.path(), "q"));
    let run = |from: Device, to: Device| {
        let slot = card.load(SlotId(0), kernel("loopback"), &space).unwrap();
        let mut flow = Flow::new(&space);
        flow.plug(&slot, "in", from)?;
        flow.plug(&slot, "out", to)?;
        flow.run(None, |_| Continue::Yes)
    };
    let (short, zero) = (":timeout=200ms", device("pipe", "/dev/zero".as_ref(), ""));
    let null = || device("pipe", "/dev/null".as_ref(), "");
    let late = run(device("pipe", &p, short), null()).unwrap_err();
    assert!(
        late.to_string().contains("nothing came within 200ms"),
        "{late}"
    );
    assert_eq!(late.code(), ErrorCode::DevicePeer);
    let late = run(zero.clone(), device("pipe", &q, short)).unwrap_err();
    assert!(late
        .to_string()
        .contains("nobody has opened it for reading"));
    let empty = run(null(), null()).unwrap_err();
    assert!(
        empty.to_string().contains("before its first byte"),
        "{empty}"
    );
    let closed = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut some = [0; 1000];
            let mut from = fs::File::open(&q).unwrap();
            std::io::Read::read_exact(&mut from, &mut some).unwrap();
        });
        run(zero, device("pipe", &q, "")).unwrap_err()
    });
    let Error::Device(DeviceError::Closed { bytes, .. }) = closed else {
        panic!("{closed}");
    };
    assert!(bytes >= 1000);
    fs::write(folder.path().join("file"), b"x").unwrap();
    let file = run(device("pipe", &folder.path().join("file"), ""), null()).unwrap_err();
    assert!(file.to_string().contains("write file:PATH"), "{file}");
    assert_eq!(file.code(), ErrorCode::Device);
}

#[test]
fn remote_memory_goes_through_a_kernel_to_remote_memory() {
    on_each_card(|card, _| {
        let bytes = 700_003;
        let server = RemoteServer::listen(Export::memory(bytes).unwrap(), "127.0.0.1:0").unwrap();
        let address = server.address().to_string();
        let patience = std::time::Duration::from_secs(20);
        let mut memory = RemoteMemory::connect(&address, patience).unwrap();
        let data: Vec<u8> = (0..300_001u32).map(|i| (i * 31 + i / 253) as u8).collect();
        memory.write(1, &data).unwrap();
        let space = card.create_space().unwrap();
        let slot = card.load(SlotId(0), kernel("loopback"), &space).unwrap();
        let run = |from: &str, to: &str| {
            let mut flow = Flow::new(&space);
            let device = |range: &str| {
                let name = format!("remote:{address}{range}:timeout=20s");
                Device::parse(name.as_ref()).unwrap()
            };
            flow.plug(&slot, "in", device(from))?;
            flow.plug(&slot, "out", device(to))?;
            flow.run(None, |_| Continue::Yes)
        };
        run("@1+300001", "@400001").unwrap();
        let mut got = vec![0; bytes as usize];
        memory.read(0, &mut got).unwrap();
        assert!(got[1..300_002] == data && got[400_001..700_002] == data);
        assert!(got[300_002..400_001].iter().all(|byte| *byte == 0) && got[700_002] == 0);
        let far = run("@700003", "@0").unwrap_err();
        assert!(far.to_string().contains("it has 700003 bytes"), "{far}");
    });
}

#[test]
fn pages_of_a_mapping_live_at_a_peer() {
    on_each_card(|card, _| {
        for way in ["", "fabric+tcp://"] {
            let bytes = 700_003;
            let server =
                RemoteServer::listen(Export::memory(bytes).unwrap(), "127.0.0.1:0").unwrap();
            let plain = server.address().to_string();
            let address = format!("{way}{plain}");
            let connect = || RemoteMemory::connect(&address, Duration::from_secs(20));
            let mut memory = match connect() {
                Err(error @ RemoteError::NoFabric { .. }) => {
                    writeln!(std::io::stderr(), "skipped: remote mappings: {error}").unwrap();
                    continue;
                }
                other => other.unwrap(),
            };
            let data: Vec<u8> = (0..300_001u32).map(|i| (i * 31 + i / 253) as u8).collect();
            memory.write(1, &data).unwrap();
            let space = card.create_space().unwrap();
            let load = || card.load(SlotId(0), kernel("loopback"), &space).unwrap();
            let slot = load();
            let (input, output) = (
                slot.open_stream("in").unwrap(),
                slot.open_stream("out").unwrap(),
            );
            let name = |range: &str| PathBuf::from(format!("remote:{address}{range}:timeout=20s"));
            let map = |range: &str, options| space.map_file(name(range), options);
            let from = map("@1+300001", MapOptions::read_only()).unwrap();
            let options = MapOptions::read_write().offset(400_001).bytes(300_001);
            let to = space.map_remote(connect().unwrap(), options).unwrap();
            let rest = map("@300002", MapOptions::read_only().bytes(90_000)).unwrap();
            let pass = |from: &Mapping, bytes| {
                output.write(to.slice(0, bytes).unwrap()).unwrap();
                input.read(from.slice(0, bytes).unwrap()).unwrap();
            };
            pass(&from, 300_001);
            assert_eq!(wait(&output).bytes, 300_001);
            to.sync().unwrap();
            let mut got = vec![0; bytes as usize];
            memory.read(0, &mut got).unwrap();
            assert!(got[1..300_002] == data && got[400_001..700_002] == data);
            assert!(got[300_002..400_001].iter().all(|byte| *byte == 0) && got[700_002] == 0);
            // What is refused changes nothing.
            for (options, rule) in [
                (MapOptions::read_only().offset(bytes), "past the end"),
                (MapOptions::read_write().offset(400_000).bytes(2), "overlap"),
                (MapOptions::create(5), "has its size"),
            ] {
                let error = space.map_remote(connect().unwrap(), options).unwrap_err();
                assert!(error.to_string().contains(rule), "{error}");
            }
            // Written on the card; then the peer dies.
            wait(&input);
            pass(&from, 1000);
            wait(&output);
            drop((server, memory));
            wait(&input);
            output.write(to.slice(2000, 1000).unwrap()).unwrap();
            input.read(rest.all()).unwrap();
            let error = input.wait(None, |_| Continue::Yes).unwrap_err().to_string();
            assert!(
                error.contains(&format!("could not be fetched: {address}: ")),
                "{error}"
            );
            let error = to.sync().unwrap_err().to_string();
            assert!(
                error.contains("writing back") && error.contains(&plain),
                "{error}"
            );
            let server = RemoteServer::listen(Export::memory(bytes).unwrap(), &plain).unwrap();
            let error = map("", MapOptions::read_only()).unwrap_err().to_string();
            assert!(error.contains("unmap it first"), "{error}");
            assert!(to.unmap().is_err());
            from.unmap().unwrap();
            rest.unmap().unwrap();
            // A new one at that address: nothing of the old one is in its way.
            let slot = load();
            let (input, output) = (
                slot.open_stream("in").unwrap(),
                slot.open_stream("out").unwrap(),
            );
            let both = map("@7+100", MapOptions::read_write()).unwrap();
            connect().unwrap().write(7, b"new").unwrap();
            output.write(both.slice(50, 3).unwrap()).unwrap();
            input.read(both.slice(0, 3).unwrap()).unwrap();
            assert_eq!(wait(&output).bytes, 3);
            both.unmap().unwrap();
            let mut got = [0; 54];
            connect().unwrap().read(6, &mut got).unwrap();
            assert!(&got[1..4] == b"new" && &got[51..] == b"new", "{got:?}");
            drop((slot, server));
        }
    });
}

/// The program counted against the library's does the same: more than a page, and a row that is not full.
#[test]
fn a_program_that_drives_the_card_itself_sends_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a"), folder.path().join("b"));
    let data: Vec<u8> = (0..2_200_001u32)
        .map(|i| (i * 31 + i / 253) as u8)
        .collect();
    fs::write(&from, &data).unwrap();
    let end = loopback_direct::pass(&kernel("loopback"), &from, &to).unwrap();
    assert_eq!((end.bytes, end.last), (data.len() as u64, true));
    assert!(fs::read(&to).unwrap() == data);
    fs::write(&from, b"").unwrap();
    let empty = loopback_direct::pass(&kernel("loopback"), &from, &to).unwrap_err();
    assert!(empty.to_string().contains("0 bytes"), "{empty}");
}

/// A kernel that keeps every byte of a beat, and strobes those that it was sent strobed; or not the first one.
fn strobed(folder: &Path, bits: u32, shared: bool, strobe: &str) -> PathBuf {
    let kernel = folder.join(format!("strobed{bits}"));
    fs::create_dir_all(&kernel).unwrap();
    let port = |name: &str, direction: &str| {
        let members = match shared {
            true => format!("members = [\"{name}_0\", \"{name}_1\"]\n"),
            false => String::new(),
        };
        format!(
            "[[port]]\nname = \"{name}\"\nkind = \"axi4_stream\"\ndata_width = {bits}\n\
             direction = \"{direction}\"\n{members}"
        )
    };
    let manifest = format!(
        "[kernel]\nname = \"strobed\"\ntop = \"strobed\"\nsources = [\"strobed.sv\"]\n\
         control = \"ap_ctrl_none\"\n{}{}",
        port("in", "in"),
        port("out", "out")
    );
    fs::write(kernel.join("kernel.toml"), manifest).unwrap();
    let mut pins = vec!["input logic ap_clk, input logic ap_rst_n".to_owned()];
    let mut body = String::new();
    for member in if shared { &["_0", "_1"][..] } else { &[""] } {
        let (from, to) = (format!("in{member}"), format!("out{member}"));
        for (name, enters, leaves) in [(&from, "input ", "output"), (&to, "output", "input ")] {
            let (data, keep) = (bits - 1, bits / 8 - 1);
            pins.push(format!(
                "{enters} logic [{data}:0] {name}_tdata, {enters} logic [{keep}:0] {name}_tstrb,\n  \
                 {enters} logic {name}_tlast, {enters} logic {name}_tvalid, {leaves} logic {name}_tready"
            ));
        }
        body += &format!(
            "  assign {to}_tdata = {from}_tdata;\n  assign {to}_tstrb = {from}_tstrb{strobe};\n  \
             assign {to}_tlast = {from}_tlast;\n  assign {to}_tvalid = {from}_tvalid;\n  \
             assign {from}_tready = {to}_tready;\n"
        );
    }
    let text = format!(
        "module strobed (\n  {}\n);\n{body}endmodule\n",
        pins.join(",\n  ")
    );
    fs::write(kernel.join("strobed.sv"), text).unwrap();
    kernel
}

/// A byte is data if it is kept and strobed, both ways; a strobe with a hole is refused.
#[test]
fn bytes_without_a_strobe_are_no_data() {
    let card = Card::simulated(simulated(), OwnerOptions::default(), |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let each = Loop::new(&card, folder.path(), 0, 5000);
    let load = |bits, shared, strobe: &str| {
        let kernel = strobed(folder.path(), bits, shared, strobe);
        let slot = card.load(SlotId(0), &kernel, &each.space).unwrap();
        let streams = (
            slot.open_stream("in").unwrap(),
            slot.open_stream("out").unwrap(),
        );
        let (input, output) = &streams;
        input.read(each.from.slice(3, 1001).unwrap()).unwrap();
        output.write(each.to.slice(5, 2000).unwrap()).unwrap();
        let moved = output.wait(None, |_| Continue::Yes);
        (slot, streams, moved)
    };
    for (bits, shared) in [(512, false), (32, false), (64, true)] {
        let (_slot, (input, _), moved) = load(bits, shared, "");
        let whole = Moved {
            bytes: 1001,
            last: true,
        };
        assert_eq!(moved.unwrap(), whole, "{bits}");
        assert_eq!(wait(&input), whole);
        each.to.sync().unwrap();
        let result = fs::read(&each.result).unwrap();
        assert!(result[5..1006] == each.data[3..1004], "{bits}");
        assert!(result[1006..].iter().all(|byte| *byte == 0), "{bits}");
    }
    let (_slot, _streams, moved) = load(512, false, " & ~64'd1");
    let told = stream_error(moved).to_string();
    assert!(told.contains("hole"), "{told}");
}
