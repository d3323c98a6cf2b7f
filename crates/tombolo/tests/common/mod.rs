//! A card with a test layer between it and its owner.

use card::command::{Command, QueueId};
use card::event::Event;
use card::guard::{KernelWord, SlotStatus};
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::{
    CardError, CoherentLines, Loader, Preparation, Simulation, SpaceControl, Statistics, Streams,
};
use std::sync::Arc;
use tombolo::Picoseconds;
use units::{Asid, CardDescription, HostAddr, SlotId};

/// Sees what goes to a card and what comes from it, and may change it.
pub trait Between: Send {
    fn submit(&mut self, card: &mut dyn card::Card, command: Command) -> Result<(), CardError> {
        card.submit(command)
    }

    fn wait(
        &mut self,
        card: &mut dyn card::Card,
        deadline: Option<Picoseconds>,
    ) -> Result<Vec<Event>, CardError> {
        card.wait(deadline)
    }

    fn preparation(&self) -> Option<Preparation> {
        None
    }

    fn control_space(&mut self, _asid: Asid, _control: SpaceControl) {}
}

pub struct Watched<B> {
    pub card: Box<dyn card::Card>,
    pub between: B,
}

impl<B: Between> card::Card for Watched<B> {
    fn submit(&mut self, command: Command) -> Result<(), CardError> {
        self.between.submit(self.card.as_mut(), command)
    }
    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.between.wait(self.card.as_mut(), deadline)
    }
    fn description(&self) -> &CardDescription {
        self.card.description()
    }
    fn now(&self) -> Picoseconds {
        self.card.now()
    }
    fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.card.read_register(address)
    }
    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.card.write_register(address, value)
    }
    fn take_refused_writes(&mut self) -> Vec<u32> {
        self.card.take_refused_writes()
    }
    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        self.card.map_host(memory)
    }
    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.card.unmap_host(address)
    }
    fn queue_room(&self, queue: QueueId) -> usize {
        self.card.queue_room(queue)
    }
    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
        self.card.control_slot(slot, asid, run)
    }
    fn schedule_slot(
        &mut self,
        slot: SlotId,
        schedule: units::SlotSchedule,
    ) -> Result<(), CardError> {
        self.card.schedule_slot(slot, schedule)
    }
    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.card.read_kernel(slot, offset)
    }
    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        self.card.slot_status(slot)
    }
    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError> {
        self.between.control_space(asid, control);
        self.card.control_space(asid, control)
    }
    fn statistics(&mut self) -> Result<Statistics, CardError> {
        self.card.statistics()
    }
    fn loader(&mut self) -> Option<&mut dyn Loader> {
        Some(self)
    }
    fn streams(&mut self) -> Option<&mut dyn Streams> {
        self.card.streams()
    }
    fn lines(&mut self) -> Option<&mut dyn CoherentLines> {
        self.card.lines()
    }
    fn simulation(&mut self) -> Option<&mut dyn Simulation> {
        self.card.simulation()
    }
}

impl<B: Between> Loader for Watched<B> {
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        self.card.loader().unwrap().load(slot, kernel)
    }
    fn preparation(
        &self,
        _kernel: &KernelPackage,
        _limit: Option<std::time::Duration>,
    ) -> Option<Preparation> {
        self.between.preparation()
    }
}
