//! Memory of a client that its kernels use, and pipes at their ports, over the socket of a daemon.

mod common;

use common::{assert_nothing_is_left, at_rest, kernel, with_copy, Served};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo::{
    Card, Continue, Device, Error, Flow, FunctionalConfig, PageSize, SharedMemory, StreamErrorKind,
    VirtAddr,
};
use wire::{
    decode, encode, receive, send, ByteRange, CreateSpace, Failure, Frame, Hello, Kind, Message,
    NewMapping, NewSpace, ShareDescriptor, Side, SpaceOptions, Take, Version,
};

fn put(memory: &SharedMemory, bytes: &[u8]) {
    for (place, byte) in memory.slice::<AtomicU8>().iter().zip(bytes) {
        place.store(*byte, Ordering::Relaxed);
    }
}

fn get(memory: &SharedMemory, bytes: usize) -> Vec<u8> {
    let places = memory.slice::<AtomicU8>()[..bytes].iter();
    places.map(|place| place.load(Ordering::Relaxed)).collect()
}

/// Descriptors and threads are counted of the whole process, so its tests take turns.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Copies a block to another by a kernel, and compares all bytes of both.
fn copied_between(
    card: &Card,
    sizes: &[usize],
    alloc: impl Fn(&tombolo::AddressSpace, usize) -> SharedMemory,
) {
    let (space, slot) = with_copy(card);
    for &size in sizes {
        let bytes: Vec<u8> = (0..size).map(|n| (n * 31 + size) as u8).collect();
        let mut from = alloc(&space, size);
        let mut to = alloc(&space, size);
        from.take(0, size as u64, true).unwrap();
        put(&from, &bytes);
        slot.set_pointer("input", from.address()).unwrap();
        slot.set_pointer("output", to.address()).unwrap();
        slot.set("bytes", size as u64).unwrap();
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        to.take(0, size as u64, false).unwrap();
        assert_eq!(get(&to, size), bytes, "{size} bytes");
        assert_eq!(get(&from, size), bytes, "{size} bytes");
        // Again, over what is there.
        let other: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        from.take(0, size as u64, true).unwrap();
        put(&from, &other);
        slot.start().unwrap();
        slot.wait(None, |_| Continue::Yes).unwrap();
        // What kernels wrote is there when the block has ended, without being asked for.
        to.free().unwrap();
        assert_eq!(get(&to, size), other, "{size} bytes");
        from.free().unwrap();
    }
}

const SIZES: [usize; 6] = [1, 63, 4096, 4097, 300_001, (2 << 20) + 5];

#[test]
fn kernels_read_and_write_memory_of_a_program_in_another_process() {
    let _alone = alone();
    let served = Served::new();
    let card = served.open();
    let (_, before) = at_rest(&card);
    copied_between(&card, &SIZES, |space, size| {
        space.alloc_untrapped(size, PageSize::KIB_4).unwrap()
    });
    copied_between(&card, &SIZES, |space, size| {
        space
            .alloc_untrapped(size, space.page_for(size).unwrap())
            .unwrap()
    });
    assert_nothing_is_left(&card, before);
}

#[test]
fn kernels_use_memory_where_it_is() {
    let _alone = alone();
    let served = Served::with(FunctionalConfig {
        host_channel: true,
        ..FunctionalConfig::default()
    });
    copied_between(&served.open(), &SIZES, |space, size| {
        space.alloc_direct(size, PageSize::KIB_4).unwrap()
    });
}

