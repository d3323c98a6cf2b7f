//! Execution of requests.

use super::owner_ref::OwnerRef;
use crate::message::{AnyRequest, ClientId, Description, ReportOf};
use error::Error;
use std::cell::Cell;
use std::rc::Rc;

impl OwnerRef {
    /// Serves one request of a client, and sends its reply; returns the error if the reply was not awaited any more.
    /// While `harmless` is set the task may be dropped: it has changed nothing so far.
    pub(super) async fn serve(
        self,
        client: ClientId,
        request: AnyRequest,
        harmless: Rc<Cell<bool>>,
    ) -> Option<Error> {
        use AnyRequest as Any;
        if let Err(error) = self.handles(|handles| handles.check_open(client)) {
            return request.waiting().refuse(error);
        }
        match request {
            Any::Describe(_, to) => to.give(Ok(self.paging_with(|paging, kernels| Description {
                card: Box::new(kernels.description().clone()),
                now: paging.progress(kernels).now,
            }))),
            Any::MakeReport(it, to) => to.give(match it.of {
                ReportOf::Card => self.report().map(Box::new),
                ReportOf::Client => self.report_of(client).map(Box::new),
            }),
            Any::TakeStatus(_, to) => to.give(Ok(self.status())),
            Any::KeepApart(it, to) => to.give(self.keep_apart(client, it.tenant)),
            Any::Close(_, to) => to.give(self.close(client).await),

            Any::CreateSpace(it, to) => to.give(self.create_space(client, it.options).await),
            Any::DestroySpace(it, to) => to.give(self.destroy_space(client, it.space).await),

            Any::MapFile(it, to) => to.give(self.map_file(client, it).await),
            Any::Unmap(it, to) => to.give(self.end_mapping(client, it.mapping).await),
            Any::UnmapPart(it, to) => to.give(self.unmap_part(client, it).await),
            Any::Sync(it, to) => to.give(self.sync_mapping(client, it).await),
            Any::Refresh(it, to) => to.give(self.refresh_mapping(client, it).await),
            Any::Advise(it, to) => to.give(self.range_of(client, it.mapping).and_then(|range| {
                self.paging_with(|paging, kernels| {
                    paging.advise_mapping(kernels, range, it.range, it.advice)
                })
            })),
            Any::Prefetch(it, to) => to.give(self.range_of(client, it.mapping).and_then(|range| {
                self.paging_with(|paging, kernels| paging.prefetch(kernels, range))
            })),
            Any::MakeHot(it, to) => to.give(self.make_mapping_hot(client, it).await),

            Any::Share(it, to) => to.give(self.share(client, it).await),
            Any::Take(it, to) => to.give(self.take_shared(client, it).await),
            Any::Free(it, to) => to.give(self.free(client, it.mapping).await),

            Any::Load(it, to) => to.give(self.load(client, it, &harmless).await),
            Any::Unload(it, to) => to.give(self.close_slot(client, it.load).await),
            Any::SetArgument(it, to) => to.give(self.slot_of(client, it.load).and_then(|slot| {
                self.kernels(|kernels| kernels.set_argument(slot, it.offset, &it.words))
            })),
            Any::WriteRegisters(it, to) => {
                to.give(self.slot_of(client, it.load).and_then(|slot| {
                    self.kernels(|kernels| kernels.write_raw_registers(slot, it.offset, &it.words))
                }))
            }
            Any::ReadRegister(it, to) => to.give(self.read_for_program(client, it).await),
            Any::Schedule(it, to) => to.give(
                self.slot_of(client, it.load)
                    .and_then(|slot| self.kernels(|kernels| kernels.schedule(slot, it.schedule))),
            ),
            Any::Start(it, to) => to.give(self.start(client, it.load).await),
            Any::Poll(it, to) => to.give(self.poll(client, it).await),
            Any::PollAny(it, to) => to.give(self.poll_any(client, it).await),
            Any::Await(it, to) => to.give(self.await_signal(client, it).await),
            Any::Expire(it, to) => to.give(self.expire(client, it.load).await),
            Any::Stop(it, to) => to.give(self.stop_load(client, it.load).await),

            Any::OpenStream(it, to) => to.give(self.open_stream(client, it).await),
            Any::BeginTransfer(it, to) => to.give(self.begin_transfer(client, it).await),
            Any::PollStream(it, to) => to.give(self.poll_stream(client, it).await),
            Any::PollStreams(it, to) => to.give(self.poll_streams(client, it).await),
            Any::ExpireStream(it, to) => to.give(self.expire_stream(client, it).await),
            Any::InspectStream(it, to) => {
                to.give(self.kernels(|kernels| kernels.inspect_stream(client, it.stream)))
            }
            Any::SettleStream(it, to) => {
                to.give(self.kernels(|kernels| kernels.settle_stream(client, it)))
            }
            Any::CheckTaken(it, to) => to.give(self.slot_of(client, it.load).and_then(|slot| {
                self.kernels(|kernels| kernels.unsettled(slot).map_or(Ok(()), Err))
            })),
            Any::PacketsMissing(it, to) => {
                to.give(self.kernels(|kernels| kernels.packets_missing(client, it)))
            }
            Any::StopStream(it, to) => {
                to.give(self.kernels(|kernels| kernels.stop_stream(client, it.stream)))
            }
            Any::CloseStream(it, to) => {
                to.give(self.kernels(|kernels| kernels.close_stream(client, it)))
            }
            Any::ConnectPorts(it, to) => to.give(self.connect_ports(client, it).await),
            Any::Inspect(it, to) => {
                to.give(self.kernels(|kernels| kernels.inspect(client, it.connection)))
            }
            Any::Disconnect(it, to) => to.give(self.disconnect(client, it).await),

            Any::PlugPeer(it, to) => to.give(self.plug_peer(client, it).await),
            Any::BeginPeerTransfer(it, to) => to.give(self.begin_peer_transfer(client, it).await),
            Any::SetNetworkLink(it, to) => to.give(self.kernels(|kernels| {
                kernels
                    .card()
                    .need_network(it.interface)?
                    .set_network_link(it.interface, it.up)?;
                Ok(())
            })),

            Any::BeginAccess(it, to) => {
                to.give(self.kernels(|kernels| kernels.begin_access(it.access)))
            }
            Any::EndAccess(it, to) => to.give(self.end_access(it).await),
            Any::ShowPage(it, to) => to.give(self.kernels(|kernels| {
                let shown = kernels
                    .card()
                    .need_lines()?
                    .show_page(it.address, it.write, it.pages)?;
                Ok(shown)
            })),
            Any::HidePages(it, to) => to.give(self.kernels(|kernels| {
                kernels.card().need_lines()?.hide_pages(it.base, it.bytes)?;
                Ok(())
            })),
            Any::RecordLines(it, to) => to.give(self.kernels(|kernels| {
                kernels.card().need_lines()?.record_lines(*it.history)?;
                Ok(())
            })),
            Any::LineHistory(_, to) => {
                to.give(Ok(self.kernels(|kernels| Box::new(kernels.line_history()))))
            }
            Any::HomeMemory(_, to) => to.give(self.kernels(|kernels| kernels.use_home_memory())),
            Any::HostLines(_, to) => to.give(self.kernels(|kernels| kernels.host_line_bytes())),
            Any::SetHoldTimeout(it, to) => {
                to.give(self.kernels(|kernels| kernels.set_hold_timeout(it.cycles)))
            }
            Any::SetHomeTimeout(it, to) => {
                to.give(self.kernels(|kernels| kernels.set_patience(it.cycles)))
            }
        }
    }
}
