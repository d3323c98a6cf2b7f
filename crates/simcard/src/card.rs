//! [`SimCard`]: a driver with its simulated machine.

use super::machine::Machine;
use super::options::SimOptions;
use card::coherent::{AccessId, CheckedAccess, LineAccess, LinePages};
use card::command::{Command, QueueId};
use card::driver::Driver;
use card::event::Event;
use card::guard::{KernelWord, SlotStatus};
use card::history::History;
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::network::Peer;
use card::schedule::SlotSchedule;
use card::stream::{
    StreamDirection, StreamId, StreamSource, StreamState, StreamWaiting, SwitchState, Transfer,
};
use card::{
    Card, CardDescription, CardError, CheckedDescription, CoherentLines, HostWork, Loader, Network,
    Preparation, Simulation, SlotId, SpaceControl, Statistics, Streams, WorkId,
};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use std::time::Duration;
use units::{Asid, CardAddr, HostAddr, Picoseconds};
use verilated::Progress;

/// A simulated card: the shell's RTL and kernels' RTL, Verilated, in deterministic virtual time.
pub struct SimCard {
    driver: Driver<Machine>,
}

impl SimCard {
    /// Builds the models that are not in the cache, and powers up the card.
    ///
    /// # Errors
    /// An invalid configuration, a missing tool, RTL that does not compile, or a shell that does not start.
    pub fn open(
        options: SimOptions,
        progress: impl FnMut(Progress) + Send + 'static,
    ) -> Result<Self, CardError> {
        let machine = Machine::open(options, progress)?;
        let description = machine.description().clone();
        let driver = Driver::start(machine, description)?;
        Ok(Self { driver })
    }

    /// Builds the model of the shell, or finds it in the cache: the model that [`open`](Self::open) needs without
    /// waveforms.
    ///
    /// # Errors
    /// An invalid configuration, a missing tool, RTL that does not compile.
    pub fn build_shell(
        options: &SimOptions,
        progress: &mut verilated::ProgressSink<'_>,
    ) -> Result<verilated::BuiltModel, CardError> {
        Machine::build_shell(options, progress)
    }

    /// Ends the program that drives the card, in the middle of its work, and opens the card for the next one: the card
    /// is reset through its own register, as one that outlives its programs. Memory of the ended program stays mapped.
    ///
    /// # Errors
    /// [`CardError::Reset`]: work under way does not end; the card does not answer.
    pub fn restart(self) -> Result<Self, CardError> {
        let mut machine = self.driver.end()?;
        let description = machine.description().clone();
        for slot in 0..description.slots {
            machine.forget_bursts(SlotId(slot));
        }
        let driver = Driver::start(machine, description)?;
        Ok(Self { driver })
    }

    /// Writes bytes to card memory at zero cost in virtual time; see [`Machine::preload`].
    ///
    /// # Errors
    /// [`CardError::Configuration`]: the range is not in one channel's memory.
    pub fn preload(&mut self, to: CardAddr, bytes: &[u8]) -> Result<(), CardError> {
        self.machine().preload(to, bytes)
    }

    fn machine(&mut self) -> &mut Machine {
        self.driver.transport_mut()
    }
}

impl Card for SimCard {
    fn description(&self) -> &CardDescription {
        self.driver.description()
    }

    fn now(&self) -> Picoseconds {
        self.driver.transport().now()
    }

    fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.driver.read_register(address)
    }

    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.driver.write_register(address, value)
    }

    fn take_refused_writes(&mut self) -> Vec<u32> {
        self.machine().take_refused_writes()
    }

    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        self.driver.map_host(memory)
    }

    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.driver.unmap_host(address)
    }

    fn submit(&mut self, command: Command) -> Result<(), CardError> {
        self.driver.submit(&command)?;
        self.machine().note_command(&command);
        Ok(())
    }

    fn queue_room(&self, queue: QueueId) -> usize {
        self.driver.queue_room(queue)
    }

    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
        self.driver.control_slot(slot, asid, run)?;
        if !run {
            self.machine().forget_bursts(slot);
        }
        Ok(())
    }

    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.driver.read_kernel(slot, offset)
    }

    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        let mut status = self.driver.slot_status(slot)?;
        for (number, port) in status.ports.iter_mut().enumerate() {
            port.exclusive = self.machine().asked_exclusive(slot, number);
        }
        Ok(status)
    }

    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError> {
        self.driver.control_space(asid, control)
    }

    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError> {
        self.driver.schedule_slot(slot, schedule)
    }

    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.driver.wait(deadline)
    }

    fn statistics(&mut self) -> Result<Statistics, CardError> {
        self.driver.check_alive()?;
        // Reading the shell's counters takes virtual time, so counters that this would change are read first.
        let mut statistics = self.driver.transport().statistics();
        self.driver.count_requesters(&mut statistics.requesters)?;
        statistics.link.rows_zeroed = self.driver.rows_zeroed()?;
        statistics.owner_changes = self.driver.transport().owner_changes();
        Ok(statistics)
    }

    fn loader(&mut self) -> Option<&mut dyn Loader> {
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }

    fn lines(&mut self) -> Option<&mut dyn CoherentLines> {
        match self.machine().has_link() {
            true => Some(self),
            false => None,
        }
    }

    fn simulation(&mut self) -> Option<&mut dyn Simulation> {
        Some(self)
    }
}