#[test]
fn two_clients_have_the_same_addresses_and_not_the_same_bytes() {
    let _alone = alone();
    let served = Served::new();
    let clients = [served.open(), served.open()];
    let spaces = clients.each_ref().map(|card| card.create_space().unwrap());
    // Both by the address of the first: processes know nothing of each other's.
    let blocks = spaces
        .each_ref()
        .map(|space| space.alloc_untrapped(10_000, PageSize::KIB_4).unwrap());
    for ((card, space), (block, fill)) in clients.iter().zip(&spaces).zip(blocks.iter().zip([3, 5]))
    {
        put(block, &[fill; 10_000]);
        let to = space.alloc_untrapped(10_000, PageSize::KIB_4).unwrap();
        let slot = card.load_anywhere(kernel("copy"), space).unwrap();
        slot.set_pointer("input", block.address()).unwrap();
        slot.set_pointer("output", to.address()).unwrap();
        slot.set("bytes", 10_000).unwrap();
        slot.run().unwrap();
        to.take(0, 10_000, false).unwrap();
        assert_eq!(get(&to, 10_000), [fill; 10_000]);
    }
    // The other's memory is none of this space: the access fails, and says so.
    let slot = clients[0]
        .load_anywhere(kernel("copy"), &spaces[0])
        .unwrap();
    slot.set_pointer("input", blocks[1].address()).unwrap();
    slot.set_pointer("output", blocks[0].address()).unwrap();
    slot.set("bytes", 64).unwrap();
    let failed = slot.run().unwrap_err();
    assert!(matches!(failed, Error::Access(_)), "{failed}");
    assert_eq!(get(&blocks[0], 10_000), [3; 10_000]);
}

/// A daemon whose card has stream ports.
fn with_streams() -> Served {
    Served::with(FunctionalConfig {
        streams_per_slot: 1,
        ports_per_slot: 3,
        ..FunctionalConfig::default()
    })
}

#[test]
fn pipes_are_plugged_into_ports() {
    let _alone = alone();
    let served = with_streams();
    let (p, q) = (served.path("p"), served.path("q"));
    assert!(Command::new("mkfifo")
        .args([&p, &q])
        .status()
        .unwrap()
        .success());
    let card = served.open();
    let (_, before) = at_rest(&card);
    for (size, packets) in [
        (1, ""),
        (64, ":packets=all"),
        (1000, ":packets=any"),
        (100_001, ":packets=all"),
        (100_001, ""),
    ] {
        let bytes: Vec<u8> = (0..size).map(|n| (n * 13 + n / 256) as u8).collect();
        let (sent, read_from) = (bytes.clone(), q.clone());
        let write_to = p.clone();
        let writer = std::thread::spawn(move || {
            File::options()
                .write(true)
                .open(write_to)
                .unwrap()
                .write_all(&sent)
                .unwrap();
        });
        let reader = std::thread::spawn(move || std::fs::read(read_from).unwrap());
        let space = card.create_space().unwrap();
        let slot = card.load_anywhere(kernel("loopback"), &space).unwrap();
        let device = |path: &std::path::Path, packets: &str| {
            let name = format!("pipe:{}:timeout=20s{packets}", path.display());
            Device::parse(name.as_ref()).unwrap()
        };
        let mut flow = Flow::new(&space);
        flow.plug(&slot, "in", device(&p, "")).unwrap();
        flow.plug(&slot, "out", device(&q, packets)).unwrap();
        flow.run(None, |_| Continue::Yes).unwrap();
        writer.join().unwrap();
        assert_eq!(reader.join().unwrap(), bytes, "{size} bytes{packets}");
    }
    assert_nothing_is_left(&card, before);
}

#[test]
fn transfers_are_waited_for_until_none_is_under_way() {
    let _alone = alone();
    let served = with_streams();
    let card = served.open();
    let space = card.create_space().unwrap();
    let slot = card.load_anywhere(kernel("loopback"), &space).unwrap();
    let memory = space.alloc(1000).unwrap();
    put(&memory, &[7; 400]);
    let [input, output] = ["in", "out"].map(|port| slot.open_stream(port).unwrap());
    for (from, to) in [(0, 500), (100, 700)] {
        output.write(memory.part(to, 200).unwrap()).unwrap();
        input.read(memory.part(from, 200).unwrap()).unwrap();
    }
    let moved = output.sync(None).unwrap();
    assert_eq!(moved.iter().map(|one| one.bytes).sum::<u64>(), 400);
    assert_eq!(input.sync(None).unwrap().len(), 2);
    assert_eq!(get(&memory, 900)[500..], [7; 400]);
    assert!(output.sync(None).unwrap().is_empty());
    let nothing = output.poll().unwrap_err();
    let kind = Some(StreamErrorKind::NothingUnderWay);
    assert_eq!(nothing.stream_kind(), kind, "{nothing}");
    input.close().unwrap();
    let closed = input.close().unwrap_err();
    assert_eq!(closed.stream_kind(), Some(StreamErrorKind::NotOpen));
}

