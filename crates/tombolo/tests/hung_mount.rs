//! A mount that does not answer: FUSE, whose server stops answering on request of a test. Users of its files wait, or
//! get an error; other clients are not affected. A test program of its own: a process that starts others closes its
//! files on the way, those of the mount too.

use fuser::{
    FileAttr, FileType, Filesystem, KernelConfig, MountOption, ReplyAttr, ReplyData, ReplyEmpty,
    ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow,
};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Lines, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};
use tempfile::TempDir;
use tombolo::{
    AddressSpace, Card, ClockMode, Error, FunctionalCard, FunctionalConfig, MapOptions, Mapping,
    OwnerOptions, PageSize, Slot, SlotId,
};

const BYTES: usize = 3 * 4096 + 100;

/// Names of the files, whose inodes count from 2.
const NAMES: [&str; 2] = ["a", "b"];

/// The child's side: what the mount serves.
#[derive(Clone, Default)]
struct State {
    hung: Arc<AtomicBool>,
    /// It does not answer who changes a file's size.
    keeps_sizes: Arc<AtomicBool>,
    content: Arc<Mutex<[Vec<u8>; 2]>>,
}

impl State {
    /// Comes back when the mount answers again.
    fn wait(&self) {
        while self.hung.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    fn file(&self, inode: u64) -> Vec<u8> {
        self.content.lock().unwrap()[inode as usize - 2].clone()
    }

    fn attributes(&self, inode: u64) -> FileAttr {
        let (kind, bytes) = match inode {
            1 => (FileType::Directory, 0),
            file => (FileType::RegularFile, self.file(file).len() as u64),
        };
        let time = SystemTime::UNIX_EPOCH;
        FileAttr {
            ino: inode,
            size: bytes,
            blocks: bytes.div_ceil(512),
            atime: time,
            mtime: time,
            ctime: time,
            crtime: time,
            kind,
            perm: 0o777,
            nlink: 1,
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            flags: 0,
        }
    }
}

/// Attributes are asked for anew each time.
const AT_ONCE: Duration = Duration::ZERO;

/// Opened without the page cache: each read and write is asked.
const DIRECT: u32 = 1;

impl Filesystem for State {
    fn init(&mut self, _: &Request<'_>, _: &mut KernelConfig) -> Result<(), libc::c_int> {
        Ok(())
    }
    fn lookup(&mut self, _: &Request<'_>, _: u64, name: &OsStr, reply: ReplyEntry) {
        self.wait();
        match NAMES.iter().position(|known| name == *known) {
            Some(place) => reply.entry(&AT_ONCE, &self.attributes(place as u64 + 2), 0),
            None => reply.error(libc::ENOENT),
        }
    }
    fn getattr(&mut self, _: &Request<'_>, inode: u64, _: Option<u64>, reply: ReplyAttr) {
        self.wait();
        reply.attr(&AT_ONCE, &self.attributes(inode));
    }
    fn setattr(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: Option<u32>,
        _: Option<u32>,
        _: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        self.wait();
        while self.keeps_sizes.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(2));
        }
        if let Some(size) = size {
            self.content.lock().unwrap()[inode as usize - 2].resize(size as usize, 0);
        }
        reply.attr(&AT_ONCE, &self.attributes(inode));
    }
    fn open(&mut self, _: &Request<'_>, _: u64, _: i32, reply: ReplyOpen) {
        self.wait();
        reply.opened(0, DIRECT);
    }
    fn read(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        self.wait();
        let content = self.file(inode);
        let start = content.len().min(offset as usize);
        let end = content.len().min(offset as usize + size as usize);
        reply.data(&content[start..end]);
    }
    fn write(
        &mut self,
        _: &Request<'_>,
        inode: u64,
        _: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        self.wait();
        let mut all = self.content.lock().unwrap();
        let file = &mut all[inode as usize - 2];
        let end = offset as usize + data.len();
        file.resize(file.len().max(end), 0);
        file[offset as usize..end].copy_from_slice(data);
        reply.written(data.len() as u32);
    }
    fn flush(&mut self, _: &Request<'_>, _: u64, _: u64, _: u64, reply: ReplyEmpty) {
        self.wait();
        reply.ok();
    }
    fn fsync(&mut self, _: &Request<'_>, _: u64, _: u64, _: bool, reply: ReplyEmpty) {
        self.wait();
        reply.ok();
    }
}

