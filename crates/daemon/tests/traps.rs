//! Memory whose accesses are trapped, shared with the kernels of a daemon: the same calls and bytes as in one process,
//! the same virtual time, and nothing of a client that dies, stops or lies.

mod common;

use common::{at_rest, kernel, with_copy, Served};
use rustix::process::{kill_process, Pid, Signal};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tombolo::{
    AddressSpace, Card, Continue, Error, ErrorCode, FunctionalCard, FunctionalConfig, HostFile,
    OwnerOptions, PageSize, Picoseconds, SharedMemory, SimOptions, Slot, VirtAddr,
};
use tombolo_daemon::{Daemon, Quotas};
use wire::{
    acknowledge, decode, encode, order_sockets, receive, receive_order, send, Acknowledgement,
    CreateSpace, Failure, Frame, Hello, Kind, MappingId, Message, NewMapping, NewSpace, Prefetch,
    ServeTrap, ShareTrapped, Side, SpaceId, SpaceOptions, TrappedPart, Version,
};

/// Tests count descriptors and threads of this process, and addresses of shared memory are those of the process.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Open descriptors, and threads of the library: threads of the tests come and go.
fn resources(watcher: &Card) -> [usize; 2] {
    let (_, daemon) = at_rest(watcher);
    let threads = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names =
        threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("comm")).ok());
    let ours = names.filter(|name| name.starts_with("tombolo")).count();
    [daemon.descriptors as usize, ours]
}

/// A thread of an earlier test may still have been ending before.
fn assert_nothing_is_left(watcher: &Card, before: [usize; 2]) {
    let begun = Instant::now();
    loop {
        let now = resources(watcher);
        if now[0] <= before[0] && now[1] <= before[1] {
            return;
        }
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "{before:?} and then {now:?}"
        );
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Writes as a program does: no call before.
fn put(memory: &SharedMemory, bytes: &[u8]) {
    let places = memory.slice::<AtomicU8>();
    for (place, byte) in places.iter().zip(bytes) {
        place.store(*byte, Ordering::Relaxed);
    }
}

fn get(memory: &SharedMemory, bytes: usize) -> Vec<u8> {
    let places = &memory.slice::<AtomicU8>()[..bytes];
    let bytes = places.iter().map(|place| place.load(Ordering::Relaxed));
    bytes.collect()
}

fn pattern(size: usize, salt: usize) -> Vec<u8> {
    (0..size).map(|n| (n * 31 + n / 255 + salt) as u8).collect()
}

fn try_copy(
    slot: &Slot,
    from: &SharedMemory,
    to: &SharedMemory,
    bytes: usize,
) -> Result<(), Error> {
    slot.set_pointer("input", from.address())?;
    slot.set_pointer("output", to.address())?;
    slot.set("bytes", bytes as u64)?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes).map(drop)
}

fn copy(slot: &Slot, from: &SharedMemory, to: &SharedMemory, bytes: usize) {
    try_copy(slot, from, to, bytes).unwrap();
}

/// Copies between blocks by a kernel, in both orders of program and kernel, and compares all bytes.
fn copied_to_and_fro(
    card: &Card,
    sizes: &[usize],
    alloc: impl Fn(&AddressSpace, usize) -> SharedMemory,
) {
    let (space, slot) = with_copy(card);
    for &size in sizes {
        let (mut from, mut to) = (alloc(&space, size), alloc(&space, size));
        for salt in 0..3 {
            let bytes = pattern(size, salt);
            put(&from, &bytes);
            copy(&slot, &from, &to, size);
            assert!(get(&to, size) == bytes, "{size} bytes, written by a kernel");
            assert!(get(&from, size) == bytes, "{size} bytes, read by a kernel");
            // The program writes what a kernel wrote, and a kernel reads it.
            let other = pattern(size, salt + 100);
            put(&to, &other);
            copy(&slot, &to, &from, size);
            assert!(get(&from, size) == other, "{size} bytes, back");
        }
        let last = pattern(size, 200);
        put(&from, &last);
        copy(&slot, &from, &to, size);
        // What kernels wrote is there when the block has ended, without being asked for.
        to.free().unwrap();
        assert!(get(&to, size) == last, "{size} bytes, freed");
        put(&to, &[1]);
        from.free().unwrap();
    }
}

