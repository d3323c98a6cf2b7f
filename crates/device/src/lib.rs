//! A card as a PCI Express device for a virtual machine: a vfio-user server for any hardware behind a BAR.
//!
//! [`serve`] provides configuration space, MSI-X, bus mastering and resets, as a host sees them (docs/pcie.md). The
//! hardware behind the BAR implements [`Hardware`]: the simulated card, or [`Probe`], which only copies.

mod config_space;
mod function;
mod maps;
mod msix;
mod places;
mod probe;
mod server;
mod shell;

pub use config_space::{DEVICE, VENDOR};
pub use function::{Function, Hardware, Interrupts};
pub use probe::{Probe, ProbeRegister};
pub use server::{serve, Connection, ServeError};
pub use shell::{ProgressCallback, Shell, ShellOptions};
