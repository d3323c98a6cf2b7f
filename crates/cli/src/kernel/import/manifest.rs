//! Builds the text of a `kernel.toml` from a plan and the ports of the top module.

use super::component::Register;
use super::description::ImportError;
use super::plan::Plan;
use super::recognise::{Bus, Kind, Recognised, Reset};
use card::kernel::{Ratio, DEFAULT_CLOCK, DEFAULT_INTERRUPT, DEFAULT_RESET};
use std::fmt::Write;
use units::StreamDirection;

/// A port of the manifest.
struct ManifestPort {
    name: String,
    bus: Bus,
}

/// An argument of the manifest.
struct ManifestArgument {
    name: String,
    kind: String,
    offset: u64,
    bytes: u64,
    /// Index of a pointer's memory port.
    port: Option<usize>,
    /// Index of the AXI4-Lite port with its register.
    bundle: usize,
}

/// A manifest under construction.
pub struct Draft<'a> {
    plan: &'a Plan,
    control: &'static str,
    memories: Vec<ManifestPort>,
    streams: Vec<ManifestPort>,
    bundles: Vec<ManifestPort>,
    arguments: Vec<ManifestArgument>,
    clocks: Vec<Clock>,
    reset: Option<Reset>,
    interrupt: Option<String>,
    /// Inputs tied to a constant level.
    constants: Vec<(String, bool)>,
    /// Open questions for the user, each a comment in the manifest.
    questions: Vec<String>,
}

