//! `tombolo shell show`: the structure of a card's shell.

use super::{ShellError, ShellSelection};
use crate::print::print;
use clap::Args;
use serde::Serialize;
use simcard::{ChannelPolicy, L1Config};
use std::fmt::{self, Write as _};
use tombolo::{CardMemory, ShellConfig, SimOptions};

/// Shows configuration, address map, registers, ports, channels, and the platform's figures.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo shell show
  tombolo shell show --platform u280
  tombolo shell show --json | python3 -m json.tool
  tombolo shell show --preset fsrf-dram
  tombolo shell show --config shell.toml --graph | dot -Tsvg > shell.svg")]
pub struct Show {
    #[command(flatten)]
    which: ShellSelection,

    /// Prints JSON.
    #[arg(long)]
    json: bool,

    /// Prints a diagram of ports, lanes, fabric and channels, as Graphviz text.
    #[arg(long, conflicts_with = "json")]
    graph: bool,
}

/// All that `shell show` prints.
#[derive(Debug, Serialize)]
struct ShellDescription {
    configuration: ShellConfig,
    address_map: Vec<Range>,
    ports: Vec<ShellPort>,
    channels: Vec<Channel>,
    registers: Vec<RegisterGroup>,
    platform: Platform,
}

/// A range of the BAR or of the card's addresses.
#[derive(Debug, Serialize)]
struct Range {
    space: &'static str,
    first: u64,
    bytes: u64,
    what: String,
}

#[derive(Debug, Serialize)]
struct ShellPort {
    port: u32,
    slot: u32,
    port_of_slot: u32,
    data_bits: u32,
    read_requester: u32,
    write_requester: u32,
}

#[derive(Debug, Serialize)]
struct Channel {
    channel: u32,
    kind: String,
    bytes: u64,
    /// Peak rate of the pins, without refresh, bus turnaround and row misses.
    pin_bytes_per_second: f64,
    /// Peak rate of the shell: a row per cycle of its clock.
    shell_bytes_per_second: f64,
}

