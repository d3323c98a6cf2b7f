//! Started by systemd, or another that hands over a socket (`sd_listen_fds(3)`, `sd_notify(3)`).

use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

/// The number of the first descriptor that is handed over.
const FIRST: i32 = 3;

/// Why what was handed over is of no use.
#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    /// Another number of sockets than one.
    #[error(
        "LISTEN_FDS={told}: a daemon listens at one socket; name one ListenStream in its unit"
    )]
    Count {
        /// The variable.
        told: String,
    },
    /// It is no socket of the right kind.
    #[error(
        "the descriptor that was handed over (LISTEN_FDS) is no listening Unix stream socket: {0}"
    )]
    Kind(io::Error),
}

/// The socket that this process was started with; `None` if it was started without one.
///
/// # Errors
/// See [`ActivationError`].
pub fn passed_socket() -> Result<Option<UnixListener>, ActivationError> {
    let told = |name: &str| std::env::var(name).ok();
    let own = std::process::id().to_string();
    // They may be of a process above.
    let (Some(count), true) = (told("LISTEN_FDS"), told("LISTEN_PID") == Some(own)) else {
        return Ok(None);
    };
    if count != "1" {
        return Err(ActivationError::Count { told: count });
    }
    let socket = tombolo::io::inherited(FIRST).map_err(ActivationError::Kind)?;
    let listens = rustix::net::sockopt::socket_acceptconn(socket.as_fd());
    let listens = listens.map_err(|error| ActivationError::Kind(error.into()))?;
    let listener = UnixListener::from(socket);
    let is_unix = listener.local_addr();
    is_unix.map_err(ActivationError::Kind)?;
    match listens {
        true => Ok(Some(listener)),
        false => Err(ActivationError::Kind(io::Error::other(
            "nobody can connect to it",
        ))),
    }
}

/// Says to who started this process that it serves now, if that wants to know (`NOTIFY_SOCKET`).
pub fn tell_ready() {
    let Ok(place) = std::env::var("NOTIFY_SOCKET") else {
        return;
    };
    if let Err(error) = tell(&place, "READY=1\n") {
        tracing::warn!(%error, place, "whoever started this daemon cannot be told that it is ready");
    }
}

fn tell(place: &str, words: &str) -> io::Result<()> {
    let address = match place.strip_prefix('@') {
        Some(name) => SocketAddr::from_abstract_name(name)?,
        None => SocketAddr::from_pathname(place)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.send_to_addr(words.as_bytes(), &address).map(drop)
}
