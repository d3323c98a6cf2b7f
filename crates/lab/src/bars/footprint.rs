//! Code footprint: derives from callgrind's output how much code an edge executes, and how often it misses the
//! instruction cache.

use super::Failure;
use std::collections::HashMap;

/// A 32 KiB instruction cache with the usual line size, and complete costs per instruction.
pub const OPTIONS: [&str; 6] = [
    "--cache-sim=yes",
    "--I1=32768,8,64",
    "--D1=32768,8,64",
    "--dump-instr=yes",
    "--compress-pos=no",
    "--compress-strings=no",
];

/// Size of a cache line in bytes.
const LINE: u64 = 64;

/// Code footprint over a series of edges.
#[derive(Debug, PartialEq)]
pub struct Footprint {
    /// Mean KiB of cache lines that an edge executes: a line counts as often as its most frequent instruction, at most
    /// once per edge. There is no threshold between hot and cold lines, since with four slots much code runs at two
    /// edges of three.
    pub hot_kb: f64,
    /// Instruction-cache misses per edge.
    pub misses: f64,
}

impl Footprint {
    /// Parses callgrind's output file.
    ///
    /// # Errors
    /// The file does not have the format that [`OPTIONS`] produce.
    pub fn read(text: &str, edges: u64) -> Result<Self, Failure> {
        let line = |start: &str| {
            text.lines()
                .find_map(|line| line.strip_prefix(start))
                .ok_or(format!("callgrind wrote no line `{start}`"))
        };
        let place = line("events: ")?
            .split_whitespace()
            .position(|event| event == "I1mr")
            .ok_or("callgrind counted no misses")?;
        let misses = line("totals: ")?.split_whitespace().nth(place);
        let misses: f64 = misses.ok_or("callgrind has no sum of misses")?.parse()?;
        let runs = runs_of_lines(text)?;
        let lines: u64 = runs.iter().map(|count| (*count).min(edges)).sum();
        Ok(Self {
            hot_kb: (lines * LINE) as f64 / edges as f64 / 1024.0,
            misses: misses / edges as f64,
        })
    }
}

/// Executions of the most frequent instruction of each cache line.
fn runs_of_lines(text: &str) -> Result<Vec<u64>, Failure> {
    // Keyed by object and address: inlined functions attribute an instruction to several places.
    let mut runs: HashMap<(&str, u64), u64> = HashMap::new();
    let mut object = "";
    let mut inclusive = false;
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            object = name;
        } else if line.starts_with("calls=") {
            // The costs of callees follow.
            inclusive = true;
        } else if let Some(rest) = line.strip_prefix("0x") {
            if !std::mem::take(&mut inclusive) {
                let mut words = rest.split(' ');
                let address = u64::from_str_radix(words.next().unwrap_or(""), 16)?;
                let count: u64 = words.nth(1).ok_or("a cost without a count")?.parse()?;
                *runs.entry((object, address)).or_default() += count;
            }
        }
    }
    let mut lines: HashMap<(&str, u64), u64> = HashMap::new();
    for ((object, address), count) in runs {
        let most = lines.entry((object, address / LINE)).or_default();
        *most = count.max(*most);
    }
    Ok(lines.into_values().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_count_as_often_as_they_run_and_calls_not_at_all() {
        let text = "positions: instr line\nevents: Ir Dr Dw I1mr\nob=/a.so\nfn=f\n0x40 0 5\n0x44 0 4 1\n0x80 0 2\n\
                    calls=3 0x900 0\n0x900 0 70 9\nfn=g\n0x80 0 7\nob=/b.so\nfn=h\n0x40 0 9\n0xc0 0 80\n\
                    totals: 35 1 0 20\n";
        // Over ten edges the lines execute 5 and 2 + 7 times; in the other object, 9 times and at every edge.
        let found = Footprint::read(text, 10).unwrap();
        assert_eq!((found.hot_kb, found.misses), (3.3 / 16.0, 2.0));
        assert!(Footprint::read("events: Ir\ntotals: 1\n", 10).is_err());
    }
}
