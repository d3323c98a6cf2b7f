//! Mapping of a kernel's RTL ports to signals of the slot: the manifest checked against the RTL.

use super::signals::{
    Need, Signal, ACCESS, AXI4, AXI4_IGNORED, AXI4_STREAM, CARRIED_IN, CARRIED_OUT, CONTROL,
    CONTROL_IGNORED, HOME, LINE, STREAM_IDS, STROBE,
};
use card::kernel::{
    AccessMode, Argument, Constant, Manifest, Port, Ratio, RegisterPort, ResetPolarity, Sideband,
    StreamPort, DEFAULT_INTERRUPT, SECOND_BUNDLE,
};
use card::stream::{StreamDirection, StreamId};
use std::collections::{BTreeMap, HashSet};
use verilated::{BuildError, Direction, ModelInfo, ModelPort};

/// Clock port of a wrapper.
pub(crate) const CLOCK: &str = card::kernel::DEFAULT_CLOCK;
/// Reset port of a wrapper.
pub(crate) const RESET: &str = card::kernel::DEFAULT_RESET;
/// Data width of a slot's port, in bits.
pub(crate) const DATA_WIDTH: u32 = 512;

/// A signal of a bus with the kernel's port for it, if it has one.
pub(crate) type Bound = (&'static Signal, Option<ModelPort>);

/// An additional clock, with its reset.
#[derive(Clone, Debug)]
pub(crate) struct ExtraClock {
    pub(crate) clock: ModelPort,
    /// Reset of the clock; none behind a wrapper.
    pub(crate) reset: Option<(ModelPort, ResetPolarity)>,
    pub(crate) ratio: Ratio,
}

/// The AxLOCK port of a memory port, for exclusive access, which the slot does not carry.
#[derive(Clone, Debug)]
pub(crate) struct Lock {
    /// Index of the kernel's memory port.
    pub(crate) port: usize,
    /// The lock is valid while this is high; `None` behind a wrapper, which latches it.
    pub(crate) valid: Option<ModelPort>,
    pub(crate) lock: ModelPort,
}

/// The kernel's side of the slot boundary.
#[derive(Clone, Debug)]
pub(crate) struct KernelInterface {
    /// One list per memory port, in the manifest's order; every signal of [`AXI4`].
    pub(crate) ports: Vec<Vec<Bound>>,
    /// AxLOCK of the memory ports that have it.
    pub(crate) locks: Vec<Lock>,
    /// The stream ports, in the manifest's order; every signal of [`AXI4_STREAM`] each, those of [`STREAM_IDS`] that the
    /// manifest gives a width, and the same of each port that shares one, consecutively. For a stream carried by a memory port: [`CARRIED_IN`] or [`CARRIED_OUT`].
    pub(crate) streams: Vec<(StreamId, Vec<Bound>)>,
    /// TSTRB of the stream ports that have it, including those that share one, by the port's name.
    pub(crate) strobes: BTreeMap<String, ModelPort>,
    /// The streams out of the kernel whose port has no TLAST.
    pub(crate) endless: Vec<StreamId>,
    /// For a wrapper: the number of bytes of a stream that wait there for a full row.
    pub(crate) held: Vec<(StreamId, ModelPort)>,
    /// One list per slice of the directory; every signal of [`HOME`].
    pub(crate) homes: Vec<Vec<Bound>>,
    /// One list per slice of the directory; every signal of [`LINE`].
    pub(crate) lines: Vec<Vec<Bound>>,
    /// One list per slice of the link; every signal of [`ACCESS`].
    pub(crate) accesses: Vec<Vec<Bound>>,
    /// Every signal of [`CONTROL`], unless the kernel has no control port; for a kernel with several register bundles,
    /// or wide ones, the wrapper's.
    pub(crate) control: Option<Vec<Bound>>,
    /// The register bundles that a wrapper joins, with their data widths in bits; every signal of [`CONTROL`] each.
    pub(crate) bundles: Vec<(u32, Vec<Bound>)>,
    /// Additional clocks, at other frequencies.
    pub(crate) clocks: Vec<ExtraClock>,
    /// The reset port.
    pub(crate) reset: Option<ModelPort>,
    /// Inputs with a constant value.
    pub(crate) constants: Vec<(ModelPort, u64)>,
    /// The interrupt port.
    pub(crate) interrupt: Option<ModelPort>,
}

impl KernelInterface {
    /// Whether a port into the kernel takes whole rows without TKEEP, so that a partial row must not reach it.
    pub(crate) fn takes_full_rows(described: &StreamPort, bus: &[Bound]) -> bool {
        let keeps = |bound: &Bound| bound.0.name == "tkeep" && bound.1.is_none();
        described.direction == StreamDirection::In
            && described.data_width == DATA_WIDTH
            && described.through.is_none()
            && bus.iter().any(keeps)
    }

    /// Finds every signal that the manifest requires, and rejects unknown ones.
    ///
    /// # Errors
    /// [`BuildError::Mismatch`] naming signal and rule, [`BuildError::Unsupported`].
    pub(crate) fn of(manifest: &Manifest, info: &ModelInfo) -> Result<Self, BuildError> {
        let mut matcher = Matcher::new(manifest, info);
        let why = "the manifest says that the kernel has this clock (`clock`)";
        matcher.require(&manifest.clock, 1, Direction::Input, why)?;
        let reset = matcher.reset(manifest.reset, &manifest.reset_name)?;
        let mut clocks = Vec::new();
        for clock in &manifest.clocks {
            let reset = matcher.reset(clock.reset, &clock.reset_name)?;
            let why = "the manifest lists this clock (`[[clock]]`)";
            clocks.push(ExtraClock {
                clock: matcher.require(&clock.name, 1, Direction::Input, why)?,
                reset: reset.map(|reset| (reset, clock.reset)),
                ratio: clock.ratio,
            });
        }
        let interrupt = match &manifest.interrupt {
            Some(name) => Some(matcher.require(
                name,
                1,
                Direction::Output,
                "the manifest says that the kernel has this interrupt",
            )?),
            None => {
                matcher.take(DEFAULT_INTERRUPT);
                None
            }
        };
        let constants = manifest.constants.iter();
        let constants = constants
            .map(|constant| matcher.constant(constant))
            .collect::<Result<_, _>>()?;
        let registers = manifest.registers.iter().enumerate();
        let mut bundles = registers
            .map(|(number, port)| Ok((port.data_width, matcher.control(port, number, manifest)?)))
            .collect::<Result<Vec<_>, BuildError>>()?;
        let control = match bundles.as_slice() {
            [(32, _)] => bundles.pop().map(|(_, bound)| bound),
            _ => None,
        };
        let ports = manifest.ports.iter().enumerate();
        let ports = ports
            .map(|(number, port)| matcher.memory_port(port, number))
            .collect::<Result<_, _>>()?;
        let streams = manifest
            .streams
            .iter()
            .filter_map(|port| Some((port, manifest.stream(&port.name)?.1)))
            .map(|(port, stream)| Ok((stream, matcher.stream_port(port, manifest)?)))
            .collect::<Result<_, _>>()?;
        let streams: Vec<(StreamId, Vec<Bound>)> = streams;
        let carried = |stream: StreamId| {
            let port = manifest.stream_at(stream);
            port.is_some_and(|port| port.through.is_some())
        };
        let endless = streams.iter().filter(|(stream, bus)| {
            let ends = |bound: &Bound| bound.0.name == "tlast" && bound.1.is_some();
            stream.direction == StreamDirection::Out && !carried(*stream) && !bus.iter().any(ends)
        });
        let endless = endless.map(|(stream, _)| *stream).collect();
        let homes = manifest
            .homes
            .iter()
            .map(|name| matcher.bus(name, HOME, false, "serves the directory's lines"))
            .collect::<Result<_, _>>()?;
        let lines = manifest
            .lines
            .iter()
            .map(|name| matcher.bus(name, LINE, true, "sends line operations"))
            .collect::<Result<_, _>>()?;
        let accesses = manifest
            .accesses
            .iter()
            .map(|name| matcher.bus(name, ACCESS, true, "uses the CPU's lines"))
            .collect::<Result<_, _>>()?;
        matcher.nothing_left()?;
        Ok(Self {
            ports,
            locks: matcher.locks,
            streams,
            strobes: matcher.strobes,
            endless,
            held: Vec::new(),
            homes,
            lines,
            accesses,
            control,
            bundles,
            clocks,
            reset,
            constants,
            interrupt,
        })
    }
}

struct Matcher<'a> {
    kernel: &'a str,
    top: &'a str,
    info: &'a ModelInfo,
    taken: HashSet<&'a str>,
    strobes: BTreeMap<String, ModelPort>,
    locks: Vec<Lock>,
}

