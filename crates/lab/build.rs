//! Takes the hash of the sources that the lab's figures depend on, as they are compiled: a program keeps results under it,
//! and never under the sources of another one.

use sha2::{Digest, Sha256};
use std::path::Path;

#[path = "src/experiment/folder_hash.rs"]
mod folder_hash;

/// The simulator's sources and, of the lab, how work is done (how it is shown may change).
const SOURCES: [&str; 15] = [
    "card/src",
    "funcard/src",
    "lab/src/driver.rs",
    "lab/src/bars/aes.rs",
    "lab/src/experiment/fsrf/mix.rs",
    "lab/src/experiment/fsrf/transfer.rs",
    "lab/src/experiment/hot.rs",
    "lab/src/experiment/outcome.rs",
    "lab/src/experiment/warm.rs",
    "lab/src/experiment/workload.rs",
    "pager/src",
    "simcard/src",
    "timing/src",
    "tombolo/src",
    "units/src",
];

fn main() -> std::io::Result<()> {
    let mut hash = Sha256::new();
    for source in SOURCES {
        let path = Path::new("..").join(source);
        println!("cargo::rerun-if-changed={}", path.display());
        // One that has been renamed must not fall out of the hash.
        assert!(path.exists(), "no {}", path.display());
        folder_hash::add(&mut hash, &path)?;
    }
    let hash: String = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    println!("cargo::rustc-env=TOMBOLO_LAB_COMPILED={hash}");
    Ok(())
}
