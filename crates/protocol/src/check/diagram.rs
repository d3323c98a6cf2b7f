//! Sequence diagrams of a trace: Mermaid for documents, SVG that needs no tool.

use std::fmt::Write;

use super::trace::{Flight, Trace};

/// Mermaid text. An arrow is drawn when a message arrives; a note lists the sent messages.
pub(super) fn mermaid(trace: &Trace) -> String {
    let mut text = String::from("sequenceDiagram\n");
    for (number, name) in trace.agents.iter().enumerate() {
        let _ = writeln!(text, "    participant A{number} as {name}");
    }
    for step in &trace.steps {
        match &step.received {
            Some(Flight { label, from, to }) => {
                let _ = writeln!(text, "    A{from}-)A{to}: {label}");
            }
            None => {
                let note = plain(&step.text);
                let _ = writeln!(text, "    Note over A{}: {note}", step.agent);
            }
        }
        for Flight { label, from, .. } in &step.sent {
            let _ = writeln!(text, "    Note over A{from}: sends {label}");
        }
    }
    let last = trace.agents.len() - 1;
    for left in &trace.outstanding {
        let left = plain(left);
        let _ = writeln!(text, "    Note over A0,A{last}: still outstanding: {left}");
    }
    let _ = writeln!(text, "    Note over A0,A{last}: {}", plain(&trace.headline));
    text
}

/// Escapes `;` and `#`, which Mermaid interprets.
fn plain(text: &str) -> String {
    text.replace([';', '#'], ",")
}

const COLUMN: usize = 260;
const ROW: usize = 34;
const TOP: usize = 60;

/// SVG text. An arrow goes from the send of a message to its arrival, or has an open end if the message is still in
/// flight.
pub(super) fn svg(trace: &Trace) -> String {
    let width = COLUMN * trace.agents.len() + 40;
    let height = TOP + ROW * (trace.steps.len() + 2);
    let x = |agent: usize| 20 + COLUMN / 2 + COLUMN * agent;
    let y = |row: usize| TOP + ROW * (row + 1);
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         font-family=\"sans-serif\" font-size=\"12\">\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"8\" refY=\"4\" markerWidth=\"8\" \
         markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker></defs>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    let _ = writeln!(
        text,
        "<text x=\"20\" y=\"20\" fill=\"#a00\">{}</text>",
        escape(&trace.headline)
    );
    for (number, name) in trace.agents.iter().enumerate() {
        let (x, bottom) = (x(number), height - ROW / 2);
        let _ = writeln!(
            text,
            "<text x=\"{x}\" y=\"44\" text-anchor=\"middle\" font-weight=\"bold\">{}</text>\
             <line x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{bottom}\" stroke=\"#999\"/>",
            escape(name)
        );
    }
    for (row, step) in trace.steps.iter().enumerate() {
        if step.received.is_none() {
            let what = step
                .text
                .split_once(": ")
                .map_or(step.text.as_str(), |(_, what)| what);
            let what = what.split_once(", sends").map_or(what, |(what, _)| what);
            let _ = writeln!(
                text,
                "<circle cx=\"{x}\" cy=\"{y}\" r=\"3\"/><text x=\"{left}\" y=\"{above}\" \
                 fill=\"#036\">{what}</text>",
                x = x(step.agent),
                y = y(row),
                left = x(step.agent) + 6,
                above = y(row) - 4,
                what = escape(what),
            );
        }
        for flight in &step.sent {
            let arrival = trace
                .steps
                .iter()
                .enumerate()
                .skip(row + 1)
                .find(|(_, later)| later.received.as_ref().is_some_and(|r| r == flight));
            let dash = if arrival.is_some() {
                ""
            } else {
                " stroke-dasharray=\"4 3\""
            };
            let end = arrival.map_or(trace.steps.len(), |(end, _)| end);
            let (x1, y1, x2, y2) = (x(flight.from), y(row), x(flight.to), y(end));
            let (middle, above) = ((x1 + x2) / 2, (y1 + y2) / 2 - 4);
            let _ = writeln!(
                text,
                "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"black\"{dash} \
                 marker-end=\"url(#tip)\"/><text x=\"{middle}\" y=\"{above}\" \
                 text-anchor=\"middle\">{}</text>",
                escape(&flight.label)
            );
        }
    }
    text.push_str("</svg>\n");
    text
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
