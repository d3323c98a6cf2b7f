//! The host's side of the command ring and the event ring (docs/architecture.md).

use crate::command::Command;
use crate::event::{self, Event};
use crate::memory::{HostMemory, OutOfBounds};
use crate::CardError;
use std::collections::VecDeque;
use std::sync::Arc;
use units::CommandId;

/// Size of a command and of a record, in bytes.
const ENTRY: usize = 64;

/// log2 of the commands in the ring.
pub(super) const COMMANDS_LOG2: u32 = 12;
/// log2 of the records in the ring.
pub(super) const EVENTS_LOG2: u32 = 12;

fn allocate(entries_log2: u32) -> Result<Arc<HostMemory>, CardError> {
    HostMemory::allocate(ENTRY << entries_log2)
        .map(Arc::new)
        .map_err(|error| CardError::HostMemory(format!("no memory for a ring: {error}")))
}

fn outside(error: OutOfBounds) -> CardError {
    CardError::Broken(format!("a ring is smaller than it should be: {error}"))
}

/// A ring of commands to the shell.
pub(super) struct CommandRing {
    memory: Arc<HostMemory>,
    /// Commands written, free-running.
    tail: u32,
    /// Commands known to be fetched, free-running.
    head: u32,
    /// Count last written to the doorbell.
    rung: u32,
    /// Commands that will be completed by an event, in order, with their positions.
    awaited: VecDeque<(CommandId, u32)>,
}

impl CommandRing {
    pub(super) fn new() -> Result<Self, CardError> {
        Ok(Self {
            memory: allocate(COMMANDS_LOG2)?,
            tail: 0,
            head: 0,
            rung: 0,
            awaited: VecDeque::new(),
        })
    }

    pub(super) fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    pub(super) const fn size() -> usize {
        1 << COMMANDS_LOG2
    }

    /// Number of free positions, as far as known.
    pub(super) fn room(&self) -> usize {
        Self::size() - self.tail.wrapping_sub(self.head) as usize
    }

    /// Writes a command; there must be room.
    pub(super) fn push(&mut self, command: &Command) -> Result<(), CardError> {
        let index = self.tail as usize & (Self::size() - 1);
        for (word, value) in command.encode().into_iter().enumerate() {
            self.memory
                .store(index * ENTRY + word * 8, value)
                .map_err(outside)?;
        }
        if command.notify {
            self.awaited.push_back((command.id, self.tail));
        }
        self.tail = self.tail.wrapping_add(1);
        Ok(())
    }

    /// The count for the doorbell, if it has changed since the last call.
    pub(super) fn ring(&mut self) -> Option<u32> {
        (self.rung != self.tail).then(|| {
            self.rung = self.tail;
            self.tail
        })
    }

    /// Records how many commands the shell has fetched.
    pub(super) fn fetched(&mut self, head: u32) {
        if self.tail.wrapping_sub(head) <= self.tail.wrapping_sub(self.head) {
            self.head = head;
        }
    }

    /// Records a completion; commands are fetched in order, so all earlier ones are fetched.
    pub(super) fn completed(&mut self, id: CommandId) {
        if let Some(position) = self.awaited.iter().position(|(awaited, _)| *awaited == id) {
            if let Some((_, place)) = self.awaited.remove(position) {
                self.fetched(place.wrapping_add(1));
            }
        }
    }

    /// Whether a command is not announced yet, or will still be completed.
    pub(super) fn is_busy(&self) -> bool {
        self.rung != self.tail || !self.awaited.is_empty()
    }
}

/// The ring of records from the shell.
pub(super) struct EventRing {
    memory: Arc<HostMemory>,
    /// Records consumed, free-running.
    head: u32,
    /// Count last written to the shell.
    told: u32,
}

impl EventRing {
    pub(super) fn new() -> Result<Self, CardError> {
        Ok(Self {
            memory: allocate(EVENTS_LOG2)?,
            head: 0,
            told: 0,
        })
    }

    pub(super) fn memory(&self) -> &Arc<HostMemory> {
        &self.memory
    }

    /// Appends all available records, at most one lap of the ring, so that a card that writes without end does not
    /// block the host.
    pub(super) fn drain(&mut self, into: &mut Vec<Event>) -> Result<(), CardError> {
        let size = 1 << EVENTS_LOG2;
        for _ in 0..size {
            let start = (self.head as usize & (size - 1)) * ENTRY;
            // The word with the phase first: the rest is written before it becomes visible.
            let mut words = [0; 8];
            words[7] = self.memory.load(start + 56).map_err(outside)?;
            let lap_is_even = self.head >> EVENTS_LOG2 & 1 == 0;
            if event::phase(&words) != lap_is_even {
                return Ok(());
            }
            for (word, value) in words.iter_mut().enumerate().take(7) {
                *value = self.memory.load(start + word * 8).map_err(outside)?;
            }
            let event = event::decode(&words)
                .map_err(|error| CardError::Broken(format!("event ring: {error}")))?;
            into.push(event);
            self.head = self.head.wrapping_add(1);
        }
        Ok(())
    }

    /// The count that acknowledges the interrupt and frees all consumed records.
    pub(super) fn acknowledge(&mut self) -> u32 {
        self.told = self.head;
        self.head
    }

    /// The count that frees consumed records, if there are enough to be worth a register write.
    pub(super) fn give_back(&mut self) -> Option<u32> {
        let gathered = self.head.wrapping_sub(self.told);
        (gathered >= 1 << (EVENTS_LOG2 - 2)).then(|| {
            self.told = self.head;
            self.head
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Operation;

    fn nop(id: u32) -> Command {
        Command {
            id: CommandId(id),
            operation: Operation::Nop,
            fence: false,
            notify: true,
            ..Command::default()
        }
    }

    #[test]
    fn room_comes_back_in_order_of_fetching() {
        let mut ring = CommandRing::new().unwrap();
        for id in 0..3 {
            ring.push(&nop(id)).unwrap();
        }
        assert_eq!((ring.ring(), ring.ring()), (Some(3), None));
        assert_eq!(ring.room(), CommandRing::size() - 3);
        ring.completed(CommandId(1));
        assert_eq!(ring.room(), CommandRing::size() - 1);
        ring.completed(CommandId(0));
        assert_eq!(ring.room(), CommandRing::size() - 1);
        ring.fetched(3);
        assert_eq!(ring.room(), CommandRing::size());
        assert!(ring.is_busy());
    }

    #[test]
    fn records_are_read_once_a_lap() {
        let mut ring = EventRing::new().unwrap();
        let size = 1usize << EVENTS_LOG2;
        let mut events = Vec::new();
        for count in 0..2 * size + 3 {
            let at = count % size * ENTRY;
            let phase = u64::from(count / size % 2 == 0);
            ring.memory.store(at, 0x1).unwrap();
            ring.memory.store(at + 8, count as u64).unwrap();
            ring.memory.store(at + 56, phase).unwrap();
            ring.drain(&mut events).unwrap();
            assert_eq!(events.len(), count + 1);
            ring.give_back();
        }
        ring.drain(&mut events).unwrap();
        assert_eq!(events.len(), 2 * size + 3);
    }
}
