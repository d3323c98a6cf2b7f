//! Hashes the sources that the lab's figures depend on, at compile time: the program stores results under this hash,
//! and never under that of other sources.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

#[path = "src/experiment/folder_hash.rs"]
mod folder_hash;

/// The crates that run a card. Their dependencies are included, according to their manifests, so that a part that is
/// moved to a separate crate stays in the hash.
const ROOTS: [&str; 2] = ["simcard", "tombolo"];

/// Sources of the lab that determine how work is done; those that only present results are excluded.
const LAB: [&str; 8] = [
    "lab/src/driver.rs",
    "lab/src/experiment/fsrf/mix.rs",
    "lab/src/experiment/fsrf/transfer.rs",
    "lab/src/experiment/hot.rs",
    "lab/src/experiment/outcome.rs",
    "lab/src/experiment/warm.rs",
    "lab/src/experiment/workload.rs",
    "lab/src/input.rs",
];

/// The crates of this workspace that a manifest lists as dependencies; a crate has the name of its folder.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let of_all = manifest.split_once("\n[dependencies]\n");
    let section = of_all.map_or("", |(_, behind)| behind.split("\n[").next().unwrap_or(""));
    let names = section
        .lines()
        .filter_map(|line| line.split([' ', '.', '=']).next());
    names.filter(|name| !name.is_empty() && Path::new("..").join(name).is_dir())
}

/// The root crates with all their dependencies.
fn crates() -> io::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    let mut todo = ROOTS.map(str::to_owned).to_vec();
    while let Some(name) = todo.pop() {
        let manifest = Path::new("..").join(&name).join("Cargo.toml");
        println!("cargo::rerun-if-changed={}", manifest.display());
        let text = std::fs::read_to_string(manifest)?;
        if found.insert(name) {
            todo.extend(dependencies(&text).map(str::to_owned));
        }
    }
    // Otherwise the manifests have a syntax that this script does not parse.
    assert!(found.contains("pager"), "no pager among {found:?}");
    Ok(found)
}

fn text(hash: Sha256) -> String {
    let bytes = hash.finalize();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn main() -> io::Result<()> {
    // Parts of evaluations may use any source of the lab.
    let mut lab = Sha256::new();
    folder_hash::add(&mut lab, Path::new("src"))?;
    println!("cargo::rerun-if-changed=src");
    println!("cargo::rustc-env=TOMBOLO_LAB_SOURCES={}", text(lab));
    let mut hash = Sha256::new();
    let crates = crates()?.into_iter().map(|name| format!("{name}/src"));
    for source in crates.chain(LAB.map(str::to_owned)) {
        let path = Path::new("..").join(source);
        println!("cargo::rerun-if-changed={}", path.display());
        // A renamed source must not silently drop out of the hash.
        assert!(path.exists(), "no {}", path.display());
        folder_hash::add(&mut hash, &path)?;
    }
    println!("cargo::rustc-env=TOMBOLO_LAB_COMPILED={}", text(hash));
    Ok(())
}
