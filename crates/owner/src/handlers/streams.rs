//! Requests about streams: opening ports, transfers, connections, peers.

use super::slots::SlotRequests;
use crate::handles::Handles;
use crate::kernels::Kernels;
use crate::kernels::{Place, StreamLook};
use crate::message::{
    BeginPeerTransfer, BeginTransfer, ClientId, ConnectPorts, ConnectionId, Disconnect,
    ExpireStream, Moved, OpenStream, PlugPeer, PollStream, PollStreams, StreamHandle,
    TransferState, TransfersState,
};
use crate::paging::Paging;
use crate::rooms::{progress, Room};
use crate::wait::Waits;
use crate::SLICE;
use error::{Error, StreamError};
use units::{Picoseconds, SlotId, StreamDirection, StreamId};

/// Timeout for a packet that delays a new connection.
const PACKET_TIMEOUT: Picoseconds = Picoseconds::from_micros(20);
/// Timeout for the last packet of a connection that a caller waits for.
const LAST_PACKET: Picoseconds = Picoseconds::from_micros(1000);
/// Interval between two polls of the switch.
const CHECK_INTERVAL: Picoseconds = Picoseconds::from_micros(1);

/// Requests about streams.
#[derive(Clone)]
pub(crate) struct StreamRequests {
    pub(crate) handles: Room<Handles>,
    pub(crate) paging: Room<Paging>,
    pub(crate) kernels: Room<Kernels>,
    pub(crate) waits: Waits,
    pub(crate) slots: SlotRequests,
}