const CHILD: &str = "TOMBOLO_TEST_CHILD";

/// The child: serves the mount, and answers or stays silent as commanded, line by line. A process cannot serve a mount
/// that it uses itself: at its end each would wait for the other.
#[test]
fn a_mount_is_served() {
    let Ok(folder) = std::env::var(CHILD) else {
        return;
    };
    let state = State::default();
    for (number, content) in state.content.lock().unwrap().iter_mut().enumerate() {
        *content = bytes(number as u8 + 1);
    }
    let options = [MountOption::FSName("hangs".into())];
    let session = fuser::spawn_mount2(state.clone(), folder, &options);
    println!(
        "{}",
        session
            .as_ref()
            .map_or_else(ToString::to_string, |_| "mounted".into())
    );
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        state.hung.store(line == "hang", Ordering::Relaxed);
        let keeps = line == "keep sizes";
        state.keeps_sizes.store(keeps, Ordering::Relaxed);
        println!("done");
    }
    // Whoever still waits is let go before the mount ends.
    state.hung.store(false, Ordering::Relaxed);
    state.keeps_sizes.store(false, Ordering::Relaxed);
    drop(session);
}

/// One at a time: a process that starts another one closes files on the way, those of a mount that hangs too.
static ONE: Mutex<()> = Mutex::new(());

/// The mount, for as long as a test needs it.
struct Mount {
    folder: TempDir,
    child: Child,
    says: Lines<BufReader<ChildStdout>>,
    /// The last to go.
    _one: MutexGuard<'static, ()>,
}

impl Mount {
    /// `None` where nothing can be mounted.
    fn new() -> Option<Self> {
        let one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = TempDir::new().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_mount_is_served", "--nocapture"])
            .env(CHILD, folder.path())
            // If the test's group is killed, it reads the end of its input, and ends the mount.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let says = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut mount = Self {
            _one: one,
            folder,
            child,
            says,
        };
        let said = mount.said(|line| !line.is_empty() && !line.starts_with("running"));
        if said.ends_with("mounted") {
            return Some(mount);
        }
        eprintln!("nothing can be mounted here ({said}), so no mount hangs: not tested");
        None
    }

    fn said(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut lines = self.says.by_ref().map(Result::unwrap);
        lines.find(|line| wanted(line)).unwrap()
    }

    fn tell(&mut self, word: &str) {
        writeln!(self.child.stdin.as_ref().unwrap(), "{word}").unwrap();
        self.said(|line| line == "done");
    }

    fn hangs(&mut self) {
        self.tell("hang");
    }

    fn answers(&mut self) {
        self.tell("answer");
    }

    fn path(&self, number: usize) -> PathBuf {
        self.folder.path().join(NAMES[number])
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ended = self.child.wait();
    }
}

fn bytes(seed: u8) -> Vec<u8> {
    (0..BYTES).map(|n| (n % 249) as u8 ^ seed).collect()
}

fn card(clock: ClockMode) -> Card {
    let raw = Box::new(FunctionalCard::new(FunctionalConfig {
        slots: 2,
        spaces: 8,
        queues: 3,
        ..FunctionalConfig::default()
    }));
    let options = OwnerOptions {
        page_size: Some(PageSize::KIB_4),
        table_sets_log2: 10,
        clock,
        file_limit: Some(Duration::from_millis(300)),
        ..OwnerOptions::default()
    };
    Card::new(raw, options).unwrap()
}

