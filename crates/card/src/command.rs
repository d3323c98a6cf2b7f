//! Commands to the shell, and their 64-byte form (docs/architecture.md, "Command ring").

use units::{CommandId, Operation, Stripe};

/// Number of one of the card's command queues. Queues are independent: order and fences apply within
/// a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u8);

/// An operation with its identifier and its position in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Returned in the completion. Unfinished commands have different identifiers, across all queues.
    pub id: CommandId,
    /// Queue of the command.
    pub queue: QueueId,
    /// Operation to execute.
    pub operation: Operation,
    /// Start only after every earlier command of the queue has completed.
    pub fence: bool,
    /// Send a completion event (failures always send one).
    pub notify: bool,
}

/// A command in the shell's encoding: eight little-endian words.
pub type CommandWords = [u64; 8];

impl Command {
    /// Encodes the command for the command ring.
    pub fn encode(&self) -> CommandWords {
        let mut words = [0; 8];
        let on_card = |stripe: Stripe| {
            u64::from(stripe.granule_log2()) << 24 | u64::from(stripe.channels_log2()) << 29
        };
        let (opcode, asid) = match self.operation {
            Operation::Nop => (0x00, 0),
            Operation::CopyIn {
                from,
                to,
                bytes,
                stripe,
            } => {
                words[1..5].copy_from_slice(&[to.get(), from.get(), bytes, on_card(stripe)]);
                (0x01, 0)
            }
            Operation::CopyOut {
                from,
                to,
                bytes,
                stripe,
            } => {
                words[1..5].copy_from_slice(&[from.get(), to.get(), bytes, on_card(stripe)]);
                (0x02, 0)
            }
            Operation::Zero { to, bytes, stripe } => {
                words[1..5].copy_from_slice(&[to.get(), 0, bytes, on_card(stripe)]);
                (0x03, 0)
            }
            Operation::Install {
                asid,
                address,
                entry,
            } => {
                words[1] = address.get();
                words[2] = entry.encode(0);
                (0x10, asid.get())
            }
            Operation::Invalidate {
                asid,
                address,
                size,
            } => {
                words[1] = address.get();
                words[2] = u64::from(size.class()) << 8;
                (0x11, asid.get())
            }
            Operation::Protect {
                asid,
                address,
                size,
            } => {
                words[1] = address.get();
                words[2] = u64::from(size.class()) << 8;
                (0x12, asid.get())
            }
            Operation::ReadClear {
                asid,
                address,
                size,
            } => {
                words[1] = address.get();
                words[2] = u64::from(size.class()) << 8;
                (0x13, asid.get())
            }
            Operation::Grow { asid, table } => {
                words[1] = table.base().get();
                words[3] = u64::from(table.sets_log2());
                (0x14, asid.get())
            }
            Operation::FaultReply { token, entry } => {
                words[2] = entry.map_or(0, |entry| entry.encode(0));
                words[4] = u64::from(token.index)
                    | u64::from(token.requester) << 8
                    | u64::from(entry.is_none()) << 16;
                (0x20, 0)
            }
        };
        words[0] = opcode
            | u64::from(self.fence) << 8
            | u64::from(self.notify) << 9
            | u64::from(asid) << 16
            | u64::from(self.id.0) << 32;
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{CardAddr, FaultToken, HostAddr};

    #[test]
    fn copies_put_the_card_address_first() {
        let command = Command {
            id: CommandId(7),
            operation: Operation::CopyOut {
                from: CardAddr::new(0x1000).unwrap(),
                to: HostAddr::new(0x2000),
                bytes: 128,
                stripe: Stripe::new(2 << 20, 4).unwrap(),
            },
            fence: true,
            notify: false,
            queue: QueueId(1),
        };
        assert_eq!(
            command.encode(),
            [0x7_0000_0102, 0x1000, 0x2000, 128, 0x5500_0000, 0, 0, 0]
        );
    }

    #[test]
    fn a_reply_without_entry_fails_the_burst() {
        let token = FaultToken {
            requester: 3,
            index: 5,
        };
        let operation = Operation::FaultReply { token, entry: None };
        let command = Command {
            id: CommandId(0),
            operation,
            fence: false,
            notify: true,
            ..Command::default()
        };
        assert_eq!(command.encode()[4], 0x1_0305);
        assert_eq!(command.encode()[0] & 0x3ff, 0x220);
    }
}
