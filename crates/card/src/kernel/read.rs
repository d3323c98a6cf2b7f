//! From the text of `kernel.toml` to a checked [`Manifest`].

use super::error::{KernelError, Rule};
use super::manifest::{
    AccessMode, Argument, ControlProtocol, Manifest, Numbers, PacketOrder, Port, PortKind,
    ResetPolarity, Sideband, StreamPort, STREAMS_CLOSED,
};
use crate::stream::StreamDirection;
use serde::Deserialize;
use std::collections::HashSet;
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use toml::Spanned;

const MAX_PORTS: usize = 8;
const MAX_STREAMS: usize = 16;
const MAX_STREAM_WIDTH: u32 = 4096;
/// Of memory ports that carry streams.
const CARRIED_WIDTH: u32 = 512;
const MAX_NAME: usize = 64;
const FIRST_ARGUMENT: u32 = 0x10;
/// A row: what most kernels move at once, and ignore the low bits for.
const DEFAULT_ALIGNMENT: u32 = 64;
const MAX_ALIGNMENT: u32 = 4096;
const CONTROL_WINDOW: u32 = 0x1_0000;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawManifest {
    kernel: RawKernel,
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
    control: Spanned<ControlProtocol>,
    #[serde(default)]
    interrupt: Option<Spanned<bool>>,
    #[serde(default)]
    reset: ResetPolarity,
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
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawArgument {
    name: Spanned<String>,
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

/// Knows where things stand in the text, for errors.
struct Reader<'a> {
    path: &'a Path,
    text: &'a str,
}

/// The first offset of an argument. Raw registers belong to the kernel from the first one on.
fn first_argument(control: ControlProtocol) -> u32 {
    match control {
        ControlProtocol::UserManaged => 0,
        _ => FIRST_ARGUMENT,
    }
}

/// Where the names of files stand in the text, for the checks that need a file system.
struct FileSpans {
    sources: Vec<Range<usize>>,
    libraries: Vec<Range<usize>>,
}

/// Checks everything that the text alone can tell; `path` only names it in errors.
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
    let text = std::fs::read_to_string(path).map_err(io)?;
    let reader = Reader { path, text: &text };
    let raw = reader.deserialize()?;
    let spans = FileSpans::of(&raw.kernel);
    let manifest = reader.check(raw)?;
    reader
        .check_files(&manifest, spans)
        .map_err(|error| match error {
            FileError::Io(source) => io(source),
            FileError::Kernel(error) => error,
        })?;
    Ok(manifest)
}

enum FileError {
    Io(std::io::Error),
    Kernel(KernelError),
}

impl FileSpans {
    fn of(kernel: &RawKernel) -> Self {
        let spans = |names: &[Spanned<String>]| names.iter().map(Spanned::span).collect();
        Self {
            sources: spans(kernel.sources.get_ref()),
            libraries: spans(&kernel.libraries),
        }
    }
}

