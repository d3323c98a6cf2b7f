//! Threads, a core and a kernel that share coherent lines through a map. Also measured by `make bench
//! ONLY=coherent.map_unexplained`.

use coherence::oracle::Oracle;
use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, SeqCst},
};
use std::sync::Mutex;
use tombolo::{Card, CoherentMapOptions, CoherentMemory, Continue, SlotId};

const BASE: u64 = 0x1000_0000;
const LINE: u64 = 128;
const THREADS: u64 = 4;
/// Pages at the end of the memory that are mapped.
const PAGES: u64 = 6;
/// Accesses of the threads per exact operation of the core on a line.
const ACCESSES_PER_OPERATION: u64 = 133;
/// Lines of the kernel `shared_table`.
const ROWS: u64 = 512;
/// Accesses per change of the kernel.
const ACCESSES_PER_CHANGE: u64 = 10;

/// Accesses made and errors found.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// Loads and stores through the map.
    pub accesses: u64,
    /// Loads that no order explains, and rows that lack a change of the kernel.
    pub unexplained: u64,
}

/// A small generator: xorshift.
pub fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

/// A word of a line.
pub fn word(line: &[u8], place: usize) -> u64 {
    u64::from_le_bytes(line[8 * place..8 * place + 8].try_into().expect("eight"))
}

/// Four threads load and store words through a map, while a core uses the same lines by exact operations, and
/// `kernel` changes their words 1. Every other word is judged as an atomic register.
pub fn share(memory: &CoherentMemory, accesses: u64, kernel: impl FnOnce() + Send) -> Found {
    let first = memory.bytes() - PAGES * 4096;
    let part = memory
        .part(first, PAGES * 4096)
        .expect("pages of the memory");
    assert!(part.part(64, 4096).is_err(), "in the middle of a line");
    assert!(
        part.part(LINE, 4096).expect("part").map().is_err(),
        "in the middle of a page"
    );
    let before: Vec<[u8; 128]> = (0..PAGES * 32)
        .map(|line| part.load(line * LINE).expect("load"))
        .collect();
    let map = part.map().expect("map");
    // What was there before is seen, and what is written is seen by a core.
    for (line, bytes) in before.iter().enumerate() {
        assert_eq!(map.words()[16 * line].load(Relaxed), word(bytes, 0));
    }
    for word in map.words() {
        word.store(0, Relaxed);
    }
    let oracle = Mutex::new(Oracle::new());
    let stamps = AtomicU64::new(1);
    let lock = || oracle.lock().expect("oracle");
    // Every part of a line has one word.
    let place = |state: &mut u64| {
        let line = random(state) % (PAGES * 32);
        (line, (random(state) % 4) as u8)
    };
    let (others, done) = (AtomicU64::new(2), AtomicU64::new(0));
    let through_the_map = |thread: u64| {
        let mut state = 0x5eed + thread;
        let mut own = 0;
        // As long as others use the lines: loads and stores that do not trap take no virtual time.
        while own < accesses / THREADS || others.load(SeqCst) > 0 {
            own += 1;
            if own % 16 == 0 {
                std::thread::sleep(std::time::Duration::from_micros(50));
            }
            let (line, quarter) = place(&mut state);
            let word = &map.words()[16 * line as usize + 4 * usize::from(quarter)];
            if random(&mut state) % 2 == 0 {
                let began = lock().begin();
                let value = word.load(SeqCst);
                let mut oracle = lock();
                oracle.read((line, quarter), value, began);
                oracle.end(began);
            } else {
                let stamp = stamps.fetch_add(1, Relaxed);
                let began = {
                    let mut oracle = lock();
                    let began = oracle.begin();
                    oracle.write_begins((line, quarter), stamp, began);
                    began
                };
                word.store(stamp, SeqCst);
                let mut oracle = lock();
                oracle.write_ends((line, quarter), stamp);
                oracle.end(began);
            }
        }
        done.fetch_add(own, Relaxed);
    };
    let exact = || {
        let mut state = 0xc0de;
        let core = part.on_core(3);
        for operation in 0..accesses / ACCESSES_PER_OPERATION {
            let (line, quarter) = place(&mut state);
            let at = line * LINE;
            let began = lock().begin();
            if operation % 2 == 0 {
                let bytes = core.load(at).expect("load");
                let value = word(&bytes, 4 * usize::from(quarter));
                lock().read((line, quarter), value, began);
            } else {
                let stamp = stamps.fetch_add(1, Relaxed);
                lock().write_begins((line, quarter), stamp, began);
                let at = at + 32 * u64::from(quarter);
                core.store(at, &stamp.to_le_bytes()).expect("store");
                lock().write_ends((line, quarter), stamp);
            }
            lock().end(began);
            // Lines elsewhere take places of the directory.
            memory
                .load(random(&mut state) % (first / LINE) * LINE)
                .expect("load");
        }
        others.fetch_sub(1, SeqCst);
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let through_the_map = &through_the_map;
            scope.spawn(move || through_the_map(thread));
        }
        scope.spawn(exact);
        scope.spawn(|| {
            kernel();
            others.fetch_sub(1, SeqCst);
        });
    });
    let oracle = oracle.into_inner().expect("oracle");
    if let Some(first) = oracle.first() {
        eprintln!("{first:?}");
    }

    // A core flushes a line that the program has changed in its page: the change goes home with it.
    map.words()[16 * 3 + 5].store(78, Relaxed);
    part.flush(3 * LINE).expect("flush");
    assert_eq!(word(&part.load(3 * LINE).expect("load"), 5), 78);

    // Unmapped with dirty lines: they are the CPU's.
    map.words()[5].store(77, Relaxed);
    drop(map);
    assert_eq!(word(&part.load(0).expect("load"), 5), 77);
    let rights = CoherentMapOptions {
        write: false,
        eager: true,
    };
    let map = part.map_with(rights).expect("map");
    assert_eq!(map.words()[5].load(Relaxed), 77);
    Found {
        accesses: done.into_inner(),
        unexplained: oracle.violations(),
    }
}

/// As [`share`], concurrently with the kernel `shared_table`, which locks and changes lines of the program's pages.
pub fn beside_a_kernel(card: &Card, accesses: u64) -> Found {
    let changes = accesses.div_ceil(ACCESSES_PER_CHANGE * ROWS);
    let space = card.create_space().expect("space");
    let kernel = simcard::home().join("kernels/shared_table");
    let slot = card.load(SlotId(0), &kernel, &space).expect("load");
    let memory = card.coherent_memory(BASE, ROWS * LINE).expect("memory");
    let arguments = [
        ("base", BASE),
        ("rows", ROWS),
        ("updates", changes * ROWS),
        ("inflight", 4),
        ("pause", 300),
    ];
    for (argument, value) in arguments {
        slot.set(argument, value).expect("argument");
    }
    let mut found = share(&memory, accesses, || {
        slot.start().expect("start");
        slot.wait(None, |_| Continue::Yes).expect("done");
    });
    for row in 0..ROWS {
        let line = memory.load(row * LINE).expect("load");
        found.unexplained += u64::from(word(&line, 1) != changes);
    }
    found
}