#[derive(Debug, Serialize)]
struct RegisterGroup {
    title: String,
    place: String,
    registers: Vec<ShellRegister>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct ShellRegister {
    offset: u32,
    name: String,
    access: String,
    meaning: String,
}

#[derive(Debug, Serialize)]
struct Platform {
    name: String,
    description: String,
    hash: String,
    file: String,
    clock_period_ps: u64,
    figures: Vec<Figure>,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
struct Figure {
    key: String,
    value: String,
    source: String,
}

impl Show {
    pub(super) fn run(self) -> Result<(), ShellError> {
        let options = self.which.options()?;
        let text = match (self.graph, self.json) {
            (true, _) => super::graph::graph(&options.shell),
            // Numbers, strings and lists always serialize.
            (_, true) => {
                let shown = ShellDescription::of(&options)?;
                serde_json::to_string_pretty(&shown).unwrap_or_default() + "\n"
            }
            _ => ShellDescription::of(&options)?.to_string(),
        };
        Ok(print(text)?)
    }
}

impl ShellDescription {
    fn of(options: &SimOptions) -> Result<Self, ShellError> {
        let platform = &options.platform;
        let memories = options.memories()?;
        let kinds: Vec<CardMemory> = memories.iter().map(|(there, _)| there.clone()).collect();
        let shell = &options.shell;
        let path = platform.path();
        let text = std::fs::read_to_string(path)
            .map_err(|error| ShellError::Io(path.display().to_string(), error))?;
        let period = platform.clock().period_ps;
        Ok(Self {
            address_map: address_map(shell, &kinds),
            ports: (0..shell.ports())
                .map(|port| ShellPort {
                    port,
                    slot: port / u32::from(shell.ports_per_slot),
                    port_of_slot: port % u32::from(shell.ports_per_slot),
                    data_bits: 512,
                    read_requester: 2 * port,
                    write_requester: 2 * port + 1,
                })
                .collect(),
            channels: memories
                .iter()
                .flat_map(|(there, memory)| {
                    there.channels.clone().map(move |at| (at, there, memory))
                })
                .map(|(channel, there, memory)| Channel {
                    channel: channel.into(),
                    kind: format!("{:?}", memory.kind).to_uppercase(),
                    bytes: there.channel_bytes,
                    pin_bytes_per_second: memory.pin_bytes_per_second(),
                    shell_bytes_per_second: units::ROW_BYTES as f64 / period.as_seconds(),
                })
                .collect(),
            registers: registers(include_str!("../../../../docs/registers.md")),
            platform: Platform {
                name: platform.name().to_owned(),
                description: platform.description().to_owned(),
                hash: platform.hash().to_owned(),
                file: path.display().to_string(),
                clock_period_ps: period.get(),
                figures: figures(&text),
            },
            configuration: shell.clone(),
        })
    }
}

fn address_map(shell: &ShellConfig, memories: &[CardMemory]) -> Vec<Range> {
    use card::registers as reg;
    let mut map = vec![Range {
        space: "BAR",
        first: 0,
        bytes: reg::SLOT_CONTROL.base.into(),
        what: "shell registers".to_owned(),
    }];
    map.extend((0..u32::from(shell.slots)).map(|slot| Range {
        space: "BAR",
        first: reg::SLOT_CONTROL.at(slot).into(),
        bytes: reg::SLOT_CONTROL.stride.into(),
        what: format!("s_axi_control of slot {slot}"),
    }));
    for there in memories {
        map.extend(there.channels.clone().map(|channel| Range {
            space: "card",
            first: u64::from(channel) << shell.channel_bytes_log2,
            bytes: there.channel_bytes,
            what: format!("memory channel {channel}"),
        }));
    }
    map.push(Range {
        space: "virtual",
        first: 0,
        bytes: 1 << 48,
        what: format!("each of {} address spaces", shell.spaces),
    });
    map
}

/// Parses the register groups from the generated page.
fn registers(page: &str) -> Vec<RegisterGroup> {
    let mut groups: Vec<RegisterGroup> = Vec::new();
    for line in page.lines() {
        let title = line.strip_prefix("## ").or(line.strip_prefix("# "));
        if let Some(title) = title {
            groups.push(RegisterGroup {
                title: title.replace("Registers", "Shell"),
                place: String::new(),
                registers: Vec::new(),
            });
            continue;
        }
        let Some(group) = groups.last_mut() else {
            continue;
        };
        if line.contains(" is at `") {
            group.place = line
                .split_once('.')
                .map_or(line, |(place, _)| place)
                .replace('`', "");
        }
        group.registers.extend(register(line));
    }
    groups
}

/// Parses a row of the page's register table.
fn register(line: &str) -> Option<ShellRegister> {
    let mut cells = line.strip_prefix("| `0x")?.splitn(4, " | ");
    let offset = u32::from_str_radix(cells.next()?.trim_end_matches('`'), 16).ok()?;
    let (name, access) = (cells.next()?.to_owned(), cells.next()?.to_owned());
    let meaning = cells.next()?.trim_end_matches(" |");
    Some(ShellRegister {
        offset,
        name,
        access,
        meaning: meaning.replace("<br>", "\n").replace(['`', '*'], ""),
    })
}

/// Every figure of a platform file, with the comment on its line, which names the source.
fn figures(text: &str) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut table = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[') {
            let name = name.split(']').next().unwrap_or("").trim_start_matches('[');
            table = format!("{name}.");
        } else if let Some((key, rest)) = line.split_once('=').filter(|_| !line.starts_with('#')) {
            // No string of a platform has a number sign.
            let (value, source) = rest.split_once('#').unwrap_or((rest, ""));
            figures.push(Figure {
                key: format!("{table}{}", key.trim()),
                value: value.trim().to_owned(),
                source: source.trim().to_owned(),
            });
        }
    }
    figures
}

