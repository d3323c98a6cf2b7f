//! Malformed messages: requests with other clients' names, extreme numbers, missing or repeated parts, flipped bits.
//! The daemon answers or closes the connection; it does not panic, other clients are served, and no resource leaks.
//!
//! `TOMBOLO_FUZZ` sets the number of messages (12,000 by default). `TOMBOLO_FUZZ_RUNS` names a file of earlier runs, a line
//! each with the seed and the number of messages: a run takes the next seed and appends its line, so that runs add up.

mod common;

use common::{assert_nothing_is_left, at_rest, kernel, set_copy, Random, Served};
use std::fs::File;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tombolo::{Card, Continue, MapOptions};
use units::{PageSize, Picoseconds, SlotId, VirtAddr};
use wire::{
    encode, receive, send, ByteRange, Frame, Hello, Kind, LoadFolder, LoadId, MapDescriptor,
    MappingId, Message, PacketPart, PortOf, ShareDescriptor, ShareTrapped, Side, Signal, SpaceId,
    StreamHandle, Taken, Version,
};

const MESSAGES: u64 = 12_000;
/// File of earlier runs.
const RUNS: &str = "TOMBOLO_FUZZ_RUNS";
/// Messages of a run in which memory must not grow: buffers and caches are filled by then.
const WARM: u64 = 50_000;
/// Growth of memory after that, in bytes: a part that does not depend on the messages, and a part of each, which is less
/// than the smallest object that a message could leave.
const GROWTH: f64 = 64e6;
const GROWTH_EACH: f64 = 16.0;
/// Maximum messages per connection.
const A_CONNECTION: u64 = 40;

/// Statistics of the answers.
#[derive(Default)]
struct Heard {
    /// The newest name that was given.
    newest: AtomicU64,
    /// Requests that were done.
    done: AtomicU64,
}

impl Heard {
    fn hear(&self, frame: &Frame) {
        if frame.kind != Kind::Reply {
            return;
        }
        self.done.fetch_add(1, Ordering::Relaxed);
        let reply: serde_json::Value = wire::decode(&frame.body).unwrap();
        let names = ["space", "mapping", "load"];
        for name in names.iter().filter_map(|name| reply.get(name)?.as_u64()) {
            self.newest.fetch_max(name, Ordering::Relaxed);
        }
    }
}

/// Memory that keeps its size.
fn sealed(bytes: u64) -> File {
    use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("fuzz", flags).unwrap());
    file.set_len(bytes).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    file
}

