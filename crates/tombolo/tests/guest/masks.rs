//! Every kind of thread of the library, alive: does each block the program's signals?

use crate::common::{Between, Watched};
use crate::{alone, kernel, skip};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tombolo::{
    Card, Continue, Device, Export, Flow, FunctionalCard, FunctionalConfig, MapOptions,
    OwnerOptions, PageSize, RemoteMemory, RemoteServer, SlotId, TrapWay,
};

/// Signal masks of the library's threads by thread name, as the system reports them.
type Masks = BTreeMap<String, u64>;

/// All signals but SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS, those that cannot be blocked, and two of the C
/// library.
fn expected() -> u64 {
    let free = [
        libc_numbers::SEGV,
        libc_numbers::BUS,
        libc_numbers::FPE,
        libc_numbers::ILL,
        libc_numbers::TRAP,
        libc_numbers::SYS,
        libc_numbers::KILL,
        libc_numbers::STOP,
        32,
        33,
    ];
    free.into_iter()
        .fold(u64::MAX, |all, signal| all & !(1 << (signal - 1)))
}

/// Of Linux on x86 and Arm.
mod libc_numbers {
    pub const ILL: u32 = 4;
    pub const TRAP: u32 = 5;
    pub const BUS: u32 = 7;
    pub const FPE: u32 = 8;
    pub const KILL: u32 = 9;
    pub const SEGV: u32 = 11;
    pub const STOP: u32 = 19;
    pub const SYS: u32 = 31;
}

/// Threads of the library that are alive.
fn look(into: &mut Masks) {
    for entry in fs::read_dir("/proc/self/task").unwrap() {
        // It may have ended meanwhile.
        let Ok(status) = fs::read_to_string(entry.unwrap().path().join("status")) else {
            continue;
        };
        let value = |name: &str| {
            let mut lines = status.lines();
            let found = lines.find_map(|line| line.strip_prefix(name));
            found.unwrap_or_default().trim().to_owned()
        };
        let name = value("Name:");
        if name.starts_with("tombolo") {
            let mask = u64::from_str_radix(&value("SigBlk:"), 16).unwrap();
            into.entry(name)
                .and_modify(|all| *all &= mask)
                .or_insert(mask);
        }
    }
}

/// A card whose kernels are built, and which looks at who does that.
struct Builds(Arc<Mutex<Masks>>);

impl Between for Builds {
    fn preparation(&self) -> Option<card::Preparation> {
        let masks = self.0.clone();
        Some(Box::new(move |_| {
            look(&mut masks.lock().unwrap());
            Ok(())
        }))
    }
}

fn fifo(folder: &Path, name: &str) -> std::path::PathBuf {
    let path = folder.join(name);
    assert!(Command::new("mkfifo")
        .arg(&path)
        .status()
        .unwrap()
        .success());
    path
}

fn device(kind: &str, path: &Path) -> Device {
    Device::parse(format!("{kind}:{}", path.display()).as_ref()).unwrap()
}

#[test]
fn every_thread_leaves_signals_to_the_program() {
    let _alone = alone();
    let seen = Arc::new(Mutex::new(Masks::new()));
    let card = Watched {
        card: Box::new(FunctionalCard::new(FunctionalConfig {
            streams_per_slot: 1,
            ..FunctionalConfig::default()
        })),
        between: Builds(seen.clone()),
    };
    let folder = tempfile::tempdir().unwrap();
    let card = Card::new(Box::new(card), OwnerOptions::default()).unwrap();
    let space = card.create_space().unwrap();

    // Traps, all ways.
    let mut memories = Vec::new();
    for way in [TrapWay::Protect, TrapWay::InThread, TrapWay::Userfault] {
        let memory = space.alloc_with_traps(8192, PageSize::KIB_4, way).unwrap();
        memories.push(memory);
    }
    let has_userfault = memories[2].trap_way() == Some(TrapWay::Userfault);
    if !has_userfault {
        let test = "every_thread_leaves_signals_to_the_program";
        skip(test, "no userfaultfd (root, and Linux 6.6)");
    }
    // Memory of another machine, from both sides.
    let server = RemoteServer::listen(Export::memory(8192).unwrap(), "127.0.0.1:0").unwrap();
    let remote = RemoteMemory::connect(&server.address().to_string(), Duration::from_secs(20));
    let remote = space
        .map_remote(remote.unwrap(), MapOptions::read_write())
        .unwrap();
    // A stream as a mapping.
    let mapped = device("pipe", &fifo(folder.path(), "mapped"));
    let mapped = space
        .map_stream(mapped, 4096, MapOptions::read_only())
        .unwrap();
    // Devices at ports, and a build.
    let slot = card.load(SlotId(0), kernel("loopback"), &space).unwrap();
    let mut flow = Flow::new(&space);
    for port in ["in", "out"] {
        let path = fifo(folder.path(), port);
        flow.plug(&slot, port, device("pipe", &path)).unwrap();
    }
    let stopped = flow.run(None, |_| {
        look(&mut seen.lock().unwrap());
        Continue::Stop
    });
    assert!(stopped.is_err());

    let seen = seen.lock().unwrap();
    let mut kinds = vec![
        "tombolo-owner",
        "tombolo-io",
        "tombolo traps",
        "tombolo-serve",
        "tombolo-remote",
        "tombolo-window",
        "tombolo-build",
        "tombolo-device",
    ];
    kinds.extend(has_userfault.then_some("tombolo faults"));
    for kind in kinds {
        assert!(
            seen.contains_key(kind),
            "no thread {kind} was seen: {seen:?}"
        );
    }
    for (name, mask) in seen.iter() {
        assert_eq!(*mask, expected(), "{name} takes signals of the program");
    }
    drop((remote, mapped));
}