impl<'a> Matcher<'a> {
    fn new(manifest: &'a Manifest, info: &'a ModelInfo) -> Self {
        Self {
            kernel: &manifest.name,
            top: &manifest.top,
            info,
            taken: HashSet::new(),
            strobes: BTreeMap::new(),
            locks: Vec::new(),
        }
    }

    fn mismatch(&self, rule: String) -> BuildError {
        BuildError::Mismatch {
            kernel: self.kernel.to_owned(),
            rule,
        }
    }

    /// Takes the port with this name, regardless of case.
    fn take(&mut self, name: &str) -> Option<&'a ModelPort> {
        let port = self
            .info
            .ports
            .iter()
            .find(|port| port.name.eq_ignore_ascii_case(name))?;
        self.taken.insert(&port.name);
        Some(port)
    }

    fn require(
        &mut self,
        name: &str,
        width: u32,
        direction: Direction,
        why: &str,
    ) -> Result<ModelPort, BuildError> {
        let Some(port) = self.take(name) else {
            return Err(self.mismatch(format!("module {} has no port `{name}`: {why}", self.top)));
        };
        self.check(port, width..=width, direction)?;
        Ok(port.clone())
    }

    fn check(
        &self,
        port: &ModelPort,
        widths: std::ops::RangeInclusive<u32>,
        direction: Direction,
    ) -> Result<(), BuildError> {
        if port.array {
            return Err(self.mismatch(format!(
                "`{}` is an unpacked array; ports of a kernel are vectors",
                port.name
            )));
        }
        if !widths.contains(&port.width) {
            let wanted = match (widths.start(), widths.end()) {
                (one, other) if one == other => format!("{one}"),
                (one, other) => format!("{one} to {other}"),
            };
            return Err(self.mismatch(format!(
                "`{}` has {} bits, not {wanted}",
                port.name, port.width
            )));
        }
        if port.direction != direction {
            let wanted = match direction {
                Direction::Input => "an input",
                _ => "an output",
            };
            return Err(self.mismatch(format!("`{}` must be {wanted} of the kernel", port.name)));
        }
        Ok(())
    }

    /// An input with a constant value.
    fn constant(&mut self, constant: &Constant) -> Result<(ModelPort, u64), BuildError> {
        let Constant { name, value } = constant;
        let Some(port) = self.take(name) else {
            let why = "the manifest lists it under [constants]";
            return Err(self.mismatch(format!("module {} has no port `{name}`: {why}", self.top)));
        };
        let needed = u64::BITS - value.leading_zeros();
        if port.width < needed {
            let width = port.width;
            return Err(self.mismatch(format!(
                "`{name}` has {width} bits, and its constant {value} needs {needed}"
            )));
        }
        self.check(port, 1..=u32::MAX, Direction::Input)?;
        Ok((port.clone(), *value))
    }

    /// The reset of a clock, if it has one.
    fn reset(
        &mut self,
        polarity: ResetPolarity,
        name: &str,
    ) -> Result<Option<ModelPort>, BuildError> {
        if polarity == ResetPolarity::Absent {
            return Ok(None);
        }
        let why = "the manifest says that the kernel has this reset (`reset_name`; without one: reset = \"absent\")";
        self.require(name, 1, Direction::Input, why).map(Some)
    }

    /// A register bundle.
    fn control(
        &mut self,
        described: &RegisterPort,
        number: usize,
        manifest: &Manifest,
    ) -> Result<Vec<Bound>, BuildError> {
        let prefix = described.signal_prefix();
        let mut bound = Vec::with_capacity(CONTROL.len());
        for signal in CONTROL {
            let name = format!("{prefix}{}", signal.name);
            let port = self.take(&name);
            if let Some(port) = port {
                let is_address = signal.name.ends_with("addr");
                let widths = match (is_address, described.data_width) {
                    // Address bits beyond the window are always 0.
                    (true, _) => 1..=64,
                    (false, 64) => signal.width_at(64)..=signal.width_at(64),
                    (false, _) => signal.width..=signal.width,
                };
                if port.width == 64 && described.data_width == 32 && signal.name.ends_with("data") {
                    return Err(self.mismatch(format!(
                        "`{}` has 64 bits: say so in the manifest, in a [[port]] with name = \"{}\", kind = \
                         \"axi4_lite\" and data_width = 64",
                        port.name, described.name
                    )));
                }
                let direction = direction_at_kernel(!signal.manager);
                self.check(port, widths, direction)?;
                if is_address {
                    self.check_reach(port, number, manifest)?;
                }
            } else if signal.need == Need::Bus {
                return Err(self.mismatch(format!(
                    "module {} has no port `{name}`: the control protocol of the manifest needs it",
                    self.top
                )));
            }
            bound.push((signal, port.cloned()));
        }
        for ignored in CONTROL_IGNORED {
            self.take(&format!("{prefix}{ignored}"));
        }
        Ok(bound)
    }

    /// Checks that the address port reaches every argument: beyond its range, accesses alias other registers.
    fn check_reach(
        &self,
        port: &ModelPort,
        number: usize,
        manifest: &Manifest,
    ) -> Result<(), BuildError> {
        let reach = 1u64 << port.width.min(32);
        let several = manifest.registers.len() > 1;
        let of_bundle =
            |one: &&Argument| !several || usize::from(one.offset >= SECOND_BUNDLE) == number;
        let start = |one: &Argument| match several {
            true => u64::from(one.offset % SECOND_BUNDLE),
            false => u64::from(one.offset),
        };
        let ends = |argument: &Argument| start(argument) + u64::from(argument.bytes);
        let mut own = manifest.arguments.iter().filter(of_bundle);
        let beyond = own.find(|one| ends(one) > reach);
        beyond.map_or(Ok(()), |argument| {
            let first = start(argument).max(reach);
            Err(self.mismatch(format!(
                "argument `{}` at 0x{:x} ({} bytes) lies beyond what `{}` addresses: with {} bits that is 0x{:x} bytes, and an \
                 access to 0x{first:x} would reach the register at 0x{:x}. Correct the offset, or give the kernel more \
                 address bits",
                argument.name,
                start(argument),
                argument.bytes,
                port.name,
                port.width,
                reach,
                first % reach
            )))
        })
    }

    fn memory_port(&mut self, described: &Port, number: usize) -> Result<Vec<Bound>, BuildError> {
        let (name, access) = (&described.name, described.access);
        let prefix = described.signal_prefix();
        let mut bound = Vec::with_capacity(AXI4.len());
        for signal in AXI4 {
            let full = format!("{prefix}{}", signal.name);
            let port = self.take(&full);
            if let Some(port) = port {
                let is_address = signal.name.ends_with("addr");
                let other = is_address && port.width != described.address_width;
                if other && (32..=64).contains(&port.width) {
                    return Err(self.mismatch(format!(
                        "`{}` has {} bits, not {}: say so in the manifest, port `{name}`, address_width = {}",
                        port.name, port.width, described.address_width, port.width
                    )));
                }
                let widest = match is_address {
                    true => described.address_width,
                    false => signal.width_at(described.data_width),
                };
                let narrowest = if signal.name.ends_with("id") {
                    1
                } else {
                    widest
                };
                let direction = direction_at_kernel(signal.manager);
                self.check(port, narrowest..=widest, direction)?;
            } else {
                let needed = match signal.need {
                    Need::Bus => true,
                    Need::Reads => access != AccessMode::Write,
                    Need::Writes => access != AccessMode::Read,
                    Need::Optional => false,
                };
                if needed {
                    let what = match signal.need {
                        Need::Reads => "reads",
                        _ => "writes",
                    };
                    return Err(self.mismatch(format!(
                        "module {} has no port `{full}`: the manifest says that port {name} {what}",
                        self.top
                    )));
                }
            }
            bound.push((signal, port.cloned()));
        }
        for ignored in AXI4_IGNORED {
            self.take(&format!("{prefix}{ignored}"));
        }
        for channel in ["ar", "aw"] {
            let lock = self.take(&format!("{prefix}{channel}lock"));
            let valid = self.take(&format!("{prefix}{channel}valid"));
            if let (Some(lock), Some(valid)) = (lock, valid) {
                self.locks.push(Lock {
                    port: number,
                    valid: Some(valid.clone()),
                    lock: lock.clone(),
                });
            }
        }
        Ok(bound)
    }

    /// A stream port, or the ports that share it.
    fn stream_port(
        &mut self,
        described: &StreamPort,
        manifest: &Manifest,
    ) -> Result<Vec<Bound>, BuildError> {
        if let Some(carrier) = described.through.and_then(|port| manifest.ports.get(port)) {
            let signals = match described.direction {
                StreamDirection::In => CARRIED_IN,
                StreamDirection::Out => CARRIED_OUT,
            };
            return self.bus(&carrier.name, signals, true, "carries a stream");
        }
        if described.members.is_empty() {
            return self.one_stream(described, &described.name);
        }
        let mut all = Vec::with_capacity(described.members.len() * AXI4_STREAM.len());
        for name in &described.members {
            all.extend(self.one_stream(described, name)?);
        }
        Ok(all)
    }

    fn one_stream(&mut self, described: &StreamPort, name: &str) -> Result<Vec<Bound>, BuildError> {
        let prefix = described.signal_prefix(name);
        let mut bound = Vec::with_capacity(AXI4_STREAM.len());
        for signal in AXI4_STREAM {
            let full = format!("{prefix}{}", signal.name);
            let port = self.take(&full);
            if let Some(port) = port {
                let width = signal.width_at(described.data_width);
                let driven = stream_driven_by_kernel(signal, described.direction);
                self.check(port, width..=width, direction_at_kernel(driven))?;
            } else if signal.need == Need::Bus || ends_packets(described, signal) {
                return Err(self.mismatch(format!(
                    "module {} has no port `{full}`: the manifest lists stream {name}",
                    self.top
                )));
            }
            bound.push((signal, port.cloned()));
        }
        if let Some(strobe) = self.take(&format!("{prefix}{STROBE}")) {
            let width = described.data_width / 8;
            let driven = described.direction == StreamDirection::Out;
            self.check(strobe, width..=width, direction_at_kernel(driven))?;
            self.strobes.insert(name.to_owned(), strobe.clone());
        }
        for (signal, described_width) in STREAM_IDS
            .iter()
            .zip([described.tid_width, described.tdest_width])
        {
            if described_width == 0 {
                continue;
            }
            let width = u32::from(described_width);
            let driven = stream_driven_by_kernel(signal, described.direction);
            let why = format!(
                "the manifest gives it {width} bits (`{}_width`)",
                signal.name
            );
            let full = format!("{prefix}{}", signal.name);
            let port = self.require(&full, width, direction_at_kernel(driven), &why)?;
            bound.push((signal, Some(port)));
        }
        for signal in Sideband::ALL {
            if described.carried_width(signal) > 0 {
                continue;
            }
            let Some(found) = self.take(&format!("{prefix}{signal}")) else {
                continue;
            };
            // Into the kernel it is low, which is a valid value.
            let lost = described.direction == StreamDirection::Out;
            if lost && !described.drops.contains(&signal) {
                return Err(self.mismatch(format!(
                    "what the kernel sends on `{}` is not carried to any device, and would be lost; if it can be, \
                     say so in the manifest: port `{}`, drops = [\"{signal}\"]{}",
                    found.name,
                    described.name,
                    match (signal, found.width) {
                        (Sideband::Tuser, _) => String::new(),
                        (_, width) => format!("; to carry it to other kernels: {signal}_width = {width}"),
                    }
                )));
            }
        }
        Ok(bound)
    }

    /// A bus of the directory's side; `driven`: the kernel drives the `manager` signals.
    fn bus(
        &mut self,
        name: &str,
        signals: &'static [Signal],
        driven: bool,
        what: &str,
    ) -> Result<Vec<Bound>, BuildError> {
        let mut bound = Vec::with_capacity(signals.len());
        for signal in signals {
            let full = format!("{name}_{}", signal.name);
            let port = self.take(&full);
            if let Some(port) = port {
                // A kernel may decode only the low bits of an address.
                let narrowest = match signal.name.ends_with("addr") {
                    true => 1,
                    false => signal.width,
                };
                let direction = direction_at_kernel(signal.manager == driven);
                self.check(port, narrowest..=signal.width, direction)?;
            } else if signal.need == Need::Bus {
                return Err(self.mismatch(format!(
                    "module {} has no port `{full}`: the manifest says that port {name} {what}",
                    self.top
                )));
            }
            bound.push((signal, port.cloned()));
        }
        for ignored in AXI4_IGNORED {
            self.take(&format!("{name}_{ignored}"));
        }
        Ok(bound)
    }

    /// Checks that no port is left: another input would be undriven, and another AXI port unanswered.
    fn nothing_left(&self) -> Result<(), BuildError> {
        for port in &self.info.ports {
            if self.taken.contains(port.name.as_str()) {
                continue;
            }
            let lower = port.name.to_ascii_lowercase();
            if lower.ends_with("_arvalid") || lower.ends_with("_awvalid") {
                return Err(self.mismatch(format!(
                    "`{}` belongs to an AXI port that the manifest does not list",
                    port.name
                )));
            }
            if lower.ends_with("_tvalid") {
                return Err(self.mismatch(format!(
                    "`{}` belongs to an AXI4-Stream port that the manifest does not list",
                    port.name
                )));
            }
            if port.direction != Direction::Output {
                return Err(self.mismatch(format!(
                    "input `{}` belongs to nothing that the manifest describes",
                    port.name
                )));
            }
        }
        Ok(())
    }
}

/// Whether the signal ends packets that take turns with those of other ports.
fn ends_packets(described: &StreamPort, signal: &Signal) -> bool {
    let shared = !described.members.is_empty();
    shared && described.direction == StreamDirection::Out && signal.name == "tlast"
}

/// Whether the kernel drives a signal of a stream port.
pub(crate) fn stream_driven_by_kernel(signal: &Signal, direction: StreamDirection) -> bool {
    signal.manager == (direction == StreamDirection::Out)
}

/// The shell's name of a stream's bus.
pub(crate) fn stream_group(direction: StreamDirection) -> &'static str {
    match direction {
        StreamDirection::In => "sin",
        StreamDirection::Out => "sout",
    }
}

/// The direction of a signal at the kernel.
pub(crate) fn direction_at_kernel(driven_by_kernel: bool) -> Direction {
    match driven_by_kernel {
        true => Direction::Output,
        false => Direction::Input,
    }
}
