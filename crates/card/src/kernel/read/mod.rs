//! Parses the text of `kernel.toml` into a checked [`Manifest`].

mod arguments;
mod files;
mod ports;
mod rtl;

use super::error::{KernelError, ManifestRule};
use super::manifest::{
    AccessMode, ControlProtocol, Manifest, PacketOrder, PortKind, RegisterPort, ResetPolarity,
    Sideband, STREAMS_CLOSED,
};
use super::rtl::{DEFAULT_CLOCK, DEFAULT_RESET};
use crate::stream::StreamDirection;
use arguments::ArgumentReader;
use files::FileSpans;
use ports::{Listed, PortReader};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

const MAX_NAME: usize = 64;
const FIRST_ARGUMENT: u32 = 0x10;
const CONTROL_WINDOW: u32 = 0x1_0000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    kernel: RawKernel,
    #[serde(default)]
    parameters: BTreeMap<String, Spanned<RawParameter>>,
    #[serde(default)]
    constants: BTreeMap<String, Spanned<RawConstant>>,
    #[serde(default)]
    defines: BTreeMap<String, Spanned<RawDefine>>,
    #[serde(default)]
    clock: Vec<Spanned<RawClock>>,
    #[serde(default)]
    port: Vec<Spanned<RawPort>>,
    #[serde(default)]
    argument: Vec<RawArgument>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawKernel {
    name: Spanned<String>,
    #[serde(default)]
    description: String,
    top: Spanned<String>,
    sources: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    libraries: Vec<Spanned<String>>,
    #[serde(default)]
    include: Vec<Spanned<String>>,
    control: Spanned<ControlProtocol>,
    #[serde(default)]
    interrupt: Option<Spanned<RawInterrupt>>,
    #[serde(default)]
    clock: Option<Spanned<String>>,
    #[serde(default)]
    reset: ResetPolarity,
    #[serde(default)]
    reset_name: Option<Spanned<String>>,
}

/// `true` or `false`, or the name of the interrupt.
#[derive(Deserialize)]
#[serde(untagged, expecting = "true, false, or the name of the output")]
enum RawInterrupt {
    Flag(bool),
    Name(String),
}

/// Constant value of an input.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "an input holds true, false, or a number from 0 on"
)]
enum RawConstant {
    Flag(bool),
    Number(u64),
}

/// Value of a parameter.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawParameter {
    Flag(bool),
    Number(i64),
    Real(f64),
    Text(String),
}

