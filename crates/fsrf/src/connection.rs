//! One connection: its requests and replies in order, and its end.

use crate::app::{App, AppError};
use crate::files::Files;
use crate::layout::Layout;
use crate::message::{Decoder, Malformed, Reply, Request};
use crate::notice::{Notice, Notices};
use crate::process::{Process, Processes};
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, MutexGuard, PoisonError};

/// Maximum bytes per read of the socket.
const CHUNK: usize = 1 << 16;

/// State shared by all connections.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) apps: BTreeMap<u64, App>,
    pub(crate) processes: Processes,
    pub(crate) layout: Layout,
}

/// Why a connection ends before its program closes it.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error("the socket failed: {0}")]
    Socket(#[from] io::Error),
    #[error("{0}")]
    Malformed(#[from] Malformed),
    #[error("it ended within a message")]
    Within,
    #[error("{message} for application {app}, which there is not: applications are {known}")]
    NoApp {
        message: &'static str,
        app: u64,
        known: String,
    },
    #[error("application {app}: {error}; no reply could say so, and the connection is ended")]
    App { app: u64, error: Box<AppError> },
}

impl Broken {
    fn of(app: u64, error: AppError) -> Self {
        let error = Box::new(error);
        Self::App { app, error }
    }
}

/// A program's connection.
pub(crate) struct Connection {
    socket: Arc<UnixStream>,
    shared: Arc<Shared>,
    process: u32,
    files: Process,
    /// Applications that it uses.
    apps: Vec<u64>,
    notices: Notices,
}

impl Connection {
    pub(crate) fn new(
        socket: Arc<UnixStream>,
        shared: Arc<Shared>,
        process: u32,
        notices: Notices,
    ) -> Self {
        let files = shared.processes.enter(process);
        Self {
            socket,
            shared,
            process,
            files,
            apps: Vec::new(),
            notices,
        }
    }

    /// Serves the connection until it ends.
    pub(crate) fn serve(mut self) {
        match self.requests() {
            Ok(()) => {}
            // A killed program has not read its replies.
            Err(Broken::Socket(error)) => {
                tracing::info!(process = self.process, %error, "a program has ended")
            }
            // The daemon is ending.
            Err(Broken::App { error, .. }) if error.is_interrupted() => {}
            Err(error) => self.notices.give(Notice::ended(self.process, &error)),
        }
        // A program that waits for a reply learns that none will come.
        let _ = self.socket.shutdown(std::net::Shutdown::Both);
    }

    fn requests(&mut self) -> Result<(), Broken> {
        let mut decoder = Decoder::new(self.shared.layout.clone());
        let mut chunk = vec![0; CHUNK];
        loop {
            let bytes = match (&*self.socket).read(&mut chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if bytes == 0 {
                return match decoder.is_within() {
                    true => Err(Broken::Within),
                    false => Ok(()),
                };
            }
            decoder.take(&chunk[..bytes]);
            while let Some(request) = decoder.next_request()? {
                if let Some(reply) = self.answer(request)? {
                    (&*self.socket).write_all(&reply.bytes())?;
                }
            }
        }
    }

    fn files(&self) -> MutexGuard<'_, Files> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The application that a request names; it belongs to this process from now on.
    fn app(&mut self, message: &'static str, app: u64) -> Result<&App, Broken> {
        let found = self.shared.apps.get(&app);
        let found = found.ok_or_else(|| {
            let known = self.shared.apps.keys().map(u64::to_string);
            let known = known.collect::<Vec<_>>().join(", ");
            Broken::NoApp {
                message,
                app,
                known,
            }
        })?;
        if !self.apps.contains(&app) {
            let taken = found.take(self.process);
            taken.map_err(|error| Broken::of(app, error))?;
            self.apps.push(app);
        }
        Ok(found)
    }

    /// Handles a request. A failure that a reply can express is returned in it; one that it cannot, if not fatal, is
    /// reported to the daemon's log; an unusable register ends the connection, since its program would wait without end
    /// or use a meaningless value.
    fn answer(&mut self, request: Request) -> Result<Option<Reply>, Broken> {
        tracing::debug!(process = self.process, ?request, "a message");
        match request {
            Request::Read { app, register } => {
                let read = self.app("read", app)?.read(register);
                let value = read.map_err(|error| Broken::of(app, error))?;
                Ok(Some(Reply::Word(value)))
            }
            Request::Write {
                app,
                register,
                value,
            } => {
                let written = self.app("write", app)?.write(register, value);
                written.map_err(|error| Broken::of(app, error))?;
                Ok(None)
            }
            Request::Open { path } => {
                let opened = self.files().open(&path);
                let descriptor = opened.unwrap_or_else(|error| {
                    self.report(None, &error);
                    -1
                });
                Ok(Some(Reply::Number(descriptor)))
            }
            Request::Close { descriptor } => {
                let closed = self.files().close(descriptor);
                let number = match closed {
                    Ok(true) => 0,
                    // The cause was reported when it occurred.
                    Ok(false) => -1,
                    Err(error) => {
                        self.report(None, &error);
                        -1
                    }
                };
                Ok(Some(Reply::Number(number)))
            }
            Request::Map(map) => {
                let file = self.files().get(map.descriptor).cloned();
                let app = self.app("mmap", map.app)?;
                let mapped = file
                    .map_err(AppError::from)
                    .and_then(|file| app.map(&file, map));
                let address = mapped.unwrap_or_else(|error| {
                    self.report(Some(map.app), &error);
                    // MAP_FAILED
                    u64::MAX
                });
                Ok(Some(Reply::Word(address)))
            }
            Request::Unmap(range) => {
                if let Err(error) = self.app("munmap", range.app)?.unmap(range) {
                    self.report(Some(range.app), &error);
                }
                Ok(None)
            }
            Request::Sync { range, flags } => {
                if let Err(error) = self.app("msync", range.app)?.sync(range, flags) {
                    self.report(Some(range.app), &error);
                }
                Ok(None)
            }
            // The card pages by its own policies.
            Request::SetMode { mode, data } => {
                tracing::info!(process = self.process, mode, data, "set_mode has no effect");
                Ok(None)
            }
        }
    }

    fn report(&self, app: Option<u64>, error: &dyn std::error::Error) {
        self.notices.give(Notice::failed(self.process, app, error));
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        for app in std::mem::take(&mut self.apps) {
            let Some(found) = self.shared.apps.get(&app) else {
                continue;
            };
            if let Err(error) = found.release() {
                self.report(Some(app), &error);
            }
        }
        self.shared.processes.leave(self.process);
    }
}
