//! UUIDs of designs.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The UUID of a design, 128 bits: the beginning of the hash of its file.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Uuid(pub [u8; 16]);

/// Malformed UUID: not 32 hexadecimal digits, with or without dashes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no UUID: 32 hexadecimal digits are, with or without dashes")]
pub struct UuidError(pub String);

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.0.iter().enumerate() {
            if matches!(at, 4 | 6 | 8 | 10) {
                f.write_str("-")?;
            }
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl FromStr for Uuid {
    type Err = UuidError;

    fn from_str(text: &str) -> Result<Self, UuidError> {
        let refuse = || UuidError(text.chars().take(80).collect());
        let digits: Vec<u8> = text.bytes().filter(|byte| *byte != b'-').collect();
        if digits.len() != 32 {
            return Err(refuse());
        }
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let digit = |digit: u8| (digit as char).to_digit(16).ok_or_else(refuse);
            *byte = (digit(pair[0])? << 4 | digit(pair[1])?) as u8;
        }
        Ok(Self(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_is_36_characters_in_lower_case_and_back() {
        let uuid = Uuid(*b"\x01\x23\x45\x67\x89\xab\xcd\xef\x01\x23\x45\x67\x89\xab\xcd\xef");
        let text = uuid.to_string();
        assert_eq!(text, "01234567-89ab-cdef-0123-456789abcdef");
        assert_eq!(text.parse(), Ok(uuid));
        assert_eq!(text.to_uppercase().parse(), Ok(uuid));
        for wrong in ["", "0123", "g1234567-89ab-cdef-0123-456789abcdef"] {
            assert!(wrong.parse::<Uuid>().is_err(), "{wrong}");
        }
    }
}
