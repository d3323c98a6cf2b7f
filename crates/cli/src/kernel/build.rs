//! `tombolo kernel check` and `tombolo kernel build`

use super::{folder_of, KernelCommandError};
use crate::print::print;
use crate::progress::Work;
use card::kernel::{ControlProtocol, KernelPackage, Manifest, Numbers};
use clap::Args;
use simcard::{build_kernel, check_kernel, drive_registers, home, refusals};
use std::fmt::Write;
use std::path::PathBuf;
use units::StreamDirection;
use verilated::Builder;

/// Checks a kernel's manifest against its RTL.
///
/// Reports errors in kernel.toml (file, line, key, rule) and in the RTL (file and line), signals of ports that are
/// missing, have another width or are not described, arguments beyond the range of s_axi_control, and calls of the RTL
/// that fail in a run ($fopen for writing).
///
/// Then builds the kernel's model, as a run does, and drives its registers: every argument must answer, in a register
/// of its own. Registers that keep no value or that no argument describes are listed.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel check kernels/vadd
  tombolo kernel check --no-model .")]
pub struct CheckKernel {
    /// The kernel's folder, or the name of one in `kernels/`.
    folder: PathBuf,
    /// Reads the RTL only: builds no model and drives no registers.
    #[arg(long)]
    no_model: bool,
}

/// Builds a kernel's model and keeps it in the cache, where `tombolo run` finds it.
#[derive(Args)]
#[command(after_help = "Examples:
  tombolo kernel build kernels/vadd
  TOMBOLO_CACHE=/scratch/models tombolo kernel build .")]
pub struct BuildKernel {
    /// The kernel's folder, or the name of one in `kernels/`.
    folder: PathBuf,
}

impl CheckKernel {
    pub(super) fn run(self) -> Result<(), KernelCommandError> {
        let kernel = KernelPackage::open(&folder_of(&self.folder)?)?;
        let work = Work::spinner();
        work.say(format!("{}: reading the RTL", kernel.manifest.name));
        let builder = Builder::locate()?;
        let driven = check_kernel(&builder, &kernel).and_then(|()| match self.no_model {
            true => Ok(Vec::new()),
            false => drive_registers(&builder, &kernel, &home(), &mut |step| {
                work.say(step.to_string());
            }),
        });
        drop(work);
        let driven = driven?;
        let mut text = summary(&kernel.manifest);
        for remark in driven {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {remark}");
        }
        for refusal in refusals(&kernel)? {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  refused in a run: {refusal}");
        }
        print(text)?;
        Ok(())
    }
}

impl BuildKernel {
    pub(super) fn run(self) -> Result<(), KernelCommandError> {
        let kernel = KernelPackage::open(&folder_of(&self.folder)?)?;
        let builder = Builder::locate()?;
        let work = Work::spinner();
        let mut last = String::new();
        let built = build_kernel(&builder, &kernel, &home(), &mut |step| {
            last = step.to_string();
            work.say(last.clone());
        });
        drop(work);
        let built = built?;
        print(format_args!("{last}: {}\n", built.library().display()))?;
        Ok(())
    }
}

/// The human-readable result of a check, with a description of the kernel.
pub(super) fn summary(manifest: &Manifest) -> String {
    let name = &manifest.name;
    format!(
        "kernel {name}: manifest and RTL agree\n{}",
        describe(manifest)
    )
}

/// Control, ports and arguments, one per line.
pub(super) fn describe(manifest: &Manifest) -> String {
    let control = match manifest.control {
        ControlProtocol::ApCtrlHs => "ap_ctrl_hs",
        ControlProtocol::ApCtrlChain => "ap_ctrl_chain",
        ControlProtocol::ApCtrlNone => "ap_ctrl_none",
        ControlProtocol::UserManaged => "user_managed",
    };
    let mut text = String::new();
    let interrupt = if manifest.has_interrupt() { "" } else { "no " };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "  control {control}, {interrupt}interrupt");
    for clock in &manifest.clocks {
        let _ = writeln!(
            text,
            "  clock {}: {} of {}",
            clock.name, clock.ratio, manifest.clock
        );
    }
    for (number, port) in manifest.registers.iter().enumerate() {
        if manifest.registers.len() > 1 || port.data_width != 32 {
            let _ = writeln!(
                text,
                "  registers {number} {}: {} bits",
                port.name, port.data_width
            );
        }
    }
    for (number, port) in manifest.ports.iter().enumerate() {
        let _ = writeln!(
            text,
            "  port {number} {}: {} bits, {}{}",
            port.name,
            port.data_width,
            port.access.as_str(),
            match port.address_width {
                64 => String::new(),
                bits => format!(", addresses of {bits} bits"),
            }
        );
    }
    for port in &manifest.streams {
        let direction = match port.direction {
            StreamDirection::In => "in",
            StreamDirection::Out => "out",
        };
        let _ = write!(
            text,
            "  stream {} {direction}: {} bits",
            port.name, port.data_width
        );
        let through = port.through.and_then(|port| manifest.ports.get(port));
        let _ = match (through, port.members.as_slice()) {
            (Some(carrier), _) => writeln!(text, ", through port {}", carrier.name),
            (None, []) => writeln!(text),
            (None, members) => writeln!(text, ", shared by {}", members.join(", ")),
        };
    }
    for argument in &manifest.arguments {
        let kind = match argument.port {
            Some(port) => format!("pointer, port {port}, {}", argument.access.as_str()),
            None if argument.numbers == Numbers::ALL => "scalar".to_owned(),
            None => format!("scalar, {}", argument.numbers),
        };
        let _ = writeln!(
            text,
            "  argument {} at 0x{:02x}: {} bytes, {kind}",
            argument.name, argument.offset, argument.bytes
        );
    }
    text
}
