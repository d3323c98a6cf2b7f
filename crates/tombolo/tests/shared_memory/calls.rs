//! Memory that is guarded by userfaultfd: is it one memory too, and inside system calls?

use crate::{build, functional, lists_in, shaker, start, wait, Node};
use std::fs::File;
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use tombolo::{AddressSpace, PageSize, SharedMemory, SlotId, TrapWay};

/// Memory of such a kind, or none, because the system does not have it; that is said.
fn memory(test: &str, space: &AddressSpace, bytes: usize, page: PageSize) -> Option<SharedMemory> {
    let memory = space
        .alloc_with_traps(bytes, page, TrapWay::Userfault)
        .unwrap();
    if memory.trap_way() == Some(TrapWay::Userfault) {
        return Some(memory);
    }
    let line = format!("skipped: {test}: no userfaultfd (root, and Linux 6.6)\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    None
}

#[test]
fn lists_are_shared_as_with_protected_pages() {
    for (seed, page) in [
        (1, PageSize::KIB_4),
        (2, PageSize::from_bytes(32 << 10).unwrap()),
    ] {
        let card = functional(24, Some(seed));
        let space = card.create_space().unwrap();
        let bytes = 64 << 10;
        let name = "lists_are_shared_as_with_protected_pages";
        let Some(memory) = memory(name, &space, bytes, page) else {
            return;
        };
        lists_in(&card, space, &memory, bytes / 512);
    }
}

#[test]
fn nothing_is_lost_when_everybody_accesses_at_random() {
    let folder = shaker::folder();
    let small = shaker::Load::SMALL;
    let large = shaker::Load {
        page: PageSize::from_class(4).unwrap(),
        ..small
    };
    for (frames, seed, load) in [(8, None, small), (3, Some(2), small), (36, Some(3), large)] {
        let card = functional(frames, seed);
        let shaken = shaker::shake_in(&card, folder.path(), load, TrapWay::Userfault).unwrap();
        assert_eq!(shaken.wrong, 0, "{shaken:?}");
        assert!(shaken.traps > 100, "they hardly met: {shaken:?}");
        let card = functional(frames, seed);
        let shaken = shaker::shake_in(&card, folder.path(), load, TrapWay::InThread).unwrap();
        assert_eq!(shaken.wrong, 0, "{shaken:?}");
        assert!(shaken.traps > 100, "they hardly met: {shaken:?}");
    }
}

/// Threads serve themselves what is the program's: the library hears of nothing, until the card has a page.
#[test]
fn threads_put_pages_of_the_program_in_place_by_themselves() {
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_traps(4 * 4096, PageSize::KIB_4, TrapWay::InThread)
        .unwrap();
    if memory.trap_way() != Some(TrapWay::InThread) {
        let line = "skipped: threads_put_pages_of_the_program_in_place_by_themselves: Linux 6.6\n";
        return std::io::stderr().write_all(line.as_bytes()).unwrap();
    }
    let results = space.alloc_with_pages(4096, PageSize::KIB_4).unwrap();
    let (nodes, output) = (build(&memory, 4, 64), &results.slice::<Node>()[0]);
    let traps = || card.report().unwrap().paging.sharing.traps;
    let drop_from_map = |page: usize| {
        let at = bytes(&memory, page * 4096, 4096).as_mut_ptr();
        // SAFETY: a page of the memory, whose bytes are in its file.
        let done = unsafe { libc::madvise(at.cast(), 4096, libc::MADV_DONTNEED) };
        assert_eq!(done, 0);
    };
    for page in 0..4 {
        drop_from_map(page);
    }
    assert_eq!(nodes[0].value.load(Relaxed), 1);
    nodes[1].rest[0].store(7, Relaxed);
    assert_eq!(traps(), 0);
    // The card gets all of them to write.
    wait(&start(&card, SlotId(0), &space, nodes[0], output, 100, 0)).unwrap();
    assert_eq!(nodes[1].value.load(Relaxed), 104);
    assert_eq!(traps(), 1);
    // Both may read it now: a thread shows it to itself, but may not write it.
    drop_from_map(1);
    assert_eq!(nodes[1].rest[0].load(Relaxed), 7);
    assert_eq!(traps(), 1);
    nodes[1].rest[0].store(8, Relaxed);
    assert_eq!(traps(), 2);
    let refused = file(&[]).write(bytes(&memory, 2 * 4096, 64)).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EFAULT), "{refused}");
    assert_eq!((nodes[2].value.load(Relaxed), traps()), (107, 3));
}

extern "C" fn nothing(_signal: libc::c_int) {}

