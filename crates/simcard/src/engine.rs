//! The event loop of the simulated card: virtual time, clock edges, and the surroundings of the
//! shell.
//!
//! An edge has these steps, in order: transfers on each bus are sampled, with the pins as before
//! the edge; all models are clocked; buses get their inputs for the next edge; outputs of the shell
//! go to the kernels, which settle, and the kernels' outputs go to the shell. Every output of the
//! shell is registered, so one pass is enough, and a design split at the slot boundary is
//! cycle-exact to one model.

use super::bar_port::{BarPort, ReadAnswer};
use super::clocked::Clocked;
use super::host_port::HostPort;
use super::link_port::LinkPort;
use super::memory_port::MemoryPort;
use super::model::{Instance, ModelFailure, Pin};
use super::network_port::NetworkPort;
use super::observer::{OwnerObserver, PortObserver, StreamObserver};
use super::slot::{quieten, KernelSlot, SlotPlace};
use super::surrounding::{HostPath, Surroundings};
use super::top::STREAM_WAITS;
use super::trace::Probe;
use crate::error::not_built;
use card::driver::AddressMap;
use card::history::History;
use card::kernel::Manifest;
use card::stream::{StreamDirection, StreamId, StreamWaiting};
use card::{CardError, SlotId};
use std::sync::atomic::{AtomicBool, Ordering};
use timing::pcie::Link;
use units::Picoseconds;
use verilated::BuildError;

/// A clock with edges at `phase + n × period`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockDomain {
    pub(crate) period: Picoseconds,
    pub(crate) phase: Picoseconds,
}

impl ClockDomain {
    /// Number of the first edge at or after `time`.
    fn edge_from(&self, time: Picoseconds) -> u64 {
        (time - self.phase).get().div_ceil(self.period.get())
    }

    fn time_of(&self, edge: u64) -> Picoseconds {
        self.phase + self.period * edge
    }
}

/// An occurrence in the engine that the card must handle.
#[derive(Debug)]
pub(crate) enum Notice {
    /// The interrupt reaches the host at this time.
    Interrupt(Picoseconds),
    /// Accesses of the coherent CPU ended.
    AccessDone,
    /// A kernel ended itself; its slot is empty now.
    KernelFailed(SlotId, String),
}

/// The reason why [`Engine::run_until`] returned.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// The time is reached; every edge up to it is evaluated.
    Reached,
    /// There are notices.
    Noticed,
    /// The answer to a register read has arrived.
    Answered,
    /// No event can occur, and no time limit was given.
    Idle,
    /// The thread was called back by the bell.
    Rung,
}

/// All clocked models, and their surroundings.
pub(crate) struct Engine {
    clock: ClockDomain,
    /// Number of the next edge.
    next: u64,
    now: Picoseconds,
    idle_skipping: bool,
    shell: Clocked,
    reset: Pin<u8>,
    irq: Pin<u8>,
    slots: Vec<Option<KernelSlot>>,
    ports_per_slot: u32,
    pairs_per_slot: u32,
    slices: u32,
    caches: u32,
    observers: Vec<PortObserver>,
    owners: OwnerObserver,
    stream_observers: Vec<StreamObserver>,
    /// For each stream pair: a beat of the kernel waits in the shell.
    waits: Vec<Pin<u8>>,
    /// For each network interface: a beat waits in front of it.
    network_waits: Vec<Pin<u8>>,
    probes: Vec<Probe>,
    /// First time that a row crossed a port of a slot; recorded only if waveforms begin with it.
    activity: Option<Picoseconds>,
    seeks_activity: bool,
    pub(crate) around: Surroundings,
    pub(crate) link: Box<dyn Link + Send>,
    pub(crate) map: AddressMap,
    notices: Vec<Notice>,
}

/// The components of an engine.
pub(crate) struct Parts {
    pub(crate) clock: ClockDomain,
    pub(crate) shell: Instance,
    /// Another model of the shell, which is compared at every edge.
    pub(crate) witness: Option<Instance>,
    pub(crate) slots: u32,
    pub(crate) ports_per_slot: u32,
    pub(crate) pairs_per_slot: u32,
    /// Number of slices of the directory; 0 without one.
    pub(crate) slices: u32,
    /// Number of slices of the cache of the CPU's lines; 0 without one.
    pub(crate) caches: u32,
    /// The coherent link and the CPU, if the card has them.
    pub(crate) coherent: Option<LinkPort>,
    pub(crate) memories: Vec<MemoryPort>,
    pub(crate) networks: Vec<NetworkPort>,
    /// Probes for a timeline; empty without one.
    pub(crate) probes: Vec<Probe>,
    pub(crate) link: Box<dyn Link + Send>,
    pub(crate) idle_skipping: bool,
    /// The kernel is part of the shell's model.
    pub(crate) monolithic: bool,
    /// Waveforms begin with the first activity.
    pub(crate) seeks_activity: bool,
}

