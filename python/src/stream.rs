//! Stream ports: transfers from and to memory, and connected ports.

use crate::errors;
use crate::handle::Handle;
use crate::mapping::Mapping;
use crate::memory::Memory;
use crate::slot::Slot;
use crate::values::{kind, picoseconds, ConnectionState, Deadline, Moved, OnProgress};
use crate::wait::Watch;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::inspect::PyStaticExpr;
use pyo3::prelude::*;
use pyo3::{type_hint_union, Borrowed, PyTypeInfo};
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo as library;
use tombolo::{Error, MappedRange, Picoseconds, StreamErrorKind};

/// An open stream port of a kernel, connected to memory; created by :meth:`Slot.open_stream`.
///
/// The terms are vFPIO's: :meth:`read` is from memory into the kernel, :meth:`write` from the kernel into memory.
/// Both only start a transfer; :meth:`wait` waits for the oldest one. As a context manager it is closed at the
/// end of ``with``.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct Stream {
    slot: Py<Slot>,
    stream: Handle<library::Stream>,
    port: String,
    /// Keeps the memory of outstanding transfers mapped.
    held: Mutex<VecDeque<Py<PyAny>>>,
}

/// Memory of a transfer.
pub enum Place<'py> {
    /// A file or an array.
    Mapping(Bound<'py, Mapping>),
    /// Shared with the program.
    Memory(Bound<'py, Memory>),
}

impl<'py> FromPyObject<'_, 'py> for Place<'py> {
    type Error = PyErr;
    const INPUT_TYPE: PyStaticExpr = type_hint_union!(Mapping::TYPE_HINT, Memory::TYPE_HINT);

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(mapping) = object.cast::<Mapping>() {
            return Ok(Self::Mapping(mapping.to_owned()));
        }
        if let Ok(memory) = object.cast::<Memory>() {
            return Ok(Self::Memory(memory.to_owned()));
        }
        Err(PyTypeError::new_err(format!(
            "memory is {}; pass what space.map_file, space.map_array or space.alloc gave",
            kind(&object)
        )))
    }
}

impl Place<'_> {
    /// All of it.
    pub fn all(&self, py: Python<'_>) -> PyResult<MappedRange> {
        self.part(py, 0, None)
    }

    /// Bytes from an offset on; up to the end if their number is not given.
    fn part(&self, py: Python<'_>, offset: u64, bytes: Option<u64>) -> PyResult<MappedRange> {
        let rest = |all: u64| bytes.unwrap_or(all.saturating_sub(offset));
        match self {
            Self::Mapping(mapping) => {
                let mapping = mapping.get();
                mapping.part(py, offset, rest(mapping.len()))
            }
            Self::Memory(memory) => {
                let memory = memory.get();
                memory.part(py, offset, rest(memory.len()))
            }
        }
    }

    fn into_object(self) -> Py<PyAny> {
        match self {
            Self::Mapping(mapping) => mapping.into_any().unbind(),
            Self::Memory(memory) => memory.into_any().unbind(),
        }
    }
}

/// Offset and size of a range, neither of them negative.
fn counts(offset: i128, bytes: Option<i128>) -> PyResult<(u64, Option<u64>)> {
    let number = |number: i128| u64::try_from(number).ok();
    match (number(offset), bytes.map(number)) {
        (Some(offset), None) => Ok((offset, None)),
        (Some(offset), Some(Some(bytes))) => Ok((offset, Some(bytes))),
        _ => {
            let bytes = bytes.map_or_else(|| "None".to_owned(), |bytes| bytes.to_string());
            let rule = format!("{bytes} bytes from {offset} on: neither is negative");
            Err(PyValueError::new_err(rule))
        }
    }
}

impl Stream {
    pub(crate) fn new(slot: Py<Slot>, stream: library::Stream, port: String) -> Self {
        Self {
            slot,
            stream: Handle::new("stream", stream),
            port,
            held: Mutex::default(),
        }
    }

    fn held(&self) -> MutexGuard<'_, VecDeque<Py<PyAny>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The oldest transfer is over.
    fn moved(&self, moved: library::Moved) -> Moved {
        let over = self.held().pop_front();
        drop(over);
        Moved((moved.bytes, moved.last))
    }

    /// Waits for the oldest transfer; `None` if there is none.
    fn next(
        &self,
        py: Python<'_>,
        deadline: Option<Picoseconds>,
        progress: Option<OnProgress>,
    ) -> PyResult<Result<Moved, Error>> {
        let (waited, raised) = self.stream.call(py, |stream| {
            let mut watch = Watch::new(progress);
            let waited = stream.wait(deadline, |progress| watch.look(progress));
            Ok((waited, watch.raised()))
        })?;
        match (waited, raised) {
            (Err(Error::Interrupted) | Ok(_), Some(raised)) => Err(raised),
            (Err(error), _) => match error.stream_kind() {
                Some(StreamErrorKind::NothingUnderWay) => Ok(Err(error)),
                _ => Err(errors::raise(py, &error)),
            },
            (Ok(found), None) => Ok(Ok(self.moved(found))),
        }
    }
}

#[pymethods]
impl Stream {
    /// Its name in the kernel's manifest.
    #[getter]
    fn port(&self) -> &str {
        &self.port
    }

