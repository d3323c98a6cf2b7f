//! The module generated around a kernel with ports of other widths than the slot's, or with several that share a
//! stream: the kernel, a `tmb_port_widener` for each such memory port, a `tmb_stream_width` for each such stream port
//! (or a `tmb_stream_gather`, for one of the slot's width without TKEEP), a `tmb_stream_combiner` or
//! `tmb_stream_divider` for each stream that is shared. TSTRB of a stream port is derived from TKEEP, or TKEEP from
//! both. It belongs to the slot boundary, and forms one model with the kernel. Ports that carry streams are in
//! [`carried`].

mod bundles;
mod carried;
mod wide;

use crate::interface::{
    direction_at_kernel, stream_driven_by_kernel, Bound, ExtraClock, KernelInterface, Lock, CLOCK,
    DATA_WIDTH, RESET,
};
use crate::names;
use crate::signals::{Signal, AXI4_STREAM};
use card::kernel::{Manifest, PacketOrder, Parameter, RegisterPort, ResetPolarity, StreamPort};
use card::stream::{StreamDirection, StreamId};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use verilated::FileSet;
use verilated::{Direction, ModelPort};

/// Name of the module.
pub(crate) const WRAPPER: &str = "tmb_kernel_wrapper";

/// Signals through a widener: its pins are `narrow_…` and `wide_…`.
const WIDENED: [&str; 11] = [
    "arsize", "arvalid", "arready", "rdata", "awsize", "awvalid", "awready", "wdata", "wstrb",
    "wvalid", "wready",
];

/// Signals that bypass a widener and are observed by it.
const OBSERVED: [&str; 6] = ["araddr", "rvalid", "rready", "rlast", "awaddr", "awlen"];

/// A kernel whose ports all have the slot's width.
pub(crate) struct Wrapper {
    /// SystemVerilog of the module.
    pub(crate) text: String,
    /// Interface of the module.
    pub(crate) interface: KernelInterface,
}

/// Pause of a sender without TLAST, in cycles of the shell's clock, after which the bytes it has sent leave the slot.
const FLUSH_CYCLES: u32 = 16;

/// Whether a kernel needs a wrapper, independently of its RTL. A kernel with TSTRB needs one, too, and one that takes
/// whole rows without TKEEP.
pub(crate) fn is_needed(manifest: &Manifest) -> bool {
    let ports = manifest.ports.iter().map(|port| port.data_width);
    let streams = manifest.streams.iter().map(|port| port.data_width);
    let special = |port: &StreamPort| !port.members.is_empty() || port.through.is_some();
    let shared = manifest.streams.iter().any(special);
    let foreign = !manifest.parameters.is_empty()
        || !manifest.constants.is_empty()
        || manifest.clock != CLOCK
        || manifest.reset == ResetPolarity::ActiveHigh
        || !manifest.clocks.is_empty()
        || !matches!(
            manifest.registers.as_slice(),
            [] | [RegisterPort { data_width: 32, .. }]
        );
    foreign || shared || ports.chain(streams).any(|width| width != DATA_WIDTH)
}

/// The RTL that the wrapper uses.
pub(crate) fn file_set(home: &Path) -> FileSet {
    FileSet {
        base: home.to_owned(),
        files: vec![
            PathBuf::from("rtl/lib/tmb_fifo.sv"),
            PathBuf::from("rtl/axi/tmb_port_widener.sv"),
            PathBuf::from("rtl/axi/tmb_port_narrower.sv"),
            PathBuf::from("rtl/axi/tmb_register_bundles.sv"),
            PathBuf::from("rtl/stream/tmb_stream_width.sv"),
            PathBuf::from("rtl/stream/tmb_stream_gather.sv"),
            PathBuf::from("rtl/lib/tmb_spill_register.sv"),
            PathBuf::from("rtl/stream/tmb_stream_turn.sv"),
            PathBuf::from("rtl/stream/tmb_stream_combiner.sv"),
            PathBuf::from("rtl/stream/tmb_stream_divider.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_pkg.sv"),
            PathBuf::from("rtl/stream/tmb_stream_elements.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_in.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_out.sv"),
            PathBuf::from("rtl/stream/tmb_port_stream_registers.sv"),
        ],
        include: vec![PathBuf::from("rtl/lib")],
    }
}

