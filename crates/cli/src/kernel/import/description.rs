//! `kernel.xml`: a vendor tool's description of a kernel.

use serde::Deserialize;
use std::path::{Path, PathBuf};

/// Why a foreign kernel is refused.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// A file could not be read.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        path: PathBuf,
        source: std::io::Error,
    },
    /// Not XML, or not the XML of a kernel.
    #[error("{path}: {reason}", path = .path.display())]
    Xml { path: PathBuf, reason: String },
    /// An attribute that breaks a rule.
    #[error("{path}:{line}: {element} `{name}`: {rule}", path = .path.display())]
    Element {
        path: PathBuf,
        /// Line, from 1; of an archive, of the kernel.xml in it.
        line: usize,
        /// `kernel`, `port` or `arg`.
        element: &'static str,
        /// Value of the element's `name` attribute.
        name: String,
        /// The rule that it breaks.
        rule: String,
    },
    /// A damaged or hostile archive.
    #[error("{path}: {reason}", path = .path.display())]
    Archive { path: PathBuf, reason: String },
    /// A limit on input that is not trusted.
    #[error("{what}: more than {limit}; refused")]
    TooMuch {
        /// The counted items.
        what: String,
        /// Maximum, with its unit.
        limit: String,
    },
    /// A kernel.xml without `--rtl`.
    #[error("a kernel.xml comes without RTL; name the folder of the Verilog files with --rtl")]
    NoRtlFolder,
    /// Files from which no kernel can be selected.
    #[error("{path}: {source}", path = .path.display())]
    Sources {
        /// The package, folder or file to import.
        path: PathBuf,
        source: super::sources::SourcesError,
    },
    /// A description and RTL that do not agree.
    #[error("{path}: {reason}", path = .path.display())]
    Disagrees {
        /// The package, folder or file to import.
        path: PathBuf,
        reason: String,
    },
    /// An unknown kind of file.
    #[error(
        "{path}: is neither a package (.xo, .zip), a kernel.xml, a component.xml, Verilog (.v, .sv) nor a folder of these",
        path = .0.display()
    )]
    WhatIsIt(PathBuf),
    /// A malformed `--parameter`.
    #[error("--parameter {0}: write NAME=VALUE")]
    Parameter(String),
    /// A package made for sw_emu.
    #[error(
        "{path} was made for sw_emu: it holds C++ (cpu_sources) and no RTL; compile the kernel with -t hw_emu or -t hw",
        path = .0.display()
    )]
    Software(PathBuf),
    /// No Verilog.
    #[error(
        "{path} has no Verilog file (.v or .sv); let the tool export Verilog, not VHDL or a netlist",
        path = .0.display()
    )]
    NoVerilog(PathBuf),
}

/// Maximum size of a kernel.xml in bytes.
pub const XML_LIMIT: u64 = 1 << 20;
/// Maximum number of ports and of arguments.
const LIST_LIMIT: usize = 256;

/// A described kernel, checked for the rules that the manifest's reader does not check.
#[derive(Debug, PartialEq, Eq)]
pub struct Description {
    pub name: String,
    /// Whether it comes from a kernel.xml, which lists every port.
    pub is_complete: bool,
    /// Source of the description, human-readable.
    pub origin: String,
    /// Value of `kernel.control`, if known.
    pub control: Option<&'static str>,
    /// AXI4 ports.
    pub ports: Vec<MemoryPort>,
    /// AXI4-Stream ports.
    pub streams: Vec<StreamPort>,
    /// Names of AXI4-Lite ports, in lower case.
    pub bundles: Vec<String>,
    /// Arguments in registers, in the order of the description.
    pub arguments: Vec<Argument>,
    /// Arguments as a host program numbers them, streams included, if a kernel.xml lists them.
    pub host: Option<Vec<xrt::Argument>>,
}

/// An AXI4 port.
#[derive(Debug, PartialEq, Eq)]
pub struct MemoryPort {
    /// Name in lower case.
    pub name: String,
    /// Data bits; 0 if unknown.
    pub data_width: u64,
}

