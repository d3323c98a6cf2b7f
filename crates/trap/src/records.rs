//! Records of trapped threads for their trap queue: a fixed number, and futex words.

use super::source;
use super::userfault::{Fault, Userfault};
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicUsize, Ordering};
use std::sync::Arc;
use std::time::Duration;

/// Maximum concurrently trapped threads; further ones wait for a record.
const RECORDS: usize = 256;
/// Maximum cards with shared memory in a process.
const QUEUES: usize = 64;

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const POSTED: u32 = 2;
const TAKEN: u32 = 3;
const SERVED: u32 = 4;
const REFUSED: u32 = 5;

/// The number of this thread. The system call itself: glibc 2.28, which the wheel is for, has no function for it.
/// May be called in a handler.
pub(super) fn this_thread() -> libc::pid_t {
    // SAFETY: it has no arguments, and touches no memory.
    unsafe { libc::syscall(libc::SYS_gettid) as libc::pid_t }
}

struct Record {
    /// Futex on which the trapped thread sleeps.
    state: AtomicU32,
    /// Number of traps that used the record.
    generation: AtomicU32,
    queue: AtomicUsize,
    address: AtomicUsize,
    /// Address of the trapped instruction.
    code: AtomicUsize,
    write: AtomicU32,
    thread: AtomicI32,
}

struct QueueWords {
    used: AtomicU32,
    /// Number of posted records; the queue's thread sleeps on it.
    posted: AtomicU32,
    closed: AtomicU32,
}

static RECORD: [Record; RECORDS] = [const {
    Record {
        state: AtomicU32::new(FREE),
        generation: AtomicU32::new(0),
        queue: AtomicUsize::new(0),
        address: AtomicUsize::new(0),
        code: AtomicUsize::new(0),
        write: AtomicU32::new(0),
        thread: AtomicI32::new(0),
    }
}; RECORDS];

static QUEUE: [QueueWords; QUEUES] = [const {
    QueueWords {
        used: AtomicU32::new(0),
        posted: AtomicU32::new(0),
        closed: AtomicU32::new(0),
    }
}; QUEUES];

fn sleep_on(word: &AtomicU32, while_it_is: u32) {
    // SAFETY: a futex wait on a word that lives forever; no time limit.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            while_it_is,
            std::ptr::null::<libc::timespec>(),
        );
    }
}

fn wake(word: &AtomicU32) {
    // SAFETY: as above.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word.as_ptr(),
            libc::FUTEX_WAKE | libc::FUTEX_PRIVATE_FLAG,
            i32::MAX,
        );
    }
}

/// In the signal handler: claims a record for the thread. Waits until one is free.
pub(super) fn claim() -> Claimed {
    let claim = |record: &&Record| {
        record
            .state
            .compare_exchange(FREE, CLAIMED, Ordering::Acquire, Ordering::Relaxed)
            .is_ok()
    };
    loop {
        match RECORD.iter().find(claim) {
            Some(record) => break Claimed(record),
            // SAFETY: has no arguments and touches no memory.
            None => unsafe { libc::sched_yield() },
        };
    }
}

