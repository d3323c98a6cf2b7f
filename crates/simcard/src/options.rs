//! Options of a simulated card.

use super::config::ShellConfig;
use super::isolated::KernelHost;
use super::model::WaveFile;
use card::kernel::KernelPackage;
use card::memories::{CardMemory, MemoryKind};
use card::CardError;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::Arc;
use timeline::Timeline;
use timing::network::Network;
use timing::platform::{Memory, Platform};
use units::Picoseconds;
use verilated::{BuildError, Builder, FileSet, Limits};

/// Modules of the shell that are skipped while idle; `CONTAINER/MODULE` for instances in that container only.
pub(crate) const SLEEPING: [&str; 29] = [
    "tmb_bar_bridge",
    "tmb_shell_reset",
    "tmb_shell_errors",
    "tmb_shell_interrupt",
    "tmb_schedule_queues",
    "tmb_owner_changes",
    "tmb_slot_control",
    "tmb_slot_guard",
    "tmb_slot_interrupt",
    "tmb_slot_reset",
    "tmb_guard_registers",
    "tmb_requester_counters",
    "tmb_schedule_limit",
    "tmb_fabric_return",
    "tmb_port/tmb_spill_register",
    "tmb_fabric_order",
    "tmb_shell_core/tmb_flop",
    "tmb_virtual_memory/tmb_flop",
    "tmb_dma",
    "tmb_register_block",
    "tmb_translate_paged",
    "tmb_port_owed",
    "tmb_port_read",
    "tmb_port_write",
    "tmb_port_guard",
    "tmb_park",
    "tmb_fault_queue",
    "tmb_fabric_stripe",
    "tmb_channel",
];

/// Environment variable by which tests select the asserting model of the shell.
const ASSERT: &str = "TOMBOLO_ASSERT";

/// Options of a simulated card.
#[derive(Clone, Debug)]
pub struct SimOptions {
    /// Figures of the hardware.
    pub platform: Platform,
    /// The shell's configuration.
    pub shell: ShellConfig,
    /// Simulated memory of a channel, in bytes; at most the platform's, which is the default.
    pub channel_bytes: Option<u64>,
    /// Skips edges that would change nothing. Affects the speed only, not the results.
    pub idle_skipping: bool,
    /// Builds the shell and this kernel (in slot 0, the only slot) as one model.
    pub monolithic: Option<KernelPackage>,
    /// Root of the Tombolo checkout, which contains `rtl/`.
    pub home: PathBuf,
    /// Uses a model of the shell with every assertion of its RTL, and with AXI assertions on every bus: slower, for
    /// tests and for untrusted kernels. A violation ends the run, or is reported if it is the kernel's. Does not
    /// affect results. The guard and the counters are in both models. The default follows `TOMBOLO_ASSERT=1`.
    pub asserting: bool,
    /// Runs the asserting model in lockstep with the other, with the same inputs: the first edge at which an output
    /// differs breaks the card. For tests of the simulator.
    pub witness: bool,
    /// Timeline to which events are written, edge by edge; see crate `timeline`. Does not affect results.
    pub timeline: Option<Timeline>,
    /// Writes waveforms. Does not affect results.
    pub waves: Option<Waves>,
    /// Network behind the card's interfaces; the default is 100 Gb/s Ethernet.
    pub network: Network,
    /// Builder of models; the default uses the machine's tools and the user's cache.
    pub builder: Option<Builder>,
    /// Builds kernels, and not the shell, in a sandbox with these limits: their RTL belongs to others.
    pub kernel_limits: Option<Limits>,
    /// Evaluates the model of each kernel in a process of its own. Affects the speed only, not the results.
    pub kernel_host: Option<KernelHost>,
}

