//! Recognises the ports of a module by their names: buses, clocks, resets.

use card::kernel::DEFAULT_INTERRUPT;
use units::StreamDirection;
use verilated::{Direction, ModelPort};

/// Protocol and role of a bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// AXI4; the module is the manager.
    Memory {
        /// Whether it has the read channels, and whether the write channels.
        channels: (bool, bool),
        /// Address bits.
        address_width: u32,
    },
    /// AXI4-Lite; the module is the subordinate.
    Registers,
    /// AXI4-Stream.
    Stream {
        /// Seen from the kernel.
        direction: StreamDirection,
        /// Side-band signals of an output that no device accepts.
        drops: Vec<&'static str>,
        /// TID and TDEST with their widths, which pass from kernel to kernel.
        ids: Vec<(&'static str, u32)>,
    },
}

/// A bus of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bus {
    /// Common prefix of its signals, in the case of the RTL.
    pub prefix: String,
    pub kind: Kind,
    /// Data bits.
    pub data_width: u32,
}

impl Bus {
    /// The port's name: the prefix in lower case without its separator.
    pub fn name(&self) -> String {
        self.prefix.trim_end_matches('_').to_ascii_lowercase()
    }

    /// Whether a manifest derives this prefix from the port's name by default.
    pub fn is_named(&self, name: &str) -> bool {
        self.prefix
            .strip_suffix('_')
            .is_some_and(|prefix| prefix.eq_ignore_ascii_case(name))
    }
}

/// A reset input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Name of the port.
    pub name: String,
    /// Whether it is active high, as its name implies.
    pub is_high: bool,
}

/// The ports of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// Buses, in the order of the header.
    pub buses: Vec<Bus>,
    /// Clocks, the kernel's own first.
    pub clocks: Vec<String>,
    /// Resets, the kernel's own first.
    pub resets: Vec<Reset>,
    /// The output that is named like an interrupt; `interrupt` takes precedence.
    pub interrupt: Option<String>,
    /// Other inputs.
    pub unknown: Vec<String>,
    /// Buses that no slot supports, with the reason.
    pub refused: Vec<String>,
}

/// Signal names of AXI4, by which buses are found.
const AXI: [&str; 46] = [
    "awid", "awaddr", "awlen", "awsize", "awburst", "awlock", "awcache", "awprot", "awqos",
    "awregion", "awuser", "awvalid", "awready", "wid", "wdata", "wstrb", "wlast", "wuser",
    "wvalid", "wready", "bid", "bresp", "buser", "bvalid", "bready", "arid", "araddr", "arlen",
    "arsize", "arburst", "arlock", "arcache", "arprot", "arqos", "arregion", "aruser", "arvalid",
    "arready", "rid", "rdata", "rresp", "rlast", "ruser", "rvalid", "rready", "awatop",
];
const STREAM: [&str; 9] = [
    "tdata", "tkeep", "tstrb", "tlast", "tid", "tdest", "tuser", "tvalid", "tready",
];

/// Names of interrupt outputs, in order of precedence.
const INTERRUPTS: [&str; 12] = [
    DEFAULT_INTERRUPT,
    "irq",
    "intr",
    "int_o",
    "irq_o",
    "intr_o",
    "interrupt_o",
    "o_int",
    "o_irq",
    "o_intr",
    "o_interrupt",
    "introut",
];

/// The signals of a bus.
struct Signals<'a> {
    ports: &'a [ModelPort],
    prefix: String,
}

impl Signals<'_> {
    fn find(&self, signal: &str) -> Option<&ModelPort> {
        let wanted = format!("{}{signal}", self.prefix);
        self.ports
            .iter()
            .find(|port| port.name.eq_ignore_ascii_case(&wanted))
    }

    fn width(&self, signals: [&str; 2]) -> u32 {
        signals
            .iter()
            .find_map(|signal| self.find(signal))
            .map_or(0, |port| port.width)
    }
}

