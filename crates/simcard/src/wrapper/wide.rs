//! Memory ports of 1,024 bits: a `tmb_port_narrower` each.

use super::bundles::fitted;
use super::module::{port, Module};
use crate::interface::{direction_at_kernel, Bound};

/// Data width of such a port, in bits.
const WIDTH: u32 = 1024;

/// Signals that go through.
const NARROWED: [&str; 18] = [
    "arlen", "arsize", "arvalid", "arready", "rdata", "rresp", "rlast", "rvalid", "rready",
    "awlen", "awsize", "awvalid", "awready", "wdata", "wstrb", "wlast", "wvalid", "wready",
];

/// Signals that bypass it and are observed by it, with the number of their low
/// bits.
const OBSERVED: [(&str, u32); 4] = [("araddr", 7), ("arburst", 2), ("awaddr", 7), ("awburst", 2)];

/// A port behind a narrower.
pub(super) fn narrow(module: &mut Module, name: &str, kernel: &[Bound]) -> Vec<Bound> {
    let has = |signal: &str| {
        let bound = kernel.iter().find(|bound| bound.0.name == signal);
        bound.is_some_and(|bound| bound.1.is_some())
    };
    let (reads, writes) = (has("arvalid"), has("awvalid"));
    let mut pins = Vec::new();
    let mut outside = Vec::with_capacity(kernel.len());
    for bound in kernel {
        let (signal, inner) = bound;
        let there = if signal.is_of_reads() { reads } else { writes };
        let (into, out) = match signal.manager {
            true => ("i", "o"),
            false => ("o", "i"),
        };
        if let Some((_, bits)) = OBSERVED.iter().find(|(name, _)| *name == signal.name) {
            let outer = module.pass_bound(name, bound);
            let seen = match (&outer.1, there) {
                (Some(outer), true) => fitted(&outer.name, outer.width, *bits),
                (None, true) => signal.absent.to_string(),
                (_, false) => "'0".to_owned(),
            };
            pins.push(format!(".{}_i({seen})", signal.name));
            outside.push(outer);
        } else if !NARROWED.contains(&signal.name) {
            outside.push(module.pass_bound(name, bound));
        } else if !there {
            let unused = |input: bool| if input { "'0" } else { "" };
            pins.push(format!(
                ".kernel_{}_{into}({})",
                signal.name,
                unused(signal.manager)
            ));
            pins.push(format!(
                ".slot_{}_{out}({})",
                signal.name,
                unused(!signal.manager)
            ));
            outside.push((*signal, None));
        } else {
            let direction = direction_at_kernel(signal.manager);
            let outer = port(&format!("{name}_{}", signal.name), signal.width, direction);
            module.declare(&outer);
            let net = format!("kernel_{name}_{}", signal.name);
            module.inside(&net, signal, inner.as_ref(), WIDTH);
            pins.push(format!(".kernel_{}_{into}({net})", signal.name));
            pins.push(format!(".slot_{}_{out}({})", signal.name, outer.name));
            outside.push((*signal, Some(outer)));
        }
    }
    let instance = format!("u_narrower_{name}");
    module.instance("tmb_port_narrower", &[], &instance, pins);
    outside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signals::AXI4;

    #[test]
    fn every_signal_is_one_of_axi4() {
        for name in NARROWED.into_iter().chain(OBSERVED.map(|(name, _)| name)) {
            assert!(AXI4.iter().any(|signal| signal.name == name), "{name}");
        }
    }
}
