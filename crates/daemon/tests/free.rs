//! Free mode: the order of a client's requests, and clients that are stopped.

mod common;

use common::{kernel, set_copy, Served};
use rustix::process::{kill_process, Pid, Signal};
use serde_json::Value;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::{Card, ClockMode, HostFile, MapOptions, OwnerOptions, SimOptions, TrapFigures};
use units::Picoseconds;
use wire::{encode, receive, send, Frame, Hello, Kind, Message, Side, Version};

/// Folder of the daemon, in the process of a program that is stopped.
const FOLDER: &str = "TOMBOLO_TEST_CHILD";
/// Virtual time that a request takes over the socket.
const REQUEST: Picoseconds = Picoseconds::from_micros(20);
/// Until a kernel has ended, at most.
const LIMIT: Duration = Duration::from_secs(120);
/// Amount that each program copies.
const BYTES: usize = 300_011;

fn card(clock: ClockMode) -> Card {
    let mut sim = SimOptions::named("f1").unwrap();
    sim.channel_bytes = Some(16 << 20);
    sim.shell.slots = 2;
    let folder = TempDir::new().unwrap();
    let text = HostFile::text_of("test", "a test", TrapFigures::default(), None).unwrap();
    let text = format!("{text}\n[socket]\nrequest_ps = {}\n", REQUEST.get());
    std::fs::write(folder.path().join("host.toml"), text).unwrap();
    let options = OwnerOptions {
        clock,
        host: Some(HostFile::load(folder.path().join("host.toml")).unwrap()),
        ..OwnerOptions::default()
    };
    Card::simulated(sim, options, |_| {}).unwrap()
}

/// A client without the library, which sends requests without waiting for replies.
struct Raw(UnixStream);

impl Raw {
    fn connect(served: &Served) -> Self {
        let raw = Self(UnixStream::connect(served.socket()).unwrap());
        let hello = Hello {
            version: Version::THIS,
            program: "test".to_owned(),
        };
        let hello = Frame::new(Kind::Hello, 0, encode(&hello).unwrap());
        send(&raw.0, &hello).unwrap();
        assert_eq!(raw.hear().kind, Kind::Welcome);
        raw
    }

    fn begin(&self, ticket: u64, request: impl Into<Message>, descriptor: Option<File>) {
        let mut frame = Frame::new(Kind::Request, ticket, encode(&request.into()).unwrap());
        frame.descriptors = descriptor.into_iter().map(Into::into).collect();
        send(&self.0, &frame).unwrap();
    }

    fn hear(&self) -> Frame {
        receive(&self.0, Side::Daemon).unwrap()
    }

    /// The next reply, which is that to the request with this ticket.
    fn reply(&self, ticket: u64) -> Value {
        let frame = self.hear();
        let text = String::from_utf8_lossy(&frame.body).into_owned();
        assert_eq!((frame.kind, frame.ticket), (Kind::Reply, ticket), "{text}");
        serde_json::from_str(&text).unwrap()
    }

    fn ask(&self, request: impl Into<Message>, descriptor: Option<File>, id: &str) -> u64 {
        self.begin(1, request, descriptor);
        self.reply(1)[id].as_u64().unwrap()
    }
}

/// Requests that arrive at one virtual time begin at one time, too, in the order in which they were sent.
#[test]
fn requests_of_one_client_are_served_in_their_order() {
    for clock in [ClockMode::Lockstep, ClockMode::Free] {
        let own = card(clock);
        let served = Served::on(own.clone());
        let raw = Raw::connect(&served);
        let options = wire::SpaceOptions::new();
        let space = wire::SpaceId(raw.ask(wire::CreateSpace { options }, None, "space"));
        let folder = File::open(kernel("copy")).unwrap();
        let load = wire::LoadFolder { slot: None, space };
        let load = wire::LoadId(raw.ask(load, Some(folder), "load"));
        let before = own.describe().unwrap().1;
        // Of all that are written, the last counts.
        let (offset, last) = (0x20, 40_u32);
        for value in 1..=last {
            let words = vec![value];
            let write = wire::SetArgument {
                load,
                offset,
                words,
            };
            raw.begin(value.into(), write, None);
        }
        raw.begin(0, wire::ReadRegister { load, offset }, None);
        for value in 1..=last {
            raw.reply(value.into());
        }
        assert_eq!(raw.reply(0), Value::from(last), "{clock:?}");
        let passed = own.describe().unwrap().1 - before;
        match clock {
            ClockMode::Lockstep => assert!(passed < REQUEST, "{passed}"),
            ClockMode::Free => assert!(passed >= REQUEST, "{passed}"),
        }
    }
}

fn copy(folder: &Path, name: &str, ready: impl FnOnce()) -> Picoseconds {
    let content: Vec<u8> = (0..BYTES).map(|n| (n * 7 + n / 251) as u8).collect();
    let (input, output) = (folder.join(name), folder.join(format!("{name}-out")));
    std::fs::write(&input, &content).unwrap();
    let card = Card::open(format!("unix:{}", folder.join("card").display())).unwrap();
    let space = card.create_space().unwrap();
    let from = space.map_file(&input, MapOptions::read_only()).unwrap();
    let to = space.map_file(&output, MapOptions::create(from.bytes()));
    let to = to.unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    set_copy(&slot, &from, &to);
    slot.start().unwrap();
    ready();
    slot.wait(None, |_| tombolo::Continue::Yes).unwrap();
    to.unmap().unwrap();
    assert!(std::fs::read(&output).unwrap() == content);
    let time = card.report().unwrap().runs[0].time;
    card.close().unwrap();
    time
}

/// No test, but the process of a program that is stopped while its kernel runs.
#[test]
fn a_program_copies_if_it_is_one() {
    let Ok(folder) = std::env::var(FOLDER) else {
        return;
    };
    copy(Path::new(&folder), "stopped", || {
        println!("\nstarted");
        let mut line = String::new();
        std::io::stdin().read_line(&mut line).unwrap();
    });
}

/// Starts the program's process, and stops it (SIGSTOP) after it has started its kernel.
fn with_a_stopped_program(served: &Served, meanwhile: impl FnOnce()) {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "a_program_copies_if_it_is_one", "--nocapture"])
        .env(FOLDER, served.folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // Not closed before it ends, as it writes more.
    let mut said = BufReader::new(process.stdout.take().unwrap());
    let started = said.by_ref().lines().any(|line| line.unwrap() == "started");
    assert!(started);
    let pid = Pid::from_child(&process);
    kill_process(pid, Signal::STOP).unwrap();
    meanwhile();
    kill_process(pid, Signal::CONT).unwrap();
    let mut input = process.stdin.take().unwrap();
    input.write_all(b"\n").unwrap();
    assert!(process.wait().unwrap().success());
}

/// Another program takes as long as without it, and its own kernel ends without it.
#[test]
fn a_stopped_program_stops_nobodys_clock() {
    let own = card(ClockMode::Free);
    let served = Served::on(own.clone());
    let folder = served.folder.path();
    copy(folder, "first", || {});
    let alone = copy(folder, "alone", || {});
    let runs = |slot: usize| own.status().unwrap().owner.slots[slot].running;
    with_a_stopped_program(&served, || {
        let begin = Instant::now();
        while runs(0) {
            assert!(begin.elapsed() < LIMIT, "its kernel stands");
            std::thread::sleep(Duration::from_millis(5));
        }
        let beside = copy(folder, "beside", || {});
        let ratio = beside.as_seconds() / alone.as_seconds();
        assert!((0.99..=1.01).contains(&ratio), "{beside} and {alone}");
    });
}
