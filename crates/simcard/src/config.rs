//! The configuration of a shell, a mirror of `tmb_pkg::shell_cfg_t`.

use crate::signals::Signal;
use card::L1Reach;
use serde::{Deserialize, Serialize};
use units::{PageSize, PageSizes};

/// Translation of the kernels' addresses to card addresses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Translator {
    /// L1 TLBs, page-table walker, page faults.
    #[default]
    Paged,
    /// Virtual address = card address (the physical baseline).
    Identity,
    /// Segments, as in AmorphOS: the first L1 TLB of a lane has a segment per way, each for a page of any size; a
    /// miss is a fault, and bursts of slots leave row by row. Needs `max_walks = 0`, and one L1 TLB with `page_bits =
    /// 12` and `sets_log2 = 0`.
    Segment,
}

/// One L1 TLB of each address lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct L1Config {
    /// log2(page bytes), 12 to 30.
    pub page_bits: u8,
    /// log2(sets).
    pub sets_log2: u8,
    /// Ways, at least 1.
    pub ways: u8,
}

/// Arbitration policy of a memory channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChannelPolicy {
    /// The DMA engine has priority for at most `dma_share` grants in a row while others wait; the others take turns.
    #[default]
    Preferred,
    /// Weighted round robin: the DMA engine has `dma_share` grants in a round, the others one each.
    Weighted,
    /// Round robin with equal weights.
    RoundRobin,
}

/// The directory of a shell that keeps a CPU's copies of lines coherent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DirectoryConfig {
    /// Link channel pairs: 1 or 2.
    pub slices: u8,
    /// Units of a slice, a power of two from 2 to 32.
    pub units: u8,
    /// Sets of a unit, a power of two.
    pub sets: u16,
    /// Ways of a set, a power of two.
    pub ways: u8,
}

impl DirectoryConfig {
    /// One slice of two units for 1,024 lines: a small model that builds fast.
    pub const SMALL: Self = Self {
        slices: 1,
        units: 2,
        sets: 64,
        ways: 8,
    };

    /// Entries for every line of a last-level cache of 16 MiB, in two slices of four units.
    pub const FULL: Self = Self {
        slices: 2,
        units: 4,
        sets: 1024,
        ways: 16,
    };

    fn broken_rule(&self) -> Option<String> {
        let Self {
            slices,
            units,
            sets,
            ways,
        } = *self;
        if !(1..=2).contains(&slices) {
            return Some(format!("directory.slices = {slices}: 1 or 2 are possible"));
        }
        if !units.is_power_of_two() || !(2..=32).contains(&units) {
            return Some(format!(
                "directory.units = {units}: a power of two from 2 to 32 is possible"
            ));
        }
        if !sets.is_power_of_two() || !ways.is_power_of_two() || sets < 2 || ways < 2 {
            return Some(format!(
                "directory.sets = {sets}, directory.ways = {ways}: powers of two from 2 on are possible"
            ));
        }
        let places = u32::from(units) * u32::from(sets) * u32::from(ways);
        (places > 1 << 16).then(|| {
            format!("a directory of {places} lines a slice: 65536, what IDs of 16 bits name, is the most")
        })
    }
}

/// The card's cache of lines whose home is the CPU, one per slice of the link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CacheConfig {
    /// Sets, a power of two, at least 8.
    pub sets: u16,
    /// Ways of a set, a power of two.
    pub ways: u8,
    /// Cycles for which a line may be held once another agent requests it.
    pub hold_limit: u16,
}

impl CacheConfig {
    /// 256 lines per slice, 32 KiB.
    pub const DEFAULT: Self = Self {
        sets: 64,
        ways: 4,
        hold_limit: 1024,
    };

    fn broken_rule(&self) -> Option<String> {
        let Self {
            sets,
            ways,
            hold_limit,
        } = *self;
        if !sets.is_power_of_two() || !ways.is_power_of_two() || sets < 8 || ways < 2 {
            return Some(format!(
                "cache.sets = {sets}, cache.ways = {ways}: powers of two from 8 and from 2 on are possible"
            ));
        }
        (hold_limit == 0).then(|| "cache.hold_limit = 0: at least a cycle".to_owned())
    }
}

