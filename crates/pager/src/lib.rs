//! The host's policy brain for card memory: a deterministic state machine, events in, actions out.

pub mod action;
mod buffer;
mod check;
mod client;
pub mod config;
pub mod error;
pub mod event;
pub mod eviction;
mod extent;
mod fault;
mod fill;
mod frame;
pub mod ids;
mod issue;
mod object;
pub mod page;
mod pager;
pub mod placement;
mod queue;
mod request;
mod room;
mod sabotage;
mod space;
mod statistics;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod writeback;

pub use action::{Action, MappingInfo, Operation, Success};
pub use config::{ChannelMemory, Config, InstallOrder};
pub use error::{AccessError, ConfigError, Direction, IoError, PagerError};
pub use event::{Event, FaultCause, ObjectKind, OperationStatus};
pub use ids::{BufferId, FaultToken, IoId, ObjectId, OperationId, RequestId};
pub use pager::{Pager, Policies};
pub use statistics::Statistics;
