//! The CPU's side of a coherent platform: cores, the last-level cache, the link, and the history of
//! lines. Virtual time comes from outside; nothing here knows a card.
//!
//! ```
//! use units::line::PlainLine;
//!
//! let line = PlainLine(0x1_2345);
//! assert_eq!(line.fold().unfold(), line);
//! ```

pub mod cache;
pub mod core;
pub mod home;
pub mod link;
pub mod message;
pub mod random;

use protocol::generate::{generate, GenerateError, Protocol};
use protocol::spec::{parse, SpecError};

/// The MESI specification cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ProtocolError {
    /// The specification breaks a rule of the language.
    #[error(transparent)]
    Spec(#[from] Box<SpecError>),
    /// The machines cannot be generated.
    #[error(transparent)]
    Generate(#[from] GenerateError),
}

/// The MESI protocol of `protocols/mesi.protocol`, from which the RTL was generated.
///
/// # Errors
/// [`ProtocolError`] if the file is not a valid specification.
pub fn mesi() -> Result<Protocol, ProtocolError> {
    let text = include_str!("../../../protocols/mesi.protocol");
    let spec = parse("protocols/mesi.protocol", text).map_err(Box::new)?;
    Ok(generate(&spec, 1)?)
}
