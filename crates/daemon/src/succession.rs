//! A daemon takes the place of another: the listening socket is passed on, so that no client is refused meanwhile.

use crate::DaemonError;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use wire::{decode, receive, send, Failure, Frame, Kind, Side};

/// Asks the daemon at a path for its socket, and waits until its clients have ended.
///
/// # Errors
/// [`DaemonError::Successor`].
pub(crate) fn ask(path: &Path) -> Result<UnixListener, DaemonError> {
    let failed = |rule: String| DaemonError::Successor {
        path: path.to_owned(),
        rule,
    };
    let socket = UnixStream::connect(path).map_err(|error| {
        failed(format!(
            "{error}; without a daemon there, start this one without --upgrade"
        ))
    })?;
    send(&socket, &Frame::new(Kind::HandOver, 0, Vec::new()))
        .map_err(|error| failed(error.to_string()))?;
    let answer = receive(&socket, Side::Daemon).map_err(|error| {
        failed(format!(
            "{error}: it ended, or it is of a version that cannot hand over; start this one without --upgrade when it has \
             ended"
        ))
    })?;
    match (answer.kind, answer.descriptors.into_iter().next()) {
        (Kind::Listener, Some(listener)) => Ok(UnixListener::from(listener)),
        (Kind::Failure, _) => {
            let failure = decode::<Failure>(&answer.body);
            Err(failed(failure.map_or_else(
                |error| error.to_string(),
                |failure| failure.message,
            )))
        }
        (other, _) => Err(failed(format!("its answer is {other:?}"))),
    }
}

/// Gives the socket away.
///
/// # Errors
/// The system's.
pub(crate) fn give(to: &UnixStream, listener: &UnixListener) -> io::Result<()> {
    let mut frame = Frame::new(Kind::Listener, 0, Vec::new());
    frame.descriptors = vec![listener.as_fd().try_clone_to_owned()?];
    send(to, &frame)
}