impl Wrapper {
    /// The wrapper for a kernel whose RTL has this interface.
    pub(crate) fn new(manifest: &Manifest, kernel: &KernelInterface) -> Self {
        let mut module = Module {
            strobes: kernel.strobes.clone(),
            endless: kernel.endless.clone(),
            ..Module::default()
        };
        module.connect(&manifest.clock, CLOCK);
        let clock = port(CLOCK, 1, Direction::Input);
        module.declare(&clock);
        // Wideners have a reset even if the kernel has none.
        let reset = port(RESET, 1, Direction::Input);
        module.declare(&reset);
        if let Some(inner) = &kernel.reset {
            module.connect_reset(&inner.name, manifest.reset);
        }
        let mut clocks = Vec::new();
        for (number, other) in kernel.clocks.iter().enumerate() {
            let outer = port(&format!("other_clock_{number}"), 1, Direction::Input);
            module.pass(&other.clock, &outer);
            if let Some((reset, polarity)) = &other.reset {
                module.connect_reset(&reset.name, *polarity);
            }
            clocks.push(ExtraClock {
                clock: outer,
                reset: None,
                ratio: other.ratio,
            });
        }
        for (input, value) in &kernel.constants {
            module.connect(&input.name, &format!("{}'d{value}", input.width));
        }
        let interrupt = kernel.interrupt.as_ref().map(|inner| {
            let outer = port("kernel_interrupt", 1, Direction::Output);
            module.pass(inner, &outer);
            outer
        });
        let carried_bit = |stream: &StreamPort| {
            let out = usize::from(stream.direction == StreamDirection::Out);
            stream.through.map(|port| 2 * port + out)
        };
        let carried_bits: Vec<usize> = manifest.streams.iter().filter_map(carried_bit).collect();
        let bundles = (!kernel.bundles.is_empty()).then(|| module.join_bundles(&kernel.bundles));
        let control = kernel.control.as_ref().map(|control| {
            if !carried_bits.is_empty() {
                return module.share_control(control, &carried_bits);
            }
            let prefix = "s_axi_control";
            control
                .iter()
                .map(|bound| module.pass_bound(prefix, bound))
                .collect()
        });
        let control = control.or(bundles);
        let ports = manifest
            .ports
            .iter()
            .zip(&kernel.ports)
            .enumerate()
            .map(|(index, (described, bound))| match described.data_width {
                DATA_WIDTH => {
                    let carried = carried::carried(manifest, kernel, index);
                    module.carry((&described.name, index), bound, carried)
                }
                width if width > DATA_WIDTH => module.narrow(&described.name, bound),
                width => module.widen(&described.name, width, bound),
            })
            .collect();
        let streams = manifest
            .streams
            .iter()
            .zip(&kernel.streams)
            .map(|(described, (stream, bound))| {
                module.stream = Some(*stream);
                module.gathers = KernelInterface::takes_full_rows(described, bound);
                let outside = match (described.data_width, described.members.is_empty()) {
                    (DATA_WIDTH, true) if described.through.is_some() => module.outside(described),
                    (DATA_WIDTH, true)
                        if !module.gathers && !kernel.strobes.contains_key(&described.name) =>
                    {
                        bound
                            .iter()
                            .map(|bound| module.pass_bound(&described.name, bound))
                            .collect()
                    }
                    (_, true) => module.convert(described, bound),
                    _ => module.share(described, bound),
                };
                (*stream, outside)
            })
            .collect();
        let locks = kernel.locks.iter().filter_map(|lock| module.watch(lock));
        let locks = locks.collect();
        let mut beside = |names: &[String], buses: &[Vec<Bound>]| -> Vec<Vec<Bound>> {
            let pass = |(name, bus): (&String, &Vec<Bound>)| {
                bus.iter()
                    .map(|bound| module.pass_bound(name, bound))
                    .collect()
            };
            names.iter().zip(buses).map(pass).collect()
        };
        let homes = beside(&manifest.homes, &kernel.homes);
        let lines = beside(&manifest.lines, &kernel.lines);
        let accesses = beside(&manifest.accesses, &kernel.accesses);
        Self {
            text: module.text(&names::identifier(&manifest.top), &manifest.parameters),
            interface: KernelInterface {
                ports,
                locks,
                streams,
                strobes: BTreeMap::new(),
                endless: kernel.endless.clone(),
                held: module.held,
                homes,
                lines,
                accesses,
                control,
                bundles: Vec::new(),
                clocks,
                reset: Some(reset),
                constants: Vec::new(),
                interrupt,
            },
        }
    }
}

