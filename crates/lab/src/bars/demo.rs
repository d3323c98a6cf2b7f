//! Time of `make demo` after the build.

use super::{the_command, Failure};
use crate::row::Row;
use std::process::Command;
use std::time::Instant;

pub fn measure() -> Result<Vec<Row>, Failure> {
    let home = simcard::home();
    the_command()?;
    // The first run builds models that are not cached; only the second one counts.
    Command::new("tools/demo")
        .arg("--small")
        .current_dir(&home)
        .output()?;
    let run = |asserting: &str| {
        let start = Instant::now();
        let demo = Command::new("tools/demo")
            .env("TOMBOLO_ASSERT", asserting)
            .current_dir(&home)
            .output()?;
        Ok::<_, Failure>((demo, start.elapsed().as_secs_f64()))
    };
    let (demo, wall) = run("0")?;
    // The asserting model is also built before time is measured.
    Command::new("tools/demo")
        .arg("--small")
        .env("TOMBOLO_ASSERT", "1")
        .current_dir(&home)
        .output()?;
    let (asserting, slow) = run("1")?;
    if !demo.status.success() {
        eprintln!("{}", String::from_utf8_lossy(&demo.stderr));
    }
    Ok(vec![
        Row::holds(
            "demo.identical",
            demo.status.success() && asserting.status.success(),
        ),
        Row::new("demo.speedup", slow / wall, "times"),
        Row::new("demo.wall_s", wall, "s"),
    ])
}
