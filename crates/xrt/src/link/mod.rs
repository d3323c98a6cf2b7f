//! Links kernels into a design, according to a linker configuration.

mod clocks;
pub mod config;
mod image;
mod memories;

use crate::card_selection::{sim_options, DEFAULT_PLATFORM};
use crate::design::{ArgumentKind, Clock, ComputeUnit, Design, KernelImage, StreamLink};
use crate::error::XrtError;
use card::kernel::{Sideband, StreamPort};
use config::{use_of, Origin, Setting, Use};
pub use image::image_of;
use memories::{banks_of, BankRange};
use std::path::PathBuf;

/// Why linking failed.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A malformed line of a configuration.
    #[error("{origin}: `{text}` is no setting: write key=value, [section], or # before a comment")]
    Line {
        /// Source location.
        origin: Origin,
        /// Text of the line.
        text: String,
    },
    /// A setting with an invalid value.
    #[error("{origin}: {name} = {value}: {rule}")]
    Setting {
        /// Source location.
        origin: Origin,
        /// `section.key`.
        name: String,
        /// Value, as given.
        value: String,
        /// The rule that is violated.
        rule: String,
    },
    /// Error in a kernel's folder.
    #[error(transparent)]
    Kernel(#[from] card::kernel::KernelError),
    /// A file could not be read.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Two kernels with the same name.
    #[error(
        "kernel `{0}` is given twice: each kernel comes once; nk makes several compute units of it"
    )]
    Twice(String),
    /// No kernel given.
    #[error("there is nothing to link: give .xo files, kernel folders, or an .xclbin of ours")]
    Nothing,
    /// More compute units than slots; holds their count.
    #[error("{0} compute units: a card has at most 16; lower the counts of nk")]
    TooMany(usize),
    /// A kernel with ports to a coherence directory; holds its name.
    #[error("kernel `{0}`: it has ports to a coherence directory, which no .xclbin has; run it with `tombolo run`")]
    Coherent(String),
    /// Frequencies that give no valid clock ratio.
    #[error("kernel `{kernel}`: clock {clock}: {rule}")]
    Clock {
        /// Kernel name.
        kernel: String,
        /// Clock name.
        clock: String,
        /// The rule that is violated.
        rule: String,
    },
    /// Error of the platform.
    #[error(transparent)]
    Platform(#[from] XrtError),
}

/// Names of AMD's platforms, with the nearest platform of Tombolo.
const KNOWN_CARDS: [(&str, &str); 8] = [
    ("u280", "u280"),
    ("u50", "u280"),
    ("u55", "u55c"),
    ("vcu1525", "f1"),
    ("u200", "f1"),
    ("u250", "f1"),
    ("aws", "f1"),
    ("f1", "f1"),
];

/// Tombolo's platform for a name, and a note about the choice, if any.
pub fn platform_for(name: &str) -> (String, Option<String>) {
    let base = name.rsplit('/').next().unwrap_or(name);
    let foreign = base.contains("xilinx") || base.contains("aws") || base.ends_with(".xpfm");
    if !foreign {
        return (name.to_owned(), None);
    }
    let found = KNOWN_CARDS.iter().find(|(part, _)| base.contains(part));
    let ours = found.map_or(DEFAULT_PLATFORM, |(_, ours)| ours);
    let note = format!("platform {base}: simulated as {ours}");
    (ours.to_owned(), Some(note))
}

/// Whether a setting connects an argument to DDR.
fn is_ddr(setting: &Setting) -> bool {
    let memory = setting
        .value
        .split_once(':')
        .map(|(_, memory)| memory.trim());
    memory.is_some_and(|memory| BankRange::parse(memory).is_ok_and(BankRange::is_ddr))
}

/// A linked design, with notes for the user.
#[derive(Debug)]
pub struct Linked {
    /// The linked kernels, compute units and connections.
    pub design: Design,
    /// One line each: settings without effect, choice of platform, clock ratios.
    pub notes: Vec<String>,
}

