//! Remote memory: its rate compared with a minimal program that moves the same bytes, over libfabric in C
//! (`remote/fabric.c`) and over TCP; and 64 MiB through a card, compared byte by byte.

mod silent;

use super::Failure;
use crate::row::Row;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::time::{Duration, Instant};
use tombolo::{
    Card, Continue, Device, Export, Flow, FunctionalCard, FunctionalConfig, RemoteMemory,
    RemoteServer, SlotId,
};

/// Figures produced.
pub const NAMES: &[&str] = &[
    "remote.share_of_baseline",
    "remote.share_of_plain_tcp",
    "remote.wrong_bytes",
    "remote.bytes_through_card",
    "remote.stopped_peer_ms",
];

/// Sizes of operations in bytes.
const SIZES: [usize; 4] = [64 << 10, 256 << 10, 1 << 20, 4 << 20];
/// Bytes moved per round: few, so that some rounds are undisturbed by other load.
const TOTAL: usize = 8 << 20;
/// Number of alternating rounds, of which the fastest counts, since the machine is shared.
const ROUNDS: usize = 40;
/// Rounds per start of the C program; the first is cold, like ours.
const AT_A_TIME: usize = 10;
const THROUGH: u64 = 64 << 20;

/// Measures both rates, and the bytes through a card.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let plain = share_of_tcp()?;
    let share = share_of_libfabric()?;
    let (wrong, through) = through_a_card()?;
    let silent = silent::longest()?;
    Ok(vec![
        Row::new(NAMES[0], share, "ratio"),
        Row::new(NAMES[1], plain, "ratio"),
        Row::new(NAMES[2], wrong, "bytes"),
        Row::new(NAMES[3], through, "bytes"),
        Row::new(NAMES[4], silent, "ms"),
    ])
}

/// The smallest share of the C program's rate, over two providers, all sizes and both directions.
fn share_of_libfabric() -> Result<f64, Failure> {
    let folder = tempfile::tempdir()?;
    let program = folder.path().join("fabric");
    let source = simcard::home().join("crates/lab/src/bars/remote/fabric.c");
    let built = Command::new("cc")
        .args(["-O2", "-Wall", "-o"])
        .args([&program, &source])
        .arg("-lfabric")
        .status()?;
    if !built.success() {
        return Err("remote/fabric.c does not build: install libfabric-dev".into());
    }
    let server = RemoteServer::listen(Export::memory(TOTAL as u64)?, "127.0.0.1:0")?;
    let mut buffer = vec![1; 4 << 20];
    let mut worst = f64::INFINITY;
    for provider in ["tcp", "shm"] {
        let address = format!("fabric+{provider}://{}", server.address());
        let mut memory = RemoteMemory::connect(&address, Duration::from_secs(60))?;
        for size in SIZES {
            let bytes = &mut buffer[..size];
            let (mut ours, mut theirs) = ([0.0f64; 2], [0.0f64; 2]);
            for _ in 0..ROUNDS / AT_A_TIME {
                for _ in 0..AT_A_TIME {
                    for (ours, write) in ours.iter_mut().zip([false, true]) {
                        let since = Instant::now();
                        moved(&mut memory, bytes, write)?;
                        let rate = TOTAL as f64 / since.elapsed().as_secs_f64() / 1e9;
                        *ours = ours.max(rate);
                    }
                }
                let numbers = [size, TOTAL, AT_A_TIME].map(|number| number.to_string());
                let told = Command::new(&program)
                    .arg(provider)
                    .args(numbers)
                    .output()?;
                let told = String::from_utf8(told.stdout)?;
                for (theirs, line) in theirs.iter_mut().zip(told.lines()) {
                    *theirs = theirs.max(line.parse()?);
                }
            }
            for (way, (ours, theirs)) in ["read", "write"].iter().zip(ours.iter().zip(theirs)) {
                eprintln!("{provider} {way} {size}: {ours:.2} GB/s, C {theirs:.2} GB/s");
                worst = worst.min(ours / theirs);
            }
        }
    }
    Ok(worst)
}

/// Moves all bytes once.
fn moved(memory: &mut RemoteMemory, bytes: &mut [u8], write: bool) -> Result<(), Failure> {
    for at in (0..TOTAL).step_by(bytes.len()) {
        match write {
            true => memory.write(at as u64, bytes)?,
            false => memory.read(at as u64, bytes)?,
        }
    }
    Ok(())
}