fn port(name: &str, width: u32, direction: Direction) -> ModelPort {
    ModelPort {
        name: name.to_owned(),
        member: name.to_owned(),
        direction,
        width,
        elements: 1,
        array: false,
    }
}

/// The module under construction.
#[derive(Default)]
struct Module {
    ports: Vec<String>,
    connections: Vec<String>,
    body: String,
    /// TSTRB of the kernel's stream ports, by the port's name.
    strobes: BTreeMap<String, ModelPort>,
    /// As in [`KernelInterface`].
    endless: Vec<StreamId>,
    held: Vec<(StreamId, ModelPort)>,
    /// The stream under construction, and whether its rows must be full.
    stream: Option<StreamId>,
    gathers: bool,
}

impl Module {
    fn declare(&mut self, port: &ModelPort) {
        let direction = match port.direction {
            Direction::Input => "input ",
            _ => "output",
        };
        let range = match port.width {
            1 => String::new(),
            width => format!(" [{}:0]", width - 1),
        };
        let name = &port.name;
        self.ports.push(format!("{direction} logic{range} {name}"));
    }

    fn connect(&mut self, pin: &str, net: &str) {
        let pin = names::identifier(pin);
        self.connections.push(format!(".{pin}({net})"));
    }

    fn connect_reset(&mut self, pin: &str, polarity: ResetPolarity) {
        match polarity {
            ResetPolarity::ActiveHigh => self.connect(pin, &format!("!{RESET}")),
            _ => self.connect(pin, RESET),
        }
    }

    fn pass(&mut self, inner: &ModelPort, outer: &ModelPort) {
        self.declare(outer);
        self.connect(&inner.name, &outer.name);
    }

    /// Passes a signal through unchanged, if the kernel has it.
    fn pass_bound(&mut self, prefix: &str, (signal, inner): &Bound) -> Bound {
        let outer = inner.as_ref().map(|inner| {
            let name = format!("{prefix}_{}", signal.name);
            let outer = port(&name, inner.width, inner.direction);
            self.pass(inner, &outer);
            outer
        });
        (signal, outer)
    }

    /// Outputs whether a port has requested exclusive access. Call when the port itself is connected.
    fn watch(&mut self, lock: &Lock) -> Option<Lock> {
        let valid = &lock.valid.as_ref()?.name;
        let pin = format!(".{}(", names::identifier(valid));
        let mut connections = self.connections.iter();
        let valid = connections.find_map(|one| one.strip_prefix(&pin)?.strip_suffix(')'))?;
        let valid = valid.to_owned();
        let asked = &lock.lock.name;
        let seen = port(&format!("watched_{asked}"), 1, Direction::Output);
        self.declare(&seen);
        self.connect(asked, &format!("lock_{asked}"));
        let (high, seen_name) = (lock.lock.width - 1, &seen.name);
        let _ = writeln!(
            self.body,
            "  logic [{high}:0] lock_{asked};\n  logic seen_{asked}_q = 1'b0;\n  assign {seen_name} = seen_{asked}_q;\n  \
             always_ff @(posedge {CLOCK}) if ({valid} && lock_{asked} != '0) seen_{asked}_q <= 1'b1;"
        );
        Some(Lock {
            port: lock.port,
            valid: None,
            lock: seen,
        })
    }

