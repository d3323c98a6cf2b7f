//! `tombolo serve`

use crate::arguments::{parse_bytes, SyntaxError};
use crate::interrupt;
use crate::print::{print, say};
use clap::Args;
use std::fs::OpenOptions;
use std::io;
use std::path::PathBuf;
use tombolo::{Export, RemoteServer};

/// Exports memory, or a file, to stream ports of kernels on other machines.
///
/// Ports are connected there with `tombolo run … --connect PORT=remote:HOST:PORT`. It serves until it is interrupted.
/// Then memory is lost, and a file has what was written to it. There is neither encryption nor a password: listen only
/// where you trust every client.
#[derive(Args)]
#[command(after_help = "Examples:
  A file, to be read and written by kernels of this machine:
    tombolo serve data.bin
  64 MiB of zeroed memory, for other machines too:
    tombolo serve 64MiB --listen 0.0.0.0:7010")]
pub(crate) struct Serve {
    /// A regular file, or a number of bytes of memory: 64MiB. Write ./64 for a file named 64.
    what: PathBuf,

    /// Address to listen at; port 0 takes any free port, which is printed.
    #[arg(long, value_name = "HOST:PORT", default_value = "127.0.0.1:7010")]
    listen: String,

    /// Refuses writes of clients.
    #[arg(long)]
    read_only: bool,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    #[error("{0}; nor is there a file of that name")]
    Bytes(#[from] SyntaxError),
    #[error("{what}: {source}")]
    Export { what: String, source: io::Error },
    #[error("listening at {address}: {source}")]
    Listen { address: String, source: io::Error },
}

impl Serve {
    pub(crate) fn run(self) -> Result<(), ServeError> {
        let what = self.what.display().to_string();
        let failed = |source| ServeError::Export {
            what: what.clone(),
            source,
        };
        let export = match parse_bytes(&what) {
            Ok(bytes) => {
                interrupt::say("interrupted: the server has ended, and its memory is lost");
                Export::memory(bytes).map_err(failed)?
            }
            Err(wrong) if what.starts_with(|c: char| c.is_ascii_digit()) && !self.what.exists() => {
                return Err(wrong.into());
            }
            Err(_) => {
                interrupt::say(match self.read_only {
                    true => "interrupted: the server has ended",
                    false => {
                        "interrupted: the server has ended; data that clients wrote is in the file"
                    }
                });
                let mut how = OpenOptions::new();
                let file = how.read(true).write(!self.read_only).open(&self.what);
                Export::file(file.map_err(failed)?, !self.read_only).map_err(failed)?
            }
        };
        let export = match self.read_only {
            true => export.read_only(),
            false => export,
        };
        let server = RemoteServer::listen(export, &self.listen);
        let server = server.map_err(|source| ServeError::Listen {
            address: self.listen.clone(),
            source,
        })?;
        let bytes = server.bytes();
        // Prints the address, because port 0 takes any free port. The process that started this one may have closed its
        // end.
        let address = server.address();
        let told = print(format_args!("{bytes} bytes at remote:{address}\n"));
        if let Err(error) = told {
            say!("tombolo: warning: {error}; serving {bytes} bytes at remote:{address}");
        }
        loop {
            // A signal ends the process.
            std::thread::park();
        }
    }
}
