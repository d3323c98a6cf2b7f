//! How much of the link streams of reads and writes have, and what the model's choices have to do
//! with it.

use super::{baseline, directory, Bar, Cores, MOST_CYCLES, REGION};
use crate::cache::Access;
use crate::line::{PlainLine, BYTES};
use crate::link::HEADER_BYTES;
use crate::model::DirectoryGeometry;
use crate::platform::Platform;
use crate::random::Random;
use crate::system::{Home, System, SystemError};

/// Cycles between looks at which sets of the cache are full.
const FULL_EVERY: u64 = 1024;
/// A stream at random fills 16 MiB in half a million cycles; one that takes longer than this never will.
const MOST_FILLING: u64 = 4_000_000;

/// Sets of the cache that have not been full yet.
struct Short(Vec<usize>);

impl Short {
    /// Looks at them; false when each has been full once. All at one moment need not be: the directory recalls a dirty line
    /// whenever a request overtakes the victim that makes room for it.
    fn look(&mut self, is_full: impl Fn(usize) -> bool) -> bool {
        self.0.retain(|&set| !is_full(set));
        !self.0.is_empty()
    }
}

/// Streams until each set of the cache has been full once, from when on its new lines evict old ones: at random, the last set
/// is full long after as many lines have come as the cache holds.
fn fill<H: Home, F: FnMut() -> Option<PlainLine>>(
    system: &mut System<H>,
    cores: &mut Cores<F>,
    access: Access,
    most: u64,
) -> Result<(), SystemError> {
    let sets = system.cache.sets();
    let mut short = Short((0..sets).collect());
    let end = system.cycles() + most;
    while short.look(|set| system.cache.is_full(set)) {
        if system.cycles() >= end {
            let never = short.0.len();
            return Err(SystemError::Stuck {
                cycles: most,
                what: format!("{never} of {sets} sets of the cache were never full"),
            });
        }
        for _ in 0..FULL_EVERY {
            cores.cycle(system, access)?;
        }
    }
    Ok(())
}

/// Lines a second of a stream in its steady state.
fn stream<H: Home>(
    system: &mut System<H>,
    platform: &Platform,
    access: Access,
    next: impl FnMut() -> PlainLine,
    lines: u64,
) -> Result<f64, SystemError> {
    let writes = matches!(access, Access::Store { .. });
    let count = |system: &System<H>| {
        let (down, up) = system.delivered();
        if writes {
            up
        } else {
            down
        }
    };
    let mut next = next;
    let mut cores = Cores::new(platform, || Some(next()));
    fill(system, &mut cores, access, MOST_FILLING)?;
    let (from, start) = (count(system), system.now_ps());
    while count(system) < from + lines {
        cores.cycle(system, access)?;
    }
    let seconds = (system.now_ps() - start) as f64 * 1e-12;
    let lines = count(system) - from;
    system.drain(MOST_CYCLES)?;
    Ok(lines as f64 / seconds)
}

/// Latency behind the directory, in CCKit's section 4.3.
const AXI_PS: u64 = 300_000;

/// Order of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Order {
    Sequential,
    Random,
}

impl Order {
    fn name(self) -> &'static str {
        match self {
            Self::Sequential => "seq",
            Self::Random => "rand",
        }
    }
}

const READ: (&str, Access) = ("read", Access::Load);
const WRITE: (&str, Access) = (
    "write",
    Access::Store {
        parts: 0xf,
        stamp: 1,
    },
);

/// Rate of a stream, as a share of the link's payload rate.
fn share_of_link(
    platform: &Platform,
    geometry: DirectoryGeometry,
    access: Access,
    order: Order,
) -> Result<f64, SystemError> {
    let mut system = directory(platform, geometry)?;
    Ok(rate(&mut system, platform, access, order)? / platform.lines_per_second())
}

/// Lines a second of a stream.
fn rate<H: Home>(
    system: &mut System<H>,
    platform: &Platform,
    access: Access,
    order: Order,
) -> Result<f64, SystemError> {
    let mut random = Random::new(7);
    let mut count = 0;
    let next = || {
        count += 1;
        PlainLine(match order {
            Order::Sequential => count % REGION,
            Order::Random => random.below(REGION),
        })
    };
    stream(system, platform, access, next, 60_000)
}

/// `cckit.figure6.*` (CCKit, section 5.2): streams over 1 GiB whose home is a second CPU, and on-chip memory
/// of two cycles behind the directory, in GiB/s of the direction that has the data.
///
/// # Errors
/// [`SystemError`].
pub fn figure6(platform: &Platform, geometry: DirectoryGeometry) -> Result<Vec<Bar>, SystemError> {
    let gib = |lines: f64| lines * BYTES as f64 / (1u64 << 30) as f64;
    let mut bars = Vec::new();
    let mut least = f64::INFINITY;
    for (kind, access) in [READ, WRITE] {
        for order in [Order::Sequential, Order::Random] {
            let theirs = rate(&mut baseline(platform)?, platform, access, order)?;
            let ours = rate(&mut directory(platform, geometry)?, platform, access, order)?;
            least = least.min(ours / theirs);
            for (set_up, rate) in [("two_cpus", theirs), ("onchip", ours)] {
                let name = format!("cckit.figure6.{set_up}.{}_{kind}", order.name());
                bars.push(Bar::new(name, gib(rate), "GiB/s"));
            }
        }
    }
    let name = "cckit.figure6.onchip_vs_two_cpus";
    bars.push(Bar::new(name, least, "x"));
    Ok(bars)
}

