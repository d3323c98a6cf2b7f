//! The Verilated cache controller, small: is what the card sees of the CPU's memory coherent?

use coherence::cache_controller::model::{build, Geometry};
use coherence::cache_controller::torture::{self, Plan};
use coherence::platform::Platform;

fn plan(seed: u64) -> Plan {
    Plan {
        geometry: Geometry::SMALL,
        operations: 60_000,
        lines: 24,
        counters: 4,
        round_trip_ps: 40_000,
        jitter_ps: 200_000,
        seed,
    }
}

#[test]
fn random_accesses_are_explained() {
    let platform = Platform::enzian().expect("platform");
    let library = build(Geometry::SMALL, None).expect("model");
    for seed in [1, 2] {
        let report = torture::run(&plan(seed), &library, &platform.link).expect("run");
        println!("{report:?}");
        assert_eq!(report.unexplained, 0, "{:?}", report.first);
    }
}
