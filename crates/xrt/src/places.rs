//! Location of the shell's RTL and the platforms.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static HOME: OnceLock<PathBuf> = OnceLock::new();

/// The folder with `rtl/` and `platforms/` that belongs to an installed library: `PREFIX/share/tombolo` for
/// `PREFIX/lib/libtombolo.so`. `None` if it does not exist.
pub fn home_near(library: &Path) -> Option<PathBuf> {
    let library = library.canonicalize().ok()?;
    let home = library.parent()?.parent()?.join("share/tombolo");
    home.join("rtl").is_dir().then_some(home)
}

/// Sets the folder for all devices of this process; `TOMBOLO_HOME` takes precedence. Only the first call has an effect.
pub fn set_home(home: PathBuf) {
    let _ = HOME.set(home);
}

/// The folder, if it was set.
pub(crate) fn home() -> Option<PathBuf> {
    let asked = std::env::var_os("TOMBOLO_HOME").is_some_and(|home| !home.is_empty());
    HOME.get().filter(|_| !asked).cloned()
}
