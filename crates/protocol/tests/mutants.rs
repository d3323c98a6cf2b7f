//! Does the checker notice every single wrong cell?

mod common;

use protocol::mutate::campaign;

#[test]
fn no_mutant_survives() {
    for name in ["mesi", "esi", "msi"] {
        let result = campaign(&common::protocol(name, 1), 400, &mut |_, _| {}).unwrap();
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
        assert_eq!(result.tried, 400);
    }
}

/// With two caches, so that one owns what the other shares.
#[test]
fn no_mutant_of_owned_survives() {
    for (name, wanted) in [("mosi", 400), ("moesi", 150)] {
        let result = campaign(&common::protocol(name, 2), wanted, &mut |_, _| {}).unwrap();
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
    }
}
