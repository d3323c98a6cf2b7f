//! Flows: connections between kernel ports and devices, and the loop that keeps bytes moving between them.
//!
//! A [`Flow`] moves bytes between the ports of kernels and devices through buffers in shared memory, two per port: the
//! card works on one while the host fills or empties the other.
//!
//! ```no_run
//! use std::ffi::OsStr;
//! use tombolo::{Continue, Device, Flow};
//! # fn main() -> Result<(), tombolo::Error> {
//! # let card = tombolo::Card::functional(tombolo::FunctionalCard::new(Default::default()))?;
//! let space = card.create_space()?;
//! let slot = card.load(tombolo::SlotId(0), "kernels/loopback", &space)?;
//! let mut flow = Flow::new(&space);
//! flow.plug(&slot, "in", Device::parse(OsStr::new("tcp-listen:7000:timeout=5s"))?)?;
//! flow.plug(&slot, "out", Device::parse(OsStr::new("-"))?)?;
//! for flowed in flow.run(None, |_| Continue::Yes)? {
//!     println!("{}: {} bytes", flowed.port, flowed.bytes);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! **Ends.** The input of a device is one packet: the end of input is the end of the packet (TLAST). A packet out of a
//! kernel ends the stream to a device. With `:live`, each piece that arrives is a packet of its own, and packets are
//! passed on until all inputs have ended and the card is idle.
//!
//! More packets than the connection takes are an error that names the port, since they would be lost; [`Packets`] sets
//! the number wanted. A port without TLAST ends no packet: its packet is complete when all inputs have ended and the
//! card is idle.
//!
//! **Time.** The same bytes take the same virtual time, however they arrive: all buffers but the last are full, and
//! virtual time stands still while a device keeps the host waiting. With `:live` this does not hold, since pieces are
//! as large as the arriving chunks.
//!
//! **Back-pressure.** If a kernel stalls its input, the two buffers fill, then the pipe, and its writer blocks; a
//! reader that stalls keeps the kernel from sending. No byte is read that has no buffer.

mod across;
mod pipe;

use crate::device::end::Socket;
use crate::device::name::PAGE;
use crate::device::{Device, DeviceError, Packets};
use crate::range::MappedRange;
use crate::shared::SharedMemory;
use crate::slot::{Continue, Slot};
use crate::space::AddressSpace;
use crate::stream::Stream;
use across::PeerRange;
use error::Error;
#[cfg(doc)]
use error::StreamError;
use owner::message::{
    Describe, InspectStream, Moved, PacketPart, PacketsMissing, PollStreams, Progress,
    SettleStream, StreamHandle, Taken, TransfersState,
};
use pipe::{PipeCommand, PipeEvent, PipeThread};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::time::Duration;
use units::{PageSize, Picoseconds, StreamDirection, StreamWaiting};
use wire::StreamErrorKind;

/// Buffers in memory shared with the card, per port.
const BUFFERS: usize = 2;
/// Buffers of the program per port: one being filled, one full, one waiting behind it.
const SPARES: usize = 3;
/// Virtual time between two checks of the devices: short, since the simulated card needs much host time for it.
const SLICE: Picoseconds = Picoseconds::from_micros(10);
/// Interval at which a caller that waits for a device is asked whether to go on.
const POLL_INTERVAL: Duration = Duration::from_millis(40);

/// Kernel ports of an address space, each connected to a device or to memory. Ports are disconnected at the end of the
/// run or when this is dropped.
#[derive(Debug)]
pub struct Flow<'a> {
    space: &'a AddressSpace,
    ports: Vec<Port>,
    sockets: Vec<(OsString, Arc<Socket>)>,
    sender: Sender<(usize, PipeEvent)>,
    events: Receiver<(usize, PipeEvent)>,
    now: Progress,
}

/// Traffic of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flowed {
    /// The port's name.
    pub port: String,
    /// Bytes transferred.
    pub bytes: u64,
    /// Packets completed.
    pub packets: u64,
}

