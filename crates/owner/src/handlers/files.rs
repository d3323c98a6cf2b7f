//! Requests that map files, and waiting for their file systems.

use super::claims::RangeClaims;
use super::preloading::Preloading;
use super::saving::WriteBack;
use super::slots::SlotRequests;
use super::storage::Storage;
use crate::clients::Clients;
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::lane::Post;
use crate::message::{
    ByteRange, ClientId, MakeHot, MapFile, MapOptions, MappingId, NewMapping, Refresh, SpaceId,
    Sync,
};
use crate::paging::Paging;
use crate::paging::{
    check_options, check_rights, FileWait, InLane, Looked, Source, View, Wanted, EMPTYING,
};
use crate::rooms::Room;
use crate::tasks::Tasks;
use crate::tenants::{Counted, Quotas};
use crate::wait::Waits;
use error::Error;
use file_io::Identity;
use std::io;

/// Requests that map files.
#[derive(Clone)]
pub(crate) struct FileRequests {
    pub(crate) handles: Room<Handles>,
    pub(crate) clients: Room<Clients>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) tasks: Room<Tasks>,
    pub(crate) waits: Waits,
    pub(crate) quotas: Quotas,
    pub(crate) storage: Storage,
    pub(crate) claims: RangeClaims,
    pub(crate) saving: WriteBack,
    pub(crate) slots: SlotRequests,
    pub(crate) preload: Preloading,
    pub(crate) post: Post,
}

impl FileRequests {
    /// Maps a range of a file, or of the backing that the file represents, as the options request.
    pub(crate) async fn map_file(
        &self,
        client: ClientId,
        request: MapFile,
    ) -> Result<NewMapping, Error> {
        let MapFile {
            space,
            file,
            backing,
            label,
            options,
        } = request;
        let source = self
            .paging
            .lend(|paging| paging.source(&self.post, file, backing, label))?;
        let (identity, is_stub) = (source.identity, source.stub.is_some());
        let mapped = self.map_source(client, space, source, options).await;
        if mapped.is_err() && is_stub {
            self.paging
                .lend(|paging| paging.files().forget_stub(identity));
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
            let range = self.handles.range_of(client, mapping)?;
            let bytes = range.bytes;
            self.paging.lend_with(&self.kernels, |paging, kernels| {
                paging.advise_mapping(kernels, range, ByteRange { offset: 0, bytes }, advice)
            })?;
        }
        if hot {
            self.preload
                .make_mapping_hot(client, MakeHot { mapping })
                .await?;
        }
        Ok(())
    }

    /// Writes back and ends a mapping.
    pub(crate) async fn end_mapping(
        &self,
        client: ClientId,
        mapping: MappingId,
    ) -> Result<(), Error> {
        let range = self.handles.range_of(client, mapping)?;
        let unfinished = self.slots.settled(range.asid).await;
        let range = self.handles.lend(|handles| {
            let range = handles.mapping(client, mapping)?;
            handles.end_mapping(mapping);
            Ok::<MappedRange, Error>(range)
        })?;
        self.saving
            .unmap(range.asid, range.address, range.bytes)
            .await?;
        unfinished
    }

    /// Writes back what kernels have written to a mapping.
    pub(crate) async fn sync_mapping(&self, client: ClientId, request: Sync) -> Result<(), Error> {
        let range = self.handles.range_of(client, request.mapping)?;
        self.slots.settled(range.asid).await?;
        self.saving.sync(range).await
    }

    /// Reads a mapping again from its file.
    pub(crate) async fn refresh_mapping(
        &self,
        client: ClientId,
        request: Refresh,
    ) -> Result<(), Error> {
        let range = self.handles.lend(|handles| {
            self.paging.lend(|paging| {
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
        self.saving.refresh(range, request.discard).await
    }

    async fn map_source(
        &self,
        client: ClientId,
        space: SpaceId,
        source: Source,
        options: MapOptions,
    ) -> Result<NewMapping, Error> {
        let _reserved = self.quotas.reserve(client, Counted::Mappings)?;
        let Looked {
            view,
            length,
            holes,
        } = self.look_at(&source, options).await?;
        let options = options.bytes(view.bytes);
        let Source {
            file,
            identity,
            stub,
            label,
        } = source;
        self.closed(identity, &label).await?;
        // If it was closed meanwhile, its record is gone already.
        self.paging.lend(|paging| {
            paging.files().add_stub(identity, stub);
            paging.files().may_begin(view, &label, options)
        })?;
        let claims = options.write && !self.paging.lend(|paging| paging.files().is_stub(identity));
        if claims {
            self.claims.claim_range(view, &file, &label).await?;
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
        let mapped = self.handles.lend(|handles| {
            let asid = handles.space(client, space)?;
            let mapped = self.paging.lend_with(&self.kernels, |paging, kernels| {
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
            self.clients
                .lend(|clients| clients.mapped(client, &label, options.page_size));
            let emptied = self.paging.lend(|paging| {
                self.tasks
                    .lend(|tasks| paging.empty_if_fresh(tasks, view, &label, options))
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
                self.saving.close_files(vec![view], true).await;
                Err(error)
            }
        };
        if claims {
            self.claims.claim_ended(view).await;
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
        let awaited = FileWait {
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
        let found = self.storage.in_lane(awaited, look).await?;
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
        self.waits
            .until(|| {
                self.paging.lend(|paging| {
                    paging.files().is_given_up(identity) || !paging.files().is_closing(identity)
                })
            })
            .await;
        let answers = self
            .paging
            .lend(|paging| !paging.lanes().timeouts().is_silent(identity.device));
        if answers
            && self
                .paging
                .lend(|paging| paging.files().is_given_up(identity))
        {
            // So far no task has waited until the card has taken the late results.
            self.waits
                .card(|| {
                    self.paging
                        .lend(|paging| Ok(paging.given_up_has_left(identity).then_some(())))
                })
                .await?;
            for view in self.paging.lend_with(&self.kernels, |paging, kernels| {
                paging.forget_given_up(kernels)
            }) {
                self.claims.settle_claim(view).await;
            }
        }
        match self.paging.lend(|paging| paging.files().is_given_up(identity)) {
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
        let emptied = self.storage.lane_result(emptied).await?;
        emptied.map_err(|source| Error::File {
            path: label.into(),
            what: EMPTYING,
            source,
        })
    }
}
