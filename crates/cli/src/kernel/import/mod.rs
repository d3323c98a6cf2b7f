//! `tombolo kernel import`: a kernel as a vendor's tools export it becomes a kernel of ours.
//!
//! What comes in is not trusted: sizes and counts are bounded, names stay inside the new folder, and
//! the RTL is only ever given to Verilator.

mod description;
mod manifest;
mod rtl;

pub use description::ImportError;

use super::build::summary;
use super::{fill_new_folder, write, Failure};
use crate::print::print;
use crate::progress::Work;
use card::kernel::KernelPackage;
use clap::Args;
use description::Description;
use rtl::RtlFile;
use simcard::{check_kernel, kernel_ports};
use std::path::{Path, PathBuf};
use verilated::Builder;

/// Makes a kernel of what an HLS tool or a packager exported.
///
/// Takes an .xo file, or a kernel.xml with the folder of its RTL, and makes a folder with kernel.toml
/// and the Verilog files. Which directions the ports have, reset and interrupt are found in the RTL.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel import scale.xo
  tombolo kernel import docs/tutorials/hls-export/kernel.xml \\
    --rtl docs/tutorials/hls-export/hdl/verilog --into prefix_sum")]
pub struct Import {
    /// An .xo file, or a kernel.xml.
    file: PathBuf,

    /// The folder with the RTL; needed with a kernel.xml.
    #[arg(long, value_name = "FOLDER")]
    rtl: Option<PathBuf>,

    /// The folder to make (default: the kernel's name, here).
    #[arg(long, value_name = "FOLDER")]
    into: Option<PathBuf>,
}

impl Import {
    pub(super) fn run(self) -> Result<(), Failure> {
        let (description, files) = self.read()?;
        let folder = self
            .into
            .unwrap_or_else(|| PathBuf::from(&description.name));
        let builder = Builder::locate()?;
        let work = Work::spinner();
        work.say(format!("{}: reading the RTL", description.name));
        let done = fill_new_folder(&folder, || fill(&folder, description, files, &builder));
        drop(work);
        done?;
        print(summary(&KernelPackage::open(&folder)?.manifest))?;
        print(format_args!("imported into {}\n", folder.display()))?;
        Ok(())
    }

    fn read(&self) -> Result<(Description, Vec<RtlFile>), Failure> {
        let archive = self.file.extension().is_some_and(|kind| kind == "xo");
        if archive {
            let (xml, mut files) = rtl::read_archive(&self.file)?;
            if let Some(folder) = &self.rtl {
                files = rtl::read_folder(folder)?;
            }
            return Ok((Description::parse(&self.file, &xml)?, files));
        }
        let xml = rtl::read_text(&self.file)?;
        let description = Description::parse(&self.file, &xml)?;
        let folder = self.rtl.as_ref().ok_or(ImportError::NoRtlFolder)?;
        Ok((description, rtl::read_folder(folder)?))
    }
}

/// Makes the kernel of an .xo file in a folder of its name below `parent`; the folder, and the arguments as a host
/// program counts them.
pub fn import_archive(
    path: &Path,
    parent: &Path,
    builder: &Builder,
) -> Result<(PathBuf, Vec<xrt::Argument>), Failure> {
    let (xml, files) = rtl::read_archive(path)?;
    let description = Description::parse(path, &xml)?;
    let arguments = description.host.clone();
    let folder = parent.join(&description.name);
    fill(&folder, description, files, builder)?;
    Ok((folder, arguments))
}

fn fill(
    folder: &Path,
    description: Description,
    files: Vec<RtlFile>,
    builder: &Builder,
) -> Result<(), Failure> {
    for file in &files {
        write(&folder.join("rtl").join(&file.name), &file.bytes)?;
    }
    let path = folder.join("kernel.toml");
    let mut draft = manifest::Draft::new(description, &files)?;
    write(&path, draft.text().as_bytes())?;
    let ports = kernel_ports(builder, &KernelPackage::open(folder)?)?;
    draft.learn(&ports);
    write(&path, draft.text().as_bytes())?;
    check_kernel(builder, &KernelPackage::open(folder)?)?;
    Ok(())
}