/// Value of a macro; `true` defines it without one.
#[derive(Deserialize)]
#[serde(untagged)]
enum RawDefine {
    Flag(bool),
    Number(i64),
    Text(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawClock {
    name: Spanned<String>,
    ratio: Spanned<String>,
    #[serde(default)]
    reset: ResetPolarity,
    #[serde(default)]
    reset_name: Option<Spanned<String>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPort {
    name: Spanned<String>,
    kind: PortKind,
    #[serde(default)]
    data_width: Option<Spanned<u32>>,
    #[serde(default)]
    access: Option<Spanned<AccessMode>>,
    #[serde(default)]
    direction: Option<Spanned<StreamDirection>>,
    #[serde(default)]
    members: Option<Spanned<Vec<Spanned<String>>>>,
    #[serde(default)]
    packets: Option<Spanned<PacketOrder>>,
    #[serde(default)]
    through: Option<Spanned<String>>,
    #[serde(default)]
    drops: Option<Spanned<Vec<Sideband>>>,
    #[serde(default)]
    tid_width: Option<Spanned<u8>>,
    #[serde(default)]
    tdest_width: Option<Spanned<u8>>,
    #[serde(default)]
    prefix: Option<Spanned<String>>,
    #[serde(default)]
    address_width: Option<Spanned<u32>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArgument {
    name: Spanned<String>,
    #[serde(default)]
    bundle: Option<Spanned<String>>,
    offset: Spanned<u32>,
    bytes: Spanned<u32>,
    #[serde(default)]
    port: Option<Spanned<String>>,
    #[serde(default)]
    access: Option<Spanned<AccessMode>>,
    #[serde(default)]
    alignment: Option<Spanned<u32>>,
    #[serde(default)]
    least: Option<Spanned<u64>>,
    #[serde(default)]
    most: Option<Spanned<u64>>,
    #[serde(default)]
    multiple_of: Option<Spanned<u64>>,
    #[serde(default)]
    description: String,
}

/// Maps positions in the text to lines, for errors.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

/// Offset of the first argument. Without a start register, all registers belong to the kernel.
fn first_argument(control: ControlProtocol) -> u32 {
    match control {
        ControlProtocol::UserManaged | ControlProtocol::ApCtrlNone => 0,
        _ => FIRST_ARGUMENT,
    }
}

/// Checks everything that depends on the text alone; `path` only names it in errors.
pub(super) fn parse(path: &Path, text: &str) -> Result<Manifest, KernelError> {
    let reader = Reader { path, text };
    reader.check(reader.deserialize()?)
}

/// Reads a manifest and checks it, its sources and its libraries.
pub(super) fn read(path: &Path) -> Result<Manifest, KernelError> {
    let io = |source| KernelError::Io {
        path: path.to_owned(),
        source,
    };
    let text = crate::kernel::file::read(path).map_err(io)?;
    let text = String::from_utf8(text).map_err(|error| io(std::io::Error::other(error)))?;
    let reader = Reader { path, text: &text };
    let raw = reader.deserialize()?;
    let spans = FileSpans::of(&raw.kernel);
    let manifest = reader.check(raw)?;
    spans.check(&reader, &manifest)?;
    Ok(manifest)
}

impl Reader<'_> {
    fn deserialize(&self) -> Result<RawManifest, KernelError> {
        toml::from_str(self.text).map_err(|error| KernelError::Syntax {
            path: self.path.to_owned(),
            line: self.line(error.span().unwrap_or(0..0)),
            message: error.message().to_owned(),
        })
    }

    fn line(&self, span: Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn broken(&self, key: &'static str, span: Range<usize>, rule: ManifestRule) -> KernelError {
        KernelError::Manifest {
            path: self.path.to_owned(),
            line: self.line(span),
            key,
            rule,
        }
    }

    fn check(&self, raw: RawManifest) -> Result<Manifest, KernelError> {
        let kernel = raw.kernel;
        let name = self.identifier("kernel.name", kernel.name)?;
        let top = self.identifier("kernel.top", kernel.top)?;
        let control = *kernel.control.get_ref();
        let interrupt = rtl::interrupt(self, kernel.interrupt)?;
        let clock = self.named("kernel.clock", kernel.clock, DEFAULT_CLOCK)?;
        let reset_name = self.named("kernel.reset_name", kernel.reset_name, DEFAULT_RESET)?;
        let clocks = rtl::clocks(self, raw.clock, &clock)?;
        let sources = rtl::sources(self, kernel.sources)?;
        let libraries = rtl::libraries(self, kernel.libraries)?;
        let include = rtl::include(self, kernel.include)?;
        let (coherent, rest): (Vec<_>, Vec<_>) = raw.port.into_iter().partition(|port| {
            matches!(
                port.get_ref().kind,
                PortKind::Axi4Home | PortKind::LineOperations | PortKind::HostLines
            )
        });
        // A kernel without a start may nevertheless have registers.
        let starts = control != ControlProtocol::ApCtrlNone;
        let is_bundle = |port: &Spanned<RawPort>| port.get_ref().kind == PortKind::Axi4Lite;
        let has_registers = starts || !raw.argument.is_empty() || rest.iter().any(is_bundle);
        if !starts && interrupt.is_some() {
            return Err(self.broken(
                "kernel.control",
                kernel.control.span(),
                ManifestRule::NoInterrupt,
            ));
        }
        let mut reader = PortReader::new(self);
        let Listed {
            ports,
            streams,
            mut bundles,
        } = reader.others(rest, has_registers)?;
        if has_registers && bundles.is_empty() {
            bundles.push(RegisterPort {
                name: RegisterPort::DEFAULT_NAME.to_owned(),
                prefix: None,
                data_width: 32,
            });
        }
        let through = streams.iter().any(|port| port.through.is_some());
        let plain = matches!(bundles.as_slice(), [only] if only.data_width == 32);
        if through && !plain {
            return Err(self.broken(
                "kernel.control",
                kernel.control.span(),
                ManifestRule::ThroughBundles,
            ));
        }
        let window = if through {
            STREAMS_CLOSED
        } else {
            CONTROL_WINDOW
        };
        let [homes, lines, accesses] = reader.coherent(coherent)?;
        let reader = ArgumentReader {
            reader: self,
            window: first_argument(control)..window,
            ports: &ports,
            bundles: &bundles,
        };
        let arguments = reader.read(raw.argument)?;
        Ok(Manifest {
            name,
            description: kernel.description,
            top,
            sources,
            libraries,
            include,
            parameters: rtl::parameters(self, raw.parameters)?,
            constants: rtl::constants(self, raw.constants)?,
            defines: rtl::defines(self, raw.defines)?,
            clock,
            clocks,
            control,
            reset: kernel.reset,
            reset_name,
            registers: bundles,
            interrupt,
            ports,
            streams,
            homes,
            lines,
            accesses,
            arguments,
        })
    }

    /// The given name, or the default.
    fn named(
        &self,
        key: &'static str,
        name: Option<Spanned<String>>,
        default: &str,
    ) -> Result<String, KernelError> {
        name.map_or_else(|| Ok(default.to_owned()), |name| self.identifier(key, name))
    }

    fn identifier(&self, key: &'static str, name: Spanned<String>) -> Result<String, KernelError> {
        let span = name.span();
        let name = name.into_inner();
        let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if head && rest && name.len() <= MAX_NAME {
            Ok(name)
        } else {
            Err(self.broken(key, span, ManifestRule::Identifier(name)))
        }
    }

    /// An identifier that is not in `seen` yet; adds it.
    fn unique(
        &self,
        key: &'static str,
        name: Spanned<String>,
        seen: &mut HashSet<String>,
    ) -> Result<String, KernelError> {
        let span = name.span();
        let name = self.identifier(key, name)?;
        if seen.insert(name.clone()) {
            Ok(name)
        } else {
            Err(self.broken(key, span, ManifestRule::Duplicate(name)))
        }
    }
}
