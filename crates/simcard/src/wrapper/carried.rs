//! Streams on the data channels of a memory port: a `tmb_port_stream_in` and a `tmb_port_stream_out` for the port, and
//! a `tmb_port_stream_registers` for the kernel.

use super::bundles::fitted;
use super::module::{port, Module};
use crate::interface::{direction_at_kernel, Bound, KernelInterface};
use crate::signals::{Signal, AXI4_STREAM, CONTROL};
use card::kernel::{Manifest, StreamPort};
use card::stream::StreamDirection;

/// Signals that bypass the halves and are observed by them.
const OBSERVED: [&str; 11] = [
    "araddr", "arid", "arlen", "arsize", "awaddr", "awid", "awlen", "awsize", "wdata", "wstrb",
    "wlast",
];
/// Signals that bypass the halves and are not observed.
const BESIDE: [&str; 2] = ["arburst", "awburst"];

/// A stream with its signals at the kernel.
type Carried<'a> = (&'a StreamPort, &'a [Bound]);

/// The streams that a memory port carries, by direction.
pub(super) fn carried<'a>(
    manifest: &'a Manifest,
    kernel: &'a KernelInterface,
    index: usize,
) -> [Option<Carried<'a>>; 2] {
    [StreamDirection::In, StreamDirection::Out].map(|direction| {
        let streams = manifest.streams.iter().zip(&kernel.streams);
        let mut own = streams.filter(|(described, _)| {
            described.through == Some(index) && described.direction == direction
        });
        own.next()
            .map(|(described, (_, bound))| (described, bound.as_slice()))
    })
}

