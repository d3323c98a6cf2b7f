//! `component.xml`: an IP package's description (IP-XACT).

use super::description::{control_word, number, ImportError};
use super::xml::Element;
use std::collections::BTreeMap;
use std::path::Path;

/// The parts of a component that an import uses.
#[derive(Debug, Default)]
pub struct Component {
    /// `vendor:library:name:version`.
    pub origin: String,
    /// Name of the IP core.
    pub name: String,
    /// Top module, if given.
    pub top: Option<String>,
    /// Files of the synthesis view, relative to the component's folder, in its order; empty without such a view.
    pub files: Vec<String>,
    /// Files and folders that a packaging script adds, as it writes them (`./src/hdl/*.v`); empty if one of them is unknown.
    pub added: Vec<String>,
    /// Parameters of the top module, as packaged.
    pub parameters: BTreeMap<String, String>,
    /// Buses by name, with the top's name of each signal.
    pub buses: BTreeMap<String, BTreeMap<String, String>>,
    /// Clocks by port, with their frequency in hertz, if given.
    pub clocks: BTreeMap<String, Option<u64>>,
    /// Registers by their bus, in order of offset.
    pub registers: Vec<Register>,
    /// `ap_ctrl_hs` and the like, if given.
    pub control: Option<String>,
    /// Whether a register is listed that starts the kernel.
    pub has_start: bool,
}

/// A register of the memory map.
#[derive(Debug, PartialEq, Eq)]
pub struct Register {
    pub name: String,
    /// Name of the memory map, which is that of the bus.
    pub bus: String,
    /// Offset in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// The memory port of a pointer argument.
    pub port: Option<String>,
}

/// Registers that are not arguments.
const CONTROL: [&str; 14] = [
    "CTRL",
    "AP_CTRL",
    "GIER",
    "GIE",
    "IP_IER",
    "IER",
    "IP_ISR",
    "ISR",
    "CONTROL",
    "USER_CTRL",
    "AP_CTRL_R",
    "IER_R",
    "ISR_R",
    "GIER_R",
];

impl Component {
    /// Parses a component; `path` names it in errors.
    pub fn parse(path: &Path, text: &str) -> Result<Self, ImportError> {
        let root = Element::parse(path, text)?;
        let part = |name: &str| root.text_at(&[name]).to_owned();
        let name = part("name");
        let mut component = Self {
            origin: [
                part("vendor"),
                part("library"),
                name.clone(),
                part("version"),
            ]
            .join(":"),
            name,
            ..Self::default()
        };
        if component.origin == ":::" {
            component.origin.clear();
        }
        component.read_model(&root);
        component.read_buses(&root);
        component.read_registers(&root);
        let extensions = root
            .at(&["vendorExtensions", "coreExtensions"])
            .or(root.at(&["vendorExtensions"]));
        if let Some(extensions) = extensions {
            let found = ["sdx_kernel_type", "control_protocol"];
            let mut found = found.iter().map(|name| extensions.text_at(&[name]));
            component.control = found
                .rfind(|text| control_word(text).is_some())
                .map(str::to_owned);
        }
        Ok(component)
    }