struct Clock {
    name: String,
    ratio: Option<Ratio>,
    reset: Option<Reset>,
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

/// The head of a manifest: enough for Verilator to read the ports.
pub fn outline(plan: &Plan) -> String {
    let mut text = String::from(
        "# Made by `tombolo kernel import`; docs/kernels.md explains every key.\n\n[kernel]\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "name = {}", quoted(&plan.name));
    if !plan.origin.is_empty() {
        let _ = writeln!(text, "description = {}", quoted(&plan.origin));
    }
    let sources = plan
        .files
        .sources
        .iter()
        .map(|file| quoted(&format!("rtl/{}", file.name)));
    let sources: Vec<String> = sources.collect();
    let _ = writeln!(
        text,
        "top = {}\nsources = [\n  {},\n]",
        quoted(&plan.top),
        sources.join(",\n  ")
    );
    let include = plan
        .files
        .include
        .iter()
        .map(|folder| match folder.as_str() {
            "" => quoted("rtl"),
            folder => quoted(&format!("rtl/{folder}")),
        });
    let include: Vec<String> = include.collect();
    if !include.is_empty() {
        let _ = writeln!(text, "include = [{}]", include.join(", "));
    }
    text
}

/// The section of parameters, which follows the ports.
pub fn parameters(plan: &Plan) -> String {
    let mut text = String::new();
    if !plan.parameters.is_empty() {
        text.push_str("\n[parameters]\n");
        for (name, value) in &plan.parameters {
            let _ = writeln!(text, "{} = {value}", quoted(name));
        }
    }
    text
}

impl<'a> Draft<'a> {
    /// Combines the plan with the ports in the RTL.
    pub fn new(plan: &'a Plan, found: &Recognised) -> Result<Self, ImportError> {
        let disagrees = |reason: String| ImportError::Disagrees {
            path: plan.path.clone(),
            reason,
        };
        if let Some(reason) = found.refused.first() {
            return Err(disagrees(format!("module {}: {reason}", plan.top)));
        }
        let mut draft = Self {
            plan,
            control: "ap_ctrl_none",
            memories: Vec::new(),
            streams: Vec::new(),
            bundles: Vec::new(),
            arguments: Vec::new(),
            clocks: Vec::new(),
            reset: None,
            interrupt: None,
            constants: Vec::new(),
            questions: Vec::new(),
        };
        draft.take_buses(found).map_err(disagrees)?;
        draft.take_control(found);
        draft.take_constants(found);
        draft.take_clocks(found).map_err(disagrees)?;
        draft.take_arguments().map_err(disagrees)?;
        Ok(draft)
    }

    /// Open questions for the user.
    pub fn questions(&self) -> &[String] {
        &self.questions
    }

    /// The package's interface whose signals have this prefix.
    fn interface(&self, prefix: &str) -> Option<&str> {
        let of_prefix = |(_, signals): &(&String, &std::collections::BTreeMap<String, String>)| {
            signals.iter().any(|(logical, physical)| {
                let rest = physical.strip_prefix(prefix);
                rest.is_some_and(|rest| rest.eq_ignore_ascii_case(logical))
            })
        };
        let found = self.plan.component.buses.iter().find(of_prefix);
        found.map(|(name, _)| name.as_str())
    }

    /// Takes the ports of a kernel.xml, in its order, then the other ports of the RTL.
    fn take_buses(&mut self, found: &Recognised) -> Result<(), String> {
        let mut left: Vec<Bus> = found.buses.clone();
        if let Some(description) = &self.plan.description {
            let memory = |bus: &Bus| matches!(bus.kind, Kind::Memory { .. });
            let stream = |bus: &Bus| matches!(bus.kind, Kind::Stream { .. });
            let registers = |bus: &Bus| bus.kind == Kind::Registers;
            for port in &description.ports {
                let bus = self.take_bus(&mut left, &port.name, &memory)?;
                self.same_width(&port.name, port.data_width, &bus)?;
                self.memories.push(ManifestPort {
                    name: port.name.clone(),
                    bus,
                });
            }
            for port in &description.streams {
                let bus = self.take_bus(&mut left, &port.name, &stream)?;
                self.same_width(&port.name, port.data_width, &bus)?;
                self.streams.push(ManifestPort {
                    name: port.name.clone(),
                    bus,
                });
            }
            for name in &description.bundles {
                // Some descriptions list a control port although the kernel has no registers.
                if left.iter().any(registers) {
                    let bus = self.take_bus(&mut left, name, &registers)?;
                    self.bundles.push(ManifestPort {
                        name: name.clone(),
                        bus,
                    });
                }
            }
        }
        for bus in left {
            let name = self
                .interface(&bus.prefix)
                .unwrap_or(&bus.name())
                .to_ascii_lowercase();
            let port = ManifestPort { name, bus };
            match port.bus.kind {
                Kind::Memory { .. } => self.memories.push(port),
                Kind::Stream { .. } => self.streams.push(port),
                Kind::Registers => self.bundles.push(port),
            }
        }
        Ok(())
    }

    /// Takes the bus of a described port.
    fn take_bus(
        &self,
        left: &mut Vec<Bus>,
        name: &str,
        is_kind: &dyn Fn(&Bus) -> bool,
    ) -> Result<Bus, String> {
        let named = |bus: &Bus| {
            bus.is_named(name)
                || self
                    .interface(&bus.prefix)
                    .is_some_and(|interface| interface.eq_ignore_ascii_case(name))
        };
        let of_kind: Vec<usize> = (0..left.len()).filter(|at| is_kind(&left[*at])).collect();
        let by_name = of_kind.iter().copied().find(|at| named(&left[*at]));
        let only = (of_kind.len() == 1).then(|| of_kind[0]);
        match by_name.or(only) {
            Some(at) => Ok(left.remove(at)),
            None => Err(format!(
                "port `{name}` is described, and module {} has no bus of this name and kind; there is {}",
                self.plan.top,
                match left.as_slice() {
                    [] => "none".to_owned(),
                    buses => buses.iter().map(|bus| format!("`{}…`", bus.prefix)).collect::<Vec<_>>().join(", "),
                }
            )),
        }
    }

    fn same_width(&self, name: &str, described: u64, bus: &Bus) -> Result<(), String> {
        if described == u64::from(bus.data_width) {
            return Ok(());
        }
        Err(format!(
            "port `{name}` is described with {described} data bits, and module {} has {}: if a parameter decides that, give \
             it: --parameter NAME=VALUE",
            self.plan.top, bus.data_width
        ))
    }

    fn take_control(&mut self, found: &Recognised) {
        let guessed = match (self.bundles.is_empty(), self.plan.commented.is_empty()) {
            (true, _) => "ap_ctrl_none",
            (false, _) => "ap_ctrl_hs",
        };
        self.control = match (self.plan.control, self.bundles.is_empty()) {
            // Without registers there is no start signal.
            (Some(_), true) => "ap_ctrl_none",
            (Some(control), false) => control,
            (None, _) => guessed,
        };
        if self.plan.control.is_none() && !self.bundles.is_empty() {
            self.questions.push(format!(
                "what starts the kernel? Guessed: {guessed} (start and done in the register at 0x00). Others: ap_ctrl_chain, \
                 ap_ctrl_none (nothing), user_managed (a program that knows its registers)"
            ));
        }
        let said = self.plan.control.is_some();
        let is_it = |name: &String| !said || name == DEFAULT_INTERRUPT;
        let can = self.control != "ap_ctrl_none";
        self.interrupt = found.interrupt.clone().filter(|name| can && is_it(name));
        if let Some(name) = self
            .interrupt
            .as_ref()
            .filter(|name| *name != DEFAULT_INTERRUPT)
        {
            self.questions.push(format!(
                "is output {name} the kernel's interrupt? Assumed: yes. Otherwise: interrupt = false"
            ));
        }
    }

    /// Ties inputs that a slot does not drive.
    fn take_constants(&mut self, found: &Recognised) {
        if found.unknown.is_empty() {
            return;
        }
        self.questions.push(format!(
            "what do inputs hold that belong to no bus, clock or reset? Assumed: 0, each under [constants]: {}",
            found.unknown.join(", ")
        ));
        let zero = found.unknown.iter().map(|name| (name.clone(), false));
        self.constants.extend(zero);
    }

    fn take_clocks(&mut self, found: &Recognised) -> Result<(), String> {
        let Some(first) = found.clocks.first() else {
            return Err(format!(
                "module {} has no input that looks like a clock (clk, clock); write its kernel.toml by hand, with `clock`",
                self.plan.top
            ));
        };
        let mut resets = found.resets.clone();
        let take_reset = |resets: &mut Vec<Reset>, clock: &str| {
            let wanted = clock
                .to_ascii_lowercase()
                .replace("clock", "rst")
                .replace("clk", "rst");
            // `S_AXI_ARESETN` belongs to `S_AXI_ACLK`.
            let plain = |name: &str| {
                name.to_ascii_lowercase()
                    .replace("reset", "rst")
                    .replace('_', "")
                    .replace("rstn", "rst")
            };
            let at = resets
                .iter()
                .position(|reset| plain(&reset.name) == plain(&wanted))?;
            Some(resets.remove(at))
        };
        let own = take_reset(&mut resets, first);
        let hertz = |name: &str| self.plan.component.clocks.get(name).copied().flatten();
        for name in &found.clocks {
            let ratio = match (hertz(name), hertz(first)) {
                _ if name == first => Ratio::new(1, 1),
                (Some(other), Some(own)) => ratio_of(other, own),
                _ => None,
            };
            let reset = match name == first {
                true => own.clone(),
                false => take_reset(&mut resets, name),
            };
            if ratio.is_none() {
                self.questions.push(format!(
                    "how fast is clock {name}? Assumed: as fast as {first}. `ratio` is its frequency over that of {first}: \"2\", \"3/2\""
                ));
            }
            self.clocks.push(Clock {
                name: name.clone(),
                ratio,
                reset,
            });
        }
        // The remaining resets are assigned in order to the clocks without one.
        resets.reverse();
        for clock in self.clocks.iter_mut().filter(|clock| clock.reset.is_none()) {
            clock.reset = resets.pop();
        }
        for reset in resets {
            self.questions.push(format!(
                "which signal drives the additional reset input {}? Assumed: none, it is never active (under [constants])",
                reset.name
            ));
            self.constants.push((reset.name, !reset.is_high));
        }
        self.reset = self.clocks.first().and_then(|clock| clock.reset.clone());
        Ok(())
    }

    fn port_index(
        ports: &[ManifestPort],
        name: &str,
        interface: impl Fn(&ManifestPort) -> bool,
    ) -> Option<usize> {
        let named =
            |port: &ManifestPort| port.name.eq_ignore_ascii_case(name) || port.bus.is_named(name);
        ports
            .iter()
            .position(named)
            .or_else(|| ports.iter().position(interface))
    }

    fn take_arguments(&mut self) -> Result<(), String> {
        let plan = self.plan;
        if let Some(description) = &plan.description {
            for one in &description.arguments {
                // A kernel.xml names the memory port of a pointer, but not the port with its register.
                let packaged = plan
                    .component
                    .registers
                    .iter()
                    .find(|register| register.name == one.name);
                let bundle = packaged.and_then(|register| self.bundle_of(register));
                self.arguments.push(ManifestArgument {
                    name: one.name.clone(),
                    kind: one.kind.clone(),
                    offset: one.offset,
                    bytes: one.bytes,
                    port: one.port,
                    bundle: bundle.unwrap_or(one.bundle.min(self.bundles.len().saturating_sub(1))),
                });
            }
            return Ok(());
        }
        if self.bundles.is_empty() {
            return Ok(());
        }
        let possible = possible_pointers(&plan.component.registers);
        // One pointer per memory port, in order.
        let assumed = match possible.len() == self.memories.len() {
            true => possible.as_slice(),
            false => &[],
        };
        for register in &plan.component.registers {
            let port = match &register.port {
                None => assumed.iter().position(|name| **name == register.name),
                Some(name) => {
                    let same = |port: &ManifestPort| {
                        self.interface(&port.bus.prefix)
                            .is_some_and(|one| one.eq_ignore_ascii_case(name))
                    };
                    let index = Self::port_index(&self.memories, name, same);
                    Some(index.ok_or_else(|| {
                        format!(
                            "register `{}` is a pointer through `{name}`, which module {} has not",
                            register.name, plan.top
                        )
                    })?)
                }
            };
            self.push_register(register, port);
        }
        for register in &plan.commented {
            let port = (register.bytes == 8 && self.memories.len() == 1).then_some(0);
            self.push_register(register, port);
        }
        let known = !plan.component.registers.is_empty() || !plan.commented.is_empty();
        if !possible.is_empty() && !self.memories.is_empty() {
            let assumed = match assumed {
                [] => "none".to_owned(),
                names => names.join(", "),
            };
            self.questions.push(format!(
                "which arguments of 8 bytes are pointers, and through which port? The package does not say it. Assumed: \
                 {assumed}. `port` and `access` say it; a number has neither"
            ));
        }
        if !plan.commented.is_empty() {
            self.questions.push(
                "which arguments are pointers, and what does the kernel do with their memory? `port` and `access` say it; a \
                 number has neither"
                    .to_owned(),
            );
        }
        if !known && self.control != "user_managed" {
            let port = self
                .memories
                .first()
                .map_or("m_axi_gmem", |port| &port.name);
            self.questions.push(format!(
                "which registers hold arguments? For each:\n[[argument]]\nname = \"data\"\noffset = 0x10\nbytes = 8\n\
                 port = \"{port}\"        # a pointer; a number has no port and no access\naccess = \"read_write\""
            ));
        }
        Ok(())
    }

    fn bundle_of(&self, register: &Register) -> Option<usize> {
        let same = |port: &ManifestPort| {
            self.interface(&port.bus.prefix)
                .is_some_and(|one| one.eq_ignore_ascii_case(&register.bus))
        };
        Self::port_index(&self.bundles, &register.bus, same)
    }

    fn push_register(&mut self, register: &Register, port: Option<usize>) {
        let starts = matches!(self.control, "ap_ctrl_hs" | "ap_ctrl_chain");
        let bundle = self.bundle_of(register).unwrap_or(0);
        if !super::super::is_identifier(&register.name)
            || (starts && bundle == 0 && register.offset < 0x10)
        {
            return;
        }
        self.arguments.push(ManifestArgument {
            name: register.name.clone(),
            kind: String::new(),
            offset: register.offset,
            bytes: if port.is_some() {
                register.bytes.max(self.pointer_bytes(port))
            } else {
                register.bytes
            },
            port,
            bundle,
        });
    }

    fn pointer_bytes(&self, port: Option<usize>) -> u64 {
        let width = port
            .and_then(|port| self.memories.get(port))
            .map(|port| &port.bus.kind);
        match width {
            Some(Kind::Memory { address_width, .. }) if *address_width <= 32 => 4,
            _ => 8,
        }
    }

    /// The text of the manifest.
    pub fn text(&self) -> String {
        let mut text = outline(self.plan);
        let interrupt = match self.interrupt.as_deref() {
            None => "false".to_owned(),
            Some(DEFAULT_INTERRUPT) => "true".to_owned(),
            Some(name) => quoted(name),
        };
        let _ = writeln!(
            text,
            "control = \"{}\"\ninterrupt = {interrupt}",
            self.control
        );
        if let Some(first) = self
            .clocks
            .first()
            .filter(|clock| clock.name != DEFAULT_CLOCK)
        {
            let _ = writeln!(text, "clock = {}", quoted(&first.name));
        }
        text.push_str(&reset_keys(self.reset.as_ref(), DEFAULT_RESET));
        for clock in self.clocks.iter().skip(1) {
            let ratio = clock
                .ratio
                .map_or_else(|| "1".to_owned(), |ratio| ratio.to_string());
            let default = clock.name.strip_prefix("ap_clk").map_or_else(
                || format!("{}_rst_n", clock.name),
                |rest| format!("ap_rst_n{rest}"),
            );
            let _ = write!(
                text,
                "\n[[clock]]\nname = {}\nratio = \"{ratio}\"\n",
                quoted(&clock.name)
            );
            text.push_str(&reset_keys(clock.reset.as_ref(), &default));
        }
        for port in &self.memories {
            text.push_str(&port.head("axi4"));
            if let Kind::Memory {
                channels,
                address_width,
            } = &port.bus.kind
            {
                let _ = writeln!(
                    text,
                    "data_width = {}\naccess = \"{}\"",
                    port.bus.data_width,
                    access(channels.0, channels.1)
                );
                if *address_width != 64 {
                    let _ = writeln!(text, "address_width = {address_width}");
                }
            }
        }
        for port in &self.streams {
            text.push_str(&port.head("axi4_stream"));
            if let Kind::Stream {
                direction,
                drops,
                ids,
            } = &port.bus.kind
            {
                let way = if *direction == StreamDirection::In {
                    "in"
                } else {
                    "out"
                };
                let _ = writeln!(
                    text,
                    "direction = \"{way}\"\ndata_width = {}",
                    port.bus.data_width
                );
                if !drops.is_empty() {
                    let names: Vec<String> = drops.iter().map(|name| quoted(name)).collect();
                    let _ = writeln!(
                        text,
                        "# No device gets what the kernel sends there{}.\ndrops = [{}]",
                        if ids.is_empty() {
                            ""
                        } else {
                            "; another kernel gets TID and TDEST"
                        },
                        names.join(", ")
                    );
                }
                for (signal, width) in ids {
                    let _ = writeln!(text, "{signal}_width = {width}");
                }
            }
        }
        let plain = matches!(self.bundles.as_slice(), [only] if only.bus.is_named("s_axi_control") && only.bus.data_width == 32);
        // The port may be omitted, unless control and arguments are missing too: then the manifest would describe a
        // kernel without registers.
        let is_implied = plain && (self.control != "ap_ctrl_none" || !self.arguments.is_empty());
        for port in self.bundles.iter().filter(|_| !is_implied) {
            text.push_str(&port.head("axi4_lite"));
            if port.bus.data_width != 32 {
                let _ = writeln!(text, "data_width = {}", port.bus.data_width);
            }
        }
        for argument in &self.arguments {
            self.write_argument(argument, &mut text);
        }
        text.push_str(&parameters(self.plan));
        if !self.constants.is_empty() {
            text.push_str("\n[constants]\n");
            for (name, value) in &self.constants {
                let _ = writeln!(text, "{} = {}", quoted(name), u8::from(*value));
            }
        }
        for question in &self.questions {
            text.push('\n');
            for (number, line) in question.lines().enumerate() {
                let start = if number == 0 { "# QUESTION: " } else { "# " };
                let _ = writeln!(text, "{start}{line}");
            }
        }
        text
    }

    fn write_argument(&self, argument: &ManifestArgument, text: &mut String) {
        let _ = writeln!(text, "\n[[argument]]\nname = {}", quoted(&argument.name));
        if let (true, Some(bundle)) = (argument.bundle > 0, self.bundles.get(argument.bundle)) {
            let _ = writeln!(text, "bundle = {}", quoted(&bundle.name));
        }
        let _ = writeln!(
            text,
            "offset = 0x{:02x}\nbytes = {}",
            argument.offset, argument.bytes
        );
        if let Some(port) = argument.port.and_then(|port| self.memories.get(port)) {
            let channels = match &port.bus.kind {
                Kind::Memory { channels, .. } => *channels,
                _ => (true, true),
            };
            let _ = writeln!(
                text,
                "port = {}\naccess = \"{}\"",
                quoted(&port.name),
                access(channels.0, channels.1)
            );
        }
        if !argument.kind.is_empty() {
            let _ = writeln!(text, "description = {}", quoted(&argument.kind));
        }
    }
}

impl ManifestPort {
    fn head(&self, kind: &str) -> String {
        let mut text = format!(
            "\n[[port]]\nname = {}\nkind = \"{kind}\"\n",
            quoted(&self.name)
        );
        if !self.bus.is_named(&self.name) {
            let _ = writeln!(text, "prefix = {}", quoted(&self.bus.prefix));
        }
        text
    }
}

/// Keys for a reset that differs from the default.
fn reset_keys(reset: Option<&Reset>, default: &str) -> String {
    let Some(reset) = reset else {
        return "reset = \"absent\"\n".to_owned();
    };
    let mut text = String::new();
    if reset.is_high {
        text.push_str("reset = \"active_high\"\n");
    }
    if reset.name != default {
        let _ = writeln!(text, "reset_name = {}", quoted(&reset.name));
    }
    text
}

/// Two frequencies as a ratio of small integers, if there is one.
fn ratio_of(over: u64, under: u64) -> Option<Ratio> {
    (1..=Ratio::LARGEST).find_map(|part| {
        let product = u128::from(over) * u128::from(part);
        let whole = product
            .checked_div(u128::from(under))
            .filter(|_| product % u128::from(under) == 0)?;
        Ratio::new(u32::try_from(whole).ok()?, part)
    })
}

fn access(reads: bool, writes: bool) -> &'static str {
    match (reads, writes) {
        (true, false) => "read",
        (false, true) => "write",
        _ => "read_write",
    }
}

/// Registers of 8 bytes, which may be pointers, if the package does not assign registers to ports, as in an IP export
/// of HLS; empty if it does.
fn possible_pointers(registers: &[Register]) -> Vec<&str> {
    if registers.iter().any(|one| one.port.is_some()) {
        return Vec::new();
    }
    let wide = registers.iter().filter(|one| one.bytes == 8);
    wide.map(|one| one.name.as_str()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_may_be_pointers_if_none_is_tied_to_a_port() {
        let register = |name: &str, bytes, port: Option<&str>| Register {
            name: name.to_owned(),
            bus: "s_axi_control".to_owned(),
            offset: 0x10,
            bytes,
            port: port.map(str::to_owned),
        };
        let mut registers = vec![
            register("input", 8, None),
            register("length", 4, None),
            register("output", 8, None),
        ];
        assert_eq!(possible_pointers(&registers), ["input", "output"]);
        registers.push(register("table", 8, Some("m_axi_gmem")));
        assert_eq!(possible_pointers(&registers), [""; 0]);
    }

    #[test]
    fn frequencies_are_ratios_of_small_numbers() {
        assert_eq!(ratio_of(500_000_000, 300_000_000), Ratio::new(5, 3));
        assert_eq!(ratio_of(100_000_000, 300_000_000), Ratio::new(1, 3));
        assert_eq!(ratio_of(1_000_003, 1_000_000), None);
    }
}
