//! A thread that moves bytes between a device and buffers of the program. Buffers circulate: the receiver sends an
//! empty buffer and gets it back full, so no byte is read that has no buffer.

use crate::device::end::{End, Ending, Socket, Way};
use crate::device::DeviceError;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

/// Messages of a thread; the number sent along is its port's.
#[derive(Debug)]
pub(super) enum Event {
    /// Bytes for a kernel.
    Arrived {
        bytes: Vec<u8>,
        /// They end a packet.
        last: bool,
    },
    /// End of input.
    Ended,
    /// These bytes were written; returns the empty buffer.
    Written(Vec<u8>),
    /// All bytes were written, and the other end has seen the end of the stream.
    Finished,
    /// The thread failed and has stopped.
    Failed(DeviceError),
}

/// Messages to a thread.
#[derive(Debug)]
pub(super) enum Order {
    /// An empty buffer to fill, or a full one to write.
    Buffer(Vec<u8>),
    /// No further bytes follow.
    Finish,
}

/// Handle of a thread. Dropping it stops the thread.
#[derive(Debug)]
pub(super) struct Hose {
    orders: Sender<Order>,
    _stop: UnixStream,
}

impl Hose {
    /// Starts the thread, which opens the device.
    pub(super) fn start(
        socket: Arc<Socket>,
        way: Way,
        alone: bool,
        events: (usize, Sender<(usize, Event)>),
    ) -> io::Result<Self> {
        let (orders, receiver) = channel();
        let (ours, theirs) = UnixStream::pair()?;
        // Writing to a pipe without a reader gives an error, not a signal, whatever the program's disposition for that
        // signal: threads of the library block it.
        let work = move || {
            let (number, events) = events;
            let tell = |event| {
                // The receiver is gone: the program has given up.
                events.send((number, event)).map_err(|_| Ending::Stopped)
            };
            let work = Work {
                live: socket.device.live,
                buffer: socket.device.buffer as usize,
                orders: receiver,
                tell: &tell,
            };
            let result = socket.open(way, theirs).and_then(|end| match way {
                Way::In if work.live => work.read_pieces(end),
                Way::In => work.read_packet(end),
                Way::Out => work.write(end, alone),
            });
            if let Err(Ending::Failed(error)) = result {
                let _ = tell(Event::Failed(error));
            }
        };
        threads::spawn("tombolo-device", work)?;
        Ok(Self {
            orders,
            _stop: ours,
        })
    }

    /// A thread that has ended has sent its last event, so a failed send is ignored.
    pub(super) fn tell(&self, order: Order) {
        let _ = self.orders.send(order);
    }
}

struct Work<'a> {
    live: bool,
    buffer: usize,
    orders: Receiver<Order>,
    tell: &'a dyn Fn(Event) -> Result<(), Ending>,
}

impl Work<'_> {
    fn next(&self) -> Result<Order, Ending> {
        self.orders.recv().map_err(|_| Ending::Stopped)
    }

    fn empty(&self) -> Result<Vec<u8>, Ending> {
        loop {
            if let Order::Buffer(mut buffer) = self.next()? {
                buffer.clear();
                buffer.resize(self.buffer, 0);
                return Ok(buffer);
            }
        }
    }

    /// Reads with each piece as a packet of its own.
    fn read_pieces(&self, mut end: End) -> Result<(), Ending> {
        loop {
            let mut bytes = self.empty()?;
            let read = end.read(&mut bytes)?;
            if read == 0 {
                return (self.tell)(Event::Ended);
            }
            bytes.truncate(read);
            (self.tell)(Event::Arrived { bytes, last: true })?;
        }
    }

    /// Reads the whole input as one packet, in full buffers: the same bytes are split in the same way, however they
    /// arrive. A full buffer is held until the next byte arrives, which shows that the packet continues.
    fn read_packet(&self, mut end: End) -> Result<(), Ending> {
        let mut full: Option<Vec<u8>> = None;
        let mut any = false;
        loop {
            let mut bytes = self.empty()?;
            let mut filled = 0;
            while let Some(room) = bytes.get_mut(filled..).filter(|room| !room.is_empty()) {
                let read = end.read(room)?;
                filled += read;
                any |= read > 0;
                let over = read == 0;
                if let Some(bytes) = full.take_if(|_| !over || filled > 0) {
                    (self.tell)(Event::Arrived { bytes, last: false })?;
                }
                if over && !any {
                    let device = end.name().to_owned();
                    return Err(Ending::Failed(DeviceError::Empty { device }));
                }
                if over {
                    bytes.truncate(filled);
                    let bytes = full.take().unwrap_or(bytes);
                    (self.tell)(Event::Arrived { bytes, last: true })?;
                    return (self.tell)(Event::Ended);
                }
            }
            full = Some(bytes);
        }
    }

    fn write(&self, mut end: End, alone: bool) -> Result<(), Ending> {
        loop {
            match self.next()? {
                Order::Buffer(bytes) => {
                    end.write(&bytes)?;
                    (self.tell)(Event::Written(bytes))?;
                }
                Order::Finish => {
                    end.finish(alone)?;
                    return (self.tell)(Event::Finished);
                }
            }
        }
    }
}