/// `directory.axi_300ns.*`: sequential reads in GiB/s when whatever is behind the directory takes 300 ns, with five and six
/// bits for the number of a request: over the platform's link, and over one of 30 GiB/s, which bounds nothing. CCKit,
/// section 4.3: 24 GiB/s of traffic with 64 units.
///
/// # Errors
/// [`SystemError`].
pub fn request_numbers(
    platform: &Platform,
    geometry: DirectoryGeometry,
) -> Result<Vec<Bar>, SystemError> {
    let gib = (1u64 << 30) as f64;
    let mut slow = platform.clone();
    slow.memory.latency_cycles = AXI_PS.div_ceil(platform.clock_ps);
    let mut fast = slow.clone();
    fast.link.payload_bytes_per_second = 30 << 30;
    fast.link.header_bytes_per_second = 45 << 30;
    let mut bars = Vec::new();
    for geometry in [geometry, geometry.with_wide_requests()] {
        for (link, platform) in [("link", &slow), ("fast_link", &fast)] {
            let mut system = directory(platform, geometry)?;
            let lines = rate(&mut system, platform, READ.1, Order::Sequential)?;
            let ids = geometry.request_ids;
            let name = format!("directory.axi_300ns.ids_{ids}.{link}");
            let rate = lines * BYTES as f64 / gib;
            bars.push(match (ids, link) {
                (64, "fast_link") => Bar::new(name, rate, "GiB/s"),
                _ => Bar::new(name, rate, "GiB/s"),
            });
        }
    }
    Ok(bars)
}

/// `directory.{seq,rand}_{read,write}.share_of_link`.
///
/// # Errors
/// [`SystemError`].
pub fn streams(platform: &Platform, geometry: DirectoryGeometry) -> Result<Vec<Bar>, SystemError> {
    let mut bars = Vec::new();
    for (kind, access) in [READ, WRITE] {
        for order in [Order::Sequential, Order::Random] {
            let share = share_of_link(platform, geometry, access, order)?;
            let name = format!("directory.{}_{kind}.share_of_link", order.name());
            bars.push(Bar::new(name, share, ""));
        }
    }
    // The same without the one choice of the model that this bar rests on (no published source).
    let mut plain = platform.clone();
    plain.cache.evict_ahead = 0;
    let share = share_of_link(&plain, geometry, WRITE.1, Order::Random)?;
    let name = "directory.rand_write.share_of_link.without_evict_ahead";
    bars.push(Bar::new(name, share, ""));
    // What the wire leaves: each line written back shares its direction with a request.
    let link = &platform.link;
    let payload = BYTES as f64 / link.payload_bytes_per_second as f64;
    let request = HEADER_BYTES as f64 / link.header_bytes_per_second as f64;
    let name = "directory.write.most_of_link";
    bars.push(Bar::new(name, payload / (payload + request), ""));
    Ok(bars)
}

/// Streams with one choice of the model changed, of those for which there is no published source.
///
/// # Errors
/// [`SystemError`].
pub fn choices(platform: &Platform, geometry: DirectoryGeometry) -> Result<Vec<Bar>, SystemError> {
    let changed = |change: fn(&mut Platform)| {
        let mut platform = platform.clone();
        change(&mut platform);
        platform
    };
    let variants = [
        ("no_evict_ahead", changed(|p| p.cache.evict_ahead = 0)),
        ("no_jitter", changed(|p| p.link.jitter_ps = 0)),
        ("jitter_60_ns", changed(|p| p.link.jitter_ps = 60_000)),
        ("transmit_one_line", changed(|p| p.link.transmit_ps = 6_000)),
        (
            "half_credits",
            changed(|p| {
                p.link.header_credits /= 2;
                p.link.data_credits /= 2;
            }),
        ),
    ];
    let mut bars = Vec::new();
    for (name, platform) in &variants {
        for (kind, access) in [READ, WRITE] {
            let share = share_of_link(platform, geometry, access, Order::Random)?;
            let name = format!("directory.model.{name}.rand_{kind}");
            bars.push(Bar::new(name, share, ""));
        }
    }
    Ok(bars)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_need_not_be_full_at_one_moment() {
        let mut short = Short((0..4).collect());
        assert!(short.look(|set| set % 2 == 0));
        assert!(!short.look(|set| set % 2 == 1));
    }

    #[test]
    fn sets_that_no_line_comes_to_are_counted() {
        let mut platform = Platform::enzian().expect("the platform file");
        platform.cache.bytes = 4 << 10;
        platform.cache.ways = 1;
        platform.cache.evict_ahead = 0;
        let mut system = baseline(&platform).expect("two CPUs");
        let mut cores = Cores::new(&platform, || Some(PlainLine(0)));
        let error = fill(&mut system, &mut cores, READ.1, 5_000).expect_err("one line");
        let says = "31 of 32 sets of the cache were never full";
        assert!(error.to_string().contains(says), "{error}");
    }
}