/// A copy of one file to another.
struct Copy {
    _space: AddressSpace,
    _input: Mapping,
    output: Mapping,
    slot: Slot,
}

impl Copy {
    fn new(card: &Card, slot: u8, from: &Path, to: &Path, out: MapOptions) -> Self {
        let space = card.create_space().unwrap();
        let input = space.map_file(from, MapOptions::read_only()).unwrap();
        let output = space.map_file(to, out).unwrap();
        let slot = card.load(SlotId(slot), simcard::home().join("kernels/copy"), &space);
        let slot = slot.unwrap();
        slot.set_pointer("input", input.address()).unwrap();
        slot.set_pointer("output", output.address()).unwrap();
        slot.set("bytes", BYTES as u64).unwrap();
        Self {
            _space: space,
            _input: input,
            output,
            slot,
        }
    }

    fn run(&self) -> Result<(), Error> {
        self.slot.start()?;
        self.slot.join(None)?;
        self.output.sync()
    }
}

/// A copy between files that are elsewhere: nothing about it may differ.
fn others_are_as_ever(card: &Card, folder: &Path, round: u8) {
    let (from, to) = (folder.join("from"), folder.join("to"));
    fs::write(&from, bytes(round)).unwrap();
    let copy = Copy::new(card, 1, &from, &to, MapOptions::create(BYTES as u64));
    copy.run().unwrap();
    copy.output.unmap().unwrap();
    assert!(fs::read(&to).unwrap() == bytes(round));
}

/// A copy within the mount, whose bytes are on the card when it hangs.
fn written_when_it_hangs(card: &Card, mount: &mut Mount) -> Copy {
    let (from, to) = (mount.path(0), mount.path(1));
    let copy = Copy::new(card, 0, &from, &to, MapOptions::read_write());
    copy.slot.start().unwrap();
    copy.slot.join(None).unwrap();
    mount.hangs();
    copy
}

fn names(error: &Error, file: &str) {
    let text = error.to_string();
    let named = text.contains(&format!("/{file}")) && text.contains("has not answered");
    assert!(named, "{text}");
}

