//! The driver: registers, rings and doorbells of a shell (docs/architecture.md), over a transport.
//!
//! It is the same for a shell that is simulated in this process and for one behind PCIe. Features beyond the shell,
//! such as virtual time or building kernels, are elsewhere.

mod address_map;
mod counters;
mod described;
mod fresh;
mod held;
mod rings;
mod streams;
mod transport;

pub use address_map::AddressMap;
pub use held::{HeldErrors, Master};
pub use transport::{Answer, Transport, Until, Woken};

use crate::command::{Command, QueueId};
use crate::event::Event;
use crate::guard::{KernelWord, SlotNotes, SlotStatus};
use crate::kernel::KernelPackage;
use crate::memory::HostMemory;
use crate::registers as reg;
use crate::schedule::{CheckedSchedule, SlotSchedule};
use crate::space::{SpaceControl, SpaceTable};
use crate::{CardDescription, CardError, CheckedDescription, SlotId};
use counters::Counters;
use rings::{CommandRing, EventRing, COMMANDS_LOG2, EVENTS_LOG2};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::task::Poll;
use units::{Asid, HostAddr, Picoseconds};

/// Maximum number of reads of a slot's status before it counts as stuck.
const STATUS_READS: u32 = 1000;
/// Size of the BAR, in bytes.
const BAR_BYTES: u32 = reg::SLOT_CONTROL.base + reg::SLOT_CONTROL.count * reg::SLOT_CONTROL.stride;
/// Maximum number of consecutive interrupts of a device that announce no record, before it counts as broken. Each
/// record may cause one extra.
const SILENT_INTERRUPTS: u32 = 10_000;
/// Room in commands below which the driver asks the shell how many it has fetched.
const LOW_ROOM: usize = CommandRing::size() / 4;

/// Drives a shell. Its methods are those of [`Card`](crate::Card) that apply to every shell, with the same meaning.
pub struct Driver<T> {
    transport: T,
    description: CardDescription,
    /// By queue.
    commands: Vec<CommandRing>,
    records: EventRing,
    events: Vec<Event>,
    running: BTreeSet<SlotId>,
    counters: Counters,
    /// Reason, if the card is broken: all calls fail from then on.
    broken: Option<String>,
    /// The last wait ended because the thread was called back.
    rung: bool,
    /// Interrupts are acknowledged: `EVENT_HEAD` is written after each look at the ring.
    acknowledges: bool,
    /// Interrupts since the last record.
    silent: u32,
}

#[allow(missing_docs, clippy::missing_errors_doc)]
impl<T: Transport> Driver<T> {
    /// Finds the shell, which is out of reset, resets it if another program has used it, checks its description, and
    /// sets up its rings.
    ///
    /// # Errors
    /// [`CardError::Reset`]: work of that program does not end; [`CardError::Broken`]: no shell of this version
    /// answers; [`CardError::Description`]: the card differs from the description; [`CardError::HostMemory`]: no memory
    /// for the rings.
    pub fn start(mut transport: T, description: CardDescription) -> Result<Self, CardError> {
        if transport.is_device() {
            fresh::reset_if_used(&mut transport, &description.name)?;
        }
        described::check(&mut transport, &description)?;
        let commands = (0..description.queues).map(|_| CommandRing::new());
        let mut driver = Self {
            transport,
            commands: commands.collect::<Result<_, _>>()?,
            records: EventRing::new()?,
            events: Vec::new(),
            running: BTreeSet::new(),
            counters: Counters::default(),
            broken: None,
            rung: false,
            acknowledges: false,
            silent: 0,
            description,
        };
        let version = driver.identify()?;
        driver.acknowledges =
            driver.transport.is_device() && reg::version::MINOR.get(version) >= fresh::SINCE;
        driver.give_rings()?;
        Ok(driver)
    }