/// Mirror of `shell_cfg_t`; the defaults equal `DefaultShellCfg`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ShellConfig {
    /// Number of slots.
    pub slots: u8,
    /// Ports per slot: AXI4 ports first, then one for each stream pair.
    pub ports_per_slot: u8,
    /// Stream pairs (one stream in, one out) per slot, at most its ports.
    pub streams_per_slot: u8,
    /// Network interfaces: each has a stream out to the network, one in from it, and its own link. They need stream
    /// pairs of slots.
    pub network_pairs: u8,
    /// Bits of TID that pass from kernel to kernel: 0 to 16.
    pub tid_width: u8,
    /// Bits of TDEST, likewise.
    pub tdest_width: u8,
    /// Memory channels, a power of two.
    pub channels: u8,
    /// Address space of a channel in bytes (log2).
    pub channel_bytes_log2: u8,
    /// Number of address spaces.
    pub spaces: u8,
    /// Command queues: one, or one per slot (or space) and one for commands that belong to none.
    pub queues: u8,
    /// Policy of the memory channels' arbiters.
    pub channel_policy: ChannelPolicy,
    /// Grants of the DMA engine in a row, or in a round: 1 to 15.
    pub dma_share: u8,
    /// Kind of translation.
    pub translator: Translator,
    /// Address lanes, a power of two that divides the streams (two per port): lookups per cycle. Each has its own L1
    /// TLBs; one walker serves all. Adjacent streams share a lane: with `lanes = slots` each slot has its own.
    pub lanes: u8,
    /// L1 TLBs of a lane, in order of page size, at most four. None: the walker alone (FSRF's DRAM TLB).
    pub l1: Vec<L1Config>,
    /// Maximum number of parked bursts per stream.
    pub park_depth: u8,
    /// Maximum number of page walks in flight; 0: no walker, the L1 TLBs alone (FSRF's and Coyote's SRAM TLB).
    pub max_walks: u8,
    /// Counters per space in each table of its size-class filter (log2); 0: no filter.
    pub filter_log2: u8,
    /// Maximum number of faults that a stream reports beyond its oldest.
    pub look_ahead: u8,
    /// Size of a port's read buffer, in rows.
    pub read_buffer_rows: u16,
    /// Size of a port's write buffer, in rows.
    pub write_buffer_rows: u16,
    /// Pages may lie in host memory: kernels reach them over PCIe, on a channel separate from the DMA engine's.
    pub host_channel: bool,
    /// Configuration of the directory, if there is one.
    pub directory: Option<DirectoryConfig>,
    /// Configuration of the cache of the CPU's lines, if there is one; it needs a directory, whose link it shares.
    pub cache: Option<CacheConfig>,
}

impl Default for ShellConfig {
    fn default() -> Self {
        Self {
            slots: 1,
            ports_per_slot: 2,
            streams_per_slot: 0,
            network_pairs: 0,
            tid_width: 0,
            tdest_width: 0,
            channels: 2,
            channel_bytes_log2: 34,
            spaces: 4,
            queues: 2,
            channel_policy: ChannelPolicy::Preferred,
            dma_share: 4,
            translator: Translator::Paged,
            lanes: 1,
            l1: vec![
                L1Config {
                    page_bits: 12,
                    sets_log2: 8,
                    ways: 4,
                },
                L1Config {
                    page_bits: 21,
                    sets_log2: 5,
                    ways: 2,
                },
            ],
            park_depth: 64,
            max_walks: 64,
            filter_log2: 12,
            look_ahead: 8,
            read_buffer_rows: 512,
            write_buffer_rows: 256,
            host_channel: false,
            directory: None,
            cache: None,
        }
    }
}

impl ShellConfig {
    /// Maximum number of command queues of a shell.
    const MOST_QUEUES: u8 = 17;

    /// The same shell with a command queue per slot, and one for commands that belong to none: commands for one
    /// address space do not wait behind those for another, as the shell takes turns between queues.
    #[must_use]
    pub fn queue_a_slot(self) -> Self {
        Self {
            queues: self.slots.saturating_add(1).min(Self::MOST_QUEUES),
            ..self
        }
    }

    /// A small shell with a directory: one slot with one memory port, and [`DirectoryConfig::SMALL`].
    pub fn coherent() -> Self {
        Self {
            ports_per_slot: 1,
            directory: Some(DirectoryConfig::SMALL),
            ..Self::default()
        }
    }

    /// [`ShellConfig::coherent`] with a cache of the CPU's lines: kernels access the CPU's memory coherently.
    pub fn coherent_host() -> Self {
        Self {
            cache: Some(CacheConfig::DEFAULT),
            ..Self::coherent()
        }
    }

