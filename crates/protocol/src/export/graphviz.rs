//! The machines as Graphviz text, one edge per transition.

use std::fmt::Write;

use super::{banner, Agent, Listing, Outcome};
use crate::generate::Protocol;

/// One machine as a Graphviz graph. Stable states are boxes; stalls are listed inside a state.
#[must_use]
pub fn graphviz(protocol: &Protocol, agent: Agent) -> String {
    let listing = Listing::of(protocol, agent);
    let stable = |number: usize| match agent {
        Agent::Home => protocol.directory.states[number].stable,
        Agent::Cache => protocol.cache.states[number].stable,
    };
    let mut text = format!(
        "// {}\ndigraph {} {{\n  rankdir=LR;\n  node [fontname=\"sans-serif\", fontsize=10];\n  \
         edge [fontname=\"sans-serif\", fontsize=8];\n",
        banner(protocol),
        protocol.spec.name
    );
    for (number, state) in listing.states.iter().enumerate() {
        let stalls: Vec<&str> = listing
            .rows
            .iter()
            .filter(|row| row.state == *state && row.outcome == Outcome::Stall)
            .map(|row| row.event.as_str())
            .collect();
        let shape = if stable(number) {
            "box, style=bold"
        } else {
            "ellipse"
        };
        let stall = stalls.join(" ");
        let _ = writeln!(text, "  {state} [shape={shape}, stall=\"{stall}\"];");
    }
    for row in &listing.rows {
        if let Outcome::Go {
            next,
            sends,
            memory,
            flag,
        } = &row.outcome
        {
            let mut label = row.event.clone();
            for send in sends {
                let _ = write!(label, "\\n!{send}");
            }
            if memory != "None" {
                let _ = write!(label, "\\n@{memory}");
            }
            if *flag {
                label.push_str("\\n*");
            }
            let _ = writeln!(text, "  {} -> {next} [label=\"{label}\"];", row.state);
        }
    }
    text.push_str("}\n");
    text
}
