//! Output files of `tombolo lab`: checked before the work, written atomically after it.

use crate::outputs::{folder_of, OutputPath, Outputs};
use crate::text_file::TextFile;
use lab::experiment::Failure;
use std::path::{Path, PathBuf};

/// Rejects output files that cannot be written, before the experiment runs for half an hour.
///
/// # Errors
/// A folder that is missing or takes no new files, or is where the file should be; a file that may not be written.
pub(crate) fn can_be_written(files: &[&Option<PathBuf>]) -> Result<(), Failure> {
    for file in files.iter().copied().flatten() {
        let folder = folder_of(file);
        if file.is_dir() {
            return Err(format!("{}: is a folder; name a file in it", file.display()).into());
        }
        if !folder.is_dir() {
            let (file, folder) = (file.display(), folder.display());
            return Err(format!("{file}: no folder {folder}; make it first").into());
        }
        // The file is begun and dropped, which leaves an existing one unchanged.
        begin(file, &mut Outputs::default()).map_err(at(file))?;
    }
    Ok(())
}

/// Writes a file atomically: whole, or not at all after a failure or an interrupt.
pub(crate) fn write(path: &Path, text: String) -> Result<(), Failure> {
    let mut outputs = Outputs::default();
    let file = begin(path, &mut outputs).map_err(at(path))?;
    file.write(&text).map_err(at(path))?;
    Ok(outputs
        .finish(true)
        .map_err(|(path, error)| at(&path)(error))?)
}

fn begin(path: &Path, outputs: &mut Outputs) -> std::io::Result<TextFile> {
    TextFile::begin(OutputPath::find(path)?, outputs, false)
}

/// For `map_err`: names the file in an error.
pub(crate) fn at(path: &Path) -> impl Fn(std::io::Error) -> String + '_ {
    |error| format!("{}: {error}", path.display())
}
