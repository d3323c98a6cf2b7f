//! Mapping: from a request to an address.

use super::{named, Identity, Mapped, Range, StandIn, View};
use crate::error::Error;
use crate::link::ClientId;
use crate::message::{Reply, SpaceId};
use crate::owner::behind::{Behind, StandsFor};
use crate::owner::handles::MappedRange;
use crate::owner::owner_ref::OwnerRef;
use crate::owner::Owner;
use pager::{Event, Success};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use units::{Asid, PageSize, VirtAddr};

impl OwnerRef {
    /// Maps a range of a file, or of what it stands in for; gives the address of its first byte.
    pub(in crate::owner) async fn map(
        &self,
        client: ClientId,
        space: SpaceId,
        (file, behind): (File, Option<StandsFor>),
        label: String,
        range: Range,
    ) -> Result<Reply, Error> {
        let Some(behind) = behind else {
            let file = Arc::new(file);
            return self
                .map_one(client, space, (file, None), label, range)
                .await;
        };
        let (identity, stand_in) = self.with(|owner| owner.stand_in(file, behind, &label))?;
        let file = (stand_in.file.clone(), Some(stand_in));
        let result = self.map_one(client, space, file, label, range).await;
        if result.is_err() {
            self.with(|owner| owner.files.forget_stand_in(identity));
        }
        result
    }

    async fn map_one(
        &self,
        client: ClientId,
        space: SpaceId,
        (file, stand_in): (Arc<File>, Option<StandIn>),
        label: String,
        range: Range,
    ) -> Result<Reply, Error> {
        let metadata = file.metadata().map_err(|source| Error::File {
            path: label.clone().into(),
            what: "looking at it",
            source,
        })?;
        check_rights(&file, &label, range)?;
        let identity = (metadata.dev(), metadata.ino());
        let view = View {
            identity,
            offset: range.offset,
            bytes: range.bytes,
        };
        // What its last mapping wrote is still on its way to it.
        self.until(|owner| !owner.files.is_closing(identity)).await;
        let asid = self.with(|owner| owner.handles.space(client, space))?;
        let length = range.fresh.unwrap_or(metadata.len());
        let mapped = self.with(|owner| {
            // Whoever closed it meanwhile has forgotten it.
            owner
                .files
                .stand_ins
                .extend(stand_in.map(|stand_in| (identity, stand_in)));
            owner.map(asid, view, file, &label, length, range)
        });
        let (address, page) = match mapped {
            Ok(mapped) => mapped,
            Err(error) => {
                self.close_files(vec![view], true).await;
                return Err(error);
            }
        };
        let bytes = range.bytes;
        let emptied = self.with(|owner| owner.empty_if_fresh(view, &label, range));
        if let Err(error) = emptied {
            self.unmap(asid, address, bytes).await?;
            return Err(error);
        }
        let range = MappedRange {
            space,
            asid,
            address,
            bytes,
        };
        let mapping = self.with(|owner| owner.handles.add_mapping(client, range));
        Ok(Reply::Mapped {
            mapping,
            address,
            page,
        })
    }
}

impl Owner {
    /// What has the bytes of a mapping, with the file that stands in for it: the peer there is, or this one.
    fn stand_in(
        &mut self,
        file: File,
        behind: StandsFor,
        label: &str,
    ) -> Result<(Identity, StandIn), Error> {
        let failed = |source| Error::File {
            path: label.into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.files.stand_ins.iter();
        let found = known.find(|(_, known)| match &behind {
            StandsFor::Remote(memory) => known.behind.is_at(memory.address()),
            StandsFor::Stream(_) => false,
        });
        if let Some((identity, known)) = found {
            return match known.behind.failure() {
                None => Ok((*identity, known.clone())),
                Some(why) => Err(Error::Unmappable {
                    path: label.into(),
                    rule: format!("it is mapped already and has failed; unmap it first: {why}"),
                }),
            };
        }
        let metadata = file.metadata().map_err(failed)?;
        let identity = (metadata.dev(), metadata.ino());
        let post = self.post.clone();
        let file = Arc::new(file);
        let behind = Behind::start(behind, file.clone(), move |aside| post.send(aside));
        let stand_in = StandIn {
            file,
            behind: Arc::new(behind.map_err(failed)?),
        };
        self.files.stand_ins.insert(identity, stand_in.clone());
        Ok((identity, stand_in))
    }

    fn map(
        &mut self,
        space: Asid,
        view: View,
        file: Arc<File>,
        label: &str,
        length: u64,
        range: Range,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let (object, page) = self.object(space, view, &file, label, length, range)?;
        if range.write {
            self.claim_range(view, &file)
                .map_err(|rule| Error::Unmappable {
                    path: label.into(),
                    rule,
                })?;
        }
        // The pager maps whole pages of the object; the client gets the byte that it asked for.
        let lead = range.offset % page.bytes();
        let address = match range.address {
            Some(wanted) => Some(
                wanted
                    .get()
                    .checked_sub(lead)
                    .and_then(VirtAddr::new)
                    .ok_or_else(|| Error::Unmappable {
                        path: label.into(),
                        rule: format!(
                            "offset {} does not fit address {wanted}: both must have the same \
                         remainder by the page size, {}",
                            range.offset, page
                        ),
                    })?,
            ),
            None => None,
        };
        let result = self.ask_now(|request| Event::Map {
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
            Err(error) => return Err(named(error, object, label)),
        };
        self.files.mappings.push(Mapped {
            space,
            address: mapped.address,
            bytes: mapped.bytes,
            view,
            writable: range.write,
            first: 0,
        });
        if let Some(object) = self.files.objects.get_mut(&view) {
            object.mappings += 1;
            if range.write {
                object.writer.get_or_insert(file);
            }
        }
        let beyond = || Error::Internal("a mapping beyond the address space".into());
        let address = mapped.address.checked_add(lead).ok_or_else(beyond)?;
        Ok((address, page))
    }

    /// Empties a file that is to be made anew. Everything that can be refused has been checked, and no time
    /// has passed since.
    fn empty_if_fresh(&mut self, view: View, label: &str, range: Range) -> Result<(), Error> {
        let (Some(bytes), Some(object)) = (range.fresh, self.files.objects.get(&view)) else {
            return Ok(());
        };
        empty(object.writer.as_ref().unwrap_or(&object.file), bytes).map_err(|source| Error::File {
            path: label.into(),
            what: "giving it its size",
            source,
        })
    }
}

/// Whoever maps a file must have opened it with the rights that the mapping needs, even if somebody else
/// has it mapped with more.
fn check_rights(file: &File, label: &str, range: Range) -> Result<(), Error> {
    let rights = crate::io::rights(file).map_err(|source| Error::File {
        path: label.into(),
        what: "looking how it was opened",
        source,
    })?;
    let rule = match (rights.read, rights.write || !range.write) {
        (false, _) => "the file was opened without the right to read; open it for reading too",
        (_, false) => "the file was opened read-only; open it for writing too, or map it read-only",
        (true, true) => return Ok(()),
    };
    Err(Error::Unmappable {
        path: label.into(),
        rule: rule.to_owned(),
    })
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
