//! Mapping: from a request to an address.

use super::{named, Identity, Mapped, StandIn, View};
use crate::behind::StandsFor;
use crate::handles::MappedRange;
use crate::message::ClientId;
use crate::message::{
    Advise, ByteRange, MakeHot, MapFile, MapOptions, MappingId, NewMapping, Refresh, SpaceId, Sync,
};
use crate::owner_ref::OwnerRef;
use crate::Aside;
use crate::Owner;
use crate::NOT_REGULAR;
use error::Error;
use pager::{Event, Success};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use units::{Asid, PageSize, VirtAddr};

/// What has the bytes of a mapping.
struct Source {
    file: Arc<File>,
    /// What the file stands in for.
    stand_in: Option<StandIn>,
    /// Its name, for messages.
    label: String,
}

impl OwnerRef {
    /// Maps a range of a file, or of what it stands in for, as the options say.
    pub(crate) async fn map_file(
        &self,
        client: ClientId,
        request: MapFile,
    ) -> Result<NewMapping, Error> {
        let MapFile {
            space,
            file,
            behind,
            label,
            options,
        } = request;
        let (stand_in, file) = match behind {
            None => (None, Arc::new(file)),
            Some(behind) => {
                let stand_in = self.with(|owner| owner.stand_in(file, behind, &label))?;
                let file = stand_in.1.file.clone();
                (Some(stand_in), file)
            }
        };
        let identity = stand_in.as_ref().map(|(identity, _)| *identity);
        let source = Source {
            file,
            stand_in: stand_in.map(|(_, stand_in)| stand_in),
            label,
        };
        let mapped = self.map_source(client, space, source, options).await;
        if let (Err(_), Some(identity)) = (&mapped, identity) {
            self.with(|owner| owner.files.forget_stand_in(identity));
        }
        let mapped = mapped?;
        if let Err(error) = self.use_as_advised(client, mapped.mapping, options).await {
            self.end_mapping(client, mapped.mapping).await?;
            return Err(error);
        }
        Ok(mapped)
    }

    /// What a new mapping's options say beyond where it is.
    async fn use_as_advised(
        &self,
        client: ClientId,
        mapping: MappingId,
        options: MapOptions,
    ) -> Result<(), Error> {
        let MapOptions { advice, hot, .. } = options;
        if !advice.is_empty() {
            self.with(|owner| {
                let bytes = owner.handles.mapping(client, mapping)?.bytes;
                let range = ByteRange { offset: 0, bytes };
                owner.advise_mapping(
                    client,
                    Advise {
                        mapping,
                        range,
                        advice,
                    },
                )
            })?;
        }
        if hot {
            self.make_mapping_hot(client, MakeHot { mapping }).await?;
        }
        Ok(())
    }

    /// Writes back and ends a mapping.
    pub(crate) async fn end_mapping(
        &self,
        client: ClientId,
        mapping: MappingId,
    ) -> Result<(), Error> {
        let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
        let unfinished = self.settled(range.asid).await;
        let range = self.with(|owner| {
            let range = owner.handles.mapping(client, mapping)?;
            owner.handles.end_mapping(mapping);
            Ok::<MappedRange, Error>(range)
        })?;
        self.unmap(range.asid, range.address, range.bytes).await?;
        unfinished
    }

    /// Writes back what kernels have written to a mapping.
    pub(crate) async fn sync_mapping(&self, client: ClientId, request: Sync) -> Result<(), Error> {
        let range = self.with(|owner| owner.handles.mapping(client, request.mapping))?;
        self.settled(range.asid).await?;
        self.sync(range).await
    }

    /// Reads a mapping's file again.
    pub(crate) async fn refresh_mapping(
        &self,
        client: ClientId,
        request: Refresh,
    ) -> Result<(), Error> {
        let range = self.with(|owner| owner.handles.mapping(client, request.mapping))?;
        self.refresh(range, request.discard).await
    }

