//! The host's policy brain for card memory: a deterministic state machine, events in, actions out.

pub mod action;
pub mod config;
pub mod error;
pub mod event;
pub mod ids;
mod pager;

pub use action::{Action, MappingInfo, Operation, Success};
pub use config::{ChannelMemory, Config, InstallOrder};
pub use error::{AccessError, ConfigError, Direction, IoError, PagerError};
pub use event::{Event, FaultCause, ObjectKind, OperationStatus};
pub use ids::{BufferId, FaultToken, IoId, ObjectId, OperationId, RequestId};
pub use pager::Pager;
