//! Connections: a stream port of a kernel joined with one of another kernel, or of the same. What the one
//! sends the other receives, and no memory is between them.

use crate::card_handle::Card;
use crate::error::Error;
use crate::link::{unexpected, Link};
use crate::message::{Reply, Request};
use crate::slot::Slot;
use crate::stream::{StreamReply, StreamRequest};

/// Names a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// Two joined stream ports. Dropped, they come apart at the end of the packet that is under way.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    id: ConnectionId,
}

/// What a connection does now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionState {
    /// It comes apart, or is made, when the packets that are under way have ended.
    pub pending: bool,
    /// The reset of a slot has cut a packet since the ports were connected: the receiver got less of it, or
    /// lost what it had.
    pub cut: bool,
    /// A beat waits for the receiver.
    pub waits_for_receiver: bool,
}

impl Card {
    /// Connects an outgoing stream port of one kernel with an incoming one of another, or of the same, at
    /// once: no memory is between them, and the host moves nothing. Ports of different widths fit.
    ///
    /// # Errors
    /// [`Error::OtherCard`], [`StreamError::NoSuchPort`], [`StreamError::WrongEnd`],
    /// [`StreamError::Taken`]; [`StreamError::MidPacket`]: a packet is not over on one of them.
    ///
    /// [`StreamError::NoSuchPort`]: crate::StreamError::NoSuchPort
    /// [`StreamError::WrongEnd`]: crate::StreamError::WrongEnd
    /// [`StreamError::Taken`]: crate::StreamError::Taken
    /// [`StreamError::MidPacket`]: crate::StreamError::MidPacket
    pub fn connect(
        &self,
        from: &Slot,
        output: &str,
        to: &Slot,
        input: &str,
    ) -> Result<Connection, Error> {
        let link = from.link().clone();
        if !link.is(to.link()) || !link.is(self.link()) {
            return Err(Error::OtherCard);
        }
        let request = StreamRequest::Connect {
            from: (from.load(), output.to_owned()),
            to: (to.load(), input.to_owned()),
        };
        match link.call(Request::Stream(request))? {
            Reply::Stream(StreamReply::Connected(id)) => Ok(Connection { link, id }),
            other => Err(unexpected(&other)),
        }
    }
}

impl Connection {
    /// What it does now.
    ///
    /// # Errors
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected).
    pub fn state(&self) -> Result<ConnectionState, Error> {
        let request = StreamRequest::Inspect {
            connection: self.id,
        };
        match self.link.call(Request::Stream(request))? {
            Reply::Stream(StreamReply::Connection(state)) => Ok(state),
            other => Err(unexpected(&other)),
        }
    }

    /// Takes the ports apart, at the end of the packet that is under way: nothing is lost.
    ///
    /// # Errors
    /// [`StreamError::MidPacket`](crate::StreamError::MidPacket): it has not ended within a millisecond of
    /// virtual time. The ports come apart when it does; call again to wait for that.
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected): they are apart already, or another
    /// kernel was loaded.
    pub fn disconnect(&self) -> Result<(), Error> {
        self.link.tell(Request::Stream(StreamRequest::Disconnect {
            connection: self.id,
            later: false,
        }))
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let request = StreamRequest::Disconnect {
            connection: self.id,
            later: true,
        };
        // Apart already, gone with a kernel, or the card is broken.
        if let Err(error) = self.link.tell(Request::Stream(request)) {
            tracing::debug!(%error, "taking a connection apart");
        }
    }
}