/// The smallest share of the plain program's rate, over all sizes and both directions.
fn share_of_tcp() -> Result<f64, Failure> {
    let server = RemoteServer::listen(Export::memory(TOTAL as u64)?, "127.0.0.1:0")?;
    let mut memory = RemoteMemory::connect(&server.address().to_string(), Duration::from_secs(60))?;
    let mut plain = Plain::start()?;
    let mut buffer = vec![1; 4 << 20];
    let mut worst = f64::INFINITY;
    for size in SIZES {
        let bytes = &mut buffer[..size];
        for write in [false, true] {
            let (mut ours, mut theirs) = (f64::INFINITY, f64::INFINITY);
            for _ in 0..ROUNDS {
                let since = Instant::now();
                moved(&mut memory, bytes, write)?;
                ours = ours.min(since.elapsed().as_secs_f64());
                let since = Instant::now();
                for _ in (0..TOTAL).step_by(size) {
                    plain.transfer(bytes, write)?;
                }
                theirs = theirs.min(since.elapsed().as_secs_f64());
            }
            let rate = |time: f64| TOTAL as f64 / time / 1e9;
            let way = if write { "write" } else { "read" };
            eprintln!(
                "{way} {size}: {:.2} GB/s, plain {:.2} GB/s",
                rate(ours),
                rate(theirs)
            );
            worst = worst.min(theirs / ours);
        }
    }
    Ok(worst)
}

/// Minimal protocol: a word with length and direction, followed by the bytes; a write is acknowledged with one byte.
struct Plain(TcpStream);

impl Plain {
    fn start() -> Result<Self, Failure> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let client = TcpStream::connect(listener.local_addr()?)?;
        let (mut socket, _) = listener.accept()?;
        client.set_nodelay(true)?;
        socket.set_nodelay(true)?;
        std::thread::spawn(move || -> std::io::Result<()> {
            let mut store = vec![0; 4 << 20];
            loop {
                let mut word = [0; 8];
                socket.read_exact(&mut word)?;
                let word = u64::from_le_bytes(word);
                let bytes = &mut store[..(word >> 1) as usize];
                if word & 1 == 1 {
                    socket.read_exact(bytes)?;
                    socket.write_all(&[0])?;
                } else {
                    socket.write_all(bytes)?;
                }
            }
        });
        Ok(Self(client))
    }

    fn transfer(&mut self, bytes: &mut [u8], write: bool) -> std::io::Result<()> {
        let word = (bytes.len() as u64) << 1 | u64::from(write);
        self.0.write_all(&word.to_le_bytes())?;
        match write {
            false => self.0.read_exact(bytes),
            true => {
                self.0.write_all(bytes)?;
                self.0.read_exact(&mut [0])
            }
        }
    }
}

/// Number of wrong bytes, and of all bytes, from remote memory through a kernel to remote memory.
fn through_a_card() -> Result<(f64, f64), Failure> {
    let server = RemoteServer::listen(Export::memory(2 * THROUGH)?, "127.0.0.1:0")?;
    let address = server.address().to_string();
    let mut memory = RemoteMemory::connect(&address, Duration::from_secs(60))?;
    let data: Vec<u8> = (0..THROUGH)
        .map(|i| (i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect();
    memory.write(0, &data)?;
    let card = Card::functional(FunctionalCard::new(FunctionalConfig {
        streams_per_slot: 1,
        ..FunctionalConfig::default()
    }))?;
    let space = card.create_space()?;
    let kernel = simcard::home().join("kernels/loopback");
    let slot = card.load(SlotId(0), &kernel, &space)?;
    let device = |range: String| {
        let name = format!("remote:{address}@{range}:timeout=60s:buffer=1MiB");
        Device::parse(name.as_ref())
    };
    let mut flow = Flow::new(&space);
    flow.plug(&slot, "in", device(format!("0+{THROUGH}"))?)?;
    flow.plug(&slot, "out", device(THROUGH.to_string())?)?;
    let flowed = flow.run(None, |_| Continue::Yes)?;
    let mut got = vec![0; THROUGH as usize];
    memory.read(THROUGH, &mut got)?;
    let wrong = data.iter().zip(&got).filter(|(a, b)| a != b).count();
    let least = flowed.iter().map(|one| one.bytes).min().unwrap_or(0);
    Ok((wrong as f64, least as f64))
}
