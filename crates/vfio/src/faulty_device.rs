//! Faulty devices: errors name device, register and remedy, and nothing hangs.
//!
//! A faulty device has registers, and a clock that advances by the duration of every wait, so that minutes pass
//! instantly.

use crate::access::Access;
use crate::address::PciAddress;
use crate::card_file::CardFile;
use crate::geometry::describe;
use crate::transport::VfioTransport;
use crate::watch::{self, Watch};
use card::command::Command;
use card::driver::Driver;
use card::memory::HostMemory;
use card::registers as reg;
use card::{CardError, SlotId};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;
use units::{CommandId, Operation, Picoseconds};

const ADDRESS: &str = "0000:01:00.0";

/// Maximum number of waits; beyond it the fault has gone unnoticed.
const MOST_WAITS: u32 = 100_000;

/// A fault that the device injects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InjectedFault {
    /// Accepts commands and never executes them.
    Idles,
    /// All registers read all ones, after `after` reads.
    AllOnes { after: u32 },
    /// Never completes its reset.
    StaysInReset,
    /// Signals an interrupt at every wait.
    Storms,
    /// The event ring receives a record with this first word, marked as valid.
    Writes(u64),
    /// The system requests the device after this time.
    IsWantedBack { after: Duration },
    /// The IOMMU is out of space, or rejects maps.
    NoMemory(io::ErrorKind),
}

struct FaultyDevice {
    fault: InjectedFault,
    registers: BTreeMap<u32, u32>,
    reads: RefCell<u32>,
    clock: Duration,
    waits: u32,
    ring: Option<Arc<HostMemory>>,
}

impl FaultyDevice {
    fn new(fault: InjectedFault) -> Self {
        let geometry = reg::geometry::SLOTS.put(1)
            | reg::geometry::PORTS_PER_SLOT.put(2)
            | reg::geometry::SPACES.put(4)
            | reg::geometry::QUEUES.put(1);
        let version = reg::version::MAJOR.put(reg::VERSION_MAJOR)
            | reg::version::MINOR.put(reg::VERSION_MINOR);
        let memory = reg::memory::CHANNELS.put(1) | reg::memory::CHANNEL_BYTES_LOG2.put(34);
        let l1 =
            reg::l1_0::PAGE_BITS.put(12) | reg::l1_0::SETS_LOG2.put(7) | reg::l1_0::WAYS.put(4);
        let reset = match fault {
            InjectedFault::StaysInReset => {
                reg::reset::USED.put(1) | reg::reset::BUSY.put(1) | reg::reset::WAITS_FOR.put(0b10)
            }
            _ => 0,
        };
        let registers = BTreeMap::from([
            (reg::ID, reg::ID_MAGIC),
            (reg::VERSION, version),
            (reg::GEOMETRY, geometry),
            (reg::MEMORY, memory),
            (reg::TRANSLATION, reg::translation::MAX_WALKS.put(16)),
            (reg::CLOCK, 4000),
            (reg::CHANNEL_BYTES_LO, 1 << 30),
            (reg::PAGE_SIZES, units::PageSizes::ALL.bits()),
            (reg::L1_0, l1),
            (reg::RESET, reset),
        ]);
        Self {
            fault,
            registers,
            reads: RefCell::new(0),
            clock: Duration::ZERO,
            waits: 0,
            ring: None,
        }
    }
}

impl Access for FaultyDevice {
    fn address(&self) -> PciAddress {
        ADDRESS.parse().unwrap()
    }

    fn ranges(&self) -> &[Range<u64>] {
        &[]
    }

    fn read(&self, address: u32) -> Option<u32> {
        *self.reads.borrow_mut() += 1;
        match self.fault {
            InjectedFault::AllOnes { after } if *self.reads.borrow() > after => Some(u32::MAX),
            _ => Some(self.registers.get(&address).copied().unwrap_or(0)),
        }
    }

    fn write(&mut self, address: u32, value: u32) -> bool {
        // Resets and commands have no effect.
        if address != reg::RESET {
            self.registers.insert(address, value);
        }
        true
    }

    fn map(&mut self, _: u64, memory: Arc<HostMemory>) -> io::Result<()> {
        if let InjectedFault::NoMemory(kind) = self.fault {
            return Err(kind.into());
        }
        // The event ring is mapped last.
        self.ring = Some(memory);
        Ok(())
    }

    fn unmap(&mut self, _: u64) -> io::Result<()> {
        Ok(())
    }

    fn wait(&mut self, limit: Duration) -> io::Result<bool> {
        self.waits += 1;
        assert!(self.waits < MOST_WAITS, "somebody waits without end");
        self.clock += match self.fault {
            InjectedFault::Storms | InjectedFault::Writes(_) => Duration::from_micros(1),
            _ => limit,
        };
        if let (InjectedFault::Writes(word), Some(ring)) = (self.fault, &self.ring) {
            ring.store(0, word).unwrap();
            ring.store(56, 1).unwrap();
        }
        Ok(matches!(
            self.fault,
            InjectedFault::Storms | InjectedFault::Writes(_)
        ))
    }

    fn is_wanted_back(&mut self) -> io::Result<bool> {
        Ok(matches!(self.fault, InjectedFault::IsWantedBack { after } if self.clock >= after))
    }

    fn pause(&mut self, time: Duration) {
        self.clock += time;
    }

    fn elapsed(&self) -> Duration {
        self.clock
    }
}

type FaultyDriver = Driver<VfioTransport<FaultyDevice>>;

