//! A driver's transport directly to the shell's thread: without a socket or a guest, for speed.

#![allow(dead_code)] // no test uses all of it

use card::driver::{AddressMap, Answer, Driver, Transport, Until, Woken};
use card::event::{self, Event};
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::CardError;
use device::{Hardware, Interrupts, Shell, ShellOptions};
use simcard::{home, SimOptions};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use units::{HostAddr, SlotId};

const RECORD: usize = 64;
/// Capacity of the event ring in records.
pub const RECORDS: usize = 1 << 12;
const LAST_WORD: usize = 56;

/// A driver's transport to the shell. Instead of using interrupts, the host polls the ring from time to time, which
/// leaves the processor to the shell.
pub struct Direct {
    pub shell: Shell,
    addresses: AddressMap,
    /// Buffers that the driver maps at its start: the command rings and the event ring.
    pub rings: Vec<HostAddr>,
    queues: usize,
    pause: Duration,
    /// The event ring as the shell writes it, and the number of records announced.
    written: Option<Arc<HostMemory>>,
    announced: u64,
    tear: Option<Tear>,
}

/// An event ring with torn records: the last word of some records arrives first.
pub struct Tear {
    /// The ring that the driver reads.
    seen: Option<Arc<HostMemory>>,
    /// One record in `every` is torn.
    every: u64,
    /// Offset of the missing part of a torn record.
    rest: Option<usize>,
    /// The torn record as the shell wrote it, until it is taken.
    torn: Option<Event>,
}

/// Whether the record with this number, from 0, has arrived.
fn is_there(ring: &HostMemory, number: u64) -> bool {
    let last = ring.load(place(number) + LAST_WORD).unwrap();
    let even_lap = number / RECORDS as u64 % 2 == 0;
    (last & 1 == 1) == even_lap
}

/// Offset of a record.
fn place(number: u64) -> usize {
    number as usize % RECORDS * RECORD
}

impl Tear {
    /// Completes the last torn record.
    fn mend(&mut self, written: &HostMemory) {
        if let (Some(at), Some(seen)) = (self.rest.take(), &self.seen) {
            let mut words = [0; LAST_WORD];
            written.read(at, &mut words).unwrap();
            seen.write(at, &words).unwrap();
        }
    }

    /// Forwards a record, or only its last word; true if it is torn.
    fn forward(&mut self, written: &HostMemory, number: u64) -> bool {
        let Some(seen) = &self.seen else {
            return false;
        };
        let at = place(number);
        // In the first lap the rest of a torn record is zero, which is not a valid event: the driver would fail at
        // once.
        if number < RECORDS as u64 || number % self.every != 0 {
            let mut row = [0; RECORD];
            written.read(at, &mut row).unwrap();
            seen.write_row(at, &row).unwrap();
            return false;
        }
        let words: [u64; 8] = std::array::from_fn(|word| written.load(at + word * 8).unwrap());
        self.torn = Some(event::decode(&words).unwrap());
        self.rest = Some(at);
        seen.store(at + LAST_WORD, words[7]).unwrap();
        true
    }
}

impl Direct {
    pub fn new(shell: Shell) -> Self {
        Self {
            queues: shell.description().queues.into(),
            shell,
            addresses: AddressMap::default(),
            rings: Vec::new(),
            pause: Duration::from_micros(200),
            written: None,
            announced: 0,
            tear: None,
        }
    }

    /// Polls as often as possible.
    pub fn eager(mut self) -> Self {
        self.pause = Duration::from_micros(20);
        self
    }

    /// Tears one record in `every`.
    pub fn tearing(mut self, every: u64) -> Self {
        self.tear = Some(Tear {
            seen: None,
            every,
            rest: None,
            torn: None,
        });
        self
    }

    pub fn tears(&self) -> bool {
        self.tear.is_some()
    }

    /// The record torn since the last call.
    pub fn take_torn(&mut self) -> Option<Event> {
        self.tear.as_mut()?.torn.take()
    }
}

impl Transport for Direct {
    fn read(&mut self, address: u32) -> Result<Poll<Answer>, CardError> {
        let value = self.shell.read(address)?;
        Ok(Poll::Ready(Answer {
            value,
            error: false,
            notes: None,
        }))
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.shell.write(address, value)
    }

    fn map(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        let address = self.addresses.map(memory.clone()).unwrap();
        let mut reached = memory.clone();
        if self.rings.len() == self.queues {
            if let Some(tear) = &mut self.tear {
                reached = Arc::new(HostMemory::sparse(memory.len()).unwrap());
                tear.seen = Some(memory);
            }
            self.written = Some(reached.clone());
        }
        self.shell.map(address.get(), reached)?;
        if self.rings.len() <= self.queues {
            self.rings.push(address);
        }
        Ok(address)
    }

    fn unmap(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.addresses.unmap(address);
        self.shell.unmap(address.get());
        Ok(())
    }

    fn is_device(&self) -> bool {
        true
    }

    fn pause(&mut self) {
        std::thread::sleep(Duration::from_micros(200));
    }

    /// Polls the ring once per wait; the caller counts the waits.
    fn wait(&mut self, _: Until, _: &mut Vec<Event>) -> Result<Woken, CardError> {
        let Some(written) = &self.written else {
            return Ok(Woken::Reached);
        };
        if let Some(tear) = &mut self.tear {
            tear.mend(written);
        }
        let before = self.announced;
        while is_there(written, self.announced) {
            let number = self.announced;
            self.announced += 1;
            if let Some(tear) = &mut self.tear {
                if tear.forward(written, number) {
                    break;
                }
            }
        }
        if self.announced != before {
            return Ok(Woken::Interrupt);
        }
        std::thread::sleep(self.pause);
        Ok(Woken::Reached)
    }
}

/// A card with a kernel in slot 0.
pub fn shell() -> Shell {
    shell_with(Interrupts::default())
}

/// As [`shell`], with an interrupt line.
pub fn shell_with(interrupts: Interrupts) -> Shell {
    let mut simulation = SimOptions::named("f1").unwrap();
    simulation.asserting = true;
    let kernel = KernelPackage::open(&home().join("kernels/copy")).unwrap();
    let options = ShellOptions {
        simulation,
        kernels: vec![(SlotId(0), kernel)],
        progress: Arc::new(|_| {}),
    };
    Shell::open(options, interrupts).unwrap()
}

/// A driver on this transport.
pub fn start(way: Direct) -> Driver<Direct> {
    let description = way.shell.description().clone();
    Driver::start(way, description).unwrap()
}
