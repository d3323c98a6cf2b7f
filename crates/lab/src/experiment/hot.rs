//! A cell whose data is on the card: pages are put there by hand, and a host that knows them all answers what
//! the shell cannot translate, at the cost that the platform has for it.

use super::workload::Seed;
use super::{Cell, Failure, Measured};
use crate::driver::{Driver, START};
use card::command::{Command, CommandId, Operation, QueueId};
use card::event::{Event, Fault};
use card::kernel::KernelPackage;
use card::sim::{SimCard, SimOptions};
use card::{Card, HostWork, L1Reach, SlotId, WorkId};
use tombolo::Preset;
use units::{
    Asid, CardAddr, FrameNumber, PageEntry, PageNumber, PageSize, Picoseconds, TableGeometry,
    Target, VirtAddr,
};

/// Input and output of an application lie this far above its part of card memory, and twice as far. Below are
/// the page tables.
const DATA: u64 = 1 << 30;
/// log2 of the sets of a page table.
const SETS_LOG2: u8 = 12;
/// How far apart the applications' data begins, beside what parts them anyway: the granule of a stripe, or a page.
const STAGGER: u64 = 2 << 20;

/// Runs the applications beside each other.
pub(super) fn run(cell: &Cell<'_>, options: SimOptions) -> Result<Vec<Measured>, Failure> {
    let mut card = Hot::open(cell, options)?;
    let mut measured = Vec::new();
    for _ in 0..cell.data()?.passes() {
        measured = card.pass()?;
    }
    Ok(measured)
}

/// The page that a preset has for data: no larger than the data, as in the library, and what its pages become where
/// their L1 TLB does not reach all of it.
fn page_of(preset: &Preset, bytes: u64) -> PageSize {
    let page = preset.page;
    if let Some((larger, _)) = L1Reach::beyond(&preset.shell.l1_reach(), page, bytes) {
        return larger;
    }
    let fits = |size: &PageSize| size.bytes() <= bytes.max(PageSize::MIB_2.bytes());
    let mut sizes = (0..=page.class()).rev().filter_map(PageSize::from_class);
    sizes.find(fits).unwrap_or(page)
}

struct Hot {
    driver: Driver<SimCard>,
    slots: u8,
    page: PageSize,
    bytes: u64,
    /// Faults of each application that wait for its service thread, and those that it is serving.
    waiting: Vec<Vec<Fault>>,
    serving: Vec<Option<(WorkId, Vec<Fault>)>>,
    host_miss: Option<Picoseconds>,
    replies: u32,
}

impl Hot {
    fn open(cell: &Cell<'_>, options: SimOptions) -> Result<Self, Failure> {
        let data = cell.data()?;
        let preset = cell.preset();
        let folder = card::sim::home()
            .join("kernels")
            .join(&cell.workload.kernel);
        let kernel = KernelPackage::open(&folder)?;
        let (slots, channel_log2) = (cell.applications, options.shell.channel_bytes_log2);
        let walks = options.shell.max_walks > 0;
        let mut hot = Self {
            driver: Driver::new(SimCard::open(options, |_| {})?),
            slots,
            page: page_of(preset, data.set_bytes),
            bytes: data.accessed(preset, true),
            waiting: vec![Vec::new(); usize::from(slots)],
            serving: vec![None; usize::from(slots)],
            host_miss: cell.host_miss,
            replies: 0,
        };
        for number in 0..slots {
            let asid = Asid::new(number).ok_or("no such space")?;
            let base = u64::from(number) << channel_log2;
            // Frames are given out as applications touch their first pages, one after another: on a card that
            // stripes, they begin on channels side by side.
            let base = base + u64::from(number) * STAGGER.max(hot.page.bytes());
            if hot.driver.card.description().translated {
                let stripe = preset.placement(number).stripe();
                hot.driver.card.stripe_space(asid, stripe)?;
                let mapped: &[u64] = if walks {
                    &[base + DATA, base + 2 * DATA]
                } else {
                    &[]
                };
                hot.open_space(
                    asid,
                    base,
                    mapped,
                    data.set_bytes.max(hot.bytes) + 64 * cell.shift_rows,
                )?;
            }
            let slot = SlotId(number);
            hot.driver.card.load(slot, &kernel)?;
            hot.driver.card.control_slot(slot, asid, true)?;
            let output = base + 2 * DATA + 64 * cell.shift_rows;
            let input = base + DATA;
            let load = cell.workload.load;
            for (name, value) in load.arguments(&data, hot.bytes, (input, output), Seed::Measured) {
                hot.driver.set(slot, &kernel, name, &value)?;
            }
            hot.driver.enable_interrupt(slot)?;
        }
        Ok(hot)
    }