/// A port and its other end.
#[derive(Debug)]
struct Port {
    stream: Stream,
    direction: StreamDirection,
    plug: Plug,
    /// Out of a kernel: number of packets to take.
    wanted: Packets,
    /// The stream is carried by a memory port: its kernel sees the port close, so it is closed as soon as it is over.
    carried: bool,
    /// The port was closed; no further requests are made for it.
    closed: bool,
    /// Buffers of the outstanding transfers; one, if connected to memory.
    under_way: VecDeque<usize>,
    /// The next transfer begins a packet.
    fresh: bool,
    /// A packet is partly transferred.
    in_packet: bool,
    /// No further transfers are begun; the port is over when the outstanding ones are.
    stopped: bool,
    over: bool,
    /// Out of a kernel: the memory range is full.
    full: bool,
    flowed: Flowed,
}

#[derive(Debug)]
enum Plug {
    /// The rest of a range, including the transfer under way.
    Memory(Option<MappedRange>),
    /// The rest of a range of a peer's memory, and the peer's name.
    Peer(Option<PeerRange>, OsString),
    Device(Box<Plugged>),
}

/// A device connected to a port.
#[derive(Debug)]
struct Plugged {
    socket: Arc<Socket>,
    pipe: Option<PipeThread>,
    memory: SharedMemory,
    /// Free buffers of the card.
    free: VecDeque<usize>,
    /// Into a kernel: received buffers, and whether each ends a packet.
    arrived: VecDeque<(Vec<u8>, bool)>,
    /// Into a kernel: end of input. Out of a kernel: all bytes were written.
    ended: bool,
    /// Out of a kernel: empty buffers.
    spares: Vec<Vec<u8>>,
}

impl<'a> Flow<'a> {
    /// A flow without connections. Its buffers are allocated in `space`.
    pub fn new(space: &'a AddressSpace) -> Self {
        let (sender, events) = channel();
        let now = Progress {
            now: Picoseconds::ZERO,
            bytes_in: 0,
            bytes_out: 0,
            faults: 0,
        };
        Self {
            space,
            ports: Vec::new(),
            sockets: Vec::new(),
            sender,
            events,
            now,
        }
    }

    /// Connects a port to a device. A two-way connection can serve one input and one output port. Returns the local
    /// address if the device listens for TCP. Nothing is read or waited for before [`run`](Self::run).
    ///
    /// # Errors
    /// [`DeviceError`]; as [`Slot::open_stream`]; out of memory for buffers.
    pub fn plug(
        &mut self,
        slot: &Slot,
        port: &str,
        device: Device,
    ) -> Result<Option<SocketAddr>, Error> {
        let (stream, direction) = open(slot, port)?;
        let name = device.name();
        let carried = is_carried(slot, port);
        let wanted = device.wanted();
        if direction == StreamDirection::In && device.packets().is_some() {
            let rule = "packets= is for ports out of a kernel; leave it away";
            return Err(unfit(&device, rule).into());
        }
        if device.is_on_network() {
            let range = across::plug(&stream, direction, &device)?;
            self.push(
                stream,
                (direction, carried),
                port,
                (Plug::Peer(Some(range), name), wanted),
            );
            return Ok(None);
        }
        let known = self.sockets.iter().find(|(known, _)| *known == name);
        let taken = |port: &Port| match &port.plug {
            Plug::Device(plugged) => {
                port.direction == direction && plugged.socket.device.name() == name
            }
            Plug::Memory(_) | Plug::Peer(..) => false,
        };
        let twice = self.ports.iter().any(taken);
        let socket = match known {
            Some((_, socket)) if device.is_two_way() && !twice => {
                if socket.device.buffer != device.buffer || socket.device.live != device.live {
                    return Err(unfit(&device, "give it the same options at both ports").into());
                }
                socket.clone()
            }
            _ if twice && device.is_exclusive() => {
                return Err(unfit(&device, "another port is plugged into it already").into());
            }
            _ => Socket::prepare(device)?,
        };
        let address = socket.local_address();
        let buffer = socket.device.buffer;
        let page = page_size(self.space)?;
        let bytes = buffer as usize * BUFFERS;
        let memory = self.space.alloc_untrapped(bytes, page)?;
        self.sockets.push((name, socket.clone()));
        self.push(
            stream,
            (direction, carried),
            port,
            (
                Plug::Device(Box::new(Plugged {
                    socket,
                    pipe: None,
                    memory,
                    free: (0..BUFFERS).collect(),
                    arrived: VecDeque::new(),
                    ended: false,
                    spares: Vec::new(),
                })),
                wanted,
            ),
        );
        Ok(address)
    }

