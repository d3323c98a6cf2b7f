//! A host that maps a kernel's pages on faults, and evicts them at random.

use super::super::Failure;
use super::program::{FIRST, PAGES, PAGE_BYTES, ROW};
use crate::driver::{Driver, GLOBAL_INTERRUPT, INTERRUPT_ENABLE, INTERRUPT_STATUS, START};
use crate::random::Random;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::{Card, Loader, SpaceControl};
use std::collections::VecDeque;
use std::sync::Arc;
use units::{
    Asid, CardAddr, Fault, FrameNumber, HostAddr, Operation, PageEntry, PageSize, Picoseconds,
    SlotId, Stripe, TableGeometry, Target, VirtAddr,
};

const SLOT: SlotId = SlotId(0);
/// List and results: one page of 2 MiB, always mapped.
const LIST: u64 = 0x1_0000_0000;
const RESULTS: u64 = LIST + (1 << 20);
const LIST_FRAME: u64 = 2 << 20;
/// Frames follow it, alternating between the channels.
const FIRST_FRAME: u64 = 4 << 20;

/// A resident page and its frame.
#[derive(Clone, Copy)]
struct ResidentPage {
    frame: CardAddr,
    writable: bool,
}

/// The host's pager; see the module.
pub struct Host<C> {
    driver: Driver<C>,
    asid: Asid,
    /// The pages, followed by list and results.
    memory: Arc<HostMemory>,
    at: HostAddr,
    pages: Vec<Option<ResidentPage>>,
    free: Vec<CardAddr>,
    random: Random,
    events: VecDeque<Event>,
    kernel: KernelPackage,
    /// Number of faults served.
    pub faults: u64,
    /// Number of pages evicted.
    pub evictions: u64,
    /// Number of pages write-protected.
    pub protections: u64,
    /// Injected fault: omit one write-back.
    #[cfg(test)]
    pub lose_one: bool,
    /// Lost writes: offset and value.
    #[cfg(test)]
    pub lost: Vec<(usize, u8)>,
}

impl<C: Card + Loader> Host<C> {
    /// Number of clock edges that the card evaluated.
    pub fn edges(&mut self) -> Result<u64, Failure> {
        Ok(self.driver.card.statistics()?.evaluated_cycles)
    }

