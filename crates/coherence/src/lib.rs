//! The CPU's side of line coherence, for simulation: what the directory controller's RTL is run
//! against, measured with, and judged by.
//!
//! A [`System`](system::System) joins a CPU ([`cache`]), the [`link`], and a home: the Verilated
//! directory ([`home`]) or a second CPU ([`two_cpus`]). Time advances a card clock at a time. The
//! [`oracle`] sees only when loads, stores and operations began, ended and what they read; it knows
//! neither protocol nor controller.
//!
//! ```
//! use coherence::line::PlainLine;
//!
//! let line = PlainLine(0x1_2345);
//! assert_eq!(line.fold().unfold(), line);
//! ```

pub use card::directory_registers as registers;
pub use cpu::{cache, link, message, random};
pub use units::line;

pub mod bars;
pub mod cache_controller;
pub mod home;
pub mod judge;
pub mod model;
pub mod mutants;
pub mod oracle;
pub mod platform;
pub mod system;
pub mod torture;
pub mod two_cpus;
