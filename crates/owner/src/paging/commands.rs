//! Commands on their way to the card, with a queue for each of the card's queues.

use card::command::{Command, QueueId};
use card::{Card, CardError};
use std::collections::{BTreeMap, VecDeque};
use units::{Asid, CommandId, Operation};

/// Minimum size in bytes of a long copy to the card, behind which other commands should not wait: some microseconds of
/// a link.
const LONG_COPY: u64 = 64 << 10;
/// Minimum number of long copies in a queue of the card: one that moves, and the next one.
const LONG_COPIES: usize = 2;
/// More long copies are sent up to this total, in bytes, to keep the link busy until the next ones come.
const COPYING_BYTES: u64 = 512 << 10;

/// Long copies in a queue of the card, and their sizes in bytes.
#[derive(Clone, Debug, Default)]
struct Copying(BTreeMap<CommandId, u64>);

impl Copying {
    fn begin(&mut self, command: &Command) {
        let bytes = long_copy(command);
        self.0.extend(bytes.map(|bytes| (command.id, bytes)));
    }

    fn is_enough(&self) -> bool {
        self.0.len() >= LONG_COPIES && self.0.values().sum::<u64>() >= COPYING_BYTES
    }
}

/// Commands that are not sent to the card yet, and the long copies that it has, by queue.
#[derive(Debug)]
pub(super) struct Commands {
    outgoing: Vec<VecDeque<Command>>,
    copying: Vec<Copying>,
}

impl Commands {
    /// Creates the queues for a card with `queues` queues.
    pub(super) fn new(queues: u8) -> Self {
        Self {
            outgoing: vec![VecDeque::new(); usize::from(queues)],
            copying: vec![Copying::default(); usize::from(queues)],
        }
    }

    /// Whether the card has all commands.
    pub(super) fn is_empty(&self) -> bool {
        self.outgoing.iter().all(VecDeque::is_empty)
    }

    /// The queue of a space, as far as the card has enough queues; queue 0 for commands that belong to no space.
    pub(super) fn queue_of(&self, space: Option<Asid>) -> QueueId {
        let queues = self.outgoing.len() as u8;
        match space {
            Some(asid) if queues > 1 => QueueId(1 + asid.get() % (queues - 1)),
            _ => QueueId(0),
        }
    }

    /// Appends a command to its queue.
    pub(super) fn push(&mut self, command: Command) {
        self.outgoing[usize::from(command.queue.0)].push_back(command);
    }

    /// Records the completion of a command; returns whether this alone permits others to follow.
    pub(super) fn completed(&mut self, id: CommandId) -> bool {
        let mut copying = self.copying.iter_mut();
        copying.any(|copying| copying.0.remove(&id).is_some())
    }

    /// Sends commands to the card as far as its rings have room.
    pub(super) fn send(&mut self, card: &mut dyn Card) -> Result<(), CardError> {
        for (queue, commands) in (0..).zip(&mut self.outgoing) {
            let copying = &mut self.copying[usize::from(queue)];
            while card.queue_room(QueueId(queue)) > 0 {
                let Some(command) = next_command(commands, copying.is_enough()) else {
                    break;
                };
                copying.begin(&command);
                card.submit(command)?;
            }
        }
        Ok(())
    }
}

/// Size in bytes of a copy to the card that would delay the queue's other commands for long: a queue starts commands in
/// order.
fn long_copy(command: &Command) -> Option<u64> {
    let bytes = match command.operation {
        Operation::CopyIn { bytes, .. } => bytes,
        _ => 0,
    };
    (bytes >= LONG_COPY && command.notify && !command.fence).then_some(bytes)
}

/// The next command of a queue; `enough` if the card has enough long copies. A further long copy would only wait there,
/// and block the commands behind it: resident pages would not be installed until read-ahead pages are copied. So other
/// commands overtake it, up to a fence. The card's own order is equally free: its units work concurrently, and the
/// pager waits for the end of a command before it sends one that depends on it.
fn next_command(commands: &mut VecDeque<Command>, enough: bool) -> Option<Command> {
    if !enough {
        return commands.pop_front();
    }
    let place = commands
        .iter()
        .position(|command| long_copy(command).is_none())?;
    match commands[place].fence && place > 0 {
        true => None,
        false => commands.remove(place),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{CardAddr, HostAddr, Stripe};

    fn command(id: u32, bytes: u64, fence: bool) -> Command {
        let operation = match bytes {
            0 => Operation::Nop,
            bytes => Operation::CopyIn {
                from: HostAddr::default(),
                to: CardAddr::default(),
                bytes,
                stripe: Stripe::NONE,
            },
        };
        Command {
            id: CommandId(id),
            operation,
            fence,
            notify: true,
            ..Command::default()
        }
    }

    /// Commands that leave a queue, in order, depending on whether the card has enough long copies.
    fn leaves(commands: &[Command], enough: bool) -> Vec<u32> {
        let mut queue: VecDeque<Command> = commands.iter().cloned().collect();
        let next = || next_command(&mut queue, enough);
        std::iter::from_fn(next)
            .map(|command| command.id.0)
            .collect()
    }

    #[test]
    fn others_go_before_copies_that_would_only_wait() {
        let all = [
            command(0, LONG_COPY, false),
            command(1, 0, false),
            command(2, 2 * LONG_COPY, false),
            command(3, LONG_COPY - 1, false),
            command(4, 0, false),
        ];
        assert_eq!(leaves(&all, false), [0, 1, 2, 3, 4]);
        assert_eq!(leaves(&all, true), [1, 3, 4]);
    }

    #[test]
    fn a_card_has_enough_copies_when_the_link_has_to_do() {
        let enough = |sizes: &[u64]| {
            let mut copying = Copying::default();
            let numbered = sizes.iter().zip(0..);
            numbered.for_each(|(&bytes, id)| copying.begin(&command(id, bytes, false)));
            copying.is_enough()
        };
        assert!(!enough(&[COPYING_BYTES]), "one that is next");
        assert!(enough(&[COPYING_BYTES - LONG_COPY, LONG_COPY]));
        assert!(!enough(&[LONG_COPY; 7]), "small ones, a few more");
        assert!(enough(&[LONG_COPY; 8]));
    }

    #[test]
    fn nothing_passes_a_fence_nor_a_fence_a_copy() {
        let all = [
            command(0, 0, false),
            command(1, LONG_COPY, false),
            command(2, 0, true),
            command(3, 0, false),
        ];
        assert_eq!(leaves(&all, true), [0]);
        assert_eq!(leaves(&all[2..], true), [2, 3]);
        // A copy behind a fence is sent as it is.
        assert_eq!(leaves(&[command(5, LONG_COPY, true)], true), [5]);
    }
}
