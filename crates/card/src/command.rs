//! Commands to the shell, and their 64-byte form (docs/architecture.md, "Command ring").

use units::{Asid, CardAddr, HostAddr, PageEntry, PageSize, Stripe, TableGeometry, VirtAddr};

/// The caller's name for a command; comes back in its completion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CommandId(pub u32);

/// One of the card's command queues. They are independent of each other: order and fences hold within
/// a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(pub u8);

/// Names one parked burst of a kernel. Opaque above the card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultToken {
    /// Requester: port p of the card reads as 2p and writes as 2p+1.
    pub requester: u8,
    /// Place in the requester's park.
    pub index: u8,
}

/// What the shell shall do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Operation {
    /// Nothing.
    #[default]
    Nop,
    /// Host memory to card memory.
    CopyIn {
        /// Source, row-aligned.
        from: HostAddr,
        /// Destination, row-aligned.
        to: CardAddr,
        /// A multiple of 64.
        bytes: u64,
    },
    /// Card memory to host memory.
    CopyOut {
        /// Source, row-aligned.
        from: CardAddr,
        /// Destination, row-aligned.
        to: HostAddr,
        /// A multiple of 64.
        bytes: u64,
    },
    /// Zeroes card memory.
    Zero {
        /// Destination, row-aligned.
        to: CardAddr,
        /// A multiple of 64.
        bytes: u64,
    },
    /// Writes a page-table entry.
    Install {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// The entry.
        entry: PageEntry,
    },
    /// Removes a page-table entry; completion reports accessed and dirty.
    Invalidate {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Clears W and dirty of an entry; completion reports accessed and dirty.
    Protect {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Reports accessed and dirty; clears accessed.
    ReadClear {
        /// Address space.
        asid: Asid,
        /// Page-aligned.
        address: VirtAddr,
        /// Size of the page.
        size: PageSize,
    },
    /// Moves the page table to one with twice as many sets. Accesses of the space wait meanwhile;
    /// afterwards the old table's memory is free.
    Grow {
        /// Address space.
        asid: Asid,
        /// The new table: need not be zeroed, and does not overlap the old one.
        table: TableGeometry,
    },
    /// Lets a parked burst go on with a translation, or fails it (`None`).
    FaultReply {
        /// Which burst.
        token: FaultToken,
        /// The translation of its page.
        entry: Option<PageEntry>,
    },
}

/// An operation with its name and its place in the order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Comes back in the completion. Unfinished commands have different names, whatever their queues.
    pub id: CommandId,
    /// In which queue.
    pub queue: QueueId,
    /// What to do.
    pub operation: Operation,
    /// Start only when every earlier command of the queue is complete.
    pub fence: bool,
    /// Send a completion event (failures always send one).
    pub notify: bool,
    /// How the card address of a copy or a zeroing is striped: as the frames of the space it is for.
    /// Page tables are not striped.
    pub stripe: Stripe,
}

/// A command as the shell reads it: eight little-endian words.
pub type CommandWords = [u64; 8];

impl Command {
    /// The form in the command ring.
    pub fn encode(&self) -> CommandWords {
        let mut words = [0; 8];
        let (opcode, asid) = match self.operation {
            Operation::Nop => (0x00, 0),
            Operation::CopyIn { from, to, bytes } => {
                words[1..4].copy_from_slice(&[to.get(), from.get(), bytes]);
                (0x01, 0)
            }
            Operation::CopyOut { from, to, bytes } => {
                words[1..4].copy_from_slice(&[from.get(), to.get(), bytes]);
                (0x02, 0)
            }
            Operation::Zero { to, bytes } => {
                words[1] = to.get();
                words[3] = bytes;
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
        if let 0x01..=0x03 = opcode {
            words[4] = u64::from(self.stripe.granule_log2()) << 24
                | u64::from(self.stripe.channels_log2()) << 29;
        }
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

    #[test]
    fn copies_put_the_card_address_first() {
        let command = Command {
            id: CommandId(7),
            operation: Operation::CopyOut {
                from: CardAddr::new(0x1000).unwrap(),
                to: HostAddr::new(0x2000),
                bytes: 128,
            },
            fence: true,
            notify: false,
            queue: QueueId(1),
            stripe: Stripe::new(2 << 20, 4).unwrap(),
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
