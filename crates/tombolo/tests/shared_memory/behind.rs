//! Changes behind the library's back: memory that is unmapped, moved, pinned, dumped, read by other processes, and
//! threads that a debugger has stopped. Nothing hangs, and other memory is untouched.

use crate::mistakes::{in_a_process, CHILD};
use crate::{build, functional, start, wait, Node};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering::Relaxed};
use tombolo::{AddressSpace, Card, Error, PageSize, SharedMemory, SlotId, TrapWay};

const PAGE: usize = 4096;
/// Nodes of a page.
const NODES: usize = PAGE / size_of::<Node>();
const WAYS: [TrapWay; 3] = [TrapWay::Protect, TrapWay::Userfault, TrapWay::InThread];

fn skipped(test: &str, why: &str) {
    // By itself, as tests whose output is kept are read too.
    let line = format!("skipped: {test}: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// The kernel adds to a node in each of the first pages, so that the card has them to write.
fn give_to_card(card: &Card, space: &AddressSpace, nodes: &[&Node], output: &Node) {
    wait(&start(card, SlotId(0), space, nodes[0], output, 100, 0)).unwrap();
}

struct World {
    card: Card,
    space: AddressSpace,
    memory: SharedMemory,
    results: SharedMemory,
}

/// A card, memory of some pages that is trapped in some way, and a page for results.
fn world(pages: usize, way: TrapWay) -> World {
    let card = functional(64, None);
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_traps(pages * PAGE, PageSize::KIB_4, way)
        .unwrap();
    let results = space.alloc_with_pages(PAGE, PageSize::KIB_4).unwrap();
    World {
        card,
        space,
        memory,
        results,
    }
}

impl World {
    fn output(&self) -> &Node {
        &self.results.slice::<Node>()[0]
    }

    /// Node `n` has its value, and the hundreds that kernels have added.
    fn holds(&self, n: usize, hundreds: u64) -> bool {
        let value = self.memory.slice::<Node>()[n * NODES].value.load(Relaxed);
        value == n as u64 * 3 + 1 + 100 * hundreds
    }

    fn page(&self, n: usize) -> *mut libc::c_void {
        // SAFETY: in the memory.
        unsafe { self.memory.as_ptr().add(n * PAGE).cast() }
    }
}

fn nodes_of(memory: &SharedMemory, n: usize) -> &Node {
    &memory.slice::<Node>()[n * NODES]
}

#[test]
fn a_page_that_is_unmapped_fails_its_kernel_and_no_other() {
    for way in WAYS {
        let world = world(8, way);
        let nodes = build(&world.memory, 8, NODES);
        give_to_card(&world.card, &world.space, &nodes, world.output());
        // One goes when it is the program's.
        nodes[2].rest[0].store(1, Relaxed);
        // SAFETY: the page of the third node, which nobody looks at again.
        assert_eq!(unsafe { libc::munmap(world.page(2), PAGE) }, 0);
        let others = [0, 1, 3, 4, 5, 6, 7];
        assert!(others.into_iter().all(|n| world.holds(n, 1)), "{way:?}");
        for n in others {
            nodes[n].rest[0].store(n as u64, Relaxed);
        }
        // Of the kernel's pages, the one that is not there fails.
        let slot = start(
            &world.card,
            SlotId(0),
            &world.space,
            nodes[0],
            world.output(),
            100,
            0,
        );
        let error = wait(&slot).unwrap_err();
        assert!(matches!(error, Error::Access(_)), "{error}");
        let text = error.to_string();
        let at = format!("{:x}", world.page(2) as usize / PAGE);
        let named = text.contains(&at) && text.contains("unmapped");
        assert!(named || way != TrapWay::Protect, "{text}");
        // Around it, as ever.
        nodes[1].next.store(&raw const *nodes[3] as u64, Relaxed);
        give_to_card(&world.card, &world.space, &nodes, world.output());
        assert_eq!(world.output().value.load(Relaxed), 7);
        // Another goes when it is the card's, and then all of them come back at once.
        // SAFETY: the page of a node that nobody looks at again.
        assert_eq!(unsafe { libc::munmap(world.page(5), PAGE) }, 0);
        let World {
            card,
            space,
            mut memory,
            results,
        } = world;
        memory.free().unwrap();
        for n in [0, 1, 3, 4, 6, 7] {
            assert_eq!(nodes_of(&memory, n).rest[0].load(Relaxed), n as u64);
        }
        assert_eq!(nodes_of(&memory, 7).value.load(Relaxed), 222);
        drop((memory, results, space, card));
    }
}

#[test]
fn what_is_mapped_over_shared_memory_stays_when_it_ends() {
    for way in WAYS {
        let world = world(4, way);
        let nodes = build(&world.memory, 4, NODES);
        give_to_card(&world.card, &world.space, &nodes, world.output());
        // The program's, so that nobody has to give it back.
        nodes[1].rest[0].store(1, Relaxed);
        let at = world.page(1);
        let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: replaces a page of this test.
        unsafe {
            assert_eq!(
                libc::mmap(at, PAGE, libc::PROT_READ | libc::PROT_WRITE, how, -1, 0),
                at
            );
            at.cast::<u64>().write_volatile(77);
            assert_eq!(libc::mprotect(at, PAGE, libc::PROT_READ), 0);
        }
        let World {
            card,
            space,
            mut memory,
            results,
        } = world;
        memory.free().unwrap();
        // The rest is the program's, with what the kernel wrote.
        let values = [0, 2, 3].map(|n| memory.slice::<Node>()[n * NODES].value.load(Relaxed));
        assert_eq!(values, [101, 107, 110], "{way:?}");
        drop((memory, results, space, card));
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let start = format!("{:x}-", at as usize);
        let line = maps.lines().find(|line| line.starts_with(&start));
        assert!(
            line.is_some_and(|line| line.contains("r--p")),
            "{way:?}: {line:?}"
        );
        // SAFETY: the page above.
        unsafe {
            assert_eq!(at.cast::<u64>().read_volatile(), 77);
            libc::munmap(at, PAGE);
        }
    }
}

#[test]
fn a_page_that_is_moved_is_no_part_of_it_any_more() {
    let world = world(4, TrapWay::Protect);
    let nodes = build(&world.memory, 4, NODES);
    give_to_card(&world.card, &world.space, &nodes, world.output());
    assert!(world.holds(1, 1));
    // SAFETY: a page that the program may read now; it goes elsewhere.
    let moved = unsafe {
        libc::mremap(
            world.page(1),
            PAGE,
            PAGE,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            {
                let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                libc::mmap(null_mut(), PAGE, libc::PROT_NONE, how, -1, 0)
            },
        )
    };
    assert_ne!(moved, libc::MAP_FAILED);
    // A kernel that writes there fails, as where nothing is; the bytes went along.
    let slot = start(
        &world.card,
        SlotId(0),
        &world.space,
        nodes[0],
        world.output(),
        100,
        0,
    );
    assert!(matches!(wait(&slot), Err(Error::Access(_))));
    // SAFETY: a node in the page that was moved.
    let value = || unsafe { (*moved.cast::<Node>()).value.load(Relaxed) };
    assert_eq!(value(), 104);
    assert!(world.holds(0, 2) && world.holds(2, 1) && world.holds(3, 1));
    drop(world);
    assert_eq!(value(), 104);
    // SAFETY: the page that was moved.
    unsafe { libc::munmap(moved, PAGE) };
}

#[test]
fn registered_pages_that_were_moved_stay_where_they_went() {
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let how = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: pages of this test, used through raw pointers.
    unsafe {
        let at = libc::mmap(null_mut(), 3 * PAGE, rights, how, -1, 0).cast::<u8>();
        at.write_bytes(1, 3 * PAGE);
        let mut memory = space
            .register_with_pages(at, 3 * PAGE, PageSize::KIB_4)
            .unwrap();
        let aim = libc::mmap(null_mut(), PAGE, libc::PROT_NONE, how, -1, 0);
        let move_it = libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED;
        let moved = libc::mremap(at.add(PAGE).cast(), PAGE, PAGE, move_it, aim).cast::<u8>();
        assert_eq!(moved.cast(), aim);
        memory.free().unwrap();
        assert_eq!(
            [at, moved, at.add(2 * PAGE)].map(|at| at.read_volatile()),
            [1; 3]
        );
        moved.write_volatile(2);
        // Where the page was, may be anybody's now.
        for own in [moved, at, at.add(2 * PAGE)] {
            libc::munmap(own.cast(), PAGE);
        }
    }
}

/// The result of `process_vm_readv` on this process, as another would call it.
fn read_from_outside(at: *const libc::c_void) -> std::io::Result<u64> {
    let mut value = 0u64;
    let bytes = size_of::<u64>();
    let local = libc::iovec {
        iov_base: (&raw mut value).cast(),
        iov_len: bytes,
    };
    let remote = libc::iovec {
        iov_base: at.cast_mut(),
        iov_len: bytes,
    };
    // SAFETY: one entry each; the local one is a word of this function.
    let read = unsafe { libc::process_vm_readv(libc::getpid(), &local, 1, &remote, 1, 0) };
    match read {
        8 => Ok(value),
        _ => Err(std::io::Error::last_os_error()),
    }
}

#[test]
fn other_processes_read_what_is_right_or_nothing() {
    for way in WAYS {
        let world = world(3, way);
        let nodes = build(&world.memory, 3, NODES);
        give_to_card(&world.card, &world.space, &nodes, world.output());
        let value = &raw const nodes[1].value;
        match (world.memory.trap_way(), read_from_outside(value.cast())) {
            // As a system call.
            (Some(TrapWay::Userfault), Ok(value)) => assert_eq!(value, 104),
            (Some(TrapWay::Protect | TrapWay::InThread), Err(error)) => {
                assert_eq!(error.raw_os_error(), Some(libc::EFAULT), "{error}");
            }
            other => panic!("{other:?}"),
        }
        assert!((0..3).all(|n| world.holds(n, 1)));
        assert_eq!(read_from_outside(value.cast()).unwrap(), 104);
    }
}

#[test]
fn debuggers_may_look_and_cannot_write_what_the_card_has() {
    let world = world(3, TrapWay::Protect);
    let nodes = build(&world.memory, 3, NODES);
    give_to_card(&world.card, &world.space, &nodes, world.output());
    // As ptrace's PEEK and POKE do: rights are passed over.
    let own = std::fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open("/proc/self/mem")
        .unwrap();
    let at = &raw const nodes[1].value as u64;
    let mut value = [0; 8];
    own.read_exact_at(&mut value, at).unwrap();
    // What the program had when the card took the page, or what it has now.
    assert!([4, 104].contains(&u64::from_ne_bytes(value)), "{value:?}");
    own.write_at(&[9; 8], at).unwrap_err();
    assert!((0..3).all(|n| world.holds(n, 1)));
}

/// Pins pages for as long as the descriptor is open, as io_uring's fixed buffers are.
fn pin(at: *mut libc::c_void, bytes: usize) -> std::io::Result<std::fs::File> {
    use std::os::fd::FromRawFd;
    const REGISTER_BUFFERS: libc::c_long = 0;
    let mut parameters = [0u32; 30];
    let buffer = libc::iovec {
        iov_base: at,
        iov_len: bytes,
    };
    // SAFETY: io_uring_params has 120 bytes; one buffer, which stays mapped.
    unsafe {
        let ring = libc::syscall(libc::SYS_io_uring_setup, 2, parameters.as_mut_ptr());
        if ring < 0 {
            return Err(std::io::Error::last_os_error());
        }
        let ring = std::fs::File::from_raw_fd(ring as i32);
        let number = std::os::fd::AsRawFd::as_raw_fd(&ring);
        match libc::syscall(
            libc::SYS_io_uring_register,
            number,
            REGISTER_BUFFERS,
            &raw const buffer,
            1,
        ) {
            0 => Ok(ring),
            _ => Err(std::io::Error::last_os_error()),
        }
    }
}

#[test]
fn pinned_pages_are_shared_all_the_same() {
    for way in WAYS {
        let world = world(4, way);
        let nodes = build(&world.memory, 4, NODES);
        let pinned = match pin(world.page(0), 4 * PAGE) {
            Ok(pinned) => pinned,
            Err(error) => {
                return skipped(
                    "pinned_pages_are_shared_all_the_same",
                    &format!("io_uring: {error}"),
                )
            }
        };
        for round in 1..4 {
            give_to_card(&world.card, &world.space, &nodes, world.output());
            assert!((0..4).all(|n| world.holds(n, round)), "{way:?}");
            nodes[2].rest[3].store(round, Relaxed);
        }
        drop(pinned);
        assert_eq!(nodes[2].rest[3].load(Relaxed), 3);
    }
}

#[test]
fn a_process_that_dumps_its_core_ends() {
    const NAME: &str = "behind::a_process_that_dumps_its_core_ends";
    if std::env::var_os(CHILD).is_none() {
        let folder = tempfile::tempdir().unwrap();
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command
            .args([NAME, "--exact"])
            .env(CHILD, "1")
            .current_dir(&folder);
        assert_eq!(
            command.output().unwrap().status.signal(),
            Some(libc::SIGABRT)
        );
        return;
    }
    let limit = libc::rlimit {
        rlim_cur: 4 << 20,
        rlim_max: 4 << 20,
    };
    // SAFETY: a struct that the call reads.
    unsafe { libc::setrlimit(libc::RLIMIT_CORE, &limit) };
    let worlds = WAYS.map(|way| world(3, way));
    for world in &worlds {
        let nodes = build(&world.memory, 3, NODES);
        give_to_card(&world.card, &world.space, &nodes, world.output());
    }
    std::process::abort();
}

/// A child that stops a thread of its parent like a debugger, until it is asked to end.
struct Debugger {
    child: libc::pid_t,
    say: [i32; 2],
    hear: [i32; 2],
}

fn pipe() -> [i32; 2] {
    let mut ends = [0; 2];
    // SAFETY: two descriptors to write.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    ends
}

impl Debugger {
    /// `None` where the system does not let it.
    fn stop(thread: i32) -> Option<Self> {
        let (say, hear) = (pipe(), pipe());
        let mut byte = [0u8];
        // SAFETY: the child calls the system only, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            // SAFETY: as above; the byte is the child's own.
            unsafe {
                libc::read(say[0], byte.as_mut_ptr().cast(), 1);
                let stopped = libc::ptrace(libc::PTRACE_SEIZE, thread, 0, 0) == 0
                    && libc::ptrace(libc::PTRACE_INTERRUPT, thread, 0, 0) == 0
                    && libc::waitpid(thread, null_mut(), libc::__WALL) == thread;
                byte[0] = stopped.into();
                libc::write(hear[1], byte.as_ptr().cast(), 1);
                libc::read(say[0], byte.as_mut_ptr().cast(), 1);
                // Its end lets the thread go on.
                libc::_exit(0);
            }
        }
        assert!(child > 0);
        let debugger = Self { child, say, hear };
        // SAFETY: the child may trace this process.
        unsafe { libc::prctl(libc::PR_SET_PTRACER, child, 0, 0, 0) };
        debugger.tell();
        // SAFETY: one byte.
        let read = unsafe { libc::read(hear[0], byte.as_mut_ptr().cast(), 1) };
        (read == 1 && byte[0] == 1).then_some(debugger)
    }

    fn tell(&self) {
        // SAFETY: one byte.
        unsafe { libc::write(self.say[1], [1u8].as_ptr().cast(), 1) };
    }
}

impl Drop for Debugger {
    fn drop(&mut self) {
        self.tell();
        // SAFETY: the child, and descriptors of its own.
        unsafe {
            libc::waitpid(self.child, null_mut(), 0);
            for end in self.say.into_iter().chain(self.hear) {
                libc::close(end);
            }
        }
    }
}

/// Threads of this process with a name.
fn threads(name: &str) -> Vec<i32> {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let named = tasks.filter(|task| {
        std::fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.trim() == name)
    });
    named
        .filter_map(|task| task.file_name().to_str()?.parse().ok())
        .collect()
}

