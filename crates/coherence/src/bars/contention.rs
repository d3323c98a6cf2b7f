//! Figure 7's second series: a core counts in every row of a table with another CPU as its home, while a core of that
//! CPU repeatedly takes some of the rows.

use super::{baseline_home, join, Bar};
use crate::cache::{Access, Outcome};
use crate::line::PlainLine;
use crate::platform::Platform;
use crate::system::{System, SystemError};
use crate::two_cpus::SecondCpu;

/// Rows of the table, a line each; and what follows, as in the series with the card (`app.shared_table`).
const ROWS: u64 = 512;
/// Cycles in which the other core goes once through its rows, if it can.
const ROUND: u64 = 3000;
/// Rows that it is about to get.
const INFLIGHT: usize = 16;
/// Passes that are measured; one more is not.
const PASSES: u64 = 4;
/// An access that takes longer is stuck.
const MOST_CYCLES: u64 = 1_000_000;
/// Shares of the rows that both want, in percent.
const PERCENT: [u64; 9] = [0, 1, 2, 5, 10, 25, 50, 75, 100];

/// Both CPUs.
struct Contention {
    system: System<SecondCpu>,
    /// Time of the core that counts.
    core_ps: u64,
    hit_ps: u64,
    l1_hit_ps: u64,
    /// The other core: rows that it takes, the next, and not before this cycle.
    taken: u64,
    next: u64,
    not_before: u64,
}

impl Contention {
    fn new(platform: &Platform, taken: u64) -> Result<Self, SystemError> {
        let home = baseline_home(platform)?.with_cache(platform.cache.hit_ps);
        Ok(Self {
            system: join(platform, home)?,
            core_ps: 0,
            hit_ps: platform.cache.hit_ps,
            l1_hit_ps: platform.cache.l1_hit_ps,
            taken,
            next: 0,
            not_before: 0,
        })
    }

    fn cycle(&mut self) -> Result<(), SystemError> {
        let now = self.system.cycles();
        if self.taken > 0 && now >= self.not_before && self.system.home.claiming() < INFLIGHT {
            let line = PlainLine(self.next).fold();
            if self.system.home.claim(self.system.now_ps(), line) {
                self.next = (self.next + 1) % self.taken;
                self.not_before = now + (ROUND / self.taken).max(1);
            }
        }
        self.system.cycle()
    }

    /// An access of the core that counts; what it costs if it hits.
    fn access(&mut self, line: u64, access: Access, hit_ps: u64) -> Result<(), SystemError> {
        for _ in 0..MOST_CYCLES {
            while self.system.now_ps() < self.core_ps {
                self.cycle()?;
            }
            match self.system.cache.access(PlainLine(line).fold(), access, 0) {
                Outcome::Hit(_) => {
                    self.core_ps += hit_ps;
                    return Ok(());
                }
                Outcome::Busy => {
                    self.cycle()?;
                    self.core_ps = self.system.now_ps();
                }
                Outcome::Started => {
                    self.system.cache.completed.clear();
                    for _ in 0..MOST_CYCLES {
                        self.cycle()?;
                        if !self.system.cache.completed.is_empty() {
                            break;
                        }
                    }
                    self.core_ps = self.system.now_ps();
                    return Ok(());
                }
            }
        }
        Err(SystemError::Stuck {
            cycles: MOST_CYCLES,
            what: format!("row {line}"),
        })
    }

    /// One pass: each row is loaded for the core alone, and written; picoseconds.
    fn pass(&mut self) -> Result<u64, SystemError> {
        let began = self.core_ps;
        let store = Access::Store { parts: 1, stamp: 1 };
        for row in 0..ROWS {
            self.access(row, Access::PrefetchExclusive, self.hit_ps)?;
            self.access(row, store, self.l1_hit_ps)?;
        }
        Ok(self.core_ps - began)
    }
}

/// `cckit.figure7.two_cpus.*`: millions of rows a second.
///
/// # Errors
/// [`SystemError`].
pub fn figure7(platform: &Platform) -> Result<Vec<Bar>, SystemError> {
    let mut bars = Vec::new();
    for percent in PERCENT {
        let mut both = Contention::new(platform, (ROWS * percent).div_ceil(100))?;
        both.pass()?;
        let mut took = 0;
        for _ in 0..PASSES {
            took += both.pass()?;
        }
        let rate = (PASSES * ROWS) as f64 * 1e6 / took as f64;
        let name = format!("cckit.figure7.two_cpus.{percent}");
        bars.push(Bar::new(name, rate, "M rows/s"));
    }
    Ok(bars)
}
