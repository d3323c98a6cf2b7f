//! Implementation of the card contract and its extensions.

use super::l1::HostFilledL1;
use super::slot::Loaded;
use super::table::Space;
use super::{bar, FunctionalCard, SETTLING_STEPS};
use card::command::{Command, QueueId};
use card::event::Event;
use card::guard::{KernelWord, PortStatus, SlotStatus};
use card::kernel::KernelPackage;
use card::memory::HostMemory;
use card::registers;
use card::schedule::{CheckedSchedule, SlotSchedule};
use card::stream::{
    StreamDirection, StreamId, StreamSource, StreamState, StreamWaiting, SwitchState, Transfer,
};
use card::{
    Card, CardDescription, CardError, CheckedDescription, HostWork, Loader, Simulation, SlotId,
    SpaceControl, Statistics, Streams, WorkId,
};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use units::{Asid, HostAddr, Picoseconds};

impl Card for FunctionalCard {
    fn description(&self) -> &CardDescription {
        &self.description
    }

    fn now(&self) -> Picoseconds {
        self.now
    }

    fn read_register(&mut self, address: u32) -> Result<u32, CardError> {
        self.statistics.link.register_reads += 1;
        match bar::place(address)? {
            bar::BarTarget::Shell(offset) => self.read_shell(offset),
            bar::BarTarget::Slot(slot, offset) => {
                let loaded = bar::kernel(&mut self.slots, slot, address)?;
                let value = loaded.registers.read(offset);
                self.slots[slot].mark();
                Ok(value)
            }
        }
    }

    fn write_register(&mut self, address: u32, value: u32) -> Result<(), CardError> {
        self.statistics.link.register_writes += 1;
        let (slot, offset) = match bar::place(address)? {
            bar::BarTarget::Slot(slot, offset) => (slot, offset),
            bar::BarTarget::Shell(offset) => {
                let none = "the functional card has no such register to write";
                let space = bar::mode_of_space(offset).ok_or(bar::error(address, none))?;
                if let Some(mode) = self.modes.get_mut(space) {
                    *mode = value;
                }
                return Ok(());
            }
        };
        // Posted write: an error in the slot is not returned.
        if let Ok(loaded) = bar::kernel(&mut self.slots, slot, address) {
            let before = loaded.registers.interrupt();
            loaded.registers.write(offset, value);
            let rises = loaded.registers.interrupt() && !before;
            self.interrupt(SlotId(slot as u8), rises);
        }
        Ok(())
    }

    fn map_host(&mut self, memory: Arc<HostMemory>) -> Result<HostAddr, CardError> {
        self.host.map(memory)
    }

    fn unmap_host(&mut self, address: HostAddr) -> Result<(), CardError> {
        self.host.unmap(address)
    }

    fn submit(&mut self, command: Command) -> Result<(), CardError> {
        let queue = command.queue;
        if queue.0 >= self.description.queues {
            return Err(CardError::NoSuchQueue {
                queue,
                queues: self.description.queues,
            });
        }
        if self.queue_room(queue) == 0 {
            return Err(CardError::QueueFull {
                limit: self.queue_limit,
            });
        }
        self.commands[usize::from(queue.0)].push(command);
        Ok(())
    }

    fn queue_room(&self, queue: QueueId) -> usize {
        let commands = self.commands.get(usize::from(queue.0));
        commands.map_or(0, |commands| {
            self.queue_limit.saturating_sub(commands.len())
        })
    }

    fn control_slot(&mut self, slot: SlotId, asid: Asid, run: bool) -> Result<(), CardError> {
        self.slot(slot)?;
        self.check_space(asid)?;
        let number = usize::from(slot.0);
        let slot = self.slot(slot)?;
        slot.asid = asid;
        if run && !slot.run {
            slot.violation = None;
        }
        slot.run = run;
        if !run {
            slot.reset();
            self.switch.reset(&mut self.slots, number);
        }
        Ok(())
    }

    fn read_kernel(&mut self, slot: SlotId, offset: u32) -> Result<KernelWord, CardError> {
        self.slot(slot)?;
        let value = self.read_register(registers::SLOT_CONTROL.at(slot.0.into()) + offset)?;
        let notes = self.slot(slot)?.notes();
        Ok(KernelWord { value, notes })
    }

    fn slot_status(&mut self, slot: SlotId) -> Result<SlotStatus, CardError> {
        let slot = self.slot(slot)?;
        let mut status = SlotStatus {
            closed: slot.violation.is_some() && slot.run,
            unanswered: None,
            ports: vec![PortStatus::default(); slot.requesters.len() / 2],
        };
        if let Some((port, violation)) = slot.violation {
            status.ports[port].violation = Some(violation);
        }
        for (port, posted) in status.ports.iter_mut().zip(&slot.posted) {
            port.writes.outstanding = posted.outstanding();
        }
        Ok(status)
    }

    fn schedule_slot(&mut self, slot: SlotId, schedule: SlotSchedule) -> Result<(), CardError> {
        self.slot(slot)?;
        schedule.check(slot)?;
        // Without time there is no sharing; the registers hold the settings.
        for (address, value) in schedule.registers(slot, self.description.clock_period) {
            self.schedules.insert(address, value);
        }
        Ok(())
    }

