//! `tombolo kernel list`: the installed kernels, and a command that runs each.

use super::build::describe;
use super::{find, folder_of, KernelCommandError};
use crate::print::print;
use card::kernel::{AccessMode, Argument, KernelPackage, Manifest};
use card::stream::StreamDirection;
use clap::Args;
use std::fmt::Write;
use std::path::PathBuf;

/// Lists the kernels in `kernels/`, or describes some.
///
/// For a named kernel, prints ports, arguments, and a command that runs it.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel list
  tombolo kernel list aes256ctr
  tombolo kernel list path/to/mine")]
pub struct List {
    /// Names of kernels in `kernels/`, or folders.
    kernels: Vec<PathBuf>,
}

impl List {
    pub(super) fn run(self) -> Result<(), KernelCommandError> {
        let mut text = String::new();
        if self.kernels.is_empty() {
            let known: Vec<Manifest> = find::known()
                .iter()
                .map(|name| Ok(KernelPackage::open(&find::in_library(name))?.manifest))
                .collect::<Result<_, KernelCommandError>>()?;
            let width = known.iter().map(|manifest| manifest.name.len()).max();
            for manifest in &known {
                // Writing to a string cannot fail.
                let _ = writeln!(
                    text,
                    "{:width$}  {}",
                    manifest.name,
                    manifest.description,
                    width = width.unwrap_or(0)
                );
            }
        }
        for name in &self.kernels {
            let manifest = KernelPackage::open(&folder_of(name)?)?.manifest;
            let named = name.display();
            let _ = writeln!(text, "kernel {}: {}", manifest.name, manifest.description);
            text += &describe(&manifest);
            for argument in (manifest.arguments.iter()).filter(|it| !it.description.is_empty()) {
                let _ = writeln!(text, "  {}: {}", argument.name, argument.description);
            }
            let _ = writeln!(
                text,
                "  for example: tombolo run {named}{}",
                example(&manifest)
            );
        }
        print(text)?;
        Ok(())
    }
}

/// Options of an example run: a file for each pointer and stream, a permitted number for each scalar.
fn example(manifest: &Manifest) -> String {
    let mut text = String::new();
    let read = (manifest.arguments.iter())
        .find(|argument| argument.port.is_some() && argument.access.reads());
    for argument in &manifest.arguments {
        let name = &argument.name;
        let _ = match (argument.port, argument.access) {
            (Some(_), AccessMode::Write) => write!(text, " --map {name}={name}.bin:new"),
            (Some(_), _) => write!(text, " --map {name}={name}.bin"),
            (None, _) => write!(text, " --set '{name}={}'", number(argument, read)),
        };
    }
    for port in &manifest.streams {
        let new = match port.direction {
            StreamDirection::In => "",
            StreamDirection::Out => ":new",
        };
        let name = &port.name;
        let _ = write!(text, " --connect {name}=file:{name}.bin{new}");
    }
    text
}

/// A permitted number for an argument; for one called `bytes`, the size of the input file.
fn number(argument: &Argument, read: Option<&Argument>) -> String {
    match (argument.name.as_str(), read) {
        ("bytes", Some(read)) => format!("size({})", read.name),
        _ if argument.bytes > 8 => format!("0x{}", "00".repeat(argument.bytes as usize)),
        _ => argument.numbers.least.max(1).to_string(),
    }
}
