//! A slot: its kernel, its control registers, its requesters.

use super::access::Requester;
use super::control::ControlRegisters;
use super::kernel::{FunctionalKernel, KernelModel};
use super::mover::Mover;
use super::posted::Posted;
use card::guard::{SlotNotes, Violation};
use card::kernel::{ControlProtocol, Manifest};
use card::stream::StreamDirection;
use units::Asid;

/// A slot: a region for one kernel.
pub(super) struct Slot {
    pub(super) kernel: Option<Loaded>,
    pub(super) asid: Asid,
    pub(super) run: bool,
    pub(super) requesters: Vec<Requester>,
    /// One per port.
    pub(super) posted: Vec<Posted>,
    /// The interrupt has risen, and is held until earlier writes are answered.
    pub(super) announces: bool,
    /// For each stream pair the mover into the kernel, then the one out of it.
    pub(super) movers: Vec<Mover>,
    /// All of the kernel's accesses wait for the host.
    pub(super) blocked: bool,
    /// The model did something that no kernel can do; it stops until the slot is reset.
    pub(super) failed: bool,
    /// The rule that the kernel broke since the slot left reset, and the port. The slot is closed: the kernel is
    /// stopped, its registers answer.
    pub(super) violation: Option<(usize, Violation)>,
}

/// A kernel loaded into a slot.
pub(super) struct Loaded {
    pub(super) manifest: Manifest,
    pub(super) model: KernelModel,
    pub(super) kernel: Box<dyn FunctionalKernel>,
    pub(super) registers: ControlRegisters,
}

impl Loaded {
    pub(super) fn new(manifest: &Manifest, model: KernelModel) -> Self {
        Self {
            manifest: manifest.clone(),
            model,
            kernel: (model.create)(),
            registers: ControlRegisters::new(manifest),
        }
    }
}

impl Slot {
    pub(super) fn new(ports: usize, pairs: usize) -> Self {
        let movers = [StreamDirection::In, StreamDirection::Out].map(Mover::new);
        Self {
            kernel: None,
            asid: Asid::default(),
            run: false,
            requesters: vec![Requester::default(); 2 * ports],
            posted: vec![Posted::default(); ports],
            announces: false,
            movers: (0..pairs).flat_map(|_| movers.clone()).collect(),
            blocked: false,
            failed: false,
            violation: None,
        }
    }

    /// Whether a step of the kernel could make progress.
    pub(super) fn is_runnable(&self) -> bool {
        let started = |loaded: &Loaded| {
            let data_driven = loaded.manifest.control == ControlProtocol::ApCtrlNone;
            data_driven || loaded.registers.wants_to_run()
        };
        let stands = self.blocked || self.failed || self.violation.is_some();
        self.run && !stands && self.kernel.as_ref().is_some_and(started)
    }

    /// Lets the kernel and the movers retry their blocked accesses.
    pub(super) fn unblock(&mut self) {
        self.blocked = false;
        for posted in &mut self.posted {
            posted.blocked = false;
        }
        self.movers
            .iter_mut()
            .for_each(|mover| mover.blocked = false);
    }

    /// Ports with a posted write that can be answered.
    pub(super) fn posted_runnable(&self) -> impl Iterator<Item = usize> + '_ {
        let ports = self.posted.iter().enumerate();
        let ready = ports.filter(|(_, posted)| self.may_move() && posted.is_runnable());
        ready.map(|(port, _)| port)
    }

    /// Makes later queries cover the writes accepted so far.
    pub(super) fn mark(&mut self) {
        self.posted.iter_mut().for_each(Posted::mark);
    }

    /// Writes not answered yet.
    pub(super) fn notes(&self) -> SlotNotes {
        SlotNotes {
            // A model waits for its reads.
            reads_owed: false,
            writes_owed: self.posted.iter().any(Posted::is_owed),
            closed: self.violation.is_some() && self.run,
        }
    }

    /// Whether the movers of the slot may run.
    pub(super) fn may_move(&self) -> bool {
        self.run && !self.failed && self.violation.is_none()
    }

    /// Applies a reset of the slot.
    pub(super) fn reset(&mut self) {
        self.blocked = false;
        self.failed = false;
        self.requesters.iter_mut().for_each(Requester::reset);
        self.posted.fill(Posted::default());
        self.announces = false;
        self.movers.iter_mut().for_each(Mover::reset);
        if let Some(loaded) = &mut self.kernel {
            *loaded = Loaded::new(&loaded.manifest, loaded.model);
        }
    }
}