/// Links kernels.
///
/// # Errors
/// [`LinkError`], with the setting and its line.
pub fn link(kernels: Vec<KernelImage>, settings: &[Setting]) -> Result<Linked, LinkError> {
    if kernels.is_empty() {
        return Err(LinkError::Nothing);
    }
    for (at, kernel) in kernels.iter().enumerate() {
        if kernels[..at].iter().any(|other| other.name == kernel.name) {
            return Err(LinkError::Twice(kernel.name.clone()));
        }
    }
    let mut notes = Vec::new();
    let of = |name: &'static str| {
        settings
            .iter()
            .filter(move |one| one.name().eq_ignore_ascii_case(name))
    };
    if let Some(target) = of("target").next_back().filter(|one| one.value == "sw_emu") {
        return Err(target.broken("kernels are RTL, not C models; use hw_emu"));
    }
    let asked = of("platform")
        .next_back()
        .map_or(DEFAULT_PLATFORM, |one| &one.value);
    let (mut platform, note) = platform_for(asked);
    notes.extend(note);
    // A U280 has both; the platform with one of them is simpler.
    let is_asked_for = of("platform").any(|one| one.value == platform);
    if platform == "u280" && !is_asked_for && of("connectivity.sp").any(is_ddr) {
        platform = "u280-both".to_owned();
        notes.push("a memory is DDR: simulated as u280-both, which has HBM and DDR".to_owned());
    }
    let options = sim_options(&platform)?;
    let mut linker = Linker {
        design: Design {
            platform,
            kernels,
            memories: banks_of(&options.platform),
            ..Design::default()
        },
        notes,
    };
    for setting in of("connectivity.nk") {
        linker.add_units(setting)?;
    }
    linker.add_default_units();
    if linker.design.units.len() > 16 {
        return Err(LinkError::TooMany(linker.design.units.len()));
    }
    for setting in of("connectivity.sp") {
        linker.connect_memory(setting)?;
    }
    linker.connect_default_memory();
    for setting in of("connectivity.sc").chain(of("connectivity.stream_connect")) {
        linker.connect_stream(setting)?;
    }
    linker.add_clocks(settings)?;
    if !linker.design.clocks.is_empty() {
        let hz = 1_000_000_000_000 / options.platform.clock().period_ps.get().max(1);
        linker.notes.push(format!(
            "clocks: recorded; the first clock of each kernel is the shell's, {} MHz",
            hz / 1_000_000
        ));
        linker.notes.extend(clocks::set_ratios(&mut linker.design)?);
    }
    let Linker { design, mut notes } = linker;
    for setting in settings {
        if let Use::Accepted(why) = use_of(&setting.section, &setting.key) {
            notes.push(format!(
                "{}: {}: accepted, without effect: {why}",
                setting.origin,
                setting.name()
            ));
        }
    }
    Ok(Linked { design, notes })
}

/// A design under construction.
struct Linker {
    design: Design,
    /// For the user.
    notes: Vec<String>,
}

/// Address space of a compute unit in bytes, as XRT programs see it.
const UNIT_BYTES: u64 = 0x1_0000;
/// Base address of the first compute unit.
const FIRST_UNIT: u64 = 0x180_0000;

