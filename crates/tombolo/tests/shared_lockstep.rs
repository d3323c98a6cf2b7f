//! Do several host threads that count get the same report in every run, their traps among it?

#[path = "shared_memory/common.rs"]
mod common;
#[path = "shared_memory/lockstep.rs"]
mod lockstep;

use card::functional::Registry;
use common::functional;
use lockstep::{run, simulated};

// One test: blocks of several cards of a process would lie at addresses that depend on who comes first.
#[test]
fn threads_that_count_give_one_report() {
    let functional = || functional(Registry::default(), 9, None);
    let first = run(&functional(), 0).unwrap();
    for seed in 1..20 {
        assert_eq!(run(&functional(), seed).unwrap(), first);
    }
    let first = run(&simulated(), 0).unwrap();
    for seed in 1..4 {
        assert_eq!(run(&simulated(), seed).unwrap(), first);
    }
}