fn open(fault: InjectedFault) -> Result<FaultyDriver, CardError> {
    let file = CardFile {
        channel_bytes: 1 << 30,
        clock_period_ps: 4000,
        host_channel: false,
        memories: Vec::new(),
    };
    let device = FaultyDevice::new(fault);
    let read = |register| device.registers.get(&register).copied().unwrap_or(0);
    let name = format!("vfio:{ADDRESS}");
    let description = describe(name, &file, 2 << 20, read).unwrap();
    Driver::start(VfioTransport::new(device), description)
}

fn refusal(fault: InjectedFault) -> String {
    match open(fault) {
        Ok(_) => panic!("{fault:?}: it is opened"),
        Err(error) => error.to_string(),
    }
}

fn assert_says(said: &str, parts: &[&str]) {
    for part in parts {
        assert!(said.contains(part), "`{part}` is missing: {said}");
    }
}

fn submit(driver: &mut FaultyDriver) {
    let command = Command {
        id: CommandId(1),
        operation: Operation::Nop,
        notify: true,
        ..Command::default()
    };
    driver.submit(&command).unwrap();
}

/// Waits without a deadline, until the wait fails.
fn wait_for_ever(driver: &mut FaultyDriver) -> String {
    let error = watch::wait(driver, &mut Watch::default(), None).unwrap_err();
    let said = error.to_string();
    // The error persists.
    let again = driver.check_alive().unwrap_err().to_string();
    assert_eq!(again, said);
    said
}

fn wait_for(driver: &mut FaultyDriver, watch: &mut Watch, seconds: u64) {
    let end = driver.transport().now() + Picoseconds::from_millis(1000 * seconds);
    assert_eq!(watch::wait(driver, watch, Some(end)).unwrap(), []);
    assert!(driver.transport().now() >= end);
}

#[test]
fn a_card_that_never_ends_a_command_has_stopped() {
    let mut driver = open(InjectedFault::Idles).unwrap();
    submit(&mut driver);
    let said = wait_for_ever(&mut driver);
    let parts = [
        ADDRESS,
        "STATUS reads 0x",
        "QUEUE 0 has fetched 0 of 1",
        "/reset`",
    ];
    assert_says(&said, &parts);
}

#[test]
fn a_card_that_has_nothing_to_do_has_not_stopped() {
    let mut driver = open(InjectedFault::Idles).unwrap();
    let mut watch = Watch::default();
    wait_for(&mut driver, &mut watch, 3600);
    // The timeout starts with the new command.
    submit(&mut driver);
    wait_for(&mut driver, &mut watch, 100);
}

#[test]
fn a_card_that_is_waited_for_is_checked_once_a_second() {
    let mut driver = open(InjectedFault::Idles).unwrap();
    let read = |driver: &FaultyDriver| *driver.transport().device().reads.borrow();
    let before = read(&driver);
    wait_for(&mut driver, &mut Watch::default(), 100);
    let checks = read(&driver) - before;
    assert!((99..=101).contains(&checks), "{checks}");
}

#[test]
fn a_card_that_goes_away_while_somebody_waits_is_named() {
    for after in [40, 60, 200] {
        let mut driver = open(InjectedFault::AllOnes { after }).unwrap();
        submit(&mut driver);
        let said = wait_for_ever(&mut driver);
        assert_says(&said, &[ADDRESS, "register", "0xffffffff", "open it anew"]);
    }
}

#[test]
fn a_register_of_a_card_that_has_gone_is_named() {
    let mut driver = open(InjectedFault::AllOnes { after: 100 }).unwrap();
    let mut reads = 0;
    let error = loop {
        match driver.read_register(reg::STATUS) {
            Ok(_) => reads += 1,
            Err(error) => break error.to_string(),
        }
        assert!(reads < 200, "all ones are taken for a value");
    };
    let parts = [ADDRESS, "register 0x000024 reads 0xffffffff"];
    assert_says(&error, &parts);
    let space = units::Asid::new(1).unwrap();
    assert!(driver.control_slot(SlotId(0), space, true).is_err());
}

#[test]
fn a_device_that_the_system_wants_back_is_let_go() {
    for seconds in [1, 5, 30] {
        let after = Duration::from_secs(seconds);
        let mut driver = open(InjectedFault::IsWantedBack { after }).unwrap();
        submit(&mut driver);
        let said = wait_for_ever(&mut driver);
        assert_says(
            &said,
            &[ADDRESS, "wants the device back", "closes the card"],
        );
        // A program that polls a register hears of it too.
        let polled = driver.read_register(reg::STATUS).unwrap_err().to_string();
        assert_says(&polled, &[ADDRESS, "wants the device back"]);
    }
}

#[test]
fn an_interrupt_storm_ends_with_an_error() {
    let mut driver = open(InjectedFault::Storms).unwrap();
    let said = wait_for_ever(&mut driver);
    let parts = [
        ADDRESS,
        "interrupts in a row",
        "INTERRUPT reads 0x",
        "reset",
    ];
    assert_says(&said, &parts);
}

#[test]
fn records_that_no_shell_writes_are_refused() {
    let mut driver = open(InjectedFault::Writes(0xff)).unwrap();
    assert_says(&wait_for_ever(&mut driver), &["event ring"]);
}

#[test]
fn a_card_that_does_not_come_out_of_reset_is_refused_with_what_it_waits_for() {
    let parts = [
        ADDRESS,
        "RESET reads 0x",
        "writes of host memory",
        "/reset`",
    ];
    assert_says(&refusal(InjectedFault::StaysInReset), &parts);
}

#[test]
fn memory_that_the_iommu_refuses_is_an_error_with_the_way_out() {
    let full = refusal(InjectedFault::NoMemory(io::ErrorKind::OutOfMemory));
    assert_says(&full, &[ADDRESS, "ulimit -l"]);
    let refused = refusal(InjectedFault::NoMemory(io::ErrorKind::InvalidInput));
    assert_says(&refused, &["the IOMMU's driver refuses"]);
}
