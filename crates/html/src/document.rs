//! The page around its sections.

use crate::text::{bytes, count, json, of_time, percent, rate, Text};
use crate::{bound, channels, faults, owners, pages, time_line, waits, Page};
use std::fmt::{self, Formatter};
use units::Picoseconds;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

pub(crate) fn write(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let report = page.report;
    let mut kernels: Vec<&str> = report.runs.iter().map(|run| run.kernel.as_str()).collect();
    kernels.extend(page.slots.iter().map(|slot| slot.kernel.as_str()));
    kernels.sort_unstable();
    kernels.dedup();
    let title = match kernels.is_empty() {
        true => format!("nothing ran on {}", report.card.name),
        false => format!("{} on {}", kernels.join(", "), report.card.name),
    };
    head(&title, f)?;
    if let Some(failure) = page.failure {
        write!(f, "<p class=failure role=alert>{}</p>", Text(failure))?;
    }
    figures(page, f)?;
    f.write_str("</header>\n<main>\n")?;
    bound::write(page, f)?;
    time_line::write(page, f)?;
    waits::write(page, f)?;
    faults::write(page, f)?;
    owners::write(page, f)?;
    pages::write(page, f)?;
    channels::write(page, f)?;
    numbers(page, f)?;
    write!(
        f,
        "\n</main>\n<div id=tip role=status hidden></div>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    )
}

/// Everything up to the title, inside the header.
pub(crate) fn head(title: &str, f: &mut Formatter<'_>) -> fmt::Result {
    write!(
        f,
        "<!doctype html>\n<html lang=en>\n<head>\n<meta charset=utf-8>\n\
         <meta name=viewport content=\"width=device-width, initial-scale=1\">\n\
         <meta name=generator content=\"Tombolo {}\">\n\
         <meta http-equiv=Content-Security-Policy content=\"default-src 'none'; style-src 'unsafe-inline'; \
         script-src 'unsafe-inline'; img-src data:\">\n\
         <link rel=icon href=\"data:,\">\n<title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\
         <h1>{}</h1>",
        env!("CARGO_PKG_VERSION"),
        Text(title),
        Text(title)
    )
}

/// The key figures.
fn figures(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let report = page.report;
    let (read, written) = report.kernel_bytes();
    let sum = |sum: Picoseconds, run: &tombolo::report::RunReport| sum + run.time;
    let running = report.runs.iter().fold(Picoseconds::ZERO, sum);
    let cycles: u64 = report.runs.iter().map(|run| run.cycles).sum();
    let mut figures = vec![];
    if running > Picoseconds::ZERO {
        let runs = match report.runs.len() {
            1 => "kernel’s run".to_owned(),
            runs => format!("{} runs", count(runs as u64)),
        };
        figures.push((
            running.to_string(),
            runs,
            format!("{} cycles", count(cycles)),
        ));
        let waiting = of_time(report.paging.fault_time, running);
        let more = format!("{}", report.paging.fault_time);
        figures.push((percent(waiting), "waiting for pages".to_owned(), more));
    } else if !report.runs.is_empty() {
        let runs = count(report.runs.len() as u64);
        figures.push((runs, "runs".to_owned(), "on a card without time".to_owned()));
    }
    for (name, moved) in [("read by kernels", read), ("written by kernels", written)] {
        figures.push((bytes(moved), name.to_owned(), rate(moved, running)));
    }
    let evicted = match report.paging.evictions {
        0 => "no evictions".to_owned(),
        evictions => format!("{} pages evicted", count(evictions)),
    };
    figures.push((count(report.paging.faults), "faults".to_owned(), evicted));
    f.write_str("<div class=figures>")?;
    for (value, name, more) in figures {
        write!(
            f,
            "<div><b>{value}</b><span>{name}</span><small>{more}</small></div>"
        )?;
    }
    f.write_str("</div>")
}

/// The whole report as text, and as JSON for programs.
fn numbers(page: &Page<'_>, f: &mut Formatter<'_>) -> fmt::Result {
    let report = page.report;
    f.write_str("<section id=numbers><h2>The report</h2>")?;
    for note in &report.notes {
        write!(f, "<p class=hint>{}</p>", Text(note))?;
    }
    write!(
        f,
        "<details><summary>as text</summary><pre>{}</pre></details>",
        Text(report)
    )?;
    if !report.setup.platform.is_empty() {
        write!(
            f,
            "<p class=note>Platform {} ({}). Times are virtual: the same on every machine.</p>",
            Text(&report.setup.platform),
            Text(
                report
                    .setup
                    .platform_hash
                    .get(..16)
                    .unwrap_or(&report.setup.platform_hash)
            )
        )?;
    }
    if !report.not_included.is_empty() {
        let not_included = report.not_included.join(", ");
        write!(
            f,
            "<p class=note>Not in these times: {}.</p>",
            Text(&not_included)
        )?;
    }
    // A report has only strings, numbers and lists, so it always serializes.
    let text = serde_json::to_string(report).unwrap_or_default();
    write!(
        f,
        "<p class=note>For programs, the report is in this page as JSON: the element with the id \
         <code>report</code>.</p><script type=application/json id=report>{}</script></section>",
        json(&text)
    )
}
