//! Streams between a kernel's ports and memory.
//!
//! [`Slot::open_stream`] opens a port. [`Stream::read`] begins a transfer from mapped memory to the kernel,
//! [`Stream::write`] one from the kernel to mapped memory; the terms are vFPIO's, and the host begins every transfer.
//! [`Stream::wait`] waits for the oldest transfer, [`Stream::sync`] for all.

use crate::link::Link;
use crate::range::MappedRange;
use crate::sliced_wait::SlicedWait;
use crate::slot::{Continue, Slot};
use error::Error;
#[cfg(doc)]
use error::StreamError;
use owner::message::{
    BeginTransfer, ByteRange, CloseStream, ExpireStream, Moved, OpenStream, PacketPart, PollStream,
    Progress, StopStream, StreamHandle, TransferState,
};
use units::{Picoseconds, StreamDirection};
use wire::StreamErrorKind;

/// An open stream port. A dropped port is closed when its transfers are over.
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
    /// Begins a transfer from memory to the kernel: one packet, whose last beat carries TLAST. Transfers of a port are
    /// carried out in the order they were begun.
    ///
    /// # Errors
    /// [`StreamError::WrongDirection`], [`StreamError::OtherSpace`], [`Error::OtherCard`]; the mapping has ended; or
    /// the kernel has failed.
    pub fn read(&self, range: MappedRange) -> Result<(), Error> {
        self.begin(StreamDirection::In, range, PacketPart::Whole)
    }

    /// Begins a transfer from the kernel to memory. It ends with the packet (TLAST) or when the range is full; further
    /// bytes of the kernel wait for the next transfer.
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

    /// The result of the oldest transfer if it is over, else `None`; no virtual time passes.
    ///
    /// # Errors
    /// As [`wait`](Stream::wait).
    pub fn poll(&self) -> Result<Option<Moved>, Error> {
        match self.ask(Picoseconds::ZERO)? {
            TransferState::Moved(moved) => Ok(Some(moved)),
            TransferState::Moving(_) => Ok(None),
        }
    }

    /// Waits until the oldest transfer is over, at most for `deadline` of virtual time from now. `progress` is called
    /// now and then and decides whether to go on.
    ///
    /// # Errors
    /// The deadline has passed ([`StreamError::Stuck`] names the port and the side that keeps it waiting; the transfer
    /// continues); an access or the kernel failed; the slot was reset; no transfer is under way; `progress` returned
    /// [`Continue::Stop`].
    pub fn wait(
        &self,
        deadline: Option<Picoseconds>,
        mut progress: impl FnMut(Progress) -> Continue,
    ) -> Result<Moved, Error> {
        let mut wait = SlicedWait::new(self.link(), deadline);
        loop {
            match self.ask(wait.next_slice())? {
                TransferState::Moved(moved) => return Ok(moved),
                TransferState::Moving(now) => {
                    if progress(now) == Continue::Stop {
                        return Err(Error::Interrupted);
                    }
                }
            }
            wait.slice_over();
            if wait.is_over() {
                return self.expire(wait.elapsed());
            }
        }
    }

    /// Waits until all transfers that were begun are over, and returns their results in order.
    ///
    /// # Errors
    /// As [`wait`](Stream::wait), for the first transfer that fails. Those behind it can still be waited for.
    pub fn sync(&self, deadline: Option<Picoseconds>) -> Result<Vec<Moved>, Error> {
        let mut all = Vec::new();
        loop {
            match self.wait(deadline, |_| Continue::Yes) {
                Ok(moved) => all.push(moved),
                Err(error) => match error.stream_kind() {
                    Some(StreamErrorKind::NothingUnderWay) => return Ok(all),
                    _ => return Err(error),
                },
            }
        }
    }

    /// Ends the unfinished transfers out of the kernel: the one under way as if its range were full, those behind it
    /// with zero bytes. Each must still be waited for. Nothing is lost: further bytes of the kernel wait for the next
    /// transfer. A transfer into a kernel cannot be stopped, since its packet would have no end.
    ///
    /// # Errors
    /// [`StreamError::WrongDirection`]; the port is closed, or its kernel is gone.
    pub fn stop(&self) -> Result<(), Error> {
        let stream = self.handle;
        self.link.call(StopStream { stream })
    }

    /// Disconnects the port, so that it can be opened again.
    ///
    /// # Errors
    /// [`StreamError::UnderWay`]: a transfer is not over; the port stays open. [`StreamError::Unread`]: the kernel has
    /// sent more than was taken; the port is closed. The remaining bytes go to the next transfer if the port is opened
    /// again, and are lost with the kernel. [`Slot::close`] reports bytes that arrived after this call. Dropping a
    /// stream reports neither.
    pub fn close(&self) -> Result<(), Error> {
        self.link.call(CloseStream {
            stream: self.handle,
            later: false,
        })
    }

    /// As [`close`](Self::close), without the check for remaining bytes, which the caller has done.
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

    /// The oldest transfer missed its deadline: returns an error with the cause, unless it is over by now.
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
        // The port is closed already, gone with its kernel, or the card is broken.
        if let Err(error) = self.link.call(request) {
            tracing::debug!(%error, "closing a stream");
        }
    }
}
