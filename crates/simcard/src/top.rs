//! The generated top module: the shell with its configuration, alone or with a kernel.
//!
//! `tmb_card_top` has the shell's own port names. With a kernel inside (on slot 0), the slot's signals are outputs
//! under the same names, so that the statistics see the same handshakes.

use crate::config::ShellConfig;
use crate::interface::{stream_driven_by_kernel, stream_group, Bound, KernelInterface, CLOCK};
use crate::signals::{
    Signal, ACCESS, AXI4, AXI4_STREAM, CACHE, CONTROL, HOME, LINE, LINK, NETWORK, STREAM_IDS,
};
use card::stream::{StreamDirection, StreamId};
use std::fmt::Write;
use verilated::Direction;

/// Name of the top module.
pub(crate) const CARD_TOP: &str = "tmb_card_top";

/// A port of `tmb_shell`.
pub(super) struct ShellPort {
    pub(super) name: String,
    pub(super) width: u32,
    pub(super) input: bool,
    /// Elements of an unpacked array; `None` for a plain port.
    pub(super) elements: Option<u32>,
}

impl ShellPort {
    /// Declared type and name, without direction.
    pub(super) fn variable(&self) -> String {
        let range = match self.width {
            1 => String::new(),
            width => format!(" [{}:0]", width - 1),
        };
        let array = self.elements.map_or(String::new(), |n| format!(" [{n}]"));
        format!("logic{range} {}{array}", self.name)
    }
}

/// AXI4 signals of the shell's memory and host managers: (name, width, driven by the manager).
const MEMORY: [(&str, u32, bool); 21] = [
    ("araddr", 64, true),
    ("arlen", 8, true),
    ("arvalid", 1, true),
    ("arready", 1, false),
    ("rdata", 512, false),
    ("rresp", 2, false),
    ("rlast", 1, false),
    ("rvalid", 1, false),
    ("rready", 1, true),
    ("awaddr", 64, true),
    ("awlen", 8, true),
    ("awvalid", 1, true),
    ("awready", 1, false),
    ("wdata", 512, true),
    ("wstrb", 64, true),
    ("wlast", 1, true),
    ("wvalid", 1, true),
    ("wready", 1, false),
    ("bresp", 2, false),
    ("bvalid", 1, false),
    ("bready", 1, true),
];

/// IDs that only the host manager has.
const HOST_IDS: [(&str, u32, bool); 4] = [
    ("arid", 4, true),
    ("rid", 4, false),
    ("awid", 4, true),
    ("bid", 4, false),
];

const BOTH: [StreamDirection; 2] = [StreamDirection::In, StreamDirection::Out];

