//! `tombolo link`: makes an `.xclbin` of kernels, for host programs written for XRT.

use crate::kernel::{folder_of, import_package};
use crate::print::{print, print_error, NotPrinted};
use crate::progress::Work;
use clap::Args;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use verilated::Builder;
use xrt::container::{self, MAGIC};
use xrt::link::config::{self, Setting};
use xrt::link::{image_of, link, LinkError, Linked};
use xrt::{ArgumentKind, Design, KernelImage, XrtError};

/// Links kernels into an .xclbin, configured as for v++, for host programs written for XRT.
///
/// Kernels are .xo files, IP exports (.zip, or a folder with a component.xml), folders with a kernel.toml, or an
/// .xclbin of this command, which is linked anew. The .xclbin has a format of our own: it holds the RTL and runs on the
/// simulated card; its first bytes differ from those of AMD's format.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo link -c vadd.cfg vadd.xo -o vadd.xclbin
  tombolo link --platform f1 kernels/vadd -o vadd.xclbin
  tombolo link --connectivity.nk vadd:2 --connectivity.sp vadd_1.a:HBM[0] kernels/vadd -o two.xclbin

A configuration:
  [connectivity]
  nk=vadd:1:vadd_1
  sp=vadd_1.a:HBM[0]
  sp=vadd_1.c:HBM[1]
  stream_connect=producer_1.out:consumer_1.in

Then: docs/coming-from-xrt.md")]
pub struct Link {
    /// .xo files, IP exports, kernel folders, or names of kernels in `kernels/`.
    #[arg(required = true, value_name = "KERNEL")]
    kernels: Vec<PathBuf>,

    /// The .xclbin to write.
    #[arg(short, long)]
    output: PathBuf,

    /// Configuration files of v++; several add up.
    #[arg(short, long, value_name = "FILE")]
    config: Vec<PathBuf>,

    /// The card: f1, u280, u55c, u280-both, a .toml file, or the name of a Vitis platform, which is simulated as the
    /// nearest of these.
    #[arg(long, value_name = "NAME")]
    platform: Option<String>,

    /// Target of v++: hw and hw_emu are the same here.
    #[arg(short, long, value_parser = ["hw", "hw_emu", "sw_emu"])]
    target: Option<String>,

    /// Compute units: KERNEL:COUNT[:NAME.NAME]
    #[arg(long = "connectivity.nk", value_name = "SETTING")]
    nk: Vec<String>,

    /// Memory of an argument or a port: UNIT.ARGUMENT:MEMORY
    #[arg(long = "connectivity.sp", value_name = "SETTING")]
    sp: Vec<String>,

    /// A stream: UNIT.OUTPUT:UNIT.INPUT
    #[arg(
        long = "connectivity.sc",
        alias = "connectivity.stream_connect",
        value_name = "SETTING"
    )]
    sc: Vec<String>,

    /// Ignored: this command only links.
    #[arg(short, long, hide = true)]
    link: bool,

    /// Ignored: packaging is no separate step.
    #[arg(short, long, hide = true)]
    package: bool,

    /// Ignored: the card's report covers it.
    #[arg(short = 'g', long, hide = true)]
    debug: bool,

    /// Ignored: accepted because command lines of v++ have it.
    #[arg(long = "save-temps", alias = "save_temps", hide = true)]
    save_temps: bool,

    /// Ignored: accepted because command lines of v++ have it.
    #[arg(
        long = "temp_dir",
        alias = "temp-dir",
        hide = true,
        value_name = "FOLDER"
    )]
    temp_dir: Option<PathBuf>,

    /// Ignored: accepted because command lines of v++ have it.
    #[arg(
        long = "log_dir",
        alias = "log-dir",
        hide = true,
        value_name = "FOLDER"
    )]
    log_dir: Option<PathBuf>,

    /// Ignored: accepted because command lines of v++ have it.
    #[arg(
        long = "report_dir",
        alias = "report-dir",
        hide = true,
        value_name = "FOLDER"
    )]
    report_dir: Option<PathBuf>,
}