impl Linker {
    fn kernel(&self, setting: &Setting, name: &str) -> Result<usize, LinkError> {
        let kernels = &self.design.kernels;
        let found = kernels.iter().position(|kernel| kernel.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name.as_str()).collect();
            setting.broken(format!(
                "there is no kernel `{name}`; there is {}",
                names.join(", ")
            ))
        })
    }

    fn unit(&self, setting: &Setting, name: &str) -> Result<usize, LinkError> {
        let found = self.design.units.iter().position(|unit| unit.name == name);
        found.ok_or_else(|| {
            let names: Vec<&str> = self
                .design
                .units
                .iter()
                .map(|unit| unit.name.as_str())
                .collect();
            setting.broken(format!(
                "there is no compute unit `{name}`; there is {}",
                names.join(", ")
            ))
        })
    }

    fn add_unit(&mut self, kernel: usize, name: String) {
        let number = self.design.units.len() as u64;
        self.design.units.push(ComputeUnit {
            name,
            kernel,
            base_address: FIRST_UNIT + number * UNIT_BYTES,
            groups: Default::default(),
        });
    }

    /// Handles nk: `kernel:count[:name.name]`
    fn add_units(&mut self, setting: &Setting) -> Result<(), LinkError> {
        let mut parts = setting.value.splitn(3, ':').map(str::trim);
        let (name, count, names) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
        let kernel = self.kernel(setting, name)?;
        if self.design.units.iter().any(|unit| unit.kernel == kernel) {
            return Err(setting.broken("the kernel has an nk before this one; give it once"));
        }
        let count: usize = match count.unwrap_or("1").parse() {
            Ok(count @ 1..=1000) => count,
            _ => return Err(setting.broken("the count is a number from 1 on, as in kernel:2:a.b")),
        };
        let names: Vec<String> = match names {
            Some(names) => names
                .split(['.', ','])
                .map(|name| name.trim().to_owned())
                .collect(),
            None => (1..=count)
                .map(|number| format!("{name}_{number}"))
                .collect(),
        };
        if names.len() != count {
            let given = names.len();
            return Err(setting.broken(format!("{count} compute units, but {given} names")));
        }
        for name in names {
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if name.is_empty() || !name.chars().all(plain) {
                return Err(
                    setting.broken(format!("`{name}` is no name: letters, digits and _ are"))
                );
            }
            if self.design.units.iter().any(|unit| unit.name == name) {
                return Err(setting.broken(format!("compute unit `{name}` is there already")));
            }
            self.add_unit(kernel, name);
        }
        Ok(())
    }

    /// Adds one compute unit for each kernel without nk.
    fn add_default_units(&mut self) {
        for kernel in 0..self.design.kernels.len() {
            if !self.design.units.iter().any(|unit| unit.kernel == kernel) {
                let name = format!("{}_1", self.design.kernels[kernel].name);
                self.add_unit(kernel, name);
            }
        }
    }

    /// Handles sp: `unit.argument:memory`, or `unit.port:memory`
    fn connect_memory(&mut self, setting: &Setting) -> Result<(), LinkError> {
        let form = || setting.broken("write unit.argument:memory, as in vadd_1.in1:HBM[0]");
        let (left, memory) = setting.value.split_once(':').ok_or_else(form)?;
        let (unit, argument) = left.trim().split_once('.').ok_or_else(form)?;
        let unit = self.unit(setting, unit)?;
        let kernel = &self.design.kernels[self.design.units[unit].kernel];
        let meant: Vec<u32> = kernel
            .arguments
            .iter()
            .filter(|one| one.kind == ArgumentKind::Global)
            .filter(|one| {
                one.name == argument.trim() || one.port.eq_ignore_ascii_case(argument.trim())
            })
            .map(|one| one.index)
            .collect();
        if meant.is_empty() && !kernel.has_memory_port(argument.trim()) {
            let arguments = kernel.arguments.iter();
            let known: Vec<String> = arguments
                .filter(|one| one.kind == ArgumentKind::Global)
                .map(|one| format!("{} ({})", one.name, one.port))
                .collect();
            return Err(setting.broken(format!(
                "kernel `{}` has no memory argument or port `{argument}`; it has {}",
                kernel.name,
                known.join(", ")
            )));
        }
        let wanted = BankRange::parse(memory.trim()).map_err(|rule| setting.broken(rule))?;
        let platform = self.design.platform.clone();
        let found = wanted.find(&mut self.design.memories, &platform);
        let group = found.map_err(|rule| setting.broken(rule))?;
        self.design.memories[group as usize].used = true;
        for index in meant {
            self.design.units[unit].groups.insert(index, group);
        }
        Ok(())
    }

    /// Connects arguments without sp to the first bank.
    fn connect_default_memory(&mut self) {
        for unit in &mut self.design.units {
            for argument in &self.design.kernels[unit.kernel].arguments {
                if argument.kind == ArgumentKind::Global
                    && !unit.groups.contains_key(&argument.index)
                {
                    unit.groups.insert(argument.index, 0);
                    self.design.memories[0].used = true;
                }
            }
        }
    }

    /// Handles sc: `unit.output:unit.input[:depth]`
    fn connect_stream(&mut self, setting: &Setting) -> Result<(), LinkError> {
        let form = || setting.broken("write unit.output:unit.input, as in a_1.out:b_1.in");
        let mut parts = setting.value.split(':').map(str::trim);
        let (Some(from), Some(to)) = (parts.next(), parts.next()) else {
            return Err(form());
        };
        if parts
            .next()
            .is_some_and(|depth| depth.parse::<u32>().is_err())
        {
            return Err(setting.broken("the depth of the FIFO is a number"));
        }
        let (from, output) = from.split_once('.').ok_or_else(form)?;
        let (to, input) = to.split_once('.').ok_or_else(form)?;
        let (from, to) = (self.unit(setting, from)?, self.unit(setting, to)?);
        let output = self.stream(setting, from, output)?;
        let input = self.stream(setting, to, input)?;
        let taken = |one: &StreamLink| {
            (one.from, &one.output) == (from, &output) || (one.to, &one.input) == (to, &input)
        };
        if self.design.streams.iter().any(taken) {
            return Err(setting.broken("one of the two is connected already"));
        }
        let sender = self.stream_port(from, &output);
        let receiver = self.stream_port(to, &input);
        let widths = |signal: Sideband| {
            let of = |port: &Option<StreamPort>| {
                port.as_ref().map_or(0, |port| port.carried_width(signal))
            };
            (of(&sender), of(&receiver))
        };
        for signal in [Sideband::Tid, Sideband::Tdest] {
            let (sent, taken) = widths(signal);
            if taken > 0 && sent > taken {
                return Err(setting.broken(format!(
                    "{output} sends {sent} bits of {} and {input} takes {taken}: give the receiver {sent} \
                     ({signal}_width), or the sender {taken}",
                    signal.to_string().to_ascii_uppercase()
                )));
            }
        }
        // A kernel that routes by one of these sends everything to 0.
        let dropped = sender.iter().flat_map(|port| &port.drops);
        let dropped: Vec<String> = dropped
            .filter(|signal| {
                let (sent, taken) = widths(**signal);
                sent == 0 || taken == 0
            })
            .map(|signal| signal.to_string().to_ascii_uppercase())
            .collect();
        if !dropped.is_empty() {
            self.notes.push(format!(
                "{}: {output}: not carried from kernel to kernel: {}; {input} gets 0",
                setting.origin,
                dropped.join(", ")
            ));
        }
        self.design.streams.push(StreamLink {
            from,
            output,
            to,
            input,
        });
        Ok(())
    }

    /// A unit's stream port as its manifest describes it.
    fn stream_port(&self, unit: usize, name: &str) -> Option<StreamPort> {
        let kernel = &self.design.kernels[self.design.units[unit].kernel];
        let mut ports = clocks::manifest_of(kernel)?.streams.into_iter();
        ports.find(|port| port.name == name)
    }

    /// The stream port with this name, or the port of the argument with this name.
    fn stream(&self, setting: &Setting, unit: usize, name: &str) -> Result<String, LinkError> {
        let kernel = &self.design.kernels[self.design.units[unit].kernel];
        let streams = || {
            kernel
                .arguments
                .iter()
                .filter(|one| one.kind == ArgumentKind::Stream)
        };
        let found = streams().find(|one| one.name == name || one.port.eq_ignore_ascii_case(name));
        found.map(|one| one.port.clone()).ok_or_else(|| {
            let known: Vec<&str> = streams().map(|one| one.port.as_str()).collect();
            setting.broken(format!(
                "kernel `{}` has no stream `{name}`; it has {}",
                kernel.name,
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            ))
        })
    }

    fn add_clocks(&mut self, settings: &[Setting]) -> Result<(), LinkError> {
        for setting in settings {
            let name = setting.name().to_ascii_lowercase();
            let no_number = || setting.broken("the frequency is a number");
            match name.as_str() {
                "clock.defaultfreqhz" => {
                    let hz = setting.value.parse().map_err(|_| no_number())?;
                    let target = String::new();
                    self.design.clocks.push(Clock { target, hz });
                }
                "clock.freqhz" => {
                    let (hz, targets) = setting
                        .value
                        .split_once(':')
                        .unwrap_or((&setting.value, ""));
                    let hz: u64 = hz.trim().parse().map_err(|_| no_number())?;
                    for target in targets.split(',').map(str::trim) {
                        let unit = target.split('.').next().unwrap_or_default();
                        if !unit.is_empty() {
                            self.unit(setting, unit)?;
                        }
                        let target = target.to_owned();
                        self.design.clocks.push(Clock { target, hz });
                    }
                }
                "kernel_frequency" | "kernel-frequency" => {
                    for part in setting.value.trim_matches('"').split('|') {
                        let (number, mhz) = part.split_once(':').unwrap_or(("", part));
                        let mhz: u64 = mhz.trim().parse().map_err(|_| no_number())?;
                        let target = match number.trim() {
                            "" | "0" => String::new(),
                            number => format!("clock {number}"),
                        };
                        let hz = mhz.saturating_mul(1_000_000);
                        self.design.clocks.push(Clock { target, hz });
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
