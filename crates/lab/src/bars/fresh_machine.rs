//! `make demo` and `make test` of what is committed, on a machine with nothing installed.

use super::Failure;
use crate::row::{Row, Target};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

/// Names the program that runs each of its arguments as a command in a fresh clone on such a machine, one after
/// another, and says `exit STATUS after SECONDS s` on its standard error after each.
const MACHINE: &str = "TOMBOLO_FRESH_MACHINE";

/// Both commands, timed; the test is a cold one.
pub fn measure() -> Result<Vec<Row>, Failure> {
    let program = std::env::var_os(MACHINE)
        .ok_or_else(|| format!("{MACHINE} names no program that has such a machine"))?;
    let mut machine = Command::new(program)
        .args(["make demo", "make test"])
        .current_dir(card::sim::home())
        .stderr(Stdio::piped())
        .spawn()?;
    let mut ends = Vec::new();
    let said = machine.stderr.take().ok_or("no standard error")?;
    for line in BufReader::new(said).lines() {
        let line = line?;
        eprintln!("{line}");
        ends.extend(end(&line));
    }
    machine.wait()?;
    let [(0, demo), (0, test)] = ends[..] else {
        return Err("a command failed, or was not reached: no time counts".into());
    };
    Ok(vec![
        Row::new(
            "fresh_machine.demo_minutes",
            demo / 60.0,
            "min",
            Target::Shown,
        ),
        Row::new(
            "fresh_machine.test_minutes",
            test / 60.0,
            "min",
            Target::Shown,
        ),
        Row::new(
            "test.cold_minutes",
            test / 60.0,
            "min",
            Target::AtMost(20.0),
        ),
    ])
}

/// Status and seconds, if the line says how a command ended.
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
    }
}
