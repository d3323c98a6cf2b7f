//! Address spaces: made, ended, and what ends with them.

use super::owner_ref::OwnerRef;
use super::Owner;
use crate::error::Error;
use crate::link::ClientId;
use crate::message::{Reply, SpaceId};
use card::SlotId;
use pager::placement::SpacePlacement;
use pager::Event;
use units::{Asid, VirtAddr};

impl OwnerRef {
    pub(super) async fn create_space(
        &self,
        client: ClientId,
        placement: SpacePlacement,
        limit: Option<u64>,
    ) -> Result<Reply, Error> {
        let (asid, limit) = self.with(|owner| {
            let page = owner.pager.page_size();
            let limit = limit.map(|bytes| bytes.max(page.bytes()));
            owner.take_asid().map(|asid| (asid, limit))
        })?;
        let made = self.ask(|request| Event::CreateSpace {
            request,
            asid,
            limit,
            placement,
        });
        if let Err(error) = made.await {
            self.with(|owner| owner.free_asid(asid));
            return Err(error);
        }
        let space = self.with(|owner| {
            owner.run_times.remove(&asid);
            owner.handles.add_space(client, asid)
        });
        Ok(Reply::Space { space, asid })
    }

    pub(super) async fn destroy_space(
        &self,
        client: ClientId,
        space: SpaceId,
    ) -> Result<Reply, Error> {
        // From here on nobody can use it, or what is in it.
        let (asid, slots) = self.with(|owner| {
            let asid = owner.handles.space(client, space)?;
            owner.handles.end_space(space);
            let slots = (0..owner.slots.len()).map(|number| SlotId(number as u8));
            let slots: Vec<SlotId> = slots.filter(|slot| owner.works_in(*slot, asid)).collect();
            for slot in &slots {
                owner.handles.end_load(*slot);
            }
            Ok::<_, Error>((asid, slots))
        })?;
        for slot in slots {
            let _claim = self.claim(slot).await;
            if self.with(|owner| owner.works_in(slot, asid)) {
                self.empty(slot).await?;
            }
        }
        let result = self
            .ask(|request| Event::DestroySpace { request, asid })
            .await;
        let (stray, unmapped) = self.with(|owner| {
            owner.free_asid(asid);
            let everything = 1 << VirtAddr::BITS;
            let strays = &mut owner.files;
            let stray = strays.take_stray(asid, VirtAddr::default(), everything);
            (stray, owner.forget_mappings(asid, None))
        });
        self.close_files(unmapped).await;
        self.forget_memories(asid, None).await;
        result?;
        stray.map(|()| Reply::Done)
    }

    /// Ends everything of a client.
    pub(super) async fn close(&self, client: ClientId) -> Result<Reply, Error> {
        let spaces = self.with(|owner| {
            let spaces = owner.handles.spaces(client);
            owner.handles.close(client);
            spaces
        });
        let mut result = Ok(Reply::Done);
        for space in spaces {
            match self.destroy_space(client, space).await {
                // Another thread was faster.
                Ok(_) | Err(Error::Gone { .. }) => {}
                Err(error) => result = result.and(Err(error)),
            }
        }
        result
    }
}

impl Owner {
    fn take_asid(&mut self) -> Result<Asid, Error> {
        let spaces = self.spaces.len() as u8;
        let free = self.spaces.iter().position(|used| !used);
        let asid = free.and_then(|number| Asid::new(number as u8));
        let asid = asid.ok_or(Error::NoFreeSpace { spaces })?;
        self.spaces[usize::from(asid.get())] = true;
        Ok(asid)
    }

    fn free_asid(&mut self, asid: Asid) {
        if let Some(used) = self.spaces.get_mut(usize::from(asid.get())) {
            *used = false;
        }
    }

    fn works_in(&self, slot: SlotId, asid: Asid) -> bool {
        let state = self.slots.get(usize::from(slot.0));
        state.is_some_and(|state| state.loaded_in(asid))
    }
}
