//! Export of the shell for other projects: a folder that is independent of the checkout.
//!
//! It holds every RTL file of the shell unchanged, two generated modules that carry the configuration
//! and give every bus its standard AXI names (`pins`, `wrapper`), file lists (`lists`), the
//! documentation of the registers, and a page with the next steps (`page`).

mod lists;
mod page;
mod pins;
mod wrapper;

use crate::config::ShellConfig;
use crate::error::not_built;
use card::CardError;
use std::path::{Path, PathBuf};
use verilated::FileSet;

/// A file of an exported shell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExportedFile {
    /// Path relative to the folder.
    pub path: PathBuf,
    /// Content of the file.
    pub text: String,
}

/// Name of the top module.
const TOP: &str = "tombolo_shell";
/// Name of the module below the top, which has the same ports and the configuration.
const ARRAYS: &str = "tombolo_shell_arrays";
/// The list of the shell's files, in the checkout.
const SHELL_LIST: &str = "rtl/shell/tmb_shell.f";
/// Files with macros, for include directives.
const INCLUDED: [&str; 2] = ["rtl/lib/tmb_assert.svh", "rtl/lib/tmb_axi_pins.svh"];

/// Every file of an exported shell. `settings` is the configuration in the format of the command's
/// configuration file.
///
/// # Errors
/// The configuration breaks a rule; a file of the checkout at `home` is unreadable.
pub fn exported_files(
    home: &Path,
    config: &ShellConfig,
    settings: &str,
) -> Result<Vec<ExportedFile>, CardError> {
    if let Some(rule) = config.broken_rule() {
        return Err(CardError::Configuration(rule));
    }
    let rtl = FileSet::from_list(home, Path::new(SHELL_LIST))
        .map_err(not_built)?
        .files;
    let pins = pins::pins(config);
    let mut files = vec![
        made("README.md", page::page(config, &pins)),
        made("shell.toml", settings.to_owned()),
        made("tombolo_shell.v", wrapper::top(&pins)),
        made("tombolo_shell_arrays.sv", wrapper::arrays(config, &pins)),
        made("tombolo_shell.f", lists::file_list(&rtl)),
        made("tombolo_shell.core", lists::core_file(&rtl)),
    ];
    let mut copied = vec![PathBuf::from("LICENSE")];
    copied.extend(INCLUDED.map(PathBuf::from));
    copied.extend(rtl);
    for path in copied {
        files.push(copy(home, &path, &path)?);
    }
    let mut documents = vec!["registers.md"];
    if config.directory.is_some() {
        documents.extend(["directory_registers.md", "home_registers.md"]);
    }
    if config.cache.is_some() {
        documents.push("host_lines_registers.md");
    }
    for name in documents {
        files.push(copy(home, &Path::new("docs").join(name), Path::new(name))?);
    }
    Ok(files)
}

fn made(name: &str, text: String) -> ExportedFile {
    ExportedFile {
        path: name.into(),
        text,
    }
}

fn copy(home: &Path, from: &Path, to: &Path) -> Result<ExportedFile, CardError> {
    let path = home.join(from);
    let text = std::fs::read_to_string(&path)
        .map_err(|source| verilated::BuildError::Io { path, source })
        .map_err(not_built)?;
    Ok(ExportedFile {
        path: to.to_owned(),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home;
    use std::collections::BTreeSet;

    #[test]
    fn a_folder_names_what_it_has_and_has_what_it_names() {
        let files = exported_files(&home(), &ShellConfig::coherent(), "slots = 1\n").unwrap();
        let there: BTreeSet<_> = files.iter().map(|file| file.path.clone()).collect();
        assert_eq!(there.len(), files.len(), "a file twice");
        let text = |name: &str| {
            let file = files.iter().find(|file| file.path == Path::new(name));
            file.unwrap().text.clone()
        };
        let list = text("tombolo_shell.f");
        let listed: BTreeSet<PathBuf> = list
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with(['+', '/']))
            .map(PathBuf::from)
            .collect();
        assert!(listed.is_subset(&there), "{listed:?}");
        assert!(listed.len() > 100, "{}", listed.len());
        let core = text("tombolo_shell.core");
        for path in &there {
            let extension = path.extension().and_then(|extension| extension.to_str());
            if matches!(extension, Some("sv" | "v" | "vlt" | "svh")) {
                assert!(core.contains(&format!("- {}", path.display())), "{path:?}");
            }
        }
        assert!(there.contains(Path::new("home_registers.md")));
    }

    #[test]
    fn a_configuration_that_cannot_be_is_refused() {
        let config = ShellConfig {
            channels: 3,
            ..ShellConfig::default()
        };
        let refused = exported_files(&home(), &config, "").unwrap_err();
        assert!(refused.to_string().contains("power of two"), "{refused}");
    }
}
