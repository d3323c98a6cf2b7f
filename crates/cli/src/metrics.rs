//! `tombolo daemon --metrics`: Prometheus metrics over HTTP, at a local socket.

use crate::print::say;
use crate::status;
use ::daemon::{Daemon, DaemonError, Door, Listening};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tombolo::{Error, Status};

/// Timeout for a client to send its request, and to take the answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum bytes of a request.
const MOST: u64 = 8 << 10;

type Look = dyn Fn() -> Result<Status, Error> + Send + Sync;

/// Serves metrics at a socket that only this user can open.
///
/// # Errors
/// See [`DaemonError`].
pub(crate) fn serve(daemon: &Daemon, path: &Path) -> Result<Listening, DaemonError> {
    let look: Arc<Look> = Arc::new(daemon.watcher());
    Listening::begin(path, Door::OwnUser, move |socket| {
        let look = look.clone();
        // A client that disconnects early is no error.
        let answer = move || drop(answer(&socket, &*look));
        // If no thread can be started, the connection is closed.
        if let Err(error) = std::thread::Builder::new().spawn(answer) {
            say!("tombolo: warning: metrics could not be given: {error}");
        }
    })
}

fn answer(socket: &UnixStream, look: &Look) -> io::Result<()> {
    socket.set_read_timeout(Some(PATIENCE))?;
    socket.set_write_timeout(Some(PATIENCE))?;
    let asked = request(socket)?;
    let (status, body) = if !asked.starts_with("GET ") {
        ("405 Method Not Allowed", "GET /metrics\n".to_owned())
    } else {
        match look() {
            Ok(status) => ("200 OK", status::metrics(&status)),
            Err(error) => ("503 Service Unavailable", format!("{error}\n")),
        }
    };
    let mut socket = socket;
    write!(
        socket,
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: {}\r\n\
         Connection: close\r\n\r\n{body}",
        body.len()
    )
}

/// Reads a whole request; returns its first line.
fn request(socket: &UnixStream) -> io::Result<String> {
    let mut lines = BufReader::new(socket.take(MOST)).lines();
    let ended = || io::Error::from(io::ErrorKind::UnexpectedEof);
    let first = lines.next().ok_or_else(ended)??;
    for line in lines {
        if line?.is_empty() {
            return Ok(first);
        }
    }
    Err(ended())
}
