//! `tombolo kernel new`

use super::reserved::is_reserved;
use super::{fill_new_folder, is_identifier, write, KernelCommandError};
use crate::print::print;
use clap::Args;
use std::path::{Path, PathBuf};

/// Creates a working kernel as a starting point for yours.
///
/// The new folder has a manifest, the RTL of a kernel that adds two arrays, the modules that it uses, a README and a
/// test that runs it on the simulated card. With `--coherent` the kernel serves cache lines of the CPU, behind a
/// coherence directory.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel new scale
  tombolo kernel new scale --into ~/fpga/scale
  tombolo kernel new mailbox --coherent")]
pub struct New {
    /// The kernel's name: letters, digits and `_`.
    name: String,

    /// The folder to create (default: the kernel's name, in the current folder).
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,

    /// A kernel with a home port and line operations, which serves cache lines of a coherent CPU.
    #[arg(long)]
    coherent: bool,
}

/// A working kernel and the modules that it uses.
struct Template {
    /// The kernel's own name, which the new kernel's replaces.
    name: &'static str,
    does: &'static str,
    rtl: &'static str,
    manifest: &'static str,
    parts: &'static [(&'static str, &'static str)],
    /// `NAME` is replaced with the new kernel's name.
    readme: &'static str,
    test: &'static str,
}

const CONTROL: (&str, &str) = (
    "kernel_control_registers.sv",
    include_str!("../../../../kernels/lib/kernel_control_registers.sv"),
);

const ARRAYS: Template = Template {
    name: "vadd",
    does: "a kernel that adds two arrays",
    rtl: include_str!("../../../../kernels/vadd/vadd.sv"),
    manifest: include_str!("../../../../kernels/vadd/kernel.toml"),
    parts: &[
        CONTROL,
        (
            "kernel_burst_reader.sv",
            include_str!("../../../../kernels/lib/kernel_burst_reader.sv"),
        ),
        (
            "kernel_burst_writer.sv",
            include_str!("../../../../kernels/lib/kernel_burst_writer.sv"),
        ),
        (
            "kernel_fifo.sv",
            include_str!("../../../../kernels/lib/kernel_fifo.sv"),
        ),
    ],
    readme: include_str!("template/README.md"),
    test: include_str!("template/test.py"),
};

const LINES: Template = Template {
    name: "line_answer",
    does: "a kernel that serves cache lines of a coherent CPU",
    rtl: include_str!("../../../../kernels/line_answer/line_answer.sv"),
    manifest: include_str!("../../../../kernels/line_answer/kernel.toml"),
    parts: &[
        CONTROL,
        (
            "kernel_line_memory.sv",
            include_str!("../../../../kernels/lib/kernel_line_memory.sv"),
        ),
    ],
    readme: include_str!("template/coherent/README.md"),
    test: include_str!("template/coherent/test.py"),
};

impl New {
    pub(super) fn run(self) -> Result<(), KernelCommandError> {
        if !is_identifier(&self.name) {
            return Err(KernelCommandError::Name(self.name));
        }
        let template = if self.coherent { LINES } else { ARRAYS };
        let taken = |what| {
            Err(KernelCommandError::Taken {
                name: self.name.clone(),
                what,
            })
        };
        if is_reserved(&self.name) {
            return taken("it is a word of SystemVerilog");
        }
        let part = |(file, _): &(&str, &str)| file.strip_suffix(".sv") == Some(&self.name);
        if template.parts.iter().any(part) {
            return taken("a part of the kernel has it");
        }
        let folder = self.into.unwrap_or_else(|| PathBuf::from(&self.name));
        fill_new_folder(&folder, || template.fill(&folder, &self.name))?;
        print(format_args!(
            "{}: {}. Next:\n  tombolo kernel check {0}\n  python3 {0}/test_{}.py\n",
            folder.display(),
            template.does,
            self.name
        ))?;
        Ok(())
    }
}

impl Template {
    fn fill(&self, folder: &Path, name: &str) -> Result<(), KernelCommandError> {
        let named = |text: &str| text.replace(self.name, name);
        let put = |file: &str, text: &str| write(&folder.join(file), text.as_bytes());
        let mut sources: Vec<String> = self
            .parts
            .iter()
            .map(|(part, _)| format!("\"parts/{part}\""))
            .collect();
        sources.push(format!("\"{name}.sv\""));
        let manifest = named(self.manifest)
            .replace(
                &format!("sources = [\"{name}.sv\"]"),
                &format!("sources = [\n  {},\n]", sources.join(",\n  ")),
            )
            .replace("libraries = [\"lib\"]\n", "");
        put("kernel.toml", &manifest)?;
        put(&format!("{name}.sv"), &named(self.rtl))?;
        for (part, text) in self.parts {
            put(&format!("parts/{part}"), text)?;
        }
        put("README.md", &self.readme.replace("NAME", name))?;
        put(&format!("test_{name}.py"), &self.test.replace("NAME", name))
    }
}
