//! The simulated card: Verilated shell and kernels in deterministic virtual time.
//!
//! The crate `verilated` turns RTL into loadable models, `model` loads them, `engine` is the event loop, the `*_port`
//! modules are the surroundings of the shell, [`Machine`] combines them with a host, and [`SimCard`] adds the driver of
//! the crate `card`. `docs/blocks/simulator.md` argues why a split design behaves as one, and why idle time may be
//! skipped.

mod bar_port;
mod bus;
mod card;
mod clocked;
mod config;
mod driven;
mod engine;
mod error;
mod export;
mod host_port;
mod interface;
mod isolated;
mod kernel_model;
mod link_port;
mod machine;
mod memory_port;
mod model;
mod names;
mod network_port;
mod observer;
mod options;
mod refusals;
mod signals;
mod slot;
mod store;
mod surrounding;
mod top;
mod trace;
mod wires;
mod wrapper;

pub use self::card::SimCard;
pub use config::{ChannelPolicy, DirectoryConfig, L1Config, ShellConfig, Translator};
pub use driven::{drive_registers, Remark};
pub use export::{exported_files, ExportedFile};
pub use isolated::{serve_kernel, KernelHost};
pub use kernel_model::{build_kernel, check_kernel, kernel_ports};
pub use machine::{Machine, ProgressCallback};
pub use model::{Instance, Model, ModelFailure};
pub use options::{home, platform_directories, SimOptions, WaveStart, Waves};
pub use refusals::{refusals, Refusal};