const SIZES: [usize; 6] = [1, 63, 4096, 4097, 300_001, (2 << 20) + 5];

#[test]
fn pointers_are_shared_as_in_one_process() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let before = resources(&watcher);
    let card = served.open();
    copied_to_and_fro(&card, &SIZES, |space, size| space.alloc(size).unwrap());
    copied_to_and_fro(&card, &SIZES, |space, size| {
        space.alloc_with_pages(size, PageSize::KIB_4).unwrap()
    });
    drop(card);
    assert_nothing_is_left(&watcher, before);
}

/// Memory that a program has, on whole pages, as a vector of its own would be.
fn registered(space: &AddressSpace, memory: &mut [u8], page: PageSize) -> SharedMemory {
    // SAFETY: whole pages that are used through what is returned, and freed after it.
    unsafe { space.register_with_pages(memory.as_mut_ptr(), memory.len(), page) }.unwrap()
}

/// Pages that begin `shift` pages behind a multiple of 2 MiB.
struct Pages {
    start: *mut u8,
    layout: std::alloc::Layout,
}

impl Pages {
    fn new(pages: usize, shift: usize) -> (Self, &'static mut [u8]) {
        let layout = std::alloc::Layout::from_size_align((pages + shift) * 4096, 2 << 20);
        let layout = layout.unwrap();
        // SAFETY: not of size zero; the slice is not used after the pages are freed.
        unsafe {
            let start = std::alloc::alloc_zeroed(layout);
            let slice = std::slice::from_raw_parts_mut(start.add(shift * 4096), pages * 4096);
            (Self { start, layout }, slice)
        }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: allocated with it.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}

#[test]
fn memory_that_a_program_has_is_registered_in_place() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let before = resources(&watcher);
    let card = served.open();
    let (space, slot) = with_copy(&card);
    for (pages, shift, page) in [
        (1, 1, PageSize::KIB_4),
        (37, 3, PageSize::MIB_2),
        // Ends in small pages around one of 2 MiB.
        (1100, 200, PageSize::MIB_2),
    ] {
        let (_one, input) = Pages::new(pages, shift);
        let (_other, output) = Pages::new(pages, shift);
        let size = input.len();
        let bytes = pattern(size, pages);
        input.copy_from_slice(&bytes);
        let mut from = registered(&space, input, page);
        let mut to = registered(&space, output, page);
        copy(&slot, &from, &to, size);
        assert!(get(&to, size) == bytes, "{pages} pages");
        let other = pattern(size, pages + 1);
        put(&from, &other);
        copy(&slot, &from, &to, size);
        to.free().unwrap();
        from.free().unwrap();
        // SAFETY: the memory is the program's again.
        let back = unsafe { std::slice::from_raw_parts(output.as_ptr(), size) };
        assert!(back == other, "{pages} pages, freed");
        output[0] = 9;
        // Also while a kernel has it, and by its end alone.
        let to = registered(&space, output, page);
        copy(&slot, &registered(&space, input, page), &to, size);
        drop(to);
        // SAFETY: as above.
        let back = unsafe { std::slice::from_raw_parts(output.as_ptr(), size) };
        assert!(back == other, "{pages} pages, dropped");
    }
    // A vector, as malloc has mapped it.
    let mut vector = pattern(40 << 20, 1);
    let (start, size) = (vector.as_mut_ptr(), 1 << 20);
    // SAFETY: not touched until it is freed.
    let mut from = unsafe { space.register(start, vector.len()) }.unwrap();
    let to = space.alloc(size).unwrap();
    let lead = start.align_offset(64);
    let first = from.address().get() + lead as u64;
    slot.set_pointer("input", VirtAddr::new(first).unwrap())
        .unwrap();
    slot.set_pointer("output", to.address()).unwrap();
    slot.set("bytes", size as u64).unwrap();
    slot.run().unwrap();
    from.free().unwrap();
    assert!(get(&to, size) == vector[lead..lead + size]);
    drop((from, to, slot, space, card));
    assert_nothing_is_left(&watcher, before);
}

