//! Files as objects of the pager: one object a file, however often it is mapped.

use super::Owner;
use crate::error::Error;
use pager::{Event, ObjectId, ObjectKind, Success};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use units::{Asid, PageSize, VirtAddr};

/// A range to map, and how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Range {
    pub offset: u64,
    pub bytes: u64,
    pub address: Option<VirtAddr>,
    pub read: bool,
    pub write: bool,
    /// Empty the file, and give it so many bytes.
    pub fresh: Option<u64>,
    pub page_size: Option<PageSize>,
}

#[derive(Debug)]
struct Object {
    id: ObjectId,
    file: Arc<File>,
    label: String,
    bytes: u64,
    writable: bool,
    page_size: PageSize,
    mappings: u32,
}

#[derive(Debug)]
struct Mapped {
    space: Asid,
    address: VirtAddr,
    bytes: u64,
    identity: Identity,
    writable: bool,
}

/// Device and inode.
type Identity = (u64, u64);

/// A file whose bytes must outlive a crash of the machine.
#[derive(Debug)]
pub(super) struct Durable {
    identity: Identity,
    file: Arc<File>,
    label: String,
    /// An earlier attempt failed.
    doubtful: bool,
}

/// The files that are mapped.
#[derive(Debug, Default)]
pub(super) struct Files {
    objects: BTreeMap<Identity, Object>,
    mappings: Vec<Mapped>,
    /// Those of which storage may have lost bytes. The system says so once and counts its pages as clean
    /// from then on, so a later attempt that goes well would prove nothing.
    doubtful: BTreeSet<Identity>,
    next: u64,
}

impl Files {
    /// File and name behind an object.
    pub(super) fn of(&self, object: ObjectId) -> Option<(Arc<File>, String)> {
        let found = self
            .objects
            .values()
            .find(|candidate| candidate.id == object)?;
        Some((found.file.clone(), found.label.clone()))
    }

    /// A name for an object, for messages.
    pub(super) fn label(&self, object: ObjectId) -> String {
        self.of(object)
            .map_or_else(|| object.to_string(), |(_, label)| label)
    }

    /// Files with a writable mapping in a range.
    pub(super) fn mapped_in(&self, space: Asid, address: VirtAddr, bytes: u64) -> Vec<Durable> {
        let end = address.get().saturating_add(bytes);
        self.mappings
            .iter()
            .filter(|m| m.space == space && m.writable)
            .filter(|m| m.address.get() < end && address.get() < m.address.get() + m.bytes)
            .filter_map(|m| Some((m.identity, self.objects.get(&m.identity)?)))
            .map(|(identity, object)| Durable {
                identity,
                file: object.file.clone(),
                label: object.label.clone(),
                doubtful: self.doubtful.contains(&identity),
            })
            .collect()
    }
}

/// Makes a file one of zeroes; one that cannot get the size is as it was.
fn empty(file: &File, bytes: u64) -> io::Result<()> {
    let before = file.metadata()?.len();
    if bytes > before {
        file.set_len(bytes)
            .inspect_err(|_| drop(file.set_len(before)))?;
    }
    file.set_len(0)?;
    file.set_len(bytes)
}

/// People know files by name, not by the pager's numbers.
fn named(error: Error, object: ObjectId, label: &str) -> Error {
    match error {
        Error::Pager(error) => Error::Unmappable {
            path: label.into(),
            rule: error.to_string().replace(&object.to_string(), "the file"),
        },
        other => other,
    }
}

impl Owner {
    /// Maps a range of a file; gives the address of its first byte.
    pub(super) fn map(
        &mut self,
        space: Asid,
        file: File,
        label: String,
        range: Range,
    ) -> Result<VirtAddr, Error> {
        let metadata = file.metadata().map_err(|source| Error::File {
            path: label.clone().into(),
            what: "looking at it",
            source,
        })?;
        let identity = (metadata.dev(), metadata.ino());
        let length = range.fresh.unwrap_or(metadata.len());
        let (object, page) = self.object(identity, file, &label, length, range)?;
        // The pager maps whole pages of the object; the client gets the byte that it asked for.
        let lead = range.offset % page.bytes();
        let address = match range.address {
            Some(wanted) => Some(
                wanted
                    .get()
                    .checked_sub(lead)
                    .and_then(VirtAddr::new)
                    .ok_or_else(|| Error::Unmappable {
                        path: label.clone().into(),
                        rule: format!(
                            "offset {} does not fit address {wanted}: both must have the same \
                         remainder by the page size, {}",
                            range.offset, page
                        ),
                    })?,
            ),
            None => None,
        };
        let result = self.ask(|request| Event::Map {
            request,
            asid: space,
            address,
            object,
            offset: range.offset - lead,
            bytes: range.bytes + lead,
            read: range.read,
            write: range.write,
        });
        let mapped = match result {
            Ok(Success::Mapped(mapped)) => mapped,
            Ok(Success::Done) => {
                return Err(Error::Internal("a mapping without an address".into()));
            }
            Err(error) => {
                self.close_unmapped(identity)?;
                return Err(named(error, object, &label));
            }
        };
        self.files.mappings.push(Mapped {
            space,
            address: mapped.address,
            bytes: mapped.bytes,
            identity,
            writable: range.write,
        });
        let mut emptied = Ok(());
        if let Some(object) = self.files.objects.get_mut(&identity) {
            object.mappings += 1;
            // Everything that can be refused has been checked, and no time has passed since.
            if let Some(bytes) = range.fresh {
                emptied = empty(&object.file, bytes);
            }
        }
        if let Err(source) = emptied {
            self.unmap(space, mapped.address, mapped.bytes)?;
            return Err(Error::File {
                path: label.into(),
                what: "giving it its size",
                source,
            });
        }
        mapped
            .address
            .checked_add(lead)
            .ok_or_else(|| Error::Internal("a mapping beyond the address space".into()))
    }

