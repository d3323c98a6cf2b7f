//! `package_kernel.tcl`: extracts a kernel's properties from the calls of a packaging script, without running it.

use super::component::{Component, Register};
use super::description::number;
use super::rtl::RtlFile;
use std::collections::BTreeMap;

/// The component that a script packages, together with the scripts that it sources; `None` if it packages none.
pub fn read(text: &str, others: &[RtlFile]) -> Option<Component> {
    let mut script = Script::default();
    script.read_text(text, others, 0);
    script.finish()
}

/// Scripts that source each other, at most.
const DEPTH: usize = 4;

/// A text with the values of variables that are known.
fn substituted(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut parts = text.split('$');
    let mut made = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let inner = part.strip_prefix('{').and_then(|part| part.split_once('}'));
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = inner
            .unwrap_or_else(|| part.split_at(part.find(|c| !is_word(c)).unwrap_or(part.len())));
        match variables.get(name) {
            Some(value) => {
                made.push_str(value);
                made.push_str(behind);
            }
            None => {
                made.push('$');
                made.push_str(part);
            }
        }
    }
    made
}

/// Whether a file is among those that a script adds. A pattern is relative to a folder that is unknown here, the script's
/// or one above it, and names lack the folders that all files share: as many last parts as both have are compared.
pub fn adds(patterns: &[String], name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let (_, folders) = parts.split_last().unwrap_or((&"", &[]));
    patterns.iter().any(|pattern| {
        let pattern = pattern
            .split('/')
            .filter(|part| !matches!(*part, "." | ".." | ""));
        let pattern: Vec<&str> = pattern.collect();
        let fits = |parts: &[&str]| {
            let mut pairs = pattern.iter().rev().zip(parts.iter().rev());
            !pattern.is_empty() && !parts.is_empty() && pairs.all(|(one, part)| matches(one, part))
        };
        // A folder adds the files in it.
        fits(&parts) || fits(folders)
    })
}

/// `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((before, behind)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let rest = text.strip_prefix(before);
    rest.is_some_and(|rest| {
        (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|rest| matches(behind, rest)))
    })
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
    variables: BTreeMap<String, String>,
    /// Something is added that is not known here.
    adds_unknown: bool,
}

impl Script {
    fn read_text(&mut self, text: &str, others: &[RtlFile], depth: usize) {
        for line in text.replace("\\\n", " ").lines() {
            let line = substituted(line, &self.variables);
            let line = line.replace("[pwd]", ".");
            self.remember(&line);
            let words = words(&line);
            self.add(&words);
            if let ([source, .., path], true) = (words.as_slice(), depth < DEPTH) {
                let name = path.rsplit('/').next().unwrap_or(path);
                let is_it = |file: &&RtlFile| {
                    file.kind() == "tcl" && file.name.rsplit('/').next() == Some(name)
                };
                let other = others.iter().find(is_it).filter(|_| source == "source");
                if let Some(other) = other {
                    self.read_text(&String::from_utf8_lossy(&other.bytes), others, depth + 1);
                }
            }
            self.read(&words);
        }
    }

    /// `set NAME VALUE`, where the value is a text or a path.
    fn remember(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let (Some("set"), Some(name)) = (words.next(), words.next()) else {
            return;
        };
        let value: Vec<&str> = words.collect();
        let value = value.join(" ");
        let value = value.trim_matches('"');
        let value = value
            .strip_prefix("[file normalize")
            .map_or(value, |inner| {
                inner.trim_end_matches(']').trim().trim_matches('"')
            });
        match value.contains(['[', '$', '{', ' ', ';']) {
            true => self.variables.remove(name),
            false => self.variables.insert(name.to_owned(), value.to_owned()),
        };
    }

    /// `add_files`, `read_verilog`: names, or patterns in `[glob …]`.
    fn add(&mut self, words: &[String]) {
        let Some((command, rest)) = words.split_first() else {
            return;
        };
        if !matches!(command.as_str(), "add_files" | "read_verilog" | "read_vhdl") {
            return;
        }
        let mut rest = rest.iter();
        while let Some(word) = rest.next() {
            match word.as_str() {
                "-fileset" | "-library" | "-scan_for_includes" => drop(rest.next()),
                "glob" => {}
                option if option.starts_with('-') => {}
                unknown if unknown.contains('$') => self.adds_unknown = true,
                name => self.component.added.push(name.to_owned()),
            }
        }
    }

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
        if self.adds_unknown {
            self.component.added.clear();
        }
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
        let component = read(TEXT, &[]).unwrap();
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
        assert!(read("puts hello", &[]).is_none());
    }

    #[test]
    fn variables_and_sourced_scripts_are_followed() {
        let inner = RtlFile {
            name: "scripts/package.tcl".to_owned(),
            bytes: b"set hdl \"${root}/src\"\nset top k2\nadd_files -norecurse [glob $hdl/*.v ${hdl}/*.sv]\n\
                     add_files -fileset sim ./one.v\nset_property top ${top} [current_fileset]\n\
                     ipx::package_project -root_dir $out\n"
                .to_vec(),
        };
        let outer = "set root [file normalize \".\"]\nset xo [lindex $argv 0]\nsource -notrace ./scripts/package.tcl\n\
                     package_xo -xo_path $xo -kernel_name k";
        let component = read(outer, &[inner]).unwrap();
        assert_eq!(component.name, "k");
        assert_eq!(component.top.as_deref(), Some("k2"));
        assert_eq!(component.added, ["./src/*.v", "./src/*.sv", "./one.v"]);
        let unknown = "add_files a.v\nadd_files $where/b.v\npackage_xo -kernel_name k";
        assert!(read(unknown, &[]).unwrap().added.is_empty());
    }

    #[test]
    fn files_are_added_by_name_by_pattern_and_by_folder() {
        let patterns = ["./src/*.v", "../common/part.sv", "all"].map(str::to_owned);
        for (name, is_added) in [
            ("src/a.v", true),
            ("hw/src/a.v", true),
            ("src/a.sv", false),
            ("src/deeper/a.v", false),
            ("common/part.sv", true),
            ("other/part.sv", false),
            ("all/x.sv", true),
            ("all/deeper/x.sv", false),
            ("x.v", true),
            ("x.sv", false),
            ("part.sv", true),
        ] {
            assert_eq!(adds(&patterns, name), is_added, "{name}");
        }
    }
}
