//! Where the shell's RTL and the platforms are.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

static HOME: OnceLock<PathBuf> = OnceLock::new();

/// The folder with `rtl/` and `platforms/` of an installed library, whose file is `library`:
/// `PREFIX/lib/libtombolo.so` has `PREFIX/share/tombolo`. `None` if there is none.
pub fn home_near(library: &Path) -> Option<PathBuf> {
    let library = library.canonicalize().ok()?;
    let home = library.parent()?.parent()?.join("share/tombolo");
    home.join("rtl").is_dir().then_some(home)
}

/// Names the folder for all devices of this process, unless `TOMBOLO_HOME` does. The first call counts.
pub fn set_home(home: PathBuf) {
    let _ = HOME.set(home);
}

/// The folder, if it was named.
pub(crate) fn home() -> Option<PathBuf> {
    let asked = std::env::var_os("TOMBOLO_HOME").is_some_and(|home| !home.is_empty());
    HOME.get().filter(|_| !asked).cloned()
}
