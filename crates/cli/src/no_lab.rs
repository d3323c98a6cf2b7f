//! `tombolo lab` of a command that was compiled without the lab.

use clap::Args;
use std::error::Error;
use std::ffi::OsString;

/// Runs experiments of the papers; this command was compiled without them.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct AbsentLab {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<OsString>,
}

impl AbsentLab {
    /// Reports how to get the lab.
    ///
    /// # Errors
    /// Always.
    pub fn run(&self) -> Result<(), Box<dyn Error + Send + Sync>> {
        let words: Vec<_> = self
            .words
            .iter()
            .map(|word| word.to_string_lossy())
            .collect();
        Err(format!(
            "lab {}: the papers' experiments are not in this command, because `make demo` leaves them out; \
             compile them: cargo build --release --bin tombolo",
            words.join(" ")
        )
        .into())
    }
}
