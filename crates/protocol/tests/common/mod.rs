//! Helpers shared by several tests.
#![allow(dead_code)]

use std::path::PathBuf;

use protocol::generate::{generate, Protocol};
use protocol::spec::{self, Spec};

/// Names of the protocols that ship.
pub const ALL: [&str; 5] = ["mesi", "esi", "msi", "mosi", "moesi"];

/// The repository's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Text of a protocol that ships.
pub fn text(name: &str) -> String {
    let path = root().join(format!("protocols/{name}.protocol"));
    std::fs::read_to_string(path).expect("the protocol ships with the repository")
}

/// A text with lines changed, each of which must be there.
pub fn changed(name: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text(name), |text, (from, to)| {
        assert!(text.contains(from), "{name} has no {from:?}");
        text.replace(from, to)
    })
}

/// A text as a protocol.
pub fn read(text: &str) -> Spec {
    spec::parse("test", text).unwrap_or_else(|error| panic!("{error}"))
}

/// A protocol that ships, as written.
pub fn spec(name: &str) -> Spec {
    spec::parse(name, &text(name)).unwrap_or_else(|error| panic!("{error}"))
}

/// A protocol that ships, generated.
pub fn protocol(name: &str, caches: usize) -> Protocol {
    generate(&spec(name), caches).unwrap_or_else(|error| panic!("{name}: {error}"))
}
