// Copyright Tombolo contributors.
// Licensed under the Apache License, Version 2.0, see LICENSE for details.
// SPDX-License-Identifier: Apache-2.0

//! Stream ports that are connected to network interfaces: the interface moves their data instead of a mover.

use super::StreamControl;
use crate::message::ClientId;
use crate::message::StreamHandle;
use crate::peer_handle::PeerHandle;
use card::stream::StreamState;
use error::Error;
use error::StreamError;
use units::{SlotId, StreamDirection, StreamId};

/// The direction seen from the interface: a stream out of a kernel goes into an interface.
fn across(direction: StreamDirection) -> StreamDirection {
    match direction {
        StreamDirection::In => StreamDirection::Out,
        StreamDirection::Out => StreamDirection::In,
    }
}

impl StreamControl<'_> {
    /// The interface for a port that is to be connected: the one that it has, or a free one.
    pub(in crate::kernels) fn interface_for(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
    ) -> Result<u8, Error> {
        let StreamHandle { slot, stream, .. } = handle;
        let connection = self.streams.find(client, handle)?;
        let (under_way, had) = (connection.unfinished.front().copied(), connection.interface);
        let name = self.stream_name(slot, stream);
        if let Some(range) = under_way {
            let moved = self.state_of(slot, stream)?.moved;
            let bytes = range.bytes;
            return Err(Error::Stream(StreamError::UnderWay { name, moved, bytes }));
        }
        let interfaces = self.slots.description().network_pairs;
        let open = &self.streams.open;
        let taken = |interface: &u8| {
            open.iter().any(|((_, other), connection)| {
                other.direction == stream.direction && connection.interface == Some(*interface)
            })
        };
        let free = had.or_else(|| (0..interfaces).find(|interface| !taken(interface)));
        free.ok_or(Error::Stream(StreamError::NoInterface { name, interfaces }))
    }

    /// Connects the port with an interface, and the interface with the peer. Returns the port whose source in the
    /// switch has changed.
    pub(in crate::kernels) fn plug_peer(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
        interface: u8,
        peer: PeerHandle,
    ) -> Result<(SlotId, StreamId), Error> {
        let StreamHandle { slot, stream, .. } = handle;
        let network = self.slots.description().network_slot();
        let direction = across(stream.direction);
        self.slots.card().need_network(interface)?.connect_peer(
            interface,
            direction,
            Box::new(peer),
        )?;
        let of_interface = StreamId {
            pair: interface,
            direction,
        };
        let (to, from) = match stream.direction {
            StreamDirection::In => ((slot, stream), (network, of_interface)),
            StreamDirection::Out => ((network, of_interface), (slot, stream)),
        };
        self.route(from, to)?;
        self.streams.find(client, handle)?.interface = Some(interface);
        Ok(to)
    }

    /// Returns the port to its mover.
    pub(crate) fn unplug(&mut self, slot: SlotId, stream: StreamId) -> Result<(), Error> {
        let connection = self.streams.open.get_mut(&(slot, stream));
        let Some(interface) = connection.and_then(|connection| connection.interface.take()) else {
            return Ok(());
        };
        let to = match stream.direction {
            StreamDirection::In => (slot, stream),
            StreamDirection::Out => {
                let port = StreamId {
                    pair: interface,
                    direction: StreamDirection::In,
                };
                (self.slots.description().network_slot(), port)
            }
        };
        self.part(to)
    }

    /// The unit that moves the bytes of a port: its mover, or an interface.
    pub(super) fn mover_of(
        &self,
        slot: SlotId,
        stream: StreamId,
    ) -> (SlotId, StreamId, Option<u8>) {
        let connection = self.streams.open.get(&(slot, stream));
        let Some(pair) = connection.and_then(|connection| connection.interface) else {
            return (slot, stream, None);
        };
        let direction = across(stream.direction);
        let network = self.slots.description().network_slot();
        (network, StreamId { pair, direction }, Some(pair))
    }

    /// The port whose transfer has ended. For an interface, none if that transfer belonged to a slot that has been
    /// reset; the transfer queued behind it begins then.
    pub(super) fn port_of_mover(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<Option<(SlotId, StreamId)>, Error> {
        if slot != self.slots.description().network_slot() {
            return Ok(Some((slot, stream)));
        }
        let ended = self
            .streams
            .on_network
            .remove(&(stream.pair, stream.direction));
        let direction = across(stream.direction);
        let mut open = self.streams.open.iter();
        let found = open.find(|((_, other), connection)| {
            other.direction == direction && connection.interface == Some(stream.pair)
        });
        let Some((place, connection)) = found else {
            return Ok(None);
        };
        let (place, next) = (*place, connection.unfinished.front().copied());
        match next {
            Some(range) if Some(range.number) != ended => {
                self.start_mover(place.0, place.1, range)?;
                Ok(None)
            }
            _ => Ok(Some(place)),
        }
    }

    /// Why the interface of a port has failed.
    pub(super) fn network_failure(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<String, Error> {
        let (_, stream, interface) = self.mover_of(slot, stream);
        let failure = match interface {
            Some(interface) => self
                .slots
                .card()
                .need_network(interface)?
                .network_failure(interface, stream.direction)?,
            None => None,
        };
        Ok(failure.unwrap_or_else(|| "it does not say why".to_owned()))
    }

    /// The current state of a port.
    pub(super) fn state_of(
        &mut self,
        slot: SlotId,
        stream: StreamId,
    ) -> Result<StreamState, Error> {
        let (slot, stream, _) = self.mover_of(slot, stream);
        Ok(self
            .slots
            .card()
            .need_streams()?
            .stream_state(slot, stream)?)
    }

    /// Ends the transfer that the interface still has for a port whose slot was reset.
    pub(super) fn stop_on_network(&mut self, slot: SlotId, stream: StreamId) {
        let (slot, stream, interface) = self.mover_of(slot, stream);
        let busy = interface.is_some_and(|interface| {
            self.streams
                .on_network
                .contains_key(&(interface, stream.direction))
        });
        if busy {
            let stopped = self.slots.card().need_streams();
            let stopped = stopped.and_then(|card| card.stop_transfer(slot, stream));
            if let Err(error) = stopped {
                tracing::error!(%error, "a transfer of a network interface does not end");
            }
        }
    }

    /// Closes the port.
    pub(super) fn remove_stream(&mut self, slot: SlotId, stream: StreamId) -> Result<(), Error> {
        let result = self.unplug(slot, stream);
        self.streams.open.remove(&(slot, stream));
        result
    }

    /// The same, where a failure cannot be reported.
    pub(super) fn forget_stream(&mut self, slot: SlotId, stream: StreamId) {
        if let Err(error) = self.remove_stream(slot, stream) {
            tracing::error!(%error, "a port does not leave its network interface");
        }
    }
}