    /// A port behind a widener.
    fn widen(&mut self, name: &str, data_width: u32, kernel: &[Bound]) -> Vec<Bound> {
        let has = |signal: &str| {
            let bound = kernel.iter().find(|bound| bound.0.name == signal);
            bound.is_some_and(|bound| bound.1.is_some())
        };
        let (reads, writes) = (has("arvalid"), has("awvalid"));
        let mut pins = vec![format!(".clk_i({CLOCK})"), format!(".rst_ni({RESET})")];
        let outside = kernel
            .iter()
            .map(|bound| {
                let (signal, inner) = bound;
                let widened = WIDENED.contains(&signal.name);
                if !widened && !OBSERVED.contains(&signal.name) {
                    return self.pass_bound(name, bound);
                }
                let (into, out) = match signal.manager {
                    true => ("i", "o"),
                    false => ("o", "i"),
                };
                if !(if signal.is_of_reads() { reads } else { writes }) {
                    let mut unused = |pin: String, input: bool| {
                        pins.push(format!(".{pin}({})", if input { "'0" } else { "" }));
                    };
                    if widened {
                        unused(format!("narrow_{}_{into}", signal.name), signal.manager);
                        unused(format!("wide_{}_{out}", signal.name), !signal.manager);
                    } else {
                        unused(format!("{}_i", signal.name), true);
                    }
                    return (*signal, None);
                }
                let direction = direction_at_kernel(signal.manager);
                // Addresses keep the kernel's width.
                let width = match inner {
                    Some(inner) if signal.name.ends_with("addr") => inner.width,
                    _ => signal.width,
                };
                let outer = port(&format!("{name}_{}", signal.name), width, direction);
                self.declare(&outer);
                if widened {
                    let net = format!("narrow_{name}_{}", signal.name);
                    self.inside(&net, signal, inner.as_ref(), data_width);
                    pins.push(format!(".narrow_{}_{into}({net})", signal.name));
                    pins.push(format!(".wide_{}_{out}({})", signal.name, outer.name));
                } else {
                    if let Some(inner) = inner {
                        self.connect(&inner.name, &outer.name);
                    }
                    let low = if signal.name.ends_with("addr") {
                        "[5:0]"
                    } else {
                        ""
                    };
                    pins.push(format!(".{}_i({}{low})", signal.name, outer.name));
                }
                (*signal, Some(outer))
            })
            .collect();
        let _ = writeln!(
            self.body,
            "  tmb_port_widener #(\n    .DataWidth({data_width})\n  ) u_widener_{name} (\n    {}\n  );",
            pins.join(",\n    ")
        );
        outside
    }

