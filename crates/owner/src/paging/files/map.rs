//! Mapping: from a request to an address.

use super::{named, Files, Mapped, StandIn, View, Wanted};
use crate::behind::StandsFor;
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::lane::Post;
use crate::message::ClientId;
use crate::message::{
    ByteRange, MakeHot, MapFile, MapOptions, MappingId, NewMapping, Refresh, SpaceId, Sync,
};
use crate::owner_ref::OwnerRef;
use crate::paging::lanes::InLane;
use crate::paging::lanes::Lanes;
use crate::paging::patience::Awaited;
use crate::paging::Paging;
use crate::tasks::Tasks;
use crate::tenants::Counted;
use crate::Aside;
use crate::NOT_REGULAR;
use error::Error;
use file_io::{Identity, OpenFile};
use pager::{Event, Success};
use std::fs::{File, Metadata};
use std::io;
use std::ops::Range;
use std::sync::Arc;
use units::{Asid, PageSize, VirtAddr};

/// What has the bytes of a mapping.
struct Source {
    file: Arc<OpenFile>,
    identity: Identity,
    /// What the file stands in for.
    stand_in: Option<StandIn>,
    /// Its name, for messages.
    label: String,
}

/// What is to be mapped of a file.
struct Looked {
    view: View,
    /// Bytes of all of it.
    length: u64,
    /// Where the view has no bytes, if the mapping asks for that.
    holes: Vec<Range<u64>>,
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
        let source = self.paging(|paging| match behind {
            None => paging.lanes.source(file, label),
            Some(behind) => paging.files.stand_in(self.post(), file, behind, label),
        })?;
        let (identity, stands_in) = (source.identity, source.stand_in.is_some());
        let mapped = self.map_source(client, space, source, options).await;
        if mapped.is_err() && stands_in {
            self.paging(|paging| paging.files.forget_stand_in(identity));
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
            let range = self.range_of(client, mapping)?;
            let bytes = range.bytes;
            self.paging_with(|paging, kernels| {
                paging.advise_mapping(kernels, range, ByteRange { offset: 0, bytes }, advice)
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
        let range = self.range_of(client, mapping)?;
        let unfinished = self.settled(range.asid).await;
        let range = self.handles(|handles| {
            let range = handles.mapping(client, mapping)?;
            handles.end_mapping(mapping);
            Ok::<MappedRange, Error>(range)
        })?;
        self.unmap(range.asid, range.address, range.bytes).await?;
        unfinished
    }

    /// Writes back what kernels have written to a mapping.
    pub(crate) async fn sync_mapping(&self, client: ClientId, request: Sync) -> Result<(), Error> {
        let range = self.range_of(client, request.mapping)?;
        self.settled(range.asid).await?;
        self.sync(range).await
    }

    /// Reads a mapping's file again.
    pub(crate) async fn refresh_mapping(
        &self,
        client: ClientId,
        request: Refresh,
    ) -> Result<(), Error> {
        let range = self.handles(|handles| {
            self.paging(|paging| {
                let range = handles.mapping(client, request.mapping)?;
                match request.discard {
                    true => paging
                        .files
                        .may_discard(handles, client, range)
                        .map(|()| range),
                    false => Ok(range),
                }
            })
        })?;
        self.refresh(range, request.discard).await
    }

    async fn map_source(
        &self,
        client: ClientId,
        space: SpaceId,
        source: Source,
        options: MapOptions,
    ) -> Result<NewMapping, Error> {
        let _room = self.room(client, Counted::Mappings)?;
        let Looked {
            view,
            length,
            holes,
        } = self.look_at(&source, options).await?;
        let options = options.bytes(view.bytes);
        let Source {
            file,
            identity,
            stand_in,
            label,
        } = source;
        self.closed(identity, &label).await?;
        // Whoever closed it meanwhile has forgotten it.
        let stands_in = stand_in.map(|stand_in| (identity, stand_in));
        self.paging(|paging| {
            paging.files.stand_ins.extend(stands_in);
            paging.files.may_begin(view, &label, options)
        })?;
        let claims = options.write && !self.paging(|paging| paging.files.stands_in(identity));
        if claims {
            self.claim_range(view, &file, &label).await?;
        }
        // The space may have gone while the file was locked, and may go while the file is emptied: the mapping has its name
        // from the start, and ends with its space.
        let wanted = Wanted {
            view,
            file,
            label: &label,
            length,
            options,
        };
        let mapped = self.handles(|handles| {
            let asid = handles.space(client, space)?;
            let mapped = self.paging_with(|paging, kernels| {
                let mapped = paging.map(kernels, asid, wanted)?;
                if options.holes {
                    paging.transfers.has_holes(&holes);
                    paging.files.has_holes(view, holes);
                }
                Ok::<_, Error>(mapped)
            });
            let (address, page) = mapped?;
            let bytes = view.bytes;
            let range = MappedRange {
                space,
                asid,
                address,
                bytes,
            };
            let mapping = handles.add_mapping(client, range);
            Ok::<_, Error>(NewMapping {
                mapping,
                address,
                bytes,
                page,
            })
        });
        let mapped = mapped.map(|mapped| {
            self.clients(|clients| clients.mapped(client, &label, options.page_size));
            let emptied = self.paging(|paging| {
                self.tasks(|tasks| paging.empty_if_fresh(tasks, view, &label, options))
            });
            (mapped, emptied)
        });
        let mapped = match mapped {
            Ok((mapped, emptied)) => match self.emptied(emptied, &label).await {
                Ok(()) => Ok(mapped),
                Err(error) => self
                    .end_mapping(client, mapped.mapping)
                    .await
                    .and(Err(error)),
            },
            Err(error) => {
                self.close_files(vec![view], true).await;
                Err(error)
            }
        };
        if claims {
            self.claim_ended(view).await;
        }
        mapped
    }

    /// What is to be mapped of a file.
    async fn look_at(&self, source: &Source, options: MapOptions) -> Result<Looked, Error> {
        let Source {
            file,
            identity,
            label,
            ..
        } = source;
        check_rights(file, label, options)?;
        let what = "looking at it";
        let awaited = Awaited {
            device: identity.device,
            label: label.clone(),
            what,
        };
        let looked = file.clone();
        let look = move || {
            let metadata = looked.metadata()?;
            let end = options
                .bytes
                .and_then(|bytes| options.offset.checked_add(bytes));
            let end = end.unwrap_or(u64::MAX).min(metadata.len());
            let holes = match options.holes && metadata.is_file() {
                true => file_io::holes(&looked, options.offset..end)?,
                false => Vec::new(),
            };
            Ok((metadata, holes))
        };
        let found = self.in_lane(awaited, look).await?;
        let (metadata, holes) = found.map_err(|source| Error::File {
            path: label.into(),
            what,
            source,
        })?;
        let length = options.create.unwrap_or(metadata.len());
        let bytes =
            check_options(&metadata, length, options).map_err(|rule| Error::Unmappable {
                path: label.into(),
                rule,
            })?;
        let view = View {
            identity: *identity,
            offset: options.offset,
            bytes,
        };
        Ok(Looked {
            view,
            length,
            holes,
        })
    }

    /// Waits until what the last mapping of a file wrote is in it.
    async fn closed(&self, identity: Identity, label: &str) -> Result<(), Error> {
        self.until(|| {
            self.paging(|paging| {
                paging.files.is_given_up(identity) || !paging.files.is_closing(identity)
            })
        })
        .await;
        let answers = self.paging(|paging| !paging.patience.is_silent(identity.device));
        if answers && self.paging(|paging| paging.files.is_given_up(identity)) {
            // Nobody has waited for the card to take what came late.
            self.card(|| {
                self.paging(|paging| {
                    Ok(paging
                        .files
                        .given_up_has_left(&paging.pager, identity)
                        .then_some(()))
                })
            })
            .await?;
            for view in self.paging_with(|paging, kernels| paging.forget_given_up(kernels)) {
                self.settle_claim(view).await;
            }
        }
        match self.paging(|paging| paging.files.is_given_up(identity)) {
            true => Err(Error::Unmappable {
                path: label.into(),
                rule: "its file system has not answered, and what was asked of it may still be done: map it again when it \
                       answers"
                    .to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Waits until a file is made anew.
    async fn emptied(
        &self,
        emptied: Option<Result<InLane<io::Result<()>>, Error>>,
        label: &str,
    ) -> Result<(), Error> {
        let Some(emptied) = emptied.transpose()? else {
            return Ok(());
        };
        let emptied = self.lane_result(emptied).await?;
        emptied.map_err(|source| Error::File {
            path: label.into(),
            what: EMPTYING,
            source,
        })
    }
}

/// What is done to a file that is made anew, for messages.
const EMPTYING: &str = "giving it its size";

impl Lanes {
    /// A file that has the bytes of a mapping.
    fn source(&mut self, file: File, label: String) -> Result<Source, Error> {
        let opened = file_io::identity(&file)
            .and_then(|identity| Ok((identity, self.open(identity.device, file)?)));
        let (identity, file) = opened.map_err(|source| Error::File {
            path: (&label).into(),
            what: "looking which file it is",
            source,
        })?;
        Ok(Source {
            file: Arc::new(file),
            identity,
            stand_in: None,
            label,
        })
    }
}

impl Files {
    /// What has the bytes of a mapping, with the file that stands in for it: the peer there is, or this one.
    fn stand_in(
        &mut self,
        post: &Post,
        file: File,
        behind: Box<dyn StandsFor>,
        label: String,
    ) -> Result<Source, Error> {
        let source = |identity, stand_in: StandIn, label| Source {
            file: stand_in.file.clone(),
            identity,
            stand_in: Some(stand_in),
            label,
        };
        let failed = |source| Error::File {
            path: (&label).into(),
            what: "standing in for it",
            source,
        };
        let mut known = self.stand_ins.iter();
        let found = behind
            .address()
            .and_then(|address| known.find(|(_, known)| known.behind.address() == Some(address)));
        if let Some((identity, known)) = found {
            return match known.behind.failure() {
                None => Ok(source(*identity, known.clone(), label)),
                Some(why) => Err(Error::Unmappable {
                    path: label.into(),
                    rule: format!("it is mapped already and has failed; unmap it first: {why}"),
                }),
            };
        }
        let identity = file_io::identity(&file).map_err(failed)?;
        let post = post.clone();
        // It is memory, which keeps nobody waiting.
        let file = Arc::new(OpenFile::from(file));
        let behind = behind.start(
            file.clone(),
            Box::new(move |done| post.send(Aside::from(done))),
        );
        let stand_in = StandIn {
            file,
            behind: behind.map_err(failed)?,
        };
        self.stand_ins.insert(identity, stand_in.clone());
        Ok(source(identity, stand_in, label))
    }

    /// Whether a client may drop what kernels wrote to the range of a mapping: who may not write there leaves what others
    /// wrote as it is.
    fn may_discard(
        &self,
        handles: &Handles,
        client: ClientId,
        range: MappedRange,
    ) -> Result<(), Error> {
        let Some(mapped) = self.at(range).filter(|mapped| !mapped.writable) else {
            return Ok(());
        };
        let is_own = |space| handles.asids(client).any(|own| own == space);
        match self.writers(mapped.view).all(is_own) {
            true => Ok(()),
            false => Err(Error::Unmappable {
                path: (&mapped.label).into(),
                rule: "another program has it mapped for writing, and this mapping is read-only: what that one wrote can \
                       be saved by a refresh, and not dropped"
                    .to_owned(),
            }),
        }
    }
}

impl Paging {
    /// Begins to empty a file that is to be made anew. Everything that can be refused has been checked; what is written
    /// back from now on is written behind this.
    fn empty_if_fresh(
        &mut self,
        tasks: &mut Tasks,
        view: View,
        label: &str,
        options: MapOptions,
    ) -> Option<Result<InLane<io::Result<()>>, Error>> {
        let (bytes, object) = (options.create?, self.files.objects.get(&view)?);
        let file = object.writer.as_ref().unwrap_or(&object.file).clone();
        let awaited = Awaited {
            device: view.identity.device,
            label: label.to_owned(),
            what: EMPTYING,
        };
        let asked = self.lanes.ask(tasks, &mut self.patience, awaited, move || {
            empty(&file, bytes)
        });
        Some(asked)
    }

    fn map(
        &mut self,
        kernels: &mut Kernels,
        space: Asid,
        wanted: Wanted<'_>,
    ) -> Result<(VirtAddr, PageSize), Error> {
        let (object, page) = self.object(kernels, space, &wanted)?;
        let Wanted {
            view,
            file,
            label,
            options,
            ..
        } = wanted;
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
        let result = self.ask_now(kernels, |request| Event::Map {
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
            label: label.to_owned(),
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
}

/// Whoever maps a file must have opened it with the rights that the mapping needs, even if somebody else
/// has it mapped with more.
fn check_rights(file: &File, label: &str, options: MapOptions) -> Result<(), Error> {
    let rights = file_io::rights(file).map_err(|source| Error::File {
        path: label.into(),
        what: "looking how it was opened",
        source,
    })?;
    let rule = if !rights.read {
        "the file was opened without the right to read; open it for reading too"
    } else if !options.write {
        return Ok(());
    } else if !rights.write {
        "the file was opened read-only; open it for writing too, or map it read-only"
    } else if rights.appends {
        "the file was opened for appending, and what is written through it goes to its end; open it without that, or \
         map it read-only"
    } else {
        return Ok(());
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
