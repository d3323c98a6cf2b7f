//! Errors of programs with shared memory: each is a defined error, and all other clients continue.

use crate::registered::Block;
use crate::{build, functional, shaker, start, wait, Node};
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use std::sync::atomic::{AtomicU64, AtomicU8, Ordering::Relaxed};
use tombolo::{Error, PageSize, SlotId, TrapWay};

fn message(error: Error) -> String {
    error.to_string()
}

#[test]
fn a_pointer_that_was_never_shared_is_an_error_of_the_kernel() {
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(4096).unwrap();
    let nodes = build(&memory, 4, 8);
    let elsewhere = Box::new(0u64);
    nodes[1].next.store(&raw const *elsewhere as u64, Relaxed);
    let output = memory.slice::<Node>().last().unwrap();
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 0, 0);
    let error = wait(&slot).unwrap_err();
    assert!(matches!(error, Error::Access(_)), "{error}");
    assert!(message(error).contains("nearest mapping is shared memory at"));
    let refused = memory.address_of(&raw const *elsewhere).unwrap_err();
    assert!(message(refused).contains("not in this block of shared memory"));
    let beyond = &memory.slice::<Node>()[63];
    let beyond = memory.address_of((&raw const *beyond).wrapping_add(1));
    assert!(matches!(beyond, Err(Error::NotShared { .. })));
    // The slot, the space and the memory are as good as before.
    nodes[1].next.store(0, Relaxed);
    wait(&start(&card, SlotId(0), &space, nodes[0], output, 0, 0)).unwrap();
    assert_eq!(output.value.load(Relaxed), 2);
}

#[test]
fn memory_is_freed_once_and_not_while_a_kernel_runs() {
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let mut memory = space.alloc(4096).unwrap();
    let other = space.alloc(4096).unwrap();
    other.slice::<AtomicU64>()[9].store(4, Relaxed);
    let folder = shaker::folder();
    let slot = card.load(SlotId(0), folder.path(), &space).unwrap();
    slot.set_pointer("base", memory.address()).unwrap();
    slot.set_pointer("output", other.address()).unwrap();
    slot.set("rows", 64).unwrap();
    slot.set("accesses", 500).unwrap();
    slot.start().unwrap();
    let error = memory.free().unwrap_err();
    assert!(message(error).contains("cannot be freed while the kernel in slot 0 runs"));
    wait(&slot).unwrap();
    assert_eq!(other.slice::<AtomicU64>()[0].load(Relaxed), 0);
    memory.free().unwrap();
    assert!(matches!(memory.free(), Err(Error::Gone { .. })));
    // The program still has it; kernels have not.
    memory.slice::<AtomicU64>()[0].fetch_add(1, Relaxed);
    slot.start().unwrap();
    assert!(matches!(wait(&slot), Err(Error::Access(_))));
    assert_eq!(other.slice::<AtomicU64>()[9].load(Relaxed), 4);
}

#[test]
fn memory_that_is_dropped_under_a_kernel_fails_the_kernel() {
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(4096).unwrap();
    let nodes = build(&memory, 4, 8);
    // A ring has no end.
    nodes[3].next.store(&raw const *nodes[0] as u64, Relaxed);
    let output = memory.slice::<Node>().last().unwrap();
    let slot = start(&card, SlotId(0), &space, nodes[0], output, 1, 0);
    assert!(nodes[2].value.load(Relaxed) > 0);
    drop(memory);
    assert!(matches!(wait(&slot), Err(Error::Access(_))));
}

#[test]
fn memory_belongs_to_one_space() {
    let card = functional(4, None);
    let (space, other) = (card.create_space().unwrap(), card.create_space().unwrap());
    let memory = space.alloc(4096).unwrap();
    let nodes = build(&memory, 2, 8);
    let slot = start(&card, SlotId(0), &other, nodes[0], nodes[1], 0, 0);
    let error = message(wait(&slot).unwrap_err());
    assert!(
        error.contains("nothing is mapped in its address space"),
        "{error}"
    );
    assert_eq!(nodes[1].value.load(Relaxed), 4);
}

#[test]
fn memory_that_cannot_be_had_is_refused() {
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let error = space.alloc_with_pages(5, PageSize::MIB_2).unwrap_err();
    assert!(message(error).contains("no page of 2 MiB fits into the card memory"));
    let error = space.alloc_with_pages(0, PageSize::KIB_4).unwrap_err();
    assert!(message(error).contains("0 bytes cannot be shared"));
    let error = space
        .alloc_with_pages(1 << 40, PageSize::KIB_4)
        .unwrap_err();
    assert!(message(error).contains("use larger pages"));
    // Nothing is left behind.
    for _ in 0..3000 {
        drop(space.alloc(100).unwrap());
    }
}

