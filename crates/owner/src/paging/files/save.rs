//! The way back: what was written goes to the files, and mappings and files end.

use super::{Durable, View};
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::owner_ref::OwnerRef;
use crate::paging::policies::Words;
use crate::paging::Paging;
use error::Error;
use pager::Event;
use std::io;
use units::{Asid, VirtAddr};

impl OwnerRef {
    /// The pager's answer about a range of a space; an error has the name that the mapping there has for its file.
    pub(crate) fn by_own_label<T>(
        &self,
        (asid, address, bytes): (Asid, VirtAddr, u64),
        result: Result<T, Error>,
    ) -> Result<T, Error> {
        result.map_err(|error| {
            self.paging(|paging| paging.files.by_own_label(asid, (address, bytes), error))
        })
    }

    /// Writes back what was written so far.
    pub(crate) async fn sync(&self, range: MappedRange) -> Result<(), Error> {
        let MappedRange {
            asid,
            address,
            bytes,
            ..
        } = range;
        let files = self.paging(|paging| paging.files.mapped_in(asid, address, bytes));
        let sync = |request| Event::Sync {
            request,
            asid,
            address,
            bytes,
        };
        let result = self.ask(sync).await;
        let result = self.by_own_label((asid, address, bytes), result);
        let stray = self.paging(|paging| paging.files.take_stray(asid, address, bytes));
        result?;
        self.make_durable(&files).await.and(stray)
    }

    /// What is on the card of a range leaves it, and is read again from the files.
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
        let stray = self.paging(|paging| paging.files.take_stray(asid, address, bytes));
        result.map(drop).and(stray)
    }

    /// Writes back and ends the mappings in a range.
    pub(crate) async fn unmap(
        &self,
        asid: Asid,
        address: VirtAddr,
        bytes: u64,
    ) -> Result<(), Error> {
        let durable = self.paging(|paging| paging.files.mapped_in(asid, address, bytes));
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
            let stray = paging.files.take_stray(asid, address, bytes);
            (stray, paging.forget_mappings(asid, range))
        });
        self.close_files(unmapped, result.is_ok()).await;
        self.forget_memories(asid, range).await;
        result?;
        self.make_durable(&durable).await.and(stray)
    }

    /// Puts files on storage: all of them, whatever becomes of one.
    ///
    /// # Errors
    /// The first that failed; also when it failed before and has been mapped ever since.
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
                if paging.files.shows(durable.identity) {
                    paging.files.doubtful.insert(durable.identity);
                }
            });
            result = result.and(Err(Error::File {
                path: (&durable.label).into(),
                what,
                source,
            }));
        }
        result
    }

    /// Closes those of these files that nobody maps any more. Of others, what no writable mapping shows is free for
    /// other cards and processes, if it is `saved`.
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
        let Some(object) = self.paging(|paging| {
            let object = paging.files.objects.get_mut(&view)?;
            let idle = object.mappings == 0 && !object.closing;
            object.closing |= idle;
            idle.then_some(object.id)
        }) else {
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
            // What could not be written back was reported by the unmap; nobody can reach it now.
            result = self.ask(close(true)).await;
        }
        let left = self.paging_with(|paging, kernels| {
            let left = !paging.pager.has_object(object);
            match left {
                true => paging.forget_object(kernels, view, result.is_ok()),
                // Its file system has not answered, and may still take what was written: nobody else gets the file.
                false => paging.files.give_up(view),
            }
            left
        });
        self.tasks(|tasks| tasks.stir());
        if !left {
            return result.map(drop);
        }
        self.settle_claim(view).await;
        result.map(drop)
    }
}

impl Paging {
    fn forget_object(&mut self, kernels: &mut Kernels, view: View, saved: bool) {
        let paging = self.pager.statistics();
        let words = Words::new(kernels.description(), &self.options, paging);
        let card = kernels.card();
        let files = &mut self.files;
        files.forget_object(card, view, saved, |paged| words.told(paged));
    }

    /// Forgets what was given up when it was closed, and has left since.
    pub(super) fn forget_given_up(&mut self, kernels: &mut Kernels) -> Vec<View> {
        let left: Vec<View> = self.files.given_up(|object| !self.pager.has_object(object));
        left.iter()
            .for_each(|view| self.forget_object(kernels, *view, false));
        left
    }

    /// Forgets the mappings of a space (in a range); gives the files that may be closed.
    pub(crate) fn forget_mappings(&mut self, space: Asid, range: Option<(u64, u64)>) -> Vec<View> {
        self.service.end_pressure(space, range);
        self.files.forget_mappings(space, range)
    }
}