/// Why nothing was linked.
#[derive(Debug, thiserror::Error)]
pub enum LinkCommandError {
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A kernel, or the configuration.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// A kernel's description or RTL.
    #[error(transparent)]
    Kernel(#[from] crate::kernel::KernelCommandError),
    /// Neither a folder nor a known name.
    #[error(transparent)]
    NoSuchKernel(#[from] crate::kernel::NoSuchKernel),
    /// An input .xclbin.
    #[error(transparent)]
    Xclbin(#[from] XrtError),
    /// Verilator is missing.
    #[error(transparent)]
    Build(#[from] verilated::BuildError),
    /// The standard output.
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> LinkCommandError + '_ {
    |source| LinkCommandError::Io {
        path: path.to_owned(),
        source,
    }
}

impl Link {
    pub fn run(self) -> Result<(), LinkCommandError> {
        let settings = self.settings()?;
        let mut designs = Vec::new();
        let mut kernels = Vec::new();
        for kernel in &self.kernels {
            match read_design(kernel)? {
                Some(design) => designs.push((kernel, design)),
                None => kernels.push(read_kernel(kernel)?),
            }
        }
        // A single .xclbin without new settings is copied as it is: elsewhere, packaging is a separate step on a linked
        // file.
        let linked = match (&mut designs[..], settings.is_empty() && kernels.is_empty()) {
            ([(_, design)], true) => Linked {
                design: std::mem::take(design),
                notes: Vec::new(),
            },
            _ => {
                kernels.extend(designs.into_iter().flat_map(|(_, design)| design.kernels));
                link(kernels, &settings)?
            }
        };
        let bytes = container::write(&linked.design);
        write_whole(&self.output, &bytes)?;
        for note in &linked.notes {
            print_error(format_args!("tombolo: note: {note}\n"))?;
        }
        print(summary(&linked.design))?;
        print(format_args!("linked into {}\n", self.output.display()))?;
        Ok(())
    }

    fn settings(&self) -> Result<Vec<Setting>, LinkCommandError> {
        let mut settings = Vec::new();
        for path in &self.config {
            let text = std::fs::read_to_string(path).map_err(io(path))?;
            settings.extend(config::parse(path, &text)?);
        }
        let single = [("platform", &self.platform), ("target", &self.target)];
        for (name, value) in single {
            if let Some(value) = value {
                settings.push(config::option(name, value)?);
            }
        }
        let lists = [
            ("connectivity.nk", &self.nk),
            ("connectivity.sp", &self.sp),
            ("connectivity.sc", &self.sc),
        ];
        for (name, values) in lists {
            for value in values {
                settings.push(config::option(name, value)?);
            }
        }
        Ok(settings)
    }
}

/// Reads an .xclbin of ours; refuses one of another format by name. `None` for other files.
fn read_design(path: &Path) -> Result<Option<Design>, LinkCommandError> {
    if !path.is_file() {
        return Ok(None);
    }
    let bytes = std::fs::read(path).map_err(io(path))?;
    let ours = bytes.starts_with(&MAGIC) || path.extension().is_some_and(|kind| kind == "xclbin");
    if !ours && !bytes.starts_with(container::FOREIGN_MAGIC) {
        return Ok(None);
    }
    let read = container::parse(&path.display().to_string(), &bytes)?;
    Ok(Some(read.design))
}

fn read_kernel(path: &Path) -> Result<KernelImage, LinkCommandError> {
    let kind = path
        .extension()
        .and_then(|kind| kind.to_str())
        .unwrap_or("");
    let exported =
        path.is_dir() && !path.join("kernel.toml").exists() && path.join("component.xml").exists();
    if !exported && !matches!(kind, "xo" | "zip") {
        return Ok(image_of(&folder_of(path)?, None)?);
    }
    let folder = tempfile::tempdir().map_err(io(path))?;
    let work = Work::spinner();
    work.say(format!("{}: reading the RTL", path.display()));
    let imported = import_package(path, folder.path(), &Builder::locate()?);
    drop(work);
    let (kernel, arguments) = imported?;
    Ok(image_of(&kernel, arguments)?)
}

/// Writes a file atomically.
fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), LinkCommandError> {
    let folder = crate::outputs::folder_of(path);
    let mut file = tempfile::Builder::new()
        .prefix(".tombolo-")
        .tempfile_in(folder)
        .map_err(io(path))?;
    std::io::Write::write_all(&mut file, bytes).map_err(io(path))?;
    let file = file.persist(path).map_err(|error| error.error);
    let readable = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    file.and_then(|file| file.set_permissions(readable))
        .map_err(io(path))
}

/// A human-readable list of compute units, arguments and streams.
fn summary(design: &Design) -> String {
    let mut text = format!("platform {}\n", design.platform);
    // Writing to a string cannot fail.
    for unit in &design.units {
        let kernel = &design.kernels[unit.kernel];
        let _ = writeln!(
            text,
            "compute unit {}: {}",
            design.full_name(unit),
            kernel.control
        );
        for argument in &kernel.arguments {
            let what = match argument.kind {
                ArgumentKind::Scalar => format!("{} bytes", argument.host_bytes),
                ArgumentKind::Stream => "stream".to_owned(),
                ArgumentKind::Global => {
                    let group = unit.groups.get(&argument.index).copied().unwrap_or(0);
                    let tag = design
                        .memories
                        .get(group as usize)
                        .map_or("", |one| &one.tag);
                    format!("buffer, {} to {tag}", argument.port)
                }
            };
            let _ = writeln!(
                text,
                "  argument {} {}: {what}",
                argument.index, argument.name
            );
        }
    }
    for link in &design.streams {
        let name = |unit: usize| &design.units[unit].name;
        let _ = writeln!(
            text,
            "stream {}.{} to {}.{}",
            name(link.from),
            link.output,
            name(link.to),
            link.input
        );
    }
    text
}
