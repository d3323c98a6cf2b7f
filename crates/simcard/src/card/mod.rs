//! [`SimCard`]: the `Card` contract on top of the engine.

mod coherent;
mod designs;
mod driver;
mod host;
mod statistics;

use super::config::Translator;
use super::engine::{ClockDomain, Engine, Notice, Parts, Stop};
use super::kernel_model::build_for_slot;
use super::link_port::LinkPort;
use super::memory_port::MemoryPort;
use super::model::{Instance, Model};
use super::network_port::NetworkPort;
use super::options::{SimOptions, WaveStart, Waves, SHELL};
use super::rings::{CommandRing, EventRing};
use super::slot::KernelSlot;
use super::store::Store;
use super::trace::{HostTrace, Probe};
use crate::error::not_built;
use card::coherent::{AccessEnd, AccessId, CheckedAccess, LineAccess, LinePages};
use card::command::{Command, QueueId};
use card::event::Event;
use card::guard::{KernelWord, SlotNotes, SlotStatus};
use card::history::History;
use card::kernel::KernelPackage;
use card::memories::CardMemory;
use card::memory::HostMemory;
use card::network::Peer;
use card::registers as reg;
use card::schedule::{CheckedSchedule, SlotSchedule};
use card::stream::{
    self, StreamDirection, StreamId, StreamSource, StreamState, StreamWaiting, SwitchState,
    Transfer,
};
use card::{
    Card, CardDescription, CardError, CheckedDescription, HostWork, Preparation, SlotId,
    Statistics, WorkId,
};
use designs::{fits, fits_cache, monolithic_design, shell_design};
use statistics::Counters;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};
use timing::dram::Controller;
use timing::host::{Host, HostModel};
use timing::pcie::PcieLink;
use units::{Asid, HostAddr, Operation, Picoseconds, Stripe, TableGeometry};
use verilated::{BuildError, Builder, Progress};

/// Reads of a slot's status before it is called stuck.
const STATUS_READS: u32 = 1000;
/// Bytes of the BAR.
const BAR_BYTES: u32 = reg::SLOT_CONTROL.base + reg::SLOT_CONTROL.count * reg::SLOT_CONTROL.stride;

/// Receives the progress of long builds.
pub type ProgressCallback = Box<dyn FnMut(Progress) + Send>;

/// A simulated card: the shell's RTL and kernels' RTL, Verilated, in deterministic virtual time.
pub struct SimCard {
    description: CardDescription,
    /// Of the directory; 0 without one.
    slices: u8,
    caches: u8,
    builder: Builder,
    home: PathBuf,
    waves: Option<Waves>,
    progress: Arc<Mutex<ProgressCallback>>,
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
    /// Ends of accesses of the coherent CPU that are known, by time.
    accesses: BTreeMap<(Picoseconds, AccessId), AccessEnd>,
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
    /// Rung by who wants the card's thread back.
    bell: Option<Arc<AtomicBool>>,
    /// The last wait ended because of it.
    rung: bool,
}

// SAFETY: the pins and instances inside share C++ memory without locks and count their owners
// without atomics, but all of them belong to this one card and none can be taken out of it, so they
// always move between threads together, and `&mut self` keeps two threads from using them at once.
// The models keep no thread-local state between calls.
unsafe impl Send for SimCard {}

impl SimCard {
    /// Puts bytes into card memory at no virtual time, past the shell: data that is *hot*, for experiments that
    /// do not ask what loading costs. No stripe is applied. A real card has nothing like it, so it is not in
    /// [`Card`]; whoever reports such a run says so. A page table may be put there like this if its space uses one
    /// page size only: the shell's filter of page sizes counts installs.
    ///
    /// # Errors
    /// [`CardError::Configuration`]: the range is not in one channel's memory.
    pub fn preload(&mut self, to: units::CardAddr, bytes: &[u8]) -> Result<(), CardError> {
        let log2 = self.description.channel_bytes_log2;
        let (channel, offset) = (to.get() >> log2, to.get() & ((1 << log2) - 1));
        let memory = self.engine.memories_mut().get_mut(channel as usize);
        match memory.is_some_and(|memory| memory.preload(offset, bytes)) {
            true => Ok(()),
            false => Err(CardError::Configuration(format!(
                "{} bytes at {to}: not in the memory of one channel",
                bytes.len()
            ))),
        }
    }

