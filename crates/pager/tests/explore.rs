//! Checks the pager in every order of events, for one or two pages, and checks that faults would be detected.

use tombolo_pager::testing::explore::{explore, Explored, Small};
use tombolo_pager::testing::Sabotage;
use tombolo_pager::InstallOrder;

fn right(small: Small) -> Explored {
    explore(small).unwrap_or_else(|broken| panic!("{small:?}\n{broken}"))
}

#[test]
fn every_order_of_two_pages_is_right() {
    for install_order in [InstallOrder::Fenced, InstallOrder::OnCompletion] {
        let found = right(Small {
            install_order,
            accesses: 2,
            ..Small::TWO_TWO_TWO
        });
        assert!(found.states > 5_000 && found.rests > 50, "{found:?}");
    }
}

#[test]
fn kernels_that_never_end_are_right_as_well() {
    for install_order in [InstallOrder::Fenced, InstallOrder::OnCompletion] {
        let found = right(Small {
            install_order,
            accesses: Small::ANY,
            ..Small::ONE_FRAME
        });
        assert!(found.states > 300, "{found:?}");
    }
}

#[test]
fn every_order_of_two_pages_that_want_one_frame_is_right() {
    for (clean_ahead, failures) in [(0, 1), (1, 0)] {
        right(Small {
            accesses: 2,
            clean_ahead,
            failures,
            ..Small::ONE_FRAME
        });
    }
}

#[test]
fn every_order_of_a_page_that_stays_in_host_memory_is_right() {
    for (syncs, unmaps) in [(2, 0), (0, 2)] {
        let found = right(Small {
            pages: 1,
            direct: true,
            accesses: 2,
            syncs,
            unmaps,
            failures: 1,
            ..Small::TWO_TWO_TWO
        });
        assert!(found.states > 1_000, "{found:?}");
        for stage in ["Fetching", "Clean.Saving", "Release.Saving"] {
            let seen = found.moves.iter().any(|(_, to)| *to == stage);
            assert!(seen || syncs > 0, "{stage}");
        }
    }
}

/// A mistake is found in the world of two pages, or where I/O fails and frames are short.
fn finds(sabotage: Sabotage, small: Small) {
    let small = Small {
        sabotage: Some(sabotage),
        ..small
    };
    // A debug assertion of the pager is a way to notice, too.
    let noticed = std::panic::catch_unwind(|| explore(small).is_err()).unwrap_or(true);
    assert!(noticed, "{sabotage:?} went unnoticed");
}

#[test]
fn planted_mistakes_are_found() {
    let short = Small {
        accesses: 2,
        failures: 1,
        ..Small::ONE_FRAME
    };
    let direct = Small {
        pages: 1,
        direct: true,
        accesses: 1,
        ..Small::ONE_FRAME
    };
    for (sabotage, small) in [
        (Sabotage::SkipDrain, Small::TWO_TWO_TWO),
        (Sabotage::DropDirty, Small::TWO_TWO_TWO),
        (Sabotage::SyncUnprotected, Small::TWO_TWO_TWO),
        (Sabotage::InstallEarly, Small::TWO_TWO_TWO),
        (Sabotage::ForgetAnsweredWrite, Small::TWO_TWO_TWO),
        (Sabotage::ReuseEarly, Small::ONE_FRAME),
        (Sabotage::LeakBuffer, short),
        (Sabotage::TrustFailedWrite, short),
        (Sabotage::ForgetDirect, direct),
    ] {
        finds(sabotage, small);
    }
}
