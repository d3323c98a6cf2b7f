//! Write-back and teardown: written bytes go to the files; mappings, parts of mappings and files end; and the right to
//! write.

use crate::handles::MappedRange;
use crate::message::{ClientId, RestOfMapping, UnmapPart};
use crate::owner_ref::OwnerRef;
use crate::paging::{Awaited, Durable, View};
use crate::tenants::Counted;
use error::Error;
use file_io::OpenFile;
use pager::Event;
use std::io;
use std::sync::Arc;
use units::{Asid, VirtAddr};

impl OwnerRef {
    /// The pager's answer about a range of a space. Errors name the file as the mapping there does.
    pub(crate) fn by_own_label<T>(
        &self,
        (asid, address, bytes): (Asid, VirtAddr, u64),
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        result.map_err(|error| {
            self.paging(|paging| paging.files().by_own_label(asid, (address, bytes), error))
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
        let files = self.paging(|paging| paging.mapped_in(asid, address, bytes));
        let sync = |request| Event::Sync {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.ask(sync).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let stray = self.paging(|paging| paging.take_stray(asid, address, bytes));
        result?;
        self.make_durable(&files).await.and(stray)
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
        let result = self.ask(refresh).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let stray = self.paging(|paging| paging.take_stray(asid, address, bytes));
        result.map(drop).and(stray)
    }

    /// Writes back and ends the mappings in a range.
    pub(crate) async fn unmap(
        &self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let durable = self.paging(|paging| paging.mapped_in(asid, address, bytes));
        let unmap = |request| Event::Unmap {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.ask(unmap).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let end = address.get().saturating_add(bytes);
        let range = Some((address.get(), end));
        let (stray, unmapped) = self.paging(|paging| {
            let stray = paging.take_stray(asid, address, bytes);
            (stray, paging.forget_mappings(asid, range))
        });
        self.close_files(unmapped, result.is_ok()).await;
        self.forget_memories(asid, range).await;
        result?;
        self.make_durable(&durable).await.and(stray)
    }

    /// Makes files durable on storage: all of them, even if one fails.
    ///
    /// # Errors
    /// The first failure; also if it happened earlier and the file has been mapped ever since.
    pub(crate) async fn make_durable(&self, files: &[Durable]) -> Result<(), Error> {
        let mut result = Ok(());
        for durable in files {
            if let Some(stream) = &durable.stream {
                let sent = self.send(&**stream).await;
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
            } else if let Err(source) = self.storage(&durable.file, durable.awaited()).await {
                ("putting it on storage", source)
            } else {
                continue;
            };
            self.paging(|paging| {
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
                self.settle_claim(view).await;
            }
            if let Err(error) = self.close_file(view).await {
                tracing::warn!(%error, "a file could not be closed");
            }
        }
    }

    pub(super) async fn close_file(&self, view: View) -> Result<(), Error> {
        let Some(object) = self.paging(|paging| paging.files().begin_to_close(view)) else {
            return Ok(());
        };
        let close = |discard| {
            move |request| Event::CloseObject {
                request,
                object,
                discard,
            }
        };
        let mut result = self.ask(close(false)).await;
        if result.is_err() {
            // The unmap has reported what could not be written back; it is unreachable now.
            result = self.ask(close(true)).await;
        }
        let left = self.paging_with(|paging, kernels| {
            paging.close_object(kernels, view, object, result.is_ok())
        });
        self.tasks(|tasks| tasks.stir());
        if !left {
            return result.map(drop);
        }
        self.settle_claim(view).await;
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
            self.handles(|handles| {
                self.paging(|paging| {
                    let range = handles.mapping(client, mapping)?;
                    let gone = paging.files().part_of(range, part)?;
                    Ok::<_, Error>((range, gone))
                })
            })
        };
        let (range, _) = find()?;
        self.settled(range.asid).await?;
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
            self.handles(|handles| {
                self.tenants(|tenants| tenants.check_quota(handles, client, Counted::Mappings))
            })?;
        }
        let (address, bytes) = (VirtAddr::truncated(gone.start), gone.end - gone.start);
        let (durable, view, parts): (_, _, Vec<RestOfMapping>) = self.handles(|handles| {
            self.paging(|paging| {
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
        let unmapped = self.ask(|request| Event::Unmap {
            request,
            asid: range.asid,
            address,
            bytes,
        });
        let unmapped = unmapped.await;
        self.by_own_label((range.asid, address, bytes), unmapped)?;
        if let Some(view) = view {
            self.settle_claim(view).await;
        }
        self.make_durable(&durable).await?;
        Ok(parts)
    }

    /// Takes the right to write a range that is to be mapped; [`claim_ended`](Self::claim_ended) follows.
    pub(super) async fn claim_range(
        &self,
        view: View,
        file: &Arc<OpenFile>,
        label: &str,
    ) -> Result<(), Error> {
        let refused = |rule| Error::Unmappable {
            path: label.into(),
            rule,
        };
        let awaited = Awaited {
            device: view.identity.device,
            label: label.to_owned(),
            what: "locking it",
        };
        let begun = self.paging(|paging| paging.begin_claim(view));
        let locking = begun.map_err(refused)?;
        let file = file.clone();
        let locked = self.in_lane(awaited, move || locking.lock(&file)).await;
        let locked = match locked {
            Ok(Ok(locked)) => Ok(locked),
            Ok(Err(rule)) => Err(refused(rule)),
            Err(silence) => Err(silence),
        };
        match locked {
            Ok(true) => Ok(()),
            Ok(false) => {
                self.paging(|paging| paging.files().is_unlocked(label));
                Ok(())
            }
            Err(error) => {
                self.claim_ended(view).await;
                Err(error)
            }
        }
    }

    /// The mapping that claimed all of a range exists, or was refused.
    pub(super) async fn claim_ended(&self, view: View) {
        self.paging(|paging| paging.files().claim_ended(view));
        self.settle_claim(view).await;
    }

    /// Reduces the claim on a range to what writable mappings show.
    pub(super) async fn settle_claim(&self, view: View) {
        let found = self.paging(|paging| paging.files().keeping(view));
        let Some((keeping, label)) = found else {
            return;
        };
        let awaited = Awaited {
            device: view.identity.device,
            label,
            what: "unlocking it",
        };
        match self.in_lane(awaited, move || keeping.keep()).await {
            Ok(()) => self.paging(|paging| paging.files().settle_claim(view)),
            Err(error) => tracing::warn!(%error, "it stays claimed"),
        }
    }
}