/// An AXI4-Stream port.
#[derive(Debug, PartialEq, Eq)]
pub struct StreamPort {
    /// Name in lower case.
    pub name: String,
    /// Value of `port.direction`.
    pub direction: &'static str,
    /// Data bits.
    pub data_width: u64,
}

/// A port that kernel.xml lists.
enum Listed {
    Memory(MemoryPort),
    Stream(StreamPort),
    Registers(String),
}

/// An argument in a register.
#[derive(Debug, PartialEq, Eq)]
pub struct Argument {
    pub name: String,
    /// Type in the kernel's language, human-readable.
    pub kind: String,
    /// Register offset in bytes.
    pub offset: u64,
    /// Size in bytes, a multiple of 4.
    pub bytes: u64,
    /// Index of a pointer's memory port.
    pub port: Option<usize>,
    /// Index of the AXI4-Lite port with its register.
    pub bundle: usize,
}

/// The manifest's word for a control protocol.
pub fn control_word(text: &str) -> Option<&'static str> {
    let known = [
        "ap_ctrl_hs",
        "ap_ctrl_chain",
        "ap_ctrl_none",
        "user_managed",
    ];
    known.into_iter().find(|word| *word == text)
}

#[derive(Deserialize)]
struct RootElement {
    #[serde(default)]
    kernel: Vec<KernelElement>,
}

#[derive(Deserialize)]
struct KernelElement {
    #[serde(rename = "@name")]
    name: String,
    #[serde(rename = "@vlnv", default)]
    vlnv: String,
    #[serde(rename = "@hwControlProtocol")]
    control: Option<String>,
    #[serde(default)]
    ports: PortsElement,
    #[serde(default)]
    args: ArgsElement,
}

#[derive(Default, Deserialize)]
struct PortsElement {
    #[serde(default)]
    port: Vec<PortElement>,
}

#[derive(Deserialize)]
struct PortElement {
    #[serde(rename = "@name")]
    name: String,
    #[serde(rename = "@mode", default)]
    mode: String,
    #[serde(rename = "@portType", default)]
    kind: String,
    #[serde(rename = "@dataWidth", default)]
    data_width: String,
}

#[derive(Default, Deserialize)]
struct ArgsElement {
    #[serde(default)]
    arg: Vec<ArgElement>,
}

#[derive(Deserialize)]
struct ArgElement {
    #[serde(rename = "@name")]
    name: String,
    #[serde(rename = "@id", default)]
    id: String,
    #[serde(rename = "@hostSize", default)]
    host_size: String,
    #[serde(rename = "@addressQualifier", default)]
    qualifier: String,
    #[serde(rename = "@port", default)]
    port: String,
    #[serde(rename = "@size", default)]
    size: String,
    #[serde(rename = "@offset", default)]
    offset: String,
    #[serde(rename = "@type", default)]
    kind: String,
}

/// Reads elements and knows their lines, for errors.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

impl Description {
    /// Parses a kernel.xml; `path` names it in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ImportError> {
        // Some packagers write a byte order mark.
        let text = text.trim_start_matches('\u{feff}');
        let reader = Reader { path, text };
        let root = reader.root()?;
        let kernel = match <[KernelElement; 1]>::try_from(root.kernel) {
            Ok([kernel]) => kernel,
            Err(kernels) => {
                let count = kernels.len();
                return Err(reader.xml(format!("it describes {count} kernels, not one")));
            }
        };
        reader.kernel(kernel)
    }
}