    /// One slot with two memory ports, and [`DirectoryConfig::FULL`]: for streams, and for working sets that would
    /// cause recalls in the small directory.
    pub fn coherent_full() -> Self {
        Self {
            ports_per_slot: 2,
            directory: Some(DirectoryConfig::FULL),
            ..Self::default()
        }
    }

    /// Maximum number of L1 TLBs of a lane.
    pub const MAX_L1S: usize = 4;

    /// Number of ports of all slots.
    pub fn ports(&self) -> u32 {
        u32::from(self.slots) * u32::from(self.ports_per_slot)
    }

    /// The address lane of a requester: port `p` reads as requester `2 p` and writes as `2 p + 1`, and adjacent
    /// requesters share a lane.
    pub fn lane_of(&self, requester: u32) -> u32 {
        requester / (2 * self.ports() / u32::from(self.lanes)).max(1)
    }

    /// Maximum number of network interfaces of a card: a U280 has two cages.
    pub const MAX_NETWORKS: u8 = 2;

    /// Number of stream pairs of all slots.
    pub fn stream_pairs(&self) -> u32 {
        u32::from(self.slots) * u32::from(self.streams_per_slot)
    }

    /// Supported page sizes: those of the L1 TLBs and all larger ones. With the walker alone, and without
    /// translation, every size.
    pub fn page_sizes(&self) -> PageSizes {
        let smallest = self
            .l1
            .first()
            .filter(|_| self.translator != Translator::Identity);
        let class = smallest.map_or(0, |l1| l1.page_bits.saturating_sub(12));
        PageSize::from_class(class).map_or_else(PageSizes::default, PageSizes::from)
    }

    /// Page sizes of the L1 TLBs.
    pub fn l1_sizes(&self) -> PageSizes {
        let paged = self.translator == Translator::Paged;
        let own = self.l1.iter().filter(|_| paged);
        own.filter_map(|l1| PageSize::from_class(l1.page_bits.checked_sub(12)?))
            .fold(PageSizes::default(), PageSizes::with)
    }

    /// Reach of each L1 TLB of a lane, in order of page size.
    pub fn l1_reach(&self) -> Vec<L1Reach> {
        let paged = self.translator == Translator::Paged;
        let own = self.l1.iter().filter(|_| paged);
        own.filter_map(|l1| {
            let page = PageSize::from_class(l1.page_bits.checked_sub(12)?)?;
            let entries = u64::from(l1.ways) << l1.sets_log2;
            Some(L1Reach {
                page,
                bytes: entries << page.bits(),
            })
        })
        .collect()
    }

    /// The rule that the configuration breaks, if any.
    pub fn broken_rule(&self) -> Option<String> {
        let channel_bits = self.channels.max(1).ilog2() + u32::from(self.channel_bytes_log2);
        if self.slots == 0 || self.slots > 16 {
            Some(format!("slots = {}: 1 to 16 are possible", self.slots))
        } else if self.ports_per_slot == 0 || self.ports() > 128 {
            Some(format!("{} ports: 1 to 128 are possible", self.ports()))
        } else if self.streams_per_slot > self.ports_per_slot || self.stream_pairs() > 32 {
            Some(format!(
                "streams_per_slot = {}: at most ports_per_slot = {}, and 32 on the card",
                self.streams_per_slot, self.ports_per_slot
            ))
        } else if self.network_pairs > Self::MAX_NETWORKS
            || (self.network_pairs > 0 && self.streams_per_slot == 0)
            || self.stream_pairs() + u32::from(self.network_pairs) > 32
        {
            Some(format!(
                "network_pairs = {}: at most {}, beside streams_per_slot = {} of which there must be one, and 32 pairs \
                 on the card",
                self.network_pairs,
                Self::MAX_NETWORKS,
                self.streams_per_slot
            ))
        } else if self.tid_width.max(self.tdest_width) > card::kernel::MAX_STREAM_ID_WIDTH {
            Some(format!(
                "tid_width = {}, tdest_width = {}: at most {} each",
                self.tid_width,
                self.tdest_width,
                card::kernel::MAX_STREAM_ID_WIDTH
            ))
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
        } else if self.host_channel && channel_bits > 36 {
            Some(format!(
                "host_channel with {} channels of 2^{} bytes: the upper half of the 37-bit card addresses leads to \
                 the host then",
                self.channels, self.channel_bytes_log2
            ))
        } else if self.spaces == 0 || self.spaces > 16 {
            Some(format!("spaces = {}: 1 to 16 are possible", self.spaces))
        } else if self.queues == 0 || self.queues > Self::MOST_QUEUES {
            Some(format!(
                "queues = {}: 1 to {} are possible",
                self.queues,
                Self::MOST_QUEUES
            ))
        } else if self.dma_share == 0 || self.dma_share > 15 {
            Some(format!(
                "dma_share = {}: 1 to 15 are possible",
                self.dma_share
            ))
        } else if let Some(rule) = self.directory.and_then(|directory| directory.broken_rule()) {
            Some(rule)
        } else if self.cache.is_some() && self.directory.is_none() {
            Some("cache without directory: it shares the directory's link to the CPU".to_owned())
        } else if let Some(rule) = self.cache.and_then(|cache| cache.broken_rule()) {
            Some(rule)
        } else {
            self.broken_rule_of_translation()
        }
    }

