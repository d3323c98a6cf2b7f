//! Socket activation by systemd or a compatible supervisor (`sd_listen_fds(3)`, `sd_notify(3)`).

use std::io;
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

/// Number of the first descriptor passed.
const FIRST: i32 = 3;

/// Why the passed descriptors cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ActivationError {
    /// Not exactly one socket was passed.
    #[error(
        "LISTEN_FDS={told}: a daemon listens at one socket; name one ListenStream in its unit"
    )]
    Count {
        /// Value of `LISTEN_FDS`.
        told: String,
    },
    /// The descriptor is not a listening Unix stream socket.
    #[error(
        "the descriptor that was handed over (LISTEN_FDS) is no listening Unix stream socket: {0}"
    )]
    Kind(io::Error),
}

/// The socket passed to this process; `None` if there was none.
///
/// # Errors
/// See [`ActivationError`].
pub fn passed_socket() -> Result<Option<UnixListener>, ActivationError> {
    let told = |name: &str| std::env::var(name).ok();
    let own = std::process::id().to_string();
    // The variables may be meant for a parent process.
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

/// Reports readiness to the supervisor, if it asks for that (`NOTIFY_SOCKET`).
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
