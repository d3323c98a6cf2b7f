//! Single changes of the controller's RTL. The random test has to find each of them.

use super::model::{build, ControllerGeometry};
use super::system::CardError;
use super::torture::{self, ControllerPlan};
use crate::model::Mutation;
use crate::platform::LinkFigures;

const PIPELINE: &str = "rtl/cache_controller/tmb_cache_controller_pipeline.sv";
const HOLDS: &str = "rtl/cache_controller/tmb_cache_controller_holds.sv";

/// Injected faults: single changes of the RTL.
pub const MUTANTS: [Mutation; 16] = [
    Mutation {
        what: "an access trusts a state that changed behind it",
        file: PIPELINE,
        from: "assign is_current = is_access && !commit_stale_q;",
        to: "assign is_current = is_access;",
    },
    Mutation {
        what: "a line is replaced with data from before a store",
        file: PIPELINE,
        from: "removal_goes = entry.valid && access_room && !commit_touched_q;",
        to: "removal_goes = entry.valid && access_room;",
    },
    Mutation {
        what: "a line is evicted with data from before a store",
        file: PIPELINE,
        from: "evicts = commit_choice_q.hit && entry.valid && access_room && !commit_touched_q;",
        to: "evicts = commit_choice_q.hit && entry.valid && access_room;",
    },
    Mutation {
        what: "an acquire answers with data from before a store",
        file: PIPELINE,
        from: "acquire_done = writable && !commit_touched_q;",
        to: "acquire_done = writable;",
    },
    Mutation {
        what: "a message of the home overtakes an access of its set",
        file: PIPELINE,
        from: "|| (commit_valid_q && commit_q.set == from_sink.set);",
        to: ";",
    },
    Mutation {
        what: "a forward takes a held line",
        file: PIPELINE,
        from: "assign parks = from_home && commit_q.forward",
        to: "assign parks = 1'b0 && commit_q.forward",
    },
    Mutation {
        what: "a held store is done after its hold was broken",
        file: PIPELINE,
        from: "assign own_hold_missing = commit_q.held && !(commit_choice_q.hit && hold_stands);",
        to: "assign own_hold_missing = 1'b0;",
    },
    Mutation {
        what: "other accesses of the card do not respect a hold",
        file: PIPELINE,
        from: "((here_held && !commit_q.held && commit_q.access != AccessLoad)",
        to: "((1'b0)",
    },
    Mutation {
        what: "a line is acquired again before the home had it",
        file: PIPELINE,
        from: "|| (here_parked && commit_q.access == AccessAcquire)",
        to: "",
    },
    Mutation {
        what: "a store that missed is forgotten",
        file: PIPELINE,
        from: "assign stores = store_done || (message_goes && entry.store);",
        to: "assign stores = store_done;",
    },
    Mutation {
        what: "a line that is passed on lacks the store that it was fetched for",
        file: PIPELINE,
        from: "rows: line_after};",
        to: "rows: line_before};",
    },
    Mutation {
        what: "a held line is replaced",
        file: HOLDS,
        from: "if (stands[h] && place_q[h][WayWidth+:SetWidth] == set_i) begin",
        to: "if (1'b0) begin",
    },
    Mutation {
        what: "a reset leaves holds",
        file: HOLDS,
        from: "state_q[h] <= HoldFree;\n        wanted_q[h] <= 1'b0;",
        to: "state_q[h] <= state_q[h];\n        wanted_q[h] <= 1'b0;",
    },
    Mutation {
        what: "a reset leaves the lines of the cache",
        file: PIPELINE,
        from: "ready_q <= 1'b0;\n      clear_set_q <= '0;",
        to: "ready_q <= ready_q;\n      clear_set_q <= '0;",
    },
    Mutation {
        what: "a reset leaves places of lines in use",
        file: "rtl/cache_controller/tmb_cache_controller_fill.sv",
        from: "used_q <= '0;",
        to: "used_q <= used_q;",
    },
    Mutation {
        what: "a reset leaves accesses waiting",
        file: "rtl/cache_controller/tmb_cache_controller_waiting.sv",
        from: "tries_q <= '0;",
        to: "tries_q <= tries_q;",
    },
];

/// How a mutant ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The property that it breaks.
    pub what: &'static str,
    /// The test's error, and the maximum number of accesses until it; `None`: the mutant survived.
    pub found: Option<(String, u64)>,
}

/// Resets before each run.
const RESETS: u64 = 60;

/// Runs one mutant on more and more accesses, until it is found or has survived `most`.
///
/// # Errors
/// [`CardError`] only if the mutant cannot be built.
pub fn judge(mutation: Mutation, most: u64, link: &LinkFigures) -> Result<Verdict, CardError> {
    let geometry = ControllerGeometry::SMALL;
    let library = build(geometry, Some(mutation))?;
    let what = mutation.what;
    let mut operations = 10_000;
    let mut tried = 0;
    while tried < most {
        tried += operations;
        let plan = ControllerPlan {
            resets: RESETS,
            ..ControllerPlan::small(operations, tried)
        };
        let said = match torture::run(&plan, &library, link) {
            Ok(report) => report.first,
            Err(error) => Some(error.to_string()),
        };
        if let Some(said) = said {
            let found = Some((said, tried));
            return Ok(Verdict { what, found });
        }
        operations *= 2;
    }
    Ok(Verdict { what, found: None })
}