    fn broken_rule_of_translation(&self) -> Option<String> {
        let streams = 2 * self.ports();
        if !self.lanes.is_power_of_two() || streams % u32::from(self.lanes) != 0 {
            return Some(format!(
                "lanes = {}: must be a power of two that divides the {streams} streams",
                self.lanes
            ));
        }
        if self.filter_log2 != 0 && !(8..=16).contains(&self.filter_log2) {
            return Some(format!(
                "filter_log2 = {}: 0 or 8 to 16 are possible",
                self.filter_log2
            ));
        }
        if self.l1.len() > Self::MAX_L1S {
            let found = self.l1.len();
            return Some(format!(
                "{found} L1 TLBs: at most {} are possible",
                Self::MAX_L1S
            ));
        }
        for l1 in &self.l1 {
            if !(12..=30).contains(&l1.page_bits)
                || !(1..=16).contains(&l1.ways)
                || l1.sets_log2 > 14
            {
                return Some(format!(
                    "L1 TLB with page_bits = {}, sets_log2 = {}, ways = {}: 12 to 30, at most 14, \
                     and 1 to 16 are possible",
                    l1.page_bits, l1.sets_log2, l1.ways
                ));
            }
        }
        if self.translator == Translator::Segment {
            let registers = matches!(
                self.l1[..],
                [L1Config {
                    page_bits: 12,
                    sets_log2: 0,
                    ..
                }]
            );
            if self.max_walks != 0 || !registers {
                return Some(
                    "translator = \"segment\": needs max_walks = 0, and one L1 TLB with page_bits = 12 and \
                     sets_log2 = 0, whose ways are the segments"
                        .to_owned(),
                );
            }
        }
        let ordered = self
            .l1
            .windows(2)
            .all(|pair| pair[0].page_bits < pair[1].page_bits);
        (!ordered).then(|| "L1 TLBs: smallest pages first, each size once".to_owned())
    }

    fn l1_to_system_verilog(&self) -> String {
        let present = self.l1.iter().enumerate().map(|(number, l1)| {
            format!(
                "{number}: '{{PageBits: {}, SetsLog2: {}, Ways: {}}}, ",
                l1.page_bits, l1.sets_log2, l1.ways
            )
        });
        format!("'{{{}default: tmb_pkg::NoL1}}", present.collect::<String>())
    }

    fn directory_to_system_verilog(&self) -> String {
        let Some(directory) = self.directory else {
            return "tmb_pkg::NoDirectory".to_owned();
        };
        let DirectoryConfig {
            slices,
            units,
            sets,
            ways,
        } = directory;
        format!("'{{Slices: {slices}, UnitsPerSlice: {units}, SetsPerUnit: {sets}, Ways: {ways}}}")
    }

    fn cache_to_system_verilog(&self) -> String {
        let Some(cache) = self.cache else {
            return "tmb_pkg::NoCache".to_owned();
        };
        let CacheConfig {
            sets,
            ways,
            hold_limit,
        } = cache;
        format!("'{{Sets: {sets}, Ways: {ways}, HoldLimit: {hold_limit}}}")
    }

    /// Bits of TID or TDEST that pass from kernel to kernel.
    pub(crate) fn id_width(&self, signal: &Signal) -> u32 {
        match signal.name {
            "tid" => self.tid_width.into(),
            _ => self.tdest_width.into(),
        }
    }

