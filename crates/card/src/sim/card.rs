//! [`SimCard`]: the `Card` contract on top of the engine.

use super::build::{top, BuildError, Builder, Design, Progress};
use super::config::Translator;
use super::engine::{ClockDomain, Engine, Notice, Parts, Stop};
use super::kernel_model::{build_for_slot, SlotDesign};
use super::memory_port::MemoryPort;
use super::model::{Instance, Model};
use super::options::{SimOptions, Waves};
use super::rings::{CommandRing, EventRing, COMMANDS_LOG2, EVENTS_LOG2};
use super::slot::KernelSlot;
use super::store::Store;
use super::trace::{HostTrace, Probe};
use crate::command::{Command, QueueId};
use crate::event::Event;
use crate::guard::SlotStatus;
use crate::kernel::KernelPackage;
use crate::memory::HostMemory;
use crate::registers as reg;
use crate::{
    Card, CardDescription, CardError, HostStatistics, HostWork, LinkStatistics, SlotId, Statistics,
    StreamStatistics, WorkId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use timing::dram::Controller;
use timing::host::{Host, HostModel};
use timing::pcie::PcieLink;
use units::{Asid, HostAddr, Picoseconds, Stripe, TableGeometry};

/// Edges of the reset at start-up.
const RESET_EDGES: u32 = 16;
/// Commands below which the driver asks the shell how many it has fetched.
const LOW_ROOM: usize = CommandRing::size() / 4;
/// Reads of a slot's status before it is called stuck.
const STATUS_READS: u32 = 1000;
/// Bytes of the BAR.
const BAR_BYTES: u32 = reg::SLOT_CONTROL.base + reg::SLOT_CONTROL.count * reg::SLOT_CONTROL.stride;

/// Receives the progress of long builds.
pub type ProgressCallback = Box<dyn FnMut(Progress) + Send>;

/// A simulated card: the shell's RTL and kernels' RTL, Verilated, in deterministic virtual time.
pub struct SimCard {
    description: CardDescription,
    builder: Builder,
    home: PathBuf,
    waves: Option<Waves>,
    progress: ProgressCallback,
    engine: Engine,
    host_model: HostModel,
    /// By queue.
    commands: Vec<CommandRing>,
    records: EventRing,
    events: Vec<Event>,
    notices: Vec<Notice>,
    /// When the host next looks at the event ring, and the last interrupt that it knows of.
    wakes_at: Option<Picoseconds>,
    last_interrupt: Picoseconds,
    interrupts: u64,
    /// Host work by the time it ends.
    works: BTreeMap<(Picoseconds, u64), WorkId>,
    next_work: u64,
    running: BTreeSet<SlotId>,
    stripes: Vec<Stripe>,
    monolithic: Option<KernelPackage>,
    counters: Counters,
    trace: Option<HostTrace>,
    register_reads: u64,
    register_writes: u64,
    /// Set when the card is broken: everything fails from then on.
    broken: Option<String>,
}

// SAFETY: the pins and instances inside share C++ memory without locks and count their owners
// without atomics, but all of them belong to this one card and none can be taken out of it, so they
// always move between threads together, and `&mut self` keeps two threads from using them at once.
// The models keep no thread-local state between calls.
unsafe impl Send for SimCard {}

/// The shell's counters are 32 bits and wrap; these are the sums so far.
#[derive(Default)]
struct Counters {
    last: BTreeMap<u32, u32>,
    sums: BTreeMap<u32, u64>,
}

impl Counters {
    fn update(&mut self, address: u32, value: u32) -> u64 {
        let last = self.last.insert(address, value).unwrap_or(0);
        let sum = self.sums.entry(address).or_insert(0);
        *sum += u64::from(value.wrapping_sub(last));
        *sum
    }
}

impl SimCard {
    /// Builds the models that are not in the cache, and switches the card on.
    ///
    /// # Errors
    /// A configuration that is not possible, a tool that is missing, RTL that does not compile, or
    /// a shell that does not start.
    pub fn open(
        options: SimOptions,
        mut progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<Self, CardError> {
        options.check()?;
        let channel_bytes = options.channel_memory()?;
        let builder = match &options.builder {
            Some(builder) => builder.clone(),
            None => Builder::locate()?,
        };
        let design = match &options.monolithic {
            Some(kernel) => monolithic_design(&options, &builder, kernel)?,
            None => shell_design(&options)?,
        };
        let period = options.platform.clock().period_ps;
        let waves = options.waves.as_ref().filter(|waves| waves.shell);
        let shell_builder = waves.map_or_else(|| builder.clone(), |_| builder.with_waves());
        let built = shell_builder.build(&design, &|_| Ok(()), &mut progress)?;
        let mut shell = Instance::new(&Model::load(&built)?)?;
        if let Some(waves) = waves {
            shell.open_waves(&waves.wave_file("shell", period))?;
        }

        let config = &options.shell;
        let mut memories = Vec::new();
        for channel in 0..u32::from(config.channels) {
            let store = Store::new(channel_bytes).map_err(|error| {
                CardError::Configuration(format!(
                    "cannot reserve {channel_bytes} bytes of address space for memory channel \
                     {channel}: {error}; limit the memory of a channel"
                ))
            })?;
            let model = Controller::new(options.platform.memory());
            memories.push(MemoryPort::new(&shell, channel, store, Box::new(model))?);
        }
        let probes = match &options.timeline {
            Some(timeline) => Probe::all(timeline, &shell, config)?,
            None => Vec::new(),
        };
        let clock = options.platform.clock();
        let engine = Engine::new(Parts {
            clock: ClockDomain {
                period: clock.period_ps,
                phase: clock.phase_ps,
            },
            shell,
            slots: config.slots.into(),
            ports_per_slot: config.ports_per_slot.into(),
            memories,
            probes,
            link: Box::new(PcieLink::new(options.platform.pcie())),
            idle_skipping: options.idle_skipping,
            monolithic: options.monolithic.is_some(),
        })?;
        let description = CardDescription {
            name: format!("sim:{}", options.platform.name()),
            slots: config.slots,
            ports_per_slot: config.ports_per_slot,
            channels: config.channels,
            channel_bytes_log2: config.channel_bytes_log2,
            channel_bytes,
            spaces: config.spaces,
            queues: config.queues,
            translated: config.translator == Translator::Paged,
            clock_period: clock.period_ps,
        };
        let mut card = Self {
            description,
            builder,
            home: options.home,
            waves: options.waves,
            progress: Box::new(progress),
            engine,
            host_model: HostModel::new(options.platform.host()),
            commands: (0..config.queues)
                .map(|_| CommandRing::new())
                .collect::<Result<_, _>>()?,
            records: EventRing::new()?,
            events: Vec::new(),
            notices: Vec::new(),
            wakes_at: None,
            last_interrupt: Picoseconds::ZERO,
            interrupts: 0,
            works: BTreeMap::new(),
            next_work: 0,
            running: BTreeSet::new(),
            stripes: vec![Stripe::NONE; config.spaces.into()],
            monolithic: options.monolithic,
            counters: Counters::default(),
            trace: options.timeline.map(HostTrace::new),
            register_reads: 0,
            register_writes: 0,
            broken: None,
        };
        card.start()?;
        Ok(card)
    }

    /// Reset, identification, rings: what a driver does when it finds a card.
    fn start(&mut self) -> Result<(), CardError> {
        self.engine.reset(RESET_EDGES)?;
        let id = self.read_register(reg::ID)?;
        let version = self.read_register(reg::VERSION)?;
        if id != reg::ID_MAGIC || reg::version::MAJOR.get(version) != reg::VERSION_MAJOR {
            return Err(CardError::Broken(format!(
                "it identifies itself as 0x{id:08x}, version 0x{version:08x}: no shell of this \
                 version"
            )));
        }
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
        let records = self.map_host(self.records.memory().clone())?.get();
        for (address, value) in [
            (reg::EVENT_BASE_LO, records as u32),
            (reg::EVENT_BASE_HI, (records >> 32) as u32),
            (reg::EVENT_SIZE_LOG2, EVENTS_LOG2),
            (reg::CONTROL, reg::control::ENABLE.put(1)),
        ] {
            self.write_register(address, value)?;
        }
        // A read after the writes: they have arrived.
        self.read_register(reg::STATUS)?;
        Ok(())
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

    /// Remembers that the card is broken.
    fn note<T>(&mut self, result: Result<T, CardError>) -> Result<T, CardError> {
        if let Err(CardError::Broken(reason)) = &result {
            self.broken.get_or_insert_with(|| reason.clone());
        }
        result
    }

    fn check_alive(&self) -> Result<(), CardError> {
        match &self.broken {
            Some(reason) => Err(CardError::Broken(reason.clone())),
            None => Ok(()),
        }
    }

    /// Tells the shell of commands that it does not know of.
    fn ring_doorbell(&mut self) {
        for queue in 0..self.commands.len() {
            if let Some(tail) = self.commands[queue].ring() {
                let base = reg::QUEUE.at(queue as u32);
                self.post_register(base + reg::queue::TAIL, tail);
            }
        }
    }

    fn post_register(&mut self, address: u32, value: u32) {
        let arrives = self.engine.link.register_write(self.engine.now());
        self.engine.bar.write(arrives, address, value);
        self.register_writes += 1;
    }

    /// The earliest thing that happens in the host by itself.
    fn next_host_event(&self) -> Option<Picoseconds> {
        let work = self.works.first_key_value().map(|((at, _), _)| *at);
        [self.wakes_at, work].into_iter().flatten().min()
    }

    /// Runs until `until`, an event (if `events`), or the answer to a register read. Handles what
    /// happens in the host on the way.
    fn run(&mut self, until: Picoseconds, events: bool) -> Result<Stop, CardError> {
        loop {
            if events && !self.events.is_empty() {
                return Ok(Stop::Noticed);
            }
            let host = self.next_host_event().unwrap_or(Picoseconds::MAX);
            let stop = self.engine.run_until(until.min(host))?;
            match stop {
                Stop::Noticed => self.handle_notices(),
                Stop::Reached if host <= self.engine.now() => self.host_event()?,
                Stop::Reached | Stop::Answered | Stop::Idle => return Ok(stop),
            }
        }
    }

    fn handle_notices(&mut self) {
        let mut notices = std::mem::take(&mut self.notices);
        self.engine.take_notices(&mut notices);
        for notice in notices.drain(..) {
            match notice {
                Notice::Interrupt(arrives) => {
                    if let Some(trace) = &mut self.trace {
                        trace.interrupt(arrives);
                    }
                    self.interrupts += 1;
                    self.last_interrupt = arrives;
                    if self.wakes_at.is_none() {
                        self.wakes_at = Some(self.host_model.wake(arrives));
                    }
                }
                Notice::KernelFailed(slot, reason) => {
                    let event = Event::KernelFailed { slot, reason };
                    if let Some(trace) = &mut self.trace {
                        trace.event(self.engine.now(), &event);
                    }
                    self.events.push(event);
                }
            }
        }
        self.notices = notices;
    }

    /// The host's user code wakes up, or work of the host ends.
    fn host_event(&mut self) -> Result<(), CardError> {
        let now = self.engine.now();
        while let Some(entry) = self.works.first_entry() {
            if entry.key().0 > now {
                break;
            }
            self.events.push(Event::HostWorkDone(entry.remove()));
        }
        if self.wakes_at.is_some_and(|at| at <= now) {
            self.engine.host.make_visible(now);
            let first = self.events.len();
            self.records.drain(&mut self.events)?;
            let mut interrupted = Vec::new();
            for event in &self.events[first..] {
                if let Some(trace) = &mut self.trace {
                    trace.event(now, event);
                }
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
            // Seen: the next one may come.
            for slot in interrupted {
                let address = reg::SLOT.at(slot.0.into()) + reg::slot::INTERRUPT;
                self.post_register(address, reg::slot::interrupt::REARM.put(1));
            }
            // An interrupt that is still on its way announces records that are too.
            let later = self.last_interrupt > now;
            self.wakes_at = later.then(|| self.host_model.wake(self.last_interrupt));
            if let Some(count) = self.records.give_back() {
                self.post_register(reg::EVENT_HEAD, count);
            }
        }
        Ok(())
    }

    /// A register read with everything that it brings about.
    fn read(&mut self, address: u32) -> Result<u32, CardError> {
        self.ring_doorbell();
        let arrives = self.engine.link.register_read_request(self.engine.now());
        self.engine.bar.read(arrives, address);
        self.register_reads += 1;
        let answer = loop {
            match self.run(Picoseconds::MAX, false)? {
                Stop::Answered => {
                    if let Some(answer) = self.engine.take_answer() {
                        break answer;
                    }
                }
                Stop::Idle => {
                    return Err(CardError::Broken(format!(
                        "register 0x{address:06x}: the shell does not answer"
                    )));
                }
                Stop::Reached | Stop::Noticed => {}
            }
        };
        let back = self.engine.link.register_read_response(answer.at);
        self.run(back, false)?;
        if answer.error {
            return Err(CardError::Bus {
                address,
                what: "read; the shell or the kernel answered with an error",
            });
        }
        Ok(answer.value)
    }

    fn refresh_room(&mut self) -> Result<(), CardError> {
        for queue in 0..self.commands.len() {
            if self.commands[queue].room() < LOW_ROOM {
                let base = reg::QUEUE.at(queue as u32);
                let head = self.read(base + reg::queue::HEAD)?;
                self.commands[queue].fetched(head);
            }
        }
        Ok(())
    }

    fn counter(&mut self, address: u32) -> Result<u64, CardError> {
        let value = self.read(address)?;
        Ok(self.counters.update(address, value))
    }

    fn counter64(&mut self, low: u32, high: u32) -> Result<u64, CardError> {
        let low = u64::from(self.read(low)?);
        Ok(u64::from(self.read(high)?) << 32 | low)
    }

    fn stream_statistics(&mut self) -> Result<Vec<StreamStatistics>, CardError> {
        let mut streams: Vec<StreamStatistics> = Vec::new();
        for observer in self.engine.observers() {
            let (reads, writes) = observer.statistics();
            streams.extend([reads.clone(), writes.clone()]);
        }
        for (index, stream) in streams.iter_mut().enumerate() {
            let base = reg::STREAM.at(index as u32);
            stream.l1_hits = self.counter(base + reg::stream::LOOKUP_HIT)?;
            stream.l1_misses = self.counter(base + reg::stream::LOOKUP_MISS)?;
            stream.walk_hits = self.counter(base + reg::stream::WALK_HIT)?;
            stream.walk_misses = self.counter(base + reg::stream::WALK_MISS)?;
            stream.faults = self.counter(base + reg::stream::FAULT)?;
            stream.retries = self.counter(base + reg::stream::RETRY)?;
        }
        Ok(streams)
    }
}

/// The shell alone, under the top that fixes its configuration.
fn shell_design(options: &SimOptions) -> Result<Design, BuildError> {
    Ok(Design {
        name: "shell".to_owned(),
        top: top::CARD_TOP.to_owned(),
        clock: "clk_i".to_owned(),
        file_sets: vec![options.shell_file_set()?],
        generated: Some(top::shell_top(&options.shell)),
    })
}

/// Shell and kernel under one top.
fn monolithic_design(
    options: &SimOptions,
    builder: &Builder,
    kernel: &KernelPackage,
) -> Result<Design, BuildError> {
    let slot = SlotDesign::new(builder, kernel, &options.home)?;
    let info = builder.inspect(&slot.design)?;
    let interface = slot.interface(kernel, &info)?;
    fits(kernel, options.shell.ports_per_slot)?;
    let mut text = slot.design.generated.clone().unwrap_or_default();
    text += &top::monolithic_top(&options.shell, &slot.design.top, &interface);
    let mut shell_files = options.shell_file_set()?;
    let mut file_sets = slot.design.file_sets;
    // A wrapper's files may be the shell's too.
    for set in file_sets
        .iter_mut()
        .filter(|set| set.base == shell_files.base)
    {
        set.files.retain(|file| !shell_files.files.contains(file));
        shell_files.files.append(&mut set.files);
    }
    file_sets.insert(0, shell_files);
    Ok(Design {
        name: format!("shell with {}", kernel.manifest.name),
        top: top::CARD_TOP.to_owned(),
        clock: "clk_i".to_owned(),
        file_sets,
        generated: Some(text),
    })
}

fn fits(kernel: &KernelPackage, ports_per_slot: u8) -> Result<(), BuildError> {
    let ports = kernel.manifest.ports.len();
    if ports <= ports_per_slot.into() {
        return Ok(());
    }
    Err(BuildError::Unsupported {
        kernel: kernel.manifest.name.clone(),
        rule: format!(
            "it has {ports} memory ports and a slot of this shell has {ports_per_slot}: open the \
             card with a shell of more ports a slot"
        ),
    })
}

impl Card for SimCard {
    fn description(&self) -> &CardDescription {
        &self.description
    }

    fn now(&self) -> Picoseconds {
        self.engine.now()
    }

    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        if self.running.contains(&slot) {
            return Err(CardError::SlotBusy { slot });
        }
        if let Some(built_in) = &self.monolithic {
            return match built_in == kernel {
                true => Ok(()),
                false => Err(CardError::Configuration(format!(
                    "kernel {}: this card was built as one model with kernel {}",
                    kernel.manifest.name, built_in.manifest.name
                ))),
            };
        }
        fits(kernel, self.description.ports_per_slot)?;
        let waves = self.waves.as_ref().filter(|waves| waves.kernels);
        let builder = waves.map_or_else(|| self.builder.clone(), |_| self.builder.with_waves());
        let (built, interface) = build_for_slot(&builder, kernel, &self.home, &mut self.progress)?;
        let mut instance = Instance::new(&Model::load(&built)?)?;
        if let Some(waves) = waves {
            let what = format!("kernel-{}", slot.0);
            instance.open_waves(&waves.wave_file(&what, self.description.clock_period))?;
        }
        let place = self.engine.place(slot);
        let joined = KernelSlot::new(self.engine.shell(), place, instance, &interface)?;
        let result = self.engine.set_kernel(slot, Some(joined));
        self.note(result)
    }

    fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.check_alive()?;
        check_address(address)?;
        let result = self.read(address);
        self.note(result)
    }

    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.check_alive()?;
        check_address(address)?;
        self.ring_doorbell();
        self.post_register(address, value);
        Ok(())
    }

    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        let bytes = memory.len();
        self.engine.map.map(memory).ok_or_else(|| {
            CardError::HostMemory(format!("no range of {bytes} bytes is left for the card"))
        })
    }

    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        match self.engine.map.unmap(address) {
            Some(_) => Ok(()),
            None => Err(CardError::HostMemory(format!(
                "nothing is mapped at 0x{:x}",
                address.get()
            ))),
        }
    }

    fn submit(&mut self, command: Command) -> Result<(), CardError> {
        self.check_alive()?;
        let queue = command.queue;
        if queue.0 >= self.description.queues {
            return Err(CardError::NoSuchQueue {
                queue,
                queues: self.description.queues,
            });
        }
        if self.queue_room(queue) == 0 {
            let result = self.refresh_room();
            self.note(result)?;
        }
        if self.queue_room(queue) == 0 {
            return Err(CardError::QueueFull {
                limit: CommandRing::size(),
            });
        }
        if let Some(trace) = &mut self.trace {
            trace.submitted(self.engine.now(), &command);
        }
        self.commands[usize::from(queue.0)].push(&command)
    }

    fn queue_room(&self, queue: QueueId) -> usize {
        let ring = self.commands.get(usize::from(queue.0));
        ring.map_or(0, CommandRing::room)
    }

    fn host_work(&mut self, work: HostWork) -> WorkId {
        let now = self.engine.now();
        let model = &mut self.host_model;
        let ends = match work {
            HostWork::ServeEvents(events) => model.serve_events(now, events),
            HostWork::PageCacheCopy { bytes } => model.page_cache_copy(now, bytes),
            HostWork::StorageRead { bytes } => model.storage_read(now, bytes),
            HostWork::StorageWrite { bytes } => model.storage_write(now, bytes),
            HostWork::Reconfigure => model.reconfigure(now),
        };
        if let Some(trace) = &mut self.trace {
            trace.host_work(now, ends, work);
        }
        let id = WorkId(self.next_work);
        self.next_work += 1;
        self.works.insert((ends, id.0), id);
        id
    }

    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
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
                self.engine.forget_bursts(slot);
                return Ok(());
            }
        }
        let result = Err(CardError::Broken(format!(
            "slot {} does not come to rest",
            slot.0
        )));
        self.note(result)
    }

    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        let ports = self.description.ports_per_slot.into();
        let result = SlotStatus::read(slot.0.into(), ports, |address| self.read(address));
        self.note(result)
    }

    fn control_space(
        &mut self,
        asid: Asid,
        table: Option<(TableGeometry, u32)>,
    ) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_space(asid)?;
        let base = reg::SPACE.at(asid.get().into());
        let Some((geometry, classes)) = table else {
            return self.write_register(base + reg::space::CTRL, 0);
        };
        let table = geometry.base().get();
        self.write_register(base + reg::space::TABLE_BASE_LO, table as u32)?;
        self.write_register(base + reg::space::TABLE_BASE_HI, (table >> 32) as u32)?;
        self.write_register(base + reg::space::SIZE_CLASSES, classes)?;
        let stripe = self.stripes[usize::from(asid.get())];
        let control = reg::space::ctrl::ENABLE.put(1)
            | reg::space::ctrl::STRIPE_GRANULE_LOG2.put(stripe.granule_log2().into())
            | reg::space::ctrl::STRIPE_CHANNELS_LOG2.put(stripe.channels_log2().into())
            | reg::space::ctrl::SETS_LOG2.put(geometry.sets_log2().into());
        self.write_register(base + reg::space::CTRL, control)
    }

    fn stripe_space(&mut self, asid: Asid, stripe: Stripe) -> Result<(), CardError> {
        self.check_space(asid)?;
        self.description.check_stripe(stripe)?;
        self.stripes[usize::from(asid.get())] = stripe;
        Ok(())
    }

    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.check_alive()?;
        if self.events.is_empty() {
            let result = self.refresh_room();
            self.note(result)?;
            self.ring_doorbell();
            let until = deadline.unwrap_or(Picoseconds::MAX);
            let result = self.run(until, true);
            if self.note(result)? == Stop::Idle && self.events.is_empty() {
                return Err(CardError::NothingToWaitFor);
            }
        }
        if let Some(address) = self.engine.bar.failed_write.take() {
            tracing::warn!("write to register 0x{address:06x} was answered with an error");
        }
        Ok(std::mem::take(&mut self.events))
    }

    fn is_quiescent(&mut self) -> bool {
        self.events.is_empty()
            && !self.commands.iter().any(CommandRing::is_busy)
            && self.next_host_event().is_none()
            && self.engine.is_idle()
    }

    fn statistics(&mut self) -> Result<Statistics, CardError> {
        self.check_alive()?;
        // Reading the counters takes virtual time: first what must not change by it.
        let cycles = self.engine.cycles();
        let evaluated_cycles = self.engine.evaluated_cycles();
        let memories = self.engine.memories();
        let channels = memories.iter().map(MemoryPort::statistics).collect();
        let (busy_to_card, busy_to_host) = self.engine.link.busy();
        let mut link = LinkStatistics {
            bytes_to_card: self.engine.host.bytes_to_card,
            bytes_to_host: self.engine.host.bytes_to_host,
            busy_to_card,
            busy_to_host,
            rows_zeroed: 0,
            register_reads: self.register_reads,
            register_writes: self.register_writes,
        };
        let (service_busy, copy_busy, storage_busy) = self.host_model.busy();
        let host = HostStatistics {
            service_busy,
            copy_busy,
            storage_busy,
            interrupts: self.interrupts,
        };
        let result = self.stream_statistics();
        let streams = self.note(result)?;
        let result = self.counter64(reg::ROWS_ZEROED_LO, reg::ROWS_ZEROED_HI);
        link.rows_zeroed = self.note(result)?;
        Ok(Statistics {
            cycles,
            evaluated_cycles,
            streams,
            channels,
            link,
            host,
        })
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
