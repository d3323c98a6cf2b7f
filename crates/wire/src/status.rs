//! Usage of a card by its clients. File names are private to each client and not included.

use crate::ClientId;
use serde::{Deserialize, Serialize};
use units::{Picoseconds, SlotId};

/// Status of an owner and its daemon.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// Status of the owner.
    pub owner: OwnerStatus,
    /// Status of the daemon.
    pub daemon: DaemonStatus,
}

/// Resources that an owner holds for its clients.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OwnerStatus {
    /// Name of the card.
    pub card: String,
    /// Virtual time; zero on a card without time.
    pub now: Picoseconds,
    /// Slots, by number.
    pub slots: Vec<SlotStatus>,
    /// Address spaces that the shell supports.
    pub spaces: u8,
    /// Clients that hold resources.
    pub clients: Vec<ClientStatus>,
    /// Tenants with clients.
    #[serde(default)]
    pub tenants: Vec<TenantStatus>,
}

/// State of a slot.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SlotStatus {
    /// Client whose kernel is in the slot.
    pub client: Option<ClientId>,
    /// Name of the kernel.
    pub kernel: Option<String>,
    /// Whether the kernel is running.
    pub running: bool,
}

/// Resources of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ClientStatus {
    /// Identifier of the client.
    pub client: ClientId,
    /// Process identifier, from the operating system; `None` for the daemon itself.
    pub process: Option<u32>,
    /// User identifier; see `process`.
    pub user: Option<u32>,
    /// Name that the client gave itself; empty in a report for a client without the right to see it.
    pub program: String,
    /// Tenant, if it has a quota.
    #[serde(default)]
    pub tenant: Option<String>,
    /// Slots that hold its kernels.
    pub slots: Vec<SlotId>,
    /// Number of its address spaces.
    pub spaces: u32,
    /// Number of its mappings.
    pub mappings: u32,
    /// Bytes of its mappings.
    pub mapped_bytes: u64,
    /// Outstanding requests.
    pub requests: u32,
}

/// Usage of a resource and its limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Use {
    /// Units in use.
    pub used: u64,
    /// Quota; `None`: no limit.
    pub most: Option<u64>,
}

/// Resources of all clients of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantStatus {
    /// Name of the tenant.
    pub name: String,
    /// Connected clients.
    pub clients: Use,
    /// Slots that hold a kernel.
    pub slots: Use,
    /// Address spaces.
    pub spaces: Use,
    /// File and memory mappings.
    pub mappings: Use,
    /// Bytes of card memory taken by pages.
    pub card_bytes: Use,
    /// Outstanding requests.
    pub requests: Use,
}

/// Resources of the daemon's process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonStatus {
    /// Process identifier of the daemon.
    pub process: u32,
    /// Open connections, including the requester's.
    pub connections: u32,
    /// Open descriptors.
    pub descriptors: u32,
    /// Threads of the process.
    pub threads: u32,
}