    /// Builds the model of the shell, or finds it in the cache: what [`open`](Self::open) needs of it without waveforms.
    ///
    /// # Errors
    /// A configuration that is not possible, a tool that is missing, RTL that does not compile.
    pub fn build_shell(
        options: &SimOptions,
        progress: &mut verilated::ProgressSink<'_>,
    ) -> Result<verilated::BuiltModel, CardError> {
        options.check()?;
        let builder = match &options.builder {
            Some(builder) => builder.clone(),
            None => Builder::locate().map_err(not_built)?,
        };
        let design = shell_design(options).map_err(not_built)?;
        builder
            .model(&design, &|_| Ok(()), progress)
            .map_err(not_built)
    }

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
        options.memories()?;
        let builder = match &options.builder {
            Some(builder) => builder.clone(),
            None => Builder::locate().map_err(not_built)?,
        };
        let design_of = |options: &SimOptions| match &options.monolithic {
            Some(kernel) => monolithic_design(options, &builder, kernel),
            None => shell_design(options),
        };
        let design = design_of(&options).map_err(not_built)?;
        let period = options.platform.clock().period_ps;
        let waves = options.waves.as_ref().filter(|waves| waves.shell);
        let shell_builder = waves.map_or_else(|| builder.clone(), |_| builder.with_waves());
        let built = shell_builder
            .model(&design, &|_| Ok(()), &mut progress)
            .map_err(not_built)?;
        let mut shell =
            Instance::new(&Model::load(&built).map_err(not_built)?).map_err(not_built)?;
        if let Some(waves) = waves {
            shell
                .open_waves(&waves.wave_file(SHELL, period, None))
                .map_err(not_built)?;
        }

        let witness = match options.witness {
            false => None,
            true => {
                let asserting = SimOptions {
                    asserting: true,
                    ..options.clone()
                };
                let built = builder
                    .model(
                        &design_of(&asserting).map_err(not_built)?,
                        &|_| Ok(()),
                        &mut progress,
                    )
                    .map_err(not_built)?;
                Some(Instance::new(&Model::load(&built).map_err(not_built)?).map_err(not_built)?)
            }
        };

