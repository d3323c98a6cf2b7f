//! The memory models compared with closed forms that follow from the timing parameters alone: a check of internal
//! consistency. `dramsim3` compares them with an independent simulator.
//!
//! Model and forms share only the platform's parameters; docs/blocks/timing.md derives the forms. Nothing is fitted: a
//! form that deviates is kept, with its error as a row.

pub mod dramsim3;
mod forms;

use super::Failure;
use crate::row::Row;
use crate::traffic::{Places, Traffic};
use forms::Forms;
use timing::platform::{Memory, Platform};

/// The models: DDR4, and one pseudo-channel of HBM2 on two cards.
const PLATFORMS: [&str; 3] = ["f1", "u280", "u55c"];

/// A figure of the model and its expected value, in the same unit.
struct FormCase {
    name: &'static str,
    model: f64,
    form: f64,
}

fn cases(memory: &Memory) -> Vec<FormCase> {
    let form = Forms(memory);
    let places = Places(memory);
    let traffic = Traffic(memory);
    let mut cases = Vec::new();
    let mut case = |name, model, form| cases.push(FormCase { name, model, form });

    // Bandwidths, in rows per clock.
    let rows = 40_000;
    case(
        "sequential reads",
        traffic.rate(&places.sequential(rows), false),
        form.sequential(),
    );
    case(
        "sequential writes",
        traffic.rate(&places.sequential(rows), true),
        form.sequential(),
    );
    case(
        "stride: one bank, reads",
        traffic.rate(&places.one_bank(rows / 4), false),
        form.one_bank(false),
    );
    case(
        "stride: one bank, writes",
        traffic.rate(&places.one_bank(rows / 4), true),
        form.one_bank(true),
    );
    case(
        "stride: one bank group",
        traffic.rate(&places.one_group(rows), false),
        form.one_group(),
    );
    case(
        "stride: a DRAM row each",
        traffic.rate(&places.all_banks(rows), false),
        form.all_banks(),
    );
    case(
        "random reads",
        traffic.rate(&places.random(rows, 1), false),
        form.random(),
    );
    case(
        "half reads, half writes",
        traffic.mixed_rate(
            &places.half_of_banks(rows, 0),
            &places.half_of_banks(rows, 1),
        ),
        form.mixed(),
    );

    // Loaded latencies of reads, in clocks.
    case(
        "latency, sequential, saturated",
        traffic.saturated_latency(&places.sequential(rows)),
        form.saturated_latency(),
    );
    for (name, load) in [
        ("latency, sequential, 25 % load", 0.25),
        ("latency, sequential, 50 % load", 0.50),
        ("latency, sequential, 75 % load", 0.75),
    ] {
        let interval = 1.0 / (load * form.sequential_peak());
        case(
            name,
            traffic.open_latency(&places.sequential(rows), interval, None),
            form.sequential_latency(load),
        );
    }
    for (name, load) in [
        ("latency, random, 10 % load", 0.10),
        ("latency, random, 25 % load", 0.25),
        ("latency, random, 50 % load", 0.50),
    ] {
        let interval = 1.0 / (load * form.activation_peak());
        case(
            name,
            traffic.open_latency(&places.random(rows, 2), interval, Some(3)),
            form.random_latency(interval),
        );
    }
    cases
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let directories = simcard::platform_directories(&simcard::home());
    let mut rows = Vec::new();
    let mut worst: f64 = 0.0;
    for name in PLATFORMS {
        let platform = Platform::named(name, &directories)?;
        let mut largest: f64 = 0.0;
        eprintln!("{name:<34}     model      form     error");
        for case in cases(platform.memory()) {
            let error = (case.model / case.form - 1.0) * 100.0;
            eprintln!(
                "  {:<32}{:>10.4}{:>10.4}{error:>+8.2} %",
                case.name, case.model, case.form
            );
            largest = largest.max(error.abs());
        }
        let row = format!("memory.self_consistency.{name}");
        rows.push(Row::new(&row, largest, "%"));
        worst = worst.max(largest);
    }
    let name = "memory.self_consistency";
    rows.push(Row::new(name, worst, "%"));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// AMD states ±5 % for the best of its own models; ours must match its own parameters as well.
    const TOLERANCE: f64 = 5.0;

    #[test]
    fn every_platform_is_as_its_forms_say() {
        let directories = simcard::platform_directories(&simcard::home());
        for name in PLATFORMS {
            let platform = Platform::named(name, &directories).unwrap();
            for case in cases(platform.memory()) {
                let error = (case.model / case.form - 1.0) * 100.0;
                println!("{name}: {}: {error:+.2} %", case.name);
                assert!(
                    error.abs() <= TOLERANCE,
                    "{name}: {}: model {}, form {}",
                    case.name,
                    case.model,
                    case.form
                );
            }
        }
    }

    /// The forms hold for other parameters: refreshes half as long, windows twice as long.
    #[test]
    fn forms_hold_for_figures_that_no_platform_has() {
        let directories = simcard::platform_directories(&simcard::home());
        for name in PLATFORMS {
            for (rfc, faw) in [(2, 1), (1, 2)] {
                let mut memory = Platform::named(name, &directories)
                    .unwrap()
                    .memory()
                    .clone();
                memory.timing.rfc /= rfc;
                memory.timing.faw *= faw;
                for case in cases(&memory) {
                    let error = (case.model / case.form - 1.0) * 100.0;
                    println!("{name} rfc/{rfc} faw*{faw}: {}: {error:+.2} %", case.name);
                    assert!(
                        error.abs() <= TOLERANCE,
                        "{name} rfc/{rfc} faw*{faw}: {}: {error:+.2} %",
                        case.name
                    );
                }
            }
        }
    }
}
