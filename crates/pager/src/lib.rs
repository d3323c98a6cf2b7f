//! The host's policy brain for card memory: a deterministic state machine, events in, actions out.
//!
//! It answers the faults of kernels: it decides which frame a page gets and which page leaves for it,
//! in which order data, page-table entries and replies go to the card, and what is written back
//! where. It performs no I/O and knows no clock, thread or file; `docs/blocks/pager.md` has the life
//! of a page and the arguments.
//!
//! ```
//! use tombolo_pager::{Action, ChannelMemory, Config, Event, Pager, RequestId};
//! use units::{Asid, CardAddr, HostAddr};
//!
//! let memory = ChannelMemory { base: CardAddr::new(0).unwrap(), bytes: 64 << 20 };
//! let mut pager = Pager::new(Config::new(vec![memory], vec![HostAddr::new(0x1000_0000)])).unwrap();
//! let mut actions = Vec::new();
//! let (request, asid) = (RequestId(1), Asid::new(0).unwrap());
//! pager.handle(Event::CreateSpace { request, asid, limit: None, placement: Default::default() }, &mut actions);
//! // The page table has to be zeroed before the space can be enabled.
//! assert!(matches!(actions[..], [Action::Command { notify: true, .. }]));
//! ```

pub mod action;
mod allocation;
mod block;
mod buddy;
mod buffer;
mod check;
mod clean;
mod completion;
pub mod config;
mod demand;
pub mod error;
pub mod event;
pub mod eviction;
mod extent;
mod fault;
pub mod fetch;
mod fill;
mod frame;
mod grow;
mod host_memory;
pub mod ids;
mod issue;
mod join;
mod keep;
mod mapping;
mod mapping_info;
mod memory;
mod neighbours;
mod object;
mod outcome;
pub mod page;
mod page_map;
mod pager;
mod pages;
mod parts;
mod piece;
mod pieces;
pub mod placement;
mod policies;
mod queue;
mod request;
mod sabotage;
pub mod size;
mod sizes;
mod space;
mod spaces;
mod statistics;
mod table;
#[cfg(feature = "testing")]
pub mod testing;
mod translate;
mod work;
mod writeback;

pub use action::{Action, Around, DirectTransfer, Success};
pub use config::{ChannelMemory, Config, InstallOrder};
pub use error::{AccessError, ConfigError, Direction, IoError, PagerError};
pub use event::{Event, ObjectKind};
pub use ids::{BufferId, IoId, ObjectId, ObjectPage, RequestId};
pub use mapping_info::MappingInfo;
pub use pager::{Occupied, Pager, Waits};
pub use policies::Policies;
pub use statistics::{
    DirectStatistics, PieceStatistics, SharedStatistics, SizeStatistics, SpaceStatistics,
    Statistics,
};
