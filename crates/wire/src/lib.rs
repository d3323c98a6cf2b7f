//! Requests to the owner of a card, their replies, and the encoding of both on a socket.
//!
//! A request is a struct that names its reply type. Within a process it is moved, never serialised; on a socket it is a
//! [`Message`] in a [frame](Frame), accompanied by its descriptors.
//!
//! ```
//! use tombolo_wire::{decode, encode, Message, Poll, LoadId};
//! use units::Picoseconds;
//!
//! let poll = Poll { load: LoadId(7), slice: Picoseconds::from_micros(100) };
//! let bytes = encode(&Message::from(poll)).unwrap();
//! assert!(matches!(decode(&bytes), Ok(Message::Poll(poll)) if poll.load == LoadId(7)));
//! ```

mod carried;
mod error_code;
mod failure;
mod fields;
mod frame;
mod hello;
mod ids;
mod message;
mod options;
mod requests;
mod rights;
mod socket;
mod status;

pub use carried::{
    FetchReport, LoadFolder, Loaded, MapDescriptor, ServeTrap, ShareDescriptor, ShareTrapped,
    TakeStatus, TrapServed, TrappedPart, WrittenReport,
};
pub use error_code::ErrorCode;
pub use failure::{Failure, StreamErrorKind, Values};
pub use fields::{MapField, MAP_FIELDS};
pub use frame::{
    Frame, FrameError, Header, Kind, Side, ENDS_CONNECTION, MOST_DESCRIPTORS, MOST_REPLY,
    MOST_REQUEST,
};
pub use hello::{Hello, Version, VersionError, Welcome};
pub use ids::{ClientId, ConnectionId, LoadId, MappingId, SpaceId, StreamHandle};
pub use message::{decode, encode, Carry, Message};
pub use options::{FileState, MapOptions, SpaceOptions, TranslationMode, UnknownTranslation};
pub use requests::*;
pub use rights::{
    acknowledge, await_acknowledgement, check_order_socket, end_orders, order_sockets,
    receive_order, send_order, Acknowledgement, Change, Order,
};
pub use socket::{peer_of, receive, send, Peer, ReceiveError};
pub use status::{
    ClientPaging, ClientStatus, DaemonStatus, OwnerStatus, SlotStatus, Status, TenantStatus, Use,
};

/// A request of a client to an owner.
pub trait Request: std::fmt::Debug + Send + 'static {
    /// Reply to a request that succeeds.
    type Reply: Send + 'static;
}