    fn read_model(&mut self, root: &Element) {
        let Some(model) = root.at(&["model"]) else {
            return;
        };
        let views: Vec<&Element> = model
            .at(&["views"])
            .map(|views| views.all("view").collect())
            .unwrap_or_default();
        let synthesis = |view: &&Element| {
            let said = format!(
                "{} {}",
                view.text_at(&["name"]),
                view.text_at(&["envIdentifier"])
            );
            said.to_ascii_lowercase().contains("synthesis")
        };
        let with_top = |view: &&&Element| !view.text_at(&["modelName"]).is_empty();
        let view = views
            .iter()
            .filter(with_top)
            .find(|view| synthesis(view))
            .or_else(|| views.iter().find(with_top));
        self.top = view.map(|view| view.text_at(&["modelName"]).to_owned());
        let sets: BTreeMap<&str, &Element> = root
            .at(&["fileSets"])
            .map(|sets| {
                sets.all("fileSet")
                    .map(|set| (set.text_at(&["name"]), set))
                    .collect()
            })
            .unwrap_or_default();
        for view in views.iter().filter(|view| synthesis(view)) {
            for reference in view.all("fileSetRef") {
                let Some(set) = sets.get(reference.text_at(&["localName"])) else {
                    continue;
                };
                for file in set.all("file") {
                    let name = file.text_at(&["name"]).trim_start_matches("./").to_owned();
                    if !self.files.contains(&name) {
                        self.files.push(name);
                    }
                }
            }
        }
        if let Some(list) = model.at(&["modelParameters"]) {
            for parameter in list.all("modelParameter") {
                let value = parameter.text_at(&["value"]);
                if !value.is_empty() {
                    self.parameters
                        .insert(parameter.text_at(&["name"]).to_owned(), value.to_owned());
                }
            }
        }
    }

    fn read_buses(&mut self, root: &Element) {
        let Some(list) = root.at(&["busInterfaces"]) else {
            return;
        };
        for bus in list.all("busInterface") {
            let maps = bus.at(&["portMaps"]);
            let pairs = maps
                .into_iter()
                .flat_map(|maps| maps.all("portMap"))
                .map(|map| {
                    let logical = map.text_at(&["logicalPort", "name"]).to_ascii_lowercase();
                    (logical, map.text_at(&["physicalPort", "name"]).to_owned())
                });
            let signals: BTreeMap<String, String> = pairs.collect();
            let kind = bus.at(&["busType"]).and_then(|kind| kind.attribute("name"));
            if kind == Some("clock") {
                if let Some(port) = signals.values().next() {
                    let hertz = bus.parameter("FREQ_HZ").and_then(number);
                    self.clocks
                        .insert(port.clone(), hertz.filter(|hertz| *hertz > 0));
                }
            }
            self.buses
                .insert(bus.text_at(&["name"]).to_owned(), signals);
        }
    }

    fn read_registers(&mut self, root: &Element) {
        let maps = root
            .at(&["memoryMaps"])
            .into_iter()
            .flat_map(|maps| maps.all("memoryMap"));
        for map in maps {
            let bus = map.text_at(&["name"]);
            for block in map.all("addressBlock") {
                for register in block.all("register") {
                    self.read_register(bus, register);
                }
            }
        }
        self.registers
            .sort_by(|a, b| (&a.bus, a.offset).cmp(&(&b.bus, b.offset)));
        self.join_halves();
    }

    fn read_register(&mut self, bus: &str, register: &Element) {
        let name = register.text_at(&["name"]).to_owned();
        let offset = number(register.text_at(&["addressOffset"]));
        let is_control = CONTROL.contains(&name.to_ascii_uppercase().as_str());
        self.has_start |= is_control && offset == Some(0);
        let (Some(offset), false) = (offset, is_control) else {
            return;
        };
        let bits = number(register.text_at(&["size"])).unwrap_or(32);
        self.registers.push(Register {
            name,
            bus: bus.to_owned(),
            offset,
            bytes: bits.div_ceil(32).max(1) * 4,
            port: register.parameter("ASSOCIATED_BUSIF").map(str::to_owned),
        });
    }

