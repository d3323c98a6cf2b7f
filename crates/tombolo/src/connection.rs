//! Connections: a stream port of a kernel joined with a port of another kernel, or of the same, without memory between.

use crate::card_handle::Card;
use crate::link::Link;
use crate::slot::Slot;
use error::Error;
use owner::message::{ConnectPorts, ConnectionId, ConnectionState, Disconnect, Inspect, PortOf};

/// Two joined stream ports. Dropping it disconnects them at the end of the packet under way.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    id: ConnectionId,
}

impl Card {
    /// Connects an outgoing stream port of one kernel with an incoming port of another kernel, or of the same,
    /// immediately. There is no memory between the ports, and the host moves no bytes. The ports may have different
    /// widths.
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
    /// Current state of the connection.
    ///
    /// # Errors
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected).
    pub fn state(&self) -> Result<ConnectionState, Error> {
        self.link.call(Inspect {
            connection: self.id,
        })
    }

    /// Disconnects the ports at the end of the packet under way; no bytes are lost.
    ///
    /// # Errors
    /// [`StreamError::MidPacket`](crate::StreamError::MidPacket): the packet has not ended within a millisecond of
    /// virtual time. The ports disconnect when it does; call again to wait for that.
    /// [`StreamError::NotConnected`](crate::StreamError::NotConnected): the ports are disconnected already, or another
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
        // Disconnected already, gone with a kernel, or the card is broken.
        if let Err(error) = self.link.call(request) {
            tracing::debug!(%error, "taking a connection apart");
        }
    }
}