impl Loader for SimCard {
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        self.driver.check_loadable(slot)?;
        let result = self.machine().load(slot, kernel);
        self.driver.note(result)
    }

    fn preparation(&self, kernel: &KernelPackage, limit: Option<Duration>) -> Option<Preparation> {
        self.driver.check_alive().ok()?;
        self.driver.transport().preparation(kernel, limit)
    }
}

impl Streams for SimCard {
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        self.driver.start_transfer(slot, stream, transfer)
    }

    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        self.driver.stop_transfer(slot, stream)
    }

    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        self.driver.stream_state(slot, stream)
    }

    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError> {
        self.driver.check_alive()?;
        self.description().check_stream(slot, stream)?;
        Ok(self.machine().stream_waiting(slot, stream))
    }

    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        self.driver.connect_stream(slot, pair, source)
    }

    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        self.driver.switch_state(slot, pair)
    }

    fn network(&mut self) -> Option<&mut dyn Network> {
        Some(self)
    }
}

impl Network for SimCard {
    fn connect_peer(
        &mut self,
        interface: u8,
        direction: StreamDirection,
        peer: Box<dyn Peer>,
    ) -> Result<(), CardError> {
        self.driver.check_alive()?;
        let port = self.machine().network(interface)?;
        port.connect(direction == StreamDirection::Out, peer);
        Ok(())
    }

    fn network_failure(
        &mut self,
        interface: u8,
        direction: StreamDirection,
    ) -> Result<Option<String>, CardError> {
        let port = self.machine().network(interface)?;
        let failure = port.failure(direction == StreamDirection::Out);
        Ok(failure.map(str::to_owned))
    }

    fn set_network_link(&mut self, interface: u8, up: bool) -> Result<(), CardError> {
        let now = self.now();
        self.machine().network(interface)?.set_link(now, up);
        Ok(())
    }
}

impl CoherentLines for SimCard {
    fn access(&mut self, access: LineAccess) -> Result<AccessId, CardError> {
        self.driver.check_alive()?;
        access.check()?;
        self.machine().start_access(&access)
    }

    fn show_page(
        &mut self,
        address: u64,
        write: bool,
        pages: Arc<dyn LinePages>,
    ) -> Result<bool, CardError> {
        self.driver.check_alive()?;
        self.machine().link()?.show_page(address, write, pages)
    }

    fn hide_pages(&mut self, base: u64, bytes: u64) -> Result<(), CardError> {
        self.machine().link()?.hide_pages(base, bytes)
    }

    fn record_lines(&mut self, history: History) -> Result<(), CardError> {
        self.machine().link()?.record(history);
        Ok(())
    }

    fn line_history(&self) -> History {
        self.driver.transport().line_history()
    }
}

impl Simulation for SimCard {
    fn has_virtual_time(&self) -> bool {
        true
    }

    fn host_work(&mut self, work: HostWork) -> WorkId {
        self.machine().host_work(work)
    }

    fn place(&mut self, command: &Command) -> Result<bool, CardError> {
        self.driver.check_alive()?;
        self.machine().place(command)
    }

    fn is_quiescent(&mut self) -> bool {
        !self.driver.is_busy() && self.machine().is_quiescent()
    }

    fn set_bell(&mut self, bell: Arc<AtomicBool>) {
        self.machine().set_bell(bell);
    }

    fn ring_at(&mut self, at: Option<Picoseconds>) {
        self.machine().ring_at(at);
    }

    fn was_rung(&self) -> bool {
        self.driver.was_rung()
    }
}