fn broken(failure: ModelFailure) -> CardError {
    CardError::Broken(format!("the shell failed: {}", failure.reason))
}

impl Engine {
    pub(crate) fn new(parts: Parts) -> Result<Self, CardError> {
        let Parts {
            clock,
            shell,
            slots,
            ports_per_slot,
            pairs_per_slot,
            slices,
            caches,
            ..
        } = parts;
        let pin = |name: &str| {
            shell
                .pin::<u8>(name, 0)
                .ok_or_else(|| BuildError::Mismatch {
                    kernel: shell.info().name.clone(),
                    rule: format!("the shell has no port `{name}` of one bit"),
                })
        };
        let (reset, irq) = (
            pin("rst_ni").map_err(not_built)?,
            pin("irq_o").map_err(not_built)?,
        );
        if !parts.monolithic {
            for slot in 0..slots {
                quieten(
                    &shell,
                    SlotPlace {
                        slot,
                        ports_per_slot,
                        pairs_per_slot,
                        slices,
                        caches,
                    },
                )
                .map_err(not_built)?;
            }
        }
        let observers = (0..slots * ports_per_slot)
            .map(|port| PortObserver::new(&shell, port))
            .collect::<Result<_, _>>()
            .map_err(not_built)?;
        let stream_observers = (0..slots * pairs_per_slot)
            .map(|pair| StreamObserver::new(&shell, pair))
            .collect::<Result<_, _>>()
            .map_err(not_built)?;
        let waits = (0..slots * pairs_per_slot)
            .filter_map(|pair| shell.pin::<u8>(STREAM_WAITS, pair))
            .collect();
        let network_waits = (0..parts.networks.len() as u32)
            .filter_map(|interface| shell.pin::<u8>("net_send_tvalid_o", interface))
            .collect();
        let mut engine = Self {
            next: 0,
            now: Picoseconds::ZERO,
            idle_skipping: parts.idle_skipping,
            reset,
            irq,
            slots: (0..slots).map(|_| None).collect(),
            ports_per_slot,
            pairs_per_slot,
            slices,
            caches,
            observers,
            owners: OwnerObserver::default(),
            stream_observers,
            waits,
            network_waits,
            probes: parts.probes,
            activity: None,
            seeks_activity: parts.seeks_activity,
            around: Surroundings {
                memories: parts.memories,
                host: HostPort::new(&shell).map_err(not_built)?,
                bar: BarPort::new(&shell).map_err(not_built)?,
                coherent: parts.coherent,
                networks: parts.networks,
            },
            shell: Clocked::new(shell).with_witness(parts.witness),
            link: parts.link,
            map: AddressMap::default(),
            notices: Vec::with_capacity(16),
            clock,
        };
        engine.shell.start().map_err(broken)?;
        Ok(engine)
    }

    /// Holds the whole card in reset for a number of edges. Buses stay idle meanwhile.
    pub(crate) fn reset(&mut self, edges: u32) -> Result<(), CardError> {
        self.reset.set(0);
        for _ in 0..edges {
            self.now = self.clock.time_of(self.next);
            self.shell.touch();
            self.shell.edge(self.now, false).map_err(broken)?;
            self.next += 1;
        }
        self.reset.set(1);
        self.shell.touch();
        for slot in 0..self.slots.len() {
            self.exchange(slot, true)?;
        }
        Ok(())
    }

    pub(crate) fn now(&self) -> Picoseconds {
        self.now
    }

    /// Number of edges so far, including skipped ones.
    pub(crate) fn cycles(&self) -> u64 {
        self.next
    }

    /// Number of edges at which the shell was evaluated.
    pub(crate) fn evaluated_cycles(&self) -> u64 {
        self.shell.evaluated
    }

    pub(crate) fn coherent(&mut self) -> Option<&mut LinkPort> {
        self.around.coherent.as_mut()
    }

    pub(crate) fn line_history(&self) -> History {
        let link = self.around.coherent.as_ref();
        link.map_or_else(History::default, LinkPort::history)
    }

    pub(crate) fn networks_mut(&mut self) -> &mut [NetworkPort] {
        &mut self.around.networks
    }

    pub(crate) fn memories_mut(&mut self) -> &mut [MemoryPort] {
        &mut self.around.memories
    }

    pub(crate) fn memories(&self) -> &[MemoryPort] {
        &self.around.memories
    }

    pub(crate) fn observers(&self) -> &[PortObserver] {
        &self.observers
    }

    pub(crate) fn owners(&self) -> &OwnerObserver {
        &self.owners
    }

