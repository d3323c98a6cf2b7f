//! Byte streams of unknown length: FIFOs, and sockets of both families. At their other ends are threads with ordinary
//! descriptors, like any process.

use super::{DataPart, Port, StreamDevice, TestBench};
use crate::bars::Failure;
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::{spawn, JoinHandle};
use tombolo::{Device, Flow};

/// Kind of byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `pipe:`, one FIFO per direction.
    Pipe,
    /// `tcp:` into the kernel, `tcp-listen:` out of it.
    Tcp,
    /// `unix:` into the kernel, `unix-listen:` out of it.
    Unix,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Pipe, Self::Tcp, Self::Unix];
}

/// A device of one of these kinds.
pub struct ByteStreamDevice {
    kind: Kind,
    /// Paths of FIFOs and Unix sockets: into the kernel, out of it.
    paths: [PathBuf; 2],
    tcp: TcpListener,
    unix: UnixListener,
    writer: Option<JoinHandle<io::Result<()>>>,
    reader: Option<JoinHandle<io::Result<Vec<u8>>>>,
    got: Vec<Vec<u8>>,
}

fn device(kind: &str, place: impl AsRef<Path>) -> Result<Device, Failure> {
    let place = place.as_ref().display();
    let name = format!("{kind}:{place}:buffer=64KiB:timeout=60s");
    Ok(Device::parse(name.as_ref())?)
}

fn write(mut to: impl Write, bytes: &[u8]) -> io::Result<()> {
    // Pieces that match neither buffers nor rows.
    bytes.chunks(7919).try_for_each(|piece| to.write_all(piece))
}

fn read(mut from: impl Read) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl ByteStreamDevice {
    /// Creates the FIFOs, or listens.
    pub fn new(site: &TestBench<'_>, kind: Kind) -> Result<Self, Failure> {
        let paths = ["in", "out"].map(|way| site.folder.join(format!("{kind:?}.{way}")));
        if kind == Kind::Pipe && !Command::new("mkfifo").args(&paths).status()?.success() {
            return Err("mkfifo failed".into());
        }
        let socket = site.folder.join(format!("{kind:?}.socket"));
        Ok(Self {
            kind,
            tcp: TcpListener::bind("127.0.0.1:0")?,
            unix: UnixListener::bind(&socket)?,
            paths: match kind {
                Kind::Unix => [socket, paths[1].clone()],
                _ => paths,
            },
            writer: None,
            reader: None,
            got: Vec::new(),
        })
    }
}

impl StreamDevice for ByteStreamDevice {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Pipe => "pipe",
            Kind::Tcp => "tcp",
            Kind::Unix => "unix",
        }
    }

    fn give(
        &mut self,
        flow: &mut Flow<'_>,
        port: Port<'_>,
        given: DataPart<'_>,
    ) -> Result<(), Failure> {
        let bytes = given.bytes.to_vec();
        let path = self.paths[0].clone();
        let (device, writer) = match self.kind {
            Kind::Pipe => (
                device("pipe", &path)?,
                spawn(move || write(File::options().write(true).open(path)?, &bytes)),
            ),
            Kind::Tcp => {
                let listener = self.tcp.try_clone()?;
                (
                    device("tcp", self.tcp.local_addr()?.to_string())?,
                    spawn(move || write(listener.accept()?.0, &bytes)),
                )
            }
            Kind::Unix => {
                let listener = self.unix.try_clone()?;
                (
                    device("unix", &path)?,
                    spawn(move || write(listener.accept()?.0, &bytes)),
                )
            }
        };
        self.writer = Some(writer);
        flow.plug(port.slot, port.name, device)?;
        Ok(())
    }

    fn given(&mut self) -> Result<(), Failure> {
        let writer = self.writer.take().ok_or("nobody writes")?;
        Ok(writer.join().map_err(|_| "the writer panicked")??)
    }

    fn take(&mut self, flow: &mut Flow<'_>, port: Port<'_>, _room: u64) -> Result<(), Failure> {
        let path = self.paths[1].clone();
        let mut plug = |device| flow.plug(port.slot, port.name, device);
        self.reader = Some(match self.kind {
            Kind::Pipe => {
                plug(device("pipe", &path)?)?;
                spawn(move || read(File::open(path)?))
            }
            Kind::Tcp => {
                let address = plug(device("tcp-listen", "0")?)?.ok_or("no address")?;
                spawn(move || read(TcpStream::connect(address)?))
            }
            Kind::Unix => {
                plug(device("unix-listen", &path)?)?;
                spawn(move || read(UnixStream::connect(path)?))
            }
        });
        Ok(())
    }

    fn taken(&mut self, bytes: u64) -> Result<(), Failure> {
        let reader = self.reader.take().ok_or("nobody reads")?;
        let got = reader.join().map_err(|_| "the reader panicked")??;
        if got.len() as u64 != bytes {
            let told = format!("{} bytes arrived of {bytes}", got.len());
            return Err(told.into());
        }
        self.got.push(got);
        Ok(())
    }

    fn collect(&mut self) -> Result<Vec<Vec<u8>>, Failure> {
        Ok(std::mem::take(&mut self.got))
    }
}
