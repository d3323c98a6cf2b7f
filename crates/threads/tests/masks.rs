//! Checks that threads of the library block the program's signals, and that their children get the program's mask.

use std::ffi::c_int;
use std::fs;
use std::process::Command;

/// The signals that a thread blocks, bit `n - 1` for signal `n`.
fn blocked(status: &str) -> u64 {
    let line = status.lines().find_map(|line| line.strip_prefix("SigBlk:"));
    u64::from_str_radix(line.unwrap().trim(), 16).unwrap()
}

fn here() -> u64 {
    blocked(&fs::read_to_string("/proc/thread-self/status").unwrap())
}

fn bit(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// All but the synchronous ones, those that cannot be blocked, and the two of the C library.
fn expected() -> u64 {
    let free = threads::SYNCHRONOUS.into_iter();
    let free = free.chain([libc::SIGKILL, libc::SIGSTOP, 32, 33]);
    free.fold(u64::MAX, |all, signal| all & !bit(signal))
}

fn of_a_child() -> u64 {
    let mut command = Command::new("cat");
    let output = threads::child(command.arg("/proc/self/status")).output();
    blocked(&String::from_utf8(output.unwrap().stdout).unwrap())
}

#[test]
fn threads_block_what_is_the_programs() {
    let before = here();
    assert_eq!(before & bit(libc::SIGTERM), 0);
    assert_eq!(
        threads::spawn("one", here).unwrap().join().unwrap(),
        expected()
    );
    assert_eq!(here(), before, "the program's thread has its mask again");
    let inner = || threads::spawn("two", here).unwrap().join().unwrap();
    assert_eq!(
        threads::spawn("one", inner).unwrap().join().unwrap(),
        expected()
    );
    let borrowed = 5;
    let scoped = threads::scope(|scope| {
        let work = || (borrowed, here());
        scope.run("three", work).join()
    });
    assert_eq!(scoped, (5, expected()));
    // Including threads that another library starts.
    let others = threads::as_guest(|| std::thread::spawn(here));
    assert_eq!(others.join().unwrap(), expected());
    assert_eq!(here(), before);
}

#[test]
fn what_panics_leaves_the_mask() {
    let before = here();
    let panicked = std::panic::catch_unwind(|| threads::as_guest(|| panic!("a panic of a test")));
    assert!(panicked.is_err());
    assert_eq!(here(), before);
}

#[test]
fn children_get_the_mask_of_the_program() {
    let program = here();
    assert_eq!(of_a_child(), program);
    assert_eq!(
        threads::spawn("one", of_a_child).unwrap().join().unwrap(),
        program
    );
    let inner = || threads::spawn("two", of_a_child).unwrap().join().unwrap();
    assert_eq!(
        threads::spawn("one", inner).unwrap().join().unwrap(),
        program
    );
    // A thread that blocks a signal.
    let one = || {
        // SAFETY: a set on the stack, and the mask of a thread of this test.
        unsafe {
            let mut set = std::mem::zeroed();
            libc::sigemptyset(&mut set);
            libc::sigaddset(&mut set, libc::SIGTERM);
            libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        }
        threads::spawn("one", of_a_child).unwrap().join().unwrap()
    };
    let theirs = std::thread::spawn(one).join().unwrap();
    assert_eq!(theirs, program | bit(libc::SIGTERM));
}

#[test]
fn signals_of_the_program_are_let_in_where_it_says_so() {
    let before = here();
    let (inside, let_in, child, after) = threads::as_guest(|| {
        let inside = here();
        let let_in = threads::as_program(|| (here(), threads::as_guest(here), here()));
        (inside, let_in, of_a_child(), here())
    });
    assert_eq!((inside, after), (expected(), expected()));
    assert_eq!(let_in, (before, expected(), before));
    assert_eq!(child, before);
    assert_eq!(here(), before);
    // A thread of the library has no other mask.
    let there = || threads::as_guest(|| threads::as_program(here));
    assert_eq!(
        threads::spawn("one", there).unwrap().join().unwrap(),
        expected()
    );
}