#[test]
fn mistakes_are_those_of_one_process() {
    let _alone = alone();
    let served = Served::new();
    let card = served.open();
    let space = card.create_space().unwrap();
    let none = space.alloc(0).unwrap_err();
    assert!(matches!(none, Error::Unshareable { .. }), "{none}");
    let local = [0u8; 64];
    // SAFETY: refused.
    let stack = unsafe { space.register(local.as_ptr().cast_mut(), 64) }.unwrap_err();
    assert!(matches!(stack, Error::Unregistrable { .. }), "{stack}");
    let mut memory = space.alloc(5000).unwrap();
    let (_pages, own) = Pages::new(2, 0);
    let held = registered(&space, own, PageSize::KIB_4);
    // SAFETY: refused.
    let twice = unsafe { space.register(own.as_mut_ptr(), 4096) }.unwrap_err();
    assert!(matches!(twice, Error::Unregistrable { .. }), "{twice}");
    memory.free().unwrap();
    assert_eq!(memory.free().unwrap_err().code(), ErrorCode::Gone);
    put(&memory, &[1, 2, 3]);
    // The space ends before its memory, which stays the program's.
    let slot = card.load_anywhere(kernel("copy"), &space).unwrap();
    let from = space.alloc(9000).unwrap();
    let to = space.alloc(9000).unwrap();
    put(&from, &pattern(9000, 5));
    copy(&slot, &from, &to, 8192);
    slot.close().unwrap();
    space.close().unwrap();
    assert!(get(&to, 8192) == pattern(8192, 5));
    put(&to, &[7; 9000]);
    drop((from, to, held));
    assert_eq!(own[0], 0);
    // The card ends before its memory.
    let (space, slot) = with_copy(&card);
    let from = space.alloc(9000).unwrap();
    let to = space.alloc(9000).unwrap();
    put(&from, &pattern(9000, 6));
    copy(&slot, &from, &to, 9000);
    card.close().unwrap();
    assert!(get(&to, 9000) == pattern(9000, 6));
    put(&to, &[8; 9000]);
    assert!(space.alloc(1).is_err());
}

/// Ends threads, also if a test fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

#[test]
fn threads_of_several_programs_share_pages_with_their_kernels() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let before = resources(&watcher);
    std::thread::scope(|scope| {
        for program in 0..3usize {
            let served = &served;
            scope.spawn(move || {
                let card = served.open();
                let (space, slot) = with_copy(&card);
                const SIZE: usize = 64 << 10;
                let pages = PageSize::KIB_4;
                let from = space.alloc_with_pages(SIZE, pages).unwrap();
                let to = space.alloc_with_pages(SIZE, pages).unwrap();
                let others = space.alloc_with_pages(4 * 4096, pages).unwrap();
                let done = AtomicBool::new(false);
                std::thread::scope(|scope| {
                    let _ends = Ends(&done);
                    for thread in 0..4usize {
                        let (others, to, done) = (&others, &to, &done);
                        scope.spawn(move || {
                            // Its own page, which kernels take for reading, and what kernels write.
                            let own = &others.slice::<AtomicU8>()[thread * 4096..][..64];
                            let mut round = 0u8;
                            while !done.load(Ordering::Acquire) {
                                own.iter()
                                    .for_each(|byte| byte.store(round, Ordering::Release));
                                for byte in own {
                                    assert_eq!(byte.load(Ordering::Acquire), round);
                                }
                                to.slice::<AtomicU8>()[thread * 9000].load(Ordering::Relaxed);
                                // Others run too.
                                std::thread::sleep(Duration::from_micros(300));
                                round = round.wrapping_add(1);
                            }
                            assert!(round > 0);
                        });
                    }
                    for round in 0..12 {
                        let bytes = pattern(SIZE, round + 50 * program);
                        put(&from, &bytes);
                        copy(&slot, &from, &to, SIZE);
                        assert!(get(&to, SIZE) == bytes, "program {program}, round {round}");
                        copy(&slot, &others, &to, 4 * 4096);
                    }
                });
            });
        }
    });
    assert_nothing_is_left(&watcher, before);
}

