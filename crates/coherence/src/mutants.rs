//! Does the random test detect faults of the RTL? The directory with one line changed, many times over.

use crate::home::HomeError;
use crate::model::{build_changed, Mutation};
use crate::platform::LinkFigures;
use crate::system::SystemError;
use crate::torture::{run_on, DirectoryPlan};

/// The mutants that are tried.
pub const MUTANTS: [Mutation; 13] = [
    Mutation {
        what: "events of a set may follow each other too closely",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "|| (valid[2] && set == c)",
        to: "|| (valid[2] && set == c && 1'b0)",
    },
    Mutation {
        what: "an answer carries the number of another request",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "action_in.request = used_request;",
        to: "action_in.request = request_label;",
    },
    Mutation {
        what: "a recall leaves the tag of the line that waits",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "{commit_choice_q.tag, entry.next}",
        to: "{commit_q.tag, entry.next}",
    },
    Mutation {
        what: "an idle way still matches",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "places[w].tag == match_q.tag && !match_idle[w]",
        to: "places[w].tag == match_q.tag",
    },
    Mutation {
        what: "locked lines are recalled",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "&& !home_is_locked(home_state_e'(places[w].state)) && !match_idle[w]",
        to: "&& !match_idle[w]",
    },
    Mutation {
        what: "what waits is not tried again",
        file: "rtl/directory/tmb_directory_retry_queue.sv",
        from: "tries_waiting = wake_i ? places_less : tries_less;",
        to: "tries_waiting = tries_less;",
    },
    Mutation {
        what: "a write-back writes parts that it does not have",
        file: "rtl/directory/tmb_directory_writer.sv",
        from: "last ? dmask[NumParts-1:MaskWidth] : dmask[MaskWidth-1:0]",
        to: "last ? dmask[MaskWidth-1:0] : dmask[MaskWidth-1:0]",
    },
    Mutation {
        what: "a payload's place is free before its rows are read",
        file: "rtl/directory/tmb_directory_slice.sv",
        from: "assign read_index_free = data_done;",
        to: "assign read_index_free = last_valid && last_take && last.action.with_data;",
    },
    Mutation {
        what: "a reset leaves places in use that nobody frees",
        file: "rtl/directory/tmb_directory_pool.sv",
        from: "if (!rst_ni) fresh_q <= '0;\n    else if (take_i",
        to: "if (take_i",
    },
    Mutation {
        what: "a reset leaves what a queue held",
        file: "rtl/directory/tmb_directory_sink_queue.sv",
        from: "fill_q <= '0;",
        to: "fill_q <= fill_q;",
    },
    Mutation {
        what: "a reset leaves steps waiting for their turn",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "if (!rst_ni) pending_q <= '0;\n    else pending_q",
        to: "pending_q",
    },
    Mutation {
        what: "a reset leaves places of actions reserved",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "reserved_q <= '0;",
        to: "reserved_q <= reserved_q;",
    },
    Mutation {
        what: "a reset leaves the lines of the directory",
        file: "rtl/directory/tmb_directory_unit.sv",
        from: "ready_q <= 1'b0;\n      clear_set_q <= '0;",
        to: "ready_q <= ready_q;\n      clear_set_q <= '0;",
    },
];

/// Result of a mutant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MutantResult {
    /// The run went wrong: how.
    Found(String),
    /// The test did not detect it.
    Survived,
}

/// Builds the mutant and runs the plan on it.
///
/// # Errors
/// [`SystemError`] when it cannot be built, or its text is not where it should be.
pub fn try_mutant(
    mutant: Mutation,
    plan: &DirectoryPlan,
    link: &LinkFigures,
) -> Result<MutantResult, SystemError> {
    let library = build_changed(plan.geometry, Some(mutant)).map_err(HomeError::from)?;
    Ok(match run_on(&library, plan, link) {
        Err(error) => MutantResult::Found(error.to_string()),
        Ok(report) if report.unexplained > 0 => {
            MutantResult::Found(report.first.unwrap_or_else(|| "unexplained".to_owned()))
        }
        Ok(_) => MutantResult::Survived,
    })
}
