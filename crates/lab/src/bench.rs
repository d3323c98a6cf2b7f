//! `tombolo-bench`: measures the bars and writes `bench/results.json`.

use crate::claim::{Claims, Judged};
use crate::results::{self, Stored};
use crate::stale::Sources;
use crate::tree::Tree;
use crate::verdict::Verdict;
use crate::{bars, failure::Failure};
use clap::Parser;
use std::process::ExitCode;

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

    /// Lists the rows that are older than what they measure, and measures nothing.
    #[arg(long)]
    stale: bool,

    /// Measures the tree as it is, with changes that are in no commit, and writes nothing.
    #[arg(long)]
    trial: bool,
}

/// Entry point: arguments in, rows out.
pub fn main() -> ExitCode {
    if let Some(result) = bars::sim_speed::stretch() {
        return ended(result);
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
    let chosen: Vec<&crate::bar::Bar> = bars::ALL
        .iter()
        .filter(|bar| bar.names.iter().any(|name| wanted(name)))
        .collect();
    if arguments.list {
        for name in chosen.iter().flat_map(|bar| bar.names) {
            println!("{name}");
        }
        return ExitCode::SUCCESS;
    }
    if arguments.stale {
        return ended(list_stale(&wanted));
    }
    let tree = match arguments.trial {
        true => None,
        false => match Tree::now() {
            Ok(tree) => Some(tree),
            Err(error) => return ended(Err(error.into())),
        },
    };
    let claims = match Claims::of_checkout() {
        Ok(claims) => claims,
        Err(error) => return ended(Err(error.into())),
    };
    let mut rows: Vec<Judged> = Vec::new();
    let mut failed = false;
    for bar in &chosen {
        let measured = (bar.measure)().and_then(|measured| {
            let measured: Vec<Judged> = (measured.into_iter().filter(|row| wanted(&row.name)))
                .map(|row| claims.judge(row))
                .collect();
            measured.iter().for_each(|row| println!("{row}"));
            // Written immediately, since later measurements may be interrupted.
            if let Some(tree) = &tree {
                results::merge(&measured, claims, tree)?;
            }
            Ok(measured)
        });
        match measured {
            Ok(measured) => rows.extend(measured),
            Err(error) => {
                eprintln!("{}: {error}", bar.names.join(", "));
                failed = true;
            }
        }
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

/// Lists rows that are older than the sources they measure.
fn list_stale(wanted: &dyn Fn(&str) -> bool) -> Result<(), Failure> {
    let rows: Vec<Stored> = results::all()?
        .into_iter()
        .filter(|row| wanted(&row.name))
        .collect();
    let stale = Sources::load()?.stale(&rows)?;
    stale.iter().for_each(|line| println!("{line}"));
    println!(
        "{} of {} rows are older than what they measure",
        stale.len(),
        rows.len()
    );
    Ok(())
}

fn ended(result: Result<(), Failure>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
