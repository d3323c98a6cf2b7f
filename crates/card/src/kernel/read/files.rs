//! Sources, libraries and include folders of a kernel, as the file system has them.

use super::{RawKernel, Reader};
use crate::kernel::error::{KernelError, ManifestRule};
use crate::kernel::library_directory;
use crate::kernel::manifest::Manifest;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;

/// Positions of file names in the text, for the checks that need a file system.
pub(super) struct FileSpans {
    sources: Vec<Range<usize>>,
    libraries: Vec<Range<usize>>,
    include: Vec<Range<usize>>,
}

impl FileSpans {
    pub(super) fn of(kernel: &RawKernel) -> Self {
        let spans = |names: &[Spanned<String>]| names.iter().map(Spanned::span).collect();
        Self {
            sources: spans(kernel.sources.get_ref()),
            libraries: spans(&kernel.libraries),
            include: spans(&kernel.include),
        }
    }

    /// Checks that the files exist, and lie in the kernel's folder.
    pub(super) fn check(self, reader: &Reader<'_>, manifest: &Manifest) -> Result<(), KernelError> {
        let broken = |key, span, rule| Err(reader.broken(key, span, rule));
        let folder = match reader.path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        let root = folder.canonicalize().map_err(|source| KernelError::Io {
            path: reader.path.to_owned(),
            source,
        })?;
        // The rule that a path breaks, if any.
        let rule = |path: &Path, exists: fn(&Path) -> bool, missing: fn(String) -> ManifestRule| {
            let name = path.display().to_string();
            match root.join(path).canonicalize() {
                Ok(found) if !found.starts_with(&root) => Some(ManifestRule::OutsideFolder(name)),
                Ok(found) if exists(&found) => None,
                _ => Some(missing(name)),
            }
        };
        for (source, span) in manifest.sources.iter().zip(self.sources) {
            if let Some(rule) = rule(source, Path::is_file, ManifestRule::NoSuchFile) {
                return broken("kernel.sources", span, rule);
            }
        }
        for (include, span) in manifest.include.iter().zip(self.include) {
            if let Some(rule) = rule(include, Path::is_dir, ManifestRule::NoSuchFolder) {
                return broken("kernel.include", span, rule);
            }
        }
        for (library, span) in manifest.libraries.iter().zip(self.libraries) {
            if !library_directory(folder, library).is_dir() {
                return broken(
                    "kernel.libraries",
                    span,
                    ManifestRule::NoSuchLibrary(library.clone()),
                );
            }
        }
        Ok(())
    }
}
