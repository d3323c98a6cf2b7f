//! The identity of a kernel: a number that its slot shows.

use super::{KernelError, KernelPackage};
use sha2::{Digest, Sha256};
use std::path::{Path, PathBuf};

impl KernelPackage {
    /// The first 64 bits of a SHA-256 over the manifest and all RTL from which the kernel may be built: independent of
    /// the folder's location, and different after any change. The shell shows it for each slot (register `KERNEL`);
    /// never 0, which marks an empty slot.
    ///
    /// # Errors
    /// [`KernelError::Io`]: a file cannot be read.
    pub fn identity(&self) -> Result<u64, KernelError> {
        let mut hash = Sha256::new();
        let mut files = vec![self.directory.join("kernel.toml")];
        files.extend(self.sources());
        for folder in self.include_directories() {
            files.extend(headers(&folder)?);
        }
        for file in files {
            let bytes = super::file::read(&file).map_err(io(&file))?;
            let name = file.file_name().unwrap_or_default().as_encoded_bytes();
            hash.update((name.len() as u64).to_le_bytes());
            hash.update(name);
            hash.update((bytes.len() as u64).to_le_bytes());
            hash.update(&bytes);
        }
        let digest = hash.finalize();
        let first = digest.iter().take(8);
        let identity = first.fold(0, |word, &byte| word << 8 | u64::from(byte));
        Ok(identity.max(1))
    }
}

/// Files that sources can include, sorted by name. The RTL may not include what a link leads out of the folder to.
fn headers(folder: &Path) -> Result<Vec<PathBuf>, KernelError> {
    let root = std::fs::canonicalize(folder).map_err(io(folder))?;
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(io(folder))? {
        let path = entry.map_err(io(folder))?.path();
        let extension = path.extension().and_then(|extension| extension.to_str());
        let is_header = matches!(extension, Some("svh" | "vh")) && path.is_file();
        if is_header
            && path
                .canonicalize()
                .is_ok_and(|real| real.starts_with(&root))
        {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn io(path: &Path) -> impl Fn(std::io::Error) -> KernelError + '_ {
    |source| KernelError::Io {
        path: path.to_owned(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, rtl: &str, header: &str) -> KernelPackage {
        std::fs::create_dir_all(folder).unwrap();
        let manifest = r#"
            [kernel]
            name = "k"
            description = "nothing"
            top = "k"
            sources = ["k.sv"]
            control = "ap_ctrl_hs"
            [[port]]
            name = "m_axi"
            kind = "axi4"
            data_width = 512
            access = "read"
        "#;
        std::fs::write(folder.join("kernel.toml"), manifest).unwrap();
        std::fs::write(folder.join("k.sv"), rtl).unwrap();
        std::fs::write(folder.join("k.svh"), header).unwrap();
        KernelPackage::open(folder).unwrap()
    }

    #[test]
    fn the_folder_does_not_count_and_every_byte_does() {
        let folder = tempfile::tempdir().unwrap();
        let at = |place: &str, rtl: &str, header: &str| {
            write(&folder.path().join(place), rtl, header)
                .identity()
                .unwrap()
        };
        let here = at("here", "module k;", "`define A");
        assert_eq!(here, at("there", "module k;", "`define A"));
        assert_ne!(here, at("there", "module  k;", "`define A"));
        assert_ne!(here, at("there", "module k;", "`define B"));
        assert_ne!(here, 0);
    }

    #[test]
    fn files_of_others_and_pipes_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let kernel = folder.path().join("kernel");
        let package = write(&kernel, "module k;", "");
        let identity = package.identity().unwrap();
        let secret = folder.path().join("secret");
        std::fs::write(&secret, "xyzzy").unwrap();
        std::os::unix::fs::symlink(&secret, kernel.join("link.svh")).unwrap();
        let pipe = |name: &str| {
            let mut command = std::process::Command::new("mkfifo");
            assert!(command.arg(kernel.join(name)).status().unwrap().success());
        };
        pipe("pipe.svh");
        assert_eq!(package.identity().unwrap(), identity);
        for name in ["k.sv", "kernel.toml"] {
            std::fs::remove_file(kernel.join(name)).unwrap();
            pipe(name);
        }
        let error = package.identity().unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
        let error = KernelPackage::open(&kernel).unwrap_err().to_string();
        assert!(error.contains("no regular file"), "{error}");
    }

    #[test]
    fn a_file_that_is_gone_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let package = write(folder.path(), "module k;", "");
        std::fs::remove_file(folder.path().join("k.sv")).unwrap();
        let error = package.identity().unwrap_err().to_string();
        assert!(error.contains("k.sv"), "{error}");
    }
}
