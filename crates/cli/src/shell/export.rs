//! `tombolo shell export`: the configured shell as a folder of plain files.

use super::{ShellError, ShellSelection};
use crate::interrupt;
use crate::print::print;
use clap::Args;
use std::path::{Path, PathBuf};
use tombolo::ShellConfig;

/// Writes the configured shell as plain RTL, for your own FPGA project.
///
/// The folder has every file of the shell, a top module with AXI's signal names, a file list, a FuseSoC core file, the
/// documentation of the registers and a README with the next steps. It does not depend on Tombolo: Verilator and Yosys
/// accept it in any place.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo shell export shell
  tombolo shell export --platform u55c --config shell.toml shell
  verilator --lint-only --top-module tombolo_shell -F shell/tombolo_shell.f")]
pub struct Export {
    #[command(flatten)]
    which: ShellSelection,

    /// The folder to create.
    folder: PathBuf,
}

impl Export {
    pub(super) fn run(self) -> Result<(), ShellError> {
        let options = self.which.options()?;
        let folder = self.folder;
        let settings = settings(&options.shell);
        let files = simcard::exported_files(&options.home, &options.shell, &settings)?;
        if folder.exists() {
            return Err(ShellError::Exists(folder.display().to_string()));
        }
        let parent = crate::outputs::folder_of(&folder);
        std::fs::create_dir_all(parent).map_err(at(parent))?;
        interrupt::make_folder(&folder).map_err(at(&folder))?;
        let written = files.iter().try_for_each(|file| {
            let path = folder.join(&file.path);
            let inner = path.parent().unwrap_or(&folder);
            std::fs::create_dir_all(inner).map_err(at(inner))?;
            std::fs::write(&path, &file.text).map_err(at(&path))
        });
        match written.is_ok() {
            true => interrupt::keep_folder(&folder),
            // The folder is new, so it holds nothing of the user's.
            false => interrupt::remove_folder(&folder),
        }
        written?;
        print(format_args!(
            "{}: {} files, top module tombolo_shell; README.md lists the next steps\n",
            folder.display(),
            files.len()
        ))?;
        Ok(())
    }
}

/// The configuration as a file that `--config` takes.
fn settings(shell: &ShellConfig) -> String {
    // Numbers, strings and lists always serialize.
    let text = toml::to_string(shell).unwrap_or_default();
    format!("# The configuration of this shell: `tombolo shell export --config shell.toml FOLDER`.\n{text}")
}

fn at(path: &Path) -> impl FnOnce(std::io::Error) -> ShellError + '_ {
    |error| ShellError::Io(path.display().to_string(), error)
}
