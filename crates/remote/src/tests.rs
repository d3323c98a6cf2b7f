//! Checks that remote memory preserves every byte, refuses bad requests, and never trusts its peer.

use super::wire::{Hello, Operation, ReplyHeader, RequestHeader, Status};
use super::{Export, RemoteError, RemoteMemory, RemoteServer};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_millis(300);

fn server(bytes: u64) -> RemoteServer {
    RemoteServer::listen(Export::memory(bytes).unwrap(), "127.0.0.1:0").unwrap()
}

fn connect(server: &RemoteServer) -> RemoteMemory {
    RemoteMemory::connect(&server.address().to_string(), Duration::from_secs(20)).unwrap()
}

#[test]
fn what_is_written_is_read_and_nothing_else_changes() {
    let bytes = 40 << 20;
    let server = server(bytes);
    let mut memory = connect(&server);
    assert!(memory.is_writable() && memory.bytes() == bytes);
    // More than a window of the largest requests.
    let data: Vec<u8> = (0..20_000_003u64)
        .map(|i| (i * 7 + i / 257) as u8)
        .collect();
    memory.write(5, &data).unwrap();
    let mut got = vec![0xaa; data.len() + 9];
    connect(&server).read(1, &mut got).unwrap();
    assert!(got[4..got.len() - 5] == data);
    assert!(got[..4] == [0; 4] && got[got.len() - 5..] == [0; 5]);
    for (offset, count) in [(bytes, 1), (u64::MAX, 1), (bytes - 1, 2)] {
        let error = memory.read(offset, &mut vec![0; count]).unwrap_err();
        assert!(matches!(error, RemoteError::OutOfRange { .. }), "{error}");
    }
    memory.read(bytes - 1, &mut [0]).unwrap();
    let export = Export::memory(10).unwrap().read_only();
    let server = RemoteServer::listen(export, "127.0.0.1:0").unwrap();
    let error = connect(&server).write(0, b"x").unwrap_err();
    assert!(error.to_string().contains("for reading only"), "{error}");
    let mut same = [1; 10];
    connect(&server).read(0, &mut same).unwrap();
    assert_eq!(same, [0; 10]);
}

/// A server with the behaviour that the test needs.
fn liar(says: impl FnOnce(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || says(listener.accept().unwrap().0));
    address
}

#[test]
fn a_peer_that_lies_is_found_out() {
    let hello = Hello {
        writable: true,
        full: false,
        bytes: 100,
        key: 9,
    };
    let garbage: [&[u8]; 3] = [&[0; 32], b"HTTP/1.1 400 Bad Request\r\n\r\n......", &{
        let mut huge = hello.encode();
        huge[23] = 0xff;
        huge
    }];
    for bytes in garbage.map(<[u8]>::to_vec) {
        let address = liar(move |mut socket| socket.write_all(&bytes).unwrap());
        let error = RemoteMemory::connect(&address, SHORT).unwrap_err();
        assert!(matches!(error, RemoteError::Lies { .. }), "{error}");
    }
    let answer = |tag, bytes, status| ReplyHeader { status, tag, bytes };
    let cases = [
        (answer(2, 10, Status::Good), "the reply to request 2 came"),
        (
            answer(1, 11, Status::Good),
            "a reply of 11 bytes came, not of 10",
        ),
        (
            answer(1, u32::MAX, Status::Good),
            "a reply of 4294967295 bytes",
        ),
        (
            answer(1, 10, Status::Storage),
            "a reply of 10 bytes came, not of 0",
        ),
        (
            answer(1, 0, Status::WrongKey),
            "the key is of another connection",
        ),
        (
            answer(1, 0, Status::OutOfRange),
            "it has fewer bytes than it said",
        ),
    ];
    for (answer, told) in cases {
        let address = liar(move |mut socket| {
            socket.write_all(&hello.encode()).unwrap();
            socket.read_exact(&mut [0; RequestHeader::BYTES]).unwrap();
            socket.write_all(&answer.encode()).unwrap();
            let _ = socket.read(&mut [0; 1]);
        });
        let mut memory = RemoteMemory::connect(&address, SHORT).unwrap();
        let error = memory.read(0, &mut [0; 10]).unwrap_err();
        assert!(error.to_string().contains(told), "{error}");
        let error = memory.read(0, &mut [0; 10]).unwrap_err();
        assert!(error.to_string().contains("failed before"), "{error}");
    }
}

#[test]
fn a_peer_that_dies_or_says_nothing_is_an_error_and_the_next_connection_works() {
    let silent = liar(|mut socket| {
        let hello = Hello {
            writable: true,
            full: false,
            bytes: 100,
            key: 9,
        };
        socket.write_all(&hello.encode()).unwrap();
        std::thread::sleep(4 * SHORT);
    });
    let mut memory = RemoteMemory::connect(&silent, SHORT).unwrap();
    let error = memory.read(0, &mut [0; 10]).unwrap_err();
    assert!(matches!(error, RemoteError::Silent { .. }), "{error}");
    let mute = liar(|_socket| std::thread::sleep(4 * SHORT));
    let error = RemoteMemory::connect(&mute, SHORT).unwrap_err();
    assert!(matches!(error, RemoteError::Silent { .. }), "{error}");

    let first = server(1000);
    let address = first.address().to_string();
    let mut memory = connect(&first);
    memory.write(0, b"here").unwrap();
    drop(first);
    let error = memory.read(0, &mut [0; 10]).unwrap_err();
    assert!(matches!(error, RemoteError::Lost { .. }), "{error}");
    let error = RemoteMemory::connect(&address, SHORT).unwrap_err();
    assert!(matches!(error, RemoteError::Connect { .. }), "{error}");
    let second = RemoteServer::listen(Export::memory(1000).unwrap(), &address).unwrap();
    connect(&second).read(0, &mut [0; 10]).unwrap();
}

#[test]
fn a_client_that_lies_harms_nobody() {
    let server = server(4096);
    let mut good = connect(&server);
    good.write(0, &[7; 4096]).unwrap();
    let mut seed = 3u64;
    let mut random = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        seed >> 33
    };
    for round in 0..300 {
        let mut socket = TcpStream::connect(server.address()).unwrap();
        let mut hello = [0; Hello::BYTES];
        socket.read_exact(&mut hello).unwrap();
        let key = Hello::decode(&hello).unwrap().key;
        // A forbidden write: another key, beyond the end; then noise in its head; then noise.
        let mut bytes = RequestHeader {
            operation: Operation::Write,
            tag: 1,
            key: key.wrapping_add(u64::from(round % 3 == 0)),
            offset: [0, 4090, u64::MAX - 3][round % 3],
            bytes: 8,
        }
        .encode();
        if round % 2 == 1 {
            // Not in the offset: a change from one valid request into another is performed.
            bytes[random() as usize % 8] ^= 1 << (random() % 8);
        }
        socket.write_all(&bytes).unwrap();
        let noise: Vec<u8> = (0..random() % 200).map(|_| random() as u8).collect();
        let _ = socket.write_all(&noise);
    }
    let started = Instant::now();
    let mut all = [0; 4096];
    good.read(0, &mut all).unwrap();
    assert!(all == [7; 4096], "after {:?}", started.elapsed());
}
