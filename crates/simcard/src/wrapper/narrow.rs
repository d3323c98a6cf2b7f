//! Memory ports narrower than the slot's: a `tmb_port_widener` each.

use super::module::{port, Module};
use crate::interface::{direction_at_kernel, Bound};

/// Signals through a widener: its pins are `narrow_…` and `wide_…`.
const WIDENED: [&str; 11] = [
    "arsize", "arvalid", "arready", "rdata", "awsize", "awvalid", "awready", "wdata", "wstrb",
    "wvalid", "wready",
];

/// Signals that bypass a widener and are observed by it.
const OBSERVED: [&str; 6] = ["araddr", "rvalid", "rready", "rlast", "awaddr", "awlen"];

/// A port behind a widener.
pub(super) fn widen(
    module: &mut Module,
    name: &str,
    data_width: u32,
    kernel: &[Bound],
) -> Vec<Bound> {
    let has = |signal: &str| {
        let bound = kernel.iter().find(|bound| bound.0.name == signal);
        bound.is_some_and(|bound| bound.1.is_some())
    };
    let (reads, writes) = (has("arvalid"), has("awvalid"));
    let mut pins = Vec::new();
    let outside = kernel
        .iter()
        .map(|bound| {
            let (signal, inner) = bound;
            let widened = WIDENED.contains(&signal.name);
            if !widened && !OBSERVED.contains(&signal.name) {
                return module.pass_bound(name, bound);
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
            module.declare(&outer);
            if widened {
                let net = format!("narrow_{name}_{}", signal.name);
                module.inside(&net, signal, inner.as_ref(), data_width);
                pins.push(format!(".narrow_{}_{into}({net})", signal.name));
                pins.push(format!(".wide_{}_{out}({})", signal.name, outer.name));
            } else {
                if let Some(inner) = inner {
                    module.connect(&inner.name, &outer.name);
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
    let instance = format!("u_widener_{name}");
    module.instance(
        "tmb_port_widener",
        &[("DataWidth", &data_width)],
        &instance,
        pins,
    );
    outside
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