    pub fn new(
        card: C,
        kernel: &KernelPackage,
        data: &[u8],
        frames: usize,
        seed: u64,
    ) -> Result<Self, Failure> {
        let bytes = data.len() + (2 << 20);
        let memory = Arc::new(HostMemory::allocate(bytes)?);
        memory.write(0, data)?;
        let channel = 1u64 << card.description().channel_bytes_log2;
        let free = (0..frames as u64).map(|n| {
            let address = n % 2 * channel + FIRST_FRAME + n / 2 * PAGE_BYTES;
            CardAddr::new(address).ok_or("frame")
        });
        let mut host = Self {
            asid: Asid::new(1).ok_or("space")?,
            at: HostAddr::new(0),
            pages: vec![None; PAGES as usize],
            free: free.collect::<Result<_, _>>()?,
            random: Random(seed),
            events: VecDeque::new(),
            kernel: kernel.clone(),
            faults: 0,
            evictions: 0,
            protections: 0,
            #[cfg(test)]
            lose_one: false,
            #[cfg(test)]
            lost: Vec::new(),
            driver: Driver::new(card),
            memory,
        };
        host.at = host.driver.card.map_host(host.memory.clone())?;
        let table = CardAddr::new(0).and_then(|base| TableGeometry::new(base, 10));
        let table = table.ok_or("table")?;
        host.done(Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
            stripe: Stripe::NONE,
        })?;
        let classes = 1 << PageSize::KIB_4.class() | 1 << PageSize::MIB_2.class();
        host.driver
            .card
            .control_space(host.asid, SpaceControl::table(table, classes))?;
        let frame = CardAddr::new(LIST_FRAME).ok_or("frame")?;
        let entry = entry(frame, PageSize::MIB_2, true, true)?;
        host.install(LIST, entry)?;
        host.driver.card.load(SLOT, kernel)?;
        host.driver.card.control_slot(SLOT, host.asid, true)?;
        Ok(host)
    }

    /// Runs the kernel over a list; returns the rows of its results.
    pub fn run(&mut self, list: &[u8]) -> Result<Vec<u8>, Failure> {
        let place = PAGES * PAGE_BYTES;
        self.memory.write(place as usize, list)?;
        let frame = CardAddr::new(LIST_FRAME).ok_or("frame")?;
        let results = CardAddr::new(LIST_FRAME + (RESULTS - LIST)).ok_or("frame")?;
        let bytes = list.len() as u64;
        let from = self.at.offset(place);
        self.done(Operation::CopyIn {
            from,
            to: frame,
            bytes,
            stripe: Stripe::NONE,
        })?;
        self.set("program", LIST)?;
        self.set("results", RESULTS)?;
        self.set("bursts", (list.len() / ROW) as u64)?;
        for offset in [GLOBAL_INTERRUPT, INTERRUPT_ENABLE, START] {
            self.driver.write(SLOT, offset, 1)?;
        }
        self.serve()?;
        // Clears interrupt and done.
        self.driver.write(SLOT, INTERRUPT_STATUS, 1)?;
        self.driver.read(SLOT, START)?;
        self.done(Operation::CopyOut {
            from: results,
            to: from,
            bytes,
            stripe: Stripe::NONE,
        })?;
        let mut rows = vec![0; list.len()];
        self.memory.read(place as usize, &mut rows)?;
        Ok(rows)
    }

    /// Evicts all pages and returns their contents.
    pub fn memory(&mut self) -> Result<Vec<u8>, Failure> {
        for page in 0..PAGES as usize {
            self.evict(page)?;
        }
        let mut bytes = vec![0; (PAGES * PAGE_BYTES) as usize];
        self.memory.read(0, &mut bytes)?;
        Ok(bytes)
    }

    /// Serves faults and disturbs the mapping until the kernel is done.
    fn serve(&mut self) -> Result<(), Failure> {
        loop {
            if self.events.is_empty() {
                let pause = Picoseconds::from_nanos(500 + self.random.below(20_000));
                let deadline = self.driver.card.now() + pause;
                let events = self.driver.card.wait(Some(deadline))?;
                if events.is_empty() {
                    self.disturb()?;
                }
                self.events.extend(events);
            }
            match self.events.pop_front() {
                None => {}
                Some(Event::Fault(fault)) => {
                    self.answer(fault)?;
                    if self.random.below(4) == 0 {
                        self.disturb()?;
                    }
                }
                Some(Event::Interrupt(SLOT)) => return Ok(()),
                Some(other) => return Err(format!("unexpected event {other:?}").into()),
            }
        }
    }

    fn answer(&mut self, fault: Fault) -> Result<(), Failure> {
        self.faults += 1;
        let offset = fault.address.get().wrapping_sub(FIRST);
        let page = (offset / PAGE_BYTES) as usize;
        if page >= self.pages.len() {
            return Err(format!("a fault outside: {fault:?}").into());
        }
        let (frame, writable) = match self.pages[page] {
            Some(there) => (there.frame, there.writable || fault.write),
            None => {
                let frame = self.frame()?;
                let bytes = PAGE_BYTES;
                let from = self.at.offset(page as u64 * PAGE_BYTES);
                self.done(Operation::CopyIn {
                    from,
                    to: frame,
                    bytes,
                    stripe: Stripe::NONE,
                })?;
                (frame, fault.write || self.random.below(2) == 0)
            }
        };
        // The frame is written only once the table marks it dirty.
        let entry = entry(frame, PageSize::KIB_4, writable, fault.write)?;
        let known = self.pages[page].is_some_and(|there| there.writable == writable);
        if !known || fault.write {
            self.install(FIRST + page as u64 * PAGE_BYTES, entry)?;
        }
        self.pages[page] = Some(ResidentPage { frame, writable });
        self.driver.submit(
            Operation::FaultReply {
                token: fault.token,
                entry: Some(entry),
            },
            false,
        )?;
        Ok(())
    }

    /// A free frame; evicts a page if there is none.
    fn frame(&mut self) -> Result<CardAddr, Failure> {
        while self.free.is_empty() {
            let victim = self.random.below(PAGES) as usize;
            self.evict(victim)?;
        }
        self.free.pop().ok_or_else(|| "no frame".into())
    }

    /// Performs a random action that a pager may take at any time.
    fn disturb(&mut self) -> Result<(), Failure> {
        let page = self.random.below(PAGES) as usize;
        match self.random.below(4) {
            0 | 1 => self.evict(page),
            2 => self.protect(page),
            _ => self
                .table(page, |asid, address| Operation::ReadClear {
                    asid,
                    address,
                    size: PageSize::KIB_4,
                })
                .map(|_| ()),
        }
    }

    fn evict(&mut self, page: usize) -> Result<(), Failure> {
        let invalidate = |asid, address| Operation::Invalidate {
            asid,
            address,
            size: PageSize::KIB_4,
        };
        if let Some((there, dirty)) = self.table(page, invalidate)? {
            #[cfg(test)]
            let dirty = dirty && !self.loses(page, there.frame)?;
            self.write_back(page, there.frame, dirty)?;
            self.free.push(there.frame);
            self.pages[page] = None;
            self.evictions += 1;
        }
        Ok(())
    }

    /// Whether to omit this page's write-back: true for the first page written. (A page is dirty from the reply to a
    /// write fault on, and may be evicted before the write arrives.)
    #[cfg(test)]
    fn loses(&mut self, page: usize, from: CardAddr) -> Result<bool, Failure> {
        if !self.lose_one {
            return Ok(false);
        }
        let bytes = PAGE_BYTES;
        let aside = PAGES * PAGE_BYTES + (1 << 20);
        let to = self.at.offset(aside);
        self.done(Operation::CopyOut {
            from,
            to,
            bytes,
            stripe: Stripe::NONE,
        })?;
        let (mut old, mut new) = (vec![0; bytes as usize], vec![0; bytes as usize]);
        let start = page * bytes as usize;
        self.memory.read(start, &mut old)?;
        self.memory.read(aside as usize, &mut new)?;
        let changed = (start..).zip(new.into_iter().zip(old));
        self.lost = changed
            .filter(|(_, (new, old))| new != old)
            .map(|(at, (new, _))| (at, new))
            .collect();
        self.lose_one = self.lost.is_empty();
        Ok(!self.lose_one)
    }

    fn protect(&mut self, page: usize) -> Result<(), Failure> {
        let protect = |asid, address| Operation::Protect {
            asid,
            address,
            size: PageSize::KIB_4,
        };
        if let Some((there, dirty)) = self.table(page, protect)? {
            self.write_back(page, there.frame, dirty)?;
            self.pages[page] = Some(ResidentPage {
                writable: false,
                ..there
            });
            self.protections += 1;
        }
        Ok(())
    }

    fn write_back(&mut self, page: usize, from: CardAddr, dirty: bool) -> Result<(), Failure> {
        if !dirty {
            return Ok(());
        }
        let to = self.at.offset(page as u64 * PAGE_BYTES);
        self.done(Operation::CopyOut {
            from,
            to,
            bytes: PAGE_BYTES,
            stripe: Stripe::NONE,
        })?;
        Ok(())
    }

    /// Issues a table command for a resident page; returns its frame, and whether it was dirty.
    fn table(
        &mut self,
        page: usize,
        operation: impl Fn(Asid, VirtAddr) -> Operation,
    ) -> Result<Option<(ResidentPage, bool)>, Failure> {
        let Some(there) = self.pages[page] else {
            return Ok(None);
        };
        let address = VirtAddr::new(FIRST + page as u64 * PAGE_BYTES).ok_or("address")?;
        let dirty = self.done(operation(self.asid, address))?;
        Ok(Some((there, dirty)))
    }

    fn install(&mut self, address: u64, entry: PageEntry) -> Result<(), Failure> {
        let address = VirtAddr::new(address).ok_or("address")?;
        self.done(Operation::Install {
            asid: self.asid,
            address,
            entry,
        })?;
        Ok(())
    }

    /// Executes a command to completion; returns whether its entry was dirty. Other events are queued.
    fn done(&mut self, operation: Operation) -> Result<bool, Failure> {
        let events = &mut self.events;
        self.driver.command_beside(operation, |other| {
            events.push_back(other);
            Ok(())
        })
    }

    fn set(&mut self, argument: &str, value: u64) -> Result<(), Failure> {
        let value = value.to_le_bytes();
        self.driver.set(SLOT, &self.kernel, argument, &value)
    }
}

fn entry(frame: CardAddr, size: PageSize, write: bool, dirty: bool) -> Result<PageEntry, Failure> {
    Ok(PageEntry {
        frame: FrameNumber::at(frame).ok_or("frame")?,
        size,
        target: Target::Card,
        read: true,
        write,
        accessed: false,
        dirty,
    })
}
