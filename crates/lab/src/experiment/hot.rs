//! A cell with resident data: pages are preloaded, and a host model that knows all pages handles the shell's TLB misses
//! at the platform's cost.

use super::description::Data;
use super::outcome::{Measured, Run};
use super::workload::Seed;
use super::{Cell, Failure, Outcome, Workload};
use crate::driver::{Driver, START};
use crate::random::Random;
use card::command::{Command, QueueId};
use card::event::Event;
use card::kernel::KernelPackage;
use card::{Card, HostWork, Loader, Simulation, SpaceControl, SpaceTable, WorkId};
use simcard::{SimCard, SimOptions};
use tombolo::Preset;
use units::{
    Asid, CardAddr, CommandId, Fault, FrameNumber, L1Reach, Operation, PageEntry, PageNumber,
    PageSize, Picoseconds, ServiceEvents, SlotId, Stripe, TableGeometry, Target, VirtAddr,
};

/// Distance of an application's input from the start of its part of card memory; the output follows at the next
/// multiple. Page tables are below.
const DATA: u64 = 1 << 30;
/// log2 of the sets of a page table, at least. Tables of 32,768 pages and more have a set for 4 to 8 of them, of the 8
/// that it has room for.
const SETS_LOG2: u8 = 12;
/// Distance between the applications' data, in addition to the granule of a stripe or a page.
const STAGGER: u64 = 2 << 20;
/// With several runs, applications start within this time: four refresh intervals of a memory.
const STARTS_WITHIN: Picoseconds = Picoseconds::new(32_000_000);
/// With several runs, their data starts within this number of pages, or granules of a stripe.
const PLACES: u64 = 16;

/// Start time of an application, and displacement of its data from the first run.
#[derive(Clone, Copy, Default)]
struct StartOffsets {
    start: Picoseconds,
    input: u64,
    output: u64,
}

impl StartOffsets {
    /// Without a run number, applications start together, with data at the default addresses. Otherwise both are
    /// pseudo-random functions of the run and application numbers only; data starts at a multiple of `unit`.
    fn of((run, first_places): (Option<u8>, bool), application: u8, unit: u64) -> Self {
        let Some(run) = run else {
            return Self::default();
        };
        let mut random = Random(u64::from(run) << 8 | u64::from(application));
        // As far as card memory extends below a data address.
        let places = match first_places {
            true => 1,
            false => PLACES.min(DATA / 2 / unit).max(1),
        };
        Self {
            start: Picoseconds::new(random.below(STARTS_WITHIN.get())),
            input: unit * random.below(places),
            output: unit * random.below(places),
        }
    }
}

/// An application: its access pattern and its data.
#[derive(Clone, Copy)]
pub(super) struct HotApplication<'a> {
    pub(super) workload: &'a Workload,
    pub(super) data: Data,
}

/// Configuration of applications on a card.
pub(super) struct Setting<'a> {
    pub(super) preset: &'a Preset,
    pub(super) applications: Vec<HotApplication<'a>>,
    /// Displacement of the output in rows.
    pub(super) shift_rows: u64,
    /// Number of the run, if several differ in start times and data addresses.
    pub(super) run: Option<u8>,
    /// Runs differ in start times only.
    pub(super) first_places: bool,
}

/// Runs the applications of a cell concurrently.
pub(super) fn run(cell: &Cell<'_>, options: SimOptions) -> Result<Outcome, Failure> {
    let application = HotApplication {
        workload: cell.workload,
        data: cell.data()?,
    };
    let run = |run| -> Result<_, Failure> {
        let mut card = Hot::open(
            &Setting {
                preset: cell.preset(),
                applications: vec![application; usize::from(cell.applications)],
                shift_rows: cell.shift_rows,
                run,
                first_places: cell.first_places,
            },
            options.clone(),
        )?;
        let mut measured = Vec::new();
        for _ in 0..application.data.passes() {
            measured = card.pass()?;
        }
        card.outcome(measured)
    };
    let runs = match cell.runs {
        1 => vec![run(None)?],
        runs => (1..=runs)
            .map(|number| run(Some(number)))
            .collect::<Result<_, _>>()?,
    };
    Ok(Outcome::of_runs(&runs))
}