/// Uses shared memory as a program does; returns the virtual time after each step.
fn worked(card: &Card, register: bool, reads: bool) -> Vec<Picoseconds> {
    let mut times = Vec::new();
    let mut step = || times.push(card.describe().unwrap().1);
    // A daemon reads the card's counters when a client comes, and when it gets a slot, which takes time.
    let read = || drop(reads.then(|| card.report().unwrap()));
    read();
    step();
    let (space, slot) = with_copy(card);
    read();
    step();
    let (_pages, own) = Pages::new(600, 300);
    // Pieces of 2 MiB, small pages, and memory that the program has.
    let from = space.alloc((4 << 20) + 8192).unwrap();
    let to = match register {
        true => registered(&space, own, PageSize::MIB_2),
        false => space.alloc_with_pages(600 * 4096, PageSize::KIB_4).unwrap(),
    };
    step();
    for (round, size) in [20_000, 70_000, 33].into_iter().enumerate() {
        let bytes = pattern(size, round);
        put(&from, &bytes);
        step();
        copy(&slot, &from, &to, size);
        step();
        assert!(get(&to, size) == bytes);
        step();
        put(&to, &[3; 5000]);
        copy(&slot, &to, &from, 5000);
        step();
        assert_eq!(get(&from, 5000), [3; 5000]);
        step();
        from.prefetch().unwrap();
        step();
        to.sync().unwrap();
        step();
    }
    drop((from, to));
    step();
    times
}

fn simulated() -> Card {
    let mut options = SimOptions::named("f1").unwrap();
    options.channel_bytes = Some(16 << 20);
    options.shell.slots = 2;
    let host = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hosts/epyc-vm.toml");
    let owner = OwnerOptions {
        host: Some(HostFile::load(host).unwrap()),
        ..OwnerOptions::default()
    };
    Card::simulated(options, owner, |_| {}).unwrap()
}

#[test]
fn virtual_time_is_that_of_one_process() {
    let _alone = alone();
    for register in [false, true] {
        let card = simulated();
        let alone = worked(&card, register, true);
        drop(card);
        let served = Served::on(simulated());
        let through = worked(&served.open(), register, false);
        assert!(alone.last() > Some(&Picoseconds::ZERO));
        assert_eq!(alone, through, "registered: {register}");
    }
}

/// Work of a child process; its folder is that of the daemon.
const CHILD: &str = "TOMBOLO_TEST_CHILD";