/// Waveforms (FST): which models write them, and when.
#[derive(Clone, Debug)]
pub struct Waves {
    /// Template of the file names: `waves.fst` gives `waves.shell.fst` and `waves.kernel-0.fst`, with the number of
    /// the slot.
    pub path: PathBuf,
    /// Start of the interval.
    pub from: WaveStart,
    /// Length of the interval, in virtual time.
    pub span: Picoseconds,
    /// Include the shell's model; it is built for this, which takes minutes.
    pub shell: bool,
    /// Include the kernels' models.
    pub kernels: bool,
    /// Set when a model whose waveforms are written (a kernel's, if kernels' are) changes its state in the interval.
    /// Otherwise the waveforms are flat.
    pub changed: Arc<AtomicBool>,
}

/// Start of the waveforms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaveStart {
    /// At this virtual time.
    At(Picoseconds),
    /// A clock cycle before the first row of data crosses a port of any kernel. Before that, kernels wait for their
    /// first page.
    FirstActivity,
}

impl Waves {
    /// The file of one model.
    pub fn file(&self, what: &str) -> PathBuf {
        self.path.with_extension(format!("{what}.fst"))
    }

    /// The waveform file of a model; `activity`: time of the first activity, if it has occurred.
    pub(crate) fn wave_file(
        &self,
        what: &str,
        period: Picoseconds,
        activity: Option<Picoseconds>,
    ) -> WaveFile {
        let from = match self.from {
            WaveStart::At(time) => Some(time),
            WaveStart::FirstActivity => activity.map(|time| time - period),
        };
        WaveFile {
            path: self.file(what),
            from,
            span: self.span.max(Picoseconds::new(1)),
            period,
            changed: (what != SHELL || !self.kernels).then(|| self.changed.clone()),
        }
    }
}

/// Name of the shell in the waveforms' file names.
pub(crate) const SHELL: &str = "shell";

impl SimOptions {
    /// The default card on a platform, given by a name in the checkout's `platforms/` or by a file.
    ///
    /// # Errors
    /// [`CardError::Platform`]: no such platform, or a file that breaks a rule.
    pub fn named(platform: &str) -> Result<Self, CardError> {
        let file = Path::new(platform);
        let loaded = if file.extension().is_some() {
            Platform::load(file)
        } else {
            Platform::named(platform, &platform_directories(&home()))
        };
        Ok(Self::new(
            loaded.map_err(|error| CardError::Platform(error.to_string()))?,
        ))
    }

    /// The default card on a platform.
    pub fn new(platform: Platform) -> Self {
        Self {
            platform,
            shell: ShellConfig::default(),
            channel_bytes: None,
            idle_skipping: true,
            monolithic: None,
            home: home(),
            asserting: std::env::var_os(ASSERT).is_some_and(|value| value == "1"),
            witness: false,
            timeline: None,
            waves: None,
            network: Network::ethernet_100(),
            builder: None,
            kernel_limits: None,
            kernel_host: None,
        }
    }

    /// Memory of the channels: the platform's kinds of memory in their order, each with adjacent channels, and its
    /// timing.
    ///
    /// # Errors
    /// The platform has fewer channels, or less memory per channel than requested.
    pub fn memories(&self) -> Result<Vec<(CardMemory, &Memory)>, CardError> {
        let (platform, channels) = (&self.platform, self.shell.channels);
        let Some(dealt) = platform.deal(channels.into()) else {
            let there: u32 = platform.memories().iter().map(|one| one.channels).sum();
            return Err(CardError::Configuration(format!(
                "{channels} memory channels: platform {} has {there}",
                platform.name()
            )));
        };
        let room = 1u64 << self.shell.channel_bytes_log2;
        let mut first = 0;
        let mut memories = Vec::new();
        for (memory, count) in platform.memories().iter().zip(dealt) {
            if count == 0 {
                continue;
            }
            let there = memory.channel_bytes.min(room);
            let channel_bytes = match self.channel_bytes {
                None => there,
                Some(bytes) if bytes > 0 && bytes <= there && bytes % 4096 == 0 => bytes,
                Some(bytes) => {
                    return Err(CardError::Configuration(format!(
                        "{bytes} bytes of memory a channel: must be a multiple of 4096, and at most the \
                         {there} bytes that platform {} and the shell have",
                        platform.name()
                    )))
                }
            };
            // No more than `channels`, which has eight bits.
            let end = first + count as u8;
            let kind = match memory.kind {
                timing::platform::MemoryKind::Ddr4 => MemoryKind::Ddr,
                timing::platform::MemoryKind::Hbm2 => MemoryKind::Hbm,
            };
            let of_kind = CardMemory {
                kind,
                channels: first..end,
                channel_bytes,
            };
            memories.push((of_kind, memory));
            first = end;
        }
        Ok(memories)
    }

