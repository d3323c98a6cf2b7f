//! Identity of a descriptor's file.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// Device and inode: descriptors with equal values refer to the same file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// Device of the mount.
    pub device: u64,
    /// Inode number on that device.
    pub inode: u64,
}

/// Identity of a file, without a request to its file system, which may be slow or unavailable: the kernel knows it
/// while the file is open.
///
/// # Errors
/// Error of the operating system.
pub fn identity(file: &File) -> io::Result<Identity> {
    let mut found = MaybeUninit::<libc::statx>::zeroed();
    // SAFETY: the path is an empty string that ends with a zero, the descriptor is open while `file` is borrowed, and the
    // record is ours and large enough.
    let done = unsafe {
        libc::statx(
            file.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH | libc::AT_STATX_DONT_SYNC,
            libc::STATX_INO,
            found.as_mut_ptr(),
        )
    };
    if done != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all zeroes is a record, and the kernel has filled it.
    let found = unsafe { found.assume_init() };
    Ok(Identity {
        device: libc::makedev(found.stx_dev_major, found.stx_dev_minor),
        inode: found.stx_ino,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn it_is_what_metadata_says() {
        let file = tempfile::tempfile().unwrap();
        let (found, other) = (identity(&file).unwrap(), tempfile::tempfile().unwrap());
        let metadata = file.metadata().unwrap();
        assert_eq!(
            (found.device, found.inode),
            (metadata.dev(), metadata.ino())
        );
        assert_ne!(found, identity(&other).unwrap());
        assert_eq!(found, identity(&file.try_clone().unwrap()).unwrap());
    }
}
