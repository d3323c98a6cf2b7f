//! Programs that drive a card over its socket and are killed at seeded moments: the next program finds the card in its
//! initial state, its data is correct, and nothing more is written to the killed program's memory. Likewise hosts that
//! reset the function at such moments and continue.
//!
//! `TOMBOLO_KILLS` sets the number of kills.

mod direct;

use card::command::Command as CardCommand;
use card::memory::HostMemory;
use card::registers as reg;
use device::{serve, Connection, Function, Interrupts};
use rustix::fs::{fcntl_add_seals, ftruncate, memfd_create, MemfdFlags, SealFlags};
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::{CardAddr, CommandId, HostAddr, Operation, Stripe};
use vfio_user::Client;

const BAR: u32 = 0;
const CONFIGURATION: u32 = 7;
const MEMORY_AND_MASTER: u16 = 6;
/// Bytes copied to the card and back.
const BYTES: u64 = 256 << 10;
/// Bytes of a command and of a record, and log2 of the ring capacity: larger than a killed program can use.
const ENTRY: usize = 64;
const RING_LOG2: u32 = 12;
/// Bus addresses of the host's memory, one MiB each: commands, events, source, target.
const AT: u64 = 1 << 28;
const PIECE: u64 = 1 << 20;
const PIECES: u64 = 4;
const LIMIT: Duration = Duration::from_secs(60);
/// Inputs of a killed program: the socket, and the file of its memory.
const SOCKET: &str = "TOMBOLO_KILLED_SOCKET";
const MEMORY: &str = "TOMBOLO_KILLED_MEMORY";

/// A minimal program for the card: registers, one queue, file-backed memory.
struct Program {
    client: Client,
    memory: HostMemory,
    submitted: u32,
}

impl Program {
    /// Connects, maps memory and rings, and enables the card.
    fn start(socket: &Path, file: &File) -> Self {
        let memory = HostMemory::of_file(file.as_fd(), (PIECES * PIECE) as usize).unwrap();
        let mut client = Client::new(socket).unwrap();
        client
            .dma_map(0, AT, PIECES * PIECE, file.as_raw_fd())
            .unwrap();
        let mut program = Self {
            client,
            memory,
            submitted: 0,
        };
        program.begin();
        program
    }

    /// Enables a card in its initial state, with empty rings.
    fn begin(&mut self) {
        self.memory.zero(0, (2 * PIECE) as usize).unwrap();
        self.submitted = 0;
        self.client
            .region_write(CONFIGURATION, 4, &MEMORY_AND_MASTER.to_le_bytes())
            .unwrap();
        assert_eq!(self.read(reg::ID), reg::ID_MAGIC);
        let reset = self.read(reg::RESET);
        assert_eq!(reg::reset::USED.get(reset), 0, "the card is as new");
        assert_eq!(self.read(reg::CONTROL), 0, "and has no rings");
        let queue = reg::QUEUE.at(0);
        for (register, value) in [
            (queue + reg::queue::BASE_LO, AT as u32),
            (queue + reg::queue::SIZE_LOG2, RING_LOG2),
            (reg::EVENT_BASE_LO, (AT + PIECE) as u32),
            (reg::EVENT_SIZE_LOG2, RING_LOG2),
            (reg::CONTROL, reg::control::ENABLE.put(1)),
        ] {
            self.write(register, value);
        }
    }

    fn read(&mut self, register: u32) -> u32 {
        let mut word = [0; 4];
        self.client
            .region_read(BAR, register.into(), &mut word)
            .unwrap();
        u32::from_le_bytes(word)
    }

    fn write(&mut self, register: u32, value: u32) {
        self.client
            .region_write(BAR, register.into(), &value.to_le_bytes())
            .unwrap();
    }

