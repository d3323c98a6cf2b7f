//! `NativeCoherent`, `NativePending`, `NativeRpc`, `NativeRpcLines`, `NativeWriteBuffer`: cache lines of the CPU
//! of a coherent card.

use crate::errors;
use crate::handle::Handle;
use crate::wait::SIGNAL_INTERVAL;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use tombolo::{
    CoherentMap, CoherentMapOptions, CoherentMemory, Error, PendingLine, Picoseconds, Rpc,
    RpcLines, WriteBuffer,
};

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

/// Memory behind the directory, as a core sees it.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeCoherent {
    #[pyo3(get)]
    base: u64,
    #[pyo3(get)]
    bytes: u64,
    memory: Handle<CoherentMemory>,
}

impl NativeCoherent {
    pub(crate) fn new(memory: CoherentMemory) -> Self {
        Self {
            base: memory.base(),
            bytes: memory.bytes(),
            memory: Handle::new("coherent memory", memory),
        }
    }

    fn pending(
        &self,
        py: Python<'_>,
        begin: impl Send + FnOnce(&CoherentMemory) -> Result<PendingLine, Error>,
    ) -> PyResult<NativePending> {
        let pending = self.memory.call(py, begin)?;
        Ok(NativePending {
            pending: Handle::new("access", Mutex::new(Some(pending))),
        })
    }
}

#[pymethods]
impl NativeCoherent {
    /// The same memory with another core, or another deadline.
    fn with_options(
        &self,
        py: Python<'_>,
        core: Option<u8>,
        deadline_ps: Option<u64>,
    ) -> PyResult<Self> {
        let mut memory = CoherentMemory::clone(&*self.memory.shared(py)?);
        if let Some(core) = core {
            memory = memory.on_core(core);
        }
        if let Some(deadline) = deadline_ps {
            memory = memory.with_deadline(Picoseconds::new(deadline));
        }
        Ok(Self::new(memory))
    }

    fn load<'py>(
        &self,
        py: Python<'py>,
        offset: u64,
        exclusive: bool,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let memory = self.memory.shared(py)?;
        let line = watched(py, move || match exclusive {
            false => memory.load(offset),
            true => memory.load_exclusive(offset),
        })?;
        Ok(PyBytes::new(py, &line))
    }

    fn store(&self, py: Python<'_>, offset: u64, bytes: Vec<u8>) -> PyResult<()> {
        let memory = self.memory.shared(py)?;
        watched(py, move || memory.store(offset, &bytes))
    }

    fn prefetch(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        let memory = self.memory.shared(py)?;
        watched(py, move || memory.prefetch(offset))
    }

    fn flush(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        let memory = self.memory.shared(py)?;
        watched(py, move || memory.flush(offset))
    }

    fn clean(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        let memory = self.memory.shared(py)?;
        watched(py, move || memory.clean(offset))
    }

    fn begin_load(&self, py: Python<'_>, offset: u64, exclusive: bool) -> PyResult<NativePending> {
        self.pending(py, |memory| match exclusive {
            false => memory.begin_load(offset),
            true => memory.begin_load_exclusive(offset),
        })
    }

    fn begin_store(&self, py: Python<'_>, offset: u64, bytes: Vec<u8>) -> PyResult<NativePending> {
        self.pending(py, |memory| memory.begin_store(offset, &bytes))
    }

    fn map(&self, py: Python<'_>, write: bool, eager: bool) -> PyResult<NativeCoherentMap> {
        let memory = self.memory.shared(py)?;
        let options = CoherentMapOptions { write, eager };
        let map = watched(py, move || memory.map_with(options))?;
        Ok(NativeCoherentMap {
            address: map.as_ptr() as u64,
            bytes: map.bytes() as u64,
            map: Handle::new("coherent map", map),
        })
    }

    fn record(&self, py: Python<'_>, lines: Vec<(u64, String)>) -> PyResult<()> {
        let named: Vec<(u64, &str)> = lines.iter().map(|(at, name)| (*at, &**name)).collect();
        self.memory.call(py, |memory| memory.record(&named))
    }

    /// The recorded messages, as text and as a diagram with a title.
    fn history(&self, py: Python<'_>, title: &str) -> PyResult<(String, String)> {
        let history = self.memory.call(py, CoherentMemory::history)?;
        Ok((history.to_text(), history.to_svg(title)))
    }

    fn rpc(&self, py: Python<'_>, context: u32, push: bool) -> PyResult<NativeRpc> {
        let memory = self.memory.shared(py)?;
        let rpc = watched(py, move || match context {
            0 => Rpc::connect(CoherentMemory::clone(&memory)),
            _ => Rpc::connect(memory.part(u64::from(context) * TWO_LINES, TWO_LINES)?),
        })?;
        let rpc = match push {
            true => rpc.pushing(),
            false => rpc,
        };
        Ok(NativeRpc {
            rpc: Handle::new("connection", Mutex::new(rpc)),
        })
    }

    fn rpc_lines(&self, py: Python<'_>) -> PyResult<NativeRpcLines> {
        let memory = CoherentMemory::clone(&*self.memory.shared(py)?);
        let rpc = watched(py, move || RpcLines::connect(memory))?;
        Ok(NativeRpcLines {
            rpc: Handle::new("connection", Mutex::new(rpc)),
        })
    }

    fn write_buffer(&self, py: Python<'_>) -> PyResult<NativeWriteBuffer> {
        let buffer = self.memory.shared(py)?.write_buffer();
        Ok(NativeWriteBuffer {
            buffer: Handle::new("write buffer", Mutex::new(buffer)),
        })
    }
}

