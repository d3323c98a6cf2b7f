//! `tombolo shell build`: builds the model of a configured shell ahead of the first run.

use super::{with_ports_for, ShellError, ShellSelection};
use crate::kernel::folder_of;
use crate::print::print;
use crate::progress::Work;
use card::kernel::KernelPackage;
use clap::Args;
use simcard::{SimCard, SimOptions};
use std::path::PathBuf;

/// Builds the configured shell's model and keeps it in the cache, where runs find it.
///
/// Otherwise the first run builds it, which takes a minute or more.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo shell build
  tombolo shell build --kernel md5_stream          what `tombolo run md5_stream` runs on
  tombolo shell build --kernel copy --kernel gzip  those of both kernels
  tombolo shell build --preset coyote-2m
  tombolo shell build --shell mine.toml            what `tombolo run --shell mine.toml` runs on
  tombolo shell build --platform u55c --config shell.toml")]
pub struct BuildShell {
    #[command(flatten)]
    which: ShellSelection,

    /// The shell with the ports of this kernel: its folder, or the name of one in `kernels/`. Can be repeated; kernels with
    /// the same ports share a shell.
    #[arg(long, value_name = "KERNEL", conflicts_with_all = ["config", "preset", "shell"])]
    kernel: Vec<PathBuf>,
}

impl BuildShell {
    pub(super) fn run(self) -> Result<(), ShellError> {
        let options = self.which.options()?;
        let mut shells = Vec::new();
        for folder in &self.kernel {
            let kernel = KernelPackage::open(&folder_of(folder)?)?;
            let shell = with_ports_for(&kernel.manifest, options.shell.clone());
            if !shells.contains(&shell) {
                shells.push(shell);
            }
        }
        if self.kernel.is_empty() {
            shells.push(options.shell.clone());
        }
        for shell in shells {
            let options = SimOptions {
                shell,
                ..options.clone()
            };
            build(&options)?;
        }
        Ok(())
    }
}

/// Builds the model of one shell and prints where it is.
fn build(options: &SimOptions) -> Result<(), ShellError> {
    let work = Work::spinner();
    let mut last = String::new();
    let built = SimCard::build_shell(options, &mut |step| {
        last = step.to_string();
        work.say(last.clone());
    });
    drop(work);
    print(format_args!("{last}: {}\n", built?.library().display()))?;
    Ok(())
}
