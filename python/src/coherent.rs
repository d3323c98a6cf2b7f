//! Cache lines of a coherent card's CPU.

use crate::card::Card;
use crate::errors;
use crate::handle::Handle;
use crate::values::{self, Bytes, Core, Count, Deadline, LineNames, Offset, RpcAnswer};
use crate::wait::SIGNAL_INTERVAL;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tombolo as library;
use tombolo::{CoherentMapOptions, Error};

/// Bytes of the lines of a call context.
const TWO_LINES: u64 = 256;

/// Calls the library in a thread, and checks for signals meanwhile: a kernel may stall an access for long, and a wait
/// for a line could not be interrupted otherwise. After a signal the call continues, and its result is dropped.
fn watched<R: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<R, Error> + Send + 'static,
) -> PyResult<R> {
    let answer: PyResult<Result<R, Error>> = py.detach(move || {
        let (sender, receiver) = channel();
        let calls = move || drop(sender.send(call()));
        if let Err(error) = threads::spawn("coherent access", calls) {
            return Ok(Err(Error::Internal(format!(
                "no thread for an access: {error}"
            ))));
        }
        loop {
            match receiver.recv_timeout(SIGNAL_INTERVAL) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => {
                    let text = "an access ended without an answer".to_owned();
                    return Ok(Err(Error::Internal(text)));
                }
            }
        }
    });
    answer?.map_err(|error| errors::raise(py, &error))
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A range of addresses behind the directory of a coherent card, used by one core of its CPU; created by
/// :meth:`Card.coherent_memory` and :meth:`Card.home_memory`.
///
/// Lines are 128 bytes. Each operation is exact: it takes the virtual time of core, caches, link, directory and
/// kernel (compare :attr:`Card.time` before and after). Other threads run meanwhile, and Ctrl-C ends the
/// wait, though not the access.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct CoherentMemory {
    card: Py<Card>,
    memory: Handle<library::CoherentMemory>,
    base: u64,
    bytes: u64,
}

impl CoherentMemory {
    pub(crate) fn new(card: Py<Card>, memory: library::CoherentMemory) -> Self {
        Self {
            card,
            base: memory.base(),
            bytes: memory.bytes(),
            memory: Handle::new("coherent memory", memory),
        }
    }

    /// Calls the library in a thread.
    fn does<R: Send + 'static>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&library::CoherentMemory) -> Result<R, Error> + Send + 'static,
    ) -> PyResult<R> {
        let memory = self.memory.shared(py)?;
        watched(py, move || call(&memory))
    }

    /// The same memory, used in another way.
    fn with(
        &self,
        py: Python<'_>,
        change: impl FnOnce(library::CoherentMemory) -> library::CoherentMemory,
    ) -> PyResult<Self> {
        let memory = library::CoherentMemory::clone(&*self.memory.shared(py)?);
        Ok(Self::new(self.card.clone_ref(py), change(memory)))
    }

    fn begin(
        &self,
        py: Python<'_>,
        begin: impl Send + FnOnce(&library::CoherentMemory) -> Result<library::PendingLine, Error>,
    ) -> PyResult<PendingLine> {
        Ok(PendingLine::new(self.memory.call(py, begin)?))
    }
}

#[pymethods]
impl CoherentMemory {
    /// Address of the first byte on the coherent link.
    #[getter]
    fn base(&self) -> u64 {
        self.base
    }

