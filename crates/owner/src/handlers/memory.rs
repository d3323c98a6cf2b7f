//! Requests about memory that programs share with kernels, and its trapped accesses.

use crate::handles::MappedRange;
use crate::message::{ByteRange, ClientId, MappingId, NewMapping, Share, Take};
use crate::owner_ref::OwnerRef;
use crate::paging::ProgramAccess;
use crate::participants::Guest;
use crate::tenants::Counted;
use error::{Error, StreamError};
use pager::{Event, ObjectId};
use trap::Ticket;
use units::{Asid, PageSize};

impl OwnerRef {
    /// Shares a block with the kernels of a space.
    pub(crate) async fn share(
        &self,
        client: ClientId,
        request: Share,
    ) -> Result<NewMapping, Error> {
        let Share {
            space,
            view,
            direct,
            file: _,
        } = request;
        let _room = self.room(client, Counted::Mappings)?;
        let asid = self.handles(|handles| handles.space(client, space))?;
        let objects =
            self.paging_with(|paging, kernels| paging.new_memory(kernels, asid, &view))?;
        let (address, bytes) = (view.address(), view.bytes() as u64);
        let mut ours = Vec::new();
        let mapped = self.paging_with(|paging, kernels| {
            let mut objects = objects.iter();
            objects.try_for_each(|one| {
                ours.push(paging.map_memory(kernels, *one, direct)?);
                Ok(())
            })
        });
        if let Err(error) = mapped {
            // Only the parts mapped so far: the rest of the range may belong to another mapping.
            for (address, bytes) in ours {
                if let Err(error) = self.unmap(asid, address, bytes).await {
                    tracing::debug!(%error, "taking back a block that was refused");
                }
            }
            for object in objects {
                self.forget_memory(object).await;
            }
            return Err(error);
        }
        let range = MappedRange {
            space,
            asid,
            address,
            bytes,
        };
        let page = self.paging(|paging| paging.largest_page_of(&objects));
        let mapping = self.handles(|handles| handles.add_mapping(client, range));
        Ok(NewMapping {
            mapping,
            address,
            bytes,
            page: page.unwrap_or(PageSize::KIB_4),
        })
    }

    /// Ends the sharing of a block that no kernel uses.
    pub(crate) async fn free(&self, client: ClientId, mapping: MappingId) -> Result<(), Error> {
        let range = self.handles(|handles| {
            self.kernels(|kernels| {
                let range = handles.mapping(client, mapping)?;
                if let Some(slot) = kernels.user_of(range.asid) {
                    let address = range.address;
                    return Err(Error::MemoryInUse { address, slot });
                }
                handles.end_mapping(mapping);
                Ok(range)
            })
        })?;
        self.unmap(range.asid, range.address, range.bytes).await
    }

    /// Gives the program read, or also write, access to some bytes of a block.
    pub(crate) async fn take_shared(&self, client: ClientId, request: Take) -> Result<(), Error> {
        let range = self.range_of(client, request.mapping)?;
        let ByteRange { offset, bytes } = request.range;
        if offset
            .checked_add(bytes)
            .is_none_or(|end| end > range.bytes)
        {
            return Err(Error::Stream(StreamError::OutOfMapping {
                bytes,
                offset,
                mapped: range.bytes,
            }));
        }
        self.take_memory(range, request.range, request.write).await
    }

    /// Drops the blocks of a space (in a range) that are no longer mapped.
    pub(crate) async fn forget_memories(&self, space: Asid, range: Option<(u64, u64)>) {
        for object in self.paging(|paging| paging.memories_in(space, range)) {
            self.forget_memory(object).await;
        }
    }

    async fn forget_memory(&self, object: ObjectId) {
        let close = |request| Event::CloseObject {
            request,
            object,
            discard: true,
        };
        // The unmap has reported what a broken card could not give back. A refused object is unknown.
        if let Err(error) = self.ask(close).await {
            tracing::debug!(%error, "closing shared memory");
        }
        self.paging_with(|paging, kernels| paging.give_back(kernels, object));
    }

    /// Gives the program read, or also write, access to a part of a block.
    pub(super) async fn take_memory(
        &self,
        range: MappedRange,
        part: ByteRange,
        write: bool,
    ) -> Result<(), Error> {
        let first = range.address.get() + part.offset;
        let wanted = first..first + part.bytes;
        let begun = self.paging_with(|paging, kernels| {
            paging.begin_to_take(kernels, range.asid, &wanted, write)
        })?;
        for request in begun {
            self.answer(request).await?;
        }
        Ok(())
    }

    /// Waits for the latency from an access to the thread that serves it.
    async fn take_trap_time(&self) {
        let work = self.paging_with(|paging, kernels| paging.begin_trap_time(kernels));
        if let Some(work) = work {
            let over = || self.paging(|paging| Ok(paging.is_over(work).then_some(())));
            // A failure of the card is reported when the access is served.
            let _ = self.card(over).await;
        }
    }

    /// Handles a trapped access of a program: its thread continues when the access is permitted. Without an
    /// answer the access fails.
    pub(crate) async fn trap(
        &self,
        address: usize,
        write: bool,
        ticket: Ticket,
        guest: Option<Guest>,
    ) -> Result<(), Error> {
        self.take_trap_time().await;
        let begun = self.paging_with(|paging, kernels| {
            paging.trapped(kernels, ProgramAccess { address, write }, ticket, guest)
        });
        let Some((request, object, told)) = begun else {
            return Ok(());
        };
        let result = match told {
            Ok(()) => self.answer(request).await.map(drop),
            Err(error) => Err(error),
        };
        self.paging(|paging| paging.trap_over(request, object));
        result
    }
}
