//! The SystemVerilog module under construction: ports, nets, instances, and the pins of the kernel.

use super::{CLOCK, RESET, WRAPPER};
use crate::interface::{direction_at_kernel, Bound};
use crate::names;
use crate::signals::Signal;
use card::kernel::{Parameter, ResetPolarity};
use std::fmt::Display;
use verilated::{Direction, ModelPort};

/// A port of the module.
pub(super) fn port(name: &str, width: u32, direction: Direction) -> ModelPort {
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
pub(super) struct Module {
    ports: Vec<String>,
    connections: Vec<String>,
    body: String,
}

impl Module {
    /// Appends a line to the body.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        self.body.push_str(line.as_ref());
        self.body.push('\n');
    }

    /// Appends an instance of a module that has the clock and the reset of the slot.
    pub(super) fn instance(
        &mut self,
        module: &str,
        parameters: &[(&str, &dyn Display)],
        name: &str,
        pins: Vec<String>,
    ) {
        let parameters = parameters
            .iter()
            .map(|(name, value)| format!("    .{name}({value})"))
            .collect::<Vec<_>>();
        let parameters = match parameters.as_slice() {
            [] => String::new(),
            some => format!("#(\n{}\n  ) ", some.join(",\n")),
        };
        let mut all = vec![format!(".clk_i({CLOCK})"), format!(".rst_ni({RESET})")];
        all.extend(pins);
        self.line(format!(
            "  {module} {parameters}{name} (\n    {}\n  );",
            all.join(",\n    ")
        ));
    }

    pub(super) fn declare(&mut self, port: &ModelPort) {
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

    /// Declares the slot's port for a signal of the control port.
    pub(super) fn declare_control(&mut self, signal: &Signal) -> ModelPort {
        let name = format!("s_axi_control_{}", signal.name);
        let outer = port(&name, signal.width, direction_at_kernel(!signal.manager));
        self.declare(&outer);
        outer
    }

    pub(super) fn connect(&mut self, pin: &str, net: &str) {
        let pin = names::identifier(pin);
        self.connections.push(format!(".{pin}({net})"));
    }

    pub(super) fn connect_reset(&mut self, pin: &str, polarity: ResetPolarity) {
        match polarity {
            ResetPolarity::ActiveHigh => self.connect(pin, &format!("!{RESET}")),
            _ => self.connect(pin, RESET),
        }
    }

    pub(super) fn pass(&mut self, inner: &ModelPort, outer: &ModelPort) {
        self.declare(outer);
        self.connect(&inner.name, &outer.name);
    }

    /// Passes a signal through unchanged, if the kernel has it.
    pub(super) fn pass_bound(&mut self, prefix: &str, (signal, inner): &Bound) -> Bound {
        let outer = inner.as_ref().map(|inner| {
            let name = format!("{prefix}_{}", signal.name);
            let outer = port(&name, inner.width, inner.direction);
            self.pass(inner, &outer);
            outer
        });
        (signal, outer)
    }

    /// The slot's port for a signal that the kernel has, declared and not connected.
    pub(super) fn outer(&mut self, prefix: &str, (signal, inner): &Bound) -> Bound {
        let outer = inner.as_ref().map(|inner| {
            let name = format!("{prefix}_{}", signal.name);
            let outer = port(&name, inner.width, inner.direction);
            self.declare(&outer);
            outer
        });
        (signal, outer)
    }

    /// The net that a pin of the kernel is connected to.
    pub(super) fn net_at(&self, pin: &str) -> Option<String> {
        let pin = format!(".{}(", names::identifier(pin));
        let mut connections = self.connections.iter();
        let net = connections.find_map(|one| one.strip_prefix(&pin)?.strip_suffix(')'))?;
        Some(net.to_owned())
    }

    /// A net between the kernel's pin of a memory port and a converter of its width.
    pub(super) fn inside(
        &mut self,
        net: &str,
        signal: &Signal,
        inner: Option<&ModelPort>,
        width: u32,
    ) {
        let high = signal.width_at(width) - 1;
        self.line(format!("  logic [{high}:0] {net};"));
        match inner {
            Some(inner) => self.connect(&inner.name, net),
            None if signal.manager => {
                let value = match signal.name {
                    "arsize" | "awsize" => (width / 8).ilog2().to_string(),
                    _ if signal.absent == u64::MAX => "'1".to_owned(),
                    _ => signal.absent.to_string(),
                };
                self.line(format!("  assign {net} = {value};"));
            }
            None => {}
        }
    }

    /// The SystemVerilog of the module around a kernel's top.
    pub(super) fn text(&self, kernel: &str, parameters: &[Parameter]) -> String {
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
