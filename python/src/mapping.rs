//! Mappings of files and arrays.

use crate::handle::Handle;
use crate::space::AddressSpace;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::{Mutex, PoisonError};
use tombolo as library;
use tombolo::{Advice, AdviceError, MappedRange};

/// A range of an address space, backed by a range of a file.
///
/// Created by :meth:`AddressSpace.map_file`. As a context manager it is unmapped at the end of ``with``.
#[pyclass(frozen, weakref, subclass, module = "tombolo")]
pub struct Mapping {
    space: Py<AddressSpace>,
    address: u64,
    bytes: u64,
    what: String,
    mapping: Handle<library::Mapping>,
}

impl Mapping {
    /// `what` names the mapped file or array.
    pub(crate) fn new(space: Py<AddressSpace>, mapped: library::Mapping, what: String) -> Self {
        Self {
            space,
            address: mapped.address().get(),
            bytes: mapped.bytes(),
            what,
            mapping: Handle::new("mapping", mapped),
        }
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
        self.mapping
            .call(py, |mapping| mapping.slice(offset, bytes))
    }
}

#[pymethods]
impl Mapping {
    /// Address of the first byte in the kernel's space.
    #[getter]
    pub(crate) fn address(&self) -> u64 {
        self.address
    }

    /// Size of the mapping in bytes.
    #[getter]
    fn nbytes(&self) -> u64 {
        self.bytes
    }

    /// Writes the kernel's data so far back to the file and its storage.
    ///
    /// :raises TransferError: the file is full, or its storage fails; data that failed stays on the
    ///     card.
    fn sync(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, library::Mapping::sync)
    }

    /// Advises on the kernel's access pattern. Advice affects speed, never results.
    ///
    /// :param advice: ``"stream"``: sequential, with large read-ahead; ``"random"``: no read-ahead.
    ///     ``"reuse"``: repeated accesses, pages stay; ``"lowuse"``: about one access, pages are evicted first,
    ///     or stay in host memory if the card has a host channel. Two words joined with ``+``; an empty text
    ///     clears the advice.
    /// :param offset: first byte of the range, which is extended to whole pages.
    /// :param nbytes: size of the range in bytes; up to the end if not given.
    /// :raises ValueError: no such word, or two that contradict each other.
    /// :raises GoneError: it is unmapped.
    #[pyo3(signature = (advice, offset=0, nbytes=None))]
    fn advise(
        &self,
        py: Python<'_>,
        advice: &str,
        offset: u64,
        nbytes: Option<u64>,
    ) -> PyResult<()> {
        let advice: Advice = match advice {
            "" => Advice::default(),
            words => words
                .parse()
                .map_err(|error: AdviceError| PyValueError::new_err(error.to_string()))?,
        };
        let bytes = nbytes.unwrap_or(self.bytes.saturating_sub(offset));
        let advise = |mapping: &library::Mapping| mapping.advise_range(offset, bytes, advice);
        self.mapping.call(py, advise)
    }

    /// Prefetches the pages to the card, as far as there is room.
    fn prefetch(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.call(py, library::Mapping::prefetch)
    }

    /// Preloads the pages onto a simulated card (zero-cost in virtual time), as far as there is room: to measure a kernel
    /// on resident data, without the cost of loading it. The report mentions it.
    ///
    /// :returns: the preloaded bytes; 0 on a card that loads them as usual.
    /// :raises SlotStateError: a kernel is running.
    fn make_hot(&self, py: Python<'_>) -> PyResult<u64> {
        self.mapping.call(py, library::Mapping::make_hot)
    }

    /// Writes back and ends the mapping; no effect if it has ended.
    ///
    /// :raises TransferError: as :meth:`sync`; the mapping ends in any case.
    pub(crate) fn unmap(&self, py: Python<'_>) -> PyResult<()> {
        self.mapping.close(py, library::Mapping::unmap)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (*_exception: "object"))]
    fn __exit__(&self, py: Python<'_>, _exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        self.unmap(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let (name, mapping) = (slf.get_type().name()?, slf.get());
        let Self {
            what,
            bytes,
            address,
            ..
        } = mapping;
        Ok(format!("<{name} of {what}: {bytes} bytes at {address:#x}>"))
    }
}

/// A range of an address space with a copy of an array's bytes.
///
/// Created by :meth:`AddressSpace.map_array`. The kernel works on the copy: its data is in the array
/// after :meth:`sync` or :meth:`unmap`, and writes of the program to the array in the meantime are not visible to
/// the kernel.
#[pyclass(frozen, extends = Mapping, module = "tombolo")]
pub struct ArrayMapping {
    /// A `Copy` of `tombolo._arrays`, until the mapping ends.
    copy: Mutex<Option<Py<PyAny>>>,
    writable: bool,
}

impl ArrayMapping {
    /// A mapping of a copy, whose bytes the kernel may write.
    pub(crate) fn of(
        mapping: Mapping,
        copy: Py<PyAny>,
        writable: bool,
    ) -> PyClassInitializer<Self> {
        let copy = Mutex::new(Some(copy));
        PyClassInitializer::from(mapping).add_subclass(Self { copy, writable })
    }

    /// Ends the mapping, and copies the kernel's data into the array if `bring_back`.
    pub(crate) fn end(slf: &Bound<'_, Self>, bring_back: bool) -> PyResult<()> {
        let (py, array, mapping) = (slf.py(), slf.get(), slf.as_super().get());
        let copy = array
            .copy
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(copy) = copy else { return Ok(()) };
        mapping.space.get().array_ends(slf)?;
        let ended = mapping.unmap(py);
        let ended = ended.and_then(|()| match bring_back && array.writable {
            true => copy.call_method0(py, "bring_back").map(drop),
            false => Ok(()),
        });
        copy.call_method0(py, "close")?;
        ended
    }
}

#[pymethods]
impl ArrayMapping {
    /// Copies the kernel's data so far into the array.
    ///
    /// :raises GoneError: it is unmapped.
    fn sync(slf: &Bound<'_, Self>) -> PyResult<()> {
        let (py, array) = (slf.py(), slf.get());
        slf.as_super().get().sync(py)?;
        // Not locked while the interpreter's lock may go to another thread.
        let copy = {
            let copy = array.copy.lock().unwrap_or_else(PoisonError::into_inner);
            copy.as_ref().map(|copy| copy.clone_ref(py))
        };
        match copy.filter(|_| array.writable) {
            Some(copy) => copy.call_method0(py, "bring_back").map(drop),
            None => Ok(()),
        }
    }

    /// Copies the kernel's data into the array, and ends the mapping; no effect if it has ended.
    fn unmap(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::end(slf, true)
    }

    /// Ends the mapping without changing the array.
    fn discard(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::end(slf, false)
    }

    fn __enter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    // Results of a run that failed are not to be trusted.
    #[pyo3(signature = (*exception: "object"))]
    fn __exit__(slf: &Bound<'_, Self>, exception: &Bound<'_, PyTuple>) -> PyResult<()> {
        Self::end(slf, exception.get_item(0)?.is_none())
    }
}
