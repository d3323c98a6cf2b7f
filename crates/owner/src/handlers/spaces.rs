//! Requests about address spaces: creation, and teardown with everything in them.

use super::pager_calls::PagerCalls;
use super::saving::WriteBack;
use super::slots::SlotRequests;
use crate::handles::Handles;
use crate::kernels::Kernels;
use crate::message::{ClientId, NewSpace, SpaceId, SpaceOptions};
use crate::paging::Paging;
use crate::rooms::Room;
use crate::tenants::{Counted, Quotas, Tenants};
use crate::wait::Waits;
use error::Error;
use pager::Event;
use units::{SlotId, VirtAddr};

/// Requests about address spaces.
#[derive(Clone)]
pub(crate) struct SpaceRequests {
    pub(crate) handles: Room<Handles>,
    pub(crate) tenants: Room<Tenants>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
    pub(crate) quotas: Quotas,
    pub(crate) pager: PagerCalls,
    pub(crate) slots: SlotRequests,
    pub(crate) saving: WriteBack,
}

impl SpaceRequests {
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
        let _reserved = self.quotas.reserve(client, Counted::Spaces)?;
        let quota = self.tenants.lend(|tenants| tenants.bytes_of_space(client));
        let limit = limit.into_iter().chain(quota).min();
        let (asid, limit, placement) =
            self.paging.lend_with(&self.kernels, |paging, kernels| {
                let placement = paging.placement(kernels, placement);
                let page = paging.pager().page_size();
                let limit = limit.map(|bytes| bytes.max(page.bytes()));
                let asid = paging.take_space(kernels, translation)?;
                Ok::<_, Error>((asid, limit, placement))
            })?;
        let made = self.pager.ask(|request| Event::CreateSpace {
            request,
            asid,
            limit,
            placement,
        });
        if let Err(error) = made.await {
            self.paging.lend(|paging| paging.free_space(asid));
            return Err(error);
        }
        // No page of it is requested before its client knows its name.
        let share = self.tenants.lend(|tenants| tenants.share_of(client));
        self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.joins_share(kernels, client, share, asid)
        })?;
        self.kernels
            .lend(|kernels| kernels.slots_mut().forget_run_time(asid));
        let space = self.handles.lend(|handles| handles.add_space(client, asid));
        // A client that was closed meanwhile has ended the spaces it had then.
        if let Err(error) = self.handles.lend(|handles| handles.check_open(client)) {
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
        let (asid, slots) = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let asid = handles.space(client, space)?;
                handles.end_space(space);
                let slots = kernels.slots().ids();
                let slots: Vec<SlotId> = slots
                    .filter(|slot| kernels.slots().works_in(*slot, asid))
                    .collect();
                for slot in &slots {
                    handles.end_load(*slot);
                }
                Ok::<_, Error>((asid, slots))
            })
        })?;
        let mut unsettled = None;
        for slot in slots {
            let _claim = self.waits.claim(slot).await;
            if self
                .kernels
                .lend(|kernels| kernels.slots().works_in(slot, asid))
            {
                unsettled = unsettled.or(self
                    .kernels
                    .lend(|kernels| kernels.streams().unsettled(slot)));
                self.slots.empty(slot).await?;
            }
        }
        let result = self
            .pager
            .ask(|request| Event::DestroySpace { request, asid })
            .await;
        let everything = 1 << VirtAddr::BITS;
        let result = self
            .saving
            .by_own_label((asid, VirtAddr::default(), everything), result);
        let (outside, unmapped) = self.paging.lend(|paging| {
            paging.free_space(asid);
            let outside = paging.take_outside(asid, VirtAddr::default(), everything);
            (outside, paging.forget_mappings(asid, None))
        });
        self.saving.close_files(unmapped, result.is_ok()).await;
        self.saving.forget_memories(asid, None).await;
        result?;
        outside?;
        unsettled.map_or(Ok(()), Err)
    }

    /// Ends everything of a client.
    pub(crate) async fn close(&self, client: ClientId) -> Result<(), Error> {
        let spaces = self.handles.lend(|handles| {
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
}
