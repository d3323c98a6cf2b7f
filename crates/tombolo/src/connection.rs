//! Connections: a stream port of a kernel joined with one of another kernel, or of the same. What the one
//! sends the other receives, and no memory is between them.

use crate::card_handle::Card;
use crate::link::Link;
use crate::slot::Slot;
use error::Error;
use owner::message::{ConnectPorts, ConnectionId, ConnectionState, Disconnect, Inspect, PortOf};

/// Two joined stream ports. Dropped, they come apart at the end of the packet that is under way.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    id: ConnectionId,
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
        let end = |slot: &Slot, port: &str| PortOf {
            load: slot.load(),
            port: port.to_owned(),
        };
        let id = link.call(ConnectPorts {
            from: end(from, output),
            to: end(to, input),
        })?;
        Ok(Connection { link, id })
    }
}

impl Connection {
    /// What it does now.
    ///
    /// # Errors
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected).
    pub fn state(&self) -> Result<ConnectionState, Error> {
        self.link.call(Inspect {
            connection: self.id,
        })
    }

    /// Takes the ports apart, at the end of the packet that is under way: nothing is lost.
    ///
    /// # Errors
    /// [`StreamError::MidPacket`](crate::StreamError::MidPacket): it has not ended within a millisecond of
    /// virtual time. The ports come apart when it does; call again to wait for that.
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected): they are apart already, or another
    /// kernel was loaded.
    pub fn disconnect(&self) -> Result<(), Error> {
        self.link.call(Disconnect {
            connection: self.id,
            later: false,
        })
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        let request = Disconnect {
            connection: self.id,
            later: true,
        };
        // Apart already, gone with a kernel, or the card is broken.
        if let Err(error) = self.link.call(request) {
            tracing::debug!(%error, "taking a connection apart");
        }
    }
}
