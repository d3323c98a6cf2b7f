//! Do several host threads that count get the same report in every run, their traps among it?

#[path = "shared_memory/common.rs"]
mod common;
#[path = "shared_memory/lockstep.rs"]
mod lockstep;

use common::{costs, functional};
use funcard::Registry;
use lockstep::{run, simulated};

// One test: blocks of several cards of a process would lie at addresses that depend on who comes first.
#[test]
fn threads_that_count_give_one_report() {
    let functional = || functional(Registry::default(), 9, None);
    let first = run(&functional(), 0).unwrap();
    for seed in 1..20 {
        assert_eq!(run(&functional(), seed).unwrap(), first);
    }
    let first = run(&simulated(None), 0).unwrap();
    for seed in 1..4 {
        assert_eq!(run(&simulated(None), seed).unwrap(), first);
    }
    // On a host where traps take time.
    let host = Some(costs(7, 3));
    let dearer = run(&simulated(host.clone()), 0).unwrap();
    assert_eq!(run(&simulated(host), 1).unwrap(), dearer);
    assert!(dearer.1 > first.1 && dearer.0 != first.0);
}