/// Runs different applications concurrently, each repeatedly until all have completed `rounds` runs after their first,
/// which fills the TLBs and is not measured.
pub(super) fn together(
    setting: &Setting<'_>,
    options: SimOptions,
    rounds: u32,
) -> Result<Outcome, Failure> {
    let mut card = Hot::open(setting, options)?;
    let measured = card.rounds(rounds)?;
    Ok(Outcome::of_runs(&[card.outcome(measured)?]))
}

/// The page size of a preset for data: at most the size of the data, as in the library, and joined if the L1 TLB does
/// not reach all of it.
fn page_of(preset: &Preset, bytes: u64) -> PageSize {
    let page = preset.largest_page();
    if let Some((larger, _)) = L1Reach::beyond(&preset.shell.l1_reach(), page, bytes) {
        return larger;
    }
    let fits = |size: &PageSize| size.bytes() <= bytes.max(PageSize::MIB_2.bytes());
    let mut sizes = (0..=page.class()).rev().filter_map(PageSize::from_class);
    sizes.find(fits).unwrap_or(page)
}

/// Runs of an application.
struct Runs {
    started: Picoseconds,
    ended: Vec<Picoseconds>,
}

struct Hot {
    driver: Driver<SimCard>,
    slots: u8,
    /// Page size of each application, followed by the bytes that a run accesses.
    pages: Vec<PageSize>,
    bytes: Vec<u64>,
    /// Start time of each application.
    starts: Vec<Picoseconds>,
    /// Faults of each application that are queued for its service thread, and those in service.
    waiting: Vec<Vec<Fault>>,
    serving: Vec<Option<(WorkId, Vec<Fault>)>>,
    replies: u32,
}

impl Hot {
    fn open(setting: &Setting<'_>, options: SimOptions) -> Result<Self, Failure> {
        let preset = setting.preset;
        let slots = setting.applications.len() as u8;
        let channel_log2 = options.shell.channel_bytes_log2;
        let walks = options.shell.max_walks > 0;
        let of_each = || {
            setting
                .applications
                .iter()
                .map(|application| application.data)
        };
        let mut hot = Self {
            driver: Driver::new(SimCard::open(options, |_| {})?),
            slots,
            pages: of_each()
                .map(|data| page_of(preset, data.set_bytes))
                .collect(),
            bytes: setting
                .applications
                .iter()
                .map(|one| one.data.accessed(one.workload.load, preset, true))
                .collect(),
            starts: Vec::new(),
            waiting: vec![Vec::new(); usize::from(slots)],
            serving: vec![None; usize::from(slots)],
            replies: 0,
        };
        for (number, application) in (0..slots).zip(&setting.applications) {
            let (page, bytes) = (
                hot.pages[usize::from(number)],
                hot.bytes[usize::from(number)],
            );
            let (workload, data) = (application.workload, application.data);
            let folder = simcard::home().join("kernels").join(&workload.kernel);
            let kernel = KernelPackage::open(&folder)?;
            let asid = Asid::new(number).ok_or("no such space")?;
            let base = u64::from(number) << channel_log2;
            // Frames are allocated as applications touch their first pages, one after another: on a striped card, they
            // start on adjacent channels.
            let base = base + u64::from(number) * STAGGER.max(page.bytes());
            // Page tables consist of whole pages.
            let unit = if walks { page.bytes() } else { STAGGER };
            let chance = StartOffsets::of((setting.run, setting.first_places), number, unit);
            hot.starts.push(chance.start);
            let input = base + DATA + chance.input;
            // For a set of up to half a GiB that is twice the distance.
            let behind = (DATA / 2 + data.set_bytes).next_multiple_of(DATA);
            let output = base + DATA + behind + chance.output;
            if hot.driver.card.description().translated {
                let stripe = preset.placement(number).stripe();
                let mapped: &[u64] = if walks { &[input, output] } else { &[] };
                hot.open_space(
                    asid,
                    stripe,
                    base,
                    mapped,
                    data.set_bytes
                        .max(bytes)
                        .max(workload.load.buffers(&data, bytes).input)
                        + 64 * setting.shift_rows,
                )?;
            }
            let slot = SlotId(number);
            hot.driver.card.load(slot, &kernel)?;
            hot.driver.card.control_slot(slot, asid, true)?;
            let output = output + 64 * setting.shift_rows;
            let load = workload.load;
            let stripe = match hot.driver.card.description().translated {
                true => preset.placement(number).stripe(),
                false => Stripe::NONE,
            };
            for (place, content) in load.contents(&data, bytes) {
                hot.preload(stripe, input + place, &content)?;
            }
            for (name, value) in load.arguments(&data, bytes, input, output, Seed::Measured) {
                hot.driver.set(slot, &kernel, name, &value)?;
            }
            hot.driver.enable_interrupt(slot)?;
        }
        Ok(hot)
    }

