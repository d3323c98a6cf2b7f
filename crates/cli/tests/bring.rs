//! Does every kernel of `tests/bring` run as it is, by its manifest or by an import, without a wrapper?

use lab::cases::{self, Case, CaseOutcome};
use std::path::Path;

/// The cases of `make test`; `make test-deep` runs all.
const QUICK: [&str; 9] = [
    "bring.parameters",
    "bring.prefixes",
    "bring.two_wide_bundles",
    "bring.fast_clock",
    "bring.width1024",
    "bring.import.xo_without_kernel_xml",
    "bring.import.streams",
    "bring.refused.address32",
    "bring.refused.xpm",
];

fn judge(list: &[Case]) {
    let tombolo = Path::new(env!("CARGO_BIN_EXE_tombolo"));
    let outcomes = cases::run(tombolo, &cases::bring_folder(), list, 2);
    let mut failed = 0;
    for (case, outcome) in list.iter().zip(outcomes) {
        match outcome {
            CaseOutcome::Held => {}
            CaseOutcome::Skipped(program) => println!("skipped: bring: {} ({program})", case.name),
            CaseOutcome::Failed(what) => {
                eprintln!("case {}: {what}\nwanted: {}\n", case.name, case.wanted);
                failed += 1;
            }
        }
    }
    assert_eq!(failed, 0, "of {} cases", list.len());
}

#[test]
fn a_handful_of_foreign_kernels_runs() {
    let mut list = cases::read(&cases::bring_folder()).unwrap();
    list.retain(|case| QUICK.contains(&case.name.as_str()));
    assert_eq!(list.len(), QUICK.len());
    judge(&list);
}

#[test]
#[ignore = "builds a model for each of 52 kernels"]
fn every_foreign_kernel_runs() {
    let wanted = std::env::var("TOMBOLO_BRING").unwrap_or_default();
    let mut list = cases::read(&cases::bring_folder()).unwrap();
    list.retain(|case| case.name.contains(&wanted));
    assert!(!list.is_empty(), "no case has `{wanted}` in its name");
    judge(&list);
}
