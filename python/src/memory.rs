//! `NativeMemory`: memory that the program and kernels share.

use crate::handle::Handle;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tombolo::{Error, MappedRange, SharedMemory, StreamError, TrapWay};

/// Shared memory. Its bytes stay where they are as long as this lives: views of them hold it.
#[pyclass(frozen, module = "tombolo._native")]
pub struct NativeMemory {
    #[pyo3(get)]
    address: u64,
    #[pyo3(get)]
    bytes: u64,
    #[pyo3(get)]
    page_size: u64,
    /// System calls may be given it.
    #[pyo3(get)]
    in_calls: bool,
    /// How accesses of the program are trapped.
    #[pyo3(get)]
    traps: Option<&'static str>,
    lead: u64,
    // Goes before what is pinned.
    memory: Handle<Mutex<SharedMemory>>,
    /// A buffer of the array that was registered, so that it stays where it is.
    pinned: Mutex<Option<Py<PyAny>>>,
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

fn name_of(way: TrapWay) -> &'static str {
    let found = WAYS.iter().find(|(_, known)| *known == way);
    found.map_or("protect", |(name, _)| name)
}

impl NativeMemory {
    /// The requested `bytes` begin after `lead` bytes of the memory.
    pub(crate) fn new(
        memory: SharedMemory,
        (lead, bytes): (u64, u64),
        pinned: Option<Py<PyAny>>,
    ) -> Self {
        Self {
            address: memory.address().get() + lead,
            bytes,
            lead,
            page_size: memory.page_size().bytes(),
            // Memory that is never trapped (`alloc_direct`) can be used in system calls.
            in_calls: memory
                .trap_way()
                .is_none_or(|way| way == TrapWay::Userfault),
            traps: memory.trap_way().map(name_of),
            memory: Handle::new("shared memory", Mutex::new(memory)),
            pinned: Mutex::new(pinned),
        }
    }

    /// Some bytes of it, for a transfer of a stream.
    ///
    /// # Errors
    /// Beyond its end, or none.
    pub(crate) fn part(&self, py: Python<'_>, offset: u64, bytes: u64) -> PyResult<MappedRange> {
        let mapped = self.bytes;
        let lead = self.lead;
        self.memory.call(py, |memory| {
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
impl NativeMemory {
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.memory.call(py, |memory| locked(memory).sync())
    }

    fn prefetch(&self, py: Python<'_>) -> PyResult<()> {
        self.memory.call(py, |memory| locked(memory).prefetch())
    }

    /// Ends the sharing; the memory stays as long as this object.
    fn free(&self, py: Python<'_>) -> PyResult<()> {
        let freed = |memory: &Mutex<SharedMemory>| match locked(memory).free() {
            // Freed before, or ended with its space.
            Err(Error::Gone { .. }) => Ok(()),
            freed => freed,
        };
        self.memory.call(py, freed)?;
        let pinned = locked(&self.pinned).take();
        drop(pinned);
        Ok(())
    }
}
