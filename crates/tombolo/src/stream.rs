//! Streams: a port of a kernel, connected to memory.
//!
//! [`Slot::open_stream`] opens a port. [`Stream::read`] begins a transfer from mapped memory to the kernel,
//! [`Stream::write`] one from the kernel to mapped memory; these are the words of vFPIO, and the host
//! begins every transfer. [`Stream::wait`] waits for the oldest one, [`Stream::sync`] for all.

use crate::connection::{ConnectionId, ConnectionState};
use crate::error::Error;
use crate::link::{unexpected, Link};
use crate::message::{LoadId, MappingId, Progress, Reply, Request};
use crate::network::PeerHandle;
use crate::slot::{Continue, Slot, SLICE};
use crate::space::Mapping;
use crate::stream_error::StreamError;
use card::stream::{StreamDirection, StreamId, StreamWaiting};
use card::SlotId;
use units::Picoseconds;

/// Names an open stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamHandle {
    /// The slot.
    pub(crate) slot: SlotId,
    /// The slot's stream.
    pub(crate) stream: StreamId,
    /// Which opening of it.
    pub(crate) serial: u64,
}

/// The place of a transfer in a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Into a kernel: the packet ends with it. Out of a kernel: it is begun whatever the one before was.
    Whole,
    /// Into a kernel: more of the packet follows. Out of a kernel: it is begun only if the packet of the one
    /// before goes on, and else over at once, with no byte.
    More,
}

/// What a client asks of a stream.
#[derive(Clone, Debug)]
pub(crate) enum StreamRequest {
    /// Connect a port.
    Open {
        /// The kernel.
        load: LoadId,
        /// The port's name.
        port: String,
    },
    /// Begin a transfer, after those that were begun before.
    Begin {
        /// Which stream.
        stream: StreamHandle,
        /// The way that the client means.
        direction: StreamDirection,
        /// The memory's mapping.
        mapping: MappingId,
        /// First byte in it.
        offset: u64,
        /// Bytes.
        bytes: u64,
        /// Its place in a packet.
        part: Part,
    },
    /// Plug a port into a network interface, and that into a peer.
    PlugPeer {
        /// Which stream.
        stream: StreamHandle,
        /// The peer.
        peer: PeerHandle,
    },
    /// Begin a transfer between a kernel and its peer's memory.
    BeginPeer {
        /// Which stream.
        stream: StreamHandle,
        /// The way that the client means.
        direction: StreamDirection,
        /// First byte.
        offset: u64,
        /// Bytes.
        bytes: u64,
    },
    /// Pull the cable of a network interface, or put it back.
    SetLink {
        /// Which.
        interface: u8,
        /// It works.
        up: bool,
    },
    /// Let virtual time pass until the oldest transfer of one of several streams is over, at most for `slice`.
    PollAny {
        /// Which streams; each has a transfer that nobody has asked for yet.
        streams: Vec<StreamHandle>,
        /// How long.
        slice: Picoseconds,
    },
    /// Let virtual time pass until the oldest transfer is over, at most for `slice`.
    Poll {
        /// Which stream.
        stream: StreamHandle,
        /// How long.
        slice: Picoseconds,
    },
    /// The oldest transfer was not over in time: say what it waits for. The answer is an error.
    Expire {
        /// Which stream.
        stream: StreamHandle,
        /// How long the client has waited.
        elapsed: Picoseconds,
    },
    /// Connect an outgoing port of one kernel with an incoming one of another.
    Connect {
        /// Kernel and outgoing port.
        from: (LoadId, String),
        /// Kernel and incoming port.
        to: (LoadId, String),
    },
    /// What a connection does.
    Inspect {
        /// Which.
        connection: ConnectionId,
    },
    /// Take the ports of a connection apart.
    Disconnect {
        /// Which.
        connection: ConnectionId,
        /// Without waiting for the packet under way.
        later: bool,
    },
    /// What a kernel has sent out of a port and nobody has taken.
    Waiting {
        /// Which stream.
        stream: StreamHandle,
    },
    /// The client takes no more from a port out of a kernel. What waits there is an error, and so is what waits when the
    /// slot is emptied.
    Settle {
        /// Which stream.
        stream: StreamHandle,
        /// What it has taken.
        taken: Taken,
    },
    /// There is no room for the packets that the client wants: say so. The answer is an error.
    Missing {
        /// Which stream.
        stream: StreamHandle,
        /// Packets that were wanted.
        wanted: u64,
        /// What came.
        taken: Taken,
    },
    /// End the transfers out of a kernel that are not over, with what has come.
    Stop {
        /// Which stream.
        stream: StreamHandle,
    },
    /// Disconnect a port.
    Close {
        /// Which stream.
        stream: StreamHandle,
        /// Also with transfers under way: the port is free when they are over.
        later: bool,
    },
}

