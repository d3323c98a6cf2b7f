//! Options that must not affect results do not: skipping idle edges, splitting the design into shell and
//! kernel, leaving assertions out.

mod sim;

use card::kernel::KernelPackage;
use card::{Card, Loader, Statistics};
use sim::{kernel, open, options, pattern, rtl, run_copy, Driver, SLOT, SPACE};
use simcard::SimOptions;
use units::Picoseconds;

const BYTES: usize = 200_000;

/// Virtual time at the end, the output, and the statistics except those of the simulator's own speed.
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
fn the_model_that_users_run_has_the_results_of_the_asserting_one() {
    let asserting = results(options());
    let mut fast = options();
    fast.asserting = false;
    let fast = results(fast);
    assert_eq!(asserting.0, fast.0);
    assert_eq!(asserting.2, fast.2);
    assert!(asserting.1 == fast.1);
}

/// Idle blocks of the model for users are skipped: a pin that differs from the asserting model's would
/// break the card at that edge.
#[test]
fn blocks_that_sleep_change_no_pin() {
    let mut watched = options();
    watched.asserting = false;
    watched.witness = true;
    let with = results(watched);
    assert_eq!(with.0, results(options()).0);
}

/// The same for a kernel with combinational paths from inputs to outputs.
fn results_of_through(options: SimOptions) -> (Picoseconds, Statistics) {
    const PAGES: usize = 40;
    let mut driver = Driver::new(open(options));
    driver.card.load(SLOT, &through()).unwrap();
    driver.table();
    driver.install(1, true);
    let bytes = PAGES * 4096;
    let (memory, host) = driver.map(2 * bytes);
    let input = pattern(bytes);
    memory.write(0, &input).unwrap();
    driver.copy(host, 0, bytes as u64, true);
    driver.card.control_slot(SLOT, SPACE, true).unwrap();
    driver.set_argument(0x10, 0);
    driver.set_argument(0x18, bytes as u64);
    driver.set_argument(0x20, PAGES as u64);
    driver.wait_for_kernel(Picoseconds::from_millis(1));
    driver.copy(host.offset(bytes as u64), bytes as u64, bytes as u64, false);
    let mut output = vec![0; bytes];
    memory.read(bytes, &mut output).unwrap();
    assert!(input.iter().zip(&output).all(|(i, o)| *o == !*i));
    let now = driver.card.now();
    let mut statistics = driver.card.statistics().unwrap();
    statistics.evaluated_cycles = 0;
    (now, statistics)
}

fn through() -> KernelPackage {
    KernelPackage::open(&rtl("through")).unwrap()
}

#[test]
fn outputs_that_follow_inputs_within_a_cycle_change_nothing() {
    let split = results_of_through(options());
    let mut whole = options();
    whole.monolithic = Some(through());
    assert_eq!(split, results_of_through(whole));
    let mut patient = options();
    patient.idle_skipping = false;
    assert_eq!(split, results_of_through(patient));
}

#[test]
fn the_same_inputs_give_the_same_results() {
    assert_eq!(results(options()).2, results(options()).2);
}
