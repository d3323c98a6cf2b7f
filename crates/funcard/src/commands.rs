//! Commands: their ordering, concurrency and effects on memory.

use super::host::HostMap;
use super::memory::CardMemory;
use super::schedule::Schedule;
use super::table::Answer;
use card::command::Command;
use card::event::Event;
use card::LinkStatistics;
use std::collections::VecDeque;
use units::{CardAddr, CommandStatus, Operation, Stripe, ROW_BYTES};

/// Maximum length of a copy.
const MAX_BYTES: u64 = 1 << 30;
/// Granularity of a copy that other operations may interleave with, if a seed decides.
const PIECE: u64 = 256 << 10;

/// Commands that are not complete.
#[derive(Debug, Default)]
pub(super) struct CommandQueue {
    waiting: VecDeque<Command>,
    running: VecDeque<Transfer>,
}

/// A copy or zero fill in progress.
#[derive(Debug)]
struct Transfer {
    command: Command,
    done: u64,
}

/// Source and destination of a transfer.
struct Range {
    card: CardAddr,
    stripe: Stripe,
    host: u64,
    bytes: u64,
}

impl Range {
    fn of(command: &Command) -> Option<Self> {
        match command.operation {
            Operation::CopyIn {
                from,
                to,
                bytes,
                stripe,
            } => Some(Self {
                card: to,
                stripe,
                host: from.get(),
                bytes,
            }),
            Operation::CopyOut {
                from,
                to,
                bytes,
                stripe,
            } => Some(Self {
                card: from,
                stripe,
                host: to.get(),
                bytes,
            }),
            Operation::Zero { to, bytes, stripe } => Some(Self {
                card: to,
                stripe,
                host: 0,
                bytes,
            }),
            _ => None,
        }
    }

    fn is_well_formed(&self, memory: &CardMemory) -> bool {
        let aligned = (self.card.get() | self.host | self.bytes) % ROW_BYTES == 0;
        aligned
            && (1..=MAX_BYTES).contains(&self.bytes)
            && memory.addressable(self.card, self.bytes)
            && memory.fits(self.stripe)
    }
}

/// The next action for the head of the queue.
pub(super) enum Head {
    /// None: the queue is empty, or its head waits for earlier commands.
    Idle,
    /// A transfer to start, or to refuse.
    Transfer,
    /// A table command, a fault reply or a no-op: executed at once.
    Immediate,
}

impl CommandQueue {
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + self.running.len()
    }

    pub(super) fn push(&mut self, command: Command) {
        self.waiting.push_back(command);
    }

    /// Number of transfers in progress.
    pub(super) fn running(&self) -> usize {
        self.running.len()
    }

    pub(super) fn head(&self) -> Head {
        match self.waiting.front() {
            None => Head::Idle,
            Some(command) if command.fence && !self.running.is_empty() => Head::Idle,
            Some(command) if Range::of(command).is_some() => Head::Transfer,
            Some(_) => Head::Immediate,
        }
    }

    /// Removes the head, for the card to execute.
    pub(super) fn take_head(&mut self) -> Option<Command> {
        self.waiting.pop_front()
    }

    /// Starts the transfer at the head, or refuses it.
    pub(super) fn start_transfer(&mut self, memory: &CardMemory, events: &mut Vec<Event>) {
        let Some(command) = self.waiting.pop_front() else {
            return;
        };
        match Range::of(&command) {
            Some(range) if range.is_well_formed(memory) => {
                self.running.push_back(Transfer { command, done: 0 });
            }
            _ => complete(&command, Answer::bare(CommandStatus::Refused), events),
        }
    }

    /// Moves some bytes of the transfer at `index`.
    pub(super) fn move_bytes(
        &mut self,
        index: usize,
        memory: &mut CardMemory,
        host: &HostMap,
        link: &mut LinkStatistics,
        schedule: &mut Schedule,
        events: &mut Vec<Event>,
    ) {
        let transfer = &mut self.running[index];
        let Some(range) = Range::of(&transfer.command) else {
            return;
        };
        let piece = ROW_BYTES * schedule.portion(PIECE / ROW_BYTES);
        let bytes = piece.min(range.bytes - transfer.done);
        let (at, host_at) = (range.card.get() + transfer.done, range.host + transfer.done);
        let moved = CardAddr::new(at)
            .filter(|&at| memory.contains_striped(range.stripe, at, bytes))
            .and_then(|at| move_piece(&transfer.command, at, host_at, bytes, memory, host));
        transfer.done += bytes;
        let status = match moved {
            None => CommandStatus::BusError,
            Some(()) => {
                count(&transfer.command.operation, bytes, link);
                if transfer.done < range.bytes {
                    return;
                }
                CommandStatus::Ok
            }
        };
        if let Some(transfer) = self.running.remove(index) {
            complete(&transfer.command, Answer::bare(status), events);
        }
    }
}

fn move_piece(
    command: &Command,
    at: CardAddr,
    host_at: u64,
    bytes: u64,
    memory: &mut CardMemory,
    host: &HostMap,
) -> Option<()> {
    let mut pieces = memory.pieces(command.operation.stripe(), at, bytes);
    match command.operation {
        Operation::Zero { .. } => {
            pieces.for_each(|(at, range)| memory.zero(at, range.len() as u64));
            Some(())
        }
        Operation::CopyIn { .. } => {
            let (host, place) = host.range(host_at, bytes)?;
            pieces.try_for_each(|(at, range)| {
                memory.copy_in(at, (host, place + range.start), range.len())
            })
        }
        _ => {
            let (host, place) = host.range(host_at, bytes)?;
            pieces.try_for_each(|(at, range)| {
                memory.copy_out(at, (host, place + range.start), range.len())
            })
        }
    }
}

fn count(operation: &Operation, bytes: u64, link: &mut LinkStatistics) {
    match operation {
        Operation::CopyIn { .. } => link.bytes_to_card += bytes,
        Operation::CopyOut { .. } => link.bytes_to_host += bytes,
        _ => link.rows_zeroed += bytes / ROW_BYTES,
    }
}

/// Reports the completion of a command, if requested.
pub(super) fn complete(command: &Command, answer: Answer, events: &mut Vec<Event>) {
    if command.notify || answer.status != CommandStatus::Ok {
        events.push(Event::Completed {
            id: command.id,
            status: answer.status,
            accessed: answer.accessed,
            dirty: answer.dirty,
        });
    }
}