    /// Writes bytes at an address of a space, which equals the card address, without simulation.
    fn preload(&mut self, stripe: Stripe, address: u64, bytes: &[u8]) -> Result<(), Failure> {
        let address = CardAddr::new(address).ok_or("an address beyond the card")?;
        let log2 = self.driver.card.description().channel_bytes_log2;
        let pieces: Vec<_> = stripe.pieces(address, bytes.len() as u64, log2).collect();
        for (place, part) in pieces {
            let part = &bytes[part.start as usize..part.end as usize];
            self.driver.card.preload(place, part)?;
        }
        Ok(())
    }

    /// Opens a space with these ranges in its page table, which is preloaded without simulation: the space has a single
    /// page size.
    fn open_space(
        &mut self,
        asid: Asid,
        stripe: Stripe,
        base: u64,
        mapped: &[u64],
        bytes: u64,
    ) -> Result<(), Failure> {
        let of_space = self.pages[usize::from(asid.get())];
        let pages = mapped.len() as u64 * bytes.div_ceil(of_space.bytes());
        let sets_log2 = SETS_LOG2.max((pages.max(1).ilog2() as u8).saturating_sub(2));
        let table = CardAddr::new(base).and_then(|base| TableGeometry::new(base, sets_log2));
        let table = table.ok_or("no room for a page table")?;
        let mut image = vec![0; table.bytes() as usize];
        for start in mapped {
            for page in 0..bytes.div_ceil(of_space.bytes()) {
                let address = VirtAddr::new(start + page * of_space.bytes());
                let address = address.ok_or("an address beyond the space")?;
                let number = PageNumber::containing(address, of_space);
                let word = entry(address, of_space)?.encode(table.tag(number));
                let set = table.set(number) as usize * 64;
                let mut ways = image[set..set + 64].chunks_exact_mut(8);
                let free = ways.find(|way| way.iter().all(|&byte| byte == 0));
                free.ok_or("a set of the page table is full")?
                    .copy_from_slice(&word.to_le_bytes());
            }
        }
        self.driver.card.preload(table.base(), &image)?;
        let table = SpaceTable {
            geometry: table,
            size_classes: 1 << of_space.class(),
            stripe,
        };
        Ok(self
            .driver
            .card
            .control_space(asid, SpaceControl::On(table))?)
    }

    fn outcome(&mut self, applications: Vec<Measured>) -> Result<Run, Failure> {
        let cycles = self.driver.card.statistics()?.evaluated_cycles;
        Ok(Run {
            applications,
            cycles,
        })
    }

    /// Runs all kernels once.
    fn pass(&mut self) -> Result<Vec<Measured>, Failure> {
        let runs = self.runs(|_| true)?;
        let measured = runs
            .into_iter()
            .zip(&self.bytes)
            .map(|(run, &bytes)| Measured {
                time: run.ended[0] - run.started,
                bytes,
            });
        Ok(measured.collect())
    }

