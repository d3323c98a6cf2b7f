//! From a page of coherence rules to proven state machines for hardware, runtime and people.
//!
//! A specification names stable states, messages and rules of interaction ([`spec`]). From it
//! come both ends of the protocol with every in-between state ([`generate`]), which a model
//! checker that knows nothing of their making explores exhaustively ([`check`]) and every output
//! writes down ([`export`]). `docs/protocols.md` is the guide.
//!
//! ```
//! use protocol::{check, generate, spec};
//!
//! let text = include_str!("../../../protocols/esi.protocol");
//! let spec = spec::parse("esi.protocol", text)?;
//! let protocol = generate::generate(&spec, 2)?;
//! let verdict = check::check(&protocol, &check::Setting::default(), &mut |_| {})?;
//! assert!(verdict.failure.is_none());
//! println!("{} states, all properties hold", verdict.states);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod bench;
pub mod check;
pub mod cli;
pub mod export;
pub mod generate;
pub mod machine;
pub mod mutate;
pub mod rumur;
pub mod spec;
pub mod tables;
