//! Write-back and teardown: written bytes go to the files and streams; mappings, parts of mappings, files and blocks of
//! shared memory end.

use super::claims::RangeClaims;
use super::pager_calls::PagerCalls;
use super::slots::SlotRequests;
use super::storage::Storage;
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::message::{ClientId, RestOfMapping, UnmapPart};
use crate::paging::{Durable, Flush, Paging, View};
use crate::rooms::Room;
use crate::tasks::Tasks;
use crate::tenants::{Counted, Tenants};
use error::Error;
use pager::{Event, ObjectId};
use std::io;
use units::{Asid, VirtAddr};

/// Write-back and teardown of mappings.
#[derive(Clone)]
pub(crate) struct WriteBack {
    pub(crate) handles: Room<Handles>,
    pub(crate) tenants: Room<Tenants>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) tasks: Room<Tasks>,
    pub(crate) pager: PagerCalls,
    pub(crate) storage: Storage,
    pub(crate) claims: RangeClaims,
    pub(crate) slots: SlotRequests,
}

impl WriteBack {
    /// The pager's answer about a range of a space. Errors name the file as the mapping there does.
    pub(crate) fn by_own_label<T>(
        &self,
        (asid, address, bytes): (Asid, VirtAddr, u64),
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        result.map_err(|error| {
            self.paging
                .lend(|paging| paging.files().by_own_label(asid, (address, bytes), error))
        })
    }

    /// Writes back everything written so far.
    pub(crate) async fn sync(&self, range: MappedRange) -> Result<(), Error> {
        let MappedRange {
            asid,
            address,
            bytes,
            ..
        } = range;
        let files = self
            .paging
            .lend(|paging| paging.mapped_in(asid, address, bytes));
        let result = self.pager.sync(asid, address, bytes).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let outside = self
            .paging
            .lend(|paging| paging.take_outside(asid, address, bytes));
        result?;
        self.make_durable(&files).await.and(outside)
    }

    /// Evicts a range from the card, and reads it again from the files.
    pub(crate) async fn refresh(&self, range: MappedRange, discard: bool) -> Result<(), Error> {
        let MappedRange {
            asid,
            address,
            bytes,
            ..
        } = range;
        let refresh = |request| Event::Refresh {
            request,
            asid,
            address,
            bytes,
            discard,
        };
        let result = self.pager.ask(refresh).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let outside = self
            .paging
            .lend(|paging| paging.take_outside(asid, address, bytes));
        result.map(drop).and(outside)
    }

