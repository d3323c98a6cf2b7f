//! What becomes of each request.

use super::files::Range;
use super::handles::MappedRange;
use super::owner_ref::OwnerRef;
use super::Owner;
use crate::error::Error;
use crate::link::ClientId;
use crate::message::{LoadId, Reply, Request};
use card::SlotId;
use pager::Event;
use std::cell::Cell;
use std::rc::Rc;

impl OwnerRef {
    /// Serves one request of a client. While `harmless` is set the task may be dropped: it has changed
    /// nothing so far.
    pub(super) async fn serve(
        self,
        client: ClientId,
        request: Request,
        harmless: Rc<Cell<bool>>,
    ) -> Result<Reply, Error> {
        self.with(|owner| owner.handles.check_open(client))?;
        let slot_of = |load: LoadId| self.with(|owner| owner.slot_of(client, load));
        match request {
            Request::Describe => self.with(|owner| {
                Ok(Reply::Description {
                    card: Box::new(owner.card.description().clone()),
                    now: owner.progress().now,
                })
            }),
            Request::Report => self.with(|owner| Ok(Reply::Report(Box::new(owner.report()?)))),
            Request::CreateSpace { options } => self.create_space(client, options).await,
            Request::DestroySpace { space } => self.destroy_space(client, space).await,
            Request::Close => self.close(client).await,
            Request::Load {
                slot,
                kernel,
                space,
            } => self.load(client, slot, *kernel, space, &harmless).await,
            Request::Unload { load } => self.close_slot(client, load).await,
            Request::Map {
                space,
                file,
                behind,
                label,
                offset,
                bytes,
                address,
                read,
                write,
                fresh,
                page_size,
                auto_pages,
                direct,
                memory,
                file_state,
            } => {
                let range = Range {
                    offset,
                    bytes,
                    address,
                    read,
                    write,
                    fresh,
                    page_size,
                    auto_pages,
                    direct,
                    memory,
                    file_state,
                };
                self.map(client, space, (file, behind), label, range).await
            }
            Request::Share {
                space,
                view,
                direct,
            } => self.share(client, space, view, direct).await,
            Request::Free { mapping } => self.free(client, mapping).await,
            Request::Take {
                mapping,
                offset,
                bytes,
                write,
            } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                self.take_memory(range, (offset, bytes), write).await?;
                Ok(Reply::Done)
            }
            Request::Unmap { mapping } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                let unfinished = self.settled(range.asid).await;
                let range = self.with(|owner| {
                    let range = owner.handles.mapping(client, mapping)?;
                    owner.handles.end_mapping(mapping);
                    Ok::<MappedRange, Error>(range)
                })?;
                self.unmap(range.asid, range.address, range.bytes).await?;
                unfinished.map(|()| Reply::Done)
            }
            Request::Sync { mapping } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                self.settled(range.asid).await?;
                self.sync(range).await?;
                Ok(Reply::Done)
            }
            Request::Refresh { mapping, discard } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                self.refresh(range, discard).await?;
                Ok(Reply::Done)
            }
            Request::Prefetch { mapping } => self.with(|owner| {
                let range = owner.handles.mapping(client, mapping)?;
                owner.tell(Event::Prefetch {
                    asid: range.asid,
                    address: range.address,
                    bytes: range.bytes,
                })?;
                Ok(Reply::Done)
            }),
            Request::MakeHot { mapping } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                self.make_hot(range).await.map(Reply::Hot)
            }
            Request::UnmapPart {
                mapping,
                offset,
                bytes,
            } => {
                let range = self.with(|owner| owner.handles.mapping(client, mapping))?;
                self.settled(range.asid).await?;
                let parts = self.unmap_part(client, mapping, (offset, bytes)).await?;
                Ok(Reply::Parts(parts))
            }
            Request::Advise {
                mapping,
                offset,
                bytes,
                advice,
            } => self.with(|owner| {
                let range = owner.handles.mapping(client, mapping)?;
                owner.advise(range, (offset, bytes), advice)?;
                Ok(Reply::Done)
            }),
            Request::SetArgument {
                load,
                offset,
                words,
            } => self.with(|owner| {
                owner.set_argument(owner.slot_of(client, load)?, offset, &words)?;
                Ok(Reply::Done)
            }),
            Request::WriteRegisters {
                load,
                offset,
                words,
            } => self.with(|owner| {
                owner.write_raw_registers(owner.slot_of(client, load)?, offset, &words)?;
                Ok(Reply::Done)
            }),
            Request::ReadRegister { load, offset } => {
                self.read_for_program(client, load, offset).await
            }
            Request::Schedule { load, schedule } => self.with(|owner| {
                let slot = owner.slot_of(client, load)?;
                owner.schedule(slot, schedule).map(|()| Reply::Done)
            }),
            Request::Start { load } => {
                let _claim = self.claim(slot_of(load)?).await;
                // It may have been closed meanwhile.
                let slot = slot_of(load)?;
                self.with(|owner| owner.start(slot)).map(|()| Reply::Done)
            }
            Request::Poll { load, slice } => self.poll(slot_of(load)?, load, slice).await,
            Request::Await {
                load,
                signal,
                slice,
            } => self.await_signal(client, load, signal, slice).await,
            Request::PollAny { loads, slice } => {
                let slots = loads.into_iter().map(|load| Ok((slot_of(load)?, load)));
                let slots: Vec<(SlotId, LoadId)> = slots.collect::<Result<_, Error>>()?;
                self.poll_any(&slots, slice).await.map(Reply::Any)
            }
            Request::Expire { load } => self.expire(slot_of(load)?, load).await,
            Request::Stop { load } => {
                self.stop(slot_of(load)?, load).await?;
                Ok(Reply::Done)
            }
            Request::Stream(request) => self.stream(client, request).await,
            Request::BeginAccess { access } => {
                self.with(|owner| owner.begin_access(access).map(Reply::Access))
            }
            Request::EndAccess { id, deadline } => self.end_access(id, deadline).await,
            Request::ShowPage {
                address,
                write,
                pages,
            } => self.with(|owner| {
                let shown = owner.card.show_page(address, write, pages)?;
                Ok(Reply::Shown(shown))
            }),
            Request::HidePages { base, bytes } => self.with(|owner| {
                owner.card.hide_pages(base, bytes)?;
                Ok(Reply::Done)
            }),
            Request::RecordLines { history } => self.with(|owner| {
                owner.card.record_lines(*history)?;
                Ok(Reply::Done)
            }),
            Request::LineHistory => {
                let history = self.with(|owner| owner.card.line_history());
                Ok(Reply::History(Box::new(history)))
            }
            Request::HomeMemory => {
                self.with(|owner| owner.use_home_memory().map(Reply::HomeMemory))
            }
            Request::HostLines => self.with(|owner| owner.host_line_bytes().map(Reply::HostLines)),
            Request::SetHoldPatience { cycles } => {
                self.with(|owner| owner.set_hold_patience(cycles).map(|()| Reply::Done))
            }
            Request::SetHomePatience { cycles } => {
                self.with(|owner| owner.set_patience(cycles).map(|()| Reply::Done))
            }
        }
    }
}

impl Owner {
    /// The slot that a kernel's name stands for.
    pub(super) fn slot_of(&self, client: ClientId, load: LoadId) -> Result<SlotId, Error> {
        self.handles.slot(client, load)
    }
}