    /// Number of slices of the cache of the CPU's lines; 0 without one.
    pub fn caches(&self) -> u8 {
        self.cache.map_or(0, |_| self.slices())
    }

    /// Number of link channel pairs; 0 without a directory.
    pub fn slices(&self) -> u8 {
        self.directory.map_or(0, |directory| directory.slices)
    }

    /// The configuration as a SystemVerilog assignment pattern.
    pub fn to_system_verilog(&self) -> String {
        let translator = match self.translator {
            Translator::Paged => "tmb_pkg::TranslatorPaged",
            Translator::Identity => "tmb_pkg::TranslatorIdentity",
            Translator::Segment => "tmb_pkg::TranslatorSegment",
        };
        let policy = match self.channel_policy {
            ChannelPolicy::Preferred => "tmb_pkg::ArbiterPreferred",
            ChannelPolicy::Weighted => "tmb_pkg::ArbiterWeighted",
            ChannelPolicy::RoundRobin => "tmb_pkg::ArbiterRoundRobin",
        };
        let fields = [
            ("NumSlots", self.slots.to_string()),
            ("PortsPerSlot", self.ports_per_slot.to_string()),
            ("StreamsPerSlot", self.streams_per_slot.to_string()),
            ("NetworkPairs", self.network_pairs.to_string()),
            ("TidWidth", self.tid_width.to_string()),
            ("TdestWidth", self.tdest_width.to_string()),
            ("NumChannels", self.channels.to_string()),
            ("ChannelBytesLog2", self.channel_bytes_log2.to_string()),
            ("NumSpaces", self.spaces.to_string()),
            ("NumQueues", self.queues.to_string()),
            ("ChannelPolicy", policy.to_owned()),
            ("DmaShare", self.dma_share.to_string()),
            ("Translator", translator.to_owned()),
            ("NumLanes", self.lanes.to_string()),
            ("L1", self.l1_to_system_verilog()),
            ("ParkDepth", self.park_depth.to_string()),
            ("MaxWalks", self.max_walks.to_string()),
            ("FilterLog2", self.filter_log2.to_string()),
            ("LookAhead", self.look_ahead.to_string()),
            ("ReadBufferRows", self.read_buffer_rows.to_string()),
            ("WriteBufferRows", self.write_buffer_rows.to_string()),
            ("HostChannel", format!("1'b{}", u8::from(self.host_channel))),
            ("Directory", self.directory_to_system_verilog()),
            ("Cache", self.cache_to_system_verilog()),
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
    fn pages_are_as_large_as_the_smallest_l1_tlb_or_larger() {
        let shell = ShellConfig::default();
        assert_eq!(shell.page_sizes(), PageSizes::ALL);
        let l1 = shell.l1[1..].to_vec();
        let large = ShellConfig { l1, ..shell };
        assert_eq!(large.page_sizes().to_string(), "2 MiB to 1 GiB");
        let none = Vec::new();
        assert_eq!(
            ShellConfig { l1: none, ..large }.page_sizes(),
            PageSizes::ALL
        );
    }

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
        let with_l1 = |text: &str| toml::from_str::<ShellConfig>(text).unwrap().broken_rule();
        let coyote = "max_walks = 0\n[[l1]]\npage_bits = 12\nsets_log2 = 8\nways = 4\n\
                      [[l1]]\npage_bits = 21\nsets_log2 = 5\nways = 2\n";
        assert_eq!(with_l1(coyote), None);
        assert_eq!(with_l1("l1 = []"), None, "FSRF's DRAM TLB");
        let backwards = "[[l1]]\npage_bits = 21\nsets_log2 = 5\nways = 2\n\
                         [[l1]]\npage_bits = 12\nsets_log2 = 8\nways = 4\n";
        assert!(with_l1(backwards).unwrap().contains("smallest"));
        let with_lanes = |lanes: u8| {
            let slots = ShellConfig {
                slots: 3,
                lanes,
                ..ShellConfig::default()
            };
            slots.broken_rule()
        };
        assert_eq!(with_lanes(1), None);
        assert_eq!(with_lanes(4), None);
        for illegal in [0, 3, 8] {
            assert!(with_lanes(illegal).unwrap().contains("12 streams"));
        }
        let small = "[[l1]]\npage_bits = 11\nsets_log2 = 5\nways = 2\n";
        assert!(with_l1(small).unwrap().contains("page_bits = 11"));
    }
}
