//! `tombolo serve` against silent clients that occupy all connections.

use super::Failure;
use crate::row::Row;
use std::io::Read;
use std::net::TcpStream;
use std::time::Instant;
use tombolo::{Export, RemoteMemory, RemoteServer};

/// Figures produced.
pub const NAMES: &[&str] = &["serve.silent_clients_s"];

/// Maximum number of concurrent clients of a server.
const CLIENTS: usize = 64;
/// Number of rounds; the worst counts.
const ROUNDS: usize = 10;

/// Seconds until a new client is served while silent ones occupy all connections.
pub fn silent_clients() -> Result<Vec<Row>, Failure> {
    let mut worst = 0.0f64;
    for _ in 0..ROUNDS {
        let server = RemoteServer::listen(Export::memory(4096)?, "127.0.0.1:0")?;
        let mut silent = Vec::new();
        for _ in 0..CLIENTS {
            let mut client = TcpStream::connect(server.address())?;
            // The greeting: the client is connected.
            client.read_exact(&mut [0; 32])?;
            silent.push(client);
        }
        let begin = Instant::now();
        let address = server.address().to_string();
        let mut memory = RemoteMemory::connect(&address, RemoteMemory::TIMEOUT)?;
        memory.write(7, b"served")?;
        let mut back = [0; 6];
        memory.read(7, &mut back)?;
        if back != *b"served" {
            return Err("the 65th client read other bytes than it wrote".into());
        }
        worst = worst.max(begin.elapsed().as_secs_f64());
    }
    Ok(vec![Row::new(NAMES[0], worst, "s")])
}