    /// Bytes, a multiple of 128.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes
    }

    /// The same memory, used by another core.
    ///
    /// :param core: its number, starting at 0.
    fn on_core(&self, py: Python<'_>, core: Core) -> PyResult<Self> {
        self.with(py, |memory| memory.on_core(core.0))
    }

    /// The same memory, with another timeout for accesses.
    ///
    /// :param seconds: of virtual time; 1 by default.
    fn with_deadline(&self, py: Python<'_>, seconds: Deadline) -> PyResult<Self> {
        self.with(py, |memory| memory.with_deadline(seconds.0))
    }

    /// Loads a line: 128 bytes.
    ///
    /// :param offset: a multiple of 128.
    /// :param exclusive: for this CPU alone, so that it can be written without another message.
    /// :raises CoherentRangeError: no such line.
    /// :raises NoHomeError: no kernel and no memory is behind the directory.
    /// :raises HomeError: the kernel broke a rule.
    /// :raises LineLateError: it does not answer.
    #[pyo3(signature = (offset, *, exclusive=false))]
    fn load<'py>(
        &self,
        py: Python<'py>,
        offset: Offset,
        exclusive: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let line = self.does(py, move |memory| match exclusive {
            false => memory.load(offset.0),
            true => memory.load_exclusive(offset.0),
        })?;
        Ok(PyBytes::new(py, &line))
    }

    /// Stores bytes, and returns when the line is written.
    ///
    /// :param offset: any offset in a line.
    /// :param data: bytes, a numpy array, or another contiguous buffer, within one line.
    ///
    /// Errors as for :meth:`load`.
    fn store(&self, py: Python<'_>, offset: Offset, data: Bytes) -> PyResult<()> {
        self.does(py, move |memory| memory.store(offset.0, &data.0))
    }

    /// A hint: the line will be loaded. Does not wait for it.
    ///
    /// :param offset: a multiple of 128.
    fn prefetch(&self, py: Python<'_>, offset: Offset) -> PyResult<()> {
        self.does(py, move |memory| memory.prefetch(offset.0))
    }

    /// Writes the line back and invalidates it. Posted: returns when the message is sent.
    ///
    /// :param offset: a multiple of 128.
    fn flush(&self, py: Python<'_>, offset: Offset) -> PyResult<()> {
        self.does(py, move |memory| memory.flush(offset.0))
    }

    /// Writes the line back, and keeps a copy to read. Posted: returns when the message is sent.
    fn clean(&self, py: Python<'_>, offset: Offset) -> PyResult<()> {
        self.does(py, move |memory| memory.clean(offset.0))
    }

    /// Starts a :meth:`load` without waiting: a core may have many outstanding accesses.
    #[pyo3(signature = (offset, *, exclusive=false))]
    fn begin_load(&self, py: Python<'_>, offset: Offset, exclusive: bool) -> PyResult<PendingLine> {
        self.begin(py, |memory| match exclusive {
            false => memory.begin_load(offset.0),
            true => memory.begin_load_exclusive(offset.0),
        })
    }

    /// Starts a :meth:`store` without waiting, like stores in the write buffer of a core.
    fn begin_store(&self, py: Python<'_>, offset: Offset, data: Bytes) -> PyResult<PendingLine> {
        self.begin(py, |memory| memory.begin_store(offset.0, &data.0))
    }

    /// Maps the memory: its lines at an ordinary address, for every thread of the program.
    ///
    /// :param write: the program may store; otherwise a store ends it with SIGSEGV.
    /// :param eager: fetch all pages at once, so that loads do not wait until another agent takes a line.
    /// :raises CoherentRangeError: it does not start and end at multiples of 4096, or the system refuses.
    ///
    /// Eager maps have the errors of :meth:`load` too.
    #[pyo3(signature = (*, write=true, eager=false))]
    fn map<'py>(
        &self,
        py: Python<'py>,
        write: bool,
        eager: bool,
    ) -> PyResult<values::CoherentMap<'py>> {
        let options = CoherentMapOptions { write, eager };
        let map = self.does(py, move |memory| memory.map_with(options))?;
        let pages = CoherentPages {
            address: map.as_ptr() as u64,
            bytes: map.bytes() as u64,
            writable: write,
            map: Arc::new(Handle::new("coherent map", map)),
        };
        values::CoherentMap::new(py, (pages,))
    }

    /// Uses two lines for calls to the kernel ``rpc``, which waits for its first call in them since its reset.
    ///
    /// :param context: uses the two lines starting at line ``2 * context``.
    /// :param push: flush the arguments with the call instead of letting the kernel recall them: one
    ///     round trip less.
    ///
    /// Errors as for :meth:`load`.
    #[pyo3(signature = (*, context=Count(0), push=false))]
    fn rpc(&self, py: Python<'_>, context: Count, push: bool) -> PyResult<Rpc> {
        let rpc = self.does(py, move |memory| match context.0 {
            0 => library::Rpc::connect(memory.clone()),
            at => library::Rpc::connect(memory.part(u64::from(at) * TWO_LINES, TWO_LINES)?),
        })?;
        let rpc = match push {
            true => rpc.pushing(),
            false => rpc,
        };
        Ok(Rpc {
            rpc: Handle::new("connection", Mutex::new(rpc)),
        })
    }

    /// Uses the first :attr:`RpcLines.BYTES` bytes for calls to the kernel ``rpc_lines``, which waits for its first call
    /// since its reset.
    ///
    /// Errors as for :meth:`load`; :class:`CoherentRangeError`: the memory is too small.
    fn rpc_lines(&self, py: Python<'_>) -> PyResult<RpcLines> {
        let rpc = self.does(py, |memory| library::RpcLines::connect(memory.clone()))?;
        Ok(RpcLines {
            rpc: Handle::new("connection", Mutex::new(rpc)),
        })
    }

    /// A write buffer of this core, empty.
    fn write_buffer(&self, py: Python<'_>) -> PyResult<WriteBuffer> {
        let buffer = self.memory.shared(py)?.write_buffer();
        Ok(WriteBuffer {
            buffer: Handle::new("write buffer", Mutex::new(buffer)),
        })
    }

    /// Starts recording the events of lines. Earlier recordings are dropped, also those of other users.
    ///
    /// :param lines: for the offset of each line its name in diagrams.
    fn record(&self, py: Python<'_>, lines: LineNames<'_>) -> PyResult<()> {
        let mut named: Vec<(u64, String)> = Vec::new();
        for (offset, name) in py
            .get_type::<PyDict>()
            .call1((lines.0,))?
            .cast::<PyDict>()?
        {
            named.push((offset.extract::<Offset>()?.0, name.extract()?));
        }
        let named: Vec<(u64, &str)> = named.iter().map(|(at, name)| (*at, &**name)).collect();
        self.memory.call(py, |memory| memory.record(&named))
    }

    /// The recorded events.
    ///
    /// :param title: title of the diagram.
    #[pyo3(signature = (title="Lines of the directory"))]
    fn history(&self, py: Python<'_>, title: &str) -> PyResult<LineHistory> {
        let history = self.memory.call(py, library::CoherentMemory::history)?;
        Ok(LineHistory {
            text: history.to_text(),
            picture: history.to_svg(title),
        })
    }

    fn __repr__(&self) -> String {
        format!("<CoherentMemory: {} bytes at {:#x}>", self.bytes, self.base)
    }
}

