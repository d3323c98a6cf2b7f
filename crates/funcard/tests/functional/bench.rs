//! A card with a space, host memory, and a host that answers faults.

use card::command::Command;
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers::SLOT_CONTROL;
use card::{Card, CardError, Loader, SlotId, SpaceControl, SpaceTable};
use funcard::{FunctionalCard, FunctionalConfig};
use std::path::PathBuf;
use std::sync::Arc;
use units::{
    Asid, CardAddr, CommandId, CommandStatus, Fault, FaultToken, FrameNumber, HostAddr, Operation,
    PageEntry, PageSize, Stripe, TableGeometry, Target, VirtAddr,
};

pub const SLOT: SlotId = SlotId(0);
pub const CHANNEL_BYTES: u64 = 4 << 20;
pub const HOST_BYTES: usize = 1 << 20;
/// Behind the page table.
pub const FIRST_FRAME: u32 = 64;

pub struct Bench {
    pub card: FunctionalCard,
    pub host: Arc<HostMemory>,
    pub host_at: HostAddr,
    pub package: Option<KernelPackage>,
    /// Stripe of the space and of the copies.
    pub stripe: Stripe,
    next_id: u32,
}

pub fn asid() -> Asid {
    Asid::new(1).unwrap()
}

pub fn at(address: u64) -> VirtAddr {
    VirtAddr::new(address).unwrap()
}

pub fn card_at(address: u64) -> CardAddr {
    CardAddr::new(address).unwrap()
}

pub fn frame_at(frame: u32) -> CardAddr {
    FrameNumber::new(frame).unwrap().card_address()
}

pub fn entry(frame: u32, size: PageSize) -> PageEntry {
    PageEntry {
        frame: FrameNumber::new(frame).unwrap(),
        size,
        target: Target::Card,
        read: true,
        write: true,
        accessed: false,
        dirty: false,
    }
}

pub fn config(seed: Option<u64>) -> FunctionalConfig {
    FunctionalConfig {
        slots: 2,
        channels: 2,
        channel_bytes_log2: 22,
        channel_bytes: CHANNEL_BYTES,
        seed,
        ..FunctionalConfig::default()
    }
}

/// The folder of a kernel of this repository.
pub fn kernel_folder(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", "..", "kernels", name]
        .iter()
        .collect()
}

impl Bench {
    /// Space 1 has an empty table at card address 0, and pages of 4 KiB and 16 KiB.
    pub fn new(config: FunctionalConfig) -> Self {
        let mut card = FunctionalCard::new(config);
        let host = Arc::new(HostMemory::allocate(HOST_BYTES).unwrap());
        let host_at = card.map_host(host.clone()).unwrap();
        let table = TableGeometry::new(card_at(0), 10).unwrap();
        card.control_space(asid(), SpaceControl::table(table, 0b101))
            .unwrap();
        Self {
            card,
            host,
            host_at,
            package: None,
            stripe: Stripe::NONE,
            next_id: 0,
        }
    }

    /// Stripes the space and the copies from now on.
    pub fn set_stripe(&mut self, stripe: Stripe) {
        self.stripe_space(stripe).unwrap();
        self.stripe = stripe;
    }

    /// Stripes the space.
    pub fn stripe_space(&mut self, stripe: Stripe) -> Result<(), CardError> {
        let table = SpaceTable {
            geometry: TableGeometry::new(card_at(0), 10).unwrap(),
            size_classes: 0b101,
            stripe,
        };
        self.card.control_space(asid(), SpaceControl::On(table))
    }

    /// The same with a kernel that runs in slot 0.
    pub fn with_kernel(config: FunctionalConfig, name: &str) -> Self {
        let mut bench = Self::new(config);
        let package = KernelPackage::open(&kernel_folder(name)).unwrap();
        bench.card.load(SLOT, &package).unwrap();
        bench.card.control_slot(SLOT, asid(), true).unwrap();
        bench.package = Some(package);
        bench
    }

