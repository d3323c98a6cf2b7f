//! Execution of requests.

use crate::handlers::files::FileRequests;
use crate::handlers::lines::LineRequests;
use crate::handlers::memory::MemoryRequests;
use crate::handlers::preloading::Preloading;
use crate::handlers::saving::WriteBack;
use crate::handlers::slots::SlotRequests;
use crate::handlers::spaces::SpaceRequests;
use crate::handlers::streams::StreamRequests;
use crate::handles::Handles;
use crate::kernels::Kernels;
use crate::message::{AnyRequest, ClientId, Description, ReportOf};
use crate::paging::Paging;
use crate::rooms::Room;
use crate::status::Reports;
use error::Error;
use std::cell::Cell;
use std::rc::Rc;
use units::Picoseconds;

/// The handlers of all requests, and the rooms of requests that do not wait.
pub(super) struct Requests {
    pub(super) handles: Room<Handles>,
    pub(super) paging: Room<Paging>,
    pub(super) kernels: Room<Kernels>,
    pub(super) reports: Reports,
    pub(super) spaces: SpaceRequests,
    pub(super) files: FileRequests,
    pub(super) saving: WriteBack,
    pub(super) preload: Preloading,
    pub(super) memory: MemoryRequests,
    pub(super) slots: SlotRequests,
    pub(super) streams: StreamRequests,
    pub(super) lines: LineRequests,
}

impl Requests {
    /// As [`serve`](Self::serve), from a moment in virtual time.
    pub(super) async fn serve_from(
        self: Rc<Self>,
        from: Option<Picoseconds>,
        client: ClientId,
        request: AnyRequest,
        harmless: Rc<Cell<bool>>,
    ) -> Option<Error> {
        if let Some(from) = from {
            harmless.set(true);
            while self.kernels.lend(|kernels| kernels.now()) < from {
                // Of a card that fails, the request itself reports it.
                if self.slots.waits.pause(from).await.is_err() {
                    break;
                }
            }
            harmless.set(false);
        }
        self.serve(client, request, harmless).await
    }