/// Another process of this program.
struct Process {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Process {
    fn new(what: &str, folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "a_process_of_another_program", "--nocapture"])
            .env(CHILD, what)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Self { child, lines }
    }

    fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id() as i32).unwrap();
        kill_process(id, signal).unwrap();
    }

    /// Waits for a line with this text.
    fn says(&mut self, what: &str) -> String {
        let mut line = String::new();
        while !line.contains(what) {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "no `{what}`");
        }
        line
    }

    fn ends(mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// No test, but the program of a process that another test starts.
#[test]
fn a_process_of_another_program() {
    let Ok(what) = std::env::var(CHILD) else {
        return;
    };
    match what.as_str() {
        "daemon" => {
            let card = Card::functional(FunctionalCard::new(FunctionalConfig::default()));
            let _daemon = tombolo_daemon::Daemon::listen(card.unwrap(), Path::new("card")).unwrap();
            println!("it listens");
            let _ = std::io::stdin().read(&mut [0]);
        }
        "stopped" => is_stopped(),
        _ => works(),
    }
}

/// Copies for ever, with a trap at each page in each direction.
fn works() {
    let card = Card::open("unix:card").unwrap();
    let (space, slot) = with_copy(&card);
    let (_pages, own) = Pages::new(16, 1);
    let from = space.alloc_with_pages(64 << 10, PageSize::KIB_4).unwrap();
    let to = registered(&space, own, PageSize::KIB_4);
    println!("it works");
    for round in 0.. {
        let bytes = pattern(64 << 10, round);
        put(&from, &bytes);
        copy(&slot, &from, &to, bytes.len());
        assert!(get(&to, bytes.len()) == bytes, "round {round}");
    }
}

/// Starts a kernel and is stopped, until long after the kernel needed its pages.
fn is_stopped() {
    let card = Card::open("unix:card").unwrap();
    let (space, slot) = with_copy(&card);
    let from = space.alloc_with_pages(64 << 10, PageSize::KIB_4).unwrap();
    let to = space.alloc_with_pages(64 << 10, PageSize::KIB_4).unwrap();
    let bytes = pattern(64 << 10, 1);
    put(&from, &bytes);
    slot.set_pointer("input", from.address()).unwrap();
    slot.set_pointer("output", to.address()).unwrap();
    slot.set("bytes", bytes.len() as u64).unwrap();
    slot.start().unwrap();
    println!("it waits to be stopped");
    // Until the daemon has given it up.
    while space.alloc(1).is_ok() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let error = slot.wait(None, |_| Continue::Yes).unwrap_err();
    // Its memory is its own, and can be used.
    assert!(get(&from, bytes.len()) == bytes);
    put(&from, &[1; 5000]);
    put(&to, &bytes);
    assert!(get(&to, bytes.len()) == bytes);
    let again = space.alloc(1).unwrap_err();
    println!("failed: {error}; {again}");
}

/// Copies of a bystander; its files do not differ.
fn bystander(card: &Card, space: &AddressSpace) -> Duration {
    let begun = Instant::now();
    let slot = card.load_anywhere(kernel("copy"), space).unwrap();
    let (from, to) = (space.alloc(100_000).unwrap(), space.alloc(100_000).unwrap());
    let bytes = pattern(100_000, 3);
    put(&from, &bytes);
    copy(&slot, &from, &to, bytes.len());
    assert!(get(&to, bytes.len()) == bytes);
    slot.close().unwrap();
    begun.elapsed()
}

#[test]
fn nothing_is_left_of_a_program_that_was_killed() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let space = watcher.create_space().unwrap();
    bystander(&watcher, &space);
    let before = resources(&watcher);
    for round in 0..24u64 {
        let mut process = Process::new("killed", served.folder.path());
        process.says("it works");
        std::thread::sleep(Duration::from_micros(round * 700));
        if round % 3 == 0 {
            process.signal(Signal::STOP);
            std::thread::sleep(Duration::from_millis(round));
        }
        process.signal(Signal::KILL);
        bystander(&watcher, &space);
        process.ends();
    }
    assert_nothing_is_left(&watcher, before);
}

#[test]
fn a_program_that_is_stopped_loses_its_memory_and_delays_others_once() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let space = watcher.create_space().unwrap();
    bystander(&watcher, &space);
    let before = resources(&watcher);
    for _ in 0..2 {
        let mut process = Process::new("stopped", served.folder.path());
        process.says("it waits to be stopped");
        process.signal(Signal::STOP);
        // Its kernel runs while this one is waited for, and meets pages of a program that does not answer.
        let first = bystander(&watcher, &space);
        let then = (0..3).map(|_| bystander(&watcher, &space)).max().unwrap();
        println!("the bystander waited for {first:?}, then at most {then:?}");
        process.signal(Signal::CONT);
        let line = process.says("failed:");
        assert!(line.contains("could not be changed"), "{line}");
        assert!(line.contains("in time"), "{line}");
        assert!(process.ends().success());
    }
    assert_nothing_is_left(&watcher, before);
}

/// A program whose bytes a kernel has copied, from memory of the library's to memory that the program had.
struct Copied {
    space: AddressSpace,
    slot: Slot,
    from: SharedMemory,
    to: SharedMemory,
    bytes: Vec<u8>,
}

impl Copied {
    fn new(card: &Card, own: &mut [u8], salt: usize) -> Self {
        let bytes = pattern(100_000, salt);
        let (space, slot) = with_copy(card);
        let from = space.alloc(bytes.len()).unwrap();
        let to = registered(&space, own, PageSize::KIB_4);
        put(&from, &bytes);
        copy(&slot, &from, &to, bytes.len());
        Self {
            space,
            slot,
            from,
            to,
            bytes,
        }
    }

