//! Malformed messages: truncated, wrong sizes, wrong numbers, random bytes. Other clients are not affected, and nothing leaks.

mod common;

use common::{Served, Which};
use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;
use tombolo::MapOptions;
use tombolo_fsrf::{Decoder, Layout, Malformed, Map, Range, Request};

/// Numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// A message, written down by hand as the documentation has it.
fn message(kind: u32, words: &[u64]) -> Vec<u8> {
    let words = words.iter().flat_map(|word| word.to_le_bytes());
    kind.to_le_bytes().into_iter().chain(words).collect()
}

fn open(path: &Path) -> Vec<u8> {
    let mut message = message(4, &[0]);
    let mut field = [0; 4096];
    let path = path.as_os_str().as_bytes();
    field[..path.len()].copy_from_slice(path);
    message.extend(field);
    message
}

fn int_pair(low: i32, high: i32) -> u64 {
    u64::from(high as u32) << 32 | u64::from(low as u32)
}

/// One of each kind, and what it is.
fn all() -> Vec<(Vec<u8>, Request)> {
    let range = Range {
        app: 3,
        address: 0x4000,
        bytes: 99,
    };
    vec![
        (
            message(0, &[9, 1, 0x28]),
            Request::Read {
                app: 1,
                register: 0x28,
            },
        ),
        (
            message(2, &[9, 1, 0x30, u64::MAX - 1]),
            Request::Write {
                app: 1,
                register: 0x30,
                value: u64::MAX - 1,
            },
        ),
        (
            open(Path::new("/tmp/a b")),
            Request::Open {
                path: b"/tmp/a b".to_vec(),
            },
        ),
        (
            message(6, &[2, int_pair(-5, 77)]),
            Request::Close { descriptor: -5 },
        ),
        (
            message(
                8,
                &[3, 0, 1 << 33, int_pair(3, 0x8001), int_pair(7, -1), 4096],
            ),
            Request::Map(Map {
                app: 3,
                address: 0,
                bytes: 1 << 33,
                protection: 3,
                flags: 0x8001,
                descriptor: 7,
                offset: 4096,
            }),
        ),
        (message(10, &[3, 0x4000, 99]), Request::Unmap(range)),
        (
            message(12, &[3, 0x4000, 99, int_pair(4, -1)]),
            Request::Sync { range, flags: 4 },
        ),
        (
            message(14, &[0, 3, 32]),
            Request::SetMode { mode: 3, data: 32 },
        ),
    ]
}

/// Decodes bytes that arrive in pieces of these sizes, repeated.
fn decoded(
    bytes: &[u8],
    mut size: impl FnMut() -> usize,
) -> (Vec<Request>, Result<bool, Malformed>) {
    let mut decoder = Decoder::new(Layout::default());
    let (mut rest, mut found) = (bytes, Vec::new());
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(size().clamp(1, rest.len()));
        decoder.take(piece);
        rest = more;
        loop {
            match decoder.next_request() {
                Ok(Some(request)) => found.push(request),
                Ok(None) => break,
                Err(error) => return (found, Err(error)),
            }
        }
    }
    (found, Ok(decoder.is_within()))
}

#[test]
fn messages_are_what_they_are_however_their_bytes_come() {
    let (bytes, requests): (Vec<_>, Vec<_>) = all().into_iter().unzip();
    let bytes = bytes.concat();
    let mut random = Random(7);
    assert_eq!(
        decoded(&bytes, || usize::MAX),
        (requests.clone(), Ok(false))
    );
    assert_eq!(decoded(&bytes, || 1), (requests.clone(), Ok(false)));
    for _ in 0..50 {
        let (found, rest) = decoded(&bytes, || random.below(100) as usize);
        assert_eq!((found, rest), (requests.clone(), Ok(false)));
    }
    // A part of the last message is none.
    for missing in 1..28 {
        let (found, rest) = decoded(&bytes[..bytes.len() - missing], || 50);
        assert_eq!(
            (found.len(), rest),
            (requests.len() - 1, Ok(true)),
            "{missing}"
        );
    }
    for kind in [1, 3, 5, 7, 9, 11, 13, 15, 17, 24, 256, u32::MAX] {
        let (found, rest) = decoded(&message(kind, &[0, 0]), || usize::MAX);
        assert_eq!((found.len(), rest), (0, Err(Malformed::Kind(kind))));
    }
    let (found, rest) = decoded(&message(16, &[0, 0]), || usize::MAX);
    assert_eq!((found.len(), rest), (0, Err(Malformed::Stream(16))));
    let endless = [message(4, &[0]), vec![b'/'; 4096]].concat();
    assert_eq!(decoded(&endless, || 999).1, Err(Malformed::Path));
}

