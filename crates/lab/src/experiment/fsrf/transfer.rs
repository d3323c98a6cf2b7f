//! Figure 9: random reads of one size by one application, with the whole path compared with its components alone.
//! Storage and DMA engine standalone are the bounds; the paper's system is within a factor of two of the slower one.
//! The paper does not state the number of outstanding reads and copies. Both extremes are therefore measured: all at
//! once, and one at a time, as the text's "file access and DMA dominating run time" suggests.

use crate::driver::Driver;
use crate::experiment::{Failure, Outcome};
use crate::input::write_input;
use card::memory::HostMemory;
use card::Card as _;
use simcard::{SimCard, SimOptions};
use std::sync::Arc;
use timing::host::{Host, HostModel};
use tombolo::{
    Card, Continue, FileState, MapOptions, OwnerOptions, PageSize, Preset, ServiceThreads, SlotId,
};
use units::{CardAddr, Operation, Picoseconds, Stripe};

/// Outstanding operations of a component measured alone.
#[derive(Clone, Copy)]
enum Depth {
    All,
    One,
}

/// Reads of one size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// log2 of the read size in bytes.
    pub size_log2: u32,
    /// Number of reads.
    pub count: u64,
}

/// Rates for one size, in MB/s.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// Through the library, warm and cold.
    pub through: [f64; 2],
    /// The DMA engine alone, all copies at once and one at a time.
    pub link: [f64; 2],
    /// The host's handling of warm data, all at once and one at a time.
    pub page_cache: [f64; 2],
    /// The storage alone, all at once and one at a time.
    pub storage: [f64; 2],
}

impl Rates {
    fn list(&self) -> Vec<f64> {
        [self.through, self.link, self.page_cache, self.storage].concat()
    }

    /// Rates from a cached outcome.
    pub fn of(outcome: &Outcome) -> Option<Self> {
        let each: [f64; 8] = outcome.each.clone().try_into().ok()?;
        let pair = |place: usize| [each[place], each[place + 1]];
        Some(Self {
            through: pair(0),
            link: pair(2),
            page_cache: pair(4),
            storage: pair(6),
        })
    }

    /// Shares of the slower component's rate, warm and cold, with component operations all at once or one at a time.
    pub fn shares(&self, one_at_a_time: bool) -> [f64; 2] {
        let depth = usize::from(one_at_a_time);
        let of = |host: [f64; 2], ours: f64| ours / self.link[depth].min(host[depth]);
        [
            of(self.page_cache, self.through[0]),
            of(self.storage, self.through[1]),
        ]
    }
}

impl Transfer {
    /// Sizes of the figure, 4 KiB to 2 MiB.
    pub fn all() -> Vec<Self> {
        let counts = [128, 128, 64, 64, 64, 32, 32, 16, 8, 8];
        let sized = (12..).zip(counts);
        sized
            .map(|(size_log2, count)| Self { size_log2, count })
            .collect()
    }

    /// Name, such as `transfer.4096`.
    pub fn name(&self) -> String {
        format!("transfer.{}", self.bytes())
    }

    /// Read size in bytes.
    pub fn bytes(&self) -> u64 {
        1 << self.size_log2
    }

    pub(in crate::experiment) fn preset() -> Result<Preset, Failure> {
        Ok(Preset::named("tombolo", 0)?.scaled(4, 6))
    }

    pub(in crate::experiment) fn made_of(&self) -> Result<String, Failure> {
        Ok(format!("{self:?} {:?}", Self::preset()?))
    }