    /// Submits a copy behind a fence, so that the data copied back is the data copied in.
    fn submit(&mut self, operation: Operation) {
        let command = CardCommand {
            id: CommandId(self.submitted),
            operation,
            fence: true,
            notify: true,
            ..CardCommand::default()
        };
        let place = (self.submitted as usize % (1 << RING_LOG2)) * ENTRY;
        for (word, value) in command.encode().into_iter().enumerate() {
            self.memory.store(place + 8 * word, value).unwrap();
        }
        self.submitted += 1;
        let tail = self.submitted;
        self.write(reg::QUEUE.at(0) + reg::queue::TAIL, tail);
    }

    fn copy_there_and_back(&mut self) {
        let (at, stripe) = (CardAddr::new(0).unwrap(), Stripe::NONE);
        self.submit(Operation::CopyIn {
            from: HostAddr::new(AT + 2 * PIECE),
            to: at,
            bytes: BYTES,
            stripe,
        });
        self.submit(Operation::CopyOut {
            from: at,
            to: HostAddr::new(AT + 3 * PIECE),
            bytes: BYTES,
            stripe,
        });
    }

    /// Waits until every command has ended.
    fn finish(&mut self) {
        let limit = Instant::now() + LIMIT;
        while self.read(reg::EVENT_TAIL) != self.submitted {
            assert!(Instant::now() < limit, "commands do not end");
            std::thread::sleep(Duration::from_micros(200));
        }
        let tail = self.submitted;
        self.write(reg::EVENT_HEAD, tail);
    }
}

/// Memory of a program: a file sealed against shrinking, with a source.
fn file(seed: u64) -> File {
    let file = memfd_create("program", MemfdFlags::ALLOW_SEALING).unwrap();
    ftruncate(&file, PIECES * PIECE).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    let file = File::from(file);
    let memory = HostMemory::of_file(file.as_fd(), (PIECES * PIECE) as usize).unwrap();
    memory.write(2 * PIECE as usize, &source(seed)).unwrap();
    file
}

fn source(seed: u64) -> Vec<u8> {
    let bytes = (0..BYTES)
        .map(|at| (at.wrapping_add(seed).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as u8);
    bytes.collect()
}

fn content(file: &File) -> Vec<u8> {
    let mut bytes = vec![0; (PIECES * PIECE) as usize];
    let memory = HostMemory::of_file(file.as_fd(), bytes.len()).unwrap();
    memory.read(0, &mut bytes).unwrap();
    bytes
}

/// Copies until it is killed: the test below runs this test in a separate process.
#[test]
fn a_program_that_is_to_be_killed() {
    let (Ok(socket), Ok(memory)) = (std::env::var(SOCKET), std::env::var(MEMORY)) else {
        return;
    };
    let file = File::options().read(true).write(true).open(memory).unwrap();
    let mut program = Program::start(Path::new(&socket), &file);
    let end = Instant::now() + LIMIT;
    while Instant::now() < end {
        for _ in 0..4 {
            program.copy_there_and_back();
        }
        program.finish();
    }
}

/// A process that is killed when the test ends.
struct Victim(Child);

impl Victim {
    fn start(socket: &Path, memory: &File) -> Self {
        let path = format!("/proc/{}/fd/{}", std::process::id(), memory.as_raw_fd());
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_program_that_is_to_be_killed"])
            .env(SOCKET, socket)
            .env(MEMORY, path)
            .stdout(Stdio::null())
            .spawn();
        Self(child.unwrap())
    }
}

impl Drop for Victim {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Serves a card at a socket to `hosts` hosts; sends how each connection ended.
fn serve_card(socket: &Path, hosts: u64) -> (JoinHandle<()>, Receiver<bool>) {
    let interrupts = Interrupts::default();
    let function = Function::new(direct::shell_with(interrupts.clone()), interrupts);
    let (sender, ends) = channel();
    let path = socket.to_owned();
    let server = std::thread::spawn(move || {
        let mut left = hosts;
        serve(&path, function, |end| {
            left -= 1;
            sender.send(matches!(end, Connection::Closed)).unwrap();
            left > 0
        })
        .unwrap();
    });
    while !socket.exists() {
        assert!(!server.is_finished(), "the device does not listen");
        std::thread::sleep(Duration::from_millis(5));
    }
    (server, ends)
}

/// A host that resets the function during copies: nothing is written afterwards, its maps persist, and the card works
/// for it.
#[test]
fn a_host_that_resets_in_the_middle_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("socket");
    let (server, ends) = serve_card(&socket, 1);
    let memory = file(1);
    let mut program = Program::start(&socket, &memory);
    let (mut seed, mut in_the_middle) = (2u64, 0);
    for reset in 0..12 {
        for _ in 0..4 {
            program.copy_there_and_back();
        }
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros((seed >> 33) % 20_000));
        let done = program.read(reg::EVENT_TAIL);
        in_the_middle += u32::from(done < program.submitted);
        program.client.reset().unwrap();
        let left = content(&memory);
        std::thread::sleep(Duration::from_millis(5));
        assert!(content(&memory) == left, "reset {reset}: written after it");
        let target = (3 * PIECE) as usize;
        program.memory.zero(target, BYTES as usize).unwrap();
        program.begin();
        program.copy_there_and_back();
        program.finish();
        let copied = &content(&memory)[target..][..BYTES as usize];
        assert!(copied == source(1), "reset {reset}: bytes differ");
    }
    assert!(in_the_middle > 3, "{in_the_middle} of 12 in the middle");
    drop(program);
    assert!(ends.recv_timeout(LIMIT).unwrap());
    server.join().unwrap();
}