    pub(crate) fn check(&self) -> Result<(), CardError> {
        if let Some(rule) = self.shell.broken_rule() {
            return Err(CardError::Configuration(rule));
        }
        if self.monolithic.is_some() && self.shell.slots != 1 {
            return Err(CardError::Configuration(format!(
                "{} slots: a monolithic card has one",
                self.shell.slots
            )));
        }
        Ok(())
    }

    /// The shell's files.
    pub(crate) fn shell_file_set(&self) -> Result<FileSet, BuildError> {
        let list = match self.asserting {
            true => "rtl/shell/tmb_shell_sim.f",
            false => "rtl/shell/tmb_shell.f",
        };
        FileSet::from_list(&self.home, Path::new(list))
    }

    /// Macros for the build of the shell's model.
    pub(crate) fn shell_defines(&self) -> Vec<String> {
        let mut defines = Vec::new();
        if !self.asserting {
            // rtl/lib/tmb_assert.svh
            defines.push("TMB_NO_ASSERT".to_owned());
        }
        let cpu = self.platform.coherent().map(|coherent| coherent.cpu);
        if cpu.is_some_and(|cpu| cpu.request_ids > cpu::cache::REQUESTS) {
            // rtl/directory/tmb_directory_pkg.sv
            defines.push("TMB_REQUEST_ID_WIDTH=6".to_owned());
        }
        defines
    }

    /// Modules of the shell's model that are skipped while idle.
    pub(crate) fn sleeping(&self) -> Vec<String> {
        let modules = SLEEPING.iter().filter(|_| !self.asserting);
        modules.map(|&module| module.to_owned()).collect()
    }
}

/// The Tombolo checkout: `$TOMBOLO_HOME`, else the one that this program was compiled from.
pub fn home() -> PathBuf {
    match std::env::var_os("TOMBOLO_HOME").filter(|path| !path.is_empty()) {
        Some(path) => PathBuf::from(path),
        None => {
            let here = Path::new(env!("CARGO_MANIFEST_DIR"));
            here.ancestors().nth(2).unwrap_or(here).to_owned()
        }
    }
}

/// A kernel's files, relative to its folder.
pub(crate) fn kernel_file_set(kernel: &KernelPackage) -> Result<FileSet, BuildError> {
    let folder = &kernel.directory;
    let relative = |path: PathBuf| match path.strip_prefix(folder) {
        Ok(relative) => relative.to_owned(),
        Err(_) => path,
    };
    Ok(FileSet {
        base: std::fs::canonicalize(folder).map_err(BuildError::io(folder))?,
        files: kernel.sources().map(relative).collect(),
        include: kernel.include_directories().map(relative).collect(),
    })
}

/// Folders with platform files, for `Platform::named`.
pub fn platform_directories(home: &Path) -> Vec<PathBuf> {
    vec![home.join("platforms")]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shells_modules_are_written_so_that_they_can_sleep() {
        let list = std::fs::read_to_string(home().join("rtl/shell/tmb_shell.f")).unwrap();
        for entry in SLEEPING {
            let module = entry.split_once('/').map_or(entry, |(_, module)| module);
            let is_its = |line: &&str| line.ends_with(&format!("/{module}.sv"));
            let file = list.lines().find(is_its).expect(module);
            let text = std::fs::read_to_string(home().join(file)).unwrap();
            assert!(verilated::can_sleep(module, &text), "{module}");
        }
    }
}
