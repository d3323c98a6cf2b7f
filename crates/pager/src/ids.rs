//! Names of things that cross the pager's border.

use std::fmt;

macro_rules! name {
    ($(#[$meta:meta])* $name:ident($inner:ty), $prefix:literal) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub $inner);

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, " {}"), self.0)
            }
        }
    };
}

name!(
    /// A command to the card. Chosen by the pager; comes back in `Event::OperationDone`.
    OperationId(u32),
    "operation"
);
name!(
    /// A read or write of an object. Chosen by the pager; comes back in `Event::IoDone`.
    IoId(u64),
    "I/O"
);
name!(
    /// A request of a client. Chosen by the owner; comes back in `Action::Complete`.
    RequestId(u64),
    "request"
);
name!(
    /// An object. Chosen by the owner, who knows which file or memory it is.
    ObjectId(u64),
    "object"
);
name!(
    /// A DMA buffer: its place in [`Config::buffers`](crate::Config::buffers).
    BufferId(u32),
    "buffer"
);

/// Names one parked access of a kernel. Opaque here; mirrors the card's token.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FaultToken {
    /// Requester: port p of the card reads as 2p and writes as 2p+1.
    pub requester: u8,
    /// Place in the requester's park.
    pub index: u8,
}