    /// Both have all bytes, and no call is served.
    fn has_only_bytes(&self) {
        assert!(get(&self.to, self.bytes.len()) == self.bytes);
        let read = get(&self.from, self.bytes.len());
        assert!(read == self.bytes, "what only kernels read");
        let gone = try_copy(&self.slot, &self.from, &self.to, 64).unwrap_err();
        assert_eq!(gone.code(), ErrorCode::Daemon, "{gone}");
        let again = self.space.alloc(1).unwrap_err();
        assert_eq!(again.code(), ErrorCode::Daemon, "{again}");
    }
}

#[test]
fn memory_of_a_killed_daemon_stays_readable() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let mut daemon = Process::new("daemon", folder.path());
        daemon.says("it listens");
        let card = Card::open(format!("unix:{}", folder.path().join("card").display())).unwrap();
        let (_pages, own) = Pages::new(25, 3);
        let copied = Copied::new(&card, own, round);
        // A thread that waits for a page, or comes later.
        let dies = |daemon: &Process| daemon.signal(Signal::KILL);
        if round < 2 {
            dies(&daemon);
        }
        std::thread::scope(|scope| {
            scope.spawn(|| get(&copied.to, copied.bytes.len()));
            if round >= 2 {
                dies(&daemon);
            }
        });
        daemon.ends();
        // What was only on the card is lost with it.
        put(&copied.to, &copied.bytes);
        copied.has_only_bytes();
        drop(copied);
        own[0] = 1;
    }
}

#[test]
fn a_daemon_that_ends_gives_memory_back_with_all_bytes() {
    let _alone = alone();
    let mut served = Served::new();
    let (_pages, own) = Pages::new(25, 3);
    let copied = Copied::new(&served.open(), own, 1);
    served.daemon.take().unwrap().stop();
    copied.has_only_bytes();
    put(&copied.to, &[1; 100]);
    let bytes = copied.bytes.clone();
    drop(copied);
    assert!(own[..100] == [1; 100]);
    assert!(own[100..bytes.len()] == bytes[100..]);
}

#[test]
fn a_daemon_that_is_replaced_gives_memory_back_and_the_next_one_takes_it() {
    let _alone = alone();
    let mut served = Served::new();
    let (_pages, own) = Pages::new(25, 3);
    let copied = Copied::new(&served.open(), own, 1);
    let old = served.daemon.take().unwrap();
    let (socket, successors) = (served.socket(), old.successors());
    let new = std::thread::spawn(move || {
        let card = FunctionalCard::new(FunctionalConfig::default());
        Daemon::replace(Card::functional(card).unwrap(), &socket, Quotas::default()).unwrap()
    });
    old.hand_over(&successors.wait()).unwrap();
    served.daemon = Some(new.join().unwrap());
    copied.has_only_bytes();
    let bytes = copied.bytes.clone();
    drop(copied);
    assert!(own[..bytes.len()] == bytes);
    // The same pages, with the daemon that serves now.
    let card = served.open();
    let (space, slot) = with_copy(&card);
    let from = registered(&space, own, PageSize::KIB_4);
    let to = space.alloc(bytes.len()).unwrap();
    copy(&slot, &from, &to, bytes.len());
    assert!(get(&to, bytes.len()) == bytes);
}

#[test]
fn a_child_of_the_program_takes_nothing_with_it() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let before = resources(&watcher);
    let card = served.open();
    let (space, slot) = with_copy(&card);
    let (from, to) = (space.alloc(5000).unwrap(), space.alloc(5000).unwrap());
    put(&from, &pattern(5000, 1));
    copy(&slot, &from, &to, 5000);
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    assert!(get(&to, 5000) == pattern(5000, 1));
    copy(&slot, &to, &from, 5000);
    drop((from, to, slot, space, card));
    assert_nothing_is_left(&watcher, before);
    child.kill().unwrap();
    child.wait().unwrap();
}

/// A client that sends messages that no library sends.
struct Raw {
    socket: UnixStream,
    space: SpaceId,
}

fn sealed(bytes: u64) -> File {
    use rustix::fs::{fcntl_add_seals, memfd_create, MemfdFlags, SealFlags};
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    let file = File::from(memfd_create("test", flags).unwrap());
    file.set_len(bytes).unwrap();
    fcntl_add_seals(&file, SealFlags::SHRINK).unwrap();
    file
}

