//! A thread that moves bytes between a device and buffers of the program. Buffers circulate: the receiver sends an
//! empty buffer and gets it back full, so no byte is read that has no buffer.

use crate::device::end::{End, Ending, Socket};
use crate::device::DeviceError;
use std::io;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;
use units::StreamDirection;

/// Messages of a thread; the number sent along is its port's.
#[derive(Debug)]
pub(super) enum PipeEvent {
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
pub(super) enum PipeCommand {
    /// An empty buffer to fill, or a full one to write.
    Buffer(Vec<u8>),
    /// No further bytes follow.
    Finish,
}

/// Handle of a thread. Dropping it stops the thread.
#[derive(Debug)]
pub(super) struct PipeThread {
    commands: Sender<PipeCommand>,
    _stop: UnixStream,
}

impl PipeThread {
    /// Starts the thread, which opens the device.
    pub(super) fn start(
        socket: Arc<Socket>,
        direction: StreamDirection,
        alone: bool,
        events: (usize, Sender<(usize, PipeEvent)>),
    ) -> io::Result<Self> {
        let (commands, receiver) = channel();
        let (ours, theirs) = UnixStream::pair()?;
        // Writing to a pipe without a reader gives an error, not a signal, whatever the program's disposition for that
        // signal: threads of the library block it.
        let work = move || {
            let (number, events) = events;
            let report = |event| {
                // The receiver is gone: the program has given up.
                events.send((number, event)).map_err(|_| Ending::Stopped)
            };
            let work = PipeWorker {
                live: socket.device.live,
                buffer: socket.device.buffer as usize,
                commands: receiver,
                report: &report,
            };
            let result = socket
                .open(direction, theirs)
                .and_then(|end| match direction {
                    StreamDirection::In if work.live => work.read_pieces(end),
                    StreamDirection::In => work.read_packet(end),
                    StreamDirection::Out => work.write(end, alone),
                });
            if let Err(Ending::Failed(error)) = result {
                let _ = report(PipeEvent::Failed(error));
            }
        };
        threads::spawn("tombolo-device", work)?;
        Ok(Self {
            commands,
            _stop: ours,
        })
    }

    /// A thread that has ended has sent its last event, so a failed send is ignored.
    pub(super) fn send(&self, command: PipeCommand) {
        let _ = self.commands.send(command);
    }
}

struct PipeWorker<'a> {
    live: bool,
    buffer: usize,
    commands: Receiver<PipeCommand>,
    report: &'a dyn Fn(PipeEvent) -> Result<(), Ending>,
}

impl PipeWorker<'_> {
    fn next(&self) -> Result<PipeCommand, Ending> {
        self.commands.recv().map_err(|_| Ending::Stopped)
    }

    fn empty(&self) -> Result<Vec<u8>, Ending> {
        loop {
            if let PipeCommand::Buffer(mut buffer) = self.next()? {
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
                return (self.report)(PipeEvent::Ended);
            }
            bytes.truncate(read);
            (self.report)(PipeEvent::Arrived { bytes, last: true })?;
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
                    (self.report)(PipeEvent::Arrived { bytes, last: false })?;
                }
                if over && !any {
                    let device = end.name().to_owned();
                    return Err(Ending::Failed(DeviceError::Empty { device }));
                }
                if over {
                    bytes.truncate(filled);
                    let bytes = full.take().unwrap_or(bytes);
                    (self.report)(PipeEvent::Arrived { bytes, last: true })?;
                    return (self.report)(PipeEvent::Ended);
                }
            }
            full = Some(bytes);
        }
    }

    fn write(&self, mut end: End, alone: bool) -> Result<(), Ending> {
        loop {
            match self.next()? {
                PipeCommand::Buffer(bytes) => {
                    end.write(&bytes)?;
                    (self.report)(PipeEvent::Written(bytes))?;
                }
                PipeCommand::Finish => {
                    end.finish(alone)?;
                    return (self.report)(PipeEvent::Finished);
                }
            }
        }
    }
}
