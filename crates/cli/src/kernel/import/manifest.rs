//! From a description and what the RTL shows to the text of a `kernel.toml`.

use super::description::{Description, ImportError};
use super::rtl::RtlFile;
use card::kernel::Sideband;
use std::fmt::Write;
use verilated::ModelPort;

/// A manifest under construction.
pub struct Draft {
    description: Description,
    sources: Vec<String>,
    reset: bool,
    interrupt: bool,
    /// Per port: whether the RTL has its read channels, and its write channels.
    channels: Vec<(bool, bool)>,
    /// Per stream: signals out of the kernel that are not carried.
    drops: Vec<Vec<Sideband>>,
}

impl Draft {
    /// What can be said before the RTL is looked at.
    pub fn new(description: Description, files: &[RtlFile]) -> Result<Self, ImportError> {
        let mut sources: Vec<String> = files
            .iter()
            .filter(|file| file.is_source())
            .map(|file| format!("rtl/{}", file.name))
            .collect();
        let is_package = |source: &String| source.ends_with("_pkg.sv");
        sources.sort_by_key(|source| (!is_package(source), source.clone()));
        Ok(Self {
            channels: vec![(true, true); description.ports.len()],
            drops: vec![Vec::new(); description.streams.len()],
            description,
            sources,
            reset: true,
            interrupt: false,
        })
    }

    /// Takes over what the ports of the top module say.
    pub fn learn(&mut self, ports: &[ModelPort]) {
        let has = |name: &str| {
            ports
                .iter()
                .any(|port| port.name.eq_ignore_ascii_case(name))
        };
        self.reset = has("ap_rst_n");
        self.interrupt = has("interrupt") && self.description.control != "ap_ctrl_none";
        for (port, channels) in self.description.ports.iter().zip(&mut self.channels) {
            let reads = has(&format!("{}_arvalid", port.name));
            let writes = has(&format!("{}_awvalid", port.name));
            // A port without either is what the check against the RTL complains about.
            *channels = (reads || !writes, writes || !reads);
        }
        for (stream, drops) in self.description.streams.iter().zip(&mut self.drops) {
            let lost = |signal: &Sideband| {
                stream.direction == "out" && has(&format!("{}_{signal}", stream.name))
            };
            *drops = Sideband::ALL.into_iter().filter(lost).collect();
        }
    }

    /// The manifest.
    pub fn text(&self) -> String {
        let description = &self.description;
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let sources: Vec<String> = self.sources.iter().map(|source| quoted(source)).collect();
        let mut text = String::from(
            "# Made by `tombolo kernel import`; docs/kernels.md explains every key.\n\n[kernel]\n",
        );
        // Writing to a string cannot fail.
        let _ = writeln!(text, "name = {}", quoted(&description.name));
        if !description.origin.is_empty() {
            let _ = writeln!(text, "description = {}", quoted(&description.origin));
        }
        let _ = writeln!(
            text,
            "top = {}\nsources = [\n  {},\n]\ncontrol = \"{}\"\ninterrupt = {}",
            quoted(&description.name),
            sources.join(",\n  "),
            description.control,
            self.interrupt
        );
        if !self.reset {
            text.push_str("reset = \"absent\"\n");
        }
        for (port, channels) in description.ports.iter().zip(&self.channels) {
            let _ = writeln!(
                text,
                "\n[[port]]\nname = {}\nkind = \"axi4\"\ndata_width = {}\naccess = \"{}\"",
                quoted(&port.name),
                port.data_width,
                access(*channels)
            );
        }
        for (stream, drops) in description.streams.iter().zip(&self.drops) {
            let _ = writeln!(
                text,
                "\n[[port]]\nname = {}\nkind = \"axi4_stream\"\ndirection = \"{}\"\ndata_width = {}",
                quoted(&stream.name),
                stream.direction,
                stream.data_width
            );
            if !drops.is_empty() {
                let names: Vec<String> =
                    drops.iter().map(|signal| format!("\"{signal}\"")).collect();
                let _ = writeln!(
                    text,
                    "# No device gets what the kernel sends there.\ndrops = [{}]",
                    names.join(", ")
                );
            }
        }
        for argument in &description.arguments {
            let _ = writeln!(
                text,
                "\n[[argument]]\nname = {}\noffset = 0x{:02x}\nbytes = {}",
                quoted(&argument.name),
                argument.offset,
                argument.bytes
            );
            if let Some(port) = argument.port {
                let _ = writeln!(
                    text,
                    "port = {}\naccess = \"{}\"",
                    quoted(&description.ports[port].name),
                    access(self.channels[port])
                );
            }
            if !argument.kind.is_empty() {
                let _ = writeln!(text, "description = {}", quoted(&argument.kind));
            }
        }
        text
    }
}

fn access((reads, writes): (bool, bool)) -> &'static str {
    match (reads, writes) {
        (true, false) => "read",
        (false, true) => "write",
        _ => "read_write",
    }
}
