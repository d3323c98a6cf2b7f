//! Files that clients pass: their numbers and contents.

use super::entry::{FileEntry, Rights};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes read at a time.
const PIECE: usize = 1 << 20;

/// A file that was passed.
#[derive(Debug)]
struct KnownFile {
    number: u64,
    /// Content when it was last looked at.
    content: Content,
    /// Clients that may write it, or whose kernels may.
    writers: Vec<u64>,
}

/// Intended use of a file by a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Will {
    /// It writes the file, or its kernels do.
    pub(crate) write: bool,
    /// It replaces the content by zeros first.
    pub(crate) replace: bool,
}

/// Content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) bytes: u64,
    /// SHA-256; `None`: zeros without storage.
    pub(crate) hash: Option<String>,
}

impl Content {
    /// SHA-256, also of zeros without storage.
    pub(crate) fn hash(&self) -> String {
        let zeros = || hash_of_zeros(self.bytes);
        self.hash.clone().unwrap_or_else(zeros)
    }
}

/// Files that clients have passed.
#[derive(Debug, Default)]
pub(crate) struct Files {
    known: BTreeMap<(u64, u64), KnownFile>,
    /// For the content of written files: a descriptor of each.
    open: BTreeMap<u64, File>,
    copies: u64,
}

impl Files {
    /// Notes a regular file. Returns its number, and its entry if it is new or has changed.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn pass(
        &mut self,
        client: u64,
        file: &OwnedFd,
        will: Will,
        data: Option<&Path>,
    ) -> io::Result<(u64, Option<FileEntry>)> {
        let file = File::from(file.try_clone()?);
        let metadata = file.metadata()?;
        let identity = (metadata.dev(), metadata.ino());
        let next = self.known.len() as u64;
        // The content before does not matter if there will be a new one.
        let replaced = Content {
            bytes: metadata.len(),
            hash: None,
        };
        let being_written = |known: &KnownFile| !known.writers.is_empty();
        let (number, is_changed) = match self.known.get(&identity) {
            // Kernels may be writing it at this moment. A replay writes the same.
            Some(known) if being_written(known) => (known.number, false),
            Some(known) if will.replace => (known.number, replaced != known.content),
            Some(known) => (known.number, content(&file)? != known.content),
            None => (next, true),
        };
        let mut entry = None;
        if is_changed {
            let hole = || io::Result::Ok(is_one_hole(&readable(&file)?, metadata.len()));
            let mut copied = None;
            let content = match data {
                _ if will.replace => replaced,
                Some(folder) if !hole()? => {
                    let name = copied.insert(format!("{number}-{}", self.copies));
                    self.copies += 1;
                    copy(&file, &folder.join(name))?
                }
                _ => content(&file)?,
            };
            entry = Some(FileEntry {
                file: number,
                path: path_of(&file),
                bytes: content.bytes,
                hash: content.hash.clone(),
                copy: copied,
            });
            let known = self.known.entry(identity).or_insert_with(|| KnownFile {
                number,
                content: content.clone(),
                writers: Vec::new(),
            });
            known.content = content;
        }
        if will.write {
            if let Some(known) = self.known.get_mut(&identity) {
                if !known.writers.contains(&client) {
                    known.writers.push(client);
                }
            }
            self.open.insert(number, file);
        }
        Ok((number, entry))
    }

    /// Removes a client that has ended. Returns the files that no client writes any more, with their contents.
    pub(crate) fn closed(&mut self, client: u64) -> Vec<(u64, io::Result<Content>)> {
        let mut written = Vec::new();
        for known in self.known.values_mut() {
            let before = known.writers.len();
            known.writers.retain(|writer| *writer != client);
            if before == 0 || !known.writers.is_empty() {
                continue;
            }
            let Some(file) = self.open.remove(&known.number) else {
                continue;
            };
            let found = content(&file);
            if let Ok(found) = &found {
                known.content = found.clone();
            }
            written.push((known.number, found));
        }
        written
    }
}