    /// Starts a transfer from memory into the kernel: one packet, after the transfers started earlier.
    ///
    /// :param memory: a mapping, or shared memory, of the slot's space.
    /// :param offset: its first byte.
    /// :param nbytes: number of bytes; up to the end if not given.
    /// :raises StreamError: a stream out of the kernel, memory of another space, or not inside it.
    #[pyo3(signature = (memory, offset=0, nbytes=None))]
    fn read(
        &self,
        py: Python<'_>,
        memory: Place<'_>,
        offset: i128,
        nbytes: Option<i128>,
    ) -> PyResult<()> {
        let (offset, bytes) = counts(offset, nbytes)?;
        let range = memory.part(py, offset, bytes)?;
        self.stream.call(py, |stream| stream.read(range))?;
        self.held().push_back(memory.into_object());
        Ok(())
    }

    /// Starts a transfer from the kernel into memory. It ends with the kernel's packet, or when the range is
    /// full; further data of the kernel waits for the next one.
    ///
    /// Arguments and errors as for :meth:`read`.
    #[pyo3(signature = (memory, offset=0, nbytes=None))]
    fn write(
        &self,
        py: Python<'_>,
        memory: Place<'_>,
        offset: i128,
        nbytes: Option<i128>,
    ) -> PyResult<()> {
        let (offset, bytes) = counts(offset, nbytes)?;
        let range = memory.part(py, offset, bytes)?;
        self.stream.call(py, |stream| stream.write(range))?;
        self.held().push_back(memory.into_object());
        Ok(())
    }

    /// Result of the oldest transfer, if it is complete; no virtual time passes.
    ///
    /// :raises StreamError: no transfer is outstanding, or the transfer failed.
    fn poll(&self, py: Python<'_>) -> PyResult<Option<Moved>> {
        let found = self.stream.call(py, library::Stream::poll)?;
        Ok(found.map(|found| self.moved(found)))
    }

    /// Waits until the oldest transfer is complete. Other threads run meanwhile, and Ctrl-C ends the wait.
    ///
    /// :param deadline: timeout in seconds of virtual time; the transfer continues.
    /// :param progress: as for :meth:`Slot.wait`.
    /// :raises DeadlineError: the deadline has passed; the message names the cause.
    /// :raises StreamError: no transfer is outstanding.
    /// :raises StreamResetError: the slot was reset during the transfer.
    /// :raises AccessError: an access of the transfer failed.
    #[pyo3(signature = (deadline=None, progress=None))]
    fn wait(
        &self,
        py: Python<'_>,
        deadline: Option<Deadline>,
        progress: Option<OnProgress>,
    ) -> PyResult<Moved> {
        let found = self.next(py, picoseconds(deadline), progress)?;
        found.map_err(|error| errors::raise(py, &error))
    }

    /// Waits until all outstanding transfers are complete, in order.
    ///
    /// :param deadline: for each, as for :meth:`wait`.
    /// :raises Error: as :meth:`wait`, for the first that fails. Later ones can still be waited for.
    #[pyo3(signature = (deadline=None))]
    fn sync(&self, py: Python<'_>, deadline: Option<Deadline>) -> PyResult<Vec<Moved>> {
        let deadline = picoseconds(deadline);
        let mut moved = Vec::new();
        while let Ok(found) = self.next(py, deadline, None)? {
            moved.push(found);
        }
        Ok(moved)
    }

    /// Releases the port; no effect if it is closed.
    ///
    /// :raises StreamError: a transfer is outstanding, and the port stays open. Or the kernel has sent more than was
    ///     taken: the port is closed, and the remaining data is lost with the kernel.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if !self.stream.is_closed() {
            // It stays open if transfers are under way.
            match self.stream.call(py, |stream| Ok(stream.close()))? {
                Ok(()) | Err(Error::Gone { .. }) => self.stream.close(py, |_| Ok(()))?,
                // Some data were not read; the stream is closed all the same.
                Err(error) if error.stream_kind() == Some(StreamErrorKind::Unread) => {
                    self.stream.close(py, |_| Ok(()))?;
                    return Err(errors::raise(py, &error));
                }
                Err(error) => return Err(errors::raise(py, &error)),
            }
        }
        let held = std::mem::take(&mut *self.held());
        drop(held);
        Ok(())
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match kind.is_none() {
            true => self.close(py),
            false => Ok(()),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!(
            "<Stream {} of {}>",
            self.port,
            self.slot.bind(py).repr()?
        ))
    }
}

/// Two connected stream ports, without memory in between; created by :meth:`Card.connect`.
///
/// It lasts as long as this object, and ends at the end of the current packet.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct Connection {
    connection: Handle<library::Connection>,
}

impl Connection {
    pub(crate) fn new(connection: library::Connection) -> Self {
        Self {
            connection: Handle::new("connection", connection),
        }
    }
}

#[pymethods]
impl Connection {
    /// Current state.
    ///
    /// :raises GoneError: the ports are disconnected, or one of the slots has another kernel.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<ConnectionState> {
        let state = self.connection.call(py, library::Connection::state)?;
        let waits = state.waits_for_receiver;
        Ok(ConnectionState((state.pending, state.cut, waits)))
    }

    /// Disconnects the ports at the end of the current packet: no data is lost.
    ///
    /// :raises StreamError: the packet has not ended within a millisecond of virtual time; call again to
    ///     continue waiting.
    /// :raises GoneError: the ports are already disconnected, or one of the slots has another kernel.
    fn disconnect(&self, py: Python<'_>) -> PyResult<()> {
        self.connection.call(py, library::Connection::disconnect)
    }
}
