//! Connections of stream ports with each other: the card's switch.
//!
//! The switch makes a change once the packets under way have ended, so a request for a change waits for that. A
//! connection that is being removed still occupies its ports.

use super::{StreamControl, Streams};
use crate::handles::Handles;
use crate::message::ClientId;
use crate::message::{ConnectionId, ConnectionState, PortOf};
use card::kernel::Sideband;
use card::stream::StreamSource;
use error::Error;
use error::StreamError;
use units::{SlotId, StreamDirection, StreamId};

/// A stream port of a slot.
pub(crate) type Place = (SlotId, StreamId);

/// Two ports that are connected, or are being disconnected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Joint {
    client: ClientId,
    id: ConnectionId,
    pub(super) from: Place,
    pub(super) to: Place,
    /// It is being disconnected.
    left: bool,
}

impl Streams {
    fn joint(&mut self, client: ClientId, id: ConnectionId) -> Result<&mut Joint, Error> {
        let mut joints = self.joints.iter_mut();
        joints
            .find(|joint| joint.id == id && joint.client == client)
            .ok_or(Error::Stream(StreamError::NotConnected))
    }
}

impl StreamControl<'_> {
    /// Begins to disconnect a client's connection; returns its ports.
    pub(crate) fn begin_to_part(
        &mut self,
        client: ClientId,
        id: ConnectionId,
    ) -> Result<(Place, Place), Error> {
        let joint = self.streams.joint(client, id)?;
        joint.left = true;
        let joint = *joint;
        self.part(joint.to).map(|()| (joint.from, joint.to))
    }

    /// The port that a connection uses at one end.
    pub(crate) fn place_of_end(
        &mut self,
        handles: &Handles,
        client: ClientId,
        end: &PortOf,
        direction: StreamDirection,
    ) -> Result<Place, Error> {
        let slot = handles.slot(client, end.load)?;
        let place = self.stream_place(slot, &end.port)?;
        if place.1.direction != direction {
            let name = self.stream_name(place.0, place.1);
            let has = place.1.direction;
            return Err(Error::Stream(StreamError::WrongEnd { name, has }));
        }
        Ok(place)
    }

    /// Checks that a port is not in use.
    pub(crate) fn check_free(&mut self, place: Place) -> Result<(), Error> {
        self.forget_joints_apart()?;
        let joined = |joint: &Joint| joint.from == place || joint.to == place;
        let taken = self.streams.joints.iter().any(joined);
        if taken || self.streams.is_open(place) {
            let name = self.stream_name(place.0, place.1);
            return Err(Error::Stream(StreamError::Taken { name }));
        }
        Ok(())
    }

    /// Drops connections that were given up and whose ports are disconnected.
    pub(crate) fn forget_joints_apart(&mut self) -> Result<(), Error> {
        for joint in self.streams.joints.clone() {
            let (slot, stream) = joint.to;
            if joint.left
                && !self
                    .slots
                    .card()
                    .need_streams()?
                    .switch_state(slot, stream.pair)?
                    .pending
            {
                self.forget_joint(joint.id)?;
            }
        }
        Ok(())
    }

    /// Drops a connection whose ports are disconnected, or never were connected; each kernel whose memory port
    /// carries its end is informed.
    pub(crate) fn forget_joint(&mut self, id: ConnectionId) -> Result<(), Error> {
        let mut joints = self.streams.joints.iter();
        let Some(at) = joints.position(|joint| joint.id == id) else {
            return Ok(());
        };
        let joint = self.streams.joints.remove(at);
        for (slot, stream) in [joint.from, joint.to] {
            self.tell_carried(slot, stream, true)?;
        }
        Ok(())
    }

    /// Checks that TID and TDEST of what a port sends arrive whole at `to`, or at the host (`None`), where none do,
    /// unless the manifest permits their loss (`drops`).
    pub(crate) fn check_ids(&mut self, from: Place, to: Option<Place>) -> Result<(), Error> {
        let card = self.slots.description();
        let carried = [card.tid_width, card.tdest_width];
        for (signal, carried) in [Sideband::Tid, Sideband::Tdest].into_iter().zip(carried) {
            let Some((width, drops)) = self.id_of(from, signal) else {
                continue;
            };
            let taken = to.map_or(0, |to| self.id_of(to, signal).map_or(0, |(width, _)| width));
            let lost = taken == 0 || carried == 0;
            if width == 0 || (lost && drops) || (taken >= width && carried >= width) {
                continue;
            }
            let name = signal.to_string().to_ascii_uppercase();
            let key = format!("{signal}_width");
            let reason = match (to, taken) {
                (None, _) => format!(
                    "the host receives bytes and packets only; connect a kernel's port with {key} = {width}, or add \
                     \"{signal}\" to `drops` of the sender's port if it may be lost"
                ),
                (Some(_), 0) => format!(
                    "the receiver has none; give its port {key} = {width}, or add \"{signal}\" to `drops` of the \
                     sender's port if it may be lost"
                ),
                (Some(_), taken) if taken < width => format!(
                    "the receiver has {taken} bits; give its port {key} = {width}"
                ),
                _ => format!(
                    "the card carries {carried} bits; open a simulated card whose shell has {key} = {width}"
                ),
            };
            return Err(Error::Stream(StreamError::Ids {
                from: self.stream_name(from.0, from.1),
                to: to.map_or_else(
                    || "the host".to_owned(),
                    |(slot, stream)| self.stream_name(slot, stream).to_string(),
                ),
                lost: format!("{name} of {width} bits would be lost: {reason}"),
            }));
        }
        Ok(())
    }

    /// Width of TID or TDEST of a port in bits, and whether it may be lost.
    fn id_of(&self, (slot, stream): Place, signal: Sideband) -> Option<(u8, bool)> {
        let port = self.slots.manifest(slot)?.stream_at(stream)?;
        Some((port.carried_width(signal), port.drops.contains(&signal)))
    }

    /// Routes what one port sends to another.
    pub(super) fn route(&mut self, from: Place, to: Place) -> Result<(), Error> {
        let source = StreamSource::Port {
            slot: from.0,
            pair: from.1.pair,
        };
        let streams = self.slots.card().need_streams()?;
        Ok(streams.connect_stream(to.0, to.1.pair, source)?)
    }

    /// Connects two ports whose slots are out of reset.
    pub(in crate::kernels) fn join(
        &mut self,
        client: ClientId,
        from: Place,
        to: Place,
    ) -> Result<ConnectionId, Error> {
        self.route(from, to)?;
        let id = ConnectionId(self.streams.take_serial());
        self.streams.joints.push(Joint {
            client,
            id,
            from,
            to,
            left: false,
        });
        for (slot, stream) in [from, to] {
            self.tell_carried(slot, stream, false)?;
        }
        Ok(id)
    }

    /// Returns an incoming port to its mover.
    pub(crate) fn part(&mut self, to: Place) -> Result<(), Error> {
        let mover = StreamSource::Mover;
        Ok(self
            .slots
            .card()
            .need_streams()?
            .connect_stream(to.0, to.1.pair, mover)?)
    }

    pub(crate) fn mid_packet(&self, from: Place, to: Place) -> StreamError {
        StreamError::MidPacket {
            from: self.stream_name(from.0, from.1),
            to: self.stream_name(to.0, to.1),
        }
    }

    pub(crate) fn inspect(
        &mut self,
        client: ClientId,
        id: ConnectionId,
    ) -> Result<ConnectionState, Error> {
        let (slot, stream) = self.streams.joint(client, id)?.to;
        let state = self
            .slots
            .card()
            .need_streams()?
            .switch_state(slot, stream.pair)?;
        Ok(ConnectionState {
            pending: state.pending,
            cut: state.broken,
            waits_for_receiver: state.valid && !state.ready,
        })
    }

    /// The slots reached from a slot through stream connections, including the slot itself.
    pub(in crate::kernels) fn joined_slots(&self, slot: SlotId) -> Vec<SlotId> {
        let mut slots = vec![slot];
        let mut next = 0;
        while let Some(here) = slots.get(next).copied() {
            next += 1;
            for joint in &self.streams.joints {
                for (one, other) in [(joint.from.0, joint.to.0), (joint.to.0, joint.from.0)] {
                    if one == here && !slots.contains(&other) {
                        slots.push(other);
                    }
                }
            }
        }
        slots
    }

    /// Disconnects all connections of a slot that has lost its kernel.
    pub(super) fn joints_gone(&mut self, slot: SlotId) {
        let of_slot = |joint: &Joint| joint.from.0 == slot || joint.to.0 == slot;
        let gone: Vec<Joint> = self
            .streams
            .joints
            .iter()
            .copied()
            .filter(of_slot)
            .collect();
        self.streams.joints.retain(|joint| !of_slot(joint));
        for joint in gone {
            if let Err(error) = self.part(joint.to) {
                tracing::error!(%error, "a connection does not come apart");
            }
            for (other, stream) in [joint.from, joint.to] {
                if other == slot {
                    continue;
                }
                if let Err(error) = self.tell_carried(other, stream, true) {
                    tracing::error!(%error, "a kernel cannot see that a stream is closed");
                }
            }
        }
    }
}
