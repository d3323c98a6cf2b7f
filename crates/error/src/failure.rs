//! Conversion between errors and their form on a socket.

use crate::error::{AccessError, Error};
use wire::{ErrorCode, Failure, Values};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let (code, message) = (error.code(), error.to_string());
        let values = match error {
            Error::Served(failure) => return failure,
            Error::Gone { what, why } => Values::Gone {
                what,
                why: why.into_owned(),
            },
            Error::SlotState { slot, rule } => Values::SlotState {
                slot,
                rule: rule.into_owned(),
            },
            Error::NoFreeSpace { spaces } => Values::NoFreeSpace { spaces },
            Error::Deadline {
                slot,
                kernel,
                elapsed,
                waiting,
            } => Values::Deadline {
                slot,
                kernel,
                elapsed,
                waiting,
            },
            Error::Access(AccessError {
                slot,
                kernel,
                port,
                write,
                address,
                reason,
            }) => Values::Access {
                slot,
                kernel,
                port,
                write,
                address,
                reason,
            },
            _ => Values::None,
        };
        Self::new(code, message).with(values)
    }
}

impl Error {
    /// The error that a daemon reported.
    pub fn told(failure: Failure) -> Self {
        match failure.values {
            Values::Gone { what, why } => Self::Gone {
                what,
                why: why.into(),
            },
            Values::SlotState { slot, rule } => Self::SlotState {
                slot,
                rule: rule.into(),
            },
            Values::NoFreeSpace { spaces } => Self::NoFreeSpace { spaces },
            Values::Deadline {
                slot,
                kernel,
                elapsed,
                waiting,
            } => Self::Deadline {
                slot,
                kernel,
                elapsed,
                waiting,
            },
            Values::Access {
                slot,
                kernel,
                port,
                write,
                address,
                reason,
            } => Self::Access(AccessError {
                slot,
                kernel,
                port,
                write,
                address,
                reason,
            }),
            Values::None if failure.code() == ErrorCode::Interrupted => Self::Interrupted,
            Values::None => Self::Served(failure),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::{Picoseconds, SlotId, VirtAddr};

    #[test]
    fn an_error_says_the_same_at_both_ends() {
        let slot = SlotId(3);
        let errors = [
            Error::Gone {
                what: "mapping #7".to_owned(),
                why: "it was unmapped".into(),
            },
            Error::SlotState {
                slot,
                rule: "is running".into(),
            },
            Error::NoFreeSpace { spaces: 16 },
            Error::NoFreeSlot { slots: 4 },
            Error::Quota {
                tenant: "lab".to_owned(),
                what: "slots",
                used: 2,
                most: 2,
            },
            Error::Interrupted,
            Error::Internal("a bug".to_owned()),
            Error::Deadline {
                slot,
                kernel: "copy".to_owned(),
                elapsed: Picoseconds::from_micros(5),
                waiting: "nothing".to_owned(),
            },
            Error::Access(AccessError {
                slot,
                kernel: "copy".to_owned(),
                port: "m_axi".to_owned(),
                write: true,
                address: VirtAddr::truncated(4096),
                reason: "nothing is mapped".to_owned(),
            }),
        ];
        for error in errors {
            let (code, text) = (error.code(), error.to_string());
            let bytes = wire::encode(&Failure::from(error)).unwrap();
            let told = Error::told(wire::decode(&bytes).unwrap());
            assert_eq!((told.code(), told.to_string()), (code, text));
            let again = Failure::from(told);
            assert_eq!(wire::encode(&again).unwrap(), bytes);
        }
    }
}