#[test]
fn any_bytes_are_decoded_or_refused() {
    let mut random = Random(0x9e37_79b9);
    let mut ends = BTreeSet::new();
    for _ in 0..20_000 {
        let count = random.below(200) as usize;
        let mut bytes: Vec<u8> = (0..count).map(|_| random.below(256) as u8).collect();
        if count > 4 {
            bytes[..4].copy_from_slice(&(random.below(17) as u32).to_le_bytes());
        }
        let whole = decoded(&bytes, || usize::MAX);
        ends.insert(match whole.1 {
            Ok(within) => within.to_string(),
            Err(_) => "refused".to_owned(),
        });
        assert_eq!(whole, decoded(&bytes, || random.below(9) as usize));
    }
    assert_eq!(ends.len(), 3, "{ends:?}");
}

fn connect(served: &Served) -> UnixStream {
    let socket = UnixStream::connect(served.path("socket")).unwrap();
    let timeout = Some(Duration::from_secs(60));
    socket.set_read_timeout(timeout).unwrap();
    socket
}

/// Sends something and no more; what came, until the end.
fn said_and_heard(served: &Served, bytes: &[u8]) -> Vec<u8> {
    let mut socket = connect(served);
    // It may be ended before all of it is sent.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut heard = Vec::new();
    let _ = socket.read_to_end(&mut heard);
    heard
}

#[test]
fn halves_and_other_sizes_end_the_connection_and_are_reported() {
    let served = Served::new(Which::Functional, &[(0, "copy")]);
    let file = served.file("file", &[1; 5000]);
    let descriptor = 3i32.to_le_bytes();
    for (bytes, heard, told) in [
        (vec![], vec![], ""),
        (vec![0, 0, 0], vec![], "it ended within a message"),
        (
            open(&file)[..2000].to_vec(),
            vec![],
            "it ended within a message",
        ),
        (
            [open(&file), vec![6]].concat(),
            descriptor.to_vec(),
            "it ended within a message",
        ),
        // The next message begins in the middle of this one.
        (
            [message(14, &[0, 0]), message(14, &[77 << 32, 0, 0])].concat(),
            vec![],
            "77 is none of the eight kinds",
        ),
        (
            b"GET / HTTP/1.0\r\n\r\n".to_vec(),
            vec![],
            "none of the eight kinds",
        ),
        (
            message(0, &[0, 1, 0]),
            vec![],
            "application 1, which there is not",
        ),
        (message(2, &[0, 0, 3, 0]), vec![], "register 0x3"),
        (
            message(0, &[0, 0, u64::MAX]),
            vec![],
            "register 0xffffffffffffffff",
        ),
        (open(Path::new("file")), vec![0xff; 4], "no absolute path"),
        (
            open(Path::new("/dev/zero")),
            vec![0xff; 4],
            "only regular files",
        ),
        (open(Path::new("")), vec![0xff; 4], "no absolute path"),
        (
            message(10, &[0, u64::MAX, u64::MAX]),
            vec![],
            "nothing is mapped",
        ),
    ] {
        assert_eq!(said_and_heard(&served, &bytes), heard, "{told}");
        served.at_rest();
        let notices = served.notices();
        assert!(
            notices.contains(told) && notices.is_empty() == told.is_empty(),
            "{told}: {notices}"
        );
    }
    // No program fills the daemon's output.
    let many = message(10, &[0, 0, 1]).repeat(1000);
    said_and_heard(&served, &many);
    served.at_rest();
    let notices = served.notices();
    assert_eq!(notices.lines().count(), 101);
    assert!(
        notices.ends_with("more of this connection is not reported"),
        "{notices}"
    );
}