    /// Connects a port to memory, mapped or shared: the range is sent into the kernel as one packet, or takes one
    /// packet from it.
    ///
    /// # Errors
    /// As [`Slot::open_stream`].
    pub fn plug_memory(
        &mut self,
        slot: &Slot,
        port: &str,
        range: MappedRange,
    ) -> Result<(), Error> {
        self.plug_packets(slot, port, range, Packets::One)
    }

    /// As [`plug_memory`](Self::plug_memory), with the number of packets taken from a kernel; they are stored
    /// contiguously.
    ///
    /// # Errors
    /// As [`Slot::open_stream`].
    pub fn plug_packets(
        &mut self,
        slot: &Slot,
        port: &str,
        range: MappedRange,
        wanted: Packets,
    ) -> Result<(), Error> {
        let (stream, direction) = open(slot, port)?;
        if direction == StreamDirection::In && wanted != Packets::One {
            return Err(DeviceError::Unfit {
                device: format!("port {port}"),
                rule: "what goes into a kernel is one packet; packets are for ports out of it"
                    .to_owned(),
            }
            .into());
        }
        let carried = is_carried(slot, port);
        let plug = Plug::Memory(Some(range));
        self.push(stream, (direction, carried), port, (plug, wanted));
        Ok(())
    }

    fn push(
        &mut self,
        stream: Stream,
        (direction, carried): (StreamDirection, bool),
        port: &str,
        (plug, wanted): (Plug, Packets),
    ) {
        self.space.let_go(stream.handle());
        self.ports.push(Port {
            stream,
            direction,
            plug,
            wanted,
            carried,
            closed: false,
            under_way: VecDeque::new(),
            fresh: true,
            in_packet: false,
            stopped: false,
            over: false,
            full: false,
            flowed: Flowed {
                port: port.to_owned(),
                bytes: 0,
                packets: 0,
            },
        });
    }

    /// Moves bytes until every stream has ended, at most for `deadline` of virtual time. `progress` is called now and
    /// then, also while a device keeps the host waiting, and decides whether to go on.
    ///
    /// # Errors
    /// [`DeviceError`]; as [`Stream::wait`](crate::Stream::wait); [`StreamError::Untaken`]: a kernel has sent more than
    /// its port's connection takes. Bytes that kernels sent before may or may not have reached their device.
    pub fn run(
        mut self,
        deadline: Option<Picoseconds>,
        mut progress: impl FnMut(Progress) -> Continue,
    ) -> Result<Vec<Flowed>, Error> {
        self.start()?;
        let since = self.time()?;
        loop {
            while let Ok(event) = self.events.try_recv() {
                self.hear(event)?;
            }
            for number in 0..self.ports.len() {
                self.feed(number, &mut progress)?;
            }
            for number in 0..self.ports.len() {
                let port = &self.ports[number];
                if port.over && port.carried && !port.closed {
                    self.settle_port(port, number)?;
                    self.ports[number].stream.disconnect()?;
                    self.ports[number].closed = true;
                }
            }
            let waiting: Vec<usize> = (0..self.ports.len())
                .filter(|number| !self.ports[*number].under_way.is_empty())
                .collect();
            if self.ports.iter().all(|port| port.over) {
                return self.finish(&mut progress);
            }
            if waiting.is_empty() {
                self.listen(&mut progress)?;
                continue;
            }
            let streams: Vec<StreamHandle> = waiting
                .iter()
                .map(|number| self.ports[*number].stream.handle())
                .collect();
            let elapsed = self.now.now.max(since) - since;
            let slice = deadline.map_or(SLICE, |deadline| {
                SLICE.min(Picoseconds::new(
                    deadline.get().saturating_sub(elapsed.get()),
                ))
            });
            match self.space.link().call(PollStreams { streams, slice })? {
                TransfersState::Moved {
                    place,
                    moved,
                    progress: now,
                } => {
                    self.now = now;
                    self.moved(waiting[place], moved, &mut progress)?;
                }
                TransfersState::Moving(now) => {
                    self.now = now;
                    ask(&mut progress, now)?;
                }
                TransfersState::Quiet(now) => {
                    self.now = now;
                    ask(&mut progress, now)?;
                    let elapsed = now.now.max(since) - since;
                    self.quiet(elapsed, &mut progress)?;
                    continue;
                }
            }
            if deadline.is_some_and(|deadline| self.now.now - since >= deadline) {
                self.expire(&waiting, self.now.now - since)?;
            }
        }
    }