#[test]
fn the_next_program_finds_the_card_as_new_and_nothing_more_is_written() {
    let given = std::env::var("TOMBOLO_KILLS").ok();
    let kills: u64 = given.map_or(25, |words| words.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let socket: PathBuf = folder.path().join("socket");
    let hosts = 2 * kills;
    let (server, ends) = serve_card(&socket, hosts);
    let (mut lost, mut begun, mut in_the_middle) = (0, 0, 0);
    let mut seed = 1u64;
    for kill in 0..kills {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let memory = file(kill);
        let mut victim = Victim::start(&socket, &memory);
        std::thread::sleep(Duration::from_micros(500 + (seed >> 33) % 150_000));
        victim.0.kill().unwrap();
        victim.0.wait().unwrap();
        // Its connection, if any, ends before the next program's is accepted.
        let next = file(kill + 1);
        let mut program = Program::start(&socket, &next);
        let left = content(&memory);
        let (rings, _) = left.split_at(2 * PIECE as usize);
        let [submitted, ended] = [0, 1].map(|ring| {
            let entries = rings[ring * PIECE as usize..][..PIECE as usize].chunks(ENTRY);
            entries
                .filter(|entry| entry.iter().any(|byte| *byte != 0))
                .count()
        });
        begun += u64::from(submitted > 0);
        in_the_middle += u64::from(submitted > ended);
        program.copy_there_and_back();
        program.finish();
        let result = content(&next);
        let equal = result[3 * PIECE as usize..][..BYTES as usize] == source(kill + 1);
        let quiet = content(&memory) == left;
        if !equal || !quiet {
            println!("kill {kill}: bytes equal: {equal}, nothing written afterwards: {quiet}");
            lost += 1;
        }
        drop(program);
    }
    println!(
        "{{\"kills\":{kills},\"lost\":{lost},\"begun\":{begun},\"in_the_middle\":{in_the_middle}}}"
    );
    assert_eq!(lost, 0);
    assert!(in_the_middle > 0, "none had commands under way");
    // A program killed before it connected used up no connection.
    let mut served = ends.try_iter().count() as u64;
    while served < hosts {
        drop(Client::new(&socket));
        served += u64::from(ends.recv_timeout(LIMIT).is_ok());
        served += ends.try_iter().count() as u64;
    }
    server.join().unwrap();
}
