//! Concurrent random accesses of kernels and threads: each word has one writer, which increments it; all read all of
//! them. No reader may see a word decrease, and a writer sees its last value.

use funcard::{Access, Arguments, FunctionalKernel, KernelModel, Step, VirtualMemory};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tombolo::{Card, Continue, Error, PageSize, SlotId, TrapWay};

/// Accesses of a kernel: to rows that `me` writes, and of all others.
pub const MODEL: KernelModel = KernelModel {
    name: "shaker",
    arguments: &[
        ("base", 8),
        ("output", 8),
        ("rows", 8),
        ("accesses", 8),
        ("me", 8),
        ("ahead", 8),
        ("near", 8),
        ("seed", 8),
        ("pace", 8),
    ],
    ports: 2,
    create: || Box::<Shaker>::default(),
};

const MANIFEST: &str = r#"
[kernel]
name = "shaker"
top = "shaker"
sources = ["shaker.sv"]
control = "ap_ctrl_hs"
interrupt = true

[[port]]
name = "m_axi_gmem0"
kind = "axi4"
data_width = 512
access = "read"

[[port]]
name = "m_axi_gmem1"
kind = "axi4"
data_width = 512
access = "write"

[[argument]]
name = "base"
offset = 0x10
bytes = 8
[[argument]]
name = "output"
offset = 0x18
bytes = 8
[[argument]]
name = "rows"
offset = 0x20
bytes = 8
[[argument]]
name = "accesses"
offset = 0x28
bytes = 8
[[argument]]
name = "me"
offset = 0x30
bytes = 8
[[argument]]
name = "ahead"
offset = 0x38
bytes = 8
[[argument]]
name = "near"
offset = 0x40
bytes = 8
[[argument]]
name = "seed"
offset = 0x48
bytes = 8
[[argument]]
name = "pace"
offset = 0x50
bytes = 8
"#;

/// Writers: two kernels and three threads.
const KERNELS: u64 = 2;
const THREADS: u64 = 3;
const WRITERS: u64 = KERNELS + THREADS;

/// Accesses of all threads and of all kernels of a run: none runs far ahead, so that they meet.
#[derive(Default)]
struct Pace {
    by_threads: AtomicU64,
    by_kernels: AtomicU64,
}

/// The pace of each run in this process: tests run concurrently. A kernel finds its own by the argument `pace`, which
/// counts from one; zero is none.
static PACES: Mutex<Vec<Arc<Pace>>> = Mutex::new(Vec::new());

impl Pace {
    /// One of a new run, and its number.
    fn begin() -> (Arc<Self>, u64) {
        let pace = Arc::<Self>::default();
        let mut paces = PACES.lock().unwrap_or_else(PoisonError::into_inner);
        paces.push(pace.clone());
        (pace, paces.len() as u64)
    }

    fn of(number: u64) -> Option<Arc<Self>> {
        let paces = PACES.lock().unwrap_or_else(PoisonError::into_inner);
        paces.get((number as usize).checked_sub(1)?).cloned()
    }
}

/// Who accesses how much of what.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Size of the pages.
    pub page: PageSize,
    /// Pages that all parties access; one more has the results.
    pub pages: u64,
    /// Accesses of each kernel and of each thread.
    pub accesses: u64,
    /// Approximate number of accesses for which each stays near one place.
    pub near: u64,
    /// Maximum lead over the others, in accesses.
    pub ahead: u64,
    /// Picks the rows.
    pub seed: u64,
}

impl Load {
    /// A few pages of 4 KiB under high contention.
    #[allow(dead_code)] // The bars have loads of their own.
    pub const SMALL: Self = Self {
        page: PageSize::KIB_4,
        pages: 6,
        accesses: 1500,
        near: 8,
        ahead: 16,
        seed: 0,
    };
}

/// Result of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shaken {
    /// Words read with an impossible value, and words lost in the end.
    pub wrong: u64,
    /// Accesses of threads that were trapped.
    pub traps: u64,
    /// Accesses of all.
    pub accesses: u64,
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state >> 16
}

