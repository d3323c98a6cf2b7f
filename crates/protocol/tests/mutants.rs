//! Does the checker notice every single wrong cell?

mod common;

use protocol::mutate::campaign;

#[test]
fn no_mutant_survives() {
    for name in common::ALL {
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
