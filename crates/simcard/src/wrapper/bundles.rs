//! Registers of a kernel with several bundles, or with 64-bit registers: a `tmb_register_bundles` joins them to the
//! slot's window.

use super::module::Module;
use crate::interface::Bound;
use crate::signals::{Signal, CONTROL};
use std::fmt::Display;
use verilated::ModelPort;

/// Data width of the joined ports, in bits.
const WIDEST: u32 = 64;

/// The slot's control port for bundles of these data widths.
pub(super) fn join_bundles(module: &mut Module, bundles: &[(u32, Vec<Bound>)]) -> Vec<Bound> {
    let count = bundles.len();
    let mut pins = Vec::new();
    let mut outside = Vec::with_capacity(CONTROL.len());
    for (place, signal) in CONTROL.iter().enumerate() {
        let (into, out) = match signal.manager {
            true => ("i", "o"),
            false => ("o", "i"),
        };
        let outer = module.declare_control(signal);
        pins.push(format!(".slot_{}_{into}({})", signal.name, outer.name));
        let net = format!("bundle_{}", signal.name);
        pins.push(format!(".kernel_{}_{out}({net})", signal.name));
        let inner = bundles
            .iter()
            .map(|(_, bound)| bound.get(place)?.1.as_ref());
        bundle_net(module, &net, signal, inner.collect());
        outside.push((signal, Some(outer)));
    }
    let wide: String = bundles
        .iter()
        .rev()
        .map(|(width, _)| if *width == WIDEST { '1' } else { '0' })
        .collect();
    let wide = format!("{count}'b{wide}");
    let parameters: [(&str, &dyn Display); 2] = [("NumBundles", &count), ("Wide", &wide)];
    module.instance("tmb_register_bundles", &parameters, "u_bundles", pins);
    outside
}

/// A signal between the joint and the bundles; `inner` are the bundles' ports for it.
fn bundle_net(module: &mut Module, net: &str, signal: &Signal, inner: Vec<Option<&ModelPort>>) {
    let high = match signal.name {
        "rdata" | "wdata" => WIDEST,
        "wstrb" => WIDEST / 8,
        _ => signal.width,
    } - 1;
    // Address and data are driven for all bundles together.
    let shared = matches!(signal.name, "awaddr" | "araddr" | "wdata" | "wstrb");
    let range = if high == 0 {
        String::new()
    } else {
        format!("[{high}:0]")
    };
    let count = inner.len();
    module.line(match shared {
        true => format!("  logic {range} {net};"),
        false => format!("  logic [{}:0]{range} {net};", count - 1),
    });
    for (number, inner) in inner.into_iter().enumerate() {
        let element = match shared {
            true => net.to_owned(),
            false => format!("{net}[{number}]"),
        };
        match inner {
            Some(inner) if signal.manager => {
                module.connect(&inner.name, &fitted(&element, high + 1, inner.width));
            }
            Some(inner) => {
                let own = format!("{net}_{number}");
                module.line(format!("  logic [{}:0] {own};", inner.width - 1));
                let value = fitted(&own, inner.width, high + 1);
                module.line(format!("  assign {element} = {value};"));
                module.connect(&inner.name, &own);
            }
            None if !signal.manager => {
                module.line(format!("  assign {element} = '0;"));
            }
            None => {}
        }
    }
}

/// A net of `bits` bits, adapted to another width: truncated, or zero-extended.
pub(super) fn fitted(net: &str, bits: u32, wanted: u32) -> String {
    match bits.cmp(&wanted) {
        std::cmp::Ordering::Equal => net.to_owned(),
        std::cmp::Ordering::Greater if wanted == 1 => format!("{net}[0]"),
        std::cmp::Ordering::Greater => format!("{net}[{}:0]", wanted - 1),
        std::cmp::Ordering::Less => format!("{{{}'b0, {net}}}", wanted - bits),
    }
}
