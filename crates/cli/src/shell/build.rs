//! `tombolo shell build`: builds the model of a configured shell ahead of the first run.

use super::{ShellError, ShellSelection};
use crate::print::print;
use crate::progress::Work;
use clap::Args;
use simcard::SimCard;

/// Builds the configured shell's model and keeps it in the cache, where runs find it.
///
/// Otherwise the first run builds it, which takes a minute or more.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo shell build
  tombolo shell build --preset coyote-2m
  tombolo shell build --shell mine.toml            what `tombolo run --shell mine.toml` runs on
  tombolo shell build --platform u55c --config shell.toml")]
pub struct BuildShell {
    #[command(flatten)]
    which: ShellSelection,
}

impl BuildShell {
    pub(super) fn run(self) -> Result<(), ShellError> {
        let options = self.which.options()?;
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
