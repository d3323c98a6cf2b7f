//! Memory that the program and kernels share.

use crate::handle::Handle;
use crate::space::AddressSpace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo as library;
use tombolo::{Error, MappedRange, StreamError, TrapWay};

/// Owner of the bytes of shared memory; views keep it alive.
#[pyclass(frozen, module = "tombolo._native")]
pub struct Block {
    // Goes before what is pinned.
    memory: Handle<Mutex<library::SharedMemory>>,
    /// A buffer of the array that was registered, so that it stays where it is.
    pinned: Mutex<Option<Py<PyAny>>>,
}

/// Shared memory without views of its bytes, which ``tombolo._memory`` adds: they are numpy's, and the buffer protocol,
/// which Python 3.10's stable interface lacks.
#[pyclass(frozen, weakref, subclass, module = "tombolo._native")]
pub struct Memory {
    space: Py<AddressSpace>,
    block: Py<Block>,
    address: u64,
    bytes: u64,
    lead: u64,
    page_size: u64,
    way: Option<TrapWay>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Names of the ways to trap, in Python.
const WAYS: [(&str, TrapWay); 3] = [
    ("protect", TrapWay::Protect),
    ("userfault", TrapWay::Userfault),
    ("in-thread", TrapWay::InThread),
];

/// The way of a name.
///
/// # Errors
/// There is none.
pub(crate) fn way_of(name: &str) -> PyResult<TrapWay> {
    let found = WAYS.iter().find(|(known, _)| *known == name);
    let rule = || format!("traps is {name:?}: give \"protect\", \"userfault\" or \"in-thread\"");
    found
        .map(|(_, way)| *way)
        .ok_or_else(|| PyValueError::new_err(rule()))
}

pub(crate) fn name_of(way: TrapWay) -> &'static str {
    let found = WAYS.iter().find(|(_, known)| *known == way);
    found.map_or("protect", |(name, _)| name)
}

impl Memory {
    /// The requested `bytes` begin after `lead` bytes of the memory.
    pub(crate) fn new(
        space: &Bound<'_, AddressSpace>,
        memory: library::SharedMemory,
        (lead, bytes): (u64, u64),
        pinned: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        Ok(Self {
            space: space.clone().unbind(),
            address: memory.address().get() + lead,
            bytes,
            lead,
            page_size: memory.page_size().bytes(),
            way: memory.trap_way(),
            block: Py::new(
                space.py(),
                Block {
                    memory: Handle::new("shared memory", Mutex::new(memory)),
                    pinned: Mutex::new(pinned),
                },
            )?,
        })
    }

    /// The space that it belongs to.
    pub(crate) fn space(&self) -> &Py<AddressSpace> {
        &self.space
    }

    /// Its size in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Some bytes of it, for a transfer of a stream.
    ///
    /// # Errors
    /// Beyond its end, or none.
    pub(crate) fn part(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<MappedRange> {
        let mapped = self.bytes;
        let lead = self.lead;
        self.block.get().memory.call(py, |memory| {
            let end = offset.checked_add(bytes);
            match end.filter(|end| *end <= mapped) {
                Some(_) => locked(memory).part(lead + offset, bytes),
                None => Err(Error::Stream(StreamError::OutOfMapping {
                    bytes,
                    offset,
                    mapped,
                })),
            }
        })
    }
}

#[pymethods]
impl Memory {
    #[new]
    #[pyo3(signature = (memory, *_views: "object"))]
    fn of(py: Python<'_>, memory: &Bound<'_, Self>, _views: &Bound<'_, PyTuple>) -> Self {
        let memory = memory.get();
        Self {
            space: memory.space.clone_ref(py),
            block: memory.block.clone_ref(py),
            ..*memory
        }
    }

    /// Address of the first byte: the same for the program and for kernels.
    #[getter]
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Requested size in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes
    }

    /// Page size in bytes; the largest one of registered memory.
    #[getter]
    fn page_size(&self) -> u64 {
        self.page_size
    }

    /// Whether it can be passed to system calls (``file.readinto``, ``socket.send``) while kernels use it: they wait for
    /// its pages, as the program does; memory that stays in the host never waits. See ``for_calls`` and
    /// ``direct`` of :meth:`AddressSpace.alloc`.
    #[getter]
    fn in_calls(&self) -> bool {
        self.way.is_none_or(|way| way == TrapWay::Userfault)
    }

    /// Trap mechanism of the program's accesses: ``"protect"``, ``"userfault"`` or ``"in-thread"``, or ``None`` for
    /// memory that stays in the host. See ``traps`` of :meth:`AddressSpace.alloc`.
    #[getter]
    fn traps(&self) -> Option<&'static str> {
        self.way.map(name_of)
    }

    /// Its bytes for as long as a view of them exists.
    #[getter]
    fn _block(&self, py: Python<'_>) -> Py<Block> {
        self.block.clone_ref(py)
    }

    /// Brings what kernels have written so far to the program's memory in one go, rather than page by page
    /// as the program looks.
    ///
    /// :raises GoneError: it was freed.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        let memory = &self.block.get().memory;
        memory.call(py, |memory| locked(memory).sync())
    }

    /// Brings pages to the card, to be read, before a kernel touches them, as far as there is room.
    ///
    /// :raises GoneError: it was freed.
    fn prefetch(&self, py: Python<'_>) -> PyResult<()> {
        let memory = &self.block.get().memory;
        memory.call(py, |memory| locked(memory).prefetch())
    }

    /// Ends the sharing: kernels do not reach it any more, and what they wrote is in it. An array that was
    /// registered is a plain array again. Nothing if it was freed before.
    ///
    /// :raises MemoryInUseError: a kernel of the space runs.
    fn free(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, memory) = (slf.py(), slf.get());
        let block = memory.block.get();
        let freed = |memory: &Mutex<library::SharedMemory>| match locked(memory).free() {
            // Freed before, or ended with its space.
            Err(Error::Gone { .. }) => Ok(()),
            freed => freed,
        };
        block.memory.call(py, freed)?;
        let pinned = locked(&block.pinned).take();
        drop(pinned);
        memory.space.get().shared_ends(slf)
    }

    #[pyo3(signature = (*_exception: "object"))]
    fn __exit__(slf: &Bound<'_, Self>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Self::free(slf)
    }
}