    /// Runs all kernels until each has completed `rounds` runs after its first.
    fn rounds(&mut self, rounds: u32) -> Result<Vec<Measured>, Failure> {
        let most = rounds as usize + 1;
        let runs = self.runs(|runs| runs.iter().all(|run| run.ended.len() >= most))?;
        let measured = runs
            .into_iter()
            .zip(&self.bytes)
            .map(|(run, &bytes)| Measured {
                time: run.ended[run.ended.len() - 1] - run.ended[0],
                bytes: bytes * (run.ended.len() as u64 - 1),
            });
        Ok(measured.collect())
    }

    /// Starts each kernel at its start time, and again when it ends, until `enough` returns true.
    fn runs(&mut self, enough: impl Fn(&[Runs]) -> bool) -> Result<Vec<Runs>, Failure> {
        let began = self.driver.card.now();
        let of = |&start: &Picoseconds| Runs {
            started: began + start,
            ended: Vec::new(),
        };
        let mut runs: Vec<Runs> = self.starts.iter().map(of).collect();
        // Sorted so that the first to start is the last element.
        let mut waiting: Vec<SlotId> = (0..self.slots).map(SlotId).collect();
        waiting.sort_by_key(|slot| std::cmp::Reverse((runs[usize::from(slot.0)].started, *slot)));
        let mut running = self.slots;
        while running > 0 {
            let next = waiting.last().map(|slot| runs[usize::from(slot.0)].started);
            if next.is_some_and(|start| start <= self.driver.card.now()) {
                if let Some(slot) = waiting.pop() {
                    runs[usize::from(slot.0)].started = self.driver.card.now();
                    self.driver.write(slot, START, 1)?;
                }
                continue;
            }
            for event in self.driver.card.wait(next)? {
                match event {
                    Event::Interrupt(slot) => {
                        let now = self.driver.card.now();
                        runs[usize::from(slot.0)].ended.push(now);
                        self.driver.acknowledge(slot)?;
                        match enough(&runs) {
                            true => running -= 1,
                            false => self.driver.write(slot, START, 1)?,
                        }
                    }
                    Event::Fault(fault) => {
                        self.waiting[usize::from(fault.asid.get())].push(fault);
                    }
                    Event::HostWorkDone(work) => self.reply(work)?,
                    other => return Err(format!("unexpected event {other:?}").into()),
                }
            }
            for (waiting, serving) in self.waiting.iter_mut().zip(&mut self.serving) {
                if serving.is_none() && !waiting.is_empty() {
                    let batch = std::mem::take(waiting);
                    let faults = ServiceEvents::faults(batch.len() as u32);
                    let work = HostWork::ServeEvents(faults);
                    *serving = Some((self.driver.card.host_work(work), batch));
                }
            }
        }
        Ok(runs)
    }

    /// The host has handled a batch of faults: their pages are resident.
    fn reply(&mut self, work: WorkId) -> Result<(), Failure> {
        let is_done = |serving: &&mut Option<(WorkId, Vec<Fault>)>| matches!(serving, Some((id, _)) if *id == work);
        let done = self.serving.iter_mut().find(is_done).and_then(Option::take);
        let batch = done.map_or_else(Vec::new, |(_, batch)| batch);
        for fault in batch {
            self.replies = self.replies.wrapping_add(1);
            let page = self.pages[usize::from(fault.asid.get())];
            let entry = Some(entry(fault.address, page)?);
            self.driver.card.submit(Command {
                id: CommandId(self.replies | 1 << 31),
                queue: QueueId(1 + fault.asid.get()),
                operation: Operation::FaultReply {
                    token: fault.token,
                    entry,
                },
                ..Command::default()
            })?;
        }
        Ok(())
    }
}

/// The page table entry of an address: virtual and card addresses are equal.
fn entry(address: VirtAddr, size: PageSize) -> Result<PageEntry, Failure> {
    let base = PageNumber::containing(address, size).base();
    let frame = CardAddr::new(base.get()).and_then(FrameNumber::at);
    Ok(PageEntry {
        frame: frame.ok_or("an address beyond the card")?,
        size,
        target: Target::Card,
        read: true,
        write: true,
        accessed: true,
        dirty: true,
    })
}
