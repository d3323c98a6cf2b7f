//! Conversion between errors and their form on a socket.

use crate::error::{AccessError, Error};
use wire::{ErrorCode, Failure, StreamErrorKind, Values};

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let mut failure = Self::new(error.code(), error.to_string());
        failure.stream = error.stream_kind();
        failure.errno = error.errno();
        failure.with(match error {
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
        })
    }
}

impl Error {
    /// The error that a daemon reported.
    pub fn told(failure: Failure) -> Self {
        match *failure.values {
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

    /// Kind of a failure of a stream, of this process or of a daemon.
    pub fn stream_kind(&self) -> Option<StreamErrorKind> {
        match self {
            Self::Stream(error) => error.kind(),
            Self::Served(failure) => failure.stream,
            _ => None,
        }
    }

    /// The operating system's number of the cause of a failed transfer or file operation, of this process or of a daemon.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::File { source, .. } | Self::Transfer { source, .. } => source.raw_os_error(),
            Self::Served(failure) => failure.errno,
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PortName, StreamError};
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
            Error::Stream(StreamError::NothingUnderWay {
                name: PortName {
                    slot,
                    kernel: "loopback".to_owned(),
                    port: "in".to_owned(),
                },
            }),
            Error::Transfer {
                label: "full".to_owned(),
                direction: "writing back",
                bytes: 4096,
                offset: 0,
                source: std::io::Error::from_raw_os_error(28),
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
            let (stream, errno) = (error.stream_kind(), error.errno());
            let bytes = wire::encode(&Failure::from(error)).unwrap();
            let told = Error::told(wire::decode(&bytes).unwrap());
            assert_eq!((told.code(), told.to_string()), (code, text));
            assert_eq!((told.stream_kind(), told.errno()), (stream, errno));
            let again = Failure::from(told);
            assert_eq!(wire::encode(&again).unwrap(), bytes);
        }
    }
}