    /// Starts the threads, once everything is connected, so that nothing is read if a connection fails.
    fn start(&mut self) -> Result<(), Error> {
        for number in 0..self.ports.len() {
            let Plug::Device(plugged) = &self.ports[number].plug else {
                continue;
            };
            let direction = self.ports[number].direction;
            let users = self.ports.iter().filter(|port| match &port.plug {
                Plug::Device(other) => Arc::ptr_eq(&other.socket, &plugged.socket),
                Plug::Memory(_) | Plug::Peer(..) => false,
            });
            let alone = users.count() == 1;
            let events = (number, self.sender.clone());
            let pipe = PipeThread::start(plugged.socket.clone(), direction, alone, events);
            let device = &plugged.socket.device;
            let pipe = pipe.map_err(|source| DeviceError::Open {
                device: device.name().to_string_lossy().into_owned(),
                what: "starting a thread for it",
                source,
            })?;
            let Plug::Device(plugged) = &mut self.ports[number].plug else {
                continue;
            };
            for _ in 0..SPARES {
                match direction {
                    StreamDirection::In => pipe.send(PipeCommand::Buffer(Vec::new())),
                    StreamDirection::Out => plugged.spares.push(Vec::new()),
                }
            }
            plugged.pipe = Some(pipe);
        }
        Ok(())
    }

    fn time(&mut self) -> Result<Picoseconds, Error> {
        self.now.now = self.space.link().call(Describe)?.now;
        Ok(self.now.now)
    }

    /// Begins all transfers that are possible at a port.
    fn feed(
        &mut self,
        number: usize,
        progress: &mut impl FnMut(Progress) -> Continue,
    ) -> Result<(), Error> {
        loop {
            let port = &mut self.ports[number];
            if port.over || port.stopped {
                return Ok(());
            }
            let direction = port.direction;
            let plugged = match &mut port.plug {
                Plug::Memory(Some(range)) if port.under_way.is_empty() => {
                    port.stream
                        .begin(direction, range.clone(), PacketPart::Whole)?;
                    port.under_way.push_back(0);
                    return Ok(());
                }
                Plug::Peer(Some(range), _) if port.under_way.is_empty() => {
                    port.stream
                        .begin_peer(direction, range.offset, range.bytes)?;
                    port.under_way.push_back(0);
                    return Ok(());
                }
                Plug::Memory(_) | Plug::Peer(..) => return Ok(()),
                Plug::Device(plugged) => plugged,
            };
            let buffer = plugged.socket.device.buffer;
            let Some(index) = plugged.free.front().copied() else {
                return Ok(());
            };
            let at = index as u64 * buffer;
            match port.direction {
                StreamDirection::Out => {
                    let range = plugged.memory.part(at, buffer)?;
                    // Transfers that were cancelled because the previous packet ended return their buffers first.
                    if port.fresh && !port.under_way.is_empty() {
                        return Ok(());
                    }
                    let part = match std::mem::take(&mut port.fresh) {
                        true => PacketPart::Whole,
                        false => PacketPart::More,
                    };
                    port.stream.begin(direction, range, part)?;
                    plugged.free.pop_front();
                    port.under_way.push_back(index);
                }
                StreamDirection::In => {
                    let Some((bytes, last)) = plugged.arrived.pop_front() else {
                        if plugged.ended {
                            port.over = port.under_way.is_empty();
                            return Ok(());
                        }
                        if plugged.socket.device.live {
                            return Ok(());
                        }
                        // The order of operations does not depend on when the bytes arrive.
                        self.listen(progress)?;
                        continue;
                    };
                    fill(&plugged.memory, at, &bytes)?;
                    let range = plugged.memory.part(at, bytes.len() as u64)?;
                    let part = match last {
                        true => PacketPart::Whole,
                        false => PacketPart::More,
                    };
                    port.stream.begin(direction, range, part)?;
                    port.flowed.packets += u64::from(last);
                    plugged.free.pop_front();
                    port.under_way.push_back(index);
                    if let Some(pipe) = &plugged.pipe {
                        pipe.send(PipeCommand::Buffer(bytes));
                    }
                }
            }
        }
    }

