//! Requests that map files, and waiting for their file systems.

use crate::handles::MappedRange;
use crate::message::{
    ByteRange, ClientId, MakeHot, MapFile, MapOptions, MappingId, NewMapping, Refresh, SpaceId,
    Sync,
};
use crate::owner_ref::OwnerRef;
use crate::paging::{
    check_options, check_rights, Awaited, InLane, Looked, Source, View, Wanted, EMPTYING,
};
use crate::tenants::Counted;
use error::Error;
use file_io::{Identity, OpenFile};
use std::io;
use std::sync::Arc;

impl OwnerRef {
    /// Maps a range of a file, or of the backing that the file represents, as the options request.
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
        let source = self.paging(|paging| paging.source(self.post(), file, behind, label))?;
        let (identity, stands_in) = (source.identity, source.stand_in.is_some());
        let mapped = self.map_source(client, space, source, options).await;
        if mapped.is_err() && stands_in {
            self.paging(|paging| paging.files().forget_stand_in(identity));
        }
        let mapped = mapped?;
        if let Err(error) = self.use_as_advised(client, mapped.mapping, options).await {
            self.end_mapping(client, mapped.mapping).await?;
            return Err(error);
        }
        Ok(mapped)
    }

    /// Applies those options of a new mapping that do not concern its address.
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

    /// Reads a mapping again from its file.
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
                        .files()
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
        // If it was closed meanwhile, its record is gone already.
        let stands_in = stand_in.map(|stand_in| (identity, stand_in));
        self.paging(|paging| {
            paging.files().add_stand_in(stands_in);
            paging.files().may_begin(view, &label, options)
        })?;
        let claims = options.write && !self.paging(|paging| paging.files().stands_in(identity));
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
                    paging.has_holes(view, holes);
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

    /// Inspects the part of a file that is to be mapped.
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

    /// Waits until everything that the last mapping of a file wrote is in the file.
    async fn closed(&self, identity: Identity, label: &str) -> Result<(), Error> {
        self.until(|| {
            self.paging(|paging| {
                paging.files().is_given_up(identity) || !paging.files().is_closing(identity)
            })
        })
        .await;
        let answers = self.paging(|paging| !paging.is_silent(identity.device));
        if answers && self.paging(|paging| paging.files().is_given_up(identity)) {
            // So far no task has waited until the card has taken the late results.
            self.card(|| {
                self.paging(|paging| Ok(paging.given_up_has_left(identity).then_some(())))
            })
            .await?;
            for view in self.paging_with(|paging, kernels| paging.forget_given_up(kernels)) {
                self.settle_claim(view).await;
            }
        }
        match self.paging(|paging| paging.files().is_given_up(identity)) {
            true => Err(Error::Unmappable {
                path: label.into(),
                rule: "its file system has not answered, and what was asked of it may still be done: map it again when it \
                       answers"
                    .to_owned(),
            }),
            false => Ok(()),
        }
    }

    /// Waits until a newly created file has been emptied and sized.
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

    /// Makes a file durable on storage.
    pub(super) async fn storage(&self, file: &Arc<OpenFile>, awaited: Awaited) -> io::Result<()> {
        let id =
            self.paging(|paging| self.tasks(|tasks| paging.make_durable(tasks, file, awaited)))?;
        self.aside_io(id).await
    }

    /// Waits for the result of work in a lane. It takes no virtual time.
    ///
    /// # Errors
    /// In lockstep mode, the timeout has expired: the work may still complete later, and its result is dropped.
    pub(super) async fn lane_result<T>(&self, asked: InLane<T>) -> Result<T, Error> {
        self.aside(asked.aside()).await?;
        let result = asked.take_result();
        result.ok_or_else(|| Error::Internal("a lane has lost a result".into()))
    }

    /// Combines [`Paging::ask_lane`](crate::paging::Paging::ask_lane) and [`lane_result`](Self::lane_result).
    pub(super) async fn in_lane<T: Send + 'static>(
        &self,
        awaited: Awaited,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Error> {
        let asked =
            self.paging(|paging| self.tasks(|tasks| paging.ask_lane(tasks, awaited, work)))?;
        self.lane_result(asked).await
    }
}