/// Recorded events of some lines; created by :meth:`CoherentMemory.history`. ``str`` gives a text, one line per step; a
/// notebook shows a diagram.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct LineHistory {
    text: String,
    picture: String,
}

#[pymethods]
impl LineHistory {
    /// As a diagram (SVG): one column per agent, time downwards, one arrow per message.
    fn svg(&self) -> &str {
        &self.picture
    }

    fn __str__(&self) -> &str {
        &self.text
    }

    fn __repr__(&self) -> String {
        format!("<LineHistory: {} lines of text>", self.text.lines().count())
    }

    fn _repr_svg_(&self) -> &str {
        &self.picture
    }
}

/// Coherent lines at an ordinary address, without the buffer protocol, which Python 3.10's stable interface lacks: that
/// is added in ``tombolo._memory``. The pages stay mapped as long as this exists: views of them hold it.
#[pyclass(frozen, weakref, subclass, module = "tombolo._native")]
pub struct CoherentPages {
    address: u64,
    bytes: u64,
    writable: bool,
    map: Arc<Handle<library::CoherentMap>>,
}

#[pymethods]
impl CoherentPages {
    #[new]
    fn new(pages: &Bound<'_, Self>) -> Self {
        let pages = pages.get();
        Self {
            map: Arc::clone(&pages.map),
            ..*pages
        }
    }