#[test]
fn a_debugger_that_stops_the_trap_queue_delays_traps_and_nothing_else() {
    const NAME: &str = "behind::a_debugger_that_stops_the_trap_queue_delays_traps_and_nothing_else";
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process(NAME);
        assert!(status.success(), "{status}");
        return;
    }
    // A thread gives itself its name, and that of a card that has gone may be about to end.
    let wait_for = |name: &str, count: usize| {
        let mut queues = threads(name);
        while queues.len() != count {
            std::thread::yield_now();
            queues = threads(name);
        }
        queues
    };
    for way in WAYS {
        for name in ["tombolo faults", "tombolo traps"] {
            wait_for(name, 0);
        }
        let world = world(3, way);
        let other = world.space.alloc_untrapped(PAGE, PageSize::KIB_4).unwrap();
        let nodes = build(&world.memory, 3, NODES);
        give_to_card(&world.card, &world.space, &nodes, world.output());
        let name = match world.memory.trap_way() {
            Some(TrapWay::Userfault) => "tombolo faults",
            _ => "tombolo traps",
        };
        let traps = || world.card.report().unwrap().paging.sharing.traps;
        let queues = wait_for(name, 1);
        let Some(debugger) = Debugger::stop(queues[0]) else {
            return skipped(NAME, "ptrace is not allowed");
        };
        let (there, before) = (AtomicBool::new(false), traps());
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                let value = nodes[1].value.load(Relaxed);
                there.store(true, Relaxed);
                value
            });
            // Kernels run meanwhile, and the library answers.
            let output = &other.slice::<Node>()[1];
            let node = &other.slice::<Node>()[0];
            node.value.store(5, Relaxed);
            for _ in 0..20 {
                wait(&start(
                    &world.card,
                    SlotId(1),
                    &world.space,
                    node,
                    output,
                    0,
                    0,
                ))
                .unwrap();
            }
            assert_eq!(traps(), before);
            assert!(!there.load(Relaxed));
            other.take(0, PAGE as u64, false).unwrap();
            assert_eq!(output.next.load(Relaxed), 5);
            drop(debugger);
            assert_eq!(waits.join().unwrap(), 104);
        });
    }
}

