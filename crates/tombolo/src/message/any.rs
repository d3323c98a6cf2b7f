//! A request of any kind, with the way back for its reply.

use super::*;
use crate::answer::Answer;
use crate::error::Error;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Where the reply of a request goes. Clones lead to the same place, which takes one reply.
#[derive(Clone)]
pub(crate) struct ReplyTo<T>(Arc<Mutex<Option<Answer<T>>>>);

impl<T> ReplyTo<T> {
    /// To the holder of the other end.
    pub(crate) fn new(answer: Answer<T>) -> Self {
        Self(Arc::new(Mutex::new(Some(answer))))
    }

    /// To nobody: the request is the owner's own.
    pub(crate) fn nobody() -> Self {
        Self(Arc::default())
    }

    fn take(&self) -> Option<Answer<T>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives the reply. What it returns went wrong, and nobody waited for it any more.
    pub(crate) fn give(&self, result: Result<T, Error>) -> Option<Error> {
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
pub(crate) trait Waiting {
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
pub(crate) trait Ask: Request {
    /// The request with the way back.
    fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest;
}

macro_rules! requests {
    ($($name:ident),* $(,)?) => {
        /// A request with the way back for its reply.
        pub(crate) enum AnyRequest {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name, ReplyTo<<$name as Request>::Reply>),
            )*
        }

        $(
            impl Ask for $name {
                fn with(self, answer: ReplyTo<Self::Reply>) -> AnyRequest {
                    AnyRequest::$name(self, answer)
                }
            }
        )*

        impl AnyRequest {
            /// Who waits for the reply.
            pub(crate) fn waiting(&self) -> Box<dyn Waiting> {
                match self {
                    $(Self::$name(_, answer) => Box::new(answer.clone()),)*
                }
            }
        }

        impl fmt::Debug for AnyRequest {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name(request, _) => request.fmt(f),)*
                }
            }
        }
    };
}

requests! {
    Advise,
    Await,
    BeginAccess,
    BeginPeerTransfer,
    BeginTransfer,
    CheckTaken,
    Close,
    CloseStream,
    ConnectPorts,
    CreateSpace,
    Describe,
    DestroySpace,
    Disconnect,
    EndAccess,
    Expire,
    ExpireStream,
    Free,
    HidePages,
    HomeMemory,
    HostLines,
    Inspect,
    InspectStream,
    LineHistory,
    Load,
    MakeHot,
    MakeReport,
    MapFile,
    OpenStream,
    PacketsMissing,
    PlugPeer,
    Poll,
    PollAny,
    PollStream,
    PollStreams,
    Prefetch,
    ReadRegister,
    RecordLines,
    Refresh,
    Schedule,
    SetArgument,
    SetHoldTimeout,
    SetHomeTimeout,
    SetNetworkLink,
    SettleStream,
    Share,
    ShowPage,
    Start,
    Stop,
    StopStream,
    Sync,
    Take,
    Unload,
    Unmap,
    UnmapPart,
    WriteRegisters,
}
