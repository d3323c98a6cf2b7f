//! Compares `f1-mig` with FSRF's measurements of its own controllers.

use crate::common::{platform, random_rows, stream, AXI, UNBOUNDED};
use tombolo_timing::dram::Controller;
use tombolo_timing::platform::Platform;

/// Bytes of `count` accesses of `rows` rows a second.
fn rate(
    platform: &Platform,
    port: &crate::common::Port,
    accesses: &[tombolo_timing::dram::Access],
) -> f64 {
    let mut channel = Controller::new(platform.memory());
    let seen = port.run(&mut channel, accesses);
    let bytes: u64 = accesses
        .iter()
        .map(|access| u64::from(access.rows) * 64)
        .sum();
    bytes as f64 / seen.finished.as_seconds()
}

/// FSRF's table 2 for physical addresses, over its four channels: hot large streams at 57,000 MiB/s, and 2^19 reads or
/// writes of 64 bytes by each application in 7.2 and 8.9 ms. The bounds are the residuals that docs/blocks/timing.md
/// names; the controller has three fitted figures.
#[test]
fn streams_and_random_rows_are_as_fsrf_measured() {
    let mig = platform("f1-mig");
    let set = 32 << 20;
    let random = |write| random_rows(1, 40_000, set, write);
    let cases = [
        ("stream read", 14.94e9, 0.02, stream(0, 2000, 64, false)),
        ("stream written", 14.94e9, 0.02, stream(0, 2000, 64, true)),
        ("random reads", 72.8e6 * 64.0, 0.13, random(false)),
        ("random writes", 58.9e6 * 64.0, 0.23, random(true)),
    ];
    for (name, published, most, accesses) in cases {
        let error = rate(&mig, &AXI, &accesses) / published - 1.0;
        println!("{name}: {:+.1} %", error * 100.0);
        assert!(error.abs() < most, "{name}: {error}");
    }
}

/// DRAMsim3 with the same settings, 64 reads of a row outstanding: 86.9 % of the pins.
#[test]
fn a_stream_of_single_rows_is_as_dramsim3_has_it() {
    let mig = platform("f1-mig");
    let share =
        rate(&mig, &UNBOUNDED, &stream(0, 40_000, 1, false)) / mig.memory().pin_bytes_per_second();
    println!("{:.1} % of the pins", share * 100.0);
    assert!((share - 0.869).abs() < 0.01, "{share}");
}

/// Banks of a stream close with auto-precharge and need no precharge command; rows that leave a bank open do.
#[test]
fn half_of_the_random_rows_close_their_bank() {
    let mut open = platform("f1-mig").memory().clone();
    open.controller.auto_precharge = false;
    let accesses = random_rows(1, 40_000, 32 << 20, false);
    let time = |memory| AXI.run(&mut Controller::new(memory), &accesses).finished;
    assert!(time(&open) > time(platform("f1-mig").memory()));
}