impl Reader<'_> {
    fn deserialize(&self) -> Result<RawManifest, KernelError> {
        toml::from_str(self.text).map_err(|error| KernelError::Syntax {
            path: self.path.to_owned(),
            line: self.line(error.span().unwrap_or(0..0)),
            message: error.message().to_owned(),
        })
    }

    fn check_files(&self, manifest: &Manifest, spans: FileSpans) -> Result<(), FileError> {
        let broken = |key, span, rule| Err(FileError::Kernel(self.broken(key, span, rule)));
        let folder = match self.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let root = folder.canonicalize().map_err(FileError::Io)?;
        for (source, span) in manifest.sources.iter().zip(spans.sources) {
            let name = source.display().to_string();
            match root.join(source).canonicalize() {
                Ok(file) if !file.starts_with(&root) => {
                    return broken("kernel.sources", span, Rule::OutsideFolder(name));
                }
                Ok(file) if file.is_file() => {}
                _ => return broken("kernel.sources", span, Rule::NoSuchFile(name)),
            }
        }
        for (library, span) in manifest.libraries.iter().zip(spans.libraries) {
            if !super::library_directory(folder, library).is_dir() {
                return broken(
                    "kernel.libraries",
                    span,
                    Rule::NoSuchLibrary(library.clone()),
                );
            }
        }
        Ok(())
    }

    fn line(&self, span: Range<usize>) -> usize {
        let before = &self.text.as_bytes()[..span.start.min(self.text.len())];
        1 + before.iter().filter(|&&byte| byte == b'\n').count()
    }

    fn broken(&self, key: &'static str, span: Range<usize>, rule: Rule) -> KernelError {
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
        let interrupt = kernel.interrupt.is_some_and(|flag| *flag.get_ref());
        let registers = control != ControlProtocol::ApCtrlNone;
        if !registers && (interrupt || !raw.argument.is_empty()) {
            return Err(self.broken("kernel.control", kernel.control.span(), Rule::NoRegisters));
        }
        let sources = self.sources(kernel.sources)?;
        let libraries = self.libraries(kernel.libraries)?;
        let mut seen = HashSet::new();
        let (coherent, rest): (Vec<_>, Vec<_>) = raw.port.into_iter().partition(|port| {
            matches!(
                port.get_ref().kind,
                PortKind::Axi4Home | PortKind::LineOperations | PortKind::HostLines
            )
        });
        let (ports, streams) = self.ports(rest, registers, &mut seen)?;
        let through = streams.iter().any(|port| port.through.is_some());
        let window = if through {
            STREAMS_CLOSED
        } else {
            CONTROL_WINDOW
        };
        let [homes, lines, accesses] = self.coherent_ports(coherent, &mut seen)?;
        let arguments = self.arguments(raw.argument, first_argument(control)..window, &ports)?;
        Ok(Manifest {
            name,
            description: kernel.description,
            top,
            sources,
            libraries,
            control,
            reset: kernel.reset,
            interrupt,
            ports,
            streams,
            homes,
            lines,
            accesses,
            arguments,
        })
    }

    fn identifier(&self, key: &'static str, name: Spanned<String>) -> Result<String, KernelError> {
        let span = name.span();
        let name = name.into_inner();
        let head = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        let rest = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if head && rest && name.len() <= MAX_NAME {
            Ok(name)
        } else {
            Err(self.broken(key, span, Rule::Identifier(name)))
        }
    }

    /// An identifier that is not in `seen` yet.
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
            Err(self.broken(key, span, Rule::Duplicate(name)))
        }
    }

    fn sources(&self, raw: Spanned<Vec<Spanned<String>>>) -> Result<Vec<PathBuf>, KernelError> {
        const KEY: &str = "kernel.sources";
        if raw.get_ref().is_empty() {
            return Err(self.broken(KEY, raw.span(), Rule::NoSources));
        }
        let mut seen = HashSet::new();
        let mut sources = Vec::new();
        for source in raw.into_inner() {
            let span = source.span();
            let text = source.into_inner();
            let path = PathBuf::from(&text);
            let inside = |part| matches!(part, Component::Normal(_) | Component::CurDir);
            if text.is_empty() || text.contains('\0') || !path.components().all(inside) {
                return Err(self.broken(KEY, span, Rule::OutsideFolder(text)));
            }
            let plain: PathBuf = path
                .components()
                .filter(|part| matches!(part, Component::Normal(_)))
                .collect();
            if !seen.insert(plain.clone()) {
                return Err(self.broken(KEY, span, Rule::Duplicate(text)));
            }
            sources.push(plain);
        }
        Ok(sources)
    }

    fn libraries(&self, raw: Vec<Spanned<String>>) -> Result<Vec<String>, KernelError> {
        let mut seen = HashSet::new();
        raw.into_iter()
            .map(|name| self.unique("kernel.libraries", name, &mut seen))
            .collect()
    }

    /// Home ports, ports of line operations, and ports for the CPU's lines, by name.
    fn coherent_ports(
        &self,
        raw: Vec<Spanned<RawPort>>,
        seen: &mut HashSet<String>,
    ) -> Result<[Vec<String>; 3], KernelError> {
        let [mut homes, mut lines, mut accesses] = [const { Vec::new() }; 3];
        let mut last = 0..0;
        for port in raw {
            last = port.span();
            let port = port.into_inner();
            let of_others = [
                port.data_width.is_some(),
                port.access.is_some(),
                port.direction.is_some(),
                port.members.is_some(),
                port.packets.is_some(),
                port.through.is_some(),
                port.drops.is_some(),
            ];
            if of_others.contains(&true) {
                return Err(self.broken("port", last, Rule::CoherentPort));
            }
            let name = self.unique("port.name", port.name, seen)?;
            match port.kind {
                PortKind::Axi4Home => homes.push(name),
                PortKind::HostLines => accesses.push(name),
                _ => lines.push(name),
            }
        }
        // Without home ports the kernel is beside card memory, which serves the lines.
        if !homes.is_empty() && homes.len() != lines.len() {
            let rule = Rule::CoherentPairs {
                homes: homes.len(),
                lines: lines.len(),
            };
            return Err(self.broken("port", last, rule));
        }
        Ok([homes, lines, accesses])
    }

    /// Memory ports and stream ports, each in the order of the text.
    fn ports(
        &self,
        raw: Vec<Spanned<RawPort>>,
        registers: bool,
        seen: &mut HashSet<String>,
    ) -> Result<(Vec<Port>, Vec<StreamPort>), KernelError> {
        let (mut ports, mut streams) = (Vec::<Port>::new(), Vec::<StreamPort>::new());
        let mut carried = Vec::new();
        let count = |kind| {
            raw.iter()
                .filter(|port| port.get_ref().kind == kind)
                .count()
        };
        let (all_ports, all_streams) = (count(PortKind::Axi4), count(PortKind::Axi4Stream));
        for port in raw {
            let span = port.span();
            let port = port.into_inner();
            let name = self.unique("port.name", port.name, seen)?;
            let members = self.members(port.kind, port.members, &port.packets, seen)?;
            let outgoing =
                matches!(&port.direction, Some(way) if *way.get_ref() == StreamDirection::Out);
            if let Some(drops) = &port.drops {
                if port.kind != PortKind::Axi4Stream || !outgoing || port.through.is_some() {
                    return Err(self.broken("port.drops", drops.span(), Rule::Drops));
                }
            }
            let drops = port.drops.map(Spanned::into_inner).unwrap_or_default();
            if let Some(through) = port.through {
                let alone =
                    members.is_empty() && port.data_width.is_none() && port.access.is_none();
                let rule = match (port.kind, port.direction) {
                    (PortKind::Axi4Stream, Some(direction)) if alone && registers => {
                        if streams.len() == MAX_STREAMS {
                            let rule = Rule::TooManyStreams(all_streams);
                            return Err(self.broken("port", span, rule));
                        }
                        carried.push((streams.len(), through));
                        streams.push(StreamPort {
                            name,
                            direction: direction.into_inner(),
                            data_width: CARRIED_WIDTH,
                            members,
                            packets: PacketOrder::default(),
                            through: None,
                            drops,
                        });
                        continue;
                    }
                    (PortKind::Axi4Stream, Some(_)) if alone => {
                        "the slot's registers for it are in `s_axi_control`, which `ap_ctrl_none` has not"
                    }
                    _ => {
                        "it has kind `axi4_stream` and a `direction`, and nothing else: its width is what the kernel \
                         opens it with"
                    }
                };
                return Err(self.broken("port.through", through.span(), Rule::Through(rule)));
            }
            let Some(data_width) = port.data_width else {
                return Err(self.broken("port", span, Rule::NoDataWidth));
            };
            let width = *data_width.get_ref();
            let wrong_width = |rule| {
                let key = "port.data_width";
                Err(self.broken(key, data_width.span(), rule))
            };
            match (port.kind, port.access, port.direction) {
                (PortKind::Axi4, Some(access), None) => {
                    if !width.is_power_of_two() || !(32..=512).contains(&width) {
                        return wrong_width(Rule::DataWidth(width));
                    }
                    if ports.len() == MAX_PORTS {
                        let rule = Rule::TooManyPorts(all_ports);
                        return Err(self.broken("port", span, rule));
                    }
                    ports.push(Port {
                        name,
                        kind: port.kind,
                        data_width: width,
                        access: access.into_inner(),
                    });
                }
                (PortKind::Axi4Stream, None, Some(direction)) => {
                    if width == 0 || width % 8 != 0 || width > MAX_STREAM_WIDTH {
                        return wrong_width(Rule::StreamWidth(width));
                    }
                    if streams.len() == MAX_STREAMS {
                        let rule = Rule::TooManyStreams(all_streams);
                        return Err(self.broken("port", span, rule));
                    }
                    streams.push(StreamPort {
                        name,
                        direction: direction.into_inner(),
                        data_width: width,
                        members,
                        packets: port.packets.map(Spanned::into_inner).unwrap_or_default(),
                        through: None,
                        drops,
                    });
                }
                (PortKind::Axi4, _, _) => {
                    return Err(self.broken("port", span, Rule::PortAccess));
                }
                (_, _, _) => {
                    return Err(self.broken("port", span, Rule::StreamPortDirection));
                }
            }
        }
        for (number, name) in carried {
            streams[number].through = Some(self.carrier(&ports, &streams, number, name)?);
        }
        Ok((ports, streams))
    }

    /// The memory port that carries a stream.
    fn carrier(
        &self,
        ports: &[Port],
        streams: &[StreamPort],
        number: usize,
        name: Spanned<String>,
    ) -> Result<usize, KernelError> {
        let broken = |rule| Err(self.broken("port.through", name.span(), rule));
        let Some(index) = ports.iter().position(|port| port.name == *name.get_ref()) else {
            return broken(Rule::NoSuchPort(name.get_ref().clone()));
        };
        let (port, direction) = (&ports[index], streams[number].direction);
        let has_channel = match direction {
            StreamDirection::In => port.access.reads(),
            StreamDirection::Out => port.access.writes(),
        };
        let taken =
            |other: &StreamPort| other.through == Some(index) && other.direction == direction;
        if port.data_width != CARRIED_WIDTH {
            broken(Rule::Through("its port has 512 bits"))
        } else if !has_channel {
            let rule = "one into the kernel comes on the read channels of its port, one out of it on the write \
                        channels, and `access` says that the port has not these";
            broken(Rule::Through(rule))
        } else if streams.iter().any(taken) {
            broken(Rule::Through("a port carries one of a direction"))
        } else {
            Ok(index)
        }
    }

    /// The kernel's ports that share a stream, by name; none if the stream is a port itself.
    fn members(
        &self,
        kind: PortKind,
        raw: Option<Spanned<Vec<Spanned<String>>>>,
        packets: &Option<Spanned<PacketOrder>>,
        seen: &mut HashSet<String>,
    ) -> Result<Vec<String>, KernelError> {
        let Some(raw) = raw else {
            return match packets {
                Some(packets) => Err(self.broken("port.packets", packets.span(), Rule::Members(0))),
                None => Ok(Vec::new()),
            };
        };
        let span = raw.span();
        let count = raw.get_ref().len();
        if kind != PortKind::Axi4Stream || !(2..=MAX_STREAMS).contains(&count) {
            return Err(self.broken("port.members", span, Rule::Members(count)));
        }
        let names = raw.into_inner().into_iter();
        names
            .map(|name| self.unique("port.members", name, seen))
            .collect()
    }

    fn arguments(
        &self,
        raw: Vec<RawArgument>,
        window: Range<u32>,
        ports: &[Port],
    ) -> Result<Vec<Argument>, KernelError> {
        let mut seen = HashSet::new();
        let mut arguments: Vec<Argument> = Vec::new();
        for argument in raw {
            self.place(&argument, &window, &arguments)?;
            let (port, access) = self.pointer(&argument, ports)?;
            let alignment = self.alignment(&argument)?;
            let numbers = self.numbers(&argument)?;
            arguments.push(Argument {
                name: self.unique("argument.name", argument.name, &mut seen)?,
                offset: argument.offset.into_inner(),
                bytes: argument.bytes.into_inner(),
                port,
                access,
                alignment,
                numbers,
                description: argument.description,
            });
        }
        Ok(arguments)
    }

    /// Checks offset and size against the window and the arguments before.
    fn place(
        &self,
        argument: &RawArgument,
        window: &Range<u32>,
        before: &[Argument],
    ) -> Result<(), KernelError> {
        let offset = *argument.offset.get_ref();
        let bytes = *argument.bytes.get_ref();
        let at_offset = |rule| Err(self.broken("argument.offset", argument.offset.span(), rule));
        if offset < window.start {
            return at_offset(Rule::OffsetReserved(offset));
        }
        if offset % 4 != 0 {
            return at_offset(Rule::OffsetMisaligned(offset));
        }
        if bytes == 0 || bytes % 4 != 0 {
            let rule = Rule::ArgumentBytes(bytes);
            return Err(self.broken("argument.bytes", argument.bytes.span(), rule));
        }
        let end = match offset.checked_add(bytes) {
            Some(end) if end <= window.end => end,
            Some(end) if end <= CONTROL_WINDOW => {
                let rule = "offsets from 0xff00 on belong to the slot";
                return at_offset(Rule::Through(rule));
            }
            _ => return at_offset(Rule::OffsetBeyondWindow { offset, bytes }),
        };
        let overlaps =
            |other: &&Argument| offset < other.offset + other.bytes && other.offset < end;
        match before.iter().find(overlaps) {
            None => Ok(()),
            Some(other) => at_offset(Rule::Overlap {
                offset,
                other: other.name.clone(),
                start: other.offset,
                end: other.offset + other.bytes - 1,
            }),
        }
    }

    /// What the address in a pointer is a multiple of; 1 for a scalar.
    fn alignment(&self, argument: &RawArgument) -> Result<u32, KernelError> {
        let is_pointer = argument.port.is_some();
        let Some(alignment) = &argument.alignment else {
            return Ok(if is_pointer { DEFAULT_ALIGNMENT } else { 1 });
        };
        let bytes = *alignment.get_ref();
        let rule = match is_pointer {
            false => Rule::AlignmentWithoutPort,
            true if !bytes.is_power_of_two() || bytes > MAX_ALIGNMENT => Rule::Alignment(bytes),
            true => return Ok(bytes),
        };
        Err(self.broken("argument.alignment", alignment.span(), rule))
    }

    /// The numbers that a scalar can be; all for what is none.
    fn numbers(&self, argument: &RawArgument) -> Result<Numbers, KernelError> {
        let all = Numbers::ALL;
        let given = [&argument.least, &argument.most, &argument.multiple_of];
        let Some(first) = given.into_iter().flatten().next() else {
            return Ok(all);
        };
        let number =
            |key: &Option<Spanned<u64>>, none| key.as_ref().map_or(none, |key| *key.get_ref());
        let numbers = Numbers {
            least: number(&argument.least, all.least),
            most: number(&argument.most, all.most),
            multiple_of: number(&argument.multiple_of, all.multiple_of),
        };
        let is_number = argument.port.is_none() && *argument.bytes.get_ref() <= 8;
        let unit = numbers.multiple_of;
        // The first multiple that is large enough, if there is one.
        let some = numbers.least.checked_next_multiple_of(unit);
        match is_number && unit != 0 && some.is_some_and(|number| number <= numbers.most) {
            true => Ok(numbers),
            false => Err(self.broken("argument", first.span(), Rule::Numbers(numbers))),
        }
    }

    /// The port of a pointer and what it does there; for a scalar no port.
    fn pointer(
        &self,
        argument: &RawArgument,
        ports: &[Port],
    ) -> Result<(Option<usize>, AccessMode), KernelError> {
        let (name, access) = match (&argument.port, &argument.access) {
            (None, None) => return Ok((None, AccessMode::Read)),
            (Some(name), Some(access)) => (name, access),
            (Some(only), None) => {
                return Err(self.broken("argument.port", only.span(), Rule::AccessWithoutPort))
            }
            (None, Some(only)) => {
                return Err(self.broken("argument.access", only.span(), Rule::AccessWithoutPort))
            }
        };
        let bytes = *argument.bytes.get_ref();
        if bytes != 8 {
            let rule = Rule::PointerBytes(bytes);
            return Err(self.broken("argument.bytes", argument.bytes.span(), rule));
        }
        let Some(index) = ports.iter().position(|port| port.name == *name.get_ref()) else {
            let rule = Rule::NoSuchPort(name.get_ref().clone());
            return Err(self.broken("argument.port", name.span(), rule));
        };
        let (wanted, offered) = (*access.get_ref(), ports[index].access);
        if (wanted.reads() && !offered.reads()) || (wanted.writes() && !offered.writes()) {
            let rule = Rule::AccessBeyondPort {
                access: wanted.as_str(),
                port: ports[index].name.clone(),
                port_access: offered.as_str(),
            };
            return Err(self.broken("argument.access", access.span(), rule));
        }
        Ok((Some(index), wanted))
    }
}
