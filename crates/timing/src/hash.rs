//! Hashes of files, recorded with every result.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// SHA-256 of some bytes, in hexadecimal.
pub(crate) fn sha256_hex(bytes: &[u8]) -> String {
    let mut hex = String::with_capacity(64);
    for byte in Sha256::digest(bytes) {
        // Writing to a string cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex
}