    /// The object of a file: the one there is, or a new one.
    fn object(
        &mut self,
        identity: Identity,
        file: File,
        label: &str,
        bytes: u64,
        range: Range,
    ) -> Result<(ObjectId, PageSize), Error> {
        if let Some(object) = self.files.objects.get(&identity) {
            let rule = if range.fresh.is_some() {
                Some("it is mapped already, and cannot be made anew; unmap it first".to_owned())
            } else if range.write && !object.writable {
                Some("it is mapped read-only already; make the writable mapping first".to_owned())
            } else if object.bytes != bytes {
                Some(format!(
                    "it is mapped already and has changed its size from {} to {bytes} bytes since; \
                     unmap it first",
                    object.bytes
                ))
            } else if range.page_size.is_some_and(|page| page != object.page_size) {
                Some(format!(
                    "it is mapped already with pages of {}, and a file has pages of one size; unmap it \
                     first or ask for that size",
                    object.page_size
                ))
            } else {
                None
            };
            return match rule {
                Some(rule) => Err(Error::Unmappable {
                    path: label.into(),
                    rule,
                }),
                None => Ok((object.id, object.page_size)),
            };
        }
        let page_size = range.page_size.unwrap_or(self.options.page_size);
        self.files.next += 1;
        let id = ObjectId(self.files.next);
        let kind = ObjectKind::File {
            writable: range.write,
            fresh: range.fresh.is_some(),
        };
        self.ask(|request| Event::CreateObject {
            request,
            object: id,
            bytes,
            kind,
            page_size: Some(page_size),
        })
        .map_err(|error| named(error, id, label))?;
        let object = Object {
            id,
            file: Arc::new(file),
            label: label.to_owned(),
            bytes,
            writable: range.write,
            page_size,
            mappings: 0,
        };
        self.files.objects.insert(identity, object);
        Ok((id, page_size))
    }

    /// Writes back and ends the mappings in a range.
    pub(super) fn unmap(
        &mut self,
        space: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let durable = self.files.mapped_in(space, address, bytes);
        let result = self.ask(|request| Event::Unmap {
            request,
            asid: space,
            address,
            bytes,
        });
        let end = address.get().saturating_add(bytes);
        self.forget_files(space, Some((address.get(), end)));
        result?;
        self.make_durable(&durable)
    }

    /// Puts files on storage: all of them, whatever becomes of one.
    ///
    /// # Errors
    /// The first that failed; also when it failed before and has been mapped ever since.
    pub(super) fn make_durable(&mut self, files: &[Durable]) -> Result<(), Error> {
        let mut result = Ok(());
        for durable in files {
            let (what, source) = if durable.doubtful {
                let source = io::Error::from_raw_os_error(libc::EIO);
                ("putting it on storage, which failed before,", source)
            } else if let Err(source) = self.io.make_durable(&durable.file) {
                ("putting it on storage", source)
            } else {
                continue;
            };
            if self.files.objects.contains_key(&durable.identity) {
                self.files.doubtful.insert(durable.identity);
            }
            result = result.and(Err(Error::File {
                path: (&durable.label).into(),
                what,
                source,
            }));
        }
        result
    }

    /// Forgets the mappings of a space (in a range), and closes files that nobody maps any more.
    pub(super) fn forget_files(&mut self, space: Asid, range: Option<(u64, u64)>) {
        let mut gone = Vec::new();
        self.files.mappings.retain(|mapped| {
            let (start, end) = (mapped.address.get(), mapped.address.get() + mapped.bytes);
            let inside = range.is_none_or(|(from, to)| from < end && start < to);
            if mapped.space == space && inside {
                gone.push(mapped.identity);
                return false;
            }
            true
        });
        for identity in gone {
            if let Some(object) = self.files.objects.get_mut(&identity) {
                object.mappings = object.mappings.saturating_sub(1);
            }
            if let Err(error) = self.close_unmapped(identity) {
                tracing::warn!(%error, "a file could not be closed");
            }
        }
    }

    fn close_unmapped(&mut self, identity: Identity) -> Result<(), Error> {
        let Some(object) = self.files.objects.get(&identity) else {
            return Ok(());
        };
        if object.mappings > 0 {
            return Ok(());
        }
        let id = object.id;
        let closed = self.ask(|request| Event::CloseObject {
            request,
            object: id,
            discard: false,
        });
        if closed.is_err() {
            // What could not be written back was reported by the unmap; nobody can reach it now.
            self.ask(|request| Event::CloseObject {
                request,
                object: id,
                discard: true,
            })?;
        }
        self.files.objects.remove(&identity);
        self.files.doubtful.remove(&identity);
        Ok(())
    }
}
