//! Visits every state of small models and prints the counts as one JSON object. `make bench` runs it for the figures
//! `pager.exhaustive_*`.

use std::process::ExitCode;
use tombolo_pager::testing::explore::{every_pair, two_pages};
use tombolo_pager::InstallOrder;

fn main() -> ExitCode {
    let orders = [InstallOrder::Fenced, InstallOrder::OnCompletion];
    let mut found = match every_pair() {
        Ok(found) => found,
        Err(broken) => return failed(&broken),
    };
    for install_order in orders {
        match two_pages(install_order) {
            Ok(more) => {
                eprintln!(
                    "two pages, two frames, {install_order:?}: {} states, {} steps",
                    more.states, more.steps
                );
                found.add(more);
            }
            Err(broken) => return failed(&broken),
        }
    }
    let (pairs, moves) = (found.pairs_in_all(), found.moves_in_all());
    eprintln!(
        "pairs of state and event: {} of {pairs}, not seen: {:?}",
        pairs - found.missing_pairs().len(),
        found.missing_pairs()
    );
    eprintln!(
        "moves of a page: {} of {moves}, not seen: {:?}",
        moves - found.missing_moves().len(),
        found.missing_moves()
    );
    println!(
        "{{\"states\": {}, \"steps\": {}, \"rests\": {}, \"pairs\": {pairs}, \"pairs_seen\": {}, \
         \"moves\": {moves}, \"moves_seen\": {}, \"violations\": 0}}",
        found.states,
        found.steps,
        found.rests,
        pairs - found.missing_pairs().len(),
        moves - found.missing_moves().len(),
    );
    ExitCode::SUCCESS
}

fn failed(broken: &str) -> ExitCode {
    eprintln!("{broken}");
    ExitCode::FAILURE
}
