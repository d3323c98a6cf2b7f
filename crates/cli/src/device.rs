//! `tombolo device`

use crate::interrupt;
use crate::kernel::{folder_of, NoSuchKernel};
use crate::print::{print, say, NotPrinted};
use crate::progress::Work;
use crate::shell::{ShellError, ShellSelection};
use card::kernel::KernelPackage;
use clap::Args;
use device::{serve, Connection, Function, Interrupts, ServeError, Shell, ShellOptions};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use tombolo::SlotId;
use vfio::CardFile;

/// Serves the simulated card as a PCI Express device to a virtual machine.
///
/// A virtual machine monitor with vfio-user (QEMU from 10.1 on: `-device '{"driver":"vfio-user-pci",...}'`) plugs it in by the
/// socket; in the guest, Linux's vfio-pci drives it and `Card::open("vfio:ADDRESS?card=FILE")` opens it. It serves one host
/// after the other until it is interrupted. See docs/pcie.md.
#[derive(Args)]
#[command(after_help = "Examples:
  A card with one kernel:
    tombolo device --socket card.sock --slot 0=copy --card card.toml
  A shell and two kernels of your own:
    tombolo device --socket card.sock --shell shell.toml --slot 0=./mine --slot 1=./other")]
pub(crate) struct Device {
    /// Socket to create, for the virtual machine monitor.
    #[arg(long, value_name = "PATH")]
    socket: PathBuf,

    #[command(flatten)]
    which: ShellSelection,

    /// Loads a kernel into a slot: the kernel's folder, or a name in `kernels/`.
    #[arg(long = "slot", value_name = "SLOT=KERNEL")]
    slots: Vec<SlotArgument>,

    /// Writes the card file, with the figures that a host cannot read from the card's registers.
    #[arg(long, value_name = "FILE")]
    card: Option<PathBuf>,

    /// Omits function-level reset, as some cards do; programs then use the shell's own reset.
    #[arg(long)]
    no_function_reset: bool,

    /// Ends when the first host disconnects.
    #[arg(long)]
    once: bool,
}

/// `0=copy`
#[derive(Clone, Debug, PartialEq, Eq)]
struct SlotArgument {
    slot: SlotId,
    kernel: PathBuf,
}

impl FromStr for SlotArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: write SLOT=KERNEL, for example 0=copy");
        let (slot, kernel) = text.split_once('=').ok_or_else(wrong)?;
        if kernel.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            slot: SlotId(slot.parse().map_err(|_| wrong())?),
            kernel: kernel.into(),
        })
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum DeviceCommandError {
    #[error(transparent)]
    Shell(#[from] ShellError),
    #[error(transparent)]
    Card(#[from] card::CardError),
    #[error(transparent)]
    NoSuchKernel(#[from] NoSuchKernel),
    #[error(transparent)]
    Serve(#[from] ServeError),
    #[error("{path}: {source}", path = .path.display())]
    CardFile {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("slot {0} is given twice")]
    Twice(u8),
    #[error(transparent)]
    NotPrinted(#[from] NotPrinted),
}

impl Device {
    pub(crate) fn run(self) -> Result<(), DeviceCommandError> {
        let mut kernels: Vec<(SlotId, KernelPackage)> = Vec::new();
        for SlotArgument { slot, kernel } in &self.slots {
            if kernels.iter().any(|(other, _)| other == slot) {
                return Err(DeviceCommandError::Twice(slot.0));
            }
            let package =
                KernelPackage::open(&folder_of(kernel)?).map_err(card::CardError::from)?;
            kernels.push((*slot, package));
        }
        let work = Arc::new(Work::spinner());
        let told = Arc::downgrade(&work);
        let options = ShellOptions {
            simulation: self.which.options()?,
            kernels,
            progress: Arc::new(move |step| {
                if let Some(work) = told.upgrade() {
                    work.say(step.to_string());
                }
            }),
        };
        let interrupts = Interrupts::default();
        let shell = Shell::open(options, interrupts.clone())?;
        drop(work);
        if let Some(path) = &self.card {
            let text = CardFile::of(shell.description()).to_toml();
            std::fs::write(path, text).map_err(|source| DeviceCommandError::CardFile {
                path: path.clone(),
                source,
            })?;
        }
        interrupt::say("interrupted: the device is closed");
        let mut function = Function::new(shell, interrupts);
        if self.no_function_reset {
            function = function.without_reset();
        }
        let (once, socket) = (self.once, self.socket.display().to_string());
        print(format_args!("a card at {socket}\n"))?;
        serve(&self.socket, function, |end| {
            match end {
                Connection::Closed => say!("tombolo: {socket}: the host disconnected"),
                Connection::Failed(why) => {
                    say!("tombolo: {socket}: the connection to the host failed: {why}")
                }
            }
            !once
        })?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_are_named_with_their_kernels() {
        let good: SlotArgument = "3=./my=kernel".parse().unwrap();
        assert_eq!((good.slot, good.kernel), (SlotId(3), "./my=kernel".into()));
        for bad in ["", "copy", "=copy", "0=", "256=copy", "-1=copy"] {
            assert!(bad.parse::<SlotArgument>().is_err(), "{bad}");
        }
    }
}