/// Every port of `tmb_shell`.
pub(super) fn shell_ports(config: &ShellConfig) -> Vec<ShellPort> {
    let mut ports = Vec::new();
    let mut add = |prefix: &str, name: &str, width: u32, input: bool, elements: Option<u32>| {
        let direction = if input { "i" } else { "o" };
        ports.push(ShellPort {
            name: format!("{prefix}{name}_{direction}"),
            width,
            input,
            elements,
        });
    };
    let slots = Some(u32::from(config.slots));
    add("", "clk", 1, true, None);
    add("", "irq", 1, false, None);
    add("card_", "clock_period", 32, true, None);
    add("card_", "channel_bytes", 64, true, None);
    for signal in CONTROL {
        let width = if signal.name.ends_with("addr") {
            32
        } else {
            signal.width
        };
        add("bar_", signal.name, width, signal.manager, None);
    }
    add("bar_", "ruser", 3, false, None);
    for (name, width, manager) in MEMORY.into_iter().chain(HOST_IDS) {
        add("host_", name, width, !manager, None);
    }
    for (name, width, manager) in MEMORY {
        add("mem_", name, width, !manager, Some(config.channels.into()));
    }
    for signal in AXI4 {
        add(
            "port_",
            signal.name,
            signal.width,
            signal.manager,
            Some(config.ports()),
        );
    }
    for direction in BOTH.into_iter().filter(|_| config.stream_pairs() > 0) {
        let prefix = format!("{}_", stream_group(direction));
        for signal in AXI4_STREAM {
            let driven = stream_driven_by_kernel(signal, direction);
            let pairs = Some(config.stream_pairs());
            add(&prefix, signal.name, signal.width, driven, pairs);
        }
        for signal in STREAM_IDS {
            let width = config.id_width(signal);
            if width > 0 {
                let driven = stream_driven_by_kernel(signal, direction);
                let pairs = Some(config.stream_pairs());
                add(&prefix, signal.name, width, driven, pairs);
            }
        }
    }
    if config.network_pairs > 0 {
        let networks = u32::from(config.network_pairs);
        for &(name, width, input, both) in NETWORK {
            let elements = if both { 2 * networks } else { networks };
            add("net_", name, width, input, Some(elements));
        }
    }
    for signal in CONTROL {
        add("ctl_", signal.name, signal.width, !signal.manager, slots);
    }
    add("slot_", "interrupt", 1, true, slots);
    add("slot_", "identity", 64, true, slots);
    if config.slices() != 0 {
        let slices = u32::from(config.slices());
        for &(name, width, input) in LINK {
            add("link_", name, width, input, Some(slices));
        }
        let homes = Some(slices * u32::from(config.slots));
        for signal in HOME {
            add("home_", signal.name, signal.width, !signal.manager, homes);
        }
        for signal in LINE {
            add("line_", signal.name, signal.width, signal.manager, homes);
        }
    }
    if config.caches() != 0 {
        let slices = u32::from(config.caches());
        for &(name, width, input) in CACHE {
            add("cache_", name, width, input, Some(slices));
        }
        let accesses = Some(slices * u32::from(config.slots));
        for signal in ACCESS {
            add(
                "access_",
                signal.name,
                signal.width,
                signal.manager,
                accesses,
            );
        }
    }
    for (name, input, elements) in [
        ("rst_ni", true, None),
        ("peripheral_rst_no", false, None),
        ("slot_rst_no", false, slots),
    ] {
        ports.push(ShellPort {
            name: name.to_owned(),
            width: 1,
            input,
            elements,
        });
    }
    ports
}

/// Whether a port of the shell is inside a monolithic design.
fn at_slot(name: &str) -> bool {
    let groups = ["port_", "ctl_", "slot_", "sin_", "sout_"];
    // The machine sets the kernel's identity, as for a separate kernel.
    groups.iter().any(|group| name.starts_with(group)) && name != "slot_identity_i"
}

/// For each stream pair of a slot: a beat of the kernel waits in the shell. No pin of the shell: the register
/// MOVER.STATUS reports the same, and reading it takes time.
pub(crate) const STREAM_WAITS: &str = "stream_waits_o";

/// The top module with the shell alone.
pub(crate) fn shell_top(config: &ShellConfig) -> String {
    let ports = shell_ports(config);
    let pairs = config.stream_pairs();
    let waits = ShellPort {
        name: STREAM_WAITS.to_owned(),
        width: 1,
        input: false,
        elements: Some(pairs),
    };
    let all = ports.iter().chain((pairs > 0).then_some(&waits));
    let mut text = header(all.map(|port| declaration(port, false)));
    instantiate_shell(&mut text, config, &ports, &|name| name.to_owned());
    for pair in 0..pairs {
        let _ = writeln!(
            text,
            "  assign {STREAM_WAITS}[{pair}] = u_shell.mover_state[{}].valid;",
            2 * pair + 1
        );
    }
    text.push_str("\nendmodule\n");
    text
}

fn declaration(port: &ShellPort, outward: bool) -> String {
    let direction = match port.input && !outward {
        true => "input ",
        false => "output",
    };
    format!("  {direction} {}", port.variable())
}

