//! Models of card memory, PCIe, network, host and storage as pure functions of virtual time.
//!
//! No model moves bytes, reads clocks or has threads: a caller passes each request with its time, and the model returns
//! the time of its completion. Equal calls give equal results. `docs/blocks/timing.md` explains the models and shows
//! their error.
//!
//! ```
//! use tombolo_timing::pcie::{Link, PcieLink};
//! use tombolo_timing::platform::Platform;
//! use units::Picoseconds;
//!
//! let platforms = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms");
//! let f1 = Platform::named("f1", &[platforms])?;
//! let mut link = PcieLink::new(f1.pcie());
//! let page = link.read_host(Picoseconds::ZERO, 4096);
//! assert!(page.first < page.last);
//! # Ok::<(), tombolo_timing::platform::PlatformError>(())
//! ```

/// Version of the models. It is part of every platform's [hash](platform::Platform::hash): the same figures give other
/// times under another model. A change of a model, or of the events that the owner charges to the host, raises it.
///
/// Version 2 charged the end of a stream's transfer less than other events; 3 charges every event alike.
pub const MODELS: u32 = 3;

pub mod dram;
mod hash;
pub mod host;
pub mod network;
pub mod pcie;
pub mod platform;
mod wire;
