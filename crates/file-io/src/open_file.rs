//! A file that is closed on another thread, because closing may block indefinitely.

use std::fmt;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// Function that closes a file.
type Close = Box<dyn FnOnce(File) + Send + Sync>;

/// A file whose last user does not close it: `close` does, because the file system may be slow, and one on a network or
/// in a process (FUSE) may never return.
pub struct OpenFile {
    file: ManuallyDrop<File>,
    close: Option<Close>,
}

impl OpenFile {
    /// A file that is passed to `close` at the end.
    pub fn closed_by(file: File, close: impl FnOnce(File) + Send + Sync + 'static) -> Self {
        Self {
            file: ManuallyDrop::new(file),
            close: Some(Box::new(close)),
        }
    }
}

/// A file that closes without blocking, such as memory.
impl From<File> for OpenFile {
    fn from(file: File) -> Self {
        Self {
            file: ManuallyDrop::new(file),
            close: None,
        }
    }
}

impl Deref for OpenFile {
    type Target = File;

    fn deref(&self) -> &File {
        &self.file
    }
}

impl fmt::Debug for OpenFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.file.fmt(f)
    }
}

impl Drop for OpenFile {
    fn drop(&mut self) {
        // SAFETY: the field is not used after this: the value is being dropped, and this is the only place that takes
        // it.
        let file = unsafe { ManuallyDrop::take(&mut self.file) };
        match self.close.take() {
            Some(close) => close(file),
            None => drop(file),
        }
    }
}