impl Raw {
    fn new(served: &Served, version: Version) -> Self {
        let socket = UnixStream::connect(served.socket()).unwrap();
        let program = "raw".to_owned();
        let hello = encode(&Hello { version, program }).unwrap();
        send(&socket, &Frame::new(Kind::Hello, 0, hello)).unwrap();
        assert_eq!(receive(&socket, Side::Daemon).unwrap().kind, Kind::Welcome);
        let mut raw = Self {
            socket,
            space: SpaceId(0),
        };
        let options = SpaceOptions::new();
        let made = raw.ask(CreateSpace { options }, Vec::new()).unwrap();
        raw.space = decode::<NewSpace>(&made).unwrap().space;
        raw
    }

    fn ask(&self, request: impl Into<Message>, files: Vec<OwnedFd>) -> Result<Vec<u8>, Failure> {
        let mut frame = Frame::new(Kind::Request, 1, encode(&request.into()).unwrap());
        frame.descriptors = files;
        send(&self.socket, &frame).unwrap();
        let answer = receive(&self.socket, Side::Daemon).unwrap();
        match answer.kind {
            Kind::Failure => Err(decode(&answer.body).unwrap()),
            _ => Ok(answer.body),
        }
    }

    fn request(&self, parts: &[TrappedPart], block: u64, orders: bool) -> ShareTrapped {
        ShareTrapped {
            space: self.space,
            address: VirtAddr::new(0x1000_0000 + (block << 32)).unwrap(),
            parts: parts.to_vec(),
            block,
            pieces: true,
            orders,
        }
    }

    fn share(
        &self,
        parts: &[TrappedPart],
        block: u64,
        file: File,
        orders: Option<OwnedFd>,
    ) -> Result<MappingId, Failure> {
        let request = self.request(parts, block, orders.is_some());
        let files = std::iter::once(file.into()).chain(orders).collect();
        let made = self.ask(request, files)?;
        Ok(decode::<NewMapping>(&made).unwrap().mapping)
    }
}

const SMALL: TrappedPart = TrappedPart {
    bytes: 8192,
    page: PageSize::KIB_4,
};