/// What the owner answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StreamReply {
    /// To `Open`.
    Opened(StreamHandle),
    /// To `Poll`: the oldest transfer is over.
    Moved(Moved),
    /// To `Poll`: it is not.
    Moving(Progress),
    /// To `PollAny`: the oldest transfer of the stream with this number is over.
    MovedOne(usize, Moved, Progress),
    /// To `PollAny`: none is, and nothing will happen by itself.
    Quiet(Progress),
    /// To `Waiting`.
    Waiting(StreamWaiting),
    /// To `Connect`.
    Connected(ConnectionId),
    /// To `Inspect`.
    Connection(ConnectionState),
}

/// What was taken from a port out of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    /// Packets that ended.
    pub(crate) packets: u64,
    /// Bytes.
    pub(crate) bytes: u64,
    /// There is no room for more.
    pub(crate) full: bool,
}

/// A transfer that is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Bytes that were moved.
    pub bytes: u64,
    /// The last of them ended a packet (TLAST). Out of the kernel: if not, the range was full, and more may
    /// follow.
    pub last: bool,
}

/// A part of a mapping: the memory of a transfer. Begins and ends at any byte.
#[derive(Clone, Debug)]
pub struct MappedRange {
    link: Link,
    mapping: MappingId,
    offset: u64,
    bytes: u64,
}

impl MappedRange {
    /// Some bytes of a mapping that has `mapped`.
    pub(crate) fn of(
        link: Link,
        mapping: MappingId,
        (offset, bytes): (u64, u64),
        mapped: u64,
    ) -> Result<Self, Error> {
        if bytes > 0 && offset.checked_add(bytes).is_some_and(|end| end <= mapped) {
            return Ok(Self {
                link,
                mapping,
                offset,
                bytes,
            });
        }
        Err(Error::Stream(StreamError::OutOfMapping {
            bytes,
            offset,
            mapped,
        }))
    }

    /// The same further behind in the mapping.
    pub(crate) fn shifted(mut self, by: u64) -> Self {
        self.offset += by;
        self
    }

    /// What is behind its first bytes, if anything is.
    pub(crate) fn behind(mut self, bytes: u64) -> Option<Self> {
        self.offset += bytes;
        self.bytes = self.bytes.saturating_sub(bytes);
        (self.bytes > 0).then_some(self)
    }

    /// First byte of it, in its mapping.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes of it.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Mapping {
    /// All of it, for a transfer.
    pub fn all(&self) -> MappedRange {
        MappedRange {
            link: self.link().clone(),
            mapping: self.id(),
            offset: 0,
            bytes: self.bytes(),
        }
    }

    /// Some bytes of it, for a transfer.
    ///
    /// # Errors
    /// [`StreamError::OutOfMapping`]: beyond its end, or none.
    pub fn slice(&self, offset: u64, bytes: u64) -> Result<MappedRange, Error> {
        MappedRange::of(
            self.link().clone(),
            self.id(),
            (offset, bytes),
            self.bytes(),
        )
    }
}

/// An open stream port. Dropped, it is closed when its transfers are over.
#[derive(Debug)]
pub struct Stream {
    link: Link,
    handle: StreamHandle,
}

impl Slot {
    /// Opens a stream port of the kernel, by its name in `kernel.toml`.
    ///
    /// # Errors
    /// [`StreamError::NoSuchPort`], [`StreamError::Taken`].
    pub fn open_stream(&self, port: &str) -> Result<Stream, Error> {
        let link = self.link().clone();
        let request = StreamRequest::Open {
            load: self.load(),
            port: port.to_owned(),
        };
        match link.call(Request::Stream(request))? {
            Reply::Stream(StreamReply::Opened(handle)) => Ok(Stream { link, handle }),
            other => Err(unexpected(&other)),
        }
    }
}

impl Stream {
    /// Begins a transfer from memory to the kernel: a packet, whose last beat carries TLAST. It comes after
    /// the transfers that were begun before.
    ///
    /// # Errors
    /// [`StreamError::WrongDirection`], [`StreamError::OtherSpace`], [`Error::OtherCard`], a mapping that has
    /// ended; or the kernel has failed.
    pub fn read(&self, range: MappedRange) -> Result<(), Error> {
        self.begin(StreamDirection::In, range, Part::Whole)
    }

    /// Begins a transfer from the kernel to memory. It ends with the packet (TLAST), or when the range is
    /// full; what the kernel sends beyond that waits for the next one.
    ///
    /// # Errors
    /// As [`read`](Stream::read).
    pub fn write(&self, range: MappedRange) -> Result<(), Error> {
        self.begin(StreamDirection::Out, range, Part::Whole)
    }

