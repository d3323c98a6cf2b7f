//! Drives a card without the pager: data and table entries are preloaded, so that only the card's own speed is
//! measured.

use crate::driver::{Driver, START};
use crate::failure::Failure;
use card::kernel::KernelPackage;
use card::{Card, Loader, SpaceControl};
use simcard::{SimCard, SimOptions};
use units::{
    Asid, CardAddr, FrameNumber, Operation, PageEntry, PageSize, Picoseconds, SlotId, Stripe,
    TableGeometry, Target, VirtAddr,
};

/// A slot's share of the card: its space, and the location of its data and table.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Card address of the page table.
    table: u64,
    /// Card and virtual address of the input.
    input: u64,
    /// Card and virtual address of the output.
    output: u64,
}

/// Base address of data, above the page table.
const DATA: u64 = 1 << 30;

impl Lane {
    /// Input on channel 0, output on channel 1.
    fn across(options: &SimOptions) -> Self {
        Self {
            table: 0,
            input: DATA,
            output: DATA + (1 << options.shell.channel_bytes_log2),
        }
    }

    /// Everything on one channel.
    pub fn isolated(options: &SimOptions, channel: u64) -> Self {
        let base = channel << options.shell.channel_bytes_log2;
        Self {
            table: base,
            input: base + DATA,
            output: base + 2 * DATA,
        }
    }
}

impl Lane {
    /// One of several slots on the same channel.
    pub fn shared(number: u64) -> Self {
        Self {
            table: number << 24,
            input: (2 * number + 1) * DATA,
            output: (2 * number + 2) * DATA,
        }
    }

    /// The same with its output displaced by `bytes` bytes.
    pub fn with_output_moved(self, bytes: u64) -> Self {
        Self {
            output: self.output + bytes,
            ..self
        }
    }
}

/// Results of several slots that ran concurrently.
pub struct Each {
    /// Run time of each.
    pub times: Vec<Picoseconds>,
    /// Rows that each slot had read and written when the first slot was done.
    pub rows: Vec<u64>,
}

/// A kernel between two buffers, in one or several slots.
pub struct Bench {
    driver: Driver<SimCard>,
    kernel: KernelPackage,
    lanes: Vec<Lane>,
    bytes: u64,
}

impl Bench {
    /// Opens a card with `kernel` in slot 0, and maps `bytes` bytes of input (channel 0) and output (channel 1) at
    /// their card addresses, with 2 MiB pages if the card translates.
    pub fn open(options: SimOptions, kernel: &str, bytes: u64) -> Result<Self, Failure> {
        let lane = Lane::across(&options);
        Self::open_lanes(options, kernel, bytes, vec![lane])
    }

    /// The same kernel in one slot per lane; slot `n` runs in space `n`.
    pub fn open_lanes(
        options: SimOptions,
        kernel: &str,
        bytes: u64,
        lanes: Vec<Lane>,
    ) -> Result<Self, Failure> {
        let card = SimCard::open(options, |_| {})?;
        let kernel = KernelPackage::open(&simcard::home().join("kernels").join(kernel))?;
        let mut bench = Self {
            driver: Driver::new(card),
            kernel,
            lanes,
            bytes,
        };
        for number in 0..bench.lanes.len() as u8 {
            let asid = Asid::new(number).ok_or("space")?;
            if bench.card().description().translated {
                bench.install_pages(asid, bench.lanes[usize::from(number)])?;
            }
            let package = bench.kernel.clone();
            bench.card().load(SlotId(number), &package)?;
            bench.card().control_slot(SlotId(number), asid, true)?;
        }
        Ok(bench)
    }