#[test]
fn a_program_that_says_nothing_or_reads_nothing_holds_nobody_up() {
    let served = Served::new(Which::Functional, &[(0, "copy"), (1, "copy")]);
    let silent: Vec<UnixStream> = (0..20).map(|_| connect(&served)).collect();
    let mut deaf = connect(&served);
    deaf.set_write_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    // Until no more is taken.
    while deaf.write_all(&message(0, &[0, 0, 0]).repeat(1000)).is_ok() {}
    let file = served.file("file", &[1; 5000]);
    assert_eq!(said_and_heard(&served, &open(&file)), 3i32.to_le_bytes());
    drop((silent, deaf));
    served.at_rest();
}

fn still_served(served: &Served, bytes: &[u8]) {
    let client = served.card.client();
    let space = client.create_space().unwrap();
    let from = space
        .map_file(served.path("bystander"), MapOptions::read_only())
        .unwrap();
    let to = space
        .map_file(served.path("copied"), MapOptions::create(from.bytes()))
        .unwrap();
    let slot = client
        .load_anywhere(common::here().join("../../kernels/copy"), &space)
        .unwrap();
    slot.set_mapping("input", &from).unwrap();
    slot.set_mapping("output", &to).unwrap();
    slot.set("bytes", from.bytes()).unwrap();
    slot.run().unwrap();
    client.close().unwrap();
    assert!(fs::read(served.path("copied")).unwrap() == bytes);
}

/// A message that is nearly one.
fn mutated(random: &mut Random, file: &Path) -> Vec<u8> {
    let edge = |random: &mut Random| match random.below(8) {
        0 => u64::MAX,
        1 => 1 << 63,
        2 => 4096,
        3 => random.below(1 << 48),
        _ => random.below(64),
    };
    let app = random.below(4) / 3 * 9;
    let register = random.below(8) * 8;
    let fd = random.below(5) as i32 + 2;
    let mut made = match random.below(8) {
        0 => message(0, &[0, app, register]),
        1 => message(2, &[0, app, register, random.below(3)]),
        2 => open(file),
        3 => message(6, &[app, int_pair(fd, 0)]),
        4 => {
            let (protection, flags) = (random.below(8) as i32, random.below(64) as i32);
            let words = [
                app,
                edge(random),
                edge(random),
                int_pair(protection, flags),
                int_pair(fd, 0),
                edge(random),
            ];
            message(8, &words)
        }
        5 => message(10, &[app, edge(random), edge(random)]),
        6 => message(12, &[app, edge(random), edge(random), random.below(8)]),
        _ => message(14, &[app, edge(random), edge(random)]),
    };
    match random.below(24) {
        0 => {
            let at = random.below(made.len() as u64) as usize;
            made[at] ^= 1 << random.below(8);
        }
        1 => made.truncate(random.below(made.len() as u64 + 1) as usize),
        2 => made.push(0),
        _ => {}
    }
    made
}

#[test]
fn no_message_reaches_another_client_or_ends_the_server() {
    let served = Served::with_slots(3, &[(0, "copy"), (9, "gups")]);
    let bytes: Vec<u8> = (0..70_000u32).map(|n| (n * 3) as u8).collect();
    served.file("bystander", &bytes);
    let file = served.file("fuzzed", &[7; 40_000]);
    still_served(&served, &bytes);
    let before = served.held();
    let wanted = std::env::var("TOMBOLO_FUZZ").map_or(4000, |text| text.parse().unwrap());
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut sent, mut heard) = (0, 0);
    while sent < wanted {
        let messages = 1 + random.below(60);
        let all: Vec<u8> = (0..messages)
            .flat_map(|_| mutated(&mut random, &file))
            .collect();
        heard += said_and_heard(&served, &all).len();
        sent += messages;
        if random.below(20) == 0 {
            still_served(&served, &bytes);
        }
    }
    still_served(&served, &bytes);
    assert_eq!(fs::read(served.path("bystander")).unwrap(), bytes);
    // The kernels wrote nowhere but in it, and it has not grown.
    assert_eq!(fs::read(&file).unwrap().len(), 40_000);
    assert!(heard as u64 > wanted / 4, "{heard} bytes of replies");
    served.assert_held(before);
}
