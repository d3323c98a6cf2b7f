//! Checks the pager in random models of every order of events, and checks that the model detects injected faults.

use tombolo_pager::testing::{run, run_many, Sabotage, Scenario};

#[test]
fn random_worlds_lose_nothing() {
    let tally = match run_many(1, 100_000, 1_000) {
        Ok(tally) => tally,
        Err(broken) => panic!("{broken}"),
    };
    // The worlds must be worth something.
    assert!(tally.accesses > 8_000, "{tally:?}");
    assert!(tally.pieces > 100, "{tally:?}");
    assert!(tally.pages_in_pieces > 300, "{tally:?}");
    assert!(tally.pages_in_pieces_failed > 10, "{tally:?}");
    assert!(tally.evictions > 500, "{tally:?}");
    assert!(tally.set_conflicts > 100, "{tally:?}");
    assert!(tally.write_backs_failed > 50, "{tally:?}");
    assert!(tally.faults_joined > 100, "{tally:?}");
    assert!(tally.pages_zeroed > 100, "{tally:?}");
    assert!(tally.pages_hinted > 50, "{tally:?}");
    assert!(tally.pages_cleaned_ahead > 50, "{tally:?}");
    assert!(tally.pages_cleaned_behind > 50, "{tally:?}");
    assert!(tally.pages_saved_in_pieces > 100, "{tally:?}");
    assert!(tally.tables_grown > 5, "{tally:?}");
    assert!(tally.requests_failed > 10, "{tally:?}");
    assert!(tally.pages_large > 50, "{tally:?}");
    assert!(tally.pages_small > 100, "{tally:?}");
    assert!(tally.pages_split > 5, "{tally:?}");
    assert!(tally.pages_joined > 8, "{tally:?}");
    assert!(tally.pages_direct > 300, "{tally:?}");
    assert!(tally.pages_direct_written > 100, "{tally:?}");
}

#[test]
fn equal_seeds_give_equal_worlds() {
    assert_eq!(
        run_many(5, 2_000, 1_000).ok(),
        run_many(5, 2_000, 1_000).ok()
    );
}

/// Worlds until the mistake is noticed, without the pager's own invariants: by what it does alone.
fn notices(sabotage: Sabotage) {
    let noticed = (0..1_000).any(|seed| {
        let scenario = Scenario {
            seed,
            events: 2_000,
            failures: true,
            check: false,
            sabotage: Some(sabotage),
        };
        // A debug assertion of the pager is a way to notice, too.
        std::panic::catch_unwind(|| run(scenario).is_err()).unwrap_or(true)
    });
    assert!(noticed, "{sabotage:?} went unnoticed");
}

macro_rules! mistakes {
    ($($name:ident => $sabotage:ident),* $(,)?) => {
        $(#[test]
        fn $name() {
            notices(Sabotage::$sabotage);
        })*
    };
}

mistakes! {
    notices_a_skipped_drain => SkipDrain,
    notices_dropped_dirty_bits => DropDirty,
    notices_frames_reused_early => ReuseEarly,
    notices_entries_installed_early => InstallEarly,
    notices_syncs_without_protection => SyncUnprotected,
    notices_writes_beyond_the_end => WriteTail,
    notices_trust_in_failed_writes => TrustFailedWrite,
    notices_answered_writes_forgotten => ForgetAnsweredWrite,
    notices_leaked_buffers => LeakBuffer,
    notices_overfilled_sets => OverfillSet,
    notices_pages_joined_without_their_writes => JoinForgetsWrites,
    notices_pages_in_host_memory_that_are_not_written => ForgetDirect,
    notices_saved_pages_taken_for_zero => ForgetSaved,
    notices_pages_installed_before_all_their_pieces => ForgetPieces,
}
