//! `tombolo kernel new`

use super::{fill_new_folder, is_identifier, write, Failure};
use clap::Args;
use std::path::{Path, PathBuf};

/// Makes a kernel that works, to be changed into yours.
///
/// The new folder has a manifest, the RTL of a kernel that adds two arrays, the parts that it uses, a
/// README and a test that runs it on the simulated card.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel new scale
  tombolo kernel new scale --into ~/fpga/scale")]
pub struct New {
    /// The kernel's name: letters, digits and `_`.
    name: String,

    /// The folder to make (default: the name, here).
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

/// The kernel that templates are made of, and the parts that it uses.
const RTL: &str = include_str!("../../../../kernels/vadd/vadd.sv");
const MANIFEST: &str = include_str!("../../../../kernels/vadd/kernel.toml");
const PARTS: [(&str, &str); 4] = [
    (
        "kernel_control_registers.sv",
        include_str!("../../../../kernels/lib/kernel_control_registers.sv"),
    ),
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
];
const README: &str = include_str!("template/README.md");
const TEST: &str = include_str!("template/test.py");

impl New {
    pub(super) fn run(self) -> Result<(), Failure> {
        if !is_identifier(&self.name) {
            return Err(Failure::Name(self.name));
        }
        let folder = self.into.unwrap_or_else(|| PathBuf::from(&self.name));
        fill_new_folder(&folder, || fill(&folder, &self.name))?;
        println!(
            "{}: a kernel that adds two arrays. Next:\n  tombolo kernel check {0}\n  \
             python3 {0}/test_{}.py",
            folder.display(),
            self.name
        );
        Ok(())
    }
}

fn fill(folder: &Path, name: &str) -> Result<(), Failure> {
    let named = |text: &str| text.replace("vadd", name);
    let put = |file: &str, text: &str| write(&folder.join(file), text.as_bytes());
    let mut sources: Vec<String> = PARTS
        .iter()
        .map(|(part, _)| format!("\"parts/{part}\""))
        .collect();
    sources.push(format!("\"{name}.sv\""));
    let manifest = named(MANIFEST)
        .replace(
            &format!("sources = [\"{name}.sv\"]"),
            &format!("sources = [\n  {},\n]", sources.join(",\n  ")),
        )
        .replace("libraries = [\"lib\"]\n", "");
    put("kernel.toml", &manifest)?;
    put(&format!("{name}.sv"), &named(RTL))?;
    for (part, text) in PARTS {
        put(&format!("parts/{part}"), text)?;
    }
    put("README.md", &README.replace("NAME", name))?;
    put(&format!("test_{name}.py"), &TEST.replace("NAME", name))
}