    fn identify(&mut self) -> Result<u32, CardError> {
        let id = self.read_register(reg::ID)?;
        let version = self.read_register(reg::VERSION)?;
        if id != reg::ID_MAGIC || reg::version::MAJOR.get(version) != reg::VERSION_MAJOR {
            return Err(CardError::Broken(format!(
                "it identifies itself as 0x{id:08x}, version 0x{version:08x}: no shell of this \
                 version"
            )));
        }
        Ok(version)
    }

    /// The identity that the shell shows for the kernel in a slot, without accessing the kernel; 0: none.
    ///
    /// # Errors
    /// [`CardError::NoSuchSlot`]; the card does not answer.
    pub fn kernel_identity(&mut self, slot: SlotId) -> Result<u64, CardError> {
        self.check_slot(slot)?;
        let base = reg::KERNEL.at(slot.0.into());
        let low = self.read_register(base + reg::kernel::IDENTITY_LO)?;
        let high = self.read_register(base + reg::kernel::IDENTITY_HI)?;
        Ok(u64::from(high) << 32 | u64::from(low))
    }

    /// Checks that a slot holds this kernel, or does not show an identity.
    ///
    /// # Errors
    /// [`CardError::OtherKernel`]: it holds another one; the kernel's files or the card cannot be read.
    pub fn check_identity(
        &mut self,
        slot: SlotId,
        kernel: &KernelPackage,
    ) -> Result<(), CardError> {
        let found = self.kernel_identity(slot)?;
        let expected = kernel.identity()?;
        if found == 0 || found == expected {
            return Ok(());
        }
        Err(CardError::OtherKernel {
            slot,
            kernel: kernel.manifest.name.clone(),
            found,
            expected,
        })
    }

    fn give_rings(&mut self) -> Result<(), CardError> {
        for queue in 0..self.commands.len() {
            let ring = self.map_host(self.commands[queue].memory().clone())?.get();
            let base = reg::QUEUE.at(queue as u32);
            for (offset, value) in [
                (reg::queue::BASE_LO, ring as u32),
                (reg::queue::BASE_HI, (ring >> 32) as u32),
                (reg::queue::SIZE_LOG2, COMMANDS_LOG2),
            ] {
                self.write_register(base + offset, value)?;
            }
        }
        if self.acknowledges {
            let interrupt = reg::interrupt::ACKNOWLEDGE.put(1) | reg::interrupt::RECORDS.put(1);
            self.write_register(reg::INTERRUPT, interrupt)?;
        }
        let records = self.map_host(self.records.memory().clone())?.get();
        for (address, value) in [
            (reg::EVENT_BASE_LO, records as u32),
            (reg::EVENT_BASE_HI, (records >> 32) as u32),
            (reg::EVENT_SIZE_LOG2, EVENTS_LOG2),
            (reg::CONTROL, reg::control::ENABLE.put(1)),
        ] {
            self.write_register(address, value)?;
        }
        // A read after the writes, so the writes have arrived.
        self.read_register(reg::STATUS)?;
        Ok(())
    }

    /// Reads and clears the sticky error register; `None`: no error, or the card has no such register.
    ///
    /// # Errors
    /// The card does not answer.
    pub fn take_errors(&mut self) -> Result<Option<HeldErrors>, CardError> {
        let version = self.read_register(reg::VERSION)?;
        if reg::version::MINOR.get(version) < fresh::SINCE {
            return Ok(None);
        }
        let bits = self.read_register(reg::ERROR)?;
        if bits == 0 {
            return Ok(None);
        }
        let held = HeldErrors {
            bits,
            master: self.read_register(reg::ERROR_MASTER)?,
            accesses: [
                self.read_register(reg::ERROR_READ)?,
                self.read_register(reg::ERROR_WRITE)?,
            ],
        };
        self.write_register(reg::ERROR, bits)?;
        Ok(Some(held))
    }

    /// Resets the card through its own register, and releases it: the next driver finds it as new.
    ///
    /// # Errors
    /// [`CardError::Reset`]: work under way does not end; the card does not answer.
    pub fn end(mut self) -> Result<T, CardError> {
        let name = self.description.name.clone();
        self.write_register(reg::RESET, reg::reset::START.put(1))?;
        fresh::comes_to_rest(&name, || self.read_register(reg::RESET))?;
        Ok(self.transport)
    }