impl Reader<'_> {
    fn xml(&self, reason: String) -> ImportError {
        ImportError::Xml {
            path: self.path.to_owned(),
            reason,
        }
    }

    fn root(&self) -> Result<RootElement, ImportError> {
        // Custom entities allow a small file to expand without bound.
        if self.text.contains("<!DOCTYPE") || self.text.contains("<!ENTITY") {
            return Err(self.xml("it has a document type; a kernel.xml has none".to_owned()));
        }
        quick_xml::de::from_str(self.text).map_err(|error| self.xml(error.to_string()))
    }

    fn broken(&self, element: &'static str, name: &str, rule: String) -> ImportError {
        let mark = format!("name=\"{name}\"");
        let at = self
            .text
            .match_indices(&format!("<{element}"))
            .map(|(at, _)| at)
            .find(|&at| {
                let rest = &self.text[at..];
                rest[..rest.find('>').unwrap_or(rest.len())].contains(&mark)
            });
        let before = &self.text[..at.unwrap_or(0)];
        ImportError::Element {
            path: self.path.to_owned(),
            line: 1 + before.matches('\n').count(),
            element,
            name: name.chars().take(64).collect(),
            rule,
        }
    }

    fn kernel(&self, kernel: KernelElement) -> Result<Description, ImportError> {
        let broken = |rule| Err(self.broken("kernel", &kernel.name, rule));
        if !super::super::is_identifier(&kernel.name) {
            return broken("the name is not an identifier of up to 64 characters".to_owned());
        }
        let said = kernel.control.as_deref().unwrap_or("ap_ctrl_hs");
        let Some(control) = control_word(said) else {
            return broken(format!(
                "hwControlProtocol=\"{said}\"; known are ap_ctrl_hs, ap_ctrl_chain, \
                 ap_ctrl_none and user_managed"
            ));
        };
        if kernel.ports.port.len().max(kernel.args.arg.len()) > LIST_LIMIT {
            return broken(format!("more than {LIST_LIMIT} ports or arguments"));
        }
        let (mut ports, mut streams, mut bundles) = (Vec::new(), Vec::new(), Vec::new());
        for port in &kernel.ports.port {
            match self.port(port)? {
                Listed::Memory(port) => ports.push(port),
                Listed::Stream(port) => streams.push(port),
                Listed::Registers(name) => bundles.push(name),
            }
        }
        let (mut arguments, mut host) = (Vec::new(), Vec::<xrt::Argument>::new());
        for (place, arg) in kernel.args.arg.iter().enumerate() {
            let argument = self.argument(arg, (&ports, &streams, &bundles))?;
            let counted = host_argument(place, arg, argument.as_ref(), &ports);
            if host.iter().any(|other| other.index == counted.index) {
                let rule = format!("id=\"{}\" is that of another argument", arg.id);
                return Err(self.broken("arg", &arg.name, rule));
            }
            host.push(counted);
            arguments.extend(argument);
        }
        Ok(Description {
            name: kernel.name,
            origin: kernel.vlnv,
            is_complete: true,
            control: Some(control),
            ports,
            streams,
            bundles,
            arguments,
            host: Some(host),
        })
    }

    /// Reads a memory port, a stream or an AXI4-Lite port.
    fn port(&self, port: &PortElement) -> Result<Listed, ImportError> {
        let broken = |rule: String| Err(self.broken("port", &port.name, rule));
        let name = port.name.to_ascii_lowercase();
        let width = || {
            let no_number = || format!("dataWidth=\"{}\" is not a number", port.data_width);
            number(&port.data_width).ok_or_else(no_number)
        };
        let stream = |direction| match width() {
            Ok(data_width) => Ok(Listed::Stream(StreamPort {
                name: name.clone(),
                direction,
                data_width,
            })),
            Err(rule) => broken(rule),
        };
        match port.mode.as_str() {
            "read_only" => stream("in"),
            "write_only" => stream("out"),
            _ if port.kind == "stream" => {
                broken("a stream has mode=\"read_only\" or mode=\"write_only\"".to_owned())
            }
            "slave" => Ok(Listed::Registers(name)),
            "master" => match width() {
                Ok(data_width) => Ok(Listed::Memory(MemoryPort { name, data_width })),
                Err(rule) => broken(rule),
            },
            other => broken(format!(
                "mode=\"{other}\"; known are master, slave, read_only and write_only"
            )),
        }
    }

    /// Reads an argument in a register; `None` for a stream, which is a port only.
    fn argument(
        &self,
        arg: &ArgElement,
        (ports, streams, bundles): (&[MemoryPort], &[StreamPort], &[String]),
    ) -> Result<Option<Argument>, ImportError> {
        let broken = |rule: String| Err(self.broken("arg", &arg.name, rule));
        if arg.qualifier == "4" {
            let wanted = arg.port.to_ascii_lowercase();
            return match streams.iter().any(|stream| stream.name == wanted) {
                true => Ok(None),
                false => broken(format!("there is no stream port `{}`", arg.port)),
            };
        }
        let (Some(offset), Some(size)) = (number(&arg.offset), number(&arg.size)) else {
            return broken(format!(
                "offset=\"{}\" size=\"{}\": both must be numbers",
                arg.offset, arg.size
            ));
        };
        let port = match arg.qualifier.as_str() {
            "0" => None,
            "1" | "2" => {
                let wanted = arg.port.to_ascii_lowercase();
                let Some(index) = ports.iter().position(|port| port.name == wanted) else {
                    return broken(format!("there is no memory port `{}`", arg.port));
                };
                Some(index)
            }
            other => {
                return broken(format!(
                "addressQualifier=\"{other}\"; known are 0 (value), 1 and 2 (memory), 4 (stream)"
            ))
            }
        };
        let Some(bytes) = size.checked_next_multiple_of(4).filter(|&bytes| bytes > 0) else {
            return broken(format!("size=\"{}\": an argument has bytes", arg.size));
        };
        Ok(Some(Argument {
            name: arg.name.clone(),
            kind: arg.kind.chars().take(200).collect(),
            offset,
            bytes,
            port,
            bundle: bundles
                .iter()
                .position(|name| *name == arg.port.to_ascii_lowercase())
                .unwrap_or(0),
        }))
    }
}