impl fmt::Display for ShellDescription {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shell = &self.configuration;
        writeln!(f, "configuration")?;
        for (what, value) in [
            ("slots", shell.slots.to_string()),
            ("ports a slot", shell.ports_per_slot.to_string()),
            ("of them stream pairs", shell.streams_per_slot.to_string()),
            ("network pairs", network_pairs(shell)),
            ("channels", shell.channels.to_string()),
            ("address spaces", shell.spaces.to_string()),
            ("command queues", shell.queues.to_string()),
            ("first at a channel", channel_policy(shell)),
            (
                "translator",
                format!("{:?}", shell.translator).to_lowercase(),
            ),
            ("address lanes", shell.lanes.to_string()),
            ("L1 TLBs of a lane", l1_tlbs(shell)),
            ("bursts parked a requester", shell.park_depth.to_string()),
            ("walks in flight", shell.max_walks.to_string()),
            ("look-ahead faults", shell.look_ahead.to_string()),
            (
                "buffers of a port",
                format!(
                    "{} rows read, {} rows written",
                    shell.read_buffer_rows, shell.write_buffer_rows
                ),
            ),
        ] {
            writeln!(f, "  {what:<24}{value}")?;
        }
        writeln!(f, "address map")?;
        for range in &self.address_map {
            let last = range.first + range.bytes - 1;
            let (space, what) = (range.space, &range.what);
            writeln!(
                f,
                "  {space:<8}0x{:012x} - 0x{last:012x}  {what}",
                range.first
            )?;
        }
        writeln!(f, "ports (512 bits)")?;
        for port in &self.ports {
            writeln!(
                f,
                "  port {}: slot {}, port {}; requesters {} (reads), {} (writes)",
                port.port, port.slot, port.port_of_slot, port.read_requester, port.write_requester
            )?;
        }
        writeln!(f, "channels")?;
        for channel in &self.channels {
            writeln!(
                f,
                "  channel {}: {}, {}, pins {:.1} GB/s, shell {:.1} GB/s",
                channel.channel,
                channel.kind,
                size(channel.bytes),
                channel.pin_bytes_per_second * 1e-9,
                channel.shell_bytes_per_second * 1e-9
            )?;
        }
        for group in self
            .registers
            .iter()
            .filter(|group| !group.registers.is_empty())
        {
            writeln!(f, "registers: {}", group.title.to_lowercase())?;
            if !group.place.is_empty() {
                writeln!(f, "  {}", group.place)?;
            }
            for register in &group.registers {
                f.write_str(&register.text())?;
            }
        }
        let platform = &self.platform;
        writeln!(f, "platform {}: {}", platform.name, platform.description)?;
        writeln!(f, "  {}, sha256 {}", platform.file, platform.hash)?;
        for figure in &platform.figures {
            let (key, value, source) = (&figure.key, &figure.value, &figure.source);
            let line = format!("  {key:<36}{value:<16}{source}");
            writeln!(f, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl ShellRegister {
    fn text(&self) -> String {
        let mut text = String::new();
        for (number, line) in self.meaning.lines().enumerate() {
            // Writing to a string cannot fail.
            let _ = match number {
                0 => writeln!(
                    text,
                    "  0x{:03x}  {:<3}{:<20}{line}",
                    self.offset, self.access, self.name
                ),
                _ => writeln!(text, "  {:30}{line}", ""),
            };
        }
        text
    }
}

fn channel_policy(shell: &ShellConfig) -> String {
    let share = shell.dma_share;
    match shell.channel_policy {
        ChannelPolicy::Preferred => format!("the DMA engine, at most {share} times in a row"),
        ChannelPolicy::Weighted => format!("turns, {share} of a round for the DMA engine"),
        ChannelPolicy::RoundRobin => "turns".to_owned(),
    }
}

fn network_pairs(shell: &ShellConfig) -> String {
    match shell.network_pairs {
        0 => "none".to_owned(),
        pairs => format!("{pairs}, each a 100 Gb/s link (a model, without RTL of its controller)"),
    }
}

fn l1_tlbs(shell: &ShellConfig) -> String {
    if shell.l1.is_empty() {
        return "none: the walker alone".to_owned();
    }
    let tlb = |l1: &L1Config| {
        let entries = u64::from(l1.ways) << l1.sets_log2;
        format!(
            "{} ways x {} sets of {} pages (reach {})",
            l1.ways,
            1u64 << l1.sets_log2,
            size(1 << l1.page_bits),
            size(entries << l1.page_bits)
        )
    };
    shell.l1.iter().map(tlb).collect::<Vec<_>>().join("; ")
}

fn size(bytes: u64) -> String {
    tombolo::report::bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_register_and_figure_is_shown() {
        use card::registers as reg;
        let shown = ShellDescription::of(&SimOptions::named("f1").unwrap()).unwrap();
        let find = |name: &str, offset: u32| {
            let mut all = shown.registers.iter().flat_map(|group| &group.registers);
            all.any(|register| register.name == name && register.offset == offset)
        };
        assert!(find("ID", reg::ID) && find("EVENT_HEAD", reg::EVENT_HEAD));
        assert!(find("LOOKUP_HIT", reg::requester::LOOKUP_HIT));
        let slots = shown
            .registers
            .iter()
            .find(|group| group.title == "Slots")
            .unwrap();
        assert!(slots.place.contains("0x2000 + k × 0x10"), "{}", slots.place);
        let clock = &shown.platform.figures;
        let clock = clock
            .iter()
            .find(|figure| figure.key == "clock.period_ps")
            .unwrap();
        assert_eq!(clock.value, "4000");
        assert!(clock.source.contains("[FSRF §6]"));
        let text = shown.to_string();
        let event_head = format!("{:#05x}  rw EVENT_HEAD", reg::EVENT_HEAD);
        let mut networked = SimOptions::named("u280").unwrap();
        networked.shell.network_pairs = 2;
        let networked = ShellDescription::of(&networked).unwrap().to_string();
        assert!(networked.contains("2, each a 100 Gb/s link"), "{networked}");
        for words in [
            "network pairs           none",
            "s_axi_control of slot 0",
            "channel 1: DDR4",
            "pcie.max_payload",
            &event_head,
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