/// Knowledge of one writer: the minimum value of each word.
struct Known {
    me: u64,
    state: u64,
    /// Accesses stay near for a while.
    near: u64,
    stay: u64,
    least: Vec<u64>,
    wrong: u64,
}

/// The next access: a row, and its data for a write.
#[derive(Clone, Copy)]
struct Next {
    row: u64,
    write: Option<u64>,
}

impl Known {
    fn new(me: u64, rows: u64, stay: u64, seed: u64) -> Self {
        Self {
            me,
            // Never zero, which has no successor.
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c16) ^ (me * 77 + 12345),
            near: 0,
            stay: stay.max(1),
            least: vec![0; rows as usize],
            wrong: 0,
        }
    }

    fn next(&mut self) -> Next {
        let rows = self.least.len() as u64;
        if random(&mut self.state) % self.stay == 0 {
            self.near = random(&mut self.state) % rows;
        }
        let row = (self.near + random(&mut self.state) % 16) % rows;
        let write = row % WRITERS == self.me && random(&mut self.state) % 2 == 0;
        Next {
            row,
            write: write.then(|| self.least[row as usize] + 1),
        }
    }

    fn wrote(&mut self, row: u64, value: u64) {
        self.least[row as usize] = value;
    }

    fn read(&mut self, row: u64, value: u64) {
        let least = &mut self.least[row as usize];
        let right = match row % WRITERS == self.me {
            true => value == *least,
            false => value >= *least,
        };
        self.wrong += u64::from(!right);
        *least = value;
    }
}

/// A run of the kernel.
struct Run {
    known: Known,
    left: u64,
    next: Option<Next>,
    pace: Option<Arc<Pace>>,
}

#[derive(Default)]
struct Shaker {
    run: Option<Run>,
}

impl FunctionalKernel for Shaker {
    fn step(&mut self, arguments: &Arguments<'_>, memory: &mut dyn VirtualMemory) -> Step {
        let base = arguments.number("base");
        let (me, rows) = (arguments.number("me"), arguments.number("rows"));
        let stay = arguments.number("near");
        let Run {
            known,
            left,
            next,
            pace,
        } = self.run.get_or_insert_with(|| Run {
            known: Known::new(me, rows, stay, arguments.number("seed")),
            left: arguments.number("accesses"),
            next: None,
            pace: Pace::of(arguments.number("pace")),
        });
        if *left == 0 {
            // What went wrong, and its own rows as it left them.
            let own = (0..rows).filter(|row| row % WRITERS == me);
            let sum: u64 = own.map(|row| known.least[row as usize]).sum();
            let result = [known.wrong.to_le_bytes(), sum.to_le_bytes()].concat();
            if memory.write(1, arguments.number("output"), &result) == Access::Blocked {
                return Step::Blocked;
            }
            self.run = None;
            return Step::Done;
        }
        let done = arguments.number("accesses") - *left;
        let limit = |pace: &Arc<Pace>| {
            pace.by_threads.load(Ordering::Relaxed) / THREADS + arguments.number("ahead")
        };
        if pace.as_ref().is_some_and(|pace| done > limit(pace)) {
            std::thread::yield_now();
            return Step::Working;
        }
        let Next { row, write } = *next.get_or_insert_with(|| known.next());
        let at = base + 64 * row;
        let access = match write {
            Some(value) => {
                let access = memory.write(1, at, &value.to_le_bytes());
                if access == Access::Done {
                    known.wrote(row, value);
                }
                access
            }
            None => {
                let mut word = [0; 8];
                let access = memory.read(0, at, &mut word);
                if access == Access::Done {
                    known.read(row, u64::from_le_bytes(word));
                }
                access
            }
        };
        if access == Access::Blocked {
            return Step::Blocked;
        }
        *next = None;
        *left -= 1;
        if let Some(pace) = pace {
            pace.by_kernels.fetch_add(1, Ordering::Relaxed);
        }
        Step::Working
    }
}

/// A folder with a kernel that the functional card has a model of.
pub fn folder() -> tempfile::TempDir {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("kernel.toml"), MANIFEST).unwrap();
    std::fs::write(folder.path().join("shaker.sv"), "// a model in Rust only\n").unwrap();
    folder
}

