//! Kernels as delivered by their authors: a folder with `kernel.toml` and RTL.

mod error;
mod file;
mod identity;
mod manifest;
mod read;
mod rtl;

pub use error::{KernelError, ManifestRule};
pub use manifest::{
    AccessMode, Argument, ControlProtocol, Manifest, Numbers, PacketOrder, Port, PortKind,
    RegisterPort, ResetPolarity, Sideband, StreamPort, MAX_STREAM_ID_WIDTH, SECOND_BUNDLE,
    STREAMS_CLOSED, STREAMS_OPEN,
};
pub use rtl::{
    ClockInput, Constant, Parameter, Ratio, DEFAULT_CLOCK, DEFAULT_INTERRUPT, DEFAULT_RESET,
};

use std::path::{Path, PathBuf};

/// A kernel's folder, with its manifest read and checked; the RTL is not read yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelPackage {
    /// Path of the folder.
    pub directory: PathBuf,
    /// `kernel.toml`.
    pub manifest: Manifest,
    /// RTL of the manifest's libraries.
    library_sources: Vec<PathBuf>,
}

impl KernelPackage {
    /// Reads and checks `kernel.toml` in `directory`.
    ///
    /// # Errors
    /// [`KernelError`], naming the file, the key and the rule.
    pub fn open(directory: &Path) -> Result<Self, KernelError> {
        let path = directory.join("kernel.toml");
        let manifest = Manifest::read(&path)?;
        let mut library_sources = Vec::new();
        for library in &manifest.libraries {
            library_sources.extend(library_files(directory, library)?);
        }
        Ok(Self {
            directory: directory.to_owned(),
            manifest,
            library_sources,
        })
    }

    /// All RTL files in compilation order: libraries first, then the manifest's order. A library's packages
    /// (`*_pkg.sv`) precede its other files, which are sorted by name.
    pub fn sources(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let own = self.manifest.sources.iter();
        self.library_sources
            .iter()
            .cloned()
            .chain(own.map(|source| self.directory.join(source)))
    }

    /// Search path of `` `include ``: the folders that the manifest names, the kernel's folder, its
    /// libraries.
    pub fn include_directories(&self) -> impl Iterator<Item = PathBuf> + '_ {
        let named = self.manifest.include.iter();
        let libraries = self.manifest.libraries.iter();
        named
            .map(|folder| self.directory.join(folder))
            .chain(std::iter::once(self.directory.clone()))
            .chain(libraries.map(|library| library_directory(&self.directory, library)))
    }
}

/// Libraries are siblings of the kernel's folder, so they are found even if that is `.`.
fn library_directory(kernel: &Path, library: &str) -> PathBuf {
    kernel.join("..").join(library)
}

fn library_files(kernel: &Path, library: &str) -> Result<Vec<PathBuf>, KernelError> {
    let directory = library_directory(kernel, library);
    let io = |source| KernelError::Io {
        path: directory.clone(),
        source,
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        if matches!(extension, Some("sv" | "v")) && path.is_file() {
            files.push(path);
        }
    }
    let is_package = |path: &PathBuf| {
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        stem.is_some_and(|stem| stem.ends_with("_pkg"))
    };
    files.sort_by_key(|path| (!is_package(path), path.clone()));
    Ok(files)
}