/// A signal wakes a thread that waits in the kernel: it falls asleep over the same access once more.
#[test]
fn an_access_that_signals_interrupt_is_one_trap() {
    const ROUNDS: u64 = 1000;
    let card = functional(8, None);
    let space = card.create_space().unwrap();
    let test = "an_access_that_signals_interrupt_is_one_trap";
    let Some(memory) = memory(test, &space, 2 * 4096, PageSize::KIB_4) else {
        return;
    };
    let results = space.alloc_with_pages(4096, PageSize::KIB_4).unwrap();
    let (nodes, output) = (build(&memory, 2, 64), &results.slice::<Node>()[0]);
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: a handler that does nothing, for a signal that nobody else here uses.
    unsafe { libc::signal(libc::SIGUSR2, handler as libc::sighandler_t) };
    // SAFETY: have no arguments.
    let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
    let end = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !end.load(Relaxed) {
                // SAFETY: has no pointers; the thread has a handler.
                unsafe { libc::syscall(libc::SYS_tgkill, process, thread, libc::SIGUSR2) };
            }
        });
        for round in 1..=ROUNDS {
            wait(&start(&card, SlotId(0), &space, nodes[0], output, 1, 0)).unwrap();
            assert_eq!(nodes[1].value.load(Relaxed), 4 + round);
        }
        end.store(true, Relaxed);
    });
    // Each look, and none of the page with the sums, which nobody looks at.
    assert_eq!(card.report().unwrap().paging.sharing.traps, ROUNDS);
}

/// A file with what a system call reads.
fn file(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file.seek(SeekFrom::Start(0)).unwrap();
    file
}

#[allow(
    clippy::mut_from_ref,
    reason = "the memory is shared, not the handle's"
)]
fn bytes(memory: &SharedMemory, from: usize, count: usize) -> &mut [u8] {
    // SAFETY: in the memory; only the system looks at it, and nobody else just then.
    unsafe { std::slice::from_raw_parts_mut(memory.as_ptr().add(from), count) }
}

#[test]
fn system_calls_wait_for_pages_that_the_card_has() {
    let card = functional(8, Some(3));
    let space = card.create_space().unwrap();
    let name = "system_calls_wait_for_pages_that_the_card_has";
    let Some(memory) = memory(name, &space, 4 * 4096, PageSize::KIB_4) else {
        return;
    };
    // Two nodes a page; the kernel changes all of them, so it has every page but the last.
    let nodes = build(&memory, 6, 32);
    let output = &memory.slice::<Node>()[4 * 64 - 1];
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 1000, 0);
    wait(&slot).unwrap();
    let before = card.report().unwrap().paging.sharing.traps;
    // write(2) reads three pages.
    let mut target = file(&[]);
    let written = target.write(bytes(&memory, 0, 3 * 4096)).unwrap();
    assert_eq!(written, 3 * 4096);
    let mut copy = vec![0; written];
    target.seek(SeekFrom::Start(0)).unwrap();
    target.read_exact(&mut copy).unwrap();
    for n in 0..6 {
        let value = &copy[2048 * n + 8..][..8];
        assert_eq!(value, (n as u64 * 3 + 1001).to_le_bytes());
    }
    assert_eq!(card.report().unwrap().paging.sharing.traps, before + 3);
    // read(2) writes one value of a page that the card has again, and one that both may read.
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 1, 4);
    wait(&slot).unwrap();
    let mut source = file(&[7; 16]);
    assert_eq!(source.read(bytes(&memory, 8, 8)).unwrap(), 8);
    assert_eq!(source.read(bytes(&memory, 2 * 4096 + 8, 8)).unwrap(), 8);
    let sevens = u64::from_le_bytes([7; 8]);
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 0, 0);
    wait(&slot).unwrap();
    let others: u64 = [1, 2, 3].iter().map(|n| n * 3 + 1002).sum::<u64>() + 5 * 3 + 1001;
    let sum = sevens.wrapping_mul(2).wrapping_add(others);
    assert_eq!(output.next.load(Relaxed), sum);
}

#[test]
fn protected_pages_are_refused_to_system_calls() {
    let card = functional(8, Some(4));
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_traps(2 * 4096, PageSize::KIB_4, TrapWay::Protect)
        .unwrap();
    assert_eq!(memory.trap_way(), Some(TrapWay::Protect));
    let nodes = build(&memory, 1, 64);
    let output = &memory.slice::<Node>()[127];
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 5, 0);
    wait(&slot).unwrap();
    let refused = file(&[]).write(bytes(&memory, 0, 64)).unwrap_err();
    assert_eq!(refused.raw_os_error(), Some(libc::EFAULT), "{refused}");
    assert_ne!(refused.kind(), ErrorKind::Interrupted);
    assert_eq!(nodes[0].value.load(Relaxed), 6);
}
