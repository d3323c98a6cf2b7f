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
    /// Its paging; `None` from a daemon that does not count it.
    #[serde(default)]
    pub paging: Option<ClientPaging>,
    /// Outstanding requests.
    pub requests: u32,
}

/// Paging of a client since it connected, in all its spaces, those that have ended included. These counts only rise. A
/// page that several clients share counts for the one that requested it first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientPaging {
    /// Accesses of its kernels that waited for the host.
    pub faults: u64,
    /// Bytes read from files and memory for its pages.
    pub bytes_read: u64,
    /// Bytes of its pages written to files and memory.
    pub bytes_written: u64,
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A client's status as a program of an older version reads it.
    #[derive(Deserialize)]
    struct Older {
        mapped_bytes: u64,
        requests: u32,
    }

    #[test]
    fn programs_and_daemons_of_an_older_version_lack_the_paging_alone() {
        let paging = ClientPaging {
            faults: 3,
            bytes_read: 4096,
            bytes_written: 8192,
        };
        let status = ClientStatus {
            client: ClientId(7),
            process: None,
            user: None,
            program: String::new(),
            tenant: None,
            slots: Vec::new(),
            spaces: 1,
            mappings: 1,
            mapped_bytes: 12,
            paging: Some(paging),
            requests: 2,
        };
        let mut written = serde_json::to_value(&status).unwrap();
        let read: ClientStatus = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(read.paging, Some(paging));
        let older: Older = serde_json::from_value(written.clone()).unwrap();
        assert_eq!((older.mapped_bytes, older.requests), (12, 2));
        written.as_object_mut().unwrap().remove("paging");
        let read: ClientStatus = serde_json::from_value(written).unwrap();
        assert_eq!((read.paging, read.mapped_bytes), (None, 12));
    }
}
