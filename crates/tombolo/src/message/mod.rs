//! What clients ask of the owner, and what it answers.
//!
//! A request is a struct that names the type of its reply ([`Request`]), so an answer of another kind cannot be
//! written. Within a process requests are moved to the owner's thread; those whose fields are plain data
//! ([`requests`]) can cross a socket as they are. What only a process can hold (memory of the program, callbacks, a
//! kernel's folder that is open already) is in [`local`]. Clients open files, so that the system's permission checks are
//! theirs.

mod any;
mod ids;
mod local;
mod options;
mod requests;

pub(crate) use any::{AnyRequest, Ask, ReplyTo, Waiting};
pub(crate) use ids::{ClientId, ConnectionId, LoadId, MappingId, SpaceId, StreamHandle};
pub(crate) use local::{Load, MapFile, PlugPeer, RecordLines, Share, ShowPage};
pub use options::{FileState, MapOptions, SpaceOptions, TranslationMode, UnknownTranslation};
pub(crate) use requests::*;
pub use requests::{ConnectionState, Moved, Progress, RunState, Signal};

/// Something that a client asks of an owner.
pub(crate) trait Request: std::fmt::Debug + Send + 'static {
    /// What it answers, if nothing goes wrong.
    type Reply: Send + 'static;
}
