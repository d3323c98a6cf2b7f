//! Do things that must change no result change no result? Skipping idle edges; splitting the design
//! into shell and kernel.

mod sim;

use sim::{kernel, options, run_copy};
use tombolo_card::sim::SimOptions;
use tombolo_card::{Card, Statistics};
use units::Picoseconds;

const BYTES: usize = 200_000;

/// Virtual time at the end, the output, and the statistics but for the simulator's own speed.
fn results(options: SimOptions) -> (Picoseconds, Vec<u8>, Statistics) {
    let (mut driver, input, output) = run_copy(options, BYTES);
    assert!(input == output);
    let now = driver.card.now();
    let mut statistics = driver.card.statistics().unwrap();
    statistics.evaluated_cycles = 0;
    (now, output, statistics)
}

#[test]
fn skipping_idle_edges_changes_nothing() {
    let with = results(options());
    let mut patient = options();
    patient.idle_skipping = false;
    let without = results(patient);
    assert_eq!(with.0, without.0);
    assert_eq!(with.2, without.2);
    assert!(with.1 == without.1);
}

#[test]
fn a_split_design_takes_the_cycles_of_one_model() {
    let split = results(options());
    let mut whole = options();
    whole.monolithic = Some(kernel("copy"));
    let whole = results(whole);
    assert_eq!(split.0, whole.0);
    assert_eq!(split.2, whole.2);
    assert!(split.1 == whole.1);
}

#[test]
fn the_same_inputs_give_the_same_results() {
    assert_eq!(results(options()).2, results(options()).2);
}