/// Shakes a card that knows [`MODEL`], whose kernel is in a folder.
///
/// # Errors
/// The library's errors.
pub fn shake(card: &Card, folder: &Path, load: Load) -> Result<Shaken, Error> {
    shake_in(card, folder, load, TrapWay::Protect)
}

/// The same in memory whose pages are guarded in some way.
///
/// # Errors
/// The library's errors.
pub fn shake_in(card: &Card, folder: &Path, load: Load, way: TrapWay) -> Result<Shaken, Error> {
    let space = card.create_space()?;
    let bytes = load.pages * load.page.bytes();
    let rows = bytes / 64;
    let memory = space.alloc_with_traps(bytes as usize, load.page, way)?;
    let results = space.alloc_with_pages(4096, PageSize::KIB_4)?;
    let (pace, number) = Pace::begin();
    let slots = (0..KERNELS).map(|me| {
        let slot = card.load(SlotId(me as u8), folder, &space)?;
        let result = &results.slice::<AtomicU64>()[8 * me as usize];
        result.store(u64::MAX, Ordering::Relaxed);
        slot.set_pointer("base", memory.address())?;
        slot.set_pointer("output", results.address_of(result)?)?;
        slot.set("rows", rows)?;
        slot.set("accesses", load.accesses)?;
        slot.set("me", me)?;
        slot.set("ahead", load.ahead)?;
        slot.set("near", load.near)?;
        slot.set("seed", load.seed)?;
        slot.set("pace", number)?;
        Ok(slot)
    });
    let slots = slots.collect::<Result<Vec<_>, Error>>()?;
    let words: Vec<&AtomicU64> = memory.slice::<AtomicU64>().iter().step_by(8).collect();
    let mut wrong = std::thread::scope(|scope| {
        slots.iter().try_for_each(tombolo::Slot::start)?;
        let threads: Vec<_> = (KERNELS..WRITERS)
            .map(|me| {
                let (words, pace) = (&words, &pace);
                let known = Known::new(me, rows, load.near, load.seed);
                scope.spawn(move || access(known, words, load, pace))
            })
            .collect();
        for slot in &slots {
            slot.wait(None, |_| Continue::Yes)?;
        }
        let mut wrong = 0;
        for thread in threads {
            let known = match thread.join() {
                Ok(known) => known,
                Err(panic) => std::panic::resume_unwind(panic),
            };
            wrong += known.wrong;
            let own = (0..rows as usize).filter(|row| *row as u64 % WRITERS == known.me);
            let lost = own.filter(|&row| words[row].load(Ordering::Relaxed) != known.least[row]);
            wrong += lost.count() as u64;
        }
        Ok::<u64, Error>(wrong)
    })?;
    for me in 0..KERNELS as usize {
        let result = &results.slice::<AtomicU64>()[8 * me..];
        wrong += result[0].load(Ordering::Relaxed);
        // What a kernel wrote last is what the program reads now.
        let own = words.iter().skip(me).step_by(WRITERS as usize);
        let sum: u64 = own.map(|word| word.load(Ordering::Relaxed)).sum();
        wrong += u64::from(sum != result[1].load(Ordering::Relaxed));
    }
    Ok(Shaken {
        wrong,
        traps: card.report()?.paging.sharing.traps,
        accesses: load.accesses * WRITERS,
    })
}

/// The accesses of one thread.
fn access(mut known: Known, words: &[&AtomicU64], load: Load, pace: &Pace) -> Known {
    for n in 0..load.accesses {
        while n > pace.by_kernels.load(Ordering::Relaxed) / KERNELS + load.ahead {
            std::thread::yield_now();
        }
        pace.by_threads.fetch_add(1, Ordering::Relaxed);
        let Next { row, write } = known.next();
        let word = words[row as usize];
        match write {
            Some(value) => {
                word.store(value, Ordering::Relaxed);
                known.wrote(row, value);
            }
            None => known.read(row, word.load(Ordering::Relaxed)),
        }
    }
    known
}