/// Lines at an ordinary address. It stays mapped as long as this lives: views of it hold it.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeCoherentMap {
    #[pyo3(get)]
    address: u64,
    #[pyo3(get)]
    bytes: u64,
    map: Handle<CoherentMap>,
}

#[pymethods]
impl NativeCoherentMap {
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.map.call(py, CoherentMap::sync)
    }
}

/// An access that was begun.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativePending {
    pending: Handle<Mutex<Option<PendingLine>>>,
}

#[pymethods]
impl NativePending {
    /// The line; none if it was waited for before.
    fn wait<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let pending = self.pending.shared(py)?;
        let pending = pending
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match pending {
            None => Ok(None),
            Some(pending) => {
                let line = watched(py, move || pending.wait())?;
                Ok(Some(PyBytes::new(py, &line)))
            }
        }
    }
}

/// Calls to the kernel `rpc`.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeRpc {
    rpc: Handle<Mutex<Rpc>>,
}

#[pymethods]
impl NativeRpc {
    fn call<'py>(&self, py: Python<'py>, arguments: Vec<u8>) -> PyResult<Bound<'py, PyBytes>> {
        let rpc = self.rpc.shared(py)?;
        let line = watched(py, move || {
            let mut rpc = rpc.lock().unwrap_or_else(PoisonError::into_inner);
            rpc.call(&arguments)
        })?;
        Ok(PyBytes::new(py, &line))
    }

    fn begin_call(&self, py: Python<'_>, arguments: Vec<u8>) -> PyResult<NativePending> {
        let rpc = self.rpc.shared(py)?;
        let pending = watched(py, move || {
            let mut rpc = rpc.lock().unwrap_or_else(PoisonError::into_inner);
            rpc.begin_call(&arguments)
        })?;
        Ok(NativePending {
            pending: Handle::new("access", Mutex::new(Some(pending))),
        })
    }
}

/// Fields of an answer of `rpc_lines`: lines, earlier calls, sum, exclusive or, cycles, payload.
type LinesAnswer<'py> = (u32, u32, u64, u64, u32, Bound<'py, PyBytes>);

/// Calls to the kernel `rpc_lines`.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeRpcLines {
    rpc: Handle<Mutex<RpcLines>>,
}

#[pymethods]
impl NativeRpcLines {
    fn prepare(&self, py: Python<'_>, lines: u64) -> PyResult<()> {
        let rpc = self.rpc.shared(py)?;
        watched(py, move || {
            let mut rpc = rpc.lock().unwrap_or_else(PoisonError::into_inner);
            rpc.prepare(lines)
        })
    }

    fn call<'py>(
        &self,
        py: Python<'py>,
        payload: Vec<u8>,
        answer_lines: u64,
    ) -> PyResult<LinesAnswer<'py>> {
        let rpc = self.rpc.shared(py)?;
        let got = watched(py, move || {
            let mut rpc = rpc.lock().unwrap_or_else(PoisonError::into_inner);
            rpc.call(&payload, answer_lines)
        })?;
        let payload = PyBytes::new(py, &got.payload);
        Ok((got.lines, got.calls, got.sum, got.xor, got.cycles, payload))
    }
}

/// A core's write buffer.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeWriteBuffer {
    buffer: Handle<Mutex<WriteBuffer>>,
}

impl NativeWriteBuffer {
    fn does(
        &self,
        py: Python<'_>,
        what: impl Send + 'static + FnOnce(&mut WriteBuffer) -> Result<(), Error>,
    ) -> PyResult<()> {
        let buffer = self.buffer.shared(py)?;
        watched(py, move || {
            what(&mut buffer.lock().unwrap_or_else(PoisonError::into_inner))
        })
    }
}

#[pymethods]
impl NativeWriteBuffer {
    fn store(&self, py: Python<'_>, offset: u64, bytes: Vec<u8>) -> PyResult<()> {
        self.does(py, move |buffer| buffer.store(offset, &bytes))
    }

    fn flush(&self, py: Python<'_>, offset: u64) -> PyResult<()> {
        self.does(py, move |buffer| buffer.flush(offset))
    }

    fn fence(&self, py: Python<'_>) -> PyResult<()> {
        self.does(py, WriteBuffer::fence)
    }
}
