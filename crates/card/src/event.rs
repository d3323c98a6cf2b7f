//! Events of a card, and the 64-byte records that carry them (docs/architecture.md, "Event ring").

use crate::coherent::{AccessEnd, AccessId};
use crate::stream::{TransferEnd, TransferStatus};
use crate::{SlotId, WorkId};
use units::{Asid, CommandId, CommandStatus, Fault, FaultCause, FaultToken, VirtAddr};

/// Something that happened on the card or in the host's models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A command is complete.
    Completed {
        /// Identifier of the command.
        id: CommandId,
        /// Result of the command.
        status: CommandStatus,
        /// Accessed bit of the entry that a table command modified.
        accessed: bool,
        /// Dirty bit of the entry that a table command modified.
        dirty: bool,
    },
    /// A kernel's access waits for the host.
    Fault(Fault),
    /// A kernel raised its interrupt, at least once since the last such event.
    Interrupt(SlotId),
    /// The guard closed a slot, because its kernel broke a rule or left a control access unanswered;
    /// [`slot_status`](crate::Card::slot_status) gives the reason. The slot's accesses end with errors
    /// from now on.
    SlotClosed(SlotId),
    /// A transfer of a stream has ended.
    TransferDone {
        /// Number of the mover: [`StreamId::of_mover`](crate::stream::StreamId::of_mover).
        mover: u8,
        /// Result of the transfer.
        end: TransferEnd,
    },
    /// The directory has recorded an error; [`directory_error`](crate::coherent::directory_error)
    /// reads it.
    DirectoryTrouble,
    /// An access of a core of the coherent CPU is over.
    AccessDone {
        /// Identifier of the access.
        id: AccessId,
        /// The line as the access saw or left it; `None` if its responder answered with an error.
        line: AccessEnd,
    },
    /// A kernel ended itself ($finish, $fatal) or did not converge.
    KernelFailed {
        /// Number of the slot.
        slot: SlotId,
        /// Cause, for messages.
        reason: String,
    },
    /// Host work is over.
    HostWorkDone(WorkId),
}

/// A record that no shell of this version writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("malformed event record: word 0 is 0x{word0:016x}")]
pub struct MalformedEvent {
    /// First word of the record.
    pub word0: u64,
}

/// The phase bit of a record.
pub fn phase(words: &[u64; 8]) -> bool {
    words[7] & 1 != 0
}

/// Decodes a record.
///
/// # Errors
/// [`MalformedEvent`] when type, status or cause is unknown, or a field is out of range.
pub fn decode(words: &[u64; 8]) -> Result<Event, MalformedEvent> {
    let malformed = MalformedEvent { word0: words[0] };
    let byte1 = (words[0] >> 8) & 0xff;
    match words[0] & 0xff {
        1 => Ok(Event::Completed {
            id: CommandId(words[1] as u32),
            status: match byte1 {
                0 => CommandStatus::Ok,
                1 => CommandStatus::Absent,
                2 => CommandStatus::SetFull,
                3 => CommandStatus::Refused,
                4 => CommandStatus::BusError,
                _ => return Err(malformed),
            },
            accessed: words[0] >> 16 & 1 != 0,
            dirty: words[0] >> 17 & 1 != 0,
        }),
        2 => Ok(Event::Fault(Fault {
            token: FaultToken {
                index: (words[2] & 0x3f) as u8,
                requester: (words[2] >> 8) as u8,
            },
            asid: Asid::new((words[0] >> 24 & 0xf) as u8).ok_or(malformed)?,
            address: VirtAddr::new(words[1]).ok_or(malformed)?,
            write: words[0] >> 16 & 1 != 0,
            ahead: words[0] >> 17 & 1 != 0,
            cause: match byte1 {
                0 => FaultCause::Absent,
                1 => FaultCause::Permission,
                2 => FaultCause::Target,
                _ => return Err(malformed),
            },
        })),
        3 => Ok(Event::Interrupt(SlotId(byte1 as u8))),
        4 => Ok(Event::SlotClosed(SlotId(byte1 as u8))),
        5 => Ok(Event::TransferDone {
            mover: (words[0] >> 24) as u8,
            end: TransferEnd {
                bytes: words[1],
                last: words[0] >> 16 & 1 != 0,
                status: match byte1 {
                    0 => TransferStatus::Ok,
                    1 => TransferStatus::AccessFailed,
                    2 => TransferStatus::MalformedBeat,
                    3 => TransferStatus::NetworkFailed,
                    _ => return Err(malformed),
                },
            },
        }),
        6 => Ok(Event::DirectoryTrouble),
        _ => Err(malformed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_a_fault() {
        let words = [0x0203_0102, 0x7000_1000, 0x0305, 0, 0, 0, 0, 1];
        assert!(phase(&words));
        let Ok(Event::Fault(fault)) = decode(&words) else {
            panic!("not a fault")
        };
        assert_eq!(
            fault.token,
            FaultToken {
                requester: 3,
                index: 5
            }
        );
        assert_eq!(
            (fault.asid.get(), fault.write, fault.ahead),
            (2, true, true)
        );
        assert_eq!(fault.cause, FaultCause::Permission);
    }

    #[test]
    fn decodes_the_end_of_a_transfer() {
        let event = decode(&[0x0301_0005, 77, 0, 0, 0, 0, 0, 1]);
        let end = TransferEnd {
            bytes: 77,
            last: true,
            status: TransferStatus::Ok,
        };
        assert_eq!(event, Ok(Event::TransferDone { mover: 3, end }));
        assert!(decode(&[0x0405, 0, 0, 0, 0, 0, 0, 1]).is_err());
    }

    #[test]
    fn refuses_what_no_shell_writes() {
        assert!(decode(&[0; 8]).is_err());
        assert!(decode(&[0x0901, 0, 0, 0, 0, 0, 0, 0]).is_err());
        assert!(decode(&[2, 1 << 50, 0, 0, 0, 0, 0, 0]).is_err());
    }
}
