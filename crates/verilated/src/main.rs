//! `verilate`: builds a bench or a simulation for cocotb, and prints its path.

use clap::{Parser, Subcommand};
use std::error::Error;
use std::path::{Path, PathBuf};
use verilated::{Builder, Design, Effort, FileSet, Form, Program};

/// Builds RTL with C++ into a program, or finds it in the cache, and prints its path.
///
/// Files are named relative to the folder of the call. For the tests in Python (rtl/*/tests, kernels/testing).
#[derive(Parser)]
#[command(
    after_help = "Example:\n  verilate bench --name arbiter --top arbiter_bench_top \\\n    \
    --include rtl/lib --main rtl/fabric/tests/arbiter_bench.cpp rtl/lib/*.sv rtl/fabric/tests/arbiter_bench_top.sv"
)]
struct Arguments {
    #[command(subcommand)]
    form: Command,
}

#[derive(Subcommand)]
enum Command {
    /// A program with a `main` of its own.
    Bench {
        #[command(flatten)]
        rtl: Rtl,
        /// Compiles for long runs, for this machine.
        #[arg(long)]
        long: bool,
    },
    /// A simulation that cocotb drives.
    Cocotb {
        #[command(flatten)]
        rtl: Rtl,
        /// Folder of cocotb's libraries.
        #[arg(long, value_name = "DIR")]
        libraries: PathBuf,
    },
}

#[derive(clap::Args)]
struct Rtl {
    /// Name for messages.
    #[arg(long)]
    name: String,
    /// Top module.
    #[arg(long)]
    top: String,
    /// Name of the Verilated class (V and the top module).
    #[arg(long)]
    class: Option<String>,
    /// Macro of the RTL: NAME or NAME=VALUE.
    #[arg(long = "define", value_name = "NAME")]
    defines: Vec<String>,
    /// Parameter of the top module.
    #[arg(long = "parameter", value_name = "NAME=VALUE", value_parser = parameter)]
    parameters: Vec<(String, String)>,
    /// Folder of included files.
    #[arg(long = "include", value_name = "DIR")]
    includes: Vec<PathBuf>,
    /// C++ file.
    #[arg(long = "main", value_name = "FILE")]
    mains: Vec<PathBuf>,
    /// Flag of the compiler for the C++ file.
    #[arg(long = "flag", value_name = "FLAG", allow_hyphen_values = true)]
    flags: Vec<String>,
    /// Leaves the assertions of the RTL out.
    #[arg(long)]
    no_assert: bool,
    /// SystemVerilog files in the order of compilation.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn parameter(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').ok_or("it is not NAME=VALUE")?;
    Ok((parts.0.to_owned(), parts.1.to_owned()))
}

impl Rtl {
    fn program(self, form: Form, effort: Effort, here: &Path) -> Program {
        Program {
            class: self.class.unwrap_or_else(|| format!("V{}", self.top)),
            design: Design {
                name: self.name,
                top: self.top,
                clock: String::new(),
                file_sets: vec![FileSet {
                    base: here.to_owned(),
                    files: self.files,
                    include: self.includes,
                }],
                defines: self.defines,
                parameters: self.parameters,
                sleeping: Vec::new(),
                generated: None,
            },
            form,
            changed: Vec::new(),
            sources: self.mains.iter().map(|path| here.join(path)).collect(),
            texts: Vec::new(),
            flags: self.flags,
            effort,
            assertions: !self.no_assert,
            random_start: effort == Effort::Short,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let here = std::env::current_dir()?;
    let program = match Arguments::parse().form {
        Command::Bench { rtl, long } => {
            let effort = if long { Effort::Long } else { Effort::Short };
            rtl.program(Form::Bench, effort, &here)
        }
        Command::Cocotb { rtl, libraries } => {
            rtl.program(Form::Cocotb { libraries }, Effort::Short, &here)
        }
    };
    let built = Builder::locate()?.program(&program, &mut |progress| eprintln!("{progress}"))?;
    println!("{}", built.display());
    Ok(())
}
