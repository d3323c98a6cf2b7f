//! `tombolo serve`, as a separate process.

use super::Failure;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The server process; killed on drop.
pub(super) struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Serves a file, or memory of a given size; `tombolo` is the path of the command.
    pub(super) fn start(tombolo: &Path, what: &OsStr) -> Result<Self, Failure> {
        let mut child = Command::new(tombolo)
            .arg("serve")
            .arg(what)
            .args(["--listen", "127.0.0.1:0"])
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().ok_or("serve says nothing")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let found = line.trim_end().split_once("remote:");
        let (_, address) = found.ok_or_else(|| format!("serve says: {line}"))?;
        let address = address.to_owned();
        Ok(Self { child, address })
    }

    /// Its address, `HOST:PORT`.
    pub(super) fn address(&self) -> &str {
        &self.address
    }

    /// Sends a signal, such as SIGSTOP or SIGCONT.
    pub(super) fn signal(&self, signal: libc::c_int) {
        // SAFETY: a child that has not been waited for.
        unsafe { libc::kill(self.child.id() as libc::pid_t, signal) };
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
