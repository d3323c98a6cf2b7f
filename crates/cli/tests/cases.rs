//! Does every stranger's case of `tests/cases` still end as it should?

use lab::cases::{self, CaseOutcome};
use std::path::Path;

#[test]
fn every_case_ends_as_it_should() {
    let folder = cases::folder();
    let wanted = std::env::var("TOMBOLO_CASES").unwrap_or_default();
    let mut list = cases::read(&folder).unwrap();
    list.retain(|case| case.name.contains(&wanted));
    assert!(!list.is_empty(), "no case has `{wanted}` in its name");
    let tombolo = Path::new(env!("CARGO_BIN_EXE_tombolo"));
    let outcomes = cases::run(tombolo, &folder, &list, 2);
    let mut failed = 0;
    for (case, outcome) in list.iter().zip(outcomes) {
        match outcome {
            CaseOutcome::Held => {}
            CaseOutcome::Skipped(program) => println!("skipped: cases: {} ({program})", case.name),
            CaseOutcome::Failed(what) => {
                eprintln!("case {}: {what}\nwanted: {}\n", case.name, case.wanted);
                failed += 1;
            }
        }
    }
    assert_eq!(failed, 0, "of {} cases", list.len());
}
