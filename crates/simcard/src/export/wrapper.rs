//! The two generated modules: `tombolo_shell`, plain Verilog, which block designs accept directly,
//! and `tombolo_shell_arrays`, SystemVerilog, with the same ports and the configured shell.

use super::pins::{is_of_mover, End, TopPort};
use super::{ARRAYS, TOP};
use crate::config::ShellConfig;
use crate::top::{instantiate_shell, shell_ports};
use std::fmt::Write;

const LICENSE: &str = "// Copyright Tombolo contributors.\n\
    // Licensed under the Apache License, Version 2.0, see LICENSE for details.\n\
    // SPDX-License-Identifier: Apache-2.0\n//\n";

/// `tombolo_shell.v`.
pub(super) fn top(pins: &[TopPort]) -> String {
    let mut buses: Vec<&str> = pins
        .iter()
        .filter_map(|pin| pin.bus.as_deref())
        .filter(|bus| bus.starts_with("s_axi") || bus.starts_with("m_axi"))
        .collect();
    buses.dedup();
    let declarations: Vec<String> = pins
        .iter()
        .map(|pin| {
            // An attribute that a block design cannot derive from the names: the buses of the clock.
            let attribute = match pin.name.as_str() {
                "aclk" => format!(
                    "  (* X_INTERFACE_PARAMETER = \"ASSOCIATED_BUSIF {}, ASSOCIATED_RESET aresetn\" *)\n",
                    buses.join(":")
                ),
                "irq" => "  // One cycle for each interrupt.\n".to_owned(),
                _ => String::new(),
            };
            format!("{attribute}  {}", declaration(pin, "wire"))
        })
        .collect();
    let connections: Vec<String> = pins
        .iter()
        .map(|pin| format!("    .{0}({0})", pin.name))
        .collect();
    format!(
        "{LICENSE}// The configured shell, with the names that AXI gives its signals. Made by `tombolo shell \
         export`;\n// README.md says what each bus is for. Every output comes from a register, and every \
         input goes to\n// registers only.\n\nmodule {TOP} (\n{}\n);\n\n  {ARRAYS} u_arrays (\n{}\n  \
         );\n\nendmodule\n",
        declarations.join(",\n"),
        connections.join(",\n")
    )
}

/// `tombolo_shell_arrays.sv`.
pub(super) fn arrays(config: &ShellConfig, pins: &[TopPort]) -> String {
    let ports = shell_ports(config);
    let declarations: Vec<String> = pins
        .iter()
        .map(|pin| format!("  {}", declaration(pin, "logic")))
        .collect();
    let mut text = format!(
        "{LICENSE}// The configuration of the shell, and its arrays of ports spread out to one port each: wires \
         only.\n// Made by `tombolo shell export`.\n\nmodule {ARRAYS} (\n{}\n);\n\n",
        declarations.join(",\n")
    );
    for port in &ports {
        let _ = writeln!(text, "  {};", port.variable());
    }
    text.push('\n');
    let mut unused: Vec<String> = Vec::new();
    for pin in pins {
        let name = &pin.name;
        let _ = match &pin.end {
            End::Shell(inner) if pin.input => writeln!(text, "  assign {inner} = {name};"),
            End::Shell(inner) => writeln!(text, "  assign {name} = {inner};"),
            End::Constant(value) => writeln!(text, "  assign {name} = {value};"),
            End::Ignored => {
                unused.push(name.clone());
                Ok(())
            }
        };
    }
    for port in &ports {
        let elements = port.elements.unwrap_or(0);
        for element in (0..elements).filter(|&n| is_of_mover(config, &port.name, n)) {
            let inner = format!("{}[{element}]", port.name);
            match port.input {
                true => {
                    let _ = writeln!(text, "  assign {inner} = '0;");
                }
                false => unused.push(inner),
            }
        }
    }
    let _ = write!(
        text,
        "\n  logic unused_ok;\n  assign unused_ok = &{{1'b0,\n      {}}};\n\n",
        unused.join(",\n      ")
    );
    // Ports that the configuration does not use stay open.
    text.push_str("  // verilator lint_off PINCONNECTEMPTY\n");
    instantiate_shell(&mut text, config, &ports, &|name| name.to_owned());
    text.push_str("  // verilator lint_on PINCONNECTEMPTY\n\nendmodule\n");
    text
}

fn declaration(pin: &TopPort, kind: &str) -> String {
    let direction = if pin.input { "input " } else { "output" };
    let range = match pin.width {
        1 => String::new(),
        width => format!("[{}:0] ", width - 1),
    };
    format!("{direction} {kind} {range}{}", pin.name)
}
