//! Encrypts a file on the simulated card, and checks the result with openssl.

use super::Failure;
use std::path::Path;
use std::process::Command;
use tombolo::{Card, Continue, MapOptions, Report, SimOptions, Slot, SlotId};

const KEY: [u8; 32] = *b"a key of thirty-two bytes, fixed";
const IV: [u8; 16] = *b"a counter block.";

/// Sets the key and the counter that [`openssl_agrees`] uses.
pub fn give_key(slot: &Slot) -> Result<(), Failure> {
    slot.set_bytes("key", &KEY)?;
    Ok(slot.set_bytes("iv", &IV)?)
}

/// Encrypts a file; the report covers the whole session, including write-back.
pub fn encrypt(options: SimOptions, input: &Path, output: &Path) -> Result<Report, Failure> {
    let card = Card::simulated(options, Default::default(), |_| {})?;
    let space = card.create_space()?;
    let source = space.map_file(input, MapOptions::read_only())?;
    let target = space.map_file(output, MapOptions::create(source.bytes()))?;
    let folder = simcard::home().join("kernels/aes256ctr");
    let slot = card.load(SlotId(0), &folder, &space)?;
    slot.set_pointer("input", source.address())?;
    slot.set_pointer("output", target.address())?;
    slot.set("bytes", source.bytes())?;
    give_key(&slot)?;
    slot.start()?;
    slot.wait(None, |_| Continue::Yes)?;
    target.unmap()?;
    source.unmap()?;
    Ok(card.report()?)
}

pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether openssl produces the same bytes.
pub fn openssl_agrees(input: &Path, output: &Path) -> Result<bool, Failure> {
    let result = Command::new("openssl")
        .args([
            "enc",
            "-aes-256-ctr",
            "-K",
            &hex(&KEY),
            "-iv",
            &hex(&IV),
            "-in",
        ])
        .arg(input)
        .output()?;
    if !result.status.success() {
        return Err(String::from_utf8_lossy(&result.stderr).into());
    }
    Ok(result.stdout == std::fs::read(output)?)
}