/// Recognises buses, clocks, resets and the interrupt.
pub fn recognise(ports: &[ModelPort]) -> Recognised {
    let mut found = Recognised::default();
    let mut taken: Vec<String> = Vec::new();
    for port in ports {
        let lower = port.name.to_ascii_lowercase();
        let anchor = ["arvalid", "awvalid", "tvalid"]
            .into_iter()
            .find(|anchor| lower.ends_with(anchor));
        let Some(anchor) = anchor else {
            continue;
        };
        let prefix = port.name[..port.name.len() - anchor.len()].to_owned();
        let is_known = |bus: &Bus| bus.prefix.eq_ignore_ascii_case(&prefix);
        if found.buses.iter().any(is_known) || taken.contains(&prefix) {
            continue;
        }
        taken.push(prefix.clone());
        let signals = Signals {
            ports,
            prefix: prefix.clone(),
        };
        let out = port.direction == Direction::Output;
        let kind = match (anchor, out) {
            ("tvalid", _) => stream(&signals, out),
            (_, true) => Kind::Memory {
                channels: (
                    signals.find("arvalid").is_some(),
                    signals.find("awvalid").is_some(),
                ),
                address_width: signals.width(["araddr", "awaddr"]),
            },
            (_, false) if signals.find("arlen").or(signals.find("awlen")).is_some() => {
                found.refused.push(format!(
                    "`{prefix}…` is an AXI4 subordinate (it has bursts); a slot drives registers by AXI4-Lite only"
                ));
                continue;
            }
            (_, false) => Kind::Registers,
        };
        if prefix.trim_end_matches('_').is_empty() {
            found.refused.push(format!(
                "`{}` has no name before it that a port could have",
                port.name
            ));
            continue;
        }
        if matches!(kind, Kind::Stream { .. }) && signals.find("tdata").is_none() {
            found.refused.push(format!(
                "`{prefix}…` is a stream without TDATA: a slot transports bytes; add `{prefix}tdata` of at least 8 bits"
            ));
            continue;
        }
        let data_width = match &kind {
            Kind::Stream { .. } => signals.width(["tdata", "tdata"]),
            _ => signals.width(["rdata", "wdata"]),
        };
        found.buses.push(Bus {
            prefix,
            kind,
            data_width,
        });
    }
    for port in ports {
        let lower = port.name.to_ascii_lowercase();
        let of_bus = taken.iter().any(|prefix| {
            let rest = lower.strip_prefix(&prefix.to_ascii_lowercase());
            rest.is_some_and(|rest| AXI.contains(&rest) || STREAM.contains(&rest))
        });
        if of_bus {
            continue;
        }
        let one_bit_input = port.direction == Direction::Input && port.width == 1;
        let one_bit_output = port.direction == Direction::Output && port.width == 1;
        if one_bit_output && INTERRUPTS.contains(&lower.as_str()) {
            if found.interrupt.is_none() || lower == DEFAULT_INTERRUPT {
                found.interrupt = Some(port.name.clone());
            }
        } else if one_bit_input && (lower.contains("rst") || lower.contains("reset")) {
            found.resets.push(Reset {
                is_high: !is_low(&lower),
                name: port.name.clone(),
            });
        } else if one_bit_input && (lower.contains("clk") || lower.contains("clock")) {
            found.clocks.push(port.name.clone());
        } else if port.direction != Direction::Output {
            found.unknown.push(port.name.clone());
        }
    }
    // The kernel's own clock has the shortest, plainest name.
    found.clocks.sort_by_key(|name| {
        (
            !matches!(
                &*name.to_ascii_lowercase(),
                "ap_clk" | "aclk" | "clk" | "clock"
            ),
            name.len(),
        )
    });
    found.resets.sort_by_key(|reset| {
        let own = matches!(
            &*reset.name.to_ascii_lowercase(),
            "ap_rst_n" | "aresetn" | "rst_n" | "rst" | "reset"
        );
        (!own, reset.name.len())
    });
    found
}

