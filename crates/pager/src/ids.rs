//! Identifiers at the pager's interface.

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
    /// A read or write of an object. Chosen by the pager; returned in `Event::IoDone`.
    IoId(u64),
    "I/O"
);
name!(
    /// A request of a client. Chosen by the owner; returned in `Action::Complete`.
    RequestId(u64),
    "request"
);
name!(
    /// An object. Chosen by the owner, which knows the file or memory.
    ObjectId(u64),
    "object"
);
name!(
    /// A DMA buffer: its index in [`Config::buffers`](crate::Config::buffers).
    BufferId(u32),
    "buffer"
);

/// A page of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPage {
    /// Object that contains the page.
    pub object: ObjectId,
    /// Index of the page in the object.
    pub index: u64,
}
