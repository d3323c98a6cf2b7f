//! Port names of the exported top, and their connections to `tmb_shell`.
//!
//! | at the shell | outside |
//! |---|---|
//! | `card_*`, `slot_identity[s]` | `card_*`, `slotS_identity`: constants, for the board's top to tie |
//! | `bar_*` | `s_axi_bar_*` |
//! | `host_*` | `m_axi_host_*` |
//! | `mem_*[c]` | `m_axi_memC_*` |
//! | `port_*[p]` | `s_axi_slotS_portP_*` |
//! | `ctl_*[s]` | `m_axi_slotS_control_*` |
//! | `sin_*[k]`, `sout_*[k]` | `m_axis_slotS_inK_*`, `s_axis_slotS_outK_*` |
//! | `net_send_*[k]`, `net_receive_*[k]`, other `net_*` | `m_axis_netK_send_*`, `s_axis_netK_receive_*`, `netK_send_*`, `netK_receive_*` |
//! | `net_drain[k]`, `net_quiet[k]`, `peripheral_rst` | `netK_drain`, `netK_quiet`, `peripheral_aresetn` |
//! | `home_*[h]`, `line_*[h]` | `m_axi_slotS_homeK_*`, `slotS_lineK_*` |
//! | `link_*[l]` | `linkL_*`, with the shell's `_i` and `_o` (both directions have the same names) |

use crate::config::ShellConfig;
use crate::top::shell_ports;

/// A port of the exported top.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TopPort {
    /// Name in the exported top.
    pub(super) name: String,
    /// Bus of the pin, if any: the name without the signal's.
    pub(super) bus: Option<String>,
    /// Width in bits.
    pub(super) width: u32,
    /// Input of the shell.
    pub(super) input: bool,
    /// Connection inside the top.
    pub(super) end: End,
}

/// The inner end of a pin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A port of the shell, or an element of one.
    Shell(String),
    /// An AXI signal that the shell lacks, driven with this constant.
    Constant(&'static str),
    /// An AXI signal that the shell lacks, an input that is ignored.
    Ignored,
}

/// Constant signals of AXI4 managers that the shell lacks (name, width, value): bursts of whole rows, to consecutive
/// addresses, normal bufferable memory, unprivileged.
const SHAPE: [(&str, u32, &str); 2] = [("size", 3, "3'd6"), ("burst", 2, "2'd1")];
const MANNER: [(&str, u32, &str); 4] = [
    ("lock", 1, "1'b0"),
    ("cache", 4, "4'b0011"),
    ("prot", 3, "3'b000"),
    ("qos", 4, "4'd0"),
];

/// Every port of the exported top.
pub(super) fn pins(config: &ShellConfig) -> Vec<TopPort> {
    let mut pins: Vec<TopPort> = Vec::new();
    for port in shell_ports(config) {
        for element in 0..port.elements.unwrap_or(1) {
            if is_of_mover(config, &port.name, element) {
                continue;
            }
            let (bus, name) = outside(config, &port.name, element);
            let inner = match port.elements {
                Some(_) => format!("{}[{element}]", port.name),
                None => port.name.clone(),
            };
            pins.push(TopPort {
                name,
                bus,
                width: port.width,
                input: port.input,
                end: End::Shell(inner),
            });
        }
    }
    pins.extend(extras(config));
    // The signals of a bus are grouped, in the order in which the buses first occur.
    let mut order: Vec<Option<String>> = Vec::new();
    for pin in &pins {
        if !order.contains(&pin.bus) {
            order.push(pin.bus.clone());
        }
    }
    order.sort_by_key(Option::is_some);
    pins.sort_by_key(|pin| order.iter().position(|bus| *bus == pin.bus));
    pins
}

/// Whether an element of a port belongs to a stream pair's movers, and is not used.
pub(super) fn is_of_mover(config: &ShellConfig, name: &str, element: u32) -> bool {
    let first = config
        .ports_per_slot
        .saturating_sub(config.streams_per_slot);
    name.starts_with("port_") && element % u32::from(config.ports_per_slot) >= u32::from(first)
}

