//! Checks that the checker detects every single wrong cell.

mod common;

use protocol::mutate::{campaign, Campaign};

fn none_survives(name: &str, caches: usize, wanted: usize) -> Campaign {
    let result = campaign(&common::protocol(name, caches), wanted, &mut |_, _| {}).unwrap();
    assert!(
        result.survivors.is_empty(),
        "{name}: {:#?}",
        result.survivors
    );
    assert!(
        result.killed >= 100,
        "{name}: only {} were killed",
        result.killed
    );
    result
}

#[test]
fn no_mutant_survives() {
    for name in ["mesi", "esi", "msi"] {
        assert_eq!(none_survives(name, 1, 400).tried, 400);
    }
}

/// With two caches, so that one owns what the other shares.
#[test]
fn no_mutant_of_owned_survives() {
    for (name, wanted) in [("mosi", 400), ("moesi", 150)] {
        none_survives(name, 2, wanted);
    }
}
