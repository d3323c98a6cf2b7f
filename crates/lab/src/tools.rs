//! Python tools of the source tree.

use std::path::{Path, PathBuf};

/// Path of the Python interpreter in the tools' virtual environment.
pub fn python(home: &Path) -> PathBuf {
    let cache = std::env::var_os("TOMBOLO_CACHE").map(PathBuf::from);
    let cache =
        cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache/tombolo")));
    cache
        .unwrap_or_else(|| home.join("build"))
        .join("venv/bin/python")
}
