//! Common parts of the simulated card's tests: a card, and a driver that runs a kernel on it with
//! its pages installed beforehand.

#![allow(dead_code)]

use card::command::Command;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers::SLOT_CONTROL;
use card::{Card, CardError, Loader, SlotId, SpaceControl, SpaceTable};
use simcard::{home, SimCard, SimOptions};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::{
    Asid, CardAddr, CommandId, CommandStatus, FrameNumber, HostAddr, Operation, PageEntry,
    PageSize, Picoseconds, Stripe, TableGeometry, Target, VirtAddr,
};

/// The only slot that the tests use.
pub const SLOT: SlotId = SlotId(0);
/// The only space that the tests use.
pub const SPACE: Asid = Asid::new(1).unwrap();
const PAGE: PageSize = PageSize::MIB_2;
/// The first page of data: after 1 GiB, far from the page table.
const FIRST_FRAME: u64 = 512;

pub fn options() -> SimOptions {
    let mut options = SimOptions::named("f1").unwrap();
    options.asserting = true;
    options
}

pub fn open(options: SimOptions) -> SimCard {
    SimCard::open(options, |_| {}).unwrap()
}

/// A kernel of the repository.
pub fn kernel(name: &str) -> KernelPackage {
    KernelPackage::open(&home().join("kernels").join(name)).unwrap()
}

/// A folder with files of the tests.
pub fn rtl(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/sim/rtl")
        .join(name)
}

/// A card with a table, and a count of commands.
pub struct Driver {
    pub card: SimCard,
    pub events: Vec<Event>,
    /// Stripe of the card addresses in copies.
    pub stripe: Stripe,
    next: u32,
}

impl Driver {
    pub fn new(card: SimCard) -> Self {
        Self {
            card,
            events: Vec::new(),
            stripe: Stripe::NONE,
            next: 0,
        }
    }

    /// Runs one command to its end.
    pub fn command(&mut self, operation: Operation) -> CommandStatus {
        self.next += 1;
        let id = CommandId(self.next);
        self.card
            .submit(Command {
                id,
                operation: operation.striped(self.stripe),
                fence: false,
                notify: true,
                ..Command::default()
            })
            .unwrap();
        self.completion(id)
    }

    /// Waits for the completion of a command; other events are kept.
    pub fn completion(&mut self, id: CommandId) -> CommandStatus {
        loop {
            for event in self.card.wait(None).unwrap() {
                match event {
                    Event::Completed {
                        id: done, status, ..
                    } if done == id => return status,
                    other => self.events.push(other),
                }
            }
        }
    }

    /// An empty table for the test's space, at card address 0.
    pub fn table(&mut self) {
        let geometry = Self::geometry();
        let status = self.command(Operation::Zero {
            to: geometry.base(),
            bytes: geometry.bytes(),
            stripe: Stripe::NONE,
        });
        assert_eq!(status, CommandStatus::Ok);
        self.enable(Stripe::NONE).unwrap();
    }

    fn geometry() -> TableGeometry {
        TableGeometry::new(CardAddr::new(0).unwrap(), 10).unwrap()
    }

    /// Sets that table in the shell, with the striping of its frames.
    pub fn enable(&mut self, stripe: Stripe) -> Result<(), CardError> {
        let table = SpaceTable {
            geometry: Self::geometry(),
            size_classes: 1 << PAGE.class(),
            stripe,
        };
        self.card.control_space(SPACE, SpaceControl::On(table))
    }

    /// Installs `pages` pages from virtual address 0 on, one after another in card memory.
    pub fn install(&mut self, pages: u64, write: bool) {
        for page in 0..pages {
            let entry = entry(page, write);
            let address = VirtAddr::new(page * PAGE.bytes()).unwrap();
            let status = self.command(Operation::Install {
                asid: SPACE,
                address,
                entry,
            });
            assert_eq!(status, CommandStatus::Ok);
        }
    }

    /// Copies between host memory and the frames of `install`, page by page.
    pub fn copy(&mut self, host: HostAddr, address: u64, bytes: u64, into_card: bool) {
        let mut done = 0;
        while done < bytes {
            let part = (PAGE.bytes() - (address + done) % PAGE.bytes()).min(bytes - done);
            let (here, there) = (host.offset(done), card_address(address + done));
            let operation = match into_card {
                true => Operation::CopyIn {
                    from: here,
                    to: there,
                    bytes: part,
                    stripe: Stripe::NONE,
                },
                false => Operation::CopyOut {
                    from: there,
                    to: here,
                    bytes: part,
                    stripe: Stripe::NONE,
                },
            };
            assert_eq!(self.command(operation), CommandStatus::Ok);
            done += part;
        }
    }