    /// Releases the card without a reset.
    pub fn into_transport(self) -> T {
        self.transport
    }

    /// The transport to the card.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// The transport to the card, for operations outside the driver's scope.
    pub fn transport_mut(&mut self) -> &mut T {
        &mut self.transport
    }

    pub fn description(&self) -> &CardDescription {
        &self.description
    }

    /// Checks that the card is not broken.
    pub fn check_alive(&self) -> Result<(), CardError> {
        match &self.broken {
            Some(reason) => Err(CardError::Broken(reason.clone())),
            None => Ok(()),
        }
    }

    /// Checks that the slot exists, and that another kernel may be loaded into it.
    pub fn check_loadable(&self, slot: SlotId) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        match self.running.contains(&slot) {
            true => Err(CardError::SlotBusy { slot }),
            false => Ok(()),
        }
    }

    /// Records a result that reports a broken card.
    pub fn note<R>(&mut self, result: Result<R, CardError>) -> Result<R, CardError> {
        if let Err(CardError::Broken(reason)) = &result {
            self.broken.get_or_insert_with(|| reason.clone());
        }
        result
    }

    pub fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.read(address).map(|answer| answer.value)
    }

    pub fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.check_alive()?;
        check_address(address)?;
        self.ring_doorbells()?;
        self.post(address, value)
    }

    pub fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        self.transport.map(memory)
    }

    pub fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.transport.unmap(address)
    }

    pub fn submit(&mut self, command: &Command) -> Result<(), CardError> {
        self.check_room(command.queue)?;
        self.commands[usize::from(command.queue.0)].push(command)
    }

    /// Checks that a queue has room for a command; asks the card if necessary.
    fn check_room(&mut self, queue: QueueId) -> Result<(), CardError> {
        self.check_alive()?;
        if queue.0 >= self.description.queues {
            return Err(CardError::NoSuchQueue {
                queue,
                queues: self.description.queues,
            });
        }
        if self.queue_room(queue) == 0 {
            self.refresh_room()?;
        }
        match self.queue_room(queue) {
            0 => Err(CardError::QueueFull {
                limit: CommandRing::size(),
            }),
            _ => Ok(()),
        }
    }

    pub fn queue_room(&self, queue: QueueId) -> usize {
        let ring = self.commands.get(usize::from(queue.0));
        ring.map_or(0, CommandRing::room)
    }

    /// If `run` is false and there is no error, the slot is at rest on return.
    pub fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        self.check_space(asid)?;
        let base = reg::SLOT.at(slot.0.into());
        let space = reg::slot::ctrl::ASID.put(asid.get().into());
        if run {
            // The space may change only while the slot is in reset.
            if !self.running.contains(&slot) {
                self.write_register(base + reg::slot::CTRL, space)?;
            }
            let value = space | reg::slot::ctrl::RUN.put(1);
            self.write_register(base + reg::slot::CTRL, value)?;
            self.running.insert(slot);
            return Ok(());
        }
        let old = self.read_register(base + reg::slot::CTRL)?;
        let stopped = old & !reg::slot::ctrl::RUN.mask();
        self.write_register(base + reg::slot::CTRL, stopped)?;
        for _ in 0..STATUS_READS {
            let status = self.read_register(base + reg::slot::STATUS)?;
            if reg::slot::status::IDLE.get(status) == 1 {
                self.running.remove(&slot);
                return Ok(());
            }
        }
        self.note(Err(CardError::Broken(format!(
            "slot {} does not come to rest",
            slot.0
        ))))
    }

    pub fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        let answer = self.read(reg::SLOT_CONTROL.at(slot.0.into()) + offset)?;
        let notes = match answer.notes {
            Some(notes) => notes,
            None => self.slot_notes(slot)?,
        };
        Ok(KernelWord {
            value: answer.value,
            notes,
        })
    }

    fn slot_notes(&mut self, slot: SlotId) -> Result<SlotNotes, CardError> {
        self.read_register(SlotNotes::register(slot))
            .map(SlotNotes::from_status)
    }

    pub fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        let ports = self.description.ports_per_slot.into();
        SlotStatus::read(slot.0.into(), ports, |address| self.read_register(address))
    }

    pub fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_space(asid)?;
        let base = reg::SPACE.at(asid.get().into());
        match control {
            SpaceControl::Off => self.write_register(base + reg::space::CTRL, 0),
            SpaceControl::PageSizes(size_classes) => {
                self.write_register(base + reg::space::SIZE_CLASSES, size_classes)
            }
            SpaceControl::On(table) => self.enable_space(base, &table),
        }
    }

    fn enable_space(&mut self, base: u32, table: &SpaceTable) -> Result<(), CardError> {
        self.description.check_stripe(table.stripe)?;
        let address = table.geometry.base().get();
        self.write_register(base + reg::space::TABLE_BASE_LO, address as u32)?;
        self.write_register(base + reg::space::TABLE_BASE_HI, (address >> 32) as u32)?;
        self.write_register(base + reg::space::SIZE_CLASSES, table.size_classes)?;
        let control = reg::space::ctrl::ENABLE.put(1)
            | reg::space::ctrl::STRIPE_GRANULE_LOG2.put(table.stripe.granule_log2().into())
            | reg::space::ctrl::STRIPE_CHANNELS_LOG2.put(table.stripe.channels_log2().into())
            | reg::space::ctrl::SETS_LOG2.put(table.geometry.sets_log2().into());
        self.write_register(base + reg::space::CTRL, control)
    }

    pub fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        schedule.check(slot)?;
        for (address, value) in schedule.registers(slot, self.description.clock_period) {
            self.write_register(address, value)?;
        }
        Ok(())
    }

    /// Whether the last wait ended because the thread was called back.
    pub fn was_rung(&self) -> bool {
        self.rung
    }

    pub fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.check_alive()?;
        if self.events.is_empty() {
            let result = self.wait_for_events(deadline);
            self.note(result)?;
        }
        Ok(std::mem::take(&mut self.events))
    }

    fn wait_for_events(&mut self, deadline: Option<Picoseconds>) -> Result<(), CardError> {
        // A caller that was only interrupted continues as before.
        if !std::mem::take(&mut self.rung) {
            self.refresh_room()?;
        }
        self.ring_doorbells()?;
        while self.events.is_empty() {
            let until = Until::Events(deadline);
            match self.transport.wait(until, &mut self.events)? {
                Woken::Interrupt => {
                    self.take_records()?;
                    self.count_silent()?;
                }
                Woken::Events | Woken::Answer(_) => {}
                Woken::Reached => break,
                Woken::Rung => {
                    self.rung = true;
                    break;
                }
                Woken::Idle if self.events.is_empty() => return Err(CardError::NothingToWaitFor),
                Woken::Idle => {}
            }
        }
        Ok(())
    }

    /// Counts an interrupt without a record; fails in a storm of them.
    fn count_silent(&mut self) -> Result<(), CardError> {
        self.silent = match self.events.is_empty() && self.acknowledges {
            true => self.silent + 1,
            false => 0,
        };
        if self.silent < SILENT_INTERRUPTS {
            return Ok(());
        }
        let name = self.description.name.clone();
        let interrupt = self.read_register(reg::INTERRUPT)?;
        let tail = self.read_register(reg::EVENT_TAIL)?;
        Err(CardError::Broken(format!(
            "{name}: {SILENT_INTERRUPTS} interrupts in a row without a record (register INTERRUPT reads 0x{interrupt:08x}, \
             EVENT_TAIL {tail}): the card does not wait for the acknowledge; reset the device and open it anew, or program \
             it anew"
        )))
    }

    /// Whether events are pending, or the card holds unfinished commands.
    pub fn is_busy(&self) -> bool {
        !self.events.is_empty() || self.commands.iter().any(CommandRing::is_busy)
    }

    fn check_slot(&self, slot: SlotId) -> Result<(), CardError> {
        if slot.0 < self.description.slots {
            return Ok(());
        }
        Err(CardError::NoSuchSlot {
            slot,
            card: self.description.name.clone(),
            last: self.description.slots - 1,
        })
    }

    fn check_space(&self, asid: Asid) -> Result<(), CardError> {
        if asid.get() < self.description.spaces {
            return Ok(());
        }
        Err(CardError::NoSuchSpace {
            asid: asid.get(),
            spaces: self.description.spaces,
        })
    }

    /// Notifies the shell of new commands.
    fn ring_doorbells(&mut self) -> Result<(), CardError> {
        for queue in 0..self.commands.len() {
            if let Some(tail) = self.commands[queue].ring() {
                let base = reg::QUEUE.at(queue as u32);
                self.post(base + reg::queue::TAIL, tail)?;
            }
        }
        Ok(())
    }

    fn post(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        let result = self.transport.write(address, value);
        self.note(result)
    }

    /// Reads a register, and handles everything that occurs meanwhile.
    fn read(&mut self, address: u32) -> Result<Answer, CardError> {
        self.check_alive()?;
        check_address(address)?;
        let result = self.read_answer(address);
        let answer = self.note(result)?;
        match answer.error {
            false => Ok(answer),
            true => Err(CardError::Bus {
                address,
                what: "read; the shell or the kernel answered with an error",
            }),
        }
    }

    fn read_answer(&mut self, address: u32) -> Result<Answer, CardError> {
        self.ring_doorbells()?;
        if let Poll::Ready(answer) = self.transport.read(address)? {
            return Ok(answer);
        }
        loop {
            match self.transport.wait(Until::Answer, &mut self.events)? {
                Woken::Answer(answer) => return Ok(answer),
                Woken::Interrupt => self.take_records()?,
                Woken::Idle => {
                    return Err(CardError::Broken(format!(
                        "register 0x{address:06x}: the shell does not answer"
                    )))
                }
                Woken::Events | Woken::Reached | Woken::Rung => {}
            }
        }
    }

    fn refresh_room(&mut self) -> Result<(), CardError> {
        for queue in 0..self.commands.len() {
            if self.commands[queue].room() < LOW_ROOM {
                let base = reg::QUEUE.at(queue as u32);
                let head = self.read_register(base + reg::queue::HEAD)?;
                self.commands[queue].fetched(head);
            }
        }
        Ok(())
    }

    /// Takes the records from the event ring.
    fn take_records(&mut self) -> Result<(), CardError> {
        let first = self.events.len();
        self.records.drain(&mut self.events)?;
        let mut interrupted = Vec::new();
        for event in &self.events[first..] {
            self.transport.taken(event);
            match event {
                Event::Completed { id, .. } => {
                    for ring in &mut self.commands {
                        ring.completed(*id);
                    }
                }
                Event::Interrupt(slot) => interrupted.push(*slot),
                _ => {}
            }
        }
        // Acknowledged: the next one may come.
        for slot in interrupted {
            let address = reg::SLOT.at(slot.0.into()) + reg::slot::INTERRUPT;
            self.post(address, reg::slot::interrupt::REARM.put(1))?;
        }
        let count = match self.acknowledges {
            // Also without a record: whatever caused the interrupt, the next one may come.
            true => Some(self.records.acknowledge()),
            false => self.records.give_back(),
        };
        if let Some(count) = count {
            self.post(reg::EVENT_HEAD, count)?;
        }
        Ok(())
    }
}

fn check_address(address: u32) -> Result<(), CardError> {
    if address % 4 == 0 && address < BAR_BYTES {
        return Ok(());
    }
    Err(CardError::Bus {
        address,
        what: "not a multiple of 4, or outside the BAR",
    })
}
