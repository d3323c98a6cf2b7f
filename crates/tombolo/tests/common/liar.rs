//! A peer that speaks the protocol of `tombolo serve` and lies.

use std::io::{Read, Write};
use std::net::TcpListener;

/// Status of an answer: the bytes follow.
pub const GOOD: u32 = 0;
/// Status of an answer: the request's key is of another connection.
pub const WRONG_KEY: u32 = 3;

/// A server that claims 100 bytes, and answers the first request with this status and byte count. Without an answer it
/// is no server at all.
pub fn liar(answer: Option<(u32, u32)>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let Some((status, bytes)) = answer else {
            return socket.write_all(&[b'x'; 32]).unwrap();
        };
        let mut hello = b"tombolo\x01\x02\0\0\0\x01\0\0\0".to_vec();
        hello.extend([100u64.to_le_bytes(), 9u64.to_le_bytes()].concat());
        socket.write_all(&hello).unwrap();
        let mut asked = [0; 64];
        socket.read_exact(&mut asked).unwrap();
        let mut reply = b"TMRP".to_vec();
        reply.extend(status.to_le_bytes());
        reply.extend_from_slice(&asked[8..16]);
        reply.extend(bytes.to_le_bytes());
        reply.resize(64 + bytes as usize, 0);
        socket.write_all(&reply).unwrap();
        // Until it hangs up.
        let _ = socket.read(&mut [0; 1]);
    });
    address
}