    /// HLS lists a 64-bit register as `x_1` and `x_2`, 4 bytes apart: they are joined.
    fn join_halves(&mut self) {
        let mut joined: Vec<Register> = Vec::with_capacity(self.registers.len());
        for register in self.registers.drain(..) {
            if let (Some(last), Some(base)) = (joined.last_mut(), register.name.strip_suffix("_2"))
            {
                let of_first = last.name.strip_suffix("_1") == Some(base);
                if of_first
                    && last.bus == register.bus
                    && last.offset + 4 == register.offset
                    && last.bytes == 4
                {
                    last.name = base.to_owned();
                    last.bytes = 8;
                    last.port = last.port.take().or(register.port);
                    continue;
                }
            }
            joined.push(register);
        }
        self.registers = joined;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"<spirit:component xmlns:spirit="x" xmlns:xilinx="y">
<spirit:vendor>me</spirit:vendor><spirit:library>own</spirit:library><spirit:name>k</spirit:name><spirit:version>1.0</spirit:version>
<spirit:busInterfaces><spirit:busInterface><spirit:name>m00_axi</spirit:name>
 <spirit:portMaps><spirit:portMap><spirit:logicalPort><spirit:name>AWVALID</spirit:name></spirit:logicalPort>
 <spirit:physicalPort><spirit:name>M00_AXI_awvalid</spirit:name></spirit:physicalPort></spirit:portMap></spirit:portMaps></spirit:busInterface>
<spirit:busInterface><spirit:name>ap_clk_2</spirit:name><spirit:busType spirit:name="clock"/>
 <spirit:portMaps><spirit:portMap><spirit:logicalPort><spirit:name>CLK</spirit:name></spirit:logicalPort>
 <spirit:physicalPort><spirit:name>ap_clk_2</spirit:name></spirit:physicalPort></spirit:portMap></spirit:portMaps>
 <spirit:parameters><spirit:parameter><spirit:name>FREQ_HZ</spirit:name><spirit:value>500000000</spirit:value></spirit:parameter></spirit:parameters>
</spirit:busInterface></spirit:busInterfaces>
<spirit:memoryMaps><spirit:memoryMap><spirit:name>s_axi_control</spirit:name><spirit:addressBlock>
 <spirit:register><spirit:name>CTRL</spirit:name><spirit:addressOffset>0x0</spirit:addressOffset></spirit:register>
 <spirit:register><spirit:name>n</spirit:name><spirit:addressOffset>0x20</spirit:addressOffset><spirit:size>32</spirit:size></spirit:register>
 <spirit:register><spirit:name>a_2</spirit:name><spirit:addressOffset>0x14</spirit:addressOffset><spirit:size>32</spirit:size></spirit:register>
 <spirit:register><spirit:name>a_1</spirit:name><spirit:addressOffset>0x10</spirit:addressOffset><spirit:size>32</spirit:size>
  <spirit:parameters><spirit:parameter><spirit:name>ASSOCIATED_BUSIF</spirit:name><spirit:value>m00_axi</spirit:value></spirit:parameter></spirit:parameters></spirit:register>
</spirit:addressBlock></spirit:memoryMap></spirit:memoryMaps>
<spirit:model><spirit:views><spirit:view><spirit:name>xilinx_anylanguagesynthesis</spirit:name><spirit:modelName>k_top</spirit:modelName>
 <spirit:fileSetRef><spirit:localName>fs</spirit:localName></spirit:fileSetRef></spirit:view></spirit:views>
 <spirit:modelParameters><spirit:modelParameter><spirit:name>W</spirit:name><spirit:value>64</spirit:value></spirit:modelParameter></spirit:modelParameters></spirit:model>
<spirit:fileSets><spirit:fileSet><spirit:name>fs</spirit:name><spirit:file><spirit:name>src/k.v</spirit:name></spirit:file></spirit:fileSet></spirit:fileSets>
</spirit:component>"#;

    #[test]
    fn a_component_says_what_a_kernel_xml_would() {
        let component = Component::parse(Path::new("component.xml"), TEXT).unwrap();
        assert_eq!(component.origin, "me:own:k:1.0");
        assert_eq!(component.top.as_deref(), Some("k_top"));
        assert_eq!(component.files, ["src/k.v"]);
        assert_eq!(component.parameters["W"], "64");
        assert_eq!(component.clocks["ap_clk_2"], Some(500_000_000));
        assert_eq!(component.buses["m00_axi"]["awvalid"], "M00_AXI_awvalid");
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
            [("a", 0x10, 8, Some("m00_axi")), ("n", 0x20, 4, None)]
        );
    }
}
