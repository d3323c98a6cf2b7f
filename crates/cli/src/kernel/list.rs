//! `tombolo kernel list`: the installed kernels, and a command that runs each.

use super::build::describe;
use super::{example, find, folder_of, KernelCommandError};
use crate::print::print;
use card::kernel::{KernelPackage, Manifest};
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
                example::of_run(&manifest)
            );
        }
        print(text)?;
        Ok(())
    }
}