    fn install_pages(&mut self, asid: Asid, lane: Lane) -> Result<(), Failure> {
        let table = CardAddr::new(lane.table).and_then(|base| TableGeometry::new(base, 12));
        let table = table.ok_or("table geometry")?;
        self.driver.command(Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
            stripe: Stripe::NONE,
        })?;
        let size = PageSize::MIB_2;
        self.card()
            .control_space(asid, SpaceControl::table(table, 1 << size.class()))?;
        for base in [lane.input, lane.output] {
            for page in 0..self.bytes.div_ceil(size.bytes()) {
                let number = base + page * size.bytes();
                let frame = CardAddr::new(number)
                    .and_then(FrameNumber::at)
                    .ok_or("frame")?;
                let address = VirtAddr::new(number).ok_or("address")?;
                let entry = PageEntry {
                    frame,
                    size,
                    target: Target::Card,
                    read: true,
                    write: true,
                    accessed: true,
                    dirty: true,
                };
                self.driver.command(Operation::Install {
                    asid,
                    address,
                    entry,
                })?;
            }
        }
        Ok(())
    }

    /// The card under test.
    pub fn card(&mut self) -> &mut SimCard {
        &mut self.driver.card
    }

    /// Sets an argument other than input, output and bytes in every slot.
    pub fn set_argument(&mut self, argument: &str, value: &[u8]) -> Result<(), Failure> {
        self.slots()
            .try_for_each(|slot| self.driver.set(slot, &self.kernel, argument, value))
    }

    /// Starts the kernels over all bytes; returns the time of the first write of ap_start.
    pub fn start(&mut self) -> Result<Picoseconds, Failure> {
        for (slot, lane) in self.slots().zip(&self.lanes) {
            for (name, value) in [
                ("input", lane.input),
                ("output", lane.output),
                ("bytes", self.bytes),
            ] {
                let value = value.to_le_bytes();
                self.driver.set(slot, &self.kernel, name, &value)?;
            }
            self.driver.enable_interrupt(slot)?;
        }
        let start = self.driver.card.now();
        for slot in self.slots() {
            self.driver.write(slot, START, 1)?;
        }
        Ok(start)
    }

    /// Runs the kernels over all bytes once; returns the virtual time from the first write of ap_start to the last
    /// interrupt.
    pub fn run(&mut self) -> Result<Picoseconds, Failure> {
        let start = self.start()?;
        self.driver.interrupts(self.slots())?;
        let time = self.driver.card.now() - start;
        for slot in self.slots() {
            self.driver.acknowledge(slot)?;
        }
        Ok(time)
    }

    /// Runs the kernels of some slots; returns the virtual time from the first write of ap_start to each interrupt, and
    /// the rows of each slot at the first of these.
    pub fn run_each(&mut self, slots: &[u8]) -> Result<Each, Failure> {
        let mut rows_before = self.rows_moved()?;
        for number in slots {
            let (slot, lane) = (SlotId(*number), self.lanes[usize::from(*number)]);
            for (name, value) in [
                ("input", lane.input),
                ("output", lane.output),
                ("bytes", self.bytes),
            ] {
                // Some kernels lack some of these arguments.
                if self.kernel.manifest.argument(name).is_some() {
                    self.set_argument_of(*number, name, value)?;
                }
            }
            self.driver.enable_interrupt(slot)?;
        }
        let start = self.driver.card.now();
        for number in slots {
            self.driver.write(SlotId(*number), START, 1)?;
        }
        let mut times = Vec::new();
        let mut rows = Vec::new();
        while times.len() < slots.len() {
            let done = self.driver.next_interrupts()?;
            let time = self.driver.card.now() - start;
            if times.is_empty() && !done.is_empty() {
                rows = self.rows_moved()?;
            }
            times.extend(done.into_iter().map(|slot| (slot.0, time)));
        }
        for number in slots {
            self.driver.acknowledge(SlotId(*number))?;
        }
        times.sort_unstable();
        rows.iter_mut()
            .zip(rows_before.drain(..))
            .for_each(|(row, before)| *row -= before);
        Ok(Each {
            times: times.into_iter().map(|(_, time)| time).collect(),
            rows,
        })
    }

    /// Rows that all ports of each slot have read and written.
    fn rows_moved(&mut self) -> Result<Vec<u64>, Failure> {
        let ports = usize::from(self.card().description().ports_per_slot);
        let requesters = self.card().statistics()?.requesters;
        let slots = requesters.chunks(2 * ports);
        Ok(slots
            .map(|slot| slot.iter().map(|requester| requester.rows).sum())
            .collect())
    }

    /// Sets an argument of the kernel in one slot.
    pub fn set_argument_of(&mut self, slot: u8, name: &str, value: u64) -> Result<(), Failure> {
        let value = value.to_le_bytes();
        self.driver.set(SlotId(slot), &self.kernel, name, &value)
    }

    fn slots(&self) -> impl Iterator<Item = SlotId> {
        (0..self.lanes.len() as u8).map(SlotId)
    }
}