    pub fn map(&mut self, bytes: usize) -> (Arc<HostMemory>, HostAddr) {
        let memory = Arc::new(HostMemory::allocate(bytes).unwrap());
        let address = self.card.map_host(memory.clone()).unwrap();
        (memory, address)
    }

    pub fn set_argument(&mut self, offset: u32, value: u64) {
        self.set_argument_of(SLOT, offset, value);
    }

    pub fn set_argument_of(&mut self, slot: SlotId, offset: u32, value: u64) {
        let base = SLOT_CONTROL.at(slot.0.into()) + offset;
        self.card.write_register(base, value as u32).unwrap();
        self.card
            .write_register(base + 4, (value >> 32) as u32)
            .unwrap();
    }

    /// Starts the kernel with its interrupt enabled.
    pub fn start(&mut self) {
        self.start_slot(SLOT);
    }

    pub fn start_slot(&mut self, slot: SlotId) {
        let base = SLOT_CONTROL.at(slot.0.into());
        for (offset, value) in [(4, 1), (8, 1), (0, 1)] {
            self.card.write_register(base + offset, value).unwrap();
        }
    }

    /// Waits for the interrupt, for at most `longest`.
    pub fn wait_for_kernel(&mut self, longest: Picoseconds) {
        let deadline = self.card.now() + longest;
        loop {
            let events = self.card.wait(Some(deadline)).unwrap();
            assert!(
                !events.is_empty(),
                "the kernel does not finish: {:?}",
                self.events
            );
            for event in events {
                match event {
                    Event::Interrupt(slot) => {
                        assert_eq!(slot, SLOT);
                        return;
                    }
                    other => self.events.push(other),
                }
            }
        }
    }
}

pub fn entry(page: u64, write: bool) -> PageEntry {
    PageEntry {
        frame: FrameNumber::at(card_address(page * PAGE.bytes())).unwrap(),
        size: PAGE,
        target: Target::Card,
        read: true,
        write,
        accessed: false,
        dirty: false,
    }
}

/// The card address to which `install` maps a virtual address.
pub fn card_address(address: u64) -> CardAddr {
    CardAddr::new(FIRST_FRAME * PAGE.bytes() + address).unwrap()
}

/// Pseudo-random bytes, equal in every call.
pub fn pattern(bytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    (0..bytes)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 32) as u8
        })
        .collect()
}

/// Copies `bytes` with the kernel `copy`, from virtual address 0 to the middle of the pages; returns
/// the driver and what came out.
pub fn run_copy(options: SimOptions, bytes: usize) -> (Driver, Vec<u8>, Vec<u8>) {
    run_copy_striped(options, bytes, Stripe::NONE)
}

/// The same in a space that is striped.
pub fn run_copy_striped(
    options: SimOptions,
    bytes: usize,
    stripe: Stripe,
) -> (Driver, Vec<u8>, Vec<u8>) {
    let mut driver = Driver::new(open(options));
    let package = kernel("copy");
    driver.card.load(SLOT, &package).unwrap();
    driver.table();
    driver.stripe = stripe;
    driver.enable(stripe).unwrap();
    let half = (bytes as u64).next_multiple_of(PAGE.bytes());
    driver.install(2 * half / PAGE.bytes(), true);
    let rounded = bytes.next_multiple_of(64);
    let (memory, host) = driver.map(2 * rounded);
    let input = pattern(bytes);
    memory.write(0, &input).unwrap();
    driver.copy(host, 0, rounded as u64, true);
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    driver.set_argument(0x10, 0);
    driver.set_argument(0x18, half);
    driver.set_argument(0x20, bytes as u64);
    driver.start();
    driver.wait_for_kernel(Picoseconds::from_millis(10));
    driver.copy(host.offset(rounded as u64), half, rounded as u64, false);
    let mut output = vec![0; bytes];
    memory.read(rounded, &mut output).unwrap();
    (driver, input, output)
}