    pub(crate) fn stream_observers(&self) -> &[StreamObserver] {
        &self.stream_observers
    }

    /// Bytes that a kernel has sent out of a port and that were not taken.
    pub(crate) fn stream_waiting(&self, slot: SlotId, stream: StreamId) -> StreamWaiting {
        let of_slots = usize::from(slot.0) * self.pairs_per_slot as usize;
        let pins = match (stream.direction, usize::from(slot.0) < self.slots.len()) {
            (StreamDirection::Out, true) => self.waits.get(of_slots + usize::from(stream.pair)),
            // Data sent to the network goes into its interface.
            (StreamDirection::In, false) => self.network_waits.get(usize::from(stream.pair)),
            _ => None,
        };
        let beat = pins.is_some_and(|pin| pin.high());
        let kernel = self.slots.get(usize::from(slot.0)).and_then(Option::as_ref);
        let (held, endless) = kernel.map_or((0, false), |kernel| kernel.unsent(stream));
        StreamWaiting {
            beat,
            held,
            endless,
        }
    }

    /// Whether a memory port of the kernel in a slot has asked for exclusive access.
    pub(crate) fn asked_exclusive(&self, slot: SlotId, port: usize) -> bool {
        let kernel = self.slots.get(usize::from(slot.0)).and_then(Option::as_ref);
        kernel.is_some_and(|kernel| kernel.asked_exclusive(port))
    }

    pub(crate) fn shell(&self) -> &Instance {
        self.shell.instance()
    }

    pub(crate) fn place(&self, slot: SlotId) -> SlotPlace {
        SlotPlace {
            slot: slot.0.into(),
            ports_per_slot: self.ports_per_slot,
            pairs_per_slot: self.pairs_per_slot,
            slices: self.slices,
            caches: self.caches,
        }
    }

    /// Loads a kernel into a slot, or removes it.
    pub(crate) fn set_kernel(
        &mut self,
        slot: SlotId,
        kernel: Option<KernelSlot>,
    ) -> Result<(), CardError> {
        let index = usize::from(slot.0);
        self.slots[index] = None;
        quieten(self.shell.instance(), self.place(slot)).map_err(not_built)?;
        self.shell.touch();
        if let Some(mut kernel) = kernel {
            match kernel.start() {
                Ok(_) => self.slots[index] = Some(kernel),
                Err(failure) => self.kernel_failed(index, failure)?,
            }
        }
        Ok(())
    }

    /// Sets the identity of the kernel in a slot: constant pins.
    pub(crate) fn set_identity(&mut self, slot: SlotId, identity: u64) -> Result<(), CardError> {
        let name = "slot_identity_i";
        let pin = self.shell.instance().number_pin(name, slot.0.into());
        let pin = pin.ok_or_else(|| {
            not_built(BuildError::Mismatch {
                kernel: self.shell.instance().info().name.clone(),
                rule: format!("the shell has no port `{name}` of 64 bits"),
            })
        })?;
        if pin.set(identity) {
            self.shell.touch();
        }
        Ok(())
    }

    /// Drops the open bursts of a slot whose ports were reset.
    pub(crate) fn forget_bursts(&mut self, slot: SlotId) {
        let ports = self.ports_per_slot as usize;
        let first = usize::from(slot.0) * ports;
        for observer in &mut self.observers[first..first + ports] {
            observer.forget();
        }
        let pairs = self.pairs_per_slot as usize;
        let first = usize::from(slot.0) * pairs;
        for observer in &mut self.stream_observers[first..first + pairs] {
            observer.forget();
        }
        for probe in &mut self.probes {
            probe.forget(slot);
        }
    }

    /// Labels the ports of a slot on the timeline with the kernel's names.
    pub(crate) fn name_ports(&mut self, slot: SlotId, manifest: &Manifest) {
        let memory_ports = (self.ports_per_slot - self.pairs_per_slot) as usize;
        for probe in &mut self.probes {
            probe.name(slot, manifest, memory_ports);
        }
    }

    pub(crate) fn take_notices(&mut self, into: &mut Vec<Notice>) {
        into.append(&mut self.notices);
    }

    /// Takes the answer to a register read.
    pub(crate) fn take_answer(&mut self) -> Option<ReadAnswer> {
        self.around.bar.take_answer()
    }

