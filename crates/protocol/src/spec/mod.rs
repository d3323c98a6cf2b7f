//! The specification language: stable states and rules of interaction.
//!
//! [`parse`] turns text into a [`Spec`] in which all names are resolved and all rules are legal; any other text is a
//! [`SpecError`] that points at line and word. The language itself is described in `docs/protocols.md`.

mod diagnostic;
mod model;
mod parse;
mod resolve;
mod token;
mod validate;

pub use diagnostic::{Fault, Span, SpecError};
pub use model::{
    Access, AccessKind, Class, ClassId, Downgrade, Effect, Forward, Grant, GrantWhen, MessageType,
    MsgId, OpId, Operation, Spec, State, StateId, Trigger, Upgrade,
};

/// Reads a specification.
///
/// # Errors
///
/// A [`SpecError`] names the line, the word and the rule that it broke.
pub fn parse(file: &str, text: &str) -> Result<Spec, SpecError> {
    let locate = |fault| SpecError::new(file, text, fault);
    let lines = token::scan(text).map_err(locate)?;
    let rules = parse::rules(&lines).map_err(locate)?;
    let spec = resolve::resolve(&rules).map_err(locate)?;
    validate::validate(&spec, &rules).map_err(locate)?;
    Ok(spec)
}

/// Reads a specification from raw bytes, which need not be UTF-8.
///
/// # Errors
///
/// As [`parse`]; bytes that are no UTF-8 are an error at their line.
pub fn parse_bytes(file: &str, bytes: &[u8]) -> Result<Spec, SpecError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(file, text),
        Err(error) => {
            let good = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let line = good.matches('\n').count() + 1;
            let column = good.chars().rev().take_while(|&c| c != '\n').count() + 1;
            let span = Span {
                line,
                column,
                length: 1,
            };
            Err(SpecError::new(
                file,
                &good,
                Fault::new(span, "this byte is no UTF-8 text"),
            ))
        }
    }
}
