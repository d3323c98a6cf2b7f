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

/// A folder with a `kernel.toml`, or the name of one in `kernels/`.
pub fn folder_of(name: &Path) -> Result<PathBuf, NoSuchKernel> {
    let library = simcard::home().join("kernels");
    let is_kernel = |folder: &PathBuf| folder.join("kernel.toml").is_file();
    let places = [name.to_owned(), library.join(name)];
    if let Some(found) = places.into_iter().find(is_kernel) {
        return Ok(found);
    }
    let mut names: Vec<String> = std::fs::read_dir(&library)
        .into_iter()
        .flatten()
        .flatten()
        .filter(|entry| is_kernel(&entry.path()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
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