/// One of each kind, with names that may be alive.
fn corpus(random: &mut Random, newest: u64) -> Vec<Message> {
    let mut name = || (newest + 1).saturating_sub(random.below(8));
    let (space, mapping, load) = (SpaceId(name()), MappingId(name()), LoadId(name()));
    let slice = Picoseconds::from_micros(random.below(50));
    let range = ByteRange {
        offset: random.below(3) * 4096,
        bytes: 1 + random.below(8192),
    };
    let stream = StreamHandle {
        slot: SlotId(random.below(5) as u8),
        stream: units::StreamId {
            pair: random.below(2) as u8,
            direction: units::StreamDirection::In,
        },
        serial: random.below(4),
    };
    let taken = Taken {
        packets: 1,
        bytes: 64,
        full: false,
    };
    let port = || PortOf {
        load,
        port: "m_axi_gmem0".to_owned(),
    };
    let options = match random.below(4) {
        0 => MapOptions::read_only(),
        1 => MapOptions::read_write().page_size(units::PageSize::KIB_4),
        2 => MapOptions::create(random.below(1 << 16)),
        _ => MapOptions::read_write().auto_pages().hot(),
    };
    vec![
        wire::CreateSpace {
            options: wire::SpaceOptions::new().limit(random.below(1 << 22)),
        }
        .into(),
        MapDescriptor {
            space,
            label: "fuzz".to_owned(),
            options,
        }
        .into(),
        ShareDescriptor {
            space,
            address: VirtAddr::new(random.below(1 << 30) << 12).unwrap(),
            bytes: random.below(64) << 12,
            page: PageSize::KIB_4,
            direct: random.below(4) == 0,
        }
        .into(),
        ShareTrapped {
            space,
            address: VirtAddr::new(random.below(1 << 30) << 12).unwrap(),
            parts: vec![
                wire::TrappedPart {
                    bytes: random.below(64) << 12,
                    page: PageSize::KIB_4,
                };
                random.below(3) as usize
            ],
            block: random.below(4),
            pieces: random.below(2) == 0,
            orders: random.below(2) == 0,
        }
        .into(),
        wire::ServeTrap {
            block: random.below(4),
            offset: random.below(1 << 18),
            write: random.below(2) == 0,
        }
        .into(),
        wire::Take {
            mapping,
            range: ByteRange {
                offset: random.below(1 << 14),
                bytes: random.below(1 << 14),
            },
            write: random.below(2) == 0,
        }
        .into(),
        wire::Free { mapping }.into(),
        LoadFolder {
            slot: (random.below(2) == 0).then(|| SlotId(random.below(5) as u8)),
            space,
        }
        .into(),
        wire::Start { load }.into(),
        wire::Poll { load, slice }.into(),
        wire::PollAny {
            loads: vec![load; random.below(4) as usize],
            slice,
        }
        .into(),
        wire::Await {
            load,
            signal: Signal::Register {
                offset: random.below(64) as u32,
                mask: 1,
                value: 1,
            },
            slice,
        }
        .into(),
        wire::SetArgument {
            load,
            offset: 0x10,
            words: vec![1, 2, 3],
        }
        .into(),
        wire::WriteRegisters {
            load,
            offset: random.below(1 << 17) as u32,
            words: vec![random.below(1 << 32) as u32],
        }
        .into(),
        wire::ReadRegister {
            load,
            offset: random.below(1 << 17) as u32,
        }
        .into(),
        wire::Schedule {
            load,
            schedule: units::SlotSchedule::default(),
        }
        .into(),
        wire::Stop { load }.into(),
        wire::Expire { load }.into(),
        wire::CheckTaken { load }.into(),
        wire::Unload { load }.into(),
        wire::Advise {
            mapping,
            range,
            advice: units::Advice::STREAM,
        }
        .into(),
        wire::Prefetch { mapping }.into(),
        wire::MakeHot { mapping }.into(),
        wire::Sync { mapping }.into(),
        wire::Refresh {
            mapping,
            discard: random.below(2) == 0,
        }
        .into(),
        wire::UnmapPart { mapping, range }.into(),
        wire::Unmap { mapping }.into(),
        wire::DestroySpace { space }.into(),
        wire::Describe.into(),
        wire::FetchReport.into(),
        wire::TakeStatus.into(),
        wire::OpenStream {
            load,
            port: "input".to_owned(),
        }
        .into(),
        wire::BeginTransfer {
            stream,
            direction: units::StreamDirection::In,
            mapping,
            range,
            packet: PacketPart::Whole,
        }
        .into(),
        wire::PollStream { stream, slice }.into(),
        wire::PollStreams {
            streams: vec![stream; random.below(4) as usize],
            slice,
        }
        .into(),
        wire::ExpireStream {
            stream,
            elapsed: slice,
        }
        .into(),
        wire::InspectStream { stream }.into(),
        wire::SettleStream { stream, taken }.into(),
        wire::PacketsMissing {
            stream,
            wanted: 2,
            taken,
        }
        .into(),
        wire::StopStream { stream }.into(),
        wire::CloseStream {
            stream,
            later: random.below(2) == 0,
        }
        .into(),
        wire::ConnectPorts {
            from: port(),
            to: port(),
        }
        .into(),
        wire::Inspect {
            connection: wire::ConnectionId(random.below(40)),
        }
        .into(),
        wire::Disconnect {
            connection: wire::ConnectionId(random.below(40)),
            later: random.below(2) == 0,
        }
        .into(),
        wire::Close.into(),
    ]
}

/// Numbers at which things end.
const EDGES: [&str; 12] = [
    "0",
    "1",
    "-1",
    "255",
    "256",
    "65536",
    "4294967295",
    "4294967296",
    "281474976710656",
    "9223372036854775807",
    "18446744073709551615",
    "1e99",
];

/// Puts a number of the text at one of its ends.
fn at_an_edge(text: &str, random: &mut Random) -> String {
    let digits = |c: char| c.is_ascii_digit();
    let starts: Vec<usize> = text
        .char_indices()
        .filter(|&(at, c)| digits(c) && !text[..at].ends_with(digits))
        .map(|(at, _)| at)
        .collect();
    if starts.is_empty() {
        return text.to_owned();
    }
    let start = starts[random.below(starts.len() as u64) as usize];
    let rest = text[start..].trim_start_matches(digits);
    let edge = EDGES[random.below(EDGES.len() as u64) as usize];
    format!("{}{edge}{rest}", &text[..start])
}