#[test]
fn memory_of_a_client_that_lies_is_refused() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let before = resources(&watcher);
    let raw = Raw::new(&served, Version::THIS);
    let orders = || Some(order_sockets().unwrap().1);
    let part = |bytes, page| TrappedPart { bytes, page };
    let huge = part(1 << 41, PageSize::MIB_2);
    let plain = served.file("plain", &[1; 8192]);
    let plain = || File::options().read(true).write(true).open(&plain).unwrap();
    let unsealed = || {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = File::from(rustix::fs::memfd_create("test", flags).unwrap());
        file.set_len(8192).unwrap();
        file
    };
    let edge = u64::MAX / 4096 * 4096;
    let cases: Vec<(Vec<TrappedPart>, File, Option<OwnedFd>, &str)> = vec![
        (vec![SMALL], plain(), orders(), "sealed"),
        (vec![SMALL], unsealed(), orders(), "sealed"),
        (vec![SMALL], sealed(4096), orders(), "does not hold"),
        (vec![SMALL, SMALL], sealed(8192), orders(), "does not hold"),
        (vec![], sealed(8192), orders(), "whole pages"),
        (vec![SMALL; 9], sealed(1 << 20), orders(), "whole pages"),
        (
            vec![part(100, PageSize::KIB_4)],
            sealed(8192),
            orders(),
            "whole pages",
        ),
        (
            vec![part(0, PageSize::KIB_4)],
            sealed(8192),
            orders(),
            "whole pages",
        ),
        (
            vec![SMALL, part(2 << 20, PageSize::MIB_2)],
            sealed(4 << 20),
            orders(),
            "whole pages",
        ),
        (vec![huge], sealed(1 << 20), orders(), "1 TiB"),
        (
            vec![part(edge, PageSize::KIB_4); 3],
            sealed(8192),
            orders(),
            "1 TiB",
        ),
        (
            vec![SMALL],
            sealed(8192),
            Some(plain().into()),
            "socket for orders",
        ),
        (
            vec![SMALL],
            sealed(8192),
            Some(UnixStream::pair().unwrap().0.into()),
            "SEQPACKET",
        ),
    ];
    for (parts, file, socket, why) in cases {
        let what = format!("{parts:?}");
        let refused = raw.share(&parts, 1, file, socket).unwrap_err().message;
        assert!(refused.contains(why), "{what}: {refused}");
    }
    let fresh = Raw::new(&served, Version::THIS);
    let none = fresh.share(&[SMALL], 1, sealed(8192), None);
    assert!(none.unwrap_err().message.contains("no socket"));
    let other = raw.request(&[SMALL], 1, true);
    let one = raw.ask(other, vec![sealed(8192).into()]);
    assert!(one.unwrap_err().message.contains("descriptors"));
    let (program, socket) = order_sockets().unwrap();
    let none = |block, offset| ServeTrap {
        block,
        offset,
        write: true,
    };
    let mapping = raw.share(&[SMALL], 1, sealed(8192), Some(socket)).unwrap();
    let second = raw.share(&[SMALL], 2, sealed(8192), orders());
    assert!(second.unwrap_err().message.contains("one socket"));
    for trap in [
        none(0, 0),
        none(2, 0),
        none(1, 8192),
        none(u64::MAX, u64::MAX),
    ] {
        let refused = raw.ask(trap, Vec::new()).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Gone, "{refused:?}");
    }
    // Another client's block is none of this one.
    let other = Raw::new(&served, Version::THIS);
    let refused = other.ask(none(1, 0), Vec::new()).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::Gone);
    // Nothing was taken so far, so a trap has nothing to wait for.
    raw.ask(none(1, 4096), Vec::new()).unwrap();
    drop(program);
    let _ = raw.ask(Prefetch { mapping }, Vec::new());
    drop((raw, other, fresh));
    assert_nothing_is_left(&watcher, before);
}

#[test]
fn a_client_that_does_not_follow_orders_delays_others_once() {
    let _alone = alone();
    let served = Served::new();
    let watcher = served.open();
    let space = watcher.create_space().unwrap();
    let usual = (0..3).map(|_| bystander(&watcher, &space)).max().unwrap();
    let before = resources(&watcher);
    for lie in 0..4u64 {
        // It does not answer; answers another order; answers before it is asked; sends what is no answer.
        let raw = Raw::new(&served, Version::THIS);
        let (program, orders) = order_sockets().unwrap();
        let mut orders = Some(orders);
        let shared = (0..3).map(|block| raw.share(&[SMALL], block, sealed(8192), orders.take()));
        let mappings: Vec<MappingId> = shared.map(Result::unwrap).collect();
        let early = Acknowledgement {
            number: 1 + lie,
            error: 0,
        };
        if lie >= 2 {
            for _ in 0..8 {
                acknowledge(&program, early).unwrap();
            }
        }
        std::thread::scope(|scope| {
            let (program, raw, mappings) = (&program, &raw, &mappings);
            let answers = scope.spawn(move || {
                while let Ok(Some(order)) = receive_order(program) {
                    let number = order.number + 1;
                    let told = Acknowledgement { number, error: 0 };
                    if lie > 0 && acknowledge(program, told).is_err() {
                        return;
                    }
                }
            });
            for mapping in mappings {
                let _ = raw.ask(Prefetch { mapping: *mapping }, Vec::new());
            }
            answers.join().unwrap();
        });
        let refused = raw.share(&[SMALL], 9, sealed(8192), None).unwrap_err();
        assert!(refused.message.contains("in time"), "{}", refused.message);
        let waits = bystander(&watcher, &space);
        println!("lie {lie}: {waits:?}, otherwise {usual:?}");
    }
    assert_nothing_is_left(&watcher, before);
}

#[test]
fn a_client_of_the_version_before_is_served() {
    let _alone = alone();
    let served = Served::new();
    let older = Version {
        minor: Version::THIS.minor - 1,
        ..Version::THIS
    };
    let raw = Raw::new(&served, older);
    assert!(raw.space.0 > 0);
}
