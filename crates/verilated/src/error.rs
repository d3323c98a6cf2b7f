//! Why a model could not be built.

use std::path::PathBuf;

/// Why RTL did not become a model.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A tool is missing.
    #[error("{tool} was not found ({looked}); {remedy}")]
    MissingTool {
        /// What is missing.
        tool: &'static str,
        /// Where it was looked for.
        looked: String,
        /// What to do.
        remedy: &'static str,
    },
    /// A file or folder could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Verilator refused the RTL.
    #[error("{design}: the RTL does not compile (Verilator says):\n{messages}")]
    Rtl {
        /// Name of the kernel, or `shell`.
        design: String,
        /// Verilator's errors, with file and line.
        messages: String,
    },
    /// The RTL asks for something that a card does not have.
    #[error("{design}: {place}: {construct} is refused: a kernel on a card has no way to do it")]
    Refused {
        /// Name of the kernel, or `shell`.
        design: String,
        /// File and line.
        place: String,
        /// What it asks for.
        construct: &'static str,
    },
    /// The C++ compiler failed, which no RTL should cause.
    #[error("{design}: the C++ compiler failed on Verilator's output:\n{messages}")]
    Compiler {
        /// Name of the kernel, or `shell`.
        design: String,
        /// What the compiler said, shortened.
        messages: String,
    },
    /// The manifest and the RTL disagree.
    #[error("kernel {kernel}: the manifest does not match the RTL: {rule}")]
    Mismatch {
        /// Name of the kernel.
        kernel: String,
        /// The signal and the rule it breaks.
        rule: String,
    },
    /// A kernel that this version of the shell has no place for.
    #[error("kernel {kernel}: {rule}")]
    Unsupported {
        /// Name of the kernel.
        kernel: String,
        /// What does not fit and what to do.
        rule: String,
    },
    /// The folder of built models cannot be written.
    #[error(
        "the cache of built models cannot be written: {path}: {source}; make room or give yourself \
         the right to write there, or name another folder in TOMBOLO_CACHE and run `make setup` again",
        path = .path.display()
    )]
    Cache {
        /// What could not be written.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A model cannot be loaded from where the cache is.
    #[error(
        "the built model in the cache, {path}, cannot be loaded: the file system there is mounted without the right to execute \
         (noexec); name a folder of another one in TOMBOLO_CACHE",
        path = .path.display()
    )]
    NotExecutable {
        /// Folder in the cache.
        path: PathBuf,
    },
    /// A built model could not be loaded, though it is as it was built.
    #[error(
        "the built model in the cache, {path}, cannot be used: {reason}; delete this folder to build \
         it again",
        path = .path.display()
    )]
    Damaged {
        /// Folder in the cache.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
}

impl BuildError {
    /// For `map_err`: an I/O error with its path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// For `map_err`: the cache could not be written there.
    pub(crate) fn cache(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Cache { path, source }
    }
}