#[test]
fn arguments_may_lie_in_shared_memory() {
    let card = functional(2, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc_with_pages(2 * 4096, PageSize::KIB_4).unwrap();
    let nodes = build(&memory, 2, 64);
    let slot = start(&card, SlotId(0), &space, nodes[0], nodes[1], 1, 1);
    wait(&slot).unwrap();
    // Both pages are the card's; reading the bytes is trapped.
    let bytes: &[AtomicU8] = &memory.slice::<AtomicU8>()[8..16];
    // SAFETY: nobody writes them now.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast::<u8>(), 8) };
    slot.set_bytes("add", bytes).unwrap();
    assert_eq!(bytes, 2u64.to_le_bytes());
}

pub const CHILD: &str = "TOMBOLO_TEST_MISTAKE";

/// Runs a test of this file again in a process of its own, as the child; how that process ended.
pub fn in_a_process(test: &str) -> std::process::ExitStatus {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command
        .args([test, "--exact", "--nocapture"])
        .env(CHILD, "1");
    command.output().unwrap().status
}

#[test]
fn a_segmentation_fault_of_the_program_stays_one() {
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process("mistakes::a_segmentation_fault_of_the_program_stays_one");
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(4096).unwrap();
    memory.slice::<AtomicU64>()[0].store(1, Relaxed);
    // SAFETY: none; this is the mistake.
    unsafe { std::ptr::dangling_mut::<u64>().write_volatile(1) };
}

#[test]
fn a_bus_error_of_the_program_stays_one() {
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process("mistakes::a_bus_error_of_the_program_stays_one");
        assert_eq!(status.signal(), Some(libc::SIGBUS), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space
        .alloc_with_traps(4096, PageSize::KIB_4, TrapWay::InThread)
        .unwrap();
    memory.slice::<AtomicU64>()[0].store(1, Relaxed);
    let empty = tempfile::tempfile().unwrap();
    let rights = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: none; a page that is not in its file is the mistake.
    unsafe {
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&empty);
        let null = std::ptr::null_mut();
        let at = libc::mmap(null, 4096, rights, libc::MAP_SHARED, descriptor, 0);
        assert_ne!(at, libc::MAP_FAILED);
        at.cast::<u64>().write_volatile(1);
    }
}

#[test]
fn memory_that_was_dropped_is_a_segmentation_fault() {
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process("mistakes::memory_that_was_dropped_is_a_segmentation_fault");
        assert_eq!(status.signal(), Some(libc::SIGSEGV), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(4096).unwrap();
    let at = memory.as_ptr();
    drop(memory);
    // SAFETY: none; this is the mistake.
    unsafe { at.write_volatile(1) };
}

#[test]
fn a_forked_child_has_no_part_in_it() {
    if std::env::var_os(CHILD).is_none() {
        let status = in_a_process("mistakes::a_forked_child_has_no_part_in_it");
        assert!(status.success(), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let memory = space.alloc(4096).unwrap();
    memory.slice::<AtomicU64>()[0].store(1, Relaxed);
    // SAFETY: the child touches one word and ends.
    let child = unsafe { libc::fork() };
    if child == 0 {
        memory.slice::<AtomicU64>()[0].store(2, Relaxed);
        // SAFETY: ends the child without running what the parent is to run.
        unsafe { libc::_exit(0) };
    }
    let mut status = 0;
    // SAFETY: waits for the child above.
    unsafe { libc::waitpid(child, &raw mut status, 0) };
    assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGSEGV);
    assert_eq!(memory.slice::<AtomicU64>()[0].load(Relaxed), 1);
}

/// A forked child has the handles of its parent, and no thread that would answer: calls fail, and nothing waits.
#[test]
fn a_forked_child_that_calls_is_told_so_and_ends() {
    if std::env::var_os(CHILD).is_none() {
        let test = "mistakes::a_forked_child_that_calls_is_told_so_and_ends";
        let status = in_a_process(test);
        assert!(status.success(), "{status}");
        return;
    }
    let card = functional(4, None);
    let space = card.create_space().unwrap();
    let mut allocated = space.alloc(4096).unwrap();
    let block = Block::new(2);
    let mut registered = block.register(&space);
    allocated.slice::<AtomicU64>()[0].store(1, Relaxed);
    block.words()[0].store(2, Relaxed);
    // SAFETY: the child is alone, and takes no lock that another thread may have had.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let gone = |error: Error| error.code() == tombolo::ErrorCode::Gone;
        let told = allocated.free().is_err_and(gone)
            && registered.free().is_err_and(gone)
            && space.alloc(4096).is_err_and(gone)
            && card.report().is_err_and(gone);
        drop((registered, allocated, space, card));
        // SAFETY: ends the child without running what the parent is to run.
        unsafe { libc::_exit(i32::from(!told)) };
    }
    let mut status = 0;
    let mut ended = || {
        // SAFETY: asks for the child above.
        unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) == child }
    };
    let waited = (0..1000).map(|_| std::thread::sleep(std::time::Duration::from_millis(20)));
    assert!(
        waited.into_iter().any(|()| ended()),
        "the child waits for ever"
    );
    assert!(
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0,
        "{status:x}"
    );
    assert_eq!(allocated.slice::<AtomicU64>()[0].load(Relaxed), 1);
    registered.free().unwrap();
    assert_eq!(block.words()[0].load(Relaxed), 2);
}