    /// Several stream ports that share one, behind a combiner or a divider, and a width converter if necessary.
    fn share(&mut self, described: &StreamPort, members: &[Bound]) -> Vec<Bound> {
        let (name, width) = (&described.name, described.data_width);
        let (block, near, far) = match described.direction {
            StreamDirection::In => ("divider", "out", "in"),
            StreamDirection::Out => ("combiner", "in", "out"),
        };
        let count = described.members.len();
        let mut pins = vec![format!(".clk_i({CLOCK})"), format!(".rst_ni({RESET})")];
        for signal in AXI4_STREAM {
            let driven = stream_driven_by_kernel(signal, described.direction);
            let (pin, net) = (&signal.name[1..], format!("shared_{name}_{}", signal.name));
            let (into, out) = if driven { ("i", "o") } else { ("o", "i") };
            let high = signal.width_at(width) - 1;
            let element = match high {
                0 => String::new(),
                _ => format!("[{high}:0]"),
            };
            let _ = writeln!(self.body, "  logic [{}:0]{element} {net};", count - 1);
            let _ = writeln!(
                self.body,
                "  logic [{high}:0] kernel_{name}_{};",
                signal.name
            );
            let each = members.iter().filter(|bound| bound.0.name == signal.name);
            for ((place, (_, inner)), member) in each.enumerate().zip(&described.members) {
                let near = (format!("{net}[{place}]"), high);
                self.near(member, (signal, inner.as_ref()), driven, near);
            }
            pins.push(format!(".{near}_{pin}_{into}({net})"));
            pins.push(format!(".{far}_{pin}_{out}(kernel_{name}_{})", signal.name));
        }
        let in_turn = u8::from(described.packets == PacketOrder::InTurn);
        let _ = writeln!(
            self.body,
            "  tmb_stream_{block} #(\n    .NumPorts({count}),\n    .Bytes({}),\n    .InTurn({in_turn})\n  ) \
             u_{block}_{name} (\n    {}\n  );",
            width / 8,
            pins.join(",\n    ")
        );
        self.outside(described)
    }

    /// A stream port behind a width converter.
    fn convert(&mut self, described: &StreamPort, kernel: &[Bound]) -> Vec<Bound> {
        let (name, width) = (&described.name, described.data_width);
        for (signal, inner) in kernel {
            let driven = stream_driven_by_kernel(signal, described.direction);
            let net = format!("kernel_{name}_{}", signal.name);
            let high = signal.width_at(width) - 1;
            let _ = writeln!(self.body, "  logic [{high}:0] {net};");
            self.near(name, (signal, inner.as_ref()), driven, (net, high));
        }
        self.outside(described)
    }

    /// A signal of a kernel's stream port at its net, whose high bit is given. A byte is data if it is kept and
    /// strobed: a byte that the kernel keeps without a strobe is not kept behind the net; a byte sent to the kernel has
    /// both.
    fn near(
        &mut self,
        port: &str,
        (signal, inner): (&Signal, Option<&ModelPort>),
        driven: bool,
        (net, high): (String, u32),
    ) {
        let strobe = self.strobes.get(port).filter(|_| signal.name == "tkeep");
        let strobe = strobe.map(|strobe| strobe.name.clone());
        if let (Some(strobe), true) = (&strobe, driven) {
            let (kept, strobed) = (format!("kept_{port}"), format!("strobed_{port}"));
            let _ = writeln!(self.body, "  logic [{high}:0] {kept}, {strobed};");
            let _ = writeln!(self.body, "  assign {net} = {kept} & {strobed};");
            self.connect(strobe, &strobed);
            return self.end(inner, (signal, true), &kept);
        }
        if let Some(strobe) = strobe {
            self.connect(&strobe, &net);
        }
        self.end(inner, (signal, driven), &net);
    }

    /// The kernel's end of a net: its port, or a replacement for one that it lacks.
    fn end(&mut self, inner: Option<&ModelPort>, (signal, driven): (&Signal, bool), net: &str) {
        match inner {
            Some(inner) => self.connect(&inner.name, net),
            None if driven => {
                let value = if signal.absent == 0 { "'0" } else { "'1" };
                let _ = writeln!(self.body, "  assign {net} = {value};");
            }
            None => {}
        }
    }