    pub(crate) fn link(&self) -> &Link {
        &self.link
    }

    pub(crate) fn handle(&self) -> StreamHandle {
        self.handle
    }

    pub(crate) fn begin(
        &self,
        direction: StreamDirection,
        range: MappedRange,
        part: Part,
    ) -> Result<(), Error> {
        if !self.link.is(&range.link) {
            return Err(Error::OtherCard);
        }
        self.link.tell(Request::Stream(StreamRequest::Begin {
            stream: self.handle,
            direction,
            mapping: range.mapping,
            offset: range.offset,
            bytes: range.bytes,
            part,
        }))
    }

    /// Whether the oldest transfer is over, and how; no virtual time passes.
    ///
    /// # Errors
    /// As [`wait`](Stream::wait).
    pub fn poll(&self) -> Result<Option<Moved>, Error> {
        match self.ask(Picoseconds::ZERO)? {
            StreamReply::Moved(moved) => Ok(Some(moved)),
            _ => Ok(None),
        }
    }

    /// Waits until the oldest transfer is over, at most until `deadline` of virtual time from now.
    /// `progress` is asked every now and then whether to go on.
    ///
    /// # Errors
    /// The deadline has passed ([`StreamError::Stuck`] names the port and who keeps it waiting; the transfer
    /// goes on); an access or the kernel failed; the slot was reset; nothing is under way; `progress` said
    /// stop.
    pub fn wait(
        &self,
        deadline: Option<Picoseconds>,
        mut progress: impl FnMut(Progress) -> Continue,
    ) -> Result<Moved, Error> {
        let mut elapsed = Picoseconds::ZERO;
        loop {
            let slice = deadline.map_or(SLICE, |deadline| SLICE.min(deadline - elapsed));
            match self.ask(slice)? {
                StreamReply::Moved(moved) => return Ok(moved),
                StreamReply::Moving(now) => {
                    if progress(now) == Continue::Stop {
                        return Err(Error::Interrupted);
                    }
                }
                other => return Err(unexpected(&Reply::Stream(other))),
            }
            elapsed += slice;
            if deadline.is_some_and(|deadline| elapsed >= deadline) {
                let request = StreamRequest::Expire {
                    stream: self.handle,
                    elapsed,
                };
                return match self.link.call(Request::Stream(request))? {
                    Reply::Stream(StreamReply::Moved(moved)) => Ok(moved),
                    other => Err(unexpected(&other)),
                };
            }
        }
    }

    /// Waits until every transfer that was begun is over; in their order.
    ///
    /// # Errors
    /// As [`wait`](Stream::wait), for the first that fails. Those behind it may be waited for.
    pub fn sync(&self, deadline: Option<Picoseconds>) -> Result<Vec<Moved>, Error> {
        let mut all = Vec::new();
        loop {
            match self.wait(deadline, |_| Continue::Yes) {
                Ok(moved) => all.push(moved),
                Err(Error::Stream(StreamError::NothingUnderWay { .. })) => return Ok(all),
                Err(error) => return Err(error),
            }
        }
    }

    /// Ends the transfers out of the kernel that are not over: the one under way as if its range were full, those
    /// behind it with no byte. Each is still to be waited for. Nothing is lost: what the kernel sends afterwards
    /// waits for the next transfer. A transfer into a kernel cannot be stopped, as its packet would not end.
    ///
    /// # Errors
    /// [`StreamError::WrongDirection`]; the port is closed, or its kernel gone.
    pub fn stop(&self) -> Result<(), Error> {
        let stream = self.handle;
        self.link
            .tell(Request::Stream(StreamRequest::Stop { stream }))
    }

    /// Disconnects the port, so that it can be opened again.
    ///
    /// # Errors
    /// [`StreamError::UnderWay`]: a transfer is not over. The port stays open.
    pub fn close(&self) -> Result<(), Error> {
        let request = StreamRequest::Close {
            stream: self.handle,
            later: false,
        };
        self.link.tell(Request::Stream(request))
    }

    fn ask(&self, slice: Picoseconds) -> Result<StreamReply, Error> {
        let request = StreamRequest::Poll {
            stream: self.handle,
            slice,
        };
        match self.link.call(Request::Stream(request))? {
            Reply::Stream(reply) => Ok(reply),
            other => Err(unexpected(&other)),
        }
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let request = StreamRequest::Close {
            stream: self.handle,
            later: true,
        };
        // Closed already, gone with its kernel, or the card is broken.
        if let Err(error) = self.link.tell(Request::Stream(request)) {
            tracing::debug!(%error, "closing a stream");
        }
    }
}