        let config = &options.shell;
        let kinds = options.memories()?;
        let mut memories = Vec::new();
        for (memory, timing) in &kinds {
            let channel_bytes = memory.channel_bytes;
            for channel in memory.channels.clone().map(u32::from) {
                let store = Store::new(channel_bytes).map_err(|error| {
                    CardError::Configuration(format!(
                        "cannot reserve {channel_bytes} bytes of address space for memory channel \
                         {channel}: {error}; give the card less memory (--card-memory, \
                         SimOptions::channel_bytes), or this process more address space (ulimit -v)"
                    ))
                })?;
                let model = Controller::new(timing);
                memories.push(
                    MemoryPort::new(&shell, channel, store, Box::new(model)).map_err(not_built)?,
                );
            }
        }
        let kinds: Vec<CardMemory> = kinds.into_iter().map(|(memory, _)| memory).collect();
        let probes = match &options.timeline {
            Some(timeline) => Probe::all(timeline, &shell, config).map_err(not_built)?,
            None => Vec::new(),
        };
        let clock = options.platform.clock();
        let coherent = match (config.directory, options.platform.coherent()) {
            (Some(_), Some(platform)) => {
                Some(LinkPort::new(&shell, config, platform, clock.period_ps)?)
            }
            _ => None,
        };
        let networks = (0..u32::from(config.network_pairs))
            .map(|interface| NetworkPort::new(&shell, interface, options.network.figures()))
            .collect::<Result<_, BuildError>>()
            .map_err(not_built)?;
        let engine = Engine::new(Parts {
            clock: ClockDomain {
                period: clock.period_ps,
                phase: clock.phase_ps,
            },
            shell,
            witness,
            slots: config.slots.into(),
            ports_per_slot: config.ports_per_slot.into(),
            pairs_per_slot: config.streams_per_slot.into(),
            slices: config.slices().into(),
            caches: config.caches().into(),
            coherent,
            memories,
            networks,
            probes,
            link: Box::new(PcieLink::new(options.platform.pcie())),
            idle_skipping: options.idle_skipping,
            monolithic: options.monolithic.is_some(),
            seeks_activity: options
                .waves
                .as_ref()
                .is_some_and(|waves| waves.from == WaveStart::FirstActivity),
        })?;
        let description = CardDescription {
            name: format!("sim:{}", options.platform.name()),
            slots: config.slots,
            ports_per_slot: config.ports_per_slot,
            streams_per_slot: config.streams_per_slot,
            network_pairs: config.network_pairs,
            channels: config.channels,
            channel_bytes_log2: config.channel_bytes_log2,
            channel_bytes: kinds
                .iter()
                .map(|memory| memory.channel_bytes)
                .min()
                .unwrap_or(0),
            memories: kinds,
            spaces: config.spaces,
            queues: config.queues,
            translated: config.translator != Translator::Identity,
            page_sizes: config.page_sizes(),
            l1_sizes: config.l1_sizes(),
            l1_reach: config.l1_reach(),
            table_walks: config.max_walks > 0,
            clock_period: clock.period_ps,
            host_channel: config.host_channel,
        };
        let (slices, caches) = (config.slices(), config.caches());
        let mut card = Self {
            description,
            slices,
            caches,
            builder,
            home: options.home,
            waves: options.waves,
            progress: Arc::new(Mutex::new(Box::new(progress))),
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
            accesses: BTreeMap::new(),
            next_work: 0,
            running: BTreeSet::new(),
            stripes: vec![Stripe::NONE; config.spaces.into()],
            monolithic: options.monolithic,
            counters: Counters::default(),
            trace: options
                .timeline
                .map(|timeline| HostTrace::new(timeline, config.ports_per_slot.into())),
            register_reads: 0,
            register_writes: 0,
            broken: None,
            bell: None,
            rung: false,
        };
        card.start()?;
        Ok(card)
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

    fn network(&mut self, interface: u8) -> Result<&mut NetworkPort, CardError> {
        let ports = self.engine.networks_mut().get_mut(usize::from(interface));
        ports.ok_or_else(|| self.description.no_network(interface))
    }

    /// Whether a slot can hold the kernel.
    fn check_fit(&self, kernel: &KernelPackage) -> Result<(), BuildError> {
        let memory_ports = self.description.memory_ports_per_slot();
        let pairs = self.description.streams_per_slot;
        fits(kernel, memory_ports, pairs, self.slices)?;
        fits_cache(kernel, self.caches)
    }
}

impl Card for SimCard {
    fn description(&self) -> &CardDescription {
        &self.description
    }

