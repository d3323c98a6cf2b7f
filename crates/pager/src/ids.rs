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

/// A page of an object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectPage {
    /// The object.
    pub object: ObjectId,
    /// Which of its pages.
    pub index: u64,
}
