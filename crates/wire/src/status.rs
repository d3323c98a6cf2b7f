//! Who uses what of a card. Names of files are not in it: they are their client's affair.

use crate::ClientId;
use serde::{Deserialize, Serialize};
use units::{Picoseconds, SlotId};

/// What an owner says of itself and its daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The owner's part.
    pub owner: OwnerStatus,
    /// The daemon's part.
    pub daemon: DaemonStatus,
}

/// What an owner holds for its clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwnerStatus {
    /// The card's name.
    pub card: String,
    /// Virtual time; zero on a card without time.
    pub now: Picoseconds,
    /// Its slots, by number.
    pub slots: Vec<SlotStatus>,
    /// Address spaces that the shell has.
    pub spaces: u8,
    /// Clients that have something.
    pub clients: Vec<ClientStatus>,
    /// Tenants with clients.
    #[serde(default)]
    pub tenants: Vec<TenantStatus>,
}

/// A slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Whose kernel is in it.
    pub client: Option<ClientId>,
    /// The kernel's name.
    pub kernel: Option<String>,
    /// It runs.
    pub running: bool,
}

/// What a client has.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientStatus {
    /// The client.
    pub client: ClientId,
    /// Its process and user, as the system says; `None` of the daemon itself.
    pub process: Option<u32>,
    /// See `process`.
    pub user: Option<u32>,
    /// What it calls itself; empty to those who may not know.
    pub program: String,
    /// Its tenant, if it has a quota.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Slots with a kernel of it.
    pub slots: Vec<SlotId>,
    /// Its address spaces.
    pub spaces: u32,
    /// Its mappings.
    pub mappings: u32,
    /// Their bytes.
    pub mapped_bytes: u64,
    /// Requests that are not answered yet.
    pub requests: u32,
}

/// How much there is of something, and how much there may be; `None`: as much as can be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// There is.
    pub used: u64,
    /// The quota.
    pub most: Option<u64>,
}

/// What the clients of a tenant have together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantStatus {
    /// Its name.
    pub name: String,
    /// Clients.
    pub clients: Use,
    /// Slots with a kernel.
    pub slots: Use,
    /// Address spaces.
    pub spaces: Use,
    /// Mappings.
    pub mappings: Use,
    /// Bytes of card memory that its pages take.
    pub card_bytes: Use,
    /// Requests that are not answered yet.
    pub requests: Use,
}

/// What a daemon's process has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Its process.
    pub process: u32,
    /// Connections that are open, this one among them.
    pub connections: u32,
    /// Descriptors that are open.
    pub descriptors: u32,
    /// Threads.
    pub threads: u32,
}