    /// A space with these ranges in its page table, which is put there without simulating it: the space has one
    /// size of pages.
    fn open_space(
        &mut self,
        asid: Asid,
        base: u64,
        mapped: &[u64],
        bytes: u64,
    ) -> Result<(), Failure> {
        let table = CardAddr::new(base).and_then(|base| TableGeometry::new(base, SETS_LOG2));
        let table = table.ok_or("no room for a page table")?;
        let mut image = vec![0; table.bytes() as usize];
        for start in mapped {
            for page in 0..bytes.div_ceil(self.page.bytes()) {
                let address = VirtAddr::new(start + page * self.page.bytes());
                let address = address.ok_or("an address beyond the space")?;
                let number = PageNumber::containing(address, self.page);
                let word = self.entry(address)?.encode(table.tag(number));
                let set = table.set(number) as usize * 64;
                let mut ways = image[set..set + 64].chunks_exact_mut(8);
                let free = ways.find(|way| way.iter().all(|&byte| byte == 0));
                free.ok_or("a set of the page table is full")?
                    .copy_from_slice(&word.to_le_bytes());
            }
        }
        self.driver.card.preload(table.base(), &image)?;
        let classes = 1 << self.page.class();
        Ok(self
            .driver
            .card
            .control_space(asid, Some((table, classes)))?)
    }

    /// The page of an address: virtual and card addresses are equal.
    fn entry(&self, address: VirtAddr) -> Result<PageEntry, Failure> {
        let base = PageNumber::containing(address, self.page).base();
        let frame = CardAddr::new(base.get()).and_then(FrameNumber::at);
        Ok(PageEntry {
            frame: frame.ok_or("an address beyond the card")?,
            size: self.page,
            target: Target::Card,
            read: true,
            write: true,
            accessed: true,
            dirty: true,
        })
    }

    /// All kernels once.
    fn pass(&mut self) -> Result<Vec<Measured>, Failure> {
        let mut started = Vec::new();
        for slot in (0..self.slots).map(SlotId) {
            started.push(self.driver.card.now());
            self.driver.write(slot, START, 1)?;
        }
        let mut ended: Vec<Option<Picoseconds>> = vec![None; usize::from(self.slots)];
        while ended.iter().any(Option::is_none) {
            for event in self.driver.card.wait(None)? {
                match event {
                    Event::Interrupt(slot) => {
                        ended[usize::from(slot.0)] = Some(self.driver.card.now());
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
                    let work = match self.host_miss {
                        Some(span) => HostWork::Serve(span * batch.len() as u64),
                        None => HostWork::ServeEvents(batch.len() as u32),
                    };
                    *serving = Some((self.driver.card.host_work(work), batch));
                }
            }
        }
        for slot in (0..self.slots).map(SlotId) {
            self.driver.acknowledge(slot)?;
        }
        let measured = started.into_iter().zip(ended).map(|(start, end)| Measured {
            time: end.map_or(Picoseconds::ZERO, |end| end - start),
            bytes: self.bytes,
        });
        Ok(measured.collect())
    }

    /// The host has looked at a batch of faults: their pages are on the card.
    fn reply(&mut self, work: WorkId) -> Result<(), Failure> {
        let is_done = |serving: &&mut Option<(WorkId, Vec<Fault>)>| matches!(serving, Some((id, _)) if *id == work);
        let done = self.serving.iter_mut().find(is_done).and_then(Option::take);
        let batch = done.map_or_else(Vec::new, |(_, batch)| batch);
        for fault in batch {
            self.replies = self.replies.wrapping_add(1);
            let entry = Some(self.entry(fault.address)?);
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
