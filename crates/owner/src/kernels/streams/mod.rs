//! Streams: which ports are open, and their transfers.
//!
//! A mover has one transfer at a time; later ones are queued here.

mod connections;
mod network;
mod waits;

use super::slots::SlotControl;
use crate::handles::Handles;
use crate::message::ClientId;
use crate::message::{
    BeginPeerTransfer, BeginTransfer, ByteRange, CloseStream, Moved, PacketPart, PacketsMissing,
    SettleStream, StreamHandle, Taken,
};
use card::kernel::{Manifest, StreamPort, STREAMS_CLOSED};
use card::stream::{Transfer, TransferEnd, TransferStatus};
use card::CheckedDescription;
use connections::Joint;
pub(crate) use connections::Place;
use error::Error;
use error::{PortName, StreamError};
use std::collections::{BTreeMap, VecDeque};
use units::{FaultToken, Picoseconds, SlotId, StreamDirection, StreamId, StreamWaiting, VirtAddr};

/// The memory of a transfer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TransferRange {
    address: VirtAddr,
    bytes: u64,
    packet: PacketPart,
    /// Number of the transfer, once it has begun.
    number: u64,
}

/// Result of a transfer that would have continued a packet that had ended.
const NOT_BEGUN: Moved = Moved {
    bytes: 0,
    last: false,
};

/// An open stream port.
#[derive(Debug)]
struct Connection {
    client: ClientId,
    serial: u64,
    /// Unfinished transfers, in order. The first is under way.
    unfinished: VecDeque<TransferRange>,
    /// Results of finished transfers that are not collected yet.
    over: VecDeque<Result<Moved, StreamError>>,
    /// Total moved by all its transfers.
    moved: Taken,
    /// The last transfer ended with a packet.
    packet_over: bool,
    /// The client has gone; the port becomes free when nothing is unfinished.
    left: bool,
    /// The unfinished transfers were requested to stop.
    stopped: bool,
    /// The network interface that the port is connected to.
    interface: Option<u8>,
}

const NOTHING_TAKEN: Taken = Taken {
    packets: 0,
    bytes: 0,
    full: false,
};

/// The open ports of all slots.
#[derive(Debug, Default)]
pub(super) struct Streams {
    open: BTreeMap<(SlotId, StreamId), Connection>,
    /// Ports that are connected with each other.
    joints: Vec<Joint>,
    opened: u64,
    /// Ports whose client took everything that the kernel should have sent, with that amount: more is an error.
    settled: BTreeMap<(SlotId, StreamId), Taken>,
    /// The transfer that each network interface has, by its number.
    on_network: BTreeMap<(u8, StreamDirection), u64>,
}

impl Streams {
    pub(super) fn take_serial(&mut self) -> u64 {
        self.opened += 1;
        self.opened
    }

    pub(super) fn is_open(&self, place: (SlotId, StreamId)) -> bool {
        self.open.contains_key(&place)
    }

    fn find(&mut self, client: ClientId, handle: StreamHandle) -> Result<&mut Connection, Error> {
        let place = (handle.slot, handle.stream);
        let connection = self.open.get_mut(&place);
        connection
            .filter(|connection| connection.serial == handle.serial && connection.client == client)
            .ok_or(Error::Stream(StreamError::NotOpen { slot: handle.slot }))
    }
}

/// The streams, with the card and the slots that they belong to.
pub(crate) struct StreamControl<'a> {
    streams: &'a mut Streams,
    slots: &'a mut SlotControl,
}

/// State of a stream.
pub(crate) enum StreamLook {
    Moved(Moved),
    /// The transfer was ended, or its kernel has failed; the kernel's failure is the more specific error.
    Failed(Option<StreamError>),
    SliceOver,
}

impl<'a> StreamControl<'a> {
    pub(super) fn new(streams: &'a mut Streams, slots: &'a mut SlotControl) -> Self {
        Self { streams, slots }
    }
}