/// A port that carries streams.
pub(super) fn carry(
    module: &mut Module,
    (name, index): (&str, usize),
    kernel: &[Bound],
    carried: [Option<Carried<'_>>; 2],
) -> Vec<Bound> {
    let [inward, outward] = carried;
    let mut pins = [Vec::new(), Vec::new()];
    let mut ids = [1, 1];
    let mut outside = Vec::with_capacity(kernel.len());
    for bound in kernel {
        let (signal, inner) = bound;
        let half = usize::from(!signal.is_of_reads());
        if carried[half].is_none() {
            outside.push(module.pass_bound(name, bound));
            continue;
        }
        let outer = half_signal(module, name, (signal, inner.as_ref()), &mut pins[half]);
        if let ("arid" | "rid" | "awid" | "bid", Some(outer)) = (signal.name, &outer) {
            ids[half] = outer.width;
        }
        outside.push((*signal, outer));
    }
    for (half, stream) in [inward, outward].into_iter().enumerate() {
        let Some((described, bound)) = stream else {
            continue;
        };
        let block = ["in", "out"][half];
        let mut all = Vec::new();
        let bit = 2 * index + half;
        all.push(format!(".closed_i(streams_closed[{bit}])"));
        all.push(format!(".open_o(streams_open[{bit}])"));
        all.append(&mut pins[half]);
        for (signal, inner) in bound {
            let pin = match (signal.name, signal.manager) {
                ("wstream", _) => "wstream_i".to_owned(),
                (name, _) => format!("kernel_{name}_o"),
            };
            let net = format!("kernel_{name}_{}", signal.name);
            match inner {
                Some(inner) => {
                    let high = signal.width - 1;
                    module.line(format!("  logic [{high}:0] {net};"));
                    module.connect(&inner.name, &net);
                    all.push(format!(".{pin}({net})"));
                }
                None => all.push(format!(".{pin}()")),
            }
        }
        for signal in AXI4_STREAM {
            let net = format!("kernel_{}_{}", described.name, signal.name);
            let high = signal.width - 1;
            module.line(format!("  logic [{high}:0] {net};"));
            let to_half = signal.manager == (half == 0);
            let way = if to_half { "i" } else { "o" };
            all.push(format!(".{block}_{}_{way}({net})", &signal.name[1..]));
        }
        module.instance(
            &format!("tmb_port_stream_{block}"),
            &[("IdWidth", &ids[half])],
            &format!("u_carried_{block}_{name}"),
            all,
        );
    }
    outside
}

/// A signal of a port that carries a stream in its direction; returns the slot's side of it.
fn half_signal(
    module: &mut Module,
    name: &str,
    (signal, inner): (&'static Signal, Option<&verilated::ModelPort>),
    pins: &mut Vec<String>,
) -> Option<verilated::ModelPort> {
    let is_id = matches!(signal.name, "arid" | "rid" | "awid" | "bid");
    let width = match (is_id, inner) {
        (true, Some(inner)) => inner.width,
        (true, None) => 1,
        (false, _) => signal.width,
    };
    let net = format!("kernel_{name}_{}", signal.name);
    module.line(format!("  logic [{}:0] {net};", width - 1));
    match inner {
        Some(inner) => module.connect(&inner.name, &net),
        None if signal.manager => {
            let value = match signal.absent {
                u64::MAX => "'1".to_owned(),
                value => value.to_string(),
            };
            module.line(format!("  assign {net} = {value};"));
        }
        None => {}
    }
    // An ID that the kernel lacks is 0 at the slot, too.
    let outer = (!is_id || inner.is_some()).then(|| {
        let direction = direction_at_kernel(signal.manager);
        let outer = port(&format!("{name}_{}", signal.name), width, direction);
        module.declare(&outer);
        outer
    });
    let at_slot = outer.as_ref().map(|outer| outer.name.clone());
    if OBSERVED.contains(&signal.name) || BESIDE.contains(&signal.name) {
        if let Some(outer) = &at_slot {
            module.line(format!("  assign {outer} = {net};"));
        }
        if OBSERVED.contains(&signal.name) {
            pins.push(format!(".{}_i({net})", signal.name));
        }
        return outer;
    }
    let (from, to) = match signal.manager {
        true => ("i", "o"),
        false => ("o", "i"),
    };
    let unused = if signal.manager {
        String::new()
    } else {
        "'0".to_owned()
    };
    pins.push(format!(".kernel_{}_{from}({net})", signal.name));
    pins.push(format!(
        ".slot_{}_{to}({})",
        signal.name,
        at_slot.unwrap_or(unused)
    ));
    outer
}

/// The control port of a kernel whose memory ports carry streams: the last registers of its window belong to the
/// slot.
pub(super) fn share_control(module: &mut Module, control: &[Bound], used: &[usize]) -> Vec<Bound> {
    module.line("  logic [31:0] streams_closed, streams_open;");
    for bit in (0..32).filter(|bit| !used.contains(bit)) {
        module.line(format!("  assign streams_open[{bit}] = 1'b0;"));
    }
    let mut pins = vec![
        ".closed_o(streams_closed)".to_owned(),
        ".open_i(streams_open)".to_owned(),
    ];
    let mut outside = Vec::with_capacity(control.len());
    for (signal, bound) in CONTROL.iter().zip(control) {
        let inner = bound.1.as_ref();
        if signal.name == "wstrb" {
            outside.push(module.pass_bound("s_axi_control", bound));
            continue;
        }
        let outer = module.declare_control(signal);
        if matches!(signal.name, "awaddr" | "araddr" | "wdata") {
            if let Some(inner) = inner {
                let low = fitted(&outer.name, outer.width, inner.width);
                module.connect(&inner.name, &low);
            }
            pins.push(format!(".{}_i({})", signal.name, outer.name));
        } else {
            let net = format!("kernel_control_{}", signal.name);
            module.line(format!("  logic [{}:0] {net};", signal.width - 1));
            match inner {
                Some(inner) => module.connect(&inner.name, &net),
                None if !signal.manager => {
                    module.line(format!("  assign {net} = '0;"));
                }
                None => {}
            }
            let (slot, kernel) = match signal.manager {
                true => ("i", "o"),
                false => ("o", "i"),
            };
            pins.push(format!(".slot_{}_{slot}({})", signal.name, outer.name));
            pins.push(format!(".kernel_{}_{kernel}({net})", signal.name));
        }
        outside.push((signal, Some(outer)));
    }
    module.instance("tmb_port_stream_registers", &[], "u_registers", pins);
    outside
}
