//! `loopback.rs` without the library: the program drives page table, copies, movers and events itself. It shows how
//! much the library does; `tombolo lab vfpio` compares the two programs' sizes (table 4).
//!
//! `cargo run --release --example loopback_direct -- in.bin out.bin`

use card::command::Command;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::stream::{Transfer, TransferEnd, TransferStatus};
use card::{Card, Loader, SpaceControl, Streams};
use simcard::SimCard;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;
use tombolo::{ShellConfig, SimOptions};
use units::{
    Asid, CardAddr, CommandId, CommandStatus, FrameNumber, Operation, PageEntry, PageSize, SlotId,
    StreamDirection, StreamId, Stripe, TableGeometry, Target, VirtAddr,
};

const SLOT: SlotId = SlotId(0);
const SPACE: Asid = Asid::new(1).unwrap();
const PAGE: PageSize = PageSize::MIB_2;
/// Card memory: the page table from 0 on, data from here on.
const DATA: u64 = 32 << 20;
/// Virtual addresses: the input from 0 on, the output from here on.
const OUTPUT: u64 = 64 << 20;

struct Driver {
    card: SimCard,
    commands: u32,
    completed: BTreeMap<CommandId, CommandStatus>,
    ended: BTreeMap<u8, TransferEnd>,
}

impl Driver {
    fn new(kernel: &Path) -> Result<Self, Box<dyn Error>> {
        let mut options = SimOptions::named("u280")?;
        options.shell = ShellConfig {
            streams_per_slot: 1,
            ..ShellConfig::default()
        };
        let mut card = SimCard::open(options, |_| {})?;
        card.load(SLOT, &KernelPackage::open(kernel)?)?;
        Ok(Self {
            card,
            commands: 0,
            completed: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    fn listen(&mut self) -> Result<(), Box<dyn Error>> {
        for event in self.card.wait(None)? {
            match event {
                Event::Completed { id, status, .. } => {
                    self.completed.insert(id, status);
                }
                Event::TransferDone { mover, end } => {
                    self.ended.insert(mover, end);
                }
                other => return Err(format!("nobody asked for {other:?}").into()),
            }
        }
        Ok(())
    }

    fn command(&mut self, operation: Operation) -> Result<(), Box<dyn Error>> {
        self.commands += 1;
        let id = CommandId(self.commands);
        self.card.submit(Command {
            id,
            operation,
            notify: true,
            ..Command::default()
        })?;
        loop {
            match self.completed.remove(&id) {
                Some(CommandStatus::Ok) => return Ok(()),
                Some(status) => return Err(format!("{operation:?} ended with {status:?}").into()),
                None => self.listen()?,
            }
        }
    }

    fn make_table(&mut self) -> Result<(), Box<dyn Error>> {
        let base = CardAddr::new(0).ok_or("no card memory")?;
        let table = TableGeometry::new(base, 10).ok_or("no such table")?;
        self.command(Operation::Zero {
            to: table.base(),
            bytes: table.bytes(),
            stripe: Stripe::NONE,
        })?;
        let classes = 1 << PAGE.class();
        self.card
            .control_space(SPACE, SpaceControl::table(table, classes))?;
        Ok(())
    }

    fn install(&mut self, from: u64, bytes: u64, write: bool) -> Result<(), Box<dyn Error>> {
        for page in 0..bytes.div_ceil(PAGE.bytes()) {
            let address = from + page * PAGE.bytes();
            let frame = CardAddr::new(DATA + address).ok_or("the file is too large")?;
            self.command(Operation::Install {
                asid: SPACE,
                address: VirtAddr::new(address).ok_or("the file is too large")?,
                entry: PageEntry {
                    frame: FrameNumber::at(frame).ok_or("no frame begins there")?,
                    size: PAGE,
                    target: Target::Card,
                    read: true,
                    write,
                    accessed: false,
                    dirty: false,
                },
            })?;
        }
        Ok(())
    }

    fn begin(&mut self, way: StreamDirection, from: u64, bytes: u64) -> Result<(), Box<dyn Error>> {
        let stream = StreamId {
            pair: 0,
            direction: way,
        };
        let address = VirtAddr::new(from).ok_or("the file is too large")?;
        let transfer = Transfer {
            address,
            bytes,
            last: true,
        };
        Ok(self.card.start_transfer(SLOT, stream, transfer)?)
    }

    fn end(&mut self, direction: StreamDirection) -> Result<TransferEnd, Box<dyn Error>> {
        let mover = StreamId { pair: 0, direction }.mover(SLOT, 1);
        loop {
            match self.ended.remove(&mover) {
                Some(end) if end.status == TransferStatus::Ok => return Ok(end),
                Some(end) => return Err(format!("{direction:?}: {:?}", end.status).into()),
                None => self.listen()?,
            }
        }
    }
}

/// Sends a file through the kernel, into another file.
pub fn pass(kernel: &Path, from: &Path, to: &Path) -> Result<TransferEnd, Box<dyn Error>> {
    let input = std::fs::read(from)?;
    let bytes = input.len() as u64;
    if bytes == 0 || bytes > OUTPUT {
        return Err(format!("{} has {bytes} bytes: 1 to {OUTPUT} do", from.display()).into());
    }
    let mut driver = Driver::new(kernel)?;
    driver.make_table()?;
    driver.install(0, bytes, false)?;
    driver.install(OUTPUT, bytes, true)?;

    // Rows of 64 bytes go to the card and back.
    let rows = bytes.next_multiple_of(64);
    let memory = Arc::new(HostMemory::allocate(rows as usize)?);
    memory.write(0, &input)?;
    let host = driver.card.map_host(memory.clone())?;
    driver.command(Operation::CopyIn {
        from: host,
        to: CardAddr::new(DATA).ok_or("no card memory")?,
        bytes: rows,
        stripe: Stripe::NONE,
    })?;
    driver.card.control_slot(SLOT, SPACE, true)?;
    driver.begin(StreamDirection::Out, OUTPUT, bytes)?;
    driver.begin(StreamDirection::In, 0, bytes)?;
    driver.end(StreamDirection::In)?;
    let end = driver.end(StreamDirection::Out)?;
    driver.command(Operation::CopyOut {
        from: CardAddr::new(DATA + OUTPUT).ok_or("no card memory")?,
        to: host,
        bytes: rows,
        stripe: Stripe::NONE,
    })?;
    let mut output = vec![0; end.bytes as usize];
    memory.read(0, &mut output)?;
    std::fs::write(to, output)?;
    Ok(end)
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut names = std::env::args().skip(1);
    let (Some(from), Some(to)) = (names.next(), names.next()) else {
        return Err("give the names of an input and an output file".into());
    };
    let moved = pass(Path::new("kernels/loopback"), from.as_ref(), to.as_ref())?;
    println!("{} bytes, end of packet: {}", moved.bytes, moved.last);
    Ok(())
}