    /// Address of the first byte in this program.
    #[getter]
    fn address(&self) -> u64 {
        self.address
    }

    /// Bytes, a multiple of 4096.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes
    }

    /// The program may store.
    #[getter]
    fn writable(&self) -> bool {
        self.writable
    }

    /// Revokes all pages: written data is in the CPU's lines, and the next access waits again.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.map.call(py, library::CoherentMap::sync)
    }
}

/// An outstanding access of a core; created by :meth:`CoherentMemory.begin_load` and similar calls. Without
/// :meth:`wait` it still completes, without a report.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct PendingLine {
    pending: Handle<Mutex<Option<library::PendingLine>>>,
    line: Mutex<Option<Py<PyBytes>>>,
}

impl PendingLine {
    fn new(pending: library::PendingLine) -> Self {
        Self {
            pending: Handle::new("access", Mutex::new(Some(pending))),
            line: Mutex::new(None),
        }
    }
}

#[pymethods]
impl PendingLine {
    /// Waits until the access is complete: the line after the access, 128 bytes. Repeated calls return the same.
    ///
    /// :raises HomeError: the kernel behind the directory broke a rule.
    /// :raises LineLateError: it was not complete in time.
    /// :raises GoneError: a wait for it was interrupted or has failed before.
    fn wait(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        if let Some(line) = &*locked(&self.line) {
            return Ok(line.clone_ref(py));
        }
        let pending = locked(&*self.pending.shared(py)?).take();
        let Some(pending) = pending else {
            let text = "this access is gone: a wait for it has failed, or was interrupted";
            return Err(errors::gone(py, text.to_owned()));
        };
        let line = watched(py, move || pending.wait())?;
        let line = PyBytes::new(py, &line).unbind();
        *locked(&self.line) = Some(line.clone_ref(py));
        Ok(line)
    }
}

/// Calls to a kernel through two coherent lines (CCKit's RPC), the program's side of the kernel ``rpc``; created by
/// :meth:`CoherentMemory.rpc`.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct Rpc {
    rpc: Handle<Mutex<library::Rpc>>,
}

#[pymethods]
impl Rpc {
    /// Calls the kernel.
    ///
    /// :param arguments: up to 128 bytes: ``bytes``, a numpy array, or another contiguous buffer. The rest of the line
    ///     is unchanged.
    /// :returns: the line of the result, 128 bytes.
    /// :raises CoherentRangeError: more than 128 bytes.
    /// :raises HomeError: the kernel broke a rule.
    /// :raises LineLateError: it did not answer in time.
    #[pyo3(signature = (arguments=Bytes::default()))]
    fn call<'py>(&self, py: Python<'py>, arguments: Bytes) -> PyResult<Bound<'py, PyBytes>> {
        let rpc = self.rpc.shared(py)?;
        let line = watched(py, move || locked(&rpc).call(&arguments.0))?;
        Ok(PyBytes::new(py, &line))
    }

    /// Starts a :meth:`call` without waiting; the line of the access is the result. A core may have an outstanding call in
    /// each of its contexts; within a context the next call waits for the previous one.
    #[pyo3(signature = (arguments=Bytes::default()))]
    fn begin_call(&self, py: Python<'_>, arguments: Bytes) -> PyResult<PendingLine> {
        let rpc = self.rpc.shared(py)?;
        let pending = watched(py, move || locked(&rpc).begin_call(&arguments.0))?;
        Ok(PendingLine::new(pending))
    }
}