fn stream(signals: &Signals<'_>, out: bool) -> Kind {
    let lost = |signal: &&'static str| out && signals.find(signal).is_some();
    let id = |signal| {
        let width = signals.find(signal)?.width;
        (width <= card::kernel::MAX_STREAM_ID_WIDTH.into()).then_some((signal, width))
    };
    Kind::Stream {
        direction: if out {
            StreamDirection::Out
        } else {
            StreamDirection::In
        },
        drops: ["tid", "tdest", "tuser"].into_iter().filter(lost).collect(),
        ids: ["tid", "tdest"].into_iter().filter_map(id).collect(),
    }
}

/// Whether a reset is active low by its name: `ap_rst_n`, `aresetn`, `nreset`.
fn is_low(name: &str) -> bool {
    let ends = ["_n", "resetn", "rstn", "_ni", "_n_i", "_b"]
        .iter()
        .any(|end| name.ends_with(end));
    ends || name.starts_with("nrst")
        || name.starts_with("nreset")
        || name.contains("rst_n")
        || name.contains("resetn")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn port(name: &str, direction: Direction, width: u32) -> ModelPort {
        ModelPort {
            name: name.to_owned(),
            member: name.to_owned(),
            direction,
            width,
            elements: 1,
            array: false,
        }
    }

    #[test]
    fn buses_are_known_by_their_signals_whatever_they_are_called() {
        use Direction::{Input, Output};
        let ports = [
            port("clk_fast", Input, 1),
            port("aclk", Input, 1),
            port("aresetn", Input, 1),
            port("rst_fast", Input, 1),
            port("M00_AXI_ARVALID", Output, 1),
            port("M00_AXI_ARADDR", Output, 40),
            port("M00_AXI_RDATA", Input, 256),
            port("s_axil_awvalid", Input, 1),
            port("s_axil_wdata", Input, 32),
            port("rx_tvalid", Input, 1),
            port("rx_tdata", Input, 64),
            port("tx_tvalid", Output, 1),
            port("tx_tdata", Output, 8),
            port("tx_tuser", Output, 3),
            port("cfg_awvalid", Input, 1),
            port("cfg_awlen", Input, 8),
            port("tick_tvalid", Output, 1),
            port("tick_tready", Input, 1),
            port("mode", Input, 2),
            port("led", Output, 1),
            port("interrupt", Output, 1),
        ];
        let found = recognise(&ports);
        let seen: Vec<_> = found
            .buses
            .iter()
            .map(|bus| (bus.name(), bus.data_width))
            .collect();
        let expected = [("m00_axi", 256), ("s_axil", 32), ("rx", 64), ("tx", 8)];
        assert_eq!(seen, expected.map(|(name, width)| (name.to_owned(), width)));
        assert_eq!(
            found.buses[0].kind,
            Kind::Memory {
                channels: (true, false),
                address_width: 40
            }
        );
        assert_eq!(found.buses[1].kind, Kind::Registers);
        assert_eq!(
            found.buses[3].kind,
            Kind::Stream {
                direction: StreamDirection::Out,
                drops: vec!["tuser"],
                ids: vec![]
            }
        );
        assert_eq!(found.clocks, ["aclk", "clk_fast"]);
        let resets: Vec<_> = found
            .resets
            .iter()
            .map(|one| (one.name.as_str(), one.is_high))
            .collect();
        assert_eq!(resets, [("aresetn", false), ("rst_fast", true)]);
        assert_eq!(found.interrupt.as_deref(), Some("interrupt"));
        assert_eq!(found.unknown, ["mode"]);
        assert_eq!(found.refused.len(), 2);
        assert!(
            found.refused[1].contains("`tick_…` is a stream without TDATA"),
            "{:?}",
            found.refused
        );
        assert!(found.buses[0].is_named("m00_axi") && !found.buses[0].is_named("gmem"));
    }
}