fn header(declarations: impl Iterator<Item = String>) -> String {
    let declarations: Vec<String> = declarations.collect();
    format!(
        "// Generated by the card crate (sim/top.rs).\n\nmodule {CARD_TOP} (\n{}\n);\n\n",
        declarations.join(",\n")
    )
}

/// Appends the configuration and the instance of the shell; `net` gives the connection of each port.
pub(super) fn instantiate_shell(
    text: &mut String,
    config: &ShellConfig,
    ports: &[ShellPort],
    net: &dyn Fn(&str) -> String,
) {
    let mut connections: Vec<String> = ports
        .iter()
        .map(|port| format!("    .{}({})", port.name, net(&port.name)))
        .collect();
    // Without stream pairs the shell's pins for them have one element, which is unused; without TID or TDEST those pins
    // have one bit.
    for direction in BOTH {
        let signals = AXI4_STREAM.iter().filter(|_| config.stream_pairs() == 0);
        let unused_ids =
            |signal: &&Signal| config.stream_pairs() == 0 || config.id_width(signal) == 0;
        for signal in signals.chain(STREAM_IDS.iter().filter(unused_ids)) {
            let (side, value) = match stream_driven_by_kernel(signal, direction) {
                true => ("i", "'{default: '0}"),
                false => ("o", ""),
            };
            let group = stream_group(direction);
            connections.push(format!("    .{group}_{}_{side}({value})", signal.name));
        }
    }
    if config.network_pairs == 0 {
        connections.extend(unused(
            NETWORK
                .iter()
                .map(|&(name, _, input, _)| ("net", name, input)),
        ));
    }
    if config.slices() == 0 {
        connections.extend(without_directory());
    }
    if config.caches() == 0 {
        let cache = CACHE.iter().map(|&(name, _, input)| ("cache", name, input));
        let access = ACCESS
            .iter()
            .map(|signal| ("access", signal.name, signal.manager));
        connections.extend(unused(cache.chain(access)));
    }
    let _ = write!(
        text,
        "  localparam tmb_pkg::shell_cfg_t Cfg = {};\n\n  tmb_shell #(\n    .Cfg(Cfg)\n  ) \
         u_shell (\n{}\n  );\n",
        config.to_system_verilog(),
        connections.join(",\n")
    );
}

/// Connections of the ports that a shell without a directory does not use.
fn without_directory() -> Vec<String> {
    let link = LINK.iter().map(|&(name, _, input)| ("link", name, input));
    let home = HOME
        .iter()
        .map(|signal| ("home", signal.name, !signal.manager));
    let line = LINE
        .iter()
        .map(|signal| ("line", signal.name, signal.manager));
    unused(link.chain(home).chain(line)).collect()
}

/// Connections of ports that are not used: (group, name, into the shell).
fn unused<'a>(
    ports: impl Iterator<Item = (&'a str, &'a str, bool)> + 'a,
) -> impl Iterator<Item = String> + 'a {
    ports.map(|(prefix, name, input)| match input {
        true => format!("    .{prefix}_{name}_i('{{default: '0}})"),
        false => format!("    .{prefix}_{name}_o()"),
    })
}