    pub fn submit(&mut self, operation: Operation, fence: bool, notify: bool) -> CommandId {
        let id = CommandId(self.next_id);
        self.next_id += 1;
        let command = Command {
            id,
            operation: operation.striped(self.stripe),
            fence,
            notify,
            ..Command::default()
        };
        self.card.submit(command).unwrap();
        id
    }

    /// Runs one command alone; its completion.
    pub fn run(&mut self, operation: Operation) -> (CommandStatus, bool, bool) {
        let id = self.submit(operation, true, true);
        match self.card.wait(None).unwrap()[..] {
            [Event::Completed {
                id: done,
                status,
                accessed,
                dirty,
            }] if done == id => (status, accessed, dirty),
            ref other => panic!("{other:?}"),
        }
    }

    pub fn status(&mut self, operation: Operation) -> CommandStatus {
        self.run(operation).0
    }

    pub fn install(&mut self, address: u64, entry: PageEntry) -> CommandStatus {
        self.status(Operation::Install {
            asid: asid(),
            address: at(address),
            entry,
        })
    }

    pub fn invalidate(&mut self, address: u64, size: PageSize) -> (CommandStatus, bool, bool) {
        self.run(Operation::Invalidate {
            asid: asid(),
            address: at(address),
            size,
        })
    }

    /// Puts bytes into card memory, by copies through host memory.
    pub fn put(&mut self, address: CardAddr, bytes: &[u8]) {
        self.host.write(0, bytes).unwrap();
        let operation = Operation::CopyIn {
            from: self.host_at,
            to: address,
            bytes: bytes.len() as u64,
            stripe: Stripe::NONE,
        };
        assert_eq!(self.status(operation), CommandStatus::Ok);
    }

    /// Takes bytes from card memory.
    pub fn get(&mut self, address: CardAddr, bytes: usize) -> Vec<u8> {
        let operation = Operation::CopyOut {
            from: address,
            to: self.host_at,
            bytes: bytes as u64,
            stripe: Stripe::NONE,
        };
        assert_eq!(self.status(operation), CommandStatus::Ok);
        let mut data = vec![0; bytes];
        self.host.read(0, &mut data).unwrap();
        data
    }

    pub fn register(offset: u32) -> u32 {
        SLOT_CONTROL.at(u32::from(SLOT.0)) + offset
    }

    /// Sets an argument of the kernel.
    pub fn set(&mut self, name: &str, value: &[u8]) {
        let package = self.package.as_ref().unwrap();
        let argument = package.manifest.argument(name).unwrap();
        assert_eq!(value.len(), argument.bytes as usize);
        for (i, word) in value.chunks(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().unwrap());
            let address = Self::register(argument.offset + 4 * i as u32);
            self.card.write_register(address, word).unwrap();
        }
    }

    pub fn set_number(&mut self, name: &str, value: u64) {
        self.set(name, &value.to_le_bytes());
    }

    /// Starts the kernel, with an interrupt at the end.
    pub fn start(&mut self) {
        for (offset, value) in [(0x04, 1), (0x08, 1), (0x00, 1)] {
            self.card
                .write_register(Self::register(offset), value)
                .unwrap();
        }
    }

    pub fn reply(&mut self, token: FaultToken, entry: Option<PageEntry>) {
        self.submit(Operation::FaultReply { token, entry }, false, false);
    }

    /// Waits until the kernel is done; `serve` answers its faults.
    pub fn finish(&mut self, mut serve: impl FnMut(&mut Self, Fault)) {
        loop {
            for event in self.card.wait(None).unwrap() {
                match event {
                    Event::Fault(fault) => serve(self, fault),
                    Event::Interrupt(SLOT) => {
                        self.card.write_register(Self::register(0x0c), 1).unwrap();
                        assert_ne!(self.card.read_register(Self::register(0)).unwrap() & 2, 0);
                        return;
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
    }
}
