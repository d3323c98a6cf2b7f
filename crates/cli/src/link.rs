//! `tombolo link`: makes an `.xclbin` of kernels, for host programs written for XRT.

use crate::kernel::{folder_of, import_package};
use crate::print::{print, print_error, NotPrinted};
use crate::progress::Work;
use clap::Args;
use std::ffi::OsString;
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

    /// Writes the given .xclbin again, with its connections: packaging is no separate step.
    #[arg(short, long, hide = true)]
    package: bool,

    /// Any other key of a configuration, as KEY=VALUE or SECTION.KEY=VALUE. `with_settings` translates options of v++ to it.
    #[arg(long = "set", hide = true, value_name = "SETTING")]
    set: Vec<String>,

    /// Ignored: there are no reports of synthesis.
    #[arg(short = 'R', hide = true, value_name = "LEVEL")]
    report_level: Option<String>,

    /// Ignored: there is no synthesis to optimise.
    #[arg(short = 'O', hide = true, value_name = "LEVEL")]
    optimize: Option<String>,

    /// Ignored: linking compiles nothing.
    #[arg(short = 'j', hide = true, value_name = "COUNT")]
    jobs: Option<String>,

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
        // Without new settings a single .xclbin is copied as it is: with v++, packaging is a separate step on a linked
        // file, and repeats the options of platform and target.
        let packages = self.package || settings.is_empty();
        let linked = match (&mut designs[..], packages && kernels.is_empty()) {
            ([(_, design)], true) => Linked {
                notes: packaging_notes(design, &settings),
                design: std::mem::take(design),
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
        for setting in &self.set {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            settings.push(config::option(name, value)?);
        }
        Ok(settings)
    }
}

/// Notes on settings that packaging leaves as they were linked.
fn packaging_notes(design: &Design, settings: &[Setting]) -> Vec<String> {
    let has_effect = |one: &&Setting| !matches!(&*one.name(), "platform" | "target" | "link");
    let note = |one: &Setting| {
        let (origin, name) = (&one.origin, one.name());
        format!(
            "{origin}: {name}: accepted, without effect: packaging changes nothing that is linked"
        )
    };
    let mut notes: Vec<String> = settings.iter().filter(has_effect).map(note).collect();
    let platform = settings.iter().rev().find(|one| one.name() == "platform");
    let other = platform.filter(|one| !stays(&design.platform, &one.value));
    notes.extend(other.map(|one| {
        let linked = &design.platform;
        format!(
            "platform {}: the .xclbin stays linked for {linked}",
            one.value
        )
    }));
    notes
}

/// Whether a design that is linked for `linked` has the platform that is asked for.
fn stays(linked: &str, asked: &str) -> bool {
    let platform = xrt::link::platform_for(asked).0;
    linked == platform || linked == format!("{platform}-both")
}

/// Sections whose keys are options of v++: `--SECTION.KEY VALUE`.
const SECTIONS: [&str; 10] = [
    "connectivity",
    "clock",
    "profile",
    "debug",
    "vivado",
    "advanced",
    "linkhook",
    "hls",
    "package",
    "aie",
];

/// Options of v++ that stand for a key of a configuration: those of older releases, and keys outside any section.
const OPTIONS: [(&str, &str); 16] = [
    ("nk", "connectivity.nk"),
    ("sp", "connectivity.sp"),
    ("sc", "connectivity.sc"),
    ("stream_connect", "connectivity.sc"),
    ("slr", "connectivity.slr"),
    ("dk", "debug"),
    ("xp", "advanced.param"),
    ("profile_kernel", "profile.data"),
    ("kernel_frequency", "kernel_frequency"),
    ("remote_ip_cache", "remote_ip_cache"),
    ("no_ip_cache", "no_ip_cache"),
    ("user_ip_repo_paths", "user_ip_repo_paths"),
    ("messagedb", "messagedb"),
    ("optimize", "optimize"),
    ("jobs", "jobs"),
    ("report_level", "report_level"),
];

/// Options of v++ without a value.
const FLAGS: [&str; 3] = [
    "no_ip_cache",
    "package.defer_aie_run",
    "package.enable_aie_debug",
];

/// The key of a configuration that an option of v++ stands for, unless this command has the option itself.
fn key_of(option: &str) -> Option<String> {
    let option = option.replace('-', "_").to_ascii_lowercase();
    if let Some((section, key)) = option.split_once('.') {
        let own = section == "connectivity" && matches!(key, "nk" | "sp" | "sc" | "stream_connect");
        return (!own && SECTIONS.contains(&section)).then(|| option.clone());
    }
    let found = OPTIONS.iter().find(|(name, _)| *name == option);
    found.map(|(_, key)| (*key).to_owned())
}

/// The arguments of the program, with `--set KEY=VALUE` for each option of `v++ --link` that is a key of a configuration:
/// `--clock.freqHz 300000000`, `--kernel_frequency=300`, `--nk vadd:2`. The arguments of other commands are unchanged.
pub fn with_settings(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments = arguments.into_iter().peekable();
    let mut made: Vec<OsString> = arguments.by_ref().take(2).collect();
    if made.get(1).is_none_or(|command| command != "link") {
        made.extend(arguments);
        return made;
    }
    while let Some(argument) = arguments.next() {
        let text = argument.to_str().unwrap_or("").strip_prefix("--");
        let (option, value) = match text.map(|text| text.split_once('=').ok_or(text)) {
            Some(Ok((option, value))) => (option, Some(value.to_owned())),
            Some(Err(option)) => (option, None),
            None => ("", None),
        };
        let Some(key) = key_of(option) else {
            made.push(argument);
            continue;
        };
        let follows = |next: &OsString| !next.to_string_lossy().starts_with('-');
        let value = value.or_else(|| {
            let takes = !FLAGS.contains(&key.as_str());
            let next = arguments.next_if(|next| takes && follows(next))?;
            Some(next.to_string_lossy().into_owned())
        });
        made.push("--set".into());
        made.push(format!("{key}={}", value.unwrap_or_default()).into());
    }
    made
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

#[cfg(test)]
mod tests {
    use super::with_settings;

    fn made(text: &str) -> String {
        let arguments = with_settings(text.split(' ').map(Into::into));
        let arguments = arguments.iter().map(|one| one.to_str().unwrap());
        arguments.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn options_of_vpp_that_are_keys_become_settings() {
        for (given, wanted) in [
            (
                "t link -l -t hw --platform p --config a.cfg --temp_dir d -o x a.xo",
                "t link -l -t hw --platform p --config a.cfg --temp_dir d -o x a.xo",
            ),
            (
                "t link --kernel_frequency 300 --clock.freqHz=3:k --nk k:2 k.xo",
                "t link --set kernel_frequency=300 --set clock.freqhz=3:k --set connectivity.nk=k:2 k.xo",
            ),
            (
                "t link -p --package.out_dir d --package.defer_aie_run a.xclbin --no_ip_cache b",
                "t link -p --set package.out_dir=d --set package.defer_aie_run= a.xclbin --set no_ip_cache= b",
            ),
            ("t link --advanced.param a=b --dk", "t link --set advanced.param=a=b --set debug="),
            ("t link --connectivity.nk k:2 k", "t link --connectivity.nk k:2 k"),
            ("t run --nk k:2", "t run --nk k:2"),
            ("t", "t"),
        ] {
            assert_eq!(made(given), wanted);
        }
    }
}
