//! Translations that all need a page walk: random reads of 64 bytes from 4 KiB pages, compared with the same memory
//! performing two reads per access; and the number of sets that a walk reads.

use super::Failure;
use crate::driver::{Driver, GLOBAL_INTERRUPT, INTERRUPT_ENABLE, START};
use crate::row::Row;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers;
use card::{Card, Loader, SpaceControl};
use simcard::{L1Config, SimCard, SimOptions};
use std::sync::Arc;
use timing::dram::{Access, Controller, MemoryChannel};
use units::{
    Asid, CardAddr, FrameNumber, Operation, PageEntry, PageNumber, PageSize, Picoseconds, SlotId,
    Stripe, TableGeometry, Target as Place, VirtAddr,
};

const SLOT: SlotId = SlotId(0);
/// Entries of the only L1 TLB.
const L1_ENTRIES: u64 = 16;
/// log2(bytes) of the data: 1024 times the L1's reach.
const FOOTPRINT_LOG2: u32 = 26;
const PAGES: u64 = 1 << (FOOTPRINT_LOG2 - 12);
const READS: u64 = 60_000;
const SEED: u64 = 0x1234_5678_9abc_def1;
/// log2(sets) of the table: half full.
const SETS_LOG2: u8 = 12;
const TABLE: u64 = 0;
const FRAMES: u64 = 1 << 30;
const INPUT: u64 = 0x40_0000_0000;
const OUTPUT: u64 = 0x7f_0000_0000;
const BATCH: u64 = 64;

/// Location of the pages. The table is in channel 0.
#[derive(Clone, Copy)]
enum PagePlaces {
    /// Alternating between channels 0 and 1.
    Both,
    /// In channel 1.
    Apart,
    /// In channel 0.
    Together,
}

impl PagePlaces {
    fn frame(self, page: u64, channel_bytes_log2: u8) -> u64 {
        let (channel, page) = match self {
            Self::Both => (page & 1, page >> 1),
            Self::Apart => (1, page),
            Self::Together => (0, page),
        };
        (channel << channel_bytes_log2) + FRAMES + page * 4096
    }
}

/// The rows that `kernels/random_read` reads.
fn rows(rows_log2: u32) -> impl Iterator<Item = u64> {
    let mut x = SEED;
    std::iter::repeat_with(move || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 16) & ((1 << rows_log2) - 1)
    })
}

