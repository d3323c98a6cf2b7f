//! Input files for measurements.

use crate::failure::Failure;
use std::path::Path;

/// Writes a file of `bytes` reproducible pseudo-random bytes.
pub fn write_input(path: &Path, bytes: u64) -> Result<(), Failure> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let words = (0..bytes.div_ceil(8)).flat_map(|_| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    let content: Vec<u8> = words.take(bytes as usize).collect();
    Ok(std::fs::write(path, content)?)
}
