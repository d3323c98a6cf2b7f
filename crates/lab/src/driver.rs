//! Drives a card directly, without pager or library: one command or one register at a time.

use crate::failure::Failure;
use card::command::Command;
use card::event::Event;
use card::kernel::KernelPackage;
use card::Card;
use units::{CommandId, CommandStatus, Operation, SlotId};

/// Control registers common to all kernels.
pub const START: u32 = 0x00;
pub const GLOBAL_INTERRUPT: u32 = 0x04;
pub const INTERRUPT_ENABLE: u32 = 0x08;
pub const INTERRUPT_STATUS: u32 = 0x0c;

/// A card, and the number of its last command.
pub struct Driver<C> {
    pub card: C,
    last: u32,
}

impl<C: Card> Driver<C> {
    pub fn new(card: C) -> Self {
        Self { card, last: 0 }
    }

    /// Queues a command. If `awaited`, it waits for earlier ones, and notifies on completion.
    pub fn submit(&mut self, operation: Operation, awaited: bool) -> Result<CommandId, Failure> {
        self.last = self.last.wrapping_add(1);
        let id = CommandId(self.last);
        self.card.submit(Command {
            id,
            operation,
            fence: awaited,
            notify: awaited,
            ..Command::default()
        })?;
        Ok(id)
    }

    /// Executes a command to completion; returns whether its entry was dirty. `others` receives the events that are not
    /// its completion.
    pub fn command_beside(
        &mut self,
        operation: Operation,
        mut others: impl FnMut(Event) -> Result<(), Failure>,
    ) -> Result<bool, Failure> {
        let id = self.submit(operation, true)?;
        let mut found = None;
        while found.is_none() {
            for event in self.card.wait(None)? {
                match event {
                    Event::Completed {
                        id: ended,
                        status: CommandStatus::Ok,
                        dirty,
                        ..
                    } if ended == id => found = Some(dirty),
                    Event::Completed { .. } => {
                        return Err(format!("{operation:?} ended with {event:?}").into())
                    }
                    other => others(other)?,
                }
            }
        }
        Ok(found == Some(true))
    }

    /// Executes a command to completion; any other event is an error.
    pub fn command(&mut self, operation: Operation) -> Result<(), Failure> {
        self.command_beside(operation, |other| Err(unexpected(&other)))?;
        Ok(())
    }

    /// Waits for the interrupts of these slots; any other event is an error.
    pub fn interrupts(&mut self, slots: impl Iterator<Item = SlotId>) -> Result<(), Failure> {
        let mut running: std::collections::BTreeSet<SlotId> = slots.collect();
        while !running.is_empty() {
            for event in self.card.wait(None)? {
                match event {
                    Event::Interrupt(slot) if running.remove(&slot) => {}
                    other => return Err(unexpected(&other)),
                }
            }
        }
        Ok(())
    }

    /// Waits for interrupts of any slots and returns those that arrive together; any other event is an error.
    pub fn next_interrupts(&mut self) -> Result<Vec<SlotId>, Failure> {
        let events = self.card.wait(None)?;
        let slots = events.iter().map(|event| match event {
            Event::Interrupt(slot) => Ok(*slot),
            other => Err(unexpected(other)),
        });
        slots.collect()
    }

    /// Enables a kernel's interrupt at the end of its runs.
    pub fn enable_interrupt(&mut self, slot: SlotId) -> Result<(), Failure> {
        self.write(slot, GLOBAL_INTERRUPT, 1)?;
        self.write(slot, INTERRUPT_ENABLE, 1)
    }

    /// Acknowledges the end of a run, so that the next one may start.
    pub fn acknowledge(&mut self, slot: SlotId) -> Result<(), Failure> {
        let status = self.read(slot, INTERRUPT_STATUS)?;
        self.write(slot, INTERRUPT_STATUS, status)?;
        self.read(slot, START)?;
        Ok(())
    }

    /// Sets an argument of the kernel in a slot; `value` is a multiple of 4 bytes.
    pub fn set(
        &mut self,
        slot: SlotId,
        kernel: &KernelPackage,
        argument: &str,
        value: &[u8],
    ) -> Result<(), Failure> {
        let found = kernel.manifest.argument(argument);
        let offset = found.ok_or("no such argument")?.offset;
        for (number, word) in (0..).zip(value.chunks_exact(4)) {
            self.write(
                slot,
                offset + 4 * number,
                u32::from_le_bytes(word.try_into()?),
            )?;
        }
        Ok(())
    }

    /// Writes a control register of the kernel in a slot.
    pub fn write(&mut self, slot: SlotId, offset: u32, value: u32) -> Result<(), Failure> {
        Ok(self.card.write_register(control(slot, offset), value)?)
    }

    /// Reads a control register of the kernel in a slot.
    pub fn read(&mut self, slot: SlotId, offset: u32) -> Result<u32, Failure> {
        Ok(self.card.read_register(control(slot, offset))?)
    }
}

fn unexpected(event: &Event) -> Failure {
    format!("unexpected event {event:?}").into()
}

/// BAR address of a control register of the kernel in a slot.
fn control(slot: SlotId, offset: u32) -> u32 {
    card::registers::SLOT_CONTROL.at(slot.0.into()) + offset
}
