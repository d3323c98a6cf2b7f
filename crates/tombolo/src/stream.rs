//! Streams: a port of a kernel, connected to memory.
//!
//! [`Slot::open_stream`] opens a port. [`Stream::read`] begins a transfer from mapped memory to the kernel,
//! [`Stream::write`] one from the kernel to mapped memory; these are the words of vFPIO, and the host
//! begins every transfer. [`Stream::wait`] waits for the oldest one, [`Stream::sync`] for all.

use crate::link::Link;
use crate::range::MappedRange;
use crate::slot::{Continue, Slot};
use error::Error;
use error::StreamError;
use owner::message::{
    BeginTransfer, ByteRange, CloseStream, ExpireStream, Moved, OpenStream, PacketPart, PollStream,
    Progress, StopStream, StreamHandle, TransferState,
};
use owner::SLICE;
use units::{Picoseconds, StreamDirection};

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
        let handle = link.call(OpenStream {
            load: self.load(),
            port: port.to_owned(),
        })?;
        Ok(Stream { link, handle })
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
        self.begin(StreamDirection::In, range, PacketPart::Whole)
    }

    /// Begins a transfer from the kernel to memory. It ends with the packet (TLAST), or when the range is
    /// full; what the kernel sends beyond that waits for the next one.
    ///
    /// # Errors
    /// As [`read`](Stream::read).
    pub fn write(&self, range: MappedRange) -> Result<(), Error> {
        self.begin(StreamDirection::Out, range, PacketPart::Whole)
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
        packet: PacketPart,
    ) -> Result<(), Error> {
        if !range.is_of(&self.link) {
            return Err(Error::OtherCard);
        }
        self.link.call(BeginTransfer {
            stream: self.handle,
            direction,
            mapping: range.mapping(),
            range: ByteRange {
                offset: range.offset(),
                bytes: range.bytes(),
            },
            packet,
        })
    }

    /// Whether the oldest transfer is over, and how; no virtual time passes.
    ///
    /// # Errors
    /// As [`wait`](Stream::wait).
    pub fn poll(&self) -> Result<Option<Moved>, Error> {
        match self.ask(Picoseconds::ZERO)? {
            TransferState::Moved(moved) => Ok(Some(moved)),
            TransferState::Moving(_) => Ok(None),
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
                TransferState::Moved(moved) => return Ok(moved),
                TransferState::Moving(now) => {
                    if progress(now) == Continue::Stop {
                        return Err(Error::Interrupted);
                    }
                }
            }
            elapsed += slice;
            if deadline.is_some_and(|deadline| elapsed >= deadline) {
                return self.expire(elapsed);
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
        self.link.call(StopStream { stream })
    }

    /// Disconnects the port, so that it can be opened again.
    ///
    /// # Errors
    /// [`StreamError::UnderWay`]: a transfer is not over. The port stays open. [`StreamError::Unread`]: the kernel has
    /// sent more than was taken. The port is closed; what waits there is the next transfer's, if it is opened again,
    /// and is lost with the kernel. [`Slot::close`] reports what has come since then. A stream that is dropped instead
    /// complains of nothing.
    pub fn close(&self) -> Result<(), Error> {
        self.link.call(CloseStream {
            stream: self.handle,
            later: false,
        })
    }

    /// As [`close`](Self::close), for one who has asked himself what is left.
    pub(crate) fn disconnect(&self) -> Result<(), Error> {
        self.link.call(CloseStream {
            stream: self.handle,
            later: true,
        })
    }

    fn ask(&self, slice: Picoseconds) -> Result<TransferState, Error> {
        self.link.call(PollStream {
            stream: self.handle,
            slice,
        })
    }

    /// The oldest transfer was not over in time: what keeps it waiting, unless it is over now.
    pub(crate) fn expire(&self, elapsed: Picoseconds) -> Result<Moved, Error> {
        self.link.call(ExpireStream {
            stream: self.handle,
            elapsed,
        })
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        let request = CloseStream {
            stream: self.handle,
            later: true,
        };
        // Closed already, gone with its kernel, or the card is broken.
        if let Err(error) = self.link.call(request) {
            tracing::debug!(%error, "closing a stream");
        }
    }
}