    /// Handles the end of a port's oldest transfer.
    fn moved(
        &mut self,
        number: usize,
        moved: Moved,
        progress: &mut impl FnMut(Progress) -> Continue,
    ) -> Result<(), Error> {
        let port = &mut self.ports[number];
        let Some(index) = port.under_way.pop_front() else {
            return Ok(());
        };
        port.flowed.bytes += moved.bytes;
        let direction = port.direction;
        let Plug::Device(plugged) = &mut port.plug else {
            return self.moved_memory(number, moved);
        };
        plugged.free.push_back(index);
        if direction == StreamDirection::In {
            return Ok(());
        }
        if moved.bytes > 0 {
            while self.spares(number)?.is_empty() {
                self.listen(progress)?;
            }
            let port = &mut self.ports[number];
            if let Plug::Device(plugged) = &mut port.plug {
                let mut bytes = plugged.spares.pop().unwrap_or_default();
                let at = index as u64 * plugged.socket.device.buffer;
                empty(&plugged.memory, at, moved.bytes, &mut bytes)?;
                if let Some(pipe) = &plugged.pipe {
                    pipe.send(PipeCommand::Buffer(bytes));
                }
            }
        }
        let port = &mut self.ports[number];
        // A transfer that was cancelled because the packet had ended changes nothing.
        if moved.bytes > 0 || moved.last {
            port.fresh = moved.last;
            port.in_packet = !moved.last;
            port.flowed.packets += u64::from(moved.last);
            port.over |= moved.last && port.wanted.are(port.flowed.packets);
        }
        if port.over {
            port.under_way.clear();
        }
        port.over |= port.stopped && port.under_way.is_empty();
        Ok(())
    }

    /// The same for a port connected to memory, which may have room left.
    fn moved_memory(&mut self, number: usize, moved: Moved) -> Result<(), Error> {
        let port = &mut self.ports[number];
        port.flowed.packets += u64::from(moved.last);
        if moved.bytes > 0 || moved.last {
            port.in_packet = !moved.last;
        }
        let left = match &mut port.plug {
            Plug::Memory(range) => {
                *range = range.take().and_then(|range| range.behind(moved.bytes));
                range.is_some()
            }
            Plug::Peer(range, _) => {
                *range = range.take().and_then(|range| range.behind(moved.bytes));
                range.is_some()
            }
            Plug::Device(_) => false,
        };
        port.full = port.direction == StreamDirection::Out && !left;
        port.over = match port.direction {
            StreamDirection::In => true,
            StreamDirection::Out => {
                port.full || port.stopped || port.wanted.are(port.flowed.packets)
            }
        };
        let (out, wanted) = (port.direction == StreamDirection::Out, port.wanted);
        let name = match &port.plug {
            Plug::Peer(_, name) if out && !moved.last && wanted == Packets::One => name.clone(),
            _ => return Ok(()),
        };
        // An unfinished packet means that more follows, unless the port has no TLAST.
        if port.stopped || self.waiting(number)?.endless {
            return Ok(());
        }
        Err(DeviceError::Unfit {
            device: name.to_string_lossy().into_owned(),
            rule: format!(
                "the kernel's packet has more than its {} bytes",
                moved.bytes
            ),
        }
        .into())
    }

    /// Bytes that the kernel has sent out of a port and that were not taken.
    fn waiting(&self, number: usize) -> Result<StreamWaiting, Error> {
        let stream = self.ports[number].stream.handle();
        self.space.link().call(InspectStream { stream })
    }

    /// Returns an error if a kernel has sent more, or less, than its connections take.
    fn settle(&self) -> Result<(), Error> {
        let open = self.ports.iter().enumerate();
        for (number, port) in open.filter(|(_, port)| port.over && !port.closed) {
            self.settle_port(port, number)?;
        }
        Ok(())
    }

    /// The same for one port.
    fn settle_port(&self, port: &Port, number: usize) -> Result<(), Error> {
        if port.direction == StreamDirection::In {
            return Ok(());
        }
        let link = self.space.link();
        let stream = port.stream.handle();
        let Flowed { bytes, packets, .. } = port.flowed;
        let taken = Taken {
            packets,
            bytes,
            full: port.full,
        };
        if port.wanted.is_strict() {
            link.call(SettleStream { stream, taken })?;
        }
        match port.wanted {
            Packets::Count(wanted) if packets < wanted.get() && !self.waiting(number)?.endless => {
                link.call(PacketsMissing {
                    stream,
                    wanted: wanted.get(),
                    taken,
                })
            }
            _ => Ok(()),
        }
    }