/// Path of an open file.
fn path_of(file: &File) -> String {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = std::fs::read_link(link).unwrap_or_default();
    path.to_string_lossy().into_owned()
}

/// Rights of a descriptor.
///
/// # Errors
/// The system's.
pub(crate) fn rights(file: &File) -> io::Result<Rights> {
    let file_io::Rights {
        read,
        write,
        appends,
    } = file_io::rights(file)?;
    Ok(Rights {
        read,
        write,
        append: appends,
    })
}

/// A descriptor of the same file for reading; without that right it is opened anew.
fn readable(file: &File) -> io::Result<File> {
    match rights(file)?.read {
        true => file.try_clone(),
        false => File::open(format!("/proc/self/fd/{}", file.as_raw_fd())),
    }
}

/// Content of a file.
///
/// # Errors
/// The system's.
pub(crate) fn content(file: &File) -> io::Result<Content> {
    let file = readable(file)?;
    let bytes = file.metadata()?.len();
    if is_one_hole(&file, bytes) {
        return Ok(Content { bytes, hash: None });
    }
    let (mut hash, mut piece, mut at) = (Sha256::new(), vec![0; PIECE], 0);
    loop {
        match file.read_at(&mut piece, at)? {
            0 => break,
            read => {
                hash.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
    Ok(Content {
        bytes,
        hash: Some(hex(&hash.finalize())),
    })
}

/// SHA-256 of zeros.
pub(crate) fn hash_of_zeros(bytes: u64) -> String {
    let (mut hash, piece) = (Sha256::new(), vec![0; PIECE]);
    let mut rest = bytes;
    while rest > 0 {
        let part = rest.min(PIECE as u64);
        hash.update(&piece[..part as usize]);
        rest -= part;
    }
    hex(&hash.finalize())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to text cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Whether all bytes of a file, or none, are a hole.
fn is_one_hole(file: &File, bytes: u64) -> bool {
    holes(file, bytes)
        .is_some_and(|holes| holes.iter().map(|hole| hole.end - hole.start).sum::<u64>() == bytes)
}

/// Holes of a file, by a descriptor with an offset of its own: that of a passed one is its client's. `None` for another
/// user's file, which this process cannot open.
fn holes(file: &File, bytes: u64) -> Option<Vec<Range<u64>>> {
    let own = File::open(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()?;
    file_io::holes(&own, 0..bytes).ok()
}

/// Copies a file with its holes; returns the content of the copy.
///
/// # Errors
/// The system's.
pub(crate) fn copy(from: &File, to: &Path) -> io::Result<Content> {
    let from = readable(from)?;
    let to = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .open(to)?;
    let bytes = from.metadata()?.len();
    to.set_len(bytes)?;
    let (mut hash, mut piece, zeros) = (Sha256::new(), vec![0; PIECE], vec![0; PIECE]);
    let part = |from: u64, to: u64| (to.saturating_sub(from) as usize).min(PIECE);
    let mut at = 0;
    let holes = holes(&from, bytes).unwrap_or_default();
    let end = bytes..bytes;
    for hole in holes.into_iter().chain([end]) {
        while at < hole.start {
            let read = from.read_at(&mut piece[..part(at, hole.start)], at)?;
            if read == 0 {
                // It has become shorter.
                to.set_len(at)?;
                break;
            }
            to.write_all_at(&piece[..read], at)?;
            hash.update(&piece[..read]);
            at += read as u64;
        }
        if at < hole.start {
            break;
        }
        while at < hole.end {
            let zeros = &zeros[..part(at, hole.end)];
            hash.update(zeros);
            at += zeros.len() as u64;
        }
    }
    Ok(Content {
        bytes: at,
        hash: Some(hex(&hash.finalize())),
    })
}

/// Opens a file with these rights.
///
/// # Errors
/// The system's.
pub(crate) fn open(path: &Path, rights: Rights) -> io::Result<File> {
    OpenOptions::new()
        .read(rights.read)
        .write(rights.write && !rights.append)
        .append(rights.append)
        .open(path)
}
