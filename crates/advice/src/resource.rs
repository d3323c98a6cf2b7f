//! Resources that can bound a run.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A resource of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// The kernel's own cycles: no port of it moves or waits.
    Compute,
    /// The kernel's busiest port: a row a cycle.
    Port,
    /// Card memory and its network: channels, latency, page walks.
    CardMemory,
    /// Page-in as a whole, where none of its stages stands out.
    Paging,
    /// The host thread that serves faults.
    FaultService,
    /// Copies between page cache and buffers.
    Copies,
    /// Reads and writes of storage.
    Storage,
    /// PCIe, both directions.
    Link,
}

impl Resource {
    /// Its name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compute => "the kernel's own cycles",
            Self::Port => "the kernel's port",
            Self::CardMemory => "card memory",
            Self::Paging => "first-touch paging",
            Self::FaultService => "fault service",
            Self::Copies => "page-cache copies",
            Self::Storage => "storage",
            Self::Link => "PCIe",
        }
    }
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
