//! A history as SVG.

use crate::history::{History, Party};
use std::fmt::Write;
use units::Picoseconds;

const LEFT: f64 = 150.0;
const COLUMN: f64 = 230.0;
const TOP: f64 = 90.0;
/// Scale in pixels per nanosecond.
const SCALE: f64 = 1.0;
/// Colours of lines, in order; they differ in lightness too.
const COLOURS: [&str; 4] = ["#0b5fa5", "#c2570c", "#2e7d32", "#6a1b9a"];
const LABEL: f64 = 13.0;

fn column(party: Party) -> f64 {
    LEFT + COLUMN * party.column() as f64
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// See [`History::to_svg`].
pub(crate) fn svg(history: &History, title: &str) -> String {
    let steps = history.steps();
    let start = steps.first().map_or(Picoseconds::ZERO, |step| step.sent);
    let end = steps.iter().map(|step| step.arrived).max();
    let span = (end.unwrap_or(start) - start).get() as f64 / 1000.0;
    let y = |at: Picoseconds| TOP + (at - start).get() as f64 / 1000.0 * SCALE;
    let (width, height) = (column(Party::Kernel) + LEFT, TOP + span * SCALE + 40.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"12\" y=\"22\" font-size=\"15\">{}</text>\n",
        escape(title)
    );
    let colour = |index: usize| COLOURS[index % COLOURS.len()];
    for (index, (line, name)) in history.lines().iter().enumerate() {
        let _ = writeln!(
            out,
            "<text x=\"{}\" y=\"44\" fill=\"{}\">line {} (0x{:x})</text>",
            12 + 130 * index,
            colour(index),
            escape(name),
            line.0 << 7
        );
    }
    for party in Party::ALL {
        let x = column(party);
        let bottom = height - 20.0;
        let _ = writeln!(
            out,
            "<text x=\"{x}\" y=\"{}\" text-anchor=\"middle\" font-size=\"13\">{}</text>\
             <line x1=\"{x}\" y1=\"{}\" x2=\"{x}\" y2=\"{bottom:.1}\" stroke=\"#999\"/>",
            TOP - 22.0,
            party.name(),
            TOP - 14.0
        );
    }
    let mut mark = 0.0;
    while mark <= span {
        let at = TOP + mark * SCALE;
        let _ = writeln!(
            out,
            "<text x=\"8\" y=\"{:.1}\" fill=\"#666\">{mark:.0} ns</text>\
             <line x1=\"56\" y1=\"{at:.1}\" x2=\"{:.1}\" y2=\"{at:.1}\" stroke=\"#eee\"/>",
            at + 4.0,
            width - 20.0
        );
        mark += 100.0;
    }
    // Labels of a pair of columns are shifted downwards to avoid overlaps.
    let mut lowest = [[f64::MIN; 4]; 4];
    for step in &steps {
        let index = history
            .lines()
            .iter()
            .position(|(line, _)| *line == step.line);
        let colour = colour(index.unwrap_or(0));
        let (x1, x2) = (column(step.from), column(step.to));
        let (y1, y2) = (y(step.sent), y(step.arrived));
        let weight = if step.data { 2.4 } else { 1.2 };
        let _ = writeln!(
            out,
            "<line x1=\"{x1}\" y1=\"{y1:.1}\" x2=\"{x2}\" y2=\"{y2:.1}\" stroke=\"{colour}\" \
             stroke-width=\"{weight}\"/>"
        );
        // The arrow head, rotated with the arrow.
        let angle = (y2 - y1).atan2(x2 - x1).to_degrees();
        let _ = writeln!(
            out,
            "<path d=\"M0 0 L-9 -4 L-9 4 Z\" fill=\"{colour}\" \
             transform=\"translate({x2} {y2:.1}) rotate({angle:.1})\"/>"
        );
        let (a, b) = (step.from.column(), step.to.column());
        let pair = &mut lowest[a.min(b)][a.max(b)];
        let label = ((y1 + y2) / 2.0 - 5.0).max(*pair + LABEL);
        *pair = label;
        let _ = writeln!(
            out,
            "<text x=\"{:.1}\" y=\"{label:.1}\" text-anchor=\"middle\" fill=\"{colour}\">{} {}</text>",
            (x1 + x2) / 2.0,
            escape(history.name(step.line)),
            escape(&step.what)
        );
    }
    out += "</svg>\n";
    out
}
