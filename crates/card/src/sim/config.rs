//! The configuration of a shell, as `tmb_pkg::shell_cfg_t` has it.

use serde::{Deserialize, Serialize};

/// How kernels' addresses become card addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Translator {
    /// L1 TLB, page-table walker, faults.
    #[default]
    Paged,
    /// Virtual address = card address (the physical baseline).
    Identity,
}

/// Mirror of `shell_cfg_t`; the defaults are those of `DefaultShellCfg`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellConfig {
    /// Slots.
    pub slots: u8,
    /// AXI4 ports of each slot.
    pub ports_per_slot: u8,
    /// Memory channels, a power of two.
    pub channels: u8,
    /// log2 of the bytes of address space of a channel.
    pub channel_bytes_log2: u8,
    /// Address spaces.
    pub spaces: u8,
    /// Kind of translation.
    pub translator: Translator,
    /// log2(page bytes) of the L1 TLB.
    pub l1_page_bits: u8,
    /// log2(sets) of the L1 TLB.
    pub l1_sets_log2: u8,
    /// Ways of the L1 TLB.
    pub l1_ways: u8,
    /// Bursts a stream may hold.
    pub park_depth: u8,
    /// Walks in flight.
    pub max_walks: u8,
    /// Faults a stream may report beyond its oldest.
    pub look_ahead: u8,
    /// Rows of a port's read buffer.
    pub read_buffer_rows: u16,
    /// Rows of a port's write buffer.
    pub write_buffer_rows: u16,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            slots: 1,
            ports_per_slot: 2,
            channels: 2,
            channel_bytes_log2: 34,
            spaces: 4,
            translator: Translator::Paged,
            l1_page_bits: 21,
            l1_sets_log2: 5,
            l1_ways: 2,
            park_depth: 64,
            max_walks: 64,
            look_ahead: 8,
            read_buffer_rows: 512,
            write_buffer_rows: 256,
        }
    }
}

impl ShellConfig {
    /// Ports of all slots.
    pub fn ports(&self) -> u32 {
        u32::from(self.slots) * u32::from(self.ports_per_slot)
    }

    /// The rule that the configuration breaks, if any.
    pub fn broken_rule(&self) -> Option<String> {
        let channel_bits = self.channels.max(1).ilog2() + u32::from(self.channel_bytes_log2);
        if self.slots == 0 || self.slots > 16 {
            Some(format!("slots = {}: 1 to 16 are possible", self.slots))
        } else if self.ports_per_slot == 0 || self.ports() > 128 {
            Some(format!("{} ports: 1 to 128 are possible", self.ports()))
        } else if !self.channels.is_power_of_two() {
            Some(format!(
                "channels = {}: must be a power of two",
                self.channels
            ))
        } else if channel_bits > 37 || self.channel_bytes_log2 < 20 {
            Some(format!(
                "{} channels of 2^{} bytes: card addresses have 37 bits, and a channel at least \
                 2^20 bytes",
                self.channels, self.channel_bytes_log2
            ))
        } else if self.spaces == 0 || self.spaces > 16 {
            Some(format!("spaces = {}: 1 to 16 are possible", self.spaces))
        } else {
            None
        }
    }

    /// The configuration as a SystemVerilog assignment pattern.
    pub fn to_system_verilog(&self) -> String {
        let translator = match self.translator {
            Translator::Paged => "tmb_pkg::TranslatorPaged",
            Translator::Identity => "tmb_pkg::TranslatorIdentity",
        };
        let fields = [
            ("NumSlots", self.slots.to_string()),
            ("PortsPerSlot", self.ports_per_slot.to_string()),
            ("NumChannels", self.channels.to_string()),
            ("ChannelBytesLog2", self.channel_bytes_log2.to_string()),
            ("NumSpaces", self.spaces.to_string()),
            ("Translator", translator.to_owned()),
            ("L1PageBits", self.l1_page_bits.to_string()),
            ("L1SetsLog2", self.l1_sets_log2.to_string()),
            ("L1Ways", self.l1_ways.to_string()),
            ("ParkDepth", self.park_depth.to_string()),
            ("MaxWalks", self.max_walks.to_string()),
            ("LookAhead", self.look_ahead.to_string()),
            ("ReadBufferRows", self.read_buffer_rows.to_string()),
            ("WriteBufferRows", self.write_buffer_rows.to_string()),
        ];
        let fields: Vec<String> = fields
            .iter()
            .map(|(name, value)| format!("    {name}: {value}"))
            .collect();
        format!("'{{\n{}\n  }}", fields.join(",\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_has_every_field_of_the_package() {
        let package = include_str!(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../rtl/lib/tmb_pkg.sv"
        ));
        let (_, default) = package.split_once("DefaultShellCfg = '{").unwrap();
        let (default, _) = default.split_once("};").unwrap();
        let wanted: String = default.split_whitespace().collect();
        let ours = ShellConfig::default().to_system_verilog();
        let ours = ours.replace("tmb_pkg::", "");
        let ours = ours.trim_start_matches("'{").trim_end_matches('}');
        assert_eq!(ours.split_whitespace().collect::<String>(), wanted);
    }

    #[test]
    fn illegal_configurations_name_the_rule() {
        let config = ShellConfig {
            channels: 3,
            ..ShellConfig::default()
        };
        assert!(config.broken_rule().unwrap().contains("power of two"));
        assert_eq!(ShellConfig::default().broken_rule(), None);
    }
}
