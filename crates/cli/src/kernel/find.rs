//! Finds kernels by folder or by name.

use crate::print::say;
use crate::suggest::did_you_mean;
use std::path::{Path, PathBuf};

/// Neither a folder nor a name of a kernel.
#[derive(Debug, thiserror::Error)]
#[error(
    "no kernel `{name}`: there is no {name}/kernel.toml, and {library} has {known}{meant}",
    name = .name.display(),
    library = .library.display()
)]
pub struct NoSuchKernel {
    name: PathBuf,
    library: PathBuf,
    known: String,
    meant: String,
}

/// The folder of the kernels that come with Tombolo.
pub fn library() -> PathBuf {
    simcard::home().join("kernels")
}

fn is_kernel(folder: &Path) -> bool {
    folder.join("kernel.toml").is_file()
}

/// Names of the kernels in `kernels/`, in order.
pub fn known() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(library())
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_kernel(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// The folder of a kernel in `kernels/`.
pub fn in_library(name: &str) -> PathBuf {
    library().join(name)
}

/// Whether a bare name is a folder here and also another kernel in `kernels/`.
fn hides(here: &Path, library: &Path) -> bool {
    let bare = here.components().count() == 1 && is_kernel(library);
    bare && here.canonicalize().ok() != library.canonicalize().ok()
}

/// A folder with a `kernel.toml`, or the name of one in `kernels/`.
pub fn folder_of(name: &Path) -> Result<PathBuf, NoSuchKernel> {
    let library = library();
    let places = [name.to_owned(), library.join(name)];
    if is_kernel(name) && hides(name, &places[1]) {
        say!(
            "note: kernel {name} is the folder ./{name} here; the one that comes with Tombolo is {path}",
            name = name.display(),
            path = places[1].display()
        );
    }
    if let Some(found) = places.into_iter().find(|folder| is_kernel(folder)) {
        return Ok(found);
    }
    let names = known();
    let known = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    let meant = did_you_mean(&name.to_string_lossy(), names.iter().map(String::as_str));
    Err(NoSuchKernel {
        meant,
        name: name.to_owned(),
        library,
        known,
    })
}
