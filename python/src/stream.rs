//! `NativeStream` and `NativeConnection`

use crate::handle::Handle;
use crate::memory::NativeMemory;
use crate::space::NativeMapping;
use crate::wait::Watch;
use pyo3::prelude::*;
use tombolo::{Connection, Error, MappedRange, Moved, Picoseconds, Stream, StreamError};

/// An open stream port.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeStream {
    stream: Handle<Stream>,
}

/// Memory of a transfer.
#[derive(FromPyObject)]
enum Place<'py> {
    Mapping(Bound<'py, NativeMapping>),
    Memory(Bound<'py, NativeMemory>),
}

impl Place<'_> {
    fn range(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<MappedRange> {
        match self {
            Self::Mapping(mapping) => mapping.get().part(py, offset, bytes),
            Self::Memory(memory) => memory.get().part(py, offset, bytes),
        }
    }
}

fn moved(moved: Moved) -> (u64, bool) {
    (moved.bytes, moved.last)
}

impl NativeStream {
    pub(crate) fn new(stream: Stream) -> Self {
        Self {
            stream: Handle::new("stream", stream),
        }
    }
}

#[pymethods]
impl NativeStream {
    /// Begins a transfer from memory into the kernel.
    fn read(&self, py: Python<'_>, memory: Place<'_>, offset: u64, bytes: u64) -> PyResult<()> {
        let range = memory.range(py, offset, bytes)?;
        self.stream.call(py, |stream| stream.read(range))
    }

    /// Begins a transfer from the kernel into memory.
    fn write(&self, py: Python<'_>, memory: Place<'_>, offset: u64, bytes: u64) -> PyResult<()> {
        let range = memory.range(py, offset, bytes)?;
        self.stream.call(py, |stream| stream.write(range))
    }

    /// Bytes, and whether they end a packet, of the oldest transfer if it is over.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<(u64, bool)>> {
        let found = self.stream.call(py, Stream::poll)?;
        Ok(found.map(moved))
    }

    /// As `poll`, of the oldest transfer when it is over. That none is under way is an error if `need`.
    fn wait(
        &self,
        py: Python<'_>,
        deadline_ps: Option<u64>,
        progress: Option<Py<PyAny>>,
        need: bool,
    ) -> PyResult<Option<(u64, bool)>> {
        let deadline = deadline_ps.map(Picoseconds::new);
        let (waited, raised) = self.stream.call(py, |stream| {
            let mut watch = Watch::new(progress);
            let waited = stream.wait(deadline, |progress| watch.look(progress));
            Ok((waited, watch.raised()))
        })?;
        match (waited, raised) {
            (Err(Error::Interrupted) | Ok(_), Some(raised)) => Err(raised),
            (Err(Error::Stream(StreamError::NothingUnderWay { .. })), _) if !need => Ok(None),
            (Err(error), _) => Err(crate::errors::raise(py, &error)),
            (Ok(found), None) => Ok(Some(moved(found))),
        }
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if self.stream.is_closed() {
            return Ok(());
        }
        // It stays open if transfers are under way.
        match self.stream.call(py, |stream| Ok(stream.close()))? {
            Ok(()) | Err(Error::Gone { .. }) => self.stream.close(py, |_| Ok(())),
            // Some data were not read; the stream is closed all the same.
            Err(error @ Error::Stream(StreamError::Unread { .. })) => {
                self.stream.close(py, |_| Ok(()))?;
                Err(crate::errors::raise(py, &error))
            }
            Err(error) => Err(crate::errors::raise(py, &error)),
        }
    }
}

/// Two stream ports joined.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeConnection {
    connection: Handle<Connection>,
}

impl NativeConnection {
    pub(crate) fn new(connection: Connection) -> Self {
        Self {
            connection: Handle::new("connection", connection),
        }
    }
}

#[pymethods]
impl NativeConnection {
    /// Pending, cut, waits for the receiver.
    fn state(&self, py: Python<'_>) -> PyResult<(bool, bool, bool)> {
        let state = self.connection.call(py, Connection::state)?;
        Ok((state.pending, state.cut, state.waits_for_receiver))
    }

    fn disconnect(&self, py: Python<'_>) -> PyResult<()> {
        self.connection.call(py, Connection::disconnect)
    }
}