    pub(in crate::experiment) fn run(&self, options: SimOptions) -> Result<Outcome, Failure> {
        let both = |of: &dyn Fn(Depth) -> Result<f64, Failure>| -> Result<_, Failure> {
            Ok([of(Depth::All)?, of(Depth::One)?])
        };
        let rates = Rates {
            through: [
                self.through(&options, FileState::Warm)?,
                self.through(&options, FileState::Cold)?,
            ],
            link: both(&|depth| self.link_alone(&options, depth))?,
            page_cache: both(&|depth| Ok(self.host_alone(&options, FileState::Warm, depth)))?,
            storage: both(&|depth| Ok(self.host_alone(&options, FileState::Cold, depth)))?,
        };
        Ok(Outcome {
            mib_per_s: rates.through[0] * 1e6 / f64::from(1 << 20),
            deviation: 0.0,
            each: rates.list(),
            processor_seconds: 0.0,
            cycles: 0,
            deviations: Vec::new(),
        })
    }

    /// MB/s of random reads through the library: pages, faults, file, link.
    fn through(&self, options: &SimOptions, state: FileState) -> Result<f64, Failure> {
        let page = PageSize::from_bytes(self.bytes()).ok_or("no such page")?;
        let owner = OwnerOptions {
            page_size: Some(page),
            read_ahead_bytes: 0,
            file_state: state,
            service_threads: ServiceThreads::EachSpace,
            ..OwnerOptions::default()
        };
        let card = Card::simulated(options.clone(), owner, |_| {})?;
        let space = Self::preset()?.create_space(&card, 0)?;
        let files = tempfile::tempdir()?;
        let map = |name: &str, bytes, options| -> Result<_, Failure> {
            let path = files.path().join(name);
            write_input(&path, bytes)?;
            Ok(space.map_file(&path, options)?)
        };
        let bytes = self.count * self.bytes();
        let input = map("in", bytes, MapOptions::read_only())?;
        let output = map("out", 64, MapOptions::read_write())?;
        let folder = simcard::home().join("kernels/rng");
        let slot = card.load(SlotId(0), &folder, &space)?;
        for (name, value) in [
            ("input", input.address().get()),
            ("output", output.address().get()),
            ("accesses", self.count),
            ("access_log2", self.size_log2.into()),
            ("period_log2", self.count.ilog2().into()),
            ("seed", 1),
            ("write", 0),
        ] {
            slot.set_bytes(name, &value.to_le_bytes())?;
        }
        slot.start()?;
        slot.wait(None, |_| Continue::Yes)?;
        let report = card.report()?;
        let time = report.runs.iter().map(|run| run.time).max();
        Ok(bytes as f64 / time.ok_or("no run")?.as_seconds() / 1e6)
    }

    /// MB/s of copies of this size to the card, without other activity.
    fn link_alone(&self, options: &SimOptions, depth: Depth) -> Result<f64, Failure> {
        let mut driver = Driver::new(SimCard::open(options.clone(), |_| {})?);
        let bytes = self.bytes();
        let host = Arc::new(HostMemory::allocate((2 << 20) as usize)?);
        let from = driver.card.map_host(host)?;
        let began = driver.card.now();
        for number in 0..self.count {
            let to = CardAddr::new((1 << 30) + number * bytes).ok_or("no such address")?;
            let copy = Operation::CopyIn {
                from,
                to,
                bytes,
                stripe: Stripe::NONE,
            };
            match depth {
                Depth::All => drop(driver.submit(copy, false)?),
                Depth::One => drop(driver.command(copy)?),
            }
        }
        driver.command(Operation::Nop)?;
        let span = driver.card.now() - began;
        Ok((self.count * bytes) as f64 / span.as_seconds() / 1e6)
    }

    /// MB/s of the host's handling of reads of this size.
    fn host_alone(&self, options: &SimOptions, state: FileState, depth: Depth) -> f64 {
        let mut host = HostModel::new(options.platform.host());
        let bytes = self.bytes();
        let mut end = Picoseconds::ZERO;
        for _ in 0..self.count {
            let begin = match depth {
                Depth::All => Picoseconds::ZERO,
                Depth::One => end,
            };
            let read = match state {
                FileState::Cold => host.storage_read(begin, bytes),
                FileState::Warm => host.page_cache_copy(begin, bytes),
            };
            end = end.max(read);
        }
        (self.count * bytes) as f64 / end.as_seconds() / 1e6
    }
}