/// Calls of many lines to a kernel, the program's side of the kernel ``rpc_lines``; created by
/// :meth:`CoherentMemory.rpc_lines`.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct RpcLines {
    rpc: Handle<Mutex<library::RpcLines>>,
}

#[pymethods]
impl RpcLines {
    /// Maximum number of payload lines of a request or an answer.
    #[classattr]
    const MOST: u64 = library::RpcLines::MOST;

    /// Coherent memory in use, in bytes.
    #[classattr]
    const BYTES: u64 = library::RpcLines::BYTES;

    /// Fetches the first lines of the next request, so that its stores hit. An answer of as many lines does so too.
    ///
    /// :raises CoherentRangeError: more than :attr:`MOST`.
    fn prepare(&self, py: Python<'_>, lines: Count) -> PyResult<()> {
        let rpc = self.rpc.shared(py)?;
        watched(py, move || locked(&rpc).prepare(u64::from(lines.0)))
    }

    /// Calls the kernel, and reads ``answer_lines`` lines of its answer. After an error of the kernel, connect again.
    ///
    /// :param payload: bytes, a numpy array, or another contiguous buffer; zero-padded to the end of its last line.
    /// :raises CoherentRangeError: too many lines.
    /// :raises HomeError: the kernel broke a rule.
    /// :raises LineLateError: it did not answer in time.
    #[pyo3(signature = (payload=Bytes::default(), answer_lines=Count(0)))]
    fn call(&self, py: Python<'_>, payload: Bytes, answer_lines: Count) -> PyResult<RpcAnswer> {
        let rpc = self.rpc.shared(py)?;
        let lines = u64::from(answer_lines.0);
        let got = watched(py, move || locked(&rpc).call(&payload.0, lines))?;
        let payload = PyBytes::new(py, &got.payload).unbind();
        let counts = (got.lines, got.calls);
        Ok(RpcAnswer((
            counts.0, counts.1, got.sum, got.xor, got.cycles, payload,
        )))
    }
}

/// A core's write buffer of 24 lines; created by :meth:`CoherentMemory.write_buffer`. Its stores complete before
/// their lines have arrived, and start in order; a store to a line that waits in the buffer is merged. A later call
/// reports errors.
/// In a ``with`` block, the end of the block is a :meth:`fence`.
#[pyclass(frozen, weakref, module = "tombolo")]
pub struct WriteBuffer {
    buffer: Handle<Mutex<library::WriteBuffer>>,
}

impl WriteBuffer {
    fn does(
        &self,
        py: Python<'_>,
        what: impl Send + 'static + FnOnce(&mut library::WriteBuffer) -> Result<(), Error>,
    ) -> PyResult<()> {
        let buffer = self.buffer.shared(py)?;
        watched(py, move || what(&mut locked(&buffer)))
    }
}

#[pymethods]
impl WriteBuffer {
    /// Stores bytes within one line. Waits for the oldest line if the buffer is full.
    ///
    /// Errors as for :meth:`CoherentMemory.store`, of this store or of an earlier one.
    fn store(&self, py: Python<'_>, offset: Offset, data: Bytes) -> PyResult<()> {
        self.does(py, move |buffer| buffer.store(offset.0, &data.0))
    }

    /// Writes the line back and invalidates it, after the stores to it.
    fn flush(&self, py: Python<'_>, offset: Offset) -> PyResult<()> {
        self.does(py, move |buffer| buffer.flush(offset.0))
    }

    /// Waits until all stores are in their lines, visible to every core, and all flushes are sent.
    /// Raises the error of the first failed store; the others are complete too.
    fn fence(&self, py: Python<'_>) -> PyResult<()> {
        self.does(py, library::WriteBuffer::fence)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        error: &Bound<'_, PyAny>,
        _trace: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        match error.is_none() {
            true => self.fence(py),
            false => Ok(()),
        }
    }
}
