//! `tombolo completions` and `tombolo man`: from the same description of the command as its help.

use crate::kernel::known;
use crate::print::{print, NotPrinted};
use clap::builder::PossibleValuesParser;
use clap::{Args, Command, CommandFactory, ValueEnum};
use clap_complete::{generate, Shell};
use std::io;
use std::path::PathBuf;

/// Prints a script that completes commands and options; in bash and zsh also kernel names.
#[derive(Args)]
#[command(after_help = "Examples:
  bash, permanently (needs bash-completion):
    tombolo completions bash >~/.local/share/bash-completion/completions/tombolo
  zsh, in a folder of $fpath:
    tombolo completions zsh >~/.zfunc/_tombolo
  fish:
    tombolo completions fish >~/.config/fish/completions/tombolo.fish")]
pub struct Completions {
    /// The shell to complete commands in.
    shell: CompletionShell,
}

#[derive(Clone, Copy, ValueEnum)]
enum CompletionShell {
    Bash,
    Zsh,
    Fish,
}

/// Prints the manual page, or writes the pages of all commands into a folder.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo man | man -l -
  tombolo man --into ~/.local/share/man/man1")]
pub struct Man {
    /// The folder for tombolo.1, tombolo-run.1 and so on; it must exist.
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// Why no manual page is written.
#[derive(Debug, thiserror::Error)]
pub enum CompletionsError {
    /// A page cannot be written.
    #[error("{path}: {source}", path = .path.display())]
    Io { path: PathBuf, source: io::Error },
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

/// The command, with the installed kernels as values of `tombolo run`.
fn with_kernels(command: Command) -> Command {
    // clap borrows the values for as long as the command lives, which is until the process ends.
    let names = known().into_iter().map(|name| -> &str { name.leak() });
    let names = PossibleValuesParser::new(names);
    command.mut_subcommand("run", |run| {
        run.mut_arg("kernel", |kernel| kernel.value_parser(names))
    })
}

impl Completions {
    pub fn run<C: CommandFactory>(self) -> Result<(), NotPrinted> {
        let shell = match self.shell {
            CompletionShell::Bash => Shell::Bash,
            CompletionShell::Zsh => Shell::Zsh,
            CompletionShell::Fish => Shell::Fish,
        };
        let mut script = Vec::new();
        generate(
            shell,
            &mut with_kernels(C::command()),
            "tombolo",
            &mut script,
        );
        print(String::from_utf8_lossy(&script))
    }
}

impl Man {
    pub fn run<C: CommandFactory>(self) -> Result<(), CompletionsError> {
        let mut command = C::command();
        command.build();
        let Some(folder) = self.into else {
            print(page(&command))?;
            return Ok(());
        };
        write(&command, &folder)
    }
}

fn page(command: &Command) -> String {
    let mut page = Vec::new();
    // Writing to memory cannot fail.
    let _ = clap_mangen::Man::new(command.clone()).render(&mut page);
    String::from_utf8_lossy(&page).into_owned()
}

/// Writes the page of a command and those of the commands below it.
fn write(command: &Command, folder: &std::path::Path) -> Result<(), CompletionsError> {
    let name = command.get_display_name().unwrap_or(command.get_name());
    let path = folder.join(format!("{name}.1"));
    std::fs::write(&path, page(command)).map_err(|source| CompletionsError::Io {
        path: path.clone(),
        source,
    })?;
    let below = command.get_subcommands();
    below
        .filter(|command| command.get_name() != "help")
        .try_for_each(|command| write(command, folder))
}