    fn spares(&self, number: usize) -> Result<&[Vec<u8>], Error> {
        match &self.ports[number].plug {
            Plug::Device(plugged) => Ok(&plugged.spares),
            Plug::Memory(_) | Plug::Peer(..) => {
                Err(Error::Internal("memory has no spare buffers".to_owned()))
            }
        }
    }

    /// Handles an idle card: waits for input, ends the streams that are complete, or fails if none can proceed.
    fn quiet(
        &mut self,
        elapsed: Picoseconds,
        progress: &mut impl FnMut(Progress) -> Continue,
    ) -> Result<(), Error> {
        let may_come = self.ports.iter().any(|port| match &port.plug {
            Plug::Device(plugged) => {
                port.direction == StreamDirection::In && !plugged.ended && !plugged.free.is_empty()
            }
            Plug::Memory(_) | Plug::Peer(..) => false,
        });
        if may_come {
            return self.listen(progress);
        }
        // Excess bytes at a port are reported before a waiting port is blamed.
        self.settle()?;
        let under_way = |port: &Port| !port.under_way.is_empty();
        let in_over =
            |port: &Port| port.direction == StreamDirection::Out || port.over || !under_way(port);
        let all_in = self.ports.iter().all(in_over);
        for number in 0..self.ports.len() {
            let port = &self.ports[number];
            if port.over || !under_way(port) {
                continue;
            }
            let wanted = port.wanted;
            if port.direction == StreamDirection::In
                && self
                    .ports
                    .iter()
                    .any(|port| port.direction == StreamDirection::Out && !port.over)
            {
                // Outputs are reported first: a kernel that stalls its input is still named as the cause.
                continue;
            }
            let untouched = !port.in_packet;
            let out = port.direction == StreamDirection::Out && all_in;
            let waiting = self.waiting(number)?;
            // A packet without TLAST is complete with the bytes that have arrived.
            let anywhere = out && !waiting.is_any() && (waiting.endless || wanted == Packets::Any);
            let between = out && wanted == Packets::All && untouched && waiting.held == 0;
            let Err(error) = self.expire(&[number], elapsed.max(Picoseconds::new(1))) else {
                continue;
            };
            match error.stream_kind() {
                Some(StreamErrorKind::Stuck { moved }) if anywhere || (between && moved == 0) => {
                    // Everything is reported: transfers that wait for more end with the bytes that have arrived.
                    let port = &mut self.ports[number];
                    if !port.stopped {
                        port.stopped = true;
                        port.stream.stop()?;
                    }
                }
                _ => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns an error that names the cause of the first stuck transfer; none if it is over by now.
    fn expire(&mut self, waiting: &[usize], elapsed: Picoseconds) -> Result<(), Error> {
        let first_out = waiting
            .iter()
            .find(|number| self.ports[**number].direction == StreamDirection::Out);
        let Some(number) = first_out.or(waiting.first()).copied() else {
            return Ok(());
        };
        if self.ports[number].under_way.is_empty() {
            return Ok(());
        }
        self.settle()?;
        let moved = self.ports[number].stream.expire(elapsed)?;
        self.moved(number, moved, &mut |_| Continue::Yes)
    }

    /// Sends the remaining bytes to the devices, and then the end of the stream.
    fn finish(
        &mut self,
        progress: &mut impl FnMut(Progress) -> Continue,
    ) -> Result<Vec<Flowed>, Error> {
        self.settle()?;
        for port in &self.ports {
            if let (StreamDirection::Out, Plug::Device(plugged)) = (port.direction, &port.plug) {
                if let Some(pipe) = &plugged.pipe {
                    pipe.send(PipeCommand::Finish);
                }
            }
        }
        let open = |port: &Port| match &port.plug {
            Plug::Device(plugged) => port.direction == StreamDirection::Out && !plugged.ended,
            Plug::Memory(_) | Plug::Peer(..) => false,
        };
        while self.ports.iter().any(open) {
            self.listen(progress)?;
        }
        let flowed = self.ports.iter().map(|port| port.flowed.clone());
        Ok(flowed.collect())
    }

    /// Waits for an event of a device.
    fn listen(&mut self, progress: &mut impl FnMut(Progress) -> Continue) -> Result<(), Error> {
        loop {
            match self.events.recv_timeout(POLL_INTERVAL) {
                Ok(event) => return self.hear(event),
                Err(RecvTimeoutError::Timeout) => {
                    ask(progress, self.now)?;
                    if self.space.link().is_to_end() {
                        return Err(Error::Interrupted);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Internal("no device is left to wait for".to_owned()));
                }
            }
        }
    }

    fn hear(&mut self, (number, event): (usize, PipeEvent)) -> Result<(), Error> {
        let Some(Plug::Device(plugged)) = self.ports.get_mut(number).map(|port| &mut port.plug)
        else {
            return Ok(());
        };
        match event {
            PipeEvent::Arrived { bytes, last } => plugged.arrived.push_back((bytes, last)),
            PipeEvent::Ended | PipeEvent::Finished => plugged.ended = true,
            PipeEvent::Written(bytes) => plugged.spares.push(bytes),
            PipeEvent::Failed(error) => return Err(error.into()),
        }
        Ok(())
    }
}

impl Drop for Flow<'_> {
    /// Ends transfers that would fill the buffers, so that the ports can be opened again. Buffers that kernels have not
    /// read yet are kept, since their packets have begun.
    fn drop(&mut self) {
        for port in self.ports.drain(..) {
            if port.under_way.is_empty() {
                continue;
            }
            match (port.direction, port.plug) {
                (StreamDirection::Out, _) => {
                    // The kernel may be gone, or the card broken.
                    if let Err(error) = port.stream.stop() {
                        tracing::debug!(%error, "stopping a stream");
                    }
                }
                (StreamDirection::In, Plug::Device(plugged)) => {
                    self.space
                        .keep(port.stream.handle(), Box::new(plugged.memory));
                }
                (StreamDirection::In, Plug::Memory(_) | Plug::Peer(..)) => {}
            }
        }
    }
}

fn open(slot: &Slot, port: &str) -> Result<(Stream, StreamDirection), Error> {
    let stream = slot.open_stream(port)?;
    let declared = slot.manifest().stream(port);
    let direction = declared.map_or(StreamDirection::Out, |(_, id)| id.direction);
    Ok((stream, direction))
}

/// Whether a memory port of the kernel carries the stream.
fn is_carried(slot: &Slot, port: &str) -> bool {
    let stream = slot.manifest().stream(port);
    stream.is_some_and(|(described, _)| described.through.is_some())
}

fn unfit(device: &Device, rule: &str) -> DeviceError {
    DeviceError::Unfit {
        device: device.name().to_string_lossy().into_owned(),
        rule: rule.to_owned(),
    }
}

fn ask(progress: &mut impl FnMut(Progress) -> Continue, now: Progress) -> Result<(), Error> {
    match progress(now) {
        Continue::Yes => Ok(()),
        Continue::Stop => Err(Error::Interrupted),
    }
}

/// Page size for the buffers.
fn page_size(space: &AddressSpace) -> Result<PageSize, Error> {
    let sizes = space.link().call(Describe)?.card.page_sizes;
    let fits = PageSize::from_bytes(PAGE).filter(|size| sizes.contains(*size));
    Ok(fits.unwrap_or(PageSize::KIB_4))
}

/// Copies bytes into a buffer that no transfer uses.
fn fill(memory: &SharedMemory, at: u64, bytes: &[u8]) -> Result<(), Error> {
    memory.take(at, bytes.len() as u64, true)?;
    // SAFETY: `take` has checked the range, the memory is mapped as long as `memory`, and the pages are the
    // program's until a transfer begins.
    unsafe {
        let to = memory.as_ptr().add(at as usize);
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len());
    }
    Ok(())
}

/// Copies bytes out of a buffer whose transfer is over.
fn empty(memory: &SharedMemory, at: u64, count: u64, bytes: &mut Vec<u8>) -> Result<(), Error> {
    memory.take(at, count, false)?;
    let count = count as usize;
    bytes.clear();
    bytes.reserve(count);
    // SAFETY: as above, and `count` bytes are reserved.
    unsafe {
        let from = memory.as_ptr().add(at as usize).cast_const();
        std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), count);
        bytes.set_len(count);
    }
    Ok(())
}
