//! Feeds the pager a number of random events and prints the result. `make bench` runs it for the figure
//! `pager.random_events`.
//!
//! Usage: `pager-random [--events N] [--seed S] [--each N]`. Prints one JSON object.

use std::process::ExitCode;
use tombolo_pager::testing::run_many;

fn main() -> ExitCode {
    let mut figures = [("--events", 1_000_000), ("--seed", 1), ("--each", 2_000)];
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let figure = figures.iter_mut().find(|(name, _)| *name == word);
        let value = words.next().and_then(|value| value.parse().ok());
        let (Some((_, figure)), Some(value)) = (figure, value) else {
            eprintln!("usage: pager-random [--events N] [--seed S] [--each N], not {word:?}");
            return ExitCode::FAILURE;
        };
        *figure = value;
    }
    let [(_, events), (_, seed), (_, each)] = figures;
    match run_many(seed, events, each) {
        Ok(tally) => {
            println!(
                "{{\"random_events\": {}, \"seed\": {seed}, \"accesses\": {}, \
                 \"accesses_failed\": {}, \"requests\": {}, \"requests_failed\": {}, \
                 \"writes\": {}, \"evictions\": {}, \"set_conflicts\": {}, \
                 \"write_backs_failed\": {}, \"broken\": 0}}",
                tally.events,
                tally.accesses,
                tally.accesses_failed,
                tally.requests,
                tally.requests_failed,
                tally.writes,
                tally.evictions,
                tally.set_conflicts,
                tally.write_backs_failed,
            );
            ExitCode::SUCCESS
        }
        Err(broken) => {
            eprintln!("{broken}");
            ExitCode::FAILURE
        }
    }
}