/// A claimed record of a trapped thread, which must be posted and waited on, or given back.
pub(super) struct Claimed(&'static Record);

impl Claimed {
    /// Posts the record to a trap queue.
    pub(super) fn post(&self, queue: usize, address: usize, write: bool, code: usize) {
        let record = self.0;
        record.generation.fetch_add(1, Ordering::Relaxed);
        record.queue.store(queue, Ordering::Relaxed);
        record.address.store(address, Ordering::Relaxed);
        record.code.store(code, Ordering::Relaxed);
        record.write.store(write.into(), Ordering::Relaxed);
        record.thread.store(this_thread(), Ordering::Relaxed);
        record.state.store(POSTED, Ordering::Release);
        ring(queue);
    }

    /// Waits for the reply. Returns true if the access may be retried.
    pub(super) fn wait(self) -> bool {
        loop {
            match self.0.state.load(Ordering::Acquire) {
                end @ (SERVED | REFUSED) => {
                    self.0.state.store(FREE, Ordering::Release);
                    return end == SERVED;
                }
                state => sleep_on(&self.0.state, state),
            }
        }
    }

    /// Frees the record without posting it.
    pub(super) fn give_back(self) {
        self.0.state.store(FREE, Ordering::Release);
    }
}

fn ring(queue: usize) {
    QUEUE[queue].posted.fetch_add(1, Ordering::Release);
    wake(&QUEUE[queue].posted);
}

/// Opens a free trap queue; `None` if there are too many.
pub(super) fn open_queue() -> Option<usize> {
    let free = || {
        QUEUE
            .iter()
            .position(|queue| queue.used.swap(1, Ordering::Acquire) == 0)
    };
    // A closed queue is freed by its thread, which may not have run yet.
    let closing = |queue: &QueueWords| queue.closed.load(Ordering::Acquire) != 0;
    let mut queue = free();
    for _ in 0..1000 {
        if queue.is_some() || !QUEUE.iter().any(closing) {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
        queue = free();
    }
    let queue = queue?;
    QUEUE[queue].closed.store(0, Ordering::Release);
    Some(queue)
}

/// Ends the thread of a trap queue.
pub(super) fn close_queue(queue: usize) {
    QUEUE[queue].closed.store(1, Ordering::Release);
    ring(queue);
}

/// The next trapped access; sleeps until there is one. `None` when the queue was closed.
pub(super) fn next(queue: usize) -> Option<Trapped> {
    loop {
        let seen = QUEUE[queue].posted.load(Ordering::Acquire);
        // Before the records are examined: none is posted once it is closed.
        let closed = QUEUE[queue].closed.load(Ordering::Acquire) != 0;
        for (index, record) in RECORD.iter().enumerate() {
            if record.state.load(Ordering::Acquire) != POSTED
                || record.queue.load(Ordering::Relaxed) != queue
            {
                continue;
            }
            record.state.store(TAKEN, Ordering::Relaxed);
            let wake = Wake {
                index,
                generation: record.generation.load(Ordering::Relaxed),
            };
            return Some(Trapped {
                address: record.address.load(Ordering::Relaxed),
                write: record.write.load(Ordering::Relaxed) != 0,
                thread: record.thread.load(Ordering::Relaxed).unsigned_abs().into(),
                ticket: Ticket {
                    wake: Some(wake),
                    fault: None,
                    code: Code::At(record.code.load(Ordering::Relaxed)),
                    open: true,
                },
            });
        }
        if closed {
            QUEUE[queue].used.store(0, Ordering::Release);
            return None;
        }
        sleep_on(&QUEUE[queue].posted, seen);
    }
}

/// A trapped access.
#[derive(Debug)]
pub struct Trapped {
    /// Accessed address.
    pub address: usize,
    /// Whether the access writes.
    pub write: bool,
    /// The system's number of its thread.
    pub thread: u64,
    /// Resumes the thread.
    pub ticket: Ticket,
}

/// Position of a trapped access in the program.
#[derive(Clone, Copy, Debug)]
enum Code {
    /// Address of its instruction; 0 if unknown.
    At(usize),
    /// Thread that waits in the kernel.
    OfThread(u64),
}

/// The right to resume a trapped thread. If it is dropped without [`serve`](Ticket::serve), the access fails with the
/// signal that it raised or would have raised.
#[derive(Debug)]
pub struct Ticket {
    /// A thread that sleeps in the handler.
    wake: Option<Wake>,
    /// A thread that sleeps in the kernel.
    fault: Option<(Arc<Userfault>, Fault)>,
    code: Code,
    open: bool,
}

impl Ticket {
    /// Ticket of a thread that waits for a page in the kernel.
    pub(super) fn of_fault(userfault: Arc<Userfault>, fault: Fault) -> Self {
        Self {
            wake: None,
            fault: Some((userfault, fault)),
            code: Code::OfThread(fault.thread),
            open: true,
        }
    }

    /// The waiting instruction, if known.
    pub fn code(&self) -> Option<usize> {
        match self.code {
            Code::At(code) => Some(code).filter(|code| *code != 0),
            Code::OfThread(thread) => source::of_thread(thread),
        }
    }

    /// Lets the thread retry.
    pub fn serve(mut self) -> Wake {
        self.open = false;
        if let Some((userfault, fault)) = &self.fault {
            userfault.let_go(*fault);
        }
        match self.wake {
            Some(wake) => {
                wake.end(SERVED);
                wake
            }
            None => Wake::IN_THE_KERNEL,
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.open {
            return;
        }
        if let Some(wake) = self.wake {
            wake.end(REFUSED);
        }
        if let Some((userfault, fault)) = &self.fault {
            userfault.refuse(*fault);
        }
    }
}

/// A thread that may retry its access.
#[derive(Clone, Copy, Debug)]
pub struct Wake {
    index: usize,
    generation: u32,
}

impl Wake {
    /// A thread that waits in the kernel: whether it runs cannot be observed.
    const IN_THE_KERNEL: Self = Self {
        index: usize::MAX,
        generation: 0,
    };

    fn end(self, state: u32) {
        let word = &RECORD[self.index].state;
        word.store(state, Ordering::Release);
        wake(word);
    }

    /// Whether the thread runs.
    fn is_up(self) -> bool {
        let record = &RECORD[self.index];
        record.state.load(Ordering::Acquire) != SERVED
            || record.generation.load(Ordering::Relaxed) != self.generation
    }

    /// Waits until the thread runs, with a timeout: it may have been stopped.
    pub fn wait_until_up(self) {
        if self.index == Self::IN_THE_KERNEL.index {
            // It is woken before others of its age run; if not, it is trapped once more.
            return std::thread::sleep(Duration::from_micros(50));
        }
        for turn in 0..2000 {
            if self.is_up() {
                return;
            }
            match turn {
                0..100 => std::thread::yield_now(),
                _ => std::thread::sleep(Duration::from_micros(50)),
            }
        }
    }
}
