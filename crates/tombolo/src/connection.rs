//! Connections: a stream port of a kernel joined with a port of another kernel, or of the same, without memory between.

use crate::link::Link;
use error::Error;
use owner::message::{ConnectPorts, ConnectionId, ConnectionState, Disconnect, Inspect};

/// Two joined stream ports. Dropping it disconnects them at the end of the packet under way.
#[derive(Debug)]
pub struct Connection {
    link: Link,
    id: ConnectionId,
}

impl Connection {
    /// Joins two ports of kernels.
    pub(crate) fn new(link: Link, ports: ConnectPorts) -> Result<Self, Error> {
        let id = link.call(ports)?;
        Ok(Self { link, id })
    }

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