fn mutated(body: Vec<u8>, random: &mut Random) -> Vec<u8> {
    let mut text = String::from_utf8(body).unwrap();
    match random.below(32) {
        // As it is: some must get far.
        0..=13 => text.into_bytes(),
        14..=27 => {
            for _ in 0..=random.below(3) {
                text = at_an_edge(&text, random);
            }
            text.into_bytes()
        }
        28 | 29 => {
            let mut bytes = text.into_bytes();
            for _ in 0..=random.below(4) {
                let at = random.below(bytes.len() as u64) as usize;
                bytes[at] ^= 1 << random.below(8);
            }
            bytes
        }
        30 => {
            let bytes = text.into_bytes();
            let end = random.below(bytes.len() as u64 + 1) as usize;
            bytes[..end].to_vec()
        }
        _ => {
            // A part twice.
            let bytes = text.into_bytes();
            let at = random.below(bytes.len() as u64) as usize;
            [&bytes[..at], &bytes[at / 2..]].concat()
        }
    }
}

/// A client that never sent anything of sense, but its greeting.
fn connect(served: &Served) -> UnixStream {
    let socket = UnixStream::connect(served.socket()).unwrap();
    let hello = Hello {
        version: Version::THIS,
        program: "fuzz".to_owned(),
    };
    let hello = Frame::new(Kind::Hello, 0, encode(&hello).unwrap());
    send(&socket, &hello).unwrap();
    let welcome = receive(&socket, Side::Daemon).unwrap();
    assert_eq!(welcome.kind, Kind::Welcome);
    socket
}

/// Sends some messages, and ends; how many it sent, and whether it was ended for one of them.
fn one_connection(
    served: &Served,
    random: &mut Random,
    heard: &Arc<Heard>,
    messages: u64,
) -> (u64, bool) {
    let socket = connect(served);
    let reader = socket.try_clone().unwrap();
    let answers = Arc::new(AtomicU64::new(0));
    let (counts, hears) = (answers.clone(), heard.clone());
    let reads = std::thread::spawn(move || {
        while let Ok(frame) = receive(&reader, Side::Daemon) {
            hears.hear(&frame);
            counts.fetch_add(1, Ordering::Relaxed);
        }
    });
    let (mut sent, mut ended) = (0, false);
    // Sockets for orders that nobody follows.
    let mut silent = Vec::new();
    let mut ticket = 0;
    // Something that the others may name.
    let space = wire::CreateSpace {
        options: wire::SpaceOptions::new(),
    };
    let mut first = Some(Message::from(space));
    for _ in 0..messages {
        let all = corpus(random, heard.newest.load(Ordering::Relaxed));
        let some = random.below(all.len() as u64) as usize;
        let begins = first.is_some();
        let message = first.take().unwrap_or_else(|| all[some].clone());
        let wanted = message.descriptors();
        let body = encode(&message).unwrap();
        let body = if begins { body } else { mutated(body, random) };
        ticket += 1 + random.below(2);
        let mut frame = Frame::new(Kind::Request, ticket, body);
        let descriptors = match random.below(16) {
            0 => random.below(5) as usize,
            _ => wanted,
        };
        for number in 0..descriptors {
            if matches!(message, Message::ShareTrapped(_)) && number > 0 {
                let (program, orders) = wire::order_sockets().unwrap();
                match random.below(8) {
                    0 => silent.push(program),
                    1 => wire::acknowledge(
                        &program,
                        wire::Acknowledgement {
                            number: 1,
                            error: 5,
                        },
                    )
                    .unwrap(),
                    _ => {}
                }
                frame.descriptors.push(orders);
                continue;
            }
            let file = match (&message, random.below(8)) {
                (_, 0) => File::open("/dev/null"),
                (_, 1) => File::open(served.path("bystander")),
                (Message::ShareDescriptor(_) | Message::ShareTrapped(_), 2..=6) => {
                    Ok(sealed(random.below(1 << 18)))
                }
                (Message::LoadFolder(_), 2..=4) => File::open(kernel("gups")),
                (Message::LoadFolder(_), _) => File::open(kernel("copy")),
                _ => File::options()
                    .read(true)
                    .write(true)
                    .open(served.path("fuzzed")),
            };
            frame.descriptors.push(file.unwrap().into());
        }
        if random.below(32) == 0 {
            frame = Frame::new(Kind::Cancel, random.below(ticket + 2), Vec::new());
        }
        if send(&socket, &frame).is_err() {
            ended = true;
            break;
        }
        sent += 1;
        // Names of what was made are for the next; and some come all at once.
        let asked = Instant::now();
        let patience = Duration::from_micros(200 * random.below(3));
        let before = answers.load(Ordering::Relaxed);
        while answers.load(Ordering::Relaxed) == before && asked.elapsed() < patience {
            std::thread::yield_now();
        }
    }
    // So that some of it has been begun when the client ends.
    let begin = Instant::now();
    let patience = Duration::from_micros(random.below(3000));
    while begin.elapsed() < patience && answers.load(Ordering::Relaxed) < messages {
        std::thread::yield_now();
    }
    // It may be closed already.
    let _ = socket.shutdown(std::net::Shutdown::Both);
    reads.join().unwrap();
    (sent, ended)
}

