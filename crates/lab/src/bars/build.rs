//! Time that users wait for a shell or a kernel that is not cached.

use super::{the_command, Failure};
use crate::processor;
use crate::row::Row;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;
use tempfile::TempDir;

pub const NAMES: &[&str] = &[
    "build.new_shell_seconds",
    "build.new_shell_seconds.four",
    "build.changed_line_cpu_seconds",
];

/// Number of repetitions; the median counts.
const TIMES: usize = 3;

/// A cache with Verilator and the parts shared by all models, and a user's kernel.
struct BuildBench {
    command: PathBuf,
    folder: TempDir,
}

impl BuildBench {
    fn new() -> Result<Self, Failure> {
        let bench = Self {
            command: the_command()?,
            folder: tempfile::tempdir()?,
        };
        let cache = bench.path("cache");
        fs::create_dir(&cache)?;
        std::os::unix::fs::symlink(verilated::cache_root().join("venv"), cache.join("venv"))?;
        fs::write(bench.path("in"), [7; 4096])?;
        let kernel = bench.path("kernel");
        copy_folder(&simcard::home().join("kernels/copy"), &kernel)?;
        std::os::unix::fs::symlink(simcard::home().join("kernels/lib"), bench.path("lib"))?;
        bench.run("")?;
        Ok(bench)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs 4 KiB through a shell for the first time.
    fn run(&self, shell: &str) -> Result<(), Failure> {
        let description = self.path("shell.toml");
        fs::write(&description, shell)?;
        let ran = Command::new(&self.command)
            .args([
                "run",
                "./kernel",
                "--quiet",
                "--shell",
                "shell.toml",
                "--map",
                "input=in",
            ])
            .args(["--map", "output=out:new", "--set", "bytes=size(input)"])
            .current_dir(self.folder.path())
            .env("TOMBOLO_CACHE", self.path("cache"))
            .env_remove("TOMBOLO_QUICK_MODELS")
            .stdout(Stdio::null())
            .output()?;
        match ran.status.success() && fs::read(self.path("out"))? == [7; 4096] {
            true => Ok(fs::remove_file(self.path("out"))?),
            false => Err(String::from_utf8_lossy(&ran.stderr).into_owned().into()),
        }
    }

    /// Seconds until a run completes on a shell that has not been built yet.
    fn new_shell(&self, slots: usize) -> Result<f64, Failure> {
        let mut took = Vec::new();
        for look_ahead in 5..5 + TIMES {
            let began = Instant::now();
            self.run(&format!(
                "[shell]\nslots = {slots}\nlook_ahead = {look_ahead}\n"
            ))?;
            took.push(began.elapsed().as_secs_f64());
        }
        Ok(median(took))
    }

    /// Processor seconds of a run after a line of its kernel was changed.
    fn changed_line(&self) -> Result<f64, Failure> {
        let mut took = Vec::new();
        for number in 0..TIMES {
            let source = self.path("kernel/copy.sv");
            let text = fs::read_to_string(&source)?;
            let end = text.rfind("endmodule").ok_or("copy.sv has no endmodule")?;
            let line = format!(
                "  logic [7:0] unused_{number};\n  assign unused_{number} = 8'd{number};\n"
            );
            fs::write(&source, format!("{}{line}{}", &text[..end], &text[end..]))?;
            let before = processor::of_children();
            self.run("")?;
            took.push((processor::of_children() - before).as_secs_f64());
        }
        Ok(median(took))
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), Failure> {
    fs::create_dir(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}

fn median(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

pub fn measure() -> Result<Vec<Row>, Failure> {
    let bench = BuildBench::new()?;
    Ok(vec![
        Row::new(NAMES[0], bench.new_shell(1)?, "s"),
        Row::new(NAMES[1], bench.new_shell(4)?, "s"),
        Row::new(NAMES[2], bench.changed_line()?, "s"),
    ])
}
