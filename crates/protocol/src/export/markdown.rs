//! The tables as human-readable Markdown.

use std::fmt::Write;

use super::{banner, Agent, Listing, Outcome};
use crate::generate::Protocol;

/// Both machines as Markdown tables.
#[must_use]
pub fn markdown(protocol: &Protocol) -> String {
    let spec = &protocol.spec;
    let mut text = format!(
        "<!-- {} -->\n\n# Protocol {}\n\n",
        banner(protocol),
        spec.name
    );
    text.push_str("| message | class | channel | data | direction |\n|---|---|---|---|---|\n");
    for message in &spec.messages {
        let class = &spec.classes[message.class.index()];
        let (data, direction) = (
            if message.data { "yes" } else { "" },
            if message.to_home {
                format!("to {}", spec.home)
            } else {
                format!("to {}", spec.remote)
            },
        );
        let _ = writeln!(
            text,
            "| {} | {} | {} | {data} | {direction} |",
            message.name, class.name, class.channel
        );
    }
    for (agent, name) in [(Agent::Home, &spec.home), (Agent::Cache, &spec.remote)] {
        let listing = Listing::of(protocol, agent);
        let flag = if agent == Agent::Home {
            "acknowledge"
        } else {
            "store"
        };
        let _ = writeln!(
            text,
            "\n## {name}: {} states, {} transitions\n\n\
             | state | event | next state | send | memory | {flag} |\n|---|---|---|---|---|---|",
            listing.states.len(),
            listing
                .rows
                .iter()
                .filter(|r| r.outcome != Outcome::Stall)
                .count(),
        );
        for row in &listing.rows {
            let _ = match &row.outcome {
                Outcome::Stall => {
                    writeln!(text, "| {} | {} | *stall* | | | |", row.state, row.event)
                }
                Outcome::Go {
                    next,
                    sends,
                    memory,
                    flag,
                } => writeln!(
                    text,
                    "| {} | {} | {next} | {} | {} | {} |",
                    row.state,
                    row.event,
                    sends.join(", "),
                    if memory == "None" { "" } else { memory },
                    if *flag { "yes" } else { "" },
                ),
            };
        }
    }
    text
}
