//! Kernels as their authors deliver them: a folder with `kernel.toml` and RTL.

mod manifest;

pub use manifest::{
    AccessMode, Argument, ControlProtocol, KernelError, Manifest, Port, PortKind, ResetPolarity,
};

use std::path::{Path, PathBuf};

/// A kernel's folder with its manifest read and checked; the RTL is not looked at yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPackage {
    /// The folder.
    pub directory: PathBuf,
    /// `kernel.toml`.
    pub manifest: Manifest,
}

impl KernelPackage {
    /// Reads and checks `kernel.toml` in `directory`.
    ///
    /// # Errors
    /// [`KernelError`], naming the file, the key and the rule.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        let manifest = Manifest::read(&directory.join("kernel.toml"))?;
        Ok(Self {
            directory: directory.to_owned(),
            manifest,
        })
    }

    /// The RTL files, in the manifest's order.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> + '_ {
        self.manifest
            .sources
            .iter()
            .map(|source| self.directory.join(source))
    }
}
