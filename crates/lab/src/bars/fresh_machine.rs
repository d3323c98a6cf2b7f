//! `make demo` and `make test` of the committed tree, on a machine without installed dependencies.

use super::Failure;
use crate::row::Row;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Names a program that runs each argument as a command in a fresh clone on such a machine, one after another, and
/// prints `exit STATUS after SECONDS s` to standard error after each.
const MACHINE: &str = "TOMBOLO_FRESH_MACHINE";

/// The demo, a cold test, and a warm test, which reuses everything that the cold one has built.
const COMMANDS: [&str; 3] = ["make demo", "make test", "make test"];

/// Runs the commands; returns their times, and the number of tests that the last one skipped.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let program = std::env::var_os(MACHINE)
        .ok_or_else(|| format!("{MACHINE} names no program that has such a machine"))?;
    // Both outputs combined, in their original order.
    let mut machine = Command::new("sh")
        .args(["-c", r#"exec "$0" "$@" 2>&1"#])
        .arg(program)
        .args(COMMANDS)
        .current_dir(simcard::home())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut ends, mut skipped) = (Vec::new(), None);
    let said = machine.stdout.take().ok_or("no standard output")?;
    for line in BufReader::new(said).lines() {
        let line = line?;
        eprintln!("{line}");
        ends.extend(end(&line));
        skipped = left_out(&line).or(skipped);
    }
    machine.wait()?;
    let [(0, demo), (0, cold), (0, warm)] = ends[..] else {
        return Err("a command failed, or was not reached: no time counts".into());
    };
    let minutes = |name: &str, seconds: f64| Row::new(name, seconds / 60.0, "min");
    let skipped = skipped.ok_or("no test said how many were skipped")?;
    Ok(vec![
        minutes("fresh_machine.demo_minutes", demo),
        minutes("test.cold_minutes", cold),
        minutes("test.warm_minutes", warm),
        Row::new("test.skipped", skipped, ""),
    ])
}

/// Number of skipped tests, if the line contains it.
fn left_out(line: &str) -> Option<f64> {
    line.strip_suffix(" tests skipped")?.parse().ok()
}

/// Exit status and seconds, if the line reports the end of a command.
fn end(line: &str) -> Option<(i32, f64)> {
    let (status, seconds) = line.split_once("exit ")?.1.split_once(" after ")?;
    let seconds = seconds.strip_suffix(" s")?;
    Some((status.parse().ok()?, seconds.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_command_is_known() {
        assert_eq!(end("fresh-machine: exit 0 after 278 s"), Some((0, 278.0)));
        assert_eq!(end("fresh-machine: exit 2 after 9 s"), Some((2, 9.0)));
        assert_eq!(end("make: *** exit 2"), None);
        assert_eq!(left_out("2 tests skipped"), Some(2.0));
        assert_eq!(left_out("Rust tests: ok, 9 s, 5 tests"), None);
    }
}