/// Content of word `word` of row `row`.
fn content(row: u64, word: u64) -> u64 {
    (row * 8 + word + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

/// A card with `random_read`, driven directly.
struct WalkBench {
    driver: Driver<SimCard>,
    kernel: KernelPackage,
    unanswered: u64,
}

impl WalkBench {
    fn open() -> Result<Self, Failure> {
        let mut options = SimOptions::named("f1")?;
        options.shell.l1 = vec![L1Config {
            page_bits: 12,
            sets_log2: 3,
            ways: (L1_ENTRIES / 8) as u8,
        }];
        let mut card = SimCard::open(options, |_| {})?;
        let kernel = KernelPackage::open(&simcard::home().join("kernels/random_read"))?;
        card.load(SLOT, &kernel)?;
        Ok(Self {
            driver: Driver::new(card),
            kernel,
            unanswered: 0,
        })
    }

    /// Queues a command; periodically waits until all have completed.
    fn command(&mut self, operation: Operation) -> Result<(), Failure> {
        self.unanswered += 1;
        if self.unanswered == BATCH {
            self.unanswered = 0;
            self.driver.command(operation)
        } else {
            self.driver.submit(operation, false)?;
            Ok(())
        }
    }

    fn finish_commands(&mut self) -> Result<(), Failure> {
        while self.unanswered != 0 {
            self.command(Operation::Nop)?;
        }
        Ok(())
    }

    fn open_space(&mut self, sets_log2: u8, sizes: &[PageSize]) -> Result<TableGeometry, Failure> {
        let table = CardAddr::new(TABLE).and_then(|base| TableGeometry::new(base, sets_log2));
        let table = table.ok_or("table geometry")?;
        let (to, bytes) = (table.base(), table.bytes());
        self.command(Operation::Zero {
            to,
            bytes,
            stripe: Stripe::NONE,
        })?;
        self.finish_commands()?;
        let classes = sizes.iter().map(|size| 1 << size.class()).sum();
        let asid = Asid::default();
        self.driver
            .card
            .control_space(asid, SpaceControl::table(table, classes))?;
        self.driver.card.control_slot(SLOT, asid, true)?;
        Ok(table)
    }

    fn install(&mut self, address: u64, frame: u64, size: PageSize) -> Result<(), Failure> {
        let frame = CardAddr::new(frame).and_then(FrameNumber::at);
        self.command(Operation::Install {
            asid: Asid::default(),
            address: VirtAddr::new(address).ok_or("address")?,
            entry: PageEntry {
                frame: frame.ok_or("frame")?,
                size,
                target: Place::Card,
                read: true,
                write: true,
                accessed: true,
                dirty: true,
            },
        })
    }

    /// Time from the write of ap_start to the interrupt.
    fn run(&mut self, rows_log2: u32, reads: u64) -> Result<Picoseconds, Failure> {
        for (name, value) in [
            ("input", INPUT),
            ("output", OUTPUT),
            ("reads", reads),
            ("rows_log2", rows_log2.into()),
            ("seed", SEED),
        ] {
            let value = value.to_le_bytes();
            self.driver.set(SLOT, &self.kernel, name, &value)?;
        }
        self.driver.write(SLOT, GLOBAL_INTERRUPT, 1)?;
        self.driver.write(SLOT, INTERRUPT_ENABLE, 1)?;
        let start = self.driver.card.now();
        self.driver.write(SLOT, START, 1)?;
        self.driver.interrupts([SLOT].into_iter())?;
        Ok(self.driver.card.now() - start)
    }

    fn walk_reads(&mut self) -> Result<u64, Failure> {
        let low = self.driver.card.read_register(registers::WALK_READS_LO)?;
        let high = self.driver.card.read_register(registers::WALK_READS_HI)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }
}

/// Accesses per second with real walks.
fn with_walks(pages: PagePlaces) -> Result<f64, Failure> {
    let mut bench = WalkBench::open()?;
    let channel_bytes_log2 = bench.driver.card.description().channel_bytes_log2;
    let frame = |page| pages.frame(page, channel_bytes_log2);
    bench.open_space(SETS_LOG2, &[PageSize::KIB_4])?;
    let host = Arc::new(HostMemory::allocate((BATCH * 4096) as usize)?);
    let host_at = bench.driver.card.map_host(host.clone())?;
    let mut data = vec![0; 4096];
    for page in 0..PAGES {
        for (index, word) in data.chunks_exact_mut(8).enumerate() {
            let (row, index) = (page * 64 + index as u64 / 8, index as u64 % 8);
            word.copy_from_slice(&content(row, index).to_le_bytes());
        }
        let place = (page % BATCH) * 4096;
        host.write(place as usize, &data)?;
        bench.command(Operation::CopyIn {
            from: host_at.offset(place),
            to: CardAddr::new(frame(page)).ok_or("frame")?,
            bytes: 4096,
            stripe: Stripe::NONE,
        })?;
    }
    bench.finish_commands()?;
    for page in 0..PAGES {
        bench.install(INPUT + page * 4096, frame(page), PageSize::KIB_4)?;
    }
    bench.install(OUTPUT, frame(PAGES), PageSize::KIB_4)?;
    bench.finish_commands()?;
    let rows_log2 = FOOTPRINT_LOG2 - 6;
    let time = bench.run(rows_log2, READS)?;

    bench.command(Operation::CopyOut {
        from: CardAddr::new(frame(PAGES)).ok_or("frame")?,
        to: host_at,
        bytes: 64,
        stripe: Stripe::NONE,
    })?;
    bench.finish_commands()?;
    let mut result = [0; 64];
    host.read(0, &mut result)?;
    let mut wanted = [0u64; 8];
    for row in rows(rows_log2).take(READS as usize) {
        for (word, sum) in (0..).zip(&mut wanted) {
            *sum ^= content(row, word);
        }
    }
    if !result
        .iter()
        .copied()
        .eq(wanted.iter().flat_map(|word| word.to_le_bytes()))
    {
        return Err("random_read read the wrong bytes".into());
    }
    Ok(READS as f64 / time.as_seconds())
}

/// Accesses per second if each were two reads of the same rows, table and data, that are limited only by the channels'
/// controllers: one address and one row per cycle and channel.
fn bound(pages: PagePlaces) -> Result<f64, Failure> {
    let options = SimOptions::named("f1")?;
    let memory = options.platform.memory();
    let table = CardAddr::new(TABLE).and_then(|base| TableGeometry::new(base, SETS_LOG2));
    let table = table.ok_or("table geometry")?;
    let bits = options.shell.channel_bytes_log2;
    let mut asked: [Vec<u64>; 2] = Default::default();
    for row in rows(FOOTPRINT_LOG2 - 6).take(READS as usize) {
        let address = VirtAddr::new(INPUT + row * 64).ok_or("address")?;
        let page = PageNumber::containing(address, PageSize::KIB_4);
        asked[0].push(TABLE + 64 * table.set(page));
        let at = pages.frame(row / 64, bits) + row % 64 * 64;
        asked[(at >> bits) as usize].push(at & ((1 << bits) - 1));
    }
    let mut end = Picoseconds::ZERO;
    for rows in asked {
        let mut controller = Controller::new(memory);
        let (mut pushed, mut popped) = (0, 0);
        let mut now = Picoseconds::ZERO;
        while popped < rows.len() {
            if pushed < rows.len() && controller.can_accept(false) {
                let access = Access {
                    token: 0,
                    offset: rows[pushed],
                    rows: 1,
                    write: false,
                };
                controller.push(now, access);
                pushed += 1;
            }
            now += options.platform.clock().period_ps;
            popped += usize::from(controller.pop_read(now).is_some());
        }
        end = end.max(now);
    }
    Ok(READS as f64 / end.as_seconds())
}

/// `walk.random4k.*`: the bar applies to pages in all channels, as the pager places them.
pub fn random4k() -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for (name, pages) in [
        ("share_of_bound", PagePlaces::Both),
        ("share_of_bound_one_channel", PagePlaces::Together),
        ("share_of_bound_table_apart", PagePlaces::Apart),
    ] {
        let (bound, walked) = (bound(pages)?, with_walks(pages)?);
        eprintln!(
            "walk.random4k.{name}: bound {:.1} M accesses/s, with walks {:.1} M",
            bound * 1e-6,
            walked * 1e-6
        );
        let name = format!("walk.random4k.{name}");
        rows.push(Row::new(&name, walked / bound, "ratio"));
    }
    Ok(rows)
}

/// `walk.reads_per_walk`: 256 MiB in which each region of 2 MiB is, at random, one page, pages of 64 KiB or pages of 4
/// KiB.
pub fn reads_per_walk() -> Result<Vec<Row>, Failure> {
    const REGIONS: u64 = 128;
    let kib_64 = PageSize::from_bytes(64 << 10).ok_or("page size")?;
    let sizes = [PageSize::KIB_4, kib_64, PageSize::MIB_2];
    let mut bench = WalkBench::open()?;
    bench.open_space(13, &sizes)?;
    for (region, lot) in (0..REGIONS).zip(rows(20)) {
        let size = sizes[lot as usize % 3];
        for page in 0..(2 << 20) / size.bytes() {
            let offset = (region << 21) + page * size.bytes();
            bench.install(INPUT + offset, FRAMES + offset, size)?;
        }
    }
    bench.install(OUTPUT, FRAMES / 2, PageSize::KIB_4)?;
    bench.finish_commands()?;
    let before = bench.walk_reads()?;
    bench.run((REGIONS << 15).ilog2(), READS)?;
    let reads = bench.walk_reads()? - before;
    let statistics = bench.driver.card.statistics()?;
    let walks: u64 = statistics
        .requesters
        .iter()
        .map(|s| s.walk_hits + s.walk_misses)
        .sum();
    eprintln!("{walks} walks read {reads} sets");
    let name = "walk.reads_per_walk";
    let per_walk = reads as f64 / walks as f64;
    Ok(vec![Row::new(name, per_walk, "sets")])
}
