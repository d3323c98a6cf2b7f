//! The simulated card behind the BAR: the shell's RTL with kernels, on a separate thread, so that host and card run
//! concurrently.
//!
//! Virtual time advances while the card has work. It is unrelated to the host's time.
//!
//! A host that accesses registers without a pause does not stall the card: after each access the card runs for a while,
//! as it would while the access crosses a bus; writes are subject to back-pressure, like a bus with credits.

use crate::function::{Hardware, Interrupts};
use card::driver::{Answer, Transport, Until, Woken};
use card::event::Event;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers as reg;
use card::{CardDescription, CardError, SlotId};
use simcard::{Machine, SimOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{channel, sync_channel, Receiver, Sender, SyncSender, TryRecvError};
use std::sync::Arc;
use std::task::Poll;
use std::thread::JoinHandle;
use units::{HostAddr, Picoseconds};
use verilated::Progress;

/// Size of the shell's BAR in bytes.
const BAR_BYTES: u64 = {
    let slots = reg::SLOT_CONTROL.count as u64 * reg::SLOT_CONTROL.stride as u64;
    (reg::SLOT_CONTROL.base as u64 + slots).next_power_of_two()
};

/// Capacity of the request queue; the sender of a further request blocks.
const CREDITS: usize = 64;
/// Virtual time that the card runs after each access, even if requests are waiting.
const WORK: Picoseconds = Picoseconds::from_nanos(100);

/// Receives the progress of long builds, on any thread.
pub type ProgressCallback = Arc<dyn Fn(Progress) + Send + Sync>;

/// Configuration of the simulated card, with the kernels in its slots.
#[derive(Clone)]
pub struct ShellOptions {
    /// Parameters of the simulation.
    pub simulation: SimOptions,
    /// Kernels by slot, loaded before the first host connects.
    pub kernels: Vec<(SlotId, KernelPackage)>,
    /// Receives the progress of builds.
    pub progress: ProgressCallback,
}

impl ShellOptions {
    /// Powers the card on.
    fn power_on(&self) -> Result<Machine, CardError> {
        let progress = self.progress.clone();
        let mut machine = Machine::open(self.simulation.clone(), move |step| progress(step))?;
        for (slot, kernel) in &self.kernels {
            let (card, slots) = (machine.description(), machine.description().slots);
            if slot.0 >= slots {
                return Err(CardError::NoSuchSlot {
                    slot: *slot,
                    card: card.name.clone(),
                    last: slots.saturating_sub(1),
                });
            }
            machine.load(*slot, kernel)?;
        }
        Ok(machine)
    }
}

enum Request {
    Read(u32, Sender<Result<u32, CardError>>),
    Write(u32, u32),
    Map(u64, Arc<HostMemory>, Sender<Result<(), CardError>>),
    Unmap(u64, Sender<()>),
    Reset(Sender<Result<(), CardError>>),
}

/// The function's handle to the card.
pub struct Shell {
    requests: Option<SyncSender<Request>>,
    /// Set when a request is waiting.
    bell: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    description: CardDescription,
}

impl Shell {
    /// Builds whatever is not cached, and powers the card on.
    ///
    /// # Errors
    /// As [`Machine::open`] and [`Machine::load`].
    pub fn open(options: ShellOptions, interrupts: Interrupts) -> Result<Self, CardError> {
        let bell = Arc::new(AtomicBool::new(false));
        let machine = options.power_on()?;
        let description = machine.description().clone();
        let (requests, incoming) = sync_channel(CREDITS);
        let mut worker = Worker {
            options,
            machine: None,
            incoming,
            bell: bell.clone(),
            interrupts,
            idle: true,
        };
        worker.adopt(machine);
        let thread = threads::spawn("tombolo-device", move || worker.run())
            .map_err(|error| CardError::Broken(format!("no thread for the shell: {error}")))?;
        Ok(Self {
            requests: Some(requests),
            bell,
            thread: Some(thread),
            description,
        })
    }

    /// Description of the card.
    pub fn description(&self) -> &CardDescription {
        &self.description
    }

    fn send(&self, request: Request) {
        if let Some(requests) = &self.requests {
            // Without a receiver the thread has panicked; callers that wait for an answer notice.
            let _ = requests.send(request);
            self.bell.store(true, Ordering::Relaxed);
        }
    }

    fn ask<T>(&self, request: impl FnOnce(Sender<T>) -> Request) -> Result<T, CardError> {
        let (answer, comes) = channel();
        self.send(request(answer));
        comes
            .recv()
            .map_err(|_| CardError::Broken("the shell's thread has ended".into()))
    }
}

impl Hardware for Shell {
    fn bar_bytes(&self) -> u64 {
        BAR_BYTES
    }

    fn read(&mut self, address: u32) -> Result<u32, CardError> {
        self.ask(|answer| Request::Read(address, answer))?
    }

    fn write(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.send(Request::Write(address, value));
        Ok(())
    }

    fn map(&mut self, start: u64, memory: Arc<HostMemory>) -> Result<(), CardError> {
        self.ask(|answer| Request::Map(start, memory, answer))?
    }

    fn unmap(&mut self, start: u64) {
        if let Err(error) = self.ask(|answer| Request::Unmap(start, answer)) {
            tracing::error!("{error}");
        }
    }

    fn reset(&mut self) -> Result<(), CardError> {
        self.ask(Request::Reset)?
    }
}

impl Drop for Shell {
    fn drop(&mut self) {
        self.requests = None;
        self.bell.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the card's thread.
struct Worker {
    options: ShellOptions,
    /// `None`: broken until the next reset.
    machine: Option<Machine>,
    incoming: Receiver<Request>,
    bell: Arc<AtomicBool>,
    interrupts: Interrupts,
    /// No work until the next request.
    idle: bool,
}

impl Worker {
    fn run(&mut self) {
        loop {
            // Cleared before the queue is read: a later request sets it again.
            self.bell.store(false, Ordering::Relaxed);
            let request = match self.idle {
                true => self.incoming.recv().map_err(|_| TryRecvError::Disconnected),
                false => self.incoming.try_recv(),
            };
            match request {
                Ok(request) => {
                    self.serve(request);
                    let result = self.work();
                    let _ = self.note(result);
                }
                Err(TryRecvError::Empty) => {
                    let result = self.go_on();
                    let _ = self.note(result);
                }
                Err(TryRecvError::Disconnected) => return,
            }
        }
    }

    fn adopt(&mut self, mut machine: Machine) {
        machine.set_bell(self.bell.clone());
        self.machine = Some(machine);
        self.idle = false;
    }

    /// Records a broken card, which does not respond until it is reset.
    fn note<T>(&mut self, result: Result<T, CardError>) -> Result<T, CardError> {
        if let Err(error @ CardError::Broken(_)) = &result {
            tracing::error!("{error}");
            self.machine = None;
            self.idle = true;
        }
        result
    }

    fn serve(&mut self, request: Request) {
        match request {
            Request::Read(address, answer) => {
                let result = self.read(address);
                let _ = answer.send(self.note(result));
            }
            Request::Write(address, value) => {
                let result = self
                    .machine()
                    .and_then(|machine| machine.write(address, value));
                let _ = self.note(result);
            }
            Request::Map(start, memory, answer) => {
                let address = HostAddr::new(start);
                let result = self
                    .machine()
                    .and_then(|machine| machine.map_at(address, memory));
                let _ = answer.send(result);
            }
            Request::Unmap(start, answer) => {
                if let Some(machine) = &mut self.machine {
                    machine.take_away(HostAddr::new(start));
                }
                let _ = answer.send(());
            }
            Request::Reset(answer) => {
                // Drops the old machine first, with every map.
                self.machine = None;
                let result = self.options.power_on().map(|machine| self.adopt(machine));
                let _ = answer.send(result);
            }
        }
        self.idle = self.machine.is_none();
    }

    fn machine(&mut self) -> Result<&mut Machine, CardError> {
        let machine = self.machine.as_mut();
        machine.ok_or_else(|| CardError::Broken("the card failed; reset it".into()))
    }

    fn read(&mut self, address: u32) -> Result<u32, CardError> {
        let mut answer = match self.machine()?.read(address)? {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        };
        while answer.is_none() {
            answer = self.wait(Until::Answer)?;
        }
        // As on PCI Express, writes that the card issued before the read completion arrive before it.
        self.machine()?.settle();
        match answer {
            Some(Answer {
                value,
                error: false,
                ..
            }) => Ok(value),
            _ => Err(CardError::Bus {
                address,
                what: "the shell or the kernel answered with an error",
            }),
        }
    }

    /// Runs the card until there is a request, or no work is left.
    fn go_on(&mut self) -> Result<(), CardError> {
        self.wait(Until::Events(None)).map(|_| ())
    }

    /// Runs the card for a while even if requests are waiting.
    fn work(&mut self) -> Result<(), CardError> {
        let Some(machine) = &mut self.machine else {
            return Ok(());
        };
        let end = machine.now() + WORK;
        let mut events = Vec::new();
        // An interrupt ends a wait early.
        while machine.now() < end {
            let woken = machine.work_until(end, &mut events)?;
            report(&mut events);
            match woken {
                Woken::Interrupt => self.interrupts.raise(),
                Woken::Idle => break,
                _ => {}
            }
        }
        Ok(())
    }

    fn wait(&mut self, until: Until) -> Result<Option<Answer>, CardError> {
        let mut events = Vec::new();
        let machine = self.machine()?;
        let woken = machine.wait(until, &mut events)?;
        report(&mut events);
        match woken {
            Woken::Answer(answer) => return Ok(Some(answer)),
            Woken::Interrupt => self.interrupts.raise(),
            Woken::Idle if until == Until::Answer => {
                return Err(CardError::Broken("the shell does not answer".into()));
            }
            Woken::Idle => {
                machine.settle();
                self.idle = true;
            }
            Woken::Events | Woken::Reached | Woken::Rung => {}
        }
        Ok(None)
    }
}

/// Logs events of the card that no host reads.
fn report(events: &mut Vec<Event>) {
    for event in events.drain(..) {
        tracing::error!("the card: {event:?}");
    }
}
