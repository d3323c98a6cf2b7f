//! A request of any type, with the receiver of its reply.

use super::*;
use crate::answer::Answer;
use error::Error;
use serde::Serialize;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use wire::{Carry, Message};

/// Receiver of a request's reply. Clones share one receiver, which takes one reply.
#[derive(Clone)]
pub struct ReplyTo<T>(Arc<Mutex<Option<Answer<T>>>>);

impl<T> ReplyTo<T> {
    /// Replies through `answer`.
    pub fn new(answer: Answer<T>) -> Self {
        Self(Arc::new(Mutex::new(Some(answer))))
    }

    /// Drops the reply: the request is the owner's own.
    pub fn nobody() -> Self {
        Self(Arc::default())
    }

    fn take(&self) -> Option<Answer<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Sends the reply. Returns an error that could not be delivered because the receiver
    /// is gone.
    pub fn give(&self, result: Result<T, Error>) -> Option<Error> {
        match self.take() {
            // A receiver that has ended needs no answer.
            Some(answer) => {
                answer.send(result);
                None
            }
            None => result.err(),
        }
    }
}

/// A receiver of a reply of any type.
pub trait Waiting {
    /// Fails the request with this error; returns the error if the receiver is gone.
    fn refuse(&self, error: Error) -> Option<Error>;

    /// Gives up the reply.
    fn leave(&self);
}

impl<T> Waiting for ReplyTo<T> {
    fn refuse(&self, error: Error) -> Option<Error> {
        self.give(Err(error))
    }

    fn leave(&self) {
        drop(self.take());
    }
}

/// A request that can be sent to the owner's thread.
pub trait Ask: Request {
    /// Combines the request with the receiver of its reply.
    fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest;

    /// Converts the request to a message for a socket.
    ///
    /// # Errors
    /// [`Error::NotCarried`]: its content exists only within a process.
    fn carried(self) -> Result<Carried<Self::Reply>, Error>;
}

/// A request on its way over a socket.
pub struct Carried<T> {
    /// The request, encoded for the socket.
    pub message: Message,
    /// File descriptors sent with the message.
    pub descriptors: Vec<OwnedFd>,
    /// Decodes the reply.
    pub reply: fn(&[u8]) -> Result<T, Error>,
}

/// Decodes the reply of a request.
pub fn reply<R: Carry>(bytes: &[u8]) -> Result<R::Reply, Error> {
    wire::decode(bytes).map_err(unreadable)
}

/// The error for a reply that does not match its request.
pub fn unreadable(error: serde_json::Error) -> Error {
    Error::Internal(format!("a reply of the daemon cannot be read: {error}"))
}

macro_rules! requests {
    (carried { $($name:ident),* $(,)? } of_process { $($local:ident),* $(,)? }) => {
        /// A request with the receiver of its reply.
        pub enum AnyRequest {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name, ReplyTo<<$name as Request>::Reply>),
            )*
            $(
                #[doc = concat!("See [`", stringify!($local), "`].")]
                $local($local, ReplyTo<<$local as Request>::Reply>),
            )*
        }

        $(
            impl Ask for $name {
                fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest {
                    AnyRequest::$name(self, answer)
                }

                fn carried(self) -> Result<Carried<Self::Reply>, Error> {
                    Ok(Carried {
                        message: self.into(),
                        descriptors: Vec::new(),
                        reply: reply::<Self>,
                    })
                }
            }
        )*

        $(
            impl Ask for $local {
                fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest {
                    AnyRequest::$local(self, answer)
                }

                fn carried(self) -> Result<Carried<Self::Reply>, Error> {
                    OfProcess::carried(self)
                }
            }
        )*

        impl AnyRequest {
            /// Converts a message from a socket to a request, if it can be executed as it
            /// is; otherwise returns the message.
            pub fn of(message: Message, way: impl WayBack) -> Result<Self, Box<Message>> {
                match message {
                    $(Message::$name(it) => Ok(Self::$name(it, way.reply_to())),)*
                    other => Err(Box::new(other)),
                }
            }

            /// Name of the request's type.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(..) => stringify!($name),)*
                    $(Self::$local(..) => stringify!($local),)*
                }
            }

            /// The receiver of the reply.
            pub fn waiting(&self) -> Box<dyn Waiting> {
                match self {
                    $(Self::$name(_, answer) => Box::new(answer.clone()),)*
                    $(Self::$local(_, answer) => Box::new(answer.clone()),)*
                }
            }
        }

        impl fmt::Debug for AnyRequest {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(request, _) => request.fmt(f),)*
                    $(Self::$local(request, _) => request.fmt(f),)*
                }
            }
        }
    };
}

/// Makes the receiver of a message's reply, of any type.
pub trait WayBack {
    /// The receiver of a reply of type `T`.
    fn reply_to<T: Serialize + Send + 'static>(self) -> ReplyTo<T>;
}

requests! {
    carried {
        Advise, Await, BeginTransfer, CheckTaken, Close, CloseStream, ConnectPorts, CreateSpace, Describe,
        DestroySpace, Disconnect, Expire, ExpireStream, Free, Inspect, InspectStream, MakeHot, OpenStream,
        PacketsMissing, Poll, PollAny, PollStream, PollStreams, Prefetch, ReadRegister, Refresh, Schedule,
        ServeTrap, SetArgument, SettleStream, Start, Stop, StopStream, Sync, Take, Unload, Unmap, UnmapPart,
        WriteRegisters,
    }
    of_process {
        BeginAccess, BeginPeerTransfer, EndAccess, HidePages, HomeMemory, HostLines, KeepApart, LineHistory, Load,
        MakeReport, MapFile, PlugPeer, RecordLines, SetHoldTimeout, SetHomeTimeout, SetNetworkLink, Share,
        ShowPage, TakeStatus,
    }
}