/// An argument as a host program numbers it: by id, or by position; `None` if it is a stream.
fn host_argument(
    place: usize,
    arg: &ArgElement,
    argument: Option<&Argument>,
    ports: &[MemoryPort],
) -> xrt::Argument {
    let small = |value: u64| u32::try_from(value).unwrap_or(u32::MAX);
    let bytes = argument.map_or(0, |argument| small(argument.bytes));
    let host_bytes = number(&arg.host_size).filter(|size| *size > 0).map(small);
    // Registers are whole words; the value may be shorter.
    let value_bytes = number(&arg.size).filter(|size| *size > 0).map(small);
    xrt::Argument {
        index: small(number(&arg.id).unwrap_or(place as u64)),
        name: arg.name.clone(),
        kind: match argument {
            None => xrt::ArgumentKind::Stream,
            Some(Argument { port: Some(_), .. }) => xrt::ArgumentKind::Global,
            Some(_) => xrt::ArgumentKind::Scalar,
        },
        port: match argument {
            None => arg.port.to_ascii_lowercase(),
            Some(argument) => match argument.port.and_then(|port| ports.get(port)) {
                Some(port) => port.name.clone(),
                None => "s_axi_control".to_owned(),
            },
        },
        bytes,
        host_bytes: host_bytes.or(value_bytes).unwrap_or(bytes),
        offset: argument.map_or(0, |argument| small(argument.offset)),
        host_type: arg.kind.chars().take(200).collect(),
    }
}

