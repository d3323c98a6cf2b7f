//! A file that is closed where it may take as long as it likes.

use std::fmt;
use std::fs::File;
use std::mem::ManuallyDrop;
use std::ops::Deref;

/// Takes a file, to close it.
type Close = Box<dyn FnOnce(File) + Send + Sync>;

/// A file that its last user only lets go of: closing it is up to somebody else, because the file system may take its
/// time, and one on a network or in a process (FUSE) may never come back.
pub struct OpenFile {
    file: ManuallyDrop<File>,
    close: Option<Close>,
}

impl OpenFile {
    /// A file that `close` gets in the end.
    pub fn closed_by(file: File, close: impl FnOnce(File) + Send + Sync + 'static) -> Self {
        Self {
            file: ManuallyDrop::new(file),
            close: Some(Box::new(close)),
        }
    }
}

/// A file whose closing waits for nobody, like memory.
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
        // SAFETY: nobody uses the field after this: the value is being dropped, and this is the only place that takes it.
        let file = unsafe { ManuallyDrop::take(&mut self.file) };
        match self.close.take() {
            Some(close) => close(file),
            None => drop(file),
        }
    }
}
