//! Three cores that load and store random words of coherent lines by exact operations, twelve at a time, judged by the
//! oracle. Also measured by `make bench ONLY=coherent.shell_unexplained`.

use coherence::oracle::Oracle;
use std::collections::VecDeque;
use tombolo::{CoherentMemory, PendingLine};

const LINE: u64 = 128;
/// Operations under way.
const WINDOW: usize = 12;
/// Lines that every fourth operation uses.
const HOT: u64 = 8;

/// An operation that has begun.
struct Begun {
    line: u64,
    part: u8,
    /// The stamp of a store; `None` for a load.
    stamp: Option<u64>,
    began: u64,
    access: PendingLine,
}

fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    *state
}

fn first_word(line: &[u8], part: u8) -> u64 {
    let at = 32 * usize::from(part);
    u64::from_le_bytes(line[at..at + 8].try_into().expect("eight"))
}

/// Loads that no order of the stores explains. The memory is zeroes at first, but for what others change in words
/// that are not the first of a quarter.
pub fn unexplained(memory: &CoherentMemory, operations: u64) -> u64 {
    let lines = memory.bytes() / LINE;
    let cores = [memory.clone(), memory.on_core(1), memory.on_core(2)];
    let mut oracle = Oracle::new();
    let mut under_way: VecDeque<Begun> = VecDeque::new();
    let mut state = 0x5eed;
    let mut stamps = 0;
    for operation in 0..operations {
        let mut line = random(&mut state) % lines;
        if operation % 4 == 0 {
            line %= HOT;
        }
        let part = (random(&mut state) % 4) as u8;
        let core = &cores[random(&mut state) as usize % cores.len()];
        let began = oracle.begin();
        // The last operations read what the others left.
        let stores = operation < operations / 6 * 5 && random(&mut state) % 2 == 0;
        let stamp = stores.then(|| {
            stamps += 1;
            oracle.write_begins((line, part), stamps, began);
            stamps
        });
        let at = line * LINE;
        let access = match stamp {
            Some(stamp) => core.begin_store(at + 32 * u64::from(part), &stamp.to_le_bytes()),
            None => core.begin_load(at),
        };
        under_way.push_back(Begun {
            line,
            part,
            stamp,
            began,
            access: access.expect("begin"),
        });
        while under_way.len() > WINDOW || (operation == operations - 1 && !under_way.is_empty()) {
            let begun = under_way.pop_front().expect("one");
            let bytes = begun.access.wait().expect("access");
            let place = (begun.line, begun.part);
            match begun.stamp {
                Some(stamp) => oracle.write_ends(place, stamp),
                None => oracle.read(place, first_word(&bytes, begun.part), begun.began),
            }
            oracle.end(begun.began);
        }
    }
    if let Some(first) = oracle.first() {
        eprintln!("{first:?}");
    }
    oracle.violations()
}
