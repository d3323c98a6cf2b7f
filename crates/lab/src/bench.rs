//! `tombolo-bench`: measures the bars and writes `bench/results.json`.

use crate::{bars, results, row, verdict};
use clap::Parser;
use row::Row;
use std::process::ExitCode;
use verdict::Verdict;

/// Measures every bar of the project.
#[derive(Parser)]
struct Arguments {
    /// Only bars whose name starts with this; several are separated by commas.
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,

    /// Fails when a bar is missed, or could not be measured.
    #[arg(long)]
    strict: bool,

    /// Lists the names and measures nothing.
    #[arg(long)]
    list: bool,
}

/// The program: arguments in, rows out.
pub fn main() -> ExitCode {
    if let Some(result) = bars::sim_speed::stretch() {
        return match result {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("{error}");
                ExitCode::FAILURE
            }
        };
    }
    let arguments = Arguments::parse();
    let only = &arguments.only;
    let wanted =
        |name: &str| only.is_empty() || only.iter().any(|begin| name.starts_with(begin.as_str()));
    let none = only.iter().find(|begin| {
        let mut names = bars::ALL.iter().flat_map(|bar| bar.names);
        !names.any(|name| name.starts_with(begin.as_str()))
    });
    if let Some(begin) = none {
        eprintln!("no bar starts with `{begin}`; --list shows them");
        return ExitCode::FAILURE;
    }
    let chosen: Vec<&bars::Bar> = bars::ALL
        .iter()
        .filter(|bar| bar.names.iter().any(|name| wanted(name)))
        .collect();
    if arguments.list {
        for name in chosen.iter().flat_map(|bar| bar.names) {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    }
    let mut rows: Vec<Row> = Vec::new();
    let mut failed = false;
    for bar in &chosen {
        match (bar.measure)() {
            Ok(measured) => {
                for row in measured.into_iter().filter(|row| wanted(&row.name)) {
                    println!("{row}");
                    rows.push(row);
                }
            }
            Err(error) => {
                eprintln!("{}: {error}", bar.names.join(", "));
                failed = true;
            }
        }
    }
    if let Err(error) = results::merge(&rows) {
        eprintln!("bench/results.json: {error}");
        failed = true;
    }
    let listed = chosen.iter().flat_map(|bar| bar.names).copied();
    let verdict = Verdict::of(listed.filter(|name| wanted(name)), &rows);
    println!("{verdict}");
    if failed || !verdict.unlisted.is_empty() || (arguments.strict && !verdict.is_met()) {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}
