//! Designs to build: the shell alone, or shell and kernel as one model.

use super::super::config::ShellConfig;
use super::super::kernel_model::SlotDesign;
use super::super::options::SimOptions;
use super::super::top;
use card::kernel::KernelPackage;
use verilated::{BuildError, Builder, Design};

/// The shell alone, under a top with its configuration.
pub(super) fn shell_design(options: &SimOptions) -> Result<Design, BuildError> {
    Ok(Design {
        name: "shell".to_owned(),
        top: top::CARD_TOP.to_owned(),
        clock: "clk_i".to_owned(),
        file_sets: vec![options.shell_file_set()?],
        defines: options.shell_defines(),
        parameters: Vec::new(),
        sleeping: options.sleeping(),
        generated: Some(top::shell_top(&options.shell)),
    })
}

/// Shell and kernel under one top.
pub(super) fn monolithic_design(
    options: &SimOptions,
    builder: &Builder,
    kernel: &KernelPackage,
) -> Result<Design, BuildError> {
    let slot = SlotDesign::new(builder, kernel, &options.home)?;
    if !kernel.manifest.clocks.is_empty() {
        return Err(BuildError::Unsupported {
            kernel: kernel.manifest.name.clone(),
            rule:
                "it has several clocks, and one model with the shell has one: load it into a slot"
                    .to_owned(),
        });
    }
    let info = builder.inspect(&slot.design)?;
    let interface = slot.interface(kernel, &info)?;
    SlotCapacity::of(&options.shell).check(kernel)?;
    let mut text = slot.design.generated.clone().unwrap_or_default();
    text += &top::monolithic_top(&options.shell, &slot.design.top, &interface);
    let mut shell_files = options.shell_file_set()?;
    let mut file_sets = slot.design.file_sets;
    // A wrapper's files may also be the shell's.
    for set in file_sets
        .iter_mut()
        .filter(|set| set.base == shell_files.base)
    {
        set.files.retain(|file| !shell_files.files.contains(file));
        shell_files.files.append(&mut set.files);
    }
    file_sets.insert(0, shell_files);
    Ok(Design {
        name: format!("shell with {}", kernel.manifest.name),
        top: top::CARD_TOP.to_owned(),
        clock: "clk_i".to_owned(),
        file_sets,
        defines: [options.shell_defines(), slot.design.defines].concat(),
        parameters: Vec::new(),
        sleeping: options.sleeping(),
        generated: Some(text),
    })
}

/// Ports of a slot of a shell.
pub(super) struct SlotCapacity {
    memory_ports: u8,
    /// Number of stream pairs.
    pairs: u8,
    /// Number of slices of the directory; 0 without one.
    slices: u8,
    /// Number of slices of the cache of the CPU's lines; 0 without one.
    caches: u8,
}

impl SlotCapacity {
    pub(super) fn of(shell: &ShellConfig) -> Self {
        Self {
            memory_ports: shell.ports_per_slot.saturating_sub(shell.streams_per_slot),
            pairs: shell.streams_per_slot,
            slices: shell.slices(),
            caches: shell.caches(),
        }
    }

    /// Refuses a kernel that a slot cannot hold.
    pub(super) fn check(&self, kernel: &KernelPackage) -> Result<(), BuildError> {
        let broken = self.lines_rule(kernel);
        let broken = broken.or_else(|| self.ports_rule(kernel));
        match broken.or_else(|| self.cache_rule(kernel)) {
            None => Ok(()),
            Some(rule) => Err(BuildError::Unsupported {
                kernel: kernel.manifest.name.clone(),
                rule,
            }),
        }
    }

    /// A kernel with home ports has equally many ports of line operations; one without operates on lines
    /// of card memory.
    fn lines_rule(&self, kernel: &KernelPackage) -> Option<String> {
        let homes = kernel.manifest.lines.len();
        match self.slices {
            slices if homes == 0 || homes == usize::from(slices) => None,
            0 => Some(
                "it stands behind a directory and this shell has none: open the card with a shell with [directory]"
                    .to_owned(),
            ),
            slices => Some(format!(
                "it has {homes} ports of line operations and the directory of this shell {slices} slices: one each"
            )),
        }
    }

    fn ports_rule(&self, kernel: &KernelPackage) -> Option<String> {
        let ports = kernel.manifest.ports.len();
        let needed = kernel.manifest.stream_pairs();
        let (memory_ports, pairs) = (self.memory_ports, self.pairs);
        if ports > memory_ports.into() {
            Some(format!(
                "it has {ports} memory ports and a slot of this shell has {memory_ports}: open the card with a shell \
                 of more ports a slot"
            ))
        } else if needed > pairs {
            Some(format!(
                "it needs {needed} stream pairs (one in, one out) and a slot of this shell has {pairs}: open the card \
                 with a shell of more streams a slot (`streams_per_slot`)"
            ))
        } else {
            None
        }
    }

    fn cache_rule(&self, kernel: &KernelPackage) -> Option<String> {
        let needed = kernel.manifest.accesses.len();
        match self.caches {
            caches if needed == 0 || needed == usize::from(caches) => None,
            0 => Some(
                "it uses lines of the CPU's memory and this shell has no cache of them: open the card with a shell \
                 with [cache]"
                    .to_owned(),
            ),
            caches => Some(format!(
                "it has {needed} ports of kind `host_lines` and the link of this shell {caches} slices: one each"
            )),
        }
    }
}