    async fn map_source(
        &self,
        client: ClientId,
        space: SpaceId,
        source: Source,
        options: MapOptions,
    ) -> Result<NewMapping, Error> {
        let Source {
            file,
            stand_in,
            label,
        } = source;
        let metadata = file.metadata().map_err(|source| Error::File {
            path: label.clone().into(),
            what: "looking at it",
            source,
        })?;
        check_rights(&file, &label, options)?;
        let length = options.create.unwrap_or(metadata.len());
        let bytes =
            check_options(&metadata, length, options).map_err(|rule| Error::Unmappable {
                path: label.clone().into(),
                rule,
            })?;
        let options = options.bytes(bytes);
        let identity = (metadata.dev(), metadata.ino());
        let view = View {
            identity,
            offset: options.offset,
            bytes,
        };
        // What its last mapping wrote is still on its way to it.
        self.until(|owner| !owner.files.is_closing(identity)).await;
        let asid = self.with(|owner| owner.handles.space(client, space))?;
        let mapped = self.with(|owner| {
            // Whoever closed it meanwhile has forgotten it.
            owner
                .files
                .stand_ins
                .extend(stand_in.map(|stand_in| (identity, stand_in)));
            owner.map(asid, view, file, &label, length, options)
        });
        let (address, page) = match mapped {
            Ok(mapped) => mapped,
            Err(error) => {
                self.close_files(vec![view], true).await;
                return Err(error);
            }
        };
        let emptied = self.with(|owner| owner.empty_if_fresh(view, &label, options));
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
        let mapping = self.with(|owner| {
            owner.clients.mapped(client, &label, options.page_size);
            owner.handles.add_mapping(client, range)
        });
        Ok(NewMapping {
            mapping,
            address,
            bytes,
            page,
        })
    }
}

impl Owner {
    /// What has the bytes of a mapping, with the file that stands in for it: the peer there is, or this one.
    fn stand_in(
        &mut self,
        file: File,
        behind: Box<dyn StandsFor>,
        label: &str,
    ) -> Result<(Identity, StandIn), Error> {
        let failed = |source| Error::File {
            path: label.into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.files.stand_ins.iter();
        let found = behind
            .address()
            .and_then(|address| known.find(|(_, known)| known.behind.address() == Some(address)));
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
        let behind = behind.start(
            file.clone(),
            Box::new(move |done| post.send(Aside::from(done))),
        );
        let stand_in = StandIn {
            file,
            behind: behind.map_err(failed)?,
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
        options: MapOptions,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let (object, page) = self.object(space, view, &file, label, length, options)?;
        if options.write {
            self.claim_range(view, &file)
                .map_err(|rule| Error::Unmappable {
                    path: label.into(),
                    rule,
                })?;
        }
        // The pager maps whole pages of the object; the client gets the byte that it asked for.
        let lead = view.offset % page.bytes();
        let address = match options.address {
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
                            view.offset, page
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
            offset: view.offset - lead,
            bytes: view.bytes + lead,
            read: options.read,
            write: options.write,
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
            writable: options.write,
            first: 0,
        });
        if let Some(object) = self.files.objects.get_mut(&view) {
            object.mappings += 1;
            if options.write {
                object.writer.get_or_insert(file);
            }
        }
        let beyond = || Error::Internal("a mapping beyond the address space".into());
        let address = mapped.address.checked_add(lead).ok_or_else(beyond)?;
        Ok((address, page))
    }

    /// Empties a file that is to be made anew. Everything that can be refused has been checked, and no time
    /// has passed since.
    fn empty_if_fresh(
        &mut self,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Result<(), Error> {
        let (Some(bytes), Some(object)) = (options.create, self.files.objects.get(&view)) else {
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
fn check_rights(file: &File, label: &str, options: MapOptions) -> Result<(), Error> {
    let rights = file_io::rights(file).map_err(|source| Error::File {
        path: label.into(),
        what: "looking how it was opened",
        source,
    })?;
    let rule = match (rights.read, rights.write || !options.write) {
        (false, _) => "the file was opened without the right to read; open it for reading too",
        (_, false) => "the file was opened read-only; open it for writing too, or map it read-only",
        (true, true) => return Ok(()),
    };
    Err(Error::Unmappable {
        path: label.into(),
        rule: rule.to_owned(),
    })
}

/// Bytes that are mapped of a file, or the rule that is broken. Whoever asks may be another process, so nothing of it has
/// been checked before.
fn check_options(metadata: &Metadata, length: u64, options: MapOptions) -> Result<u64, String> {
    if !metadata.is_file() {
        return Err(NOT_REGULAR.to_owned());
    }
    if options.create.is_some() && !options.write {
        return Err("a file that is made anew is mapped for writing too".to_owned());
    }
    let bytes = range_within(length, &options)?;
    if options.hot && options.direct {
        return Err(
            "pages that stay in host memory cannot be hot; leave out one of the two".to_owned(),
        );
    }
    Ok(bytes)
}

/// Bytes that are mapped of a file of that length, or the rule that is broken.
fn range_within(length: u64, options: &MapOptions) -> Result<u64, String> {
    let offset = options.offset;
    if length == 0 {
        return Err("the file is empty; only files of at least 1 byte can be mapped".to_owned());
    }
    if offset >= length {
        return Err(format!(
            "offset {offset} is past the end of the file, which has {length} bytes"
        ));
    }
    let rest = length - offset;
    match options.bytes.unwrap_or(rest) {
        bytes if bytes == 0 || bytes > rest => Err(format!(
            "{bytes} bytes from offset {offset} cannot be mapped; the file has {rest} there"
        )),
        bytes => Ok(bytes),
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
