//! `tombolo kernel import`: converts a kernel that another tool exported.
//!
//! Packages are not trusted: sizes and counts are bounded, names stay inside the new folder, and the RTL is given to
//! Verilator only.

mod comments;
mod component;
mod description;
mod manifest;
mod plan;
mod recognise;
mod redeclared;
mod rtl;
mod script;
mod sources;
mod stand_ins;
mod vhdl;
mod xml;

pub use description::ImportError;

use super::build::summary;
use super::{fill_new_folder, is_identifier, write, KernelCommandError};
use crate::print::{print, print_error};
use crate::progress::Work;
use card::kernel::KernelPackage;
use clap::Args;
use plan::{ImportOptions, Plan};
use simcard::{check_kernel, kernel_ports};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use verilated::{BuildError, Builder};

/// Creates a kernel from the export of another tool, or from plain RTL.
///
/// Accepts an .xo file, the .zip or the folder of an IP export (component.xml), a packaging script (package_kernel.tcl)
/// with its sources, a kernel.xml with the folder of its RTL, or a Verilog module without a description. Writes
/// kernel.toml and the files that the top module uses into a new folder; other files, such as test benches, are left
/// out and listed. Ports are recognised by their names in the RTL. Unknown properties become questions in kernel.toml.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel import scale.xo
  tombolo kernel import xilinx_com_hls_scale_1_0.zip
  tombolo kernel import ip_repo/scale_1_0
  tombolo kernel import scripts/package_kernel.tcl --top scale
  tombolo kernel import rtl/scale.v --parameter WIDTH=64 --into scale
  tombolo kernel import rtl/scale.v --rtl .
  tombolo kernel import docs/tutorials/hls-export/kernel.xml \\
    --rtl docs/tutorials/hls-export/hdl/verilog --into prefix_sum")]
pub struct Import {
    /// An .xo, a .zip, a folder, a kernel.xml, a component.xml, a packaging script (.tcl) or a Verilog file.
    file: PathBuf,

    /// The folder with the RTL and all folders below it; needed with a kernel.xml (default: the folder of the file; of a
    /// Verilog file without those below it, but with its include folders).
    #[arg(long, value_name = "FOLDER")]
    rtl: Option<PathBuf>,

    /// The folder to create (default: the kernel's name, in the current folder).
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,

    /// The top module, if no description names it.
    #[arg(long, value_name = "MODULE")]
    top: Option<String>,

    /// Sets a parameter of the top module.
    #[arg(long = "parameter", value_name = "NAME=VALUE")]
    parameters: Vec<String>,
}

impl Import {
    pub(super) fn run(self) -> Result<(), KernelCommandError> {
        let options = ImportOptions {
            top: self.top,
            parameters: parameters(&self.parameters)?,
        };
        let plan = Plan::read(&self.file, self.rtl.as_deref(), options)?;
        let folder = self.into.unwrap_or_else(|| PathBuf::from(&plan.name));
        let builder = Builder::locate()?;
        let work = Work::spinner();
        work.say(format!("{}: reading the RTL", plan.name));
        let mut questions = Vec::new();
        let done = fill_new_folder(&folder, || {
            questions = fill(&folder, &plan, &builder)?;
            Ok(())
        });
        drop(work);
        done?;
        report(&plan)?;
        for question in &questions {
            let first = question.lines().next().unwrap_or_default();
            print_error(format_args!("tombolo: question: {first} (kernel.toml)\n"))?;
        }
        print(summary(&KernelPackage::open(&folder)?.manifest))?;
        print(format_args!("imported into {}\n", folder.display()))?;
        Ok(())
    }
}

/// Prints notes on omissions and assumptions, up to a limit.
fn report(plan: &Plan) -> Result<(), KernelCommandError> {
    const SHOWN: usize = 20;
    for note in plan.notes.iter().take(SHOWN) {
        print_error(format_args!("tombolo: note: {note}\n"))?;
    }
    if plan.notes.len() > SHOWN {
        print_error(format_args!(
            "tombolo: note: and {} more\n",
            plan.notes.len() - SHOWN
        ))?;
    }
    Ok(())
}