#[test]
fn a_kernel_that_waits_for_it_ends_with_an_error_and_others_go_on() {
    let Some(mut mount) = Mount::new() else {
        return;
    };
    let elsewhere = TempDir::new().unwrap();
    let card = card(ClockMode::Lockstep);
    let to = elsewhere.path().join("out");
    let copy = Copy::new(
        &card,
        0,
        &mount.path(0),
        &to,
        MapOptions::create(BYTES as u64),
    );
    mount.hangs();
    copy.slot.start().unwrap();
    others_are_as_ever(&card, elsewhere.path(), 7);
    names(&copy.slot.join(None).unwrap_err(), "a");
    // Whoever comes now is not kept waiting either.
    others_are_as_ever(&card, elsewhere.path(), 8);
    mount.answers();
    drop(copy);
    // What was asked of it may still be on its way.
    let space = card.create_space().unwrap();
    for attempt in 0.. {
        let Err(error) = space.map_file(mount.path(0), MapOptions::read_only()) else {
            break;
        };
        let text = error.to_string();
        assert!(
            text.contains("has not answered") && attempt < 1000,
            "{text}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    let copy = Copy::new(
        &card,
        0,
        &mount.path(0),
        &to,
        MapOptions::create(BYTES as u64),
    );
    copy.run().unwrap();
    assert!(fs::read(&to).unwrap() == bytes(1));
}

#[test]
fn what_is_written_to_it_is_safe_or_an_error() {
    let Some(mut mount) = Mount::new() else {
        return;
    };
    let elsewhere = TempDir::new().unwrap();
    let card = card(ClockMode::Lockstep);
    let copy = written_when_it_hangs(&card, &mut mount);
    names(&copy.output.sync().unwrap_err(), "b");
    others_are_as_ever(&card, elsewhere.path(), 3);
    mount.answers();
    // What was given up may still be on its way; then it is written, by that or by this.
    for attempt in 0.. {
        let Err(error) = copy.output.sync() else {
            break;
        };
        assert!(attempt < 1000);
        names(&error, "b");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(fs::read(mount.path(1)).unwrap() == bytes(1));
    copy.output.unmap().unwrap();
}

#[test]
fn mapping_its_files_is_refused_after_a_while_and_goes_on_by_itself_with_a_free_clock() {
    let Some(mut mount) = Mount::new() else {
        return;
    };
    let elsewhere = TempDir::new().unwrap();
    for clock in [ClockMode::Lockstep, ClockMode::Free] {
        for options in [
            MapOptions::read_only(),
            MapOptions::read_write(),
            MapOptions::create(BYTES as u64),
        ] {
            let card = card(clock);
            let space = card.create_space().unwrap();
            let path = mount.path(0);
            let file = File::options().read(true).write(true).open(&path).unwrap();
            mount.hangs();
            std::thread::scope(|scope| {
                let mapped = scope.spawn(|| space.map_open_file(file, &path, options));
                others_are_as_ever(&card, elsewhere.path(), 5);
                if clock == ClockMode::Free {
                    assert!(!mapped.is_finished());
                    mount.answers();
                    mapped.join().unwrap().unwrap().unmap().unwrap();
                } else {
                    names(&mapped.join().unwrap().unwrap_err(), "a");
                    others_are_as_ever(&card, elsewhere.path(), 6);
                    mount.answers();
                }
            });
            // As if nothing had been, once it has caught up.
            for attempt in 0.. {
                match space.map_file(&path, options) {
                    Ok(mapped) => {
                        mapped.unmap().unwrap();
                        break;
                    }
                    Err(error) => assert!(attempt < 1000, "{error}"),
                }
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

/// A client that ends while its file is being recreated leaves nothing behind, and does not affect the next client.
#[test]
fn a_client_that_ends_meanwhile_leaves_nothing() {
    let Some(mut mount) = Mount::new() else {
        return;
    };
    let elsewhere = TempDir::new().unwrap();
    let card = card(ClockMode::Free);
    let client = card.client();
    let space = client.create_space().unwrap();
    let path = mount.path(0);
    let options = MapOptions::create(BYTES as u64);
    let file = File::options().read(true).write(true).open(&path);
    let file = file.unwrap();
    mount.tell("keep sizes");
    std::thread::scope(|scope| {
        let mapped = scope.spawn(|| space.map_open_file(file, &path, options));
        // Its mapping is there, and its file is not empty yet.
        let mappings = || {
            let clients = card.status().unwrap().owner.clients;
            clients.iter().map(|client| client.mappings).sum::<u32>()
        };
        for attempt in 0.. {
            if mappings() == 1 {
                break;
            }
            assert!(attempt < 1000 && !mapped.is_finished());
            std::thread::sleep(Duration::from_millis(2));
        }
        let closes = scope.spawn(|| client.close());
        others_are_as_ever(&card, elsewhere.path(), 4);
        mount.answers();
        closes.join().unwrap().unwrap();
        let _said = mapped.join().unwrap();
        assert_eq!(mappings(), 0);
    });
    assert!(fs::read(&path).unwrap() == vec![0; BYTES]);
    others_are_as_ever(&card, elsewhere.path(), 9);
}

#[test]
fn a_card_is_closed_all_the_same() {
    let Some(mut mount) = Mount::new() else {
        return;
    };
    let card = card(ClockMode::Lockstep);
    let copy = written_when_it_hangs(&card, &mut mount);
    names(&copy.output.unmap().unwrap_err(), "b");
    let (done, closed) = std::sync::mpsc::channel();
    let closes = std::thread::spawn(move || {
        drop(copy.slot);
        let result = card.close();
        done.send(()).unwrap();
        result
    });
    closed.recv_timeout(Duration::from_secs(60)).unwrap();
    let _said = closes.join().unwrap();
}
