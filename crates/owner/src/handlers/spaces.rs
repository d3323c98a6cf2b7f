//! Requests about address spaces: creation, teardown with everything in them, and preloading.

use crate::message::{ClientId, MakeHot, NewSpace, SpaceId, SpaceOptions};
use crate::owner_ref::OwnerRef;
use crate::paging::Flush;
use crate::tenants::Counted;
use error::Error;
use pager::Event;
use units::{SlotId, VirtAddr};

/// Guard: while it lives, data is preloaded at zero cost.
struct MakesHot<'a>(&'a OwnerRef);

impl Drop for MakesHot<'_> {
    fn drop(&mut self) {
        self.0.paging(|paging| paging.end_hot());
    }
}

impl OwnerRef {
    pub(crate) async fn create_space(
        &self,
        client: ClientId,
        options: SpaceOptions,
    ) -> Result<NewSpace, Error> {
        let SpaceOptions {
            placement,
            limit,
            translation,
        } = options;
        let _room = self.room(client, Counted::Spaces)?;
        let quota = self.tenants(|tenants| tenants.bytes_of_space(client));
        let limit = limit.into_iter().chain(quota).min();
        let (asid, limit, placement) = self.paging_with(|paging, kernels| {
            let placement = paging.placement(kernels, placement);
            let page = paging.page_size();
            let limit = limit.map(|bytes| bytes.max(page.bytes()));
            let asid = paging.take_space(kernels, translation)?;
            Ok::<_, Error>((asid, limit, placement))
        })?;
        let made = self.ask(|request| Event::CreateSpace {
            request,
            asid,
            limit,
            placement,
        });
        if let Err(error) = made.await {
            self.paging(|paging| paging.free_space(asid));
            return Err(error);
        }
        // No page of it is requested before its client knows its name.
        let share = self.tenants(|tenants| tenants.share_of(client));
        self.paging_with(|paging, kernels| paging.joins_share(kernels, share, asid))?;
        self.kernels(|kernels| kernels.forget_run_time(asid));
        let space = self.handles(|handles| handles.add_space(client, asid));
        // A client that was closed meanwhile has ended the spaces it had then.
        if let Err(error) = self.handles(|handles| handles.check_open(client)) {
            self.destroy_space(client, space).await?;
            return Err(error);
        }
        Ok(NewSpace { space, asid })
    }

    pub(crate) async fn destroy_space(
        &self,
        client: ClientId,
        space: SpaceId,
    ) -> Result<(), Error> {
        // From here on the space and its contents are unreachable.
        let (asid, slots) = self.handles(|handles| {
            self.kernels(|kernels| {
                let asid = handles.space(client, space)?;
                handles.end_space(space);
                let slots = kernels.ids();
                let slots: Vec<SlotId> =
                    slots.filter(|slot| kernels.works_in(*slot, asid)).collect();
                for slot in &slots {
                    handles.end_load(*slot);
                }
                Ok::<_, Error>((asid, slots))
            })
        })?;
        let mut unsettled = None;
        for slot in slots {
            let _claim = self.claim(slot).await;
            if self.kernels(|kernels| kernels.works_in(slot, asid)) {
                unsettled = unsettled.or(self.kernels(|kernels| kernels.unsettled(slot)));
                self.empty(slot).await?;
            }
        }
        let result = self
            .ask(|request| Event::DestroySpace { request, asid })
            .await;
        let everything = 1 << VirtAddr::BITS;
        let result = self.by_own_label((asid, VirtAddr::default(), everything), result);
        let (stray, unmapped) = self.paging(|paging| {
            paging.free_space(asid);
            let stray = paging.take_stray(asid, VirtAddr::default(), everything);
            (stray, paging.forget_mappings(asid, None))
        });
        self.close_files(unmapped, result.is_ok()).await;
        self.forget_memories(asid, None).await;
        result?;
        stray?;
        unsettled.map_or(Ok(()), Err)
    }

    /// Ends everything of a client.
    pub(crate) async fn close(&self, client: ClientId) -> Result<(), Error> {
        let spaces = self.handles(|handles| {
            let spaces = handles.spaces(client);
            handles.close(client);
            spaces
        });
        let mut result = Ok(());
        for space in spaces {
            match self.destroy_space(client, space).await {
                // Another thread ended it first.
                Ok(()) | Err(Error::Gone { .. }) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }

    /// Preloads the pages of a mapping, as far as there is room; returns the number of bytes preloaded at zero
    /// cost.
    pub(crate) async fn make_mapping_hot(
        &self,
        client: ClientId,
        request: MakeHot,
    ) -> Result<u64, Error> {
        let range = self.range_of(client, request.mapping)?;
        let before = self.paging_with(|paging, kernels| {
            if let Some(slot) = kernels.busy_slot() {
                let rule = "is running; make data hot before a kernel starts";
                return Err(Error::SlotState {
                    slot,
                    rule: rule.into(),
                });
            }
            Ok(paging.begin_hot())
        })?;
        let _hot = MakesHot(self);
        self.paging_with(|paging, kernels| {
            paging.tell(
                kernels,
                Event::Prefetch {
                    asid: range.asid,
                    address: range.address,
                    bytes: range.bytes,
                },
            )
        })?;
        self.card(|| {
            self.paging_with(|paging, kernels| {
                let over = paging.is_idle() || kernels.busy_slot().is_some();
                Ok(over.then_some(()))
            })
        })
        .await?;
        // Installs are not awaited elsewhere: a kernel that starts at once would find no entry.
        let over = || self.paging(|paging| Ok((!paging.awaits_entries(range.asid)).then_some(())));
        // A barrier of another request for the space does not cover these entries.
        self.card(over).await?;
        // Asks the card to report when it has executed everything now in the space's queue.
        self.paging_with(|paging, kernels| paging.await_entries(kernels, range.asid))?;
        self.card(over).await?;
        Ok(self.paging(|paging| paging.hot_bytes() - before))
    }

    /// Writes a part of a stream back, and waits until the device has taken it.
    pub(crate) async fn flush(&self, flush: Flush) {
        let Flush { place, start, end } = flush;
        let (asid, first) = place;
        let (address, bytes) = (VirtAddr::truncated(first.get() + start), end - start);
        let streams = self.paging(|paging| paging.mapped_in(asid, address, bytes));
        let sync = |request| Event::Sync {
            request,
            asid,
            address,
            bytes,
        };
        let written = self.ask(sync).await;
        let sent = self.make_durable(&streams).await;
        if let Err(error) = written.map(drop).and(sent) {
            // A sync or an unmap of the mapping reports it, and the kernel gets an error if the device has
            // failed.
            tracing::debug!(%error, "a stream did not take what was written");
        }
        self.tasks(|tasks| tasks.stir());
        self.paging(|paging| paging.flushed(place));
    }
}