impl StreamRequests {
    pub(crate) async fn open_stream(
        &self,
        client: ClientId,
        request: OpenStream,
    ) -> Result<StreamHandle, Error> {
        let OpenStream { load, port } = request;
        let place = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let slot = handles.slot(client, load)?;
                kernels.streams().stream_place(slot, &port)
            })
        })?;
        self.wait_for_stopped(place).await?;
        self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let slot = handles.slot(client, load)?;
                kernels.streams().open_stream(client, slot, &port)
            })
        })
    }

    pub(crate) async fn begin_transfer(
        &self,
        client: ClientId,
        request: BeginTransfer,
    ) -> Result<(), Error> {
        let range = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                kernels
                    .streams()
                    .range_of_transfer(handles, client, &request)
            })
        })?;
        self.slots.fail_if_failed(request.stream.slot).await?;
        self.kernels
            .lend(|kernels| kernels.begin_transfer(client, request.stream, range))
    }

    pub(crate) async fn begin_peer_transfer(
        &self,
        client: ClientId,
        request: BeginPeerTransfer,
    ) -> Result<(), Error> {
        let range = self
            .kernels
            .lend(|kernels| kernels.streams().range_of_peer(client, &request))?;
        self.slots.fail_if_failed(request.stream.slot).await?;
        self.kernels
            .lend(|kernels| kernels.begin_transfer(client, request.stream, range))
    }

    /// The oldest transfer missed its deadline: returns what it waits for, unless it is
    /// complete now.
    pub(crate) async fn expire_stream(
        &self,
        client: ClientId,
        request: ExpireStream,
    ) -> Result<Moved, Error> {
        let ExpireStream { stream, elapsed } = request;
        if let Some(stuck) = self.paging.lend_with(&self.kernels, |paging, kernels| {
            kernels.streams().stuck_stream(
                &paging.service().faults_waiting(),
                client,
                stream,
                elapsed,
            )
        })? {
            return Err(Error::Stream(stuck));
        }
        let slice = Picoseconds::ZERO;
        match self
            .poll_stream(client, PollStream { stream, slice })
            .await?
        {
            TransferState::Moved(moved) => Ok(moved),
            TransferState::Moving(_) => {
                Err(Error::Internal("a transfer that was over goes on".into()))
            }
        }
    }

    /// Waits for a port with a stopped transfer and a departed client: it is free
    /// shortly.
    pub(crate) async fn wait_for_stopped(&self, place: (SlotId, StreamId)) -> Result<(), Error> {
        let is_leaving = || {
            self.kernels
                .lend(|kernels| kernels.streams().is_leaving(place))
        };
        if !is_leaving() {
            return Ok(());
        }
        let until = self.kernels.lend(|kernels| kernels.now() + SLICE);
        let _alarm = self.waits.alarm(until);
        let gone = || {
            let over = !is_leaving() || self.kernels.lend(|kernels| kernels.now()) >= until;
            Ok(over.then_some(()))
        };
        self.waits.card(gone).await
    }

    pub(crate) async fn poll_stream(
        &self,
        client: ClientId,
        request: PollStream,
    ) -> Result<TransferState, Error> {
        let PollStream {
            stream: handle,
            slice,
        } = request;
        let until = self.kernels.lend(|kernels| kernels.now() + slice);
        loop {
            // An alarm that has expired would keep the card from working.
            let alarm = self.waits.alarm(until);
            let look = || {
                self.kernels
                    .lend(|kernels| kernels.streams().look_at_stream(client, handle, until))
            };
            let seen = self.waits.card(look).await?;
            drop(alarm);
            match seen {
                StreamLook::Moved(moved) => return Ok(TransferState::Moved(moved)),
                StreamLook::Failed(error) => {
                    self.slots.fail_if_failed(handle.slot).await?;
                    // Otherwise the kernel's failure was reported to another thread.
                    if let Some(error) = error {
                        return Err(error.into());
                    }
                }
                StreamLook::SliceOver => {
                    let stuck =
                        self.paging.lend_with(&self.kernels, |paging, kernels| {
                            match slice > Picoseconds::ZERO && paging.is_quiet(kernels) {
                                true => kernels.streams().stuck_stream(
                                    &paging.service().faults_waiting(),
                                    client,
                                    handle,
                                    slice,
                                ),
                                false => Ok(None),
                            }
                        })?;
                    let progress = progress(&self.paging, &self.kernels);
                    return match stuck {
                        Some(stuck) => Err(Error::Stream(stuck)),
                        None => Ok(TransferState::Moving(progress)),
                    };
                }
            }
        }
    }

    /// Returns the first of several streams whose oldest transfer is over.
    pub(crate) async fn poll_streams(
        &self,
        client: ClientId,
        request: PollStreams,
    ) -> Result<TransfersState, Error> {
        let PollStreams {
            streams: handles,
            slice,
        } = request;
        let until = self.kernels.lend(|kernels| kernels.now() + slice);
        loop {
            let alarm = self.waits.alarm(until);
            let look = || {
                self.kernels.lend(|kernels| {
                    for (number, handle) in handles.iter().enumerate() {
                        match kernels.streams().look_at_stream(client, *handle, until)? {
                            None | Some(StreamLook::SliceOver) => {}
                            Some(look) => return Ok(Some((number, look))),
                        }
                    }
                    let over = kernels.now() >= until;
                    Ok(over.then_some((0, StreamLook::SliceOver)))
                })
            };
            let (number, seen) = self.waits.card(look).await?;
            drop(alarm);
            let reply = match seen {
                StreamLook::Moved(moved) => TransfersState::Moved {
                    place: number,
                    moved,
                    progress: progress(&self.paging, &self.kernels),
                },
                StreamLook::Failed(error) => {
                    if let Some(handle) = handles.get(number) {
                        self.slots.fail_if_failed(handle.slot).await?;
                    }
                    match error {
                        Some(error) => return Err(error.into()),
                        None => continue,
                    }
                }
                StreamLook::SliceOver => self.paging.lend_with(&self.kernels, |paging, kernels| {
                    match paging.is_quiet(kernels) {
                        true => TransfersState::Quiet(paging.progress(kernels)),
                        false => TransfersState::Moving(paging.progress(kernels)),
                    }
                }),
            };
            return Ok(reply);
        }
    }

    pub(crate) async fn connect_ports(
        &self,
        client: ClientId,
        request: ConnectPorts,
    ) -> Result<ConnectionId, Error> {
        let (from, to) = self.handles.lend(|handles| {
            self.kernels.lend(|kernels| {
                let from = kernels.streams().place_of_end(
                    handles,
                    client,
                    &request.from,
                    StreamDirection::Out,
                )?;
                let to = kernels.streams().place_of_end(
                    handles,
                    client,
                    &request.to,
                    StreamDirection::In,
                )?;
                Ok::<_, Error>((from, to))
            })
        })?;
        self.wait_for_stopped(from).await?;
        self.kernels.lend(|kernels| {
            kernels.streams().check_free(from)?;
            kernels.streams().check_free(to)?;
            kernels.streams().check_ids(from, Some(to))
        })?;
        self.slots.fail_if_failed(from.0).await?;
        self.slots.fail_if_failed(to.0).await?;
        let joint = self
            .kernels
            .lend(|kernels| kernels.join(client, from, to))?;
        if self.is_settled(to, PACKET_TIMEOUT).await? {
            return Ok(joint);
        }
        self.kernels.lend(|kernels| {
            kernels.streams().part(to)?;
            kernels.streams().forget_joint(joint)?;
            Err(Error::Stream(kernels.streams().mid_packet(from, to)))
        })
    }

    pub(crate) async fn disconnect(
        &self,
        client: ClientId,
        request: Disconnect,
    ) -> Result<(), Error> {
        let Disconnect {
            connection: id,
            later,
        } = request;
        let (from, to) = self
            .kernels
            .lend(|kernels| kernels.streams().begin_to_part(client, id))?;
        if later {
            self.kernels
                .lend(|kernels| kernels.streams().forget_joints_apart())?;
            return Ok(());
        }
        let settled = self.is_settled(to, LAST_PACKET).await?;
        self.kernels.lend(|kernels| match settled {
            true => kernels.streams().forget_joint(id),
            false => Err(Error::Stream(kernels.streams().mid_packet(from, to))),
        })
    }

    /// Whether the switch has changed an incoming port before the timeout.
    pub(crate) async fn is_settled(&self, to: Place, timeout: Picoseconds) -> Result<bool, Error> {
        let until = self.kernels.lend(|kernels| kernels.now() + timeout);
        loop {
            let state = self
                .kernels
                .lend(|kernels| kernels.card().need_streams()?.switch_state(to.0, to.1.pair))?;
            if !state.pending {
                return Ok(true);
            }
            let now = self.kernels.lend(|kernels| kernels.now());
            if now >= until {
                return Ok(false);
            }
            let next = now + CHECK_INTERVAL;
            let alarm = self.waits.alarm(next);
            self.waits
                .card(|| {
                    self.kernels
                        .lend(|kernels| Ok((kernels.now() >= next).then_some(())))
                })
                .await?;
            drop(alarm);
        }
    }

    pub(crate) async fn plug_peer(&self, client: ClientId, request: PlugPeer) -> Result<(), Error> {
        let PlugPeer {
            stream: handle,
            peer,
        } = request;
        let to = self
            .kernels
            .lend(|kernels| kernels.plug_peer(client, handle, peer))?;
        if self.is_settled(to, PACKET_TIMEOUT).await? {
            return Ok(());
        }
        self.kernels.lend(|kernels| {
            let name = kernels.streams().stream_name(handle.slot, handle.stream);
            kernels.streams().unplug(handle.slot, handle.stream)?;
            Err(Error::Stream(StreamError::BetweenPackets { name }))
        })
    }
}
