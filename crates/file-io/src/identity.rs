//! Which file a descriptor is of.

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::AsRawFd;

/// Device and inode: two descriptors with the same are of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    /// The mount's device.
    pub device: u64,
    /// The inode.
    pub inode: u64,
}

/// Which file it is, without asking its file system, which may be slow or gone: the kernel knows as long as it is open.
///
/// # Errors
/// What the system says.
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