    fn wait(&mut self, deadline: Option<Picoseconds>) -> Result<Vec<Event>, CardError> {
        self.rung = false;
        loop {
            // Before any client learns of operations on bytes that are lost.
            if let Some(error) = self.memory.failure() {
                return Err(CardError::HostMemory(format!(
                    "this machine has none left for what is written to the memory of a functional card: {error}; allow more \
                     (ulimit -v), or give the card less memory"
                )));
            }
            if !self.events.is_empty() && !self.schedule.whim() {
                return Ok(self.deliver());
            }
            if deadline.is_some_and(|deadline| self.now >= deadline) {
                return Ok(self.deliver());
            }
            if self.events.is_empty() && self.rings() {
                self.rung = true;
                return Ok(Vec::new());
            }
            if !self.advance() && self.events.is_empty() {
                let end = deadline.into_iter().chain(self.rings_at).min();
                self.now = end.ok_or(CardError::NothingToWaitFor)?;
            }
        }
    }

    fn statistics(&mut self) -> Result<Statistics, CardError> {
        let requesters = self.slots.iter().flat_map(|slot| &slot.requesters);
        self.statistics.requesters = requesters
            .map(|requester| requester.statistics.clone())
            .collect();
        Ok(self.statistics.clone())
    }

    fn control_space(&mut self, asid: Asid, control: SpaceControl) -> Result<(), CardError> {
        let index = self.check_space(asid)?;
        let table = match control {
            SpaceControl::Off => None,
            SpaceControl::On(table) => Some(self.check_table(asid, table)?),
            SpaceControl::PageSizes(size_classes) => {
                if let Some(space) = &mut self.spaces[index] {
                    space.size_classes = size_classes;
                }
                return Ok(());
            }
        };
        self.spaces[index] = table.map(|table| Space {
            table: table.geometry,
            size_classes: table.size_classes,
            stripe: table.stripe,
            host_channel: self.host_channel,
            walker_off: registers::space::mode::WALKER_OFF.get(self.modes[index]) != 0,
        });
        self.l1s[index] = HostFilledL1::default();
        Ok(())
    }

    fn loader(&mut self) -> Option<&mut dyn Loader> {
        Some(self)
    }

    fn streams(&mut self) -> Option<&mut dyn Streams> {
        Some(self)
    }

    fn simulation(&mut self) -> Option<&mut dyn Simulation> {
        Some(self)
    }
}

impl Loader for FunctionalCard {
    fn load(&mut self, slot: SlotId, kernel: &KernelPackage) -> Result<(), CardError> {
        if self.slot(slot)?.run {
            return Err(CardError::SlotBusy { slot });
        }
        let manifest = &kernel.manifest;
        let model = self.kernels.find(manifest)?;
        self.description.check_fit(manifest)?;
        let slot = self.slot(slot)?;
        slot.kernel = Some(Loaded::new(manifest, model));
        slot.reset();
        Ok(())
    }
}

impl Streams for FunctionalCard {
    fn start_transfer(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        transfer: Transfer,
    ) -> Result<(), CardError> {
        self.description.check_stream(slot, stream)?;
        let index = usize::from(stream.mover(SlotId(0), 1));
        let state = self.slot(slot)?;
        if !state.run {
            return Ok(());
        }
        if !state.movers[index].start(transfer) {
            return Err(CardError::StreamBusy { slot, stream });
        }
        Ok(())
    }

    fn stop_transfer(&mut self, slot: SlotId, stream: StreamId) -> Result<(), CardError> {
        self.description.check_stream(slot, stream)?;
        let index = usize::from(stream.mover(SlotId(0), 1));
        self.slot(slot)?.movers[index].stop();
        Ok(())
    }

    fn stream_state(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamState, CardError> {
        self.description.check_stream(slot, stream)?;
        let index = usize::from(stream.mover(SlotId(0), 1));
        Ok(self.slot(slot)?.movers[index].state())
    }

    fn stream_waiting(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamWaiting, CardError> {
        if stream.direction == StreamDirection::In {
            self.description.check_stream(slot, stream)?;
            return Ok(StreamWaiting::default());
        }
        // The progress of a kernel is arbitrary here, so everything it sends without the host's help counts as sent.
        let mut steps = 0..SETTLING_STEPS;
        while !self.stream_state(slot, stream)?.valid && steps.next().is_some() && self.advance() {}
        Ok(StreamWaiting {
            beat: self.stream_state(slot, stream)?.valid,
            ..StreamWaiting::default()
        })
    }

    fn connect_stream(
        &mut self,
        slot: SlotId,
        pair: u8,
        source: StreamSource,
    ) -> Result<(), CardError> {
        let pair = self.description.check_connection(slot, pair, source)?;
        self.switch.connect(&mut self.slots, pair.into(), source);
        Ok(())
    }

    fn switch_state(&mut self, slot: SlotId, pair: u8) -> Result<SwitchState, CardError> {
        let mover = StreamSource::Mover;
        let pair = self.description.check_connection(slot, pair, mover)?;
        Ok(self.switch.state(&self.slots, pair.into()))
    }
}

impl Simulation for FunctionalCard {
    fn has_virtual_time(&self) -> bool {
        false
    }

    fn host_work(&mut self, _work: HostWork) -> WorkId {
        let id = WorkId(self.next_work);
        self.next_work += 1;
        self.work.push_back(id);
        id
    }

    fn set_bell(&mut self, bell: Arc<AtomicBool>) {
        self.bell = Some(bell);
    }

    fn ring_at(&mut self, at: Option<Picoseconds>) {
        self.rings_at = at;
    }

    fn was_rung(&self) -> bool {
        self.rung
    }

    fn is_quiescent(&mut self) -> bool {
        self.events.is_empty() && self.moves().is_empty()
    }
}