/// Parses `0x10` or `16`.
pub fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const GOOD: &str = include_str!("../../../../../docs/tutorials/hls-export/kernel.xml");

    fn parse(text: &str) -> Result<Description, ImportError> {
        Description::parse(Path::new("kernel.xml"), text)
    }

    #[test]
    fn a_good_description_is_understood() {
        let description = parse(GOOD).unwrap();
        assert_eq!(description.name, "prefix_sum");
        assert_eq!(description.control, Some("ap_ctrl_chain"));
        let ports: Vec<_> = description
            .ports
            .iter()
            .map(|port| (port.name.as_str(), port.data_width))
            .collect();
        assert_eq!(ports, [("m_axi_gmem0", 32), ("m_axi_gmem1", 128)]);
        let arguments: Vec<_> = description
            .arguments
            .iter()
            .map(|a| (a.name.as_str(), a.offset, a.bytes, a.port))
            .collect();
        let expected = [
            ("values", 0x10, 8, Some(0)),
            ("sums", 0x18, 8, Some(1)),
            ("count", 0x20, 4, None),
        ];
        assert_eq!(arguments, expected);
        assert_eq!(description.arguments[1].kind, "ap_uint<128>*");
    }

    #[test]
    fn what_breaks_a_rule_is_named_with_its_line() {
        for (from, to, words) in [
            (
                "dataWidth=\"32\"",
                "dataWidth=\"wide\"",
                "kernel.xml:5: port `M_AXI_GMEM0`: dataWidth",
            ),
            (
                "mode=\"slave\"",
                "mode=\"both\"",
                "kernel.xml:7: port `S_AXI_CONTROL`: mode",
            ),
            (
                "ap_ctrl_chain",
                "ap_ctrl_new",
                "kernel.xml:3: kernel `prefix_sum`: hwControlProtocol",
            ),
            (
                "port=\"M_AXI_GMEM1\"",
                "port=\"M_AXI_X\"",
                "arg `sums`: there is no memory port `M_AXI_X`",
            ),
            ("offset=\"0x20\"", "offset=\"\"", "arg `count`: offset=\"\""),
            ("size=\"0x4\"", "size=\"0\"", "arg `count`: size"),
            (
                "size=\"0x4\"",
                "size=\"0xffffffffffffffff\"",
                "arg `count`: size",
            ),
            ("name=\"prefix_sum\"", "name=\"../up\"", "not an identifier"),
            ("<root ", "<!DOCTYPE r><root ", "document type"),
            ("</kernel>", "", "kernel.xml: "),
            ("</kernel>", "</kernel><kernel name=\"b\"/>", "2 kernels"),
        ] {
            assert!(GOOD.contains(from), "{from}");
            let text = parse(&GOOD.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(text.contains(words), "{to}: {text}");
        }
    }

    #[test]
    fn streams_are_ports_and_no_arguments() {
        let text = r#"<root><kernel name="scale" hwControlProtocol="ap_ctrl_none"><ports>
            <port name="in_r" mode="read_only" dataWidth="64" portType="stream"/>
            <port name="OUT_R" mode="write_only" dataWidth="128" portType="stream"/></ports><args>
            <arg name="in" addressQualifier="4" port="in_r" size="0x8" offset="0x0"/>
            <arg name="out" addressQualifier="4" port="out_r" size="0x8" offset="0x0"/></args></kernel></root>"#;
        let description = parse(text).unwrap();
        let streams: Vec<_> = description
            .streams
            .iter()
            .map(|port| (port.name.as_str(), port.direction, port.data_width))
            .collect();
        assert_eq!(streams, [("in_r", "in", 64), ("out_r", "out", 128)]);
        assert!(description.arguments.is_empty() && description.ports.is_empty());
        for (from, to, words) in [
            (
                "port=\"in_r\"",
                "port=\"x\"",
                "arg `in`: there is no stream port `x`",
            ),
            (
                "mode=\"read_only\"",
                "mode=\"master\"",
                "port `in_r`: a stream has mode",
            ),
        ] {
            let told = parse(&text.replacen(from, to, 1)).unwrap_err().to_string();
            assert!(told.contains(words), "{told}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn no_text_is_fatal(at in 0..GOOD.len(), cut in 0usize..80, put in "[ -~]{0,20}") {
            let end = (at + cut).min(GOOD.len());
            let _ = parse(&format!("{}{put}{}", &GOOD[..at], &GOOD[end..]));
            let _ = parse(&put);
        }

        #[test]
        fn no_depth_is_fatal(depth in 1usize..20_000) {
            let _ = parse(&format!("<root>{}", "<kernel name=\"k\"><ports>".repeat(depth)));
            let _ = parse(&format!("<root>{}", "<x>".repeat(depth)));
        }
    }
}