    fn has_virtual_time(&self) -> bool {
        true
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
                true => {
                    self.engine.name_ports(slot, &kernel.manifest);
                    Ok(())
                }
                false => Err(CardError::Configuration(format!(
                    "kernel {}: this card was built as one model with kernel {}",
                    kernel.manifest.name, built_in.manifest.name
                ))),
            };
        }
        self.check_fit(kernel).map_err(not_built)?;
        let waves = self.waves.as_ref().filter(|waves| waves.kernels);
        let builder = waves.map_or_else(|| self.builder.clone(), |_| self.builder.with_waves());
        let (built, interface) = build_for_slot(&builder, kernel, &self.home, &mut |step| {
            tell(&self.progress, step);
        })
        .map_err(not_built)?;
        let mut instance =
            Instance::new(&Model::load(&built).map_err(not_built)?).map_err(not_built)?;
        instance.speak();
        if let Some(waves) = waves {
            let what = format!("kernel-{}", slot.0);
            let period = self.description.clock_period;
            instance
                .open_waves(&waves.wave_file(&what, period, self.engine.activity()))
                .map_err(not_built)?;
        }
        let place = self.engine.place(slot);
        let joined =
            KernelSlot::new(self.engine.shell(), place, instance, &interface).map_err(not_built)?;
        self.engine.name_ports(slot, &kernel.manifest);
        let result = self.engine.set_kernel(slot, Some(joined));
        self.note(result)
    }

    fn preparation(&self, kernel: &KernelPackage) -> Option<Preparation> {
        // What can be refused at once is refused by `load`, which finds the model in the cache then.
        let at_once = self.monolithic.is_some() || self.check_fit(kernel).is_err();
        if at_once || self.broken.is_some() {
            return None;
        }
        let waves = self.waves.as_ref().filter(|waves| waves.kernels);
        let builder = waves.map_or_else(|| self.builder.clone(), |_| self.builder.with_waves());
        let (kernel, home) = (kernel.clone(), self.home.clone());
        let progress = self.progress.clone();
        Some(Box::new(move || {
            let mut sink = |step| tell(&progress, step);
            build_for_slot(&builder, &kernel, &home, &mut sink).map_err(not_built)?;
            Ok(())
        }))
    }

    fn set_bell(&mut self, bell: Arc<AtomicBool>) {
        self.bell = Some(bell);
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

    fn take_refused_writes(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.engine.around.bar.refused_writes)
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

    fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        self.check_alive()?;
        let (from, to, bytes, stripe) = match command.operation {
            Operation::CopyIn {
                from,
                to,
                bytes,
                stripe,
            } => (Some(from), to, bytes, stripe),
            Operation::Zero { to, bytes, stripe } => (None, to, bytes, stripe),
            _ => return Ok(false),
        };
        let mut content = vec![0; bytes as usize];
        if let Some(from) = from {
            let found = self.engine.map.find(from.get(), bytes);
            let read =
                found.is_some_and(|(memory, offset)| memory.read(offset, &mut content).is_ok());
            if !read {
                return Err(CardError::HostMemory(format!(
                    "{bytes} bytes at 0x{:x} are not mapped",
                    from.get()
                )));
            }
        }
        let log2 = self.description.channel_bytes_log2;
        for (place, part) in stripe.pieces(to, bytes, log2) {
            self.preload(place, &content[part.start as usize..part.end as usize])?;
        }
        Ok(true)
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
            HostWork::ServeEventsOf { thread, events } => {
                model.serve_events_of(now, thread, events)
            }
            HostWork::HandOn(records) => model.hand_on(now, records),
            HostWork::Serve(span) => model.serve(now, span),
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

    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        let address = reg::SLOT_CONTROL.at(slot.0.into()) + offset;
        check_address(address)?;
        let result = self.read_noted(address);
        self.note(result)
    }

    fn slot_notes(&mut self, slot: SlotId) -> Result<SlotNotes, CardError> {
        self.check_slot(slot)?;
        let status = self.read_register(reg::SLOT.at(slot.0.into()) + reg::slot::STATUS)?;
        Ok(SlotNotes::from_status(status))
    }

    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        let ports = self.description.ports_per_slot.into();
        let result = SlotStatus::read(slot.0.into(), ports, |address| self.read(address));
        self.note(result)
    }

    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        self.check_alive()?;
        self.description.check_stream(slot, stream)?;
        let mover = stream.mover(slot, self.description.streams_per_slot);
        for (address, value) in stream::start_registers(mover, &transfer) {
            self.write_register(address, value)?;
        }
        Ok(())
    }

    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        self.check_alive()?;
        self.description.check_stream(slot, stream)?;
        let mover = stream.mover(slot, self.description.streams_per_slot);
        let (address, value) = stream::stop_register(mover);
        self.write_register(address, value)
    }

    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        self.check_alive()?;
        self.description.check_stream(slot, stream)?;
        let mover = stream.mover(slot, self.description.streams_per_slot);
        let result = StreamState::read(mover, |address| self.read(address));
        self.note(result)
    }

    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError> {
        self.check_alive()?;
        self.description.check_stream(slot, stream)?;
        Ok(self.engine.stream_waiting(slot, stream))
    }

    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        self.check_alive()?;
        let port = self.description.check_connection(slot, pair, source)?;
        let address = reg::SWITCH.at(port.into()) + reg::switch::SOURCE;
        self.write_register(address, source.register(self.description.streams_per_slot))
    }

    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_slot(slot)?;
        schedule.check(slot)?;
        for (address, value) in schedule.registers(slot, self.description.clock_period) {
            self.write_register(address, value)?;
        }
        Ok(())
    }

    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        self.check_alive()?;
        let mover = StreamSource::Mover;
        let port = self.description.check_connection(slot, pair, mover)?;
        let result = self.read(reg::SWITCH.at(port.into()) + reg::switch::STATE);
        let value = self.note(result)?;
        Ok(SwitchState::from_register(value, &self.description))
    }

    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn Peer>,
    ) -> Result<(), CardError> {
        self.check_alive()?;
        let port = self.network(interface)?;
        port.connect(direction == StreamDirection::Out, peer);
        Ok(())
    }

    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError> {
        let port = self.network(interface)?;
        let failure = port.failure(direction == StreamDirection::Out);
        Ok(failure.map(str::to_owned))
    }

    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError> {
        let now = self.engine.now();
        self.network(interface)?.set_link(now, up);
        Ok(())
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

    fn use_page_sizes(&mut self, asid: Asid, size_classes: u32) -> Result<(), CardError> {
        self.check_alive()?;
        self.check_space(asid)?;
        let base = reg::SPACE.at(asid.get().into());
        self.write_register(base + reg::space::SIZE_CLASSES, size_classes)
    }

    fn stripe_space(&mut self, asid: Asid, stripe: Stripe) -> Result<(), CardError> {
        self.check_space(asid)?;
        self.description.check_stripe(stripe)?;
        self.stripes[usize::from(asid.get())] = stripe;
        Ok(())
    }

    fn access(&mut self, access: LineAccess) -> Result<AccessId, CardError> {
        self.check_alive()?;
        access.check()?;
        self.start_access(&access)
    }

    fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: std::sync::Arc<dyn LinePages>,
    ) -> Result<bool, CardError> {
        self.check_alive()?;
        self.link()?.show_page(address, write, pages)
    }

    fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError> {
        self.link()?.hide_pages(base, bytes)
    }

    fn record_lines(&mut self, history: History) -> Result<(), CardError> {
        self.link()?.record(history);
        Ok(())
    }

    fn line_history(&self) -> History {
        self.engine.line_history()
    }

    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.check_alive()?;
        if self.events.is_empty() {
            // Whoever was only interrupted goes on as if nothing had been.
            if !std::mem::take(&mut self.rung) {
                let result = self.refresh_room();
                self.note(result)?;
            }
            self.ring_doorbell();
            let until = deadline.unwrap_or(Picoseconds::MAX);
            let result = self.run(until, true);
            let stop = self.note(result)?;
            if stop == Stop::Idle && self.events.is_empty() {
                return Err(CardError::NothingToWaitFor);
            }
            self.rung = stop == Stop::Rung;
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
        let result = self.read_statistics();
        self.note(result)
    }
}

/// Tells the callback of a user, whose panic is not the next one's.
fn tell(progress: &Mutex<ProgressCallback>, step: Progress) {
    let mut callback = progress.lock().unwrap_or_else(PoisonError::into_inner);
    callback(step);
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