/// Memory of this process, with the daemon and its clients, in bytes.
fn memory() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes: u64 = line
        .unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap();
    kilobytes << 10
}

/// The messages of all runs in the file, and the seed of the next.
fn earlier(runs: &str) -> (u64, u64) {
    let text = std::fs::read_to_string(runs).unwrap_or_default();
    let messages = text.lines().map(|line| {
        let (_, messages) = line.split_once(' ').unwrap();
        messages.parse::<u64>().unwrap()
    });
    (messages.sum(), text.lines().count() as u64)
}

fn still_served(
    card: &Card,
    served: &Served,
    from: &tombolo::Mapping,
    space: &tombolo::AddressSpace,
) {
    card.describe().unwrap();
    from.sync().unwrap();
    let bytes = std::fs::read(served.path("bystander")).unwrap();
    let to = served.path("copied");
    // Those who are ending may have all slots for a moment.
    let slot = loop {
        match card.load_anywhere(kernel("copy"), space) {
            Ok(slot) => break slot,
            Err(error) => assert_eq!(error.code(), tombolo::ErrorCode::NoFreeSlot, "{error}"),
        }
    };
    let to_map = space
        .map_file(&to, MapOptions::create(from.bytes()))
        .unwrap();
    set_copy(&slot, from, &to_map);
    slot.start().unwrap();
    slot.wait(None, |_| Continue::Yes).unwrap();
    to_map.unmap().unwrap();
    slot.close().unwrap();
    assert!(std::fs::read(&to).unwrap() == bytes);
}

#[test]
fn no_message_reaches_another_client_or_ends_the_daemon() {
    let served = Served::new();
    let bytes: Vec<u8> = (0..70_000u32).map(|n| (n * 3) as u8).collect();
    let file = served.file("bystander", &bytes);
    served.file("fuzzed", &[7; 40_000]);
    let card = served.open();
    let space = card.create_space().unwrap();
    let from = space.map_file(&file, MapOptions::read_only()).unwrap();
    still_served(&card, &served, &from, &space);
    let (_, before) = at_rest(&card);
    let wanted = std::env::var("TOMBOLO_FUZZ").map_or(MESSAGES, |text| text.parse().unwrap());
    let runs = std::env::var(RUNS).ok();
    let (messages, seed) = runs.as_deref().map_or((0, 0), earlier);
    // Not zero for any seed that is reached.
    let mut random = Random(0x2545_f491_4f6c_dd1d ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let mut warm = None;
    let heard = Arc::new(Heard::default());
    let (mut sent, mut ended) = (0, 0);
    while sent < wanted {
        let messages = 1 + random.below(A_CONNECTION);
        let (some, cut) = one_connection(&served, &mut random, &heard, messages);
        sent += some;
        ended += u64::from(cut);
        if sent >= WARM && warm.is_none() {
            warm = Some((sent, memory()));
        }
        if random.below(20) == 0 {
            still_served(&card, &served, &from, &space);
        }
    }
    still_served(&card, &served, &from, &space);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
    let done = heard.done.load(Ordering::Relaxed);
    assert!(ended > 0, "no message was malformed");
    assert!(10 * done > sent, "{done} of {sent} messages did something");
    assert_nothing_is_left(&card, before);
    if let Some((warm, bytes)) = warm.filter(|(warm, _)| sent > 2 * warm) {
        let grown = memory() as f64 - bytes as f64;
        println!("memory: {bytes} bytes after {warm} messages, {grown} more after {sent}");
        let allowed = GROWTH + GROWTH_EACH * (sent - warm) as f64;
        assert!(grown <= allowed, "memory grows: {allowed}");
    }
    if let Some(runs) = runs {
        let mut file = File::options()
            .append(true)
            .create(true)
            .open(runs)
            .unwrap();
        writeln!(file, "{seed} {sent}").unwrap();
        println!("{} messages in all runs", messages + sent);
    }
}
