//! Frames of the socket: a header of 16 bytes, then the body.
//!
//! | bytes | field |
//! |---|---|
//! | 0 to 3 | bytes of the body |
//! | 4 | [kind](Kind) |
//! | 5 | descriptors, sent with the first byte of the frame |
//! | 6 to 7 | zero |
//! | 8 to 15 | ticket: number of the request that the frame belongs to, counted by the client |
//!
//! Words are little-endian; bodies are JSON.

use std::os::fd::OwnedFd;

/// Maximum bytes of a request's body.
pub const MOST_REQUEST: usize = 64 << 10;
/// Maximum bytes of a reply's body.
pub const MOST_REPLY: usize = 16 << 20;
/// Maximum descriptors of a frame.
pub const MOST_DESCRIPTORS: usize = 4;

/// Kind of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// First frame of a client: [`Hello`](crate::Hello).
    Hello = 1,
    /// Response to it: [`Welcome`](crate::Welcome).
    Welcome = 2,
    /// Request: a [`Message`](crate::Message).
    Request = 3,
    /// Reply, of the request's reply type.
    Reply = 4,
    /// Failed request: a [`Failure`](crate::Failure).
    Failure = 5,
    /// The client no longer waits for a request's reply. No body, and no reply of its own.
    Cancel = 6,
    /// First frame of a daemon that takes the place of this one. No body.
    HandOver = 7,
    /// Response to it, after all clients have ended: the listening socket, as a descriptor. No body.
    Listener = 8,
}

/// Ticket of a [`Failure`](Kind::Failure) that belongs to no request: the daemon ends the connection, for the reason that
/// it gives.
pub const ENDS_CONNECTION: u64 = u64::MAX;

impl Kind {
    const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Hello,
            2 => Self::Welcome,
            3 => Self::Request,
            4 => Self::Reply,
            5 => Self::Failure,
            6 => Self::Cancel,
            7 => Self::HandOver,
            8 => Self::Listener,
            _ => return None,
        })
    }

    /// Side that sends this kind.
    const fn side(self) -> Side {
        match self {
            Self::Hello | Self::Request | Self::Cancel | Self::HandOver => Side::Client,
            Self::Welcome | Self::Reply | Self::Failure | Self::Listener => Side::Daemon,
        }
    }

    /// Maximum bytes of its body.
    const fn most(self) -> usize {
        match self {
            Self::Hello | Self::Welcome => 4 << 10,
            Self::Request => MOST_REQUEST,
            Self::Reply | Self::Failure => MOST_REPLY,
            Self::Cancel | Self::HandOver | Self::Listener => 0,
        }
    }
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Sends requests.
    Client,
    /// Sends replies.
    Daemon,
}

/// A malformed frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The kind is unknown, or not allowed in this direction.
    #[error("a frame of kind {0}, which this side does not send")]
    Kind(u8),
    /// Reserved bytes are not zero.
    #[error("a frame whose bytes 6 and 7 are not zero")]
    Reserved,
    /// The body is too long.
    #[error("a body of {bytes} bytes, where {most} are possible")]
    Length {
        /// Size in bytes.
        bytes: u64,
        /// Limit in bytes.
        most: u64,
    },
    /// The frame announces too many descriptors.
    #[error("{0} descriptors in a frame, where {MOST_DESCRIPTORS} are possible")]
    Descriptors(u8),
}

/// The first 16 bytes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Kind of the frame.
    pub kind: Kind,
    /// Bytes of the body that follows.
    pub body: u32,
    /// Descriptors that accompany the frame.
    pub descriptors: u8,
    /// Request that the frame belongs to, by the client's count.
    pub ticket: u64,
}

impl Header {
    /// Size of a header in bytes.
    pub const BYTES: usize = 16;