    /// The slot's side of a stream with `kernel_…` nets towards the kernel: a converter, or wires.
    fn outside(&mut self, described: &StreamPort) -> Vec<Bound> {
        let (name, width) = (&described.name, described.data_width);
        let (near, far) = match described.direction {
            StreamDirection::In => ("out", "in"),
            StreamDirection::Out => ("in", "out"),
        };
        let mut pins = vec![format!(".clk_i({CLOCK})"), format!(".rst_ni({RESET})")];
        let mut outside = Vec::with_capacity(AXI4_STREAM.len());
        for signal in AXI4_STREAM {
            let driven = stream_driven_by_kernel(signal, described.direction);
            let pin = &signal.name[1..];
            let (into, out) = if driven { ("i", "o") } else { ("o", "i") };
            let net = format!("kernel_{name}_{}", signal.name);
            let direction = direction_at_kernel(driven);
            let outer = port(&format!("{name}_{}", signal.name), signal.width, direction);
            self.declare(&outer);
            if width == DATA_WIDTH && !self.gathers {
                let _ = match driven {
                    true => writeln!(self.body, "  assign {} = {net};", outer.name),
                    false => writeln!(self.body, "  assign {net} = {};", outer.name),
                };
            }
            pins.push(format!(".{near}_{pin}_{into}({net})"));
            pins.push(format!(".{far}_{pin}_{out}({})", outer.name));
            outside.push((signal, Some(outer)));
        }
        if width == DATA_WIDTH {
            if self.gathers {
                let _ = writeln!(
                    self.body,
                    "  tmb_stream_gather u_gather_{name} (\n    {}\n  );",
                    pins.join(",\n    ")
                );
            }
            return outside;
        }
        let bytes = width / 8;
        let (from, to) = match described.direction {
            StreamDirection::In => (DATA_WIDTH / 8, bytes),
            StreamDirection::Out => (bytes, DATA_WIDTH / 8),
        };
        let out = described.direction == StreamDirection::Out;
        let stream = self.stream.filter(|_| out);
        let held = stream.map(|stream| {
            let bits = u32::BITS - (from + to).leading_zeros();
            let held = port(&format!("{name}_held"), bits, Direction::Output);
            self.declare(&held);
            self.held.push((stream, held.clone()));
            held.name
        });
        pins.push(format!(".held_o({})", held.unwrap_or_default()));
        let endless = stream.is_some_and(|stream| self.endless.contains(&stream));
        let flush = if endless { FLUSH_CYCLES } else { 0 };
        let _ = writeln!(
            self.body,
            "  tmb_stream_width #(\n    .InBytes({from}),\n    .OutBytes({to}),\n    .FlushCycles({flush})\n  ) \
             u_width_{name} (\n    {}\n  );",
            pins.join(",\n    ")
        );
        outside
    }

    /// The net between the kernel and a widener.
    fn inside(&mut self, net: &str, signal: &Signal, inner: Option<&ModelPort>, width: u32) {
        let high = signal.width_at(width) - 1;
        let _ = writeln!(self.body, "  logic [{high}:0] {net};");
        match inner {
            Some(inner) => self.connect(&inner.name, net),
            None if signal.manager => {
                let value = match signal.name {
                    "arsize" | "awsize" => (width / 8).ilog2().to_string(),
                    _ if signal.absent == u64::MAX => "'1".to_owned(),
                    _ => signal.absent.to_string(),
                };
                let _ = writeln!(self.body, "  assign {net} = {value};");
            }
            None => {}
        }
    }

    fn text(&self, kernel: &str, parameters: &[Parameter]) -> String {
        let values = parameters.iter().map(|one| {
            let name = names::identifier(&one.name);
            format!(".{name}({})", one.value)
        });
        let values = values.collect::<Vec<_>>().join(", ");
        let values = match values.as_str() {
            "" => values,
            _ => format!("#({values}) "),
        };
        format!(
            "// Generated by the card crate (sim/wrapper/mod.rs).\n\n\
             module {WRAPPER} (\n  {}\n);\n\n{}\n  {kernel} {values}u_kernel (\n    {}\n  );\n\nendmodule\n",
            self.ports.join(",\n  "),
            self.body,
            self.connections.join(",\n    ")
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::AXI4;

    #[test]
    fn every_widened_signal_is_one_of_axi4() {
        for name in WIDENED.into_iter().chain(OBSERVED) {
            assert!(AXI4.iter().any(|signal| signal.name == name), "{name}");
        }
    }
}