/// The top module with shell and kernel, for a configuration of one slot.
pub(crate) fn monolithic_top(
    config: &ShellConfig,
    kernel_top: &str,
    kernel: &KernelInterface,
) -> String {
    let ports = shell_ports(config);
    let mut text = header(
        ports
            .iter()
            .map(|port| declaration(port, at_slot(&port.name))),
    );
    instantiate_shell(&mut text, config, &ports, &|name| name.to_owned());

    let mut connections = vec![format!("    .{CLOCK}(clk_i)")];
    if let Some(reset) = &kernel.reset {
        connections.push(format!("    .{}(slot_rst_no[0])", reset.name));
    }
    text.push('\n');
    match &kernel.interrupt {
        Some(interrupt) => {
            text.push_str("  logic kernel_interrupt;\n");
            text.push_str("  assign slot_interrupt_i[0] = kernel_interrupt;\n");
            connections.push(format!("    .{}(kernel_interrupt)", interrupt.name));
        }
        None => text.push_str("  assign slot_interrupt_i[0] = 1'b0;\n"),
    }
    let nothing: Vec<Bound> = AXI4.iter().map(|signal| (signal, None)).collect();
    for index in 0..config.ports() {
        let bus = kernel.ports.get(index as usize).unwrap_or(&nothing);
        for bound in bus {
            let driven = bound.0.manager;
            connect(
                config,
                &mut text,
                &mut connections,
                "port",
                index,
                bound,
                driven,
            );
        }
    }
    let no_stream: Vec<Bound> = AXI4_STREAM.iter().map(|signal| (signal, None)).collect();
    let carried = |signal: &Signal| !STREAM_IDS.contains(signal) || config.id_width(signal) > 0;
    for pair in 0..config.streams_per_slot {
        for direction in BOTH {
            let stream = StreamId { pair, direction };
            let found = kernel.streams.iter().find(|(place, _)| *place == stream);
            let bus = found.map_or(&no_stream, |(_, bus)| bus);
            let missing = STREAM_IDS.iter().filter(|signal| {
                config.id_width(signal) > 0 && !bus.iter().any(|bound| bound.0 == *signal)
            });
            let missing = missing.map(|signal| (signal, None));
            for bound in bus.iter().cloned().chain(missing) {
                // An input of the kernel that the shell lacks is 0.
                if !carried(bound.0) {
                    if let (Some(port), StreamDirection::In) = (&bound.1, direction) {
                        connections.push(format!("    .{}('0)", port.name));
                    }
                    continue;
                }
                let driven = stream_driven_by_kernel(bound.0, direction);
                let group = stream_group(direction);
                connect(
                    config,
                    &mut text,
                    &mut connections,
                    group,
                    pair.into(),
                    &bound,
                    driven,
                );
            }
        }
    }
    let no_control: Vec<Bound> = CONTROL.iter().map(|signal| (signal, None)).collect();
    for bound in kernel.control.as_ref().unwrap_or(&no_control) {
        let driven = !bound.0.manager;
        connect(config, &mut text, &mut connections, "ctl", 0, bound, driven);
    }
    let _ = write!(
        text,
        "\n  {} u_kernel (\n{}\n  );\n\nendmodule\n",
        super::names::identifier(kernel_top),
        connections.join(",\n")
    );
    text
}

/// Connects one signal of the kernel with its element at the shell.
fn connect(
    config: &ShellConfig,
    text: &mut String,
    connections: &mut Vec<String>,
    group: &str,
    index: u32,
    (signal, port): &Bound,
    driven_by_kernel: bool,
) {
    let name = signal.name;
    let width = match STREAM_IDS.contains(signal) {
        true => config.id_width(signal),
        false => signal.width,
    };
    match (driven_by_kernel, port) {
        (true, Some(port)) => {
            debug_assert_eq!(port.direction, Direction::Output);
            let net = format!("kernel_{group}_{index}_{name}");
            let _ = writeln!(text, "  logic [{}:0] {net};", port.width - 1);
            let _ = writeln!(
                text,
                "  assign {group}_{name}_i[{index}] = {width}'({net});"
            );
            connections.push(format!("    .{}({net})", port.name));
        }
        (true, None) => {
            let value = match signal.absent {
                u64::MAX => "'1".to_owned(),
                value => format!("{width}'d{value}"),
            };
            let _ = writeln!(text, "  assign {group}_{name}_i[{index}] = {value};");
        }
        (false, Some(port)) => {
            let net = format!("{group}_{name}_o[{index}]");
            // Narrow IDs are those that the kernel sent: nothing is truncated.
            let net = match port.width == width {
                true => net,
                false => format!("{}'({net})", port.width),
            };
            connections.push(format!("    .{}({net})", port.name));
        }
        (false, None) => {}
    }
}