impl StreamControl<'_> {
    /// Checks that a client has this port open.
    pub(in crate::kernels) fn check_open(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
    ) -> Result<(), Error> {
        self.streams.find(client, handle).map(drop)
    }

    /// Whether a port is being closed: its client has gone, and its transfers were stopped.
    pub(crate) fn is_leaving(&self, place: Place) -> bool {
        let open = self.streams.open.get(&place);
        open.is_some_and(|connection| connection.left && connection.stopped)
    }

    /// Records that the client takes no more from a port out of a kernel: bytes that wait there are an error from now
    /// on.
    pub(crate) fn settle_stream(
        &mut self,
        client: ClientId,
        request: SettleStream,
    ) -> Result<(), Error> {
        let SettleStream { stream, taken } = request;
        self.streams.find(client, stream)?;
        let place = (stream.slot, stream.stream);
        self.check_settled(place, taken)?;
        self.streams.settled.insert(place, taken);
        Ok(())
    }

    /// The error for packets that the client expected and that did not come.
    pub(crate) fn packets_missing(
        &mut self,
        client: ClientId,
        request: PacketsMissing,
    ) -> Result<(), Error> {
        let PacketsMissing {
            stream,
            wanted,
            taken,
        } = request;
        self.streams.find(client, stream)?;
        Err(Error::Stream(StreamError::TooFew {
            name: self.stream_name(stream.slot, stream.stream),
            wanted,
            packets: taken.packets,
            bytes: taken.bytes,
        }))
    }

    /// The stream port of a kernel with this name.
    pub(crate) fn stream_place(
        &mut self,
        slot: SlotId,
        port: &str,
    ) -> Result<(SlotId, StreamId), Error> {
        self.slots.loaded(slot)?;
        let manifest = self.slots.manifest(slot);
        let name = PortName {
            slot,
            kernel: manifest.map_or_else(String::new, |manifest| manifest.name.clone()),
            port: port.to_owned(),
        };
        let Some((_, stream)) = manifest.and_then(|manifest| manifest.stream(port)) else {
            let known = manifest.map_or_else(|| "none".to_owned(), streams_of);
            return Err(Error::Stream(StreamError::NoSuchPort { name, known }));
        };
        self.slots.description().check_stream(slot, stream)?;
        Ok((slot, stream))
    }

    pub(crate) fn open_stream(
        &mut self,
        client: ClientId,
        slot: SlotId,
        port: &str,
    ) -> Result<StreamHandle, Error> {
        let (slot, stream) = self.stream_place(slot, port)?;
        self.check_free((slot, stream))?;
        if stream.direction == StreamDirection::Out {
            self.check_ids((slot, stream), None)?;
        }
        let serial = self.streams.take_serial();
        let connection = Connection {
            client,
            serial,
            unfinished: VecDeque::new(),
            over: VecDeque::new(),
            moved: NOTHING_TAKEN,
            packet_over: false,
            left: false,
            stopped: false,
            interface: None,
        };
        self.streams.open.insert((slot, stream), connection);
        self.streams.settled.remove(&(slot, stream));
        self.tell_carried(slot, stream, false)?;
        Ok(StreamHandle {
            slot,
            stream,
            serial,
        })
    }

    /// The memory of a transfer; an error if the transfer may not begin.
    pub(crate) fn range_of_transfer(
        &mut self,
        handles: &Handles,
        client: ClientId,
        request: &BeginTransfer,
    ) -> Result<TransferRange, Error> {
        let BeginTransfer {
            stream: handle,
            direction,
            mapping,
            range: part,
            packet,
        } = *request;
        let ByteRange { offset, bytes } = part;
        let slot = handle.slot;
        self.streams.find(client, handle)?;
        let name = self.stream_name(slot, handle.stream);
        if handle.stream.direction != direction {
            let has = handle.stream.direction;
            return Err(Error::Stream(StreamError::WrongDirection { name, has }));
        }
        let mapping = handles.mapping(client, mapping)?;
        if self.slots.loaded(slot)?.space() != mapping.asid {
            return Err(Error::Stream(StreamError::OtherSpace { name }));
        }
        let mapped = mapping.bytes;
        let address = VirtAddr::new(mapping.address.get().saturating_add(offset));
        let Some(address) = address.filter(|_| part.is_within(mapped)) else {
            return Err(Error::Stream(StreamError::OutOfMapping {
                bytes,
                offset,
                mapped,
            }));
        };
        if self.streams.find(client, handle)?.interface.is_some() {
            let plugged = true;
            return Err(Error::Stream(StreamError::NoPeer { name, plugged }));
        }
        Ok(TransferRange {
            address,
            bytes,
            packet,
            number: 0,
        })
    }

    /// The peer's memory of a transfer.
    pub(crate) fn range_of_peer(
        &mut self,
        client: ClientId,
        request: &BeginPeerTransfer,
    ) -> Result<TransferRange, Error> {
        let BeginPeerTransfer {
            stream: handle,
            direction,
            range: part,
        } = *request;
        let ByteRange { offset, bytes } = part;
        let plugged = self.streams.find(client, handle)?.interface.is_some();
        let name = self.stream_name(handle.slot, handle.stream);
        let has = handle.stream.direction;
        if has != direction {
            return Err(Error::Stream(StreamError::WrongDirection { name, has }));
        }
        if !plugged {
            return Err(Error::Stream(StreamError::NoPeer { name, plugged }));
        }
        let mapped = 1 << VirtAddr::BITS;
        match VirtAddr::new(offset).filter(|_| part.is_within(mapped)) {
            Some(address) => Ok(TransferRange {
                address,
                bytes,
                packet: PacketPart::Whole,
                number: 0,
            }),
            None => Err(Error::Stream(StreamError::OutOfMapping {
                bytes,
                offset,
                mapped,
            })),
        }
    }

    /// Begins a transfer of a port whose slot is out of reset.
    pub(in crate::kernels) fn begin_transfer(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
        range: TransferRange,
    ) -> Result<(), Error> {
        let slot = handle.slot;
        self.streams.find(client, handle)?;
        let number = self.streams.take_serial();
        let range = TransferRange { number, ..range };
        let connection = self.streams.find(client, handle)?;
        let goes_on =
            range.packet == PacketPart::More && handle.stream.direction == StreamDirection::Out;
        if goes_on && connection.packet_over && connection.unfinished.is_empty() {
            connection.over.push_back(Ok(NOT_BEGUN));
            return Ok(());
        }
        connection.stopped = false;
        connection.unfinished.push_back(range);
        if connection.unfinished.len() == 1 {
            self.start_mover(slot, handle.stream, range)?;
        }
        Ok(())
    }

    pub(super) fn start_mover(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        range: TransferRange,
    ) -> Result<(), Error> {
        let transfer = Transfer {
            address: range.address,
            bytes: range.bytes,
            last: range.packet == PacketPart::Whole,
        };
        let (slot, stream, interface) = self.mover_of(slot, stream);
        if let Some(interface) = interface {
            let of_interface = (interface, stream.direction);
            if self.streams.on_network.contains_key(&of_interface) {
                // A transfer whose slot was reset; its end begins this one.
                return Ok(());
            }
            self.streams.on_network.insert(of_interface, range.number);
        }
        Ok(self
            .slots
            .card()
            .need_streams()?
            .start_transfer(slot, stream, transfer)?)
    }

    /// Handles the end of a transfer, as the card reports it.
    pub(crate) fn transfer_done(&mut self, mover: u8, end: TransferEnd) -> Result<(), Error> {
        let (slot, stream) = StreamId::of_mover(mover, self.slots.description());
        let Some((slot, stream)) = self.port_of_mover(slot, stream)? else {
            return Ok(());
        };
        let why = match end.status {
            TransferStatus::NetworkFailed => self.network_failure(slot, stream)?,
            _ => String::new(),
        };
        let name = self.stream_name(slot, stream);
        let Some(connection) = self.streams.open.get_mut(&(slot, stream)) else {
            return Ok(());
        };
        // A transfer that was in flight when the slot was put in reset.
        let Some(range) = connection.unfinished.pop_front() else {
            return Ok(());
        };
        let moved = end.bytes;
        let bytes = range.bytes;
        connection.over.push_back(match end.status {
            TransferStatus::Ok => Ok(Moved {
                bytes: moved,
                last: end.last,
            }),
            TransferStatus::AccessFailed => Err(StreamError::AccessFailed { name, moved, bytes }),
            TransferStatus::MalformedBeat => Err(StreamError::MalformedBeat { name, moved }),
            TransferStatus::NetworkFailed => Err(StreamError::Network {
                name,
                moved,
                bytes,
                why,
            }),
        });
        connection.moved.bytes += moved;
        connection.moved.packets += u64::from(end.last);
        connection.packet_over = end.last;
        if connection.stopped {
            for _ in connection.unfinished.drain(..) {
                connection.over.push_back(Ok(NOT_BEGUN));
            }
        }
        if end.last && stream.direction == StreamDirection::Out {
            while let Some(PacketPart::More) = connection.unfinished.front().map(|next| next.packet)
            {
                connection.unfinished.pop_front();
                connection.over.push_back(Ok(NOT_BEGUN));
            }
        }
        match connection.unfinished.front().copied() {
            Some(next) => self.start_mover(slot, stream, next)?,
            None if connection.left => {
                self.remove_stream(slot, stream)?;
                self.tell_carried(slot, stream, true)?;
            }
            None => {}
        }
        Ok(())
    }

    /// State of a stream; `None` while its oldest transfer is under way.
    pub(crate) fn look_at_stream(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
        until: Picoseconds,
    ) -> Result<Option<StreamLook>, Error> {
        let connection = self.streams.find(client, handle)?;
        if let Some(moved) = connection.over.front().and_then(|over| over.as_ref().ok()) {
            let moved = *moved;
            connection.over.pop_front();
            return Ok(Some(StreamLook::Moved(moved)));
        }
        let idle = connection.unfinished.is_empty();
        if let Some(Err(error)) = connection.over.pop_front() {
            return Ok(Some(StreamLook::Failed(Some(error))));
        }
        if self.slots.has_failed(handle.slot)? {
            return Ok(Some(StreamLook::Failed(None)));
        }
        if idle {
            let name = self.stream_name(handle.slot, handle.stream);
            return Err(Error::Stream(StreamError::NothingUnderWay { name }));
        }
        Ok((self.slots.now() >= until).then_some(StreamLook::SliceOver))
    }

    /// The waits of a slot, as the end of a sentence.
    pub(in crate::kernels) fn waits_of(
        &mut self,
        faults: &[FaultToken],
        slot: SlotId,
    ) -> Result<String, Error> {
        waits::of_slot(self, faults, slot)
    }

    /// Why a transfer missed its deadline; `None` if it is complete.
    pub(crate) fn stuck_stream(
        &mut self,
        faults: &[FaultToken],
        client: ClientId,
        handle: StreamHandle,
        elapsed: Picoseconds,
    ) -> Result<Option<StreamError>, Error> {
        let slot = handle.slot;
        let connection = self.streams.find(client, handle)?;
        let Some(range) = connection.unfinished.front().copied() else {
            return Ok(None);
        };
        let state = self.state_of(slot, handle.stream)?;
        let waiting = self.waits_of(faults, slot)?;
        Ok(Some(StreamError::Stuck {
            name: self.stream_name(slot, handle.stream),
            elapsed,
            moved: state.moved,
            bytes: range.bytes,
            waiting,
        }))
    }

    pub(crate) fn stop_stream(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
    ) -> Result<(), Error> {
        let connection = self.streams.find(client, handle)?;
        let StreamHandle { slot, stream, .. } = handle;
        if stream.direction == StreamDirection::In {
            let (name, has) = (self.stream_name(slot, stream), stream.direction);
            return Err(Error::Stream(StreamError::WrongDirection { name, has }));
        }
        if !connection.unfinished.is_empty() {
            // The card may have ended it just now; nothing is under way there then, as only this side begins the next.
            connection.stopped = true;
            let (slot, stream, _) = self.mover_of(slot, stream);
            self.slots
                .card()
                .need_streams()?
                .stop_transfer(slot, stream)?;
        }
        Ok(())
    }

    pub(crate) fn close_stream(
        &mut self,
        client: ClientId,
        request: CloseStream,
    ) -> Result<(), Error> {
        let CloseStream {
            stream: handle,
            later,
        } = request;
        let connection = self.streams.find(client, handle)?;
        match connection.unfinished.front().copied() {
            Some(_) if later => connection.left = true,
            Some(range) => {
                let state = self.state_of(handle.slot, handle.stream)?;
                return Err(Error::Stream(StreamError::UnderWay {
                    name: self.stream_name(handle.slot, handle.stream),
                    moved: state.moved,
                    bytes: range.bytes,
                }));
            }
            None => {
                let taken = connection.moved;
                let done = match later || handle.stream.direction == StreamDirection::In {
                    true => Ok(()),
                    false => self.check_closed((handle.slot, handle.stream), taken),
                };
                self.remove_stream(handle.slot, handle.stream)?;
                self.tell_carried(handle.slot, handle.stream, true)?;
                return done;
            }
        }
        Ok(())
    }

    /// Checks a port out of a kernel that its program closes: the program takes no more from it, so bytes that wait
    /// there are an error, and so are those that have come when the slot is emptied.
    fn check_closed(&mut self, place: (SlotId, StreamId), taken: Taken) -> Result<(), Error> {
        let (slot, stream) = place;
        let waiting = self.waiting_at(slot, stream)?;
        if !waiting.is_any() {
            self.streams.settled.insert(place, taken);
            return Ok(());
        }
        Err(Error::Stream(StreamError::Unread {
            name: self.stream_name(slot, stream),
            packets: taken.packets,
            bytes: taken.bytes,
            left: left(waiting),
        }))
    }

    /// Informs the slot whether the host has closed its end of a stream carried by a memory port, so that the kernel
    /// can see it.
    pub(super) fn tell_carried(
        &mut self,
        slot: SlotId,
        stream: StreamId,
        closed: bool,
    ) -> Result<(), Error> {
        let port = self
            .slots
            .manifest(slot)
            .and_then(|manifest| manifest.stream_at(stream));
        let Some(bit) = port.and_then(StreamPort::register_bit) else {
            return Ok(());
        };
        let before = self.slots.loaded(slot)?.arguments.get(&STREAMS_CLOSED);
        let before = before.copied().unwrap_or_default();
        let word = match closed {
            true => before | bit,
            false => before & !bit,
        };
        // As an argument: it is written again when the slot leaves reset.
        self.slots.set_argument(slot, STREAMS_CLOSED, &[word])
    }

    /// The data waiting at an open port.
    pub(crate) fn inspect_stream(
        &mut self,
        client: ClientId,
        handle: StreamHandle,
    ) -> Result<StreamWaiting, Error> {
        self.streams.find(client, handle)?;
        self.waiting_at(handle.slot, handle.stream)
    }

    /// Bytes that a kernel has sent out of a port and that were not taken: at its slot, and before its network
    /// interface.
    fn waiting_at(&mut self, slot: SlotId, stream: StreamId) -> Result<StreamWaiting, Error> {
        let mut waiting = self
            .slots
            .card()
            .need_streams()?
            .stream_waiting(slot, stream)?;
        if let (network, stream, Some(_)) = self.mover_of(slot, stream) {
            waiting.beat |= self
                .slots
                .card()
                .need_streams()?
                .stream_waiting(network, stream)?
                .beat;
        }
        Ok(waiting)
    }

    /// An error if more waits at a port than was taken from it.
    fn check_settled(&mut self, place: (SlotId, StreamId), taken: Taken) -> Result<(), Error> {
        let (slot, stream) = place;
        let waiting = self.waiting_at(slot, stream)?;
        if !waiting.is_any() {
            return Ok(());
        }
        Err(Error::Stream(StreamError::Untaken {
            name: self.stream_name(slot, stream),
            packets: taken.packets,
            bytes: taken.bytes,
            left: left(waiting),
            full: taken.full,
        }))
    }

    /// The error for bytes that are lost with the kernel of a slot. Bytes at a port that its client has not closed are
    /// only logged: a program that begins each transfer knows which bytes it has not requested.
    pub(crate) fn unsettled(&mut self, slot: SlotId) -> Option<Error> {
        let streams = self.untaken(slot);
        let mut first = None;
        for stream in streams {
            let place = (slot, stream);
            let taken = self.streams.settled.get(&place).copied();
            let Err(error) = self.check_settled(place, taken.unwrap_or(NOTHING_TAKEN)) else {
                continue;
            };
            // It is reported once.
            self.streams.settled.remove(&place);
            match taken {
                Some(_) if first.is_none() => first = Some(error),
                _ => {
                    let port = self.stream_name(slot, stream);
                    tracing::warn!(%port, "what the kernel has sent there is lost with it, as no transfer took it");
                }
            }
        }
        first
    }

    /// Ends the transfers of a slot that is in reset.
    pub(in crate::kernels) fn reset(&mut self, slot: SlotId) {
        self.streams.settled.retain(|(of, _), _| *of != slot);
        let names: BTreeMap<StreamId, PortName> = self
            .streams
            .open
            .keys()
            .filter(|(place, _)| *place == slot)
            .map(|(_, stream)| (*stream, self.stream_name(slot, *stream)))
            .collect();
        for (stream, name) in names {
            let Some(connection) = self.streams.open.get_mut(&(slot, stream)) else {
                continue;
            };
            for range in connection.unfinished.drain(..) {
                let (name, bytes) = (name.clone(), range.bytes);
                connection
                    .over
                    .push_back(Err(StreamError::Reset { name, bytes }));
            }
            let left = connection.left;
            if connection.interface.is_some() {
                self.stop_on_network(slot, stream);
            }
            if left {
                self.forget_stream(slot, stream);
                if let Err(error) = self.tell_carried(slot, stream, true) {
                    tracing::error!(%error, "a kernel cannot see that a stream is closed");
                }
            }
        }
    }

    /// Removes the ports of a slot that has no kernel any more.
    pub(in crate::kernels) fn leave(&mut self, slot: SlotId) {
        let of_slot = self.streams.open.keys().copied();
        let gone: Vec<_> = of_slot.filter(|(place, _)| *place == slot).collect();
        for (slot, stream) in gone {
            self.stop_on_network(slot, stream);
            self.forget_stream(slot, stream);
        }
        self.joints_gone(slot);
    }

    /// The ports out of a kernel that are not read.
    pub(super) fn untaken(&self, slot: SlotId) -> Vec<StreamId> {
        let streams = self
            .slots
            .manifest(slot)
            .map(|manifest| &manifest.streams[..]);
        let is_out = |port: &&StreamPort| port.direction == StreamDirection::Out;
        let outputs = streams.unwrap_or_default().iter().filter(is_out).count();
        let is_free = |stream: &StreamId| {
            let place = (slot, *stream);
            let open = self.streams.open.get(&place);
            open.is_none_or(|connection| connection.unfinished.is_empty())
                && self.streams.joints.iter().all(|joint| joint.from != place)
        };
        let direction = StreamDirection::Out;
        let all = (0..outputs as u8).map(|pair| StreamId { pair, direction });
        all.filter(is_free).collect()
    }

    pub(crate) fn stream_name(&self, slot: SlotId, stream: StreamId) -> PortName {
        let manifest = self.slots.manifest(slot);
        let port = manifest.and_then(|manifest| manifest.stream_at(stream));
        PortName {
            slot,
            kernel: manifest.map_or_else(String::new, |manifest| manifest.name.clone()),
            port: port.map_or_else(|| stream.to_string(), |port| port.name.clone()),
        }
    }
}

/// The bytes that wait at a port, as a part of a sentence.
fn left(waiting: StreamWaiting) -> String {
    match waiting.held {
        0 => "a beat of the kernel waits".to_owned(),
        held if waiting.beat => {
            format!("a beat of the kernel waits, and {held} bytes behind it")
        }
        held if waiting.endless => format!("{held} bytes of the kernel wait"),
        held => format!("{held} bytes of the kernel wait for the TLAST that ends them"),
    }
}

fn streams_of(manifest: &Manifest) -> String {
    let one =
        |port: &card::kernel::StreamPort| format!("`{}` ({})", port.name, port.direction.as_str());
    match manifest.streams.is_empty() {
        true => "none".to_owned(),
        false => {
            let all: Vec<String> = manifest.streams.iter().map(one).collect();
            all.join(", ")
        }
    }
}
