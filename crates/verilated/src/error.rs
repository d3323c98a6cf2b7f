//! Errors of building a model.

use std::path::PathBuf;

/// Cause of a failed build.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A tool is missing.
    #[error("{tool} was not found ({looked}); {remedy}")]
    MissingTool {
        /// Name of the tool.
        tool: &'static str,
        /// Searched places.
        looked: String,
        /// Remedy for the missing tool.
        remedy: &'static str,
    },
    /// A file or folder could not be read or written.
    #[error("{path}: {source}", path = .path.display())]
    Io {
        /// Path of the file or folder.
        path: PathBuf,
        /// Cause, from the operating system.
        source: std::io::Error,
    },
    /// Verilator rejected the RTL.
    #[error("{design}: the RTL does not compile (Verilator says):\n{messages}")]
    Rtl {
        /// Name of the kernel, or `shell`.
        design: String,
        /// Verilator's errors, with file and line.
        messages: String,
    },
    /// The RTL uses a construct that a card does not have.
    #[error("{design}: {place}: {construct} is refused: a kernel on a card has no way to do it")]
    Refused {
        /// Name of the kernel, or `shell`.
        design: String,
        /// File and line.
        place: String,
        /// Construct that was used.
        construct: &'static str,
    },
    /// The C++ compiler failed, which no RTL should cause.
    #[error("{design}: the C++ compiler failed on Verilator's output:\n{messages}")]
    Compiler {
        /// Name of the kernel, or `shell`.
        design: String,
        /// Output of the compiler, shortened.
        messages: String,
    },
    /// A source of a confined build breaks a rule.
    #[error("{design}: {path}: {rule}", path = .path.display())]
    Source {
        /// Name of the kernel, or `shell`.
        design: String,
        /// Path of the file or folder, relative to the kernel's folder.
        path: PathBuf,
        /// Rule, and the remedy.
        rule: &'static str,
    },
    /// A build within limits exceeded one.
    #[error("{design}: the build needs more than {limit}, its limit here; it was ended")]
    Limit {
        /// Name of the kernel, or `shell`.
        design: String,
        /// Limit that was exceeded.
        limit: String,
    },
    /// No client waits for the build any more.
    #[error("{design}: the build was ended: its client is gone")]
    Abandoned {
        /// Name of the kernel, or `shell`.
        design: String,
    },
    /// The manifest and the RTL disagree.
    #[error("kernel {kernel}: the manifest does not match the RTL: {rule}")]
    Mismatch {
        /// Name of the kernel.
        kernel: String,
        /// Signal, and the rule it breaks.
        rule: String,
    },
    /// This version of the shell does not support the kernel.
    #[error("kernel {kernel}: {rule}")]
    Unsupported {
        /// Name of the kernel.
        kernel: String,
        /// Broken rule and remedy.
        rule: String,
    },
    /// The folder of built models cannot be written.
    #[error(
        "the cache of built models cannot be written: {path}: {source}; make room or give yourself \
         the right to write there, or name another folder in TOMBOLO_CACHE and run `make setup` again",
        path = .path.display()
    )]
    Cache {
        /// Path that could not be written.
        path: PathBuf,
        /// Cause, from the operating system.
        source: std::io::Error,
    },
    /// A model cannot be loaded from the cache's file system.
    #[error(
        "the built model in the cache, {path}, cannot be loaded: the file system there is mounted without the right to execute \
         (noexec); name a folder of another one in TOMBOLO_CACHE",
        path = .path.display()
    )]
    NotExecutable {
        /// Folder in the cache.
        path: PathBuf,
    },
    /// An intact built model could not be loaded.
    #[error(
        "the built model in the cache, {path}, cannot be used: {reason}; delete this folder to build \
         it again",
        path = .path.display()
    )]
    Damaged {
        /// Folder in the cache.
        path: PathBuf,
        /// Error of the loader.
        reason: String,
    },
}

impl BuildError {
    /// For `map_err`: an I/O error with its path.
    pub fn io(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { path, source }
    }

    /// For `map_err`: an error of writing the cache.
    pub(crate) fn cache(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::Cache { path, source }
    }
}
