//! Driving a card without the pager: data and table entries are put there by hand, so that only the
//! card's own speed is measured.

use super::Failure;
use card::command::{Command, CommandId, Operation};
use card::event::{CommandStatus, Event};
use card::kernel::KernelPackage;
use card::sim::{SimCard, SimOptions};
use card::{Card, SlotId};
use std::collections::BTreeSet;
use units::{
    Asid, CardAddr, FrameNumber, PageEntry, PageSize, Picoseconds, TableGeometry, Target, VirtAddr,
};

/// One slot's share of the card: a space of its own, and where its data and table lie.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    /// Card address of the page table.
    table: u64,
    /// Card and virtual address of the input.
    input: u64,
    /// Card and virtual address of the output.
    output: u64,
}

/// Above the page table.
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

/// A kernel between two buffers, in one or several slots.
pub struct Bench {
    /// The card.
    pub card: SimCard,
    kernel: KernelPackage,
    lanes: Vec<Lane>,
    bytes: u64,
    next_command: u32,
}

impl Bench {
    /// Opens a card with `kernel` in slot 0, and makes `bytes` of input (channel 0) and output
    /// (channel 1) reachable at their card addresses: installed with 2 MiB pages if the card
    /// translates.
    pub fn open(options: SimOptions, kernel: &str, bytes: u64) -> Result<Self, Failure> {
        let lane = Lane::across(&options);
        Self::open_lanes(options, kernel, bytes, vec![lane])
    }

    /// The same kernel in as many slots as there are lanes; slot `n` runs in space `n`.
    pub fn open_lanes(
        options: SimOptions,
        kernel: &str,
        bytes: u64,
        lanes: Vec<Lane>,
    ) -> Result<Self, Failure> {
        let card = SimCard::open(options, |_| {})?;
        let kernel = KernelPackage::open(&card::sim::home().join("kernels").join(kernel))?;
        let mut bench = Self {
            card,
            kernel,
            lanes,
            bytes,
            next_command: 0,
        };
        for number in 0..bench.lanes.len() as u8 {
            let asid = Asid::new(number).ok_or("space")?;
            if bench.card.description().translated {
                bench.install_pages(asid, bench.lanes[usize::from(number)])?;
            }
            let package = bench.kernel.clone();
            bench.card.load(SlotId(number), &package)?;
            bench.card.control_slot(SlotId(number), asid, true)?;
        }
        Ok(bench)
    }

    fn install_pages(&mut self, asid: Asid, lane: Lane) -> Result<(), Failure> {
        let table = CardAddr::new(lane.table).and_then(|base| TableGeometry::new(base, 12));
        let table = table.ok_or("table geometry")?;
        self.command(Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
        })?;
        let size = PageSize::MIB_2;
        self.card
            .control_space(asid, Some((table, 1 << size.class())))?;
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
                self.command(Operation::Install {
                    asid,
                    address,
                    entry,
                })?;
            }
        }
        Ok(())
    }

    fn command(&mut self, operation: Operation) -> Result<(), Failure> {
        self.next_command += 1;
        let id = CommandId(self.next_command);
        self.card.submit(Command {
            id,
            operation,
            fence: true,
            notify: true,
            ..Command::default()
        })?;
        self.wait_for(|event| {
            matches!(event, Event::Completed { id: done, status: CommandStatus::Ok, .. } if *done == id)
        })
    }

    /// Waits for one kind of event; any other is a failure.
    fn wait_for(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<(), Failure> {
        let mut events = Vec::new();
        while events.is_empty() {
            events = self.card.wait(None)?;
        }
        match events.iter().find(|event| !wanted(event)) {
            Some(other) => Err(format!("unexpected event {other:?}").into()),
            None => Ok(()),
        }
    }

    fn set(&mut self, slot: u8, argument: &str, value: &[u8]) -> Result<(), Failure> {
        let arguments = &self.kernel.manifest.arguments;
        let found = arguments
            .iter()
            .find(|a| a.name == argument)
            .ok_or("no such argument")?;
        let offset = register(slot, found.offset);
        for (number, word) in value.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into()?);
            self.card.write_register(offset + 4 * number as u32, word)?;
        }
        Ok(())
    }

    /// Sets further arguments than input, output and bytes, of every slot.
    pub fn set_argument(&mut self, argument: &str, value: &[u8]) -> Result<(), Failure> {
        (0..self.lanes.len() as u8).try_for_each(|slot| self.set(slot, argument, value))
    }

    /// Runs the kernels over all bytes once; virtual time from the first write of ap_start to the last
    /// interrupt.
    pub fn run(&mut self) -> Result<Picoseconds, Failure> {
        let slots = self.lanes.len() as u8;
        for slot in 0..slots {
            let lane = self.lanes[usize::from(slot)];
            for (name, value) in [
                ("input", lane.input),
                ("output", lane.output),
                ("bytes", self.bytes),
            ] {
                self.set(slot, name, &value.to_le_bytes())?;
            }
            self.card.write_register(register(slot, 0x04), 1)?;
            self.card.write_register(register(slot, 0x08), 1)?;
        }
        let start = self.card.now();
        for slot in 0..slots {
            self.card.write_register(register(slot, 0), 1)?;
        }
        let mut running: BTreeSet<SlotId> = (0..slots).map(SlotId).collect();
        while !running.is_empty() {
            for event in self.card.wait(None)? {
                match event {
                    Event::Interrupt(slot) if running.remove(&slot) => {}
                    other => return Err(format!("unexpected event {other:?}").into()),
                }
            }
        }
        let time = self.card.now() - start;
        for slot in 0..slots {
            let status = self.card.read_register(register(slot, 0x0c))?;
            self.card.write_register(register(slot, 0x0c), status)?;
            self.card.read_register(register(slot, 0))?;
        }
        Ok(time)
    }
}

/// BAR address of a register of a slot's kernel.
fn register(slot: u8, offset: u32) -> u32 {
    card::registers::SLOT_CONTROL.at(slot.into()) + offset
}
