//! A request of any kind, with the way back for its reply.

use super::*;
use crate::answer::Answer;
use error::Error;
use serde::Serialize;
use std::fmt;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};
use wire::{Carry, Message};

/// Where the reply of a request goes. Clones lead to the same place, which takes one reply.
#[derive(Clone)]
pub struct ReplyTo<T>(Arc<Mutex<Option<Answer<T>>>>);

impl<T> ReplyTo<T> {
    /// To the holder of the other end.
    pub fn new(answer: Answer<T>) -> Self {
        Self(Arc::new(Mutex::new(Some(answer))))
    }

    /// To nobody: the request is the owner's own.
    pub fn nobody() -> Self {
        Self(Arc::default())
    }

    fn take(&self) -> Option<Answer<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives the reply. What it returns went wrong, and nobody waited for it any more.
    pub fn give(&self, result: Result<T, Error>) -> Option<Error> {
        match self.take() {
            // Who has ended meanwhile wants no answer.
            Some(answer) => {
                answer.send(result);
                None
            }
            None => result.err(),
        }
    }
}

/// Somebody who waits for a reply, whatever it is.
pub trait Waiting {
    /// The request fails with this; gives it back if nobody waits.
    fn refuse(&self, error: Error) -> Option<Error>;

    /// Nobody waits any more.
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

/// A request that the owner's thread can be sent.
pub trait Ask: Request {
    /// The request with the way back.
    fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest;

    /// The same as a message of a socket.
    ///
    /// # Errors
    /// [`Error::NotCarried`]: it holds what only a process can hold.
    fn carried(self) -> Result<Carried<Self::Reply>, Error>;
}

/// A request on its way over a socket.
pub struct Carried<T> {
    /// What it says.
    pub message: Message,
    /// What comes along.
    pub descriptors: Vec<OwnedFd>,
    /// Reads the reply.
    pub reply: fn(&[u8]) -> Result<T, Error>,
}

/// Reads the reply of a request.
pub fn reply<R: Carry>(bytes: &[u8]) -> Result<R::Reply, Error> {
    wire::decode(bytes).map_err(unreadable)
}

/// A reply that is none of its request.
pub fn unreadable(error: serde_json::Error) -> Error {
    Error::Internal(format!("a reply of the daemon cannot be read: {error}"))
}

macro_rules! requests {
    (carried { $($name:ident),* $(,)? } of_process { $($local:ident),* $(,)? }) => {
        /// A request with the way back for its reply.
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
            /// What has come over a socket, if it is a request as it is; else the message.
            pub fn of(message: Message, way: impl WayBack) -> Result<Self, Box<Message>> {
                match message {
                    $(Message::$name(it) => Ok(Self::$name(it, way.reply_to())),)*
                    other => Err(Box::new(other)),
                }
            }

            /// Who waits for the reply.
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

/// Where the reply of a message goes, whatever its type.
pub trait WayBack {
    /// For one of this type.
    fn reply_to<T: Serialize + Send + 'static>(self) -> ReplyTo<T>;
}

requests! {
    carried {
        Advise, Await, BeginTransfer, CheckTaken, Close, CloseStream, ConnectPorts, CreateSpace, Describe,
        DestroySpace, Disconnect, Expire, ExpireStream, Free, Inspect, InspectStream, MakeHot, OpenStream,
        PacketsMissing, Poll, PollAny, PollStream, PollStreams, Prefetch, ReadRegister, Refresh, Schedule,
        SetArgument, SettleStream, Start, Stop, StopStream, Sync, Take, Unload, Unmap, UnmapPart,
        WriteRegisters,
    }
    of_process {
        BeginAccess, BeginPeerTransfer, EndAccess, HidePages, HomeMemory, HostLines, KeepApart, LineHistory, Load,
        MakeReport, MapFile, PlugPeer, RecordLines, SetHoldTimeout, SetHomeTimeout, SetNetworkLink, Share,
        ShowPage, TakeStatus,
    }
}