/// A client that sends messages that no library sends.
struct Raw(UnixStream);

impl Raw {
    fn new(served: &Served) -> Self {
        let socket = UnixStream::connect(served.socket()).unwrap();
        let hello = Hello {
            version: Version::THIS,
            program: "raw".to_owned(),
        };
        send(
            &socket,
            &Frame::new(Kind::Hello, 0, encode(&hello).unwrap()),
        )
        .unwrap();
        assert_eq!(receive(&socket, Side::Daemon).unwrap().kind, Kind::Welcome);
        Self(socket)
    }

    fn ask(&self, message: impl Into<Message>, file: Option<File>) -> Result<Vec<u8>, Failure> {
        let mut frame = Frame::new(Kind::Request, 1, encode(&message.into()).unwrap());
        frame.descriptors = file.into_iter().map(Into::into).collect();
        send(&self.0, &frame).unwrap();
        let answer = receive(&self.0, Side::Daemon).unwrap();
        match answer.kind {
            Kind::Failure => Err(decode(&answer.body).unwrap()),
            _ => Ok(answer.body),
        }
    }
}

fn memory_file(bytes: u64, sealed: bool) -> File {
    use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
    let file = memfd_create("test", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING).unwrap();
    let file = File::from(file);
    file.set_len(bytes).unwrap();
    if sealed {
        fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    }
    file
}

#[test]
fn memory_that_could_vanish_under_the_daemon_is_refused() {
    let _alone = alone();
    let served = Served::new();
    let raw = Raw::new(&served);
    let options = SpaceOptions::new();
    let made = raw.ask(CreateSpace { options }, None).unwrap();
    let space = decode::<NewSpace>(&made).unwrap().space;
    let share = |address: u64, bytes| ShareDescriptor {
        space,
        address: VirtAddr::new(address).unwrap(),
        bytes,
        page: PageSize::KIB_4,
        direct: false,
    };
    let plain = served.file("plain", &[1; 8192]);
    let plain = || File::options().read(true).write(true).open(&plain).unwrap();
    let cases: [(ShareDescriptor, File, &str); 8] = [
        (share(0x10000, 8192), plain(), "sealed"),
        (share(0x10000, 8192), memory_file(8192, false), "sealed"),
        (
            share(0x10000, 8192),
            memory_file(4096, true),
            "does not hold",
        ),
        (
            share(0x10000, 8192),
            File::open("/dev/null").unwrap(),
            "sealed",
        ),
        (share(0x10000, 0), memory_file(4096, true), "whole pages"),
        (share(0x10000, 100), memory_file(4096, true), "whole pages"),
        (share(0x10010, 4096), memory_file(4096, true), "whole pages"),
        (
            share((1 << 48) - 4096, 8192),
            memory_file(8192, true),
            "beyond",
        ),
    ];
    for (request, file, why) in cases {
        let what = format!("{request:?}");
        let refused = raw.ask(request, Some(file)).unwrap_err();
        assert!(refused.message.contains(why), "{what}: {}", refused.message);
    }
    let made = raw
        .ask(share(0x10000, 8192), Some(memory_file(8192, true)))
        .unwrap();
    let mapping = decode::<NewMapping>(&made).unwrap().mapping;
    // In the way of another.
    let again = raw.ask(share(0x11000, 4096), Some(memory_file(4096, true)));
    assert!(again.unwrap_err().message.contains("overlap"));
    // Beyond the block.
    for (offset, bytes) in [(8192, 1), (0, 8193), (u64::MAX, 2), (1, u64::MAX)] {
        let range = ByteRange { offset, bytes };
        let write = true;
        let refused = raw
            .ask(
                Take {
                    mapping,
                    range,
                    write,
                },
                None,
            )
            .unwrap_err();
        assert!(refused.message.contains("8192"), "{}", refused.message);
    }
}
