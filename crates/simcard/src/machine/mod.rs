//! [`Machine`]: the simulated hardware that a driver drives.

mod assembly;
mod coherent;
mod designs;
mod host;
mod load;
mod memory;
mod probe;
mod registers;
mod served;
mod statistics;
mod transport;

use super::engine::{Engine, Notice};
use super::link_port::LinkPort;
use super::network_port::NetworkPort;
use super::options::SimOptions;
use super::trace::HostTrace;
use assembly::{assemble, locate_builder, Assembly};
use card::coherent::{AccessId, LineAccess};
use card::command::Command;
use card::history::History;
use card::kernel::KernelPackage;
use card::stream::{StreamId, StreamWaiting};
use card::{
    CardDescription, CardError, CheckedDescription, HostWork, OwnerChanges, Preparation, SlotId,
    Statistics, WorkId,
};
use coherent::CpuAccesses;
use host::SimulatedHost;
use load::KernelLoader;
use memory::MemoryImage;
use registers::RegisterBus;
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;
use timing::host::HostModel;
use units::{CardAddr, Picoseconds};
use verilated::Progress;

/// Duration of the reset at start-up, in edges.
const RESET_EDGES: u32 = 16;

/// Receives the progress of long builds.
pub type ProgressCallback = Box<dyn FnMut(Progress) + Send>;

/// A simulated card without its driver: the shell's RTL and kernels' RTL, Verilated, with memories, a link and a host
/// around them, in deterministic virtual time. It implements the transport (`card::driver::Transport`) for a driver in
/// this process, and is the back end of servers that offer the card to other processes.
pub struct Machine {
    description: CardDescription,
    engine: Engine,
    host: SimulatedHost,
    cpu: CpuAccesses,
    registers: RegisterBus,
    loader: KernelLoader,
    /// Buffer of the engine's notices, reused.
    notices: Vec<Notice>,
    /// Set to call back the card's thread.
    bell: Option<Arc<AtomicBool>>,
    /// Virtual time at which waits end as if the bell rang.
    rings_at: Option<Picoseconds>,
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
        assembly::build_shell(options, &locate_builder(options)?, progress)
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
        let builder = locate_builder(&options)?;
        let Assembly {
            description,
            engine,
            model,
        } = assemble(&options, &builder, &mut progress)?;
        let ports = options.shell.ports_per_slot.into();
        let timeline = options.timeline.clone();
        let trace = timeline.map(|timeline| HostTrace::new(timeline, ports));
        let mut machine = Self {
            description,
            engine,
            host: SimulatedHost::new(HostModel::new(options.platform.host()), trace),
            cpu: CpuAccesses::default(),
            registers: RegisterBus::new(model),
            loader: KernelLoader::new(options, builder, Box::new(progress)),
            notices: Vec::new(),
            bell: None,
            rings_at: None,
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

    /// From now on waits for events also end at this virtual time, as if the bell rang there.
    pub fn ring_at(&mut self, at: Option<Picoseconds>) {
        self.rings_at = at;
    }

    /// Whether a memory port of the kernel in a slot has asked for exclusive access (AxLOCK).
    pub fn asked_exclusive(&self, slot: SlotId, port: usize) -> bool {
        self.engine.asked_exclusive(slot, port)
    }

    /// Bytes that a kernel has sent out of a port and that were not taken. Takes no virtual time.
    pub fn stream_waiting(&self, slot: SlotId, stream: StreamId) -> StreamWaiting {
        self.engine.stream_waiting(slot, stream)
    }

    /// Builds the kernel's model, or finds it in the cache, and loads it into a slot, which is in
    /// reset.
    ///
    /// # Errors
    /// A kernel that does not fit the slot, or one that does not build.
    pub fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        self.loader.load(&mut self.engine, slot, kernel)
    }

    /// The slow part of [`load`](Self::load) that needs no machine: run it first, on any thread.
    pub fn preparation(
        &self,
        kernel: &KernelPackage,
        limit: Option<Duration>,
    ) -> Option<Preparation> {
        self.loader.preparation(kernel, limit)
    }

    /// Writes bytes to card memory at zero cost in virtual time, bypassing the shell: preloaded (*hot*) data, for
    /// experiments that exclude the cost of loading. No stripe is applied. A real card has no such path, so it is not
    /// in [`Card`](card::Card); a report of such a run must state it. A page table may be written like this if its
    /// space uses one page size only: the shell's filter of page sizes counts installs.
    ///
    /// # Errors
    /// [`CardError::Configuration`]: the range is not in one channel's memory.
    pub fn preload(&mut self, to: CardAddr, bytes: &[u8]) -> Result<(), CardError> {
        let mut memory = MemoryImage {
            channels: self.engine.memories_mut(),
            channel_bytes_log2: self.description.channel_bytes_log2,
        };
        memory.write(to, bytes)
    }

    /// Executes a copy to card memory, or its zeroing, at once; false for any other command.
    pub(crate) fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        let mut memory = MemoryImage {
            channels: &mut self.engine.around.memories,
            channel_bytes_log2: self.description.channel_bytes_log2,
        };
        memory.execute(&self.engine.map, command)
    }

    /// All counters except the shell's own and context switches.
    pub(crate) fn statistics(&self) -> Statistics {
        statistics::statistics(&self.description, &self.engine, &self.registers, &self.host)
    }

    /// Context switches: how often a memory channel changed from one slot to another.
    pub(crate) fn owner_changes(&self) -> OwnerChanges {
        statistics::owner_changes(&self.engine)
    }

    pub(crate) fn link(&mut self) -> Result<&mut LinkPort, CardError> {
        coherent_link(&mut self.engine, &self.description)
    }

    pub(crate) fn has_link(&mut self) -> bool {
        self.engine.coherent().is_some()
    }

    /// Starts an access of the coherent CPU.
    pub(crate) fn start_access(&mut self, access: &LineAccess) -> Result<AccessId, CardError> {
        let now = self.engine.now();
        let link = coherent_link(&mut self.engine, &self.description)?;
        self.cpu.start(link, now, access)
    }

    /// The recorded history of lines.
    pub(crate) fn line_history(&self) -> History {
        self.engine.line_history()
    }

    /// Starts work of the host.
    pub(crate) fn host_work(&mut self, work: HostWork) -> WorkId {
        self.host.start(self.engine.now(), work)
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
    pub(crate) fn note_command(&mut self, command: &Command) {
        self.host.note_command(self.engine.now(), command);
    }

    /// A network interface.
    pub(crate) fn network(&mut self, interface: u8) -> Result<&mut NetworkPort, CardError> {
        let ports = self.engine.networks_mut().get_mut(usize::from(interface));
        ports.ok_or_else(|| self.description.no_network(interface))
    }
}

/// The coherent link of a card that has one.
fn coherent_link<'a>(
    engine: &'a mut Engine,
    card: &CardDescription,
) -> Result<&'a mut LinkPort, CardError> {
    engine.coherent().ok_or_else(|| CardError::NotCoherent {
        card: card.name.clone(),
    })
}
