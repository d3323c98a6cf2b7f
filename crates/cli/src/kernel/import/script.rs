//! `package_kernel.tcl`: extracts a kernel's properties from the calls of a packaging script, without running it.

use super::component::{Component, Register};
use super::description::number;

/// The component that a script packages; `None` if it packages none.
pub fn read(text: &str) -> Option<Component> {
    let mut script = Script::default();
    for line in text.replace("\\\n", " ").lines() {
        script.read(&words(line));
    }
    script.finish()
}

/// Words of a line up to a comment, without brackets, braces and quotes.
fn words(line: &str) -> Vec<String> {
    let line = line.trim();
    if line.starts_with('#') {
        return Vec::new();
    }
    let plain: String = line
        .chars()
        .map(|c| {
            if matches!(c, '[' | ']' | '{' | '}' | '"' | ';') {
                ' '
            } else {
                c
            }
        })
        .collect();
    let words = plain.split_whitespace();
    words
        .map(|word| word.trim_start_matches("::").to_owned())
        .collect()
}

#[derive(Default)]
struct Script {
    component: Component,
    packages: bool,
    /// Whether the value of the last register's port parameter is still to come.
    awaits_port: bool,
}

impl Script {
    fn read(&mut self, words: &[String]) {
        let at = |name: &str| words.iter().position(|word| word == name);
        let after = |name: &str| {
            at(name)
                .and_then(|at| words.get(at + 1))
                .map(String::as_str)
        };
        // A variable of the script is not a name.
        let literal = |name: &str| after(name).filter(|word| !word.starts_with('$'));
        if at("package_xo").is_some() || at("ipx::package_project").is_some() {
            self.packages = true;
        }
        if let Some(name) = literal("-kernel_name") {
            self.component.name = name.to_owned();
        }
        if let Some(control) = literal("-ctrl_protocol") {
            self.component.control = Some(control.to_owned());
        }
        if let Some(top) = literal("top").filter(|_| at("set_property").is_some()) {
            self.component.top = Some(top.to_owned());
        }
        if let Some(protocol) = literal("sdx_kernel_type").or(literal("control_protocol")) {
            if protocol.starts_with("ap_ctrl") || protocol == "user_managed" {
                self.component.control = Some(protocol.to_owned());
            }
        }
        if at("ipx::infer_bus_interface").is_some() || at("ipx::associate_bus_interfaces").is_some()
        {
            let clock = words.iter().find(|word| word.starts_with("ap_clk_"));
            if let Some(clock) = clock {
                self.component.clocks.entry(clock.clone()).or_insert(None);
            }
        }
        let register = literal("ipx::add_register");
        if let Some(name) = register.filter(|name| !name.starts_with('-')) {
            self.component.registers.push(Register {
                name: name.to_owned(),
                bus: String::new(),
                offset: 0,
                bytes: 4,
                port: None,
            });
            self.awaits_port = false;
        }
        let Some(last) = self.component.registers.last_mut() else {
            return;
        };
        if let Some(offset) = after("address_offset").and_then(number) {
            last.offset = offset;
        }
        if let Some(bits) = after("size").and_then(number) {
            last.bytes = bits.div_ceil(32).max(1) * 4;
        }
        if at("ipx::add_register_parameter").is_some() && at("ASSOCIATED_BUSIF").is_some() {
            self.awaits_port = true;
        }
        if let (true, Some(port)) = (
            self.awaits_port && at("set_property").is_some(),
            literal("value"),
        ) {
            last.port = Some(port.to_owned());
            self.awaits_port = false;
        }
    }

    fn finish(mut self) -> Option<Component> {
        let is_argument = |register: &Register| {
            let name = register.name.to_ascii_uppercase();
            !matches!(
                name.as_str(),
                "CTRL" | "USER_CTRL" | "GIER" | "IP_IER" | "IP_ISR"
            )
        };
        let all = self.component.registers.len();
        self.component.registers.retain(is_argument);
        self.component.has_start = self.component.registers.len() < all;
        self.component
            .registers
            .sort_by_key(|register| register.offset);
        self.packages.then_some(self.component)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
# package_xo -kernel_name wrong
set core [ipx::package_project -root_dir $path -vendor me -library own -taxonomy /K]
set_property top adder_top [current_fileset]
ipx::associate_bus_interfaces -busif m00_axi -clock ap_clk $core
ipx::infer_bus_interface ap_clk_2 xilinx.com:signal:clock_rtl:1.0 $core
set reg [::ipx::add_register "CTRL" $addr_block]
set_property address_offset 0x000 $reg
set reg      [ipx::add_register "n" $addr_block]
  set_property address_offset {0x010} $reg
  set_property size           32    $reg
set reg      [ipx::add_register "data" $addr_block]
  set_property address_offset 0x18 $reg
  set_property size           {64}   $reg
  set regparam [::ipx::add_register_parameter -quiet {ASSOCIATED_BUSIF} $reg]
  set_property value {m00_axi} $regparam
package_xo -xo_path ${xoname} -kernel_name adder \
  -ctrl_protocol ap_ctrl_chain -ip_directory $path
"#;

    #[test]
    fn the_calls_that_matter_are_read() {
        let component = read(TEXT).unwrap();
        assert_eq!(component.name, "adder");
        assert_eq!(component.top.as_deref(), Some("adder_top"));
        assert_eq!(component.control.as_deref(), Some("ap_ctrl_chain"));
        assert!(component.clocks.contains_key("ap_clk_2"));
        let seen: Vec<_> = (component.registers.iter())
            .map(|one| {
                (
                    one.name.as_str(),
                    one.offset,
                    one.bytes,
                    one.port.as_deref(),
                )
            })
            .collect();
        assert_eq!(
            seen,
            [("n", 0x10, 4, None), ("data", 0x18, 8, Some("m00_axi"))]
        );
        assert!(read("puts hello").is_none());
    }
}