#[test]
fn a_debugger_that_stops_a_thread_holds_nobody_up() {
    const NAME: &str = "behind::a_debugger_that_stops_a_thread_holds_nobody_up";
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process(NAME);
        assert!(status.success(), "{status}");
        return;
    }
    let world = world(3, TrapWay::Protect);
    let nodes = build(&world.memory, 3, NODES);
    let (end, number) = (AtomicBool::new(false), AtomicI32::new(0));
    let count = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // SAFETY: has no arguments.
            number.store(unsafe { libc::gettid() }, Relaxed);
            // Trapped again and again.
            while !end.load(Relaxed) {
                nodes[1].rest[0].fetch_add(1, Relaxed);
                count.fetch_add(1, Relaxed);
            }
        });
        for _ in 0..3 {
            give_to_card(&world.card, &world.space, &nodes, world.output());
            let Some(debugger) = Debugger::stop(number.load(Relaxed)) else {
                skipped(NAME, "ptrace is not allowed");
                break;
            };
            // Wherever it stands: the card gets the page, and gives it back to others.
            give_to_card(&world.card, &world.space, &nodes, world.output());
            assert!(nodes[1].value.load(Relaxed) >= 204);
            drop(debugger);
        }
        end.store(true, Relaxed);
    });
    assert_eq!(nodes[1].rest[0].load(Relaxed), count.load(Relaxed));
}