    /// Serves one request of a client, and sends its reply; returns the error if the reply was not awaited any more.
    /// While `harmless` is set the task may be dropped: it has changed nothing so far.
    pub(super) async fn serve(
        self: Rc<Self>,
        client: ClientId,
        request: AnyRequest,
        harmless: Rc<Cell<bool>>,
    ) -> Option<Error> {
        use AnyRequest as Any;
        if let Err(error) = self.handles.lend(|handles| handles.check_open(client)) {
            return request.waiting().refuse(error);
        }
        match request {
            Any::Describe(_, to) => to.give(Ok(self.paging.lend_with(
                &self.kernels,
                |paging, kernels| Description {
                    card: Box::new(kernels.description().clone()),
                    now: paging.progress(kernels).now,
                },
            ))),
            Any::MakeReport(it, to) => to.give(match it.of {
                ReportOf::Card => self.reports.report().map(Box::new),
                ReportOf::Client => self.reports.report_of(client).map(Box::new),
            }),
            Any::TakeStatus(_, to) => to.give(Ok(self.reports.status())),
            Any::KeepApart(it, to) => to.give(self.reports.keep_apart(client, it.tenant)),
            Any::Close(_, to) => to.give(self.spaces.close(client).await),

            Any::CreateSpace(it, to) => to.give(self.spaces.create_space(client, it.options).await),
            Any::DestroySpace(it, to) => to.give(self.spaces.destroy_space(client, it.space).await),

            Any::MapFile(it, to) => to.give(self.files.map_file(client, it).await),
            Any::Unmap(it, to) => to.give(self.files.end_mapping(client, it.mapping).await),
            Any::UnmapPart(it, to) => to.give(self.saving.unmap_part(client, it).await),
            Any::Sync(it, to) => to.give(self.files.sync_mapping(client, it).await),
            Any::Refresh(it, to) => to.give(self.files.refresh_mapping(client, it).await),
            Any::Advise(it, to) => {
                to.give(self.handles.range_of(client, it.mapping).and_then(|range| {
                    self.paging.lend_with(&self.kernels, |paging, kernels| {
                        paging.advise_mapping(kernels, range, it.range, it.advice)
                    })
                }))
            }
            Any::Prefetch(it, to) => {
                to.give(self.handles.range_of(client, it.mapping).and_then(|range| {
                    self.paging.lend_with(&self.kernels, |paging, kernels| {
                        paging.prefetch(kernels, range)
                    })
                }))
            }
            Any::MakeHot(it, to) => to.give(self.preload.make_mapping_hot(client, it).await),

            Any::Share(it, to) => to.give(self.memory.share(client, it).await),
            Any::Take(it, to) => to.give(self.memory.take_shared(client, it).await),
            Any::ServeTrap(it, to) => to.give(self.memory.serve_trap(client, it).await),
            Any::Free(it, to) => to.give(self.memory.free(client, it.mapping).await),

            Any::Load(it, to) => to.give(self.slots.load(client, it, &harmless).await),
            Any::Unload(it, to) => to.give(self.slots.close_slot(client, it.load).await),
            Any::SetArgument(it, to) => {
                to.give(self.handles.slot_of(client, it.load).and_then(|slot| {
                    self.kernels.lend(|kernels| {
                        kernels.slots_mut().set_argument(slot, it.offset, &it.words)
                    })
                }))
            }
            Any::WriteRegisters(it, to) => {
                to.give(self.handles.slot_of(client, it.load).and_then(|slot| {
                    self.kernels.lend(|kernels| {
                        kernels
                            .slots_mut()
                            .write_raw_registers(slot, it.offset, &it.words)
                    })
                }))
            }
            Any::ReadRegister(it, to) => to.give(self.slots.read_for_program(client, it).await),
            Any::Schedule(it, to) => {
                to.give(self.handles.slot_of(client, it.load).and_then(|slot| {
                    self.kernels
                        .lend(|kernels| kernels.schedule(slot, it.schedule))
                }))
            }
            Any::Start(it, to) => to.give(self.slots.start(client, it.load).await),
            Any::Poll(it, to) => to.give(self.slots.poll(client, it).await),
            Any::PollAny(it, to) => to.give(self.slots.poll_any(client, it).await),
            Any::Await(it, to) => to.give(self.slots.await_signal(client, it).await),
            Any::Expire(it, to) => to.give(self.slots.expire(client, it.load).await),
            Any::Stop(it, to) => to.give(self.slots.stop_load(client, it.load).await),

            Any::OpenStream(it, to) => to.give(self.streams.open_stream(client, it).await),
            Any::BeginTransfer(it, to) => to.give(self.streams.begin_transfer(client, it).await),
            Any::PollStream(it, to) => to.give(self.streams.poll_stream(client, it).await),
            Any::PollStreams(it, to) => to.give(self.streams.poll_streams(client, it).await),
            Any::ExpireStream(it, to) => to.give(self.streams.expire_stream(client, it).await),
            Any::InspectStream(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().inspect_stream(client, it.stream)),
            ),
            Any::SettleStream(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().settle_stream(client, it)),
            ),
            Any::CheckTaken(it, to) => {
                to.give(self.handles.slot_of(client, it.load).and_then(|slot| {
                    self.kernels
                        .lend(|kernels| kernels.streams().unsettled(slot).map_or(Ok(()), Err))
                }))
            }
            Any::PacketsMissing(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().packets_missing(client, it)),
            ),
            Any::StopStream(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().stop_stream(client, it.stream)),
            ),
            Any::CloseStream(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().close_stream(client, it)),
            ),
            Any::ConnectPorts(it, to) => to.give(self.streams.connect_ports(client, it).await),
            Any::Inspect(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.streams().inspect(client, it.connection)),
            ),
            Any::Disconnect(it, to) => to.give(self.streams.disconnect(client, it).await),

            Any::PlugPeer(it, to) => to.give(self.streams.plug_peer(client, it).await),
            Any::BeginPeerTransfer(it, to) => {
                to.give(self.streams.begin_peer_transfer(client, it).await)
            }
            Any::SetNetworkLink(it, to) => to.give(self.kernels.lend(|kernels| {
                kernels
                    .card()
                    .need_network(it.interface)?
                    .set_network_link(it.interface, it.up)?;
                Ok(())
            })),

            Any::BeginAccess(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.lines().begin_access(it.access)),
            ),
            Any::EndAccess(it, to) => to.give(self.lines.end_access(it).await),
            Any::ShowPage(it, to) => to.give(self.kernels.lend(|kernels| {
                let shown = kernels
                    .card()
                    .need_lines()?
                    .show_page(it.address, it.write, it.pages)?;
                Ok(shown)
            })),
            Any::HidePages(it, to) => to.give(self.kernels.lend(|kernels| {
                kernels.card().need_lines()?.hide_pages(it.base, it.bytes)?;
                Ok(())
            })),
            Any::RecordLines(it, to) => to.give(self.kernels.lend(|kernels| {
                kernels.card().need_lines()?.record_lines(*it.history)?;
                Ok(())
            })),
            Any::LineHistory(_, to) => to.give(Ok(self
                .kernels
                .lend(|kernels| Box::new(kernels.lines().line_history())))),
            Any::HomeMemory(_, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.lines().use_home_memory()),
            ),
            Any::HostLines(_, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.lines().host_line_bytes()),
            ),
            Any::SetHoldTimeout(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.lines().set_hold_timeout(it.cycles)),
            ),
            Any::SetHomeTimeout(it, to) => to.give(
                self.kernels
                    .lend(|kernels| kernels.lines().set_answer_timeout(it.cycles)),
            ),
        }
    }
}
