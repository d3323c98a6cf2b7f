//! The requests that can cross a socket, as one enum.

use crate::*;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// A request that can cross a socket, with its reply.
pub trait Carry: Request<Reply: Serialize + DeserializeOwned> + Into<Message> {}

macro_rules! messages {
    ($($name:ident),* $(,)?) => {
        /// A request that can cross a socket. Its JSON consists of its name and its fields.
        #[derive(Clone, Debug, Serialize, Deserialize)]
        pub enum Message {
            $(
                #[doc = concat!("See [`", stringify!($name), "`].")]
                $name($name),
            )*
        }

        $(
            impl From<$name> for Message {
                fn from(request: $name) -> Self {
                    Self::$name(request)
                }
            }

            impl Carry for $name {}
        )*

        impl Message {
            /// Names of all requests, in declaration order.
            pub const NAMES: &'static [&'static str] = &[$(stringify!($name)),*];

            /// Name of the request, as in its JSON.
            pub const fn name(&self) -> &'static str {
                match self {
                    $(Self::$name(_) => stringify!($name),)*
                }
            }
        }
    };
}

messages! {
    Advise,
    Await,
    BeginTransfer,
    CheckTaken,
    Close,
    CloseStream,
    ConnectPorts,
    CreateSpace,
    Describe,
    DestroySpace,
    Disconnect,
    Expire,
    ExpireStream,
    FetchReport,
    Free,
    Inspect,
    InspectStream,
    LoadFolder,
    MakeHot,
    MapDescriptor,
    OpenStream,
    PacketsMissing,
    Poll,
    PollAny,
    PollStream,
    PollStreams,
    Prefetch,
    ReadRegister,
    Refresh,
    Schedule,
    ServeTrap,
    SetArgument,
    SettleStream,
    ShareDescriptor,
    ShareTrapped,
    Start,
    Stop,
    StopStream,
    Sync,
    Take,
    TakeStatus,
    Unload,
    Unmap,
    UnmapPart,
    WriteRegisters,
}

impl Message {
    /// Number of descriptors that accompany it.
    pub const fn descriptors(&self) -> usize {
        match self {
            Self::LoadFolder(_) | Self::MapDescriptor(_) | Self::ShareDescriptor(_) => 1,
            Self::ShareTrapped(it) => 1 + it.orders as usize,
            _ => 0,
        }
    }
}

/// Encodes a request, a reply or a failure.
///
/// # Errors
/// A map with keys that are not text; no message contains one.
pub fn encode<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(value)
}

/// Decodes a request, a reply or a failure.
///
/// # Errors
/// The bytes do not encode a value of this type.
pub fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    serde_json::from_slice(bytes)
}
