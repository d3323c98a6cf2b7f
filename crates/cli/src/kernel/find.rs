//! Kernels by folder or by name.

use std::path::{Path, PathBuf};

/// Neither a folder nor a name of a kernel.
#[derive(Debug, thiserror::Error)]
#[error(
    "no kernel `{name}`: there is no {name}/kernel.toml, and {library} has {known}",
    name = .name.display(),
    library = .library.display()
)]
pub struct NoSuchKernel {
    name: PathBuf,
    library: PathBuf,
    known: String,
}

/// The folder of the kernels that come with Tombolo.
fn library() -> PathBuf {
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

/// A folder with a `kernel.toml`, or the name of one in `kernels/`.
pub fn folder_of(name: &Path) -> Result<PathBuf, NoSuchKernel> {
    let library = library();
    let places = [name.to_owned(), library.join(name)];
    if let Some(found) = places.into_iter().find(|folder| is_kernel(folder)) {
        return Ok(found);
    }
    let names = known();
    let known = match names.is_empty() {
        true => "none".to_owned(),
        false => names.join(", "),
    };
    Err(NoSuchKernel {
        name: name.to_owned(),
        library,
        known,
    })
}
