//! A daemon for tests, and whether it is at rest.

// Each test file uses a part of it.
#![allow(dead_code)]

pub mod programs;

use std::fs::{set_permissions, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, DaemonStatus, FunctionalCard, FunctionalConfig, Mapping, OwnerOptions,
    SimOptions, Slot, Status,
};
use tombolo_daemon::{Daemon, Journal, Quotas, Settings};

/// Nothing that is awaited takes so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// A daemon with a functional card of four slots and eight spaces.
pub struct Served {
    pub folder: TempDir,
    pub daemon: Option<Daemon>,
}

impl Served {
    pub fn new() -> Self {
        Self::with(FunctionalConfig::default())
    }

    /// With a card that has more than that.
    pub fn with(config: FunctionalConfig) -> Self {
        Self::within(config, "")
    }

    /// For users whom the text of a file of quotas names too; of these, in a folder that they can reach.
    pub fn within(config: FunctionalConfig, quotas: &str) -> Self {
        let folder = TempDir::new().unwrap();
        let config = FunctionalConfig {
            slots: 4,
            spaces: 8,
            channel_bytes: 64 << 20,
            ..config
        };
        let card = Card::functional(FunctionalCard::new(config)).unwrap();
        Self::serve(folder, card, quotas)
    }

    /// With the simulated card of two slots and little memory.
    pub fn simulated() -> Self {
        let mut options = SimOptions::named("f1").unwrap();
        options.channel_bytes = Some(16 << 20);
        options.shell.slots = 2;
        let card = Card::simulated(options, OwnerOptions::default(), |_| {}).unwrap();
        Self::serve(TempDir::new().unwrap(), card, "")
    }

    /// With a card of the caller's.
    pub fn on(card: Card) -> Self {
        Self::serve(TempDir::new().unwrap(), card, "")
    }

    /// With a card whose requests are recorded.
    pub fn recorded(folder: TempDir, card: Card, journal: Arc<Journal>) -> Self {
        let settings = Settings {
            journal: Some(journal),
            ..Settings::default()
        };
        Self::serve_with(folder, card, settings)
    }

    fn serve(folder: TempDir, card: Card, quotas: &str) -> Self {
        let quotas = Quotas::parse(quotas).unwrap();
        Self::serve_with(folder, card, quotas.into())
    }

    fn serve_with(folder: TempDir, card: Card, settings: Settings) -> Self {
        if settings.quotas.admits_others() {
            set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        }
        let daemon = Daemon::listen_within(card, &folder.path().join("card"), settings).unwrap();
        Self {
            folder,
            daemon: Some(daemon),
        }
    }

    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("card")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name)
    }

    pub fn open(&self) -> Card {
        Card::open(format!("unix:{}", self.socket().display())).unwrap()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if let Some(daemon) = self.daemon.take() {
            daemon.stop();
        }
    }
}

pub fn kernel(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../kernels")
        .join(name)
}

/// A space of its own, and the kernel that copies in any slot.
pub fn with_copy(card: &Card) -> (AddressSpace, Slot) {
    let space = card.create_space().unwrap();
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    (space, slot)
}

/// Sets the arguments of the kernel that copies: a whole file.
pub fn set_copy(slot: &Slot, from: &Mapping, to: &Mapping) {
    slot.set_mapping("input", from).unwrap();
    slot.set_mapping("output", to).unwrap();
    slot.set("bytes", from.bytes()).unwrap();
}

/// The daemon's resources while this client is the only one; waits for that state.
pub fn at_rest(card: &Card) -> (Status, DaemonStatus) {
    let begin = Instant::now();
    loop {
        let status = card.status().unwrap();
        let rests = status.daemon.connections == 1
            && status.owner.clients.len() == 1
            && status.owner.slots.iter().all(|slot| slot.kernel.is_none());
        if rests {
            let daemon = status.daemon;
            return (status, daemon);
        }
        assert!(begin.elapsed() < PATIENCE, "{status:#?}");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Descriptors and threads return to their earlier number; threads take a moment to end.
pub fn assert_nothing_is_left(card: &Card, before: DaemonStatus) {
    let begin = Instant::now();
    loop {
        let (status, now) = at_rest(card);
        if (now.descriptors, now.threads) == (before.descriptors, before.threads) {
            return;
        }
        assert!(
            begin.elapsed() < PATIENCE,
            "{before:?} and then {status:#?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Numbers that are the same in every run.
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
