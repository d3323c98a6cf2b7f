//! Between the words of the pager and those of the card. They mean the same; the two crates must not
//! know each other.

use card::command::{Command, CommandId, FaultToken, Operation};
use card::event::{CommandStatus, Fault, FaultCause};
use units::Stripe;

pub(super) fn command(
    id: pager::OperationId,
    operation: pager::Operation,
    fence: bool,
    notify: bool,
) -> Command {
    let stripe = match operation {
        pager::Operation::CopyIn { stripe, .. }
        | pager::Operation::CopyOut { stripe, .. }
        | pager::Operation::Zero { stripe, .. } => stripe,
        _ => Stripe::NONE,
    };
    let operation = match operation {
        pager::Operation::CopyIn {
            from, to, bytes, ..
        } => Operation::CopyIn { from, to, bytes },
        pager::Operation::CopyOut {
            from, to, bytes, ..
        } => Operation::CopyOut { from, to, bytes },
        pager::Operation::Zero { to, bytes, .. } => Operation::Zero { to, bytes },
        pager::Operation::Install {
            asid,
            address,
            entry,
        } => Operation::Install {
            asid,
            address,
            entry,
        },
        pager::Operation::Invalidate {
            asid,
            address,
            size,
        } => Operation::Invalidate {
            asid,
            address,
            size,
        },
        pager::Operation::Protect {
            asid,
            address,
            size,
        } => Operation::Protect {
            asid,
            address,
            size,
        },
        pager::Operation::ReadClear {
            asid,
            address,
            size,
        } => Operation::ReadClear {
            asid,
            address,
            size,
        },
        pager::Operation::Grow { asid, table } => Operation::Grow { asid, table },
        pager::Operation::FaultReply { token, entry } => Operation::FaultReply {
            token: self::token(token),
            entry,
        },
    };
    Command {
        id: CommandId(id.0),
        operation,
        fence,
        notify,
        stripe,
        ..Command::default()
    }
}

pub(super) fn status(status: CommandStatus) -> pager::OperationStatus {
    match status {
        CommandStatus::Ok => pager::OperationStatus::Ok,
        CommandStatus::Absent => pager::OperationStatus::Absent,
        CommandStatus::SetFull => pager::OperationStatus::SetFull,
        CommandStatus::Refused => pager::OperationStatus::Refused,
        CommandStatus::BusError => pager::OperationStatus::BusError,
    }
}

pub(super) fn fault(fault: Fault) -> pager::Event {
    pager::Event::Fault {
        token: pager::FaultToken {
            requester: fault.token.requester,
            index: fault.token.index,
        },
        asid: fault.asid,
        address: fault.address,
        write: fault.write,
        ahead: fault.ahead,
        cause: match fault.cause {
            FaultCause::Absent => pager::FaultCause::Absent,
            FaultCause::Permission => pager::FaultCause::Permission,
            FaultCause::Target => pager::FaultCause::Target,
        },
    }
}

pub(super) fn token(token: pager::FaultToken) -> FaultToken {
    FaultToken {
        requester: token.requester,
        index: token.index,
    }
}
