//! [`Machine`]: the simulated hardware that a driver drives.

mod coherent;
mod designs;
mod load;
mod memory;
mod probe;
mod served;
mod statistics;
mod transport;

use super::config::Translator;
use super::engine::{ClockDomain, Engine, Notice, Parts};
use super::link_port::LinkPort;
use super::memory_port::MemoryPort;
use super::model::{Instance, Model};
use super::network_port::NetworkPort;
use super::options::{SimOptions, WaveStart, Waves, SHELL};
use super::store::Store;
use super::trace::{HostTrace, Probe};
use crate::error::not_built;
use card::coherent::{AccessEnd, AccessId};
use card::kernel::KernelPackage;
use card::memories::CardMemory;
use card::stream::{StreamId, StreamWaiting};
use card::{CardDescription, CardError, CheckedDescription, HostWork, SlotId, WorkId};
use designs::{monolithic_design, shell_design};
use probe::{say_card, ShellProbe};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use timing::dram::Controller;
use timing::host::{Host, HostModel};
use timing::pcie::PcieLink;
use transport::RegisterRead;
use units::Picoseconds;
use verilated::{BuildError, Builder, Progress};

/// Duration of the reset at start-up, in edges.
const RESET_EDGES: u32 = 16;

/// Receives the progress of long builds.
pub type ProgressCallback = Box<dyn FnMut(Progress) + Send>;

/// A simulated card without its driver: the shell's RTL and kernels' RTL, Verilated, with memories, a link and a host
/// around them, in deterministic virtual time. It implements the transport (`card::driver::Transport`) for a driver in
/// this process, and is the back end of servers that offer the card to other processes.
pub struct Machine {
    description: CardDescription,
    /// Number of slices of the directory; 0 without one.
    slices: u8,
    caches: u8,
    builder: Builder,
    home: PathBuf,
    waves: Option<Waves>,
    progress: Arc<Mutex<ProgressCallback>>,
    engine: Engine,
    host_model: HostModel,
    notices: Vec<Notice>,
    /// For register reads before the card is used.
    model: Rc<Model>,
    probe: Option<ShellProbe>,
    /// The register read under way.
    read: Option<RegisterRead>,
    /// Time at which the host next looks at the event ring, and the last interrupt known to it.
    wakes_at: Option<Picoseconds>,
    last_interrupt: Picoseconds,
    interrupts: u64,
    /// Host work by end time.
    works: BTreeMap<(Picoseconds, u64), WorkId>,
    /// Known ends of accesses of the coherent CPU, by time.
    accesses: BTreeMap<(Picoseconds, AccessId), AccessEnd>,
    next_work: u64,
    monolithic: Option<KernelPackage>,
    trace: Option<HostTrace>,
    register_reads: u64,
    register_writes: u64,
    /// Set to call back the card's thread.
    bell: Option<Arc<AtomicBool>>,
}

// SAFETY: the pins and instances inside share C++ memory without locks and count their owners
// without atomics, but all of them belong to this one card and none can be taken out of it, so they
// always move between threads together, and `&mut self` keeps two threads from using them at once.
// The models keep no thread-local state between calls.
unsafe impl Send for Machine {}

impl Machine {
    /// Builds the model of the shell, or finds it in the cache: the model that [`open`](Self::open) needs without
    /// waveforms.
    ///
    /// # Errors
    /// An invalid configuration, a missing tool, RTL that does not compile.
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

    /// Builds the models that are not in the cache, and powers up the card.
    ///
    /// # Errors
    /// An invalid configuration, a missing tool, RTL that does not compile, or a shell that does not start.
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
        let model = Model::load(&built).map_err(not_built)?;
        let mut shell = Instance::new(&model).map_err(not_built)?;
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
        say_card(&shell, &description).map_err(not_built)?;
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
        let (slices, caches) = (config.slices(), config.caches());
        let mut machine = Self {
            description,
            slices,
            caches,
            builder,
            home: options.home,
            waves: options.waves,
            progress: Arc::new(Mutex::new(Box::new(progress))),
            engine,
            host_model: HostModel::new(options.platform.host()),
            notices: Vec::new(),
            model,
            probe: None,
            read: None,
            wakes_at: None,
            last_interrupt: Picoseconds::ZERO,
            interrupts: 0,
            works: BTreeMap::new(),
            accesses: BTreeMap::new(),
            next_work: 0,
            monolithic: options.monolithic,
            trace: options
                .timeline
                .map(|timeline| HostTrace::new(timeline, config.ports_per_slot.into())),
            register_reads: 0,
            register_writes: 0,
            bell: None,
        };
        machine.engine.reset(RESET_EDGES)?;
        Ok(machine)
    }

    /// Static description of the card: its size and features.
    pub fn description(&self) -> &CardDescription {
        &self.description
    }

    /// The current virtual time.
    pub fn now(&self) -> Picoseconds {
        self.engine.now()
    }

    /// From now on waits for events also end soon after the bell rings (is set).
    pub fn set_bell(&mut self, bell: Arc<AtomicBool>) {
        self.bell = Some(bell);
    }

    /// Whether a memory port of the kernel in a slot has asked for exclusive access (AxLOCK).
    pub fn asked_exclusive(&self, slot: SlotId, port: usize) -> bool {
        self.engine.asked_exclusive(slot, port)
    }

    /// Bytes that a kernel has sent out of a port and that were not taken. Takes no virtual time.
    pub fn stream_waiting(&self, slot: SlotId, stream: StreamId) -> StreamWaiting {
        self.engine.stream_waiting(slot, stream)
    }

    /// Starts work of the host.
    pub(crate) fn host_work(&mut self, work: HostWork) -> WorkId {
        let now = self.engine.now();
        let model = &mut self.host_model;
        let ends = match work {
            HostWork::ServeEvents(events) => model.serve_events(now, events),
            HostWork::ServeEventsOf { thread, events } => {
                model.serve_events_of(now, thread, events)
            }
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

    /// BAR addresses of writes that were answered with an error since the last call.
    pub(crate) fn take_refused_writes(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.engine.around.bar.refused_writes)
    }

    /// Drops the open bursts of a slot that was reset.
    pub(crate) fn forget_bursts(&mut self, slot: SlotId) {
        self.engine.forget_bursts(slot);
    }

    /// Whether no further event can occur unless the host acts.
    pub(crate) fn is_quiescent(&self) -> bool {
        self.next_host_event().is_none() && self.engine.is_idle()
    }

    /// Records that the driver was given a command.
    pub(crate) fn note_command(&mut self, command: &card::command::Command) {
        if let Some(trace) = &mut self.trace {
            trace.submitted(self.engine.now(), command);
        }
    }

    /// A network interface.
    pub(crate) fn network(&mut self, interface: u8) -> Result<&mut NetworkPort, CardError> {
        let ports = self.engine.networks_mut().get_mut(usize::from(interface));
        ports.ok_or_else(|| self.description.no_network(interface))
    }
}