    /// Encodes the header for the socket.
    pub fn encode(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.body.to_le_bytes());
        bytes[4] = self.kind as u8;
        bytes[5] = self.descriptors;
        bytes[8..].copy_from_slice(&self.ticket.to_le_bytes());
        bytes
    }

    /// Decodes a header that this side sent. An accepted header is within all limits.
    ///
    /// # Errors
    /// The kind, the length or the number of descriptors is not allowed.
    pub fn decode(bytes: [u8; Self::BYTES], from: Side) -> Result<Self, FrameError> {
        let [b0, b1, b2, b3, kind, descriptors, r0, r1, t0, t1, t2, t3, t4, t5, t6, t7] = bytes;
        let known = Kind::of(kind).filter(|kind| kind.side() == from);
        let kind = known.ok_or(FrameError::Kind(kind))?;
        let body = u32::from_le_bytes([b0, b1, b2, b3]);
        if (r0, r1) != (0, 0) {
            return Err(FrameError::Reserved);
        }
        if body as usize > kind.most() {
            return Err(FrameError::Length {
                bytes: body.into(),
                most: kind.most() as u64,
            });
        }
        if usize::from(descriptors) > MOST_DESCRIPTORS {
            return Err(FrameError::Descriptors(descriptors));
        }
        Ok(Self {
            kind,
            body,
            descriptors,
            ticket: u64::from_le_bytes([t0, t1, t2, t3, t4, t5, t6, t7]),
        })
    }
}

/// A frame with its body and descriptors.
#[derive(Debug)]
pub struct Frame {
    /// Kind of the frame.
    pub kind: Kind,
    /// Request that the frame belongs to.
    pub ticket: u64,
    /// Body of the frame, JSON.
    pub body: Vec<u8>,
    /// Open files that accompany the frame.
    pub descriptors: Vec<OwnedFd>,
}

impl Frame {
    /// A frame without descriptors.
    pub fn new(kind: Kind, ticket: u64, body: Vec<u8>) -> Self {
        Self {
            kind,
            ticket,
            body,
            descriptors: Vec::new(),
        }
    }

    /// The header of the frame.
    ///
    /// # Errors
    /// The body or the descriptors exceed the limits: the other side would reject the frame.
    pub fn header(&self) -> Result<Header, FrameError> {
        let (bytes, most) = (self.body.len() as u64, self.kind.most() as u64);
        let body = u32::try_from(bytes).ok().filter(|_| bytes <= most);
        let descriptors = u8::try_from(self.descriptors.len()).unwrap_or(u8::MAX);
        if usize::from(descriptors) > MOST_DESCRIPTORS {
            return Err(FrameError::Descriptors(descriptors));
        }
        Ok(Header {
            kind: self.kind,
            body: body.ok_or(FrameError::Length { bytes, most })?,
            descriptors,
            ticket: self.ticket,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_16_bytes_are_a_header_or_an_error(bytes: [u8; 16]) {
            for (side, most) in [(Side::Client, MOST_REQUEST), (Side::Daemon, MOST_REPLY)] {
                if let Ok(header) = Header::decode(bytes, side) {
                    prop_assert_eq!(header.encode(), bytes);
                    prop_assert!(header.body as usize <= most);
                }
            }
        }
    }

    #[test]
    fn what_is_too_long_is_not_sent_and_not_taken() {
        let long = Frame::new(Kind::Request, 1, vec![b' '; MOST_REQUEST + 1]);
        assert!(matches!(long.header(), Err(FrameError::Length { .. })));
        let mut bytes = Frame::new(Kind::Request, 1, vec![b' '; MOST_REQUEST])
            .header()
            .unwrap()
            .encode();
        assert!(Header::decode(bytes, Side::Client).is_ok());
        bytes[2] += 1;
        assert!(matches!(
            Header::decode(bytes, Side::Client),
            Err(FrameError::Length { .. })
        ));
        bytes[4] = 9;
        assert_eq!(
            Header::decode(bytes, Side::Client),
            Err(FrameError::Kind(9))
        );
    }
}