/// Bus and name of a port of the shell, in the exported top.
fn outside(config: &ShellConfig, inner: &str, element: u32) -> (Option<String>, String) {
    let in_slot = |elements: u8| {
        let elements = u32::from(elements.max(1));
        (element / elements, element % elements)
    };
    let bus = |bus: String, signal: &str| {
        let name = format!("{bus}_{signal}");
        (Some(bus), name)
    };
    match inner {
        "clk_i" => return (None, "aclk".to_owned()),
        "rst_ni" => return (None, "aresetn".to_owned()),
        "irq_o" => return (None, "irq".to_owned()),
        "card_clock_period_i" => return (None, "card_clock_period".to_owned()),
        "card_channel_bytes_i" => return (None, "card_channel_bytes".to_owned()),
        "slot_identity_i" => return (None, format!("slot{element}_identity")),
        "slot_interrupt_i" => return (None, format!("slot{element}_interrupt")),
        "slot_rst_no" => return (None, format!("slot{element}_aresetn")),
        "peripheral_rst_no" => return (None, "peripheral_aresetn".to_owned()),
        // One per interface, for both its directions.
        "net_drain_o" => return (None, format!("net{element}_drain")),
        "net_quiet_i" => return (None, format!("net{element}_quiet")),
        _ => {}
    }
    let (group, signal) = inner.split_once('_').unwrap_or((inner, ""));
    if group == "link" || group == "cache" {
        return bus(format!("{group}{element}"), signal);
    }
    let signal = signal.strip_suffix("_i").or(signal.strip_suffix("_o"));
    let signal = signal.unwrap_or_default();
    match group {
        "bar" => bus("s_axi_bar".to_owned(), signal),
        "host" => bus("m_axi_host".to_owned(), signal),
        "mem" => bus(format!("m_axi_mem{element}"), signal),
        "ctl" => bus(format!("m_axi_slot{element}_control"), signal),
        "port" => {
            let (slot, port) = in_slot(config.ports_per_slot);
            bus(format!("s_axi_slot{slot}_port{port}"), signal)
        }
        "sin" => {
            let (slot, pair) = in_slot(config.streams_per_slot);
            bus(format!("m_axis_slot{slot}_in{pair}"), signal)
        }
        "sout" => {
            let (slot, pair) = in_slot(config.streams_per_slot);
            bus(format!("s_axis_slot{slot}_out{pair}"), signal)
        }
        "net" => match signal.split_once('_') {
            Some(("send", signal)) => bus(format!("m_axis_net{element}_send"), signal),
            Some(("receive", signal)) => bus(format!("s_axis_net{element}_receive"), signal),
            _ => {
                let way = if element % 2 == 0 { "send" } else { "receive" };
                (None, format!("net{}_{way}_{signal}", element / 2))
            }
        },
        "home" => {
            let (slot, home) = in_slot(config.slices());
            bus(format!("m_axi_slot{slot}_home{home}"), signal)
        }
        _ => {
            let (slot, line) = in_slot(config.slices());
            bus(format!("slot{slot}_{group}{line}"), signal)
        }
    }
}

/// AXI signals that the shell lacks.
fn extras(config: &ShellConfig) -> Vec<TopPort> {
    let mut pins = Vec::new();
    let mut add = |bus: &str, signal: String, width: u32, end: End| {
        pins.push(TopPort {
            name: format!("{bus}_{signal}"),
            bus: Some(bus.to_owned()),
            width,
            input: end == End::Ignored,
            end,
        });
    };
    let channels = (0..config.channels).map(|channel| format!("m_axi_mem{channel}"));
    let homes = (0..config.slots).flat_map(|slot| {
        (0..config.slices()).map(move |home| format!("m_axi_slot{slot}_home{home}"))
    });
    let managers: Vec<(String, bool)> = std::iter::once("m_axi_host".to_owned())
        .chain(channels)
        .map(|bus| (bus, true))
        .chain(homes.map(|bus| (bus, false)))
        .collect();
    for (bus, shapeless) in managers {
        for direction in ["ar", "aw"] {
            let shape = SHAPE.iter().filter(|_| shapeless);
            for &(signal, width, value) in shape.chain(&MANNER) {
                let signal = format!("{direction}{signal}");
                add(&bus, signal, width, End::Constant(value));
            }
        }
    }
    for slot in 0..config.slots {
        for signal in ["arprot", "awprot"] {
            let bus = format!("m_axi_slot{slot}_control");
            add(&bus, signal.to_owned(), 3, End::Constant("3'b000"));
        }
    }
    for signal in ["arprot", "awprot"] {
        add("s_axi_bar", signal.to_owned(), 3, End::Ignored);
    }
    pins
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_pin_has_a_name_of_its_own_and_an_end_of_its_own() {
        let config = ShellConfig {
            slots: 3,
            ports_per_slot: 4,
            streams_per_slot: 1,
            channels: 4,
            ..ShellConfig::coherent_full()
        };
        let pins = pins(&config);
        let names: BTreeSet<_> = pins.iter().map(|pin| &pin.name).collect();
        assert_eq!(names.len(), pins.len());
        let ends: Vec<_> = pins
            .iter()
            .filter_map(|pin| match &pin.end {
                End::Shell(inner) => Some(inner),
                _ => None,
            })
            .collect();
        assert_eq!(ends.iter().collect::<BTreeSet<_>>().len(), ends.len());
        let at = |name: &str| {
            let pin = pins.iter().find(|pin| pin.name == name);
            pin.unwrap_or_else(|| panic!("{name}")).end.clone()
        };
        let shell = |inner: &str| End::Shell(inner.to_owned());
        assert_eq!(at("s_axi_slot2_port1_awaddr"), shell("port_awaddr_i[9]"));
        assert_eq!(at("m_axis_slot1_in0_tdata"), shell("sin_tdata_o[1]"));
        assert_eq!(at("s_axis_slot2_out0_tready"), shell("sout_tready_o[2]"));
        assert_eq!(at("m_axi_slot1_home1_rdata"), shell("home_rdata_i[3]"));
        assert_eq!(at("slot2_line0_ack_tag"), shell("line_ack_tag_o[4]"));
        assert_eq!(
            at("link1_response_valid_i"),
            shell("link_response_valid_i[1]")
        );
        assert_eq!(at("m_axi_mem3_arsize"), End::Constant("3'd6"));
        // The last port of each slot belongs to the movers.
        assert!(!pins.iter().any(|pin| pin.name.contains("_port3_")));
    }
}
