//! Driving a card without the pager: data and table entries are put there by hand, so that only the
//! card's own speed is measured.

use super::Failure;
use card::command::{Command, CommandId, Operation};
use card::event::{CommandStatus, Event};
use card::kernel::KernelPackage;
use card::sim::{SimCard, SimOptions};
use card::{Card, SlotId};
use units::{
    Asid, CardAddr, FrameNumber, PageEntry, PageSize, Picoseconds, TableGeometry, Target, VirtAddr,
};

const SLOT: SlotId = SlotId(0);
const CONTROL: u32 = 0x10_0000;

/// Two buffers on different channels and a kernel between them.
pub struct Bench {
    /// The card.
    pub card: SimCard,
    kernel: KernelPackage,
    bytes: u64,
    next_command: u32,
}

impl Bench {
    /// Opens a card with `kernel`, and makes `bytes` of input (channel 0) and output (channel 1)
    /// reachable at their card addresses: installed with 2 MiB pages if the card translates.
    pub fn open(options: SimOptions, kernel: &str, bytes: u64) -> Result<Self, Failure> {
        let card = SimCard::open(options, |_| {})?;
        let kernel = KernelPackage::open(&card::sim::home().join("kernels").join(kernel))?;
        let mut bench = Self {
            card,
            kernel,
            bytes,
            next_command: 0,
        };
        let asid = Asid::default();
        if bench.card.description().translated {
            bench.install_pages(asid)?;
        }
        let package = bench.kernel.clone();
        bench.card.load(SLOT, &package)?;
        bench.card.control_slot(SLOT, asid, true)?;
        Ok(bench)
    }

    fn input(&self) -> u64 {
        // Above the page table.
        1 << 30
    }

    fn output(&self) -> u64 {
        self.input() + (1 << self.card.description().channel_bytes_log2)
    }

    fn install_pages(&mut self, asid: Asid) -> Result<(), Failure> {
        let table = CardAddr::new(0).and_then(|base| TableGeometry::new(base, 12));
        let table = table.ok_or("table geometry")?;
        self.command(Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
        })?;
        let size = PageSize::MIB_2;
        self.card
            .control_space(asid, Some((table, 1 << size.class())))?;
        for base in [self.input(), self.output()] {
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

    fn set(&mut self, argument: &str, value: &[u8]) -> Result<(), Failure> {
        let arguments = &self.kernel.manifest.arguments;
        let found = arguments
            .iter()
            .find(|a| a.name == argument)
            .ok_or("no such argument")?;
        let offset = CONTROL + found.offset;
        for (number, word) in value.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into()?);
            self.card.write_register(offset + 4 * number as u32, word)?;
        }
        Ok(())
    }

    /// Sets further arguments than input, output and bytes.
    pub fn set_argument(&mut self, argument: &str, value: &[u8]) -> Result<(), Failure> {
        self.set(argument, value)
    }

    /// Runs the kernel over all bytes once; virtual time from the write of ap_start to the interrupt.
    pub fn run(&mut self) -> Result<Picoseconds, Failure> {
        for (name, value) in [
            ("input", self.input()),
            ("output", self.output()),
            ("bytes", self.bytes),
        ] {
            self.set(name, &value.to_le_bytes())?;
        }
        self.card.write_register(CONTROL + 0x04, 1)?;
        self.card.write_register(CONTROL + 0x08, 1)?;
        let start = self.card.now();
        self.card.write_register(CONTROL, 1)?;
        self.wait_for(|event| matches!(event, Event::Interrupt(SLOT)))?;
        let time = self.card.now() - start;
        let status = self.card.read_register(CONTROL + 0x0c)?;
        self.card.write_register(CONTROL + 0x0c, status)?;
        self.card.read_register(CONTROL)?;
        Ok(time)
    }
}