    /// Writes back and ends the mappings in a range.
    pub(crate) async fn unmap(
        &self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let durable = self
            .paging
            .lend(|paging| paging.mapped_in(asid, address, bytes));
        let unmap = |request| Event::Unmap {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.pager.ask(unmap).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let end = address.get().saturating_add(bytes);
        let range = Some((address.get(), end));
        let (outside, unmapped) = self.paging.lend(|paging| {
            let outside = paging.take_outside(asid, address, bytes);
            (outside, paging.forget_mappings(asid, range))
        });
        self.close_files(unmapped, result.is_ok()).await;
        self.forget_memories(asid, range).await;
        result?;
        self.make_durable(&durable).await.and(outside)
    }

    /// Makes files durable on storage: all of them, even if one fails.
    ///
    /// # Errors
    /// The first failure; also if it happened earlier and the file has been mapped ever since.
    pub(crate) async fn make_durable(&self, files: &[Durable]) -> Result<(), Error> {
        let mut result = Ok(());
        for durable in files {
            if let Some(stream) = &durable.stream {
                let sent = self.storage.send(&**stream).await;
                result = result.and(sent.map_err(|source| Error::File {
                    path: (&durable.label).into(),
                    what: "sending what was written",
                    source,
                }));
                continue;
            }
            let (what, source) = if durable.doubtful {
                let source = io::Error::from_raw_os_error(libc::EIO);
                ("putting it on storage, which failed before,", source)
            } else if let Err(source) = self
                .storage
                .put_on_storage(&durable.file, durable.awaited())
                .await
            {
                ("putting it on storage", source)
            } else {
                continue;
            };
            self.paging.lend(|paging| {
                paging.files().doubt(durable.identity);
            });
            result = result.and(Err(Error::File {
                path: (&durable.label).into(),
                what,
                source,
            }));
        }
        result
    }

    /// Closes those of these files that are not mapped any more. If `saved`, ranges of the other files that no writable
    /// mapping shows are released to other cards and processes.
    pub(crate) async fn close_files(&self, files: Vec<View>, saved: bool) {
        for view in files {
            if saved {
                self.claims.settle_claim(view).await;
            }
            if let Err(error) = self.close_file(view).await {
                tracing::warn!(%error, "a file could not be closed");
            }
        }
    }

    pub(crate) async fn close_file(&self, view: View) -> Result<(), Error> {
        let Some(object) = self
            .paging
            .lend(|paging| paging.files().begin_to_close(view))
        else {
            return Ok(());
        };
        let close = |discard| {
            move |request| Event::CloseObject {
                request,
                object,
                discard,
            }
        };
        let mut result = self.pager.ask(close(false)).await;
        if result.is_err() {
            // The unmap has reported what could not be written back; it is unreachable now.
            result = self.pager.ask(close(true)).await;
        }
        let left = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.close_object(kernels, view, object, result.is_ok())
        });
        self.tasks.lend(|tasks| tasks.wake());
        if !left {
            return result.map(drop);
        }
        self.claims.settle_claim(view).await;
        result.map(drop)
    }

    /// Writes back and ends a part of a mapping. If writing back fails, nothing has changed.
    pub(crate) async fn unmap_part(
        &self,
        client: ClientId,
        request: UnmapPart,
    ) -> Result<Vec<RestOfMapping>, Error> {
        let UnmapPart {
            mapping,
            range: part,
        } = request;
        let find = || {
            self.handles.lend(|handles| {
                self.paging.lend(|paging| {
                    let range = handles.mapping(client, mapping)?;
                    let gone = paging.files().part_of(range, part)?;
                    Ok::<_, Error>((range, gone))
                })
            })
        };
        let (range, _) = find()?;
        self.slots.settled(range.asid).await?;
        let (range, gone) = find()?;
        self.sync(MappedRange {
            address: VirtAddr::truncated(gone.start),
            bytes: gone.end - gone.start,
            ..range
        })
        .await?;
        // It may have ended meanwhile.
        let (range, gone) = find()?;
        // The parts left on either side become mappings of their own.
        let halves =
            gone.start > range.address.get() && gone.end < range.address.get() + range.bytes;
        if halves {
            self.handles.lend(|handles| {
                self.tenants
                    .lend(|tenants| tenants.check_quota(handles, client, Counted::Mappings))
            })?;
        }
        let (address, bytes) = (VirtAddr::truncated(gone.start), gone.end - gone.start);
        let (durable, view, parts): (_, _, Vec<RestOfMapping>) = self.handles.lend(|handles| {
            self.paging.lend(|paging| {
                let durable = paging.mapped_in(range.asid, address, bytes);
                let view = paging.files().view_at(range);
                handles.end_mapping(mapping);
                let left = paging.files().cut(range, &gone);
                let name = |range: MappedRange| {
                    let mapping = handles.add_mapping(client, range);
                    RestOfMapping {
                        mapping,
                        address: range.address,
                        bytes: range.bytes,
                    }
                };
                (durable, view, left.into_iter().map(name).collect())
            })
        });
        if parts.is_empty() {
            self.unmap(range.asid, range.address, range.bytes).await?;
            return Ok(parts);
        }
        let unmapped = self.pager.ask(|request| Event::Unmap {
            request,
            asid: range.asid,
            address,
            bytes,
        });
        let unmapped = unmapped.await;
        self.by_own_label((range.asid, address, bytes), unmapped)?;
        if let Some(view) = view {
            self.claims.settle_claim(view).await;
        }
        self.make_durable(&durable).await?;
        Ok(parts)
    }

    /// Drops the blocks of a space (in a range) that are no longer mapped.
    pub(crate) async fn forget_memories(&self, space: Asid, range: Option<(u64, u64)>) {
        for object in self
            .paging
            .lend(|paging| paging.memories().blocks_in(space, range))
        {
            self.forget_memory(object).await;
        }
    }

    pub(crate) async fn forget_memory(&self, object: ObjectId) {
        let close = |request| Event::CloseObject {
            request,
            object,
            discard: true,
        };
        // The unmap has reported what a broken card could not give back. A refused object is unknown.
        if let Err(error) = self.pager.ask(close).await {
            tracing::debug!(%error, "closing shared memory");
        }
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.memories().give_back(kernels.card(), object)
        });
    }

    /// Writes a part of a stream back, and waits until the device has taken it.
    pub(crate) async fn flush(&self, flush: Flush) {
        let Flush { place, start, end } = flush;
        let (asid, first) = place;
        let (address, bytes) = (VirtAddr::truncated(first.get() + start), end - start);
        let streams = self
            .paging
            .lend(|paging| paging.mapped_in(asid, address, bytes));
        let written = self.pager.sync(asid, address, bytes).await;
        let sent = self.make_durable(&streams).await;
        if let Err(error) = written.map(drop).and(sent) {
            // A sync or an unmap of the mapping reports it, and the kernel gets an error if the device has
            // failed.
            tracing::debug!(%error, "a stream did not take what was written");
        }
        self.tasks.lend(|tasks| tasks.wake());
        self.paging.lend(|paging| paging.flushed(place));
    }
}
