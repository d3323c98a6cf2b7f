//! `tombolo shell build`: builds the model of a configured shell ahead of the first run.

use super::{with_ports_for, ShellError, ShellSelection};
use crate::kernel::folder_of;
use crate::print::print;
use crate::progress::Work;
use card::kernel::KernelPackage;
use clap::Args;
use simcard::SimCard;
use std::path::PathBuf;

/// Builds the configured shell's model and keeps it in the cache, where runs find it.
///
/// Otherwise the first run builds it, which takes a minute or more.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo shell build
  tombolo shell build --kernel md5_stream          what `tombolo run md5_stream` runs on
  tombolo shell build --preset coyote-2m
  tombolo shell build --shell mine.toml            what `tombolo run --shell mine.toml` runs on
  tombolo shell build --platform u55c --config shell.toml")]
pub struct BuildShell {
    #[command(flatten)]
    which: ShellSelection,

    /// The shell with the ports of this kernel: its folder, or the name of one in `kernels/`.
    #[arg(long, conflicts_with_all = ["config", "preset", "shell"])]
    kernel: Option<PathBuf>,
}

impl BuildShell {
    pub(super) fn run(self) -> Result<(), ShellError> {
        let mut options = self.which.options()?;
        if let Some(folder) = &self.kernel {
            let kernel = KernelPackage::open(&folder_of(folder)?)?;
            options.shell = with_ports_for(&kernel.manifest, options.shell);
        }
        let work = Work::spinner();
        let mut last = String::new();
        let built = SimCard::build_shell(&options, &mut |step| {
            last = step.to_string();
            work.say(last.clone());
        });
        drop(work);
        print(format_args!("{last}: {}\n", built?.library().display()))?;
        Ok(())
    }
}