/// Parses `NAME=VALUE`; values become TOML.
fn parameters(given: &[String]) -> Result<BTreeMap<String, String>, ImportError> {
    let one = |text: &String| {
        let wrong = || ImportError::Parameter(text.clone());
        let (name, value) = text.split_once('=').ok_or_else(wrong)?;
        if !is_identifier(name) || value.is_empty() {
            return Err(wrong());
        }
        let value = match value.parse::<i64>() {
            Ok(number) => number.to_string(),
            Err(_) => toml::Value::from(value).to_string(),
        };
        Ok((name.to_owned(), value))
    };
    given.iter().map(one).collect()
}

/// Imports a package into a folder of its name below `parent`. Returns the folder, and the arguments as a host program
/// numbers them, if the package lists them.
pub fn import_package(
    path: &Path,
    parent: &Path,
    builder: &Builder,
) -> Result<(PathBuf, Option<Vec<xrt::Argument>>), KernelCommandError> {
    let plan = Plan::read(path, None, ImportOptions::default())?;
    let folder = parent.join(&plan.name);
    fill(&folder, &plan, builder)?;
    report(&plan)?;
    Ok((folder, plan.description.and_then(|one| one.host)))
}

/// Of RTL that lacks a module: which one, and the remedy, without the places where Verilator has looked.
fn naming_module(error: BuildError) -> BuildError {
    let BuildError::Rtl { design, messages } = error else {
        return error;
    };
    let missing = messages
        .split_once("Cannot find file containing module: '")
        .and_then(|(_, behind)| Some(behind.split_once('\'')?.0.to_owned()));
    let messages = match (missing, messages.split_once("... Looked in")) {
        (Some(module), Some((before, _))) => format!(
            "{}\nno file has module `{module}`: if it is IP or a block design of Vivado's, export its Verilog, or put a \
             model of it (a module of this name and these ports) next to the RTL; if it is in another folder, name a \
             folder above both with --rtl",
            before.trim_end()
        ),
        _ => messages,
    };
    BuildError::Rtl { design, messages }
}

/// Writes RTL and manifest; returns the open questions for the user.
fn fill(folder: &Path, plan: &Plan, builder: &Builder) -> Result<Vec<String>, KernelCommandError> {
    for file in plan.files.sources.iter().chain(&plan.files.beside) {
        write(&folder.join("rtl").join(&file.name), &file.bytes)?;
    }
    let rtl = folder.join("rtl");
    std::fs::create_dir_all(&rtl).map_err(KernelCommandError::io(&rtl))?;
    let path = folder.join("kernel.toml");
    // A provisional manifest: enough to read the ports, before control is known.
    let outline =
        manifest::outline(plan) + "control = \"ap_ctrl_none\"\n" + &manifest::parameters(plan);
    write(&path, outline.as_bytes())?;
    let ports = kernel_ports(builder, &KernelPackage::open(folder)?).map_err(naming_module)?;
    let draft = manifest::Draft::new(plan, &recognise::recognise(&ports))?;
    write(&path, draft.text().as_bytes())?;
    check_kernel(builder, &KernelPackage::open(folder)?)?;
    Ok(draft.questions().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_that_no_file_has_is_named_with_the_remedy() {
        let messages =
            "%Error-MODMISSING: rtl/k.v:116:3: Cannot find file containing module: 'switch_bd'\n\
                        \x20 116 |   switch_bd u (\n      |   ^~~~~~~~~\n\
                        \x20                  ... Looked in:\n                        switch_bd.v";
        let rtl = |messages: &str| BuildError::Rtl {
            design: "k".to_owned(),
            messages: messages.to_owned(),
        };
        let text = naming_module(rtl(messages)).to_string();
        assert!(
            text.contains("rtl/k.v:116:3") && text.contains("no file has module `switch_bd`"),
            "{text}"
        );
        assert!(!text.contains("switch_bd.v"), "{text}");
        assert!(naming_module(rtl("%Error: other"))
            .to_string()
            .ends_with("other"));
    }
}
