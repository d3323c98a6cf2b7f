//! Checks that only the daemon's administrator can modify a kernel, since kernels run with the daemon's privileges.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Others may write.
const OTHERS_WRITE: u32 = 0o022;
/// For a folder: only owners may remove entries.
const STICKY: u32 = 0o1000;

/// Checks that only the superuser and the daemon's user can modify a folder, its contents and its path.
///
/// # Errors
/// The rule that is broken.
pub(crate) fn check(folder: &Path) -> Result<(), String> {
    for above in folder.ancestors().skip(1) {
        let found = look(above)?;
        if !is_kept(&found) && found.mode() & STICKY == 0 || !is_trusted(&found) {
            return Err(changeable(above));
        }
    }
    check_all(folder)
}

fn check_all(path: &Path) -> Result<(), String> {
    let found = look(path)?;
    if found.file_type().is_symlink() {
        return Err(format!(
            "{}: an installed kernel has no symbolic links; put a copy there",
            path.display()
        ));
    }
    if !is_trusted(&found) || !is_kept(&found) {
        return Err(changeable(path));
    }
    if !found.is_dir() {
        return Ok(());
    }
    let failed = |error| format!("{}: {error}", path.display());
    for entry in path.read_dir().map_err(failed)? {
        check_all(&entry.map_err(failed)?.path())?;
    }
    Ok(())
}

fn look(path: &Path) -> Result<Metadata, String> {
    let found = path.symlink_metadata();
    found.map_err(|error| format!("{}: {error}", path.display()))
}

/// Owned by the superuser or the daemon's user.
fn is_trusted(found: &Metadata) -> bool {
    found.uid() == 0 || found.uid() == rustix::process::geteuid().as_raw()
}

/// Not writable by others.
fn is_kept(found: &Metadata) -> bool {
    found.mode() & OTHERS_WRITE == 0
}

fn changeable(path: &Path) -> String {
    format!(
        "{} can be changed by others than the superuser and the user of the daemon, with whose rights kernels run: load \
         an installed kernel, or have own_kernels in the quotas",
        path.display()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{create_dir, set_permissions, write, Permissions};
    use std::os::unix::fs::{symlink, PermissionsExt};

    #[test]
    fn what_others_can_change_is_not_installed() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("kernel");
        create_dir(&folder).unwrap();
        let file = folder.join("kernel.toml");
        write(&file, "").unwrap();
        let mode = |path: &Path, mode| set_permissions(path, Permissions::from_mode(mode)).unwrap();
        mode(&folder, 0o755);
        mode(&file, 0o644);
        check(&folder).unwrap();
        for (path, wrong, right) in [
            (file.as_path(), 0o664, 0o644),
            (file.as_path(), 0o646, 0o644),
            (folder.as_path(), 0o775, 0o755),
            // Sticky: others cannot replace these entries, but can add their own.
            (folder.as_path(), 0o1777, 0o755),
            (above.path(), 0o777, 0o755),
        ] {
            mode(path, wrong);
            let told = check(&folder).unwrap_err();
            assert!(told.contains("can be changed by others"), "{told}");
            mode(path, right);
        }
        mode(above.path(), 0o1777);
        check(&folder).unwrap();
        symlink("/etc/hostname", folder.join("link")).unwrap();
        assert!(check(&folder).unwrap_err().contains("no symbolic links"));
        assert!(check(&above.path().join("none"))
            .unwrap_err()
            .contains("No such file"));
    }
}
