//! Frames over a Unix socket, with descriptors.

use crate::frame::{Frame, FrameError, Header, Side, MOST_DESCRIPTORS};
use rustix::net::{
    recvmsg, sendmsg, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

/// Credentials of the other end, from the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Process identifier at the time of the connection.
    pub process: u32,
    /// Effective user at that time.
    pub user: u32,
    /// Effective group at that time.
    pub group: u32,
}

/// Credentials of the connected process.
///
/// # Errors
/// The operating system's.
pub fn peer_of(socket: &UnixStream) -> io::Result<Peer> {
    let found = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(Peer {
        process: found.pid.as_raw_nonzero().get().unsigned_abs(),
        user: found.uid.as_raw(),
        group: found.gid.as_raw(),
    })
}

/// Cause of a failed receive.
#[derive(Debug, thiserror::Error)]
pub enum ReceiveError {
    /// The other end closed the socket between two frames.
    #[error("the other end has closed the socket")]
    Closed,
    /// The socket was closed within a frame, or the operating system reported an error.
    #[error("the socket failed: {0}")]
    Failed(#[from] io::Error),
    /// The received bytes are no frame.
    #[error(transparent)]
    Malformed(#[from] FrameError),
    /// The number of descriptors differs from the header's.
    #[error("{came} descriptors came with a frame that said {said}")]
    Descriptors {
        /// Received descriptors.
        came: usize,
        /// Descriptors that the header announced.
        said: u8,
    },
}

/// Sends a frame; blocks while the other end does not read.
///
/// # Errors
/// The frame exceeds the limits ([`io::ErrorKind::InvalidInput`]; nothing was sent), or the other end has closed the
/// socket.
pub fn send(socket: &UnixStream, frame: &Frame) -> io::Result<()> {
    let header = frame.header();
    let header = header.map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    let mut bytes = header.encode().to_vec();
    bytes.extend_from_slice(&frame.body);
    let descriptors: Vec<_> = frame.descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
    let mut rest = bytes.as_slice();
    while !rest.is_empty() {
        let mut along = SendAncillaryBuffer::new(&mut space);
        // Descriptors are sent with the first byte.
        if rest.len() == bytes.len() && !descriptors.is_empty() {
            along.push(SendAncillaryMessage::ScmRights(&descriptors));
        }
        match sendmsg(
            socket,
            &[IoSlice::new(rest)],
            &mut along,
            SendFlags::NOSIGNAL,
        ) {
            Ok(sent) => rest = &rest[sent..],
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(())
}

/// Waits for a frame from this side.
///
/// # Errors
/// See [`ReceiveError`]. Received descriptors are closed on an error.
pub fn receive(socket: &UnixStream, from: Side) -> Result<Frame, ReceiveError> {
    let mut descriptors = Vec::new();
    let mut header = [0; Header::BYTES];
    if !fill(socket, &mut header, &mut descriptors)? {
        return Err(ReceiveError::Closed);
    }
    let header = Header::decode(header, from)?;
    let mut body = vec![0; header.body as usize];
    if !fill(socket, &mut body, &mut descriptors)? {
        return Err(ended());
    }
    if descriptors.len() != usize::from(header.descriptors) {
        return Err(ReceiveError::Descriptors {
            came: descriptors.len(),
            said: header.descriptors,
        });
    }
    Ok(Frame {
        kind: header.kind,
        ticket: header.ticket,
        body,
        descriptors,
    })
}

fn ended() -> ReceiveError {
    ReceiveError::Failed(io::ErrorKind::UnexpectedEof.into())
}

/// Fills a buffer; returns false if the other end closed the socket before its first byte.
fn fill(
    socket: &UnixStream,
    buffer: &mut [u8],
    descriptors: &mut Vec<OwnedFd>,
) -> Result<bool, ReceiveError> {
    let mut there = 0;
    while there < buffer.len() {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_DESCRIPTORS))];
        let mut along = RecvAncillaryBuffer::new(&mut space);
        let mut rest = [IoSliceMut::new(&mut buffer[there..])];
        let came = match recvmsg(socket, &mut rest, &mut along, RecvFlags::CMSG_CLOEXEC) {
            Ok(came) => came.bytes,
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(ReceiveError::Failed(error.into())),
        };
        for message in along.drain() {
            if let RecvAncillaryMessage::ScmRights(received) = message {
                descriptors.extend(received);
            }
        }
        // The system closes descriptors beyond the room of one call; this stops a peer that sends some with each byte.
        if descriptors.len() > MOST_DESCRIPTORS {
            return Err(ReceiveError::Descriptors {
                came: descriptors.len(),
                said: 0,
            });
        }
        match (came, there) {
            (0, 0) => return Ok(false),
            (0, _) => return Err(ended()),
            _ => there += came,
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::Kind;
    use std::io::{Read, Write};

    fn file() -> OwnedFd {
        std::fs::File::open("/proc/self/exe").unwrap().into()
    }

    #[test]
    fn frames_arrive_whole_with_their_descriptors() {
        let (one, other) = UnixStream::pair().unwrap();
        let sender = std::thread::spawn(move || {
            let mut frame = Frame::new(Kind::Request, 7, b"[]".to_vec());
            frame.descriptors = vec![file(), file()];
            send(&one, &frame).unwrap();
            send(&one, &Frame::new(Kind::Request, 8, vec![b' '; 64 << 10])).unwrap();
            send(&one, &Frame::new(Kind::Cancel, 9, Vec::new())).unwrap();
        });
        let first = receive(&other, Side::Client).unwrap();
        assert_eq!((first.kind, first.ticket), (Kind::Request, 7));
        assert_eq!((&*first.body, first.descriptors.len()), (&b"[]"[..], 2));
        let mut magic = [0; 4];
        std::fs::File::from(first.descriptors.into_iter().next().unwrap())
            .read_exact(&mut magic)
            .unwrap();
        assert_eq!(&magic, b"\x7fELF");
        assert_eq!(receive(&other, Side::Client).unwrap().body.len(), 64 << 10);
        assert_eq!(receive(&other, Side::Client).unwrap().ticket, 9);
        sender.join().unwrap();
        assert!(matches!(
            receive(&other, Side::Client),
            Err(ReceiveError::Closed)
        ));
    }

    #[test]
    fn half_a_frame_and_wrong_descriptors_are_errors() {
        let (mut one, other) = UnixStream::pair().unwrap();
        one.write_all(&[2, 0, 0, 0, 3]).unwrap();
        drop(one);
        assert!(matches!(
            receive(&other, Side::Client),
            Err(ReceiveError::Failed(_))
        ));

        let (one, other) = UnixStream::pair().unwrap();
        let mut header = Frame::new(Kind::Request, 1, Vec::new()).header().unwrap();
        header.descriptors = 1;
        (&one).write_all(&header.encode()).unwrap();
        assert!(matches!(
            receive(&other, Side::Client),
            Err(ReceiveError::Descriptors { came: 0, said: 1 })
        ));
        assert_eq!(peer_of(&one).unwrap().process, std::process::id());
    }
}
