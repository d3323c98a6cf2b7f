//! Requests about memory that programs share with kernels, and its trapped accesses.

use super::pager_calls::PagerCalls;
use super::saving::WriteBack;
use crate::handles::Handles;
use crate::handles::MappedRange;
use crate::kernels::Kernels;
use crate::message::{
    ByteRange, ClientId, MappingId, NewMapping, ServeTrap, Share, Take, TrapServed,
};
use crate::paging::{Paging, ProgramAccess, TrapElsewhere};
use crate::participants::Guest;
use crate::rooms::Room;
use crate::tenants::{Counted, Quotas};
use crate::wait::Waits;
use error::{Error, StreamError};
use trap::Ticket;
use units::{Asid, PageSize};

/// Requests about shared memory.
#[derive(Clone)]
pub(crate) struct MemoryRequests {
    pub(crate) handles: Room<Handles>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
    pub(crate) quotas: Quotas,
    pub(crate) pager: PagerCalls,
    pub(crate) saving: WriteBack,
}

impl MemoryRequests {
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
            traps: _,
        } = request;
        let _reserved = self.quotas.reserve(client, Counted::Mappings)?;
        let asid = self.handles.lend(|handles| handles.space(client, space))?;
        let objects = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.new_memory(kernels, asid, &view)
        })?;
        let (address, bytes) = (view.address(), view.bytes() as u64);
        let mut ours = Vec::new();
        let mapped = self.paging.lend_with(&self.kernels, |paging, kernels| {
            let mut objects = objects.iter();
            objects.try_for_each(|one| {
                ours.push(paging.map_memory(kernels, *one, direct)?);
                Ok(())
            })
        });
        if let Err(error) = mapped {
            // Only the parts mapped so far: the rest of the range may belong to another mapping.
            for (address, bytes) in ours {
                if let Err(error) = self.saving.unmap(asid, address, bytes).await {
                    tracing::debug!(%error, "taking back a block that was refused");
                }
            }
            for object in objects {
                self.saving.forget_memory(object).await;
            }
            return Err(error);
        }
        let range = MappedRange {
            space,
            asid,
            address,
            bytes,
        };
        let page = self
            .paging
            .lend(|paging| paging.memories().largest_page_of(&objects));
        let mapping = self
            .handles
            .lend(|handles| handles.add_mapping(client, range));
        Ok(NewMapping {
            mapping,
            address,
            bytes,
            page: page.unwrap_or(PageSize::KIB_4),
        })
    }

    /// Ends the sharing of a block that no kernel uses.
    pub(crate) async fn free(&self, client: ClientId, mapping: MappingId) -> Result<(), Error> {
        let range = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let range = handles.mapping(client, mapping)?;
                if let Some(slot) = kernels.slots().user_of(range.asid) {
                    let address = range.address;
                    return Err(Error::MemoryInUse { address, slot });
                }
                handles.end_mapping(mapping);
                Ok(range)
            })
        })?;
        self.saving
            .unmap(range.asid, range.address, range.bytes)
            .await
    }

    /// Gives the program read, or also write, access to some bytes of a block.
    pub(crate) async fn take_shared(&self, client: ClientId, request: Take) -> Result<(), Error> {
        let range = self.handles.range_of(client, request.mapping)?;
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

    /// Gives the program read, or also write, access to a part of a block.
    pub(crate) async fn take_memory(
        &self,
        range: MappedRange,
        part: ByteRange,
        write: bool,
    ) -> Result<(), Error> {
        let first = range.address.get() + part.offset;
        let wanted = first..first + part.bytes;
        let begun = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.begin_to_take(kernels, range.asid, &wanted, write)
        })?;
        for request in begun {
            self.pager.answer(request).await?;
        }
        Ok(())
    }

    /// Waits for the latency from an access to the thread that serves it.
    async fn take_trap_time(&self) {
        let work = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.begin_trap_time(kernels)
        });
        if let Some(work) = work {
            let over = || {
                self.paging
                    .lend(|paging| Ok(paging.is_over(work).then_some(())))
            };
            // A failure of the card is reported when the access is served.
            let _ = self.waits.card(over).await;
        }
    }

    /// Handles a trapped access of a program in another process, which lets its thread continue when it has the reply.
    pub(crate) async fn serve_trap(
        &self,
        client: ClientId,
        trap: ServeTrap,
    ) -> Result<TrapServed, Error> {
        self.take_trap_time().await;
        let spaces: Vec<Asid> = self.handles.lend(|handles| handles.asids(client).collect());
        let begun = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.trapped_elsewhere(kernels, &spaces, &trap)
        })?;
        let Some(TrapElsewhere {
            program,
            request,
            object,
        }) = begun
        else {
            return Err(Error::Gone {
                what: format!("block #{} of the program's memory", trap.block),
                why: "it was freed, or its address space ended".into(),
            });
        };
        let result = self.pager.answer(request).await;
        self.paging
            .lend(|paging| paging.memories().trap_over(request, object));
        result.map(|_| TrapServed {
            number: program.count_answer(),
        })
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
        let begun = self.paging.lend_with(&self.kernels, |paging, kernels| {
            paging.trapped(kernels, ProgramAccess { address, write }, ticket, guest)
        });
        let Some((request, object, sent)) = begun else {
            return Ok(());
        };
        let result = match sent {
            Ok(()) => self.pager.answer(request).await.map(drop),
            Err(error) => Err(error),
        };
        self.paging
            .lend(|paging| paging.memories().trap_over(request, object));
        result
    }
}