    /// Lets time pass until `until`, a notice, an answer, or the bell.
    pub(crate) fn run_until(
        &mut self,
        until: Picoseconds,
        bell: Option<&AtomicBool>,
    ) -> Result<Stop, CardError> {
        loop {
            if bell.is_some_and(|bell| bell.load(Ordering::Relaxed)) {
                return Ok(Stop::Rung);
            }
            if !self.notices.is_empty() {
                return Ok(Stop::Noticed);
            }
            if self.around.bar.has_answer() {
                return Ok(Stop::Answered);
            }
            if self.all_fixed() {
                let event = self.next_event();
                if event.is_none() && until == Picoseconds::MAX {
                    return Ok(Stop::Idle);
                }
                if self.idle_skipping {
                    self.skip_to(event.unwrap_or(Picoseconds::MAX).min(until));
                }
            }
            let at = self.clock.time_of(self.next);
            if at > until {
                self.now = self.now.max(until);
                return Ok(Stop::Reached);
            }
            self.edge(at)?;
        }
    }

    /// Whether no edge can change anything unless the host acts.
    pub(crate) fn is_idle(&self) -> bool {
        self.all_fixed()
            && self.next_event().is_none()
            && self.notices.is_empty()
            && !self.around.bar.is_busy()
            && !self.around.host.has_posted()
    }

    fn all_fixed(&self) -> bool {
        self.shell.is_fixed() && self.slots.iter().flatten().all(KernelSlot::is_fixed)
    }

    /// The next time at which one of the shell's surroundings changes an input of the shell.
    fn next_event(&self) -> Option<Picoseconds> {
        self.around.next_event(self.now)
    }

    /// Skips the edges before `time`: none of them would change anything.
    fn skip_to(&mut self, time: Picoseconds) {
        let target = self.clock.edge_from(time).max(self.next);
        if target == self.next {
            return;
        }
        for observer in &mut self.observers {
            observer.observe(target - self.next);
        }
        for observer in &mut self.stream_observers {
            observer.observe(target - self.next);
        }
        self.next = target;
    }

    /// Evaluates one edge.
    fn edge(&mut self, at: Picoseconds) -> Result<(), CardError> {
        self.now = at;
        let mut active = self.irq.high();
        if active {
            let arrives = self.link.interrupt(at);
            self.notices.push(Notice::Interrupt(arrives));
        }
        let mut path = HostPath {
            link: &mut *self.link,
            map: &self.map,
        };
        active |= self.around.sample(at, &mut path)?;
        if self
            .around
            .coherent
            .as_ref()
            .is_some_and(LinkPort::has_done)
        {
            self.notices.push(Notice::AccessDone);
        }
        for (port, observer) in (0..).zip(&mut self.observers) {
            let moved = observer.observe(1);
            if moved != [false; 2] {
                self.owners.observe(port / self.ports_per_slot, moved);
            }
        }
        for observer in &mut self.stream_observers {
            observer.observe(1);
        }
        if self.seeks_activity && self.observers.iter().any(PortObserver::is_used) {
            self.begin_waves(at);
        }
        for probe in &mut self.probes {
            probe.sample(at);
        }
        if active {
            self.shell.moved();
        }

        let skip = self.idle_skipping;
        self.shell.edge(at, skip).map_err(broken)?;
        for index in 0..self.slots.len() {
            let result = self.slots[index]
                .as_mut()
                .map_or(Ok(()), |slot| slot.edge(at, skip));
            if let Err(failure) = result {
                self.kernel_failed(index, failure)?;
            }
        }
        self.next += 1;

        let shell_moved = !self.shell.is_fixed();
        if self.around.drive(at) {
            self.shell.touch();
        }
        for index in 0..self.slots.len() {
            self.exchange(index, shell_moved)?;
        }
        Ok(())
    }

    /// Begins waveforms with the first activity, at this edge.
    #[cold]
    fn begin_waves(&mut self, at: Picoseconds) {
        self.seeks_activity = false;
        self.activity = Some(at);
        let period = self.clock.period;
        self.shell.begin_waves(at, period);
        for slot in self.slots.iter_mut().flatten() {
            slot.begin_waves(at, period);
        }
    }

    /// Time of the first activity, if it is recorded.
    pub(crate) fn activity(&self) -> Option<Picoseconds> {
        self.activity
    }

    fn exchange(&mut self, index: usize, shell_moved: bool) -> Result<(), CardError> {
        let Some(slot) = &mut self.slots[index] else {
            return Ok(());
        };
        match slot.exchange(self.now, shell_moved) {
            Ok((into, out)) => {
                if out {
                    self.shell.touch();
                } else if into {
                    self.shell.moved();
                }
                Ok(())
            }
            Err(failure) => self.kernel_failed(index, failure),
        }
    }

    /// Empties the slot of a kernel that ended itself; the shell continues.
    #[cold]
    fn kernel_failed(&mut self, index: usize, failure: ModelFailure) -> Result<(), CardError> {
        let slot = SlotId(index as u8);
        self.slots[index] = None;
        quieten(self.shell.instance(), self.place(slot)).map_err(not_built)?;
        self.shell.touch();
        self.notices
            .push(Notice::KernelFailed(slot, failure.reason));
        Ok(())
    }
}
