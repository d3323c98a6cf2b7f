//! A card that is served to FSRF's programs, and these programs.

// Each test file uses a part of it.
#![allow(dead_code)]

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::{Card, FunctionalCard, FunctionalConfig, OwnerOptions, SimOptions};
use tombolo_fsrf::{AppOptions, Header, Layout, Server};

/// Nothing that is awaited takes so long.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Kind of the card that the server opens.
#[derive(Clone, Copy, Debug)]
pub enum Which {
    Functional,
    Rtl,
}

pub const BOTH: [Which; 2] = [Which::Functional, Which::Rtl];

pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub struct Served {
    pub folder: TempDir,
    pub card: Card,
    server: Option<Server>,
    notices: Arc<Mutex<Vec<String>>>,
}

impl Served {
    /// With applications, by number and the name of a kernel.
    pub fn new(which: Which, apps: &[(u64, &str)]) -> Self {
        Self::made(which, apps.len() as u8, apps, Header::Main)
    }

    /// A functional card for programs that were built with another header.
    pub fn of(header: Header, apps: &[(u64, &str)]) -> Self {
        Self::made(Which::Functional, apps.len() as u8, apps, header)
    }

    /// A functional card with slots for others.
    pub fn with_slots(slots: u8, apps: &[(u64, &str)]) -> Self {
        Self::made(Which::Functional, slots, apps, Header::Main)
    }

    fn made(which: Which, slots: u8, apps: &[(u64, &str)], header: Header) -> Self {
        let folder = TempDir::new().unwrap();
        let card = match which {
            Which::Functional => Card::functional(FunctionalCard::new(FunctionalConfig {
                slots,
                spaces: slots + 4,
                channel_bytes: 64 << 20,
                ..FunctionalConfig::default()
            })),
            Which::Rtl => {
                let mut options = SimOptions::named("f1").unwrap();
                options.shell.slots = slots.max(2);
                options.shell.spaces = options.shell.spaces.max(slots);
                options.channel_bytes = Some(64 << 20);
                Card::simulated(options, OwnerOptions::default(), |_| {})
            }
        };
        let card = card.unwrap();
        let apps = apps.iter().map(|(number, kernel)| AppOptions {
            number: *number,
            folder: here().join("../../kernels").join(kernel),
        });
        let notices = Arc::new(Mutex::new(Vec::new()));
        let heard = notices.clone();
        let server = Server::listen(
            &card,
            apps.collect(),
            Layout::of(header),
            &folder.path().join("socket"),
            move |notice| heard.lock().unwrap().push(notice.to_string()),
        );
        Self {
            server: Some(server.unwrap()),
            folder,
            card,
            notices,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    /// Serves no more.
    pub fn stop(&mut self) {
        self.server.take().unwrap().stop();
    }

    /// A program that finds the socket.
    pub fn program(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env("AOS_SOCKET", self.path("socket"));
        command
    }

    /// Notices reported since the last call.
    pub fn notices(&self) -> String {
        std::mem::take(&mut *self.notices.lock().unwrap()).join("\n")
    }

    pub fn is_quiet(&self) {
        self.at_rest();
        assert_eq!(self.notices(), "");
    }

    /// Waits until nothing is mapped and no connection is there.
    pub fn at_rest(&self) {
        let begin = Instant::now();
        loop {
            let status = self.card.status().unwrap();
            let mappings = status.owner.clients.iter().map(|client| client.mappings);
            let slots = status.owner.slots.iter();
            if mappings.sum::<u32>() == 0
                && slots.filter(|slot| slot.running).count() == 0
                && self.connections() == 0
            {
                return;
            }
            assert!(begin.elapsed() < TIMEOUT, "{status:#?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn connections(&self) -> usize {
        self.server.as_ref().map_or(0, Server::connections)
    }

    /// Clients of the card at rest.
    pub fn held(&self) -> usize {
        self.at_rest();
        self.card.status().unwrap().owner.clients.len()
    }

    pub fn assert_held(&self, before: usize) {
        let begin = Instant::now();
        while self.held() != before {
            assert!(begin.elapsed() < TIMEOUT, "{before:?}: {:?}", self.held());
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(server) = self.server.take() {
            server.stop();
        }
        self.card.close().unwrap();
    }
}

/// Compiles a program of `programs/`, once for all tests of this process.
pub fn compile(name: &str) -> PathBuf {
    compiled(name, Header::Main)
}

/// As [`compile`], with the header of FSRF's branch.
pub fn compiled(name: &str, header: Header) -> PathBuf {
    static COMPILED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let (own, flag) = match header {
        Header::Main => (format!("fsrf-{name}"), None),
        Header::Stream => (format!("fsrf-stream-{name}"), Some("-DAOS_STREAM")),
    };
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&own);
    if compiled.insert(own) {
        // Another process's tests may run the existing program.
        let made = program.with_extension(std::process::id().to_string());
        let mut compiler = Command::new("g++");
        compiler
            .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-O1"])
            .args(flag)
            .arg(here().join("tests/programs").join(format!("{name}.cpp")))
            .arg("-o")
            .arg(&made);
        run(&mut compiler);
        fs::rename(made, &program).unwrap();
    }
    program
}

/// Output of a command that must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}{wrong}",
        output.status
    );
    said
}

/// Whether a way of starting programs works here.
pub fn tool_is_here(how: &[&str]) -> bool {
    let tried = Command::new(how[0])
        .args(&how[1..])
        .arg("/bin/true")
        .output();
    tried.is_ok_and(|output| output.status.success())
}

/// Says that a test judges nothing here. Not by `eprintln!`: of tests that pass, that is not shown.
pub fn skip(test: &str, reason: &str) {
    let line = format!("skipped: {test}: {reason}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}
